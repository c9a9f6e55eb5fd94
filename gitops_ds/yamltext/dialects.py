"""The two ways to read a scalar, a key and a tag: as people must write them, and as kubectl takes them.

Owns every decision that depends on who wrote the text. Owns no walk over the document (`compose.py`).
"""

from __future__ import annotations

import binascii
import math
import struct
from decimal import Decimal
from typing import Any

from yaml import events as ev

from gitops_ds.yamltext.compose import LOST, MERGE, Faults, Word
from gitops_ds.yamltext.scalars import ambiguous, goyaml, remedy, say, shown, yaml12

_CORE = "tag:yaml.org,2002:"
_WITHIN_FLOAT = 2**1023
_TAGS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}


class StrictDialect:
    """What people write: no tag, no merge key, no plain scalar that readers take differently. `json`: it is JSON."""

    mark_depth = 1 << 30

    def __init__(self, *, json: bool) -> None:
        self._json = json

    def scalar(self, event: ev.ScalarEvent, faults: Faults) -> Any:
        """The value by the core schema of YAML 1.2, where every reader agrees on it."""
        return self._agreed(event, "value", faults)

    def _agreed(self, event: ev.ScalarEvent, role: str, faults: Faults) -> Any:
        if event.tag is not None:
            _refuse_tag(event, faults)
            return event.value
        if not event.implicit[0]:
            return event.value
        if not self._json:
            difference = ambiguous(event.value)
            if difference:
                what = f"the plain {role} {shown(event.value)} is not the same to every reader"
                faults.add(event.start_mark, what, difference, remedy(event.value))
                return event.value
        return yaml12(event.value)

    def key(self, event: ev.ScalarEvent, faults: Faults) -> str | Word:
        """The key, which must be text as it stands."""
        if event.value == "<<" and event.tag is None and event.implicit[0]:
            faults.add(event.start_mark, "merge keys (<<) are not read here", fix="write the keys out")
            return LOST
        value = self._agreed(event, "key", faults)
        if not isinstance(value, str):
            _refuse_key(event, value, faults)
        return event.value

    def key_from(self, value: Any) -> str | None:
        """Text is a key, nothing else is."""
        return value if isinstance(value, str) else None

    def collection(self, event: ev.CollectionStartEvent, faults: Faults) -> None:
        """A tag on a mapping or list is refused."""
        if event.tag is not None:
            _refuse_tag(event, faults)

    def directives(self, event: ev.DocumentStartEvent, faults: Faults) -> None:
        """Only %YAML is allowed (the parser itself refuses unknown directives)."""
        if event.tags:
            faults.add(event.start_mark, "%TAG directives are not read here", fix="remove the directive and the tags")


def _refuse_key(event: ev.ScalarEvent, value: Any, faults: Faults) -> None:
    fix = f'write "{shown(event.value)}"'
    faults.add(event.start_mark, f"a key must be text, and this is {say(value)}", fix=fix)


def _refuse_tag(event: Any, faults: Faults) -> None:
    tag = shown(event.tag.replace(_CORE, "!!"))
    faults.add(event.start_mark, f"the tag {tag} is not read here", fix="remove it; quote the value if text is meant")


class KubernetesDialect:
    """What kubectl takes: goyaml.v2's scalars, merge keys, keys turned to text. `json`: the text is JSON."""

    mark_depth = 6

    def __init__(self, *, json: bool) -> None:
        self._json = json

    def scalar(self, event: ev.ScalarEvent, faults: Faults) -> Any:
        """The value after the passage through JSON that sigs.k8s.io/yaml makes: 1e3 comes out as the integer 1000."""
        if event.tag is None:
            if not event.implicit[0]:
                return event.value
            value = yaml12(event.value) if self._json else goyaml(event.value)
        else:
            value = _tagged(event, faults)
        if isinstance(value, (int, float)):
            return self._number(value, event, faults)
        return value

    def _number(self, value: float, event: ev.ScalarEvent, faults: Faults) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            if -(2**63) <= value < 2**63:
                return value
            return float(value) if abs(value) < _WITHIN_FLOAT else self._no_json(event, faults)
        if not math.isfinite(value):
            return self._no_json(event, faults)
        if not self._json and value.is_integer() and -(2**63) <= value < 2**63:
            return int(value)
        return value

    @staticmethod
    def _no_json(event: ev.ScalarEvent, faults: Faults) -> None:
        why = "Kubernetes objects are JSON, which has no such number"
        faults.add(event.start_mark, f"the value {shown(event.value)} cannot stand in a Kubernetes object", why)

    def key(self, event: ev.ScalarEvent, faults: Faults) -> str | Word:
        """The key as text, from whatever goyaml.v2 makes of it; MERGE for a plain `<<`."""
        if event.tag is None and not event.implicit[0]:
            return event.value
        if event.tag is None:
            if event.value == "<<":
                return MERGE
            value: Any = goyaml(event.value)
        else:
            value = _tagged(event, faults)
        if isinstance(value, str):
            return value
        key = self.key_from(value)
        if key is None:
            _refuse_key(event, value, faults)
            return LOST
        return key

    def key_from(self, value: Any) -> str | None:
        """As sigs.k8s.io/yaml writes keys that are no text: `1`, `1.5`, `true`; None for null, lists and mappings."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return _go_float(value)
        if isinstance(value, int):
            return str(value) if -(2**63) <= value < 2**63 else None
        return value if isinstance(value, str) else None

    def collection(self, event: ev.CollectionStartEvent, faults: Faults) -> None:
        """Tags on mappings and lists mean nothing to kubectl."""

    def directives(self, event: ev.DocumentStartEvent, faults: Faults) -> None:
        """All that the parser lets through."""


def _tagged(event: Any, faults: Faults) -> Any:
    """A scalar with a tag, by goyaml.v2: known tags must fit what is written, unknown ones leave the text alone."""
    text: str = event.value
    kind = event.tag.removeprefix(_CORE) if event.tag.startswith(_CORE) else ""
    if kind == "binary":
        try:
            return binascii.a2b_base64("".join(text.split()), strict_mode=True).decode()
        except ValueError:
            faults.add(event.start_mark, "the value is no base64 of UTF-8 text, as its tag !!binary says")
            return text
    types = _TAGS.get(kind)
    if types is None:
        return text
    value = goyaml(text)
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        faults.add(event.start_mark, f"the value {shown(text)} is not what its tag !!{kind} says")
        return text
    return float(value) if kind == "float" and isinstance(value, int) else value


def _go_float(value: float) -> str:
    """A float as Go's strconv.FormatFloat(value, 'g', -1, 32) writes it: the shortest that is the same in 32 bits."""
    packed = struct.pack("f", value)
    single: float = struct.unpack("f", packed)[0]
    if not math.isfinite(single):
        return ".nan" if math.isnan(single) else ".inf" if single > 0 else "-.inf"
    shortest = next(s for n in range(9) if struct.pack("f", float(s := f"{single:.{n}e}")) == packed)
    exponent = int(shortest.partition("e")[2])
    return f"{Decimal(shortest):f}" if -4 <= exponent < 6 else shortest
