"""`gitops-ds resume`: lift a hold or an abort, settle what people did to commits of ours, and let the line go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.intent.holding import Abort, Hold
    from gitops_ds.intent.load import Intents, Loaded
    from gitops_ds.intent.reconciler import Reconciler
    from gitops_ds.repo import Repository

MOST = 100
"""Commits that one Resume may name: the oldest make room."""
LARGEST_FILE = 64 * 2**20


@click.command()
@click.argument("commits", nargs=-1, metavar="[COMMIT]...")
@click.option("--reason", metavar="TEXT", help="Why it may go on.")
@click.option("--by", metavar="WHO", help="Who says so [default: git's user.name and user.email].")
@click.option("--no-commit", "loose", is_flag=True, help="Write the files alone, for a pull request.")
@options.reconciler
@options.repo
def command(
    *, repo: Path, commits: tuple[str, ...], reason: str | None, by: str | None, loose: bool, reconciler: str | None
) -> int:
    """Let a reconciler go on after a hold, or after people changed what it wrote.

    Each COMMIT is one by which somebody took back a plan or changed its pull-request branch: it is settled, and a hold
    stays. Without any, the hold and the abort of a move are lifted, and every such commit that this repository knows of
    is settled.
    """
    from gitops_ds.cli.said import document, named, path_of, plain, put, read_said, speaker
    from gitops_ds.cli.terminal import say
    from gitops_ds.guards import settled
    from gitops_ds.repo import resolve_commit

    said = read_said(repo, loose=loose)
    intents = said.intents()
    name = named(intents, reconciler)
    why = None if reason is None else plain("--reason", reason)
    after = [resolve_commit(said.repo, one) for one in commits]
    known = settled(intents.resumes, name)
    holds: Sequence[Loaded[Hold] | Loaded[Abort]] = ()
    if not commits:
        holds = [*_holds(intents, reconciler), *_aborts(intents, name)]
        after = _acts(said.repo, intents, reconciler)
    elif not known.issuperset(after):
        _refuse_others(said.repo, [one for one in after if one not in known], _acts(said.repo, intents, reconciler))
    new = [one for one in dict.fromkeys(after) if one not in known]
    files: dict[str, bytes | None] = {one.source.file: None for one in holds}
    notes = [] if why is None else [why]
    if new:
        who, path = speaker(said.repo, by), path_of("Resume", name)
        before = [c for one in intents.resumes if one.source.file == path for c in one.intent.spec.after]
        spec = {"after": [*before, *new][-MOST:], "by": who, "reason": why}
        files[path] = document("Resume", name, spec)
        notes += ["\n".join(f"Settled: {commit}" for commit in new), f"Settled by {who}."]
    if not put(said, files, _subject(holds, new), notes):
        say("settled already" if commits else "nothing to resume: no hold, and no plan that somebody took back")
    return 0


def _holds(intents: Intents, asked: str | None) -> Sequence[Loaded[Hold]]:
    """The holds to lift: those for the reconciler that is asked for, else all, where they are for one.

    Raises:
        UsageError: there are holds for several, and none is asked for.
    """
    from gitops_ds.errors import Fault, UsageError

    if asked is not None:
        return [one for one in intents.holds if one.intent.metadata.name == asked]
    names = sorted({one.intent.metadata.name for one in intents.holds})
    if len(names) > 1:
        raise UsageError(Fault("which hold? There are several", fix=f"--reconciler {' or '.join(names)}"))
    return intents.holds


def _acts(repo: Repository, intents: Intents, asked: str | None) -> list[str]:
    """The commits that hold the reconcilers by what people did, as far as they have been fetched."""
    from gitops_ds.cli.guarding import UNNAMED, mine_of
    from gitops_ds.guards import settled
    from gitops_ds.intent.reconciler import Reconciler, ReconcilerMetadata
    from gitops_ds.overrides import acts
    from gitops_ds.past import read_past
    from gitops_ds.repo import read_commit
    from gitops_ds.whereabouts import read_moved

    every = [one.intent for one in intents.reconcilers] or [Reconciler(metadata=ReconcilerMetadata(name=UNNAMED))]
    mine = [one for one in every if asked in (None, "all", one.metadata.name)]
    found: list[str] = []
    for one in mine:
        root = one.spec.rendered
        known = settled(intents.resumes, one.metadata.name)
        for head in _heads(repo, one):
            current = read_commit(repo, head, [root], LARGEST_FILE)
            past = read_past(repo, head, current, root, branch=_proposed(repo, one))
            past = replace(past, moved=read_moved(repo, head, current, mine_of(one, intents)))
            found += [commit for commit in acts(past) if commit not in known]
    return list(dict.fromkeys(found))


def _refuse_others(repo: Repository, asked: Sequence[str], holding: Sequence[str]) -> None:
    """Refuse to settle commits that hold nothing: whoever names them means others.

    Raises:
        UsageError: with a fault for each.
    """
    from gitops_ds.errors import Fault, UsageError, raise_faults
    from gitops_ds.repo import commit_info

    known = ", ".join(
        f'{one[:12]} ("{commit_info(repo, one).message.strip().partition(chr(10))[0]}")' for one in holding
    )
    faults = []
    for one in asked:
        if one in holding:
            continue
        merge = next((by for by in holding if _came_with(repo, one, by)), None)
        if merge:
            why, fix = f"the merge {merge[:12]} brought it to the branch, and holds", f"gitops-ds resume {merge[:12]}"
        elif holding:
            why, fix = f"what holds is {known}", f"gitops-ds resume {' '.join(by[:12] for by in holding)}"
        else:
            why, fix = "nothing that this repository knows of does", "git fetch, if it happened at the remote"
        faults.append(Fault(f"{one[:12]} holds no reconciler", why=why, fix=fix))
    raise_faults(UsageError, faults)


def _came_with(repo: Repository, commit: str, merge: str) -> bool:
    """Whether a commit came to the branch by a merge."""
    from gitops_ds.repo import commit_info, is_ancestor

    parents = commit_info(repo, merge).parents
    return len(parents) > 1 and is_ancestor(repo, commit, merge) and not is_ancestor(repo, commit, parents[0])


def _heads(repo: Repository, reconciler: Reconciler) -> Sequence[str]:
    """Where the reconciler's plans get to, as far as is known here: this branch, and the remote's as last fetched."""
    git = reconciler.spec.git
    branch = git.branch or (repo.branch or "").removeprefix("refs/heads/")
    promoter = git.pullRequest.promoter if git.mode == "pull-request" else None
    names = [f"{promoter.branch}-next", promoter.branch] if promoter else [branch]
    found = [repo.head, *(_fetched(repo, git.remote, name) for name in names if name)]
    return [one for one in dict.fromkeys(found) if one is not None]


def _proposed(repo: Repository, reconciler: Reconciler) -> str | None:
    """Where the reconciler's pull-request branch was when it was last fetched."""
    git = reconciler.spec.git
    if git.mode != "pull-request":
        return None
    return _fetched(repo, git.remote, git.pullRequest.branch_of(reconciler.metadata.name))


def _fetched(repo: Repository, remote: str, branch: str) -> str | None:
    """Where a remote's branch was when it was last fetched; a URL is most likely where this clone came from."""
    from gitops_ds.errors import RepositoryError
    from gitops_ds.repo import is_url, resolve_commit

    try:
        return resolve_commit(repo, f"refs/remotes/{'origin' if is_url(remote) else remote}/{branch}")
    except RepositoryError:
        return None


def _aborts(intents: Intents, name: str) -> Sequence[Loaded[Abort]]:
    """The aborts to lift: those for the reconciler, and for all; where all are asked for, every one."""
    from gitops_ds.guards import EVERY

    return [one for one in intents.aborts if name in (EVERY, one.intent.metadata.name)]


def _subject(lifted: Sequence[Loaded[Hold] | Loaded[Abort]], commits: Sequence[str]) -> str:
    from gitops_ds.cli.said import whom

    kinds = " and ".join(dict.fromkeys(f"the {one.intent.kind.lower()}" for one in lifted))
    names = ", ".join(dict.fromkeys(whom(one.intent.metadata.name) for one in lifted))
    holds = f"Lift {kinds} of {names}" if lifted else ""
    after = f"resume after {', '.join(commit[:12] for commit in commits)}" if commits else ""
    said = " and ".join(part for part in (holds, after) if part)
    return f"{said[:1].upper()}{said[1:]}"
