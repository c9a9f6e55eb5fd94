"""The `ScoringIntent` kind: DynamicScorers, the masks of the DynamicScoringConfig, and who hands them to the clusters.

Owns the fields, their meaning and their defaults. Owns neither what a scorer says of itself (`told.py`) nor any object
(`manifests/scorers.py`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_ds.errors import Path
from gitops_ds.ids import ScoreName
from gitops_ds.intent.base import API_VERSION, DnsLabel, DnsName, Metadata, Strict, Text
from gitops_ds.intent.dimension import KNOWN, UNKNOWN, unknown_placeholders
from gitops_ds.intent.placement import Terms
from gitops_ds.intent.promql import check_queries
from gitops_ds.intent.sources import BaseUrl, split_url
from gitops_ds.intent.spelling import guess

DEFAULT_FORMAT = "${scoreName}"
SCORING_PATH, QUERY_PATH = "/score", "/api/v1/query_range"
_LONGEST_NAME = 253


def score_object_name(score: str) -> ScoreName:
    """The name of the AddOnPlacementScore that the agent writes for a score called `score`; "" where nothing is left.

    Lower case; every character that a name may not have becomes `-`; runs of `-` collapse; neither end is `-` or `.`.
    """
    allowed = re.sub(r"-+", "-", re.sub(r"[^a-z0-9.-]", "-", score.lower()))
    return ScoreName(allowed.strip("-.")[:_LONGEST_NAME].strip("-."))


def _url(text: str) -> str:
    split_url(text)
    return text


def _path(text: str) -> str:
    if not text.startswith("/") or any(c in text for c in "?#") or not text.isprintable() or " " in text:
        raise ValueError("write a path such as /score")
    return text


def _queries(text: str) -> str:
    check_queries(text)
    return text


def _score(text: str) -> str:
    if not score_object_name(text):
        raise ValueError("no character of it may stand in the name of an AddOnPlacementScore")
    return text


Url = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_url)]
UrlPath = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_path)]
Queries = Annotated[str, Field(max_length=65536), AfterValidator(_queries)]
ScoreText = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME), AfterValidator(_score)]
Seconds = Annotated[int, Field(ge=1, le=31_536_000)]


class TokenSecretRef(Strict):
    """Where a token is, so that the token itself is never in git."""

    name: DnsName
    """The Secret's name, in the agent's namespace on the managed cluster."""
    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,253}$")]
    """The key in the Secret that holds the token."""


class TokenAuth(Strict):
    """A bearer token."""

    tokenSecretRef: TokenSecretRef  # noqa: N815
    """The Secret that holds it."""


class SourceParams(Strict):
    """A range query."""

    query: Queries
    """PromQL; several queries are joined with `;`."""
    range: Seconds
    """How far the query looks back, in seconds."""
    step: Seconds
    """Its resolution, in seconds."""


class ScorerSource(Strict):
    """Where the agent reads the metrics that it gives the scorer."""

    type: Literal["Prometheus", "None"] | None = None
    """Prometheus, or None for a scorer that needs no metrics."""
    host: BaseUrl | None = None
    """The server, such as `https://prometheus.local`."""
    path: UrlPath | None = None
    """The path of its range queries. Default: `/api/v1/query_range`."""
    params: SourceParams | None = None
    """What is asked for."""
    auth: TokenAuth | None = None
    """The bearer token, where it wants one."""

    @model_validator(mode="after")
    def _none_reads_nothing(self) -> Self:
        said = [word for word in ("host", "path", "params", "auth") if getattr(self, word) is not None]
        if self.type == "None" and said:
            raise ValueError(f"type None reads nothing: leave out {', '.join(said)}")
        return self


class ScoringParams(Strict):
    """Which score, and how often."""

    name: ScoreText
    """The score's name: the AddOnPlacementScore is called after it."""
    interval: Seconds
    """The seconds between two scorings."""


class ScorerScoring(Strict):
    """Where the agent asks for scores."""

    host: BaseUrl | None = None
    """The scorer's address. Default: that of `configURL`."""
    path: UrlPath | None = None
    """The path that scores. Default: `/score`."""
    params: ScoringParams | None = None
    """Which score, and how often."""
    auth: TokenAuth | None = None
    """The bearer token, where it wants one."""


class ScorerSpec(Strict):
    """One DynamicScorer, field by field as its CRD has them."""

    name: DnsName
    """The DynamicScorer's name."""
    description: Text
    """What it scores."""
    configURL: Url  # noqa: N815
    """Where the scorer says its own configuration."""
    configSyncMode: Literal["Full", "None"] = "Full"  # noqa: N815
    """Full: what the scorer says there wins, field by field. None: what stands here, and nothing else."""
    pin: bool = False
    """Read `configURL` at each plan and render what it says as configSyncMode None: a change there needs a commit."""
    location: Literal["Internal", "External"] = "Internal"
    """Whether the scorer runs on the managed cluster, or outside of it."""
    source: ScorerSource = ScorerSource()
    """Where the metrics are."""
    scoring: ScorerScoring = ScorerScoring()
    """Where the scores are asked for."""
    scoreDestination: Literal["AddOnPlacementScore", "None"] = "AddOnPlacementScore"  # noqa: N815
    """Whether the agent writes AddOnPlacementScores, or only its metric."""
    scoreDimensionFormat: Text = DEFAULT_FORMAT  # noqa: N815
    """How the items of the score are named."""

    @property
    def is_open(self) -> bool:
        """Whether the scorer itself says the rest, later, to the DSF's controller."""
        return self.configSyncMode == "Full" and not self.pin


class Mask(Strict):
    """One score that one cluster does not compute."""

    clusterName: DnsLabel  # noqa: N815
    """The ManagedCluster's name."""
    scoreName: ScoreText  # noqa: N815
    """The score's name, as `scoring.params.name` says it."""


class ScoringConfig(Strict):
    """The DynamicScoringConfig, `dynamic-scoring-config`, of the namespace."""

    masks: tuple[Mask, ...] = Field(default=(), strict=False)
    """Scores that are switched off on single clusters."""


class ScoringSpec(Strict):
    """The scorers, the masks, and how the clusters get them."""

    scorers: tuple[ScorerSpec, ...] = Field(strict=False, min_length=1)
    """The DynamicScorers."""
    config: ScoringConfig | None = None
    """The namespace's DynamicScoringConfig. Default: one without masks."""
    distribute: Literal["controller", "rendered"] = "controller"
    """Who hands the scorers to the clusters: the DSF's controller, or rendered ManifestWorks on a hub without it."""
    clusters: Terms = ()
    """With `distribute: rendered`, the clusters that get them; empty: every cluster of the hub."""


class ScoringIntent(Strict):
    """The scoring of a fleet as code."""

    apiVersion: Literal["gitops-ds.io/v1alpha1"] = API_VERSION  # noqa: N815
    """The version of this format."""
    kind: Literal["ScoringIntent"] = "ScoringIntent"
    """The kind of intent."""
    metadata: Metadata
    """Name and hub namespace."""
    spec: ScoringSpec
    """What is wanted."""


def base_of(url: str) -> str:
    """Scheme, host and port of a URL: what a scorer's other addresses default to."""
    parts = split_url(url)
    return f"{parts.scheme}://{parts.netloc}"


def scorer_checks(scorer: ScorerSpec) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with one scorer by the rules of its modes: (path in the scorer, what, what to try)."""
    if scorer.pin and scorer.configSyncMode == "None":
        yield ("pin",), "pin reads what the scorer says, and configSyncMode None does not", "leave one of them out"
    if scorer.is_open and scorer.scoring.host is not None:
        what = "scoring.host does not count in configSyncMode Full: the DSF joins the path to the host of the source"
        yield ("scoring", "host"), what, "leave it out, or say pin: true or configSyncMode None"
    if scorer.configSyncMode == "None":
        yield from _closed_checks(scorer)
    for name in unknown_placeholders(scorer.scoreDimensionFormat):
        what = f"${{{name}}} is no placeholder of a dimension"
        yield ("scoreDimensionFormat",), what, guess(name, (*KNOWN, *UNKNOWN), "placeholders")


def _closed_checks(scorer: ScorerSpec) -> Iterator[tuple[Path, str, str]]:
    """What must stand in a scorer of which nothing is read elsewhere."""
    source, scoring = scorer.source, scorer.scoring
    if scoring.params is None:
        what = "scoring.params is missing: in configSyncMode None nobody else names the score"
        yield ("scoring",), what, "params: {name: ..., interval: 30}"
    if source.type is None:
        yield ("source",), "source.type is missing: Prometheus or None", "type: None for a scorer without metrics"
    if source.type == "Prometheus":
        for word in ("host", "params"):
            if getattr(source, word) is None:
                why = "without it the agent asks the scorer itself" if word == "host" else "there is nothing to ask for"
                yield ("source",), f"source.{word} is missing: {why}", ""


def scoring_checks(intent: ScoringIntent) -> Iterator[tuple[Path, str, str]]:
    """What one field alone cannot show to be wrong: (path, what, what to try) for each fault, in document order."""
    spec = intent.spec
    names: dict[str, int] = {}
    for i, scorer in enumerate(spec.scorers):
        here: Path = ("spec", "scorers", i)
        if names.setdefault(scorer.name, i) != i:
            yield (*here, "name"), f"scorer {scorer.name} stands twice", "rename one of the two"
        for path, what, fix in scorer_checks(scorer):
            yield (*here, *path), f"scorer {scorer.name}: {what}", fix
        if spec.distribute == "rendered" and scorer.is_open:
            what = f"scorer {scorer.name}: distribute: rendered writes what the agents get, and Full leaves that open"
            yield (*here, "configSyncMode"), what, "say pin: true or configSyncMode None"
    seen: set[Mask] = set()
    for i, mask in enumerate(spec.config.masks if spec.config else ()):
        if mask in seen:
            yield ("spec", "config", "masks", i), f"the mask of {mask.scoreName} on {mask.clusterName} stands twice", ""
        seen.add(mask)
    if spec.clusters and spec.distribute != "rendered":
        what = "clusters says who gets the rendered ManifestWorks, and none are rendered"
        yield ("spec", "clusters"), what, "leave it out, or say distribute: rendered"


def clashes(several: Sequence[ScoringIntent]) -> Iterator[tuple[int, Path, str, str]]:
    """What only several intents together show to be wrong: (index, path, what, what to try) for each fault."""
    objects: dict[tuple[str, str], int] = {}
    scores: dict[str, str] = {}
    configs: dict[str, str] = {}
    for i, one in enumerate(several):
        space, owner = one.metadata.namespace, f"{one.metadata.namespace}/{one.metadata.name}"
        for j, scorer in enumerate(one.spec.scorers):
            here: Path = ("spec", "scorers", j)
            if objects.setdefault((space, scorer.name), i) != i:
                yield i, (*here, "name"), f"scorer {scorer.name} stands in another intent of {space} too", "rename one"
            if scorer.scoring.params is not None and not scorer.pin:
                name = scorer.scoring.params.name
                first = scores.setdefault(score_object_name(name), scorer.name)
                if first != scorer.name:
                    path = (*here, "scoring", "params", "name")
                    yield i, path, doubled_score(first, scorer.name, name), "rename one of the scores"
        ways = {o.spec.distribute for o in several if o.metadata.namespace == space}
        if len(ways) > 1 and one.spec.distribute == "rendered":
            what = f"other intents of {space} leave it to the DSF's controller, which writes the same ManifestWorks"
            yield i, ("spec", "distribute"), what, "make them agree"
        if one.spec.config is not None and configs.setdefault(space, owner) != owner:
            what = f"the DynamicScoringConfig of {space} stands in {configs[space]} too, and there is one a namespace"
            yield i, ("spec", "config"), what, "put all masks into one of them"
        yield from ((i, *fault) for fault in _mask_checks(one, [o for o in several if o.metadata.namespace == space]))


def doubled_score(first: str, second: str, score: str) -> str:
    """In words, that two scorers write one score."""
    return f"scorers {first} and {second} both write the AddOnPlacementScore {score_object_name(score)}"


def _mask_checks(one: ScoringIntent, peers: Sequence[ScoringIntent]) -> Iterator[tuple[Path, str, str]]:
    """Masks of scores that no scorer of the namespace has, where each of them says here what it scores."""
    scorers = [scorer for peer in peers for scorer in peer.spec.scorers]
    known = {scorer.scoring.params.name for scorer in scorers if scorer.scoring.params is not None}
    if any(scorer.configSyncMode == "Full" for scorer in scorers) or one.spec.config is None:
        return
    for i, mask in enumerate(one.spec.config.masks):
        if mask.scoreName not in known:
            what = f"no scorer of {one.metadata.namespace} writes the score {mask.scoreName}"
            yield ("spec", "config", "masks", i, "scoreName"), what, guess(mask.scoreName, known, "scores")
