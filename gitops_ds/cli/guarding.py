"""The guards as the verbs ask them: with this machine's clock, and with what the repository's history says.

Owns the gathering of what guards look at. Owns no guard.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gitops_ds.cli.inputs import Inputs
from gitops_ds.guards import GuardContext, Urgent, guarded
from gitops_ds.intent.reconciler import Reconciler, ReconcilerMetadata
from gitops_ds.overrides import Past
from gitops_ds.past import read_past
from gitops_ds.reconcile import Plan

UNNAMED = "default"
"""The name that a reconciler has where no document gives it one."""


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
