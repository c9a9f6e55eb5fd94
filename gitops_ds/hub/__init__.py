"""The door to the hub: what it holds, read into an `Inventory`.

Owns the reading of Kubernetes objects from a snapshot folder and from the repository. Fetching (`snapshot`) and parsing
(`objects`) stand apart, so that a live hub's answers are parsed by the same functions. Owns no judgement of what is
read.
"""

from gitops_ds.hub.agreement import merge_repository
from gitops_ds.hub.flatten import DocumentLike, objects_from_files
from gitops_ds.hub.objects import parse_objects
from gitops_ds.hub.scores import score_object_name
from gitops_ds.hub.snapshot import fetch_snapshot, read_snapshot

__all__ = [
    "DocumentLike",
    "fetch_snapshot",
    "merge_repository",
    "objects_from_files",
    "parse_objects",
    "read_snapshot",
    "score_object_name",
]
