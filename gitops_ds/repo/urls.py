"""Addresses of git remotes: telling them from names and folders, and keeping the secrets in them out of sight.

Owns what a URL's text says: whether it is one, which server it names, which credentials somebody wrote into it. Touches
neither git nor the network.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCP_LIKE = re.compile(r"(?:[^/:@\s]+@)?(?:\[[^\]\s]+\]|[^/:@\[\]\s]+):(?!:)\S")
_USER_INFO = re.compile(r"://[^\s/'\"<>]*@")
_BAD_USER_INFO = re.compile(r"://[^\s/'\"<>@\[\]]*:(?!\d*(?:[/?#\s'\"<>]|$))[^\s'\"<>]*@")
"""The same with a password that has a / in it unescaped: what stands for the port is no number."""
_QUERY = re.compile(r"(://[^\s?'\"<>]*\?)[^\s'\"<>]+")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")


class Address(NamedTuple):
    """A URL without the credentials that were written into it, and these credentials, decoded; None where absent."""

    url: str
    username: str | None = None
    password: str | None = None

    @property
    def server(self) -> str | None:
        """Scheme, host and port of an http or https URL; None for any other."""
        try:
            parts = urlsplit(self.url) if _is_http(self.url) else None
        except ValueError:  # git says what it makes of it
            return None
        return f"{parts.scheme}://{parts.netloc}" if parts else None


def is_url(text: str) -> bool:
    """Whether `text` is the URL of a remote (`scheme://...`, or `host:path` as scp takes it); no folder or name is."""
    return not text.startswith("-") and bool(_SCHEME.match(text) or _SCP_LIKE.match(text))


def address(url: str) -> Address:
    """Take the credentials out of a URL.

    Those of http and https are taken out wholly. Of ssh the password alone is: ssh has no use for it, and the name is
    a part of where the repository is. What is no URL comes back as it is.
    """
    if not _SCHEME.match(url):
        return Address(url)
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    info, at, host = host.rpartition("@")
    if not at:
        return Address(url)
    name, _, password = info.partition(":")
    if not _is_http(url):
        return Address(f"{scheme}://{name}@{host}{slash}{path}")
    return Address(f"{scheme}://{host}{slash}{path}", unquote(name) or None, unquote(password) or None)


def wrong_with(url: str) -> str:
    """Why a URL cannot be used; "" where it can, and for what is no `scheme://...`. Repeats nothing of it.

    What follows a ? is refused over http: a token there would stand in settings, process lists and logs.
    """
    if not _SCHEME.match(url) or url.lower().startswith("file://"):
        return ""
    if any(c.isspace() or not c.isprintable() for c in url):
        return "it has a blank or a control character in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "its host or port is none"
    if port == 0 or not parts.hostname:
        return "its host or port is none"
    if _is_http(url) and ("?" in url or "#" in url):
        return "a ? or # has no place in it: give a token by GITOPS_DS_TOKEN_FILE or GITOPS_DS_TOKEN"
    return ""


def mask(text: str) -> str:
    """A text of git or of a remote as it may be shown: no secrets of URLs, no control characters but line ends.

    The secrets of a URL are its credentials, and all that follows a ?.
    """
    shown = _BAD_USER_INFO.sub("://***@", _ANSI.sub("", text))
    shown = _QUERY.sub(r"\1***", _USER_INFO.sub("://***@", shown)).replace("\r", "\n").replace("\t", " ")
    return "".join(c for c in shown if c == "\n" or not unicodedata.category(c).startswith("C"))


def _is_http(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))
