"""`gitops-ds demo`: the shipped sample, run as a user would run it, in a scratch repository."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

INTENT = "intent/gpu-inference.yaml"
FROM, TO = b"name: example-performance-score", b"name: example-powerconsumption-score"
MESSAGE = "Optimise for power instead of performance"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
def command(*, folder: Path | None) -> int:
    """Run the shipped sample in FOLDER (a new temporary folder by default).

    Two apps, two clusters, three ways to split each cluster's GPU: the first plan optimises for performance; then one
    line of the intent is changed, and the second plan optimises for power. Both are committed.
    """
    from gitops_ds.cli.files import write_folder
    from gitops_ds.cli.terminal import say
    from gitops_ds.sample import sample_folder

    scratch = (folder or Path(tempfile.mkdtemp(prefix="gitops-ds-demo-")) / "fleet").absolute()
    write_folder(scratch, _sample(sample_folder()))
    say(f"The sample fleet is in {scratch}")
    _git(scratch, "init", "--quiet")
    _git(scratch, "add", "--all")
    _git(scratch, "commit", "--quiet", "--message", "The fleet's intent: optimise for performance")

    _reconcile(scratch)
    path = scratch / INTENT
    path.write_bytes(path.read_bytes().replace(FROM, TO))
    say(f"\nNow one line of {INTENT} changes, as in a pull request:\n")
    say(_git(scratch, "diff", "--unified=0", "--no-color", "--", INTENT))
    _git(scratch, "commit", "--quiet", "--all", "--message", MESSAGE)

    _reconcile(scratch)
    say("\n$ git show HEAD -- rendered/default\n")
    say(_git(scratch, "show", "--no-color", "--format=%B", "HEAD", "--", "rendered/default"))
    say(f"Look around: cd {shlex.quote(str(scratch))} && git log --stat")
    return 0


def _sample(folder: Path) -> Mapping[str, bytes]:
    """The files of the sample's repository; the hub's snapshot stays in the package."""
    return {
        f"{part}/{path.name}": path.read_bytes()
        for part in ("intent", "policies")
        for path in sorted((folder / part).glob("*.yaml"))
    }


def _reconcile(folder: Path) -> None:
    from gitops_ds.cli.line import Wanted, line, real_world
    from gitops_ds.cli.options import Asked
    from gitops_ds.cli.reconcile import landed_text
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.text import plan_text

    say("$ gitops-ds reconcile --hub demo")
    done = line(Wanted(str(folder), Asked("demo"))).run(real_world(say, say))
    show([*plan_text(done.plan, done.basis), *landed_text(done)])


def _git(folder: Path, *arguments: str) -> str:
    """Run git as a user would, but with no setting of this user's or this machine's that could get in the way."""
    from gitops_ds.errors import Fault, RepositoryError

    settings = (
        "init.defaultBranch=main",
        "user.name=A user of gitops-ds",
        "user.email=user@example.com",
        "commit.gpgSign=false",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command_line = ["git", "-C", str(folder), *options, *arguments]
    try:
        done = subprocess.run(command_line, capture_output=True, check=False, env=environment)
    except FileNotFoundError:
        raise RepositoryError(Fault("git is not installed", fix="install git and run again")) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise RepositoryError(Fault(f"git {arguments[0]} failed", why=said))
    return done.stdout.decode(errors="replace")
