"""`Written`: a file of documents with the comments that help whoever goes on to edit it.

Owns where comments and separators stand. Owns no quoting (`yamltext/`) and no path on a disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from gitops_ds.yamltext import write_document

_PLAIN_COMMENT: Final = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Document:
    """One object, and lines that stand above it as comments."""

    body: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """One file.

    Attributes:
        path: where it goes, from the top of the folder that it is written to.
        documents: what it holds.
        in_order: keys stay in the order that they have.
        remarks: text to a comment that follows it on each line that ends in it, such as the version of a pinned action.
    """

    path: str
    documents: tuple[Document, ...]
    in_order: bool = False
    remarks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def text(self) -> str:
        """The file's text."""
        return "---\n".join(self._document(document) for document in self.documents)

    def _document(self, document: Document) -> str:
        body = write_document(document.body, in_order=self.in_order).decode()
        for text, remark in self.remarks.items():
            body = re.sub(rf"({re.escape(text)}\"?)$", rf"\1 # {remark}", body, flags=re.MULTILINE)
        return comment(document.note) + body


def one_stream(files: Iterable[Written]) -> str:
    """All files as one stream of documents; each begins with a comment that says where it goes."""
    return "---\n".join(f"# {one.path}\n{one.text()}" for one in files)


def comment(note: str) -> str:
    """`note` as comment lines; "" for nothing.

    Raises:
        ValueError: it has a character that might end a comment in some reader.
    """
    lines = note.splitlines()
    if not all(_PLAIN_COMMENT.fullmatch(line) for line in lines):
        raise ValueError(f"no comment: {note!r}")
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)
