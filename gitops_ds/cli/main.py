"""The entry point: finds the verb, runs it, and turns whatever happens into words and an exit code.

Owns the list of verbs (each is imported only when it runs, so that --help is quick) and the map from errors to exit
codes. Owns no verb.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from gitops_ds import __version__
from gitops_ds.errors import Fault, GitopsDsError

VERBS = {
    "demo": "Run the shipped sample in a scratch repository, commits and all.",
    "diff": "Show how rendered/ would change, as a diff.",
    "explain": "Say why each workload is where it is, and why not elsewhere.",
    "init": "Start a fleet repository: an intent, its schema, a git hook.",
    "plan": "Show what would be placed and committed, and why.",
    "reconcile": "Plan from the committed intents and commit the rendered tree.",
    "render": "Write the rendered tree to a folder, from a hub or the lock.",
    "schema": "Print the JSON Schema of intents, for editors.",
    "validate": "Check intents, policies and rendered/ for every fault at once.",
}
BUG = 70
INTERRUPTED = 130
MOST_FAULTS = 20


class _Verbs(click.Group):
    """Verbs by name, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"gitops_ds.cli.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gitops-ds")
def cli() -> None:
    """Decide where each workload of a fleet runs, and commit the decision.

    Reads intents from git and scores from an Open Cluster Management hub, solves the placement exactly, renders
    OCM manifests into rendered/ and commits them with the reason.

    Exit codes: 0 done; 1 error; 2 changes (with --detailed-exitcode); 3 held; 4 a workload has no place; 64 usage;
    70 bug.
    """


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(main(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="gitops-ds", standalone_mode=False)
        sys.stdout.flush()
    except GitopsDsError as error:
        _show(error.faults)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.UsageError as error:
        where = f"gitops-ds {error.ctx.info_name}" if error.ctx and error.ctx.parent else "gitops-ds"
        click.echo(f"error: {error.format_message()}\n  try: {where} --help", err=True)
        return 64
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; nothing was committed", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001
        return _bug(error)
    return code if isinstance(code, int) else 0


def _show(faults: Sequence[Fault]) -> None:
    for fault in faults[:MOST_FAULTS]:
        lines = [f"error: {fault.what}"]
        lines += [f"  at {fault.place}"] if fault.place else []
        lines += [f"  why: {fault.why}"] if fault.why else []
        lines += [f"  try: {fault.fix}"] if fault.fix else []
        click.echo("\n".join(lines), err=True)
    if len(faults) > MOST_FAULTS:
        click.echo(f"and {len(faults) - MOST_FAULTS} more faults", err=True)


def _bug(error: Exception) -> int:
    if os.environ.get("GITOPS_DS_TRACEBACK"):
        raise error
    said = str(error).splitlines()
    click.echo(
        f"error: this is a bug in gitops-ds {__version__}: {type(error).__name__}{f': {said[0]}' if said else ''}\n"
        "  try: run it again with GITOPS_DS_TRACEBACK=1 in the environment and report what it prints",
        err=True,
    )
    return BUG
