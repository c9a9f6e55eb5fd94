"""The health checks for Argo CD and Flux, run by a real Lua and a real CEL over objects as a hub holds them."""

from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError
from lupa import lua51

from gitops_ds.bootstrap.cel import PLACEMENT as PLACEMENT_CEL
from gitops_ds.bootstrap.lua import HEALTH, PLACEMENT, PLACEMENT_BINDING, POLICY, REPLICA_SET
from tests.unit.pages import planned

GATED = [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": [{"key": "policy-watcher-claim"}]}}}]
PINNED = [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": "cluster1"}}}}]
UNGATED: list[dict[str, Any]] = [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": []}}}]


def lua(check: str, obj: dict[str, Any]) -> tuple[str, str]:
    """Status and message, as Argo CD gets them: Lua 5.1, and of its libraries what a sandbox leaves."""
    runtime = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    for name in ("os", "io", "debug", "package", "require", "dofile", "loadfile"):
        runtime.globals()[name] = None
    runtime.globals()["obj"] = runtime.table_from(obj, recursive=True)
    found = runtime.execute(check)
    assert set(found) == {"status", "message"}
    return found["status"], found["message"]


def cel(obj: dict[str, Any]) -> str:
    """What Flux makes of the three expressions: the first that is true, else in progress; no answer for an error."""
    environment = celpy.Environment()
    values = {key: json_to_cel(value) for key, value in obj.items()}
    for name in ("inProgress", "failed", "current"):
        program = environment.program(environment.compile(PLACEMENT_CEL[name]))
        try:
            if bool(program.evaluate(values)):
                return name
        except CELEvalError:
            return "error"
    return "inProgress"


def condition(kind: str, status: str, reason: str = "R", message: str | None = "words") -> dict[str, Any]:
    found = {"type": kind, "status": status, "reason": reason, "lastTransitionTime": "2026-01-15T09:00:00Z"}
    return found if message is None else {**found, "message": message}


def placement(*conditions: dict[str, Any], predicates: Any = None, **more: Any) -> dict[str, Any]:
    spec = {"numberOfClusters": 1} if predicates is None else {"numberOfClusters": 1, "predicates": predicates}
    return {"metadata": {"name": "p"}, "spec": spec, "status": {"conditions": list(conditions)}, **more}


def satisfied(status: str, reason: str, message: str | None = "words") -> dict[str, Any]:
    return condition("PlacementSatisfied", status, reason, message)


def misconfigured(status: str) -> dict[str, Any]:
    return condition("PlacementMisconfigured", status, "Misconfigured", "bad expression")


NO_MATCH = satisfied("False", "NoManagedClusterMatched")
SOME = satisfied("False", "NotAllDecisionsScheduled")
UNBOUND = satisfied("False", "NoManagedClusterSetBindings")
ALL = satisfied("True", "AllDecisionsScheduled")


@pytest.mark.parametrize(
    ("obj", "argo", "flux"),
    [
        (placement(ALL), "Healthy", "current"),
        (placement(ALL, misconfigured("False")), "Healthy", "current"),
        (placement(ALL, misconfigured("True")), "Degraded", "failed"),
        (placement(misconfigured("True"), ALL), "Degraded", "failed"),
        (placement(satisfied("False", "Misconfigured"), misconfigured("True"), predicates=GATED), "Degraded", "failed"),
        (placement(misconfigured("True")), "Degraded", "inProgress"),
        (placement(NO_MATCH, predicates=GATED), "Progressing", "inProgress"),
        (placement(NO_MATCH, predicates=[*PINNED, *GATED]), "Progressing", "inProgress"),
        (placement(SOME, predicates=GATED), "Progressing", "inProgress"),
        (placement(UNBOUND, predicates=GATED), "Degraded", "inProgress"),
        (placement(NO_MATCH, predicates=PINNED), "Degraded", "inProgress"),
        (placement(NO_MATCH, predicates=UNGATED), "Degraded", "inProgress"),
        (placement(NO_MATCH), "Degraded", "inProgress"),
        (placement(satisfied("Unknown", "R")), "Degraded", "inProgress"),
        (placement(), "Progressing", "inProgress"),
        (placement(condition("Other", "True")), "Progressing", "inProgress"),
        (placement(ALL) | {"status": {}}, "Progressing", "inProgress"),
    ],
)
def test_a_placement_is_as_well_as_its_two_conditions_say(obj: dict[str, Any], argo: str, flux: str) -> None:
    assert lua(PLACEMENT, obj)[0] == argo
    assert cel(obj) == flux


def test_a_placement_without_a_status_or_a_spec_is_waited_for() -> None:
    assert lua(PLACEMENT, {"metadata": {"name": "p"}})[0] == "Progressing"
    assert cel({"metadata": {"name": "p"}, "spec": {}}) in ("inProgress", "error")


def test_what_is_said_of_a_placement_is_what_its_controller_says() -> None:
    assert lua(PLACEMENT, placement(ALL))[1] == "words"
    assert lua(PLACEMENT, placement(NO_MATCH, predicates=GATED))[1] == "waits for the claim gate: words"
    assert lua(PLACEMENT, placement(satisfied("False", "AllManagedClusterSetsEmpty", None)))[1] == (
        "AllManagedClusterSetsEmpty"
    )
    assert lua(PLACEMENT, placement(ALL, misconfigured("True")))[1] == "bad expression"


def test_the_placements_that_are_rendered_are_told_apart_by_their_gate() -> None:
    from gitops_ds.yamltext import read_kubernetes

    tree = planned().tree
    for path, text in tree.items():
        if "/placement-" not in path or path.endswith("kustomization.yaml"):
            continue
        obj = read_kubernetes(text, path)[0].value | {"status": {"conditions": [NO_MATCH]}}
        is_workload = "app0" in path
        assert lua(PLACEMENT, obj)[0] == ("Progressing" if is_workload else "Degraded"), path


def test_a_binding_says_what_it_binds() -> None:
    obj = {
        "metadata": {"name": "b"},
        "placementRef": {"name": "placement-cluster1"},
        "subjects": [{"name": "policy-a"}, {"name": "policy-b"}],
    }
    assert lua(PLACEMENT_BINDING, obj) == ("Healthy", "binds policy-a, policy-b by placement-cluster1")
    assert lua(PLACEMENT_BINDING, obj | {"subjects": []})[0] == "Degraded"
    assert lua(PLACEMENT_BINDING, {"metadata": {"name": "b"}, "subjects": [{"name": "a"}]})[0] == "Degraded"


def entry(cluster: str, compliant: str | None) -> dict[str, Any]:
    return {"clustername": cluster} if compliant is None else {"clustername": cluster, "compliant": compliant}


@pytest.mark.parametrize(
    ("spec", "status", "health", "said"),
    [
        ({}, None, "Healthy", "no cluster is bound to it"),
        ({}, {}, "Healthy", "no cluster is bound to it"),
        ({}, {"placement": [{"placement": "p"}]}, "Healthy", "no cluster is bound to it"),
        ({"disabled": True}, None, "Suspended", "is disabled"),
        ({"disabled": False}, {"compliant": "Compliant"}, "Healthy", "compliant"),
        ({}, {"compliant": "Compliant", "status": [entry("c1", "Compliant")]}, "Healthy", "compliant"),
        ({}, {"status": [entry("c1", "Compliant"), entry("c2", None)]}, "Progressing", "not yet compliant: c2"),
        ({}, {"compliant": "Pending", "status": [entry("c1", "Pending")]}, "Progressing", "not yet compliant: c1"),
        (
            {},
            {"compliant": "NonCompliant", "status": [entry("c1", "Pending"), entry("c2", "NonCompliant")]},
            "Degraded",
            "not compliant: c2",
        ),
        ({}, {"compliant": "NonCompliant"}, "Degraded", "not compliant"),
        ({}, {"compliant": "Pending"}, "Progressing", "not yet compliant"),
    ],
)
def test_a_policy_that_nobody_chose_is_well(
    spec: dict[str, Any], status: dict[str, Any] | None, health: str, said: str
) -> None:
    obj: dict[str, Any] = {"metadata": {"name": "p"}, "spec": spec}
    assert lua(POLICY, obj if status is None else obj | {"status": status}) == (health, said)


def verified(status: str, reason: str) -> dict[str, Any]:
    return condition("PlacementVerified", status, reason)


GOOD = verified("True", "AsExpected")


@pytest.mark.parametrize(
    ("conditions", "summary", "health", "said"),
    [
        ([], None, "Progressing", "has not looked yet"),
        ([GOOD], {"total": 2, "applied": 2, "available": 2}, "Healthy", "2 applied and 2 available of 2"),
        ([GOOD], {"desiredTotal": 2, "total": 1, "applied": 1, "available": 1}, "Progressing", "1 available of 2"),
        ([GOOD], {"total": 2, "applied": 2, "available": 1}, "Progressing", "2 applied and 1 available of 2"),
        ([GOOD], {"total": 2, "applied": 2, "available": 2, "degraded": 1}, "Degraded", "1 degraded"),
        ([GOOD], {"total": 0}, "Progressing", "of 0"),
        ([GOOD], None, "Progressing", "of 0"),
        ([verified("False", "PlacementDecisionNotFound")], {}, "Suspended", "no Placement"),
        ([verified("False", "PlacementDecisionEmpty")], {}, "Progressing", "selects no cluster"),
        (
            [GOOD, condition("ManifestworkApplied", "False", "InvalidManifestWorkName", "name too long")],
            {},
            "Degraded",
            "name too long",
        ),
        ([GOOD, condition("ManifestworkApplied", "False", "NotAsExpected")], {"total": 1}, "Progressing", "of 1"),
    ],
)
def test_a_workload_is_as_well_as_its_copies(
    conditions: list[dict[str, Any]], summary: dict[str, Any] | None, health: str, said: str
) -> None:
    status = {"conditions": conditions} if summary is None else {"conditions": conditions, "summary": summary}
    found, words = lua(REPLICA_SET, {"metadata": {"name": "w"}, "spec": {}, "status": status})
    assert found == health
    assert said in words


@pytest.mark.parametrize("kind", sorted(HEALTH))
def test_what_is_being_deleted_is_progressing_and_nothing_is_an_error(kind: str) -> None:
    going = {"metadata": {"name": "x", "deletionTimestamp": "2026-01-15T09:00:00Z"}}
    assert lua(HEALTH[kind], going) == ("Progressing", "is being deleted")
    for fields in ((), ("metadata",), ("metadata", "spec"), ("metadata", "spec", "status")):
        obj: dict[str, Any] = {name: {} for name in fields}
        status, message = lua(HEALTH[kind], obj)
        assert status in ("Healthy", "Progressing", "Suspended", "Degraded")
        assert message
