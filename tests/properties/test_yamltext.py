"""What is written reads back the same by every reader, and nothing that is read can break the readers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitops_ds.errors import InputError
from gitops_ds.yamltext import INTENT_LIMITS, Document, Limits, read_kubernetes, read_strict, write_document
from gitops_ds.yamltext.scalars import Special, yaml11

WORDS = """
    y n yes NO on Off true False null Null ~ nan .nan inf .inf -.INF << = 0 010 0o17 0x1F 0b1 1_000 1e3 1E-3 .5 12:30
    2001-12-14 2001-12-14T21:59:43Z - -- --- ... ? : , [ ] { } # & * ! | > % @ ` ' " \\ \\n a b é ß 漢 😀 / _ . +
"""
BLANKS = (" ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", ": ", " #", "- ", "\xa0", "\u200b", "\x85", "\u2028", "\u2029")
ODD = ("\0", "\x07", "\x1b", "\x7f", "\x80", "\xad", "\u200d", "\u202e", "\ufeff", "\ufffe", "\uffff", "\U0010ffff")
PIECES = (*WORDS.split(), *BLANKS, *ODD, "x" * 130)

texts = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.text(st.sampled_from("ab :#-|>'\"\\"), max_size=6), max_size=5).map("\n".join),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@given(texts)
@settings(max_examples=600, deadline=None)
@example("x" * 1100)
@example("k y" * 400)
@example("a\n b\n  c\n")
@example("#\n#")
def test_every_text_reads_back_by_every_reader(text: str) -> None:
    value = {"value": text, "item": [text, [text]], "key": {text: {text: text}}}
    written = write_document(value)
    assert yaml.load(written, Loader=yaml.SafeLoader) == value
    assert yaml.load(written, Loader=yaml.CSafeLoader) == value
    assert [d.value for d in read_strict(written, "f")] == [value]
    assert [d.value for d in read_kubernetes(written, "f")] == [value]


@given(values)
@settings(max_examples=400, deadline=None)
def test_every_value_reads_back_by_every_reader(value: Any) -> None:
    written = write_document(value)
    readings = [
        yaml.load(written, Loader=yaml.SafeLoader),
        *(d.value for d in read_strict(written, "f")),
        *(d.value for d in read_kubernetes(written, "f")),
    ]
    for reading in readings:
        assert reading == value
        assert repr(_ordered(reading)) == repr(_ordered(value))  # True is no 1 here
    assert len(readings) == (1 if value is None else 3)
    assert write_document(_reversed(value)) == written


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, _ordered(value[key])) for key in sorted(value)]
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


SYNTAX = "a b k: - ? : --- ... [ ] { } , & &a &b * *a *b !!str !!int !!binary !x << <<: NO 1e3 010 ~ .inf # %YAML %TAG"
MORE = (
    "k:\n ",
    "-\n ",
    "\n",
    "\n\n",
    "|\n",
    ">-\n",
    '"a": ',
    '{"a": 1}',
    "\ufeff",
    "\u2028",
    "\0",
    "é",
    '"',
    "'",
    "\\",
)
SNIPPETS = (*SYNTAX.split(), *MORE, " ", "  ", "\t", "\r\n", "\n---\n")

soups = st.lists(st.sampled_from(SNIPPETS), max_size=30).map(lambda parts: "".join(parts).encode())


@given(st.one_of(st.binary(max_size=200), soups, soups.flatmap(lambda s: st.binary(max_size=3).map(s.__add__))))
@settings(max_examples=1500, deadline=None)
def test_only_input_errors_come_out_of_any_bytes(data: bytes) -> None:
    small = Limits(max_bytes=10_000, max_depth=6, max_nodes=60, max_aliases=5)
    for limits in (small, INTENT_LIMITS):
        for document in _read_or_faults(read_strict, data, limits):
            assert () in document.source.marks
            if b"*" not in data:  # what an alias stands for has the place of the alias
                assert set(_paths(document.value, ())) == set(document.source.marks)
        for document in _read_or_faults(read_kubernetes, data, limits):
            assert {path for path in document.source.marks if len(path) > 4} == set()


def _read_or_faults(read: Callable[..., list[Document]], data: bytes, limits: Limits) -> list[Document]:
    try:
        return read(data, "f", limits)
    except InputError as error:
        wrong = [fault for fault in error.faults if fault.place is None or fault.place.file != "f" or not fault.what]
    assert wrong == []
    return []


def _paths(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from _paths(inner, (*path, key))


numbers = st.text(st.sampled_from("0179_.eE+-:xobaf"), min_size=1, max_size=10)
words = st.sampled_from(
    ["yes", "No", "ON", "oFF", "true", "TRUE", "null", "~", ".inf", "-.Inf", ".NaN", "+.inf", "nan"]
)
dates = st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?Z?)?\Z")


@given(st.one_of(numbers, words, dates))
@settings(max_examples=1500, deadline=None)
def test_the_table_of_yaml_1_1_is_what_pyyaml_resolves(text: str) -> None:
    loader: Any = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False)).removeprefix("tag:yaml.org,2002:")
    value = yaml11(text)
    kinds: dict[str, type] = {"null": type(None), "bool": bool, "int": int, "float": float, "str": str}
    if tag == "timestamp":
        assert value == Special("timestamp", text)
        return
    digits = text.replace("_", "").lstrip("+-")
    if tag in ("int", "float") and digits in ("0b", "0x"):
        assert value == text  # PyYAML takes it for a number and then fails to read it
        return
    assert type(value) is kinds[tag]
    if tag in ("int", "float"):
        constructed = yaml.load(f"- {text}", Loader=yaml.SafeLoader)[0]
        assert value == constructed or (math.isnan(constructed) and math.isnan(value))  # type: ignore[arg-type]
