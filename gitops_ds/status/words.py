"""What is not in place, in words: of a Placement's conditions and decision, a gate, a work, a policy.

Owns the wording and the code of each. Owns no look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from gitops_ds.ids import ClusterName, PolicyName
from gitops_ds.inventory import Condition
from gitops_ds.status.value import Copy, Finding, GateState

LONGEST_NAME: Final = 63
SATISFIED, MISCONFIGURED = "PlacementSatisfied", "PlacementMisconfigured"
COMPLIANT, NON_COMPLIANT = "Compliant", "NonCompliant"


def conditions_of(name: str, several: Iterable[Condition]) -> Iterator[Finding]:
    """What the hub itself says against a Placement, or that it says nothing yet.

    A Placement may be misconfigured and satisfied at once, so both conditions count.
    """
    by = {one.type: one for one in several}
    bad, good = by.get(MISCONFIGURED), by.get(SATISFIED)
    if bad is not None and bad.status == "True":
        yield Finding("misconfigured", f"Placement {name} is misconfigured: {_said(bad)}")
    if good is not None and good.status != "True":
        yield Finding("unsatisfied", f"Placement {name} is not satisfied: {_said(good)}")
    if good is None:
        long = f": its name has more than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else " yet"
        yield Finding("undecided", f"Placement {name}: the hub has not looked at it{long}")


def decision_of(
    name: str, wanted: Sequence[ClusterName], decided: Sequence[ClusterName] | None, *, is_told: bool
) -> Iterator[Finding]:
    """How the hub's decision differs from git's. `is_told`: something else says already why it is short."""
    lacking = [one for one in sorted(wanted) if one not in (decided or ())]
    extra = [one for one in decided or () if one not in wanted]
    if extra:
        instead = f"; it does not select {', '.join(lacking)}" if lacking else ""
        yield Finding("elsewhere", f"Placement {name}: the hub selects {', '.join(extra)}, and git does not{instead}")
    elif lacking and not is_told:
        what = "has decided nothing yet" if decided is None else f"does not select {', '.join(lacking)}"
        yield Finding("undecided" if decided is None else "elsewhere", f"Placement {name}: the hub {what}")


def closed_gate(cluster: ClusterName, gate: GateState) -> Finding:
    """A gate that lets nobody in."""
    value = f'is "{gate.value}"' if gate.value is not None else "is missing"
    wanted = " or ".join(gate.values)
    return Finding("gate", f"{cluster}: the gate is closed: claim {gate.claim} {value}, must be {wanted}", cluster)


def progress_of(copy: Copy) -> Iterator[Finding]:
    """How far the work of a copy has got that the hub has decided on."""
    work = copy.work
    if work is None:
        yield Finding("work", f"{copy.cluster}: there is no ManifestWork yet", copy.cluster)
    elif work.ending:
        yield Finding("work", f"{copy.cluster}: its work is being deleted", copy.cluster)
    elif not work.applied:
        yield Finding("work", f"{copy.cluster}: its work is not applied yet", copy.cluster)
    elif not work.available:
        yield Finding("work", f"{copy.cluster}: its work is applied and not available yet", copy.cluster)


def compliance_of(cluster: ClusterName, policy: PolicyName, said: str | None) -> Finding:
    """A cluster that does not comply with its policy, or not yet."""
    if said == NON_COMPLIANT:
        return Finding("noncompliant", f"{cluster} is {NON_COMPLIANT} with {policy}", cluster)
    what = f"is {said} with" if said else "has not said whether it complies with"
    return Finding("pending", f"{cluster} {what} {policy}", cluster)


def instant_text(moment: datetime) -> str:
    """An instant as RFC 3339 has it."""
    return moment.isoformat().replace("+00:00", "Z")


def _said(condition: Condition) -> str:
    words = ": ".join(part for part in (condition.reason, condition.message) if part) or condition.status
    return f"{words} (since {instant_text(condition.since)})" if condition.since else words
