"""`plan(...)`: the whole line as one pure function, from intents and inventory to a tree and how it differs from git.

Owns the order of the steps, what is kept for want of a better place, and what holds a plan back. No I/O, no clock, no
environment: the instant and the solver are arguments. Owns no wording of commits (`message.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from gitops_ds.blueprint import Blueprint
from gitops_ds.decided import decided
from gitops_ds.decisions import Decision, Reasons, Unplaced, points
from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.ids import ClusterName, IntentId, PolicyId
from gitops_ds.intent.holding import Abort
from gitops_ds.intent.load import Loaded, LoadedIntent, LoadedScoring, intent_digest, intents_digest
from gitops_ds.inventory import Inventory
from gitops_ds.lock import Lock, read_lock, write_lock
from gitops_ds.manifests import Manifest, render
from gitops_ds.ownership import refuse_taken
from gitops_ds.phases import Phase, Progress, Transit, returning, stage, terms_of
from gitops_ds.problem import Incumbent, Problem, State, build
from gitops_ds.recall import INPUT, STATUS, input_digest, recall
from gitops_ds.scorers import NO_SCORING, Scoring, scored, scoring_steps, unheard
from gitops_ds.solution import Solution, Status, Value, value_of
from gitops_ds.staying import settle, worth_it
from gitops_ds.tree import ROOT, Difference, Tree, compare, inventory_path, lay_out, lock_path
from gitops_ds.unread import moved_unread

Solve = Callable[[Problem], Solution]
EDITED = "edited"
"""The guard of files that somebody wrote by hand."""
PHASE = "phase"
"""The guard of a move that takes several commits and cannot go on."""
ABORTED = "aborted"
"""What stands for the solver's status in the lock where an abort decided, and no solver did."""
MOST_LOCKED_SCORES = 50_000
"""Beyond this many pairs the lock keeps the scores of the chosen ones only."""


@dataclass(frozen=True, slots=True)
class Held:
    """What keeps a plan from being committed.

    Attributes:
        guard: which guard it is, in one word that stays the same: what metrics count by.
        text: what it says, for people.
        until: when it ends by itself; None: when somebody acts.
    """

    guard: str
    text: str
    until: datetime | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Plan:
    """What is to be, why, and how it differs from what git holds.

    Attributes:
        status: "held" where a guard keeps the difference from being committed, with the reasons in `held`.
        value: what the plan is worth; `limited` says that a limit struck before proof.
        blueprint: what is rendered, in names; `before` is the one that git holds (None: none yet).
        target: what the decisions say; the blueprint is only a step towards it where there is a phase.
        phase: where a move stands that takes several commits; None where there is none.
        tree: the rendered files; `difference` is against git's.
        warnings: what a reader should know, sorted.
        problem: the problem whose plan `solution` is: what `kept` leaves of `whole`.
        kept: the workloads that stay where git has them, with the configurations that they run under.
        root: the folder of the tree.
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
    held: tuple[Held, ...]
    warnings: tuple[str, ...]
    problem: Problem
    solution: Solution
    whole: Problem
    kept: Mapping[int, tuple[int, ...]]
    root: str = ROOT
    target: Blueprint = field(default_factory=Blueprint)
    phase: Phase | None = None

    def holding(self, *more: Held) -> Plan:
        """The same plan, held by `more` as well."""
        return replace(self, status="held", held=(*self.held, *more)) if more else self


def plan(
    intents: Sequence[LoadedIntent],
    inventory: Inventory,
    current: Mapping[str, bytes],
    instant: datetime,
    solve: Solve,
    *,
    solver: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    root: str = ROOT,
    scoring: Scoring = NO_SCORING,
    aborted: Loaded[Abort] | None = None,
    since: datetime | None = None,
    now: datetime | None = None,
) -> Plan:
    """The plan for `intents` on what `inventory` holds.

    Args:
        intents: every placement intent of the repository.
        inventory: the hub's facts, the repository's policies included.
        current: what git holds below `root`, path to content.
        instant: when the scores are judged.
        solve: the solver; called more than once where workloads have to be kept.
        solver: what names the solver in the lock.
        overwrite: take back owned files that somebody edited.
        root: the folder of the rendered tree.
        scoring: the scoring intents, with what pinned scorers say of themselves.
        aborted: what somebody said against the move that is in flight.
        since: when the last plan got into git; None: not known.
        now: the real clock, which only tells how long a phase has waited.

    Raises:
        GitopsDsError: the intents are wrong for this inventory, nothing could be solved, or git's lock is unreadable.
    """
    locked = _lock_in(current, root)
    incumbent = replace(locked.blueprint.incumbent(), known=locked.known) if locked else Incumbent()
    problem = build(intents, inventory, instant, incumbent)
    named = {**(solver or {}), INPUT: input_digest(problem)}
    draft = _scoring_too(_draft(problem, _recalling(problem, locked, named, solve), locked), scoring, inventory)
    back = aborted if aborted is not None and aborted.intent.spec.intents == intents_digest(intents) else None
    draft, transit = _staged(draft, inventory, locked.transit if locked else None, back, since=since, now=now)
    start = replace(locked.start, known=incumbent.known) if locked else incumbent
    named |= {STATUS: ABORTED if back else draft.solution_status.value}
    digests, scores = _digests(intents, scoring.intents), _scores(problem, draft.decisions)
    lock = Lock(digests, draft.blueprint, start, named, scores, transit)
    refuse_taken(draft.target, inventory, intents)
    draft = replace(draft, lock=lock, held=(*_held(draft, inventory, intents), *draft.held), root=root)
    rendered = render(draft.blueprint, {one.id: one.intent for one in intents}, scoring.by_id)
    return _compared(draft, rendered, current, locked, overwrite=overwrite)


def _scoring_too(draft: Plan, scoring: Scoring, inventory: Inventory) -> Plan:
    """The draft with the scorers that the scoring intents ask for, and what is to be said of them."""
    scorings, notes = scored(scoring, inventory, draft.before)
    return replace(draft, target=replace(draft.blueprint, scorings=scorings), warnings=(*draft.warnings, *notes))


def _recalling(problem: Problem, locked: Lock | None, named: Mapping[str, Any], solve: Solve) -> Solve:
    """`solve`, but for a problem without workloads, and one whose solution git's lock holds."""
    known = recall(problem, locked, named) if problem.demands else Solution((), Status.OPTIMAL)
    return (lambda _: known) if known else solve


def _digests(intents: Sequence[LoadedIntent], scorings: Sequence[LoadedScoring]) -> dict[IntentId, str]:
    both: list[LoadedIntent | LoadedScoring] = [*intents, *scorings]
    return {one.id: intent_digest(one.intent) for one in both}


def in_flight(current: Mapping[str, bytes], root: str = ROOT) -> Transit | None:
    """What git's lock says is in flight, in the files below `root`; None where nothing is.

    Raises:
        RepositoryError: the lock is unreadable.
    """
    locked = _lock_in(current, root)
    return locked.transit if locked else None


def _lock_in(current: Mapping[str, bytes], root: str) -> Lock | None:
    path = lock_path(root)
    return read_lock(current[path], path) if path in current else None


def _staged(
    draft: Plan,
    inventory: Inventory,
    transit: Transit | None,
    aborted: Loaded[Abort] | None,
    *,
    since: datetime | None,
    now: datetime | None,
) -> tuple[Plan, Transit | None]:
    """The plan cut down to what one commit may do now, where its workloads make before they break."""
    terms = terms_of(draft.whole)
    target, notes = draft.target, list(draft.warnings)
    if aborted is not None:
        target = returning(draft.before or Blueprint(), transit, terms, draft.whole.pins)
        target = replace(target, scorings=draft.target.scorings)
        way = "it goes back to what git had before" if transit else "it stays as git has it"
        notes.append(f"the move was aborted ({aborted.at()}): {way}, until an intent changes or `gitops-ds resume`")
    hub = Progress.of(inventory) if terms.phased or transit else Progress()
    staged = stage(draft.before, target, transit, terms, hub, since=since, now=now)
    held = (Held(PHASE, staged.held),) if staged.held else ()
    draft = replace(draft, target=target, held=held, warnings=tuple(notes))
    return replace(draft, blueprint=staged.blueprint, phase=staged.phase), staged.transit


def _draft(problem: Problem, solve: Solve, locked: Lock | None) -> Plan:
    """The plan by its decisions, with neither a lock nor a tree yet.

    A move that is in flight has earned its `minimumGain` as a whole: no half of it has to earn that again.
    """
    old = locked.blueprint if locked else None
    solution, kept = settle(problem, solve)
    is_moving = locked is not None and locked.transit is not None
    solution, stayed = worth_it(problem, solution, kept, solve, is_moving=is_moving)
    final = problem.keeping(kept)
    reasons = Reasons(replace(final, supply=problem.supply, together=problem.together), solution, kept)
    decisions = reasons.decisions()
    unplaced = tuple(_unplaced(final, solution, reasons, kept))
    blueprint = decided(problem, decisions, unplaced, old)
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


def render_locked(
    intents: Sequence[LoadedIntent],
    current: Mapping[str, bytes],
    root: str = ROOT,
    scorings: Sequence[LoadedScoring] = (),
) -> Tree:
    """The tree that git's lock gives, with no hub and no solver.

    Raises:
        RepositoryError: there is no lock, or the intents are no longer those that gave it.
    """
    path = lock_path(root)
    if path not in current:
        raise RepositoryError(Fault(f"there is no {path}", fix="reconcile once, which writes it"))
    lock = read_lock(current[path], path)
    digests = _digests(intents, scorings)
    changed = sorted(str(key) for key in {*digests, *lock.intents} if digests.get(key) != lock.intents.get(key))
    if changed:
        what = f"the intents have changed since the lock was written: {', '.join(changed)}"
        raise RepositoryError(Fault(what, Place(path), fix="plan against a hub, or go back to the lock's commit"))
    try:
        by_id = {one.id: one.intent for one in intents}
        manifests = render(lock.blueprint, by_id, {one.id: one.intent for one in scorings})
    except KeyError as error:
        what = f"the lock names {error.args[0]}, which no intent has"
        raise RepositoryError(
            Fault(what, Place(path), fix="plan against a hub, or go back to the lock's commit")
        ) from None
    return lay_out(manifests, current[path], root)


def _unplaced(
    problem: Problem, solution: Solution, reasons: Reasons, kept: Mapping[int, tuple[int, ...]]
) -> Iterator[Unplaced]:
    placed = [0] * len(problem.demands)
    for pair in solution.pairs:
        placed[pair.workload] += 1
    for w, demand in enumerate(problem.demands):
        if placed[w] < demand.wanted:
            yield reasons.unplaced(w, demand.incumbents if w in kept else ())


def _held(made: Plan, inventory: Inventory, intents: Sequence[LoadedIntent]) -> Iterator[Held]:
    strict = {one.id for one in intents if one.intent.spec.unplaced == "fail"}
    for one in made.unplaced:
        if one.intent in strict:
            yield Held("unplaced", f"{one.workload} has no place, and intent {one.intent} says unplaced: fail")
    for said in moved_unread(made.before, made.target, inventory, intents):
        yield Held("unreadable", said)


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
    manifests: Sequence[Manifest],
    current: Mapping[str, bytes],
    locked: Lock | None,
    *,
    overwrite: bool,
) -> Plan:
    """The plan with its tree, held against git's.

    Where neither an object, a decision nor what an intent says has changed, git's own lock stands: new scores alone
    are no change.
    """
    root, lock = made.root, lock_path(made.root)
    tree = lay_out(manifests, write_lock(made.lock), root)
    if locked and locked.says_what(made.lock):
        same = lay_out(manifests, current[lock], root)
        if all(same[path] == tree[path] for path in tree if path not in (lock, inventory_path(root))):
            tree = same
    difference = compare(current, tree, root)
    held = list(made.held)
    if not overwrite:
        held += [Held(EDITED, f"{path} was edited by hand since gitops-ds wrote it") for path in difference.edited]
        held += [Held(EDITED, f"{path} is in the way: gitops-ds did not write it") for path in difference.in_the_way]
    foreign = [f"{path} is not ours and is left alone" for path in difference.foreign]
    changed: Literal["unchanged", "changed"] = "changed" if difference.changes else "unchanged"
    return replace(
        made,
        status="held" if held else changed,
        tree=tree,
        difference=difference,
        held=tuple(held),
        warnings=(*made.warnings, *foreign, *unheard(scoring_steps(difference)), *_limit_warning(made)),
    )


def _limit_warning(made: Plan) -> Iterator[str]:
    if made.solution_status is Status.LIMIT:
        yield "a limit struck before proof: this is the best plan found so far"
