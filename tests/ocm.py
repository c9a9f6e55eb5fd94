"""A small player of Open Cluster Management on the emulated hub: it applies a rendered tree and does what OCM would.

Placement to PlacementDecision to ManifestWork to Available, binding to the policy's compliance, and the policy
watcher's one-bit claim, which says no from the moment a cluster's policy changes until it complies. One event at a
time, so that a test can look at what runs after each.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.hubs import CLUSTER, WORK, Hub, Obj

CLAIM = "policy-watcher-claim"
LABEL = "work.open-cluster-management.io/manifestworkreplicaset"
Copy = tuple[str, str]


@dataclass
class Ocm:
    """OCM on a hub.

    Attributes:
        watch: called after every event with the copies that run, (workload, cluster).
        broken: policies that no cluster ever complies with.
    """

    hub: Hub
    watch: Callable[[frozenset[Copy]], None] = lambda _: None
    broken: set[str] = field(default_factory=set)

    def sync(self, tree: Mapping[str, bytes]) -> None:
        """Apply a rendered tree as a GitOps controller does: prune what it no longer holds."""
        wanted = [yaml.safe_load(body) for path, body in sorted(tree.items()) if path.endswith(".yaml")]
        objects = [obj for obj in wanted if obj["kind"] in ("Placement", "PlacementBinding")]
        keep = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
        for plural in ("placements", "placementbindings"):
            for obj in self.hub.objects(plural):
                if (obj["kind"], obj["metadata"]["name"]) not in keep:
                    self.hub.remove(plural, obj["metadata"]["name"], obj["metadata"]["namespace"])
        before = self._policies()
        for obj in objects:
            self.hub.put(obj)
        for cluster, policy in self._policies().items():
            if before.get(cluster) != policy:
                self._comply(cluster, policy, "Pending")
                self._claim(cluster, "noncompliant")
        self._select()

    def settle(self) -> None:
        """Do everything that can be done, one event after the other."""
        while self.step():
            pass

    def step(self) -> bool:
        """Do one thing; whether there was any."""
        event = next(self._events(), None)
        if event is not None:
            event()
            self._select()
        return event is not None

    def running(self) -> frozenset[Copy]:
        """The copies whose work is Available and not on its way out."""
        return frozenset(
            (work["metadata"]["name"], work["metadata"]["namespace"])
            for work in self.hub.objects("manifestworks")
            if _is_available(work) and "deletionTimestamp" not in work["metadata"]
        )

    def _events(self) -> Iterator[Callable[[], None]]:
        for cluster, policy in sorted(self._policies().items()):
            if policy in self.broken:
                continue
            if self._complies(cluster, policy) != "Compliant":
                yield lambda c=cluster, p=policy: self._comply(c, p, "Compliant")  # type: ignore[misc]
            elif self._claims(cluster).get(CLAIM) != "compliant":
                yield lambda c=cluster: self._claim(c, "compliant")  # type: ignore[misc]
        for work in self.hub.objects("manifestworks"):
            if "deletionTimestamp" in work["metadata"]:
                yield lambda w=work: self.hub.remove(  # type: ignore[misc]
                    "manifestworks", w["metadata"]["name"], w["metadata"]["namespace"]
                )
            elif not _is_available(work):
                yield lambda w=work: self._available(w)  # type: ignore[misc]

    def _select(self) -> None:
        """What the placement and work controllers do at once."""
        for replica_set in self.hub.objects("manifestworkreplicasets"):
            name, namespace = replica_set["metadata"]["name"], replica_set["metadata"]["namespace"]
            placement = replica_set["spec"]["placementRefs"][0]["name"]
            found = self.hub.get("placements", placement, namespace)
            if found is not None:
                chosen = [c for c in self.hub.objects("managedclusters") if self._selects(found, c)]
                self._decide(found, [c["metadata"]["name"] for c in chosen])
                self._work(name, namespace, {c["metadata"]["name"] for c in chosen})
        self.watch(self.running())

    def _selects(self, placement: Obj, cluster: Obj) -> bool:
        terms = [one["requiredClusterSelector"] for one in placement["spec"]["predicates"]]
        labels, claims = cluster["metadata"]["labels"], self._claims(cluster["metadata"]["name"])
        return any(
            _holds(term.get("labelSelector", {}), labels) and _holds(term.get("claimSelector", {}), claims)
            for term in terms
        )

    def _decide(self, placement: Obj, clusters: list[str]) -> None:
        name = placement["metadata"]["name"]
        labels = {f"{CLUSTER}/placement": name}
        metadata = {"name": f"{name}-decision-1", "namespace": placement["metadata"]["namespace"], "labels": labels}
        decisions = [{"clusterName": c, "reason": ""} for c in sorted(clusters)]
        body = {"apiVersion": f"{CLUSTER}/v1beta1", "kind": "PlacementDecision", "metadata": metadata}
        self.hub.put({**body, "status": {"decisions": decisions}})

    def _work(self, name: str, namespace: str, clusters: set[str]) -> None:
        for cluster in (c["metadata"]["name"] for c in self.hub.objects("managedclusters")):
            work = self.hub.get("manifestworks", name, cluster)
            if work is None and cluster in clusters:
                metadata = {"name": name, "namespace": cluster, "labels": {LABEL: f"{namespace}.{name}"}}
                self.hub.put({"apiVersion": f"{WORK}/v1", "kind": "ManifestWork", "metadata": metadata, "spec": {}})
            elif work is not None and cluster not in clusters:
                work["metadata"]["deletionTimestamp"] = "2026-01-15T09:00:00Z"
                self.hub.put(work)

    def _available(self, work: Obj) -> None:
        generation = work["metadata"]["generation"]
        conditions = [
            {"type": kind, "status": "True", "observedGeneration": generation} for kind in ("Applied", "Available")
        ]
        self.hub.put({**work, "status": {"conditions": conditions}})

    def _policies(self) -> dict[str, str]:
        """The policy that is bound to each cluster."""
        found = {}
        for binding in self.hub.objects("placementbindings"):
            placement = self.hub.get("placements", binding["placementRef"]["name"], binding["metadata"]["namespace"])
            if placement is not None:
                for cluster in self.hub.objects("managedclusters"):
                    if self._selects(placement, cluster):
                        found[cluster["metadata"]["name"]] = binding["subjects"][0]["name"]
        return found

    def _complies(self, cluster: str, policy: str) -> str | None:
        found = self.hub.get("policies", policy, "default")
        assert found is not None
        status = found.get("status", {}).get("status", [])
        return next((one["compliant"] for one in status if one["clustername"] == cluster), None)

    def _comply(self, cluster: str, policy: str, state: str) -> None:
        """Note the compliance on the root policy, and on that one alone: a policy that is unbound says nothing."""
        for one in self.hub.objects("policies"):
            status = [s for s in one.get("status", {}).get("status", []) if s["clustername"] != cluster]
            if one["metadata"]["name"] == policy:
                status.append({"clustername": cluster, "clusternamespace": cluster, "compliant": state})
            self.hub.put({**one, "status": {"status": status}})

    def _claims(self, cluster: str) -> dict[str, str]:
        found = self.hub.get("managedclusters", cluster)
        assert found is not None
        return {one["name"]: one["value"] for one in found["status"]["clusterClaims"]}

    def _claim(self, cluster: str, value: str) -> None:
        found = self.hub.get("managedclusters", cluster)
        assert found is not None
        claims = [one for one in found["status"]["clusterClaims"] if one["name"] != CLAIM]
        found["status"]["clusterClaims"] = [*claims, {"name": CLAIM, "value": value}]
        self.hub.put(found)


def _is_available(work: Obj) -> bool:
    return any(one["type"] == "Available" for one in work.get("status", {}).get("conditions", []))


def _holds(selector: Mapping[str, Any], have: Mapping[str, str]) -> bool:
    by_label = all(have.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return by_label and all(have.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", []))
