"""`build`: every way in which an intent and an inventory do not go together, each with its place."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_ds.errors import InputError, Place, Source
from gitops_ds.ids import ClusterName
from gitops_ds.inventory import ClusterSet, Workload
from gitops_ds.problem import build
from tests import builders as make
from tests.worlds import BOTH, ONE, Entries, fault, faults, world


def _marked(file: str, label: str, field: str) -> Source:
    """A source with metadata on line 2, its labels on 3, one of them on 4, spec on 5 and one field of it on 6."""
    paths = [("metadata",), ("metadata", "labels"), ("metadata", "labels", label), ("spec",), ("spec", field)]
    return Source(file, {(): (1, 1), **{path: (line, 3) for line, path in enumerate(paths, 2)}})


def test_a_cluster_that_is_not_on_the_hub() -> None:
    text = make.intent([{"name": "c9", "policies": []}], ["w1"])
    found = fault(text, *world())
    assert found.what == "cluster c9 is not on the hub"
    assert found.place == make.place(text, '"name": "c9"')
    assert found.fix == "known clusters: c1, c2"


def test_a_cluster_that_two_selectors_select() -> None:
    entry = {"selector": {"matchLabels": {"cluster-name": "c1"}}}
    text = make.intent([{"selector": {}}, entry], ["w1"])
    found = fault(text, *world())
    assert found.what == "cluster c1 is selected by two entries"
    assert found.place == make.place(text, '"selector": {"matchLabels"')


def test_a_policy_that_is_nowhere() -> None:
    text = make.intent([{"name": "c1", "policies": ["p1", "p9"]}], ["w1"])
    found = fault(text, *world())
    assert found.what == "policy default/p9 is neither on the hub nor in policies/"
    assert found.place == make.place(text, '"p9"')


def test_a_policy_of_another_namespace_does_not_count() -> None:
    text = make.intent([{"name": "c1", "policies": ["there"]}], ["w1"])
    assert "default/there is neither" in fault(text, *world(make.policy("there", namespace="other"))).what


@pytest.mark.parametrize(
    ("fields", "what", "line"),
    [
        ({"labels": {}}, "no label resource-supply-kind, resource-supply-amount, resource-supply-device", 3),
        (
            {"labels": {"resource-supply-kind": "gpu", "resource-supply-amount": "", "resource-supply-device": "x"}},
            "policy default/p1 has no label resource-supply-amount",
            3,
        ),
        ({"amount": "two"}, 'label resource-supply-amount of policy default/p1: "two" is no amount', 4),
        ({"amount": "-2"}, 'label resource-supply-amount of policy default/p1: "-2" is no amount', 4),
        ({"disabled": True}, "policy default/p1 is disabled", 6),
    ],
)
def test_a_policy_that_supplies_nothing_usable(fields: dict[str, Any], what: str, line: int) -> None:
    source = _marked("policies/p1.yaml", "resource-supply-amount", "disabled")
    text = make.intent(ONE, ["w1"])
    found = fault(text, *world(make.policy("p1", **{"source": source, **fields})))
    assert what in found.what
    assert found.place == Place("policies/p1.yaml", line, 3)
    assert str(make.place(text, '"p1"')) in found.why


def test_two_policies_of_one_device() -> None:
    text = make.intent([{"name": "c1", "policies": ["p1", "p2"]}], ["w1"])
    found = fault(text, *world())
    assert found.what == "default/p2 and default/p1 of c1 supply the same device half"
    assert found.place == make.place(text, '"p2"')


def test_a_policy_that_disagrees_in_every_cluster_it_is_listed_for_is_said_once_a_cluster() -> None:
    text = make.intent([{"selector": {}, "policies": ["bad-${cluster}"]}], ["w1"])
    found = faults(text, *world())
    assert [f.what for f in found] == [
        f"policy default/bad-{c} is neither on the hub nor in policies/" for c in ("c1", "c2")
    ]


def test_allocatable_that_the_cluster_does_not_report_or_that_is_no_amount() -> None:
    text = make.intent([{"name": "c1", "capacity": {"cpu": "allocatable"}}], ["w1"])
    found = fault(text, *world())
    assert found.what == "c1 reports no allocatable cpu"
    assert found.place == make.place(text, '"cpu"')
    source = Source("hub/c1.yaml", {(): (1, 1), ("status",): (9, 1)})
    found = fault(text, *world(make.cluster("c1", allocatable={"cpu": "many"}, source=source)))
    assert found.what.startswith("allocatable cpu of c1:")
    assert found.place == Place("hub/c1.yaml", 9, 1)


def test_a_reserve_of_what_there_is_no_capacity_of() -> None:
    text = make.intent([{"name": "c1", "capacity": {"cpu": 4}, "reserve": {"memory": "1Gi"}}], ["w1"])
    found = fault(text, *world())
    assert found.what == "reserve names memory, and capacity does not"
    assert found.place == make.place(text, '"memory"')


def test_a_namespace_that_no_bound_set_joins_to_the_cluster() -> None:
    text = make.intent(ONE, ["w1"])
    ours = make.cluster("c1", labels={"cluster.open-cluster-management.io/clusterset": "ours"})
    found = fault(text, *world(ours, make.binding("theirs")))
    assert found.what == "no cluster set that is bound in namespace default holds c1"
    assert found.place == make.place(text, '{"name": "c1"')
    assert "bindClusterSets: [ours]" in found.fix
    found = fault(text, *world(make.binding("global", "elsewhere")))
    assert "no cluster set" in found.what


@pytest.mark.parametrize(
    ("more", "spec"),
    [
        ([make.binding("ours")], {}),
        ([make.binding("none")], {"bindClusterSets": ["ours"]}),
        ([make.binding("any"), ClusterSet("any", match_labels={})], {}),
        ([make.binding("eu"), ClusterSet("eu", {}, (("region", "In", ("eu",)),))], {}),
    ],
)
def test_each_way_in_which_a_set_reaches_a_cluster(more: list[make.Thing], spec: dict[str, Any]) -> None:
    labels = {"cluster.open-cluster-management.io/clusterset": "ours", "region": "eu"}
    assert make.problem(make.intent(ONE, ["w1"], **spec), *world(make.cluster("c1", labels=labels), *more)).clusters


def test_a_cluster_that_no_placement_can_be_pinned_to() -> None:
    text = make.intent(ONE, ["w1"])
    bare = replace(make.cluster("c1"), labels={"cluster-name": "other"})
    found = fault(text, *world(bare))
    assert found.what == "no label of ManagedCluster c1 carries its name, so no Placement can be pinned to it"
    assert found.place == make.place(text, '{"name": "c1"')
    assert found.fix.startswith("kubectl label managedcluster c1 cluster-name=c1; or save the CRD")
    assert found.fix.endswith("kubectl get crd placements.cluster.open-cluster-management.io -o yaml")
    named = make.intent(ONE, ["w1"], pinLabel="example.com/me")
    assert fault(named, *world()).fix.startswith("kubectl label managedcluster c1 example.com/me=c1;")


def test_what_pins_a_cluster() -> None:
    c1, text = ClusterName("c1"), make.intent(ONE, ["w1"])
    assert make.problem(text, *world()).pins == {c1: "cluster-name"}
    by_name = replace(make.cluster("c1"), labels={"name": "c1"})
    assert make.problem(text, *world(by_name)).pins == {c1: "name"}
    own = make.intent(ONE, ["w1"], pinLabel="example.com/me")
    assert make.problem(own, *world(make.cluster("c1", labels={"example.com/me": "c1"}))).pins == {c1: "example.com/me"}
    bare = make.inventory(*world(replace(make.cluster("c1"), labels={})), placement_has_cel=True)
    assert build(make.load(text), bare, make.NOW).pins == {c1: None}


@pytest.mark.parametrize(
    ("mwrs", "entry", "what", "where"),
    [
        (
            make.workload("w2"),
            {"name": "w9"},
            "ManifestWorkReplicaSet default/w9 is neither on the hub",
            '"name": "w9"',
        ),
        (make.workload("w1", refs=["a", "b"]), {"name": "w1"}, "has several placementRefs", '"name": "w1"'),
        (make.workload("w1"), {"name": "w1", "placement": "x"}, "has no placementRef x", '"placement"'),
    ],
)
def test_a_workload_that_the_hub_knows_otherwise(mwrs: Workload, entry: dict[str, str], what: str, where: str) -> None:
    text = make.intent(ONE, [entry])
    found = fault(text, *world(mwrs))
    assert what in found.what
    assert found.place == make.place(text, where)


@pytest.mark.parametrize(
    ("fields", "what", "line"),
    [
        ({"refs": []}, "workload default/w1 has no placementRefs, so no Placement reaches it", 6),
        ({"refs": ["p" * 64]}, "is longer than 63 characters", 6),
        ({"amount": "x"}, 'label resource-request-amount of workload default/w1: "x" is no amount', 4),
        ({"amount": None, "labels": {"resource-request-kind": "gpu"}}, "has no label resource-request-amount", 3),
        ({"amount": None, "labels": {"resource-request-amount": "2"}}, "has no label resource-request-kind", 3),
    ],
)
def test_a_workload_that_is_wrong_itself(fields: dict[str, Any], what: str, line: int) -> None:
    source = _marked("hub/w1.yaml", "resource-request-amount", "placementRefs")
    text = make.intent(ONE, ["w1"])
    found = fault(text, *world(replace(make.workload("w1", **fields), source=source)))
    assert what in found.what
    assert found.place == Place("hub/w1.yaml", line, 3)
    place = make.place(text, '"name": "w1"')
    assert found.why == "OCM would never decide it" or str(place) in found.why


def test_a_workload_whose_name_ocm_cannot_apply() -> None:
    name = "w" * 60
    text = make.intent(ONE, [name])
    found = fault(text, *world(make.workload(name, refs=["p"])))
    assert "default.www" in found.what
    assert found.place == make.place(text, f'"name": "{name}"')


def test_two_workloads_that_follow_one_placement() -> None:
    things = world(make.workload("w1", refs=["same"]), make.workload("w2", refs=["same"]))
    text = make.intent(ONE, ["w1", "w2"])
    found = fault(text, *things)
    assert found.what == "w1 and w2 follow one Placement, same"
    assert found.place == make.place(text, '"name": "w2"')
    apart = [make.intent(ONE, ["w1"], name="a"), make.intent(ONE, ["w2"], name="b")]
    found = fault(apart, *things)
    assert found.what == "default/w1 and default/w2 follow one Placement, same"
    assert found.place == make.place(apart[1], '"name": "w2"', "intent/1.yaml")


def test_an_order_that_goes_in_a_circle() -> None:
    text = make.intent(ONE, [{"name": "w1", "after": ["w2"]}, {"name": "w2", "after": ["w1"]}])
    found = fault(text, *world())
    assert found.what == "the order goes in a circle: w1 after w2 after w1"
    assert found.place == make.place(text, '"after": ["w2"]')


def test_workloads_that_are_to_be_apart_and_together_by_way_of_others() -> None:
    entries: Entries = [{"name": "w1", "with": ["w2"]}, {"name": "w2"}, {"name": "w3", "with": ["w2"], "apart": ["w1"]}]
    text = make.intent(ONE, entries)
    found = fault(text, *world(make.workload("w3")))
    assert found.what == "w3 is to be apart from w1, and `with` puts both on the same clusters"
    assert found.place == make.place(text, '"w1"]')


def test_two_intents_of_one_problem_with_two_goals() -> None:
    first = make.intent(ONE, ["w1"], name="a")
    second = make.intent(ONE, ["w2"], name="b", preference={"goal": "score-first"})
    found = fault([first, second], *world())
    assert found.what == "the goal of default/b is score-first, and that of default/a is place-first"
    assert found.place == make.place(second, "goal:", "intent/1.yaml")


def test_amounts_too_far_apart_to_be_added_exactly() -> None:
    text = make.intent(ONE, [{"name": "w1", "requests": {"gpu": "1n"}}])
    found = fault(text, *world(make.policy("p1", amount="1Ei")))
    assert found.what == "amounts of gpu range from 1n to 1Ei, too widely to be added up exactly"


def test_all_faults_of_all_intents_come_at_once() -> None:
    first = make.intent([{"name": "c9"}, {"name": "c1", "policies": ["p9"]}], ["w9"], name="a")
    second = make.intent(ONE, [{"name": "w2", "placement": "x"}], name="b")
    found = faults([first, second], *world())
    assert [str(f.place) for f in found] == sorted(
        [
            str(make.place(first, '"name": "c9"')),
            str(make.place(first, '"p9"')),
            str(make.place(first, '"name": "w9"')),
            str(make.place(second, '"placement"', "intent/1.yaml")),
        ],
        key=lambda place: (place.split(":")[0], int(place.split(":")[1])),
    )


def test_a_namespace_that_holds_nothing_is_said_first_and_alone() -> None:
    text = make.intent(BOTH, ["w1", "w2"], namespace="defualt")
    found = fault(text, *world())
    assert found.what == "namespace defualt holds nothing that the intent names"
    assert found.place == make.place(text, "namespace:")
    assert found.fix == "did you mean default? Known namespaces: default"


def test_a_snapshot_without_any_binding_is_said_once() -> None:
    text = make.intent(BOTH, ["w1"])
    inventory = replace(make.inventory(*world()), set_bindings=())
    with pytest.raises(InputError) as caught:
        build(make.load(text), inventory, make.NOW)
    (found,) = caught.value.faults
    assert found.what == "the snapshot holds no ManagedClusterSetBinding at all"
    assert "kubectl get managedclustersetbindings -A" in found.fix
    assert build(make.load(make.intent(BOTH, ["w1"], bindClusterSets=["global"])), inventory, make.NOW).clusters


@pytest.mark.parametrize(
    ("field", "where"), [({"pin": "c3"}, '"pin"'), ({"allow": ["c1", "c3"]}, '"c3"'), ({"avoid": ["c3"]}, '"c3"')]
)
def test_a_name_that_is_no_cluster_of_the_intent(field: dict[str, Any], where: str) -> None:
    text = make.intent(BOTH, [{"name": "w1", **field}])
    found = fault(text, *world(make.cluster("c3")))
    assert found.what == f"{next(iter(field))} of w1 names c3, which is no cluster of this intent"
    assert found.place == make.place(text, where)
    assert found.fix == "known clusters: c1, c2"


def test_a_name_that_the_hub_or_git_knows_is_a_warning_so_that_no_change_of_the_hub_stops_every_plan() -> None:
    text = make.intent([{"selector": {"matchLabels": {"cluster-name": "c1"}}}], [{"name": "w1", "avoid": ["c2"]}])
    (note,) = [w for w in make.problem(text, *world()).warnings if "no cluster of this intent" in w]
    at = make.place(text, '"c2"')
    assert note == f"{at}: avoid of w1 names c2, which is no cluster of this intent"
    named = make.intent(ONE, [{"name": "w1", "avoid": ["c9"]}])
    held = make.problem(named, *world(), incumbent=make.incumbent({"w2": ["c9"]}))
    assert any("avoid of w1 names c9" in w for w in held.warnings)


def test_a_selector_of_a_workload_that_selects_no_cluster_is_a_warning() -> None:
    text = make.intent(ONE, [{"name": "w1", "allow": ["c1", {"selector": {"matchLabels": {"region": "mars"}}}]}])
    (note,) = [w for w in make.problem(text, *world()).warnings if "selects no cluster" in w]
    at = make.place(text, '{"selector"')
    assert note == f"{at}: allow of w1 selects no cluster of this intent"
