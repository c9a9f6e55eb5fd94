"""What a verb works on: the repository, its intents, the hub's facts, and the instant; read once, the same way for all.

Owns where each input comes from. Owns no judgement of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path

from gitops_ds.cli.snapshots import basis_of, hub_source, read_hub, refuse_old
from gitops_ds.errors import Fault, InputError
from gitops_ds.hub import merge_repository, objects_from_files
from gitops_ds.intent.load import SUFFIXES, LoadedIntent, load_intents
from gitops_ds.inventory import Inventory
from gitops_ds.reconcile import Plan, Solve, plan
from gitops_ds.repo import Repository, open_repository, read_commit, read_worktree
from gitops_ds.report.basis import Basis
from gitops_ds.tree import ROOT

INTENT = "intent"
MANIFESTS = ("policies", "workloads")
LARGEST_FILE = 64 * 2**20
LARGEST_INTENT = 2**20

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Inputs:
    """One reading: intents and manifests from the working tree or from the head commit, rendered/ from the head."""

    repo: Repository
    intents: tuple[LoadedIntent, ...]
    inventory: Inventory
    current: Files
    basis: Basis

    @property
    def instant(self) -> datetime:
        """When scores are judged."""
        return self.basis.instant

    def plan(self, *, overwrite: bool = False, hints: bool = False) -> Plan:
        """The plan for these inputs; with `hints` it says what room would place whom it has no place for."""
        from gitops_ds.evidence import hinted
        from gitops_ds.solver import SOLVER_VERSION
        from gitops_ds.solver.relaxation import HASTE, least_capacity

        made = plan(
            self.intents,
            self.inventory,
            self.current,
            self.instant,
            self.solve,
            solver={"name": SOLVER_VERSION},
            overwrite=overwrite,
        )
        return hinted(made, partial(least_capacity, seconds=HASTE)) if hints and made.unplaced else made

    @cached_property
    def solve(self) -> Solve:
        """The solver, on the engine that the environment names."""
        from gitops_ds.engine import engine_from
        from gitops_ds.solver import solver_on

        return solver_on(engine_from(os.environ.get("GITOPS_DS_ENGINE", "local")))


def read_inputs(
    folder: Path, hub: str | None, at: datetime | None, *, committed: bool, max_age: timedelta | None = None
) -> Inputs:
    """Everything that a plan needs.

    Args:
        folder: any folder of the repository.
        hub: as the option --hub says it.
        at: the instant to judge scores at; None: the snapshot's own, else now.
        committed: read intents and policies from the head commit, not from the working tree.
        max_age: how old the snapshot may be; None: of any age.

    Raises:
        GitopsDsError: one of the inputs cannot be read; wrong intents and wrong manifests are told together.
    """
    repo = open_repository(folder)
    source, now = hub_source(hub), datetime.now(UTC).replace(microsecond=0)
    facts = read_hub(source)
    refuse_old(facts, source, max_age, now)
    current = read_commit(repo, repo.head, [ROOT], LARGEST_FILE)
    faults: list[Fault] = []
    intents: tuple[LoadedIntent, ...] = ()
    inventory = facts
    try:
        intents = load_intents(_files(repo, [INTENT], LARGEST_INTENT, committed=committed))
    except InputError as error:
        faults += error.faults
    try:
        inventory = with_repository(facts, _files(repo, MANIFESTS, LARGEST_FILE, committed=committed))
    except InputError as error:
        faults += error.faults
    if faults:
        raise InputError(*faults)
    return Inputs(repo, intents, inventory, current, basis_of(facts, source, at, now))


def with_repository(facts: Inventory, files: Files) -> Inventory:
    """The hub's facts joined with the manifests that the repository holds."""
    return merge_repository(facts, objects_from_files(files))


def _files(repo: Repository, folders: tuple[str, ...] | list[str], limit: int, *, committed: bool) -> Files:
    if committed:
        return read_commit(repo, repo.head, list(folders), limit, suffixes=SUFFIXES)
    return read_worktree(repo.top, list(folders), limit, suffixes=SUFFIXES)


def exit_code(made: Plan, *, detailed: bool = False) -> int:
    """3 where anything but a workload without a place holds the plan, else 4 where a workload has no place.

    Else 2 with --detailed-exitcode for a change, and 0.
    """
    strict = [one for one in made.unplaced if made.problem.intents[one.intent].intent.spec.unplaced == "fail"]
    if len(made.held) > len(strict):
        return 3
    if made.unplaced:
        return 4
    return 2 if detailed and made.status == "changed" else 0
