"""A Deployment that runs `gitops-ds watch`, with a second replica that takes over where a Lease says who works.

Owns replicas, probes and rights on the Lease. Owns no pod (`pod.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.pod import Pod, surroundings, template
from gitops_ds.bootstrap.written import Document, Written

PORT: Final = 8080
GRACE: Final = 30
"""Seconds between the signal to stop and the end: the round under way gets most of them."""
_LEASE_NOTE: Final = "Rights to create cannot be given for one name alone."


@dataclass(frozen=True, slots=True)
class Watch:
    """A reconciler that never ends.

    Attributes:
        pod: what is run.
        replicas: how many; more than one needs the Lease.
        lease: namespace and name of the Lease that the Reconciler names; None: it names none.
    """

    pod: Pod
    replicas: int = 1
    lease: tuple[str, str] | None = None


def watch_files(wanted: Watch) -> tuple[Written, ...]:
    """The Deployment with namespace, account, rights, network policy, metrics and disruption budget."""
    documents = [*surroundings(wanted.pod, [PORT]), *_lease(wanted), Document(_metrics(wanted.pod))]
    if wanted.replicas > 1:
        documents.append(Document(_budget(wanted.pod)))
    return (Written("gitops-ds.yaml", (*documents, Document(_deployment(wanted)))),)


def _lease(wanted: Watch) -> Iterator[Document]:
    if wanted.lease is None:
        return
    namespace, name = wanted.lease
    pod, group = wanted.pod, "coordination.k8s.io"
    api, role = "rbac.authorization.k8s.io", f"{wanted.pod.name}-lease"
    leases = {"apiGroups": [group], "resources": ["leases"]}
    rules = [{**leases, "verbs": ["create"]}, {**leases, "resourceNames": [name], "verbs": ["get", "update"]}]
    metadata = pod.metadata(role, namespace)
    yield Document({"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": rules}, _LEASE_NOTE)
    yield Document(
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": pod.name, "namespace": pod.namespace}],
        }
    )


def _metrics(pod: Pod) -> dict[str, Any]:
    port = {"name": "metrics", "port": PORT, "protocol": "TCP", "targetPort": "metrics"}
    spec = {"clusterIP": "None", "ports": [port], "publishNotReadyAddresses": True, "selector": pod.labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": pod.metadata(f"{pod.name}-metrics"), "spec": spec}


def _budget(pod: Pod) -> dict[str, Any]:
    spec = {
        "minAvailable": 1,
        "selector": {"matchLabels": pod.labels},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": pod.metadata(), "spec": spec}


def _deployment(wanted: Watch) -> dict[str, Any]:
    pod = wanted.pod
    container = {
        "args": [*pod.arguments("watch"), f"--listen=:{PORT}", "--log-format=json"],
        "ports": [{"name": "metrics", "containerPort": PORT, "protocol": "TCP"}],
        "livenessProbe": _probe("/healthz", {"periodSeconds": 30, "timeoutSeconds": 5}),
        "readinessProbe": _probe("/readyz", {"periodSeconds": 10, "timeoutSeconds": 5}),
    }
    spread = {
        "labelSelector": {"matchLabels": pod.labels},
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
    }
    spec = {
        "shareProcessNamespace": True,  # the pause container reaps what a git that had to be killed leaves behind
        "terminationGracePeriodSeconds": GRACE,
        "topologySpreadConstraints": [spread],
    }
    # Without a Lease the old pod goes first, so that there are no two at work.
    strategy = {"type": "RollingUpdate"} if wanted.lease else {"type": "Recreate"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": pod.metadata(),
        "spec": {
            "replicas": wanted.replicas,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": pod.labels},
            "strategy": strategy,
            "template": template(pod, container, spec),
        },
    }


def _probe(path: str, times: dict[str, Any]) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": "metrics"}, **times}
