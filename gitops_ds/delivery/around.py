"""What stands around every commit, wherever it goes: who makes it, what it says, who is asked before and told after.

Owns that nothing is committed that a hook or the rule on Secrets refuses. Owns neither of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitops_ds import __version__
from gitops_ds.delivery.value import Delivered, Drawn, World
from gitops_ds.guards import urgent_trailer
from gitops_ds.lifecycle import Occasion, check_hooks, post_push, post_render
from gitops_ds.message import BRANCH, commit_message
from gitops_ds.reconcile import Plan
from gitops_ds.repo import Identity, Repository, Signing, configured_identity
from gitops_ds.report.json import dumps, plan_json
from gitops_ds.secrecy import refuse_secrets

NOBODY = Identity("gitops-ds", "gitops-ds@localhost")


def owned_by(made: Plan) -> Mapping[str, bytes | None]:
    """What a commit of the plan writes: each file of the tree, and None for what goes."""
    return dict(made.tree) | {c.path: None for c in made.difference.changes if c.after is None}


def who(drawn: Drawn, repo: Repository) -> Identity:
    """Author and committer: the reconciler's, else git's settings', else ours."""
    author = drawn.spec.git.author
    return Identity(author.name, author.email) if author else configured_identity(repo) or NOBODY


def signing_of(drawn: Drawn) -> Signing | None:
    """By what the commit is signed, if it is to be."""
    said = drawn.spec.git.signing
    if said is None:
        return None
    key = said.key if said.format == "openpgp" or said.key.startswith("key::") else str(Path(said.key).expanduser())
    return Signing(said.format, key)


def message_of(drawn: Drawn, parent: str, request_branch: str | None = None) -> str:
    """The whole message of the commit on top of `parent`; `request_branch` is what it is made for, if it is one."""
    return commit_message(
        drawn.plan,
        __version__,
        template=drawn.spec.git.message,
        reconciler=_name(drawn),
        base=parent,
        extra_trailers=[
            *([_pair(urgent_trailer(drawn.urgent))] if drawn.urgent else []),
            *([(BRANCH, request_branch)] if request_branch else []),
        ],
    )


def checked(drawn: Drawn, base: str, branch: str, world: World) -> None:
    """Ask the rule on Secrets, the hooks, and whether this process may still commit.

    Raises:
        GitopsDsError: one of them refuses, or a hook cannot be run.
    """
    refuse_secrets({**drawn.manifests, **drawn.plan.tree})
    if drawn.reconciler is not None:
        check_hooks(drawn.reconciler, drawn.hooks)
        post_render(drawn.spec.hooks, drawn.hooks, drawn.files, _occasion(drawn, base, branch), world.show)
    world.proceed()


def finished(done: Delivered, base: str, world: World) -> None:
    """Let the hooks know that a plan has landed; one that fails is told and changes nothing."""
    drawn = done.drawn
    if not drawn.spec.hooks.postPush:
        return
    said = dumps(plan_json(drawn.plan, done.commit, drawn.basis)).encode()
    occasion = _occasion(drawn, base, done.branch or "", done.commit or "", said)
    for fault in post_push(drawn.spec.hooks, drawn.hooks, drawn.files, occasion, world.show):
        world.tell(str(fault))


def _occasion(drawn: Drawn, base: str, branch: str, commit: str = "", plan: bytes = b"") -> Occasion:
    return Occasion(base, drawn.plan.root, _name(drawn), branch, commit, plan)


def _pair(trailer: str) -> tuple[str, str]:
    key, _, value = trailer.partition(": ")
    return key, value


def _name(drawn: Drawn) -> str:
    return drawn.reconciler.intent.metadata.name if drawn.reconciler else ""
