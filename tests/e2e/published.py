"""A fleet with a remote: a bare repository beside it, which its branch main was pushed to."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.fleet import Answer, Fleet


@dataclass(frozen=True)
class Published:
    """`fleet` is a clone whose `origin` is `bare`."""

    fleet: Fleet
    bare: Path

    def push(self, *words: str, hub: str | None = None, **options: Any) -> Answer:
        """Run `reconcile --push` in the clone."""
        return self.fleet.run("reconcile", "--push", f"--hub=snapshot:{hub or self.fleet.hub}", *words, **options)

    def log(self, form: str = "%H", *words: str, branch: str = "main") -> list[str]:
        """The remote branch's commits, newest first, each in a form of `git log`."""
        return [line for line in self.git("log", f"--format={form}", *words, branch, "--").splitlines() if line]

    @property
    def head(self) -> str:
        return self.git("rev-parse", "main").strip()

    def show(self, path: str, branch: str = "main") -> str:
        return self.git("show", f"{branch}:{path}")

    def git(self, *words: str, check: bool = True) -> str:
        """Run git in the remote itself."""
        line = ["git", "-C", str(self.bare), *words]
        done = subprocess.run(line, capture_output=True, check=False, env=self.fleet.env)
        assert done.returncode == 0 or not check, done.stderr.decode()
        return done.stdout.decode(errors="replace")

    def clone(self, folder: Path, *words: str) -> Fleet:
        """Another clone, with the same snapshot of the hub beside it."""
        folder.mkdir(parents=True)
        (folder / "hub").symlink_to(self.fleet.hub)
        (folder / "home").mkdir()
        line = ["git", "clone", "--quiet", *words, f"file://{self.bare}", str(folder / "fleet")]
        subprocess.run(line, check=True, capture_output=True, env=self.fleet.env)
        return Fleet(folder)


def published(fleet: Fleet) -> Published:
    """`fleet` pushed to a new bare repository."""
    bare = fleet.root / "remote.git"
    fleet.git("branch", "-M", "main")
    fleet.git("clone", "--quiet", "--bare", ".", str(bare))
    fleet.git("remote", "add", "origin", f"file://{bare}")
    fleet.git("fetch", "--quiet", "origin")
    return Published(fleet, bare)


def hook(bare: Path, name: str, script: str) -> None:
    """A server-side hook."""
    path = bare / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
