"""GitLab's merge request by push options: what opens one, or changes it, with no token for the API.

Owns the options' form. Owns no push.
"""

from __future__ import annotations

import re

from gitops_ds.forge.model import cut

GITLAB_OPTION_LIMIT = 60_000
"""Bytes that one push option may have. git sends each as one packet line, which ends at 65,516 bytes, and servers hand
them to hooks in the environment; this leaves room for both."""
_LONGEST_TITLE = 255
_KEY = "merge_request.description="


def gitlab_push_options(title: str, description: str, target: str) -> tuple[str, ...]:
    r"""The push options that open a merge request into `target`, or bring an open one up to date.

    Each goes after an `-o` of its own of `git push`. git refuses an option with a line feed in it; GitLab (since 15.0)
    reads `\n` as one, wherever it stands, so a backslash that really stands before an n is written as an entity.
    A description that is too long is cut and says so.
    """
    one_line = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    room = GITLAB_OPTION_LIMIT - len(_KEY)
    text = "".join(c for c in description.replace("\r\n", "\n") if c == "\n" or c.isprintable() or c in "\t\u200b")
    limit = len(text.encode())
    while (size := len((escaped := _escaped(cut(text, limit))).encode())) > room:
        limit = min(limit * room // size, limit - 1)
    return (
        "merge_request.create",
        f"merge_request.target={target}",
        f"merge_request.title={one_line[:_LONGEST_TITLE]}",
        f"{_KEY}{escaped}",
    )


def _escaped(text: str) -> str:
    return re.sub(r"\\(?=n)", "&#92;", text).replace("\n", "\\n")
