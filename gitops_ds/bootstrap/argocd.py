"""Argo CD: the Applications that apply a fleet repository to the hub, the health checks, and the RBAC for sets.

Owns sync policies and ignore rules. Owns no Lua (`lua.py`) and no wave: the rendered objects carry their waves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.lua import HEALTH
from gitops_ds.bootstrap.source import Kind, Source, bind_rules, cluster_role, cluster_role_binding, kinds_of
from gitops_ds.bootstrap.written import Document, Written

DEFAULT_PROJECT: Final = "default"
IN_CLUSTER: Final = "https://kubernetes.default.svc"
_DEFAULTED: Final = {"Placement": ("/spec/scoreRateLimit", "/spec/sortBy")}
"""Fields that a newer hub fills in and that are never rendered: a difference there is none."""

_APPLICATIONS_NOTE: Final = """\
Deleting one of these leaves its objects on the hub: there is no finalizer, since to delete the Placements is to take
every workload away."""
_CM_NOTE: Final = """\
A part of argocd-cm: with `kubectl apply --server-side` the rest of it stays. Without --server-side, kubectl may remove
what it applied there before."""
_TIMEOUT_NOTE: Final = """\
For all Applications of this Argo CD, and read when its application controller starts. Without it, a sync whose wave
waits for a closed gate goes on for ever, and no later commit is applied meanwhile."""
_RBAC_NOTE: Final = "To create a ManagedClusterSetBinding takes this on the set that it binds."


@dataclass(frozen=True, slots=True)
class ArgoCd:
    """What of Argo CD is to be set up.

    Attributes:
        source: the repository.
        namespace: where Argo CD runs.
        project: the AppProject of the Applications.
        with_project: make that AppProject, for what is rendered and nothing else.
        server: the hub, as Argo CD knows it.
        account: the service account that applies.
        sync_timeout: seconds after which Argo CD ends a sync that still waits; None: leave that setting alone.
    """

    source: Source
    namespace: str = "argocd"
    project: str = DEFAULT_PROJECT
    with_project: bool = False
    server: str = IN_CLUSTER
    account: str = "argocd-application-controller"
    sync_timeout: int | None = None


def argocd_files(wanted: ArgoCd) -> tuple[Written, ...]:
    """Applications, settings and RBAC, for `kubectl apply --server-side`."""
    files = [Written("applications.yaml", tuple(_applications(wanted))), Written("argocd-cm.yaml", (_health(wanted),))]
    if wanted.sync_timeout is not None:
        files.append(Written("argocd-cmd-params-cm.yaml", (_timeout(wanted, wanted.sync_timeout),)))
    rules = bind_rules(wanted.source.sets)
    if rules:
        name = f"{wanted.source.name}-set-binder"
        role = Document(cluster_role(name, rules), _RBAC_NOTE)
        files.append(
            Written("rbac.yaml", (role, Document(cluster_role_binding(name, wanted.account, wanted.namespace))))
        )
    return tuple(files)


def _applications(wanted: ArgoCd) -> Iterator[Document]:
    source = wanted.source
    if wanted.with_project:
        yield Document(_project(wanted))
    yield Document(_application(wanted, "rendered", {"path": source.rendered}), _APPLICATIONS_NOTE)
    for folder in source.folders:
        yield Document(_application(wanted, folder, {"path": folder, "directory": {"recurse": True}}))


def _application(wanted: ArgoCd, part: str, where: dict[str, Any]) -> dict[str, Any]:
    source = wanted.source
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            # The hub itself says what its defaults are, so that they are no difference.
            "annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"},
            "name": f"{source.name}-{part}",
            "namespace": wanted.namespace,
        },
        "spec": {
            "project": wanted.project,
            "source": {"repoURL": source.url, "targetRevision": source.branch, **where},
            "destination": {"server": wanted.server},
            "ignoreDifferences": [_ignored(kind) for kind in kinds_of(part)],
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True, "allowEmpty": False},
                # ApplyOutOfSyncOnly: an object that is not healthy holds back only the sync that changes it.
                "syncOptions": ["ApplyOutOfSyncOnly=true", "FailOnSharedResource=true", "ServerSideApply=true"],
                "retry": {
                    "limit": 5,
                    "refresh": True,
                    "backoff": {"duration": "10s", "factor": 2, "maxDuration": "5m"},
                },
            },
        },
    }


def _ignored(kind: Kind) -> dict[str, Any]:
    return {"group": kind.group, "kind": kind.kind, "jsonPointers": ["/status", *_DEFAULTED.get(kind.kind, ())]}


def _project(wanted: ArgoCd) -> dict[str, Any]:
    kinds = [{"group": kind.group, "kind": kind.kind} for kind in wanted.source.kinds]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": wanted.project, "namespace": wanted.namespace},
        "spec": {
            "description": "What gitops-ds commits",
            "sourceRepos": [wanted.source.url],
            "destinations": [{"namespace": "*", "server": wanted.server}],
            "clusterResourceWhitelist": [],
            "namespaceResourceWhitelist": kinds,
        },
    }


def _health(wanted: ArgoCd) -> Document:
    data = {f"resource.customizations.health.{kind}": lua for kind, lua in HEALTH.items()}
    return Document(_settings(wanted, "argocd-cm", data), _CM_NOTE)


def _timeout(wanted: ArgoCd, seconds: int) -> Document:
    data = {"controller.sync.timeout.seconds": str(seconds)}
    return Document(_settings(wanted, "argocd-cmd-params-cm", data), _TIMEOUT_NOTE)


def _settings(wanted: ArgoCd, name: str, data: dict[str, str]) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"}
    metadata = {"labels": labels, "name": name, "namespace": wanted.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
