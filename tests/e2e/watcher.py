"""A running `gitops-ds watch`: the real program in a process of its own, its events, its metrics, its end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

Event = dict[str, Any]
PATIENCE = 120.0
"""Seconds after which something that must happen is given up: no test passes or fails by being slow."""


@dataclass
class Watcher:
    """The process, and every event that it has told so far."""

    process: subprocess.Popen[bytes]
    events: list[Event] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self.came:
                self.words.append(line.decode())
                if line.startswith(b"{"):
                    self.events.append(json.loads(line))
                self.came.notify_all()
        with self.came:
            self.came.notify_all()

    def named(self, event: str, **fields: Any) -> list[Event]:
        """The events of that name so far, with these fields."""
        with self.came:
            found = [one for one in self.events if one["event"] == event]
        return [one for one in found if all(one.get(key) == value for key, value in fields.items())]

    def until(self, event: str, count: int = 1, **fields: Any) -> Event:
        """Wait for the `count`-th event of that name with these fields."""
        ends = time.monotonic() + PATIENCE
        while len(found := self.named(event, **fields)) < count:
            assert time.monotonic() < ends, self.words
            assert self.process.poll() is None or len(self.named(event, **fields)) >= count, self.words
            with self.came:
                self.came.wait(0.2)
        return found[count - 1]

    def sees(self, happened: Callable[[], bool]) -> None:
        """Wait until something is so while the watcher runs."""
        ends = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < ends, self.words
            time.sleep(0.05)

    def nudge(self, **fields: Any) -> Event:
        """One round at once; its event."""
        with self.came:
            before = len([one for one in self.events if one["event"] == "round"])
        self.process.send_signal(signal.SIGHUP)
        return self.until("round", before + 1, **fields)

    @property
    def url(self) -> str:
        return f"http://{self.until('started')['listen']}"

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        """A scrape: the value of each series, by its name with its labels."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return {series(one.name, one.labels): one.value for family in families for one in family.samples}

    def end(self, *numbers: int) -> int:
        """Send these signals one after the other; the exit code."""
        for number in numbers or (signal.SIGTERM,):
            self.process.send_signal(number)
            time.sleep(0.1)
        return self.process.wait(PATIENCE)


def series(name: str, labels: Mapping[str, str]) -> str:
    said = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f"{name}{{{said}}}" if said else name


@contextmanager
def watching(*words: str, cwd: Path, env: Mapping[str, str], interval: str | None = "1h") -> Iterator[Watcher]:
    """A watcher that runs until the end of `with`, at the latest; interval None: the Reconciler's."""
    line = [sys.executable, "-P", "-m", "gitops_ds", "watch", "--log-format=json"]
    line += [] if interval is None else [f"--interval={interval}"]
    line += [] if any(word.startswith("--listen") for word in words) else ["--listen=127.0.0.1:0"]
    process = subprocess.Popen(
        [*line, *words], cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    watcher = Watcher(process)
    thread = threading.Thread(target=watcher.read, daemon=True)
    thread.start()
    try:
        yield watcher
    finally:
        process.kill()
        process.wait()
        thread.join(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


def children(pid: int) -> set[int]:
    """The processes that `pid` started and that still run, and theirs."""
    parents: dict[int, set[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            state, parent = stat.rpartition(")")[2].split()[:2]
            if state != "Z":
                parents.setdefault(int(parent), set()).add(int(entry.name))
    found, new = set[int](), {pid}
    while new:
        new = {child for one in new for child in parents.get(one, ())}
        found |= new
    return found


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def memory(pid: int) -> int:
    """The resident set in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
