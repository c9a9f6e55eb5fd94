"""Clusters that get another policy: drained as far as that goes, changed in place, and waited for.

Owns the budget of clusters in change and when a change ends. Owns no copy (`copies.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_ds.ids import ClusterName
from gitops_ds.phases.board import Board, some_of


def finish(board: Board) -> None:
    """End the changes of clusters that comply with their new policy, by that policy's own status and by the claim.

    The gates come back with it: while the claim says anything else, they would take the work away.
    """
    for cluster in sorted(board.changing):
        part, policy = board.part[cluster], board.policy(cluster)
        if part not in board.phased:
            continue
        if cluster not in board.hub.known:
            board.changing.discard(cluster)
            board.did[part].append(f"wait no more for {cluster}, which is gone")
        elif policy is not None and policy == board.wanted(cluster):
            closed = list(_closed(board, cluster))
            if not board.hub.complies(cluster, policy):
                board.awaited[part].append(f"{cluster} to be Compliant with {policy.name}")
            elif closed:
                board.awaited[part].append(closed[0])
            else:
                board.changing.discard(cluster)
                gates = ", and close the gates there again" if board.there[cluster] else ""
                board.did[part].append(f"end the change of {cluster} to {policy.name}{gates}")


def _closed(board: Board, cluster: ClusterName) -> Iterator[str]:
    for workload, spots in sorted(board.now.items()):
        gate = board.terms.gate(workload)
        if cluster in spots and gate is not None and not board.hub.opens(cluster, gate):
            yield f"claim {gate.claim} of {cluster} to be {' or '.join(sorted(gate.values))}"


def configure(board: Board) -> None:
    """Give a first policy to clusters that hold nobody, and take it from those that nobody has still to leave."""
    for part, cluster in list(board.changers()):
        if cluster not in board.config and not board.there[cluster]:
            board.config[cluster] = board.goal[cluster]
            board.did[part].append(f"give {cluster} {board.goal[cluster].policy.name}")
        elif cluster not in board.goal and not _is_being_left(board, part, cluster):
            del board.config[cluster]
            board.changing.discard(cluster)
            board.did[part].append(f"take the policy from {cluster}")


def _is_being_left(board: Board, part: int, cluster: ClusterName) -> bool:
    """Whether somebody is on a cluster who is not to stay there, and is to be gone before its policy changes."""
    leaving = sorted(w for w in board.there[cluster] if cluster not in board.want.get(w, {}))
    if leaving:
        board.obstacles[part].append(f"{some_of(leaving)} is to leave {cluster} before its policy changes")
    for workload in leaving:
        if cluster not in board.now.get(workload, {}):
            board.awaited[part].append(f"{workload} to be gone from {cluster}")
    return bool(leaving)


def start(board: Board) -> None:
    """Begin the changes of clusters that nobody has still to leave, those with the fewest on them first.

    Who stays there stays selected all the while, without its gate. A cluster that is in change already, and is to have
    yet another policy, gets that at once: nothing is waited for that nobody wants.
    """
    for part, cluster in _in_order(board):
        if cluster in board.changing or not _is_being_left(board, part, cluster):
            _change(board, part, cluster)


def force(board: Board, part: int) -> None:
    """Begin one change in place where nothing else goes on in a part: those who cannot leave before stay selected."""
    for number, cluster in _in_order(board):
        if number == part and cluster not in board.changing and _change(board, part, cluster):
            return


def _in_order(board: Board) -> list[tuple[int, ClusterName]]:
    found = [(part, cluster) for part, cluster in board.changers() if cluster in board.goal]
    return sorted(found, key=lambda one: (len(board.there[one[1]]), one[1]))


def _change(board: Board, part: int, cluster: ClusterName) -> bool:
    """Change the policy of a cluster under whoever is there; whether it was done."""
    policy, there = board.goal[cluster].policy, board.there[cluster]
    if cluster not in board.hub.up:
        board.awaited[part].append(f"{cluster} to be available")
        return False
    short = board.terms.lacking(cluster, policy, there)
    if short:
        board.obstacles[part].append(f"{cluster} cannot get {policy.name} under {some_of(there)}: {short}")
        return False
    if cluster not in board.changing and len(board.changing) >= board.terms.max_in_change:
        said = f"{', '.join(sorted(board.changing))} to be done with its change, before {cluster} changes"
        board.awaited[part].append(f"{said} (maxInChange is {board.terms.max_in_change})")
        return False
    board.config[cluster] = board.goal[cluster]
    board.changing.add(cluster)
    keeping = f" in place, with {some_of(there)} selected all the while" if there else ""
    board.did[part].append(f"change {cluster} to {policy.name}{keeping}")
    return True
