"""Instances: random placement problems by a fixed recipe and seed, and generalised assignment problems.

The recipe of the placement families: requests of 1..4 and 2..32 (slices, GiB), each configuration's capacity the mean
demand of a cluster times `load` times U(0.5, 1.5), whole scores -100..100, 15 % of them missing. Family `sym` has few
kinds of workloads on few kinds of clusters, so that many plans are equal. Family `related` is tight and has relations
between clusters: see `with_relations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gitops_ds.ids import (
    ClusterName,
    Device,
    IntentId,
    IntentName,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    ResourceKind,
    WorkloadId,
    WorkloadName,
)
from gitops_ds.problem.model import POINT, Configuration, Demand, MoveLimit, Problem, SpreadRule, State, mark_too_big

Ints = npt.NDArray[np.int64]
MISSING = 0.15
LOADS = {"tight": 0.55, "loose": 1.6}
KINDS = {"sym": (6, 4), "alike": (3, 3)}
"""How many kinds of workloads and of clusters there are."""


@dataclass(frozen=True)
class Instance:
    """Plain arrays: W workloads, G configurations of C clusters, K kinds; `allowed` says where there is a score.

    `request` is W x K, or W x G x K where it differs by configuration; `all_placed` asks for a place for everybody.
    """

    name: str
    request: Ints
    supply: Ints
    score: Ints
    allowed: npt.NDArray[np.bool_]
    cluster_of: Ints
    all_placed: bool = False
    related: int | None = None
    """The seed of its relations, where it has any."""

    @property
    def needs(self) -> Ints:
        """W x G x K (a view where requests do not differ)."""
        if self.request.ndim > 2:
            return self.request
        shape = (*self.score.shape, self.request.shape[1])
        return np.broadcast_to(self.request[:, None, :], shape)

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.cluster_of.max()) + 1


def placement(workloads: int, clusters: int, policies: int, family: str = "tight", seed: int = 0) -> Instance:
    """A random placement problem; `family` is tight, loose, sym or related."""
    random = np.random.default_rng(seed)
    load = LOADS.get(family, LOADS["tight"])
    configurations = clusters * policies
    if family in KINDS:
        kinds_w, kinds_c = KINDS[family]
        of_w, of_c = random.integers(0, kinds_w, workloads), random.integers(0, kinds_c, clusters)
        request = np.stack([random.integers(1, 5, kinds_w), random.integers(2, 33, kinds_w)], axis=1)[of_w]
        mean = request.sum(axis=0) / clusters
        supply = np.floor(mean * load * random.uniform(0.5, 1.5, (kinds_c, policies, 2)))[of_c]
        score = random.integers(-100, 101, (kinds_w, kinds_c, policies))[of_w][:, of_c]
        missing = (random.random((kinds_w, kinds_c, policies)) < MISSING)[of_w][:, of_c]
        supply, score = supply.reshape(configurations, 2), score.reshape(workloads, configurations)
        missing = missing.reshape(workloads, configurations)
    else:
        request = np.stack([random.integers(1, 5, workloads), random.integers(2, 33, workloads)], axis=1)
        mean = request.sum(axis=0) / clusters
        supply = np.floor(mean * load * random.uniform(0.5, 1.5, (configurations, 2)))
        score = random.integers(-100, 101, (workloads, configurations))
        missing = random.random((workloads, configurations)) < MISSING
    return Instance(
        f"{workloads}x{clusters}x{policies} {family} {seed}",
        request.astype(np.int64),
        supply.astype(np.int64),
        score.astype(np.int64),
        ~missing,
        np.repeat(np.arange(clusters), policies),
        related=seed if family == "related" else None,
    )


def assignment(agents: int, jobs: int, kind: str, seed: int = 0) -> Instance:
    """A generalised assignment problem of type D or E by the published recipe; scores are costs, negated.

    D: a = U[1,100], c = 111 - a + U[-10,10], b = 0.8 sum a / agents.
    E: a = 1 - 10 ln U, c = 1000/a - 10 U, rounded; b as for D.
    """
    random = np.random.default_rng(seed)
    shape = (jobs, agents)
    if kind == "D":
        size = random.integers(1, 101, shape)
        cost = 111 - size + random.integers(-10, 11, shape)
    else:
        size = np.rint(1 - 10 * np.log(random.uniform(1e-9, 1, shape))).astype(np.int64)
        cost = np.rint(1000 / size - 10 * random.uniform(0, 1, shape)).astype(np.int64)
    room = (0.8 * size.sum(axis=0) / agents).astype(np.int64)
    return Instance(
        f"gap {kind} {agents}x{jobs} {seed}",
        size[:, :, None].astype(np.int64),
        room[:, None],
        -cost.astype(np.int64),
        np.ones(shape, dtype=np.bool_),
        np.arange(agents),
        all_placed=True,
    )


def from_words(words: Sequence[str]) -> Instance:
    """`WORKLOADS CLUSTERS POLICIES FAMILY SEED` or `gap AGENTS JOBS KIND SEED`."""
    if words[0] == "gap":
        return assignment(int(words[1]), int(words[2]), words[3], int(words[4]))
    return placement(int(words[0]), int(words[1]), int(words[2]), words[3], int(words[4]))


def as_problem(instance: Instance, goal: str = "score-first", time_limit: float = 60.0) -> Problem:
    """The instance as the product's own problem."""
    namespace = Namespace("bench")
    width = len(str(max(instance.score.shape)))
    clusters = tuple(ClusterName(f"c{c:0{width}}") for c in range(instance.clusters))
    kinds = tuple(ResourceKind(f"k{k}") for k in range(instance.request.shape[-1]))
    owner = IntentId(namespace, IntentName("bench"))
    demands = tuple(
        Demand(
            WorkloadId(namespace, WorkloadName(f"w{w:0{width}}")),
            owner,
            f"w{w}",
            PlacementName(f"w{w}"),
            {kind: Fraction(int(instance.request[w, ..., k].flat[0])) for k, kind in enumerate(kinds)},
        )
        for w in range(len(instance.request))
    )
    configurations = tuple(
        Configuration(
            clusters[c],
            PolicyId(namespace, PolicyName(f"p{g:0{width}}")),
            Device(f"d{g}"),
            {kind: Fraction(int(instance.supply[g, k])) for k, kind in enumerate(kinds)},
        )
        for g, c in enumerate(instance.cluster_of.tolist())
    )
    fits = np.ones(instance.score.shape, dtype=np.bool_)
    for k in range(len(kinds)):
        fits &= instance.needs[:, :, k] <= instance.supply[:, k][None, :]
    state = np.full(instance.score.shape, State.ELIGIBLE, dtype=np.uint8)
    state[~fits] = State.CAPACITY
    state[~instance.allowed] = State.NO_SCORE
    found = Problem(
        intents={},
        demands=demands,
        clusters=clusters,
        configurations=configurations,
        cluster_of=instance.cluster_of,
        kinds=kinds,
        unit=tuple(Fraction(1) for _ in kinds),
        score=instance.score * 1000,
        state=state,
        request=instance.request,
        variant=np.arange(len(configurations) if instance.request.ndim > 2 else 0, dtype=np.int64),
        supply=instance.supply,
        incumbent=np.zeros((len(demands), len(clusters)), dtype=np.bool_),
        configured=np.full(len(clusters), -1, dtype=np.int64),
        goal=goal,
        move_cost=np.zeros(len(demands), dtype=np.int64),
        reconfigure_cost=np.zeros(len(clusters), dtype=np.int64),
        time_limit=time_limit,
    )
    return found if instance.related is None else with_relations(found, instance.related)


def with_relations(problem: Problem, seed: int) -> Problem:
    """The problem with relations of every kind, by a fixed recipe.

    Four regions. A quarter of the workloads have 2 to 4 copies, of which a third are spread over the regions by a hard
    rule, a third by a soft one, and a third have a smallest number of copies; a tenth are in twos that belong together,
    a tenth in fours that are apart. On two of three classes of devices a request of slices is by one or two more. Git
    has two thirds of the workloads somewhere, and a plan may move a tenth of these; a move costs 5 points.
    """
    random = np.random.default_rng(1000 + seed)
    workloads, clusters = len(problem.demands), len(problem.clusters)
    order = random.permutation(workloads).tolist()
    several, rest = order[: workloads // 4], order[workloads // 4 :]
    demands, spreads = list(problem.demands), []
    groups = tuple((f"r{r}", tuple(range(r, clusters, 4))) for r in range(min(4, clusters)))
    for n, w in enumerate(several):
        copies = int(random.integers(2, 5))
        demands[w] = replace(demands[w], copies=copies, min_copies=copies - 1 if n % 3 == 2 and copies > 2 else None)
        if n % 3 < 2:
            spreads.append(SpreadRule(w, "region", groups, 1, hard=n % 3 == 0))
    tenth = workloads // 10
    together = [tuple(sorted(rest[n : n + 2])) for n in range(0, tenth - 1, 2)]
    apart = [tuple(sorted(rest[tenth + n : tenth + n + 4])) for n in range(0, tenth - 3, 4)]
    variant = np.arange(len(problem.configurations)) % 3
    request = np.repeat(problem.request[:, None, :], 3, axis=1)
    request[:, 1:, 0] += np.array([1, 2])
    state = problem.state.copy()
    mark_too_big(state, request, variant, problem.supply)
    incumbent = np.zeros_like(problem.incumbent)
    for w in range(workloads):
        places = np.unique(problem.cluster_of[state[w] == State.ELIGIBLE])
        if len(places) >= demands[w].copies and random.random() < 2 / 3:
            incumbent[w, random.choice(places, demands[w].copies, replace=False)] = True
    for w in range(workloads):
        here = tuple(problem.clusters[c] for c in np.nonzero(incumbent[w])[0].tolist())
        demands[w] = replace(demands[w], incumbents=here)
    return replace(
        problem,
        demands=tuple(demands),
        state=state,
        request=request,
        variant=variant,
        incumbent=incumbent,
        move_cost=np.full(workloads, 5 * POINT, dtype=np.int64),
        together=tuple(sorted(together)),
        apart=tuple(sorted(apart)),
        spreads=tuple(sorted(spreads, key=lambda rule: rule.workload)),
        move_limits=(MoveLimit(tuple(range(workloads)), tenth),),
    )
