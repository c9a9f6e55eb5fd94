"""What a verb works on: the repository, its intents, the hub's facts, and the instant; read once, the same way for all.

Owns where each input comes from. Owns no judgement of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gitops_ds.errors import Fault, HubError, InputError, UsageError
from gitops_ds.hub import merge_repository, objects_from_files, read_snapshot
from gitops_ds.intent.load import SUFFIXES, LoadedIntent, load_intents
from gitops_ds.inventory import Inventory
from gitops_ds.reconcile import Plan, plan
from gitops_ds.repo import Repository, open_repository, read_commit, read_worktree
from gitops_ds.sample import sample_folder
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
    instant: datetime

    def plan(self, *, overwrite: bool = False) -> Plan:
        """The plan for these inputs."""
        from gitops_ds.engine import engine_from
        from gitops_ds.solver import SOLVER_VERSION, solver_on

        return plan(
            self.intents,
            self.inventory,
            self.current,
            self.instant,
            solver_on(engine_from(os.environ.get("GITOPS_DS_ENGINE", "local"))),
            solver={"name": SOLVER_VERSION},
            overwrite=overwrite,
        )


def read_inputs(folder: Path, hub: str | None, at: datetime | None, *, committed: bool) -> Inputs:
    """Everything that a plan needs.

    Args:
        folder: any folder of the repository.
        hub: as the option --hub says it.
        at: the instant to judge scores at; None: the snapshot's own, else now.
        committed: read intents and policies from the head commit, not from the working tree.

    Raises:
        GitopsDsError: one of the inputs cannot be read; wrong intents and wrong manifests are told together.
    """
    repo = open_repository(folder)
    facts = read_hub(hub)
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
    return Inputs(repo, intents, inventory, current, at or facts.captured_at or datetime.now(UTC))


def read_hub(hub: str | None) -> Inventory:
    """The hub's facts.

    Raises:
        UsageError: no hub is named, or not one that can be read.
        HubError: it cannot be read.
    """
    kind, _, rest = (hub or "").partition(":")
    match kind:
        case "":
            fix = "--hub snapshot:DIR, or --hub demo; GITOPS_DS_HUB sets it for good"
            raise UsageError(Fault("which hub? None is named", fix=fix))
        case "demo" if not rest:
            return read_snapshot(sample_folder() / "hub")
        case "snapshot" if rest:
            return read_snapshot(Path(rest))
        case "kubernetes":
            fix = "save what the hub holds (kubectl get -o yaml) into a folder and use --hub snapshot:DIR"
            raise HubError(Fault("this release reads no live hub", fix=fix))
    raise UsageError(Fault(f'"{hub}" is no hub', fix="write snapshot:DIR or demo"))


def with_repository(facts: Inventory, files: Files) -> Inventory:
    """The hub's facts joined with the manifests that the repository holds."""
    return merge_repository(facts, objects_from_files(files))


def _files(repo: Repository, folders: tuple[str, ...] | list[str], limit: int, *, committed: bool) -> Files:
    if committed:
        return read_commit(repo, repo.head, list(folders), limit, suffixes=SUFFIXES)
    return read_worktree(repo.top, list(folders), limit, suffixes=SUFFIXES)


def exit_code(made: Plan, *, detailed: bool = False) -> int:
    """4 where a workload has no place, else 3 where the plan is held, else 2 with --detailed-exitcode for a change."""
    if made.unplaced:
        return 4
    if made.status == "held":
        return 3
    return 2 if detailed and made.status == "changed" else 0
