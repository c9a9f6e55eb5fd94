"""Copies that come and go: who may be added, who may be removed, and what keeps the others.

Owns the rule that no workload ever has fewer copies that run than it had, or than are wanted. Owns no policy of a
cluster (`policies.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from gitops_ds.ids import ClusterName, WorkloadId
from gitops_ds.phases.board import Board, all_of, some_of

Unit = tuple[WorkloadId, ...]


def retract(board: Board) -> None:
    """Remove the copies that are to leave and whose workload runs elsewhere often enough by now.

    Those that do not run go first, then those whose cluster is to get another policy.
    """
    for part, unit in list(board.movers()):
        if not board.terms.is_phased(unit) and any(board.comers(w) for w in unit):
            continue
        leaving = sorted({c for w in unit for c in board.leavers(w)}, key=lambda c: _leaving_order(board, unit, c))
        for cluster in leaving:
            several = [w for w in unit if cluster in board.leavers(w)]
            if all(_is_spare(board, w, cluster) for w in several) or not board.terms.is_phased(unit):
                for workload in several:
                    board.remove(workload, cluster)
                board.did[part].append(f"remove {all_of(several)} from {cluster}")


def _leaving_order(board: Board, unit: Unit, cluster: ClusterName) -> tuple[bool, bool, ClusterName]:
    runs = any(board.hub.is_ready(w, cluster) for w in unit)
    return runs, board.policy(cluster) == board.wanted(cluster), cluster


def _is_spare(board: Board, workload: WorkloadId, cluster: ClusterName) -> bool:
    """Whether the workload keeps as many copies that run as it has, or as are wanted, without this one.

    A copy on a cluster in change does not count for what is left: it may be down at any moment.
    """
    spots = board.now[workload]
    wanted = len(board.want.get(workload, {}))
    if not wanted:
        return True
    ready = [c for c in spots if board.hub.is_ready(workload, c)]
    left = [c for c in ready if c != cluster and c not in board.changing]
    return len(left) >= max(1, min(len(ready), wanted))


def admit(board: Board) -> None:
    """Add the copies whose cluster is ready and has room beside all who are there, at most one more than are wanted.

    Copies of workloads that make no second one before they break the first are left to `swap`.
    """
    for part, unit in list(board.movers()):
        if not board.terms.is_phased(unit) and any(board.leavers(w) for w in unit):
            continue
        for cluster in sorted({c for w in unit for c in board.comers(w)}):
            several = [w for w in unit if cluster in board.comers(w)]
            full = [w for w in several if len(board.now.get(w, {})) > len(board.want[w])]
            why = f"{all_of(full)} already runs once more than wanted" if full else _unready(board, cluster, part)
            why = why or _returning(board, part, cluster, several)
            why = why or _crowded(board, part, cluster, several, board.there[cluster])
            if why:
                board.obstacles[part].append(f"{all_of(several)} cannot come to {cluster} yet: {why}")
                continue
            for workload in several:
                board.add(workload, cluster)
            board.did[part].append(f"add {all_of(several)} on {cluster}")


def swap(board: Board) -> None:
    """Move the units that go at once, each in one step: as many of them together as their clusters can take."""
    going: dict[Unit, int] = {}
    for part, unit in board.movers():
        if board.terms.is_phased(unit) or not any(board.leavers(w) and board.comers(w) for w in unit):
            continue
        coming = sorted({c for w in unit for c in board.comers(w)})
        whys = ((c, _unready(board, c, part) or _returning(board, part, c, unit)) for c in coming)
        closed = [(c, why) for c, why in whys if why]
        if closed:
            board.obstacles[part].append(f"{all_of(unit)} cannot move to {closed[0][0]} yet: {closed[0][1]}")
        else:
            going[unit] = part
    while going:
        crowded = _first_crowded(board, going)
        if crowded is None:
            break
        unit, cluster, why = crowded
        board.obstacles[going.pop(unit)].append(f"{all_of(unit)} cannot move to {cluster} yet: {why}")
    for unit, part in sorted(going.items()):
        for workload in unit:
            old, new = board.leavers(workload), board.comers(workload)
            for cluster in new:
                board.add(workload, cluster)
            for cluster in old:
                board.remove(workload, cluster)
            if old or new:
                board.did[part].append(f"move {workload} from {', '.join(old)} to {', '.join(new)}")


def _first_crowded(board: Board, going: dict[Unit, int]) -> tuple[Unit, ClusterName, str] | None:
    """The last unit by name that comes to a cluster which cannot take all who come to it, and why; None: all can."""
    after: dict[ClusterName, set[WorkloadId]] = defaultdict(set)
    moving = {w: unit for unit in going for w in unit}
    for workload in moving:
        for cluster in board.comers(workload):
            after[cluster].add(workload)
    for cluster, several in sorted(after.items()):
        gone = {w for w in board.there[cluster] & moving.keys() if cluster in board.leavers(w)}
        part = going[moving[max(several)]]
        why = _crowded(board, part, cluster, sorted(several), board.there[cluster] - gone)
        if why:
            return moving[max(several)], cluster, why
    return None


def _unready(board: Board, cluster: ClusterName, part: int) -> str:
    """What of its own keeps a cluster from taking a copy; "" where it may."""
    if cluster not in board.hub.up:
        board.awaited[part].append(f"{cluster} to be available")
        return "the cluster is not available"
    if board.policy(cluster) != board.wanted(cluster):
        return f"{cluster} is to get {board.goal[cluster].policy.name if cluster in board.goal else 'no policy'} first"
    return f"{cluster} is in change" if cluster in board.changing else ""


def _returning(board: Board, part: int, cluster: ClusterName, several: Collection[WorkloadId]) -> str:
    """What keeps copies from a cluster that they have been sent away from; "" where nothing does.

    What is still there may be on its way out, so that it is no sign of a copy that has come back.
    """
    for workload in several:
        if workload in board.lingering[cluster] and board.now.get(workload):
            board.awaited[part].append(f"{workload} to be gone from {cluster}")
            return f"the copy of {workload} that was there is not gone yet"
    return ""


def _crowded(
    board: Board, part: int, cluster: ClusterName, coming: Collection[WorkloadId], there: Collection[WorkloadId]
) -> str:
    """What keeps copies from a cluster because of who is there; "" where nothing does."""
    others = sorted({*there} - {*coming})
    rivals = [v for v in others if any(v in board.terms.apart(w) for w in coming)]
    short = board.terms.lacking(cluster, board.policy(cluster), {*there, *coming})
    if not rivals and not short:
        return ""
    for workload in sorted(board.lingering[cluster]):
        board.awaited[part].append(f"{workload} to be gone from {cluster}")
    for workload in others:
        if cluster not in board.now.get(workload, {}) and workload not in board.lingering[cluster]:
            board.awaited[part].append(f"{workload} to be gone from {cluster}")
    if rivals:
        return f"it must be apart from {all_of(rivals)}, which is there"
    return f"{short} beside {some_of(others)}" if others else short


def await_copies(board: Board) -> None:
    """Note the copies that came and do not run yet, while others of their workload wait to leave."""
    for part, unit in board.movers():
        for workload in unit:
            if board.leavers(workload):
                for cluster in _unready_copies(board, workload):
                    board.awaited[part].append(f"{workload} to be Available on {cluster}")


def _unready_copies(board: Board, workload: WorkloadId) -> Iterator[ClusterName]:
    before = {s.cluster for p in board.before.placements if p.workload == workload for s in p.spots}
    for cluster in sorted(before & board.want.get(workload, {}).keys()):
        if not board.hub.is_ready(workload, cluster):
            yield cluster
