"""From score objects to one blended number a pair: look-up by rendered name, freshness, aggregation, blending.

Owns the written rules for scores that are missing, stale, doubled or out of range. Owns no capacity and no constraint.

The rules. A score is found by rendering its dimension for the workload and the configuration and looking that text up;
names of items are never taken apart. Placeholders that placement cannot know (node, pod, container, meta) match any
text, and what matches is aggregated. Values outside -100..100 count as missing. Several values of one dimension are
aggregated as the intent says (mean: exact, then rounded half to even to a thousandth). A pair is missing where any of
the blended scores is missing, and stale where any of them is stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property, lru_cache

from gitops_ds.ids import ClusterName, Device, ScoreName
from gitops_ds.intent.dimension import PLACEHOLDER, UNKNOWN
from gitops_ds.intent.placement import Preference, ScorePreference
from gitops_ds.inventory import Inventory, ScoreObject
from gitops_ds.problem.model import POINT, Configuration, Demand

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
        most, age = self._preference.maxAge, self.age(found)
        return most is not None and age is not None and age > most

    def age(self, found: ScoreObject) -> timedelta | None:
        """Time since the newest sign of life; None where there is none."""
        return None if found.seen_at is None else max(self._instant - found.seen_at, timedelta())

    def notes(self, clusters: Sequence[ClusterName]) -> Iterator[str]:
        """What is odd about the score objects: absent, stale, without a sign of life, doubled, out of range."""
        for score in sorted({s.name for s in self._preference.scores}):
            for cluster in clusters:
                found = self._inventory.score.get((cluster, ScoreName(score)))
                if found is None:
                    yield f"{cluster} has no AddOnPlacementScore {score}"
                    continue
                yield from self._object_notes(found)

    def stale_note(self, cluster: ClusterName, score: ScoreName) -> str:
        """In words, that a score object is stale and by what."""
        found = self._inventory.score[cluster, score]
        age, until = self.age(found), found.valid_until
        said = [f"{format_age(age)} old"] if age is not None else []
        if until is not None and until < self._instant:
            said.append(f"valid until {until.isoformat()}")
        return f"{score} of {cluster} is stale ({', '.join(said)})"

    def dimension_note(self, term: Term) -> str:
        """In words, that a pair has no score, and how old the object is in which it was looked for."""
        aged = f" ({_aged(term.age)})" if (term.cluster, term.score) in self._inventory.score else ""
        return f'no score "{term.dimension}" in {term.score} of {term.cluster}{aged}'

    def _object_notes(self, found: ScoreObject) -> Iterator[str]:
        where, aged = f"{found.name} of {found.cluster}", f" ({_aged(self.age(found))})"
        if self.is_stale(found):
            yield self.stale_note(found.cluster, found.name)
        elif self._preference.maxAge is not None and found.seen_at is None and found.items:
            yield f"{where} shows no sign of life (no managedFields), so its age is not known: it counts as fresh"
        counts: dict[str, int] = {}
        for dimension, value in found.items:
            counts[dimension] = counts.get(dimension, 0) + 1
            if not LOWEST <= value <= HIGHEST:
                yield f"{where}: {dimension} is {value}, outside -100 to 100: it counts as missing{aged}"
        how = "/".join(sorted({s.aggregate for s in self._preference.scores if s.name == found.name}))
        yield from (f"{where}: {d} stands {n} times: {how} of them{aged}" for d, n in sorted(counts.items()) if n > 1)

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
        found = self._inventory.score.get((cluster, ScoreName(score.name)))
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
        )


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


def _aggregate(values: Sequence[int], how: str) -> int:
    if how == "mean":
        return round(Fraction(sum(values) * POINT, len(values)))
    return (min(values) if how == "min" else max(values)) * POINT
