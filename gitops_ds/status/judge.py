"""`status_of(...)`: each thing that git renders against what the hub holds of it.

Owns what is asked of each, and the words of the answers. The conditions of a Placement do not say of which version of
it they speak: what the hub decided is held against git beside them, and counts whatever they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitops_ds.blueprint import ConfiguredBy, PlacedOn, Spot
from gitops_ds.ids import HUB, ClusterName, IntentId, Namespace, PlacementName, ScoreName, WorkloadId
from gitops_ds.intent.load import Intents, LoadedIntent, LoadedScoring, intent_digest
from gitops_ds.intent.placement import Gate
from gitops_ds.inventory import Condition, Inventory, PlacementResult, SetBinding, Work
from gitops_ds.manifests.metadata import generated_name
from gitops_ds.phases import Copy as At
from gitops_ds.problem.scores import ScoreBook, format_age
from gitops_ds.status.objects import NO_SELECT, OnHub, leftovers, standing, tolerates
from gitops_ds.status.rendered import Key, Rendered
from gitops_ds.status.value import (
    ClusterState,
    Copy,
    Finding,
    GateState,
    ObjectState,
    ScoreAge,
    Status,
    WorkloadState,
)
from gitops_ds.status.words import COMPLIANT, closed_gate, compliance_of, conditions_of, decision_of, progress_of

_UNSEEN = ("DynamicScoringConfig", "ManifestWork")
"""Kinds that we render and that no reading of the hub has whole."""


def status_of(
    rendered: Rendered,
    hub: Inventory,
    said: Intents,
    instant: datetime,
    *,
    disagreeing: Sequence[str] = (),
    knows_works: bool = True,
    mine: Intents | None = None,
) -> Status:
    """What of git is in place on the hub.

    Args:
        rendered: what the commit renders.
        hub: the hub's facts, nothing of the repository joined to them.
        said: every intent of the commit.
        instant: when the age of scores is judged.
        disagreeing: in words, each object of policies/ and workloads/ that the hub holds otherwise.
        knows_works: whether the facts tell how far workloads have got; a snapshot may hold no ManifestWorks.
        mine: the intents of this reconciler alone, where there are several; None: all of them.
    """
    view = _View(rendered, hub, mine or said, instant, knows_works)
    left, foreign = leftovers(rendered, view.on_hub, said, mine or said)
    return Status(
        workloads=tuple(view.workload(one) for one in rendered.lock.blueprint.placements),
        clusters=tuple(view.cluster(one) for one in rendered.lock.blueprint.configurations),
        objects=tuple(view.others()),
        manifests=tuple(Finding("differs", text) for text in disagreeing),
        leftovers=left,
        transit=rendered.lock.transit,
        notes=(*view.notes(), *foreign),
    )


@dataclass(frozen=True)
class _Judged:
    """What is found of one Placement."""

    decided: tuple[ClusterName, ...] | None
    conditions: tuple[Condition, ...]
    findings: tuple[Finding, ...]


class _View:
    """One commit and one reading of the hub, with what is looked up again and again."""

    def __init__(
        self, rendered: Rendered, hub: Inventory, intents: Intents, instant: datetime, knows_works: bool
    ) -> None:
        self.rendered, self.hub, self.intents, self.knows_works = rendered, hub, intents, knows_works
        self.on_hub = OnHub.of(hub)
        self.loaded = {one.id: one for one in intents.placements}
        self.wanted = {(one.id, w.name): w for one in intents.placements for w in one.intent.spec.workloads}
        self.books = {one.id: ScoreBook(hub, one.intent.spec.preference, instant) for one in intents.placements}
        self.results: Mapping[tuple[Namespace, PlacementName], PlacementResult] = {
            (one.namespace, one.placement): one for one in hub.results
        }
        self.works: Mapping[At, Work] = {(one.workload, one.cluster): one for one in hub.works}
        self.works_of: dict[WorkloadId, list[Work]] = {}
        for work in hub.works:
            self.works_of.setdefault(work.workload, []).append(work)
        self.bound: frozenset[SetBinding] = frozenset(hub.set_bindings)

    def workload(self, placed: PlacedOn) -> WorkloadState:
        """A workload's Placement, and each of its copies."""
        copies = tuple(self._copy(placed, spot) for spot in placed.spots)
        judged = self._placement(placed.intent.namespace, placed.placement, [one.cluster for one in copies])
        findings = [*self._runner(placed), *judged.findings]
        for copy in copies:
            findings += self._reached(copy.cluster)
            if copy.gate is not None and not copy.gate.is_open:
                findings.append(closed_gate(copy.cluster, copy.gate))
            if self.knows_works and copy.cluster in (judged.decided or ()):
                findings += progress_of(copy)
        findings += self._leaving(placed)
        return WorkloadState(
            placed.intent,
            placed.workload,
            placed.placement,
            copies,
            judged.decided,
            judged.conditions,
            tuple(findings),
        )

    def cluster(self, configured: ConfiguredBy) -> ClusterState:
        """A cluster's policy: its Placement, its binding, and whether the cluster complies."""
        namespace, intent, cluster = configured.intent.namespace, configured.intent, configured.cluster
        placement = PlacementName(generated_name("placement", intent, cluster))
        binding = generated_name("binding", intent, cluster)
        judged = self._placement(namespace, placement, [cluster])
        bound = standing(self.rendered, self.on_hub, ("PlacementBinding", namespace, binding))
        policy = self.hub.policy.get(configured.policy)
        compliance = policy.compliance.get(cluster) if policy else None
        findings = [*judged.findings, *bound, *self._reached(cluster)]
        if policy is None:
            findings.append(Finding("missing", f"Policy {configured.policy.name} is not on the hub", cluster))
        elif policy.disabled:
            findings.append(Finding("noncompliant", f"Policy {policy.name} is disabled", cluster))
        elif compliance != COMPLIANT:
            findings.append(compliance_of(cluster, policy.name, compliance))
        return ClusterState(
            intent,
            cluster,
            configured.policy,
            placement,
            binding,
            compliance,
            judged.decided,
            judged.conditions,
            tuple(findings),
        )

    def others(self) -> Iterator[ObjectState]:
        """Every other object that is rendered and can be looked at."""
        for kind, namespace, name in sorted(self.rendered.objects):
            key = kind, namespace, name
            if kind == "ManagedClusterSetBinding":
                there = SetBinding(namespace, name) in self.bound
                found = () if there else (Finding("missing", f"{kind} {name} is not on the hub"),)
                yield ObjectState(kind, namespace, name, found)
            elif kind == "DynamicScorer":
                yield ObjectState(kind, namespace, name, tuple(standing(self.rendered, self.on_hub, key)))

    def notes(self) -> Iterator[str]:
        """What does not count, and should be known."""
        both: list[LoadedIntent | LoadedScoring] = [*self.intents.placements, *self.intents.scorings]
        now, then = {one.id: intent_digest(one.intent) for one in both}, self.rendered.lock.intents
        changed = sorted(str(key) for key in {*now, *then} if now.get(key) != then.get(key))
        if changed:
            yield f"not rendered yet: the intents have changed since the last plan: {', '.join(changed)}"
        if not self.knows_works and self.rendered.lock.blueprint.placements:
            yield "the snapshot holds no ManifestWork, so nothing tells whether the workloads run"
        elif self.knows_works and (absent := self.hub.absence("ManifestWork")):
            yield absent
        unseen = sorted(f"{kind} {place}/{name}" for kind, place, name in self.rendered.objects if kind in _UNSEEN)
        if unseen:
            yield f"not looked at: {', '.join(unseen)}"
        yield from self._old_scores()

    def _placement(self, namespace: Namespace, name: PlacementName, wanted: Sequence[ClusterName]) -> _Judged:
        key = "Placement", namespace, str(name)
        result = self.results.get((namespace, name))
        decided = result.clusters if result else None
        findings = list(standing(self.rendered, self.on_hub, key))
        there = self.on_hub.placements.get((namespace, name))
        conditions = there.conditions if there else ()
        if there is not None:
            findings += conditions_of(name, conditions)
            findings += decision_of(name, wanted, decided, is_told=bool(findings))
            findings += self._repelled(key, [one for one in wanted if one not in (decided or ())])
        return _Judged(decided, conditions, tuple(findings))

    def _copy(self, placed: PlacedOn, spot: Spot) -> Copy:
        wanted = self.wanted.get((placed.intent, placed.workload.name))
        gate = wanted.gate if wanted and spot.policy is not None and spot.gated else None
        return Copy(
            spot.cluster,
            spot.policy,
            self._gate(spot.cluster, gate) if gate else None,
            self.works.get((placed.workload, spot.cluster)),
            tuple(self._scores(placed.intent, spot.cluster)),
        )

    def _gate(self, cluster: ClusterName, gate: Gate) -> GateState:
        facts = self.hub.cluster.get(cluster)
        return GateState(gate.claim, tuple(sorted(gate.values)), facts.claims.get(gate.claim) if facts else None)

    def _scores(self, intent: IntentId, cluster: ClusterName) -> Iterator[ScoreAge]:
        """The ages of the scores that the hub itself holds: other sources are not asked for a status."""
        if intent not in self.books:
            return
        book = self.books[intent]
        names = {one.name for one in self.loaded[intent].intent.spec.preference.scores if one.source == HUB}
        for name in sorted(map(ScoreName, names)):
            found = self.hub.score.get((cluster, name))
            known = found is not None
            yield ScoreAge(name, book.age(found) if found else None, bool(found and book.is_stale(found)), known)

    def _runner(self, placed: PlacedOn) -> Iterator[Finding]:
        """What makes works of a Placement's decision: the ManifestWorkReplicaSet that follows it."""
        runner = self.hub.workload.get(placed.workload)
        if runner is None:
            yield Finding("missing", f"ManifestWorkReplicaSet {placed.workload.name} is not on the hub")
        elif placed.placement not in runner.placement_refs:
            said = ", ".join(runner.placement_refs)
            yield Finding("differs", f"ManifestWorkReplicaSet {runner.name} follows {said}, not {placed.placement}")

    def _reached(self, cluster: ClusterName) -> Iterator[Finding]:
        facts = self.hub.cluster.get(cluster)
        if facts is None:
            yield Finding("lost", f"{cluster} is not on the hub", cluster)
        elif not facts.accepted:
            yield Finding("lost", f"{cluster} is not accepted by the hub", cluster)
        elif facts.available is False:
            yield Finding("lost", f"{cluster} is not available", cluster)

    def _repelled(self, key: Key, clusters: Sequence[ClusterName]) -> Iterator[Finding]:
        """Taints that keep a Placement off its clusters: no condition names them."""
        spec = self.rendered.objects.get(key, {}).get("spec") or {}
        for cluster in clusters:
            facts = self.hub.cluster.get(cluster)
            for taint in facts.taints if facts else ():
                if taint.effect == NO_SELECT and not any(
                    tolerates(one, taint) for one in spec.get("tolerations") or ()
                ):
                    what = f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
                    yield Finding(
                        "unsatisfied", f"{cluster} has the taint {what}, which {key[2]} does not tolerate", cluster
                    )

    def _leaving(self, placed: PlacedOn) -> Iterator[Finding]:
        wanted = {spot.cluster for spot in placed.spots}
        for work in self.works_of.get(placed.workload, ()):
            if work.cluster not in wanted:
                how = "is being deleted" if work.ending else "is still there"
                yield Finding("leaving", f"{work.cluster}: the work of a copy that has left {how}", work.cluster)

    def _old_scores(self) -> Iterator[str]:
        seen = set()
        for placed in self.rendered.lock.blueprint.placements:
            for spot in placed.spots:
                for one in self._scores(placed.intent, spot.cluster):
                    if one.stale and one.age is not None:
                        seen.add(f"{one.score} of {spot.cluster} is stale: {format_age(one.age)} old")
                    elif not one.found:
                        seen.add(f"{spot.cluster} has no score {one.score}")
        yield from sorted(seen)
