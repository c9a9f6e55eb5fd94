"""The trailers of a commit message, found by git's own rules, so that both see the same ones.

Owns which paragraph is the trailer block and how its lines are read: what `git interpret-trailers --parse` does with
git's default settings. Owns no meaning of any trailer and starts no git: a history of thousands is read in one go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_TRAILER = re.compile(r"([A-Za-z0-9-]+)[ \t]*:")
_SPACE = " \t\r\n"
_COMMENT = "#"
_DIVIDER = re.compile(r"---[ \t\r\n]")
_SCISSORS = f"{_COMMENT} {'-' * 24} >8 {'-' * 24}\n"
_CONFLICTS = "Conflicts:\n"
_OF_GIT = ("Signed-off-by: ", "(cherry picked from commit ")
_SHARE = 3
"""Where git itself wrote one of the lines, this many lines that are no trailers may stand by each that is one."""


def trailers_of(message: str) -> Mapping[str, str]:
    """The trailers of a commit message, each value in one line; of several with the same name the last one holds."""
    return dict(trailer_items(message))


def trailer_items(message: str) -> Iterator[tuple[str, str]]:
    """The same one by one, in their order."""
    for first, *more in _folded(_block(_own_lines(message))):
        match = _TRAILER.match(first)
        if match is None:
            continue
        value = "".join((first[match.end() :], *more)).strip(_SPACE)
        yield match[1], re.sub(rf"\n[{_SPACE}]*", " ", value).strip(_SPACE)


def _own_lines(message: str) -> list[str]:
    """The lines that belong to the message: without a patch below it, and the comments and conflicts at its end."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", message)
    lines = lines[: next((i for i, line in enumerate(lines) if _DIVIDER.match(line)), len(lines))]
    lines = lines[: lines.index(_SCISSORS)] if _SCISSORS in lines else lines
    end: int | None = None
    in_conflicts = False
    for i, line in enumerate(lines):
        if line == _CONFLICTS:
            in_conflicts = True
        elif not (line[0] in (_COMMENT, "\n") or (in_conflicts and line[0] == "\t")):
            end, in_conflicts = None, False
            continue
        end = i if end is None else end
    return lines[:end]


def _block(lines: Sequence[str]) -> Sequence[str]:
    """The trailer block: the last paragraph, unless it is the title or has too much in it that is no trailer."""
    blank = [line[0] != _COMMENT and _is_blank(line) for line in lines]
    title = blank.index(True) if True in blank else len(lines)
    spoken = False
    for i in reversed(range(title, len(lines))):
        if blank[i] and spoken:
            return lines[i + 1 :] if _is_block(lines[i + 1 :]) else ()
        spoken = spoken or not (blank[i] or lines[i][0] == _COMMENT)
    return ()


def _is_block(lines: Sequence[str]) -> bool:
    trailers = others = folds = 0
    by_git = False
    for line in reversed([line for line in lines if line[0] != _COMMENT]):
        if line.startswith(_OF_GIT):
            trailers, folds, by_git = trailers + 1, 0, True
        elif _TRAILER.match(line):
            trailers, folds = trailers + 1, 0
        elif line[0] in _SPACE:
            folds += 0 if _is_blank(line) else 1
        else:
            others, folds = others + 1 + folds, 0
    others += folds
    return trailers * _SHARE >= others if by_git else trailers > 0 and others == 0


def _folded(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines, each trailer with those that continue it: they begin with a space."""
    found: list[list[str]] = []
    for line in lines:
        if found and line[0] in _SPACE and _TRAILER.match(found[-1][0]):
            found[-1].append(line)
        else:
            found.append([line])
    return iter([one for one in found if one[0][0] != _COMMENT])


def _is_blank(line: str) -> bool:
    return not line.strip(_SPACE)
