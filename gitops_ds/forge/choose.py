"""`forge_for(...)`: the forge that keeps a remote's pull requests.

Owns how a forge is told by its host and where its API is. Owns no request.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gitops_ds.errors import Fault, InputError
from gitops_ds.forge import gitea, github, gitlab
from gitops_ds.forge.api import Api, Words, check_base
from gitops_ds.forge.model import Forge, Patience
from gitops_ds.forge.remote import Remote, parse_remote, shown
from gitops_ds.forge.rest import RestForge

Provider = Literal["auto", "github", "gitlab", "gitea"]

_TOKEN = re.compile(r"[\x21-\x7e]+")
_WEB = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
"""Hosts that serve ssh on another port, and the host that they belong to."""


@dataclass(frozen=True, slots=True)
class _Kind:
    make: type[RestForge]
    hosts: re.Pattern[str]
    root: str
    permission: str
    authorization: str
    accept: str = "application/json"
    parts: int | None = 2


_KINDS = {
    "github": _Kind(
        github.GitHub,
        re.compile(r"github|\.ghe\.com$"),
        "/api/v3",
        github.PERMISSION,
        "Bearer {}",
        "application/vnd.github+json",
    ),
    "gitlab": _Kind(gitlab.GitLab, re.compile("gitlab"), "/api/v4", gitlab.PERMISSION, "Bearer {}", parts=None),
    "gitea": _Kind(gitea.Gitea, re.compile(r"gitea|forgejo|^codeberg\.org$"), "/api/v1", gitea.PERMISSION, "token {}"),
}


def forge_for(
    provider: Provider,
    remote_url: str,
    api_url: str | None,
    token: str,
    *,
    ca_file: str | Path | None = None,
    timeout: float = 30.0,
    patience: Patience | None = None,
) -> Forge:
    """The forge of a remote. Nothing is asked of it yet, and nothing has to be closed afterwards.

    Args:
        provider: which forge it is; `auto` tells it by the host's name. `gitea` is Forgejo too.
        remote_url: the git remote, as git takes it.
        api_url: where the API is; None: where that forge has it on the remote's host.
        token: what the API wants; blanks around it do not count.
        ca_file: a PEM file of an authority that the host's certificate is signed by.
        timeout: seconds to connect, to wait for an answer, and for the whole answer.
        patience: how long one request is tried for; None: four times, within a minute.

    Raises:
        InputError: the forge is unknown, the URL names no repository on it, or the token is no token.
    """
    remote = parse_remote(remote_url)
    host = _WEB.get(remote.host, remote.host)
    kind = _KINDS[_told(host, api_url) if provider == "auto" else _known(provider)]
    base = check_base(api_url) if api_url else _base(kind, host, remote)
    repository = _repository(kind, remote, base, remote_url)
    secret = token.strip()
    if not _TOKEN.fullmatch(secret):
        what = (
            "the token is empty" if not secret else "the token has a blank, a line break or a foreign character in it"
        )
        raise InputError(Fault(what, fix="give the token alone, as the forge showed it"))
    api = Api(
        base,
        kind.authorization.format(secret),
        secret,
        Words(kind.make.name, repository, kind.permission),
        accept=kind.accept,
        ca_file=ca_file,
        timeout=timeout,
        patience=patience,
    )
    make: Callable[[Api, str], Forge] = kind.make
    return make(api, repository)


def provider_of(remote_url: str) -> str | None:
    """Which forge the host of a remote is, as far as its name tells; None where it does not."""
    try:
        remote = parse_remote(remote_url)
        return _told(_WEB.get(remote.host, remote.host), None)
    except InputError:
        return None


def _known(provider: str) -> str:
    if provider not in _KINDS:
        raise InputError(Fault(f'"{provider}" is no provider', fix=f"write one of auto, {', '.join(sorted(_KINDS))}"))
    return provider


def _told(host: str, api_url: str | None) -> str:
    """Which forge a host is, by its name, else by the API's path."""
    by_host = [name for name, kind in _KINDS.items() if kind.hosts.search(host)]
    by_path = [name for name, kind in _KINDS.items() if api_url and api_url.rstrip("/").endswith(kind.root)]
    for found in (by_host, by_path):
        if len(found) == 1:
            return found[0]
    what = f"which forge {host} is cannot be told by its name"
    raise InputError(Fault(what, fix=f"set the provider: {', '.join(sorted(_KINDS))} (Forgejo: gitea)"))


def _base(kind: _Kind, host: str, remote: Remote) -> str:
    if kind.make is github.GitHub and (host == "github.com" or host.endswith(".ghe.com")):
        return f"https://api.{host}"
    web = remote.web if host == remote.host else f"https://{host}"
    return web + kind.root


def _repository(kind: _Kind, remote: Remote, base: str, remote_url: str) -> str:
    """The repository's path on the forge, which may itself live below a path of its host."""
    path = remote.path
    at = urlsplit(base)
    below = at.path.removesuffix(kind.root).strip("/")
    if remote.scheme != "ssh" and below and at.hostname == remote.host and path.startswith(f"{below}/"):
        path = path.removeprefix(f"{below}/")
    if kind.parts is not None and path.count("/") + 1 != kind.parts:
        what = f"{shown(remote_url)} names no repository on {kind.make.name}"
        raise InputError(Fault(what, why="it does not end in OWNER/NAME there"))
    return path
