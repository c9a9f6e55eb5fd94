"""Secrets planted all over a fleet, and the proof that none of them comes out anywhere.

planted = plant(fleet)              # wrappers that note every argument list, a token in the environment
answer = planted.run("plan")        # the verb, with all of it in place
planted.assert_nowhere(answer)      # nothing in what it said, in any argument list, or in a commit since
"""

import base64
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests.e2e.fleet import Answer, Fleet

TOKEN = "t0ken-marker/5f2c+91"
PASSWORD = "passw0rd-marker:77de"
VALUE = "s3cret-marker=a0b1"
MARKERS = (TOKEN, PASSWORD, VALUE)
WATCHED = ("git", "ssh", "ssh-keygen", "ssh-add", "gpg", "env", "sh", "curl")
"""Programs whose arguments are noted. Those that git starts by itself get what git was given."""


def forms(marker: str) -> Iterator[bytes]:
    """How a marker may look: as it is, escaped for a URL, and inside base64 wherever it may begin there."""
    raw = marker.encode()
    yield raw
    yield quote(marker, safe="").encode()
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + raw).decode()
        start, end = (4, len(coded) - 4) if offset else (0, len(coded) - 4)
        yield coded[start:end].encode()


def assert_clean(content: bytes | str, where: str) -> None:
    """No marker in any form in `content`."""
    data = content.encode(errors="replace") if isinstance(content, str) else content
    for marker in MARKERS:
        for form in forms(marker):
            assert form not in data, f"{marker} is in {where}"


@dataclass
class Planted:
    """A fleet with secrets in its environment; `since` is the commit that it starts at."""

    fleet: Fleet
    since: str
    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """Every argument list, NUL between the words."""
        return self.folder / "arguments"

    def run(self, *words: str) -> Answer:
        """Run a verb of the fleet with what is planted."""
        return self.fleet.run(*words, env=self.env)

    def assert_nowhere(self, *answers: Answer) -> None:
        """No marker in answers, argument lists, new commits, or settings and logs of the repository."""
        for answer in answers:
            assert "Traceback" not in answer.err
            assert_clean(answer.out, "standard output")
            assert_clean(answer.err, "standard error")
        assert_clean(self.log.read_bytes(), "an argument list")
        new = self.fleet.git("rev-list", "--all", f"^{self.since}").split()
        for commit in new:
            assert_clean(self.fleet.git("cat-file", "commit", commit), f"commit {commit}")
            assert_clean(self.fleet.git("diff-tree", "-p", "--root", commit), f"the changes of {commit}")
        for path in (self.fleet.top / ".git").rglob("*"):
            if path.is_file() and "objects" not in path.parts:
                assert_clean(path.read_bytes(), str(path))


def plant(fleet: Fleet) -> Planted:
    """Put a token into the environment, and in front of each program of WATCHED one that notes its arguments."""
    folder = fleet.root / "watched"
    folder.mkdir()
    planted = Planted(fleet, fleet.head, folder)
    planted.log.touch()
    for name in WATCHED:
        real = shutil.which(name)
        if real is None:
            continue
        wrapper = folder / name
        note = f"printf '%s\\0' {name} \"$@\" >> '{planted.log}'"
        wrapper.write_text(f'#!/bin/sh\n{note}\nexec {real} "$@"\n'.replace("#!/bin/sh", f"#!{shutil.which('sh')}"))
        wrapper.chmod(0o755)
    planted.env = {"PATH": f"{folder}:{fleet.env['PATH']}", "GITOPS_DS_TOKEN": TOKEN}
    return planted


def secret_manifest() -> str:
    """A Secret with a value, inside a ManifestWorkReplicaSet."""
    coded = base64.b64encode(VALUE.encode()).decode()
    return f"""\
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {{name: mwrs-secret, namespace: default}}
spec:
  placementRefs: [{{name: p}}]
  manifestWorkTemplate:
    workload:
      manifests:
      - apiVersion: v1
        kind: Secret
        metadata: {{name: db, namespace: shop}}
        data: {{password: {coded}}}
        stringData: {{plain: "{VALUE}"}}
"""


def noted(planted: Planted) -> list[str]:
    """The words of all argument lists."""
    return planted.log.read_bytes().decode(errors="replace").split("\0")
