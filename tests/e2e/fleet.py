"""A fleet repository on disk with a snapshot of its hub, and the real command line run on it as a subprocess."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitops_ds.sample import sample_folder

INTENT = "intent/gpu-inference.yaml"
PERFORMANCE, POWER = "example-performance-score", "example-powerconsumption-score"


@dataclass(frozen=True)
class Answer:
    """What one run of the command line gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document: a failure where there is anything else on it."""
        return json.loads(self.out)


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment with nothing of the user's: no identity for git, and every warning an error."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONWARNINGS": "error",
        "GIT_CONFIG_NOSYSTEM": "1",
        **(extra or {}),
    }


def cli(*words: str, cwd: Path, env: Mapping[str, str], by_modes: bool = False, **options: Any) -> Answer:
    """Run `python -m gitops_ds` and wait for it; `by_modes`: bound by the modes of files, even as root."""
    line = [sys.executable, "-P", "-m", "gitops_ds", *words]
    if by_modes and os.geteuid() == 0:
        line = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *line]
    done = subprocess.run(line, cwd=cwd, env=env, capture_output=True, timeout=60, check=False, **options)
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass(frozen=True)
class Fleet:
    """`top` is the repository, `hub` the snapshot folder beside it, `home` an empty home."""

    root: Path

    @property
    def top(self) -> Path:
        return self.root / "fleet"

    @property
    def hub(self) -> Path:
        return self.root / "hub"

    @property
    def env(self) -> dict[str, str]:
        return environment(self.root / "home")

    def run(self, *words: str, env: Mapping[str, str] | None = None, **options: Any) -> Answer:
        """Run a verb on the repository; verbs that need a hub get the snapshot unless --hub is among the words."""
        needs = words[:1] and words[0] in {"plan", "diff", "reconcile", "explain", "render"}
        hub = [f"--hub=snapshot:{self.hub}"] if needs and not any(w.startswith("--hub") for w in words) else []
        return cli(*words, *hub, cwd=self.top, env={**self.env, **(env or {})}, **options)

    def plan(self) -> Any:
        """The plan as JSON."""
        return self.run("plan", "--output=json").json

    def reconcile(self, *words: str, code: int = 0) -> Any:
        """The plan that reconcile prints as JSON; a failure where the exit code is another."""
        answer = self.run("reconcile", "--output=json", *words)
        assert answer.code == code, answer
        return answer.json

    def git(self, *words: str, check: bool = True, env: Mapping[str, str] | None = None) -> str:
        """Run git as a user with a name would."""
        user = ("-c", "user.name=Pat Doe", "-c", "user.email=pat@example.com", "-c", "init.defaultBranch=main")
        line = ["git", *user, *words]
        done = subprocess.run(line, cwd=self.top, env={**self.env, **(env or {})}, capture_output=True, check=False)
        assert done.returncode == 0 or not check, done.stderr.decode()
        return (done.stdout + done.stderr).decode(errors="replace")

    def commit(self, message: str = "change") -> None:
        """Commit everything that is there."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", message)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    @property
    def commits(self) -> int:
        return int(self.git("rev-list", "--count", "HEAD"))

    def state(self) -> tuple[str, str, dict[str, str]]:
        """All that a verb which fails must leave as it is: the head, git's status, and each file outside .git."""
        files = sorted(p for p in self.top.rglob("*") if ".git" not in p.relative_to(self.top).parts and p.is_file())
        digests = {
            str(p.relative_to(self.top)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in files
            if os.access(p, os.R_OK)
        }
        head = self.git("rev-parse", "HEAD", check=False)
        return head, self.git("status", "--porcelain", check=False), digests

    def edit(self, path: str, old: str, new: str, count: int = -1) -> None:
        """Replace text in a file of the repository, or of the hub where the path begins with hub/."""
        file = self.file(path)
        text = file.read_text()
        assert old in text, (path, old)
        file.write_text(text.replace(old, new, count))

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file of the repository, or of the hub where the path begins with hub/."""
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def file(self, path: str) -> Path:
        return self.root / path if path.startswith("hub/") else self.top / path

    def rendered(self) -> dict[str, bytes]:
        """The files below rendered/ in the working tree."""
        return files_below(self.top / "rendered")


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, by its path from there."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def new_fleet(root: Path) -> Fleet:
    """The shipped sample as a repository with one commit, nothing rendered yet."""
    fleet = Fleet(root)
    (root / "home").mkdir(parents=True)
    for part in ("intent", "policies"):
        shutil.copytree(sample_folder() / part, fleet.top / part)
    shutil.copytree(sample_folder() / "hub", fleet.hub)
    fleet.git("init", "--quiet")
    fleet.commit("The intent of the fleet")
    return fleet


def copy_of(fleet: Fleet, root: Path) -> Fleet:
    """The same fleet elsewhere, to be changed at will."""
    shutil.copytree(fleet.root, root, symlinks=True)
    return Fleet(root)


def placed(plan: Any) -> dict[str, tuple[str, str | None]]:
    """Where a plan in JSON puts each workload: cluster and policy."""
    return {d["workload"]: (d["cluster"], d["policy"]) for d in plan["decisions"]}


def assert_refused(answer: Answer, code: int, *said: str, most: int = 12) -> None:
    """A refusal as a person wants it: the exit code, no output, a few lines that say all of `said`, no traceback."""
    assert answer.code == code, answer
    assert answer.out == "", answer
    assert "Traceback" not in answer.err
    lines = answer.err.splitlines()
    assert 0 < len(lines) <= most, answer.err
    assert_plain(answer.err)
    for words in said:
        assert words in answer.err, answer.err


def assert_plain(text: str) -> None:
    """No control character that a terminal would obey."""
    bad = [c for c in text if (ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) <= 0x9F]
    assert not bad, bad


def assert_narrow(lines: Sequence[str], width: int = 80) -> None:
    """No line wider than a terminal, but for words that cannot be broken: ids, names and paths."""
    for line in lines:
        longest = max(map(len, line.split()), default=0)
        assert len(line) <= width or len(line) - longest <= 30, line
