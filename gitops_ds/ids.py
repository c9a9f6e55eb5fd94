"""Names as types, so that a cluster's name cannot be passed where a policy's is meant.

Owns the vocabulary of names. Owns no check of them: the loaders refuse bad names before one gets here.
"""

from typing import Literal, NamedTuple, NewType

Namespace = NewType("Namespace", str)
ClusterName = NewType("ClusterName", str)
PolicyName = NewType("PolicyName", str)
WorkloadName = NewType("WorkloadName", str)
IntentName = NewType("IntentName", str)
PlacementName = NewType("PlacementName", str)
ScoreName = NewType("ScoreName", str)
Dimension = NewType("Dimension", str)
"""The rendered name of one score item, such as `app01;3g.48gb`."""
Device = NewType("Device", str)
"""The value of the label `resource-supply-device` on a candidate policy."""
ResourceKind = NewType("ResourceKind", str)
"""What is supplied and requested, such as `gpu` or `cpu`: amounts of two kinds never add up."""

HUB: Literal["hub"] = "hub"
"""The source of the scores that the hub itself holds; a Reconciler names further ones."""


class IntentId(NamedTuple):
    """One intent: the hub namespace it works in and its name there."""

    namespace: Namespace
    name: IntentName

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class WorkloadId(NamedTuple):
    """One ManifestWorkReplicaSet on the hub."""

    namespace: Namespace
    name: WorkloadName

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class PolicyId(NamedTuple):
    """One Policy on the hub."""

    namespace: Namespace
    name: PolicyName

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
