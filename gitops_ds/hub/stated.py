"""What an object states: all that whoever wrote it says, to be held against another writing of the same object.

Owns what of an object is a statement: labels, annotations and everything but its status. Owns no comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gitops_ds.errors import Source
from gitops_ds.hub.node import Node
from gitops_ds.hub.redact import without_credentials, without_secrets

_NO_STATEMENT: Final = ("apiVersion", "kind", "metadata", "status")


@dataclass(frozen=True, slots=True)
class ObjectSource(Source):
    """A source that remembers what its object states, so that another writing of the object can be held against it."""

    stated: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def remembering(node: Node) -> ObjectSource:
    """The source of an object with what the object states, and no Secret's content."""
    labels, annotations = (node.at("metadata", key).texts() for key in ("labels", "annotations"))
    metadata = {"labels": labels, "annotations": without_credentials(annotations)}
    said = {key: without_secrets(value) for key, value in node.mapping().items() if key not in _NO_STATEMENT}
    return ObjectSource(node.source.file, node.source.marks, {"metadata": metadata, **said})
