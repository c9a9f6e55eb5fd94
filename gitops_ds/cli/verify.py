"""`gitops-ds verify`: whether commits of gitops-ds are what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from gitops_ds.cli import options
from gitops_ds.errors import Fault, GitopsDsError, InputError, Place, RepositoryError, UsageError

if TYPE_CHECKING:
    from gitops_ds.intent.load import Intents, Loaded
    from gitops_ds.intent.reconciler import Reconciler, ReconcilerSpec
    from gitops_ds.repo import LogEntry, Repository, Signing
    from gitops_ds.verification import Held, Verdict

DEPTH = 200
"""How many changes of the rendered folders are looked through for the last one that is ours."""


@click.command()
@click.argument("commit", metavar="[COMMIT]", required=False)
@options.where
@options.reconciler
@options.output
@click.option("--require-signature", "signed", is_flag=True, help="A commit without a good signature is a fault.")
@click.option("--signing-key", "key", metavar="KEY", help="By which key, instead of the Reconciler's.")
@click.option(
    "--signing-format",
    "kind",
    type=click.Choice(["ssh", "openpgp"]),
    default="ssh",
    show_default=True,
    help="The kind of --signing-key.",
)
def command(
    *,
    commit: str | None,
    where: str,
    reconciler: str | None,
    output: str,
    signed: bool,
    key: str | None,
    kind: Literal["ssh", "openpgp"],
) -> int:
    """Check that a COMMIT of gitops-ds is what it says.

    Renders the tree anew from the lock and the intents that the commit holds, with no hub, and compares it byte for
    byte; holds the message's trailers against the files; and makes sure that nothing else is changed, that the plan
    starts from the parent, and of the signature. COMMIT may be a range A..B: then each commit of gitops-ds in it.
    Without it, the last one on HEAD's history.
    """
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.message import RECONCILER, trailers_of
    from gitops_ds.repo import Signing
    from gitops_ds.report.json import dumps
    from gitops_ds.verification import verify

    pinned = Signing(kind, key) if key is not None else None
    with _opened(where) as repo:
        entries, passed_by = _chosen(repo, commit, reconciler)
        verdicts = []
        for entry in entries:
            name = trailers_of(entry.message).get(RECONCILER)
            read = partial(_held, repo, entry, name, pinned, signed=signed)
            verdicts.append(verify(entry.commit, entry.message, read))
    if output == "json":
        say(dumps(verdicts_json(verdicts)))
    else:
        show(line for verdict in verdicts for line in _lines(verdict))
        show([(_summary(verdicts, passed_by), "good" if _all_good(verdicts) else "bad")])
    for verdict in verdicts:
        _complain(verdict)
    return 0 if _all_good(verdicts) else 1


def verdicts_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What is printed for a program: stable, described in docs/json.md."""
    from gitops_ds.cli.faults import faults_json
    from gitops_ds.message import RECONCILER, TRAILERS
    from gitops_ds.report.json import API_VERSION

    return {
        "apiVersion": API_VERSION,
        "kind": "Verification",
        "status": "verified" if _all_good(verdicts) else "failed",
        "commits": [
            {
                "commit": one.commit,
                "subject": one.subject,
                "status": "verified" if one.is_verified else "failed",
                "reconciler": one.trailers.get(RECONCILER),
                "version": one.trailers.get(TRAILERS[3]),
                "checks": [{"name": c.name, "outcome": c.outcome, "text": c.text} for c in one.checks],
                "faults": faults_json(1, one.faults)["faults"],
                "foreign": list(one.foreign),
            }
            for one in verdicts
        ],
    }


def _all_good(verdicts: Sequence[Verdict]) -> bool:
    return all(verdict.is_verified for verdict in verdicts)


def _lines(verdict: Verdict) -> Iterator[tuple[str, str]]:
    styles = {"passed": "", "failed": "bad", "skipped": "dim"}
    yield f"commit {verdict.commit[:12]}: {verdict.subject}", "title"
    for check in verdict.checks:
        said = "" if check.outcome == "passed" else f"{check.outcome}: "
        yield f"  {check.name:<10} {said}{check.text}", styles[check.outcome]
    for path in verdict.foreign:
        yield f"  {path} is not ours", "dim"


def _summary(verdicts: Sequence[Verdict], passed_by: int) -> str:
    bad = sum(not verdict.is_verified for verdict in verdicts)
    beside = f"; {passed_by} more {'is' if passed_by == 1 else 'are'} not of gitops-ds" if passed_by else ""
    if bad:
        return f"not verified: {bad} of {len(verdicts)} commits{beside}" if len(verdicts) > 1 else "not verified"
    return f"verified: {len(verdicts)} commit{'' if len(verdicts) == 1 else 's'}{beside}"


def _complain(verdict: Verdict) -> None:
    from gitops_ds.cli.faults import fault_lines
    from gitops_ds.cli.terminal import show

    show(fault_lines(verdict.faults), error=True)


@contextmanager
def _opened(where: str) -> Iterator[Repository]:
    """The repository: around a folder, bare ones too, or at a URL."""
    from gitops_ds.repo import is_url, open_clone, open_repository

    if not is_url(where):
        yield open_repository(Path(where), bare=True)
        return
    from gitops_ds.cli.access import access_to, cache_folder
    from gitops_ds.intent.reconciler import Git

    yield open_clone(where, cache_folder(), access_to(Git()))


def _chosen(repo: Repository, said: str | None, name: str | None) -> tuple[list[LogEntry], int]:
    """The commits to verify, and how many of a range are passed by since they are not ours."""
    from gitops_ds.repo import commit_info, resolve_commit
    from gitops_ds.repo.changed import commits_between

    if said is None:
        return [_last(repo, name)], 0
    if ".." not in said:
        return [commit_info(repo, resolve_commit(repo, said))], 0
    before, _, after = said.partition("..")
    if after.startswith("."):
        raise UsageError(Fault(f"{said} is no range of commits", fix="write A..B: what B has and A has not"))
    found = [commit_info(repo, one) for one in commits_between(repo, before or "HEAD", after or "HEAD")]
    ours = [entry for entry in found if _is_of(name)(entry)]
    return ours, len(found) - len(ours)


def _is_of(name: str | None) -> Callable[[LogEntry], bool]:
    """Whether a commit is ours, and of that reconciler where one is named."""
    from gitops_ds.message import RECONCILER, is_ours, trailers_of

    return lambda entry: is_ours(entry.message) and name in (None, trailers_of(entry.message).get(RECONCILER))


def _last(repo: Repository, name: str | None) -> LogEntry:
    """The last commit of ours that HEAD has; a merged pull request counts. HEAD itself where there is none.

    Raises:
        RepositoryError: a reconciler is named, and has none.
    """
    from gitops_ds.repo import commit_info, history

    is_ours = _is_of(name)
    for entry in history(repo, repo.head, _roots(repo), DEPTH):
        if is_ours(entry):
            return entry
        for other in entry.parents[1:]:
            merged = commit_info(repo, other)
            if is_ours(merged):
                return merged
    if name is not None:
        raise RepositoryError(Fault(f"there is no commit of reconciler {name} in the history of {repo.head}"))
    return commit_info(repo, repo.head)


def _roots(repo: Repository) -> list[str]:
    """The folders that reconcilers write, as HEAD has it."""
    from gitops_ds.tree import ROOT

    try:
        reconcilers = _intents(repo, repo.head).reconcilers
    except GitopsDsError:
        reconcilers = ()
    return sorted({ROOT, *(one.intent.spec.rendered for one in reconcilers)})


def _intents(repo: Repository, commit: str) -> Intents:
    from gitops_ds.cli.inputs import INTENT, LARGEST_INTENT
    from gitops_ds.intent.load import SUFFIXES, load_all
    from gitops_ds.repo import read_commit

    return load_all(read_commit(repo, commit, [INTENT], LARGEST_INTENT, suffixes=SUFFIXES))


def _held(repo: Repository, entry: LogEntry, name: str | None, pinned: Signing | None, *, signed: bool) -> Held:
    """What a commit and its parent hold, as its own Reconciler says where that is."""
    from gitops_ds.cli.inputs import LARGEST_FILE, spec_of
    from gitops_ds.reconcile import render_locked
    from gitops_ds.repo import read_commit
    from gitops_ds.repo.changed import changes_between
    from gitops_ds.repo.entries import FILE
    from gitops_ds.repo.programs import read_programs
    from gitops_ds.tree import inventory_path, lock_path
    from gitops_ds.verification import Held

    parent = next(iter(entry.parents), None)
    changes = None if entry.shallow else changes_between(repo, parent, entry.commit)
    changed = None if changes is None else tuple(sorted(changes))
    source, beside = _source(repo, entry.commit, changed or ())
    said = _intents(repo, source)
    spec = spec_of(_named(said, name, source))
    root, mine = spec.rendered, said.below(spec.intents)
    current = read_commit(repo, entry.commit, [root], LARGEST_FILE)
    lock, inventory = lock_path(root), inventory_path(root)
    before = read_programs(repo, parent, [lock, inventory], LARGEST_FILE) if parent else {}
    return Held(
        current=current,
        tree=lambda: render_locked(mine.placements, current, root, mine.scorings),
        changed=changed,
        parents=len(entry.parents),
        parent_lock=before[lock].content if lock in before else None,
        parent_inventory=before[inventory].content if inventory in before else None,
        signature=_signature(repo, entry, spec, pinned, signed=signed),
        root=root,
        beside=beside,
        remoded=frozenset(p for p, c in (changes or {}).items() if c.after not in ("", c.before or FILE)),
    )


def _source(repo: Repository, commit: str, changed: Sequence[str]) -> tuple[str, frozenset[str]]:
    """The commit that the intents are in: the same one, or on a branch of GitOps Promoter the one that it names.

    With it, what such a commit may change outside of the rendered folder.
    """
    from gitops_ds.cli.inputs import LARGEST_INTENT
    from gitops_ds.repo import resolve_commit
    from gitops_ds.repo.programs import read_programs

    if all("/" in path for path in changed):
        return commit, frozenset()
    from gitops_ds.forge import HYDRATOR_METADATA

    if HYDRATOR_METADATA not in changed:
        return commit, frozenset()
    try:
        dry = json.loads(read_programs(repo, commit, [HYDRATOR_METADATA], LARGEST_INTENT)[HYDRATOR_METADATA].content)
        source = resolve_commit(repo, str(dry["drySha"]))
    except (ValueError, LookupError, TypeError):
        raise InputError(Fault("it names no drySha", Place(HYDRATOR_METADATA))) from None
    return source, frozenset({HYDRATOR_METADATA})


def _named(said: Intents, name: str | None, commit: str) -> Loaded[Reconciler] | None:
    """The Reconciler that the commit's message names; None where it names none."""
    if name is None:
        return None
    for one in said.reconcilers:
        if one.intent.metadata.name == name:
            return one
    raise InputError(Fault(f"the message names reconciler {name}, and commit {commit} has none of that name"))


def _signature(
    repo: Repository, entry: LogEntry, spec: ReconcilerSpec, pinned: Signing | None, *, signed: bool
) -> Callable[[], None] | None:
    """What makes sure of the signature: by the key on the command line, else by the one of the Reconciler."""
    from gitops_ds.repo import Identity, Signing, verify_signature

    said = spec.git.signing
    signing = pinned or (Signing(said.format, said.key) if said else None)
    if signing is None:
        if not signed:
            return None
        fault = Fault("no key is known that the commit is to be signed by", fix="give one: --signing-key")

        def unknown() -> None:
            raise RepositoryError(fault)

        return unknown
    author = spec.git.author
    identity = Identity(author.name, author.email) if author else Identity(entry.author, entry.email)
    return partial(verify_signature, repo, entry.commit, signing, identity)
