"""GitOps Promoter's contract for hydrators of one's own: the branch to push to and the file that must be in it.

Owns the names and the file's form. The promoter opens and merges the pull requests itself, so no forge is asked here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

HYDRATOR_METADATA = "hydrator.metadata"
"""The file's path: at the root of the branch, or in the active path where a PromotionStrategy has one."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A commit, mostly of another repository, that led to the one that was rendered from."""

    sha: str
    repo_url: str = ""
    author: str = ""
    date: str = ""
    subject: str = ""
    body: str = ""


def proposed_branch(active: str, active_path: str = "") -> str:
    """The branch that the promoter takes proposals for the branch `active` from: its suffix is fixed there."""
    return f"{active}-next" + (f"/{active_path.strip('/')}" if active_path.strip("/") else "")


def hydrator_metadata(
    dry_sha: str,
    *,
    repo_url: str = "",
    commands: Sequence[str] = (),
    author: str = "",
    date: str = "",
    subject: str = "",
    body: str = "",
    references: Sequence[Reference] = (),
) -> bytes:
    """The content of `hydrator.metadata`, field by field as Argo CD's own hydrator writes it.

    The promoter requires `drySha` alone; the rest is for its pages and for people. What is empty is left out, so the
    same commit always gives the same bytes.

    Args:
        dry_sha: the full id of the commit that was rendered from.
        repo_url: the repository of that commit, without any password: links lead there.
        commands: what a person would run to render the same.
        author: of that commit, as `Name <email>`.
        date: of that commit, as RFC 3339 has it.
        subject: the first line of its message; `body` is the rest.
        body: see `subject`.
        references: further commits that led to it.
    """
    whole: dict[str, Any] = {
        "repoURL": repo_url,
        "drySha": dry_sha,
        "commands": list(commands),
        "author": author,
        "date": date,
        "subject": subject,
        "body": body,
        "references": [{"commit": _commit(one)} for one in references],
    }
    filled = {key: value for key, value in whole.items() if value}
    return (json.dumps(filled, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")


def _commit(one: Reference) -> dict[str, str]:
    whole = {
        "author": one.author,
        "date": one.date,
        "subject": one.subject,
        "body": one.body,
        "sha": one.sha,
        "repoURL": one.repo_url,
    }
    return {key: value for key, value in whole.items() if value}
