"""The solver against a brute force that knows nothing of it, and against its own input in another order.

The brute force states the constraints and the order of objectives from the texts that define them (`objective.py`,
`model.py`), on the problem's sets: it uses no matrix, no stage and no `check_solution`.
"""

import os
import random
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_ds.errors import SolveError
from gitops_ds.ids import ResourceKind
from gitops_ds.intent.load import load_intents
from gitops_ds.inventory import Inventory
from gitops_ds.problem import Pair, Problem, State, build
from gitops_ds.problem.components import components
from gitops_ds.problem.model import MoveLimit
from gitops_ds.solution import Solution, Status, check_solution, value_of
from gitops_ds.solver import solve
from gitops_ds.solver.staged import solve_staged
from tests import builders as make
from tests.strategies import Case, cases

EXAMPLES = int(os.environ.get("GITOPS_DS_EXAMPLES", "250"))
HASTE = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

Plan = tuple[tuple[int, int], ...]
"""(workload, configuration) pairs, sorted."""
Worth = tuple[int, ...]
"""A plan's value by the written order of objectives: of two plans the greater is the better."""


def plans(problem: Problem) -> Iterator[Plan]:
    """Every plan that keeps all constraints."""

    def extend(w: int, pairs: Plan, used: dict[int, int]) -> Iterator[Plan]:
        if w == len(problem.demands):
            if _relations_hold(problem, pairs):
                yield pairs
            return
        for where in _places(problem, w, used):
            longer = (*pairs, *((w, g) for g in where))
            if _fits(problem, longer, where):
                yield from extend(w + 1, longer, used | {int(problem.cluster_of[g]): g for g in where})

    yield from extend(0, (), {})


def _places(problem: Problem, w: int, used: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    """The sets of configurations that may run the workload's copies, at most one a cluster, none against `used`."""
    per_cluster = [
        [g for g in several if problem.state[w, g] == State.ELIGIBLE and used.get(c, g) == g]
        for c, several in enumerate(problem.configurations_of)
    ]
    open_clusters = [several for several in per_cluster if several]
    for count in range(min(problem.demands[w].copies, len(open_clusters)) + 1):
        for chosen in combinations(open_clusters, count):
            yield from product(*chosen)


def _fits(problem: Problem, pairs: Plan, where: tuple[int, ...]) -> bool:
    return all(
        sum(_need(problem, w, h).get(kind, 0) for w, h in pairs if h == g)
        <= problem.amount(k, int(problem.supply[g, k]))
        for g in where
        for k, kind in enumerate(problem.kinds)
    )


def _need(problem: Problem, w: int, g: int) -> Mapping[ResourceKind, Fraction]:
    """What the workload requests there, in base units, from what was asked and not from the arrays."""
    demand = problem.demands[w]
    return demand.requests_on.get(problem.configurations[g].device, demand.requests)


def _relations_hold(problem: Problem, pairs: Plan) -> bool:
    clusters = [{int(problem.cluster_of[g]) for w, g in pairs if w == v} for v in range(len(problem.demands))]
    for group in problem.together:
        if any(clusters[w] != clusters[group[0]] for w in group):
            return False
    for group in problem.apart:
        if any(clusters[a] & clusters[b] for a, b in combinations(group, 2)):
            return False
    if any(0 < len(clusters[w]) < (d.min_copies or 0) for w, d in enumerate(problem.demands)):
        return False
    if any(pair not in pairs for pair in problem.required):
        return False
    if any(_moving(problem, limit, pairs) > _may_move(problem, limit) for limit in problem.move_limits):
        return False
    for rule in problem.spreads:
        if not rule.hard:
            continue
        counts = [len(clusters[rule.workload] & set(members)) for _, members in rule.groups]
        if (
            sum(counts) < len(clusters[rule.workload])
            or max(counts, default=0) - min(counts, default=0) > rule.max_skew
        ):
            return False
    return True


def _moving(problem: Problem, limit: MoveLimit, pairs: Plan) -> int:
    return sum(w in limit.workloads for w in _moves(problem, pairs))


def _may_move(problem: Problem, limit: MoveLimit) -> int:
    """The limit, or more where more copies have lost their place; and copies that were not there before."""
    homeless, new = 0, 0
    for w in limit.workloads:
        demand = problem.demands[w]
        usable = {
            problem.configurations[g].cluster for g in range(len(problem.configurations)) if problem.eligible[w, g]
        }
        if usable and set(demand.incumbents) & set(problem.clusters):
            had = min(len(demand.incumbents), demand.copies)
            homeless += max(had - sum(c in usable for c in demand.incumbents), 0)
            new += max(demand.copies - len(demand.incumbents), 0)
    return max(limit.most, homeless) + new


def _excess(problem: Problem, pairs: Plan) -> int:
    """By how much the soft rules are broken, all together."""
    total = 0
    for rule in problem.spreads:
        if not rule.hard:
            here = [int(problem.cluster_of[g]) for w, g in pairs if w == rule.workload]
            counts = [sum(c in members for c in here) for _, members in rule.groups]
            total += max(max(counts, default=0) - min(counts, default=0) - rule.max_skew, 0)
            total += sum(not any(c in members for _, members in rule.groups) for c in here)
    return total


def worth(problem: Problem, pairs: Plan) -> Worth:
    """What the plan is worth, as the text of `objective.py` has it, down to the rule for ties."""
    levels = sorted({d.priority for d in problem.demands}, reverse=True)
    placed = tuple(sum(problem.demands[w].priority == level for w, _ in pairs) for level in levels)
    moves, changed = _moves(problem, pairs), _reconfigured(problem, pairs)
    net = sum(int(problem.score[w, g]) for w, g in pairs)
    net -= sum(int(problem.move_cost[w]) for w in moves) + sum(int(problem.reconfigure_cost[c]) for c in changed)
    main = (*placed, net) if problem.goal == "place-first" else (net, *placed)
    first = [(_first_like(problem, w), _first_place(problem, g)) for w, g in pairs]
    numbers = sum((len(problem.demands) - w) * (len(problem.configurations) - g) for w, g in first)
    return (
        *main,
        -_excess(problem, pairs),
        -len(moves) - len(changed),
        numbers,
        sum(_digest(problem, w, g) for w, g in first),
    )


def _unrelated(problem: Problem) -> bool:
    """Whether there are classes at all: not where anything relates workloads or clusters, or tells devices apart."""
    rules = (problem.together, problem.apart, problem.spreads, problem.move_limits, problem.required)
    return not any(rules) and not problem.differs and all((d.min_copies or 1) < 2 for d in problem.demands)


def _alike(problem: Problem, v: int, w: int) -> bool:
    """Whether the problem says the same of two workloads, apart from their names."""
    one, two = problem.demands[v], problem.demands[w]
    here = [g for g in range(len(problem.configurations)) if problem.eligible[v, g]]
    return (
        (one.copies, one.priority) == (two.copies, two.priority)
        and [_need(problem, v, g) for g in here] == [_need(problem, w, g) for g in here]
        and set(one.incumbents) & set(problem.clusters) == set(two.incumbents) & set(problem.clusters)
        and problem.move_cost[v] == problem.move_cost[w]
        and here == [g for g in range(len(problem.configurations)) if problem.eligible[w, g]]
        and all(problem.score[v, g] == problem.score[w, g] for g in here)
    )


def _same_clusters(problem: Problem, b: int, c: int) -> bool:
    """Whether the problem says the same of two clusters, apart from their names."""
    one, two = problem.configurations_of[b], problem.configurations_of[c]
    if len(one) != len(two) or problem.reconfigure_cost[b] != problem.reconfigure_cost[c]:
        return False
    now = [problem.configured[b] - one[0], problem.configured[c] - two[0]]
    if now[0] != now[1] and max(problem.configured[b], problem.configured[c]) >= 0:
        return False
    names = problem.clusters[b], problem.clusters[c]
    if any((names[0] in d.incumbents) != (names[1] in d.incumbents) for d in problem.demands):
        return False
    return all(
        (problem.configurations[g].policy is None) == (problem.configurations[h].policy is None)
        and (problem.supply[g] == problem.supply[h]).all()
        and all(
            problem.eligible[w, g] == problem.eligible[w, h]
            and (not problem.eligible[w, g] or problem.score[w, g] == problem.score[w, h])
            for w in range(len(problem.demands))
        )
        for g, h in zip(one, two, strict=True)
    )


def _first_like(problem: Problem, w: int) -> int:
    return next(v for v in range(w + 1) if v == w or (_unrelated(problem) and _alike(problem, v, w)))


def _first_cluster(problem: Problem, c: int) -> int:
    return next(b for b in range(c + 1) if b == c or (_unrelated(problem) and _same_clusters(problem, b, c)))


def _first_place(problem: Problem, g: int) -> int:
    c = int(problem.cluster_of[g])
    here, there = problem.configurations_of[c], problem.configurations_of[_first_cluster(problem, c)]
    return there[here.index(g)]


def order_among_equals(problem: Problem, pairs: Plan) -> Any:
    """What the text of `handout.py` prefers among plans with the same sums: the smallest of this comes first."""
    like = sorted({_first_like(problem, w) for w in range(len(problem.demands))})
    of = [like.index(_first_like(problem, w)) for w in range(len(problem.demands))]
    loads: list[tuple[int, ...]] = []
    used: list[int | None] = []
    for several in problem.configurations_of:
        here = [(w, g) for w, g in pairs if g in several]
        loads.append(tuple(-sum(of[w] == k for w, _ in here) for k in range(len(like))))
        used.append(here[0][1] if here else None)
    filled: dict[int, list[tuple[int, ...]]] = {}
    for load, g in zip(loads, used, strict=True):
        if g is not None:
            filled.setdefault(_first_place(problem, g), []).append(load)
    ways = [(g, len(filled[g]), sorted(filled[g])) for g in sorted(filled)]
    names = [(load, -1 if g is None else _first_place(problem, g)) for load, g in zip(loads, used, strict=True)]
    members = []
    for k in range(len(like)):
        for w in (v for v in range(len(of)) if of[v] == k):
            mine = sorted(g for v, g in pairs if v == w)
            members.append((-len(mine), mine))
    return [way[1:] for way in ways], names, members


def _moves(problem: Problem, pairs: Plan) -> list[int]:
    """The workload of each copy on a cluster that is new to it, for those that git has on a cluster that is left."""
    here = [set(d.incumbents) & set(problem.clusters) for d in problem.demands]
    return [w for w, g in pairs if here[w] and problem.configurations[g].cluster not in here[w]]


def _reconfigured(problem: Problem, pairs: Plan) -> list[int]:
    used = {(int(problem.cluster_of[g]), g) for _, g in pairs if problem.configurations[g].policy is not None}
    return [c for c, g in used if problem.configured[c] >= 0 and problem.configured[c] != g]


def _digest(problem: Problem, w: int, g: int) -> int:
    configuration = problem.configurations[g]
    policy = configuration.policy.name if configuration.policy else "as it is"
    return zlib.crc32(f"z[{problem.demands[w].workload},{configuration.cluster},{policy}]".encode()) >> 22


def assert_ties_are_decided(problem: Problem, pairs: Plan) -> None:
    """The rule for ties holds in each independent component by itself."""
    for part in components(problem):
        every = {plan: worth(part.problem, plan) for plan in plans(part.problem)}
        best = max(every.values())
        mine = tuple((part.workloads.index(w), part.configurations.index(g)) for w, g in pairs if w in part.workloads)
        assert every[mine] == best
        equals = [plan for plan, value in every.items() if value == best]
        if len({_of_classes(part.problem, plan) for plan in equals}) == 1:
            assert mine == min(equals, key=lambda plan: order_among_equals(part.problem, plan))


def _of_classes(problem: Problem, pairs: Plan) -> Plan:
    """How much of each class is where: what the sums for ties can tell apart."""
    return tuple(sorted((_first_like(problem, w), _first_place(problem, g)) for w, g in pairs))


@HASTE
@given(cases())
def test_the_solver_finds_the_best_of_all_plans(case: Case) -> None:
    problem = case.problem()
    best = max(worth(problem, plan) for plan in plans(problem))
    solution = solve(problem)
    pairs = tuple((p.workload, p.configuration) for p in solution.pairs)
    assert solution.status is Status.OPTIMAL
    assert check_solution(problem, solution) == ()
    assert worth(problem, pairs)[:-2] == best[:-2]
    assert_ties_are_decided(problem, pairs)
    value = value_of(problem, solution)
    assert (value.placed, value.changes) == (
        len(pairs),
        len(_moves(problem, pairs)) + len(_reconfigured(problem, pairs)),
    )
    net = best[-5] if problem.goal == "place-first" else best[0]
    assert value.score - value.cost == net


@HASTE
@given(cases(), st.data())
def test_keeping_a_workload_is_solved_exactly_too(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    w = data.draw(st.integers(0, len(problem.demands) - 1))
    g = data.draw(st.integers(0, len(problem.configurations) - 1))
    left = problem.keeping({w: (g,)})
    best = max((worth(left, plan), plan) for plan in plans(left))
    solution = solve(left)
    pairs = tuple((p.workload, p.configuration) for p in solution.pairs)
    assert worth(left, pairs)[:-2] == best[0][:-2]
    assert_ties_are_decided(left, pairs)
    cluster = left.cluster_of[g]
    assert all(v != w and (left.cluster_of[h] != cluster or h == g) for v, h in pairs)
    rivals = {v for group in problem.apart if w in group for v in group}
    assert not any(v in rivals and left.cluster_of[h] == cluster for v, h in pairs)
    friends = {v for group in problem.together if w in group for v in group}
    assert all(left.cluster_of[h] == cluster for v, h in pairs if v in friends)


@HASTE
@given(cases(), st.data())
def test_a_required_pair_is_in_the_best_plan_that_has_it(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    w = data.draw(st.integers(0, len(problem.demands) - 1))
    g = data.draw(st.integers(0, len(problem.configurations) - 1))
    forced = problem.requiring(Pair(w, g))
    best = max((worth(forced, plan) for plan in plans(forced)), default=None)
    try:
        solution = solve(forced)
    except SolveError:
        assert best is None
        return
    pairs = tuple((p.workload, p.configuration) for p in solution.pairs)
    assert (best is None) == ((w, g) not in pairs)
    assert best is None or (worth(forced, pairs)[:-2] == best[:-2] and check_solution(forced, solution) == ())


@HASTE
@given(cases(), st.data())
def test_a_pair_that_is_allowed_counts_as_any_other(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    w = data.draw(st.integers(0, len(problem.demands) - 1))
    g = data.draw(st.integers(0, len(problem.configurations) - 1))
    wider = problem.allowing(w, g)
    fits = all(_need(problem, w, g).get(k, 0) <= problem.configurations[g].supply.get(k, 0) for k in problem.kinds)
    assert bool(wider.eligible[w, g]) == fits
    assert int((wider.state != problem.state).sum()) <= 1
    best = max(worth(wider, plan) for plan in plans(wider))
    assert worth(wider, solve(wider).pairs)[:-2] == best[:-2]


@settings(parent=HASTE, max_examples=1000)
@given(cases(), st.data())
def test_the_components_share_nothing_and_their_plans_make_the_best_of_all(case: Case, data: st.DataObject) -> None:
    problem = case.problem()
    if data.draw(st.booleans()) and problem.eligible.any():
        w, g = data.draw(st.sampled_from([(int(a), int(b)) for a, b in zip(*problem.eligible.nonzero(), strict=True)]))
        problem = problem.requiring(Pair(w, g))
    parts = components(problem)
    for word in ("workloads", "configurations"):
        numbers = [n for part in parts for n in getattr(part, word)]
        assert len(numbers) == len(set(numbers))
    for part in parts:
        assert [problem.demands[w] for w in part.workloads] == list(part.problem.demands)
        assert [problem.configurations[g] for g in part.configurations] == list(part.problem.configurations)
    if len(parts) < 2:
        return
    try:
        joined = [part.whole(pair) for part in parts for pair in solve_staged(part.problem).pairs]
        whole = solve_staged(problem)
    except SolveError:
        assert not list(plans(problem))
        return
    union = Solution(tuple(sorted(joined)), Status.OPTIMAL)
    assert check_solution(problem, union) == ()
    assert worth(problem, union.pairs)[:-2] == worth(problem, whole.pairs)[:-2]


def shuffled(case: Case, seed: int) -> tuple[dict[str, bytes], Inventory]:
    """The case with every list in another order, its intents in other files, and the inventory in any order."""
    order = random.Random(seed)

    def mixed(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            items = [mixed(v) for v in value]
            return order.sample(items, len(items))
        if isinstance(value, dict):
            return {k: mixed(value[k]) for k in order.sample(sorted(value), len(value))}
        return value

    texts = [make.intent(**mixed(dict(one))) for one in case.intents]
    names = order.sample(["a", "m", "z"], len(texts))
    files = {f"intent/{name}.yaml": text.encode() for name, text in zip(names, texts, strict=True)}
    if order.random() < 0.5:
        files = {"intent/all.yaml": "---\n".join(order.sample(texts, len(texts))).encode()}
    held = case.inventory
    items = (replace(s, items=tuple(order.sample(s.items, len(s.items)))) for s in held.scores)
    again = replace(
        held,
        scores=tuple(order.sample(list(items), len(held.scores))),
        clusters=tuple(order.sample(held.clusters, len(held.clusters))),
        policies=tuple(order.sample(held.policies, len(held.policies))),
        workloads=tuple(order.sample(held.workloads, len(held.workloads))),
    )
    return files, again


@settings(parent=HASTE, max_examples=max(EXAMPLES // 3, 1))
@given(cases(), st.integers(0, 2**32))
def test_no_order_of_the_input_changes_a_decision(case: Case, seed: int) -> None:
    problem = case.problem()
    files, mixed = shuffled(case, seed)
    again = build(load_intents(files), mixed, make.NOW, case.incumbent)
    assert make.decisions(again, solve(again)) == make.decisions(problem, solve(problem))
    assert again.warnings == problem.warnings


@pytest.mark.parametrize("seed", range(3))
def test_a_repeated_solve_gives_the_same_plan(seed: int) -> None:
    order = random.Random(seed)
    names = [f"w{i}" for i in range(12)]
    things: list[make.Thing] = [make.workload(name) for name in names]
    for c in ("c1", "c2", "c3", "c4"):
        things += [make.cluster(c), make.policy(f"{c}-p", amount="4")]
        things.append(make.scores(c, {f"{name};half": order.choice((0, 10)) for name in names}))
    text = make.intent([{"name": c, "policies": [f"{c}-p"]} for c in ("c1", "c2", "c3", "c4")], names)
    problem = make.problem(text, *things)
    assert len({solve(problem).pairs for _ in range(3)}) == 1
