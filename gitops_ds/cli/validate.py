"""`gitops-ds validate`: every fault of intents, policies and rendered/ at once. Writes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.errors import Fault
    from gitops_ds.intent.load import Intents
    from gitops_ds.intent.reconciler import ReconcilerSpec
    from gitops_ds.inventory import Inventory

_ONE = {"intents": "intent", "policies": "policy"}
Read = Callable[[Sequence[str], int, Sequence[str]], Mapping[str, bytes]]


@click.command()
@options.asking
@options.output
@click.option("--staged", is_flag=True, help="Check what is staged for the next commit (for a pre-commit hook).")
def command(*, repo: Path, asked: options.Asked, output: str, staged: bool) -> int:
    """Check intents, policies and rendered/ for every fault at once. Writes nothing.

    Without --hub only the repository is looked at. With it, names, labels, scores and cluster sets are held against
    the hub's facts too. A rendered file that is not as gitops-ds wrote it is a fault. With --staged, GITOPS_DS_HUB does
    not count: what is staged for the hub is not on it yet.
    """
    from gitops_ds.cli.inputs import INTENT, LARGEST_FILE, LARGEST_INTENT, MANIFESTS, chosen, spec_of, with_repository
    from gitops_ds.cli.terminal import say
    from gitops_ds.errors import GitopsDsError, InputError, raise_faults
    from gitops_ds.intent.load import SUFFIXES, Intents, load_all
    from gitops_ds.inventory import Inventory
    from gitops_ds.report.json import API_VERSION, dumps
    from gitops_ds.secrecy import secret_faults
    from gitops_ds.tree import ROOT

    hub = None if staged and options.from_environment("hub") else asked.hub
    facts = _facts(hub, asked.max_age) if hub else Inventory()
    read, before = _readers(repo, staged=staged)
    faults: list[Fault] = []
    said = Intents()
    inventory = facts
    try:
        said = load_all(read([INTENT], LARGEST_INTENT, SUFFIXES))
    except InputError as error:
        faults += error.faults
    try:
        manifests = read(MANIFESTS, LARGEST_FILE, SUFFIXES)
        faults += secret_faults(manifests)
        inventory = with_repository(facts, manifests)
    except InputError as error:
        faults += error.faults
    for root in sorted({one.intent.spec.rendered for one in said.reconcilers}) or [ROOT]:
        try:
            rendered = read([root], LARGEST_FILE, ())
            faults += secret_faults(rendered)
            faults += _edits(rendered, before([root], LARGEST_FILE, ()), root)
        except GitopsDsError as error:
            faults += error.faults
    raise_faults(InputError, faults)
    if hub:
        spec = spec_of(chosen(said, asked.reconciler))
        held = read([spec.rendered], LARGEST_FILE, ())
        _hold_against(inventory, said, spec, held, asked.at or facts.captured_at or datetime.now(UTC))
    counts = {"intents": len(said.placements) + len(said.scorings), "policies": len(inventory.policies)}
    if output == "json":
        say(dumps({"apiVersion": API_VERSION, "kind": "Validation", "status": "valid", **counts}))
    else:
        say(f"valid: {', '.join(f'{n} {word if n != 1 else _ONE[word]}' for word, n in counts.items())}")
    return 0


def _hold_against(
    inventory: Inventory, said: Intents, spec: ReconcilerSpec, held: Mapping[str, bytes], instant: datetime
) -> None:
    """Hold the intents against the hub's facts: what does not fit them is a fault."""
    from gitops_ds.cli.scoring import with_scoring
    from gitops_ds.problem import build
    from gitops_ds.scorers import scored

    mine = said.below(spec.intents)
    inventory, scoring = with_scoring(inventory, mine, spec, held, instant)
    build(mine.placements, inventory, instant)
    scored(scoring, inventory, None)


def _facts(hub: str, max_age: timedelta | None) -> Inventory:
    from gitops_ds.cli.snapshots import hub_source, read_hub, refuse_old

    source = hub_source(hub)
    facts = read_hub(source)
    refuse_old(facts, source, max_age, datetime.now(UTC))
    return facts


def _edits(files: Mapping[str, bytes], before: Mapping[str, bytes], root: str) -> Iterator[Fault]:
    """A fault for each file below `root` that is not as gitops-ds wrote it; `before` is what the head has there."""
    from gitops_ds.errors import Fault, Place
    from gitops_ds.tree import compare, inventory_path

    why = f"{root}/ is written by gitops-ds alone: change intent/ instead"
    fix = "git restore --source=HEAD --staged --worktree"
    committed = _edited(before, root)
    for path in compare(files, {}, root).edited:
        if path in committed:
            back = f"`git restore --source=COMMIT --staged --worktree {path}`, COMMIT being the one before the edit"
            advice = f"the edit is committed: {back}; or `gitops-ds reconcile --overwrite-edits`"
        else:
            advice = f"{fix} {path}"
        yield Fault(f"{path} was edited by hand", Place(path), why, advice)
    owned = inventory_path(root)
    if owned in before and owned not in files:
        lost = "without it gitops-ds knows none of its files"
        yield Fault(f"{owned} was removed", Place(owned), lost, f"{fix} {owned}")


def _edited(before: Mapping[str, bytes], root: str) -> tuple[str, ...]:
    """The files that are edited in the head commit itself; none where its inventory does not tell."""
    from gitops_ds.errors import RepositoryError
    from gitops_ds.tree import compare

    try:
        return compare(before, {}, root).edited
    except RepositoryError:
        return ()


def _readers(folder: Path, *, staged: bool) -> tuple[Read, Read]:
    """How files are read (from the index, or the folder), and how the head's are: none where there is no head."""
    from gitops_ds.errors import RepositoryError, UsageError
    from gitops_ds.repo import open_repository, read_commit, read_index, read_stored, read_worktree

    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    try:
        opened = open_repository(folder, unborn=True)
    except RepositoryError:
        if staged:
            raise
        return lambda folders, limit, suffixes: read_worktree(folder, folders, limit, suffixes), lambda *_: {}

    def before(folders: Sequence[str], limit: int, suffixes: Sequence[str]) -> Mapping[str, bytes]:
        return read_commit(opened, opened.head, folders, limit, suffixes) if opened.head else {}

    # `git commit FILE` gives its hook another index than the repository's own: that one is what will be committed.
    named = os.environ.get("GIT_INDEX_FILE")
    index = Path.cwd() / named if named else None
    if staged:
        return lambda folders, limit, suffixes: read_index(opened, folders, limit, suffixes, index), before
    return lambda folders, limit, suffixes: read_stored(opened, folders, limit, suffixes), before
