"""The door for YAML text, in and out; the only room that imports `yaml`.

Owns reading what people write (`read_strict`), reading manifests as kubectl would (`read_kubernetes`), writing plain
values so that every reader gets the same ones back (`write_document`), and the tables of how readers resolve a plain
scalar. Owns no knowledge of intents or Kubernetes kinds, and touches no file: bytes come in, bytes go out.
"""

from gitops_ds.yamltext.compose import Document, Limits
from gitops_ds.yamltext.read import INTENT_LIMITS, MANIFEST_LIMITS, read_kubernetes, read_strict
from gitops_ds.yamltext.write import write_document

__all__ = [
    "INTENT_LIMITS",
    "MANIFEST_LIMITS",
    "Document",
    "Limits",
    "read_kubernetes",
    "read_strict",
    "write_document",
]
