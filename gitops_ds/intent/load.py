"""The strict loader: the bytes of `intent/` to intents, or every fault of every file at once.

Owns what counts as an intent file, how a fault of validation is said, and the digest of an intent. Owns neither the
YAML grammar (`yamltext/`) nor the reading of folders (`repo/`).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from gitops_ds.errors import Fault, InputError, Path, Place, Source, raise_faults
from gitops_ds.ids import HUB, IntentId, IntentName, Namespace, WorkloadId, WorkloadName
from gitops_ds.intent.base import API_VERSION
from gitops_ds.intent.dimension import dimension_checks
from gitops_ds.intent.dsf_params import DsfParams, form_path, looks_like_params, to_intent
from gitops_ds.intent.holding import EVERY, UNNAMED, Abort, Hold, Resume
from gitops_ds.intent.placement import PlacementIntent, cross_checks
from gitops_ds.intent.reconciler import Reconciler, overlaps
from gitops_ds.intent.scoring import ScoringIntent, clashes, scoring_checks
from gitops_ds.intent.spelling import guess
from gitops_ds.yamltext import Document, read_strict

SUFFIXES = (".yaml", ".yml", ".json")
FOLDER = "intent"
KINDS: Mapping[str, type[BaseModel]] = {
    "PlacementIntent": PlacementIntent,
    "ScoringIntent": ScoringIntent,
    "Reconciler": Reconciler,
    "Hold": Hold,
    "Abort": Abort,
    "Resume": Resume,
}
_DEFAULT_NAME = "params"

_SHAPES = {"model_type": "a mapping", "dict_type": "a mapping", "tuple_type": "a list"}
"""What a value should be, where the validator would name Python's types."""

_SECRETIVE = re.compile(r"auth|bearer|header|host|password|secret|token|url", re.IGNORECASE)
"""Fields in which people write credentials by mistake: their values are never repeated."""

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Model]):
    """A document and where it was read, so that whoever finds a fault in it later can point at the line."""

    intent: Model
    source: Source = field(compare=False)
    is_params: bool = False

    def at(self, *path: str | int) -> Place:
        """The place of a field, given by its path in the document."""
        if self.is_params:
            path = form_path(path)
        return self.source.at(*path)


@dataclass(frozen=True, slots=True)
class LoadedIntent(Loaded[PlacementIntent]):
    """A PlacementIntent and where it was read."""

    @property
    def id(self) -> IntentId:
        """Hub namespace and name."""
        return _id(self.intent)


@dataclass(frozen=True, slots=True)
class LoadedScoring(Loaded[ScoringIntent]):
    """A ScoringIntent and where it was read."""

    @property
    def id(self) -> IntentId:
        """Hub namespace and name."""
        return _id(self.intent)


def _id(intent: PlacementIntent | ScoringIntent) -> IntentId:
    return IntentId(Namespace(intent.metadata.namespace), IntentName(intent.metadata.name))


@dataclass(frozen=True, slots=True)
class Intents:
    """Everything that the files of `intent/` say, each kind sorted by name."""

    placements: tuple[LoadedIntent, ...] = ()
    scorings: tuple[LoadedScoring, ...] = ()
    reconcilers: tuple[Loaded[Reconciler], ...] = ()
    holds: tuple[Loaded[Hold], ...] = ()
    resumes: tuple[Loaded[Resume], ...] = ()
    aborts: tuple[Loaded[Abort], ...] = ()

    def below(self, folder: str) -> Intents:
        """The same with the intents of one folder alone; what is said to and by reconcilers stays."""
        return replace(self, placements=_below(self.placements, folder), scorings=_below(self.scorings, folder))


def load_intents(files: Mapping[str, bytes]) -> tuple[LoadedIntent, ...]:
    """The placement intents of `files` (repository path to bytes), sorted by namespace and name.

    Raises:
        InputError: with every fault of every file; also where there is no intent at all.
    """
    return load_all(files).placements


def load_all(files: Mapping[str, bytes]) -> Intents:
    """Every document of `files` (repository path to bytes).

    Raises:
        InputError: with every fault of every file; also where there is no intent at all.
    """
    faults: list[Fault] = []
    found: list[Loaded[Any]] = []
    broken = False
    for path in sorted(files):
        try:
            documents = read_strict(files[path], path)
        except InputError as error:
            faults += error.faults
            broken = True
            continue
        if not documents:
            faults.append(_nothing(path))
        for document in documents:
            try:
                found.append(_load(document, path))
            except InputError as error:
                faults += error.faults
                broken = broken or _may_name_a_reconciler(document.value)
    placements = sorted((one for one in found if isinstance(one, LoadedIntent)), key=lambda o: (o.id, o.source.file))
    scorings = sorted((one for one in found if isinstance(one, LoadedScoring)), key=lambda o: (o.id, o.source.file))
    faults += _clashes(placements, scorings)
    for i, path_, what, fix in clashes([one.intent for one in scorings]):
        faults.append(Fault(what, scorings[i].at(*path_), fix=fix))
    reconcilers = _of(Reconciler, found)
    for i, path_, what, fix in overlaps(tuple(one.intent for one in reconcilers)):
        faults.append(Fault(what, reconcilers[i].at(*path_), fix=fix))
    faults += _unknown_sources(placements, reconcilers)
    said = (_of(Hold, found), _of(Resume, found), _of(Abort, found))
    if not broken:  # else it may well be the reconciler that cannot be read
        faults += _unknown_names([one for several in said for one in several], reconcilers)
    if not (placements or scorings or faults):
        fix = "write one: `gitops-ds init` starts you off, docs/intent.md explains"
        faults.append(Fault("no intent found in intent/", fix=fix))
    raise_faults(InputError, faults)
    return Intents(tuple(placements), tuple(scorings), reconcilers, *said)


def _of(kind: type[Model], found: Iterable[Loaded[Any]]) -> tuple[Loaded[Model], ...]:
    mine = [one for one in found if isinstance(one.intent, kind)]
    return tuple(sorted(mine, key=lambda one: (one.intent.metadata.name, one.source.file)))


One = TypeVar("One", bound=Loaded[Any])


def _below(several: Sequence[One], folder: str) -> tuple[One, ...]:
    return tuple(one for one in several if one.source.file.startswith(f"{folder}/"))


def _nothing(path: str) -> Fault:
    """The fault of a file that was emptied: what it said would be taken for no longer wanted."""
    why = "what an intent placed is removed once no file holds the intent"
    return Fault("the file holds no intent", Place(path), why, "write the intent, or delete the file if it is to go")


def intent_digest(intent: BaseModel) -> str:
    """sha256 of what the intent says: no order of lists, no spelling of a default and no comment changes it."""
    said = intent.model_dump(mode="python", by_alias=True, exclude_defaults=True)
    return hashlib.sha256(json.dumps(_canonical(said), sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def intents_digest(intents: Iterable[LoadedIntent]) -> str:
    """sha256 of what all of these intents say, in whatever order they come."""
    said = sorted((one.id, intent_digest(one.intent)) for one in intents)
    return hashlib.sha256("".join(f"{key} {digest}\n" for key, digest in said).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _canonical(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return sorted((_canonical(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds())}s"
    return str(value) if isinstance(value, (Fraction, float)) else value


def _load(document: Document, path: str) -> Loaded[Any]:
    value, source = document.value, document.source
    if looks_like_params(value):
        params = _validated(DsfParams, value, source)
        stem = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(path).stem.lower())[:63].strip("-") or _DEFAULT_NAME
        loaded = LoadedIntent(to_intent(params, stem), source, is_params=True)
    else:
        model = _kind_of(value, source)
        intent = _validated(model, value, source)
        if isinstance(intent, ScoringIntent):
            wrong = [Fault(what, source.at(*at), fix=fix) for at, what, fix in scoring_checks(intent)]
            raise_faults(InputError, wrong)
            return LoadedScoring(intent, source)
        if not isinstance(intent, PlacementIntent):
            return Loaded(intent, source)
        loaded = LoadedIntent(intent, source)
    checks = (*cross_checks(loaded.intent), *dimension_checks(loaded.intent))
    raise_faults(InputError, [Fault(what, loaded.at(*at), fix=fix) for at, what, fix in checks])
    return loaded


def _kind_of(value: Any, source: Source) -> type[BaseModel]:
    if not isinstance(value, dict):
        raise InputError(Fault("an intent is a mapping with apiVersion, kind, metadata and spec", source.at()))
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or kind not in KINDS:
        what = f"kind {json.dumps(kind, default=str)} is no intent" if "kind" in value else "kind is missing"
        raise InputError(Fault(what, source.at("kind"), fix=f"known kinds: {', '.join(sorted(KINDS))}"))
    if version != API_VERSION:
        said = f'"{version}"' if version is not None else "missing"
        raise InputError(Fault(f"apiVersion is {said}", source.at("apiVersion"), fix=f"write {API_VERSION}"))
    return KINDS[kind]


def _validated(model: type[Model], value: Any, source: Source) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise InputError(*(_fault(e, model, source) for e in found if not _follows(e))) from None


def _follows(error: Mapping[str, Any]) -> bool:
    """Whether an error only says that a list is short of the items that other errors are about."""
    return error["type"] == "too_short" and bool(error["input"])


def _fault(error: Mapping[str, Any], model: type[BaseModel], source: Source) -> Fault:
    loc: Path = error["loc"]
    place = source.at(*loc)
    if error["type"] == "extra_forbidden":
        return _unknown_field(loc, model, place)
    what, fix = _wrong(error, _dotted(loc))
    return Fault(what, place, fix=fix)


def _unknown_field(loc: Path, model: type[BaseModel], place: Place) -> Fault:
    near = difflib.get_close_matches(str(loc[-1]), sorted(_fields(model, loc[:-1])), n=1)
    if near and near[0] == loc[-1]:
        return Fault(f"{_dotted(loc)} stands here under another spelling too", place, fix="keep one of them")
    fix = f"did you mean {near[0]}?" if near else _elsewhere(str(loc[-1]), model)
    if not fix and model is ScoringIntent and _SECRETIVE.search(str(loc[-1])):
        fix = "tokens stay in a Secret, which auth: {tokenSecretRef: {name: ..., key: ...}} names"
    return Fault(f"unknown field {_dotted(loc)}", place, fix=fix)


def _elsewhere(name: str, model: type[BaseModel]) -> str:
    """Where a field of this name belongs, if that is one place."""
    found = sorted({_dotted(path) if path else "the top of the document" for path in _homes(name, model)})
    return f"{name} belongs in {found[0]}" if len(found) == 1 else ""


def _homes(name: str, model: type[BaseModel]) -> Iterator[Path]:
    """The paths of the mappings, lists left out, that may hold a field of this name."""
    schema = model.model_json_schema()
    defs = schema.get("$defs", {})
    queue: list[tuple[Path, Any]] = [((), schema)]
    for path, here in queue:  # grows on the way; no kind holds itself, so it ends
        fields = _deref(here, defs).get("properties", {})
        if name in fields:
            yield path
        for key, inner in fields.items():
            below = _deref(inner, defs)
            queue.append(((*path, key), _deref(below.get("items", below), defs)))


def _wrong(error: Mapping[str, Any], name: str) -> tuple[str, str]:
    """What is wrong with the value of the field `name`, and what to try."""
    kind, given = error["type"], error.get("input")
    said = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    match kind:
        case "missing":
            return f"{name} is missing", ""
        case "value_error":
            return f"{name}: {said}", ""
        case "too_short":
            return f"{name} is empty", "list at least one"
        case "string_type" if isinstance(given, (int, float)):
            return f"{name} is text, and {json.dumps(given)} is none", "put it in quotes"
    shown = "what stands here" if _SECRETIVE.search(name) else _shown(given)
    return f"{name} should be {_SHAPES.get(kind, said)}, not {shown}", ""


def _shown(given: Any) -> str:
    if isinstance(given, dict):
        return "a mapping"
    return "a list" if isinstance(given, list) else json.dumps(given, default=str)[:80]


def _dotted(loc: Iterable[str | int]) -> str:
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier() or re.fullmatch(r"[\w./-]+", part):
            text += f".{part}" if text else part
    return text or "the document"


def _fields(model: type[BaseModel], path: Path) -> Iterator[str]:
    """The field names that are known where `path` leads, for guessing what a typing error meant."""
    schema: Any = model.model_json_schema()
    here, defs = schema, schema.get("$defs", {})
    for part in path:
        here = _deref(here, defs)
        here = here.get("items", {}) if isinstance(part, int) else here.get("properties", {}).get(part, {})
    yield from _deref(here, defs).get("properties", {})


def _deref(schema: Any, defs: Mapping[str, Any]) -> Any:
    for option in (schema, *schema.get("anyOf", ())):
        if "$ref" in option:
            return defs[option["$ref"].rpartition("/")[2]]
    return next((o for o in schema.get("anyOf", ()) if o.get("type") in ("object", "array")), schema)


def _unknown_sources(placements: Iterable[LoadedIntent], reconcilers: Iterable[Loaded[Reconciler]]) -> Iterator[Fault]:
    """Sources of scores that a reconciler of the intent does not have."""
    for one in placements:
        mine = [r.intent for r in reconcilers if one.source.file.startswith(f"{r.intent.spec.intents}/")]
        known = [{HUB, *(source.name for source in r.spec.scoreSources)} for r in mine] or [{HUB}]
        for i, score in enumerate(one.intent.spec.preference.scores):
            for names in known:
                if score.source not in names:
                    what = f"no Reconciler of this intent has the score source {score.source}"
                    at = one.at("spec", "preference", "scores", i, "source")
                    yield Fault(what, at, fix=guess(score.source, names, "sources"))


def _may_name_a_reconciler(value: Any) -> bool:
    kind = value.get("kind") if isinstance(value, dict) else None
    return not isinstance(kind, str) or kind == Reconciler.__name__ or kind not in KINDS


def _unknown_names(said: Iterable[Loaded[Any]], reconcilers: Iterable[Loaded[Reconciler]]) -> Iterator[Fault]:
    """What is said to a reconciler that the repository does not have: nobody would hear it, a Hold least of all."""
    known = [one.intent.metadata.name for one in reconcilers] or [UNNAMED]
    for one in said:
        name = one.intent.metadata.name
        if name not in (*known, EVERY):
            what = f"{one.intent.kind} of {name}, which is no reconciler of this repository"
            fix = f"one of: {', '.join((*known, EVERY))}; or delete the document"
            yield Fault(what, one.at("metadata", "name"), fix=fix)


def _clashes(found: Iterable[LoadedIntent], scorings: Iterable[LoadedScoring]) -> Iterator[Fault]:
    """Two intents of one name, and workloads that two intents set. Faults stand at the later one and name the first."""
    names: dict[IntentId, Place] = {}
    workloads: dict[WorkloadId, tuple[IntentId, Place]] = {}
    both: list[LoadedIntent | LoadedScoring] = [*found, *scorings]
    for named in both:
        here = named.at("metadata", "name")
        if named.id in names:
            why = f"the other is at {names[named.id]}"
            yield Fault(f"intent {named.id} stands twice", here, why, "rename one of them")
        names.setdefault(named.id, here)
    for one in found:
        for i, workload in enumerate(one.intent.spec.workloads):
            key = WorkloadId(one.id.namespace, WorkloadName(workload.name))
            here = one.at("spec", "workloads", i, "name")
            first, where = workloads.setdefault(key, (one.id, here))
            if first != one.id:
                yield Fault(
                    f"workload {key} is set by two intents, {first.name} and {one.id.name}",
                    here,
                    f"the other is at {where}",
                    "leave it in one of them",
                )
