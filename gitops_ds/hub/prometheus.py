"""Scores from Prometheus, VictoriaMetrics, or whatever else answers Prometheus' HTTP API, as score objects.

Owns the one query, the agent's labels, and telling the ways apart in which a read fails. A read that is not complete is
never used. Owns no rule for values and ages: a sample is kept as it is, with its own time.

One instant query gives the samples and, marked by a label, their times, so that both are of one moment. Its time is the
instant of the plan: an incident replays as it was.
"""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from gitops_ds.errors import Fault, HubError, HubUnreachable, Place
from gitops_ds.hub.web import Access, Answer, ask, in_words
from gitops_ds.ids import HUB, ClusterName, ScoreName
from gitops_ds.intent.placement import PlacementIntent
from gitops_ds.intent.scoring import score_object_name
from gitops_ds.intent.sources import PrometheusServer, ScoreSource
from gitops_ds.inventory import Inventory, Sample, ScoreObject, Skipped

LONGEST_SECRET = 65_536
"""Characters that are read of a file with a token or password, which may be a device that never ends."""
TRIES: Final = 4
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 20.0
LARGEST_ANSWER: Final = 128 * 2**20
CLUSTER, SCORE = "ds_cluster", "ds_score_name"
PLACEHOLDERS: Final = ("app", "container", "device", "meta", "namespace", "node", "pod")
"""What the labels of the agent tell beside cluster and score, each with `ds_` before it."""
_MARK: Final = "gitops_ds_sample_time"

Pause = Callable[[float], None]
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Series:
    labels: Mapping[str, str]
    value: Fraction | None
    seen_at: datetime


def with_score_sources(
    facts: Inventory,
    sources: Iterable[ScoreSource],
    intents: Iterable[PlacementIntent],
    instant: datetime,
    pause: Pause = time.sleep,
) -> Inventory:
    """The facts, with the scores that the intents read from other sources than the hub.

    Sources that no intent names are not asked. `instant` is the one at which the plan judges scores.

    Raises:
        HubError: with a fault for each source that cannot be read; nothing is planned on half of the scores.
    """
    wanted: dict[str, set[ScoreName]] = {}
    for intent in intents:
        for score in intent.spec.preference.scores:
            wanted.setdefault(score.source, set()).add(ScoreName(score.name))
    found: list[ScoreObject] = []
    skipped: list[Skipped] = []
    errors: list[HubError] = []
    mine = sorted((one for one in sources if one.name in wanted and one.name != HUB), key=lambda one: one.name)
    for source in mine:
        try:
            found += read_prometheus(source, wanted[source.name], instant, pause=pause, skipped=skipped)
        except HubError as error:
            errors.append(error)
    if errors:
        kind = HubUnreachable if all(isinstance(e, HubUnreachable) for e in errors) else HubError
        raise kind(*(fault for error in errors for fault in error.faults))
    return replace(
        facts,
        metrics=tuple(sorted(found, key=lambda one: (one.origin, one.cluster, one.name))),
        sources=tuple(one.name for one in mine),
        skipped=(*facts.skipped, *skipped),
    )


def read_prometheus(
    source: ScoreSource,
    wanted: Collection[ScoreName],
    instant: datetime,
    *,
    pause: Pause = time.sleep,
    skipped: list[Skipped] | None = None,
) -> tuple[ScoreObject, ...]:
    """The scores called `wanted` of every cluster, as they were at `instant`, sorted by cluster and name.

    Args:
        source: the server.
        wanted: names of scores, as their AddOnPlacementScores would have them.
        instant: aware; the samples are the newest ones at this time.
        pause: waits for so many seconds between two tries.
        skipped: gets a line for series that say neither cluster nor score.

    Raises:
        HubUnreachable: the server cannot be reached for now, or is too busy.
        HubError: it refuses, is not what it should be, has no scores at all, or did not answer completely.
    """
    where = f"score source {source.name} ({source.prometheus.url})"
    access = _access(source.prometheus)
    query = source.prometheus.query
    asked = f'{query} or label_replace(timestamp({query}), "{_MARK}", "1", "", "")'
    form = {"query": asked, "time": f"{instant.timestamp():.3f}", "nocache": "1"}
    url = source.prometheus.url.rstrip("/") + "/api/v1/query"
    series = list(_series(where, _result(where, _asked(where, url, access, form, pause), access)))
    if not series:
        fix = f"run the query {query} there; do the agents' metrics reach it?"
        raise HubError(Fault(f"{where}: it has no scores at {instant.isoformat()}", fix=fix))
    named = [one for one in series if one.labels.get(CLUSTER) and one.labels.get(SCORE)]
    if not named:
        what = f"{where}: no series has the labels {CLUSTER} and {SCORE}"
        raise HubError(Fault(what, fix="query the DSF agents' gauge, dynamic_score"))
    if skipped is not None and len(named) < len(series):
        count = len(series) - len(named)
        skipped.append(Skipped(f"{count} series of {where}", f"without {CLUSTER} or {SCORE}"))
    return tuple(_objects(where, source.name, named, frozenset(wanted)))


def _access(server: PrometheusServer) -> Access:
    headers = {}
    if server.bearerTokenFile is not None:
        headers["Authorization"] = f"Bearer {_secret(server.bearerTokenFile, 'bearer token')}"
    elif server.basicAuth is not None:
        pair = f"{server.basicAuth.username}:{_secret(server.basicAuth.passwordFile, 'password')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    ca_file = None if server.caFile is None else Path(server.caFile).expanduser()
    return Access(server.timeout.total_seconds(), LARGEST_ANSWER, headers, ca_file)


def _secret(file: str, what: str) -> str:
    place = Place(file)
    try:
        with Path(file).expanduser().open(encoding="utf-8") as lines:
            text = lines.read(LONGEST_SECRET).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or "") if isinstance(error, OSError) else "it is no text"
        raise HubError(Fault(f"the file of the {what} cannot be read", place, why)) from None
    if not text or not text.isprintable() or (what != "password" and not text.isascii()):
        raise HubError(Fault(f"the file of the {what} holds none", place, fix="one line, with nothing else in it"))
    return text


def _asked(where: str, url: str, access: Access, form: Mapping[str, str], pause: Pause) -> Answer:
    """The answer to the query. What may pass by itself is tried again, after longer and longer pauses."""
    for left in range(TRIES - 1, -1, -1):
        wait = min(FIRST_PAUSE * 2.0 ** (TRIES - 1 - left), LONGEST_PAUSE)
        try:
            answer = ask(where, url, access, form)
        except HubUnreachable:
            if not left:
                raise
        else:
            if answer.status not in (429, 502, 503, 504) or not left:
                return answer
            wait = max(wait, answer.wait or 0.0)
            if wait > LONGEST_PAUSE:
                what = f"{where}: it asks for {wait:.0f} seconds before the next try"
                raise HubUnreachable(Fault(what, fix="try again then"))
        pause(wait)
    raise AssertionError


def _result(where: str, answer: Answer, access: Access) -> list[Any]:
    """The samples of a complete answer."""
    status, value = answer.status, _json(answer.body)
    told = value.get("error") if isinstance(value, dict) else None
    why = in_words(told, access.headers) if told else ""
    match status:
        case 401:
            raise HubError(Fault(f"{where}: it does not know us", why=why, fix="check the token, or name and password"))
        case 403:
            raise HubError(Fault(f"{where}: it knows us and forbids the query", why=why, fix="ask for leave to read"))
        case 429 | 502 | 503 | 504:
            raise HubUnreachable(Fault(f"{where}: it is too busy to answer (status {status})", why=why))
        case _ if 300 <= status < 400:
            fix = "write the address that it leads to: credentials are sent nowhere else"
            raise HubError(Fault(f"{where}: it answers with a redirect", fix=fix))
    if not isinstance(value, dict) or value.get("status") not in ("success", "error"):
        what = f"{where}: what answers (status {status}) is no Prometheus"
        raise HubError(Fault(what, fix="check the address: /api/v1/query is added to it"))
    if status != 200 or value["status"] == "error":
        fix = "narrow the source's query" if "too many" in why or "exceed" in why else ""
        raise HubError(Fault(f"{where}: it refuses the query (status {status})", why=why, fix=fix))
    partial = [*value.get("warnings", ()), *(["the result is partial"] if value.get("isPartial") else [])]
    if partial:
        what = f"{where}: the answer is not complete, so it is not used"
        raise HubUnreachable(Fault(what, why=in_words("; ".join(map(str, partial)), access.headers)))
    data = value.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "vector" or not isinstance(data.get("result"), list):
        raise HubError(Fault(f"{where}: the answer is no list of samples"))
    found: list[Any] = data["result"]
    return found


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _series(where: str, result: Iterable[Any]) -> Iterator[_Series]:
    """Each series with its value and the time of its newest sample."""
    values: dict[Labels, str] = {}
    times: dict[Labels, str] = {}
    try:
        for one in result:
            labels: dict[str, str] = one["metric"]
            key = tuple(sorted((k, v) for k, v in labels.items() if k not in ("__name__", _MARK)))
            into = times if _MARK in labels else values
            if key in into:
                what = f"{where}: two series differ by their name alone: {dict(key)}"
                raise HubError(Fault(what, fix="let the source's query name one of them"))
            into[key] = str(one["value"][1])
        if values.keys() != times.keys():
            raise HubUnreachable(Fault(f"{where}: samples and their times do not match, so the answer is not used"))
        for key, text in values.items():
            yield _Series(dict(key), _exact(text), datetime.fromtimestamp(float(times[key]), UTC))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, OSError):
        raise HubError(Fault(f"{where}: a sample is not as Prometheus writes it")) from None


def _exact(text: str) -> Fraction | None:
    """The number in `text` as it stands there; None for what is no finite one, or too large to mean anything."""
    number = float(text)
    return Fraction(text) if math.isfinite(number) and (number == 0 or 1e-30 < abs(number) < 1e30) else None


def _objects(where: str, origin: str, series: Iterable[_Series], wanted: frozenset[ScoreName]) -> Iterator[ScoreObject]:
    raw: dict[ScoreName, str] = {}
    found: dict[tuple[str, ScoreName], dict[Labels, list[_Series]]] = {}
    for one in sorted(series, key=lambda one: sorted(one.labels.items())):
        said = one.labels[SCORE]
        name = score_object_name(said)
        if name not in wanted:
            continue
        if raw.setdefault(name, said) != said:
            what = f"{where}: {raw[name]} and {said} are one score, {name}, to the hub"
            raise HubError(Fault(what, fix="rename one of them, or let the source's query choose"))
        labels = tuple((p, one.labels[f"ds_{p}"]) for p in PLACEHOLDERS if one.labels.get(f"ds_{p}"))
        found.setdefault((one.labels[CLUSTER], name), {}).setdefault(labels, []).append(one)
    for (cluster, name), several in sorted(found.items()):
        samples = tuple(sample for labels, same in sorted(several.items()) for sample in _newest(labels, same))
        seen_at = max(sample.seen_at for sample in samples)
        yield ScoreObject(ClusterName(cluster), name, (), seen_at=seen_at, origin=origin, samples=samples)


def _newest(labels: Labels, same: Iterable[_Series]) -> Iterator[Sample]:
    """Of series that only differ by who scraped or exported them, the newest sample; all of them at one time."""
    several = list(same)
    last = max(one.seen_at for one in several)
    for value in sorted({one.value for one in several if one.seen_at == last}, key=lambda v: (v is None, v or 0)):
        yield Sample(dict(labels), value, last)
