"""Samples of a metrics source, told apart by the labels that a score's dimension names.

Owns which samples a dimension means and how they are called in messages. Since labels come one by one, no text is
rendered or taken apart: separators inside names cannot confuse two of them, not even beside placeholders that placement
cannot know. Owns no rule for values and ages (`scores.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitops_ds.intent.dimension import PLACEHOLDER, UNKNOWN
from gitops_ds.inventory import Sample, ScoreObject

LONGEST_LABEL = 256
"""The agent cuts the values of its labels to this many characters."""
_COMMON = ("cluster", "scoreName")
"""Placeholders that have one value in a whole score object."""

Index = Mapping[tuple[str, ...], tuple[Sample, ...]]


def told_apart_by(dimension: str) -> tuple[str, ...]:
    """The placeholders of `dimension` by which its samples differ and which a placement gives, sorted."""
    return tuple(sorted({name for name in PLACEHOLDER.findall(dimension) if name not in (*_COMMON, *UNKNOWN)}))


def by_labels(samples: Iterable[Sample], dimension: str) -> Index:
    """The samples by their values of `told_apart_by(dimension)`; those without a label that it needs are left out."""
    names = told_apart_by(dimension)
    needed = {name for name in PLACEHOLDER.findall(dimension) if name in UNKNOWN}
    found: dict[tuple[str, ...], list[Sample]] = {}
    for sample in samples:
        if all(sample.labels.get(name) for name in needed):
            found.setdefault(tuple(sample.labels.get(name, "") for name in names), []).append(sample)
    return {key: tuple(several) for key, several in found.items()}


def key_of(dimension: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The key in `by_labels` for what a placement gives."""
    return tuple(known.get(name, "")[:LONGEST_LABEL] for name in told_apart_by(dimension))


def name_of(sample: Sample, dimension: str, found: ScoreObject) -> str:
    """What the item would be called on the hub: the dimension filled in."""
    common = {"cluster": str(found.cluster), "scoreName": str(found.name)}
    return PLACEHOLDER.sub(lambda m: common.get(m[1]) or sample.labels.get(m[1], ""), dimension)
