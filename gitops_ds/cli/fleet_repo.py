"""The fleet repository as `bootstrap` sees it: its Reconciler and where its remote is, as far as there is one.

Owns what counts where an option is left out: the Reconciler, then git's own settings, then a default. Owns no form of
what is told (`gitops_ds.bootstrap.checks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_ds.intent.reconciler import Reconciler, ReconcilerSpec

ORIGIN, MAIN = "origin", "main"


@dataclass(frozen=True)
class Repo:
    """The fleet repository around the current folder, as far as there is one.

    Attributes:
        reconciler: its Reconciler; None where there is none.
        is_one_of_several: whether it has to be chosen by name.
        url: where its remote is, without credentials; "" where there is none.
        sets: the cluster sets that its intents bind; None where it has no intents.
    """

    reconciler: Reconciler | None
    is_one_of_several: bool
    url: str
    sets: tuple[str, ...] | None

    @property
    def spec(self) -> ReconcilerSpec:
        """The Reconciler's settings."""
        from gitops_ds.intent.reconciler import ReconcilerSpec

        return self.reconciler.spec if self.reconciler else ReconcilerSpec()

    @property
    def name(self) -> str | None:
        """What the Reconciler has to be chosen by; None where there is no other."""
        return self.reconciler.metadata.name if self.reconciler and self.is_one_of_several else None


def read_repo(folder: Path, reconciler: str | None) -> Repo:
    """What the repository around `folder` says; nothing where there is none.

    Raises:
        InputError: with every fault of its intents.
        UsageError: there is no such Reconciler, or there are several and none is named.
    """
    from gitops_ds.cli.inputs import INTENT, LARGEST_INTENT, chosen
    from gitops_ds.errors import RepositoryError, UsageError
    from gitops_ds.intent.load import SUFFIXES, Intents, load_all
    from gitops_ds.repo import is_url, open_repository, read_worktree, remote_url

    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    top, url = folder, ""
    try:
        opened = open_repository(folder, unborn=True)
    except RepositoryError:
        opened = None
    if opened is not None:
        top = opened.top
    files = read_worktree(top, [INTENT], LARGEST_INTENT, SUFFIXES)
    said = load_all(files) if files else Intents()
    found = chosen(said, reconciler)
    remote = found.intent.spec.git.remote if found else ORIGIN
    if opened is not None and not is_url(remote):
        try:
            url = remote_url(opened, remote)
        except RepositoryError:
            url = ""
    mine = said.below(found.intent.spec.intents) if found else said
    sets = {name for one in mine.placements for name in one.intent.spec.bindClusterSets}
    return Repo(
        found.intent if found else None,
        len(said.reconcilers) > 1,
        remote if is_url(remote) else url if is_url(url) else "",
        tuple(sorted(sets)) if mine.placements else None,
    )


def url_of(repo: Repo, url: str | None) -> str:
    """The repository's URL: what is told, else what the repository knows.

    Raises:
        UsageError: neither does.
    """
    from gitops_ds.errors import Fault, UsageError

    found = url or repo.url
    if not found:
        fix = "--repo-url URL, or `git.remote` in the Reconciler"
        raise UsageError(Fault("which repository? Neither the Reconciler nor git names a remote's URL", fix=fix))
    return found


def branch_of(repo: Repo, branch: str | None) -> str:
    """The branch: what is told, else the Reconciler's, else main.

    Raises:
        UsageError: it is no name of a branch.
    """
    from gitops_ds.errors import Fault, UsageError
    from gitops_ds.intent.reconciler import branch_name

    try:
        return branch_name((repo.spec.git.branch or MAIN) if branch is None else branch)
    except ValueError as error:
        raise UsageError(Fault(f"--branch {error}")) from None


def mode_of(repo: Repo, mode: str | None) -> str | None:
    """How a plan gets into git where the Reconciler does not say so: there is no checkout to commit in."""
    return mode or (None if repo.spec.git.mode != "commit" else "push")


def hub_of(repo: Repo, hub: str | None) -> tuple[str, bool]:
    """The hub as --hub says it, and whether it is asked; a snapshot is a folder of the repository.

    Raises:
        UsageError: none is named, or none that a job of a forge can have.
    """
    from gitops_ds.cli.options import from_environment
    from gitops_ds.errors import Fault, UsageError

    found = hub if hub and not from_environment("hub") else repo.spec.hub or hub
    if not found:
        raise UsageError(Fault("which hub? None is named", fix="--hub kubernetes:CONTEXT, or `hub` in the Reconciler"))
    kind, _, rest = found.partition(":")
    if kind == "snapshot" and (not rest or rest.startswith("/") or ".." in rest.split("/")):
        fix = "--hub snapshot:DIR, with a folder of the repository"
        raise UsageError(Fault(f'"{found}" is no folder that a job has', fix=fix))
    if kind not in ("kubernetes", "snapshot", "demo") or (kind == "demo" and rest):
        raise UsageError(Fault(f'"{found}" is no hub', fix="kubernetes[:CONTEXT], snapshot:DIR or demo"))
    return found, kind == "kubernetes"
