"""Problems that differ from another by what a question supposes: a pair that must or may be used, more supply.

Owns the changes of the arrays. Owns no question (`whatif/`) and no solving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitops_ds.problem.components import Component, components
from gitops_ds.problem.model import Pair, Problem, State, mark_too_big


def around(problem: Problem, workloads: Iterable[int]) -> tuple[Component, ...]:
    """The components that hold one of the workloads; none for workloads that may run nowhere."""
    wanted = set(workloads)
    return tuple(part for part in components(problem) if wanted.intersection(part.workloads))


def forced(problem: Problem, pair: Pair) -> Problem | None:
    """What is left to decide when one pair is given; None where that cannot be said without a rule.

    Its plans, each with the pair added, are the plans of `problem` that have the pair, and cost by as much less as
    the pair itself costs. Unlike a problem with a required pair, it is no harder to solve than the problem itself.
    """
    w, g = pair
    related = (*problem.together, *problem.apart, *((r.workload,) for r in problem.spreads))
    limited = any(w in limit.workloads for limit in problem.move_limits)
    if problem.demands[w].copies > 1 or limited or any(w in group for group in related) or problem.required:
        return None
    c = int(problem.cluster_of[g])
    state, supply, configured = problem.state.copy(), problem.supply.copy(), problem.configured.copy()
    state[w] = State.KEPT
    others = [other for other in problem.configurations_of[c] if other != g]
    block = state[:, others]
    block[block == State.ELIGIBLE] = State.HELD
    state[:, others] = block
    supply[g] -= problem.need(w, g)
    mark_too_big(state, problem.request, problem.variant, supply)
    if configured[c] >= 0 and problem.configurations[g].policy is not None:
        configured[c] = g
    return replace(problem, state=state, supply=supply, configured=configured)


def opened(problem: Problem, pairs: Mapping[Pair, int]) -> Problem:
    """The problem in which these pairs may be used, at these scores, as far as their configurations hold them."""
    state, score = problem.state.copy(), problem.score.copy()
    for (w, g), value in pairs.items():
        state[w, g] = State.ELIGIBLE
        score[w, g] = value
    mark_too_big(state, problem.request, problem.variant, problem.supply)
    return replace(problem, state=state, score=score)


def roomier(problem: Problem, more: Mapping[tuple[int, int], int]) -> Problem:
    """The problem with so many units more by (configuration, kind), and every pair usable that has room by it."""
    state, supply = problem.state.copy(), problem.supply.copy()
    for (g, k), units in more.items():
        supply[g, k] += units
    state[state == State.CAPACITY] = State.ELIGIBLE
    mark_too_big(state, problem.request, problem.variant, supply)
    return replace(problem, state=state, supply=supply)


def without_limits_of_size(problem: Problem, workloads: Iterable[int]) -> Problem:
    """The problem in which these workloads may be put where even an empty cluster has too little for them."""
    state = problem.state.copy()
    for w in workloads:
        state[w, state[w] == State.CAPACITY] = State.ELIGIBLE
    return replace(problem, state=state)


def moves_only(problem: Problem) -> Problem:
    """The problem in which another policy costs nothing, so that moves alone are counted."""
    return replace(problem, reconfigure_cost=problem.reconfigure_cost * 0)
