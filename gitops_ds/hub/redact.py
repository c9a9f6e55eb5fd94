"""What nobody may read off a hub by way of us: the content of Secrets, and annotations that look like credentials.

A digest stands in for each: enough to tell two writings of one object apart, too little to read. The digest of a digest
is itself, so that what was redacted once compares as it did before. Owns what counts as secret; keeps no object.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from gitops_ds.hub.node import LAST_APPLIED
from gitops_ds.secrecy import secret_faults

_CREDENTIAL: Final = re.compile(
    r"token|passw|secret|authorization|credential|(?:api|access|private|ssh)[-_.]?key", re.IGNORECASE
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_CONTENT: Final = ("data", "stringData")


def without_secrets(value: Any) -> Any:
    """`value` without what any Secret in it holds, however deep it is carried, and without credentials in annotations.

    A text that spells out a manifest of a Secret, as a template may, goes whole.
    """
    match value:
        case list():
            return [without_secrets(item) for item in value]
        case str():
            return digest(value) if _spells_a_secret(value) else value
        case dict():
            is_secret = value.get("kind") == "Secret"
            return {key: _field(key, item, is_secret=is_secret) for key, item in value.items()}
    return value


def without_credentials(annotations: Mapping[str, str]) -> dict[str, str]:
    """`annotations` with a digest for each value whose key tells of a credential, or of the object as last applied."""
    return {key: digest(value) if _is_credential(key) else value for key, value in annotations.items()}


def digest(content: Any) -> str:
    """What stands in for `content`, a plain value; for a digest, that digest."""
    if isinstance(content, str) and _DIGEST.fullmatch(content):
        return content
    return "sha256:" + hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _field(key: Any, item: Any, *, is_secret: bool) -> Any:
    if is_secret and key in _CONTENT:
        return {name: digest(inner) for name, inner in item.items()} if isinstance(item, dict) else _digest_of(item)
    if key == "annotations" and isinstance(item, dict):
        return {name: digest(inner) if _is_credential(name) else without_secrets(inner) for name, inner in item.items()}
    return without_secrets(item)


def _digest_of(item: Any) -> Any:
    return item if item is None else digest(item)


def _is_credential(key: Any) -> bool:
    return key == LAST_APPLIED or (isinstance(key, str) and _CREDENTIAL.search(key) is not None)


def _spells_a_secret(text: str) -> bool:
    return "Secret" in text and "\n" in text and bool(secret_faults({"text.yaml": text.encode(errors="replace")}))
