"""Options that several verbs share, with one meaning everywhere.

Owns their names, help and environment variables. Owns no use of them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Instant(click.ParamType[datetime]):
    """An RFC 3339 instant with a zone."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """`value` as an aware datetime."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f'"{value}" is no time: write it as 2026-01-15T09:00:00Z', param, ctx)
        return found if found.tzinfo else found.replace(tzinfo=UTC)


class Duration(click.ParamType[timedelta]):
    """A span of time, as intents write it."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """`value` as a span of time."""
        from gitops_ds.intent.base import as_duration

        try:
            return as_duration(value)
        except ValueError as error:
            self.fail(f'"{value}" is no duration: {error}', param, ctx)


repo: Callable[[F], F] = click.option(
    "--repo",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The fleet repository [default: the working tree around the current folder].",
)
hub: Callable[[F], F] = click.option(
    "--hub",
    metavar="HUB",
    envvar="GITOPS_DS_HUB",
    show_envvar=True,
    help="Where the hub's facts come from: snapshot:DIR, or demo (the sample that ships).",
)
at: Callable[[F], F] = click.option(
    "--at",
    type=Instant(),
    help="The instant at which scores are judged [default: the snapshot's own, else now].",
)
max_age: Callable[[F], F] = click.option(
    "--max-snapshot-age",
    "max_age",
    type=Duration(),
    envvar="GITOPS_DS_MAX_SNAPSHOT_AGE",
    show_envvar=True,
    help="Refuse a snapshot that is older, such as 2h [default: any age].",
)
output: Callable[[F], F] = click.option(
    "--output",
    "-o",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to answer: text for people, json for programs.",
)
overwrite: Callable[[F], F] = click.option(
    "--overwrite-edits",
    "overwrite",
    is_flag=True,
    help="Take back rendered files that somebody edited by hand.",
)
detailed: Callable[[F], F] = click.option(
    "--detailed-exitcode", "detailed", is_flag=True, help="Exit with 2 where the plan changes something."
)


def planning(command: F) -> F:
    """The options of every verb that makes a plan: repo, hub, at, max_age, output, overwrite, detailed."""
    for option in (detailed, overwrite, output, max_age, at, hub, repo):
        command = option(command)
    return command
