"""What workloads request and policies supply: labels, annotations, devices, and pods as Kubernetes counts them."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from gitops_ds.errors import InputError, Source
from gitops_ds.ids import Device
from gitops_ds.problem import Problem
from gitops_ds.problem.pods import WHERE, pod_requests
from gitops_ds.solver import solve
from tests import builders as make
from tests.worlds import BOTH, ONE, fault, faults, states, supply, world

HUGE = "hugepages-1Gi"


def container(requests: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None, **more: Any) -> Any:
    return {"name": "c", "resources": {"requests": dict(requests or {}), "limits": dict(limits or {})}, **more}


def sidecar(requests: Mapping[str, Any]) -> Any:
    return container(requests, restartPolicy="Always")


def pod(*containers: Any, init: Any = (), **spec: Any) -> dict[str, Any]:
    return {"containers": list(containers), "initContainers": list(init), **spec}


def marked(file: str, *path: str | int) -> Source:
    """A source that knows the place of one value, and of those around it."""
    return Source(file, {path[:n]: (n, 7) for n in range(1, len(path) + 1)})


def carrying(*manifests: Any) -> Any:
    source = marked("hub/w1.yaml", *WHERE, 0, "spec", "containers", 0, "resources", "requests", "cpu")
    return replace(make.workload("w1", None), manifests=manifests, source=source)


def counted(*manifests: Any) -> dict[str, Fraction]:
    found, _ = pod_requests(carrying(*manifests), "because")
    return {str(kind): amount for kind, amount in found.items()}


def one(spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "Pod", "spec": spec}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (pod(container({"cpu": "100m"}), container({"cpu": "200m", "memory": "1Gi"})), {"cpu": "0.3", "memory": 2**30}),
        # Limits stand in for requests, kind by kind.
        (pod(container({"cpu": 1}, {"cpu": 2, "nvidia.com/gpu": 1})), {"cpu": 1, "nvidia.com/gpu": 1}),
        (pod(container({"cpu": 0}, {"cpu": 2})), {}),
        # An init container counts where it needs more than all containers together, and alone.
        (pod(container({"cpu": 1}), container({"cpu": 1}), init=[container({"cpu": 3})]), {"cpu": 3}),
        (pod(container({"cpu": 2}), init=[container({"cpu": 1}), container({"memory": 5})]), {"cpu": 2, "memory": 5}),
        # A sidecar runs beside the containers, and beside the init containers after it, not those before it.
        (pod(container({"cpu": 1}), init=[sidecar({"cpu": 2})]), {"cpu": 3}),
        (pod(container({"cpu": 1}), init=[sidecar({"cpu": 2}), container({"cpu": 4})]), {"cpu": 6}),
        (pod(container({"cpu": 1}), init=[container({"cpu": 4}), sidecar({"cpu": 2})]), {"cpu": 4}),
        (pod(init=[sidecar({"cpu": 1}), container({"cpu": 2}), sidecar({"cpu": 3})]), {"cpu": 4}),
        # Overhead comes on top.
        (pod(container({"cpu": 1}), overhead={"cpu": "250m", "memory": 7}), {"cpu": "1.25", "memory": 7}),
        # What the pod says as a whole: requests win, a limit only where no container requests that kind.
        (pod(container({"cpu": 1, "x/y": 2}), resources={"requests": {"cpu": 3}}), {"cpu": 3, "x/y": 2}),
        (pod(container({"cpu": 1}), resources={"limits": {"cpu": 3, "memory": 4}}), {"cpu": 1, "memory": 4}),
        (pod(container({"cpu": 1}), resources={"requests": {"cpu": 2}}, overhead={"cpu": 1}), {"cpu": 3}),
        (pod(container({"x/y": 1}), resources={"requests": {"x/y": 9, "hugepages-1Gi": 5}}), {"x/y": 1, HUGE: 5}),
        # Numbers as JSON has them.
        (pod(container({"cpu": 0.5, "memory": "1e3"})), {"cpu": "0.5", "memory": 1000}),
        (pod({"name": "bare"}), {}),
    ],
)  # fmt: skip
def test_a_pod_is_counted_as_the_scheduler_counts_it(spec: dict[str, Any], expected: Mapping[str, Any]) -> None:
    assert counted(one(spec)) == {kind: Fraction(amount) for kind, amount in expected.items()}


SMALL = {"spec": pod(container({"cpu": 1}))}
POD = {"kind": "Pod", **SMALL}


@pytest.mark.parametrize(
    ("manifest", "cpu"),
    [
        *(
            ({"kind": kind, "spec": {"replicas": 3, "template": SMALL}}, 3)
            for kind in ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
        ),
        ({"kind": "Deployment", "spec": {"template": SMALL}}, 1),
        ({"kind": "Deployment", "spec": {"replicas": 0, "template": SMALL}}, 0),
        ({"kind": "Job", "spec": {"template": SMALL}}, 1),
        ({"kind": "Job", "spec": {"parallelism": 4, "template": SMALL}}, 4),
        ({"kind": "Job", "spec": {"parallelism": 4, "completions": 2, "template": SMALL}}, 2),
        ({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"parallelism": 2, "template": SMALL}}}}, 2),
        ({"kind": "DaemonSet", "spec": {"template": SMALL}}, 1),
        (POD, 1),
        ({"kind": "ConfigMap", "data": {}}, 0),
        ({"kind": "List", "items": [POD, {"kind": "List", "items": [POD]}]}, 2),
    ],
)  # fmt: skip
def test_the_pods_of_an_object_are_as_many_as_it_runs(manifest: dict[str, Any], cpu: int) -> None:
    assert counted(manifest).get("cpu", 0) == cpu
    assert counted(manifest, POD)["cpu"] == cpu + 1


def test_what_cannot_be_counted_is_said() -> None:
    daemons = {"kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {"template": SMALL}}
    assert pod_requests(carrying(daemons), "")[1] == (
        "default/w1: its DaemonSet agent counts as one pod, not one a node",
    )
    assert pod_requests(carrying({"kind": "Service"}), "")[1] == (
        "default/w1 is to request what its pods do, and carries no pod: it requests nothing",
    )


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        (one(pod(container({"cpu": "lots"}))), 'cpu: "lots" is no amount'),
        (one(pod(container({"cpu": -1}))), "cpu: an amount is 0 or more"),
        (one(pod(container({"cpu": True}))), "cpu: a boolean is no amount"),
        (one(pod(container({"cpu": [1]}))), "cpu: an amount is a number"),
        (one({"containers": "x"}), "containers is no list"),
        (one({"containers": ["x"]}), "this is no container"),
        (one(pod({"resources": []})), "resources is no mapping"),
        ({"kind": "Pod", "spec": 3}, "spec is no mapping"),
        ({"kind": "Deployment", "spec": {"replicas": "3", "template": SMALL}}, "replicas is no number of pods"),
        ({"kind": "Deployment", "spec": {"replicas": -1, "template": SMALL}}, "replicas is no number of pods"),
        ({"kind": "List", "items": {}}, "items is no list"),
    ],
)
def test_a_template_that_is_wrong_is_a_fault_at_its_place(manifest: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError) as error:
        counted(manifest)
    (found,) = error.value.faults
    assert found.what.startswith(f"pods of default/w1: {what}")
    assert found.why == "because"
    assert found.place
    assert found.place.file == "hub/w1.yaml"
    if what.startswith("cpu"):
        assert (found.place.line, found.place.column) == (len(WHERE) + 7, 7)


# The order between intent, annotation, labels and pods


def requests(placed: Mapping[str, Any], *things: make.Thing) -> dict[str, Fraction]:
    problem = make.problem(make.intent(ONE, [{"name": "w1", **placed}]), *world(*things))
    return {str(kind): amount for kind, amount in problem.demands[0].requests.items()}


def annotated(text: str, amount: str | None = "1", *manifests: Any) -> Any:
    found = make.workload("w1", amount)
    return replace(found, annotations={"gitops-ds.io/requests": text}, manifests=manifests)


def test_the_annotation_adds_kinds_to_the_labels_and_wins_over_them() -> None:
    assert requests({}, annotated('{"memory": "96Gi"}')) == {"gpu": 1, "memory": 96 * 2**30}
    assert requests({}, annotated('{"gpu": 3, "cpu": "1500m"}')) == {"gpu": 3, "cpu": Fraction(3, 2)}
    assert requests({}, annotated('{"gpu": 0, "cpu": 1}')) == {"cpu": 1}
    assert requests({}, annotated('{"cpu": 1}', None)) == {"cpu": 1}
    assert requests({"requests": {"gpu": 2}}, annotated('{"cpu": 1}')) == {"gpu": 2}


def test_pods_add_what_neither_annotation_nor_labels_name() -> None:
    own = {"kind": "Pod", "spec": pod(container({"cpu": 2, "memory": 5, "gpu": 9}))}
    plain = replace(make.workload("w1"), manifests=(own,))
    assert requests({}, plain) == {"gpu": 1}
    assert requests({"requestsFrom": "labels"}, plain) == {"gpu": 1}
    assert requests({"requestsFrom": "pods"}, plain) == {"gpu": 1, "cpu": 2, "memory": 5}
    assert requests({"requestsFrom": "pods"}, annotated('{"cpu": "100m"}', None, own)) == {
        "cpu": Fraction(1, 10),
        "memory": 5,
        "gpu": 9,
    }


def test_notes_on_pods_become_warnings() -> None:
    text = make.intent(ONE, [{"name": "w1", "requestsFrom": "pods"}])
    assert any("carries no pod" in line for line in make.problem(text, *world()).warnings)


def test_requests_go_without_requests_from() -> None:
    with pytest.raises(InputError, match="requests says all that a copy needs"):
        make.load(make.intent(ONE, [{"name": "w1", "requests": {"gpu": 1}, "requestsFrom": "pods"}]))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "is no JSON: "),
        ("[1]", "is no JSON object"),
        ("3", "is no JSON object"),
        ('{"gpu": 1, "gpu": 2}', "names a kind twice, or none"),
        ('{"": 1}', "names a kind twice, or none"),
        ('{"gpu": 1.5}', 'gpu: quote an amount with a decimal point: "1.5"'),
        ('{"gpu": null}', "gpu: an amount is a number"),
        ('{"gpu": {"a": 1}}', "gpu: an amount is a number"),
        ('{"gpu": "2x"}', 'gpu: "2x" is no amount'),
        ('{"gpu": -1}', "gpu: an amount is 0 or more"),
        ('{"gpu": true}', "gpu: a boolean is no amount"),
    ],
)
@pytest.mark.parametrize("kind", ["workload", "policy"])
def test_a_wrong_annotation_is_a_fault_at_its_place(kind: str, text: str, what: str) -> None:
    key = "gitops-ds.io/requests" if kind == "workload" else "gitops-ds.io/supply"
    source = marked("there.yaml", "metadata", "annotations", key)
    carrier = make.workload("w1") if kind == "workload" else make.policy("p1")
    found = fault(make.intent(ONE, ["w1"]), *world(replace(carrier, annotations={key: text}, source=source)))
    assert found.what.startswith(f"annotation {key} of {kind} default/{carrier.name}"), found.what
    assert what in found.what
    assert found.place
    assert (found.place.file, found.place.line, found.place.column) == ("there.yaml", 3, 7)


def test_all_wrong_amounts_of_an_annotation_are_reported() -> None:
    text = make.intent(ONE, ["w1"])
    assert len(faults(text, *world(annotated('{"a": "x", "b": "y", "c": 1}')))) == 2


# What policies supply


def supplied(text: str, labels: Mapping[str, str] | None = None) -> dict[str, Fraction]:
    policy = make.policy("p1")
    annotations = {"gitops-ds.io/supply": text}
    changed = replace(policy, annotations=annotations, labels=policy.labels if labels is None else labels)
    wanted = {"name": "w1", "requests": {"gpu": 1, "memory": 1, "cpu": 1}}
    return supply(make.problem(make.intent(ONE, [wanted]), *world(changed)), "c1/p1")


def test_a_policy_supplies_several_kinds_by_its_annotation() -> None:
    assert supplied('{"memory": "96Gi"}') == {"gpu": 2, "memory": 96 * 2**30, "cpu": 0}
    assert supplied('{"gpu": "7", "cpu": "1"}') == {"gpu": 7, "memory": 0, "cpu": 1}
    device = {"resource-supply-device": "half"}
    assert supplied('{"gpu": 1}', device) == {"gpu": 1, "memory": 0, "cpu": 0}


def test_the_device_is_by_label_and_labels_are_whole_or_absent() -> None:
    for labels, missing in (
        ({}, "resource-supply-device"),
        ({"resource-supply-device": "half", "resource-supply-kind": "gpu"}, "resource-supply-amount"),
    ):
        with pytest.raises(InputError, match=f"policy default/p1 has no label {missing}"):
            supplied('{"gpu": 1}', labels)


# Requests by device


def by_device(on: Mapping[str, Any], requests: Mapping[str, Any] | None = None) -> Problem:
    wanted: dict[str, Any] = {"name": "w1", "requestsOn": on}
    if requests is not None:
        wanted["requests"] = requests
    return make.problem(make.intent(BOTH, [wanted, "w2"]), *world())


def test_requests_differ_by_device() -> None:
    problem = by_device({"full": {"gpu": 2}, "half": {"cpu": 0}}, {"gpu": 1, "cpu": 0})
    assert problem.request.shape == (2, 3, 1)
    by_name = {c.device: int(problem.need(0, g)[0]) for g, c in enumerate(problem.configurations)}
    assert by_name == {"half": 1, "full": 2}
    assert states(problem)["w1"]["c1/q1"] == "CAPACITY"
    assert states(problem)["w2"]["c1/q1"] == "ELIGIBLE"


def test_the_kinds_of_a_device_take_the_place_of_the_same_kinds() -> None:
    demand = by_device({"full": {"gpu": 0}, "half": {"memory": 5}}, {"gpu": 1, "cpu": "2"}).demands[0]
    assert demand.requests_on == {Device("full"): {"cpu": 2}, Device("half"): {"cpu": 2, "gpu": 1, "memory": 5}}


def test_without_requests_by_device_there_is_one_variant() -> None:
    problem = make.problem(make.intent(BOTH, ["w1", "w2"]), *world())
    assert (problem.request.shape, problem.differs) == ((2, 1), False)
    assert problem.variant.size == 0


def test_a_device_that_nobody_supplies_is_a_warning_and_no_variant() -> None:
    problem = by_device({"3g.48gb": {"gpu": 1}})
    assert not problem.differs
    assert "default/w1: requestsOn names 3g.48gb, a device that no candidate supplies" in problem.warnings


# What runs already is counted once


def test_allocatable_is_counted_whole_and_what_runs_by_its_requests() -> None:
    """Two workloads of 2 cpu run on a cluster with 4 allocatable: both stay, and a third one finds no room."""
    cluster = replace(make.cluster("c1"), allocatable={"cpu": "4"})
    names = ["w1", "w2", "w3"]
    things: list[make.Thing] = [
        cluster,
        *(make.workload(n, "2", "cpu") for n in names),
        make.scores("c1", {f"{n};": 10 for n in names}),
    ]
    text = make.intent([{"name": "c1", "capacity": {"cpu": "allocatable"}}], names)
    problem = make.problem(text, *things, incumbent=make.incumbent({"w1": ["c1"], "w2": ["c1"]}))
    assert supply(problem, "c1/") == {"cpu": 4}
    assert len(solve(problem).pairs) == 2
