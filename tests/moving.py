"""A small fleet whose hub does what git asks for, to drive plans phase by phase on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitops_ds.blueprint import Blueprint
from gitops_ds.ids import ClusterName, PolicyId, PolicyName
from gitops_ds.intent.load import Loaded, load_all
from gitops_ds.inventory import Inventory, Work
from gitops_ds.lock import read_lock
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solver import solve
from gitops_ds.tree import lock_path
from tests import builders as make

WORKLOADS = ("w1", "w2")
CLUSTERS = ("c1", "c2", "c3")
MOVES = {"move": "make-before-break"}
CLAIM = "policy-watcher-claim"


@dataclass
class World:
    """Three clusters with two policies each, two workloads, and a hub that has done all that git asks for."""

    stability: Mapping[str, Any] = field(default_factory=lambda: MOVES)
    points: dict[str, int] = field(default_factory=dict)
    workloads: Sequence[Mapping[str, Any]] = ({"name": "w1"}, {"name": "w2"})
    amounts: tuple[str, str] = ("2", "2")
    tree: Mapping[str, bytes] = field(default_factory=dict)
    done: Blueprint = field(default_factory=Blueprint)
    more: str = ""

    def inventory(self) -> Inventory:
        """The hub as it is once it has done all that `done` asks for."""
        things: list[make.Thing] = []
        policies = {c.cluster: c.policy for c in self.done.configurations}
        for c in CLUSTERS:
            claims = {CLAIM: "compliant" if ClusterName(c) in policies else "empty"}
            things.append(make.cluster(c, claims=claims))
            for name, device, amount in (("p", "half", self.amounts[0]), ("q", "full", self.amounts[1])):
                mine = policies.get(ClusterName(c)) == PolicyId(make.NAMESPACE, PolicyName(f"{name}-{c}"))
                compliance = {ClusterName(c): "Compliant"} if mine else {}
                things.append(make.policy(f"{name}-{c}", device, amount, compliance=compliance))
            items = {f"{w}/{c}/{d}": self.points.get(f"{w}/{c}/{d}", 0) for w in WORKLOADS for d in ("half", "full")}
            things.append(make.scores(c, items))
        things += [make.workload(w) for w in WORKLOADS]
        works = tuple(
            sorted(
                Work(p.workload, s.cluster, applied=True, available=True) for p in self.done.placements for s in p.spots
            )
        )
        return make.inventory(*things, works=works)

    def text(self) -> str:
        clusters = [{"name": c, "policies": [f"p-{c}", f"q-{c}"]} for c in CLUSTERS]
        wanted = [{"name": "speed", "dimension": "${app}/${cluster}/${device}"}]
        return make.intent(clusters, self.workloads, scores=wanted, stability=self.stability)

    def plan(self, **more: Any) -> Plan:
        files = {"intent/0.yaml": self.text().encode()}
        if self.more:
            files["intent/more.yaml"] = self.more.encode()
        said = load_all(files)
        aborted: Loaded[Any] | None = next(iter(said.aborts), None)
        intents = said.placements
        return plan(intents, self.inventory(), self.tree, make.NOW, solve, aborted=aborted, **more)

    def commit(self, **more: Any) -> Plan:
        """Plan, and commit what changes."""
        made = self.plan(**more)
        assert not made.held, made.held
        self.tree = made.tree
        return made

    def catch_up(self) -> None:
        """Let the hub do all that git asks for."""
        self.done = read_lock(self.tree[lock_path()], lock_path()).blueprint

    def drive(self) -> Iterator[Plan]:
        """The plans that change something, each on a hub that has done all that the last one asked for."""
        while (made := self.plan()).difference.changes:
            self.tree = made.tree
            yield made
            self.catch_up()


def where(blueprint: Blueprint) -> dict[str, list[str]]:
    return {p.workload.name: [s.cluster for s in p.spots] for p in blueprint.placements}
