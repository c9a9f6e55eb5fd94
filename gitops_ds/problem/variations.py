"""Problems that differ from another by what a question supposes: a pair that must or may be used, more supply.

Owns the changes of the arrays. Owns no question (`whatif/`) and no solving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

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


def narrowed(problem: Problem, pairs: Sequence[Pair], clusters: Iterable[int], workloads: Iterable[int]) -> Problem:
    """The problem in which a plan may change on some clusters only.

    Open there are these workloads, those that must be with them, and whoever the plan has there; elsewhere nothing but
    the plan's own `pairs` may be used, and what git has now, so that limits of moves mean the same.
    """
    open_ = np.isin(problem.cluster_of, list(clusters))
    asked = set(workloads)
    friends = {w for group in problem.together if asked.intersection(group) for w in group}
    there = np.array(sorted(asked | friends | {w for w, g in pairs if open_[g]}), dtype=np.int64)
    free = np.zeros_like(problem.eligible)
    free[np.ix_(there, np.nonzero(open_)[0])] = True
    if problem.move_limits:
        free |= problem.incumbent[:, problem.cluster_of]
    for pair in pairs:
        free[pair] = True
    return replace(problem, state=np.where(problem.eligible & ~free, np.uint8(State.HELD), problem.state))


def moves_only(problem: Problem) -> Problem:
    """The problem in which another policy costs nothing, so that moves alone are counted."""
    return replace(problem, reconfigure_cost=problem.reconfigure_cost * 0)
