"""`Api`: one forge's REST API over HTTP, with its failures told apart in plain words.

Owns requests, repeats, waits, redirects and TLS. Owns no forge's paths and shapes. The token is in a header and
nowhere else: no URL, message, log or repr has it.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from gitops_ds import __version__
from gitops_ds.errors import Fault, InputError, RefusedError, RepositoryError
from gitops_ds.forge.answer import Answer, answer_of, asked_wait, limit_of, sentences
from gitops_ds.forge.model import Patience, Waiting

LARGEST_ANSWER = 64 * 2**20
MOST_REDIRECTS = 3
MOST_PAGES = 500


class OutcomeUnknownError(RepositoryError):
    """A request that must not be repeated blindly was sent, and nobody knows what became of it."""


@dataclass(frozen=True, slots=True)
class Words:
    """What an error says of a forge: its name, the repository, and what a token has to be allowed."""

    forge: str
    repository: str
    permission: str


class Api:
    """Requests to one forge.

    Args:
        base: the API's address, without a slash at its end.
        authorization: the header's value, which holds `token`.
        token: what must not be shown.
        words: what errors say.
        ca_file: a PEM file of further authorities to trust.
        timeout: seconds to connect, to wait for an answer, and for the whole answer.
        patience: how long one request is tried for.
    """

    def __init__(
        self,
        base: str,
        authorization: str,
        token: str,
        words: Words,
        *,
        accept: str = "application/json",
        ca_file: str | Path | None = None,
        timeout: float = 30.0,
        patience: Patience | None = None,
    ) -> None:
        self.base = base
        self.words = words
        self.patience = patience or Patience()
        self._token = token
        self._timeout = timeout
        headers = {"Authorization": authorization, "Accept": accept, "User-Agent": f"gitops-ds/{__version__}"}
        self._client = _client(headers, _tls(ca_file), timeout)

    def __repr__(self) -> str:
        return f"Api({self.base!r})"

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, str | int] | None = None,
        accept: Collection[int] = (),
        repeat: bool | None = None,
        waiting: Waiting | None = None,
    ) -> Answer:
        """Send it, again where that may help, until it succeeds or its status is in `accept`.

        Where it may have arrived it is sent again only with `repeat`: by default everything but a POST.

        Raises:
            OutcomeUnknownError: it may have arrived, and is not sent again.
            RefusedError: the forge says no.
            RepositoryError: no good answer within the patience.
        """
        waiting = waiting or Waiting(self.patience)
        while True:
            try:
                answer = self._once(method, self.base + path, body, params)
            except httpx.RequestError as error:
                fault, asked = self._unreachable(error), None
            else:
                if (answer.status < 300 and answer.is_json) or answer.status in accept:
                    return answer
                limit = limit_of(answer)
                if limit is not None:
                    if not waiting.wait(limit):
                        raise RepositoryError(self._limited(limit))
                    continue
                if answer.status < 500 and answer.is_json and answer.status != 408:
                    raise self.refusal(answer)
                fault, asked = self._broken(answer), asked_wait(answer)
            if not (method != "POST" if repeat is None else repeat):
                raise OutcomeUnknownError(fault)
            if not waiting.wait(asked):
                raise RepositoryError(fault)

    def pages(self, path: str, params: Mapping[str, str | int], size: tuple[str, int]) -> Iterator[Any]:
        """The items of a list, page after page; `size` is the parameter for the length of a page, and that length.

        The next page is asked for by its number, never by an address out of the answer.
        """
        name, length = size
        for number in range(1, MOST_PAGES + 1):
            answer = self.request("GET", path, params={**params, name: length, "page": number})
            if not isinstance(answer.value, list):
                raise RepositoryError(self._broken(answer))
            yield from answer.value
            more = 'rel="next"' in answer.headers.get("link", "") or len(answer.value) >= length
            if not more or not answer.value:
                return
        raise RepositoryError(Fault(f"{self.words.forge} has more than {MOST_PAGES} pages of {path}"))

    def refusal(self, answer: Answer) -> RefusedError:
        """What a status says that will be the same next time."""
        words, said = self.words, self.said(answer)
        host = httpx.URL(self.base).netloc.decode()
        quoted = f'it says "{said}"' if said else ""
        if answer.status == 401:
            what = f"{words.forge} at {host} does not take the token: it is wrong, expired or revoked"
            return RefusedError(Fault(what, why=quoted, fix=f"make a new one: {words.permission}"))
        if answer.status == 403:
            what = f"the token may not do this in {words.repository} at {host}"
            return RefusedError(Fault(what, why=quoted, fix=f"it needs {words.permission}"))
        if answer.status == 404:
            what = f"{words.forge} at {host} has no repository {words.repository}, or the token may not see it"
            return RefusedError(
                Fault(what, why=quoted, fix=f"check the remote's URL; the token needs {words.permission}")
            )
        what = f"{words.forge} at {host} refuses this for {words.repository} (status {answer.status})"
        return RefusedError(Fault(what, why=quoted))

    def said(self, answer: Answer) -> str:
        """What the forge says in an answer, in one line that has no token and no control character in it."""
        return self._clean("; ".join(dict.fromkeys(sentences(answer.value))))[:300]

    def _once(
        self, method: str, url: str, body: Mapping[str, Any] | None, params: Mapping[str, str | int] | None
    ) -> Answer:
        """Send one request, and what it is redirected to on the same host."""
        for _ in range(MOST_REDIRECTS + 1):
            with self._client.stream(method, url, json=body, params=params) as response:
                if response.status_code not in (301, 302, 303, 307, 308):
                    return answer_of(response, self._content(response))
                url = self._redirected(method, response)
                params = None
        raise RefusedError(Fault(f"{self.words.forge} sends on more than {MOST_REDIRECTS} times", fix=_CHECK_URL))

    def _redirected(self, method: str, response: httpx.Response) -> str:
        here = response.request.url
        try:
            there = here.join(response.headers.get("location", ""))
        except httpx.InvalidURL:
            there = here
        origin = (there.scheme, there.host, there.port)
        if origin != (here.scheme, here.host, here.port):
            to = self._clean(f"{there.scheme}://{there.netloc.decode(errors='replace').rpartition('@')[2]}")
            what = f"{self.words.forge} at {here.host} sends on to {to}"
            raise RefusedError(Fault(what, why="the token is not taken to another host", fix=_CHECK_URL))
        if method != "GET" and response.status_code not in (307, 308):
            what = f"{self.words.forge} at {here.host} says that {self.words.repository} has moved"
            raise RefusedError(Fault(what, fix="set the remote's URL to where it is now"))
        return str(there)

    def _content(self, response: httpx.Response) -> bytes:
        clock = self.patience.clock
        start, content = clock(), bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if clock() - start > self._timeout:
                raise httpx.ReadTimeout("the answer takes too long", request=response.request)
            if len(content) > LARGEST_ANSWER:
                raise httpx.ReadError("the answer is too large", request=response.request)
        return bytes(content)

    def _unreachable(self, error: httpx.RequestError) -> Fault:
        where = f"{self.words.forge} at {httpx.URL(self.base).netloc.decode()}"
        certificate = next((e for e in _causes(error) if isinstance(e, ssl.SSLCertVerificationError)), None)
        if certificate is not None:
            what = f"the certificate of {where} is not trusted: {certificate.verify_message or certificate.reason}"
            raise RefusedError(Fault(what, fix="give the file of the authority that signed it (ca file)")) from None
        if isinstance(error, httpx.TimeoutException):
            return Fault(f"{where} did not answer within {self._timeout:g} s", fix="try again")
        return Fault(
            f"{where} cannot be reached", why=self._clean(str(error)), fix="check the network and the API's URL"
        )

    def _broken(self, answer: Answer) -> Fault:
        where = f"{self.words.forge} at {httpx.URL(self.base).netloc.decode()}"
        if answer.status >= 500 or answer.status == 408:
            said = self.said(answer)
            return Fault(f"{where} is out of order (status {answer.status})", why=said, fix="try again")
        what = f"{where} answered with something else than its API does (status {answer.status})"
        return Fault(what, fix="check the API's URL, and that no proxy or login page stands before it")

    def _limited(self, seconds: float) -> Fault:
        what = f"{self.words.forge} limits requests now, and asks to wait {seconds:g} s"
        return Fault(what, why=f"no more than {self.patience.budget:g} s are waited in one run", fix="try again later")

    def _clean(self, text: str) -> str:
        hidden = text.replace(self._token, "***")
        return " ".join("".join(c if c.isprintable() else " " for c in hidden).split())


_CHECK_URL = "check the remote's URL and the API's URL"


def _client(headers: Mapping[str, str], tls: ssl.SSLContext, timeout: float) -> httpx.Client:
    try:
        return httpx.Client(
            headers=headers, verify=tls, timeout=timeout, limits=httpx.Limits(max_keepalive_connections=0)
        )
    except (ImportError, ValueError):
        what = "the proxy that the environment names cannot be used"
        raise InputError(Fault(what, fix="set HTTPS_PROXY and ALL_PROXY to an http:// URL, or unset them")) from None


def _tls(ca_file: str | Path | None) -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    context.load_default_certs()
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            why = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror or ""
            raise InputError(Fault(f"the CA file {ca_file} cannot be read", why=why)) from None
    return context


def check_base(url: str) -> str:
    """The API's address as it is used.

    Raises:
        InputError: it is no http or https URL, or has a password in it.
    """
    fix = "write it as https://HOST/api/v3 (GitHub), /api/v4 (GitLab) or /api/v1 (Gitea)"
    try:
        parts = urlsplit(url.strip())
        good = parts.scheme in ("https", "http") and bool(parts.hostname) and (parts.port or 1) > 0
        httpx.URL(url.strip())
    except (ValueError, httpx.InvalidURL):
        good = False
    if not good:
        raise InputError(Fault("the API's URL is no http or https URL", fix=fix))
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(Fault("the API's URL must have no user, password or query in it", fix=fix))
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
