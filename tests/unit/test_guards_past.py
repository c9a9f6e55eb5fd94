"""What people did to our commits, read out of real repositories and judged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_ds import past as reading
from gitops_ds.message import commit_message
from gitops_ds.overrides import Past, acts, taken_back
from gitops_ds.past import read_past
from gitops_ds.reconcile import Plan, plan
from gitops_ds.repo import Identity, commit_files, open_repository, read_commit
from gitops_ds.solver import solve
from gitops_ds.tree import lock_path
from tests import builders as make

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
BOT = Identity("gitops-ds", "bot@example.com")


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")


@dataclass
class Site:
    """A repository with a fleet of two clusters in it; each plan moves the one workload where it is told to."""

    top: Path
    hours: int = field(default=0)

    def git(self, *words: str) -> str:
        self.hours += 1
        env = {**os.environ, "GIT_COMMITTER_DATE": (START + timedelta(hours=self.hours)).isoformat()}
        line = ["git", "-C", str(self.top), *words]
        return subprocess.run(line, env=env, capture_output=True, check=True).stdout.decode().strip()

    def human(self, text: str = "x") -> str:
        """A person's commit that is not about us."""
        (self.top / "notes.txt").write_text(f"{text} {self.hours}")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", text)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def plan(self, cluster: str, root: str = "rendered") -> Plan:
        """The plan that has the workload on `cluster`."""
        clusters = [{"name": c, "capacity": {"gpu": "1"}} for c in ("c1", "c2")]
        scores = [make.scores(c, {"w1": 50 if c == cluster else 10}) for c in ("c1", "c2")]
        inventory = make.inventory(*(make.cluster(c) for c in ("c1", "c2")), make.workload("w1"), *scores)
        text = make.intent(clusters, ["w1"], scores=[{"name": "speed", "dimension": "${app}"}])
        return plan(make.load(text), inventory, self.current(root), make.NOW, solve, root=root)

    def current(self, root: str = "rendered") -> dict[str, bytes]:
        return dict(read_commit(open_repository(self.top), "HEAD", [root], 2**20))

    def ours(self, cluster: str, root: str = "rendered") -> str:
        """Our commit of that plan."""
        made = self.plan(cluster, root)
        assert made.status == "changed", made.held
        owned = dict(made.tree) | {c.path: None for c in made.difference.changes if c.after is None}
        self.hours += 1
        when = START + timedelta(hours=self.hours)
        repo = open_repository(self.top)
        message = commit_message(made, "1.0", base=repo.head)
        return commit_files(repo, owned, message, identity=BOT, when=when, expected_head=repo.head)

    def proposed(self, cluster: str) -> str:
        """The same on a branch of its own; its name."""
        name = f"gitops-ds/{self.hours}"
        self.git("checkout", "-q", "-b", name)
        self.ours(cluster)
        self.git("checkout", "-q", "main")
        return name

    def past(self, root: str = "rendered", branch: str | None = None) -> Past:
        repo = open_repository(self.top)
        tip = self.git("rev-parse", branch) if branch else None
        return read_past(repo, repo.head, self.current(root), root, branch=tip)

    def taken(self, root: str = "rendered") -> tuple[str, str] | None:
        """The commit that took a plan back, and the plan."""
        found = taken_back(self.past(root))
        return (found.by.commit, found.plan.commit) if found else None


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path / "work")
    made.top.mkdir()
    made.git("init", "-q", "-b", "main")
    made.human()
    return made


def test_nothing_is_known_of_a_repository_without_a_lock(site: Site) -> None:
    assert site.past() == Past()


def test_our_own_commits_are_the_rule_and_one_look_tells(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.ours("c1")
    second = site.ours("c2")
    site.human()
    calls: list[str] = []
    for name in ("history", "path_history", "merge_base", "entry_ids", "read_commit", "is_ancestor"):
        real = getattr(reading, name)

        def counted(*words: object, name: str = name, real: Callable[..., object] = real) -> object:
            calls.append(name)
            return real(*words)

        monkeypatch.setattr(reading, name, counted)
    found = site.past()
    assert calls == ["history"]
    (touch,) = found.touches
    assert (touch.commit, touch.author, touch.ours) == (second, "gitops-ds", True)
    assert found.last == touch.time
    assert acts(found) == ()


def test_a_revert_and_the_revert_of_a_revert_and_so_on(site: Site) -> None:
    first, second = site.ours("c1"), site.ours("c2")
    site.human()
    site.git("revert", "--no-edit", second)
    reverted = site.head
    site.human()
    assert site.taken() == (reverted, second)
    made = datetime.fromisoformat(site.git("log", "-1", "--format=%cI", second))
    assert site.past().last == made
    site.git("revert", "--no-edit", reverted)
    again = site.head
    assert site.taken() is None
    site.git("revert", "--no-edit", again)
    assert site.taken() == (site.head, second)
    site.ours("c2")
    assert site.taken() is None
    assert first


def test_the_first_plan_is_taken_back_by_removing_it(site: Site) -> None:
    first = site.ours("c1")
    site.git("rm", "-rq", "rendered")
    site.git("commit", "-q", "-m", "away with it")
    assert site.taken() == (site.head, first)


def test_files_of_an_older_commit_put_back_are_a_revert_whatever_the_message(site: Site) -> None:
    first, second, third = site.ours("c1"), site.ours("c2"), site.ours("c1")
    site.git("checkout", first, "--", "rendered")
    site.git("commit", "-q", "-m", "what we had on Monday")
    assert site.taken() == (site.head, third)
    assert second


def test_an_old_commit_of_ours_that_somebody_picked_again_takes_back_what_came_since(site: Site) -> None:
    first, second = site.ours("c1"), site.ours("c2")
    site.human()
    site.git("cherry-pick", "-X", "theirs", first)
    assert site.git("rev-parse", f"HEAD:{lock_path()}") == site.git("rev-parse", f"{first}:{lock_path()}")
    assert site.taken() == (site.head, second)
    site.ours("c2")
    assert site.taken() is None


def test_so_it_does_where_plans_go_to_and_fro_or_the_pick_comes_by_a_merge(site: Site) -> None:
    commits = [site.ours(c) for c in ("c1", "c2", "c1", "c2", "c1", "c2")]
    site.git("checkout", "-q", "-b", "back")
    site.git("cherry-pick", "-X", "theirs", commits[2])
    picked = site.head
    site.git("checkout", "-q", "main")
    site.git("reset", "-q", "--hard", picked)
    assert site.taken() == (picked, commits[5])
    site.git("reset", "-q", "--hard", commits[5])
    site.git("merge", "-q", "--no-ff", "-m", "Merge pull request #8", "back")
    assert site.taken() == (site.head, commits[5])


def test_a_rebased_pull_request_whose_lock_was_there_before_is_no_revert(site: Site) -> None:
    for cluster in ("c1", "c2", "c1", "c2"):
        site.ours(cluster)
    branch = site.proposed("c1")
    site.human("the base moves on")
    site.git("cherry-pick", branch)
    assert site.git("rev-parse", f"HEAD:{lock_path()}") == site.git("rev-parse", f"HEAD~3:{lock_path()}")
    assert site.taken() is None


@pytest.mark.parametrize("how", ["--no-ff", "--squash"])
def test_pull_requests_are_no_reverts_and_reverts_of_them_are(site: Site, how: str) -> None:
    """Plans that go to and fro have the same locks again and again; a merge commit does not say that it is ours."""

    def merged(cluster: str) -> str:
        branch = site.proposed(cluster)
        if how == "--no-ff":
            site.git("merge", "-q", "--no-ff", "-m", "Merge pull request #1", branch)
        else:
            message = site.git("log", "-1", "--format=%B", branch)
            site.git("merge", "-q", "--squash", branch)
            site.git("commit", "-q", "-m", f"{message}\n\nCo-authored-by: Bob <bob@example.com>")
        return site.head

    merges = []
    for cluster in ("c1", "c2", "c1", "c2", "c1"):
        merges.append(merged(cluster))
        assert site.taken() is None
    locks = [site.git("rev-parse", f"{commit}:{lock_path()}") for commit in merges]
    assert locks[2] == locks[4]
    site.git("revert", "--no-edit", *(["-m", "1"] if how == "--no-ff" else []), "HEAD")
    assert site.taken() == (site.head, merges[-1])


def test_a_revert_by_a_pull_request_counts_with_a_merge_commit_too(site: Site) -> None:
    site.ours("c1")
    second = site.ours("c2")
    site.git("checkout", "-q", "-b", "back")
    site.git("revert", "--no-edit", second)
    site.git("checkout", "-q", "main")
    site.human()
    site.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7 from ada/back", "back")
    assert site.taken() == (site.head, second)


def test_a_squash_that_says_nothing_of_us_is_no_revert_where_its_lock_is_new(site: Site) -> None:
    branch = site.proposed("c1")
    site.git("merge", "-q", "--squash", branch)
    site.git("commit", "-q", "-m", "new placements (#3)")
    assert site.taken() is None
    assert site.past().last is not None


def test_each_reconciler_looks_at_its_own_lock(site: Site) -> None:
    site.ours("c1", "rendered/prod")
    site.ours("c1", "rendered/staging")
    prod = site.ours("c2", "rendered/prod")
    site.ours("c2", "rendered/staging")
    site.git("revert", "--no-edit", prod)
    assert site.taken("rendered/prod") == (site.head, prod)
    assert site.taken("rendered/staging") is None


@pytest.mark.parametrize(("depth", "known"), [(1, False), (2, False), (3, True)])
def test_a_shallow_clone_tells_what_it_can_see(site: Site, tmp_path: Path, depth: int, known: bool) -> None:
    site.ours("c1")
    second = site.ours("c2")
    site.git("revert", "--no-edit", second)
    site.git("clone", "-q", f"--depth={depth}", f"file://{site.top}", str(tmp_path / "clone"))
    clone = Site(tmp_path / "clone")
    assert clone.taken() == ((clone.head, second) if known else None)


def test_a_lock_that_is_removed_in_a_shallow_clone_accuses_no_innocent_commit(site: Site, tmp_path: Path) -> None:
    site.ours("c1")
    site.human("innocent")
    site.git("rm", "-rq", "rendered")
    site.git("commit", "-q", "-m", "away with it")
    site.git("clone", "-q", "--depth=2", f"file://{site.top}", str(tmp_path / "clone"))
    assert Site(tmp_path / "clone").taken() is None


def test_a_history_of_our_own_in_a_shallow_clone_knows_the_last_commit(site: Site, tmp_path: Path) -> None:
    ours = site.ours("c1")
    site.git("clone", "-q", "--depth=1", f"file://{site.top}", str(tmp_path / "clone"))
    assert [t.commit for t in Site(tmp_path / "clone").past().touches] == [ours]


def stranger(site: Site, branch: str) -> tuple[str, bool] | None:
    found = site.past(branch=branch).stranger
    return (found.commit, found.ours) if found else None


def test_the_pull_request_branch_is_ours_while_it_holds_our_commit_alone(site: Site) -> None:
    site.ours("c1")
    branch = site.proposed("c2")
    assert stranger(site, branch) is None
    site.human("the base moves on")
    assert stranger(site, branch) is None
    site.git("merge", "-q", "--no-ff", "-m", "merged", branch)
    assert stranger(site, branch) is None


def test_a_commit_that_somebody_put_on_our_branch_is_found(site: Site) -> None:
    site.ours("c1")
    branch = site.proposed("c2")
    site.git("checkout", "-q", branch)
    found = site.human("while you are at it")
    site.git("checkout", "-q", "main")
    site.human("the base moves on")
    assert stranger(site, branch) == (found, False)
    assert acts(site.past(branch=branch)) == (found,)


def test_a_branch_that_was_brought_up_to_date_by_a_person_is_not_replaced(site: Site) -> None:
    site.ours("c1")
    branch = site.proposed("c2")
    site.human("the base moves on")
    site.git("checkout", "-q", branch)
    site.git("merge", "-q", "--no-ff", "-m", "Merge branch main", "main")
    merge = site.head
    site.git("checkout", "-q", "main")
    assert stranger(site, branch) == (merge, False)


@pytest.mark.parametrize("what", ["a rendered file", "another file", "the inventory", "a link"])
def test_a_commit_of_ours_that_somebody_amended_is_found(site: Site, what: str) -> None:
    site.ours("c1")
    branch = site.proposed("c2")
    site.git("checkout", "-q", branch)
    files = {
        "a rendered file": "rendered/default/fleet/placement-w1-placement.yaml",
        "another file": "intent/mine.yaml",
        "the inventory": "rendered/gitops-ds.inventory",
        "a link": "rendered/link",
    }
    path = site.top / files[what]
    path.parent.mkdir(exist_ok=True)
    if what == "a link":
        path.symlink_to("elsewhere")
    else:
        path.write_text("mine\n")
    site.git("add", "-A")
    site.git("commit", "-q", "--amend", "--no-edit")
    amended = site.head
    site.git("checkout", "-q", "main")
    assert stranger(site, branch) == (amended, True)


def test_an_unrelated_branch_of_that_name_is_no_ground_to_push_over_it(site: Site) -> None:
    site.ours("c1")
    site.git("checkout", "-q", "--orphan", "gitops-ds/prod")
    found = site.human("mine")
    site.git("checkout", "-q", "main")
    assert stranger(site, "gitops-ds/prod") == (found, False)
