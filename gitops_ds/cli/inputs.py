"""What a verb works on: the repository, its intents, the hub's facts, and the instant; read once, the same way for all.

Owns where each input comes from: the command line first, then the environment, then the Reconciler. Owns no judgement
of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from gitops_ds.cli.options import Asked
from gitops_ds.cli.scoring import with_scoring
from gitops_ds.cli.snapshots import basis_of, hub_source, read_hub, refuse_old
from gitops_ds.errors import Fault, InputError, UsageError, raise_faults
from gitops_ds.hub import merge_repository, objects_from_files, parse_objects
from gitops_ds.intent.holding import EVERY, UNNAMED, Abort
from gitops_ds.intent.load import FOLDER, SUFFIXES, Intents, Loaded, LoadedIntent, load_all
from gitops_ds.intent.reconciler import Reconciler, ReconcilerSpec
from gitops_ds.inventory import Inventory
from gitops_ds.phases import takes_phases
from gitops_ds.reconcile import Plan, Solve, in_flight, plan
from gitops_ds.repo import Repository, open_repository, read_commit, read_worktree
from gitops_ds.report.basis import Basis
from gitops_ds.scorers import Scoring

INTENT = FOLDER
MANIFESTS = ("policies", "workloads")
LARGEST_FILE = 64 * 2**20
LARGEST_INTENT = 2**20

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Inputs:
    """One reading: intents and manifests from the working tree or from a commit, the rendered folder from a commit.

    `commit` is what the intents were read from, None for the working tree. `manifests` is what policies/ and workloads/
    hold, `current` what git holds below the rendered folder, at the commit `rendered_at`. `said` has the
    placement and scoring intents of this reconciler, `everyone` those of all.
    """

    repo: Repository
    commit: str | None
    said: Intents
    reconciler: Loaded[Reconciler] | None
    inventory: Inventory
    manifests: Files
    current: Files
    basis: Basis
    scoring: Scoring
    rendered_at: str | None = None
    everyone: Intents = field(default_factory=Intents)

    @property
    def intents(self) -> tuple[LoadedIntent, ...]:
        """The placement intents of the reconciler."""
        return self.said.placements

    @property
    def root(self) -> str:
        """The folder of the rendered tree."""
        return self.spec.rendered

    @property
    def spec(self) -> ReconcilerSpec:
        """The reconciler's settings."""
        return spec_of(self.reconciler)

    @property
    def instant(self) -> datetime:
        """When scores are judged."""
        return self.basis.instant

    def plan(self, *, overwrite: bool = False, hints: bool = False, solve: Solve | None = None) -> Plan:
        """The plan for these inputs, by `solve` where it is not to be `self.solve`.

        With `hints` it says what room would place whom it has no place for.
        """
        from gitops_ds.evidence import hinted
        from gitops_ds.solver import SOLVER_VERSION
        from gitops_ds.solver.relaxation import HASTE, least_capacity

        made = plan(
            self.intents,
            self.inventory,
            self.current,
            self.instant,
            solve or self.solve,
            solver={"name": SOLVER_VERSION},
            overwrite=overwrite,
            root=self.root,
            scoring=self.scoring,
            aborted=self.aborted,
            since=self._since(),
            now=datetime.now(UTC),
        )
        return hinted(made, partial(least_capacity, seconds=HASTE)) if hints and made.unplaced else made

    @property
    def aborted(self) -> Loaded[Abort] | None:
        """What somebody said against the move that is in flight, to this reconciler or to all."""
        names = (self.reconciler.intent.metadata.name if self.reconciler else UNNAMED, EVERY)
        return next((one for one in self.said.aborts if one.intent.metadata.name in names), None)

    def _since(self) -> datetime | None:
        """When the last plan got into git, where a move is in flight; the history is read for nothing else."""
        from gitops_ds.past import read_past

        if self.rendered_at is None or in_flight(self.current, self.root) is None:
            return None
        return read_past(self.repo, self.rendered_at, self.current, self.root).last

    @cached_property
    def solve(self) -> Solve:
        """The solver, on the engine that the environment names."""
        from gitops_ds.engine import engine_from
        from gitops_ds.solver import solver_on

        return solver_on(engine_from(os.environ.get("GITOPS_DS_ENGINE", "local")))


def read_inputs(folder: Path, asked: Asked, *, committed: bool) -> Inputs:
    """Everything that a plan in a working tree needs.

    Args:
        folder: any folder of the repository.
        asked: what the command line says.
        committed: read intents and policies from the head commit, not from the working tree.

    Raises:
        GitopsDsError: one of the inputs cannot be read; wrong intents and wrong manifests are told together.
    """
    repo = open_repository(folder)
    return inputs_at(repo, asked, repo.head if committed else None, repo.head)


def inputs_at(repo: Repository, asked: Asked, commit: str | None, current: str) -> Inputs:
    """Everything that a plan needs.

    Args:
        repo: the repository.
        asked: what the command line says.
        commit: what intents, policies and workloads are read from; None: the working tree.
        current: the commit whose rendered folder is what git holds.

    Raises:
        GitopsDsError: as `read_inputs` says.
    """
    faults: list[Fault] = []
    said = Intents()
    reconciler: Loaded[Reconciler] | None = None
    facts, source = Inventory(), ""
    now = datetime.now(UTC).replace(microsecond=0)
    manifests = _files(repo, MANIFESTS, LARGEST_FILE, commit)
    try:
        said = load_all(_files(repo, [INTENT], LARGEST_INTENT, commit))
    except InputError as error:
        faults += error.faults
    else:
        reconciler = chosen(said, asked.reconciler)
        works = takes_phases(one.intent for one in said.placements)
        facts, source = facts_of(repo, asked, spec_of(reconciler), commit, now, works=works)
    try:
        inventory = with_repository(facts, manifests)
    except InputError as error:
        faults += error.faults
    raise_faults(InputError, faults)
    spec = spec_of(reconciler)
    held = read_commit(repo, current, [spec.rendered], LARGEST_FILE)
    mine, basis = said.below(spec.intents), basis_of(facts, source, asked.at, now)
    inventory, scoring = with_scoring(inventory, mine, spec, held, basis.instant)
    return Inputs(repo, commit, mine, reconciler, inventory, manifests, held, basis, scoring, current, said)


def spec_of(reconciler: Loaded[Reconciler] | None) -> ReconcilerSpec:
    """What a Reconciler says; the defaults where there is none."""
    return reconciler.intent.spec if reconciler else ReconcilerSpec()


def chosen(said: Intents, name: str | None) -> Loaded[Reconciler] | None:
    """The Reconciler called `name`, or the only one; None where there is none and none is asked for.

    Raises:
        UsageError: there is none of that name, or there are several and none is named.
    """
    known = {one.intent.metadata.name: one for one in said.reconcilers}
    if name is not None and name not in known:
        fix = f"one of: {', '.join(known)}" if known else "intent/ holds no Reconciler"
        raise UsageError(Fault(f"{name} is no reconciler of this repository", fix=fix))
    if name is None and len(known) > 1:
        raise UsageError(Fault("which reconciler? There are several", fix=f"--reconciler {' or '.join(known)}"))
    return known[name] if name is not None else next(iter(known.values()), None)


def with_repository(facts: Inventory, files: Files) -> Inventory:
    """The hub's facts joined with the manifests that the repository holds."""
    return merge_repository(facts, objects_from_files(files))


def facts_of(
    repo: Repository,
    asked: Asked,
    spec: ReconcilerSpec,
    commit: str | None,
    now: datetime,
    *,
    works: bool,
    seconds: float | None = None,
) -> tuple[Inventory, str]:
    """The hub's facts and the name of their source. A snapshot that the Reconciler names is the repository's own.

    With `works` ManifestWorks are read too; `seconds` is how long a live hub may take.
    """
    max_age = asked.max_age if asked.max_age is not None else spec.maxSnapshotAge
    kind, _, folder = (spec.hub or "").partition(":")
    if asked.hub is None and kind == "snapshot" and not Path(folder).is_absolute():
        source = f"snapshot:{folder}"
        facts = parse_objects(objects_from_files(_files(repo, [folder], LARGEST_FILE, commit)))
    else:
        source = hub_source(asked.hub or spec.hub)
        facts = read_hub(source, works=works, seconds=seconds)
    refuse_old(facts, source, max_age, now)
    return facts, source


def _files(repo: Repository, folders: Sequence[str], limit: int, commit: str | None) -> Files:
    if commit is not None:
        return read_commit(repo, commit, list(folders), limit, suffixes=SUFFIXES)
    return read_worktree(repo.top, list(folders), limit, suffixes=SUFFIXES)


def exit_code(made: Plan, *, detailed: bool = False) -> int:
    """3 where anything but a workload without a place holds the plan, else 4 where a workload has no place.

    Else 2 with --detailed-exitcode for a change, and 0.
    """
    if any(one.guard != "unplaced" for one in made.held):
        return 3
    if made.unplaced:
        return 4
    return 2 if detailed and made.status == "changed" else 0
