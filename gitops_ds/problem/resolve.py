"""An intent held against the inventory: which clusters, configurations and workloads it means, or what is wrong.

Owns the checks that need both the intent and the hub's facts, each fault with the line it comes from. Owns no score and
no array.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from gitops_ds.errors import Fault, InputError, Place
from gitops_ds.graph import find_cycle, groups
from gitops_ds.ids import (
    HUB,
    ClusterName,
    Device,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    ResourceKind,
    WorkloadId,
    WorkloadName,
)
from gitops_ds.intent.base import Selector
from gitops_ds.intent.load import LoadedIntent
from gitops_ds.intent.placement import ALLOCATABLE, ClusterCandidates, ClusterTerm, PlacedWorkload
from gitops_ds.intent.spelling import guess
from gitops_ds.inventory import Cluster, ClusterSet, Inventory
from gitops_ds.problem.model import Configuration, Demand, Incumbent
from gitops_ds.problem.supply import Amounts, policy_supply, requests_on, workload_requests
from gitops_ds.quantity import parse_quantity
from gitops_ds.selectors import matches

SET_LABEL = "cluster.open-cluster-management.io/clusterset"
PIN_LABELS = ("cluster-name", "name")
"""Labels that fleets are used to give a ManagedCluster its own name by, in the order they are looked for."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """One intent, resolved: per cluster its configurations; per workload its demand and the clusters it may use.

    `lost` are clusters that it names and git knows, but the hub has no more; `notes` say what a reader should know.
    """

    loaded: LoadedIntent
    configurations: Mapping[ClusterName, tuple[Configuration, ...]]
    demands: Mapping[WorkloadId, tuple[Demand, PlacedWorkload]]
    pins: Mapping[ClusterName, str | None]
    lost: tuple[ClusterName, ...] = ()
    notes: tuple[str, ...] = ()


def resolve(
    loaded: LoadedIntent, inventory: Inventory, incumbent: Incumbent
) -> tuple[Resolved | None, tuple[Fault, ...]]:
    """`loaded` with its names looked up, and every fault that was met on the way (None where there is one)."""
    empty = _empty_namespace(loaded, inventory)
    if empty is not None:
        return None, (empty,)
    faults: list[Fault] = list(_unread_sources(loaded, inventory))
    entries, lost = _entries(loaded, inventory, incumbent, faults)
    configurations = {name: _configurations(loaded, i, inventory, name, faults) for name, i in sorted(entries.items())}
    pins: dict[ClusterName, str | None] = {}
    for name, i in sorted(entries.items()):
        at = loaded.at("spec", "clusters", i)
        faults += _reach(loaded, inventory, inventory.cluster[name], at)
        pins[name] = _pin(loaded, inventory, inventory.cluster[name], at, faults)
    notes = [_lost_note(name) for name in lost]
    wrong, odd = _odd_terms(loaded, inventory, incumbent, {*entries, *lost})
    faults += wrong
    notes += odd
    demands = dict(_demands(loaded, inventory, incumbent, faults, notes))
    faults += _relations(loaded)
    if faults:
        return None, tuple(faults)
    return Resolved(loaded, configurations, demands, pins, tuple(lost), tuple(notes)), ()


def _unread_sources(loaded: LoadedIntent, inventory: Inventory) -> Iterator[Fault]:
    """Sources of scores that nobody has read: without them every score would merely seem to be missing."""
    for i, score in enumerate(loaded.intent.spec.preference.scores):
        if score.source != HUB and score.source not in inventory.sources:
            what = f"the score source {score.source} has not been read"
            at = loaded.at("spec", "preference", "scores", i, "source")
            yield Fault(what, at, fix="name it in scoreSources of the Reconciler that plans this intent")


def selects(selector: Selector, cluster: Cluster) -> bool:
    """Whether an intent's selector selects the cluster by its labels and claims."""
    by_label = ((r.key, r.operator, r.values) for r in selector.matchExpressions)
    by_claim = ((r.key, r.operator, r.values) for r in selector.claimExpressions)
    return matches(cluster.labels, selector.matchLabels, by_label) and matches(cluster.claims, {}, by_claim)


def names(terms: Sequence[ClusterTerm], cluster: Cluster) -> bool:
    """Whether one of the terms means the cluster, by name or by selector."""
    return any(t.name == cluster.name or (t.selector is not None and selects(t.selector, cluster)) for t in terms)


def allows(placed: PlacedWorkload, cluster: Cluster) -> bool:
    """Whether pin, allow and avoid let the workload run on the cluster."""
    named = placed.pin in (None, cluster.name)
    return named and (not placed.allow or names(placed.allow, cluster)) and not names(placed.avoid, cluster)


def _entries(
    loaded: LoadedIntent, inventory: Inventory, incumbent: Incumbent, faults: list[Fault]
) -> tuple[dict[ClusterName, int], list[ClusterName]]:
    """The entry of spec.clusters that holds for each cluster: one that names it comes before any that selects it.

    And the clusters that are lost: a name that neither the hub nor git knows is a fault, one that git knows is not.
    """
    found: dict[ClusterName, int] = {}
    lost: list[ClusterName] = []
    candidates = loaded.intent.spec.clusters
    for i, entry in enumerate(candidates):
        if entry.name is not None:
            if ClusterName(entry.name) in inventory.cluster:
                found[ClusterName(entry.name)] = i
            elif ClusterName(entry.name) in incumbent.clusters:
                lost.append(ClusterName(entry.name))
            else:
                at = loaded.at("spec", "clusters", i, "name")
                fix = guess(entry.name, inventory.cluster, "clusters")
                faults.append(Fault(f"cluster {entry.name} is not on the hub", at, fix=fix))
    named = set(found)
    for i, entry in enumerate(candidates):
        if entry.selector is None:
            continue
        at = loaded.at("spec", "clusters", i, "selector")
        selected = [c.name for c in inventory.clusters if c.name not in named and selects(entry.selector, c)]
        for name in selected:
            if name in found:
                faults.append(Fault(f"cluster {name} is selected by two entries", at, fix="name it, or narrow one"))
            found[name] = i
    return found, sorted(lost)


def _empty_namespace(loaded: LoadedIntent, inventory: Inventory) -> Fault | None:
    """The one fault of an intent in a namespace that holds nothing at all: whatever else it names is not there."""
    known = {
        *(str(binding.namespace) for binding in inventory.set_bindings),
        *(str(policy.namespace) for policy in inventory.policies),
        *(str(workload.namespace) for workload in inventory.workloads),
    }
    namespace = loaded.intent.metadata.namespace
    if namespace in known:
        return None
    what = f"namespace {namespace} holds nothing that the intent names"
    why = "there is no policy, no ManifestWorkReplicaSet and no ManagedClusterSetBinding in it"
    return Fault(what, loaded.at("metadata", "namespace"), why, guess(namespace, known, "namespaces"))


def _odd_terms(
    loaded: LoadedIntent, inventory: Inventory, incumbent: Incumbent, mine: Collection[ClusterName]
) -> tuple[list[Fault], list[str]]:
    """What pin, allow and avoid say of clusters that are none of the intent's, as faults and as notes.

    A wrong name is a fault. A name that git knows, or that an entry with a selector may have meant until a label
    changed on the hub, is a note: no change of the hub is to stop every plan. So is a selector that selects nothing.
    """
    faults: list[Fault] = []
    notes: list[str] = []
    by_selector = any(entry.selector is not None for entry in loaded.intent.spec.clusters)
    for i, placed in enumerate(loaded.intent.spec.workloads):
        for path, term in _terms(placed):
            at = loaded.at("spec", "workloads", i, *path)
            word, name = f"{path[0]} of {placed.name}", ClusterName(term.name or "")
            if term.selector is not None:
                if not any(selects(term.selector, inventory.cluster[c]) for c in mine if c in inventory.cluster):
                    notes.append(f"{at}: {word} selects no cluster of this intent")
            elif name not in mine:
                what = f"{word} names {name}, which is no cluster of this intent"
                if name in incumbent.clusters or (by_selector and name in inventory.cluster):
                    notes.append(f"{at}: {what}")
                else:
                    faults.append(Fault(what, at, fix=guess(name, mine, "clusters")))
    return faults, notes


def _terms(placed: PlacedWorkload) -> Iterator[tuple[tuple[str | int, ...], ClusterTerm]]:
    if placed.pin is not None:
        yield ("pin",), ClusterTerm(name=placed.pin)
    yield from ((("allow", j), term) for j, term in enumerate(placed.allow))
    yield from ((("avoid", j), term) for j, term in enumerate(placed.avoid))


def _lost_note(name: ClusterName) -> str:
    return f"cluster {name} is not on the hub any more: what git has there goes elsewhere, or is kept"


def _configurations(
    loaded: LoadedIntent, i: int, inventory: Inventory, name: ClusterName, faults: list[Fault]
) -> tuple[Configuration, ...]:
    entry = loaded.intent.spec.clusters[i]
    fixed = _fixed(loaded, i, entry, inventory.cluster[name], faults)
    found = []
    if not entry.policies or fixed:
        found.append(Configuration(name, None, Device(""), fixed))
    devices: dict[str, PolicyId] = {}
    for j, template in enumerate(entry.policies):
        at = loaded.at("spec", "clusters", i, "policies", j)
        policy = PolicyId(loaded.id.namespace, PolicyName(template.replace("${cluster}", name)))
        if policy not in inventory.policy:
            what = f"policy {policy} is neither on the hub nor in policies/"
            why = inventory.absence("Policy") or f"{name} is to choose from it"
            faults.append(Fault(what, at, why, "write it, or correct the name"))
            continue
        try:
            device, supply = policy_supply(inventory.policy[policy], f"a candidate of {name}, by {at}")
        except InputError as error:
            faults += error.faults
            continue
        if device in devices and devices[device] != policy:
            faults.append(Fault(f"{policy} and {devices[device]} of {name} supply the same device {device}", at))
        devices[device] = policy
        found.append(Configuration(name, policy, device, _sum(fixed, supply)))
    return tuple(sorted(found, key=lambda c: (c.policy is not None, c.policy)))


def _sum(first: Amounts, second: Amounts) -> Amounts:
    return {k: first.get(k, Fraction(0)) + second.get(k, Fraction(0)) for k in sorted({*first, *second})}


def _fixed(
    loaded: LoadedIntent, i: int, entry: ClusterCandidates, cluster: Cluster, faults: list[Fault]
) -> dict[ResourceKind, Fraction]:
    """What the cluster has whatever the policy, less the reserve."""
    found: dict[ResourceKind, Fraction] = {}
    for kind, amount in sorted(entry.capacity.items()):
        at = loaded.at("spec", "clusters", i, "capacity", kind)
        if amount != ALLOCATABLE:
            found[ResourceKind(kind)] = Fraction(amount)
        elif kind not in cluster.allocatable:
            faults.append(Fault(f"{cluster.name} reports no allocatable {kind}", at, fix="write the amount itself"))
        else:
            try:
                found[ResourceKind(kind)] = parse_quantity(cluster.allocatable[kind])
            except ValueError as error:
                faults.append(Fault(f"allocatable {kind} of {cluster.name}: {error}", cluster.source.at("status")))
    for kind, amount in sorted(entry.reserve.items()):
        if ResourceKind(kind) in found:
            found[ResourceKind(kind)] = max(found[ResourceKind(kind)] - amount, Fraction(0))
        else:
            at = loaded.at("spec", "clusters", i, "reserve", kind)
            faults.append(Fault(f"reserve names {kind}, and capacity does not", at))
    return found


def _reach(loaded: LoadedIntent, inventory: Inventory, cluster: Cluster, at: Place) -> Iterator[Fault]:
    """The fault of a namespace whose Placements cannot select the cluster, because no bound set holds it."""
    namespace = loaded.id.namespace
    sets = {s.name: s for s in inventory.cluster_sets}
    bound = (*inventory.bound_sets(namespace), *loaded.intent.spec.bindClusterSets)
    if not bound and not inventory.set_bindings:
        what = "the snapshot holds no ManagedClusterSetBinding at all"
        why = f"without one in namespace {namespace}, Placements there select nothing"
        fix = "save them into it: kubectl get managedclustersetbindings -A -o yaml; or bind sets: `bindClusterSets`"
        yield Fault(what, loaded.at("spec", "clusters"), why, fix)
    elif not any(_holds(sets.get(name, ClusterSet(name)), cluster) for name in bound):
        own = cluster.labels.get(SET_LABEL, "global")
        what = f"no cluster set that is bound in namespace {namespace} holds {cluster.name}"
        why = "Placements there would select nothing"
        yield Fault(what, at, why, f"bind its set: `bindClusterSets: [{own}]` in spec, or a ManagedClusterSetBinding")


def _holds(found: ClusterSet, cluster: Cluster) -> bool:
    if found.name == "global":
        return True
    if found.match_labels is None:
        return cluster.labels.get(SET_LABEL) == found.name
    return matches(cluster.labels, found.match_labels, found.match_expressions)


def _pin(loaded: LoadedIntent, inventory: Inventory, cluster: Cluster, at: Place, faults: list[Fault]) -> str | None:
    """The label that selects the cluster and nothing else; None where its name is selected by CEL."""
    key = loaded.intent.spec.pinLabel
    for label in (key,) if key else PIN_LABELS:
        if cluster.labels.get(label) == cluster.name:
            return label
    if not inventory.placement_has_cel:
        label = key or PIN_LABELS[0]
        what = f"no label of ManagedCluster {cluster.name} carries its name, so no Placement can be pinned to it"
        why = "the hub's Placement is not known to have celSelector"
        crd = "kubectl get crd placements.cluster.open-cluster-management.io -o yaml"
        fix = f"kubectl label managedcluster {cluster.name} {label}={cluster.name}; or save the CRD, which may have it,"
        faults.append(Fault(what, at, why, f"{fix} into the snapshot: {crd}"))
    return None


def _demands(
    loaded: LoadedIntent, inventory: Inventory, incumbent: Incumbent, faults: list[Fault], notes: list[str]
) -> Iterator[tuple[WorkloadId, tuple[Demand, PlacedWorkload]]]:
    placements: dict[str, str] = {}
    for i, placed in enumerate(loaded.intent.spec.workloads):
        try:
            demand, said = _demand(loaded, i, placed, inventory, incumbent)
        except InputError as error:
            faults += error.faults
            continue
        if demand.placement in placements:
            what = f"{placements[demand.placement]} and {placed.name} follow one Placement, {demand.placement}"
            at = loaded.at("spec", "workloads", i, "name")
            faults.append(Fault(what, at, "it could place only both or neither", "give each a placementRef of its own"))
        placements[demand.placement] = placed.name
        notes += said
        notes += (_lost_note(name) for name in demand.incumbents if name not in inventory.cluster)
        yield demand.workload, (demand, placed)


def _demand(
    loaded: LoadedIntent, i: int, placed: PlacedWorkload, inventory: Inventory, incumbent: Incumbent
) -> tuple[Demand, tuple[str, ...]]:
    at = partial(loaded.at, "spec", "workloads", i)
    key = WorkloadId(Namespace(loaded.id.namespace), WorkloadName(placed.name))
    if key not in inventory.workload:
        what = f"ManifestWorkReplicaSet {key} is neither on the hub nor in the repository"
        why = inventory.absence("ManifestWorkReplicaSet")
        raise InputError(Fault(what, at("name"), why, "write it, or correct the name"))
    workload = inventory.workload[key]
    refs, wanted = workload.placement_refs, placed.placement
    why = f"placed by {at('name')}"
    if not refs:
        what = f"workload {key} has no placementRefs, so no Placement reaches it"
        raise InputError(Fault(what, workload.source.at("spec", "placementRefs"), why, "give it one"))
    if wanted is not None and wanted not in refs:
        what = f"workload {key} has no placementRef {wanted}"
        raise InputError(Fault(what, at("placement"), f"it has {', '.join(sorted(refs))}"))
    if wanted is None and len(refs) > 1:
        what = f"workload {key} has several placementRefs"
        fix = f"say which is ours: `placement: {min(refs)}`"
        raise InputError(Fault(what, at("name"), f"they are {', '.join(sorted(refs))}", fix))
    placement = PlacementName(wanted or refs[0])
    if len(placement) > 63:
        what = f"the Placement name {placement} of {key} is longer than 63 characters"
        raise InputError(Fault(what, workload.source.at("spec", "placementRefs"), "OCM would never decide it"))
    if len(f"{key.namespace}.{key.name}") > 63:
        what = f"{key.namespace}.{key.name} is longer than 63 characters"
        raise InputError(Fault(what, at("name"), "OCM would never apply the ManifestWorkReplicaSet", "shorten it"))
    requests, notes = workload_requests(placed, workload, why)
    demand = Demand(
        workload=key,
        intent=loaded.id,
        app=placed.app or workload.labels.get("app") or key.name,
        placement=placement,
        requests=requests,
        copies=placed.copies,
        priority=placed.priority,
        incumbents=incumbent.placements.get(key, ()),
        requests_on=requests_on(placed, requests),
        min_copies=placed.minCopies,
    )
    return demand, notes


def _relations(loaded: LoadedIntent) -> Iterator[Fault]:
    workloads = loaded.intent.spec.workloads
    cycle = find_cycle({w.name: w.after for w in workloads})
    if cycle:
        i = next(i for i, w in enumerate(workloads) if w.name == cycle[0])
        path = " after ".join(cycle)
        yield Fault(f"the order goes in a circle: {path}", loaded.at("spec", "workloads", i, "after"))
    number = {w.name: i for i, w in enumerate(workloads)}
    joined = ((number[w.name], number[other]) for w in workloads for other in w.with_)
    group = {i: members for members in groups(number.values(), joined) for i in members}
    for i, w in enumerate(workloads):
        for j, other in enumerate(w.apart):
            if number[other] in group[i] and other not in w.with_:
                at = loaded.at("spec", "workloads", i, "apart", j)
                yield Fault(f"{w.name} is to be apart from {other}, and `with` puts both on the same clusters", at)
