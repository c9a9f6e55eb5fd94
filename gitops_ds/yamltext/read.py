"""Bytes to documents: strictly for what people write, and as kubectl does for Kubernetes manifests.

Owns decoding, the limits that hold for each kind of file, and the gathering of every fault of a file into one error.
The walk over the text is in `compose.py`, what scalars mean in `dialects.py` and `scalars.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaml import events as ev
from yaml.cyaml import CSafeLoader
from yaml.error import YAMLError

from gitops_ds.errors import Fault, InputError, Place, raise_faults
from gitops_ds.yamltext.compose import Composer, Document, Faults, Limits, Stop
from gitops_ds.yamltext.dialects import KubernetesDialect, StrictDialect
from gitops_ds.yamltext.jsontext import is_json, json_events
from gitops_ds.yamltext.syntax import syntax_fault

INTENT_LIMITS = Limits(max_bytes=2**20, max_depth=32, max_nodes=100_000, max_aliases=100)
"""For files that people write by hand."""
MANIFEST_LIMITS = Limits(max_bytes=64 * 2**20, max_depth=100, max_nodes=20_000_000, max_aliases=10_000)
"""For manifests and snapshots: room for `kubectl get -o yaml` of a whole hub."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ODD_BREAK = re.compile("[\x85\u2028\u2029]")
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?= |\r?$)", re.MULTILINE)
"""The lines that git writes around the two sides of a conflict: as YAML they mean nothing."""


def read_strict(data: bytes, file: str, limits: Limits = INTENT_LIMITS) -> list[Document]:
    """Read what a person wrote: only YAML that every reader understands alike, by the core schema of YAML 1.2.

    Args:
        data: the file's content.
        file: its name, for the places in faults and marks.
        limits: what the file may ask for.

    Returns:
        The documents in order, empty ones left out. Values are text, int, float, bool, None, lists, and mappings with
        text as keys. Every value has a mark.

    Raises:
        InputError: with all faults of the file; a syntax error or a spent budget ends the search for more.
    """
    text = _decode(data, file, limits)
    faults = Faults(file)
    json = _looks_like_json(text)
    try:
        _check_conflict(text, faults)
        if not json:
            _check_breaks(text, faults)
        return _compose(text, Composer(StrictDialect(json=json), limits, faults), json=json)
    except Stop:
        raise InputError(*faults.found) from None


def read_kubernetes(data: bytes, file: str, limits: Limits = MANIFEST_LIMITS) -> list[Document]:
    """Read Kubernetes manifests, YAML or JSON, one or many, as kubectl would.

    Scalars, merge keys and keys are what goyaml.v2 and sigs.k8s.io/yaml make of them. A duplicate key, which kubectl
    lets pass here and the API server does not, is a fault. Lists of Kubernetes objects are not taken apart.

    Args:
        data: the file's content.
        file: its name, for the places in faults and marks.
        limits: what the file may ask for.

    Returns:
        The documents in order, empty ones left out; marks reach down to paths of six parts.

    Raises:
        InputError: with all faults of the file; a syntax error or a spent budget ends the search for more.
    """
    text = _decode(data, file, limits)
    faults = Faults(file)
    json = _looks_like_json(text)
    try:
        _check_conflict(text, faults)
        return _compose(text, Composer(KubernetesDialect(json=json), limits, faults), json=json)
    except Stop:
        raise InputError(*faults.found) from None


def _compose(text: str, composer: Composer, *, json: bool) -> list[Document]:
    found = composer.faults.found
    try:
        if not json:
            _check_printable(text, composer.faults)
        composer.run(json_events(text) if json else _yaml_events(text))
    except YAMLError as error:
        found.append(syntax_fault(error, composer.faults.file))
    raise_faults(InputError, found)
    return composer.documents


def _yaml_events(text: str) -> Iterator[ev.Event]:
    parser = CSafeLoader(text)  # for its events only: nothing is constructed
    while parser.check_event():
        event = parser.get_event()
        if event is not None:
            yield event


def _looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and is_json(text)


def _decode(data: bytes, file: str, limits: Limits) -> str:
    if len(data) > limits.max_bytes:
        what = f"the file has {len(data):,} bytes, and at most {limits.max_bytes:,} are read"
        raise InputError(Fault(what, Place(file), fix="split it, or check that it is the file you mean"))
    nul = data.find(b"\0")
    try:
        if nul < 0:
            return data.decode("utf-8-sig")
        raise InputError(Fault("this is a binary file, or text that is not UTF-8", _place_of(data, nul, file)))
    except UnicodeDecodeError as error:
        at = error.start + (len(data) - len(error.object))  # the codec counts from after a byte order mark
        what = f"this is not UTF-8 text: byte {data[at]:#04x}"
        raise InputError(Fault(what, _place_of(data, at, file), fix="save the file as UTF-8")) from None


def _place_of(data: bytes, at: int, file: str) -> Place:
    begin = data.rfind(b"\n", 0, at) + 1
    column = len(data[begin:at].decode("utf-8-sig" if begin == 0 else "utf-8", "replace"))
    return Place(file, data.count(b"\n", 0, at) + 1, column + 1)


class _At:
    """A mark, as the parser's are, for a character that the parser would not take."""

    def __init__(self, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at)
        self.column = at - (text.rfind("\n", 0, at) + 1)


def _check_conflict(text: str, faults: Faults) -> None:
    found = _CONFLICT.search(text)
    if found:
        what = f"a conflict of a merge is not resolved here: the line begins with {found[0]}"
        fix = "keep what is right of both sides, and delete the lines of <<<<<<<, ======= and >>>>>>>"
        raise faults.stop(_At(text, found.start()), what, "git left both sides in the file", fix)


def _check_printable(text: str, faults: Faults) -> None:
    bad = _UNPRINTABLE.search(text)
    if bad:
        what = f"the character U+{ord(bad[0]):04X} may not stand in YAML"
        fix = "remove it, or write it as an escape in double quotes"
        raise faults.stop(_At(text, bad.start()), what, "it is a control character or no character at all", fix)


def _check_breaks(text: str, faults: Faults) -> None:
    for odd in _ODD_BREAK.finditer(text):
        code = f"U+{ord(odd[0]):04X}"
        why = "YAML 1.1 takes it for the end of a line and YAML 1.2 does not"
        fix = f'remove it, or write "\\u{ord(odd[0]):04x}" in double quotes'
        faults.add(_At(text, odd.start()), f"the invisible line break {code} is not the same to every reader", why, fix)
