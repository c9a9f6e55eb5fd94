"""`guarded(...)`: a plan held against the guards of its Reconciler, what people said, and what people did.

Owns each guard but the two that have a module of their own (`freeze.py`, `fresh.py`), their names, and what `urgent`
lifts. Owns no clock and no git: both come as facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from gitops_ds.errors import Fault, UsageError
from gitops_ds.guards.freeze import frozen, in_words
from gitops_ds.guards.fresh import fresh_clusters
from gitops_ds.intent.holding import EVERY, Hold, Resume
from gitops_ds.intent.load import Loaded
from gitops_ds.intent.reconciler import Freeze, Guards, Reconciler
from gitops_ds.inventory import Inventory
from gitops_ds.overrides import Past, Touch, taken_back
from gitops_ds.reconcile import Held, Plan
from gitops_ds.tree import inventory_path, lock_path

GUARDS = (
    "branch",
    "closed",
    "edited",
    "freeze",
    "hold",
    "local",
    "maxMovePercent",
    "maxMoves",
    "minFreshClusters",
    "minInterval",
    "moved",
    "neverEmpty",
    "phase",
    "reverted",
    "unplaced",
    "unreadable",
)
"""The name of every guard there is, sorted.

`edited`, `unplaced` and `unreadable` are the plan's own, `closed` and `local` delivery's.
"""
LIFTED = ("freeze", "minInterval")
"""The guards that `urgent` lifts: those that ask when, and none that asks what."""
URGENT = "Gitops-Ds-Urgent"
LONGEST_TRAILER = 500
_SHORT = 12
NOTHING_KNOWN = Past()


@dataclass(frozen=True, slots=True)
class Urgent:
    """Who says that a plan cannot wait, and why.

    Raises:
        UsageError: one of the two is missing.
    """

    by: str
    why: str

    def __post_init__(self) -> None:
        """Refuse an urgent plan that nobody answers for."""
        for what, said in (("who", self.by), ("why", self.why)):
            if not _line(said):
                raise UsageError(Fault(f"urgent, and nobody says {what}", fix="give both: who wants it, and why"))


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What the guards look at beside the plan.

    Attributes:
        now: the real clock, aware of its zone.
        instant: when scores are judged.
        inventory: the facts that the plan was made from.
        holds: every Hold of the repository, whichever reconciler it means.
        resumes: every Resume, likewise.
        past: what happened to earlier plans; `Past()` where nothing is known.
        urgent: who says that this cannot wait.
    """

    now: datetime
    instant: datetime
    inventory: Inventory
    holds: tuple[Loaded[Hold], ...] = ()
    resumes: tuple[Loaded[Resume], ...] = ()
    past: Past = NOTHING_KNOWN
    urgent: Urgent | None = None


def guarded(made: Plan, reconciler: Reconciler, context: GuardContext) -> Plan:
    """`made`, held by every guard that it meets; a plan that changes nothing is held by none."""
    if not made.difference.changes:
        return made
    name, guards = reconciler.metadata.name, reconciler.spec.guards
    after = settled(context.resumes, name)
    found = chain(
        # A lock that is not as its inventory says was edited, which holds by itself; a revert brings both back.
        reverted(context.past, after) if lock_path(made.root) not in made.difference.edited else (),
        branch(context.past, after),
        moved(context.past, reconciler, after),
        hold(context.holds, name, context.now),
        freeze(guards.freeze, context.now),
        min_interval(guards, context.past.last, context.now),
        never_empty(made) if guards.neverEmpty else (),
        fresh_clusters(made, guards.minFreshClusters, context.inventory, context.instant),
        max_moves(made, guards),
    )
    return made.holding(*(one for one in found if context.urgent is None or one.guard not in LIFTED))


def urgent_trailer(urgent: Urgent) -> str:
    """The trailer that names who and why, in one line that no other trailer can hide in."""
    return f"{URGENT}: {_line(urgent.by)}: {_line(urgent.why)}"[:LONGEST_TRAILER].rstrip()


def settled(resumes: Sequence[Loaded[Resume]], name: str) -> frozenset[str]:
    """The commits that the Resumes for the reconciler `name` settle."""
    mine = (one.intent for one in resumes if one.intent.metadata.name in (name, EVERY))
    return frozenset(commit for one in mine for commit in one.spec.after)


def reverted(past: Past, after: frozenset[str]) -> Iterator[Held]:
    """Hold where somebody took back a plan, until a Resume names the commit."""
    taken = taken_back(past)
    if taken is not None and taken.by.commit not in after:
        plan, by = taken.plan, taken.by
        what = f'"{_line(plan.subject)}" ({plan.commit[:_SHORT]})'
        text = f"{_act(by, 'took back', what)}: gitops-ds does not argue; {_way_on(by)} lets it plan again"
        yield Held("reverted", text)


def branch(past: Past, after: frozenset[str]) -> Iterator[Held]:
    """Hold where the pull-request branch has a commit that is not ours, until a Resume names it."""
    found = past.stranger
    if found is not None and found.commit not in after:
        verb = "changed our commit" if found.ours else "added"
        what = f'"{_line(found.subject)}" {"on" if found.ours else "to"} the pull-request branch'
        text = f"{_act(found, verb, what)}: it is not written over; {_way_on(found)} lets it be replaced"
        yield Held("branch", text)


def moved(past: Past, reconciler: Reconciler, after: frozenset[str]) -> Iterator[Held]:
    """Hold where the reconciler's folder is not the one that it wrote before: no guard could compare the two."""
    name, root = reconciler.metadata.name, reconciler.spec.rendered
    for one in past.moved:
        if one.how == "left":
            what = f"{name} writes to {root}/ now, and {one.folder}/ still holds what it wrote"
            way = f"`git mv {one.folder} {root}` moves it along, or put `rendered: {one.folder}` back"
            yield Held("moved", f"{what}: {way}")
        elif one.how == "foreign":
            what = f"{root}/ is where {name} writes now, and holds what reconciler {one.owner} wrote"
            yield Held("moved", f"{what}: put `rendered` back, or `git mv` the folders along with it")
        elif one.commit not in after:
            what = f"{name} writes to {root}/ now, and {one.folder}/, where {one.commit[:_SHORT]} wrote, was removed"
            way = f"put {one.folder}/ back and `git mv {one.folder} {root}`"
            yield Held("moved", f"{what}: {way}, or `gitops-ds resume {one.commit[:_SHORT]}` lets it start anew")


def hold(holds: Sequence[Loaded[Hold]], name: str, now: datetime) -> Iterator[Held]:
    """Hold while a Hold for this reconciler, or for all, stands in `intent/` and has not ended."""
    for one in holds:
        spec, of = one.intent.spec, one.intent.metadata.name
        until = datetime.fromisoformat(spec.until).astimezone(UTC) if spec.until else None
        if of in (name, EVERY) and (until is None or now < until):
            held = "every reconciler" if of == EVERY else of
            end = f" until {in_words(until, UTC)}" if until else ""
            who = f"{_line(spec.by or 'somebody')} holds {held}{end}"
            text = f"{who}: {_line(spec.reason)} ({one.at()}); `gitops-ds resume` lifts it"
            yield Held("hold", text, until)


def freeze(freezes: Sequence[Freeze], now: datetime) -> Iterator[Held]:
    """Hold in a freeze window, until the end of the windows that follow on without a break."""
    found = frozen(now, freezes)
    if found is not None:
        end = f"until {in_words(found.until, found.zone)}" if found.until else "with no end in sight"
        why = f": {'; '.join(map(_line, found.reasons))}" if found.reasons else ""
        yield Held("freeze", f"frozen {end}{why}", found.until)


def min_interval(guards: Guards, last: datetime | None, now: datetime) -> Iterator[Held]:
    """Hold until minInterval has passed since the last plan that got into git.

    A commit's time is its machine's, or whatever somebody made it say. One in the future is believed up to one
    interval from now, as of a clock that is fast, so that no commit holds for longer than two.
    """
    if last is None or last - now > guards.minInterval:
        return
    if now < (until := (last + guards.minInterval).astimezone(UTC)):
        text = f"the last commit was at {in_words(last.astimezone(UTC), UTC)}, minInterval lasts until"
        yield Held("minInterval", f"{text} {in_words(until, UTC)}; --urgent does not wait", until)


def never_empty(made: Plan) -> Iterator[Held]:
    """Hold where every placement goes, or every one of an intent that is still there, or every object."""
    before = made.before.placements if made.before else ()
    after = {p.intent for p in made.blueprint.placements}
    lost = sorted({p.intent for p in before} - after)
    removed = sum(change.action == "remove" for change in made.difference.changes)
    if before and not after:
        text = f"the plan takes away every placement that git has ({len(before)})"
        yield Held("neverEmpty", text)
    elif removed and not _objects(made):
        yield Held("neverEmpty", f"the plan leaves no object at all, and removes {removed} files")
    else:
        for intent in lost:
            if intent in made.problem.intents:
                text = f"the plan takes away every placement of intent {intent}, which is still there"
                yield Held("neverEmpty", text)


def max_moves(made: Plan, guards: Guards) -> Iterator[Held]:
    """Hold where more copies leave their cluster than may, by number or in per cent of those that git has.

    The per cent are rounded down, but to no less than one copy unless they are 0: else a small fleet could never move.
    """
    before = {p.workload: {s.cluster for s in p.spots} for p in (made.before.placements if made.before else ())}
    after = {p.workload: {s.cluster for s in p.spots} for p in made.blueprint.placements}
    has = sum(map(len, before.values()))
    leave = sum(len(clusters - after.get(workload, set())) for workload, clusters in before.items())
    what = f"{leave} of {has} copies leave their cluster"
    if guards.maxMoves is not None and leave > guards.maxMoves:
        yield Held("maxMoves", f"{what}, maxMoves is {guards.maxMoves}")
    percent = guards.maxMovePercent
    if percent is not None and leave > (most := max(has * percent // 100, 1 if percent else 0)):
        yield Held("maxMovePercent", f"{what}, maxMovePercent {percent} allows {most}")


def _objects(made: Plan) -> list[str]:
    """The files of the tree that hold an object to apply."""
    own = (lock_path(made.root), inventory_path(made.root))
    return [path for path in made.tree if path not in own and not path.endswith("/kustomization.yaml")]


def _act(touch: Touch, verb: str, what: str) -> str:
    date = touch.time.date().isoformat()
    return f"{_line(touch.author) or 'somebody'} {verb} {what} in {touch.commit[:_SHORT]} on {date}"


def _way_on(touch: Touch) -> str:
    return f"`gitops-ds resume {touch.commit[:_SHORT]}`"


def _line(text: str) -> str:
    """`text` in one line of what can be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
