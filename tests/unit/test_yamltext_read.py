"""Reading YAML: the scalar tables, the strict reader and the one that follows kubectl."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from gitops_ds.errors import InputError, Place
from gitops_ds.yamltext import INTENT_LIMITS, MANIFEST_LIMITS, Limits, read_kubernetes, read_strict
from gitops_ds.yamltext.scalars import Special, ambiguous, goyaml, remedy, yaml11, yaml12

SAME = object()

# text, YAML 1.1, YAML 1.2 core, goyaml.v2 (confirmed by hand with kubectl 1.32)
DIFFERENT: list[tuple[str, Any, Any, Any]] = [
    ("NO", False, "NO", False),
    ("on", True, "on", True),
    ("Off", False, "Off", False),
    ("y", True, "y", True),
    ("N", False, "N", False),
    ("010", 8, 10, 8),
    ("-010", -8, -10, -8),
    ("08", "08", 8, 8.0),
    ("0o17", "0o17", 15, 15),
    ("0O17", "0O17", "0O17", 15),
    ("0b11", 3, "0b11", 3),
    ("0B11", "0B11", "0B11", 3),
    ("-0x1F", -31, "-0x1F", -31),
    ("0X1F", "0X1F", "0X1F", 31),
    ("1_000", 1000, "1_000", 1000),
    ("1_0.5", 10.5, "1_0.5", 10.5),
    ("12:30", 750, "12:30", "12:30"),
    ("-1:30:00", -5400, "-1:30:00", "-1:30:00"),
    ("1:30.5", 90.5, "1:30.5", "1:30.5"),
    ("1e3", "1e3", 1000.0, 1000.0),
    ("1.5e3", "1.5e3", 1500.0, 1500.0),
    ("-.5", "-.5", -0.5, -0.5),
    ("1e400", "1e400", math.inf, "1e400"),
    ("2001-12-14", Special("timestamp", "2001-12-14"), "2001-12-14", "2001-12-14"),
    ("2001-12-14T21:59:43Z", Special("timestamp", "2001-12-14T21:59:43Z"), "2001-12-14T21:59:43Z", SAME),
    ("=", Special("default-value key", "="), "=", "="),
    ("<<", Special("merge key", "<<"), "<<", "<<"),
    ("+.NaN", "+.NaN", "+.NaN", "+.NaN"),
    ("18446744073709551616", 2**64, 2**64, float(2**64)),
    ("0b-11", "0b-11", "0b-11", -3),
]
ALIKE: list[tuple[str, Any]] = [
    ("", None),
    ("~", None),
    ("Null", None),
    ("nULL", "nULL"),
    ("TRUE", True),
    ("False", False),
    ("tRUE", "tRUE"),
    ("0", 0),
    ("-17", -17),
    ("+1", 1),
    ("0x1F", 31),
    ("18446744073709551615", 2**64 - 1),
    ("1.", 1.0),
    (".5", 0.5),
    ("1.5e+3", 1500.0),
    (".inf", math.inf),
    ("-.INF", -math.inf),
    ("3g.48gb", "3g.48gb"),
    ("1.2.3", "1.2.3"),
    ("10.0.0.1", "10.0.0.1"),
    ("1Gi", "1Gi"),
    ("15m", "15m"),
    ("v1", "v1"),
    ("_1", "_1"),
    (".", "."),
    ("-", "-"),
    ("٣", "٣"),
]


def test_the_readers_differ_where_they_are_known_to() -> None:
    for text, old, core, go in DIFFERENT:
        readings = [yaml11(text), yaml12(text), goyaml(text)]
        wanted = [old, core, core if go is SAME else go]
        assert readings == wanted, text
        assert [type(r) for r in readings] == [type(w) for w in wanted], text
        if len({(type(r), r) for r in readings}) > 1:
            assert ambiguous(text), text


def test_the_readers_agree_where_they_are_known_to() -> None:
    for text, value in ALIKE:
        for read in (yaml11, yaml12, goyaml):
            assert read(text) == value, (read, text)
            assert type(read(text)) is type(value), (read, text)
        assert ambiguous(text) is None, text
    assert all(math.isnan(read(".NaN")) for read in (yaml11, yaml12, goyaml))  # type: ignore[arg-type]
    assert ambiguous(".nan") is None


def test_an_endless_number_is_no_danger() -> None:
    for text in ("9" * 100_000, "1" + ":59" * 100_000, "0x" + "f" * 100_000, "1" + "_0" * 100_000):
        for read in (yaml11, yaml12, goyaml):
            read(text)
        assert len(remedy(text)) < 300


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("NO", 'write "NO" if text is meant, true or false if a truth value is meant'),
        ("1e3", 'write "1e3" if text is meant, 1000 if a number is meant'),
        ("010", 'write "010" if text is meant, 10 or 8 if a number is meant'),
        ("12:30", 'write "12:30" if text is meant'),
        ("-.5", 'write "-.5" if text is meant, -0.5 if a number is meant'),
    ],
)
def test_the_fix_is_said(text: str, fix: str) -> None:
    assert remedy(text) == fix


def faults(data: str | bytes, *, kubernetes: bool = False, limits: Limits | None = None) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    read, usual = (read_kubernetes, MANIFEST_LIMITS) if kubernetes else (read_strict, INTENT_LIMITS)
    with pytest.raises(InputError) as caught:
        read(raw, "f.yaml", limits or usual)
    return [str(fault) for fault in caught.value.faults]


def strict(data: str) -> list[Any]:
    return [document.value for document in read_strict(data.encode(), "f.yaml")]


def kubernetes(data: str) -> list[Any]:
    return [document.value for document in read_kubernetes(data.encode(), "f.yaml")]


def test_strict_values_are_those_of_the_core_schema() -> None:
    text = 'a: [1, -2, 0x1F, 1.5, .inf, true, ~, "", "1", \'NO\', plain text]\nb: {}\nc: |\n  x\n  y\n'
    assert strict(text) == [
        {"a": [1, -2, 31, 1.5, math.inf, True, None, "", "1", "NO", "plain text"], "b": {}, "c": "x\ny\n"}
    ]


def test_every_value_has_a_mark_and_documents_have_lines() -> None:
    first, second = read_strict(b"\xef\xbb\xbfa: 1\n---\n# c\n---\n- x\n- z: {\xc3\xa9: [p], q: r}\n", "f.yaml")
    assert (first.value, first.line) == ({"a": 1}, 1)
    assert (second.value, second.line) == (["x", {"z": {"é": ["p"], "q": "r"}}], 4)
    assert second.source.marks == {
        (): (5, 1),
        (0,): (5, 3),
        (1,): (6, 3),
        (1, "z"): (6, 3),
        (1, "z", "é"): (6, 7),
        (1, "z", "é", 0): (6, 11),
        (1, "z", "q"): (6, 15),
    }
    assert second.source.at(1, "z", "q") == Place("f.yaml", 6, 15)


@pytest.mark.parametrize("data", ["", "\n", "# only a comment\n", "---\n---\n", "~\n", "\ufeff"])
def test_empty_documents_are_left_out(data: str) -> None:
    assert strict(data) == []
    assert kubernetes(data) == []


def test_all_faults_of_a_file_are_told_at_once() -> None:
    text = (
        "a: NO\n"
        "b: {on: 1}\n"
        "a: 2\n"
        "1: x\n"
        "<<: {k: v}\n"
        "g: !!str x\n"
        "h: &h [*h]\n"
        "i: *nowhere\n"
        "l: [a, {q: 1, q: 2}]\n"
        "? [k]\n"
        ": v\n"
        "~: x\n"
        "m: !mine {}\n"
        "o: [\n"
    )
    found = faults(text)
    places = "1:4 2:5 3:1 4:1 5:1 6:4 7:8 8:4 9:15 10:3 12:1 13:4 15:1"
    assert " ".join(f.split(": ")[0].removeprefix("f.yaml:") for f in found) == places
    wanted = [
        "the plain value NO is not the same to every reader; YAML 1.1 reads false, YAML 1.2 reads text, kubectl reads",
        "the plain key on is not the same to every reader",
        'the key "a" is given twice; it stands first at line 1, column 1',
        'a key must be text, and this is the number 1; write "1"',
        "merge keys (<<) are not read here",
        "the tag !!str is not read here",
        "the alias *h stands inside what it refers to",
        "the alias *nowhere refers to nothing",
        'the key "q" is given twice; it stands first at line 9, column 9',
        "a key must be text, and this is a list",
        "a key must be text, and this is null",
        "the tag !mine is not read here",
        "this is no YAML: did not find expected node content",
    ]
    for said, part in zip(found, wanted, strict=True):
        assert part in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: \xe9", "f.yaml:1:4: this is not UTF-8 text: byte 0xe9"),
        (b"\xef\xbb\xbfa: \xe9", "f.yaml:1:4: this is not UTF-8 text"),
        ("a: é\nbé: ".encode() + b"\xe9", "f.yaml:2:5: this is not UTF-8 text"),
        ("a: b".encode("utf-16"), "this is a binary file, or text that is not UTF-8"),
        (b"\x7fELF\0\0", "f.yaml:1:5: this is a binary file"),
        (b"a: b\nc: \x1b[31m\n", "f.yaml:2:4: the character U+001B may not stand in YAML"),
        ('a: "\u2028"\n', "f.yaml:1:5: the invisible line break U+2028"),
        (
            "a: b\n\tc: d\n",
            "f.yaml:2:1: this is no YAML: found a tab character that violates indentation; a tab cannot",
        ),
        (
            "a: b: c\n",
            "f.yaml:1:5: this is no YAML: mapping values are not allowed in this context; a ': ' makes a key",
        ),
        ('a: "b\nc: d\n', "a quote is not closed before the file ends, while scanning a quoted scalar from line 1,"),
        ("%FOO bar\n---\na: b\n", "found unknown directive name"),
        ("%TAG ! x:\n---\na: b\n", "%TAG directives are not read here"),
        ("a: &a 1\n---\nb: *a\n", "f.yaml:3:4: the alias *a refers to nothing"),
        ('{"a": "\\ud800"}', "f.yaml:1:7: this is no YAML: found half of a surrogate pair"),
        ('{"a": 1,\n\t"a": 2}', 'f.yaml:2:2: the key "a" is given twice; it stands first at line 1, column 2'),
    ],
)
def test_a_fault_says_what_and_where(data: str | bytes, said: str) -> None:
    (fault,) = faults(data)
    assert said in fault


def test_a_message_holds_nothing_that_a_terminal_would_obey() -> None:
    (fault,) = faults('"\\e[31mred": 1\n"\\e[31mred": 2\n')
    assert "\x1b" not in fault
    assert r"\x1b[31mred" in fault


def test_json_is_read_as_json_tabs_and_all() -> None:
    text = '{\n\t"a": [1, 1e3, "\\ud83d\\ude00\\/", -0, true, null],\n\t"NO": "on"\n}\n'
    for read in (strict, kubernetes):
        assert read(text) == [{"a": [1, 1000.0, "😀/", 0, True, None], "NO": "on"}]
    document = read_strict(text.encode(), "f.json")[0]
    assert document.source.marks["a",] == (2, 2)
    assert document.source.marks["a", 2] == (2, 16)
    assert kubernetes('{"a": 1}\n{"b": {}}') == [{"a": 1}, {"b": {}}]
    assert kubernetes("{a: b, c: [x]}") == [{"a": "b", "c": ["x"]}]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("merging", [False, True])
def test_an_alias_bomb_is_refused_unexpanded(merging: bool) -> None:
    text = bomb(10)
    if merging:
        text = text.replace("[x, x, x, x, x, x, x, x, x]", "{x: y}").replace("[*", "{<<: [*")
        text = text.replace("]\n", "]}\n")
    assert "whatever aliases stand for counts each time" in faults(text, kubernetes=True)[-1]
    assert "more than 100,000 values in one file" in faults(bomb(10))[-1]


@pytest.mark.parametrize(
    "data", ["[" * 100_000, '{"a":' * 100_000, "- " * 100_000, "? " * 100_000, "a: " + "{" * 500_000, "[\n" * 100_000]
)
@pytest.mark.parametrize("is_manifest", [False, True])
def test_depth_cannot_crash_the_parser(data: str, is_manifest: bool) -> None:
    (fault,) = faults(data, kubernetes=is_manifest, limits=Limits(2**22, 32, 10**6, 10))
    assert "nest" in fault


def test_budgets_hold_for_what_an_alias_stands_for() -> None:
    limits = Limits(max_bytes=1000, max_depth=4, max_nodes=20, max_aliases=2)
    assert read_strict(b"a: &a [[x]]\nb: [*a]\n", "f", limits)[0].value == {"a": [["x"]], "b": [[["x"]]]}
    assert "nested deeper than 4 levels" in faults("a: &a [[x]]\nb: [[*a]]\n", limits=limits)[0]
    assert "nested deeper than 4 levels" in faults("a: &a [[x]]\nb: &b [*a]\nc: [*b]\n", limits=limits)[0]
    assert "more than 2 aliases" in faults("a: &a x\nb: [*a, *a, *a]\n", limits=limits)[0]
    assert "more than 20 values" in faults("a: &a [1, 2, 3, 4, 5, 6]\nb: [*a, *a]\n", limits=limits)[0]
    assert "at most 1,000 are read" in faults("a" * 1001, limits=limits)[0]


def test_a_file_too_large_is_refused_by_its_size_alone() -> None:
    (fault,) = faults(b"\xff" * 50_000_000)
    assert fault.startswith("f.yaml: the file has 50,000,000 bytes, and at most 1,048,576 are read; split it")


def test_faults_end_somewhere() -> None:
    found = faults("\n".join(["a: NO"] * 500))
    assert len(found) == 101
    assert any("more than 100 faults" in fault for fault in found)


def test_kubernetes_scalars_are_what_kubectl_prints() -> None:
    text = (
        "a: [y, NO, 010, 0o17, 0b11, 1_000, 08, 1e3, 1.0, .5, 12:30, 2001-12-14, ~, =, 1e400, +1, 0x1p4, -0.0]\n"
        "t: [!foo 12, !!str 12, !!int '12', !!binary aGVsbG8=, ! 12, !!float 3]\n"
        "big: [9223372036854775807, 18446744073709551615]\n"
    )
    (value,) = kubernetes(text)
    wanted = [
        True, False, 8, 15, 3, 1000, 8, 1000, 1, 0.5, "12:30", "2001-12-14", None, "=", "1e400", 1, "0x1p4", 0,
    ]  # fmt: skip
    assert value["a"] == wanted
    assert [type(v) for v in value["a"]] == [type(v) for v in wanted]
    assert value["t"] == ["12", "12", 12, "hello", "12", 3]
    assert value["big"] == [2**63 - 1, float(2**64)]


def test_kubernetes_keys_become_text() -> None:
    text = "{1: a, 1.5: b, yes: c, 1e6: d, 2001-01-01: f, 1e21: g, 0.1: h, 123456789.5: i, 010: j, '01': k, 1e-5: l}"
    assert set(kubernetes(text)[0]) == {
        "1", "1.5", "true", "1e+06", "2001-01-01", "1e+21", "0.1", "1.2345679e+08", "8", "01", "1e-05",
    }  # fmt: skip


def test_kubernetes_merges_as_goyaml_does() -> None:
    text = "x: &x {k: 1, m: 1}\na: {<<: *x, k: 2}\nb: {k: 3, <<: *x}\nc: {<<: [{k: 4}, *x]}\nd: {'<<': 1}\n"
    value = kubernetes(text)[0]
    assert value["a"] == {"k": 2, "m": 1}
    assert value["b"] == {"k": 1, "m": 1}  # kubectl 1.32 says the same: what is merged later wins
    assert value["c"] == {"k": 4, "m": 1}
    assert value["d"] == {"<<": 1}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("a: 1\na: 2\n", 'f.yaml:2:1: the key "a" is given twice; it stands first at line 1, column 1'),
        ("10: a\n'10': b\n", 'f.yaml:2:1: the key "10" is given twice'),
        ("a: .inf\n", "f.yaml:1:4: the value .inf cannot stand in a Kubernetes object"),
        ('{"a": 1e400}', "f.yaml:1:7: the value 1e400 cannot stand in a Kubernetes object"),
        ("~: a\n", "f.yaml:1:1: a key must be text, and this is null"),
        ("? {a: b}\n: c\n", "f.yaml:1:3: a key must be text, and this is a mapping"),
        ("a: {<<: b}\n", "f.yaml:1:9: a merge key takes a mapping or a list of them, not text"),
        ("a: !!int x\n", "f.yaml:1:4: the value x is not what its tag !!int says"),
        ("a: !!binary '*'\n", "f.yaml:1:4: the value is no base64 of UTF-8 text"),
    ],
)
def test_kubernetes_faults(data: str, said: str) -> None:
    (fault,) = faults(data, kubernetes=True)
    assert said in fault


def test_kubernetes_marks_reach_the_labels_of_list_items() -> None:
    text = b"kind: List\nitems:\n- metadata:\n    labels: {a: b}\n- spec: {p: {q: {r: {s: 1}}}}\n"
    marks = read_kubernetes(text, "f.yaml")[0].source.marks
    assert marks["items", 0, "metadata", "labels", "a"] == (4, 14)
    assert ("items", 1, "spec", "p", "q", "r") in marks
    assert ("items", 1, "spec", "p", "q", "r", "s") not in marks


@pytest.mark.parametrize("read", [read_strict, read_kubernetes])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> theirs\n", 2),
        (b"a: 1\r\n>>>>>>>\r\n", 2),
        (b'{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}\n', 2),
    ],
)
def test_a_conflict_that_git_left_is_said_plainly(read: Callable[[bytes, str], object], text: bytes, line: int) -> None:
    with pytest.raises(InputError) as caught:
        read(text, "f.yaml")
    (fault,) = caught.value.faults
    assert "a conflict of a merge is not resolved here" in fault.what
    assert fault.place == Place("f.yaml", line, 1)


def test_a_text_that_only_shows_a_conflict_is_none() -> None:
    text = b"a: |\n  <<<<<<< HEAD\n  >>>>>>> x\nb: <<<<<<<\n"
    assert read_strict(text, "f.yaml")[0].value == {"a": "<<<<<<< HEAD\n>>>>>>> x\n", "b": "<<<<<<<"}
