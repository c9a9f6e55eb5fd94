"""What candidate policies supply and workloads request: labels and intent to exact amounts by resource kind.

Owns the meaning of the labels `resource-supply-*` and `resource-request-*`. Owns no capacity row.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.ids import Device, ResourceKind
from gitops_ds.intent.placement import PlacedWorkload
from gitops_ds.inventory import Policy, Workload
from gitops_ds.quantity import parse_quantity

SUPPLY_KIND = "resource-supply-kind"
SUPPLY_AMOUNT = "resource-supply-amount"
SUPPLY_DEVICE = "resource-supply-device"
REQUEST_KIND = "resource-request-kind"
REQUEST_AMOUNT = "resource-request-amount"

Amounts = Mapping[ResourceKind, Fraction]


def policy_supply(policy: Policy, because: str) -> tuple[Device, Amounts]:
    """The device that a candidate policy's labels name, and what the policy supplies.

    Raises:
        InputError: a label is missing, the amount is none, or the policy is switched off; `because` says who asked.
    """
    labels, faults = policy.labels, []
    missing = [key for key in (SUPPLY_KIND, SUPPLY_AMOUNT, SUPPLY_DEVICE) if not labels.get(key)]
    where = policy.source.at("metadata", "labels")
    if missing:
        what = f"policy {policy.id} has no label {', '.join(missing)}"
        fix = f"label it with {SUPPLY_KIND}, {SUPPLY_AMOUNT} and {SUPPLY_DEVICE}"
        faults.append(Fault(what, where, because, fix))
    if policy.disabled:
        at = policy.source.at("spec", "disabled")
        faults.append(Fault(f"policy {policy.id} is disabled: choosing it would configure nothing", at, because))
    raise_faults(InputError, faults)
    amount = _amount(labels[SUPPLY_AMOUNT], f"policy {policy.id}", SUPPLY_AMOUNT, policy, because)
    return Device(labels[SUPPLY_DEVICE]), {ResourceKind(labels[SUPPLY_KIND]): amount}


def workload_requests(placed: PlacedWorkload, workload: Workload, because: str) -> Amounts:
    """What one copy of a workload needs: as the intent says, else as its labels say, else nothing.

    Raises:
        InputError: one of the two labels is missing, or the amount is none; `because` says who asked.
    """
    if placed.requests is not None:
        return {ResourceKind(kind): amount for kind, amount in sorted(placed.requests.items()) if amount}
    labels = workload.labels
    kind, amount = labels.get(REQUEST_KIND), labels.get(REQUEST_AMOUNT)
    if kind is None and amount is None:
        return {}
    if not kind or not amount:
        missing = REQUEST_AMOUNT if kind else REQUEST_KIND
        what = f"workload {workload.id} has no label {missing}"
        raise InputError(Fault(what, workload.source.at("metadata", "labels"), because, "the two go together"))
    found = _amount(amount, f"workload {workload.id}", REQUEST_AMOUNT, workload, because)
    return {ResourceKind(kind): found} if found else {}


def _amount(text: str, who: str, label: str, carrier: Policy | Workload, because: str) -> Fraction:
    try:
        return parse_quantity(text)
    except ValueError as error:
        at = carrier.source.at("metadata", "labels", label)
        raise InputError(Fault(f"label {label} of {who}: {error}", at, because)) from None
