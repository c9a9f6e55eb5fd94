"""`reconcile --pull-request`: one branch, one commit, one request, whatever people do meanwhile."""

from collections.abc import Iterator

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Answer, Fleet, assert_refused
from tests.e2e.published import Published, published
from tests.forges import TOKEN, GitHubSite, serving

BRANCH = "gitops-ds/fleet"
RECONCILER = """apiVersion: gitops-ds.io/v1alpha1
kind: Reconciler
metadata: {{name: fleet}}
spec:
  git:
    mode: pull-request
    branch: main
    author: {{name: Robot, email: robot@example.com}}
    pullRequest: {{provider: github, apiUrl: "{api}", labels: [gitops]}}
"""


@pytest.fixture
def site() -> Iterator[GitHubSite]:
    """A forge whose branches are those of the test's remote."""
    with serving(GitHubSite()) as made:
        assert isinstance(made, GitHubSite)
        made.branches |= {BRANCH}
        yield made


@pytest.fixture
def remote(fresh: Fleet, site: GitHubSite) -> Published:
    """A remote whose URL names the forge's repository, and whose files are beside the fleet."""
    fresh.write("intent/reconciler.yaml", RECONCILER.format(api=site.url))
    fresh.commit("The reconciler")
    made = published(fresh)
    url = "https://github.com/acme/fleet.git"
    fresh.git("config", f"url.file://{made.bare}.insteadOf", url)
    fresh.git("remote", "set-url", "origin", url)
    return made


def propose(remote: Published) -> Answer:
    return remote.fleet.run("reconcile", env={"GITOPS_DS_TOKEN": TOKEN})


def test_a_plan_is_proposed_updated_in_place_and_withdrawn(remote: Published, site: GitHubSite) -> None:
    before = remote.head
    first = propose(remote)
    assert first.code == 0, first
    (pull,) = site.pulls
    assert (pull["head"], pull["base"], pull["state"]) == (BRANCH, "main", "open")
    assert pull["title"] == "gitops-ds: place 2 workloads, configure 2 clusters"
    assert "mwrs-app01" in pull["body"]
    assert remote.head == before
    assert len(remote.log("%H", f"main..{BRANCH}", branch=BRANCH)) == 1
    commit = remote.log(branch=BRANCH)[0]

    edits = len(site.seen)
    again = propose(remote)
    assert "already" in again.out
    assert remote.log(branch=BRANCH)[0] == commit
    assert all(one.method == "GET" for one in site.seen[edits:])

    fleet = remote.fleet
    fleet.edit(INTENT, PERFORMANCE, POWER)
    fleet.commit("Power")
    fleet.git("push", "--quiet", f"file://{remote.bare}", "HEAD:main")
    assert propose(remote).code == 0
    assert len(site.pulls) == 1
    assert len(remote.log("%H", f"main..{BRANCH}", branch=BRANCH)) == 1
    assert remote.log("%s", branch=BRANCH)[1] == "Power"

    remote.git("update-ref", "refs/heads/main", remote.log(branch=BRANCH)[0])
    done = propose(remote)
    assert done.code == 0, done
    assert BRANCH not in remote.git("branch", "--list", BRANCH)
    assert f"{BRANCH} is deleted at the remote" in " ".join(done.err.split())
    assert site.pulls[0]["state"] == "closed"


def test_a_persons_commit_on_the_branch_is_never_replaced(remote: Published, site: GitHubSite) -> None:
    assert propose(remote).code == 0
    person = remote.clone(remote.fleet.root / "person")
    person.git("checkout", "--quiet", BRANCH)
    person.write("rendered/note.txt", "wait\n")
    person.commit("Please wait")
    person.git("push", "--quiet", "origin", BRANCH)
    theirs = remote.log(branch=BRANCH)[0]
    fleet = remote.fleet
    fleet.edit(INTENT, PERFORMANCE, POWER)
    fleet.commit("Power")
    fleet.git("push", "--quiet", f"file://{remote.bare}", "HEAD:main")
    held = propose(remote)
    assert held.code == 3, held
    assert "Please wait" in " ".join(held.out.split())
    assert remote.log(branch=BRANCH)[0] == theirs
    fleet.git("fetch", "--quiet", "origin")
    assert fleet.run("resume", theirs, "--by=Pat").code == 0
    fleet.git("push", "--quiet", f"file://{remote.bare}", "HEAD:main")
    assert propose(remote).code == 0
    assert theirs not in remote.log(branch=BRANCH)


def test_a_request_that_somebody_closed_is_a_no(remote: Published, site: GitHubSite) -> None:
    assert propose(remote).code == 0
    site.pulls[0]["state"] = "closed"
    held = propose(remote)
    assert held.code == 3, held
    assert "closed it without merging" in " ".join(held.out.split())
    assert len(site.pulls) == 1
    remote.fleet.edit(INTENT, PERFORMANCE, POWER)
    remote.fleet.commit("Power")
    remote.fleet.git("push", "--quiet", f"file://{remote.bare}", "HEAD:main")
    assert propose(remote).code == 0
    assert [pull["state"] for pull in site.pulls] == ["closed", "open"]


def test_without_a_token_the_text_is_in_a_file(remote: Published) -> None:
    answer = remote.fleet.run("reconcile")
    assert answer.code == 0, answer
    text = (remote.fleet.top / ".git/gitops-ds-pull-request.md").read_text()
    assert text.startswith("# gitops-ds: place 2 workloads")
    assert str(remote.fleet.top / ".git/gitops-ds-pull-request.md") in answer.out
    assert remote.fleet.git("status", "--porcelain") == ""


def test_promoter_gets_its_branch_and_metadata(fresh: Fleet) -> None:
    text = RECONCILER.format(api="http://localhost")
    text = text.replace('provider: github, apiUrl: "http://localhost", labels: [gitops]',
                        "promoter: {branch: environment/prod}")  # fmt: skip
    fresh.write("intent/reconciler.yaml", text)
    fresh.commit("The reconciler")
    remote = published(fresh)
    remote.git("branch", "environment/prod", "main")
    assert fresh.run("reconcile").code == 0
    branch = "environment/prod-next"
    assert '"drySha": "' + remote.head in remote.show("hydrator.metadata", branch).replace("'", '"')
    assert "gpu-inference" in remote.show("rendered/default/kustomization.yaml", branch)
    commit = remote.log(branch=branch)[0]
    assert fresh.run("reconcile").code == 0
    assert remote.log(branch=branch)[0] == commit
    fresh.write("README", "nothing that is planned from\n")
    fresh.commit("A note")
    fresh.git("push", "--quiet", "origin", "HEAD:main")
    assert fresh.run("reconcile").code == 0
    assert remote.log(branch=branch)[0] == commit


def configured(fresh: Fleet, git: str) -> Published:
    """A remote of the fleet whose Reconciler says this of git."""
    text = f"apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: fleet}}\nspec: {{git: {git}}}\n"
    fresh.write("intent/reconciler.yaml", text)
    fresh.commit("The reconciler")
    return published(fresh)


def refs(remote: Published) -> str:
    return remote.git("for-each-ref", "--format=%(refname) %(objectname)")


@pytest.mark.parametrize(
    ("git", "words"),
    [
        ("{mode: pull-request, pullRequest: {branch: main}}", ()),
        ("{mode: pull-request, branch: main, pullRequest: {branch: env}}", ("--branch=env",)),
        ("{mode: pull-request, pullRequest: {promoter: {branch: main}}}", ()),
        ("{mode: pull-request, branch: env-next, pullRequest: {promoter: {branch: env}}}", ()),
    ],
)
def test_the_base_is_never_the_branch_of_the_request(fresh: Fleet, git: str, words: tuple[str, ...]) -> None:
    remote = configured(fresh, git)
    for name in ("env", "env-next"):
        remote.git("branch", name, "main")
    before = refs(remote)
    assert_refused(fresh.run("reconcile", *words), 64, "is both what is planned from and")
    assert refs(remote) == before


@pytest.mark.parametrize("name", ["refs/tags/v1", "@", "a b", ""])
def test_no_name_of_a_branch(fresh: Fleet, name: str) -> None:
    remote = configured(fresh, f'{{mode: pull-request, branch: main, pullRequest: {{branch: "{name}"}}}}')
    remote.git("tag", "v1")
    before = refs(remote)
    assert_refused(fresh.run("reconcile"), 1, f'"{name}" is no name of a branch', "reconciler.yaml:4:")
    fresh.edit("intent/reconciler.yaml", f'{{branch: "{name}"}}', "{}")
    fresh.commit()
    assert_refused(fresh.run("reconcile", "--push", f"--branch={name}"), 64, f'"{name}" is no name of a branch')
    assert refs(remote) == before


@pytest.mark.parametrize("mode", ["pull-request", "push"])
def test_a_branch_that_somebody_made_of_the_base_is_neither_replaced_nor_deleted(fresh: Fleet, mode: str) -> None:
    remote = configured(fresh, "{mode: pull-request, branch: main, pullRequest: {branch: production}}")
    if mode == "push":  # the branch is at a plan commit of ours then, which was not made for it
        assert fresh.run("reconcile", "--push").code == 0
    remote.git("branch", "production", "main")
    theirs = remote.log(branch="production")[0]
    if mode == "push":
        told = fresh.run("reconcile")
        assert (told.code, "is left as it is" in told.err) == (0, True), told
        assert remote.log(branch="production")[0] == theirs
        fresh.git("pull", "--quiet", "origin", "main")
    fresh.edit(INTENT, PERFORMANCE, POWER)
    fresh.commit("Power")
    fresh.git("push", "--quiet", "origin", "HEAD:main")
    held = fresh.run("reconcile")
    assert held.code == 3, held
    said = " ".join(held.out.split())
    assert f"production is there already, and its commit {theirs[:12]} was not made for it" in said
    assert remote.log(branch="production")[0] == theirs
    remote.git("branch", "-D", "production")
    assert fresh.run("reconcile").code == 0
    assert "Gitops-Ds-Branch: production" in remote.git("log", "-1", "--format=%B", "production")


@pytest.mark.parametrize("way", ["merge", "squash"])
def test_a_merged_branch_is_deleted_and_that_is_said(fresh: Fleet, way: str) -> None:
    remote = configured(fresh, "{mode: pull-request, branch: main}")
    assert fresh.run("reconcile").code == 0
    made = remote.log(branch=BRANCH)[0]
    person = remote.clone(fresh.root / "person")
    if way == "merge":
        person.git("merge", "--quiet", "--no-ff", "-m", "Merge", f"origin/{BRANCH}")
    else:
        person.git("merge", "--quiet", "--squash", f"origin/{BRANCH}")
        person.commit(person.git("log", "-1", "--format=%B", f"origin/{BRANCH}"))
    person.git("push", "--quiet", "origin", "HEAD:main")
    done = fresh.run("reconcile")
    assert done.code == 0, done
    assert f"{BRANCH} is deleted at the remote: it was at {made}" in " ".join(done.err.split())
    assert BRANCH not in refs(remote)
