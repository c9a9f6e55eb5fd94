"""ScoringIntents on their way through a plan: what they need besides themselves, and what changes for the agents.

Owns the checks that need what scorers said and which clusters there are, and the steps from one tree to the next. Owns
neither the objects (`manifests/scorers.py`) nor the fetching (`hub/scorer_config.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Literal

from gitops_ds.blueprint import Blueprint, ScoredBy
from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.ids import ClusterName, IntentId
from gitops_ds.intent.load import LoadedScoring
from gitops_ds.intent.scoring import (
    ScorerSpec,
    ScoringIntent,
    doubled_score,
    score_object_name,
    scorer_checks,
)
from gitops_ds.intent.told import ScorerConfig, settled
from gitops_ds.inventory import Inventory, Scorer
from gitops_ds.manifests.scorers import MOST_BYTES, SUMMARIES, bytes_of, manifest_work, masks_of
from gitops_ds.problem.resolve import names
from gitops_ds.tree import Change, Difference
from gitops_ds.yamltext import read_kubernetes

Verb = Literal["add", "change", "remove"]
_SIGNS: Mapping[Verb, str] = {"add": "+", "change": "~", "remove": "-"}
_QUIET = frozenset({"description", "configURL", "configSyncMode"})
"""Fields of a DynamicScorer that no agent reads."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a plan is given of scoring.

    Attributes:
        intents: sorted by namespace and name.
        told: what each pinned scorer says of itself, by intent and scorer.
        notes: what a reader should know of how that was found out.
    """

    intents: tuple[LoadedScoring, ...] = ()
    told: Mapping[IntentId, Mapping[str, ScorerConfig]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def by_id(self) -> Mapping[IntentId, ScoringIntent]:
        """The intents by namespace and name."""
        return {one.id: one.intent for one in self.intents}


NO_SCORING = Scoring()


def scored(scoring: Scoring, inventory: Inventory, old: Blueprint | None) -> tuple[tuple[ScoredBy, ...], list[str]]:
    """What rendering the intents takes besides themselves, and what a reader should know.

    Raises:
        InputError: what a scorer said of itself does not do, two scorers write one score, two intents give scorers to
            one cluster, or these are too many for one ManifestWork.
    """
    faults = [*_told_faults(scoring)]
    raise_faults(InputError, faults)
    notes = [*scoring.notes, *_name_notes(scoring)]
    found: list[ScoredBy] = []
    for one in scoring.intents:
        told = {s.name: scoring.told[one.id][s.name] for s in one.intent.spec.scorers if s.pin}
        clusters, said = _clusters(one, inventory, old)
        notes += [*said, *_mask_notes(one, inventory)]
        if told or clusters:
            found.append(ScoredBy(one.id, dict(sorted(told.items())), clusters))
    raise_faults(InputError, _work_faults(scoring, found))
    return tuple(found), notes


def with_scorers(inventory: Inventory, scoring: Scoring) -> Inventory:
    """The inventory with the scorers of the repository after the hub's, which tell how running agents name items."""
    mine = [
        Scorer(one.id.namespace, s.name, score_object_name(s.scoring.params.name), s.scoreDimensionFormat, one.source)
        for one in scoring.intents
        for s in _settled(one, scoring)
        if s.scoring.params is not None
    ]
    return replace(inventory, scorers=(*inventory.scorers, *mine)) if mine else inventory


def _settled(one: LoadedScoring, scoring: Scoring) -> Iterator[ScorerSpec]:
    for scorer in one.intent.spec.scorers:
        yield settled(scorer, scoring.told[one.id][scorer.name] if scorer.pin else None)


def _told_faults(scoring: Scoring) -> Iterator[Fault]:
    """Faults that show once the pinned scorers have said what they are."""
    scores: dict[str, str] = {}
    for one in scoring.intents:
        for i, scorer in enumerate(_settled(one, scoring)):
            at = one.at("spec", "scorers", i, "pin")
            if one.intent.spec.scorers[i].pin:
                for _, what, fix in scorer_checks(scorer):
                    yield Fault(f"scorer {scorer.name}, by what it says of itself: {what}", at, fix=fix)
            if scorer.scoring.params is not None:
                name = scorer.scoring.params.name
                first = scores.setdefault(score_object_name(name), scorer.name)
                if first != scorer.name:
                    yield Fault(doubled_score(first, scorer.name, name), at, fix="rename one of the scores")


def _name_notes(scoring: Scoring) -> Iterator[str]:
    for one in scoring.intents:
        for scorer in _settled(one, scoring):
            name = scorer.scoring.params.name if scorer.scoring.params else ""
            if name and name != score_object_name(name):
                yield f"the score {name} is called {score_object_name(name)} on the hub: intents name it so"


def _mask_notes(one: LoadedScoring, inventory: Inventory) -> Iterator[str]:
    for mask in one.intent.spec.config.masks if one.intent.spec.config else ():
        if inventory.clusters and ClusterName(mask.clusterName) not in inventory.cluster:
            yield f"{one.id} masks {mask.scoreName} on {mask.clusterName}, which the hub does not have"


def _clusters(
    one: LoadedScoring, inventory: Inventory, old: Blueprint | None
) -> tuple[tuple[ClusterName, ...], list[str]]:
    """The clusters that get a ManifestWork. A named one that git has stays even if the hub has it no more."""
    spec = one.intent.spec
    if spec.distribute != "rendered":
        return (), []
    found = {c.name for c in inventory.clusters if c.accepted and (not spec.clusters or names(spec.clusters, c))}
    had = old.scored_by(one.id).clusters if old else ()
    notes = []
    for term in spec.clusters:
        name = ClusterName(term.name or "")
        if name and name not in inventory.cluster:
            stays = name in had
            notes.append(f"{one.id}: {name} is not on the hub" + (", and keeps what git has for it" if stays else ""))
            found |= {name} if stays else set()
    return tuple(sorted(found)), notes


def _work_faults(scoring: Scoring, found: Sequence[ScoredBy]) -> Iterator[Fault]:
    loaded = {one.id: one for one in scoring.intents}
    owners: dict[ClusterName, IntentId] = {}
    for one in found:
        at = loaded[one.intent].at("spec", "distribute")
        masks = masks_of(one.intent, scoring.by_id)
        scorers = list(_settled(loaded[one.intent], scoring))
        for cluster in one.clusters:
            if owners.setdefault(cluster, one.intent) != one.intent:
                what = f"{owners[cluster]} and {one.intent} both give scorers to {cluster}"
                yield Fault(what, at, "an agent reads one list", "choose the clusters of each with clusters")
        if one.clusters:
            size = bytes_of(manifest_work(one.intent, one.clusters[0], scorers, masks))
            if size > MOST_BYTES:
                what = f"the scorers of {one.intent} are {size} bytes, and a ManifestWork has room for {MOST_BYTES}"
                yield Fault(what, at, fix="shorten the queries, or record them as rules")


@dataclass(frozen=True, slots=True)
class ScoringStep:
    """What changes of one scorer, or of the masks of one namespace.

    `fields` are those that change; `running` those of them that agents that run already do not take up.
    """

    verb: Verb
    name: str
    detail: str
    kind: Literal["scorer", "masks"] = "scorer"
    fields: tuple[str, ...] = ()
    running: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The step as one line of a list."""
        return f"{_SIGNS[self.verb]} {self.name}{': ' if self.detail else ''}{self.detail}"


def scoring_steps(difference: Difference) -> tuple[ScoringStep, ...]:
    """What a difference of trees changes for the agents, sorted."""
    found: list[ScoringStep] = []
    works: list[Change] = []
    for change in difference.changes:
        name = PurePosixPath(change.path).name
        if name.startswith("dynamicscorer-"):
            found.append(_scorer_step(change))
        elif name.startswith("dynamicscoringconfig-"):
            found.append(_masks_step(change))
        elif name.startswith("manifestwork-dynamic-scoring-config-"):
            works.append(change)
    found += _work_steps(works)
    return tuple(sorted(found, key=lambda one: (one.kind, one.name, one.verb, one.detail)))


def unheard(steps: Sequence[ScoringStep]) -> Iterator[str]:
    """Warnings of changes that the DSF's agents do not take up while they run."""
    for step in steps:
        if step.running:
            yield (
                f"scorer {step.name}: agents that run already keep the old {', '.join(step.running)}: "
                "restart them, or give the score a new name"
            )


def _scorer_step(change: Change) -> ScoringStep:
    before, after = (_spec(content) for content in (change.before, change.after))
    name = PurePosixPath(change.path).stem.removeprefix("dynamicscorer-")
    return _step(name, None if change.before is None else before, None if change.after is None else after)


def _step(name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> ScoringStep:
    if before is None or after is None:
        score, interval = (after or {}).get("scoring.params.name"), (after or {}).get("scoring.params.interval")
        said = f"score {score} every {interval}s" if score and interval else "as it says itself" if after else ""
        return ScoringStep("add" if before is None else "remove", name, said)
    fields = tuple(sorted(key for key in {*before, *after} if before.get(key) != after.get(key)))
    same = before.get("scoring.params.name") == after.get("scoring.params.name")
    running = tuple(key for key in fields if key not in _QUIET) if same else ()
    return ScoringStep("change", name, ", ".join(fields) or "its labels", fields=fields, running=running)


def _masks_step(change: Change) -> ScoringStep:
    before, after = (_masks(content) for content in (change.before, change.after))
    parts = [f"{mask} on" for mask in sorted(before - after)] + [f"{mask} off" for mask in sorted(after - before)]
    verb: Verb = "add" if change.before is None else "remove" if change.after is None else "change"
    return ScoringStep(verb, f"masks of {change.path.split('/')[-3]}", ", ".join(parts), kind="masks")


def _work_steps(changes: Sequence[Change]) -> Iterator[ScoringStep]:
    """The steps of rendered ManifestWorks: those that are alike on several clusters are one."""
    clusters: dict[ScoringStep, int] = {}
    for change in changes:
        before, after = (_summaries(content) for content in (change.before, change.after))
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                step = _step(name, before.get(name), after.get(name))
                clusters[step] = clusters.get(step, 0) + 1
    for step, count in clusters.items():
        where = f"on {count} cluster{'s' if count > 1 else ''}"
        yield replace(step, detail=f"{step.detail}, {where}" if step.detail else where)


def _object(content: bytes | None) -> Any:
    """The object in a file; {} where there is none, or somebody made it unreadable."""
    try:
        documents = read_kubernetes(content or b"", "")
    except InputError:
        return {}
    return documents[0].value if documents else {}


def _spec(content: bytes | None) -> dict[str, Any]:
    found = _object(content)
    return dict(_flat(found.get("spec", {}))) if isinstance(found, dict) else {}


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _masks(content: bytes | None) -> set[str]:
    try:
        return {f"{m['scoreName']} of {m['clusterName']}" for m in _object(content)["spec"]["masks"]}
    except (KeyError, TypeError):
        return set()


def _summaries(content: bytes | None) -> dict[str, dict[str, Any]]:
    """The summaries of a ManifestWork by scorer, their score and interval under the names that a scorer has them by."""
    try:
        (config_map,) = _object(content)["spec"]["workload"]["manifests"]
        several = json.loads(config_map["data"][SUMMARIES])
        return {one["name"]: {_AS_SPEC.get(key, key): value for key, value in one.items()} for one in several}
    except (KeyError, TypeError, ValueError):
        return {}


_AS_SPEC = {"scoreName": "scoring.params.name", "scoringInterval": "scoring.params.interval"}
