"""`gitops-ds bootstrap`: the manifests and pipelines that a fleet repository needs around it, printed or written.

Owns what they are made for: the options first, then the Reconciler, then the repository's own settings. Owns no word of
what is printed (`gitops_ds.bootstrap`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitops_ds import __version__
from gitops_ds.cli import options
from gitops_ds.cli.fleet_repo import Repo, branch_of, hub_of, mode_of, read_repo, url_of

if TYPE_CHECKING:
    from datetime import timedelta

    from gitops_ds.bootstrap import Pod, Source, Written
    from gitops_ds.errors import Fault

F = TypeVar("F", bound=Callable[..., Any])
Told = tuple[str, str, Callable[[str], str]]
"""An option, what it was told, and the check of it."""
PACKAGE = f"gitops-ds=={__version__}"


@click.group()
def command() -> None:
    """Print what a hub or a forge needs around a fleet repository.

    What is not told by options is taken from the Reconciler of the repository and from git. Nothing is sent anywhere:
    apply or commit what is printed.
    """


def _reading(target: F) -> F:
    """The options of every target: the repository to look at, and where to write; hands on `repo` and `to`."""

    @wraps(target)
    def read(*, repo: Path, reconciler: str | None, to: Path | None, overwrite: bool, **rest: Any) -> int:
        found = read_repo(repo, reconciler)
        files = target(repo=found, **rest)
        return _put(files, to, overwrite=overwrite)

    decorated: Any = read
    for option in (
        click.option("--overwrite", is_flag=True, help="With --to, replace files that are there and differ."),
        click.option("--to", metavar="DIR", type=click.Path(path_type=Path), help="Write files below DIR."),
        options.reconciler,
        options.repo,
    ):
        decorated = option(decorated)
    checked: F = decorated
    return checked


def _option(*names: str, **more: Any) -> Callable[[F], F]:
    shown = "default" in more and not more.get("is_flag")
    found: Callable[[F], F] = click.option(*names, show_default=shown, **more)
    return found


_URL = _option(
    "--repo-url", "url", metavar="URL", help="The repository's URL [default: the Reconciler's, or origin's]."
)
_BRANCH = _option("--branch", metavar="NAME", help="The branch [default: the Reconciler's, or main].")
_OWN_BRANCH = _option("--branch", metavar="NAME", help="The branch [default: the Reconciler's, or the remote's own].")
_FLEET = _option("--name", default="fleet", help="What everything is named after.")
_POLICIES = _option("--policies", is_flag=True, help="Apply the folder policies/ too.")
_WORKLOADS = _option("--workloads", is_flag=True, help="Apply the folder workloads/ too.")
_SETS = _option(
    "--cluster-set",
    "sets",
    metavar="NAME",
    multiple=True,
    help="A set that may be bound; repeatable [default: those that intents bind].",
)
_SCHEDULE = _option("--schedule", metavar="CRON", default="*/15 * * * *", help="When it runs, in UTC.")
_PUSH = options.way("push", "Push to the branch [default: as the Reconciler says].")
_REQUEST = options.way("pull-request", "Propose by a pull request instead.")
_NAMESPACE = _option("--namespace", default="gitops-ds", help="Where it runs.")
_IMAGE = _option("--image", metavar="IMAGE", required=True, help="The image that was built from the Dockerfile.")
_SECRET = _option(
    "--git-secret",
    "secret",
    metavar="NAME",
    default="gitops-ds-git",
    help="The Secret with the credentials for git.",
)
_NAMED = _option("--name", default="gitops-ds", help="What everything is named after.")
_INSTALL = _option("--install", metavar="REQUIREMENT", default=PACKAGE, help="What pip installs.")


def _with(*several: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(target: F) -> F:
        for option in reversed(several):
            target = option(target)
        return target

    return decorate


@command.command()
@_with(_reading, _URL, _BRANCH, _FLEET, _POLICIES, _WORKLOADS, _SETS)
@_option("--namespace", default="argocd", help="Where Argo CD runs.")
@_option("--project", metavar="NAME", default="default", help="The AppProject of the Applications.")
@_option("--with-project", is_flag=True, help="Make that AppProject, for what is committed and nothing else.")
@_option("--server", metavar="URL", default="https://kubernetes.default.svc", help="The hub, as Argo CD knows it.")
@_option("--service-account", "account", default="argocd-application-controller", help="Who applies.")
@_option(
    "--sync-timeout",
    "timeout",
    type=options.Duration(),
    help="End a sync that waits for longer [default: leave Argo CD's setting alone].",
)
def argocd(
    *,
    repo: Repo,
    url: str | None,
    branch: str | None,
    name: str,
    policies: bool,
    workloads: bool,
    sets: tuple[str, ...],
    namespace: str,
    project: str,
    with_project: bool,
    server: str,
    account: str,
    timeout: timedelta | None,
) -> Sequence[Written]:
    """Print Applications for Argo CD.

    With health checks for OCM's kinds, and RBAC for the cluster sets that are bound.

    Apply it with `kubectl apply --server-side -f -`, so that the rest of argocd-cm stays as it is.
    """
    from gitops_ds.bootstrap import ArgoCd, argocd_files, checks
    from gitops_ds.errors import Fault

    seconds = None if timeout is None else int(timeout.total_seconds())
    wrong = [Fault("--with-project goes with --project NAME")] if with_project and project == "default" else []
    wrong += [Fault("--sync-timeout is a minute or more")] if seconds is not None and seconds < 60 else []
    _check(
        *_source_checks(repo, url, name, sets),
        ("--namespace", namespace, checks.namespace),
        ("--project", project, checks.object_name),
        ("--server", server, checks.server),
        ("--service-account", account, checks.object_name),
        faults=wrong,
    )
    source = _source(repo, url, branch, name, policies, workloads, sets)
    return argocd_files(ArgoCd(source, namespace, project, with_project, server, account, seconds))


@command.command()
@_with(_reading, _URL, _BRANCH, _FLEET, _POLICIES, _WORKLOADS, _SETS)
@_option("--namespace", default="flux-system", help="Where the Flux objects go.")
@_option("--git-secret", "secret", metavar="NAME", help="The Secret with the credentials for git [default: none].")
def flux(
    *,
    repo: Repo,
    url: str | None,
    branch: str | None,
    name: str,
    policies: bool,
    workloads: bool,
    sets: tuple[str, ...],
    namespace: str,
    secret: str | None,
) -> Sequence[Written]:
    """Print Kustomizations for Flux.

    With their GitRepository, health checks, and a service account with the rights to apply what is committed.
    """
    from gitops_ds.bootstrap import Flux, checks, flux_files

    _check(
        *_source_checks(repo, url, name, sets),
        ("--namespace", namespace, checks.namespace),
        *([("--git-secret", secret, checks.object_name)] if secret is not None else []),
    )
    source = _source(repo, url, branch, name, policies, workloads, sets)
    return flux_files(Flux(source, namespace, secret))


@command.command()
@_with(_reading, _URL, _OWN_BRANCH, _NAMED, _NAMESPACE, _IMAGE, _SCHEDULE, _SECRET, _PUSH, _REQUEST)
def cronjob(*, repo: Repo, schedule: str, **asked: Any) -> Sequence[Written]:
    """Print a CronJob that reconciles.

    With namespace, read-only RBAC and network policy. It runs on the hub's own cluster, by its service account.
    """
    from gitops_ds.bootstrap import CronJob, checks, cronjob_files

    return cronjob_files(CronJob(_pod(repo, ("--schedule", schedule, checks.schedule), **asked), schedule))


@command.command()
@_with(_reading, _URL, _OWN_BRANCH, _NAMED, _NAMESPACE, _IMAGE, _SECRET, _PUSH, _REQUEST)
@_option(
    "--replicas",
    type=click.IntRange(1, 9),
    help="How many [default: 2 where the Reconciler names a Lease, else 1].",
)
def watch(*, repo: Repo, replicas: int | None, **asked: Any) -> Sequence[Written]:
    """Print a Deployment that watches.

    With namespace, probes, metrics, read-only RBAC and network policy. It runs on the hub's own cluster, by its service
    account. Where the Reconciler names a Lease, one of two replicas
    works and the other stands by.
    """
    from gitops_ds.bootstrap import Watch, watch_files
    from gitops_ds.errors import Fault, UsageError

    lease = repo.spec.watch.lease
    if lease is None and (replicas or 1) > 1:
        fix = "name a Lease in the Reconciler: spec.watch.lease"
        raise UsageError(Fault(f"{replicas} replicas would all work at once", fix=fix))
    named = (lease.namespace, lease.name) if lease else None
    return watch_files(Watch(_pod(repo, **asked), replicas or (2 if lease else 1), named))


@command.command()
@_with(_reading, options.hub, _BRANCH, _INSTALL, _SCHEDULE, _PUSH, _REQUEST)
@_option("--python", metavar="VERSION", default="3.12", help="The version of Python.")
@_option("--runner", metavar="LABEL", default="ubuntu-24.04", help="What the jobs run on.")
def github(
    *,
    repo: Repo,
    hub: str | None,
    branch: str | None,
    install: str,
    schedule: str,
    mode: str | None,
    python: str,
    runner: str,
) -> Sequence[Written]:
    """Print workflows for GitHub Actions.

    One shows the plan of each pull request in a comment, the other one reconciles.

    A live hub takes a secret GITOPS_DS_KUBECONFIG with read access.
    """
    from gitops_ds.bootstrap import GitHub, checks, github_files

    found, is_live = hub_of(repo, hub)
    on = branch_of(repo, branch)
    _check(
        ("--hub", found, checks.plain),
        ("--install", install, checks.plain),
        ("--schedule", schedule, checks.schedule),
        ("--python", python, checks.plain),
        ("--runner", runner, checks.plain),
    )
    how = mode_of(repo, mode) or repo.spec.git.mode
    return github_files(GitHub(found, is_live, on, install, python, runner, schedule, how, repo.name))


@command.command()
@_with(_reading, options.hub, _BRANCH, _INSTALL, _PUSH, _REQUEST)
@_option("--image", metavar="IMAGE", default="python:3.12", help="What the jobs run in: Python and git.")
def gitlab(
    *, repo: Repo, hub: str | None, branch: str | None, install: str, mode: str | None, image: str
) -> Sequence[Written]:
    """Print a pipeline for GitLab CI.

    One job shows the plan of each merge request in a note, the other one reconciles.

    A live hub takes a variable GITOPS_DS_KUBECONFIG of type file, with read access.
    """
    from gitops_ds.bootstrap import GitLab, checks, gitlab_files

    found, is_live = hub_of(repo, hub)
    on = branch_of(repo, branch)
    _check(("--hub", found, checks.plain), ("--install", install, checks.plain), ("--image", image, checks.image))
    how = mode_of(repo, mode) or repo.spec.git.mode
    return gitlab_files(GitLab(found, is_live, on, install, image, how, repo.name))


def _source(
    repo: Repo, url: str | None, branch: str | None, name: str, policies: bool, workloads: bool, sets: tuple[str, ...]
) -> Source:
    from gitops_ds.bootstrap import Source

    folders = tuple(folder for folder, wanted in (("policies", policies), ("workloads", workloads)) if wanted)
    known = None if repo.sets is None and not sets else tuple(sorted({*sets, *(repo.sets or ())}))
    return Source(name, url_of(repo, url), branch_of(repo, branch), repo.spec.rendered, folders, known)


def _source_checks(repo: Repo, url: str | None, name: str, sets: tuple[str, ...]) -> tuple[Told, ...]:
    from gitops_ds.bootstrap import checks

    several = (("--cluster-set", one, checks.object_name) for one in sets)
    return (("--name", name, checks.name), ("--repo-url", url_of(repo, url), checks.url), *several)


def _pod(
    repo: Repo,
    *more: Told,
    url: str | None,
    branch: str | None,
    name: str,
    namespace: str,
    image: str,
    secret: str,
    mode: str | None,
) -> Pod:
    from gitops_ds.bootstrap import Pod, checks
    from gitops_ds.bootstrap.credentials import ports_for, secrets_for

    found = url_of(repo, url)
    _check(
        ("--repo-url", found, checks.url),
        ("--name", name, checks.name),
        ("--namespace", namespace, checks.namespace),
        ("--image", image, checks.image),
        ("--git-secret", secret, checks.object_name),
        *more,
    )
    secrets = secrets_for(repo.spec, found, secret)
    on = branch_of(repo, branch) if branch or repo.spec.git.branch else None
    ports = ports_for(repo.spec, found)
    return Pod(name, namespace, image, found, on, mode_of(repo, mode), repo.name, secrets, ports)


def _put(files: Sequence[Written], to: Path | None, *, overwrite: bool) -> int:
    """Print the files as one stream, or write them below `to`."""
    from gitops_ds.bootstrap import one_stream
    from gitops_ds.cli.files import write_over
    from gitops_ds.cli.terminal import say
    from gitops_ds.errors import Fault, UsageError

    if to is None:
        if overwrite:
            raise UsageError(Fault("--overwrite goes with --to"))
        say(one_stream(files), end="")
        return 0
    written, left = write_over(to, {file.path: file.text().encode() for file in files}, overwrite=overwrite)
    for path in written:
        say(f"wrote  {path}")
    for path in left:
        say(f"left   {path} (it is so already)")
    return 0


def _check(*told: Told, faults: Sequence[Fault] = ()) -> None:
    """Raise UsageError with everything that is wrong."""
    from gitops_ds.errors import Fault, UsageError, raise_faults
    from gitops_ds.repo import mask

    wrong = [(f'{option} "{mask(text)}"', check(text)) for option, text, check in told]
    raise_faults(UsageError, [*(Fault(f"{what} {why}") for what, why in wrong if why), *faults])
