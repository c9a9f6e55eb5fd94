"""The DSF sample's `params.yaml` / `params.json`, read as a PlacementIntent.

Owns the mapping between the two forms. Owns no default of its own: what the form does not say is the intent's default.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from gitops_ds.errors import Path
from gitops_ds.intent.base import DnsLabel, DnsName, Strict, Text
from gitops_ds.intent.placement import PlacementIntent


class _Named(Strict):
    name: DnsName
    """Its name on the hub or in the repository."""


class _Cluster(Strict):
    name: DnsLabel
    """The ManagedCluster's name."""
    availablePolicies: tuple[_Named, ...] = Field(strict=False)  # noqa: N815
    """Policies of which at most one is chosen."""

    @model_validator(mode="after")
    def _policies_differ(self) -> Self:
        if len({p.name for p in self.availablePolicies}) < len(self.availablePolicies):
            raise ValueError("a policy stands twice in the list")
        return self


def _either_spelling(schema: dict[str, Any]) -> None:
    """Let the schema take the field under both of its names, one of them at a time."""
    first, second = SPELLINGS
    schema["properties"][second] = schema["properties"][first]
    schema["required"].remove(first)
    schema["oneOf"] = [{"required": [first]}, {"required": [second]}]


SPELLINGS = ("addOnPlacementScore", "addonPlacementScore")


class _Preference(Strict):
    model_config = ConfigDict(json_schema_extra=_either_spelling)

    addOnPlacementScore: DnsName = Field(validation_alias=AliasChoices(*SPELLINGS))  # noqa: N815
    """The AddOnPlacementScore to optimise."""
    scoreDimensionFormat: Text | None = None  # noqa: N815
    """How its items are named. Default: the DynamicScorer's scoreDimensionFormat."""


class DsfParams(Strict):
    """The optimisation sample's parameters, as its guide writes them."""

    namespace: DnsLabel
    """The hub namespace of workloads and policies."""
    clusters: tuple[_Cluster, ...] = Field(strict=False, min_length=1)
    """Where workloads may go, and the candidate policies of each cluster."""
    targetWorkloads: tuple[_Named, ...] = Field(strict=False, min_length=1)  # noqa: N815
    """The ManifestWorkReplicaSets to place."""
    preference: _Preference
    """What to optimise."""


_WORDS: Mapping[str, tuple[str, ...]] = {
    "metadata": (),
    "spec": (),
    "workloads": ("targetWorkloads",),
    "policies": ("availablePolicies",),
    "scores": (),
    "dimension": ("scoreDimensionFormat",),
}


def form_path(path: Path) -> Path:
    """Where a part of the intent, given by its path there, stands in the form; for messages that point into it."""
    found = tuple(word for part in path for word in (_WORDS.get(part, (part,)) if isinstance(part, str) else (part,)))
    return (
        (*found[:-1], *SPELLINGS) if path[:3] == ("spec", "preference", "scores") and path[4:] == ("name",) else found
    )


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
