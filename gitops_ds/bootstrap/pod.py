"""The pod that a reconciler runs in, and what stands around every such pod: namespace, account, rights, network.

Everything is as the `restricted` pod security standard wants it. Credentials are mounted from a Secret that is named
and never made here. Owns the container. Owns no schedule (`cronjob.py`) and no probe (`watch.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.reader import reader_rules
from gitops_ds.bootstrap.source import cluster_role, cluster_role_binding
from gitops_ds.bootstrap.written import Document

USER: Final = 65532
"""The user and group that the image runs as: see the Dockerfile."""
CACHE: Final = "/var/cache/gitops-ds"
_READABLE: Final = 0o440
"""The mode of mounted credentials: for the pod's group alone, and not for their owner, root."""
_DNS: Final = (53, 5353)
"""Ports of DNS: a policy counts where a packet arrives, and OpenShift's DNS pods listen on the second."""
_NODE_DNS: Final = "169.254.20.10/32"
"""Where a node's own DNS cache listens."""
_API: Final = (443, 6443)
"""Ports of API servers behind their service."""

_ROLE_NOTE: Final = "Read access to what a plan reads, and nothing else: gitops-ds never writes to the hub."
_NETWORK_NOTE: Final = """\
Out: DNS, the API server and the servers below, by port. A policy knows no host names, and the API server is no pod:
where their addresses are fixed, put an ipBlock into the last rule."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """The Secret with the credentials, and where the reconciler looks for them.

    Attributes:
        name: the Secret.
        files: absolute paths; the last part of each is the key in the Secret.
        env: variables that say where they are, for the first look at the repository.
    """

    name: str
    files: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pod:
    """A reconciler in a cluster.

    Attributes:
        name: what everything is named after.
        namespace: where it runs.
        image: the image of gitops-ds.
        url: the fleet repository.
        branch: the branch that is planned from; None: the remote's own.
        mode: `push`, `pull-request`, or None for what the Reconciler says.
        reconciler: whose settings count; None: the only one's.
        secrets: its credentials.
        ports: what it talks to besides the API server: the git server and sources of scores.
    """

    name: str
    namespace: str
    image: str
    url: str
    branch: str | None
    mode: str | None
    reconciler: str | None
    secrets: Secrets
    ports: tuple[int, ...]

    @property
    def labels(self) -> dict[str, str]:
        """What every object of it carries, and its pods are selected by."""
        return {"app.kubernetes.io/instance": self.name, "app.kubernetes.io/name": "gitops-ds"}

    def metadata(self, name: str | None = None, namespace: str | None = None) -> dict[str, Any]:
        """Metadata of an object in the namespace."""
        return {"labels": self.labels, "name": name or self.name, "namespace": namespace or self.namespace}

    def arguments(self, verb: str) -> list[str]:
        """The command line of `reconcile` or `watch`, as Kubernetes takes it: `$(` would be filled in."""
        words = [verb, f"--repo={self.url}", "--hub=kubernetes"]
        words += [f"--branch={self.branch}"] if self.branch else []
        words += [f"--{self.mode}"] if self.mode else []
        words += [f"--reconciler={self.reconciler}"] if self.reconciler else []
        return [word.replace("$(", "$$(") for word in words]


def surroundings(pod: Pod, ingress: Sequence[int] = ()) -> Iterator[Document]:
    """The namespace, the service account with its rights, and the network policy.

    Args:
        pod: the reconciler.
        ingress: ports that others in the cluster may connect to.
    """
    yield Document(_namespace(pod))
    yield Document(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": pod.metadata(),
            "automountServiceAccountToken": False,
        }
    )
    # The names of cluster-wide objects are everybody's, so they have the namespace in them.
    role = f"{pod.name if pod.name == pod.namespace else f'{pod.namespace}-{pod.name}'}-reader"
    yield Document(cluster_role(role, reader_rules()), _ROLE_NOTE)
    yield Document(cluster_role_binding(role, pod.name, pod.namespace))
    yield Document(_network(pod, ingress), _NETWORK_NOTE)


def template(pod: Pod, container: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """The pod's template, with `container` and `spec` as what is special about them."""
    mounts, volumes = _credentials(pod.secrets)
    base = {
        "name": "gitops-ds",
        "image": pod.image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": name, "value": value} for name, value in (("GITOPS_DS_CACHE", CACHE), *pod.secrets.env)],
        "resources": {
            "requests": {"cpu": "250m", "memory": "512Mi", "ephemeral-storage": "1Gi"},
            "limits": {"memory": "2Gi", "ephemeral-storage": "6Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "cache", "mountPath": CACHE}, {"name": "tmp", "mountPath": "/tmp"}, *mounts],  # noqa: S108
    }
    whole = {
        "serviceAccountName": pod.name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [base | container],
        "volumes": [
            {"name": "cache", "emptyDir": {"sizeLimit": "4Gi"}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
            *volumes,
        ],
        **spec,
    }
    return {"metadata": {"labels": pod.labels}, "spec": whole}


def _namespace(pod: Pod) -> dict[str, Any]:
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("audit", "enforce", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": security, "name": pod.namespace}}


def _credentials(secrets: Secrets) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Mounts and volumes: for each folder that a file is looked for in, the files of it from the Secret."""
    folders: dict[str, list[str]] = {}
    for file in sorted(secrets.files):
        folder, _, key = file.rpartition("/")
        folders.setdefault(folder, []).append(key)
    mounts, volumes = [], []
    for number, (folder, keys) in enumerate(folders.items()):
        name = "credentials" if number == 0 else f"credentials-{number}"
        items = [{"key": key, "path": key} for key in keys]
        source = {"secretName": secrets.name, "defaultMode": _READABLE, "items": items}
        mounts.append({"name": name, "mountPath": folder, "readOnly": True})
        volumes.append({"name": name, "secret": source})
    return mounts, volumes


def _network(pod: Pod, ingress: Sequence[int]) -> dict[str, Any]:
    dns = [{"port": port, "protocol": protocol} for port in _DNS for protocol in ("TCP", "UDP")]
    servers = [{"port": port, "protocol": "TCP"} for port in sorted({*_API, *pod.ports})]
    spec: dict[str, Any] = {
        "podSelector": {"matchLabels": pod.labels},
        "policyTypes": ["Egress", "Ingress"],
        "egress": [
            {"ports": dns, "to": [{"namespaceSelector": {}}, {"ipBlock": {"cidr": _NODE_DNS}}]},
            {"ports": servers},
        ],
    }
    if ingress:
        ports = [{"port": port, "protocol": "TCP"} for port in ingress]
        spec["ingress"] = [{"from": [{"namespaceSelector": {}}], "ports": ports}]
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": pod.metadata(), "spec": spec}
