"""Options that several verbs share, with one meaning everywhere.

Owns their names, help and environment variables. Owns no use of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line and the environment say about where inputs come from; None: they do not.

    Attributes:
        hub: as the option --hub says it.
        at: the instant to judge scores at; None: the snapshot's own, else now.
        max_age: how old a snapshot may be.
        reconciler: the name of the Reconciler, where there are several.
    """

    hub: str | None = None
    at: datetime | None = None
    max_age: timedelta | None = None
    reconciler: str | None = None


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


class BranchName(click.ParamType[str]):
    """The short name of a branch."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """`value`, where it is one."""
        from gitops_ds.intent.reconciler import branch_name

        try:
            return branch_name(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def way(name: str, text: str) -> Callable[[F], F]:
    """The option that sets `mode` to `name`: one of several, of which only one may be given."""

    def choose(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        other = ctx.params.setdefault("mode", None)
        if given and other is not None:
            first, second = sorted((name, other))
            raise click.UsageError(f"--{first} and --{second} do not go together: choose one", ctx)
        if given:
            ctx.params["mode"] = name

    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=choose, help=text)


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
    help="Where the hub's facts come from: kubernetes[:CONTEXT], snapshot:DIR, or demo (the sample that ships).",
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
document: Callable[[F], F] = click.option(
    "--output",
    "-o",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to answer: text for people, json for programs, markdown for a pull request.",
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


reconciler: Callable[[F], F] = click.option(
    "--reconciler",
    metavar="NAME",
    envvar="GITOPS_DS_RECONCILER",
    show_envvar=True,
    help="Whose settings count, where intent/ holds several Reconcilers.",
)


where: Callable[[F], F] = click.option(
    "--repo",
    "where",
    metavar="DIR|URL",
    default=".",
    help="The fleet repository, or its URL [default: the working tree around the current folder].",
)


def from_environment(parameter: str) -> bool:
    """Whether a parameter of the running verb has its value from the environment."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is click.core.ParameterSource.ENVIRONMENT


def bundling(command: F) -> F:
    """The options that say where a hub's facts come from, handed on as one value, `asked`."""

    @wraps(command)
    def bundled(
        *, hub: str | None, at: datetime | None, max_age: timedelta | None, reconciler: str | None, **rest: Any
    ) -> Any:
        return command(asked=Asked(hub, at, max_age, reconciler), **rest)

    found: Any = bundled
    for option in (reconciler, max_age, at, hub):
        found = option(found)
    checked: F = found
    return checked


def asking(command: F) -> F:
    """The options that say where inputs come from: those of `bundling`, and the folder of the repository."""
    return repo(bundling(command))


def delivering(command: F) -> F:
    """The options of verbs that commit: those of `bundling`, the repository or its URL, and the way into git."""
    ways = (
        click.option(
            "--branch", metavar="NAME", type=BranchName(), help="The branch that is planned from and gets the plan."
        ),
        click.option("--remote", metavar="NAME|URL", help="The remote that is pushed to."),
        way("pull-request", "Push a branch of its own and propose it."),
        way("push", "Push to the remote's branch."),
        way("commit", "Commit to the branch that is checked out."),
        bundling,
        where,
    )
    for option in ways:
        command = option(command)
    return command


def planning(command: F) -> F:
    """The options of every verb that makes a plan: those of `asking`, output, overwrite, detailed."""
    for option in (detailed, overwrite, document, asking):
        command = option(command)
    return command
