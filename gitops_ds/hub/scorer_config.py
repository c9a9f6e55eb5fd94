"""What pinned scorers say of themselves: their `/config`, fetched at each plan.

Owns the fetching, and that what git's lock holds stands in for a scorer that does not answer. Owns no field of the
answer (`intent/told.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urljoin, urlsplit

from gitops_ds.blueprint import Blueprint
from gitops_ds.errors import Fault, HubError, HubUnreachable
from gitops_ds.hub.web import Access, Answer, ask
from gitops_ds.ids import IntentId
from gitops_ds.intent.load import LoadedScoring
from gitops_ds.intent.scoring import ScorerSpec
from gitops_ds.intent.told import ScorerConfig, read_config

ACCESS: Final = Access(seconds=10.0, most=2**20)
MOST_REDIRECTS: Final = 3
AT_ONCE: Final = 8

Told = Mapping[IntentId, Mapping[str, ScorerConfig]]


def read_told(
    intents: Sequence[LoadedScoring], old: Blueprint | None, access: Access = ACCESS
) -> tuple[Told, tuple[str, ...]]:
    """What each pinned scorer says, by intent and scorer; and a note for each that git's lock has to speak for.

    Args:
        intents: the scoring intents.
        old: what git's lock holds; None where there is none.
        access: the limits of one request.

    Raises:
        HubError: a scorer does not say anything that can be used, and the lock does not know it. One fault each.
    """
    pinned = [(one, i, s) for one in intents for i, s in enumerate(one.intent.spec.scorers) if s.pin]
    told: dict[IntentId, dict[str, ScorerConfig]] = {}
    notes: list[str] = []
    faults: list[Fault] = []
    if not pinned:
        return told, ()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda item: _tried(item[2], access), pinned))
    for (one, i, scorer), answer in zip(pinned, answers, strict=True):
        kept = old.scored_by(one.id).told.get(scorer.name) if old else None
        if isinstance(answer, ScorerConfig):
            told.setdefault(one.id, {})[scorer.name] = answer
        elif kept is not None:
            notes.append(f"{answer.faults[0]}: what git's lock holds of it stands")
            told.setdefault(one.id, {})[scorer.name] = kept
        else:
            at = one.at("spec", "scorers", i, "configURL")
            faults += [Fault(f.what, at, f.why, f.fix) for f in answer.faults]
    if faults:
        raise HubError(*faults)
    return told, tuple(notes)


def fetch_config(scorer: ScorerSpec, access: Access = ACCESS) -> ScorerConfig:
    """What the scorer says of itself now.

    Raises:
        HubUnreachable: it does not answer, or not in time.
        HubError: what it answers is no configuration, or leads to another host.
    """
    where = f"scorer {scorer.name}: its configuration"
    answer = _followed(where, scorer.configURL, access)
    if answer.status >= 500:
        raise HubUnreachable(Fault(f"{where}: the scorer answers with status {answer.status}"))
    if answer.status != 200:
        raise HubError(Fault(f"{where}: the scorer answers with status {answer.status}", fix="check configURL"))
    try:
        return read_config(json.loads(answer.body))
    except RecursionError:
        raise HubError(Fault(f"{where} is no JSON")) from None
    except ValueError as error:
        why = "" if isinstance(error, json.JSONDecodeError) else str(error)
        what = f"{where} is no JSON" if not why else f"{where} does not do"
        raise HubError(Fault(what, why=why, fix="check configURL" if not why else "")) from None


def _tried(scorer: ScorerSpec, access: Access) -> ScorerConfig | HubError:
    try:
        return fetch_config(scorer, access)
    except HubError as error:
        return error


def _followed(where: str, url: str, access: Access) -> Answer:
    """The answer at `url`, after redirects that stay on its host."""
    for _ in range(MOST_REDIRECTS + 1):
        answer = ask(where, url, access)
        if not 300 <= answer.status < 400:
            return answer
        target = urljoin(url, answer.headers.get("location", ""))
        if list(_origin(target)) != list(_origin(url)):
            raise HubError(Fault(f"{where}: it leads to another host", fix="write the address that it leads to"))
        url = target
    raise HubError(Fault(f"{where}: it leads from one address to the next, without end"))


def _origin(url: str) -> Iterator[str | int | None]:
    try:
        parts = urlsplit(url)
        yield from (parts.scheme, parts.hostname, parts.port, parts.username)
    except ValueError:
        yield None
