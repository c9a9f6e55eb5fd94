"""The `PlacementIntent` kind: which workloads, which clusters, and what to optimise.

Owns the fields, their meaning and their defaults. Owns no solving and no look at the hub.
"""

from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gitops_ds.errors import Path
from gitops_ds.ids import HUB
from gitops_ds.intent.base import (
    API_VERSION,
    DnsLabel,
    DnsName,
    Duration,
    LabelKey,
    LabelValue,
    Metadata,
    Points,
    PolicyTemplate,
    Quantity,
    Selector,
    Strict,
    Text,
    as_quantity,
)
from gitops_ds.intent.spelling import guess

DEFAULT_CLAIM = "policy-watcher-claim"


class ScorePreference(Strict):
    """One AddOnPlacementScore to optimise, and how it counts in the blend."""

    name: DnsName
    """The AddOnPlacementScore's name: one stands in each cluster's namespace on the hub."""
    dimension: Text | None = None
    """How its items are named, such as `${app};${device}`. Default: the DynamicScorer's scoreDimensionFormat."""
    weight: Points = Fraction(1)
    """How much a point of it counts, with at most three decimal places."""
    direction: Literal["maximize", "minimize"] = "maximize"
    """Whether more is better."""
    source: DnsLabel = HUB
    """Where it is read: hub, or one of the Reconciler's `scoreSources` by name."""
    aggregate: Literal["mean", "min", "max"] = "mean"
    """How several items of one dimension become one score."""

    @model_validator(mode="after")
    def _weight_counts(self) -> Self:
        if not 0 < self.weight <= 1000:
            raise ValueError("weight is more than 0 and at most 1000")
        return self


class Preference(Strict):
    """What to optimise, and what a score that is missing or stale means."""

    scores: tuple[ScorePreference, ...] = Field(strict=False, min_length=1, max_length=16)
    """The scores that are blended: the sum of weight times score."""
    goal: Literal["place-first", "score-first"] = "place-first"
    """place-first places as many copies as it can, then maximises the score; score-first the other way round."""
    missing: Literal["exclude", "zero", "fail"] = "exclude"
    """A pair without a score: not used, counted as 0, or an error."""
    stale: Literal["keep", "exclude", "fail"] = "keep"
    """A pair whose score is stale: may stay where it is but win no move, not used, or an error."""
    maxAge: Duration | None = None  # noqa: N815
    """A score older than this is stale. Default: only `status.validUntil` makes it so."""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: set[tuple[str, str | None, str]] = set()
        for score in self.scores:
            if (score.name, score.dimension, score.source) in seen:
                raise ValueError(f'score "{score.name}" stands twice with the same dimension')
            seen.add((score.name, score.dimension, score.source))
        if self.maxAge is not None and self.maxAge <= timedelta():
            raise ValueError("maxAge is more than 0s")
        return self


ALLOCATABLE: Literal["allocatable"] = "allocatable"


def _amount_or_word(value: Any) -> Any:
    return value if value == ALLOCATABLE else as_quantity(value)


Capacity = Annotated[
    Fraction | Literal["allocatable"],
    BeforeValidator(_amount_or_word, json_schema_input_type=int | str),
]


class ClusterCandidates(Strict):
    """Clusters, by name or by selector, and the candidate policies of each."""

    name: DnsLabel | None = None
    """The ManagedCluster's name."""
    selector: Selector | None = None
    """Or: every cluster that this selects."""
    policies: tuple[PolicyTemplate, ...] = Field(default=(), strict=False)
    """Policies of which at most one is chosen; `${cluster}` stands for the cluster's name. None: it stays as it is."""
    capacity: dict[Text, Capacity] = Field(default_factory=dict)
    """What it has whatever the policy, by resource kind; `allocatable` reads ManagedCluster.status.allocatable."""
    reserve: dict[Text, Quantity] = Field(default_factory=dict)
    """What to leave free of that, by resource kind."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.name is None) == (self.selector is None):
            raise ValueError("say either name or selector")
        if len(set(self.policies)) < len(self.policies):
            raise ValueError("a policy stands twice in the list")
        return self


class Toleration(Strict):
    """A toleration, as OCM's Placement has it."""

    key: LabelKey | None = None
    """The taint's key; without one, operator Exists tolerates every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Whether `value` must equal the taint's."""
    value: Annotated[str, Field(max_length=1024)] | None = None
    """The taint's value, for Equal."""
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"] | None = None
    """The effect that is tolerated; without one, every effect."""
    tolerationSeconds: Annotated[int, Field(ge=0)] | None = None  # noqa: N815
    """How long, from when the taint was added. Default: for ever."""

    @model_validator(mode="after")
    def _as_the_scheduler_checks(self) -> Self:
        if self.operator == "Exists" and self.value:
            raise ValueError("operator Exists takes no value: OCM would empty the whole Placement")
        if self.key is None and self.operator != "Exists":
            raise ValueError("a toleration without a key needs operator Exists")
        return self


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class ClusterTerm(Strict):
    """Clusters by name (plain text does too) or by selector."""

    name: DnsLabel | None = None
    """The cluster's name."""
    selector: Selector | None = None
    """Or every cluster that this selects."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.name is None) == (self.selector is None):
            raise ValueError("say a cluster's name, or a selector")
        return self


Terms = Annotated[
    tuple[Annotated[ClusterTerm, BeforeValidator(_named, json_schema_input_type=DnsLabel | ClusterTerm)], ...],
    Field(strict=False),
]


class Spread(Strict):
    """Copies spread evenly over the values of a label or claim."""

    key: Text
    """The label key or claim name whose values are the groups, such as region."""
    maxSkew: Annotated[int, Field(ge=1)] = 1  # noqa: N815
    """The most that two groups may differ by."""
    kind: Literal["Label", "Claim"] = "Label"
    """Where the key is looked up."""
    mode: Literal["hard", "soft"] = "hard"
    """hard leaves a copy unplaced rather than break the skew; soft prefers an even spread."""


class Gate(Strict):
    """The cluster claim that must have one of the values before the workload is selected there."""

    claim: Text = DEFAULT_CLAIM
    """The claim's name."""
    values: tuple[LabelValue, ...] = Field(default=("compliant",), strict=False, min_length=1)
    """The values that let the workload in."""


class PlacedWorkload(Strict):
    """One ManifestWorkReplicaSet to place."""

    name: DnsName
    """Its name on the hub or in the repository."""
    app: Text | None = None
    """What `${app}` means for it. Default: its label `app`, else its name."""
    requests: dict[Text, Quantity] | None = None
    """What one copy needs, by resource kind. Default: its annotation gitops-ds.io/requests, else its labels."""
    requestsFrom: Literal["labels", "pods"] = "labels"  # noqa: N815
    """labels: annotation and labels say it all. pods: of other kinds, what its pods request as Kubernetes counts."""
    requestsOn: dict[Text, dict[Text, Quantity]] = Field(default_factory=dict)  # noqa: N815
    """What one copy needs instead on a device, by device and then by resource kind."""
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 0
    """The highest is placed first."""
    pin: DnsLabel | None = None
    """The one cluster it may run on."""
    allow: Terms = ()
    """The clusters it may run on; empty: all of the intent's."""
    avoid: Terms = ()
    """The clusters it must not run on."""
    tolerations: tuple[Toleration, ...] = Field(default=(), strict=False)
    """Taints that do not keep it away."""
    with_: tuple[DnsName, ...] = Field(default=(), strict=False, alias="with")
    """Workloads of this intent that must run on the same clusters."""
    apart: tuple[DnsName, ...] = Field(default=(), strict=False)
    """Workloads of this intent that must never run on the same cluster."""
    after: tuple[DnsName, ...] = Field(default=(), strict=False)
    """Workloads of this intent that are applied before it."""
    copies: Annotated[int, Field(ge=1, le=1000)] = 1
    """On how many clusters it runs at most, one copy each."""
    minCopies: Annotated[int, Field(ge=1, le=1000)] | None = None  # noqa: N815
    """With fewer copies than this it does not run at all. Default: any number, and fewer than `copies` is too few."""
    surge: bool | None = None
    """Whether it may run on one cluster more than `copies` while it moves. Default: as the intent's `move` says."""
    spread: tuple[Spread, ...] = Field(default=(), strict=False)
    """How its copies are spread."""
    gate: Annotated[
        Gate | None,
        BeforeValidator(lambda v: None if v == "none" else v, json_schema_input_type=Gate | Literal["none"]),
    ] = Gate()
    """The claim gate of a workload that runs under a candidate policy; `none` switches it off."""
    placement: DnsName | None = None
    """Which of its placementRefs is ours. Needed where it has several."""

    @model_validator(mode="after")
    def _pin_is_alone(self) -> Self:
        if self.pin is not None and (self.allow or self.copies > 1):
            raise ValueError("pin names the one cluster: it goes with neither allow nor copies")
        return self

    @model_validator(mode="after")
    def _requests_once(self) -> Self:
        if self.requests is not None and self.requestsFrom == "pods":
            raise ValueError("requests says all that a copy needs: leave it out, or requestsFrom")
        return self

    @model_validator(mode="after")
    def _least_is_not_most(self) -> Self:
        if self.minCopies is not None and self.minCopies > self.copies:
            raise ValueError(f"minCopies is {self.minCopies}, and copies, the most, is {self.copies}")
        return self


class Stability(Strict):
    """What a change must earn, in score points, and how many changes one plan may make."""

    moveCost: Points = Fraction(0)  # noqa: N815
    """The points that moving one copy must gain."""
    reconfigureCost: Points = Fraction(0)  # noqa: N815
    """The points that giving one cluster another policy must gain."""
    minimumGain: Points = Fraction(0)  # noqa: N815
    """The points that a whole new plan must gain over the one that git holds."""
    maxMoves: Annotated[int, Field(ge=0)] | None = None  # noqa: N815
    """The most copies that one plan may move; moves that a lost cluster forces are made all the same."""
    move: Literal["at-once", "make-before-break"] | None = None
    """How copies get from one cluster to another. Default: at-once, but for workloads with `surge: true`."""
    maxInChange: Annotated[int, Field(ge=1)] = 1  # noqa: N815
    """How many clusters may be changing from one policy to another at once, in moves that make before they break."""
    phaseTimeout: Duration = timedelta(minutes=30)  # noqa: N815
    """How long one phase of such a move may wait for the hub before the plan is held."""

    @model_validator(mode="after")
    def _costs_are_costs(self) -> Self:
        if min(self.moveCost, self.reconfigureCost, self.minimumGain) < 0:
            raise ValueError("a cost is 0 or more")
        return self

    @model_validator(mode="after")
    def _some_patience(self) -> Self:
        if self.phaseTimeout <= timedelta():
            raise ValueError("phaseTimeout is more than 0s")
        return self


class SolverOptions(Strict):
    """How long the solver may take and how good is good enough."""

    timeLimit: Duration = timedelta(seconds=60)  # noqa: N815
    """At the limit the best plan so far counts, and says so."""
    gap: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The relative gap at which a plan is good enough; 0 asks for proof."""

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if self.timeLimit <= timedelta():
            raise ValueError("timeLimit is more than 0s")
        return self


class PlacementSpec(Strict):
    """What to place, where it may go, and what to optimise."""

    preference: Preference
    """What to optimise."""
    clusters: tuple[ClusterCandidates, ...] = Field(strict=False, min_length=1)
    """Where workloads may go, and the candidate policies of each cluster."""
    workloads: tuple[PlacedWorkload, ...] = Field(strict=False, min_length=1)
    """What to place."""
    stability: Stability = Stability()
    """What a change must earn."""
    solver: SolverOptions = SolverOptions()
    """Limits of the solver."""
    unplaced: Literal["keep", "fail"] = "keep"
    """A workload that has no place keeps what it has while the rest is committed, or stops the whole plan."""
    pinLabel: LabelKey | None = None  # noqa: N815
    """The label that carries each ManagedCluster's own name. Default: `name` or `cluster-name`, where it does."""
    bindClusterSets: tuple[DnsName, ...] = Field(default=(), strict=False)  # noqa: N815
    """Cluster sets for which a ManagedClusterSetBinding is rendered in the namespace."""
    adopt: tuple[DnsName, ...] = Field(default=(), strict=False)
    """Placements and PlacementBindings on the hub that somebody else made, and that may be taken over."""


class PlacementIntent(Strict):
    """Where a group of workloads runs, and how the clusters under it are configured."""

    apiVersion: Literal["gitops-ds.io/v1alpha1"] = API_VERSION  # noqa: N815
    """The version of this format."""
    kind: Literal["PlacementIntent"] = "PlacementIntent"
    """The kind of intent."""
    metadata: Metadata
    """Name and hub namespace."""
    spec: PlacementSpec
    """What is wanted."""


def cross_checks(intent: PlacementIntent) -> Iterator[tuple[Path, str, str]]:
    """What one field alone cannot show to be wrong: (path, what, what to try) for each fault, in document order."""
    spec = intent.spec
    seen: dict[str, int] = {}
    for i, cluster in enumerate(spec.clusters):
        if cluster.name is not None and seen.setdefault(cluster.name, i) != i:
            yield (
                ("spec", "clusters", i, "name"),
                f"cluster {cluster.name} stands twice",
                "join the two entries: one cluster has one list of candidate policies",
            )
    names: dict[str, int] = {}
    for i, workload in enumerate(spec.workloads):
        if names.setdefault(workload.name, i) != i:
            yield ("spec", "workloads", i, "name"), f"workload {workload.name} stands twice", "remove one of the two"
    for i, workload in enumerate(spec.workloads):
        for word, others in (("with", workload.with_), ("apart", workload.apart), ("after", workload.after)):
            for j, other in enumerate(others):
                if other == workload.name or other not in names:
                    what = "itself" if other == workload.name else f"{other}, which is no workload of this intent"
                    fix = guess(other, names.keys() - {workload.name}, "workloads") if other not in names else ""
                    yield ("spec", "workloads", i, word, j), f"{word} of {workload.name} names {what}", fix
        for other in sorted(set(workload.with_) & set(workload.apart)):
            yield ("spec", "workloads", i, "apart"), f"{workload.name} is to be with {other} and apart from it", ""
