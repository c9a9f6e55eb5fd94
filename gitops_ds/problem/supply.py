"""What candidate policies supply and workloads request: annotations, labels and intent to exact amounts by kind.

Owns the meaning of the labels `resource-supply-*` and `resource-request-*` and of the annotations
`gitops-ds.io/supply` and `gitops-ds.io/requests`, and the rule between them: kind by kind, the annotation wins over
the labels. Owns no pod template (`pods.py`) and no capacity row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction

from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.ids import Device, ResourceKind
from gitops_ds.intent.base import as_quantity
from gitops_ds.intent.placement import PlacedWorkload
from gitops_ds.inventory import Policy, Workload
from gitops_ds.problem.pods import pod_requests
from gitops_ds.quantity import parse_quantity

SUPPLY_KIND = "resource-supply-kind"
SUPPLY_AMOUNT = "resource-supply-amount"
SUPPLY_DEVICE = "resource-supply-device"
REQUEST_KIND = "resource-request-kind"
REQUEST_AMOUNT = "resource-request-amount"
SUPPLY = "gitops-ds.io/supply"
REQUESTS = "gitops-ds.io/requests"

Amounts = Mapping[ResourceKind, Fraction]


def policy_supply(policy: Policy, because: str) -> tuple[Device, Amounts]:
    """The device that a candidate policy's label names, and what the policy supplies by its labels and annotation.

    Raises:
        InputError: a label is missing that the annotation does not stand in for, an amount is none, or the policy is
            switched off; `because` says who asked.
    """
    labels, faults = policy.labels, []
    several = SUPPLY in policy.annotations
    single = not several or SUPPLY_KIND in labels or SUPPLY_AMOUNT in labels
    needed = (*((SUPPLY_KIND, SUPPLY_AMOUNT) if single else ()), SUPPLY_DEVICE)
    missing = [key for key in needed if not labels.get(key)]
    if missing:
        what = f"policy {policy.id} has no label {', '.join(missing)}"
        fix = (
            f"label it with {', '.join(needed[:-1])} and {SUPPLY_DEVICE}"
            if single
            else f"label it with {SUPPLY_DEVICE}"
        )
        faults.append(Fault(what, policy.source.at("metadata", "labels"), because, fix))
    if policy.disabled:
        at = policy.source.at("spec", "disabled")
        faults.append(Fault(f"policy {policy.id} is disabled: choosing it would configure nothing", at, because))
    raise_faults(InputError, faults)
    found: dict[ResourceKind, Fraction] = {}
    if single:
        amount = _amount(labels[SUPPLY_AMOUNT], f"policy {policy.id}", SUPPLY_AMOUNT, policy, because)
        found[ResourceKind(labels[SUPPLY_KIND])] = amount
    if several:
        found |= _annotated(policy, f"policy {policy.id}", SUPPLY, because)
    return Device(labels[SUPPLY_DEVICE]), found


def workload_requests(placed: PlacedWorkload, workload: Workload, because: str) -> tuple[Amounts, tuple[str, ...]]:
    """What one copy of a workload needs, and what a reader should know of that.

    As the intent says; else as its annotation and labels say, and with `requestsFrom: pods`, of all other kinds what
    its pods request; else nothing.

    Raises:
        InputError: one of the two labels is missing, or an amount is none; `because` says who asked.
    """
    notes: tuple[str, ...] = ()
    if placed.requests is not None:
        found = {ResourceKind(kind): amount for kind, amount in placed.requests.items()}
    else:
        found = {}
        if placed.requestsFrom == "pods":
            counted, notes = pod_requests(workload, because)
            found |= counted
        found |= _labelled(workload, because)
        if REQUESTS in workload.annotations:
            found |= _annotated(workload, f"workload {workload.id}", REQUESTS, because)
    return {kind: amount for kind, amount in sorted(found.items()) if amount}, notes


def requests_on(placed: PlacedWorkload, requests: Amounts) -> dict[Device, Amounts]:
    """What one copy needs on each device that the intent names: there, kind by kind, that wins over the rest."""
    found: dict[Device, Amounts] = {}
    for device, several in sorted(placed.requestsOn.items()):
        here = {**requests, **{ResourceKind(kind): amount for kind, amount in several.items()}}
        found[Device(device)] = {kind: amount for kind, amount in sorted(here.items()) if amount}
    return found


def _labelled(workload: Workload, because: str) -> dict[ResourceKind, Fraction]:
    labels = workload.labels
    kind, amount = labels.get(REQUEST_KIND), labels.get(REQUEST_AMOUNT)
    if kind is None and amount is None:
        return {}
    if not kind or not amount:
        missing = REQUEST_AMOUNT if kind else REQUEST_KIND
        what = f"workload {workload.id} has no label {missing}"
        raise InputError(Fault(what, workload.source.at("metadata", "labels"), because, "the two go together"))
    return {ResourceKind(kind): _amount(amount, f"workload {workload.id}", REQUEST_AMOUNT, workload, because)}


def _annotated(carrier: Policy | Workload, who: str, key: str, because: str) -> dict[ResourceKind, Fraction]:
    """The amounts of an annotation: a JSON object of kinds to quantities, each kind once."""
    at = carrier.source.at("metadata", "annotations", key)
    what, fix = f"annotation {key} of {who}", """write a JSON object, such as '{"gpu": "2", "memory": "96Gi"}'"""
    try:
        pairs = json.loads(carrier.annotations[key], object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise InputError(Fault(f"{what} is no JSON: {error}", at, because, fix)) from None
    if not isinstance(pairs, _Pairs):
        raise InputError(Fault(f"{what} is no JSON object", at, because, fix))
    faults, found = [], dict[ResourceKind, Fraction]()
    if len(dict(pairs)) < len(pairs) or "" in dict(pairs):
        faults.append(Fault(f"{what} names a kind twice, or none", at, because))
    for kind, amount in pairs:
        try:
            found[ResourceKind(kind)] = as_quantity(amount)
        except ValueError as error:
            faults.append(Fault(f"{what}, {kind}: {error}", at, because))
    raise_faults(InputError, faults)
    return found


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it is written, so that a key that stands twice is seen."""


def _amount(text: str, who: str, label: str, carrier: Policy | Workload, because: str) -> Fraction:
    try:
        return parse_quantity(text)
    except ValueError as error:
        at = carrier.source.at("metadata", "labels", label)
        raise InputError(Fault(f"label {label} of {who}: {error}", at, because)) from None
