"""`gitops-ds render`: the rendered tree into a folder, from a hub or from the lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.tree import Tree


@click.command()
@options.asking
@click.option("--locked", is_flag=True, help="Render from the lock in git: no hub, no solver.")
@click.option("--to", metavar="DIR", type=click.Path(path_type=Path), help="An empty or new folder to write into.")
def command(*, repo: Path, asked: options.Asked, locked: bool, to: Path | None) -> int:
    """Write the rendered tree to a folder, or list its files with their sha256.

    With --locked the tree comes from rendered/gitops-ds.lock of the head commit and the committed intents: where nobody
    edited rendered/, it is what git holds.
    """
    from gitops_ds.cli.files import write_folder
    from gitops_ds.cli.inputs import exit_code, read_inputs
    from gitops_ds.cli.terminal import say
    from gitops_ds.tree import inventory_path

    code = 0
    if locked:
        tree, root = _from_lock(repo, asked.reconciler)
    else:
        made = read_inputs(repo, asked, committed=False).plan(overwrite=True)
        tree, root, code = made.tree, made.root, exit_code(made)
    if to is None:
        say(tree[inventory_path(root)].decode(), end="")
    else:
        write_folder(to, tree)
        say(f"wrote {len(tree)} files below {to}", error=True)
    return code


def _from_lock(folder: Path, name: str | None) -> tuple[Tree, str]:
    """The tree that the head commit's lock gives, and its folder."""
    from gitops_ds.cli.inputs import INTENT, LARGEST_FILE, LARGEST_INTENT, chosen, spec_of
    from gitops_ds.intent.load import SUFFIXES, load_all
    from gitops_ds.reconcile import render_locked
    from gitops_ds.repo import open_repository, read_commit

    opened = open_repository(folder)
    said = load_all(read_commit(opened, opened.head, [INTENT], LARGEST_INTENT, suffixes=SUFFIXES))
    spec = spec_of(chosen(said, name))
    mine = said.below(spec.intents)
    current = read_commit(opened, opened.head, [spec.rendered], LARGEST_FILE)
    return render_locked(mine.placements, current, spec.rendered, mine.scorings), spec.rendered
