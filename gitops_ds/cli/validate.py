"""`gitops-ds validate`: every fault of intents, policies and rendered/ at once. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import click

from gitops_ds.cli import options

Read = Callable[[Sequence[str], int, Sequence[str]], Mapping[str, bytes]]


@click.command()
@options.repo
@options.hub
@options.at
@options.output
@click.option("--staged", is_flag=True, help="Check what is staged for the next commit (for a pre-commit hook).")
def command(*, repo: Path, hub: str | None, at: datetime | None, output: str, staged: bool) -> int:
    """Check intents, policies and rendered/ for every fault at once. Writes nothing.

    Without --hub only the repository is looked at. With it, names, labels, scores and cluster sets are held against
    the hub's facts too. A rendered file that is not as gitops-ds wrote it is a fault.
    """
    from datetime import UTC

    from gitops_ds.cli.inputs import INTENT, LARGEST_FILE, LARGEST_INTENT, MANIFESTS, read_hub, with_repository
    from gitops_ds.errors import Fault, InputError, Place, raise_faults
    from gitops_ds.intent.load import SUFFIXES, load_intents
    from gitops_ds.inventory import Inventory
    from gitops_ds.problem import build
    from gitops_ds.report.json import API_VERSION, dumps
    from gitops_ds.tree import ROOT, compare

    facts = read_hub(hub) if hub else Inventory()
    read = _reader(repo, staged=staged)
    faults: list[Fault] = []
    intents, inventory = (), facts
    try:
        intents = load_intents(read([INTENT], LARGEST_INTENT, SUFFIXES))
    except InputError as error:
        faults += error.faults
    try:
        inventory = with_repository(facts, read(MANIFESTS, LARGEST_FILE, SUFFIXES))
    except InputError as error:
        faults += error.faults
    edited = compare(read([ROOT], LARGEST_FILE, ()), {}).edited
    why = "rendered/ is written by gitops-ds alone; change intent/ instead"
    faults += [Fault(f"{path} was edited by hand", Place(path), why, f"git checkout HEAD -- {path}") for path in edited]
    raise_faults(InputError, faults)
    if hub:
        build(intents, inventory, at or facts.captured_at or datetime.now(UTC))
    policies = len(inventory.policies)
    if output == "json":
        counts = {"intents": len(intents), "policies": policies}
        click.echo(dumps({"apiVersion": API_VERSION, "kind": "Validation", "status": "valid", **counts}))
    else:
        click.echo(f"valid: {len(intents)} intents, {policies} policies")
    return 0


def _reader(folder: Path, *, staged: bool) -> Read:
    """How files are read: from the index, or from the folder (the repository's root where it is in one)."""
    from gitops_ds.errors import RepositoryError, UsageError
    from gitops_ds.repo import open_repository, read_index, read_worktree

    if staged:
        opened = open_repository(folder)
        return lambda folders, limit, suffixes: read_index(opened, folders, limit, suffixes=suffixes)
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    try:
        root = open_repository(folder).top
    except RepositoryError:
        root = folder
    return lambda folders, limit, suffixes: read_worktree(root, folders, limit, suffixes=suffixes)
