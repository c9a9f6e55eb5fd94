"""`gitops-ds watch` as a platform team runs it: real processes, real git remotes, a real API server, real signals."""

import random
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gitops_ds.sample import sample_folder
from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet
from tests.e2e.watcher import children, memory, runs, watching
from tests.hubs import Hub, hang, hub_server, refuse
from tests.remotes import hook, web_server

AT = "--at=2026-01-15T09:00:00Z"
LEASE = """
apiVersion: gitops-ds.io/v1alpha1
kind: Reconciler
metadata: {name: prod}
spec:
  hub: kubernetes:emulator
  watch: {interval: 1s, lease: {namespace: ops, name: gitops-ds}}
"""


def hub_of(fleet: Fleet) -> str:
    return f"--hub=snapshot:{fleet.hub}"


def remote_of(fleet: Fleet) -> Path:
    """A bare remote called origin that holds what the fleet's main holds."""
    bare = fleet.root / "remotes" / "fleet.git"
    fleet.git("clone", "--quiet", "--bare", ".", str(bare))
    fleet.git("remote", "add", "origin", str(bare))
    fleet.git("--git-dir", str(bare), "config", "http.receivepack", "true")
    return bare


def head_of(bare: Path, fleet: Fleet, branch: str = "main") -> str:
    return fleet.git("--git-dir", str(bare), "rev-parse", "--verify", "--quiet", branch, check=False).strip()


def reconciler(spec: str) -> str:
    return f"apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: prod}}\nspec: {spec}\n"


# Rounds


def test_rounds_commit_what_changes_and_are_seen_from_outside(fresh: Fleet) -> None:
    with watching(hub_of(fresh), cwd=fresh.top, env=fresh.env) as watcher:
        first = watcher.until("round")
        assert (first["result"], first["status"], first["commit"]) == ("done", "changed", fresh.head)
        assert watcher.get("/healthz") == (200, "alive\n")
        assert watcher.get("/readyz") == (200, "a round has ended well\n")
        assert watcher.get("/other")[0] == 404
        assert watcher.nudge()["status"] == "unchanged"
        fresh.edit(INTENT, PERFORMANCE, POWER)
        fresh.commit("power")
        assert watcher.nudge()["commit"] == fresh.head
        metrics = watcher.metrics()
        assert metrics["gitops_ds_rounds_total{result=done}"] == 3
        assert metrics["gitops_ds_plans_total{status=changed}"] == 2
        assert metrics["gitops_ds_plans_total{status=unchanged}"] == 1
        assert metrics["gitops_ds_commits_total"] == 2
        assert metrics["gitops_ds_solve_seconds_count"] == 2
        assert metrics["gitops_ds_objective{part=placed}"] == 2
        assert metrics["gitops_ds_unplaced"] == 0
        assert metrics["gitops_ds_leader"] == 1
        assert metrics["gitops_ds_last_success_timestamp_seconds"] > 1_700_000_000
        assert metrics[f"gitops_ds_score_age_seconds{{score={POWER}}}"] > 0
        assert f"gitops_ds_score_age_seconds{{score={PERFORMANCE}}}" not in metrics
        assert watcher.end() == 0
    assert watcher.named("stopped")
    assert all(one["level"] != "error" for one in watcher.events)


def test_a_held_plan_is_told_once_and_shows_in_the_metrics(settled: Fleet) -> None:
    settled.run("hold", "--reason=holidays", "--by=Ada")
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    before = settled.head
    with watching(hub_of(settled), cwd=settled.top, env=settled.env) as watcher:
        assert watcher.until("round")["result"] == "held"
        assert watcher.nudge()["result"] == "held"
        assert watcher.get("/readyz")[0] == 200
        assert [one["guard"] for one in watcher.named("held")] == ["hold"]
        assert "holidays" in watcher.named("held")[0]["text"]
        metrics = watcher.metrics()
        assert metrics["gitops_ds_held{guard=hold}"] == 1
        assert metrics["gitops_ds_held{guard=freeze}"] == 0
        settled.run("resume")
        assert watcher.nudge()["result"] == "done"
        assert watcher.metrics()["gitops_ds_held{guard=hold}"] == 0
    assert settled.head != before


def test_two_hundred_rounds_of_jittering_scores_commit_nothing_push_nothing_and_keep_their_size(settled: Fleet) -> None:
    bare = remote_of(settled)
    chance, scores = random.Random(7), settled.hub / "scores.yaml"
    plain = scores.read_text()
    before = head_of(bare, settled), settled.state()
    sizes, files = [], []
    with watching(hub_of(settled), "--push", cwd=settled.top, env=settled.env) as watcher:
        watcher.until("round")
        for i in range(200):
            jittered = plain
            for value in ("80", "60", "55", "10", "15"):
                jittered = jittered.replace(f"value: {value}\n", f"value: {int(value) + chance.choice((-1, 0, 1))}\n")
            scores.write_text(jittered)
            assert watcher.nudge()["result"] == "done"
            if i % 50 == 49:
                sizes.append(memory(watcher.process.pid))
                files.append(len(list(Path(f"/proc/{watcher.process.pid}/fd").iterdir())))
        metrics = watcher.metrics()
    assert metrics["gitops_ds_plans_total{status=unchanged}"] == 201
    assert metrics["gitops_ds_solve_seconds_count"] > 100  # the scores did change
    assert metrics["gitops_ds_commits_total"] == 0
    assert [value for name, value in metrics.items() if name.startswith("gitops_ds_pushes_total")] == [0] * 5
    assert (head_of(bare, settled), settled.state()) == before
    assert sizes[-1] - sizes[0] < 20 * 2**20, sizes
    assert max(files) - min(files) <= 2, files


def test_a_shorter_interval_in_git_is_heeded(fresh: Fleet) -> None:
    fresh.write("intent/prod.yaml", reconciler("{watch: {interval: 1h}}"))
    fresh.commit()
    with watching(hub_of(fresh), cwd=fresh.top, env=fresh.env, interval=None) as watcher:
        watcher.until("round")
        fresh.write("intent/prod.yaml", reconciler("{watch: {interval: 1s, jitter: 0}}"))
        fresh.commit()
        watcher.nudge()
        watcher.until("round", 5)


def test_two_watchers_of_one_checkout_take_turns(settled: Fleet) -> None:
    with (
        watching(hub_of(settled), cwd=settled.top, env=settled.env) as one,
        watching(hub_of(settled), cwd=settled.top, env=settled.env) as two,
    ):
        one.until("round")
        two.until("round")
        before = settled.commits
        settled.edit(INTENT, PERFORMANCE, POWER)
        settled.commit("power")
        for watcher in (one, two):
            watcher.process.send_signal(signal.SIGHUP)
        ends = [watcher.until("round", 2) for watcher in (one, two)]
    assert [end["result"] for end in ends] == ["done", "done"]
    assert sorted(end["status"] for end in ends) == ["changed", "unchanged"]
    assert settled.commits == before + 2


# Where commits go


def test_a_url_is_watched_without_a_checkout_and_no_secret_is_told(fresh: Fleet) -> None:
    bare = remote_of(fresh)
    with web_server(bare.parent) as web:
        web.token = "planted-secret"
        env = {**fresh.env, "GITOPS_DS_TOKEN": "planted-secret"}
        words = (f"--repo={web.url.replace('//', '//tester:planted-secret@')}/fleet.git", "--push", hub_of(fresh))
        with watching(*words, cwd=fresh.root, env=env) as watcher:
            done = watcher.until("round")
            assert done["commit"] == head_of(bare, fresh)
            assert watcher.metrics()["gitops_ds_pushes_total{result=yes}"] == 1
            assert watcher.end() == 0
    assert "planted-secret" not in "".join(watcher.words)


def test_a_plan_is_proposed_once_and_withdrawn_when_it_is_undone(settled: Fleet) -> None:
    bare = remote_of(settled)
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    settled.git("push", "--quiet", "origin", "HEAD:main")
    with watching(hub_of(settled), "--pull-request", cwd=settled.top, env=settled.env) as watcher:
        first = watcher.until("round")
        proposed = head_of(bare, settled, "gitops-ds/default")
        assert first["commit"] == proposed != ""
        again = watcher.nudge()
        assert (again["status"], again.get("commit")) == ("changed", None)
        assert watcher.metrics()["gitops_ds_commits_total"] == 1
        settled.git("push", "--quiet", "origin", f"{head_of(bare, settled)}:refs/heads/old")
        settled.edit(INTENT, POWER, PERFORMANCE)
        settled.commit("no, speed")
        settled.git("push", "--quiet", "origin", "HEAD:main")
        assert watcher.nudge()["status"] == "unchanged"
    assert head_of(bare, settled, "gitops-ds/default") == ""


# Failures


def test_a_lasting_fault_is_told_once_and_the_loop_goes_on(settled: Fleet) -> None:
    right = settled.file(INTENT).read_text()
    with watching(hub_of(settled), cwd=settled.top, env=settled.env) as watcher:
        watcher.until("round")
        settled.write(INTENT, right.replace("mwrs-app02", "mwrs-nobody"))
        settled.commit("wrong")
        watcher.process.send_signal(signal.SIGHUP)
        told = watcher.until("round", result="error")
        assert told["level"] == "error"
        assert any("mwrs-nobody" in fault for fault in told["faults"])
        for count in (2, 3, 4):
            watcher.process.send_signal(signal.SIGHUP)
            watcher.sees(lambda wanted=count: watcher.metrics()["gitops_ds_rounds_total{result=error}"] >= wanted)  # type: ignore[misc]
        assert len(watcher.named("round", result="error")) == 1
        assert watcher.get("/healthz")[0] == 200
        settled.write(INTENT, right)
        settled.commit("right")
        assert watcher.nudge()["status"] == "unchanged"
        assert watcher.named("recovered")[0]["failures"] >= 4
        assert watcher.end() == 0


def test_a_repository_that_goes_away_is_waited_for(settled: Fleet) -> None:
    with watching(hub_of(settled), cwd=settled.top, env=settled.env) as watcher:
        watcher.until("round")
        away = settled.root / "away"
        settled.top.rename(away)
        watcher.process.send_signal(signal.SIGHUP)
        watcher.until("round", result="error")
        away.rename(settled.top)
        assert watcher.nudge()["result"] == "done"
        shutil.copytree(settled.top, away, symlinks=True)  # and one that is made anew, as a volume is
        shutil.rmtree(settled.top)
        away.rename(settled.top)
        assert watcher.nudge()["result"] == "done"


def test_a_remote_that_refuses_is_told_once_and_nothing_is_half_done(settled: Fleet) -> None:
    bare = remote_of(settled)
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    settled.git("push", "--quiet", "origin", "HEAD:main")
    hook(bare, "pre-receive", "echo no, says the policy >&2; exit 1")
    before, state = head_of(bare, settled), settled.state()
    with watching(hub_of(settled), "--push", cwd=settled.top, env=settled.env) as watcher:
        told = watcher.until("round", result="refused")
        assert told["code"] == 6
        assert "no, says the policy" in "".join(told["faults"])
        assert watcher.metrics()["gitops_ds_pushes_total{result=refused}"] == 1
        assert watcher.get("/readyz")[0] == 503
        (bare / "hooks" / "pre-receive").unlink()
        assert watcher.nudge()["result"] == "done"
    assert head_of(bare, settled) != before
    assert settled.state() == state


def test_a_port_in_use_is_an_error_at_once(fresh: Fleet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = fresh.run("watch", hub_of(fresh), f"--listen=127.0.0.1:{port}")
    assert answer.code == 1
    assert f"127.0.0.1:{port} is in use already" in answer.err
    assert "--listen" in answer.err
    assert "Traceback" not in answer.err


def test_a_command_line_without_sense_is_no_reason_to_loop(fresh: Fleet) -> None:
    answer = fresh.run("watch", "--listen=off", env={"GITOPS_DS_HUB": "nowhere"})
    assert answer.code == 64
    assert '"nowhere" is no hub' in answer.err
    assert fresh.run("watch", hub_of(fresh), "--listen=8080").code == 64


# Stopping


def test_a_push_under_way_ends_before_the_loop_does(fresh: Fleet) -> None:
    bare = remote_of(fresh)
    with web_server(bare.parent) as web:
        with watching(f"--repo={web.url}/fleet.git", "--push", hub_of(fresh), cwd=fresh.root, env=fresh.env) as watcher:
            hook(bare, "pre-receive", f"touch {bare}/pushing; sleep 2")
            watcher.sees((bare / "pushing").exists)
            assert watcher.end(signal.SIGTERM) == 0
        assert watcher.named("round")[0]["commit"] == head_of(bare, fresh)
        assert watcher.named("stopped")


def test_a_second_signal_breaks_a_push_off_and_the_next_run_neither_loses_nor_repeats_it(fresh: Fleet) -> None:
    bare = remote_of(fresh)
    before = head_of(bare, fresh)
    with web_server(bare.parent) as web:
        words = (f"--repo={web.url}/fleet.git", "--push", hub_of(fresh))
        with watching(*words, cwd=fresh.root, env=fresh.env) as watcher:
            hook(bare, "pre-receive", f"touch {bare}/pushing; sleep 30")
            watcher.sees((bare / "pushing").exists)
            below = children(watcher.process.pid)
            assert below
            assert watcher.end(signal.SIGTERM, signal.SIGTERM) == 0
            assert watcher.named("round")[0]["result"] == "stopped"
            watcher.sees(lambda: not any(map(runs, below)))
        (bare / "hooks" / "pre-receive").unlink()
        with watching(*words, cwd=fresh.root, env=fresh.env) as watcher:
            assert watcher.until("round")["result"] == "done"
            watcher.sees(lambda: head_of(bare, fresh) != before)
    assert int(fresh.git("--git-dir", str(bare), "rev-list", "--count", "main")) == 2


def test_stopping_in_a_hook_ends_the_hook(fresh: Fleet) -> None:
    fresh.write("hooks/slow", "#!/bin/sh\nsleep 300 & sleep 300\n")
    (fresh.top / "hooks/slow").chmod(0o755)
    fresh.write("intent/prod.yaml", reconciler("{hooks: {postRender: [hooks/slow], timeout: 10m}}"))
    fresh.commit()
    before = fresh.state()
    with watching(hub_of(fresh), cwd=fresh.top, env=fresh.env) as watcher:
        watcher.sees(lambda: len(children(watcher.process.pid)) >= 3)
        below = children(watcher.process.pid)
        assert watcher.end(signal.SIGINT, signal.SIGINT) == 0
        watcher.sees(lambda: not any(map(runs, below)))
    assert fresh.state() == before


@pytest.mark.parametrize("engine", ["local", "processes:2"])
def test_stopping_in_a_solve_ends_the_solver_and_commits_nothing(fresh: Fleet, engine: str) -> None:
    hard(fresh)
    before = fresh.state()
    with watching(hub_of(fresh), cwd=fresh.top, env={**fresh.env, "GITOPS_DS_ENGINE": engine}) as watcher:
        solvers = 1 if engine == "local" else 4  # two workers, and each has a solver
        watcher.sees(lambda: sum(b"spawn_main" in command(pid) for pid in children(watcher.process.pid)) >= solvers)
        below = children(watcher.process.pid)
        assert watcher.end(signal.SIGTERM, signal.SIGTERM) == 0
        watcher.sees(lambda: not any(map(runs, below)))
        assert watcher.named("round")[0]["result"] == "stopped"
    assert fresh.state() == before


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def hard(fleet: Fleet) -> None:
    """Make the fleet two that take the solver their whole time limit: many knapsacks that all but fit."""
    held, carried, intents = [], [], []
    for part in "ab":
        chance = random.Random(part)
        sizes = {f"{part}{i:03}": chance.randint(37, 101) for i in range(160)}
        clusters = [f"{part}-c{c:02}" for c in range(30)]
        room = sum(sizes.values()) // len(clusters)
        for name in clusters:
            items = ", ".join(f"{{name: {w}, value: {chance.randint(-100, 100)}}}" for w in sizes)
            own = f"cluster-name: {name}, cluster.open-cluster-management.io/clusterset: default"
            held.append(
                "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
                f"metadata: {{name: {name}, labels: {{{own}}}}}\nspec: {{hubAcceptsClient: true}}\n"
                "---\napiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\n"
                f"metadata: {{name: speed, namespace: {name}}}\nstatus: {{scores: [{items}]}}\n"
            )
        carried += [
            "apiVersion: work.open-cluster-management.io/v1alpha1\nkind: ManifestWorkReplicaSet\n"
            f"metadata: {{name: {w}, namespace: default, labels: {{app: {w}}}}}\n"
            f"spec: {{placementRefs: [{{name: {w}}}], manifestWorkTemplate: {{workload: {{manifests: []}}}}}}\n"
            for w in sizes
        ]
        intents.append(
            "apiVersion: gitops-ds.io/v1alpha1\nkind: PlacementIntent\n"
            f"metadata: {{name: hard-{part}, namespace: default}}\nspec:\n"
            '  preference: {scores: [{name: speed, dimension: "${app}"}]}\n  solver: {timeLimit: 10m}\n  clusters:\n'
            + "".join(f"    - {{name: {name}, capacity: {{gpu: {room}}}}}\n" for name in clusters)
            + "  workloads:\n"
            + "".join(f"    - {{name: {w}, requests: {{gpu: {size}}}}}\n" for w, size in sizes.items())
        )
    fleet.write("hub/more.yaml", "---\n".join(held))
    fleet.write("workloads/all.yaml", "---\n".join(carried))
    fleet.write(INTENT, "---\n".join(intents))
    fleet.commit("hard")


# The live hub


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(sample_folder() / "hub") as running:
        yield running


@pytest.fixture
def live(fresh: Fleet, hub: Hub, tmp_path: Path) -> Mapping[str, str]:
    return {**fresh.env, "KUBECONFIG": str(hub.kubeconfig(tmp_path))}


def test_a_hub_that_is_out_of_reach_for_a_while(fresh: Fleet, hub: Hub, live: Mapping[str, str]) -> None:
    with watching("--hub=kubernetes", AT, cwd=fresh.top, env=live, interval="1s") as watcher:
        watcher.until("round")
        hub.fault(refuse(503, retry_after="0"))
        told = watcher.until("round", result="transient")
        assert told["level"] == "warning"
        watcher.until("round", 2, result="transient")
        assert watcher.get("/healthz")[0] == 200
        hub.mend()
        watcher.until("recovered")
        assert watcher.metrics()["gitops_ds_commits_total"] == 1
    assert fresh.commits == 2


def test_of_two_replicas_one_works_and_the_other_takes_over_when_it_dies(
    fresh: Fleet, hub: Hub, live: Mapping[str, str]
) -> None:
    fresh.write("intent/prod.yaml", LEASE)
    fresh.commit()
    bare = remote_of(fresh)
    words = ("--push", AT)
    with watching(*words, cwd=fresh.top, env=live, interval=None) as first:
        first.until("round")
        with watching(*words, cwd=fresh.top, env=live, interval=None) as second:
            second.until("lease.standby")
            assert second.get("/readyz") == (200, "another replica holds the Lease\n")
            assert (first.metrics()["gitops_ds_leader"], second.metrics()["gitops_ds_leader"]) == (1, 0)
            second.process.send_signal(signal.SIGHUP)  # asks nothing of one that stands by
            first.nudge()
            assert not second.named("round")
            holder = lease(hub)["holderIdentity"]
            first.process.kill()
            second.until("lease.acquired")
            assert second.until("round")["result"] == "done"
            assert lease(hub)["holderIdentity"] != holder
            assert lease(hub)["leaseTransitions"] == 1
            with watching(*words, cwd=fresh.top, env=live, interval=None) as third:
                third.until("lease.standby")
                assert second.end() == 0
                assert second.named("lease.released")
                third.until("round")
    assert int(fresh.git("--git-dir", str(bare), "rev-list", "--count", "main")) == 3


def test_a_replica_that_loses_its_lease_in_a_round_pushes_nothing(
    fresh: Fleet, hub: Hub, live: Mapping[str, str]
) -> None:
    go = fresh.root / "go"
    fresh.write("hooks/slow", f"#!/bin/sh\ntouch {go}.ready; while [ ! -e {go} ]; do sleep 0.1; done\n")
    (fresh.top / "hooks/slow").chmod(0o755)
    fresh.write("intent/prod.yaml", f"{LEASE}  hooks: {{postRender: [hooks/slow], timeout: 10m}}\n")
    fresh.commit()
    bare = remote_of(fresh)
    before = head_of(bare, fresh)
    with watching("--push", AT, cwd=fresh.top, env=live) as watcher:
        watcher.sees(Path(f"{go}.ready").exists)
        hub.fault(hang(), plural="leases")
        watcher.until("lease.lost")
        go.touch()
        watcher.until("round", result="lost")
        assert head_of(bare, fresh) == before
        assert watcher.metrics()["gitops_ds_rounds_total{result=lost}"] == 1
        assert watcher.metrics()["gitops_ds_commits_total"] == 0
        hub.mend()
        assert watcher.until("round", result="done")["commit"] == head_of(bare, fresh)


def test_a_lease_needs_a_live_hub(fresh: Fleet) -> None:
    fresh.write("intent/prod.yaml", LEASE)
    fresh.commit()
    with watching(hub_of(fresh), cwd=fresh.top, env=fresh.env) as watcher:
        told = watcher.until("round", result="error")
        assert "a Lease needs a live hub" in told["faults"][0]
        assert watcher.get("/readyz")[0] == 503


def lease(hub: Hub) -> dict[str, Any]:
    found = hub.get("leases", "gitops-ds", "ops")
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec
