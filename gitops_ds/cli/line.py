"""The whole line from the command line's words to git: which repository, which mode, and how a plan is drawn there.

Owns the joining of what the Reconciler, the command line and the environment say, and the making of plans for
`delivery/`. Owns no step of delivery.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gitops_ds.cli.access import access_to, cache_folder, token_of
from gitops_ds.cli.guarding import UNNAMED, with_guards
from gitops_ds.cli.hooks import hook_files, seen_files
from gitops_ds.cli.inputs import INTENT, LARGEST_INTENT, Inputs, chosen, inputs_at, spec_of
from gitops_ds.cli.options import Asked
from gitops_ds.delivery import (
    Delivered,
    Drawn,
    Pushed,
    Reading,
    Remote,
    Request,
    World,
    deliver_by_request,
    deliver_for_promoter,
    deliver_here,
    deliver_to_remote,
    promotion,
)
from gitops_ds.errors import Fault, RepositoryError, UsageError
from gitops_ds.guards import Urgent, settled
from gitops_ds.intent.load import SUFFIXES, Loaded, load_all
from gitops_ds.intent.reconciler import Git, Reconciler
from gitops_ds.reconcile import Solve
from gitops_ds.repo import (
    Access,
    Repository,
    default_branch,
    is_url,
    mask,
    open_clone,
    open_repository,
    read_commit,
    remote_url,
)

ORIGIN = "origin"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one run is asked for.

    Attributes:
        where: a folder of the repository, or its URL.
        asked: where inputs come from.
        mode, remote, branch: instead of what the Reconciler says.
        overwrite: take back files that somebody edited.
        urgent: who commits in spite of a freeze, and why.
    """

    where: str
    asked: Asked
    mode: str | None = None
    remote: str | None = None
    branch: str | None = None
    overwrite: bool = False
    urgent: Urgent | None = None


@dataclass(frozen=True)
class Line:
    """A repository and the settings that count in it."""

    wanted: Wanted
    repo: Repository
    reconciler: Loaded[Reconciler] | None
    git: Git
    access: Access

    @property
    def name(self) -> str:
        """The reconciler's name."""
        return self.reconciler.intent.metadata.name if self.reconciler else UNNAMED

    def run(
        self,
        world: World,
        told: Callable[[Inputs], None] = lambda _: None,
        timed: Callable[[Solve], Solve] = lambda solve: solve,
    ) -> Delivered:
        """One plan, delivered as the mode says.

        Args:
            world: what delivery needs of the outside.
            told: gets each reading, before it is planned on.
            timed: makes of the solver the one that is used.

        Raises:
            GitopsDsError: an input is wrong, or the plan could not be delivered.
        """

        def draw(reading: Reading) -> Drawn:
            inputs = inputs_at(reading.repo, self.wanted.asked, reading.commit, reading.current)
            told(inputs)
            return self._drawn(inputs, reading, timed(inputs.solve))

        if self.git.mode == "commit":
            return deliver_here(self.repo.top, draw, world)
        remote = Remote(self.git.remote, self._branch(), self.access)
        if self.git.mode == "push":
            return deliver_to_remote(self.repo, remote, draw, world)
        promoter = self.git.pullRequest.promoter
        if promoter is not None:
            return deliver_for_promoter(self.repo, promotion(remote, promoter.branch), draw, world)
        return deliver_by_request(self.repo, self._request(remote), draw, world)

    def _drawn(self, inputs: Inputs, reading: Reading, solve: Solve) -> Drawn:
        spec = inputs.spec.model_copy(update={"git": joined(inputs.spec.git, self.wanted)})
        made = inputs.plan(overwrite=self.wanted.overwrite, hints=True, solve=solve)
        made = with_guards(inputs, made, reading.current, reading.proposed, self.wanted.urgent)
        hooks = hook_files(reading.repo, reading.commit, spec.hooks)
        return Drawn(
            made,
            inputs.basis,
            spec,
            inputs.reconciler,
            hooks,
            seen_files(reading.repo, reading.commit, inputs.root, made.tree) if hooks else {},
            inputs.manifests,
            self.wanted.urgent,
            settled(inputs.said.resumes, self.name),
        )

    def _branch(self) -> str:
        if self.git.branch is not None:
            return self.git.branch
        ref = self.repo.branch or default_branch(self.repo, self.git.remote, self.access)
        if ref is None:
            what = f"which branch of {mask(self.git.remote)}? HEAD is on none, and the remote names none"
            raise RepositoryError(Fault(what, fix="--branch NAME, or `git.branch` in the Reconciler"))
        return ref.removeprefix("refs/heads/")

    def _request(self, base: Remote) -> Request:
        from gitops_ds.forge import forge_for, gitlab_push_options, provider_of

        said = self.git.pullRequest
        remote = base.on(said.branch_of(self.name))
        token = token_of(self.access)
        url = base.name if is_url(base.name) else remote_url(self.repo, base.name)
        if token is not None and said.provider != "none" and is_url(url):
            forge = forge_for(
                said.provider,
                url,
                said.apiUrl,
                token,
                ca_file=self.access.ca_file,
                timeout=self.access.timeout.total_seconds(),
            )
            return Request(remote, base, said.labels, forge)
        if "gitlab" in (said.provider, provider_of(url) if said.provider == "auto" else None):
            return Request(remote, base, options=lambda title, body: gitlab_push_options(title, body, base.branch))
        return Request(remote, base)


def line(wanted: Wanted) -> Line:
    """The repository that is asked for, opened, with the settings of its Reconciler.

    Raises:
        GitopsDsError: it cannot be opened, its intents are wrong, or what is asked for makes no sense there.
    """
    if not is_url(wanted.where):
        repo = open_repository(Path(wanted.where))
        reconciler = _reconciler(repo, wanted.asked.reconciler)
        git = joined(spec_of(reconciler).git, wanted)
        access = access_to(git)
        return Line(wanted, replace(repo, access=access), reconciler, git, access)
    repo = open_clone(wanted.where, cache_folder(), access_to(Git()), wanted.branch)
    reconciler = _reconciler(repo, wanted.asked.reconciler)
    git = joined(spec_of(reconciler).git, wanted).model_copy(update={"remote": ORIGIN})
    if git.mode == "commit":
        fix = "--push or --pull-request, or `git.mode` in the Reconciler"
        raise UsageError(Fault("a URL has no checkout to commit in", fix=fix))
    access = access_to(git)
    return Line(wanted, replace(repo, access=access), reconciler, git, access)


def joined(git: Git, wanted: Wanted) -> Git:
    """What the Reconciler says, and what this run is told instead."""
    told: Mapping[str, str | None] = {"mode": wanted.mode, "remote": wanted.remote, "branch": wanted.branch}
    return git.model_copy(update={key: value for key, value in told.items() if value is not None})


def real_world(
    tell: Callable[[str], None], show: Callable[[str], None], count: Callable[[Pushed], None] = lambda _: None
) -> World:
    """The clock and the patience of this machine."""
    return World(lambda: datetime.now().astimezone(), time.sleep, random.random, tell, show, count)


def _reconciler(repo: Repository, name: str | None) -> Loaded[Reconciler] | None:
    files = read_commit(repo, repo.head, [INTENT], LARGEST_INTENT, suffixes=SUFFIXES)
    return chosen(load_all(files), name)
