"""How a remote is got into: by what the Reconciler says, else by what the environment does.

Owns the order in which they count. Owns no use of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from gitops_ds.errors import Fault, InputError, Place
from gitops_ds.intent.reconciler import Git
from gitops_ds.repo import Access


def access_to(git: Git) -> Access:
    """How to get into the remote that `git` describes.

    Raises:
        InputError: the file of the token cannot be read, or is empty.
    """
    file = _path(git.tokenFile or os.environ.get("GITOPS_DS_TOKEN_FILE"))
    if file is not None:
        _read(file)
    return Access(
        token_file=file,
        password=None if file else os.environ.get("GITOPS_DS_TOKEN", "").strip() or None,
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
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "it is no text"
        raise InputError(Fault("the file of the token cannot be read", Place(str(path)), why)) from None
    if not token:
        raise InputError(Fault("the file of the token is empty", Place(str(path))))
    return token


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
