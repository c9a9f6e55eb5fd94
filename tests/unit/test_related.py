"""Large problems with relations: a plan that keeps them, a bound that holds, the same bytes twice, whatever strikes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from bench.instances import as_problem, placement
from gitops_ds.errors import InfeasibleError
from gitops_ds.problem import Pair, Problem
from gitops_ds.problem.components import components
from gitops_ds.problem.variations import narrowed
from gitops_ds.solution import Solution, Status, check_solution
from gitops_ds.solver import large as module
from gitops_ds.solver import solve
from gitops_ds.solver.large import improving, incumbent_of
from gitops_ds.solver.related import Related, leading, related
from gitops_ds.solver.related_duals import Compact
from gitops_ds.solver.related_pricing import related_pricer
from gitops_ds.solver.related_search import plan_worth, related_schedule, solve_related, trim
from gitops_ds.solver.staged import solve_staged
from gitops_ds.solver.weighing import weighed

Step = tuple[tuple[Pair, ...], int]


def fleet(workloads: int, clusters: int, policies: int, goal: str = "score-first", seed: int = 0) -> Problem:
    """The one component of an instance with relations of every kind."""
    (part,) = components(as_problem(placement(workloads, clusters, policies, "related", seed), goal))
    return part.problem


def form_of(problem: Problem) -> Related:
    form = related(problem)
    assert form is not None
    return form


def steps(problem: Problem, blocks: int = 6) -> Iterator[Step]:
    form = form_of(problem)
    yield from solve_related(form, (), schedule=replace(related_schedule(form), blocks=blocks))


@pytest.mark.parametrize("goal", ["score-first", "place-first"])
@pytest.mark.parametrize("seed", range(2))
def test_a_large_problem_gets_a_plan_that_is_close_to_its_bound(goal: str, seed: int) -> None:
    problem = fleet(60, 16, 3, goal, seed)
    assert problem.spreads
    assert problem.together
    assert problem.apart
    assert problem.move_limits
    assert problem.differs
    form = form_of(problem)
    *_, (pairs, bound) = steps(problem)
    assert check_solution(problem, Solution(pairs, Status.LIMIT)) == ()
    value = plan_worth(form, form.chosen(pairs))
    assert value <= bound
    assert bound - value <= 0.06 * value
    first = next(iter(form.results(pairs, bound)))
    assert first.value <= first.bound


def test_the_optimum_is_within_the_bound_where_it_can_be_known() -> None:
    problem = fleet(24, 8, 3)
    form = form_of(problem)
    best = solve_staged(problem)
    assert best.status is Status.OPTIMAL
    top = plan_worth(form, form.chosen(best.pairs))
    for pairs, bound in steps(problem):
        assert plan_worth(form, form.chosen(pairs)) <= top <= bound


def test_the_same_problem_gives_the_same_steps() -> None:
    problem = fleet(50, 14, 3)
    assert list(steps(problem)) == list(steps(problem))


def test_many_clusters_are_planned_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = fleet(60, 16, 3)
    monkeypatch.setattr("gitops_ds.solver.related_search.SMALL", 4)
    wide = list(steps(problem, blocks=2))
    monkeypatch.setattr("gitops_ds.solver.related_search.MIDDLING", 8)
    wider = list(steps(problem, blocks=2))
    form = form_of(problem)
    for found in (wide, wider):
        for pairs, bound in found:
            assert check_solution(problem, Solution(pairs, Status.LIMIT)) == ()
            assert plan_worth(form, form.chosen(pairs)) <= bound
        assert found[-1][0]


def test_a_search_that_is_stopped_at_once_keeps_the_start() -> None:
    problem = fleet(40, 12, 3)
    form = form_of(problem)
    *_, (start, _) = steps(problem, blocks=0)
    again = list(solve_related(form, start, lambda: True))
    assert [pairs for pairs, _ in again] == [start]
    value = plan_worth(form, form.chosen(start))
    for pairs, _ in solve_related(form, start, schedule=replace(related_schedule(form), blocks=1)):
        assert plan_worth(form, form.chosen(pairs)) >= value


def test_a_limit_gives_the_best_plan_so_far_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(fleet(60, 16, 3), time_limit=0.0)
    monkeypatch.setattr(module, "COMPACT", 0)
    *_, last = improving(problem)
    assert last.status is Status.LIMIT
    assert check_solution(problem, last) == ()


def test_a_search_that_ends_by_itself_says_so_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPACT", 0)
    problem = replace(fleet(40, 12, 3), time_limit=300.0)
    found = [list(improving(problem))[-1] for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].status is Status.SEARCHED
    assert check_solution(problem, found[0]) == ()
    assert found[0].stages[0].bound >= found[0].stages[0].value


def test_a_small_problem_is_proved_and_not_searched() -> None:
    problem = fleet(24, 8, 3)
    assert int(problem.eligible.sum()) < module.COMPACT
    found = list(improving(problem))
    assert [one.status for one in found] == [Status.OPTIMAL]
    assert found[0] == solve_staged(problem)


def test_what_git_has_is_the_start_where_it_keeps_every_rule() -> None:
    problem = fleet(40, 12, 3)
    *_, (pairs, _) = steps(problem, blocks=0)
    incumbent = np.zeros_like(problem.incumbent)
    configured = np.full(len(problem.clusters), -1, dtype=np.int64)
    for w, g in pairs:
        incumbent[w, problem.cluster_of[g]] = True
        configured[problem.cluster_of[g]] = g
    there = tuple(
        replace(d, incumbents=tuple(problem.clusters[c] for c in np.nonzero(incumbent[w])[0]))
        for w, d in enumerate(problem.demands)
    )
    running = replace(problem, incumbent=incumbent, configured=configured, demands=there)
    assert incumbent_of(running) == pairs
    assert incumbent_of(replace(running, configured=np.full(len(problem.clusters), -1, dtype=np.int64))) == ()


def test_a_required_pair_is_in_every_plan_or_there_is_none() -> None:
    problem = fleet(24, 8, 3)
    missing = next(Pair(int(w), int(g)) for w, g in np.argwhere(problem.eligible) if problem.demands[w].copies == 1)
    found = solve(problem.requiring(missing))
    assert missing in found.pairs
    for pairs, _ in steps(problem.requiring(missing)):
        assert missing in pairs


def test_trimming_takes_what_breaks_a_rule_and_leaves_the_rest() -> None:
    problem = fleet(40, 12, 3)
    form = form_of(problem)
    chosen = form.chosen(next(iter(reversed(list(steps(problem, blocks=0)))))[0])
    assert trim(form, chosen) == chosen
    (i, least) = next(
        (int(form.item_of[w]), d.min_copies or 1) for w, d in enumerate(problem.demands) if (d.min_copies or 1) > 1
    )
    without = {c: p._replace(workloads=tuple(w for w in p.workloads if w != i)) for c, p in chosen.items()}
    c = next(c for c, p in without.items() if form.allowed[i, p.configuration])
    few = {**without, c: without[c]._replace(workloads=tuple(sorted((*without[c].workloads, i))))}
    assert least > 1
    assert all(i not in p.workloads for p in trim(form, few).values())


def test_only_stages_whose_sum_is_exact_are_led_by_and_the_others_are_bounded_apart() -> None:
    problem = fleet(24, 8, 3, "place-first")
    form = form_of(problem)
    huge = replace(problem, score=problem.score * 2**22 + 1)
    wide = form_of(huge)
    assert wide.later
    assert len(wide.main) + len(wide.later) == len(form.main) + len(form.later)
    assert leading(wide.columns, ()) == ()
    *_, (pairs, bound) = steps(huge, blocks=1)
    results = list(wide.results(pairs, bound))
    assert [r.name for r in results] == [s.name for s in (*(w.stage for w in wide.main), *wide.later)]
    assert all(r.bound >= r.value for r in results)


def test_prices_of_the_compact_relaxation_bound_the_optimum() -> None:
    problem = fleet(24, 8, 3)
    form = form_of(problem)
    best = solve_staged(problem)
    top = plan_worth(form, form.chosen(best.pairs))
    none = np.zeros_like(form.links.lower)
    compact = Compact(form, np.arange(form.clusters), form.copies, none)
    duals = compact.steps(compact.first_rent(), np.zeros(len(none)), 60, lambda: False)
    assert duals.value >= top * (1 - 1e-6)
    pricer = related_pricer(form)
    parts, _ = pricer.bound(pricer.parts(duals.prices))
    assert parts >= top * pricer.scale


def test_weighing_gives_limits_on_both_sides_of_the_loss() -> None:
    problem = fleet(24, 8, 3)
    best = solve_staged(problem)
    points = best.stages[0].value
    used = set(best.pairs)
    pairs = [Pair(int(w), int(g)) for w, g in np.argwhere(problem.eligible) if (w, g) not in used][::9]
    seen = 0
    for pair, (least, after) in zip(pairs, weighed(problem, best, pairs), strict=True):
        try:
            exact = points - solve_staged(problem.requiring(pair)).stages[0].value
        except InfeasibleError:
            continue
        assert least is None or least <= exact
        seen += least is not None
        if after is not None:
            assert pair in after.pairs
            assert check_solution(problem, after) == ()
            assert points - after.stages[0].value >= exact
    assert seen


def test_a_narrowed_problem_keeps_the_plan_and_opens_only_what_it_says() -> None:
    problem = fleet(24, 8, 3)
    best = solve_staged(problem)
    near = narrowed(problem, best.pairs, [0, 1], [best.pairs[0].workload])
    assert check_solution(near, best) == ()
    opened = np.argwhere(near.eligible)
    assert all(problem.eligible[w, g] for w, g in opened)
    here = problem.incumbent[:, problem.cluster_of]
    assert all((w, g) in best.pairs or problem.cluster_of[g] < 2 or here[w, g] for w, g in opened.tolist())


def test_a_bound_of_a_stage_is_in_the_unit_of_its_value() -> None:
    """The compact model alone, cut short: its bound is still no more than everybody's best score."""
    problem = replace(fleet(60, 16, 3), time_limit=2.0)
    found = solve_staged(problem).stages[0]
    copies = np.array([d.copies for d in problem.demands])
    most = int(np.where(problem.eligible, problem.score, 0).max(axis=1).clip(0) @ copies)
    assert found.value <= found.bound <= most
