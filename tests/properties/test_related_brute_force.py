"""Problems with relations, forced through the way for large ones, against a brute force: plans, bounds and prices."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gitops_ds.problem import Pair, Problem
from gitops_ds.problem.components import components
from gitops_ds.solution import Solution, Status, check_solution
from gitops_ds.solver.block import Limits
from gitops_ds.solver.related import Related, related
from gitops_ds.solver.related_pricing import related_pricer
from gitops_ds.solver.related_search import plan_worth, solve_related
from gitops_ds.solver.search import Schedule
from tests.properties.test_solver_brute_force import EXAMPLES, HASTE, plans, worth
from tests.strategies import Case, cases

SHORT = Schedule(30, 3, ((0, 1.0),), 2, 6, limits=Limits(gap=0.0), eager=True)
PRICES = st.integers(-40_000, 60_000)


def drawn(case: Case, data: st.DataObject) -> tuple[Problem, Related]:
    """One component of the case in its form with linking rows."""
    parts = components(case.problem())
    assume(parts)
    problem = data.draw(st.sampled_from(parts)).problem
    form = related(problem)
    assert form is not None
    return problem, form


def best_of(problem: Problem) -> tuple[Pair, ...]:
    best = max(plans(problem), key=lambda plan: worth(problem, plan))
    return tuple(Pair(*pair) for pair in best)


@settings(parent=HASTE, max_examples=EXAMPLES * 2)
@given(cases(), st.data())
def test_the_search_keeps_every_rule_and_its_bounds_hold(case: Case, data: st.DataObject) -> None:
    problem, form = drawn(case, data)
    best = best_of(problem)
    top, seen = plan_worth(form, form.chosen(best)), -1
    for pairs, bound in solve_related(form, (), schedule=SHORT):
        assert check_solution(problem, Solution(pairs, Status.LIMIT)) == ()
        value = plan_worth(form, form.chosen(pairs))
        assert seen <= value <= top <= bound
        seen = value
    results = tuple(form.results(pairs, bound))
    assert tuple(s.value for s in results) == form.stage_values(pairs)
    for stage, reached in zip(results, form.stage_values(best), strict=True):
        assert stage.bound >= reached
        if stage.bound > stage.value:
            break


@HASTE
@given(cases(), st.data())
def test_plans_are_ordered_as_their_stages_are(case: Case, data: st.DataObject) -> None:
    problem, form = drawn(case, data)
    several = [tuple(Pair(*p) for p in plan) for _, plan in zip(range(300), plans(problem), strict=False)]
    keyed = sorted((form.stage_values(plan), plan_worth(form, form.chosen(plan))) for plan in several)
    for (one, less), (other, more) in pairwise(keyed):
        assert one == other or less <= more
        assert less == more or one[: len(form.main)] != other[: len(form.main)]
    for plan in several:
        assert not len(form.broken(form.activity(form.chosen(plan).values())))
        assert form.pairs(form.chosen(plan).values()) == plan


@HASTE
@given(cases(), st.data())
def test_no_prices_make_a_bound_that_is_too_low(case: Case, data: st.DataObject) -> None:
    problem, form = drawn(case, data)
    pricer = related_pricer(form)
    drawn_prices = [data.draw(PRICES) for _ in range(min(form.items + len(form.links.lower), 12))]
    prices = np.resize(np.array(drawn_prices or [0], dtype=np.float64), len(pricer.nothing))
    asked = pricer.parts(prices)
    parts, found = pricer.bound(asked)
    best = best_of(problem)
    assert parts >= plan_worth(form, form.chosen(best)) * pricer.scale
    open_ = [Pair(int(w), int(g)) for w, g in np.argwhere(problem.eligible)]
    pair = data.draw(st.sampled_from(open_))
    forced = problem.requiring(pair)
    those = [plan_worth(form, form.chosen(tuple(Pair(*p) for p in plan))) for plan in plans(forced)]
    if those:
        assert pricer.bound_with(asked, pair, parts, found) >= max(those) * pricer.scale


@HASTE
@given(cases(), st.data())
def test_what_relations_forbid_is_what_the_rows_forbid(case: Case, data: st.DataObject) -> None:
    """Of all ways to put items on clusters that fit, the rows leave exactly the plans."""
    problem, form = drawn(case, data)
    spots = [(i, g) for i, g in np.argwhere(form.allowed).tolist()]
    assume(len(spots) <= 9)
    any_number = tuple(replace(demand, min_copies=None) for demand in problem.demands)
    loose = replace(problem, demands=any_number, spreads=(), apart=(), move_limits=())
    kept = set()
    for chosen in product((False, True), repeat=len(spots)):
        pairs = tuple(
            sorted(Pair(w, g) for (i, g), on in zip(spots, chosen, strict=True) if on for w in form.members[i])
        )
        fits = check_solution(loose, Solution(pairs, Status.LIMIT)) == ()
        if fits and not len(form.broken(form.activity(form.chosen(pairs).values()))):
            kept.add(pairs)
    assert kept == {tuple(Pair(*p) for p in plan) for plan in plans(problem)}
