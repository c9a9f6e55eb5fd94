"""`next_step(...)`: the next commit's worth of a move.

Owns the order in which the rules are asked. Owns no rule (`copies.py`, `policies.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitops_ds.blueprint import Blueprint
from gitops_ds.phases.board import Board
from gitops_ds.phases.copies import admit, await_copies, retract, swap
from gitops_ds.phases.policies import configure, finish, force, start
from gitops_ds.phases.progress import Progress
from gitops_ds.phases.terms import Terms
from gitops_ds.phases.transit import Copy, Transit


@dataclass(frozen=True, slots=True)
class Step:
    """What one commit does.

    Attributes:
        blueprint: what is rendered; the target itself once it is reached, and what git holds where nothing can be done.
        transit: what is in flight then; None where the target is reached.
        did: what it does, in words; nothing while it waits.
        awaited: what the hub has still to show.
        blocked: why nothing more will ever come, where nothing is awaited either.
    """

    blueprint: Blueprint
    transit: Transit | None
    did: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


def next_step(before: Blueprint, target: Blueprint, transit: Transit | None, terms: Terms, hub: Progress) -> Step:
    """The step from what git holds towards the target.

    Args:
        before: what git holds.
        target: what is wanted, settled: each copy behind its gate.
        transit: what git's lock says is in flight.
        terms: how workloads may move, and what there is room for.
        hub: how far the hub has got with `before`.
    """
    board = Board(before, target, transit, terms, hub)
    board.at_once()
    finish(board)
    retract(board)
    configure(board)
    admit(board)
    swap(board)
    start(board)
    await_copies(board)
    for part in sorted(board.phased):
        if not (board.did[part] or board.awaited[part]):
            force(board, part)
    return _step(board, transit)


def _step(board: Board, transit: Transit | None) -> Step:
    made = board.blueprint()
    awaited = sorted({one for several in board.awaited.values() for one in several})
    if made is board.target:
        settled = (board.before.placements, board.before.configurations) == (made.placements, made.configurations)
        return Step(made, None, () if settled and transit is None else _words(board))
    stuck = [part for part in sorted(board.phased) if not (board.did[part] or board.awaited[part])]
    blocked = sorted({one for part in stuck for one in board.obstacles[part]})
    before = transit or Transit(replace(board.before, scorings=()))
    changing = tuple(sorted(board.changing))
    old = (board.before.placements, board.before.configurations, before.changing)
    if (made.placements, made.configurations, changing) == old:
        same = replace(board.before, scorings=board.target.scorings)
        return Step(same, before, (), tuple(awaited), tuple(blocked))
    after = Transit(before.origin, before.number + 1, _adding(board, before.origin), changing)
    return Step(made, after, _words(board), tuple(awaited), tuple(blocked))


def _adding(board: Board, origin: Blueprint) -> tuple[Copy, ...]:
    """The copies that came while others of their workload are still to leave."""
    old = {(p.workload, s.cluster) for p in origin.placements for s in p.spots}
    came = (
        (workload, cluster)
        for workload, spots in board.now.items()
        if board.leavers(workload)
        for cluster in spots.keys() & board.want.get(workload, {}).keys()
    )
    return tuple(sorted(copy for copy in came if copy not in old))


def _words(board: Board) -> tuple[str, ...]:
    gone = [f"remove {p.workload}" for p in board.before.placements if p.workload not in board.terms.number]
    said = (*gone, *(one for part in sorted(board.did) for one in board.did[part]))
    return said or ("write the same under other names",)
