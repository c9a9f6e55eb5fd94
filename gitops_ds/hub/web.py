"""One HTTP exchange with a server of metrics or a scorer: a request out, a bounded answer in, before a deadline.

Owns limits and the words for a connection that fails. Follows no redirect and tries nothing twice: what an answer means
belongs to those who ask. No URL with credentials gets here, and what is sent with a request is in no message.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from gitops_ds.errors import Fault, HubError, HubUnreachable, Place

AGENT: Final = "gitops-ds"
LONGEST_WORDS: Final = 300


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is got into.

    Attributes:
        seconds: how long one exchange may take.
        most: how many bytes an answer may have.
        headers: what is sent with it, secrets included.
        ca_file: the certificate authority; None for the system's.
    """

    seconds: float
    most: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def wait(self) -> float | None:
        """The seconds that Retry-After asks for; None where it does not say."""
        said = self.headers.get("retry-after", "").strip()
        return float(said) if said.isdecimal() and len(said) < 10 else None


def ask(where: str, url: str, access: Access, form: Mapping[str, str] | None = None) -> Answer:
    """What the server at `url` answers: to a POST of `form`, or to a GET where there is none.

    `where` names it in messages.

    Raises:
        HubUnreachable: it cannot be reached for now, or not in time.
        HubError: its certificate is not trusted, or the answer is too large.
    """
    method = "GET" if form is None else "POST"
    headers = {"Accept": "application/json", "User-Agent": AGENT, **access.headers}
    try:
        with (
            httpx.Client(verify=_trust(access.ca_file), timeout=access.seconds, headers=headers) as client,
            client.stream(method, url, data=form) as response,
        ):
            return Answer(response.status_code, response.headers, _body(where, response, access))
    except httpx.HTTPError as error:
        raise _failed(where, error, access) from None
    except httpx.InvalidURL:
        raise HubError(Fault(f"{where}: its address is no URL")) from None


def in_words(text: Any, secrets: Mapping[str, str]) -> str:
    """What a server said, fit for a message: one line, not too long, and without what was sent in secret."""
    said = " ".join(str(text).split())
    for header in secrets.values():
        for part in header.split(" "):
            said = said.replace(part, "***") if len(part) > 3 else said
    clean = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)
    return clean if len(clean) <= LONGEST_WORDS else clean[:LONGEST_WORDS] + "..."


def _trust(ca_file: Path | None) -> ssl.SSLContext:
    if ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except OSError as error:  # an SSLError is one too
        why = error.strerror if isinstance(error, FileNotFoundError | PermissionError) else "it holds no certificate"
        raise HubError(
            Fault("the file of the certificate authority cannot be read", Place(str(ca_file)), why or "")
        ) from None


def _body(where: str, response: httpx.Response, access: Access) -> bytes:
    """The answer's bytes; reading stops where there are too many, or where they come too slowly."""
    end = time.monotonic() + access.seconds
    found: list[bytes] = []
    size = 0
    for chunk in response.iter_bytes():
        found.append(chunk)
        size += len(chunk)
        if size > access.most:
            raise HubError(Fault(f"{where}: the answer has more than {access.most // 2**20} MiB, so it is not used"))
        if time.monotonic() > end:
            raise HubUnreachable(Fault(f"{where}: the answer was not complete within {access.seconds:g} seconds"))
    return b"".join(found)


def _failed(where: str, error: httpx.HTTPError, access: Access) -> HubError:
    causes = list(_causes(error))
    untrusted = next((e for e in causes if isinstance(e, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        fix = "check caFile" if access.ca_file else "name its certificate authority"
        return HubError(Fault(f"{where}: its certificate is not trusted", why=untrusted.verify_message, fix=fix))
    if any(isinstance(e, ssl.SSLError) for e in causes):
        return HubError(Fault(f"{where}: it does not speak TLS as we do", fix="check http or https, and the port"))
    if isinstance(error, httpx.TimeoutException):
        return HubUnreachable(Fault(f"{where}: no answer within {access.seconds:g} seconds"))
    why = next((e.strerror for e in causes if isinstance(e, OSError) and e.strerror), None) or _plain(error)
    return HubUnreachable(Fault(f"{where}: it cannot be reached", why=why))


def _plain(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.RemoteProtocolError):
        return "the connection ended before the answer did"
    return in_words(error, {}) or type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
