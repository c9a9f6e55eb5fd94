"""`Rendered`: what a commit holds below the rendered folder: the lock, and each object by kind and name.

Owns the reading of it. Owns no git: the files are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_ds.errors import Fault, InputError, Place, RepositoryError, raise_faults
from gitops_ds.hub import objects_from_files
from gitops_ds.hub.flatten import flatten
from gitops_ds.ids import Namespace
from gitops_ds.lock import Lock, read_lock
from gitops_ds.tree import ROOT, lock_path, read_owned

Key = tuple[str, Namespace, str]
"""Kind, namespace and name."""
_NO_STATEMENT = ("apiVersion", "kind", "metadata", "status")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The lock and what each object states: its labels, annotations and everything but its status, by key."""

    lock: Lock
    objects: Mapping[Key, Mapping[str, Any]] = field(repr=False)


def read_rendered(current: Mapping[str, bytes], root: str = ROOT) -> Rendered:
    """What `current`, the files below `root`, holds of ours.

    Raises:
        RepositoryError: nothing is rendered yet, or the lock or the list of our files is not as we wrote it.
        InputError: a rendered file is no manifest.
    """
    path = lock_path(root)
    if path not in current:
        what = f"git holds no {path}, so there is nothing to hold against the hub"
        raise RepositoryError(Fault(what, Place(path), fix="gitops-ds reconcile, or check out the commit that has it"))
    owned = {path: current[path] for path in read_owned(current, root) if path in current}
    faults: list[Fault] = []
    found: dict[Key, Mapping[str, Any]] = {}
    for item in flatten(objects_from_files(owned), faults):
        if item.kind != "Kustomization":
            metadata = item.value["metadata"]
            key = item.kind, Namespace(str(metadata.get("namespace", ""))), str(metadata["name"])
            said = {word: metadata.get(word, {}) for word in ("labels", "annotations")}
            rest = {word: value for word, value in item.value.items() if word not in _NO_STATEMENT}
            found[key] = {"metadata": said, **rest}
    raise_faults(InputError, faults)
    return Rendered(read_lock(current[path], path), found)
