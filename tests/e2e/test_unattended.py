"""What a reconciler in git promises end to end: guards, hooks, signatures, odd repositories, and no secret anywhere."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, assert_refused
from tests.e2e.published import Published, published
from tests.markers import PASSWORD, TOKEN, plant
from tests.remotes import web_server

RECONCILER = "intent/reconciler.yaml"


def reconciler(fleet: Fleet, **spec: object) -> None:
    """Commit a Reconciler with these settings."""
    said = {
        "apiVersion": "gitops-ds.io/v1alpha1",
        "kind": "Reconciler",
        "metadata": {"name": "fleet"},
        "spec": spec,
    }
    fleet.write(RECONCILER, json.dumps(said))
    fleet.commit("The reconciler")


def hub_objects(fleet: Fleet, name: str, change: Callable[[list[dict[str, object]]], list[dict[str, object]]]) -> None:
    """Change the objects in one file of the snapshot."""
    path = fleet.hub / f"{name}.yaml"
    kept = change(list(yaml.safe_load_all(path.read_text())))
    path.write_text(yaml.safe_dump_all(kept) if kept else "apiVersion: v1\nkind: List\nitems: []\n")


def without_cluster2(objects: list[dict[str, object]]) -> list[dict[str, object]]:
    return [o for o in objects if "cluster2" not in json.dumps(o["metadata"])]


SHRUNKEN = {
    "one cluster's scores are missing": ("scores", without_cluster2),
    "half of the clusters are gone": ("clusters", without_cluster2),
    "no scores at all": ("scores", lambda _: []),
    "no clusters at all": ("clusters", lambda _: []),
}


@pytest.mark.parametrize("case", SHRUNKEN)
def test_a_shrunken_reading_of_the_hub_is_held_and_changes_nothing(settled: Fleet, case: str) -> None:
    reconciler(settled, guards={"minFreshClusters": "100%"})
    assert settled.run("reconcile").code == 0
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Power")
    before = settled.state()
    name, change = SHRUNKEN[case]
    hub_objects(settled, name, change)
    answer = settled.run("reconcile", "--output=json")
    assert answer.code in (1, 3), answer
    if answer.code == 3:
        assert "minFreshClusters" in {one["guard"] for one in answer.json["held"]}
    assert settled.state() == before


def test_a_freeze_holds_and_urgent_says_who_and_why(fresh: Fleet) -> None:
    reconciler(fresh, guards={"freeze": [{"timeZone": "Europe/Berlin", "reason": "the audit"}]})
    held = fresh.reconcile(code=3)
    assert [one["guard"] for one in held["held"]] == ["freeze"]
    assert "the audit" in held["held"][0]["text"]
    assert fresh.commits == 2
    done = fresh.run("reconcile", "--urgent=the old plan melts a rack", "--by=Ada")
    assert done.code == 0, done
    trailers = fresh.git("log", "-1", "--format=%(trailers:only,unfold)")
    assert "Gitops-Ds-Urgent: Ada: the old plan melts a rack" in trailers
    assert "Gitops-Ds-Reconciler: fleet" in trailers


def test_hooks_see_the_tree_refuse_it_and_hear_of_what_landed(fresh: Fleet, tmp_path: Path) -> None:
    heard = tmp_path / "heard.json"
    fresh.write(
        "hooks/look", '#!/bin/sh\nls "$1/default/gpu-inference" | grep -q placement-app01 && ! test -e refuse\n'
    )
    fresh.write("hooks/tell", f"#!/bin/sh\ncat > {heard}\necho told\n")
    for name in ("look", "tell"):
        (fresh.top / "hooks" / name).chmod(0o755)
    reconciler(fresh, hooks={"postRender": ["hooks/look"], "postPush": ["hooks/tell"]})
    done = fresh.run("reconcile")
    assert done.code == 0, done
    assert "told" in done.err
    assert json.loads(heard.read_text())["commit"] == fresh.head

    fresh.write("hooks/look", "#!/bin/sh\necho 'not on my watch'\nexit 7\n")
    fresh.edit(INTENT, PERFORMANCE, POWER)
    fresh.commit("Power")
    before = fresh.state()
    assert_refused(fresh.run("reconcile"), 6, "hooks/look", "not on my watch", most=20)
    assert fresh.state() == before


def test_commits_are_signed_or_not_made(fresh: Fleet, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    reconciler(fresh, git={"signing": {"format": "ssh", "key": str(key)}})
    fresh.git("config", "commit.gpgsign", "true")
    fresh.git("config", "gpg.program", "/bin/false")
    assert fresh.run("reconcile").code == 0
    assert "-----BEGIN SSH SIGNATURE-----" in fresh.git("cat-file", "commit", "HEAD")
    verified = fresh.run("verify", "--require-signature")
    assert verified.code == 0, verified
    shutil.move(key, tmp_path / "elsewhere")
    fresh.edit(INTENT, PERFORMANCE, POWER)
    fresh.git("-c", "commit.gpgsign=false", "commit", "--quiet", "--all", "-m", "Power")
    before = fresh.state()
    assert_refused(fresh.run("reconcile"), 1, str(key))
    assert fresh.state() == before


def odd(remote: Published) -> None:
    """Everything that makes git do something of its own."""
    fleet = remote.fleet
    fleet.write(".gitattributes", "* text eol=crlf\n*.yaml filter=lfs diff=lfs merge=lfs -text\nrendered/** eol=crlf\n")
    fleet.write("Docs/Readme", "one\n")
    blob = fleet.git("-c", "core.safecrlf=false", "hash-object", "-w", "--no-filters", "Docs/Readme").strip()
    fleet.git("update-index", "--add", "--cacheinfo", f"100644,{blob},docs/readme")
    fleet.git("update-index", "--add", "--cacheinfo", f"160000,{fleet.head},vendor/module")
    fleet.git("add", ".gitattributes", "Docs")
    fleet.git("commit", "--quiet", "-m", "Odd")
    fleet.git("push", "--quiet", "origin", "HEAD:main")
    fleet.git("config", "filter.lfs.clean", "tr a-z A-Z")
    fleet.git("config", "filter.lfs.smudge", "tr A-Z a-z")
    (fleet.top / "my-hooks").mkdir()
    for name in ("pre-commit", "pre-push", "post-commit", "reference-transaction"):
        fleet.write(f"my-hooks/{name}", "#!/bin/sh\nexit 1\n")
        (fleet.top / "my-hooks" / name).chmod(0o755)
    fleet.git("config", "core.hooksPath", "my-hooks")
    fleet.git("config", "commit.gpgsign", "true")
    fleet.git("config", "core.autocrlf", "true")
    fleet.git("config", "core.ignorecase", "true")


def test_nothing_that_a_repository_sets_up_changes_a_byte(fresh: Fleet, settled_template: Fleet) -> None:
    remote = published(fresh)
    odd(remote)
    before = fresh.state()
    answer = remote.push("--branch=main")
    assert answer.code == 0, answer
    assert fresh.state() == before
    for path, content in settled_template.rendered().items():
        if path != "gitops-ds.lock":
            assert remote.show(f"rendered/{path}").encode() == content, path
    assert remote.push("--branch=main", "--output=json").json["status"] == "unchanged"


def test_a_symlink_for_a_folder_is_refused(fresh: Fleet) -> None:
    remote = published(fresh)
    (fresh.top / "rendered").symlink_to("elsewhere")
    fresh.commit("A link")
    fresh.git("push", "--quiet", "origin", "HEAD:main")
    before = fresh.state()
    assert_refused(remote.push(), 1, "rendered")
    assert fresh.state() == before


def test_no_token_or_password_comes_out_anywhere(fresh: Fleet) -> None:
    remote = published(fresh)
    remote.git("config", "http.receivepack", "true")
    planted = plant(fresh)
    with web_server(remote.bare.parent) as web:
        address = web.url.replace("http://", f"http://robot:{PASSWORD.replace(':', '%3A')}@") + "/remote.git"
        web.token = "something else"
        refused = planted.run("reconcile", "--push", f"--remote={address}", "--branch=main")
        assert refused.code == 6, refused
        web.token = TOKEN
        fresh.git("remote", "set-url", "origin", f"{web.url}/remote.git")
        done = planted.run("reconcile", "--push", "--branch=main")
        assert done.code == 0, done
    planted.assert_nowhere(refused, done)
