"""From score objects to one blended number a pair: look-up by rendered name, freshness, aggregation, blending.

Owns the written rules for scores that are missing, stale, doubled or out of range. Owns no capacity and no constraint.

The rules. A score is found by rendering its dimension for the workload and the configuration and looking that text up;
names of items are never taken apart. Placeholders that placement cannot know (node, pod, container, meta) match any
text, and what matches is aggregated. Values outside -100..100 count as missing. Several values of one dimension are
aggregated as the intent says, exactly, then rounded half to even to a thousandth. A pair is missing where any of the
blended scores is missing, and stale where any of them is stale. The samples of a metrics source are items by the same
rules; each has an age of its own, and a score is as old as the oldest of its samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property, lru_cache

from gitops_ds.ids import HUB, ClusterName, Device, ScoreName
from gitops_ds.intent.dimension import PLACEHOLDER, UNKNOWN
from gitops_ds.intent.placement import Preference, ScorePreference
from gitops_ds.inventory import Inventory, ScoreObject
from gitops_ds.problem.model import POINT, Configuration, Demand
from gitops_ds.problem.samples import Index, by_labels, key_of, name_of

DEFAULT_DIMENSION = "${scoreName}"
LOWEST, HIGHEST = -100, 100


@dataclass(frozen=True, slots=True)
class Term:
    """One score's part in a pair: `value` in thousandths of a point (None: missing), `age` None where unknown."""

    score: ScoreName
    cluster: ClusterName
    dimension: str
    value: int | None
    weight: Fraction
    direction: str
    stale: bool
    age: timedelta | None
    source: str = HUB

    @property
    def share(self) -> Fraction:
        """What the term adds to the blended score, in thousandths of a point."""
        sign = 1 if self.direction == "maximize" else -1
        return sign * self.weight * (self.value or 0)


def blend(terms: Sequence[Term], *, zero: bool = False) -> int | None:
    """The blended score in thousandths of a point, rounded half to even.

    Where a term is missing there is none (None), or with `zero` that term counts as 0.
    """
    if not zero and any(term.value is None for term in terms):
        return None
    return round(sum((term.share for term in terms), Fraction(0)))


class ScoreBook:
    """The scores of one inventory as one intent wants them read, at one instant."""

    def __init__(self, inventory: Inventory, preference: Preference, instant: datetime) -> None:
        self._inventory = inventory
        self._preference = preference
        self._instant = instant
        self._lookup = lru_cache(maxsize=None)(self._find)
        self._tables: dict[tuple[ClusterName, str], Mapping[str, tuple[int, ...]]] = {}
        self._indexes: dict[tuple[str, ClusterName, str, str], Index] = {}

    @cached_property
    def dimensions(self) -> tuple[tuple[ScorePreference, str], ...]:
        """Each wanted score with the dimension that holds: the intent's, else the scorer's, else the DSF's default."""
        formats = {s.score: s.dimension_format for s in reversed(self._inventory.scorers)}
        return tuple(
            (score, score.dimension or formats.get(ScoreName(score.name)) or DEFAULT_DIMENSION)
            for score in self._preference.scores
        )

    def terms(self, demand: Demand, configuration: Configuration) -> tuple[Term, ...]:
        """What each wanted score says of the pair, in the intent's order of names."""
        return tuple(
            self._lookup(number, configuration.cluster, demand.app, configuration.device, demand.workload.namespace)
            for number in range(len(self.dimensions))
        )

    def is_stale(self, found: ScoreObject) -> bool:
        """Whether the object's `validUntil` has passed or its newest sign of life is older than maxAge."""
        if found.valid_until is not None and found.valid_until < self._instant:
            return True
        return self._is_old(self.age(found))

    def looked_in_stale(self, term: Term) -> bool:
        """Whether what the term was looked for in is stale: the hub's object as a whole, or the samples that are it."""
        found = self._inventory.score_from(term.source, term.cluster, term.score)
        return term.stale or (found is not None and found.origin == HUB and self.is_stale(found))

    def age(self, found: ScoreObject) -> timedelta | None:
        """Time since the newest sign of life; None where there is none."""
        return None if found.seen_at is None else self._since(found.seen_at)

    def _since(self, moment: datetime) -> timedelta:
        return max(self._instant - moment, timedelta())

    def _is_old(self, age: timedelta | None) -> bool:
        return self._preference.maxAge is not None and age is not None and age > self._preference.maxAge

    def notes(self, clusters: Sequence[ClusterName]) -> Iterator[str]:
        """What is odd about the score objects: absent, stale, without a sign of life, doubled, out of range."""
        for source, score in sorted({(s.source, s.name) for s in self._preference.scores}):
            for cluster in clusters:
                found = self._inventory.score_from(source, cluster, ScoreName(score))
                if found is None:
                    what = "AddOnPlacementScore" if source == HUB else "score"
                    yield f"{cluster} has no {what} {score}{_from(source)}"
                elif source == HUB:
                    yield from self._object_notes(found)
                else:
                    yield from self._sample_notes(found)

    def stale_note(self, term: Term) -> str:
        """In words, that the score object, or the samples, of a term are stale and by what."""
        found = self._inventory.score_from(term.source, term.cluster, term.score)
        if found is None or found.origin != HUB:
            return f'{term.score} "{term.dimension}" of {term.cluster}{_from(term.source)} is stale ({_aged(term.age)})'
        return self._stale_object(found)

    def _stale_object(self, found: ScoreObject) -> str:
        age, until = self.age(found), found.valid_until
        said = [f"{format_age(age)} old"] if age is not None else []
        if until is not None and until < self._instant:
            said.append(f"valid until {until.isoformat()}")
        return f"{found.name} of {found.cluster} is stale ({', '.join(said)})"

    def dimension_note(self, term: Term) -> str:
        """In words, that a pair has no score, and how old the object is in which it was looked for."""
        found = self._inventory.score_from(term.source, term.cluster, term.score)
        aged = f" ({_aged(term.age)})" if found is not None and found.origin == HUB else ""
        return f'no score "{term.dimension}" in {term.score} of {term.cluster}{_from(term.source)}{aged}'

    def _object_notes(self, found: ScoreObject) -> Iterator[str]:
        where, aged = f"{found.name} of {found.cluster}", f" ({_aged(self.age(found))})"
        if found.unreadable:
            yield f"{where} cannot be read, so it counts as missing: {found.unreadable}"
        if self.is_stale(found):
            yield self._stale_object(found)
        elif self._preference.maxAge is not None and found.seen_at is None and found.items:
            yield f"{where} shows no sign of life (no managedFields), so its age is not known: it counts as fresh"
        counts: dict[str, int] = {}
        for dimension, value in found.items:
            counts[dimension] = counts.get(dimension, 0) + 1
            if not LOWEST <= value <= HIGHEST:
                yield f"{where}: {dimension} is {value}, outside -100 to 100: it counts as missing{aged}"
        how = "/".join(sorted({s.aggregate for s in self._preference.scores if s.name == found.name}))
        yield from (f"{where}: {d} stands {n} times: {how} of them{aged}" for d, n in sorted(counts.items()) if n > 1)

    def _sample_notes(self, found: ScoreObject) -> Iterator[str]:
        where = f"{found.name} of {found.cluster}{_from(found.origin)}"
        for score, dimension in self.dimensions:
            if (score.source, score.name) != (found.origin, found.name):
                continue
            for several in by_labels(found.samples, dimension).values():
                name = name_of(several[0], dimension, found)
                wrong = [s for s in several if s.value is None or not LOWEST <= s.value <= HIGHEST]
                for sample in wrong:
                    said = "no number" if sample.value is None else f"{float(sample.value):g}, outside -100 to 100"
                    yield f"{where}: {name} is {said}: it counts as missing ({_aged(self._since(sample.seen_at))})"
                oldest = self._since(min(s.seen_at for s in several))
                if self._is_old(oldest) and len(wrong) < len(several):
                    yield f"{where}: {name} is stale ({_aged(oldest)})"
                if len(several) > 1:
                    yield f"{where}: {name} stands {len(several)} times: {score.aggregate} of them"

    def _table(self, found: ScoreObject) -> Mapping[str, tuple[int, ...]]:
        """The values of each dimension, sorted, those out of range left out."""
        key = (found.cluster, found.name)
        if key not in self._tables:
            values: dict[str, list[int]] = {}
            for dimension, value in found.items:
                if LOWEST <= value <= HIGHEST:
                    values.setdefault(dimension, []).append(value)
            self._tables[key] = {dimension: tuple(sorted(several)) for dimension, several in values.items()}
        return self._tables[key]

    def _find(self, number: int, cluster: ClusterName, app: str, device: Device, namespace: str) -> Term:
        score, dimension = self.dimensions[number]
        known = {"app": app, "cluster": cluster, "device": device, "namespace": namespace, "scoreName": score.name}
        rendered = PLACEHOLDER.sub(lambda m: known.get(m[1], m[0]), dimension)
        found = self._inventory.score_from(score.source, cluster, ScoreName(score.name))
        if found is not None and found.origin != HUB:
            return self._sampled(score, found, dimension, rendered, known)
        value = None
        if found is not None:
            items = self._table(found)
            values = items.get(rendered) if not _has_unknown(dimension) else _matching(items, dimension, known)
            value = _aggregate(values, score.aggregate) if values else None
        return Term(
            ScoreName(score.name),
            cluster,
            rendered,
            value,
            score.weight,
            score.direction,
            found is not None and value is not None and self.is_stale(found),
            None if found is None else self.age(found),
            score.source,
        )

    def _sampled(
        self, score: ScorePreference, found: ScoreObject, dimension: str, rendered: str, known: Mapping[str, str]
    ) -> Term:
        """The term of a metrics source: of the samples that carry the labels, those with a value in range."""
        key = (found.origin, found.cluster, found.name, dimension)
        if key not in self._indexes:
            self._indexes[key] = by_labels(found.samples, dimension)
        several = self._indexes[key].get(key_of(dimension, known), ())
        good = [(s.value, s.seen_at) for s in several if s.value is not None and LOWEST <= s.value <= HIGHEST]
        age = self._since(min(moment for _, moment in good)) if good else None
        value = _aggregate(sorted(v for v, _ in good), score.aggregate) if good else None
        return Term(
            found.name,
            found.cluster,
            rendered,
            value,
            score.weight,
            score.direction,
            self._is_old(age),
            age,
            found.origin,
        )


def _from(source: str) -> str:
    return "" if source == HUB else f" from {source}"


def format_age(age: timedelta | None) -> str:
    """An age as people say it: 45s, 12m, 3h, 9d."""
    if age is None:
        return "of unknown age"
    seconds = int(age.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _aged(age: timedelta | None) -> str:
    return format_age(age) if age is None else f"{format_age(age)} old"


def _has_unknown(dimension: str) -> bool:
    return any(name in UNKNOWN for name in PLACEHOLDER.findall(dimension))


def _matching(items: Mapping[str, tuple[int, ...]], dimension: str, known: Mapping[str, str]) -> tuple[int, ...]:
    """The values of every item that `dimension` may stand for, with any text for what placement cannot know."""
    parts = PLACEHOLDER.split(dimension)
    form = "".join(
        (re.escape(part) if i % 2 == 0 else re.escape(known[part]) if part in known else ".+?")
        for i, part in enumerate(parts)
    )
    wanted = re.compile(form, re.DOTALL)
    return tuple(sorted(v for name, values in items.items() if wanted.fullmatch(name) for v in values))


def _aggregate(values: Sequence[int | Fraction], how: str) -> int:
    if how == "mean":
        return round(Fraction(sum(values)) * POINT / len(values))
    return round((min(values) if how == "min" else max(values)) * POINT)
