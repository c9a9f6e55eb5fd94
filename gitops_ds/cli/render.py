"""`gitops-ds render`: the rendered tree into a folder, from a hub or from the lock."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import click

from gitops_ds.cli import options


@click.command()
@options.repo
@options.hub
@options.at
@options.max_age
@click.option("--locked", is_flag=True, help="Render from the lock in git: no hub, no solver.")
@click.option("--to", metavar="DIR", type=click.Path(path_type=Path), help="An empty or new folder to write into.")
def command(
    *, repo: Path, hub: str | None, at: datetime | None, max_age: timedelta | None, locked: bool, to: Path | None
) -> int:
    """Write the rendered tree to a folder, or list its files with their sha256.

    With --locked the tree comes from rendered/gitops-ds.lock of the head commit and the committed intents: where nobody
    edited rendered/, it is what git holds.
    """
    from gitops_ds.cli.files import write_folder
    from gitops_ds.cli.inputs import INTENT, LARGEST_FILE, LARGEST_INTENT, exit_code, read_inputs
    from gitops_ds.cli.terminal import say
    from gitops_ds.intent.load import SUFFIXES, load_intents
    from gitops_ds.reconcile import render_locked
    from gitops_ds.repo import open_repository, read_commit
    from gitops_ds.tree import INVENTORY, ROOT

    code = 0
    if locked:
        opened = open_repository(repo)
        intents = load_intents(read_commit(opened, opened.head, [INTENT], LARGEST_INTENT, suffixes=SUFFIXES))
        tree = render_locked(intents, read_commit(opened, opened.head, [ROOT], LARGEST_FILE))
    else:
        made = read_inputs(repo, hub, at, committed=False, max_age=max_age).plan(overwrite=True)
        tree, code = made.tree, exit_code(made)
    if to is None:
        say(tree[INVENTORY].decode(), end="")
    else:
        write_folder(to, tree)
        say(f"wrote {len(tree)} files below {to}", error=True)
    return code
