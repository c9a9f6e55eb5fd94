"""The parts of the loop: its pace, signals, logs, health, HTTP and metrics, and what docs/watch.md says of them."""

import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import gitops_ds
from gitops_ds.delivery import Delivered, Drawn
from gitops_ds.errors import InputError, UsageError
from gitops_ds.guards import GUARDS
from gitops_ds.intent.reconciler import ReconcilerSpec, Watch
from gitops_ds.reconcile import Held, Plan
from gitops_ds.report.basis import Basis
from gitops_ds.watch import Address, Health, Log, Metrics, Signals, Stopping, address_of, serving
from gitops_ds.watch.ages import oldest_scores
from gitops_ds.watch.health import QUIET
from gitops_ds.watch.logs import LONGEST
from gitops_ds.watch.metrics import Result
from gitops_ds.watch.pace import seconds_until_next
from gitops_ds.watch.signals import GRACE
from tests.unit.pages import blocks, planned, sample, section, table, text_of

NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PAGE = "docs/watch.md"


# Pace


def test_a_round_that_ended_well_is_followed_after_the_interval_and_its_jitter() -> None:
    watch = Watch(jitter=10)
    assert seconds_until_next(watch, MINUTE, 0, 0.0) == 60
    assert seconds_until_next(watch, MINUTE, 0, 1.0) == pytest.approx(66)
    assert seconds_until_next(Watch(jitter=0), MINUTE, 0, 1.0) == 60


def test_failures_double_the_wait_up_to_its_limit() -> None:
    watch = Watch(jitter=0, maxBackoff=timedelta(minutes=15))
    waits = [seconds_until_next(watch, MINUTE, failures, 0.5) for failures in range(1, 8)]
    assert waits == [60, 120, 240, 480, 900, 900, 900]
    assert seconds_until_next(watch, MINUTE, 10**6, 0.5) == 900


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 100),
    st.integers(0, 10**4),
    st.floats(0, 1),
)
def test_no_setting_makes_a_storm_or_waits_longer_than_it_says(
    interval: int, most: int, jitter: int, failures: int, chance: float
) -> None:
    watch = Watch(jitter=jitter, maxBackoff=timedelta(seconds=most))
    found = seconds_until_next(watch, timedelta(seconds=interval), failures, chance)
    assert found >= 1
    assert found <= max(most if failures else 2 * interval, 1)


# Signals


def kill(number: int) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_to_stop_ends_a_wait_at_once_and_a_round_not() -> None:
    with Signals() as signals:
        with signals.breakable():
            kill(signal.SIGTERM)
            assert signals.stopping
        signals.wait(3600)
        kill(signal.SIGINT)  # outside of a round there is nothing to break off
        signals.wait(3600)


def test_a_second_signal_breaks_a_round_off() -> None:
    with Signals() as signals, pytest.raises(Stopping), signals.breakable():  # noqa: PT012
        kill(signal.SIGINT)
        kill(signal.SIGTERM)
        time.sleep(3600)


def test_the_end_of_the_grace_breaks_a_round_off_once() -> None:
    with Signals(grace=0.05) as signals:
        with pytest.raises(Stopping), signals.breakable():  # noqa: PT012
            kill(signal.SIGTERM)
            try:
                time.sleep(3600)
            finally:
                kill(signal.SIGTERM)  # what cleans up is left alone
                time.sleep(0.1)
                cleaned = True
        assert cleaned


def test_a_round_that_ends_in_time_is_not_broken_off_later() -> None:
    with Signals(grace=0.05) as signals:
        with signals.breakable():
            kill(signal.SIGTERM)
        time.sleep(0.2)


def test_sleep_within_a_round_ends_it_where_it_is_time_to_stop() -> None:
    with Signals() as signals:
        signals.sleep(0.01)
        kill(signal.SIGHUP)  # a round is under way already
        signals.sleep(0.01)
        with signals.breakable():
            kill(signal.SIGTERM)
            with pytest.raises(Stopping):
                signals.sleep(3600)


def test_a_nudge_counts_once_and_another_thread_may_wake() -> None:
    with Signals() as signals:
        kill(signal.SIGHUP)
        signals.wait(3600)
        assert (signals.take_nudge(), signals.take_nudge()) == (True, False)
        woken = threading.Event()

        def wake() -> None:
            woken.set()
            signals.wake()

        thread = threading.Thread(target=wake)
        thread.start()
        signals.wait(3600, until=woken.is_set)
        thread.join()
        signals.wait(0.01)
    signals.wake()  # too late, and no harm


def test_the_old_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)]
    with Signals():
        assert signal.getsignal(signal.SIGTERM) not in before
    after = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)]
    assert after == before


WORKERS = """
import multiprocessing, os, signal, subprocess, sys, time
from gitops_ds.watch import Signals, Stopping

def work(queue):
    below = subprocess.Popen(["sleep", "300"])
    queue.put((os.getpid(), below.pid))
    time.sleep(300)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    other = subprocess.Popen(["sleep", "300"])
    try:
        with Signals(grace=0.05) as signals, signals.breakable():
            worker = context.Process(target=work, args=(queue,))
            worker.start()
            print(*queue.get(), other.pid, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            worker.join()
            time.sleep(300)
    except Stopping:
        print(other.poll(), flush=True)
        other.kill()
"""


def test_workers_and_what_they_started_are_killed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "workers.py").write_text(WORKERS)
    done = subprocess.run([sys.executable, str(tmp_path / "workers.py")], capture_output=True, check=True, timeout=120)
    pids, other = done.stdout.decode().splitlines()
    assert other == "None"
    worker, below, _ = map(int, pids.split())
    ends = time.monotonic() + 60
    while any(is_running(pid) for pid in (worker, below)):
        assert time.monotonic() < ends
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# Logs


def logged(event: str, *, as_json: bool, **fields: Any) -> str:
    stream = io.StringIO()
    Log(stream, as_json=as_json, now=lambda: NOW).event(event, **fields)
    line = stream.getvalue()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    return line[:-1]


def test_an_event_as_text_and_as_json() -> None:
    fields: dict[str, Any] = {"result": "done", "seconds": 0.12345, "count": 3, "commit": None, "text": 'two "words"'}
    text = logged("round", as_json=False, **fields, faults=["a b", "c"], good=True)
    assert text == (
        '2026-01-15T09:00:00.000Z info round result=done seconds=0.123 count=3 text="two \\"words\\"" '
        'faults="a b,c" good=true'
    )
    assert json.loads(logged("round", as_json=True, **fields, faults=["a b", "c"], good=True)) == {
        "time": "2026-01-15T09:00:00.000Z",
        "level": "info",
        "event": "round",
        "result": "done",
        "seconds": 0.123,
        "count": 3,
        "text": 'two "words"',
        "faults": ["a b", "c"],
        "good": True,
    }


@given(st.text(), st.booleans())
def test_no_text_forges_a_line_or_moves_a_cursor(text: str, as_json: bool) -> None:
    line = logged("note", as_json=as_json, text=text)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", line)
    if as_json:
        assert json.loads(line)["text"] == text


def test_a_long_text_is_cut_and_a_stream_that_is_gone_is_no_failure() -> None:
    assert len(json.loads(logged("note", as_json=True, text="x" * 10**6))["text"]) == LONGEST
    closed = io.StringIO()
    log = Log(closed, as_json=True, now=lambda: NOW)
    closed.close()
    log.event("note")
    reader, writer = os.pipe()
    os.close(reader)
    broken = os.fdopen(writer, "w", buffering=1)
    Log(broken, as_json=True, now=lambda: NOW).event("note")
    with pytest.raises(BrokenPipeError):
        broken.close()


# Health and HTTP


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_health_is_lost_by_silence_and_readiness_is_won_by_a_round() -> None:
    clock = Clock()
    health = Health(clock)
    assert health.alive()[0]
    assert health.ready() == (False, "no round has ended well yet")
    clock.now += QUIET + 1
    alive, words = health.alive()
    assert not alive
    assert "901s" in words
    health.beat(60)
    clock.now += QUIET + 59
    assert health.alive()[0]
    clock.now += 2
    assert not health.alive()[0]
    health.stands_by(lambda: True)
    assert health.ready() == (True, "another replica holds the Lease")
    health.stands_by(lambda: False)
    assert not health.ready()[0]
    health.ended_well()
    assert health.ready()[0]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        (":0", Address("", 0)),
        ("[::1]:80", Address("::1", 80)),
        ("localhost:65535", Address("localhost", 65535)),
        ("off", None),
    ],
)
def test_addresses(text: str, address: Address | None) -> None:
    assert address_of(text) == address
    assert address is None or str(address) == text


@pytest.mark.parametrize("text", ["", "8080", "a:", "a:x", "a:65536", "::1:80", "a:-1", "a:٣"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="is no address to listen on"):
        address_of(text)


@contextmanager
def served(host: str = "127.0.0.1", health: Health | None = None, metrics: Metrics | None = None) -> Iterator[Address]:
    with serving(Address(host, 0), health or Health(Clock()), metrics or Metrics()) as address:
        yield address


def test_the_paths_over_http() -> None:
    health = Health(Clock())
    with served(health=health) as address:
        client = http.client.HTTPConnection(address.host, address.port, timeout=10)
        answers = []
        for method, path in (
            ("GET", "/healthz"),
            ("GET", "/readyz?x"),
            ("HEAD", "/metrics"),
            ("GET", "/"),
            ("POST", "/"),
        ):
            client.request(method, path)
            answer = client.getresponse()
            answers.append((answer.status, answer.read()))
            assert "Python" not in answer.getheader("Server", "")
        client.close()
    assert answers[:3] == [(200, b"alive\n"), (503, b"no round has ended well yet\n"), (200, b"")]
    assert [status for status, _ in answers[3:]] == [404, 501]


@pytest.mark.parametrize("host", ["", "localhost", "::1"])
def test_other_hosts_can_be_listened_on(host: str) -> None:
    if host == "::1" and not has_ipv6():
        pytest.skip("there is no IPv6 here")
    with served(host) as address:
        where = "[::1]" if host == "::1" else "127.0.0.1"
        with urllib.request.urlopen(f"http://{where}:{address.port}/healthz", timeout=10) as answer:
            assert answer.status == 200


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_a_client_that_says_nothing_keeps_nobody_waiting() -> None:
    with (
        served() as address,
        socket.create_connection((address.host, address.port)),
        urllib.request.urlopen(f"http://{address}/healthz", timeout=10) as answer,
    ):
        assert answer.status == 200


def test_a_port_in_use_and_an_address_of_another_machine() -> None:
    with served() as address:
        with (
            pytest.raises(InputError, match=f"{address} is in use already"),
            serving(address, Health(Clock()), Metrics()),
        ):
            pass
        every = Address("", address.port)
        with pytest.raises(InputError, match="is in use already"), serving(every, Health(Clock()), Metrics()):
            pass
    elsewhere = Address("192.0.2.1", 0)
    with pytest.raises(InputError, match="cannot be listened on"), serving(elsewhere, Health(Clock()), Metrics()):
        pass


# Metrics


def delivered(made: Plan, **fields: Any) -> Delivered:
    basis = Basis("demo", NOW, NOW, None)
    return Delivered(Drawn(made, basis, ReconcilerSpec()), **fields)


def scraped(metrics: Metrics) -> tuple[dict[str, str], dict[tuple[str, tuple[tuple[str, str], ...]], float]]:
    """A real scrape: the type of each metric by its name, and the value of each series."""
    with served(metrics=metrics) as address, urllib.request.urlopen(f"http://{address}/metrics") as answer:
        text = answer.read().decode()
    families = list(text_string_to_metric_families(text))
    types = {f"{f.name}_total" if f.type == "counter" else f.name: f.type for f in families}
    series = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}
    return types, series


def filled() -> Metrics:
    metrics = Metrics()
    metrics.ended("done")
    metrics.pushed("yes")
    metrics.solved(0.2)
    metrics.leads(lambda: True)
    metrics.delivered(delivered(planned(), commit="c" * 40), {"speed": 30.0}, NOW)
    return metrics


def test_every_metric_is_documented_with_its_type_and_labels_and_no_other() -> None:
    types, series = scraped(filled())
    documented = table(PAGE, "Metrics")
    assert set(documented) == set(types)
    for name, (kind, labels, meaning) in documented.items():
        assert kind == types[name], name
        of = {key for (one, pairs) in series for key, _ in pairs if one.startswith(name) and key != "le"}
        assert set(re.findall(r"`(\w+)`", labels)) == of, name
        assert meaning.endswith("."), name


def test_the_values_of_labels_are_documented() -> None:
    _, series = scraped(filled())

    def values(name: str) -> set[str]:
        return {pairs[0][1] for one, pairs in series if one == name}

    assert set(table(PAGE, "Results")) == set(get_args(Result)) == values("gitops_ds_rounds_total")
    rows = table(PAGE, "Metrics")
    for name in ("gitops_ds_plans_total", "gitops_ds_pushes_total", "gitops_ds_objective"):
        assert set(re.findall(r"`(\w+)`", rows[name][2])) == values(name), name
    assert values("gitops_ds_held") == set(GUARDS)


def test_a_plan_shows_in_the_metrics_and_an_old_score_goes() -> None:
    metrics = filled()
    held = planned().holding(Held("freeze", "frozen"), Held("news", "a guard of tomorrow"))
    metrics.delivered(delivered(held), {"power": 7.0}, NOW)
    _, series = scraped(metrics)

    def value(name: str, **labels: str) -> float | None:
        return series.get((f"gitops_ds_{name}", tuple(sorted(labels.items()))))

    assert (value("plans_total", status="changed"), value("plans_total", status="held")) == (1, 1)
    assert value("commits_total") == 1
    assert (value("held", guard="freeze"), value("held", guard="news"), value("held", guard="hold")) == (1, 1, 0)
    assert (value("score_age_seconds", score="power"), value("score_age_seconds", score="speed")) == (7, None)
    assert (value("objective", part="placed"), value("objective", part="score")) == (2, 115)
    assert value("last_success_timestamp_seconds") == NOW.timestamp()
    assert value("solve_seconds_count") == 1
    assert value("info", version=gitops_ds.__version__) == 1
    metrics.delivered(delivered(planned(), commit="c" * 40, is_new=False), {}, NOW)
    _, series = scraped(metrics)
    assert (value("commits_total"), value("held", guard="freeze"), value("held", guard="news")) == (1, 0, 0)


def test_a_scrape_that_asks_for_openmetrics_gets_it() -> None:
    body, kind = filled().exposed("application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_the_ages_are_those_of_the_oldest_values_that_decisions_stand_on() -> None:
    _, inventory = sample()
    made = planned()
    later = NOW + timedelta(minutes=1)
    ages = oldest_scores(made, inventory, later)
    assert ages == {"example-performance-score": 94.0}
    unknown = replace(inventory, scores=tuple(replace(one, seen_at=None) for one in inventory.scores))
    assert oldest_scores(made, unknown, later) == {}


PROMTOOL = shutil.which("promtool")


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool here: install prometheus")
def test_promtool_finds_nothing_wrong_with_the_metrics_and_the_alerts(tmp_path: Path) -> None:
    body, _ = filled().exposed("")
    assert PROMTOOL is not None
    checked = subprocess.run([PROMTOOL, "check", "metrics"], input=body, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(alerts()["spec"]))
    (tmp_path / "test.yaml").write_text(ALERT_TESTS)
    for words in (["check", "rules", "rules.yaml"], ["test", "rules", "test.yaml"]):
        done = subprocess.run([PROMTOOL, *words], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()


def alerts() -> Any:
    return yaml.safe_load(next(body for body in blocks(PAGE, "yaml") if "kind: PrometheusRule" in body))


ALERT_TESTS = """
rule_files: [rules.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'gitops_ds_leader{instance="a"}', values: '0x120'}
      - {series: 'gitops_ds_leader{instance="b"}', values: '1x30 0x90'}
      - {series: 'gitops_ds_last_success_timestamp_seconds{instance="b"}', values: '0x120'}
      - {series: 'gitops_ds_rounds_total{instance="b",result="error"}', values: '0x60 1x60'}
      - {series: 'gitops_ds_held{instance="b",guard="maxMoves"}', values: '1x120'}
      - {series: 'gitops_ds_held{instance="b",guard="freeze"}', values: '1x120'}
    alert_rule_test:
      - {eval_time: 20m, alertname: GitopsDsNobodyWorks, exp_alerts: []}
      - {eval_time: 20m, alertname: GitopsDsFails, exp_alerts: []}
      - eval_time: 40m
        alertname: GitopsDsNobodyWorks
        exp_alerts: [{exp_annotations: {summary: No replica of gitops-ds works.}}]
      - eval_time: 65m
        alertname: GitopsDsFails
        exp_alerts:
          - exp_labels: {result: error}
            exp_annotations: {summary: "Rounds end with error: somebody has to act."}
      - eval_time: 65m
        alertname: GitopsDsHeld
        exp_alerts:
          - exp_labels: {guard: maxMoves}
            exp_annotations: {summary: The guard maxMoves has held the plan for an hour.}
"""


def test_the_alerts_name_metrics_that_there_are() -> None:
    types, _ = scraped(filled())
    used = {name for group in alerts()["spec"]["groups"] for rule in group["rules"] for name in named(rule["expr"])}
    assert used
    assert used <= set(types)


def named(expression: str) -> list[str]:
    return re.findall(r"gitops_ds_\w+", expression)


# docs/watch.md


def test_every_event_is_documented_and_no_other() -> None:
    sources = "".join(path.read_text() for path in sorted((Path(gitops_ds.__file__).parent / "watch").glob("*.py")))
    sources += (Path(gitops_ds.__file__).parent / "cli" / "watch.py").read_text()
    told = set(re.findall(r'(?:log\.event|_note)\(\s*"([a-z.]+)"', sources))
    assert told == set(table(PAGE, "Logs"))


def test_the_numbers_in_the_page_are_those_of_the_code() -> None:
    from gitops_ds.hub.live.lease import DURATION

    assert f"within {GRACE:.0f} seconds" in section(PAGE, "Signals")
    assert f"It may take {QUIET / 60:.0f} minutes" in section(PAGE, "Health")
    assert f"lasts {DURATION.total_seconds():.0f} seconds" in section(PAGE, "Replicas")
    assert "`127.0.0.1:8080`" in text_of(PAGE)
