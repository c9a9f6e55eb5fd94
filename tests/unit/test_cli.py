"""The rim of the command line: exceptions to exit codes and words, options, and what may reach a terminal."""

import errno
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from gitops_ds import errors
from gitops_ds.cli import main as entry
from gitops_ds.cli.faults import LONGEST_LINE, fault_lines, faults_json, faults_of
from gitops_ds.cli.files import write_folder, write_new
from gitops_ds.cli.options import Instant
from gitops_ds.cli.terminal import one_line, safe
from gitops_ds.errors import Fault, GitopsDsError, InputError, Place, UsageError


def _kinds(kind: type[GitopsDsError]) -> list[type[GitopsDsError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _kinds(child))]


@pytest.mark.parametrize("kind", _kinds(GitopsDsError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_tree_has_its_exit_code(kind: type[GitopsDsError]) -> None:
    code, faults = faults_of(kind("what", "else"))
    assert code == kind.exit_code
    assert [f.what for f in faults] == ["else", "what"]
    assert f"|- {kind.__name__}" in (errors.__doc__ or "") or kind.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (click.UsageError("no"), 64, "no"),
        (click.BadParameter("bad"), 64, "bad"),
        (click.Abort(), 130, "interrupted"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x"), 1, "No such file"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
        (MemoryError(), 1, "out of memory"),
        (KeyError("x"), 70, "bug in gitops-ds"),
        (AssertionError(), 70, "AssertionError"),
        (RecursionError("deep\nlines"), 70, "RecursionError: deep"),
    ],
)
def test_every_exception_ends_in_words(error: BaseException, code: int, said: str) -> None:
    found, (fault,) = faults_of(error)
    assert found == code
    assert said in fault.what
    assert "\n" not in fault.what


def test_a_fault_says_what_where_why_and_what_to_try() -> None:
    fault = Fault("it is wrong", Place("a.yaml", 3, 7), "it matters", "do this")
    assert [line for line, _ in fault_lines([fault])] == [
        "error: it is wrong",
        "  at a.yaml:3:7",
        "  why: it matters",
        "  try: do this",
    ]
    assert faults_json(1, [fault, Fault("bare")])["faults"] == [
        {"what": "it is wrong", "file": "a.yaml", "line": 3, "column": 7, "why": "it matters", "fix": "do this"},
        {"what": "bare", "file": None, "line": None, "column": None, "why": "", "fix": ""},
    ]


def test_many_and_long_faults_stay_a_few_lines() -> None:
    lines = [line for line, _ in fault_lines([Fault("x" * 10_000_000)] * 25)]
    assert lines[-1] == "and 5 more faults"
    assert len(lines) == 21
    assert max(map(len, lines)) == LONGEST_LINE


def test_no_fault_forges_a_line() -> None:
    fault = Fault("a\nerror: forged\x1b[2J", Place("b\nc"))
    assert [line for line, _ in fault_lines([fault])] == [r"error: a\nerror: forged\x1b[2J", r"  at b\nc"]


def test_text_is_made_safe_and_stays_readable() -> None:
    assert safe("plain, ümlaut, 日本, \t tab\nline") == "plain, ümlaut, 日本, \t tab\nline"
    assert safe("\x1b[31m\x07\r\x9b\x7f\u202e\u2066\udcff") == r"\x1b[31m\x07\r\x9b\x7f\u202e\u2066\udcff"
    assert one_line("a\nb") == r"a\nb"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["plan", "--output", "json"], True),
        (["plan", "--output=json"], True),
        (["plan", "-o", "json"], True),
        (["plan", "-ojson"], True),
        (["plan", "--output", "text"], False),
        (["plan", "json"], False),
        (["plan", "-o"], False),
        ([], False),
    ],
)
def test_json_is_seen_to_be_asked_for(words: list[str], wanted: bool) -> None:
    assert entry._wants_json(words) is wanted


def test_a_bug_is_said_to_be_one_and_shows_its_traceback_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def burst(**_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(entry.cli, "main", burst)
    assert entry.main(["plan", "-o", "json"]) == 70
    captured = capsys.readouterr()
    assert "this is a bug in gitops-ds" in captured.err
    assert "GITOPS_DS_TRACEBACK=1" in captured.err
    assert json.loads(captured.out)["exitCode"] == 70
    monkeypatch.setenv("GITOPS_DS_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        entry.main(["plan"])


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-15T09:00:00Z", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        ("2026-01-15T09:00:00", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        ("2026-01-15T09:00:00+02:00", datetime(2026, 1, 15, 7, tzinfo=UTC)),
        ("2026-01-15", datetime(2026, 1, 15, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_with_its_zone(text: str, instant: datetime) -> None:
    found = Instant().convert(text, None, None)
    assert found == instant
    assert isinstance(found.utcoffset(), timedelta)


def test_folders_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_folder(tmp_path / "new" / "deep", {"a/b": b"1", "c": b"2"})
    assert (tmp_path / "new/deep/a/b").read_bytes() == b"1"
    with pytest.raises(UsageError, match="is not empty"):
        write_folder(tmp_path / "new", {"x": b""})
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        write_folder(tmp_path / "file", {"x": b""})
    with pytest.raises(InputError, match="cannot write"):
        write_folder(tmp_path / "file" / "below", {"x": b""})


def test_new_files_leave_those_that_are_there(tmp_path: Path) -> None:
    assert write_new(tmp_path, {"a": b"1", "b/c": b"2"}) == (["a", "b/c"], [])
    assert write_new(tmp_path, {"a": b"9", "d": b"3"}) == (["d"], ["a"])
    assert (tmp_path / "a").read_bytes() == b"1"
