"""The guards as the verbs ask them: with this machine's clock, and with what the repository's history says.

Owns the gathering of what guards look at. Owns no guard.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from gitops_ds.cli.inputs import Inputs
from gitops_ds.guards import GuardContext, Urgent, guarded
from gitops_ds.ids import IntentId
from gitops_ds.intent.holding import UNNAMED
from gitops_ds.intent.load import Intents
from gitops_ds.intent.reconciler import Reconciler, ReconcilerMetadata
from gitops_ds.overrides import Past
from gitops_ds.past import read_past
from gitops_ds.reconcile import Plan
from gitops_ds.whereabouts import Mine, read_moved

__all__ = ["UNNAMED", "mine_of", "with_guards"]


def with_guards(
    inputs: Inputs, made: Plan, current: str, proposed: str | None = None, urgent: Urgent | None = None
) -> Plan:
    """The plan, held by the guards that it runs into.

    Args:
        inputs: what it was made from.
        made: the plan.
        current: the commit whose rendered folder it was held against.
        proposed: where the pull request's branch is, if there is one.
        urgent: who commits in spite of a freeze, and why.
    """
    said = inputs.reconciler.intent if inputs.reconciler else Reconciler(metadata=ReconcilerMetadata(name=UNNAMED))
    past = Past()
    if made.status != "unchanged":
        past = read_past(inputs.repo, current, inputs.current, inputs.root, branch=proposed)
        moved = read_moved(inputs.repo, current, inputs.current, mine_of(said, inputs.everyone))
        past = replace(past, moved=moved)
    context = GuardContext(
        now=datetime.now(UTC),
        instant=inputs.instant,
        inventory=inputs.inventory,
        holds=inputs.said.holds,
        resumes=inputs.said.resumes,
        past=past,
        urgent=urgent,
    )
    return guarded(made, said, context)


def mine_of(reconciler: Reconciler, everyone: Intents) -> Mine:
    """What is a reconciler's own among all that the repository says."""
    name, several = reconciler.metadata.name, [one.intent for one in everyone.reconcilers]
    owned = {one.metadata.name: _intents(everyone.below(one.spec.intents)) for one in (*several, reconciler)}
    roots = {one.metadata.name: one.spec.rendered for one in several}
    return Mine(name, reconciler.spec.rendered, roots, owned)


def _intents(said: Intents) -> frozenset[IntentId]:
    return frozenset({one.id for one in said.placements} | {one.id for one in said.scorings})
