"""What became of a fetch or a push: git's exit status and words turned into one error, whatever the words are.

Owns the tables of what git and the known servers say. The maps are total: a push whose outcome nothing proves is of
unknown outcome, never a failure that may be repeated blindly. Runs nothing.

The order of judgement for a push: the status line of the ref, as the remote reported it, decides where there is one.
Without one, words that can only be said before anything is sent prove that nothing changed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gitops_ds.errors import (
    Fault,
    GitopsDsError,
    MovedError,
    OutcomeUnknownError,
    Place,
    RefusedError,
    RepositoryError,
    TransientError,
)
from gitops_ds.repo.gitcmd import TIMED_OUT, Answer

_LINES = 20
_COLUMNS = 500

_PULL_REQUEST = "use pull-request mode, or let the committer's account push to the branch"
_AGAIN = "run again later"
_DEFAULT_WHAT = "the remote refused the push"


class _Row(NamedTuple):
    """Words, and the error that they mean."""

    words: re.Pattern[str]
    error: type[GitopsDsError]
    what: str
    fix: str = ""


def _row(words: str, error: type[GitopsDsError], what: str, fix: str = "") -> _Row:
    return _Row(re.compile(words, re.IGNORECASE), error, what, fix)


_MOVED = r"is at [0-9a-f]+ but expected|reference already exists|incorrect old value|fetch first"
_FULL = r"no space left on device|disk quota exceeded|file too large \(os error"
_PASSING = (
    r"temporarily read-only|temporarily unavailable|try again later|maintenance mode|internal server error"
    r"|internal api (?:error|unreachable)|failed to update ref: timeout"
)
_PROTECTED = (
    r"protected branch|branch \S+ is protected|GH006|GH013|repository rule violations"
    r"|must be made through a pull request|must use a pull request"
    r"|TF402455|TF401027|pull request to update|merge request.*required|branch restriction"
)

# What a remote says about one ref that it was asked to change, and did not.
_REJECTED = (
    _row(_MOVED, MovedError, "the branch moved while it was pushed to"),
    _row(r"unable to create '[^']*\.lock'|another git process", MovedError, "another push holds the branch"),
    _row(_FULL, RefusedError, "the remote's disk is full", "make room there, and run again"),
    _row(_PASSING, TransientError, "the remote cannot take a push for now", _AGAIN),
    _row(_PROTECTED, RefusedError, "the branch is protected", _PULL_REQUEST),
    _row(
        r"user permission denied for writing|does not have write access|not allowed to (?:push|upload) code",
        RefusedError,
        "the committer's account may not write to this repository",
        "give it the right to write, or use another account",
    ),
    _row(
        r"read-only file system|permission denied|insufficient permission|unable to create temporary"
        r"|unable to migrate objects",
        RefusedError,
        "the remote cannot write to its own repository",
        "ask whoever runs it to let the server's user write there",
    ),
    _row(
        r"branch is currently checked out",
        RefusedError,
        "the branch is checked out in the remote",
        "push to a bare repository, or to another branch",
    ),
    _row(r"non-fast-forward", RefusedError, "the remote takes no push that replaces commits"),
    _row(r"hook declined", RefusedError, "a hook of the remote declined the push", _PULL_REQUEST),
)

_CREDENTIALS = "check the token or key, and that it has not expired"
_REPOSITORY = "check the URL, and that the account may see the repository"
_WRITE = "give the account or key the right to write, or use another one"

# git's own daemon does not tell the two apart; one who pushes has read from it before.
_NOT_SERVED = _row(
    r"access denied or repository not exported", RefusedError, "the remote gives no right to do this", _WRITE
)
# What is said before anything is sent: nothing has changed. The first row that matches counts.
_UNSENT = (
    _row(_PASSING, TransientError, "the remote cannot serve for now", _AGAIN),
    _row(
        r"authentication failed|could not read (?:username|password)"
        r"|permission denied \((?:publickey|password|keyboard|gss)|too many authentication"
        r"|returned error: 40[17]|http basic: access denied|invalid username or (?:password|token)",
        RefusedError,
        "the remote does not accept the credentials",
        _CREDENTIALS,
    ),
    _row(
        r"host key verification failed",
        RepositoryError,
        "the remote's host key is not known, or another one",
        "check it and put it into the known hosts",
    ),
    _row(
        r"marked as read only|read-only|cannot push with deploy|does not support push code"
        r"|was archived|service not enabled|permission to \S+ denied|write access|"
        r"not allowed to (?:push|upload)|returned error: 403|access denied for user",
        RefusedError,
        "the remote gives no right to do this",
        _WRITE,
    ),
    _row(
        r"repository '[^']*' not found|repository not found|does not appear to be a git repository"
        r"|could not be found or you|access denied or repository not exported"
        r"|returned error: 404|project you were looking for|no such remote"
        r"|repository .* does not exist|not a git repository",
        RepositoryError,
        "there is no such repository, or no right to see it",
        _REPOSITORY,
    ),
    _row(
        r"not allow request for unadvertised",
        RepositoryError,
        "the remote gives no single files to a clone that was made with a filter",
        "clone without a filter, or set `uploadpack.allowAnySHA1InWant` there",
    ),
    _row(
        r"certificate|SSL_CTX|unable to set ca|CAfile",
        RepositoryError,
        "the remote's certificate is not trusted",
        "name the certificate authority's file, or correct the address",
    ),
    _row(
        r"does not support push options",
        RepositoryError,
        "the remote takes no push options",
        "set `receive.advertisePushOptions` there, or leave the options out",
    ),
    _row(
        r"transport '[^']*' not allowed|unsupported protocol|unable to find remote helper"
        r"|protocol '[^']*' is not supported",
        RepositoryError,
        "git cannot use this kind of address",
    ),
    _row(r"unable to write file|" + _FULL, RepositoryError, "the disk here is full", "make room, and run again"),
    _row(
        r"could not resolve|connection (?:refused|reset|timed out|closed by)|connect to|failed to connect"
        r"|network is unreachable|no route to host|operation timed out|too slow"
        r"|name resolution|name or service not known"
        r"|kex_exchange_identification|empty reply|unable to connect|couldn't connect|returned error: (?:408|429|5\d\d)"
        r"|SSL_ERROR_SYSCALL|TLS connection|gnutls_handshake|SSL connect error|recv failure|early eof|transfer closed"
        r"|hung up|unexpected disconnect|rpc failed|curl \d+|timeout|broken pipe",
        TransientError,
        "the remote cannot be reached",
        _AGAIN,
    ),
)

# Words that git can only say while it asks a remote what it has: before anything of a push is on its way.
_BEFORE = re.compile(
    r"unable to access '|could not read from remote repository|upon initial contact|remote error: "
    r"|unable to connect to|authentication failed for"
    r"|could not read (?:username|password)|repository '[^']*' not found|does not support push"
    r"|unable to look up|unable to find remote helper|transport '[^']*' not allowed|does not appear to be a git",
    re.IGNORECASE,
)
_FULL_HERE = re.compile(_FULL, re.IGNORECASE)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s']+", re.IGNORECASE)
_SAID = re.compile(r"(?:remote:|error: remote unpack failed:)(.*)")
_HTTP_REFUSAL = re.compile(r"rpc failed; http 4(?!08|29)\d\d", re.IGNORECASE)
_REF_LINE = re.compile(r"^(?P<flag>[ +*=!-])\t[^\t]*:(?P<ref>[^\t]*)\t(?P<summary>.*)$", re.MULTILINE)


def push_failure(answer: Answer, ref: str, where: str) -> GitopsDsError | None:
    """The error that a push of one ref ended with; None where the remote has taken it, or had it before.

    Args:
        answer: what `git push --porcelain` said, its words fit to be shown.
        ref: the full name of the remote's ref.
        where: the remote, as it may be shown.
    """
    place = Place(f"{where} {ref.removeprefix('refs/heads/')}")
    lines = {match["ref"]: match for match in _REF_LINE.finditer(answer.out.decode(errors="replace"))}
    line = lines.get(ref)
    if answer.status == 0 and line and line["flag"] != "!":
        return None
    if answer.status == TIMED_OUT or line is None or line["flag"] != "!" or "[remote failure]" in line["summary"]:
        return _unreported(answer, place)
    summary = line["summary"]
    if summary.startswith("[rejected]"):
        return MovedError(_fault(_row("", MovedError, "the remote branch is not where it was"), place, summary))
    return _rejected(answer, place, summary)


def fetch_failure(answer: Answer, where: str) -> GitopsDsError:
    """The error that a fetch, a clone or a listing ended with; none of them changes the remote."""
    place = Place(where)
    if answer.status == TIMED_OUT:
        return TransientError(Fault("the remote did not answer in time", place, _words(answer.err), _AGAIN))
    row = _first(_UNSENT, answer.err) or _row("", RepositoryError, "git cannot read from the remote", _REPOSITORY)
    return row.error(_fault(row, place, _words(answer.err)))


def _rejected(answer: Answer, place: Place, summary: str) -> GitopsDsError:
    reason = summary.removeprefix("[remote rejected]").strip().removeprefix("(").removesuffix(")")
    said = _remote_words(answer.err)
    row = _first(_REJECTED, f"{reason}\n{said}") or _row("", RefusedError, _DEFAULT_WHAT)
    return row.error(_fault(row, place, f"{said}\n{reason}" if said else reason))


def _unreported(answer: Answer, place: Place) -> GitopsDsError:
    """The error of a push that no status line tells of."""
    words = _words(answer.err)
    unsent = answer.status != TIMED_OUT and "[remote failure]" not in answer.out.decode(errors="replace")
    if unsent and _HTTP_REFUSAL.search(answer.err):
        refusals = tuple(row for row in _UNSENT if row.error is RefusedError)
        row = _first(refusals, answer.err) or _row("", RefusedError, _DEFAULT_WHAT)
        return row.error(_fault(row, place, words))
    local = "\n".join(line for line in answer.err.splitlines() if not line.startswith("remote:"))
    if unsent and (_BEFORE.search(local) or _FULL_HERE.search(local)):
        row = _first((_NOT_SERVED, *_UNSENT), answer.err) or _row(
            "", RepositoryError, "git cannot push to the remote", _REPOSITORY
        )
        return row.error(_fault(row, place, words))
    return OutcomeUnknownError(
        Fault(
            "the connection was lost during the push",
            place,
            why="\n".join(filter(None, (words, "the remote may have taken the commit or not"))),
            fix="run again: it looks for the commit before it pushes another",
        )
    )


def _first(rows: tuple[_Row, ...], words: str) -> _Row | None:
    plain = _URL.sub("URL", words)  # what a repository is called says nothing about it
    return next((row for row in rows if row.words.search(plain)), None)


def _fault(row: _Row, place: Place, why: str) -> Fault:
    return Fault(row.what, place, why.strip(), row.fix)


def _remote_words(err: str) -> str:
    """What the remote said, without the progress of its work."""
    found = [_SAID.match(line) for line in err.splitlines()]
    said = [line[1].strip() for line in found if line]
    return _words(
        "\n".join(line for line in said if not re.match(r"(?:Resolving|Counting|Compressing|Checking) ", line))
    )


def _words(text: str) -> str:
    """The lines of a text that say something, as many and as long as fit into a message."""
    lines = [line.strip()[:_COLUMNS] for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("hint:", "error: failed to push some refs"))]
    return "\n".join(kept[:_LINES])
