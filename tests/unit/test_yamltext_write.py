"""Writing YAML: the quoting policy and the layout, byte by byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gitops_ds.yamltext import read_kubernetes, read_strict, write_document


def test_the_layout_of_a_kubernetes_object() -> None:
    value = {
        "kind": "Placement",
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "metadata": {"name": "p", "labels": {"gitops-ds.io/intent": "x", "on": "NO"}, "annotations": {}},
        "spec": {
            "clusterSets": ["global", "010"],
            "tolerations": [{"key": "a", "operator": "Exists"}, {"tolerationSeconds": 300}],
            "predicates": [],
            "wait": False,
            "none": None,
            "nested": [["a", "b"], []],
        },
    }
    assert write_document(value).decode() == (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\n"
        "kind: Placement\n"
        "metadata:\n"
        "  annotations: {}\n"
        "  labels:\n"
        "    gitops-ds.io/intent: x\n"
        '    "on": "NO"\n'
        "  name: p\n"
        "spec:\n"
        "  clusterSets:\n"
        "  - global\n"
        '  - "010"\n'
        "  nested:\n"
        "  - - a\n"
        "    - b\n"
        "  - []\n"
        "  none: null\n"
        "  predicates: []\n"
        "  tolerations:\n"
        "  - key: a\n"
        "    operator: Exists\n"
        "  - tolerationSeconds: 300\n"
        "  wait: false\n"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a-b_c.d/e9", "a-b_c.d/e9"),
        ("", '""'),
        ("Yes", '"Yes"'),
        ("NULL", '"NULL"'),
        ("Inf", '"Inf"'),
        ("y", '"y"'),
        ("ya", "ya"),
        ("3g", '"3g"'),
        ("~", '"~"'),
        ("two words", '"two words"'),
        ('quo"te\\', r'"quo\"te\\"'),
        ("naïve", '"naïve"'),
        ("😀", r'"\U0001F600"'),
        ("\ufeff", r'"\uFEFF"'),
        ("\x00\x1b\x85\u2028\u2029\t", r'"\0\e\N\L\P\t"'),
        ("\uffff", r'"\uFFFF"'),
        ("a\n", "|\n  a"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\n  b\n", "|\n  a\n\n    b"),
        ("a\n\n", r'"a\n\n"'),
        ("a \nb", r'"a \nb"'),
        ("a\tb\nc", r'"a\tb\nc"'),
        ("a\r\nb", r'"a\r\nb"'),
        (" a\nb", r'" a\nb"'),
        ("\na", r'"\na"'),
        ("\n", r'"\n"'),
        ("a\n😀", r'"a\n\U0001F600"'),
        ("# a\n--- b\n%c", "|-\n  # a\n  --- b\n  %c"),
        ("x" * 300, "x" * 300),
        ("x y " * 100 + "z", '"' + "x y " * 100 + 'z"'),
    ],
)
def test_how_a_text_is_quoted(text: str, shown: str) -> None:
    assert write_document({"k": text}).decode() == f"k: {shown}\n"


def test_keys_are_never_blocks() -> None:
    assert write_document({"a\nb": 1}) == b'? "a\\nb"\n: 1\n'
    long = {"k" * 300: ["a"], "k y" * 500: {"b": 1}}
    for read in (read_strict, read_kubernetes):
        assert read(write_document(long), "f")[0].value == long


def test_the_order_of_keys_and_the_kind_of_mapping_do_not_matter() -> None:
    one = write_document({"b": (1, 2), "a": {"y": 1, "x": 2}})
    other = write_document(MappingProxyType({"a": MappingProxyType({"x": 2, "y": 1}), "b": [1, 2]}))
    assert one == other


def test_a_value_that_stands_twice_is_written_twice() -> None:
    shared = {"a": ["b"]}
    assert write_document({"one": shared, "two": shared}) == b"one:\n  a:\n  - b\ntwo:\n  a:\n  - b\n"


@pytest.mark.parametrize("value", ["plain", "two words", "a\nb\n", 7, True, None, [], {}, [1], ["a\nb\n"]])
def test_any_value_may_be_the_root(value: Any) -> None:
    written = write_document(value)
    assert written.endswith(b"\n")
    assert not written.endswith(b"\n\n")
    assert [d.value for d in read_strict(written, "f")] == ([] if value is None else [value])


@pytest.mark.parametrize(
    "value", [1.5, {"a": [float("nan")]}, {1: "a"}, {None: 1}, {"a": {True: 1}}, {"a": object()}, {1}]
)
def test_what_no_rendered_object_holds_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        write_document(value)


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, 2**63, [-(2**63) - 1]])
def test_what_no_reader_could_take_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError):
        write_document(value)


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="no CRDCHECK given")
def test_a_written_placement_passes_the_crds(tmp_path: Path) -> None:
    placement = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "p", "namespace": "default", "labels": {"a": "010", "b": "no"}},
        "spec": {"clusterSets": ["global"], "numberOfClusters": 1},
    }
    (tmp_path / "placement.yaml").write_bytes(write_document(placement))
    done = subprocess.run(
        [sys.executable, os.environ["CRDCHECK"], str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
