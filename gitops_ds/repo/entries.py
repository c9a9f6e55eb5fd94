"""What git holds, as plain entries: the files of a tree, the files of the index, and the blobs behind them.

Owns the parsing of git's listings and the moving of bytes into and out of the object database. Owns no judgement of
what an entry means: readers and the commit refuse what they do not want.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.gitcmd import Repository, git, raw, text

FILE, EXECUTABLE, LINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "040000"


class Entry(NamedTuple):
    """A file as git holds it: its mode (six digits) and the id of its blob."""

    mode: str
    blob: str


Changes = Mapping[str, Entry | None]
"""What paths are, or are to become; None stands for no file."""


class IndexEntry(NamedTuple):
    """A file in the index. `merged` is false in a conflict; `skipped` marks skip-worktree: no working file is meant."""

    entry: Entry
    merged: bool
    skipped: bool


def tree_entries(repo: Repository, tree: str, folders: Sequence[str], *, deep: bool = True) -> dict[str, Entry]:
    """The entries of a commit or tree under `folders` (none: everything), by path.

    With `deep` false only one level is listed and subfolders appear as entries with the mode FOLDER.
    """
    depth = ["-r"] if deep else []
    out = git(repo, "ls-tree", *depth, "-z", "--full-tree", tree, "--", *folders)
    found = {}
    for record in filter(None, out.split(b"\0")):
        head, _, path = record.partition(b"\t")
        mode, _, blob = head.decode().split(" ")
        found[text(path)] = Entry(mode, blob)
    return found


def index_entries(
    repo: Repository, folders: Sequence[str], env: Mapping[str, str] | None = None
) -> dict[str, IndexEntry]:
    """The entries of the index under `folders` (none: everything), by path."""
    out = git(repo, "ls-files", "-z", "-s", "-t", "--", *folders, env=env)
    found = {}
    for record in filter(None, out.split(b"\0")):
        head, _, path = record.partition(b"\t")
        tag, mode, blob, stage = head.decode().split(" ")
        found[text(path)] = IndexEntry(Entry(mode, blob), stage == "0", tag == "S")
    return found


def blob_id(repo: Repository, content: bytes) -> str:
    """The id that git gives to these bytes, in the repository's own object format."""
    digest = hashlib.new("sha256" if len(repo.head) == 64 else "sha1", usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()


def blob_sizes(repo: Repository, blobs: Iterable[str]) -> dict[str, int]:
    """The size in bytes of each blob, without reading it.

    Raises:
        RepositoryError: an object is missing: the repository is damaged or a partial clone without its remote.
    """
    asked = sorted(set(blobs))
    out = git(repo, "cat-file", "--batch-check", stdin=_lines(asked)) if asked else b""
    sizes = {}
    for line in out.decode().splitlines():
        blob, kind, *size = line.split(" ")
        if kind != "blob":
            raise RepositoryError(
                Fault(f"object {blob} is {kind}", Place(str(repo.top)), fix="check the repository with `git fsck`")
            )
        sizes[blob] = int(size[0])
    return sizes


def read_blobs(repo: Repository, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The bytes of each blob of `sizes`, all read by one process."""
    asked = sorted(sizes)
    out = git(repo, "cat-file", "--batch", stdin=_lines(asked)) if asked else b""
    contents, at = {}, 0
    for blob in asked:
        start = out.index(b"\n", at) + 1
        at = start + sizes[blob]
        contents[blob] = out[start:at]
        at += 1
    return contents


def store_blobs(repo: Repository, contents: Mapping[str, bytes]) -> None:
    """Write blobs, given by the id that they must get, into the object database: byte for byte, by one process."""
    if not contents:
        return
    with tempfile.TemporaryDirectory(prefix="gitops-ds-") as folder:
        paths = []
        for number, blob in enumerate(contents):
            path = Path(folder, str(number))
            path.write_bytes(contents[blob])
            paths.append(str(path))
        stored = hash_files(repo, paths, "-w", "--no-filters")
    if stored != list(contents):
        raise RepositoryError(Fault("git stored other bytes than it was given", Place(str(repo.git_dir))))


def hash_files(repo: Repository, paths: Sequence[str], *options: str, settings: Sequence[str] = ()) -> list[str]:
    """The blob ids of files, in the order given; relative paths are from the top, and converted by their attributes."""
    if not paths:
        return []
    stdin = b"".join(_quoted(path) + b"\n" for path in paths)
    return git(repo, "hash-object", *options, "--stdin-paths", stdin=stdin, settings=settings).decode().split()


def put_entries(
    repo: Repository, changes: Changes, env: Mapping[str, str] | None = None, settings: Sequence[str] = ()
) -> None:
    """Put entries into an index, and take out those that are None; working files are not looked at."""
    gone = b"".join(b"0 %s\t%s\0" % (b"0" * len(repo.head), raw(path)) for path, entry in changes.items() if not entry)
    put = b"".join(
        b"%s %s 0\t%s\0" % (entry.mode.encode(), entry.blob.encode(), raw(path))
        for path, entry in changes.items()
        if entry
    )
    # Removals first: a folder may take the place of a file.
    git(repo, "update-index", "-z", "--index-info", stdin=gone + put, env=env, settings=settings)


def top_names(paths: Iterable[str]) -> list[str]:
    """The first parts of paths, sorted: enough to narrow a listing without a long command line."""
    names = sorted({path.split("/", 1)[0] for path in paths})
    return names if len(names) <= 100 else []


def parents(path: str) -> list[str]:
    """The folders that a path lies in, outermost first, the top left out."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _quoted(path: str) -> bytes:
    """A path in git's C-style quotes: `hash-object` reads one path a line and knows no `-z`."""
    plain = frozenset(range(32, 127)) - {ord('"'), ord("\\")}
    return b'"' + b"".join(bytes([c]) if c in plain else b"\\%03o" % c for c in raw(os.fspath(path))) + b'"'
