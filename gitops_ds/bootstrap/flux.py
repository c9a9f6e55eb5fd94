"""Flux: the GitRepository and the Kustomizations that apply a fleet repository to the hub, and who they apply as.

Owns their order, waits and health checks. Owns no CEL (`cel.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.cel import PLACEMENT
from gitops_ds.bootstrap.source import (
    POLICIES,
    Source,
    apply_rules,
    bind_rules,
    cluster_role,
    cluster_role_binding,
)
from gitops_ds.bootstrap.written import Document, Written

_VERBS: Final = ("create", "delete", "get", "list", "patch", "watch")
"""What server-side apply, pruning and waiting take."""
_RENDERED_NOTE: Final = """\
Deleting this leaves the Placements on the hub (deletionPolicy Orphan), since to delete them is to take every workload
away. A new commit is applied when the wait for the one before has ended, after `timeout` at the latest."""


@dataclass(frozen=True, slots=True)
class Flux:
    """What of Flux is to be set up.

    Attributes:
        source: the repository.
        namespace: where the Flux objects are.
        secret: the Secret with the credentials for the repository; None: it is public.
    """

    source: Source
    namespace: str = "flux-system"
    secret: str | None = None


def flux_files(wanted: Flux) -> tuple[Written, ...]:
    """The source, the Kustomizations and RBAC."""
    account = f"{wanted.source.name}-applier"
    return (
        Written("source.yaml", (Document(_repository(wanted)),)),
        Written("kustomizations.yaml", tuple(_kustomizations(wanted, account))),
        Written("rbac.yaml", tuple(map(Document, _rbac(wanted, account)))),
    )


def _repository(wanted: Flux) -> dict[str, Any]:
    source = wanted.source
    kept = "".join(f"!/{folder}\n" for folder in _top_folders(source))
    spec: dict[str, Any] = {
        "interval": "1m",
        "timeout": "1m",
        "url": source.url_with_scheme,
        "ref": {"branch": source.branch},
        "ignore": f"/*\n{kept}",
    }
    if wanted.secret is not None:
        spec["secretRef"] = {"name": wanted.secret}
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": source.name, "namespace": wanted.namespace},
        "spec": spec,
    }


def _top_folders(source: Source) -> list[str]:
    return sorted({source.rendered.partition("/")[0], *source.folders})


def _kustomizations(wanted: Flux, account: str) -> Iterator[Document]:
    source = wanted.source
    for folder in source.folders:
        # No wait: a candidate policy that is not compliant must not hold back the plan that chooses another.
        yield Document(_kustomization(wanted, account, folder, folder, {"wait": False}))
    rendered: dict[str, Any] = {"wait": True, "healthCheckExprs": [PLACEMENT]}
    if POLICIES in source.folders:
        rendered["dependsOn"] = [{"name": f"{source.name}-{POLICIES}"}]
    yield Document(_kustomization(wanted, account, "rendered", source.rendered, rendered), _RENDERED_NOTE)


def _kustomization(wanted: Flux, account: str, part: str, folder: str, more: dict[str, Any]) -> dict[str, Any]:
    name = wanted.source.name
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": f"{name}-{part}", "namespace": wanted.namespace},
        "spec": {
            "interval": "10m",
            "retryInterval": "1m",
            "timeout": "5m",
            "sourceRef": {"kind": "GitRepository", "name": name},
            "path": f"./{folder}",
            "prune": True,
            "deletionPolicy": "Orphan",
            "serviceAccountName": account,
            **more,
        },
    }


def _rbac(wanted: Flux, account: str) -> Iterator[dict[str, Any]]:
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": account, "namespace": wanted.namespace},
        "automountServiceAccountToken": False,
    }
    yield cluster_role(account, [*apply_rules(wanted.source.kinds, _VERBS), *bind_rules(wanted.source.sets)])
    yield cluster_role_binding(account, account, wanted.namespace)
