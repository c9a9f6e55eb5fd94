"""Moves step by step on random fleets, against a hub that does what it is asked for in any order, or not at all.

The hub here is a model of OCM: a copy runs where a Placement selects it, a gate lets nobody in while the claim says
otherwise, the claim is one bit that flips with every change of policy, and what is unselected goes, sooner or later.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.ids import ClusterName, PolicyId, WorkloadId
from gitops_ds.phases import Copy, Progress, Step, Terms, Transit, next_step, terms_of
from tests import builders as make

MOST_STEPS = 200
AMOUNTS = (1, 2, 3, 4)


@dataclass(frozen=True, repr=False)
class Fleet:
    """Two blueprints, each of which fits, and how to get from one to the other."""

    before: Blueprint
    target: Blueprint
    terms: Terms
    clusters: tuple[ClusterName, ...]

    def __repr__(self) -> str:
        shown = [
            {
                p.workload.name: [f"{s.cluster}/{s.policy.name if s.policy else ''}" for s in p.spots]
                for p in one.placements
            }
            | {c.cluster: c.policy.name for c in one.configurations}
            for one in (self.before, self.target)
        ]
        return f"{shown[0]} -> {shown[1]}, in steps: {sorted(w.name for w in self.terms.phased)}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    @property
    def copies(self) -> dict[WorkloadId, set[ClusterName]]:
        return _copies(self.target)


@dataclass
class Hub:
    """What runs, and how far the hub has got with a blueprint."""

    fleet: Fleet
    asked: Blueprint
    ready: set[Copy] = field(default_factory=set)
    coming: set[Copy] = field(default_factory=set)
    going: set[Copy] = field(default_factory=set)
    compliant: set[tuple[ClusterName, PolicyId]] = field(default_factory=set)
    closed: set[ClusterName] = field(default_factory=set)
    down: set[ClusterName] = field(default_factory=set)

    def apply(self, blueprint: Blueprint) -> None:
        """Take what git holds: a change of policy flips the claim before anything else is seen."""
        old = {c.cluster: c.policy for c in self.asked.configurations}
        for one in blueprint.configurations:
            if old.get(one.cluster) != one.policy:
                self.compliant = {(c, p) for c, p in self.compliant if c != one.cluster}
                self.closed.add(one.cluster)
        self.asked = blueprint
        self.select()

    def select(self) -> None:
        """Follow the Placements, gates and all."""
        chosen = {
            (p.workload, s.cluster)
            for p in self.asked.placements
            for s in p.spots
            if not (s.policy and s.gated and s.cluster in self.closed and self.fleet.terms.gate(p.workload))
        }
        running = self.ready | self.coming
        self.going |= running - chosen
        self.ready &= chosen
        self.coming = (self.coming | (chosen - running - self.going)) & chosen

    def events(self) -> list[tuple[str, Any]]:
        """What may happen next, sorted."""
        policy = {c.cluster: c.policy for c in self.asked.configurations}
        found: list[tuple[str, Any]] = [("up", copy) for copy in self.coming if copy[1] not in self.down]
        found += [("gone", copy) for copy in self.going]
        found += [("comply", (c, p)) for c, p in policy.items() if (c, p) not in self.compliant | self.dead(policy)]
        found += [("open", c) for c in self.closed if (c, policy.get(c)) in self.compliant]
        return sorted(found, key=str)

    def dead(self, policy: dict[ClusterName, PolicyId]) -> set[tuple[ClusterName, PolicyId]]:
        return {(c, policy[c]) for c in self.down if c in policy}

    def happen(self, event: tuple[str, Any]) -> None:
        kind, what = event
        match kind:
            case "up":
                self.coming.discard(what)
                self.ready.add(what)
            case "gone":
                self.going.discard(what)
            case "comply":
                self.compliant.add(what)
            case "open":
                self.closed.discard(what)
        self.select()

    def settle(self) -> None:
        """Let everything happen that may."""
        while events := self.events():
            self.happen(events[0])

    def progress(self) -> Progress:
        up = frozenset(c for c in self.fleet.clusters if c not in self.down)
        return Progress(
            ready=frozenset(copy for copy in self.ready if copy[1] in up),
            present=frozenset(self.ready | self.coming | self.going),
            compliant=frozenset(self.compliant),
            claims={c: {"policy-watcher-claim": "no" if c in self.closed else "compliant"} for c in up},
            up=up,
            known=frozenset(self.fleet.clusters),
        )


def _copies(blueprint: Blueprint) -> dict[WorkloadId, set[ClusterName]]:
    return {p.workload: {s.cluster for s in p.spots} for p in blueprint.placements}


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    """2 to 4 clusters of two policies and what they have in any case, 1 to 5 workloads, with and without a gate."""
    clusters = [f"c{i}" for i in range(1, draw(st.integers(2, 4)) + 1)]
    names = [f"w{i}" for i in range(1, draw(st.integers(1, 5)) + 1)]
    supply = {(c, p): draw(st.sampled_from(AMOUNTS)) for c in clusters for p in ("p", "q")}
    fixed = {c: draw(st.sampled_from((0, 0, 1))) for c in clusters}
    things: list[make.Thing] = [make.cluster(c) for c in clusters]
    things += [make.policy(f"{p}-{c}", p, str(n)) for (c, p), n in supply.items()]
    needs = {w: draw(st.sampled_from((1, 1, 2))) for w in names}
    things += [make.workload(w, str(n)) for w, n in needs.items()]
    workloads = [
        {"name": w, "copies": 3, "surge": draw(st.sampled_from((None, None, True, False)))}
        | draw(st.sampled_from(({}, {}, {"gate": "none"})))
        for w in names
    ]
    for one in workloads:
        if one["surge"] is None:
            del one["surge"]
    if len(names) > 2:
        workloads[1] |= draw(st.sampled_from(({}, {}, {"apart": [names[2]]}, {"with": [names[2]]})))
    entries = [
        {"name": c, "policies": [f"p-{c}", f"q-{c}"], **({"capacity": {"gpu": fixed[c]}} if fixed[c] else {})}
        for c in clusters
    ]
    move = draw(st.sampled_from(("make-before-break", "make-before-break", "at-once", None)))
    stability = {"maxInChange": draw(st.integers(1, 2)), **({"move": move} if move else {})}
    problem = make.problem(make.intent(entries, workloads, stability=stability), *things)
    terms = terms_of(problem)
    return Fleet(draw(blueprints(terms)), draw(blueprints(terms)), terms, problem.clusters)


@st.composite
def blueprints(draw: st.DrawFn, terms: Terms) -> Blueprint:
    """A blueprint in which everybody fits, apart and together as they must be, drawn greedily."""
    problem = terms.problem
    options = [list(of) for of in problem.configurations_of]
    chosen = {problem.clusters[c]: problem.configurations[draw(st.sampled_from(of))] for c, of in enumerate(options)}
    on: dict[ClusterName, set[WorkloadId]] = {c: set() for c in problem.clusters}
    for demand in problem.demands:
        unit = terms.unit(demand.workload)
        if unit[0] != demand.workload:
            continue
        for cluster in draw(st.permutations(problem.clusters))[: draw(st.sampled_from((1, 1, 2, 0, 3)))]:
            there = {*on[cluster], *unit}
            apart = any(terms.apart(w) & there for w in unit)
            if not apart and not terms.lacking(cluster, chosen[cluster].policy, there):
                on[cluster] |= {*unit}
    placements = []
    for demand in problem.demands:
        spots = tuple(Spot(c, chosen[c].policy, 0) for c in problem.clusters if demand.workload in on[c])
        if spots:
            placements.append(PlacedOn(demand.workload, demand.intent, demand.placement, spots))
    keep = draw(st.booleans())
    configurations = tuple(
        ConfiguredBy(c, one.policy, problem.demands[0].intent)
        for c, one in chosen.items()
        if one.policy is not None and (on[c] or keep)
    )
    used = {s.cluster for p in placements for s in p.spots} | {c.cluster for c in configurations}
    return Blueprint(tuple(placements), configurations, dict.fromkeys(sorted(used), "cluster-name"))


def _said(blueprint: Blueprint, transit: Transit | None) -> Any:
    return blueprint.placements, blueprint.configurations, transit.changing if transit else ()


def running(fleet: Fleet) -> Hub:
    """A hub on which everything runs as git says."""
    hub = Hub(fleet, Blueprint())
    hub.apply(fleet.before)
    hub.settle()
    return hub


def check_step(fleet: Fleet, old: Blueprint, step: Step, hub: Hub) -> None:
    """What must hold between what git held and what the step makes of it."""
    seen = hub.progress()
    want, was, now = fleet.copies, _copies(old), _copies(step.blueprint)
    changing = set(step.transit.changing) if step.transit else set()
    assert len(changing) <= fleet.terms.max_in_change
    policy = {c.cluster: c.policy for c in step.blueprint.configurations}
    for workload, clusters in was.items():
        wanted = len(want.get(workload, ()))
        if all(w in fleet.terms.phased for w in fleet.terms.unit(workload)):
            ready = {c for c in clusters if seen.is_ready(workload, c)}
            assert len(ready & now.get(workload, set())) >= min(len(ready), wanted), workload
            assert len(now.get(workload, ())) <= max(wanted + 1, len(clusters)), workload
        if wanted:
            assert now.get(workload), workload
    for cluster in fleet.clusters:
        stays = {w for w, clusters in now.items() if cluster in clusters}
        left = {w for w, clusters in was.items() if cluster in clusters} - stays
        left = {w for w in left if all(v in fleet.terms.phased for v in fleet.terms.unit(w)) and w in want}
        came = {w for w in stays if cluster not in was.get(w, set())}
        gone = {w for w, c in hub.going if c == cluster and w in fleet.terms.phased}
        if came:
            assert not fleet.terms.lacking(cluster, policy.get(cluster), stays | left | gone), cluster
            assert not any(fleet.terms.apart(w) & (stays | left | gone) for w in came), cluster
        assert not fleet.terms.lacking(cluster, policy.get(cluster), stays), cluster


@given(st.data(), fleets())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_order_of_progress_ever_costs_a_copy(data: st.DataObject, fleet: Fleet) -> None:
    hub = running(fleet)
    before, transit = fleet.before, None
    phased = fleet.terms.phased
    least = {
        w: min(len(cs), len(fleet.copies.get(w, ())))
        for w, cs in _copies(before).items()
        if all(v in phased for v in fleet.terms.unit(w))
    }
    least = {w: min(n, sum(copy[0] == w for copy in hub.ready)) for w, n in least.items()}
    for _ in range(MOST_STEPS):
        step = next_step(before, fleet.target, transit, fleet.terms, hub.progress())
        note(f"{step.did} awaits {step.awaited} blocked {step.blocked}")
        check_step(fleet, before, step, hub)
        assert bool(step.did) == (_said(before, transit) != _said(step.blueprint, step.transit))
        before, transit = step.blueprint, step.transit
        lags = data.draw(st.integers(0, 3)) == 0
        if not lags:
            hub.apply(before)
        if transit is None and not step.did:
            break
        if not (step.did or hub.events() or lags):
            break
        for _ in range(data.draw(st.integers(0 if step.did else 1, 4))):
            if events := hub.events():
                hub.happen(data.draw(st.sampled_from(events)))
            for workload, count in least.items():
                assert sum(copy[0] == workload for copy in hub.ready) >= count, workload
    else:
        raise AssertionError("it does not end")
    if transit is None:
        assert before is fleet.target
    else:
        assert not step.awaited, "all has been done, and more is waited for"
        assert step.blocked


@given(st.data(), fleets())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_clusters_may_be_lost_on_the_way(data: st.DataObject, fleet: Fleet) -> None:
    hub = running(fleet)
    before, transit = fleet.before, None
    for _ in range(40):
        step = next_step(before, fleet.target, transit, fleet.terms, hub.progress())
        check_step(fleet, before, step, hub)
        before, transit = step.blueprint, step.transit
        hub.apply(before)
        for _ in range(data.draw(st.integers(0, 3))):
            if events := hub.events():
                hub.happen(data.draw(st.sampled_from(events)))
        if data.draw(st.integers(0, 6)) == 0:
            hub.down.symmetric_difference_update({data.draw(st.sampled_from(fleet.clusters))})
    hub.down.clear()
    for _ in range(MOST_STEPS):
        hub.settle()
        step = next_step(before, fleet.target, transit, fleet.terms, hub.progress())
        check_step(fleet, before, step, hub)
        before, transit = step.blueprint, step.transit
        hub.apply(before)
        if not step.did:
            break
    assert (transit is None) == (not step.blocked), step
    assert transit is not None or before is fleet.target


@given(st.data(), fleets())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_an_abort_leads_back_as_safely(data: st.DataObject, fleet: Fleet) -> None:
    hub = running(fleet)
    before, transit = fleet.before, None
    for _ in range(data.draw(st.integers(0, 5))):
        step = next_step(before, fleet.target, transit, fleet.terms, hub.progress())
        before, transit = step.blueprint, step.transit
        hub.apply(before)
        for _ in range(data.draw(st.integers(0, 4))):
            if events := hub.events():
                hub.happen(data.draw(st.sampled_from(events)))
    if transit is None:
        return
    origin = transit.origin
    assert (origin.placements, origin.configurations) == (fleet.before.placements, fleet.before.configurations)
    back = replace(fleet, target=origin)
    for _ in range(MOST_STEPS):
        step = next_step(before, origin, transit, fleet.terms, hub.progress())
        check_step(back, before, step, hub)
        before, transit = step.blueprint, step.transit
        hub.apply(before)
        if not step.did and not hub.events():
            break
        hub.settle()
    assert before is origin or step.blocked


def test_two_workloads_that_need_each_others_room_are_blocked_and_named() -> None:
    step = _pair(1, surge=None)
    assert step.blueprint == _where("c1", "c2")
    assert step.transit == Transit(_where("c1", "c2"))
    assert step.awaited == ()
    assert list(step.blocked) == [
        "default/w1 cannot come to c2 yet: gpu short by 1 beside default/w2",
        "default/w2 cannot come to c1 yet: gpu short by 1 beside default/w1",
    ]


def test_two_workloads_that_may_go_at_once_swap_in_one_step() -> None:
    step = _pair(1, surge=False, others=True)
    assert {w.name: cs for w, cs in _copies(step.blueprint).items()} == {"w1": {"c2"}, "w2": {"c1"}, "w3": {"c3"}}


def test_with_room_to_spare_both_come_before_both_leave() -> None:
    step = _pair(2, surge=None)
    assert {w.name: cs for w, cs in _copies(step.blueprint).items()} == {"w1": {"c1", "c2"}, "w2": {"c1", "c2"}}


def test_a_first_policy_under_a_workload_is_a_change_too() -> None:
    entry = {"name": "c1", "policies": ["p-c1"], "capacity": {"gpu": 1}}
    text = make.intent([entry], ["w1"], stability={"move": "make-before-break"})
    terms = terms_of(make.problem(text, make.cluster("c1"), make.policy("p-c1"), make.workload("w1")))
    before, target = _where("c1"), _where("c1")
    policy, intent = make.policy("p-c1").id, before.placements[0].intent
    c1 = ClusterName("c1")
    spots = (Spot(c1, policy),)
    target = replace(
        target,
        placements=(replace(target.placements[0], spots=spots),),
        configurations=(ConfiguredBy(c1, policy, intent),),
    )
    copies = frozenset({(before.placements[0].workload, c1)})
    hub = Progress(ready=copies, present=copies, up=frozenset({c1}), known=frozenset({c1}))
    step = next_step(before, target, None, terms, hub)
    assert [(s.policy, s.gated) for p in step.blueprint.placements for s in p.spots] == [(policy, False)]
    assert step.transit is not None
    assert step.transit.changing == (c1,)
    claims = {c1: {"policy-watcher-claim": "compliant"}}
    done = replace(hub, compliant=frozenset({(c1, policy)}), claims=claims)
    assert next_step(step.blueprint, target, step.transit, terms, done).blueprint is target


def _pair(room: int, *, surge: bool | None, others: bool = False) -> Step:
    """The first step where w1 on c1 and w2 on c2 are to change places."""
    more = {} if surge is None else {"surge": surge}
    names = ["w1", "w2", "w3"] if others else ["w1", "w2"]
    clusters = ["c1", "c2", "c3"] if others else ["c1", "c2"]
    things: list[make.Thing] = [*map(make.cluster, clusters), *(make.workload(w) for w in names)]
    text = make.intent(
        [{"name": c, "capacity": {"gpu": room}} for c in clusters],
        [*({"name": w, **more} for w in names[:2]), *names[2:]],
        stability={"move": "make-before-break"},
    )
    terms = terms_of(make.problem(text, *things))
    rest = ["c3"] if others else []
    before = _where("c1", "c2", *rest)
    copies = frozenset((p.workload, s.cluster) for p in before.placements for s in p.spots)
    seen = frozenset(map(ClusterName, clusters))
    hub = Progress(ready=copies, present=copies, up=seen, known=seen)
    return next_step(before, _where("c2", "c1", *rest), None, terms, hub)


def _where(*clusters: str) -> Blueprint:
    intent = make.load(make.intent([{"name": "c1"}], ["w1"]))[0].id
    placements = []
    for i, cluster in enumerate(clusters, 1):
        workload = make.workload(f"w{i}")
        placements.append(PlacedOn(workload.id, intent, workload.placement_refs[0], (Spot(ClusterName(cluster)),)))
    return Blueprint(tuple(placements), pins={ClusterName(c): "cluster-name" for c in sorted(clusters)})
