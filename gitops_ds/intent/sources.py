"""Where scores are read besides the hub: the `scoreSources` of a Reconciler.

Owns the fields and their meaning. Owns no reading (`hub/prometheus.py`); a secret is named by its file, never written.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, model_validator

from gitops_ds.errors import Path
from gitops_ds.ids import HUB
from gitops_ds.intent.base import DnsLabel, Duration, Strict, Text
from gitops_ds.intent.promql import check_selector

_CREDENTIAL = re.compile(
    r"auth|credential|passw|pwd|secret|token|api.?key|(?:^|[_-])(?:key|sig|signature)$", re.IGNORECASE
)


def split_url(text: str) -> SplitResult:
    """The parts of an http or https URL that holds no credentials; what it holds is never repeated in the message.

    Raises:
        ValueError: it is none, or it holds a user name, a password or a parameter that looks like a credential.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("this is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a user name or a password in it would be committed: name a secret instead")
    if any(_CREDENTIAL.search(pair.partition("=")[0]) for pair in parts.query.split("&")):
        raise ValueError("a URL with a credential among its parameters would be committed: name a secret instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("write a URL such as http://scorer.scoring.svc:8080")
    if parts.fragment or any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError("a URL has no # and no blanks here")
    return parts


def _base(text: str) -> str:
    if split_url(text).query:
        raise ValueError("leave out what follows the ?")
    return text


def _selector(text: str) -> str:
    check_selector(text)
    return text


BaseUrl = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_base)]
SeriesSelector = Annotated[str, Field(max_length=4096), AfterValidator(_selector)]


class BasicAuth(Strict):
    """A user name and the file with its password."""

    username: Text
    """The user name."""
    passwordFile: Text  # noqa: N815
    """A file with the password."""


class PrometheusServer(Strict):
    """A server that answers Prometheus' HTTP API: Prometheus, VictoriaMetrics, Thanos, Mimir."""

    url: BaseUrl
    """Its address, with what stands before `/api/v1/query` where that is not at the top."""
    query: SeriesSelector = "dynamic_score"
    """The series that hold the scores: a selector, with neither a function nor an operator."""
    bearerTokenFile: Text | None = None  # noqa: N815
    """A file with the bearer token."""
    basicAuth: BasicAuth | None = None  # noqa: N815
    """Or a user name and a password."""
    caFile: Text | None = None  # noqa: N815
    """The certificate authority of an https server. Default: the system's."""
    timeout: Duration = timedelta(seconds=30)
    """How long one request may take."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.bearerTokenFile is not None and self.basicAuth is not None:
            raise ValueError("say either bearerTokenFile or basicAuth")
        if self.timeout <= timedelta():
            raise ValueError("timeout is more than 0s")
        return self


class ScoreSource(Strict):
    """Where scores are read besides the hub; `preference.scores[].source` of an intent names it."""

    name: DnsLabel
    """Its name; `hub` is taken."""
    prometheus: PrometheusServer
    """The server that has them."""

    @model_validator(mode="after")
    def _not_the_hub(self) -> Self:
        if self.name == HUB:
            raise ValueError("hub is the name of the hub's own scores: choose another")
        return self


def doubled_sources(several: tuple[ScoreSource, ...]) -> Iterator[tuple[Path, str]]:
    """Sources of one name: (path in the list, what is wrong) for each fault."""
    names = [one.name for one in several]
    for i, name in enumerate(names):
        if name in names[:i]:
            yield (i, "name"), f"source {name} stands twice"
