"""`Source`: the fleet repository as the things around it see it: where it is, and what in it is applied to the hub.

Owns the folders and the kinds in them, and the RBAC rules that applying them takes. Owns no tool that applies them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gitops_ds.hub.objects import CLUSTER_GROUP, POLICY, WORKLOAD

POLICIES, WORKLOADS = "policies", "workloads"
_SCP: Final = re.compile(r"(?P<user>[^/:@\s]+@)?(?P<host>\[[^\]\s]+\]|[^/:@\[\]\s]+):(?P<path>[^:].*)")


class Kind(NamedTuple):
    """A kind that stands in a folder of the repository."""

    group: str
    kind: str
    plural: str


RENDERED_KINDS: Final = (
    Kind(CLUSTER_GROUP, "ManagedClusterSetBinding", "managedclustersetbindings"),
    Kind(CLUSTER_GROUP, "Placement", "placements"),
    Kind("dynamic-scoring.open-cluster-management.io", "DynamicScorer", "dynamicscorers"),
    Kind("dynamic-scoring.open-cluster-management.io", "DynamicScoringConfig", "dynamicscoringconfigs"),
    Kind(POLICY[0], "PlacementBinding", "placementbindings"),
    Kind(WORKLOAD[0], "ManifestWork", "manifestworks"),
)
"""All that gitops-ds renders."""
_OF_FOLDER: Final = {
    POLICIES: (Kind(*POLICY, "policies"),),
    WORKLOADS: (Kind(*WORKLOAD, "manifestworkreplicasets"),),
}


@dataclass(frozen=True, slots=True)
class Source:
    """The repository, and what of it is applied.

    Attributes:
        name: what everything that is made for it is named after.
        url: its URL.
        branch: the branch that is applied.
        rendered: the folder that gitops-ds writes.
        folders: of `policies` and `workloads`, those that are applied too.
        sets: the cluster sets that rendered bindings bind; None: not known.
    """

    name: str
    url: str
    branch: str
    rendered: str = "rendered"
    folders: tuple[str, ...] = ()
    sets: tuple[str, ...] | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind that is applied, sorted."""
        return tuple(sorted({*RENDERED_KINDS, *(kind for folder in self.folders for kind in kinds_of(folder))}))

    @property
    def url_with_scheme(self) -> str:
        """The URL with `ssh://` in front, where it is of the form that scp takes."""
        found = None if "://" in self.url else _SCP.fullmatch(self.url)
        return f"ssh://{found['user'] or ''}{found['host']}/{found['path'].lstrip('/')}" if found else self.url


def kinds_of(folder: str) -> tuple[Kind, ...]:
    """The kinds in `policies` or `workloads`; in any other folder, those that are rendered."""
    return _OF_FOLDER.get(folder, RENDERED_KINDS)


def apply_rules(kinds: Iterable[Kind], verbs: Iterable[str]) -> list[dict[str, Any]]:
    """RBAC rules for `verbs` on `kinds`, one a group."""
    by_group: dict[str, list[str]] = {}
    for kind in sorted(kinds):
        by_group.setdefault(kind.group, []).append(kind.plural)
    return [{"apiGroups": [group], "resources": names, "verbs": [*verbs]} for group, names in by_group.items()]


def bind_rules(sets: tuple[str, ...] | None) -> list[dict[str, Any]]:
    """The rule without which nobody may create a ManagedClusterSetBinding; none where no set is to be bound."""
    if sets is not None and not sets:
        return []
    rule: dict[str, Any] = {
        "apiGroups": [CLUSTER_GROUP],
        "resources": ["managedclustersets/bind"],
        "verbs": ["create"],
    }
    return [rule | ({"resourceNames": sorted(sets)} if sets else {})]


def cluster_role(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """A ClusterRole."""
    api = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def cluster_role_binding(name: str, account: str, namespace: str) -> dict[str, Any]:
    """The binding of the ClusterRole of the same name to a service account."""
    api, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    return {
        "apiVersion": api,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
