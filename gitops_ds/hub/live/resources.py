"""The kinds that are read from a live hub: where the API server keeps them, and what a hub without one means.

Owns paths, pages and which kinds a hub may do without. Owns no field of any kind, and no call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from gitops_ds.hub.objects import CLUSTER_GROUP, POLICY, SET_BINDING, WORK, WORKLOAD, served_as
from gitops_ds.hub.placements import PLACEMENT_CRD
from gitops_ds.hub.works import REPLICA_SET_LABEL

_OCM: Final = "install Open Cluster Management on the hub (clusteradm init), or point --hub at the hub"
_POLICIES: Final = (
    "install the policy framework addon (clusteradm install hub-addon --names governance-policy-framework)"
)
_DSF: Final = "install the dynamic scoring framework on the hub"
_WORK: Final = "install Open Cluster Management's work API on the hub (clusteradm init)"


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as the API server serves it: `plural` is its name in paths, `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api(self) -> str:
        """The group's name, as messages and RBAC rules have it: `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The path of one object, or without a name of the list: in `namespace`, or over the whole hub."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = ("namespaces", namespace) if namespace else ()
        parts = [part for part in (*inside, self.plural, name, subresource) if part]
        return "/".join([root, *(quote(part, safe="") for part in parts)])


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a kind is read: `page` objects at a time, those that `selector` selects, or the one called `name`.

    `needed` says that there is no hub without it; the others may be absent, and then there are no such objects: what
    an intent names and nobody holds is a fault of its own, so an absent kind never makes a smaller plan.
    """

    resource: Resource
    install: str
    needed: bool
    page: int = 500
    selector: str = ""
    name: str = ""

    @property
    def is_progress(self) -> bool:
        """Whether it only tells how far the hub has got, which nobody needs whose moves take no phases."""
        return self.resource.kind == WORK[1]


def _resource(group: str, kind: str, plural: str) -> Resource:
    version, namespaced = served_as(group, kind)
    return Resource(group, version, plural, kind, namespaced)


_DSF_GROUP: Final = "dynamic-scoring.open-cluster-management.io"
READ: Final[tuple[Wanted, ...]] = (
    Wanted(_resource(CLUSTER_GROUP, "ManagedCluster", "managedclusters"), _OCM, needed=True),
    Wanted(_resource(CLUSTER_GROUP, "ManagedClusterSet", "managedclustersets"), _OCM, needed=True),
    Wanted(_resource(*SET_BINDING, "managedclustersetbindings"), _OCM, needed=True),
    Wanted(_resource(CLUSTER_GROUP, "Placement", "placements"), _OCM, needed=True),
    Wanted(_resource(CLUSTER_GROUP, "PlacementDecision", "placementdecisions"), _OCM, needed=True),
    Wanted(_resource(CLUSTER_GROUP, "AddOnPlacementScore", "addonplacementscores"), _OCM, needed=True),
    # The copies that OCM keeps in each cluster's namespace would multiply the list by the number of clusters.
    Wanted(
        _resource(*POLICY, "policies"),
        _POLICIES,
        needed=False,
        page=100,
        selector="!policy.open-cluster-management.io/root-policy",
    ),
    Wanted(_resource(POLICY[0], "PlacementBinding", "placementbindings"), _POLICIES, needed=False),
    # One may carry half a mebibyte of manifests.
    Wanted(_resource(*WORKLOAD, "manifestworkreplicasets"), _WORK, needed=False, page=50),
    Wanted(_resource(*WORK, "manifestworks"), _WORK, needed=False, page=50, selector=REPLICA_SET_LABEL),
    Wanted(_resource(_DSF_GROUP, "DynamicScorer", "dynamicscorers"), _DSF, needed=False),
    Wanted(
        _resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions"),
        _OCM,
        needed=False,
        name=PLACEMENT_CRD,
    ),
)
RESOURCES: Final[tuple[Resource, ...]] = tuple(wanted.resource for wanted in READ)


def resource(kind: str) -> Resource:
    """The resource of one of the kinds that are read.

    Raises:
        KeyError: no plan looks at this kind.
    """
    return {found.kind: found for found in RESOURCES}[kind]
