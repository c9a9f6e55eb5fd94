"""What git and the known servers say, and what it means: the tables of outcomes, and the reading of addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.errors import (
    GitopsDsError,
    MovedError,
    OutcomeUnknownError,
    RefusedError,
    RepositoryError,
    TransientError,
)
from gitops_ds.repo import is_url, mask
from gitops_ds.repo.gitcmd import TIMED_OUT, Answer
from gitops_ds.repo.outcome import fetch_failure, push_failure
from gitops_ds.repo.urls import Address, address, wrong_with

REF = "refs/heads/main"
CHECK_ACCESS = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n"
HUNG_UP = "send-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly\n"


def porcelain(flag: str, summary: str) -> bytes:
    return f"To https://git.example.com/a/b.git\n{flag}\t0123:{REF}\t{summary}\nDone\n".encode()


# The remote reported on the ref: what it said, the words it sent along, and what that means.
REJECTED: list[tuple[str, str, type[GitopsDsError], str]] = [
    ("[rejected] (stale info)", "", MovedError, "not where it was"),
    ("[rejected] (fetch first)", "", MovedError, "not where it was"),
    ("[rejected] (non-fast-forward)", "", MovedError, "not where it was"),
    ("[remote rejected] (cannot lock ref 'refs/heads/main': is at 1a2b but expected 3c4d)", "", MovedError, "moved"),
    ("[remote rejected] (cannot lock ref 'refs/heads/x': reference already exists)", "", MovedError, "moved"),
    ("[remote rejected] (incorrect old value provided)", "", MovedError, "moved"),
    (
        "[remote rejected] (failed to update ref)",
        "remote: error: cannot lock ref 'refs/heads/main': Unable to create '/srv/a/main.lock': File exists.\n",
        MovedError,
        "another push",
    ),
    (
        "[remote rejected] (protected branch hook declined)",
        "remote: error: GH006: Protected branch update failed.\nremote: \nremote: - Changes must be\n",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (push declined due to repository rule violations)",
        "remote: error: GH013: Repository rule violations found for refs/heads/main.\n",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: GitLab: You are not allowed to push code to protected branches on this project.\n",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: GitLab: You are not allowed to force push code to a protected branch on this project.\n",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: \nremote: Gitea: Not allowed to push to protected branch main\n",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: Forgejo: Not allowed to push to protected branch main\n",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (TF402455: Pushes to this branch are not permitted; you must use a pull request)",
        "",
        RefusedError,
        "the branch is protected",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: Gitea: User permission denied for writing.\n",
        RefusedError,
        "may not write to this repository",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: Gitea: Internal Server Error\nremote: Unable to contact gitea\n",
        TransientError,
        "cannot take a push for now",
    ),
    (
        "[remote rejected] (pre-receive hook declined)",
        "remote: GitLab: The repository is temporarily read-only. Please try again later.\n",
        TransientError,
        "cannot take a push for now",
    ),
    ("[remote rejected] (Internal Server Error)", "", TransientError, "cannot take a push for now"),
    ("[remote rejected] (pre-receive hook declined)", "remote: no robots\n", RefusedError, "a hook of the remote"),
    ("[remote rejected] (hook declined)", "", RefusedError, "a hook of the remote"),
    ("[remote rejected] (non-fast-forward)", "", RefusedError, "no push that replaces"),
    ("[remote rejected] (branch is currently checked out)", "", RefusedError, "checked out in the remote"),
    ("[remote rejected] (shallow update not allowed)", "", RefusedError, "the remote refused the push"),
    ("[remote rejected] (prohibited by Gerrit: not permitted: update)", "", RefusedError, "the remote refused"),
    (
        "[remote rejected] (unpacker error)",
        "error: remote unpack failed: unable to create temporary object directory\n",
        RefusedError,
        "cannot write to its own repository",
    ),
    (
        "[remote rejected] (unable to migrate objects to permanent storage)",
        "",
        RefusedError,
        "cannot write to its own repository",
    ),
    (
        "[remote rejected] (unpacker error)",
        "remote: fatal: write error: No space left on device\nerror: remote unpack failed: index-pack failed\n",
        RefusedError,
        "the remote's disk is full",
    ),
]


@pytest.mark.parametrize(("summary", "words", "kind", "what"), REJECTED)
def test_a_report_on_the_ref(summary: str, words: str, kind: type[GitopsDsError], what: str) -> None:
    err = f"{words}error: failed to push some refs to 'https://git.example.com/a/b.git'\n"
    error = push_failure(Answer(1, porcelain("!", summary), err), REF, "origin")
    assert type(error) is kind
    assert what in error.faults[0].what
    assert str(error.faults[0].place) == "origin main"
    assert ("pull-request mode" in error.faults[0].fix) == ("protected" in what or "hook" in what)
    for line in words.splitlines():
        said = line.removeprefix("remote:").removeprefix("error: remote unpack failed:").strip()
        assert said in error.faults[0].why


# The remote reported nothing: what git said, and what it means for a push and for a fetch.
UNREPORTED: list[tuple[str, type[GitopsDsError], type[GitopsDsError], str]] = [
    (
        "remote: Invalid username or token.\nfatal: Authentication failed for 'https://x/'",
        RefusedError,
        RefusedError,
        "cred",
    ),
    (
        "fatal: could not read Username for 'https://x': terminal prompts disabled",
        RefusedError,
        RefusedError,
        "credentials",
    ),
    (
        "remote: HTTP Basic: Access denied.\nfatal: Authentication failed for 'https://x/'",
        RefusedError,
        RefusedError,
        "cred",
    ),
    (f"git@x: Permission denied (publickey).\n{CHECK_ACCESS}", RefusedError, RefusedError, "credentials"),
    (f"Host key verification failed.\n{CHECK_ACCESS}", RepositoryError, RepositoryError, "host key"),
    (
        "remote: Permission to a/b.git denied to bot.\nfatal: unable to access 'https://x/': returned error: 403",
        RefusedError,
        RefusedError,
        "gives no right",
    ),
    (f"ERROR: Permission to a/b.git denied to bot.\n{CHECK_ACCESS}", RefusedError, RefusedError, "gives no right"),
    (
        f"ERROR: The key you are authenticating with has been marked as read only.\n{CHECK_ACCESS}",
        RefusedError,
        RefusedError,
        "no right",
    ),
    (
        f"ERROR: This repository was archived so it is read-only.\n{CHECK_ACCESS}",
        RefusedError,
        RefusedError,
        "no right",
    ),
    (
        f"remote: ERROR: This deploy key does not have write access to this project.\n{CHECK_ACCESS}",
        RefusedError,
        RefusedError,
        "no right",
    ),
    (
        f"Gogs: Key permission denied\nCannot push with deployment key: 7\n{CHECK_ACCESS}",
        RefusedError,
        RefusedError,
        "no right",
    ),
    ("fatal: remote error: service not enabled: /a.git", RefusedError, RefusedError, "gives no right"),
    ("fatal: remote error: access denied or repository not exported: /a.git", RefusedError, RepositoryError, ""),
    (f"ERROR: Repository not found.\n{CHECK_ACCESS}", RepositoryError, RepositoryError, "no such repository"),
    (
        "remote: Not found.\nfatal: repository 'https://x/a.git/' not found",
        RepositoryError,
        RepositoryError,
        "no such repository",
    ),
    (
        f"fatal: '/a.git' does not appear to be a git repository\n{CHECK_ACCESS}",
        RepositoryError,
        RepositoryError,
        "no such",
    ),
    (
        "fatal: unable to access 'https://x/': server certificate verification failed. CAfile: none CRLfile: none",
        RepositoryError,
        RepositoryError,
        "certificate",
    ),
    (
        "fatal: unable to access 'https://x/': SSL certificate problem: self-signed certificate",
        RepositoryError,
        RepositoryError,
        "certificate",
    ),
    ("fatal: the receiving end does not support push options", RepositoryError, RepositoryError, "push options"),
    (
        "fatal: unable to access 'https://x/read-only/403/': Could not resolve host: x",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        "fatal: unable to access 'https://x/': Failed to connect to x port 443: Connection refused",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        "fatal: unable to access 'https://x/': The requested URL returned error: 503",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        "fatal: unable to access 'https://x/': Operation too slow. Less than 1 bytes/sec",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        f"ssh: Could not resolve hostname x: Name or service not known\n{CHECK_ACCESS}",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        f"ssh: connect to host x port 22: Connection timed out\n{CHECK_ACCESS}",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        f"kex_exchange_identification: Connection closed by remote host\n{CHECK_ACCESS}",
        TransientError,
        TransientError,
        "reached",
    ),
    (
        f"GitLab: Failed to authorize your Git request: internal API unreachable\n{CHECK_ACCESS}",
        TransientError,
        TransientError,
        "now",
    ),
    (
        "fatal: unable to connect to x:\nx: Temporary failure in name resolution",
        TransientError,
        TransientError,
        "reached",
    ),
    ("fatal: the remote end hung up upon initial contact", TransientError, TransientError, "reached"),
    (f"This account is currently not available.\n{CHECK_ACCESS}", RepositoryError, RepositoryError, ""),
    ("error: unable to write file x: No space left on device", RepositoryError, RepositoryError, "disk here is full"),
    (
        f"error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\n{HUNG_UP}Everything up-to-date",
        RefusedError,
        TransientError,
        "",
    ),
    (
        f"error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403\n{HUNG_UP}",
        RefusedError,
        RefusedError,
        "no right",
    ),
    (
        f"error: RPC failed; HTTP 500 curl 22 The requested URL returned error: 500\n{HUNG_UP}",
        OutcomeUnknownError,
        TransientError,
        "",
    ),
    (
        f"error: RPC failed; curl 56 Recv failure: Connection reset by peer\n{HUNG_UP}",
        OutcomeUnknownError,
        TransientError,
        "",
    ),
    (
        f"error: RPC failed; curl 18 transfer closed with outstanding read data remaining\n{HUNG_UP}",
        OutcomeUnknownError,
        TransientError,
        "",
    ),
    ("fatal: the remote end hung up unexpectedly", OutcomeUnknownError, TransientError, ""),
    ("Connection to x closed by remote host.\nfatal: early EOF", OutcomeUnknownError, TransientError, ""),
    (f"remote: fatal: could not read Username for 'https://ci'\n{HUNG_UP}", OutcomeUnknownError, RefusedError, ""),
    ("something that nobody has seen before", OutcomeUnknownError, RepositoryError, ""),
    ("", OutcomeUnknownError, RepositoryError, ""),
]


@pytest.mark.parametrize(("err", "pushing", "fetching", "what"), UNREPORTED)
def test_no_report(err: str, pushing: type[GitopsDsError], fetching: type[GitopsDsError], what: str) -> None:
    pushed, fetched = push_failure(Answer(128, b"", err), REF, "origin"), fetch_failure(Answer(128, b"", err), "origin")
    assert type(pushed) is pushing
    assert type(fetched) is fetching
    assert what in pushed.faults[0].what
    assert what in fetched.faults[0].what


@pytest.mark.parametrize("flag", [" ", "+", "*", "=", "-"])
def test_success_is_a_report_and_the_status_together(flag: str) -> None:
    assert push_failure(Answer(0, porcelain(flag, "1..2"), ""), REF, "origin") is None
    for answer in (
        Answer(1, porcelain(flag, "1..2"), ""),
        Answer(0, b"Everything up-to-date\n", ""),
        Answer(0, porcelain(flag, "1..2").replace(b"main", b"other"), ""),
        Answer(TIMED_OUT, porcelain(flag, "1..2"), "fatal: unable to access 'x'"),
        Answer(1, porcelain("!", "[remote failure] (remote failed to report status)"), "fatal: unable to access 'x'"),
    ):
        assert type(push_failure(answer, REF, "origin")) is OutcomeUnknownError


def test_a_fetch_that_timed_out() -> None:
    assert type(fetch_failure(Answer(TIMED_OUT, b"", "Authentication failed"), "origin")) is TransientError


@given(st.integers(0, 255), st.binary(max_size=80), st.text(max_size=200))
def test_there_is_an_answer_to_everything(status: int, out: bytes, err: str) -> None:
    answer = Answer(status, out, err)
    error = push_failure(answer, REF, "origin")
    assert error is None or isinstance(error, (MovedError, RefusedError, RepositoryError))
    assert isinstance(fetch_failure(answer, "origin"), (RefusedError, RepositoryError))


@pytest.mark.parametrize(
    "url",
    [
        "https://x/a.git",
        "ssh://git@x:22/a",
        "git@x:a/b.git",
        "x:a",
        "file:///srv/a",
        "git@[::1]:a",
        "git://x/a",
        "HTTP://x",
    ],
)
def test_a_url(url: str) -> None:
    assert is_url(url)


@pytest.mark.parametrize(
    "text",
    ["", "origin", "/srv/a.git", "./a:b", "../x", "a/b:c", "--upload-pack=x:y", "-x:y", "ext::sh -c x", ".", "a b"],
)
def test_no_url(text: str) -> None:
    assert not is_url(text)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("https://u:p@x:8/a.git", Address("https://x:8/a.git", "u", "p")),
        ("https://u%40v:p%2Fq@x/a", Address("https://x/a", "u@v", "p/q")),
        ("https://token@x/a", Address("https://x/a", "token", None)),
        ("https://:p@x/a", Address("https://x/a", None, "p")),
        ("https://x/a@b:c", Address("https://x/a@b:c")),
        ("ssh://git:p@x/a", Address("ssh://git@x/a")),
        ("git@x:a", Address("git@x:a")),
        ("/srv/a@b", Address("/srv/a@b")),
    ],
)
def test_credentials_are_taken_out(url: str, meant: Address) -> None:
    assert address(url) == meant


def test_the_server_of_an_address() -> None:
    assert address("https://u:p@x:8/a.git").server == "https://x:8"
    assert address("ssh://git@x/a").server is None


def test_what_may_be_shown() -> None:
    shown = mask("fatal: 'https://u:p%20x@h/a' \x1b[31mred\x1b[0m\a\x00\u202e\x9b b\r\nssh://git:p@h/ http://h/a@b\tc")
    assert shown == "fatal: 'https://***@h/a' red b\n\nssh://***@h/ http://h/a@b c"


@pytest.mark.parametrize(
    "url",
    ["http://h/x.git?private_token=S3CRET", "https://u:S3CRET/more@h/x", "http://u:a/S3CRET@[::1/x", "HTTP://h?S3CRET"],
)
def test_no_query_and_no_broken_password_is_shown(url: str) -> None:
    assert "S3CRET" not in mask(f"fatal: unable to access '{url}/': no")
    assert wrong_with(url)
    assert "S3CRET" not in wrong_with(url)


@pytest.mark.parametrize(
    "url", ["https://h:8/a@b", "ssh://git@h/a", "file:///srv/a b?c", "origin", "git@h:a", "http://[::1]/a"]
)
def test_nothing_is_wrong_with_an_address(url: str) -> None:
    assert wrong_with(url) == ""


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text("abc:%40", min_size=1))
def test_no_password_of_a_url_is_shown(around: str, secret: str) -> None:
    assert f"u:{secret}S3CRET@" not in mask(f"{around}https://u:{secret}S3CRET@host/a{around}")
    assert "S3CRET" not in mask(f"{around} https://u:{secret}S3CRET@host/a {around}")
