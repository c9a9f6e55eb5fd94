"""`check_solution` against planted wrong plans of every family, and the figures of a plan."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gitops_ds.ids import ClusterName
from gitops_ds.problem import Pair, Problem, State
from gitops_ds.problem.model import MoveLimit
from gitops_ds.solution import Solution, StageResult, Status, check_solution, excess, value_of
from gitops_ds.solver import solve
from tests import builders as make

NAMES = [f"w{i}" for i in range(8)]
CLUSTERS = ["c0", "c1", "c2", "c3"]


def problem() -> Problem:
    """Four clusters with two policies each (4 gpu as big, 2 as small) and cpu, and eight workloads:

    w0 and w1 together; w2, w3 and w4 apart; w5 with 2 copies over regions; w6 with 3 copies; w7 pinned to c3, 3 gpu.
    """
    things: list[make.Thing] = [make.workload(name) for name in NAMES]
    for i, c in enumerate(CLUSTERS):
        labels = {"region": ("eu", "eu", "us")[i]} if i < 3 else {}
        things += [
            make.cluster(c, labels=labels),
            make.policy(f"{c}-big", "big", "4"),
            make.policy(f"{c}-small", "small"),
        ]
        things.append(
            make.scores(c, {f"{n};{d}": 10 * i for n in NAMES for d in ("big", "small") if (n, c) != ("w6", "c0")})
        )
    entries: list[dict[str, Any]] = [{"name": name} for name in NAMES]
    entries[0] |= {"with": ["w1"], "requests": {"gpu": 1, "cpu": 2}}
    entries[1] |= {"requests": {"cpu": 1}}
    entries[2] |= {"apart": ["w3", "w4"]}
    entries[3] |= {"apart": ["w4"]}
    entries[5] |= {"copies": 2, "spread": [{"key": "region", "maxSkew": 1}]}
    entries[6] |= {"copies": 3, "avoid": ["c3"]}
    entries[7] |= {"pin": "c3", "requests": {"gpu": 3}}
    clusters = [{"name": c, "policies": [f"{c}-big", f"{c}-small"], "capacity": {"cpu": 3}} for c in CLUSTERS]
    return make.problem(make.intent(clusters, entries), *things)


PROBLEM = problem()
LABELS = [f"{c.cluster}/{c.policy.name[3:] if c.policy else ''}" for c in PROBLEM.configurations]
GOOD = "0 c0/big, 1 c0/big, 2 c0/big, 3 c1/big, 4 c2/big, 5 c0/big, 5 c2/big, 6 c1/big, 6 c2/big, 7 c3/big"


def read(text: str) -> tuple[Pair, ...]:
    """A plan from `workload configuration` pairs, in the order that they are written in."""
    words = (part.split() for part in text.split(",") if part.strip())
    return tuple(Pair(int(w), int(g) if g.lstrip("-").isdigit() else LABELS.index(g)) for w, g in words)


def check(pairs: tuple[Pair, ...], on: Problem = PROBLEM) -> tuple[str, ...]:
    return check_solution(on, Solution(pairs, Status.OPTIMAL))


def test_the_good_plan_and_the_empty_one_break_nothing() -> None:
    assert check(read(GOOD)) == ()
    assert check(()) == ()


def test_the_solvers_own_plan_breaks_nothing() -> None:
    assert check_solution(PROBLEM, solve(PROBLEM)) == ()


MAY_NOT = "may not run on"
WRONG = [
    # Pairs that may not be used: no score, as it is without one, pinned, avoided, too big.
    *((f"6 c0/{d}", "NO_SCORE") for d in ("big", "small")),
    *((f"{w} {c}/", "NO_SCORE") for w in (0, 2, 5) for c in CLUSTERS),
    *((f"7 {c}/big", "SELECTOR") for c in CLUSTERS[:3]),
    *((f"6 c3/{d}", "SELECTOR") for d in ("big", "small")),
    ("7 c3/small", "CAPACITY"),
    # Pairs that name nothing.
    *((f"{w} {g}", "names nothing") for w, g in ((8, 0), (-1, 0), (0, 12), (0, -1), (99, 99))),
    # The order of pairs, and pairs twice.
    ("3 c1/big, 2 c0/big", "not sorted"),
    ("2 c1/big, 2 c1/big", "stands twice"),
    ("2 c1/big, 2 c1/big", "has two copies on one cluster"),
    # Two configurations of a cluster.
    *((f"2 {c}/big, 5 {c}/small", f"{c} has 2 configurations") for c in CLUSTERS[:3]),
    ("2 c3/small, 7 c3/big", "c3 has 2 configurations"),
    # More copies than wanted, or two on one cluster.
    *((f"{w} c0/big, {w} c1/big", f"default/w{w} has 2 copies, wanted 1") for w in (2, 3, 4)),
    ("6 c1/big, 6 c1/small", "default/w6 has two copies on one cluster"),
    ("5 c0/big, 5 c1/big, 5 c2/big", "default/w5 has 3 copies, wanted 2"),
    ("5 c0/big, 5 c0/small", "default/w5 has two copies on one cluster"),
    # More than there is, kind by kind.
    ("2 c1/small, 5 c1/small, 6 c1/small", "c1 under c1-small: 3 gpu of 2"),
    ("0 c2/small, 1 c2/small, 2 c2/small, 6 c2/small", "c2 under c2-small: 3 gpu of 2"),
    ("2 c3/big, 5 c3/big, 7 c3/big", "c3 under c3-big: 5 gpu of 4"),
    # Workloads that belong together.
    ("0 c0/big", "default/w0, default/w1 are not on the same clusters"),
    ("1 c0/big", "default/w0, default/w1 are not on the same clusters"),
    *((f"0 {a}/big, 1 {b}/big", "not on the same clusters") for a, b in (("c0", "c1"), ("c1", "c2"), ("c3", "c0"))),
    # Workloads that repel each other.
    *((f"{a} c0/big, {b} c0/big", "c0 holds 2 of default/w2") for a, b in ((2, 3), (2, 4), (3, 4))),
    ("2 c1/big, 3 c1/big, 4 c1/big", "c1 holds 3 of default/w2"),
    ("2 c2/big, 3 c2/small", "c2 holds 2 of default/w2"),
    # Copies that are spread unevenly, or where the key is not.
    ("5 c0/big, 5 c1/big", "default/w5 is uneven over region: [2, 0]"),
    ("5 c3/big", "default/w5 is on a cluster without region"),
    ("5 c0/big, 5 c3/big", "default/w5 is on a cluster without region"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_wrong_plan_is_refused_with_the_rule_that_it_breaks(text: str, said: str) -> None:
    assert any(said in line for line in check(read(text))), check(read(text))


def test_there_are_many_wrong_plans_of_all_families() -> None:
    assert len(WRONG) >= 50


@pytest.mark.parametrize("state", [s for s in State if s is not State.ELIGIBLE])
def test_every_state_but_one_forbids_the_pair(state: State) -> None:
    states = PROBLEM.state.copy()
    states[read(GOOD)[2]] = state
    (line,) = check(read(GOOD), replace(PROBLEM, state=states))
    assert line == f"default/w2 may not run on c0 under c0-big: {state.name}"


@pytest.mark.parametrize("kind", range(2))
def test_one_unit_less_of_a_kind_is_too_little(kind: int) -> None:
    supply = PROBLEM.supply.copy()
    g = LABELS.index("c0/big")
    used = sum(int(PROBLEM.need(w, h)[kind]) for w, h in read(GOOD) if h == g)
    supply[g, kind] = used
    assert check(read(GOOD), replace(PROBLEM, supply=supply)) == ()
    supply[g, kind] = used - 1
    assert len(check(read(GOOD), replace(PROBLEM, supply=supply))) == 1


@pytest.mark.parametrize("i", range(len(read(GOOD))))
def test_a_swap_of_any_pair_for_its_neighbour_is_judged_by_the_rules_alone(i: int) -> None:
    """Taking a pair out never breaks capacity, apart or copies: only together and spread can mind."""
    pairs = read(GOOD)
    lines = check((*pairs[:i], *pairs[i + 1 :]))
    expected = {0: 1, 1: 1}
    assert len(lines) == expected.get(pairs[i].workload, 0)


def test_a_soft_spread_is_no_rule() -> None:
    soft = replace(PROBLEM, spreads=tuple(replace(rule, hard=False) for rule in PROBLEM.spreads))
    assert check(read("5 c0/big, 5 c1/big"), soft) == ()


# Rules that not every problem has: fewest copies, requests by device, limits of moves, pairs that must be there.


def special() -> Problem:
    """The same fleet: w6 has at least 2 copies, w2 needs 3 gpu as small, w3 is on c0, w4 on c1 and has lost a copy."""
    demands = list(PROBLEM.demands)
    demands[6] = replace(demands[6], min_copies=2)
    demands[3] = replace(demands[3], incumbents=(ClusterName("c0"),))
    demands[4] = replace(demands[4], incumbents=(ClusterName("c1"), ClusterName("gone")), copies=2)
    incumbent = PROBLEM.incumbent.copy()
    incumbent[3, 0] = incumbent[4, 1] = True
    request = np.stack([PROBLEM.request] * 2, axis=1)
    request[2, 1, PROBLEM.kinds.index("gpu")] = 3
    return replace(
        PROBLEM,
        demands=tuple(demands),
        incumbent=incumbent,
        request=request,
        variant=np.array([c.device == "small" for c in PROBLEM.configurations], dtype=np.int64),
        move_limits=(MoveLimit((3, 4), 0),),
        required=(Pair(0, LABELS.index("c0/big")),),
    )


SPECIAL = special()
ALSO = "0 c0/big, 1 c0/big, "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6 c1/big", "default/w6 has 1 copies, wanted at least 2 or none"),
        ("2 c1/small", "c1 under c1-small: 3 gpu of 2"),
        ("3 c1/big", ""),
        ("3 c1/big, 4 c2/big", "2 copies of default/fleet move, and 1 may"),
        ("3 c1/big, 4 c0/big, 4 c2/big", "3 copies of default/fleet move, and 1 may"),
        ("4 c2/big, 4 c3/big", "2 copies of default/fleet move, and 1 may"),
        ("3 c0/big, 4 c1/big, 4 c2/big", ""),
        ("6 c1/big, 6 c2/big", ""),
        ("2 c1/big", ""),
    ],
)
def test_the_special_rules_refuse_what_breaks_them(text: str, said: str) -> None:
    lines = check(tuple(sorted(read(ALSO + text))), SPECIAL)
    assert [line for line in lines if said in line] if said else lines == (), lines


@pytest.mark.parametrize("text", ["", "0 c1/big, 1 c1/big", "0 c0/small, 1 c0/small"])
def test_a_pair_that_must_be_there_is_missed(text: str) -> None:
    assert "default/w0 is not on c0 under c0-big, where it must be" in check(read(text), SPECIAL)


@pytest.mark.parametrize(
    ("clusters", "broken"),
    [((), 0), (("c0",), 0), (("c0", "c1"), 1), (("c0", "c2"), 0), (("c0", "c1", "c3"), 2), (("c3",), 1)],
)
def test_the_excess_over_a_soft_rule(clusters: tuple[str, ...], broken: int) -> None:
    assert excess(PROBLEM, PROBLEM.spreads[0], clusters) == broken


def test_amounts_beyond_64_bits_are_still_added_right() -> None:
    big = np.full_like(PROBLEM.request, 2**62)
    full = replace(PROBLEM, request=big, supply=np.full_like(PROBLEM.supply, 2**62))
    assert any("of" in line for line in check(read("2 c1/big, 5 c1/big, 6 c1/big"), full))


def test_the_value_of_a_plan_counts_scores_costs_and_changes() -> None:
    stability = {"moveCost": 2.5, "reconfigureCost": 10}
    things: list[make.Thing] = []
    for c in ("c1", "c2"):
        things += [make.cluster(c), make.policy(f"{c}-a", "a"), make.policy(f"{c}-b", "b")]
        things.append(make.scores(c, {f"{w};{d}": 20 for w in ("w1", "w2", "w3") for d in "ab"}))
    things += [make.workload(w, None) for w in ("w1", "w2", "w3")]
    clusters = [{"name": c, "policies": [f"{c}-a", f"{c}-b"]} for c in ("c1", "c2")]
    now = make.incumbent({"w1": ["c1"], "w2": ["c1"], "w3": ["gone"]}, {"c1": "c1-a", "c2": "old"})
    found = make.problem(make.intent(clusters, ["w1", "w2", "w3"], stability=stability), *things, incumbent=now)
    stay = value_of(found, Solution((Pair(0, 0), Pair(1, 0), Pair(2, 0)), Status.OPTIMAL))
    assert (stay.placed, stay.score, stay.cost, stay.changes) == (3, 60_000, 0, 0)
    moved = value_of(found, Solution((Pair(0, 2), Pair(1, 1), Pair(2, 3)), Status.OPTIMAL))
    assert (moved.placed, moved.score, moved.cost, moved.changes) == (3, 60_000, 12_500, 2)


def test_the_configurations_of_a_plan() -> None:
    used = Solution(read(GOOD), Status.OPTIMAL).configuration_of(PROBLEM)
    assert used == {c: LABELS.index(f"{name}/big") for c, name in enumerate(CLUSTERS)}


@pytest.mark.parametrize(
    ("value", "bound", "gap"), [(100, 100.0, 0.0), (100, 110.0, 0.1), (0, 5.0, 5.0), (-10, -5.0, 0.5), (7, 6.0, 0.0)]
)
def test_the_gap_of_a_stage(value: int, bound: float, gap: float) -> None:
    assert StageResult("score", value, bound).gap == pytest.approx(gap)
