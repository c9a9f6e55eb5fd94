"""The `Reconciler` kind: where the hub is, what is read and written, how it is committed, and what holds it back.

Owns the fields, their meaning and their defaults. Owns no git, no network, and no judging of guards (`guards.py`).
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from gitops_ds.errors import Path
from gitops_ds.intent.base import API_VERSION, DnsLabel, Duration, Strict, Text
from gitops_ds.intent.sources import ScoreSource, doubled_sources

Weekday = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
DAYS: tuple[Weekday, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MESSAGE_WORDS = ("subject", "body", "reconciler", "intents")
"""What a message template may name: nothing that depends on where or when it is filled in."""

_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,100})*")
_RENDERED = re.compile(r"[a-z0-9][a-z0-9.-]{0,100}(?:/[a-z0-9][a-z0-9.-]{0,100})*")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]|24:00")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_BRANCH = re.compile(r"(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)))\w[\w./+@#=,-]{0,200}(?<![./])")
_REQUEST_BRANCH = ("spec", "git", "pullRequest", "branch")
_WORD = re.compile(r"\$(?:\{([^}]*)\}|(\$)|)")


def _folder(text: str) -> str:
    if _FOLDER.fullmatch(text) is None or ".git" in text.split("/"):
        raise ValueError(f'"{text}" is no folder of the repository: write it from the top, such as intent/prod')
    return text


def _rendered(text: str) -> str:
    if _RENDERED.fullmatch(text) is None:
        raise ValueError(f'"{text}" is no folder for rendered files: lower-case letters, digits, - and ., from the top')
    if text.split("/", maxsplit=1)[0] in ("intent", "policies", "workloads", "hooks"):
        raise ValueError(f'"{text}" is where inputs are read from')
    return text


def branch_name(text: str) -> str:
    """`text`, where it is the short name of a branch, such as `main`.

    A full name is refused as well: what is given by two names would be taken for two branches, and what is no branch
    for one.

    Raises:
        ValueError: it is none; says how it is to be written.
    """
    if text.startswith("refs/"):
        raise ValueError(f'"{text}" is no name of a branch: write it short, such as main')
    if text in ("@", "HEAD"):
        raise ValueError(f'"{text}" is no name of a branch: write the name that it has, such as main')
    if _BRANCH.fullmatch(text) is None:
        why = "it has a blank in it" if re.search(r"\s", text) else "" if text else "it is empty"
        raise ValueError(f'"{text}" is no name of a branch' + (f": {why}" if why else ""))
    return text


def _template_branch(text: str) -> str:
    branch_name(text.replace("${name}", "name"))
    return text


def _remote(text: str) -> str:
    """A remote's name or URL; what a URL holds besides an address is refused, and not repeated in the message."""
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
        bad = parts.port == 0
    except ValueError:
        bad = True
    if bad:
        raise ValueError("this is no URL of a remote: its host or port is none")
    if parts.password is not None or (parts.username is not None and parts.scheme.lower() != "ssh"):
        raise ValueError("a URL with a user name or a password in it would be committed: use username and tokenFile")
    if parts.scheme.lower() != "file" and (parts.query or parts.fragment):
        raise ValueError("a remote's URL has no ? and no # here: a token goes into tokenFile")
    return text


def _clock(text: str) -> str:
    if _CLOCK.fullmatch(text) is None:
        raise ValueError('write a time of day such as "22:30", in quotes')
    return text


def _date(text: str) -> str:
    if _DAY.fullmatch(text) is None:
        raise ValueError('write a date such as "2026-12-20", in quotes')
    date.fromisoformat(text)
    return text


def _zone(text: str) -> str:
    if text not in _zones():
        raise ValueError(f'"{text}" is no IANA time zone: write one such as Europe/Berlin or UTC')
    return text


@cache
def _zones() -> frozenset[str]:
    """The names that IANA gives, and none that a machine has of its own, such as localtime."""
    listed = files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return frozenset(listed.split()) - {"Factory"}


def _template(text: str) -> str:
    for braced, escaped in _WORD.findall(text):
        if not escaped and braced not in MESSAGE_WORDS:
            known = ", ".join(f"${{{word}}}" for word in MESSAGE_WORDS)
            raise ValueError(f"a message may name {known}, and $$ is a dollar sign")
    return text


Folder = Annotated[str, AfterValidator(_folder), Field(examples=["intent/prod"])]
RenderedFolder = Annotated[str, AfterValidator(_rendered), Field(examples=["rendered"])]
Branch = Annotated[str, AfterValidator(branch_name), Field(examples=["main"])]
TemplateBranch = Annotated[str, AfterValidator(_template_branch), Field(examples=["gitops-ds/${name}"])]
TimeOfDay = Annotated[str, AfterValidator(_clock), Field(examples=["22:30"])]
Day = Annotated[str, AfterValidator(_date), Field(examples=["2026-12-20"])]
Zone = Annotated[str, AfterValidator(_zone), Field(examples=["Europe/Berlin"])]
Template = Annotated[str, Field(max_length=4096), AfterValidator(_template)]
Share = Annotated[str, Field(pattern=r"^(?:100|[0-9]{1,2})%$", examples=["50%"])]


class Author(Strict):
    """Who the commits are by."""

    name: Text
    """The name of author and committer."""
    email: Text
    """Their e-mail address."""


class Message(Strict):
    """How a commit is worded: text in which `${subject}`, `${body}`, `${reconciler}` and `${intents}` are filled in."""

    subject: Template = "${subject}"
    """The first line; what is longer than 72 characters is cut."""
    body: Template = "${body}"
    """What follows it. The trailers are always added below."""


class Signing(Strict):
    """By what the commits are signed. Where it is set and fails, nothing is committed."""

    format: Literal["ssh", "openpgp"] = "ssh"
    """The kind of signature."""
    key: Text
    """For ssh the path of the private or public key, for openpgp the id or fingerprint of the key."""


class Promoter(Strict):
    """Hydrated branches for GitOps Promoter instead of a pull request: it opens the pull requests itself."""

    branch: Branch
    """The active branch, such as `environment/prod`: what is rendered goes to `<branch>-next`."""


class PullRequest(Strict):
    """The pull (or merge) request that carries a plan."""

    branch: TemplateBranch = "gitops-ds/${name}"
    """The branch that holds the one commit; `${name}` is the reconciler's name."""
    provider: Literal["auto", "github", "gitlab", "gitea", "none"] = "auto"
    """Whose API opens it; `auto` tells by the remote's host name, `none` pushes the branch alone."""
    apiUrl: Text | None = None  # noqa: N815
    """Where the API is, for a server of your own. Default: what the provider has at the remote's host."""
    labels: tuple[Text, ...] = Field(default=(), strict=False, max_length=20)
    """Labels that the request gets when it is opened."""
    promoter: Promoter | None = None
    """Push for GitOps Promoter instead."""

    def branch_of(self, name: str) -> str:
        """The branch of the reconciler `name`."""
        return self.branch.replace("${name}", name)


class Git(Strict):
    """How a plan gets into git."""

    mode: Literal["commit", "push", "pull-request"] = "commit"
    """A commit on the branch here, a push to the remote's branch, or a branch of its own with a pull request."""
    remote: Annotated[Text, AfterValidator(_remote)] = "origin"
    """The remote that is pushed to: its name here, or its URL."""
    branch: Branch | None = None
    """The branch that is read and gets the plan. Default: the current one; the remote's default one for a URL."""
    author: Author | None = None
    """Who commits. Default: `user.name` and `user.email` of git's settings, else gitops-ds."""
    message: Message = Message()
    """How a commit is worded."""
    signing: Signing | None = None
    """Sign the commits. Default: they are not signed, whatever git's settings say."""
    pullRequest: PullRequest = PullRequest()  # noqa: N815
    """The pull request of mode pull-request."""
    username: Text | None = None
    """The user name that goes with the token over http. Default: one that the known servers take."""
    tokenFile: Text | None = None  # noqa: N815
    """A file with the token for the remote and its API. Default: git's own credentials."""
    sshKeyFile: Text | None = None  # noqa: N815
    """The private key for an ssh remote. Default: what ssh finds."""
    knownHostsFile: Text | None = None  # noqa: N815
    """The host keys of an ssh remote. Default: what ssh finds."""
    caFile: Text | None = None  # noqa: N815
    """The certificate authority of an https remote and its API. Default: the system's."""
    timeout: Duration = timedelta(minutes=2)
    """How long one call of the remote may take."""


class Freeze(Strict):
    """A time in which nothing is committed. Without `days` and `from` it is all of the time between the dates."""

    days: tuple[Weekday, ...] = Field(default=DAYS, strict=False)
    """The days of the week on which it starts."""
    from_: TimeOfDay = Field(default="00:00", alias="from")
    """The time of day at which it starts."""
    to: TimeOfDay = "24:00"
    """The time of day at which it ends; one that is not after `from` is on the next day."""
    since: Day | None = None
    """The first date on which it may start."""
    until: Day | None = None
    """The last date on which it may start."""
    timeZone: Zone  # noqa: N815
    """The IANA time zone of days, times and dates."""
    reason: Text | None = None
    """Why; shown to whom it holds."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.days:
            raise ValueError("days is empty")
        if self.from_ == "24:00":
            raise ValueError('from is "00:00" to "23:59"')
        if self.since and self.until and self.until < self.since:
            raise ValueError("until is before since")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.timeZone)


class Guards(Strict):
    """What holds a plan back although it is right: held plans say so, and exit with 3."""

    maxMoves: Annotated[int, Field(ge=0)] | None = None  # noqa: N815
    """How many copies that git has somewhere may leave their cluster in one commit."""
    maxMovePercent: Annotated[int, Field(ge=0, le=100)] | None = None  # noqa: N815
    """The same in per cent of the copies that git has, rounded down, but to no less than one unless it is 0."""
    minFreshClusters: Annotated[int, Field(ge=0)] | Share = "50%"  # noqa: N815
    """How many of the clusters that the intents name must be known, reachable and freshly scored; or what share."""
    minInterval: Duration = timedelta()  # noqa: N815
    """The least time between two commits of this reconciler."""
    neverEmpty: bool = True  # noqa: N815
    """Hold a plan that takes away every placement, or every placement of an intent that is still there."""
    freeze: tuple[Freeze, ...] = Field(default=(), strict=False)
    """When nothing is committed."""


class Hooks(Strict):
    """Executables of the repository that run around a commit, as the commit that is planned from holds them."""

    postRender: tuple[Folder, ...] = Field(default=(), strict=False)  # noqa: N815
    """Run in order before the commit, with the rendered tree in a scratch folder; one that fails refuses the commit."""
    postPush: tuple[Folder, ...] = Field(default=(), strict=False)  # noqa: N815
    """Run in order after the commit has landed, with the plan as JSON on standard input."""
    timeout: Duration = timedelta(minutes=1)
    """How long one of them may take."""


class Lease(Strict):
    """The Kubernetes Lease by which one of several replicas works."""

    namespace: DnsLabel
    """The namespace of the Lease on the hub."""
    name: DnsLabel
    """Its name."""


class Watch(Strict):
    """The loop of `gitops-ds watch`."""

    interval: Duration = timedelta(minutes=1)
    """The time from the end of one round to the start of the next."""
    jitter: Annotated[int, Field(ge=0, le=100)] = 10
    """How many per cent of the interval are added at random, so that reconcilers do not march in step."""
    maxBackoff: Duration = timedelta(minutes=15)  # noqa: N815
    """The longest time between two rounds after failures; it doubles from the interval up to here."""
    lease: Lease | None = None
    """Work only while this Lease is held. Default: one machine, guarded by a lock on the repository alone."""

    @model_validator(mode="after")
    def _moves_on(self) -> Self:
        if self.interval <= timedelta():
            raise ValueError("interval is more than 0s")
        return self


class ReconcilerSpec(Strict):
    """What one reconciler reads, writes and heeds."""

    hub: Text | None = None
    """Where the hub's facts come from, as --hub says it; a snapshot's folder is from the top of the repository."""
    maxSnapshotAge: Duration | None = None  # noqa: N815
    """Refuse a snapshot that is older. Default: of any age."""
    intents: Folder = "intent"
    """The folder, `intent` or one below it, whose intents are this reconciler's."""
    rendered: RenderedFolder = "rendered"
    """The folder that it writes, and alone writes."""
    git: Git = Git()
    """Remote, branch, author, signing and pull request."""
    guards: Guards = Guards()
    """What holds a plan back."""
    hooks: Hooks = Hooks()
    """What runs around a commit."""
    scoreSources: tuple[ScoreSource, ...] = Field(default=(), strict=False, max_length=16)  # noqa: N815
    """Where scores are read besides the hub: `preference.scores[].source` of an intent names one."""
    watch: Watch = Watch()
    """How often `gitops-ds watch` works, and which of several replicas."""

    @model_validator(mode="after")
    def _below_intent(self) -> Self:
        if self.intents != "intent" and not self.intents.startswith("intent/"):
            raise ValueError("intents is the folder intent, or one below it")
        return self


class ReconcilerMetadata(Strict):
    """Which reconciler this is."""

    name: DnsLabel
    """Its name, unique in the repository; `--reconciler` chooses by it where there are several."""


class Reconciler(Strict):
    """How plans of this repository are made and committed."""

    apiVersion: Literal["gitops-ds.io/v1alpha1"] = API_VERSION  # noqa: N815
    """The version of this format."""
    kind: Literal["Reconciler"] = "Reconciler"
    """The kind of intent."""
    metadata: ReconcilerMetadata
    """Its name."""
    spec: ReconcilerSpec = ReconcilerSpec()
    """What it reads, writes and heeds."""


def overlaps(several: tuple[Reconciler, ...]) -> Iterator[tuple[int, Path, str, str]]:
    """Reconcilers that would write over each other: (index, path, what, what to try) for each fault."""
    for i, one in enumerate(several):
        for path, what in doubled_sources(one.spec.scoreSources):
            yield i, ("spec", "scoreSources", *path), what, "rename one of them"
        if _request_branch(one) is not None and _request_branch(one) == one.spec.git.branch:
            what = f"reconciler {one.metadata.name} would propose {one.spec.git.branch} to be merged into itself"
            yield i, _REQUEST_BRANCH, what, "name a branch of its own, or none"
        for other in several[:i]:
            mine, theirs = f"{one.spec.rendered}/", f"{other.spec.rendered}/"
            if one.metadata.name == other.metadata.name:
                yield i, ("metadata", "name"), f"reconciler {one.metadata.name} stands twice", "rename one of them"
            elif mine.startswith(theirs) or theirs.startswith(mine):
                what = f"reconcilers {other.metadata.name} and {one.metadata.name} write into one another's folder"
                yield i, ("spec", "rendered"), what, "give each a folder of its own"
            for what in _shared_branches(other, one):
                yield i, _REQUEST_BRANCH, what, "give each a branch of its own, or leave it out"


def _request_branch(one: Reconciler) -> str | None:
    """The branch that its pull request has, or has when one is asked for; None where Promoter opens it."""
    request = one.spec.git.pullRequest
    return None if request.promoter else request.branch_of(one.metadata.name)


def _shared_branches(other: Reconciler, one: Reconciler) -> Iterator[str]:
    """Why the pull-request branch of one of the two is the other's as well; those of different remotes are not."""
    if other.spec.git.remote != one.spec.git.remote or other.metadata.name == one.metadata.name:
        return
    theirs, mine = _request_branch(other), _request_branch(one)
    if mine is not None and mine == theirs:
        yield f"reconcilers {other.metadata.name} and {one.metadata.name} have the same pull-request branch, {mine}"
    for first, branch, second in ((one, mine, other), (other, theirs, one)):
        if branch is not None and branch == second.spec.git.branch:
            yield f"reconciler {first.metadata.name} would replace {branch}, which {second.metadata.name} plans from"
