"""The JSON Schema of intents: valid itself, and of one mind with the loader on what is good and what is bad."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gitops_ds.errors import InputError
from gitops_ds.intent.load import KINDS, load_intents
from gitops_ds.intent.schema import intent_schema
from gitops_ds.sample import sample_folder
from gitops_ds.yamltext import read_strict
from tests.unit.test_intent_load import GOOD, PARAMS

SCHEMA = intent_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def value_of(text: str) -> Any:
    (document,) = read_strict(text.encode(), "intent.yaml")
    return copy.deepcopy(document.value)


def loads(value: Any) -> bool:
    try:
        load_intents({"intent/a.json": json.dumps(value).encode()})
    except InputError:
        return False
    return True


@pytest.mark.parametrize("kind", [None, *sorted(KINDS)])
def test_the_schema_is_one_of_2020_12(kind: str | None) -> None:
    schema = intent_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_an_unknown_kind_has_no_schema() -> None:
    with pytest.raises(KeyError):
        intent_schema("Placement")


def test_the_sample_and_full_intents_of_both_forms_are_valid() -> None:
    sample = (sample_folder() / "intent" / "gpu-inference.yaml").read_text()
    for text in (sample, GOOD, PARAMS, PARAMS.replace("addOnPlacementScore", "addonPlacementScore")):
        assert [e.message for e in VALIDATOR.iter_errors(value_of(text))] == []
        assert loads(value_of(text))
    assert Draft202012Validator(intent_schema("PlacementIntent")).is_valid(value_of(sample))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kind",), "Placement"),
        (("apiVersion",), "gitops-ds.io/v2"),
        (("metadata", "namespace"), 5),
        (("spec", "surprise"), 1),
        (("spec", "preference", "scores"), []),
        (("spec", "preference", "scores", 0, "wieght"), 2),
        (("spec", "preference", "goal"), "best"),
        (("spec", "preference", "maxAge"), "15 minutes"),
        (("spec", "preference", "maxAge"), ""),
        (("spec", "preference", "maxAge"), 15),
        (("spec", "clusters"), []),
        (("spec", "clusters", 0, "policies"), "policy-a"),
        (("spec", "clusters", 1, "selector", "matchExpressions", 0, "operator"), "Like"),
        (("spec", "workloads", 0, "priority"), "high"),
        (("spec", "workloads", 0, "copies"), 0),
        (("spec", "workloads", 0, "allow"), [5]),
        (("spec", "workloads", 0, "requests", "gpu"), [2]),
        (("spec", "workloads", 1, "gate"), "never"),
        (("spec", "workloads", 2, "pin"), True),
        (("spec", "stability", "moveCost"), "5"),
        (("spec", "solver", "gap"), 1),
    ],
)
def test_what_the_loader_refuses_for_its_form_the_schema_refuses_too(path: tuple[Any, ...], value: Any) -> None:
    changed = value_of(GOOD)
    here = changed
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    assert not VALIDATOR.is_valid(changed)
    assert not loads(changed)


@pytest.mark.parametrize(
    "preference",
    [
        {},
        {"addOnPlacementScore": "a", "addonPlacementScore": "a"},
        {"addOnPlacementScore": 1},
        {"addOnPlacementScore": "a", "goal": "place-first"},
    ],
)
def test_bad_params_are_invalid_too(preference: dict[str, Any]) -> None:
    changed = {**value_of(PARAMS), "preference": preference}
    assert not VALIDATOR.is_valid(changed)
    assert not loads(changed)


def objects(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of an object in `schema`, with the way to it."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield path, schema
        for key, inner in schema.items():
            yield from objects(inner, f"{path}/{key}")
    elif isinstance(schema, list):
        for i, inner in enumerate(schema):
            yield from objects(inner, f"{path}/{i}")


def test_every_property_says_what_it_means_and_no_other_is_let_in() -> None:
    found = list(objects(SCHEMA))
    assert len(found) > 15
    for path, schema in found:
        assert schema["additionalProperties"] is False, path
        for name, field in schema["properties"].items():
            assert field.get("description", "").endswith((".", ")")), f"{path}: {name}"


def test_defaults_are_values_of_their_own_fields() -> None:
    for path, schema in objects(SCHEMA):
        for name, field in schema["properties"].items():
            if "default" in field:
                inner = Draft202012Validator({**field, "$defs": SCHEMA["$defs"]})
                assert inner.is_valid(field["default"]), f"{path}: {name}: {field['default']!r}"
