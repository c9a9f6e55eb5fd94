"""How a remote is got into: by what the Reconciler says, else by what the environment does.

Owns the order in which they count. Owns no use of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from gitops_ds.errors import Fault, InputError, Place, UsageError
from gitops_ds.intent.reconciler import Git
from gitops_ds.repo import Access

LONGEST = 65_536
"""Characters of a token's file; more is no token."""
_ONE_LINE = "one line, with nothing else in it"


def access_to(git: Git) -> Access:
    """How to get into the remote that `git` describes.

    Raises:
        InputError: the file of the token cannot be read, is empty, or holds more than a token.
        UsageError: the environment's token is no single line.
    """
    file = _path(git.tokenFile or os.environ.get("GITOPS_DS_TOKEN_FILE"))
    if file is not None:
        _read(file)
    return Access(
        token_file=file,
        password=None if file else _from_environment(),
        username=git.username,
        ca_file=_path(git.caFile),
        ssh_key=_path(git.sshKeyFile),
        known_hosts=_path(git.knownHostsFile),
        timeout=git.timeout,
    )


def token_of(access: Access) -> str | None:
    """The token, for an API; None where none is given."""
    return access.password if access.token_file is None else _read(access.token_file)


def cache_folder() -> Path:
    """Where clones of our own are kept."""
    said = os.environ.get("GITOPS_DS_CACHE")
    return Path(said) if said else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gitops-ds"


def _read(path: Path) -> str:
    place = Place(str(path))
    try:
        if path.exists() and not path.is_file():
            raise InputError(Fault("the file of the token is no regular file", place, fix=_ONE_LINE))
        with path.open(encoding="utf-8") as file:
            token = file.read(LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "it is no text"
        raise InputError(Fault("the file of the token cannot be read", place, why)) from None
    if not token:
        raise InputError(Fault("the file of the token is empty", place))
    if not token.isprintable() or len(token) >= LONGEST:
        raise InputError(Fault("the file of the token holds more than a token", place, fix=_ONE_LINE))
    return token


def _from_environment() -> str | None:
    """The token in the environment; git is told it line by line, so it has one."""
    token = os.environ.get("GITOPS_DS_TOKEN", "").strip()
    if not token.isprintable():
        what = "GITOPS_DS_TOKEN has a line break or a control character in it"
        raise UsageError(Fault(what, fix="give the token alone"))
    return token or None


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
