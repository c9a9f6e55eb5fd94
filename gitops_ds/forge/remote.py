"""`Remote`: the host and the repository that a git remote's URL names.

Owns the forms that git takes: https, ssh, and `host:path` as scp has it. Owns no forge's rules on how long a path is.
No URL is ever shown with what stands before the @ in it: it may be a password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from gitops_ds.errors import Fault, InputError

_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^:/\s\[\]]+):(?P<path>[^:\s].*)", re.DOTALL)
_SCHEMES = {"https": "https", "http": "http", "ssh": "ssh", "git+ssh": "ssh", "ssh+git": "ssh"}
_BAD = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on a host.

    Attributes:
        scheme: https, http or ssh.
        host: in lower case.
        port: of http and https; None for the usual one, and for ssh, whose port says nothing about the web's.
        path: `owner/name`, on GitLab with groups and subgroups; without `.git`.
    """

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def web(self) -> str:
        """Scheme, host and port of its web address."""
        scheme = "http" if self.scheme == "http" else "https"
        return f"{scheme}://{self.host}" + (f":{self.port}" if self.port else "")


def parse_remote(url: str) -> Remote:
    """The repository that `url` names.

    Raises:
        InputError: it names none on a host, such as a path on this machine.
    """
    url = url.strip()
    if _BAD.search(url):
        raise _not_a_remote(url, "it has a blank or a control character")
    scheme, separator, _ = url.partition("://")
    if not separator:
        return _scp(url)
    if scheme.lower() not in _SCHEMES:
        raise _not_a_remote(url, "pull requests need a remote over https or ssh")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _not_a_remote(url, "its host or port is none") from None
    if not host:
        raise _not_a_remote(url, "it has no host")
    scheme = _SCHEMES[scheme.lower()]
    usual = port is None or scheme == "ssh" or port == {"https": 443, "http": 80}[scheme]
    return Remote(scheme, _bracketed(host), None if usual else port, _path(parts.path, url))


def _scp(url: str) -> Remote:
    match = _SCP.fullmatch(url)
    if match is None:
        raise _not_a_remote(url, "pull requests need a remote over https or ssh")
    return Remote("ssh", match["host"].lower(), None, _path(match["path"], url))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _path(path: str, url: str) -> str:
    parts = unquote(path).rstrip("/").removesuffix(".git").strip("/").split("/")
    if len(parts) < 2 or not all(parts) or {".", ".."} & set(parts) or _BAD.search("".join(parts)):
        raise _not_a_remote(url, "it does not end in OWNER/NAME")
    return "/".join(parts)


def _not_a_remote(url: str, why: str) -> InputError:
    what = f"{shown(url)} names no repository on a forge"
    return InputError(Fault(what, why=why, fix="use a remote such as https://HOST/OWNER/NAME.git"))


def shown(url: str) -> str:
    """`url` for a message: without user, password, query and fragment."""
    bare = re.sub(r"[^\s/]*@", "", re.split(r"[?#]", url, maxsplit=1)[0])
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in bare)[:200] or "the empty text"
