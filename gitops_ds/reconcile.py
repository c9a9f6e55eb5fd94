"""`plan(...)`: the whole line as one pure function, from intents and inventory to a tree and how it differs from git.

Owns the order of the steps, what is kept for want of a better place, and what holds a plan back. No I/O, no clock, no
environment: the instant and the solver are arguments. Owns no wording of commits (`message.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.decisions import Decision, Reasons, Unplaced, format_points, points
from gitops_ds.errors import Fault, Place, RepositoryError, SolveError
from gitops_ds.ids import ClusterName, IntentId, PolicyId
from gitops_ds.intent.load import LoadedIntent, intent_digest
from gitops_ds.inventory import Inventory
from gitops_ds.lock import Lock, read_lock, write_lock
from gitops_ds.manifests import render
from gitops_ds.problem import POINT, Incumbent, Pair, Problem, State, build
from gitops_ds.recall import INPUT, STATUS, input_digest, recall
from gitops_ds.solution import Solution, Status, Value, value_of
from gitops_ds.tree import INVENTORY, LOCK, Difference, Tree, compare, lay_out

Solve = Callable[[Problem], Solution]
MOST_LOCKED_SCORES = 50_000
"""Beyond this many pairs the lock keeps the scores of the chosen ones only."""


@dataclass(frozen=True)
class Plan:
    """What is to be, why, and how it differs from what git holds.

    Attributes:
        status: "held" where a guard keeps the difference from being committed, with the reasons in `held`.
        value: what the plan is worth; `limited` says that a limit struck before proof.
        blueprint: what is rendered, in names; `before` is the one that git holds (None: none yet).
        tree: the rendered files; `difference` is against git's.
        warnings: what a reader should know, sorted.
        problem: the problem whose plan `solution` is: what `kept` leaves of `whole`.
        kept: the workloads that stay where git has them, with the configurations that they run under.
    """

    status: Literal["unchanged", "changed", "held"]
    value: Value
    solution_status: Status
    decisions: tuple[Decision, ...]
    unplaced: tuple[Unplaced, ...]
    blueprint: Blueprint
    before: Blueprint | None
    lock: Lock
    tree: Tree
    difference: Difference
    held: tuple[str, ...]
    warnings: tuple[str, ...]
    problem: Problem
    solution: Solution
    whole: Problem
    kept: Mapping[int, tuple[int, ...]]


def plan(
    intents: Sequence[LoadedIntent],
    inventory: Inventory,
    current: Mapping[str, bytes],
    instant: datetime,
    solve: Solve,
    *,
    solver: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Plan:
    """The plan for `intents` on what `inventory` holds.

    Args:
        intents: every intent of the repository.
        inventory: the hub's facts, the repository's policies included.
        current: what git holds below `rendered/`, path to content.
        instant: when the scores are judged.
        solve: the solver; called more than once where workloads have to be kept.
        solver: what names the solver in the lock.
        overwrite: take back owned files that somebody edited.

    Raises:
        GitopsDsError: the intents are wrong for this inventory, nothing could be solved, or git's lock is unreadable.
    """
    locked = read_lock(current[LOCK], LOCK) if LOCK in current else None
    incumbent = replace(locked.blueprint.incumbent(), known=_known(locked)) if locked else Incumbent()
    problem = build(intents, inventory, instant, incumbent)
    named = {**(solver or {}), INPUT: input_digest(problem)}
    known = recall(problem, locked, named)
    draft = _draft(problem, (lambda _: known) if known else solve, locked.blueprint if locked else None)
    lock = Lock(
        {one.id: intent_digest(one.intent) for one in intents},
        draft.blueprint,
        incumbent,
        {**named, STATUS: draft.solution_status.value},
        _scores(problem, draft.decisions),
    )
    held = tuple(_held(intents, draft.unplaced))
    return _compared(replace(draft, lock=lock, held=held), intents, current, locked, overwrite=overwrite)


def _draft(problem: Problem, solve: Solve, old: Blueprint | None) -> Plan:
    """The plan by its decisions, with neither a lock nor a tree yet."""
    solution, kept = _settle(problem, solve)
    solution, stayed = _worth_it(problem, solution, kept, solve)
    final = problem.keeping(kept)
    reasons = Reasons(replace(final, supply=problem.supply, together=problem.together), solution, kept)
    decisions = reasons.decisions()
    unplaced = tuple(_unplaced(final, solution, reasons, kept))
    blueprint = _blueprint(problem, decisions, unplaced, old)
    return Plan(
        status="changed",
        value=value_of(problem, solution),
        solution_status=solution.status,
        decisions=decisions,
        unplaced=unplaced,
        blueprint=blueprint,
        before=old,
        lock=Lock({}, blueprint),
        tree={},
        difference=Difference((), (), (), ()),
        held=(),
        warnings=(*problem.warnings, *stayed),
        problem=final,
        solution=solution,
        whole=problem,
        kept=kept,
    )


def render_locked(intents: Sequence[LoadedIntent], current: Mapping[str, bytes]) -> Tree:
    """The tree that git's lock gives, with no hub and no solver.

    Raises:
        RepositoryError: there is no lock, or the intents are no longer those that gave it.
    """
    if LOCK not in current:
        raise RepositoryError(Fault(f"there is no {LOCK}", fix="reconcile once, which writes it"))
    lock = read_lock(current[LOCK], LOCK)
    digests = {one.id: intent_digest(one.intent) for one in intents}
    changed = sorted(str(key) for key in {*digests, *lock.intents} if digests.get(key) != lock.intents.get(key))
    if changed:
        what = f"the intents have changed since the lock was written: {', '.join(changed)}"
        raise RepositoryError(Fault(what, Place(LOCK), fix="plan against a hub, or go back to the lock's commit"))
    try:
        manifests = render(lock.blueprint, {one.id: one.intent for one in intents})
    except KeyError as error:
        what = f"the lock names {error.args[0]}, which no intent has"
        raise RepositoryError(
            Fault(what, Place(LOCK), fix="plan against a hub, or go back to the lock's commit")
        ) from None
    return lay_out(manifests, current[LOCK])


def _settle(problem: Problem, solve: Solve) -> tuple[Solution, dict[int, tuple[int, ...]]]:
    """The solution, and the workloads that are kept where git has them because the plan would leave fewer copies.

    Kept workloads hold their room and their cluster's configuration before anybody else's claim, so the problem is
    solved anew without them, until nobody loses a copy that is running.
    """
    kept: dict[int, tuple[int, ...]] = {}
    while True:
        solution = solve(problem.keeping(kept))
        losing = {w: places for w, places in _losing(problem, solution) if w not in kept}
        if not losing:
            return solution, kept
        kept |= losing


def _losing(problem: Problem, solution: Solution) -> Iterator[tuple[int, tuple[int, ...]]]:
    placed = [0] * len(problem.demands)
    for pair in solution.pairs:
        placed[pair.workload] += 1
    for w, demand in enumerate(problem.demands):
        if placed[w] < min(len(demand.incumbents), demand.wanted):
            yield w, tuple(_running(problem, demand.incumbents))


def _worth_it(
    problem: Problem, solution: Solution, kept: Mapping[int, tuple[int, ...]], solve: Solve
) -> tuple[Solution, tuple[str, ...]]:
    """The solution, or the best one in which all stay that may, where changing more than that gains too little.

    Too little is less than the largest `minimumGain` of the intents, and nothing at all where a limit struck before the
    new plan was proved best. A plan that leaves somebody out, whom the new one would place, is not stayed with.
    """
    left = problem.keeping(kept)
    least = max(int(one.intent.spec.stability.minimumGain * POINT) for one in problem.intents.values())
    needed = max(least, int(solution.status is Status.LIMIT))
    stay = tuple(_staying(left))
    if not needed or set(stay) <= set(solution.pairs):
        return solution, ()
    try:
        same = solve(replace(left, required=(*left.required, *stay)))
    except SolveError:
        return solution, ()
    gain = _net(left, solution) - _net(left, same)
    loses = any(w not in kept for w, _ in _losing(left, same)) or _placed(left, same) < _placed(left, solution)
    if loses or gain >= needed or not set(stay) <= set(same.pairs):
        return solution, ()
    why = f"and minimumGain is {format_points(least)}" if least else "and a limit struck before that was proved best"
    return same, (f"what git has stays as it is: to change that too would gain {format_points(gain)}, {why}",)


def _staying(problem: Problem) -> Iterator[Pair]:
    """Every pair that git has and that may stay, of the workloads that are wanted as often as they run."""
    for w, demand in enumerate(problem.demands):
        here = [Pair(w, g) for g in _running(problem, demand.incumbents) if problem.eligible[w, g]]
        if len(here) <= demand.copies:
            yield from here


def _net(problem: Problem, solution: Solution) -> int:
    value = value_of(problem, solution)
    return value.score - value.cost


def _placed(problem: Problem, solution: Solution) -> tuple[int, ...]:
    """Placed copies, by priority from the highest down."""
    levels = sorted({d.priority for d in problem.demands}, reverse=True)
    found = [problem.demands[w].priority for w, _ in solution.pairs]
    return tuple(found.count(level) for level in levels)


def _known(locked: Lock) -> frozenset[ClusterName]:
    """The clusters whose scores the lock holds."""
    several = (labels for labels in locked.scores.values() if isinstance(labels, Mapping))
    return frozenset(ClusterName(str(label).partition("/")[0]) for labels in several for label in labels)


def _running(problem: Problem, clusters: Sequence[ClusterName]) -> Iterator[int]:
    """The configuration that each of the clusters has now, where it is one that may still be chosen."""
    for c, name in enumerate(problem.clusters):
        if name in clusters:
            several = problem.configurations_of[c]
            as_is = next((g for g in several if problem.configurations[g].policy is None), None)
            now = int(problem.configured[c])
            if now >= 0:
                yield now
            elif as_is is not None:
                yield as_is


def _unplaced(
    problem: Problem, solution: Solution, reasons: Reasons, kept: Mapping[int, tuple[int, ...]]
) -> Iterator[Unplaced]:
    placed = [0] * len(problem.demands)
    for pair in solution.pairs:
        placed[pair.workload] += 1
    for w, demand in enumerate(problem.demands):
        if placed[w] < demand.wanted:
            yield reasons.unplaced(w, demand.incumbents if w in kept else ())


def _held(intents: Sequence[LoadedIntent], unplaced: Sequence[Unplaced]) -> Iterator[str]:
    strict = {one.id for one in intents if one.intent.spec.unplaced == "fail"}
    for one in unplaced:
        if one.intent in strict:
            yield f"{one.workload} has no place, and intent {one.intent} says unplaced: fail"


def _blueprint(
    problem: Problem, decisions: Sequence[Decision], unplaced: Sequence[Unplaced], old: Blueprint | None
) -> Blueprint:
    spots: dict[int, list[Spot]] = {}
    index = {d.workload: w for w, d in enumerate(problem.demands)}
    for decision in decisions:
        spots.setdefault(index[decision.workload], []).append(Spot(decision.cluster, decision.policy, decision.score))
    held_before = {p.workload: p.spots for p in old.placements} if old else {}
    for one in unplaced:
        if one.kept:
            spots[index[one.workload]] = [replace(s, score=None) for s in held_before[one.workload]]
    placements = tuple(
        PlacedOn(demand.workload, demand.intent, demand.placement, tuple(sorted(spots[w])))
        for w, demand in enumerate(problem.demands)
        if w in spots
    )
    configurations = tuple(_configurations(problem, placements, old))
    used = {s.cluster for p in placements for s in p.spots} | {c.cluster for c in configurations}
    pins = {**(old.pins if old else {}), **problem.pins}
    return Blueprint(placements, configurations, {c: pins[c] for c in sorted(used)})


def _configurations(problem: Problem, placements: Sequence[PlacedOn], old: Blueprint | None) -> Iterator[ConfiguredBy]:
    """The policy of each cluster: the one that its workloads run under, else the one that git holds.

    A cluster that the hub has no more keeps its policy as long as an intent names it; one that no intent has any more,
    as long as a workload is kept there.
    """
    chosen: dict[ClusterName, PolicyId] = {}
    for placed in placements:
        chosen |= {s.cluster: s.policy for s in placed.spots if s.policy is not None}
    now = {c.cluster: c for c in old.configurations} if old else {}
    for cluster in sorted({*problem.clusters, *problem.lost, *chosen}):
        before = now.get(cluster)
        policy = chosen.get(cluster) or (before.policy if before else None)
        owner = policy and _owner(problem, cluster, policy, before)
        if policy is not None and owner is not None:
            yield ConfiguredBy(cluster, policy, owner)


def _owner(problem: Problem, cluster: ClusterName, policy: PolicyId, before: ConfiguredBy | None) -> IntentId | None:
    """The intent, in the policy's namespace, whose folder holds the objects: the one that has them and so named them.

    Where that one has the cluster no more, the first by name that does.
    """
    mine = sorted(key for key in problem.intents if key.namespace == policy.namespace)
    having = [key for key in mine if cluster in problem.candidates[key]] if cluster in problem.clusters else mine
    if before is not None and before.intent in having:
        return before.intent
    return next(iter(having), None)


def _scores(problem: Problem, decisions: Sequence[Decision]) -> dict[str, dict[str, int | float]]:
    found: dict[str, dict[str, int | float]] = {}
    if problem.state.size > MOST_LOCKED_SCORES:
        for d in decisions:
            found.setdefault(str(d.workload), {})[_label(d.cluster, d.policy)] = points(d.score)
        return found
    for w, demand in enumerate(problem.demands):
        found[str(demand.workload)] = {
            _label(c.cluster, c.policy): points(int(problem.score[w, g]))
            for g, c in enumerate(problem.configurations)
            if problem.state[w, g] not in (State.NOT_A_CANDIDATE, State.NO_SCORE)
        }
    return found


def _label(cluster: ClusterName, policy: PolicyId | None) -> str:
    return f"{cluster}/{policy.name if policy else ''}"


def _compared(
    made: Plan,
    intents: Sequence[LoadedIntent],
    current: Mapping[str, bytes],
    locked: Lock | None,
    *,
    overwrite: bool,
) -> Plan:
    """The plan with its tree, held against git's.

    Where neither an object, a decision nor what an intent says has changed, git's own lock stands: new scores alone
    are no change.
    """
    manifests = render(made.blueprint, {one.id: one.intent for one in intents})
    tree = lay_out(manifests, write_lock(made.lock))
    if locked and locked.intents == made.lock.intents and locked.blueprint == made.blueprint:
        same = lay_out(manifests, current[LOCK])
        if all(same[path] == tree[path] for path in tree if path not in (LOCK, INVENTORY)):
            tree = same
    difference = compare(current, tree)
    held = list(made.held)
    if not overwrite:
        held += [f"{path} was edited by hand since gitops-ds wrote it" for path in difference.edited]
        held += [f"{path} is in the way: gitops-ds did not write it" for path in difference.in_the_way]
    foreign = [f"{path} is not ours and is left alone" for path in difference.foreign]
    changed: Literal["unchanged", "changed"] = "changed" if difference.changes else "unchanged"
    return replace(
        made,
        status="held" if held else changed,
        tree=tree,
        difference=difference,
        held=tuple(held),
        warnings=(*made.warnings, *foreign, *_limit_warning(made)),
    )


def _limit_warning(made: Plan) -> Iterator[str]:
    if made.solution_status is Status.LIMIT:
        yield "a limit struck before proof: this is the best plan found so far"
