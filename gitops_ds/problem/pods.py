"""What the pods of a workload request, summed from its pod templates as the Kubernetes scheduler counts them.

Owns the rules of Kubernetes for one pod (defaults from limits, init containers, sidecars, overhead, requests of the
pod as a whole) and how many pods each kind of object runs. Owns no label and no annotation (`supply.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.ids import ResourceKind
from gitops_ds.intent.base import as_quantity
from gitops_ds.inventory import Workload

Amounts = dict[ResourceKind, Fraction]
Route = tuple[str | int, ...]

WHERE: Route = ("spec", "manifestWorkTemplate", "workload", "manifests")
_REPLICATED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def pod_requests(workload: Workload, because: str) -> tuple[Amounts, tuple[str, ...]]:
    """What all pods of one copy request together, by kind, and what a reader should know of the count.

    A Job counts the pods that it runs at a time, a CronJob one run of its job, a DaemonSet one pod, since nobody knows
    the number of nodes. Objects of other kinds run no pods that are known here.

    Raises:
        InputError: a template is not as Kubernetes has it; `because` says who asked.
    """
    count = _Count(workload, because)
    total: Amounts = {}
    for i, manifest in enumerate(workload.manifests):
        _add(total, count.object(manifest, (*WHERE, i)))
    raise_faults(InputError, count.faults)
    if not count.pods:
        count.notes.append(f"{workload.id} is to request what its pods do, and carries no pod: it requests nothing")
    return {kind: total[kind] for kind in sorted(total) if total[kind]}, tuple(count.notes)


@dataclass
class _Count:
    """The reading of one workload's manifests; faults and notes are gathered on the way."""

    workload: Workload
    because: str
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pods: int = 0

    def object(self, value: Any, at: Route) -> Amounts:
        """What the pods of one object request."""
        if not isinstance(value, Mapping):
            return {}
        kind = str(value.get("kind"))
        if kind == "List":
            total: Amounts = {}
            for i, item in enumerate(self.items(value, "items", at)):
                _add(total, self.object(item, (*at, "items", i)))
            return total
        found = self.template(value, kind, at)
        if found is None:
            return {}
        times, pod, where = found
        self.pods += 1
        if kind == "DaemonSet":
            self.notes.append(f"{self.workload.id}: its DaemonSet {_name(value)} counts as one pod, not one a node")
        return {k: times * amount for k, amount in self.pod(pod, where).items()}

    def template(self, value: Mapping[str, Any], kind: str, at: Route) -> tuple[int, Mapping[str, Any], Route] | None:
        """How many pods an object runs, and the pod's spec with its route; None for an object that runs none."""
        if kind == "Pod":
            return 1, self.mapping(value, "spec", at), (*at, "spec")
        if kind == "CronJob":
            job = self.mapping(self.mapping(value, "spec", at), "jobTemplate", (*at, "spec"))
            return self.template({**job, "kind": "Job"}, "Job", (*at, "spec", "jobTemplate"))
        if kind not in (*_REPLICATED, "Job", "DaemonSet"):
            return None
        spec, here = self.mapping(value, "spec", at), (*at, "spec")
        times = 1
        if kind in _REPLICATED:
            times = self.whole(spec, "replicas", here, 1)
        elif kind == "Job":
            times = self.whole(spec, "parallelism", here, 1)
            times = min(times, self.whole(spec, "completions", here, times))
        template = self.mapping(spec, "template", here)
        return times, self.mapping(template, "spec", (*here, "template")), (*here, "template", "spec")

    def pod(self, spec: Mapping[str, Any], at: Route) -> Amounts:
        """What one pod requests.

        The containers and sidecars together, or the greediest moment of the start where that is more: an init container
        runs beside the sidecars that started before it. What the pod says as a whole replaces that, overhead is added.
        """
        total: Amounts = {}
        for i, container in enumerate(self.items(spec, "containers", at)):
            _add(total, self.container(container, (*at, "containers", i)))
        sidecars: Amounts = {}
        start: Amounts = {}
        for i, container in enumerate(self.items(spec, "initContainers", at)):
            need = self.container(container, (*at, "initContainers", i))
            if isinstance(container, Mapping) and container.get("restartPolicy") == "Always":
                _add(total, need)
                _add(sidecars, need)
                need = {}
            _raise_to(start, _sum(need, sidecars))
        _raise_to(total, start)
        total |= self.whole_pod(spec, total, at)
        _add(total, self.amounts(spec, "overhead", at))
        return total

    def container(self, value: Any, at: Route) -> Amounts:
        """What a container requests: its limits where it names no request of that kind."""
        if not isinstance(value, Mapping):
            self.fault("this is no container", at)
            return {}
        resources, here = self.mapping(value, "resources", at), (*at, "resources")
        return {**self.amounts(resources, "limits", here), **self.amounts(resources, "requests", here)}

    def whole_pod(self, spec: Mapping[str, Any], containers: Amounts, at: Route) -> Amounts:
        """What the pod's own `resources` set instead of the sum: a limit only where no container requests that kind."""
        resources, here = self.mapping(spec, "resources", at), (*at, "resources")
        limits = self.amounts(resources, "limits", here)
        own = {k: amount for k, amount in limits.items() if k not in containers}
        own |= self.amounts(resources, "requests", here)
        return {k: amount for k, amount in own.items() if k in ("cpu", "memory") or k.startswith("hugepages-")}

    def amounts(self, value: Mapping[str, Any], key: str, at: Route) -> Amounts:
        """A mapping of kinds to quantities, as Kubernetes writes them: text or numbers."""
        found: Amounts = {}
        for kind, amount in self.mapping(value, key, at).items():
            try:
                found[ResourceKind(str(kind))] = as_quantity(str(amount) if isinstance(amount, float) else amount)
            except ValueError as error:
                self.fault(f"{kind}: {error}", (*at, key, str(kind)))
        return found

    def mapping(self, value: Mapping[str, Any], key: str, at: Route) -> Mapping[str, Any]:
        found = value.get(key)
        if found is not None and not isinstance(found, Mapping):
            self.fault(f"{key} is no mapping", (*at, key))
        return found if isinstance(found, Mapping) else {}

    def items(self, value: Mapping[str, Any], key: str, at: Route) -> Sequence[Any]:
        found = value.get(key)
        if found is not None and not isinstance(found, (list, tuple)):
            self.fault(f"{key} is no list", (*at, key))
        return found if isinstance(found, (list, tuple)) else ()

    def whole(self, value: Mapping[str, Any], key: str, at: Route, default: int) -> int:
        found = value.get(key)
        if found is None:
            return default
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            self.fault(f"{key} is no number of pods", (*at, key))
            return default
        return found

    def fault(self, what: str, at: Route) -> None:
        place = self.workload.source.at(*at)
        self.faults.append(Fault(f"pods of {self.workload.id}: {what}", place, self.because))


def _name(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _add(total: Amounts, more: Mapping[ResourceKind, Fraction]) -> None:
    for kind, amount in more.items():
        total[kind] = total.get(kind, Fraction(0)) + amount


def _sum(first: Amounts, second: Amounts) -> Amounts:
    found = dict(first)
    _add(found, second)
    return found


def _raise_to(total: Amounts, least: Amounts) -> None:
    for kind, amount in least.items():
        total[kind] = max(total.get(kind, Fraction(0)), amount)
