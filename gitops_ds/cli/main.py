"""The entry point: finds the verb, runs it, and turns whatever happens into words and an exit code.

Owns the list of verbs (each is imported only when it runs, so that --help is quick) and the one place where exceptions
end. Owns no verb and no wording of errors (`faults.py`).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence

import click

from gitops_ds import __version__
from gitops_ds.cli.faults import BUG, LandedError, fault_lines, faults_json, faults_of, landing_line
from gitops_ds.cli.interrupts import Terminated, terminable
from gitops_ds.cli.terminal import flush, prepare, say, show, silence

VERBS = {
    "abort": "Lead a move of several commits back to where it came from.",
    "bootstrap": "Print manifests for Argo CD, Flux, a cluster, and CI.",
    "demo": "Run the shipped sample in a scratch repository, commits and all.",
    "diff": "Show how rendered/ would change, as a diff.",
    "explain": "Say why each workload is where it is, and why not elsewhere.",
    "hold": "Keep a reconciler from committing, in git, with the reason.",
    "init": "Start a fleet repository: an intent, its schema, a git hook.",
    "plan": "Show what would be placed and committed, and why.",
    "reconcile": "Plan from the committed intents and commit the rendered tree.",
    "render": "Write the rendered tree to a folder, from a hub or the lock.",
    "resume": "Lift a hold, and let a reconciler go on after people's changes.",
    "schema": "Print the JSON Schema of intents, for editors.",
    "snapshot": "Save what a live hub holds, to plan with it later.",
    "status": "Hold what git has against the hub: what is in place, what is not.",
    "validate": "Check intents, policies and rendered/ for every fault at once.",
    "verify": "Check that a commit is what its message and its lock say.",
    "watch": "Reconcile again and again, unattended, with health and metrics.",
}


class _Verbs(click.Group):
    """Verbs by name, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"gitops_ds.cli.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gitops-ds")
def cli() -> None:
    """Decide where each workload of a fleet runs, and commit the decision.

    Reads intents from git and scores from an Open Cluster Management hub, solves the placement exactly, renders
    OCM manifests into rendered/ and commits them with the reason.

    Exit codes: 0 done; 1 error; 2 changes (with --detailed-exitcode); 3 held, or not in place; 4 a workload has no
    place; 5 the branch kept moving; 6 refused; 64 usage; 70 bug.
    """


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(main(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    prepare()
    try:
        with terminable():
            code = cli.main(args=words, prog_name="gitops-ds", standalone_mode=False)
            flush()
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message())
        return 0
    except BrokenPipeError:
        silence()
        return 0
    except (Exception, KeyboardInterrupt, Terminated) as error:  # the one place where exceptions end
        return _fail(error, as_json=_wants_json(words))
    return code if isinstance(code, int) else 0


def _fail(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong on standard error and, for a program, as JSON on standard output; the exit code."""
    landing = error.landing if isinstance(error, LandedError) else None
    error = error.cause if isinstance(error, LandedError) else error
    code, faults = faults_of(error)
    if code == BUG and os.environ.get("GITOPS_DS_TRACEBACK"):
        raise error
    show(fault_lines(faults), error=True)
    show([landing_line(landing)] if landing else [], error=True)
    try:
        say(json.dumps(faults_json(code, faults, landing), indent=2) if as_json else "", end="\n" if as_json else "")
    except OSError:
        silence()
    return code


def _wants_json(words: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, as far as can be told where it could not be understood."""
    pairs = zip(words, [*words[1:], ""], strict=False)
    return any(
        one in ("--output=json", "-ojson") or (one in ("--output", "-o") and two == "json") for one, two in pairs
    )
