"""Small builders of inventories and intents for tests.

Intents are made as YAML text and read by the real loader, so that every fault found later has a place. Objects of the
inventory are made directly: what the hub's reader makes of Kubernetes objects is tested with the hub.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_ds.errors import Place, Source
from gitops_ds.ids import (
    ClusterName,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    ScoreName,
    WorkloadId,
    WorkloadName,
)
from gitops_ds.intent.load import LoadedIntent, load_intents
from gitops_ds.inventory import (
    Cluster,
    ClusterSet,
    Inventory,
    Policy,
    ScoreObject,
    Scorer,
    SetBinding,
    Taint,
    Workload,
)
from gitops_ds.problem import Incumbent, Problem, build
from gitops_ds.solution import Solution

NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)
NAMESPACE = Namespace("default")
DIMENSION = "${app};${device}"
"""How the builders name score items, unless told otherwise."""

Thing = Cluster | ClusterSet | Policy | Scorer | ScoreObject | SetBinding | Workload


def cluster(name: str, *, labels: Mapping[str, str] | None = None, **fields: Any) -> Cluster:
    """A cluster that is ready and carries its own name in the label cluster-name."""
    return Cluster(
        ClusterName(name),
        labels={"cluster-name": name, **(labels or {})},
        **{"available": True, "source": Source(f"hub/{name}.yaml"), **fields},
    )


def taint(key: str, *, value: str = "", effect: str = "NoSelect") -> Taint:
    return Taint(key, value, effect)


def policy(
    name: str, device: str = "half", amount: str = "2", kind: str = "gpu", namespace: str = NAMESPACE, **fields: Any
) -> Policy:
    """A candidate policy that supplies `amount` of `kind` as `device`."""
    labels = {"resource-supply-kind": kind, "resource-supply-amount": amount, "resource-supply-device": device}
    source = Source(f"policies/{name}.yaml")
    return Policy(Namespace(namespace), PolicyName(name), **{"labels": labels, "source": source, **fields})


def workload(
    name: str,
    amount: str | None = "1",
    kind: str = "gpu",
    *,
    refs: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    namespace: str = NAMESPACE,
) -> Workload:
    """A workload that requests `amount` of `kind` by its labels; None: it has no such labels."""
    asked = {} if amount is None else {"resource-request-kind": kind, "resource-request-amount": amount}
    return Workload(
        Namespace(namespace),
        WorkloadName(name),
        labels={**asked, **(labels or {})},
        placement_refs=tuple(PlacementName(r) for r in ([f"{name}-placement"] if refs is None else refs)),
        source=Source(f"hub/{name}.yaml"),
    )


def scores(
    cluster: str,
    items: Mapping[str, int] | Iterable[tuple[str, int]],
    name: str = "speed",
    *,
    age: timedelta | None = timedelta(seconds=30),
    valid_until: datetime | None = None,
) -> ScoreObject:
    """An AddOnPlacementScore of `cluster`, written `age` before NOW (None: it shows no sign of life)."""
    pairs = tuple(items.items()) if isinstance(items, Mapping) else tuple(items)
    seen = None if age is None else NOW - age
    return ScoreObject(ClusterName(cluster), ScoreName(name), pairs, valid_until, seen, Source(f"hub/{name}.yaml"))


def scorer(score: str, dimension: str) -> Scorer:
    return Scorer(Namespace("dsf"), f"{score}-scorer", ScoreName(score), dimension)


def binding(cluster_set: str, namespace: str = NAMESPACE) -> SetBinding:
    return SetBinding(Namespace(namespace), cluster_set)


def inventory(*things: Thing, **fields: Any) -> Inventory:
    """The inventory of these objects. Without any binding, the namespace is bound to the global set."""
    of = {kind: [t for t in things if isinstance(t, kind)] for kind in Thing.__args__}
    return Inventory(
        clusters=tuple(sorted(of[Cluster], key=lambda c: c.name)),
        scores=tuple(sorted(of[ScoreObject], key=lambda s: (s.cluster, s.name))),
        policies=tuple(sorted(of[Policy], key=lambda p: p.id)),
        workloads=tuple(sorted(of[Workload], key=lambda w: w.id)),
        cluster_sets=tuple(sorted(of[ClusterSet], key=lambda s: s.name)),
        set_bindings=tuple(sorted(of[SetBinding])) or (binding("global"),),
        scorers=tuple(sorted(of[Scorer], key=lambda s: s.name)),
        **fields,
    )


def intent(
    clusters: Sequence[Mapping[str, Any]],
    workloads: Sequence[Mapping[str, Any] | str],
    *,
    name: str = "fleet",
    namespace: str = NAMESPACE,
    scores: Sequence[Mapping[str, Any]] = ({"name": "speed", "dimension": DIMENSION},),
    preference: Mapping[str, Any] | None = None,
    **spec: Any,
) -> str:
    """The YAML text of a PlacementIntent, with each cluster, workload, score and further field on a line of its own.

    A workload may be given by its name alone; `preference` holds what stands beside the scores there.
    """
    named = [{"name": w} if isinstance(w, str) else w for w in workloads]
    return "\n".join(
        [
            "apiVersion: gitops-ds.io/v1alpha1",
            "kind: PlacementIntent",
            f"metadata: {{name: {name}, namespace: {namespace}}}",
            "spec:",
            "  preference:",
            *(f"    {key}: {json.dumps(value)}" for key, value in (preference or {}).items()),
            "    scores:",
            *(f"      - {json.dumps(one)}" for one in scores),
            "  clusters:",
            *(f"    - {json.dumps(one)}" for one in clusters),
            "  workloads:",
            *(f"    - {json.dumps(one)}" for one in named),
            *(f"  {key}: {json.dumps(value)}" for key, value in spec.items()),
            "",
        ]
    )


def load(*texts: str) -> tuple[LoadedIntent, ...]:
    """The intents of these texts, read as intent/0.yaml, intent/1.yaml and so on."""
    return load_intents({f"intent/{i}.yaml": text.encode() for i, text in enumerate(texts)})


def place(text: str, needle: str, file: str = "intent/0.yaml") -> Place:
    """Where `needle` stands in `text`, which must hold it once."""
    assert text.count(needle) == 1, f"{needle} stands {text.count(needle)} times in\n{text}"
    before = text[: text.index(needle)]
    return Place(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def problem(texts: str | Sequence[str], *things: Thing, incumbent: Incumbent | None = None) -> Problem:
    """The problem of these intents on the inventory of these objects, at NOW."""
    several = [texts] if isinstance(texts, str) else texts
    return build(load(*several), inventory(*things), NOW, incumbent)


def incumbent(
    placements: Mapping[str, Sequence[str]] | None = None, policies: Mapping[str, str] | None = None
) -> Incumbent:
    """What git holds: the clusters of workloads and the policies of clusters, by name, all in the one namespace."""
    return Incumbent(
        {
            WorkloadId(NAMESPACE, WorkloadName(w)): tuple(map(ClusterName, several))
            for w, several in (placements or {}).items()
        },
        {ClusterName(c): PolicyId(NAMESPACE, PolicyName(p)) for c, p in (policies or {}).items()},
    )


def decisions(problem: Problem, solution: Solution) -> dict[str, list[tuple[str, str]]]:
    """Per workload its (cluster, policy) pairs, by name; "" where the cluster stays as it is."""
    found: dict[str, list[tuple[str, str]]] = {}
    for w, g in solution.pairs:
        configuration = problem.configurations[g]
        where = (configuration.cluster, configuration.policy.name if configuration.policy else "")
        found.setdefault(problem.demands[w].workload.name, []).append(where)
    return found
