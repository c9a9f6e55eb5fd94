"""`bootstrap` on the command line: where each value comes from, what is refused, and what is written where."""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.bootstrap import Document, Source, Written, checks, one_stream
from gitops_ds.bootstrap.credentials import FOLDER, ports_for, secrets_for
from gitops_ds.bootstrap.written import comment
from gitops_ds.cli.main import main
from gitops_ds.errors import UsageError
from gitops_ds.intent.reconciler import ReconcilerSpec
from gitops_ds.repo.gitcmd import _INHERITED
from tests.bootstraps import IMAGE, URL, fleet, objects, one, printed, refused, workflows

HERE = f"--repo-url={URL}"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GITOPS_DS_")]:
        monkeypatch.delenv(name)


def arguments(found: list[dict[str, Any]]) -> list[str]:
    words: list[str] = one(found, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
    return words


# Where values come from


def test_the_reconciler_says_what_options_leave_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = f"  rendered: rendered/prod\n  git: {{remote: {URL}, branch: live, mode: pull-request}}\n"
    repo = f"--repo={fleet(tmp_path, spec)}"
    source = one(objects(printed(capsys, "argocd", repo)), "Application")["spec"]["source"]
    assert source == {"repoURL": URL, "targetRevision": "live", "path": "rendered/prod"}
    found = objects(printed(capsys, "flux", repo))
    assert one(found, "Kustomization")["spec"]["path"] == "./rendered/prod"
    assert one(found, "GitRepository")["spec"]["ignore"] == "/*\n!/rendered\n"
    words = ["reconcile", f"--repo={URL}", "--hub=kubernetes", "--branch=live"]
    assert arguments(objects(printed(capsys, "cronjob", f"--image={IMAGE}", repo))) == words
    flow = workflows(capsys, "--hub=demo", repo)["reconcile"]
    assert "--pull-request" in flow["jobs"]["reconcile"]["steps"][-1]["run"]


def test_options_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = f"  git: {{remote: {URL}, branch: live, mode: pull-request}}\n"
    words = (f"--repo={fleet(tmp_path, spec)}", "--repo-url=ssh://git@other.example.com/x.git", "--branch=next")
    source = one(objects(printed(capsys, "argocd", *words)), "Application")["spec"]["source"]
    assert (source["repoURL"], source["targetRevision"]) == ("ssh://git@other.example.com/x.git", "next")
    assert arguments(objects(printed(capsys, "cronjob", f"--image={IMAGE}", "--push", *words)))[-1] == "--push"


def test_git_says_what_the_reconciler_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = fleet(tmp_path)
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    url = "https://pat:s3cr3t@git.example.com/platform/fleet.git"
    subprocess.run(["git", "-C", str(repo), "remote", "add", "origin", url], check=True)
    below = repo / "intent"
    out = printed(capsys, "argocd", f"--repo={below}")
    assert one(objects(out), "Application")["spec"]["source"]["repoURL"] == URL
    assert "s3cr3t" not in out
    words = arguments(objects(printed(capsys, "cronjob", f"--image={IMAGE}", f"--repo={below}")))
    assert words == ["reconcile", f"--repo={URL}", "--hub=kubernetes", "--push"]


def test_one_of_several_reconcilers_is_named_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = fleet(tmp_path, f"  rendered: rendered/prod\n  git: {{remote: {URL}}}\n")
    text = (repo / "intent" / "reconciler.yaml").read_text()
    (repo / "intent" / "other.yaml").write_text(text.replace("prod", "staging"))
    assert "--reconciler prod or staging" in refused(capsys, "cronjob", f"--image={IMAGE}", f"--repo={repo}")
    named = ("--reconciler=staging", f"--repo={repo}")
    assert "--reconciler=staging" in arguments(objects(printed(capsys, "cronjob", f"--image={IMAGE}", *named)))
    flow = objects(printed(capsys, "github", "--hub=demo", *named))[0]
    steps = {one["name"]: one for one in flow["jobs"]["plan"]["steps"] if "name" in one}
    assert flow["name"] == "gitops-ds plan-staging"
    assert steps["Plan"]["env"]["GITOPS_DS_RECONCILER"] == "staging"
    assert steps["Comment"]["env"]["MARKER"] == "<!-- gitops-ds plan staging -->"


@pytest.mark.parametrize(
    ("sets", "words", "names"),
    [("[gpu]", (), ["gpu"]), ("[gpu]", ("--cluster-set=edge",), ["edge", "gpu"]), ("[]", (), None)],
)
def test_the_sets_that_intents_bind_may_be_bound(
    sets: str, words: tuple[str, ...], names: list[str] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = objects(printed(capsys, "argocd", HERE, *words, f"--repo={fleet(tmp_path, sets=sets)}"))
    roles = [obj["rules"] for obj in found if obj["kind"] == "ClusterRole"]
    assert [rule["resourceNames"] for rules in roles for rule in rules] == ([] if names is None else [names])


def test_without_intents_any_set_may_be_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = one(objects(printed(capsys, "argocd", HERE, f"--repo={tmp_path}")), "ClusterRole")["rules"]
    group = "cluster.open-cluster-management.io"
    assert rules == [{"apiGroups": [group], "resources": ["managedclustersets/bind"], "verbs": ["create"]}]


def test_a_live_hub_takes_a_kubeconfig_and_the_others_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = f"--repo={fleet(tmp_path, '  hub: kubernetes:prod')}"
    assert "secrets.GITOPS_DS_KUBECONFIG" in printed(capsys, "github", repo)
    assert "secrets." not in printed(capsys, "github", "--hub=snapshot:snapshot", repo)
    assert 'KUBECONFIG="$GITOPS_DS_KUBECONFIG"' in printed(capsys, "gitlab", repo)
    assert "KUBECONFIG" not in printed(capsys, "gitlab", "--hub=demo", repo).partition('".gitops-ds":')[2]


# Argo CD and Flux


def test_argo_cd_prunes_heals_and_never_empties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (HERE, "--policies", "--workloads", "--project=fleet", "--with-project", f"--repo={tmp_path}")
    found = objects(printed(capsys, "argocd", *words))
    apps = [obj for obj in found if obj["kind"] == "Application"]
    assert [app["metadata"]["name"] for app in apps] == ["fleet-rendered", "fleet-policies", "fleet-workloads"]
    for app in apps:
        assert "finalizers" not in app["metadata"]
        assert app["spec"]["syncPolicy"]["automated"] == {"prune": True, "selfHeal": True, "allowEmpty": False}
        assert "ServerSideApply=true" in app["spec"]["syncPolicy"]["syncOptions"]
        assert app["spec"]["project"] == "fleet"
    project = one(found, "AppProject")["spec"]
    assert (project["sourceRepos"], project["clusterResourceWhitelist"]) == ([URL], [])
    kinds = {kind["kind"] for kind in project["namespaceResourceWhitelist"]}
    assert kinds >= {"Placement", "PlacementBinding", "Policy", "ManifestWorkReplicaSet"}
    ignored = {entry["kind"] for app in apps for entry in app["spec"]["ignoreDifferences"]}
    assert ignored == kinds
    config = one(found, "ConfigMap")
    assert config["metadata"]["labels"]["app.kubernetes.io/part-of"] == "argocd"
    assert len([key for key in config["data"] if key.startswith("resource.customizations.health.")]) == 4


def test_a_sync_timeout_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("argocd", HERE, f"--repo={tmp_path}")
    assert "argocd-cmd-params-cm" not in printed(capsys, *words)
    found = objects(printed(capsys, *words, "--sync-timeout=15m"))
    data = one(found, "ConfigMap", "argocd-cmd-params-cm")["data"]
    assert data == {"controller.sync.timeout.seconds": "900"}


def test_flux_applies_policies_first_and_leaves_the_rendered_files_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--repo-url=git@git.example.com:platform/fleet.git", "--policies", "--workloads")
    found = objects(printed(capsys, "flux", *words, "--git-secret=key", f"--repo={tmp_path}"))
    source = one(found, "GitRepository")["spec"]
    assert source["url"] == "ssh://git@git.example.com/platform/fleet.git"
    assert source["secretRef"] == {"name": "key"}
    several = {obj["metadata"]["name"]: obj["spec"] for obj in found if obj["kind"] == "Kustomization"}
    assert several["fleet-rendered"]["dependsOn"] == [{"name": "fleet-policies"}]
    account = one(found, "ServiceAccount")["metadata"]
    for spec in several.values():
        assert not {"postBuild", "decryption", "patches", "targetNamespace", "commonMetadata"} & spec.keys()
        assert (spec["prune"], spec["deletionPolicy"]) == (True, "Orphan")
        assert spec["serviceAccountName"] == account["name"]
    assert {name: spec["wait"] for name, spec in several.items()} == {
        "fleet-policies": False,
        "fleet-rendered": True,
        "fleet-workloads": False,
    }
    kinds = {resource for rule in one(found, "ClusterRole")["rules"] for resource in rule["resources"]}
    assert kinds >= {"placements", "placementbindings", "policies", "manifestworkreplicasets"}


def test_without_policies_flux_waits_for_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(printed(capsys, "flux", HERE, f"--repo={tmp_path}"))
    assert "dependsOn" not in one(found, "Kustomization")["spec"]
    assert "policies" not in {name for rule in one(found, "ClusterRole")["rules"] for name in rule["resources"]}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("git@git.example.com:a/b.git", "ssh://git@git.example.com/a/b.git"),
        ("git.example.com:/srv/b.git", "ssh://git.example.com/srv/b.git"),
        ("ssh://git@h:22/a.git", "ssh://git@h:22/a.git"),
        ("https://h/a.git", "https://h/a.git"),
    ],
)
def test_urls_for_flux_have_a_scheme(url: str, said: str) -> None:
    assert Source("fleet", url, "main").url_with_scheme == said


# Credentials


def spec(text: str) -> ReconcilerSpec:
    return ReconcilerSpec.model_validate(yaml.safe_load(text))


def test_credentials_are_looked_for_where_the_reconciler_says() -> None:
    said = spec("""
        git: {tokenFile: /creds/tok, caFile: /tls/ca.crt, signing: {format: ssh, key: /creds/sign}}
        scoreSources:
          - name: vm
            prometheus: {url: "http://vm-hub:8428", bearerTokenFile: /creds/vm}
          - name: prom
            prometheus:
              url: https://prom/x
              basicAuth: {username: a, passwordFile: /creds/pw}
              caFile: /tls/p.crt
        """)
    found = secrets_for(said, URL, "s")
    assert found.files == ("/creds/pw", "/creds/sign", "/creds/tok", "/creds/vm", "/tls/ca.crt", "/tls/p.crt")
    assert found.env == (("GITOPS_DS_TOKEN_FILE", "/creds/tok"), ("GIT_SSL_CAINFO", "/tls/ca.crt"))
    assert ports_for(said, URL) == (443, 8428)


def test_without_a_reconciler_there_is_a_token_or_a_key() -> None:
    assert secrets_for(ReconcilerSpec(), URL, "s").files == (f"{FOLDER}/token",)
    found = secrets_for(ReconcilerSpec(), "git@h:a/b.git", "s")
    assert found.files == (f"{FOLDER}/known_hosts", f"{FOLDER}/ssh-privatekey")
    ((name, command),) = found.env
    assert name == "GIT_SSH_COMMAND"
    words = shlex.split(command)
    assert words[:3] == ["ssh", "-i", f"{FOLDER}/ssh-privatekey"]
    assert f"UserKnownHostsFile={FOLDER}/known_hosts" in words
    assert "StrictHostKeyChecking=yes" in words
    assert all(variable.startswith(_INHERITED) for variable in ("GIT_SSH_COMMAND", "GIT_SSL_CAINFO"))


@pytest.mark.parametrize(
    ("url", "port"),
    [("https://h/a", 443), ("http://h/a", 80), ("ssh://h:2222/a", 2222), ("git@h:a", 22), ("https://h:8443/a", 8443)],
)
def test_the_git_servers_port_is_let_through(url: str, port: int) -> None:
    assert ports_for(ReconcilerSpec(), url) == (port,)


@pytest.mark.parametrize(
    ("git", "said"),
    [
        ("tokenFile: token", "no absolute path"),
        ("tokenFile: /token", "no absolute path"),
        ("tokenFile: /a/../token", "no absolute path"),
        ("{tokenFile: /a/x, caFile: /b/x}", "two files called x"),
        ("{tokenFile: /a/x, caFile: /a/b/y}", "in /a and in a folder below it"),
    ],
)
def test_files_that_one_secret_cannot_give_are_refused(git: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        secrets_for(spec(f"git: {git if git.startswith('{') else '{' + git + '}'}"), URL, "s")


# What is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("argocd",), "which repository?"),
        (("argocd", "--repo-url=https://u:s3cr3t@h/x"), "has credentials in it"),
        (("argocd", "--repo-url=-oProxyCommand=x"), "--repo-url"),
        (("argocd", "--repo-url=/srv/fleet.git"), "is no URL"),
        (("argocd", HERE, "--branch=a..b"), "is no name of a branch"),
        (("argocd", HERE, "--name=Fleet"), "is no DNS label"),
        (("argocd", HERE, f"--name={'a' * 41}"), "more than 40 characters"),
        (("argocd", HERE, "--namespace=a.b"), "is no DNS label"),
        (("argocd", HERE, "--with-project"), "--with-project goes with --project"),
        (("argocd", HERE, "--server=http://hub"), "is no https URL"),
        (("argocd", HERE, "--sync-timeout=30s"), "a minute or more"),
        (("argocd", HERE, "--cluster-set=a b"), '--cluster-set "a b"'),
        (("flux", HERE, "--git-secret=A"), "is no name of an object"),
        (("cronjob", HERE), "--image"),
        (("cronjob", HERE, "--image=gitops-ds"), "names no version"),
        (("cronjob", HERE, "--image=gitops-ds:latest"), "names no version"),
        (("cronjob", HERE, "--image=Gitops:1"), "is no reference to an image"),
        (("cronjob", HERE, f"--image={IMAGE}", "--schedule=@daily"), "five fields"),
        (("cronjob", HERE, f"--image={IMAGE}", "--schedule=0 24 * * *"), '"24" for the hour'),
        (("watch", HERE, f"--image={IMAGE}", "--replicas=2"), "spec.watch.lease"),
        (("github",), "which hub?"),
        (("github", "--hub=snapshot:/tmp/x"), "is no folder that a job has"),
        (("github", "--hub=snapshot:a/../../x"), "is no folder that a job has"),
        (("github", "--hub=hub"), "is no hub"),
        (("github", "--hub=kubernetes:${{ secrets.X }}"), "has a $ in it"),
        (("github", "--hub=demo", "--install=a\nb"), "--install"),
        (("github", "--hub=demo", "--schedule=* * * * * *"), "five fields"),
        (("gitlab", "--hub=demo", "--image=$CI_REGISTRY/x:1"), "is no reference"),
        (("gitlab", "--hub=demo", "--overwrite"), "--overwrite goes with --to"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    err = refused(capsys, *words, f"--repo={tmp_path}")
    assert said in err
    assert "s3cr3t" not in err


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--repo-url=ftp://h/x", "--name=A", "--namespace=B", "--image=C", "--schedule=D", "--git-secret=E")
    assert refused(capsys, "cronjob", *words, f"--repo={tmp_path}").count("error:") == 6


def test_wrong_intents_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = fleet(tmp_path, "  gti: {}\n")
    assert main(["bootstrap", "argocd", HERE, f"--repo={repo}"]) == 1
    assert "reconciler.yaml:5" in capsys.readouterr().err


@given(st.text())
def test_what_passes_the_checks_is_one_line_that_nothing_fills_in(text: str) -> None:
    for check in (checks.plain, checks.name, checks.object_name, checks.namespace, checks.image, checks.url,
                  checks.server, checks.schedule):  # fmt: skip
        if not check(text):
            assert text.isprintable()
            assert text.isascii()
            assert "$" not in text


@given(st.from_regex(r"(\*|[0-9]{1,2}(-[0-9]{1,2})?)(/[0-9]{1,2})?( (\*|[0-9]{1,2})){4}", fullmatch=True))
def test_schedules_that_pass_are_in_range(text: str) -> None:
    numbers = [int(part) for part in text.split(maxsplit=1)[0].partition("/")[0].split("-") if part != "*"]
    if not checks.schedule(text):
        assert all(number <= 59 for number in numbers)
        assert numbers == sorted(numbers)
        assert not text.split(maxsplit=1)[0].endswith(("/0", "/00"))


# What is written


HOSTILE = ["no", "1e3", "a: b", "# c", "'\"", "{{ x }}", "- y", "&a", "*b", "!!c", "<%= d %>", "null"]


@pytest.mark.parametrize("text", HOSTILE)
def test_values_stay_text(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--hub=demo", f"--install={text}", f"--python={text}", f"--runner={text}", f"--repo={tmp_path}")
    for flow in objects(printed(capsys, "github", *words)):
        (job,) = flow["jobs"].values()
        assert job["runs-on"] == text
        assert job["steps"][1]["with"]["python-version"] == text
        assert job["steps"][2]["env"]["PACKAGE"] == text
    (jobs,) = objects(printed(capsys, "gitlab", "--hub=demo", f"--install={text}", f"--repo={tmp_path}"))
    assert jobs[".gitops-ds"]["variables"]["PACKAGE"] == text


def test_files_are_written_once_and_over_others_only_when_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("flux", HERE, f"--repo={tmp_path}", f"--to={tmp_path / 'out'}")
    names = ["kustomizations.yaml", "rbac.yaml", "source.yaml"]
    assert printed(capsys, *words).splitlines() == [f"wrote  {name}" for name in names]
    assert printed(capsys, *words).splitlines() == [f"left   {name} (it is so already)" for name in names]
    mine = tmp_path / "out" / "source.yaml"
    mine.write_text("mine\n")
    assert "source.yaml is there, and differs" in refused(capsys, *words)
    assert mine.read_text() == "mine\n"
    assert "wrote  source.yaml" in printed(capsys, *words, "--overwrite")
    assert mine.read_text() != "mine\n"
    mine.unlink()
    mine.mkdir()
    assert "source.yaml is there" in refused(capsys, *words, "--overwrite")


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "target").write_text("mine\n")
    (out / "source.yaml").symlink_to(tmp_path / "target")
    words = ("flux", HERE, f"--repo={tmp_path}", f"--to={out}")
    assert "differs" in refused(capsys, *words)
    printed(capsys, *words, "--overwrite")
    assert (tmp_path / "target").read_text() == "mine\n"
    assert not (out / "source.yaml").is_symlink()


def test_what_is_printed_is_what_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("argocd", HERE, "--sync-timeout=5m", f"--repo={tmp_path}")
    stream = printed(capsys, *words)
    printed(capsys, *words, f"--to={tmp_path / 'out'}")
    files = sorted((tmp_path / "out").iterdir())
    assert len(objects(stream)) == sum(len(objects(file.read_text())) for file in files)
    for file in files:
        assert f"# {file.name}\n{file.read_text()}" in stream


def test_comments_stand_above_what_they_are_about() -> None:
    file = Written("x.yaml", (Document({"b": 1, "a": "v@1"}, "one\ntwo"), Document({"c": 2})), in_order=True,
                   remarks={"v@1": "first"})  # fmt: skip
    assert file.text() == '# one\n# two\nb: 1\na: "v@1" # first\n---\nc: 2\n'
    assert one_stream([file]).startswith("# x.yaml\n# one\n")
    assert comment("") == ""
    assert comment("a\x85b: c\u2028d") == "# a\n# b: c\n# d\n"
    with pytest.raises(ValueError, match="no comment"):
        comment("a\x1bb")
