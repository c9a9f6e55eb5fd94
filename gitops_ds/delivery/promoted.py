"""A plan for GitOps Promoter: what is rendered goes to the branch that Promoter opens its pull requests from.

The dry branch holds the intents, the active branch (`environment/prod`) what is applied, and `<active>-next` what is
proposed: it gets one commit on top of another, each with `hydrator.metadata`, by which Promoter knows the dry commit.
What git holds now is read from `<active>-next`. Owns when a commit is made there. Owns no pull request: Promoter does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitops_ds.delivery.around import checked, finished, message_of, owned_by, signing_of, who
from gitops_ds.delivery.remote import Remote, pushed, until_landed
from gitops_ds.delivery.value import Delivered, Draw, Drawn, Reading, World
from gitops_ds.errors import Fault, RepositoryError, UsageError
from gitops_ds.intent.reconciler import Message
from gitops_ds.repo import Repository, commit_info, history, make_commit

INPUTS = ("intent", "policies", "workloads")


@dataclass(frozen=True, slots=True)
class Promotion:
    """The three branches: what is written by people, what is applied, and what is proposed."""

    dry: Remote
    active: Remote
    proposed: Remote


def promotion(dry: Remote, active: str) -> Promotion:
    """The branches, of which Promoter's contract names the third."""
    from gitops_ds.forge import proposed_branch

    return Promotion(dry, dry.on(active), dry.on(proposed_branch(active)))


def deliver_for_promoter(repo: Repository, branches: Promotion, draw: Draw, world: World) -> Delivered:
    """Plan from the dry branch's head and push the commit to `<active>-next`.

    A dry commit that changes what is planned from, and yet no plan, is recorded there as well: Promoter waits for it.

    Raises:
        GitopsDsError: an input is wrong, the remote refuses or cannot be reached, or (ContentionError) the branch kept
            moving until the tries ran out.
    """
    proposed = branches.proposed
    if branches.dry.branch in (branches.active.branch, proposed.branch):
        what = f"{branches.dry.branch} is both what is planned from and a branch of GitOps Promoter"
        fix = "--branch NAME, or another `git.pullRequest.promoter.branch` in the Reconciler"
        raise UsageError(Fault(what, fix=fix))
    return until_landed(repo, proposed, lambda: _tried(repo, branches, draw, world), world)


def _tried(repo: Repository, branches: Promotion, draw: Draw, world: World) -> Delivered | None:
    from gitops_ds.forge import HYDRATOR_METADATA

    dry, active, proposed = branches.dry, branches.active, branches.proposed
    planned_from, head = dry.head(repo, world), proposed.head(repo, world)
    parent = head or active.head(repo, world)
    if planned_from is None or parent is None:
        branch = active.branch if planned_from else dry.branch
        raise RepositoryError(Fault(f"the remote {dry.shown} has no branch {branch}", fix="push the branch once"))
    drawn = draw(Reading(repo, planned_from, parent))
    if drawn.plan.status == "held":
        return Delivered(drawn, branch=proposed.branch)
    checked(drawn, planned_from, proposed.branch, world)
    source = _last_input(repo, planned_from)
    owned = {**owned_by(drawn.plan), HYDRATOR_METADATA: _metadata(repo, source)}
    words = drawn if drawn.plan.status == "changed" else _recording(drawn, source)
    commit = make_commit(
        repo,
        owned,
        message_of(words, parent),
        identity=who(drawn, repo),
        when=world.now(),
        parent=parent,
        signing=signing_of(drawn),
    )
    if commit == parent:
        return Delivered(drawn, branch=proposed.branch)
    if not pushed(repo, proposed, commit, head, world):
        return None
    done = Delivered(drawn, commit, is_pushed=True, branch=proposed.branch)
    finished(done, planned_from, world)
    return done


def _recording(drawn: Drawn, source: str) -> Drawn:
    """The same with the words of a commit that only records what was planned from."""
    git = drawn.spec.git
    said = Message(subject=f"gitops-ds: {source[:12]} changes nothing here", body=git.message.body)
    return replace(drawn, spec=drawn.spec.model_copy(update={"git": git.model_copy(update={"message": said})}))


def _last_input(repo: Repository, commit: str) -> str:
    """The last commit that changed what plans are made from: a change of anything else is no news to Promoter."""
    found = history(repo, commit, INPUTS, 1)
    return found[0].commit if found and not found[0].shallow else commit


def _metadata(repo: Repository, source: str) -> bytes:
    from gitops_ds.forge import hydrator_metadata

    entry = commit_info(repo, source)
    subject, _, body = entry.message.strip().partition("\n")
    author = f"{entry.author} <{entry.email}>"
    return hydrator_metadata(source, author=author, date=entry.time.isoformat(), subject=subject, body=body.strip())
