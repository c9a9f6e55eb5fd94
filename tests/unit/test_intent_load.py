"""The strict loader: each kind of bad input, said with its exact place, all at once; and the digest of an intent."""

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_ds.errors import Fault, InputError, Place
from gitops_ds.ids import IntentId, IntentName, Namespace
from gitops_ds.intent.load import LoadedIntent, intent_digest, load_intents
from gitops_ds.sample import sample_folder
from gitops_ds.yamltext import read_strict
from tests.builders import intent, load, place

GOOD = """\
# What runs where.
apiVersion: gitops-ds.io/v1alpha1
kind: PlacementIntent
metadata:
  name: fleet
  namespace: default
spec:
  preference:
    scores:
      - name: speed
        dimension: "${app};${device}"
        weight: 2
    goal: place-first
    missing: exclude
    stale: keep
    maxAge: 15m
  clusters:
    - name: cluster1
      policies: [policy-a, policy-b]
      capacity: {cpu: 64, memory: allocatable}
      reserve: {cpu: 500m}
    - selector:
        matchLabels: {example.com/gpu: "true"}
        matchExpressions: [{key: region, operator: In, values: [eu]}]
      policies: ["policy-a-${cluster}"]
  workloads:
    - name: web
      requests: {gpu: 2, cpu: 1500m}
      priority: 10
      copies: 2
      allow: [cluster1, {selector: {matchLabels: {gpu: "true"}}}]
      tolerations: [{key: example.com/odd, operator: Exists}]
      with: [db]
      spread: [{key: region}]
    - name: db
      gate: none
      after: [cache]
    - name: cache
      pin: cluster1
      apart: [web]
  stability: {moveCost: 2.5, reconfigureCost: 10}
  solver: {timeLimit: 1h30m, gap: 0.01}
"""

PARAMS = """\
namespace: default
clusters:
  - name: cluster1
    availablePolicies:
      - name: policy-a
      - name: policy-b
targetWorkloads:
  - name: web
  - name: db
preference:
  addOnPlacementScore: speed
  scoreDimensionFormat: "${app};${device}"
"""


def faults(files: dict[str, str]) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as error:
        load_intents({path: text.encode() for path, text in files.items()})
    return error.value.faults


def fault(text: str, file: str = "intent/0.yaml") -> Fault:
    """The one fault of the text."""
    found = faults({file: text})
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def changed(old: str, new: str, text: str = GOOD) -> str:
    assert text.count(old) == 1, f"{old} stands {text.count(old)} times"
    return text.replace(old, new)


def test_a_good_intent_is_read_whole() -> None:
    (one,) = load(GOOD)
    spec = one.intent.spec
    assert one.id == IntentId(Namespace("default"), IntentName("fleet"))
    assert (spec.workloads[0].with_, spec.workloads[1].after) == (("db",), ("cache",))
    assert spec.workloads[1].gate is None
    assert spec.workloads[0].gate is not None
    assert spec.solver.timeLimit.total_seconds() == 5400
    assert str(one.at("spec", "workloads", 1, "gate")) == "intent/0.yaml:36:7"


def test_label_keys_keep_their_prefix() -> None:
    (one,) = load(GOOD)
    selector = one.intent.spec.clusters[1].selector
    assert selector is not None
    assert selector.matchLabels == {"example.com/gpu": "true"}
    assert one.intent.spec.workloads[0].tolerations[0].key == "example.com/odd"


BAD = [
    # An unknown field, with the one that was meant.
    ("        weight: 2", "        wieght: 2", "wieght", "unknown field spec.preference.scores[0].wieght", "weight?"),
    ("  stability:", "  stablity:", "stablity", "unknown field spec.stablity", "stability?"),
    ("      with: [db]", "      wiht: [db]", "wiht", "unknown field spec.workloads[0].wiht", "with?"),
    ("      pin: cluster1", "      zzz: cluster1", "zzz", "unknown field spec.workloads[2].zzz", ""),
    # A wrong type.
    ("policies: [policy-a, policy-b]", "policies: policy-a", "policies: policy-a", "should be a list", ""),
    ("priority: 10", "priority: high", "priority", "valid integer", ""),
    ("priority: 10", "priority: true", "priority", "valid integer, not true", ""),
    ("copies: 2", "copies: 1.5", "copies", "valid integer, not 1.5", ""),
    ("  stability: {moveCost: 2.5, reconfigureCost: 10}", "  stability: [1]", "stability", "a mapping, not a list", ""),
    ("requests: {gpu: 2, cpu: 1500m}", "requests: 2", "requests", "should be a mapping, not 2", ""),
    ("      gate: none", "      gate: never", "gate", 'should be a mapping, not "never"', ""),
    # A number or a truth value where text is meant.
    ("name: cluster1", "name: 5", "name: 5", "is text, and 5 is none", "put it in quotes"),
    ("      pin: cluster1", "      pin: true", "pin", "is text, and true is none", "put it in quotes"),
    ("values: [eu]", "values: [1]", "1]", "values[0] is text, and 1 is none", "put it in quotes"),
    ('{example.com/gpu: "true"}', "{example.com/gpu: true}", "example.com/gpu", "is text, and true is none", "quotes"),
    # A value that is not one of the words.
    ("goal: place-first", "goal: best", "goal: best", "'place-first' or 'score-first', not \"best\"", ""),
    ("operator: In,", "operator: Like,", "operator: Like", "'In', 'NotIn'", ""),
    # Names as Kubernetes has them.
    ("  name: fleet", "  name: Fleet", "name: Fleet", '"Fleet" is no DNS label', ""),
    ("  name: fleet", f"  name: {'f' * 64}", "name: fff", "at most 63 characters, this one has 64", ""),
    ("policy-a-${cluster}", "policy-a-${clutser}", '"policy-a', "is no DNS name", ""),
    ("example.com/gpu:", "example.com/:", "example.com/:", '"" is no label key', ""),
    ("example.com/gpu:", "/gpu:", "/gpu:", "prefix is empty", ""),
    ("example.com/gpu:", "Example.com/gpu:", "Example.com/gpu:", '"Example.com" is no label prefix', ""),
    # Amounts, points, durations.
    ("cpu: 1500m", "cpu: 1.5", "cpu: 1.5", 'quote an amount with a decimal point: "1.5"', ""),
    ("cpu: 1500m", "cpu: -1", "cpu: -1", "an amount is 0 or more", ""),
    ("cpu: 1500m", "cpu: 15 cores", "cpu: 15", '"15 cores" is no amount', ""),
    ("cpu: 1500m", "cpu: null", "cpu: null", "an amount is a number", ""),
    ("memory: allocatable", "memory: all", "memory", '"all" is no amount', ""),
    ("moveCost: 2.5", "moveCost: 0.0001", "moveCost", "three decimal places", ""),
    ("moveCost: 2.5", "moveCost: -1", "stability", "a cost is 0 or more", ""),
    ("moveCost: 2.5", "moveCost: 1000001", "moveCost", "at most 1000000 points", ""),
    ("moveCost: 2.5", "moveCost: .inf", "moveCost", "a number of score points", ""),
    ("moveCost: 2.5", "moveCost: true", "moveCost", "a number of score points", ""),
    ("        weight: 2", "        weight: 0", "name: speed", "weight is more than 0", ""),
    ("maxAge: 15m", "maxAge: 15 minutes", "maxAge", "write a duration such as", ""),
    ("maxAge: 15m", "maxAge: 15", "maxAge", "write a duration such as", ""),
    ("maxAge: 15m", 'maxAge: "15m\\n"', "maxAge", "write a duration such as", ""),
    ("maxAge: 15m", 'maxAge: ""', "maxAge", "write a duration such as", ""),
    ("maxAge: 15m", "maxAge: 0s", "preference", "maxAge is more than 0s", ""),
    ("timeLimit: 1h30m", "timeLimit: 0s", "solver", "timeLimit is more than 0s", ""),
    ("gap: 0.01", "gap: 1", "gap", "less than 1", ""),
    # Fields that do not go together.
    ("    - name: cluster1\n", "    - name: cluster1\n      selector: {}\n", "name: cluster1", "name or selector", ""),
    ("[policy-a, policy-b]", "[policy-a, policy-a]", "name: cluster1", "a policy stands twice", ""),
    ("      pin: cluster1", "      pin: cluster1\n      copies: 2", "name: cache", "pin names the one cluster", ""),
    ("operator: In, values: [eu]", "operator: In", "{key: region, op", "In needs values", ""),
    ("operator: In, values: [eu]", "operator: Exists, values: [eu]", "{key: region, op", "Exists takes no values", ""),
    ("operator: Exists}]", 'operator: Exists, value: "1"}]', "{key: example.com/odd", "Exists takes no value", ""),
    ("{key: example.com/odd, operator: Exists}", "{value: a}", "{value: a}", "without a key needs operator Exists", ""),
    # Something missing.
    ("  namespace: default\n", "", "metadata", "metadata.namespace is missing", ""),
    # Names of other workloads.
    ("with: [db]", "with: [dbs]", "dbs", "with of web names dbs, which is no workload of this intent", "mean db?"),
    ("after: [cache]", "after: [db]", "db]\n    - name: cache", "after of db names itself", ""),
    ("apart: [web]", "apart: [wbe]", "wbe", "apart of cache names wbe", "did you mean web? Known workloads: db, web"),
    ("with: [db]", "with: [db]\n      apart: [db]", "apart: [db]", "web is to be with db and apart from it", ""),
    # Twice the same name.
    (
        "    - name: cache\n",
        "    - name: cache\n    - name: cache\n",
        "name: cache\n      pin",
        "stands twice",
        "remove",
    ),
    (
        "    - selector:\n",
        "    - name: cluster1\n    - selector:\n",
        "name: cluster1\n    - sel",
        "stands twice",
        "join",
    ),
    # Not an intent.
    ("kind: PlacementIntent", "kind: Placement", "kind: Placement", 'kind "Placement" is no intent', "PlacementIntent"),
    ("kind: PlacementIntent", "kind: [a]", "kind: [a]", 'kind ["a"] is no intent', "PlacementIntent"),
    ("kind: PlacementIntent\n", "", "apiVersion", "kind is missing", "PlacementIntent"),
    ("gitops-ds.io/v1alpha1", "gitops-ds.io/v1", "apiVersion", 'apiVersion is "gitops-ds.io/v1"', "v1alpha1"),
    ("apiVersion: gitops-ds.io/v1alpha1\n", "", "kind", "apiVersion is missing", "v1alpha1"),
]


@pytest.mark.parametrize(("old", "new", "where", "what", "fix"), BAD)
def test_each_fault_is_said_at_its_own_place(old: str, new: str, where: str, what: str, fix: str) -> None:
    text = changed(old, new)
    found = fault(text)
    assert found.place == place(text, where)
    assert what in found.what
    assert fix in found.fix
    assert bool(fix) or not found.fix


@pytest.mark.parametrize(
    ("old", "new", "where", "what"),
    [
        ("  - name: cluster1", "  - name: 5", "name: 5", "is text, and 5 is none"),
        ("    availablePolicies:", "    policies:", "policies:", "unknown field clusters[0].policies"),
        ("      - name: policy-b", "      - name: policy-a", "name: cluster1", "a policy stands twice"),
        ("  - name: db", "  - name: web", "name: web\npref", "workload web stands twice"),
        ("addOnPlacementScore: speed", "addOnPlacementScore: 1", "addOn", "is text, and 1 is none"),
        ("addOnPlacementScore: speed", "addonPlacementScore: S", "addon", '"S" is no DNS name'),
        ("  addOnPlacementScore: speed\n", "", "preference", "preference.addOnPlacementScore is missing"),
        (
            "addOnPlacementScore: speed",
            "addOnPlacementScore: speed\n  addonPlacementScore: speed",
            "addon",
            "stands here under another spelling too",
        ),
        ("namespace: default\n", "", "clusters:", "namespace is missing"),
        ("  - name: web\n  - name: db\n", "  []\n", "targetWorkloads", "targetWorkloads is empty"),
    ],
)
def test_faults_of_the_params_form_stand_at_their_place_in_the_form(old: str, new: str, where: str, what: str) -> None:
    text = changed(old, new, PARAMS)
    missing = [f for f in faults({"params.yaml": text}) if what in f.what]
    assert [f.place for f in missing] == [place(text, where, "params.yaml")]


def test_all_faults_of_all_files_come_at_once_in_their_order() -> None:
    first = changed("goal: place-first", "goal: best", changed("copies: 2", "copies: two"))
    found = faults({"intent/b.yaml": "kind: Nothing\n", "intent/a.yaml": first, "intent/c.yaml": "a: [\n"})
    assert [f.place.file for f in found if f.place] == ["intent/a.yaml"] * 2 + ["intent/b.yaml", "intent/c.yaml"]
    assert ["goal" in found[0].what, "copies" in found[1].what] == [True, True]


def test_a_fault_in_the_second_document_points_into_it() -> None:
    text = f"{GOOD}---\n{changed('maxAge: 15m', 'maxAge: x')}"
    assert fault(text).place == place(text, "maxAge: x")


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "5\n"])
def test_a_document_that_is_no_mapping_is_no_intent(text: str) -> None:
    found = fault(text)
    assert found.what == "an intent is a mapping with apiVersion, kind, metadata and spec"


@pytest.mark.parametrize("text", ["", "---\n---\n", "null\n", "# nothing\n"])
@pytest.mark.parametrize("others", [{}, {"intent/b.yaml": GOOD}])
def test_a_file_that_holds_no_intent_is_a_fault_beside_others_too(text: str, others: dict[str, str]) -> None:
    (found,) = faults({"intent/a.yaml": text, **others})
    assert found.what == "the file holds no intent"
    assert found.place == Place("intent/a.yaml")
    assert "delete the file" in found.fix


def test_no_intent_at_all_is_an_error_that_says_how_to_start() -> None:
    with pytest.raises(InputError, match=r"no intent found in intent/; write one: `gitops-ds init`"):
        load_intents({})


@pytest.mark.parametrize(
    ("field", "fix"),
    [
        ("stability: {moveCost: 5}", "stability belongs in spec"),
        ("maxMoves: 1", "maxMoves belongs in spec.stability"),
        ("namespace: x", "namespace belongs in metadata"),
        ("name: x", ""),
        ("metadatas: 1", "did you mean metadata?"),
    ],
)
def test_a_field_that_stands_in_the_wrong_place_is_told_where_it_belongs(field: str, fix: str) -> None:
    assert fault(f"{GOOD}{field}\n").fix == fix


def test_a_placeholder_that_is_none_is_refused_on_loading() -> None:
    text = GOOD.replace("${app}", "${appp}")
    found = fault(text)
    assert found.what == "${appp} is no placeholder of a dimension"
    assert "did you mean app?" in found.fix
    assert found.place == place(text, "dimension")


def test_two_intents_of_one_name_are_a_fault_that_names_both() -> None:
    a, b = intent([{"name": "c"}], ["w1"]), intent([{"name": "c"}], ["w2"])
    (found,) = faults({"intent/0.yaml": a, "intent/1.yaml": b})
    assert found.what == "intent default/fleet stands twice"
    assert found.place == place(b, "name: fleet", "intent/1.yaml")
    assert found.why == f"the other is at {place(a, 'name: fleet')}"


def test_two_intents_that_set_one_workload_are_a_fault_that_names_both() -> None:
    a = intent([{"name": "c"}], ["w1", "w2"], name="a")
    b = intent([{"name": "c"}], ["w3", "w2"], name="b")
    (found,) = faults({"intent/0.yaml": a, "intent/1.yaml": b})
    assert found.what == "workload default/w2 is set by two intents, a and b"
    assert found.place == place(b, '"name": "w2"', "intent/1.yaml")
    first = place(a, '"name": "w2"')
    assert found.why == f"the other is at {first}"


def test_intents_of_two_namespaces_may_use_the_same_names() -> None:
    a, b = (intent([{"name": "c"}], ["w"], namespace=namespace) for namespace in ("blue", "green"))
    assert [one.id.namespace for one in load(b, a)] == ["blue", "green"]


@pytest.mark.parametrize("spelling", ["addOnPlacementScore", "addonPlacementScore"])
@pytest.mark.parametrize("as_json", [False, True])
def test_the_params_form_is_read_in_both_spellings(spelling: str, as_json: bool) -> None:
    text = changed("addOnPlacementScore", spelling, PARAMS)
    if as_json:
        value = {
            "namespace": "default",
            "clusters": [{"name": "cluster1", "availablePolicies": [{"name": "policy-a"}, {"name": "policy-b"}]}],
            "targetWorkloads": [{"name": "web"}, {"name": "db"}],
            "preference": {spelling: "speed", "scoreDimensionFormat": "${app};${device}"},
        }
        text = json.dumps(value, indent=2)
    (one,) = load_intents({"intent/My_params.json" if as_json else "intent/My_params.yaml": text.encode()})
    wanted = intent(
        [{"name": "cluster1", "policies": ["policy-a", "policy-b"]}],
        ["web", "db"],
        name="my-params",
    )
    assert one.intent == load(wanted)[0].intent
    assert one.is_params


@pytest.mark.parametrize(
    ("path", "where"),
    [
        (("spec", "clusters", 0, "policies", 1), "name: policy-b"),
        (("spec", "clusters", 0), "name: cluster1"),
        (("spec", "workloads", 1, "name"), "name: db"),
        (("spec", "preference", "scores", 0, "dimension"), "scoreDimensionFormat"),
        (("spec", "preference", "scores", 0, "name"), "addOnPlacementScore"),
        (("spec", "preference", "missing"), "preference"),
        (("metadata", "namespace"), "namespace"),
    ],
)
def test_paths_of_the_intent_lead_into_the_params_form(path: tuple[str | int, ...], where: str) -> None:
    (one,) = load(PARAMS)
    assert one.at(*path) == place(PARAMS, where)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("intent/params.yaml", "params"),
        ("intent/---.yaml", "params"),
        (f"intent/{'x' * 62}-y.yaml", "x" * 62),
        ("intent/Ünder_score.2.json.yaml", "nder-score-2-json"),
    ],
)
def test_an_intent_of_the_params_form_is_named_after_its_file(file: str, name: str) -> None:
    assert load_intents({file: PARAMS.encode()})[0].id.name == name


def digest(text: str) -> str:
    return intent_digest(load(text)[0].intent)


def test_the_digest_ignores_comments_order_and_spelt_out_defaults() -> None:
    value = changed("    goal: place-first\n", "", changed("# What runs where.\n", ""))
    value = changed("[policy-a, policy-b]", "[policy-b, policy-a]", value)
    value = changed("    missing: exclude\n", "", changed("    stale: keep\n", "", value))
    value = changed("requests: {gpu: 2, cpu: 1500m}", 'requests: {cpu: "1.5", gpu: "2"}', value)
    value = changed("spread: [{key: region}]", "spread: [{key: region, maxSkew: 1, mode: hard}]", value)
    value = changed("      pin: cluster1\n      apart: [web]", "      apart: [web]\n      pin: cluster1\n", value)
    value = changed("timeLimit: 1h30m", "timeLimit: 90m", value)
    assert value != GOOD
    assert digest(value) == digest(GOOD)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: speed", "name: power"),
        ("weight: 2", "weight: 3"),
        ("gate: none\n", "copies: 1\n"),
        ("goal: place-first", "goal: score-first"),
        ("with: [db]", "with: []"),
        ("cpu: 1500m", "cpu: 1501m"),
        ("maxAge: 15m", "maxAge: 16m"),
        ("[policy-a, policy-b]", "[policy-a]"),
        ("gap: 0.01", "gap: 0.02"),
        ("  namespace: default", "  namespace: other"),
    ],
)
def test_the_digest_changes_with_what_is_said(old: str, new: str) -> None:
    assert digest(changed(old, new)) != digest(GOOD)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_no_order_of_any_list_changes_the_digest(seed: int) -> None:
    order = random.Random(seed)

    def mixed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: mixed(value[key]) for key in order.sample(sorted(value), len(value))}
        if isinstance(value, list):
            return [mixed(item) for item in order.sample(value, len(value))]
        return value

    (document,) = read_strict(GOOD.encode(), "good.yaml")
    assert digest(json.dumps(mixed(document.value))) == digest(GOOD)


def test_the_params_form_and_the_intent_that_says_the_same_have_one_digest() -> None:
    (params,) = load_intents({"intent/fleet.yaml": PARAMS.encode()})
    same = intent([{"name": "cluster1", "policies": ["policy-b", "policy-a"]}], ["db", "web"])
    assert intent_digest(params.intent) == digest(same)


def test_the_shipped_sample_loads() -> None:
    path = sample_folder() / "intent" / "gpu-inference.yaml"
    (one,) = load_intents({"intent/gpu-inference.yaml": path.read_bytes()})
    assert str(one.id) == "default/gpu-inference"
    assert isinstance(one, LoadedIntent)
    assert one.at("spec", "workloads", 0, "name") == Place("intent/gpu-inference.yaml", 29, 7)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text("ab/$-", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("name", "x")), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_value_in_any_field_loads_or_is_a_fault_with_a_line(data: st.DataObject) -> None:
    (document,) = read_strict(GOOD.encode(), "good.yaml")
    value = copy.deepcopy(document.value)
    here = value
    while isinstance(here, (dict, list)) and here:
        key = data.draw(st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
        if not isinstance(here[key], (dict, list)) or not here[key] or data.draw(st.booleans()):
            here[key] = data.draw(JUNK)
            break
        here = here[key]
    found: tuple[Fault, ...] = ()
    try:
        load(json.dumps(value, indent=1))
    except InputError as error:
        found = error.faults
    assert all(f.place is not None and f.place.line is not None for f in found)
