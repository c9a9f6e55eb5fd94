"""What must not be committed: Kubernetes Secrets that hold values, wherever an object is carried inside another.

Owns what counts as such a Secret, and the way out of the rule. Owns no file and no git: bytes by path come in, faults
go out, and no value is ever in one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from gitops_ds.errors import Fault, InputError, Path, Place, RefusedError, Source, raise_faults
from gitops_ds.yamltext import read_kubernetes

ALLOW: Final = "gitops-ds.io/allow-secret"
"""The annotation, with the value `true`, that lets one Secret pass."""

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_CONTENT: Final = ("data", "stringData")
_POSSIBLE: Final = re.compile(rb"Secret|secretGenerator|\\|!!?binary")
"""A file without any of these has no Secret in it: by an escape or a tag the word could be spelt in another way."""
_TEMPLATE: Final = re.compile(r"\{\{.*(?:fromSecret|copySecretData|lookup)\b.*\}\}", re.DOTALL)
_BRACED: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_KIND_LINE: Final = re.compile(
    r"""^[ \t]*(?:-[ \t]+)*["']?kind["']?:[ \t]*["']?Secret["']?[ \t]*(?:#.*)?$""", re.MULTILINE
)
_CONTENT_LINE: Final = re.compile(r"""^[ \t]*(?:-[ \t]+)*["']?(?:data|stringData)["']?:(.*)$""", re.MULTILINE)
_ALLOW_LINE: Final = re.compile(rf"""^[ \t]*["']?{re.escape(ALLOW)}["']?:[ \t]*["']true["'][ \t]*$""", re.MULTILINE)
_DOCUMENT_END: Final = re.compile(r"^---", re.MULTILINE)

_WHY: Final = "whoever may read the repository may read it, and it stays in the history"
_FIX: Final = (
    "use an ExternalSecret or a SealedSecret, a reference to a Secret on the cluster (such as tokenSecretRef), or a "
    f'hub template ({{{{hub fromSecret ... hub}}}}); where it is no secret, annotate it {ALLOW}: "true"'
)


def refuse_secrets(files: Mapping[str, bytes]) -> None:
    """Let nothing pass that holds a Secret's values.

    Args:
        files: manifests by path; files of other endings are passed by.

    Raises:
        RefusedError: with a fault for each Secret that has data.
    """
    raise_faults(RefusedError, secret_faults(files))


def secret_faults(files: Mapping[str, bytes]) -> tuple[Fault, ...]:
    """A fault for each Secret with values among `files`, sorted by path; see `refuse_secrets`.

    A file without the word costs one look for it.
    """
    found: list[Fault] = []
    for path in sorted(files):
        if PurePosixPath(path).suffix.lower() in _SUFFIXES and _POSSIBLE.search(files[path]):
            found += _in_file(path, files[path])
    return tuple(found)


def _in_file(path: str, content: bytes) -> Iterator[Fault]:
    try:
        documents = read_kubernetes(content, path)
    except InputError:  # whoever wants to use the file says why; here it only must not hide anything
        if _spelt_in(content.decode("utf-8", "replace")):
            yield _fault("a Secret", Place(path))
        return
    for document in documents:
        yield from _in_value(document.value, document.source, ())


def _in_value(value: Any, source: Source, path: Path, kind: str = "") -> Iterator[Fault]:
    """The Secrets in a value; `kind` is the one that it has where it does not say so itself."""
    match value:
        case dict():
            said = value.get("kind", kind)
            if said == "Secret" and any(map(_holds, (value.get(key) for key in _CONTENT))):
                if not _is_allowed(value):
                    yield _fault(_called(value), source.at(*path))
                return
            if _generates(value):
                yield _fault("a secretGenerator", source.at(*path, "secretGenerator"))
            for key, inner in value.items():
                kind_of_items = "Secret" if key == "items" and said == "SecretList" else ""
                yield from _in_value(inner, source, (*path, key), kind_of_items)
        case list():
            for i, inner in enumerate(value):
                yield from _in_value(inner, source, (*path, i), kind)
        case str() if _spelt_in(value):
            yield _fault("a Secret inside a text", source.at(*path))


def _holds(content: Any) -> bool:
    """Whether `data` or `stringData` holds a value that does not come from somewhere else."""
    match content:
        case dict():
            return any(map(_holds, content.values()))
        case str():
            return bool(content.strip()) and not _is_template(content)
    return content is not None


def _is_template(text: str) -> bool:
    """Whether a text is nothing but templates that fetch a value on the hub or the cluster."""
    return _TEMPLATE.search(text) is not None and not _BRACED.sub("", text).strip()


def _generates(value: Mapping[str, Any]) -> bool:
    """Whether kustomize would make a Secret from values that are written here."""
    several = value.get("secretGenerator")
    return isinstance(several, list) and any(isinstance(one, dict) and one.get("literals") for one in several)


def _is_allowed(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(ALLOW) == "true"


def _spelt_in(text: str) -> bool:
    """Whether a text that is no manifest itself, such as a patch or a template, spells out a Secret with values."""
    if "Secret" not in text or "ata" not in text:
        return False
    try:
        documents = read_kubernetes(text.encode("utf-8", "replace"), "")
    except InputError:
        return any(map(_lines_spell, _DOCUMENT_END.split(text)))
    values = [d.value for d in documents if isinstance(d.value, (dict, list))]
    return any(next(_in_value(value, Source(""), ()), None) is not None for value in values)


def _lines_spell(text: str) -> bool:
    """The same by the lines alone, for a text that is no YAML: one with control structures of templates, say."""
    if not _KIND_LINE.search(text) or _ALLOW_LINE.search(text):
        return False
    return any(_below(text, found) for found in _CONTENT_LINE.finditer(text))


def _below(text: str, found: re.Match[str]) -> bool:
    """Whether the line of a key, or one that is further in below it, has a value."""
    if found[1].strip():
        return _holds(found[1].strip().strip("\"'"))
    depth = len(found[0]) - len(found[0].lstrip(" \t-"))
    for line in text[found.end() :].splitlines()[1:]:
        bare = line.strip()
        if not _BRACED.sub("", bare).strip() or bare.startswith("#"):
            continue  # nothing, a comment, or a control structure
        if len(line) - len(line.lstrip()) <= depth:
            return False
        if _holds((bare.partition(":")[2] if ":" in bare else bare).strip().strip("\"'|>-")):
            return True
    return False


def _called(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    name, namespace = (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else (None, None)
    said = f"Secret/{name}" if isinstance(name, str) and name else "a Secret"
    return f"{said} ({namespace})" if isinstance(namespace, str) and namespace else said


def _fault(what: str, place: Place) -> Fault:
    return Fault(f"{what} holds values that must not be in git", place, _WHY, _FIX)
