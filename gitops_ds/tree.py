"""`Tree`: the rendered files by path, which of them are ours, and how a new tree differs from the one in git.

Owns the layout below the rendered folder, the kustomizations, the inventory file, path safety and the comparison. Owns
neither what objects say (`manifests/`) nor how text is quoted (`yamltext/`), and touches no file system.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gitops_ds.errors import Fault, RepositoryError
from gitops_ds.manifests import Manifest
from gitops_ds.yamltext import write_document

ROOT = "rendered"
"""Where the tree is unless a Reconciler says otherwise."""

Tree = Mapping[str, bytes]
"""Repository path to content, sorted by path."""

_PART = re.compile(r"[a-z0-9][a-z0-9.-]{0,250}")
_OWNED_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One file that differs: `before` is None for an added one, `after` for a removed one."""

    path: str
    action: Literal["add", "change", "remove"]
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Difference:
    """How a tree differs from what git holds.

    Attributes:
        changes: sorted by path.
        edited: owned files that are not as we wrote them, removed ones included.
        in_the_way: files that are not ours at paths that the tree needs.
        foreign: files below the rendered folder that are not ours and stay.
    """

    changes: tuple[Change, ...]
    edited: tuple[str, ...]
    in_the_way: tuple[str, ...]
    foreign: tuple[str, ...]


def lock_path(root: str = ROOT) -> str:
    """Where the lock of the tree below `root` is: not .yaml or .json, since Argo CD and Flux would apply it."""
    return f"{root}/gitops-ds.lock"


def inventory_path(root: str = ROOT) -> str:
    """Where the list of owned files below `root` is; by its ending no manifest either."""
    return f"{root}/gitops-ds.inventory"


def lay_out(manifests: Iterable[Manifest], lock: bytes, root: str = ROOT) -> Tree:
    """The whole tree below `root`: one object a file, kustomizations, the lock and the inventory.

    Raises:
        RepositoryError: two objects would be one file, or a name is no safe file name.
    """
    files: dict[str, bytes] = {}
    for manifest in manifests:
        path = _path(manifest, root)
        if path in files:
            what = f"two objects would be written to {path}"
            raise RepositoryError(
                Fault(what, why="a workload's Placement has the name of one of ours", fix="rename it")
            )
        files[path] = write_document(manifest.body)
    files |= dict(_kustomizations(files, root))
    files[lock_path(root)] = lock
    files[inventory_path(root)] = _inventory(files)
    return dict(sorted(files.items()))


def compare(current: Mapping[str, bytes], tree: Tree, root: str = ROOT) -> Difference:
    """How `tree` differs from `current`, which holds every file below `root` in git."""
    owned = read_owned(current, root)
    edited = tuple(path for path in sorted(owned) if _digest(current.get(path)) != owned[path])
    ours = {*owned, inventory_path(root)}
    changes = []
    for path in sorted({*tree, *ours} & ({*tree} | {*current})):
        before, after = current.get(path), tree.get(path)
        if before != after:
            action: Literal["add", "change", "remove"]
            action = "add" if before is None else "remove" if after is None else "change"
            changes.append(Change(path, action, before, after))
    in_the_way = tuple(p for p in tree if p in current and p not in ours and current[p] != tree[p])
    foreign = tuple(p for p in sorted(current) if p not in ours and p not in tree)
    return Difference(tuple(changes), edited, in_the_way, foreign)


def read_owned(current: Mapping[str, bytes], root: str = ROOT) -> dict[str, str]:
    """Path to sha256 of the files that the inventory in `current` says are ours; {} where there is none.

    After `git mv` of the whole folder, the inventory still has the old paths: they stand for those below `root`.

    Raises:
        RepositoryError: the inventory is not as we write it.
    """
    path = inventory_path(root)
    if path not in current:
        return {}
    found: dict[str, str] = {}
    written = written_root(current, root)
    for number, line in enumerate(_lines(current[path]), 1):
        match = _OWNED_LINE.fullmatch(line)
        if match is None or not _is_safe(match[2], written):
            what = f"{path}:{number} is not a line that gitops-ds writes"
            raise RepositoryError(Fault(what, fix=f"restore the file: git checkout <a good commit> -- {path}"))
        found[root + match[2].removeprefix(written)] = match[1]
    return found


def written_root(current: Mapping[str, bytes], root: str = ROOT) -> str:
    """The folder that the inventory in `current` was written for: another one than `root` after `git mv` of the folder.

    The lock is among the files that it lists, and tells. Where nothing tells, it is `root`.
    """
    lines = map(_OWNED_LINE.fullmatch, _lines(current.get(inventory_path(root), b"")))
    name = lock_path("")
    roots = {line[2].removesuffix(name) for line in lines if line is not None and line[2].endswith(name)}
    return roots.pop() if len(roots) == 1 else root


def digest_of(tree: Tree, root: str = ROOT) -> str:
    """sha256 of the tree: of its inventory, which holds the sha256 of everything else."""
    return hashlib.sha256(tree[inventory_path(root)]).hexdigest()


def _path(manifest: Manifest, root: str) -> str:
    parts = (manifest.namespace, manifest.intent.name, f"{manifest.kind.lower()}-{manifest.name}.yaml")
    path = "/".join((root, *parts))
    if not _is_safe(path, root):
        raise RepositoryError(Fault(f"{path!r} is no safe file name"))
    return path


def _lines(inventory: bytes) -> list[str]:
    return inventory.decode(errors="replace").splitlines()


def _is_safe(path: str, root: str) -> bool:
    return path.startswith(f"{root}/") and all(_PART.fullmatch(part) for part in path.split("/"))


def _kustomizations(files: Iterable[str], root: str) -> Iterator[tuple[str, bytes]]:
    """A kustomization for each folder, listing its files and folders; the root has one even when it is empty."""
    folders: dict[str, set[str]] = {root: set()}
    for path in files:
        parts = path.removeprefix(f"{root}/").split("/")
        for depth in range(len(parts)):
            folders.setdefault("/".join((root, *parts[:depth])), set()).add(parts[depth])
    for folder, names in sorted(folders.items()):
        body = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": sorted(names),
        }
        yield f"{folder}/kustomization.yaml", write_document(body)


def _inventory(files: Tree) -> bytes:
    """In the form of sha256sum, so that `sha256sum -c` at the repository's root checks the tree without us."""
    return "".join(f"{_digest(content)}  {path}\n" for path, content in sorted(files.items())).encode()


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()
