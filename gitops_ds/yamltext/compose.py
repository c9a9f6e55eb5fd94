"""From parser events to plain values, within a budget, with the place of every value noted on the way.

Owns the walk: nesting, aliases, merges, duplicate keys, marks and the limits on all of them. It keeps its own stack,
and an alias costs what it would expand to without being expanded, so that no input can exhaust the machine. Owns no
opinion on what a scalar or a key means (`dialects.py`), and no decoding of bytes (`read.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from yaml import events as ev

from gitops_ds.errors import Fault, Path, Place, Source
from gitops_ds.yamltext.scalars import say, shown

MOST_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one file may ask for. `max_nodes` counts keys, values and whatever aliases stand for, each time."""

    max_bytes: int
    max_depth: int
    max_nodes: int
    max_aliases: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its value, the places of its parts, and the line (from 1) that it begins at.

    `source.marks` has the key's place for an entry of a mapping, the item's own for an entry of a list, and the root's
    at `()`. What an alias stands for has the alias's place. Values are shared between aliases: do not change them.
    """

    value: Any
    source: Source
    line: int


class Stop(Exception):  # noqa: N818  (it is no error: the faults gathered so far are)
    """Reading on makes no sense: a budget is spent, or there are too many faults already."""


class Dialect(Protocol):
    """What a reader makes of scalars, keys and tags; faults go to `Faults.add`."""

    mark_depth: int
    """Paths longer than this get no mark."""

    def scalar(self, event: ev.ScalarEvent, faults: Faults) -> Any:
        """The value of a scalar."""

    def key(self, event: ev.ScalarEvent, faults: Faults) -> str | Word:
        """The key that a scalar makes; MERGE for a merge key, LOST after a fault that leaves no key."""

    def key_from(self, value: Any) -> str | None:
        """The key that a value from an alias makes; None if it cannot be one."""

    def collection(self, event: ev.CollectionStartEvent, faults: Faults) -> None:
        """Look at the tag of a mapping or list."""

    def directives(self, event: ev.DocumentStartEvent, faults: Faults) -> None:
        """Look at the directives of a document."""


class Word:
    """A state of a mapping that no key can be confused with."""


NONE_YET = Word()
MERGE = Word()
LOST = Word()


class Faults:
    """The faults of one file, gathered until there are too many to be of use."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Fault] = []

    def place(self, mark: Any) -> Place:
        """The place of a parser's mark, which counts from 0."""
        return Place(self.file, mark.line + 1, mark.column + 1)

    def add(self, mark: Any, what: str, why: str = "", fix: str = "") -> None:
        """Note a fault; raises Stop once there are MOST_FAULTS of them."""
        self.found.append(Fault(what, self.place(mark), why, fix))
        if len(self.found) >= MOST_FAULTS:
            self.found.append(Fault(f"more than {MOST_FAULTS} faults, the rest is not shown", self.place(mark)))
            raise Stop

    def stop(self, mark: Any, what: str, why: str = "", fix: str = "") -> Stop:
        """Note a fault after which nothing else is read; the caller raises what is returned."""
        self.found.append(Fault(what, self.place(mark), why, fix))
        return Stop()


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is still open. `path` is None where the entries get no marks."""

    value: dict[str, Any] | list[Any]
    is_map: bool
    event: Any
    path: Path | None
    before: int
    key: str | Word = NONE_YET
    places: dict[str, Any] = field(default_factory=dict)
    height: int = 1


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A finished value that aliases may stand for; `size` in nodes, `height` in levels of nesting."""

    value: Any
    size: int
    height: int


class Composer:
    """Builds documents from one file's events; `documents` has what came out, `faults` what was wrong."""

    def __init__(self, dialect: Dialect, limits: Limits, faults: Faults) -> None:
        self.documents: list[Document] = []
        self.faults = faults
        self._dialect = dialect
        self._limits = limits
        self._nodes = 0
        self._aliases = 0
        self._stack: list[_Frame] = []
        self._top: _Frame | None = None
        self._root: Any = None
        self._line = 1
        self._marks: dict[Path, tuple[int, int]] = {}
        self._anchors: dict[str, _Anchored | _Frame] = {}
        self._steps = {
            ev.ScalarEvent: self._scalar,
            ev.AliasEvent: self._alias,
            ev.MappingStartEvent: self._open,
            ev.SequenceStartEvent: self._open,
            ev.MappingEndEvent: self._close,
            ev.SequenceEndEvent: self._close,
            ev.DocumentStartEvent: self._begin,
            ev.DocumentEndEvent: self._end,
        }

    def run(self, events: Iterable[ev.Event]) -> None:
        """Take in all events. Raises Stop when a budget is spent, and what `events` itself raises."""
        steps = self._steps
        for event in events:
            step = steps.get(type(event))
            if step:
                step(event)

    def _begin(self, event: Any) -> None:
        self._marks, self._anchors, self._root = {}, {}, None
        self._line = event.start_mark.line + 1
        self._dialect.directives(event, self.faults)

    def _end(self, _event: Any) -> None:
        if self._root is not None:
            self.documents.append(Document(self._root, Source(self.faults.file, self._marks), self._line))

    def _spend(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > self._limits.max_nodes:
            raise self.faults.stop(
                event.start_mark,
                f"more than {self._limits.max_nodes:,} values in one file",
                "whatever aliases stand for counts each time",
                "split the file, or use fewer aliases",
            )

    def _scalar(self, event: Any) -> None:
        self._nodes += 1
        if self._nodes > self._limits.max_nodes:
            self._spend(0, event)
        top = self._top
        if top is not None and top.key is NONE_YET and top.is_map:
            key = self._dialect.key(event, self.faults)
            if event.anchor:
                self._anchors[event.anchor] = _Anchored(key if isinstance(key, str) else None, 1, 0)
            self._take_key(top, key, event)
            return
        value = self._dialect.scalar(event, self.faults)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, 1, 0)
        self._put(value, event)

    def _alias(self, event: Any) -> None:
        self._aliases += 1
        if self._aliases > self._limits.max_aliases:
            raise self.faults.stop(
                event.start_mark, f"more than {self._limits.max_aliases:,} aliases in one file", fix="write values out"
            )
        target = self._anchors.get(event.anchor)
        top = self._top
        if isinstance(target, _Anchored):
            self._spend(target.size, event)
            self._check_depth(len(self._stack) + target.height, event)
            if top is not None:
                top.height = max(top.height, target.height + 1)
            value = target.value
        else:
            self.faults.add(
                event.start_mark,
                f"the alias *{event.anchor} {'stands inside what it refers to' if target else 'refers to nothing'}",
                "" if target else f"no &{event.anchor} stands before it in this document",
            )
            value = LOST
        if top is not None and top.is_map and top.key is NONE_YET:
            self._take_key(top, value if value is LOST else self._key_from(value, event), event)
        else:
            self._put(None if value is LOST else value, event)

    def _check_depth(self, depth: int, event: Any) -> None:
        if depth > self._limits.max_depth:
            raise self.faults.stop(event.start_mark, f"nested deeper than {self._limits.max_depth} levels")

    def _open(self, event: Any) -> None:
        self._spend(1, event)
        self._check_depth(len(self._stack) + 1, event)
        self._dialect.collection(event, self.faults)
        is_map = type(event) is ev.MappingStartEvent
        frame = _Frame({} if is_map else [], is_map, event, self._path_below(), self._nodes - 1)
        if event.anchor:
            self._anchors[event.anchor] = frame
        self._stack.append(frame)
        self._top = frame

    def _path_below(self) -> Path | None:
        top = self._top
        if top is None:
            return ()
        if top.path is None or len(top.path) + 1 >= self._dialect.mark_depth:
            return None
        if not top.is_map:
            return (*top.path, len(top.value))
        return (*top.path, top.key) if isinstance(top.key, str) else None

    def _close(self, _event: Any) -> None:
        frame = self._stack.pop()
        top = self._top = self._stack[-1] if self._stack else None
        opened = frame.event
        if opened.anchor and self._anchors.get(opened.anchor) is frame:
            self._anchors[opened.anchor] = _Anchored(frame.value, self._nodes - frame.before, frame.height)
        if top is not None:
            top.height = max(top.height, frame.height + 1)
            if top.is_map and top.key is NONE_YET:
                self._take_key(top, self._key_from(frame.value, opened), opened)
                return
        self._put(frame.value, opened)

    def _key_from(self, value: Any, event: Any) -> str | Word:
        key = self._dialect.key_from(value)
        if key is None:
            self.faults.add(event.start_mark, f"a key must be text, and this is {say(value)}")
            return LOST
        return key

    def _take_key(self, top: _Frame, key: Any, event: Any) -> None:
        top.key = key
        if not isinstance(key, str):
            return
        mark = event.start_mark
        first = top.places.get(key)
        if first is not None:
            first_place = f"line {first.line + 1}, column {first.column + 1}"
            self.faults.add(mark, f'the key "{shown(key)}" is given twice', f"it stands first at {first_place}")
            top.key = LOST
            return
        top.places[key] = mark
        if top.path is not None:
            self._marks[(*top.path, key)] = (mark.line + 1, mark.column + 1)

    def _put(self, value: Any, event: Any) -> None:
        top = self._top
        if top is None:
            self._root = value
            self._marks[()] = (event.start_mark.line + 1, event.start_mark.column + 1)
        elif isinstance(top.value, list):
            if top.path is not None:
                mark = event.start_mark
                self._marks[(*top.path, len(top.value))] = (mark.line + 1, mark.column + 1)
            top.value.append(value)
        else:
            if isinstance(top.key, str):
                top.value[top.key] = value
            elif top.key is MERGE:
                self._merge(top.value, value, event)
            top.key = NONE_YET

    def _merge(self, into: dict[str, Any], value: Any, event: Any) -> None:
        """Merge as goyaml.v2 does: in the order of writing, so that only keys written after it override it."""
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self.faults.add(event.start_mark, f"a merge key takes a mapping or a list of them, not {say(value)}")
            return
        for source in reversed(sources):
            into.update(source)
