"""The DSF sample's `params.yaml` / `params.json`, read as a PlacementIntent.

Owns the mapping between the two forms. Owns no default of its own: what the form does not say is the intent's default.
"""

from typing import Any

from pydantic import Field, model_validator

from gitops_ds.intent.base import DnsLabel, DnsName, Strict, Text
from gitops_ds.intent.placement import PlacementIntent


class _Named(Strict):
    name: DnsName


class _Cluster(Strict):
    name: DnsLabel
    availablePolicies: tuple[_Named, ...] = Field(strict=False)  # noqa: N815


class _Preference(Strict):
    addOnPlacementScore: DnsName = Field(alias="addonPlacementScore")  # noqa: N815
    scoreDimensionFormat: Text | None = None  # noqa: N815

    @model_validator(mode="before")
    @classmethod
    def _either_spelling(cls, value: Any) -> Any:
        if isinstance(value, dict) and "addOnPlacementScore" in value and "addonPlacementScore" not in value:
            value = {("addonPlacementScore" if k == "addOnPlacementScore" else k): v for k, v in value.items()}
        return value


class DsfParams(Strict):
    """The optimisation sample's parameters, as its guide writes them."""

    namespace: DnsLabel
    clusters: tuple[_Cluster, ...] = Field(strict=False, min_length=1)
    targetWorkloads: tuple[_Named, ...] = Field(strict=False, min_length=1)  # noqa: N815
    preference: _Preference


PATHS = {
    ("metadata", "namespace"): ("namespace",),
    ("spec", "clusters"): ("clusters",),
    ("spec", "workloads"): ("targetWorkloads",),
    ("spec", "preference"): ("preference",),
}
"""Where a part of the intent stands in the form, for messages that point into it."""


def looks_like_params(value: Any) -> bool:
    """Whether a document is meant as the DSF form: it says targetWorkloads and no kind."""
    return isinstance(value, dict) and "kind" not in value and "targetWorkloads" in value


def to_intent(params: DsfParams, name: str) -> PlacementIntent:
    """The same wish as an intent called `name`, with the sample's own objective: the score alone.

    place-first is kept as the goal, for under it a workload whose score is 0 or less is not dropped in silence.
    """
    score: dict[str, Any] = {"name": params.preference.addOnPlacementScore}
    if params.preference.scoreDimensionFormat is not None:
        score["dimension"] = params.preference.scoreDimensionFormat
    return PlacementIntent.model_validate(
        {
            "metadata": {"name": name, "namespace": params.namespace},
            "spec": {
                "preference": {"scores": [score]},
                "clusters": [
                    {"name": c.name, "policies": [p.name for p in c.availablePolicies]} for c in params.clusters
                ],
                "workloads": [{"name": w.name} for w in params.targetWorkloads],
            },
        }
    )
