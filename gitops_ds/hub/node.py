"""`Node`: one value inside a Kubernetes object, read with its type said aloud and its place at hand.

Owns the typed reading of fields and the wording of what is wrong with them. A wrong field adds a fault to the list that
all nodes of one reading share, and yields an empty value, so that one pass finds every fault. Owns no kind's fields:
those stand in the modules named after the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from gitops_ds.errors import Fault, Path, Source

_RFC3339: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_TYPE_NAMES: Final = {
    bool: "a boolean",
    int: "a number",
    float: "a fraction",
    str: "text",
    list: "a list",
    dict: "a mapping",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A value at `path` of the document that `source` tells of; `owner` is the object's kind and name, for messages."""

    value: Any
    source: Source
    owner: str
    faults: list[Fault] = field(repr=False)
    path: Path = ()

    def at(self, *keys: str | int) -> Node:
        """The node below `keys`; its value is None where a mapping on the way is absent.

        Something on the way that is no mapping is a fault.
        """
        node = self
        for key in keys:
            child = node.mapping().get(key)
            node = Node(child, self.source, self.owner, self.faults, (*node.path, key))
        return node

    def wrong(self, what: str, why: str = "", fix: str = "") -> None:
        """Note a fault at this node; `what` follows the field's path."""
        where = dotted(self.path)
        text = f"{self.owner}: {where}: {what}" if where else f"{self.owner}: {what}"
        self.faults.append(Fault(text, self.source.at(*self.path), why, fix))

    def mapping(self) -> Mapping[Any, Any]:
        """The mapping here; empty where absent or null."""
        if self.value is None:
            return {}
        if isinstance(self.value, dict):
            return self.value
        self.wrong(f"must be a mapping, is {type_name(self.value)}")
        return {}

    def items(self) -> tuple[Node, ...]:
        """A node for each item of the list here; none where absent or null."""
        if self.value is None:
            return ()
        if not isinstance(self.value, list):
            self.wrong(f"must be a list, is {type_name(self.value)}")
            return ()
        return tuple(
            Node(item, self.source, self.owner, self.faults, (*self.path, i)) for i, item in enumerate(self.value)
        )

    def text(self, default: str = "") -> str:
        """The text here, or `default` where absent."""
        if self.value is None:
            return default
        if isinstance(self.value, str):
            return self.value
        fix = "quote it" if isinstance(self.value, bool | int | float) else ""
        self.wrong(f"must be text, is {type_name(self.value)}", fix=fix)
        return default

    def needed_text(self) -> str:
        """The text here; absent or empty is a fault."""
        if self.value is None or self.value == "":
            self.wrong("is required")
            return ""
        return self.text()

    def truth(self, default: bool) -> bool:
        """The boolean here, or `default` where absent."""
        if self.value is None or isinstance(self.value, bool):
            return default if self.value is None else self.value
        self.wrong(f"must be true or false, is {type_name(self.value)}")
        return default

    def whole(self) -> int:
        """The whole number here; absent is a fault."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        self.wrong("is required" if self.value is None else f"must be a whole number, is {type_name(self.value)}")
        return 0

    def instant(self) -> datetime | None:
        """The RFC 3339 time here as an aware UTC datetime, or None where absent."""
        if self.value is None:
            return None
        found = read_instant(self.value) if isinstance(self.value, str) else None
        if found is None:
            self.wrong("is no RFC 3339 time", fix="write it as 2026-01-15T09:00:00Z")
        return found

    def texts(self) -> dict[str, str]:
        """The mapping of text to text here, such as labels, by key.

        kubectl's copy of the object as last applied is left out: it repeats the whole object, secrets included.
        """
        found = {}
        for key in self.mapping():
            if not isinstance(key, str):
                self.wrong(f"the key {key!r} must be text", fix="quote it")
            elif key != LAST_APPLIED:
                found[key] = self.at(key).text()
        return dict(sorted(found.items()))

    def quantities(self) -> dict[str, str]:
        """The mapping of resource names to quantities here, each as Kubernetes' text; whole numbers count as text."""
        found = {}
        for key, value in self.mapping().items():
            whole = isinstance(value, int) and not isinstance(value, bool)
            found[str(key)] = str(value) if whole else self.at(key).text()
        return dict(sorted(found.items()))


def read_instant(text: str) -> datetime | None:
    """`text` as an aware UTC datetime, or None if it is no RFC 3339 time; digits below a microsecond are cut off."""
    match = _RFC3339.fullmatch(text)
    if not match:
        return None
    date, clock, fraction, zone = match.groups()
    offset = "+00:00" if zone in "Zz" else zone
    try:
        return datetime.fromisoformat(f"{date}T{clock}{(fraction or '.0')[:7].ljust(7, '0')}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def dotted(path: Path) -> str:
    """`path` as a person writes it: `spec.policy-templates[0].name`, keys with other characters quoted in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def type_name(value: Any) -> str:
    """What `value` is, in words for a message."""
    return _TYPE_NAMES.get(type(value), "empty" if value is None else type(value).__name__)
