"""The line that says what is being worked on: late, at a terminal only, and gone at the end."""

import io
import sys

import pytest

from gitops_ds.cli.progress import WIDTH, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *texts: str, patience: float = 0.0) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(patience=patience) as tell:
        for text in texts:
            tell(text)
    return stream.getvalue()


def test_nothing_shows_early_or_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(Terminal(), monkeypatch, "w1", patience=60) == ""
    assert written(io.StringIO(), monkeypatch, "w1") == ""
    assert written(Terminal(), monkeypatch) == ""


def test_the_line_is_written_over_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(Terminal(), monkeypatch, "first", "2nd") == "\rfirst\r\r2nd  \r\r     \r"


def test_it_holds_no_control_character_and_fits_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = written(Terminal(), monkeypatch, "\x1b[31m\n" + "x" * 200)
    assert "\x1b" not in shown
    assert "\n" not in shown
    assert max(map(len, shown.split("\r"))) == WIDTH
