"""The door to the hub: what it holds, read into an `Inventory`.

Owns the reading of Kubernetes objects from a snapshot folder, from the repository, and from a live hub (`live/`, which
only the verbs that ask a hub import). Fetching (`snapshot`, `live`) and parsing (`objects`) stand apart, so that all of
them are parsed by the same functions. Owns no judgement of what is read.
"""

from gitops_ds.hub.agreement import merge_repository
from gitops_ds.hub.flatten import DocumentLike, objects_from_files
from gitops_ds.hub.objects import parse_objects
from gitops_ds.hub.snapshot import fetch_snapshot, read_snapshot
from gitops_ds.intent.scoring import score_object_name

__all__ = [
    "DocumentLike",
    "fetch_snapshot",
    "merge_repository",
    "objects_from_files",
    "parse_objects",
    "read_snapshot",
    "score_object_name",
]
