"""Which forge a remote is on, where its API is, what a push option and the promoter's file say."""

import json
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.errors import InputError
from gitops_ds.forge import (
    GITLAB_OPTION_LIMIT,
    HYDRATOR_METADATA,
    Provider,
    Reference,
    forge_for,
    gitlab_push_options,
    hydrator_metadata,
    proposed_branch,
)

GH, GL, GT = "GitHub", "GitLab", "Gitea"


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def chosen(remote: str, provider: str = "auto", api: str | None = None, token: str = "t0ken") -> str:
    return repr(forge_for(cast("Provider", provider), remote, api, token))


@pytest.mark.parametrize(
    ("remote", "name", "repository", "api"),
    [
        ("https://github.com/acme/fleet.git", GH, "acme/fleet", "https://api.github.com"),
        ("https://github.com/acme/fleet/", GH, "acme/fleet", "https://api.github.com"),
        ("https://x-access-token:pw@GitHub.com/acme/fleet", GH, "acme/fleet", "https://api.github.com"),
        ("git@github.com:acme/fleet.git", GH, "acme/fleet", "https://api.github.com"),
        ("ssh://git@ssh.github.com:443/acme/fleet.git", GH, "acme/fleet", "https://api.github.com"),
        ("https://github.acme.io:8443/acme/fleet.git", GH, "acme/fleet", "https://github.acme.io:8443/api/v3"),
        ("ssh://git@github.acme.io:2222/acme/fleet.git", GH, "acme/fleet", "https://github.acme.io/api/v3"),
        ("https://acme.ghe.com/acme/fleet", GH, "acme/fleet", "https://api.acme.ghe.com"),
        ("https://gitlab.com/a/b/c/fleet.git", GL, "a/b/c/fleet", "https://gitlab.com/api/v4"),
        ("git@gitlab.com:a/b/c/fleet.git", GL, "a/b/c/fleet", "https://gitlab.com/api/v4"),
        ("ssh://git@altssh.gitlab.com:443/a/fleet.git/", GL, "a/fleet", "https://gitlab.com/api/v4"),
        ("http://gitlab.local:8080/a/fleet", GL, "a/fleet", "http://gitlab.local:8080/api/v4"),
        ("https://codeberg.org/a/fleet.git", GT, "a/fleet", "https://codeberg.org/api/v1"),
        ("gitea@gitea.com:a/fleet.git", GT, "a/fleet", "https://gitea.com/api/v1"),
        ("git+ssh://git@forgejo.acme.io/a/fleet.git", GT, "a/fleet", "https://forgejo.acme.io/api/v1"),
        ("https://gitea.acme.io:443/a/my%2Dfleet", GT, "a/my-fleet", "https://gitea.acme.io/api/v1"),
        ("https://[2001:db8::1]:3000/a/gitea.git", None, "", ""),
    ],
)
def test_a_forge_is_told_by_its_host(remote: str, name: str | None, repository: str, api: str) -> None:
    if name is None:
        with pytest.raises(InputError, match="cannot be told by its name; set the provider"):
            chosen(remote)
        assert chosen(remote, "gitea") == "Gitea('a/gitea', Api('https://[2001:db8::1]:3000/api/v1'))"
    else:
        assert chosen(remote) == f"{name}('{repository}', Api('{api}'))"


def test_a_forge_is_told_by_the_apis_path_where_the_host_says_nothing() -> None:
    assert chosen("git@git.acme.io:a/b/fleet", api="https://git.acme.io/api/v4/").startswith("GitLab('a/b/fleet', ")
    assert chosen("git@git.acme.io:a/fleet", api="https://git.acme.io/api/v3").startswith("GitHub(")


def test_a_forge_below_a_path_of_its_host_is_not_part_of_the_repository() -> None:
    api = "https://acme.io/gitlab/api/v4"
    assert chosen("https://acme.io/gitlab/a/b/fleet.git", "gitlab", api) == f"GitLab('a/b/fleet', Api('{api}'))"
    assert chosen("https://acme.io/gitea/a/fleet", "gitea", "https://acme.io/gitea/api/v1").startswith(
        "Gitea('a/fleet'"
    )
    assert chosen("git@acme.io:gitlab/fleet.git", "gitlab", api).startswith("GitLab('gitlab/fleet'")


@pytest.mark.parametrize(
    ("remote", "words"),
    [
        ("/srv/git/fleet.git", "need a remote over https or ssh"),
        ("file:///srv/git/fleet.git", "need a remote over https or ssh"),
        ("../fleet", "need a remote over https or ssh"),
        ("", "the empty text names no repository"),
        ("https://github.com/fleet", "does not end in OWNER/NAME"),
        ("https://github.com/a/b/c", "does not end in OWNER/NAME"),
        ("https://github.com/a/../b", "does not end in OWNER/NAME"),
        ("https://github.com//b", "does not end in OWNER/NAME"),
        ("https://github.com/a/%00b", "does not end in OWNER/NAME"),
        ("https://github.com:port/a/b", "its host or port is none"),
        ("https:///a/b", "it has no host"),
        ("https://github.com/a/b\nc", "a blank or a control character"),
        ("https://github.gitlab.io/a/b", "cannot be told by its name"),
    ],
)
def test_what_is_no_repository_on_a_forge_is_said(remote: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        chosen(remote)


def test_no_error_shows_what_stands_before_the_at() -> None:
    for remote in ("https://u:hunter2@github.com/fleet?private_token=hunter2", "u:hunter2@x", "ftp://u:hunter2@h/a/b"):
        with pytest.raises(InputError) as error:
            chosen(remote)
        assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "api", ["ftp://x/api", "x", "https://u:hunter2@x/api/v3", "https://x/?t=hunter2", "https://x:a/"]
)
def test_an_api_url_that_is_none_is_said(api: str) -> None:
    with pytest.raises(InputError, match="the API's URL") as error:
        chosen("https://github.com/a/b", api=api)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("token", ["", "  \n", "two words", "line\nbreak", "t\N{LATIN SMALL LETTER O WITH DIAERESIS}k"])
def test_a_token_that_is_none_is_said_and_not_shown(token: str) -> None:
    with pytest.raises(InputError, match="the token") as error:
        chosen("https://github.com/a/b", token=token)
    assert not token.strip() or token.strip() not in str(error.value)


def test_blanks_around_a_token_do_not_count() -> None:
    assert chosen("https://github.com/a/b", token=" t0ken\n").startswith("GitHub(")


def test_an_unknown_provider_is_said_with_those_there_are() -> None:
    with pytest.raises(InputError, match='"bitbucket" is no provider; write one of auto, gitea, github, gitlab'):
        chosen("https://bitbucket.org/a/b", "bitbucket")


# Push options.


def description_of(options: tuple[str, ...]) -> str:
    """What GitLab makes of it: it takes every backslash with an n for a line feed."""
    return options[3].removeprefix("merge_request.description=").replace("\\n", "\n")


def test_push_options_open_a_merge_request_with_every_line_of_its_description() -> None:
    options = gitlab_push_options("place 3\nworkloads", "## Plan\n\n- one\r\n- C:\\new\n", "main")
    assert options[:3] == (
        "merge_request.create",
        "merge_request.target=main",
        "merge_request.title=place 3 workloads",
    )
    assert description_of(options) == "## Plan\n\n- one\n- C:&#92;new\n"


def test_push_options_reach_a_real_remote(tmp_path: Path) -> None:
    def git(*words: str, **more: Any) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, **more)

    git("init", "-q", "--bare", "remote.git")
    git("-C", "remote.git", "config", "receive.advertisePushOptions", "true")
    hook = tmp_path / "remote.git" / "hooks" / "pre-receive"
    hook.write_text('#!/bin/sh\nprintf "%s" "$GIT_PUSH_OPTION_3" >got\nprintf "%s" "$GIT_PUSH_OPTION_COUNT" >count\n')
    hook.chmod(0o755)
    git("init", "-q", "here")
    who = ["-c", "user.name=n", "-c", "user.email=e@x"]
    git("-C", "here", *who, "commit", "-q", "--allow-empty", "-m", "c")
    options = gitlab_push_options("t", "| a long line \N{GREEK SMALL LETTER ALPHA} |\n" * 5000, "main")
    spread = [word for option in options for word in ("-o", option)]
    git("-C", "here", "push", "-q", *spread, "../remote.git", "HEAD:refs/heads/next")
    assert (tmp_path / "remote.git" / "count").read_text() == "4"
    assert (tmp_path / "remote.git" / "got").read_text() == options[3]


@given(
    st.text(alphabet=st.sampled_from("a\\n\n\r\t \x00\x1b\N{SNOWMAN}") | st.characters(), max_size=300),
    st.integers(1, 400),
)
def test_no_push_option_has_a_line_feed_or_is_too_long(text: str, times: int) -> None:
    options = gitlab_push_options(text, text * times, "main")
    for option in options:
        assert "\n" not in option
        assert "\x00" not in option
        assert len(option.encode(errors="surrogatepass")) <= GITLAB_OPTION_LIMIT


def test_a_description_that_is_too_long_says_so_once() -> None:
    text = "- a line\n" * 20_000
    got = description_of(gitlab_push_options("t", text, "main"))
    assert got.endswith(f"(cut here: the whole text has {len(text):,} characters)\n")
    assert got.count("cut here") == 1
    assert len(got) > GITLAB_OPTION_LIMIT * 0.8


# GitOps Promoter.


def test_the_promoters_branch_and_file_have_the_names_that_it_looks_for() -> None:
    assert proposed_branch("environment/prod") == "environment/prod-next"
    assert proposed_branch("environment/prod", "/app-a/") == "environment/prod-next/app-a"
    assert HYDRATOR_METADATA == "hydrator.metadata"


def test_the_promoters_file_needs_the_commit_alone() -> None:
    assert hydrator_metadata("ab" * 20) == b'{\n  "drySha": "%s"\n}\n' % (b"ab" * 20)


def test_the_promoters_file_is_as_argo_cds_hydrator_writes_it() -> None:
    reference = Reference("cd" * 20, "https://h/o/other", "A <a@x>", "2026-01-14T09:00:00Z", "chore: update")
    content = hydrator_metadata(
        "ab" * 20,
        repo_url="https://h/o/r",
        commands=["gitops-ds render --locked --to out"],
        author="J\N{LATIN SMALL LETTER O WITH DIAERESIS}rg <j@x>",
        date="2026-01-15T09:00:00+01:00",
        subject='say "hi"',
        body="line\nline\n",
        references=[reference],
    )
    assert json.loads(content) == {
        "repoURL": "https://h/o/r",
        "drySha": "ab" * 20,
        "commands": ["gitops-ds render --locked --to out"],
        "author": "J\N{LATIN SMALL LETTER O WITH DIAERESIS}rg <j@x>",
        "date": "2026-01-15T09:00:00+01:00",
        "subject": 'say "hi"',
        "body": "line\nline\n",
        "references": [
            {
                "commit": {
                    "author": "A <a@x>",
                    "date": "2026-01-14T09:00:00Z",
                    "subject": "chore: update",
                    "sha": "cd" * 20,
                    "repoURL": "https://h/o/other",
                }
            }
        ],
    }
    assert content.endswith(b"}\n")
