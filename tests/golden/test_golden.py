"""Whole sample repositories, rendered: each folder here holds a fleet and what gitops-ds makes of it.

    <case>/fleet/{intent,policies,workloads}   the repository
    <case>/hub                                 the snapshot of its hub; the sample's own where there is none
    <case>/fleet/rendered, plan.txt, message.txt, exit-code

The sample that ships is a case too: its repository is taken from the package. After a change that is meant,
`pytest tests/golden --update-golden` rewrites what is expected; the difference is then read in review.
"""

import re
import shutil
from pathlib import Path

import pytest

from gitops_ds.sample import sample_folder
from tests.e2e.fleet import Fleet, files_below

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in HERE.iterdir() if (folder / "case.md").is_file())
FROM, TO = "example-performance-score", "example-powerconsumption-score"


@pytest.mark.parametrize("case", CASES)
def test_a_fleet_renders_as_it_did(case: str, tmp_path: Path, update_golden: bool) -> None:
    fleet = _fleet(HERE / case, tmp_path / "root")
    answer = fleet.run("reconcile")
    assert all(line.startswith("warning: the snapshot is ") for line in answer.err.splitlines())
    found = {f"rendered/{path}": content for path, content in fleet.rendered().items()}
    plan = re.sub(r"\n\ncommit [0-9a-f]{40}\n$", "\n", answer.out).replace(str(fleet.root), "/ROOT")
    plan = re.sub(r"(?m)^(  captured .*), \d+\w old$", r"\1, AGE old", plan)
    found["plan.txt"] = re.sub(r"(?m)^(  captured .*; scores as of ).*", r"\1NOW", plan).encode()
    found["message.txt"] = fleet.git("log", "-1", "--format=%B").rstrip().encode() + b"\n"
    found["exit-code"] = f"{answer.code}\n".encode()
    # The version of the solver stands in the lock, and so in the digests of lock, inventory and message.
    found = {path: _settled(content) for path, content in found.items()}
    expected = HERE / case / "expected"
    if update_golden:
        shutil.rmtree(expected, ignore_errors=True)
        for path, content in found.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_bytes(content)
    assert found == files_below(expected)


def _settled(content: bytes) -> bytes:
    content = re.sub(rb"highspy [0-9.]+", b"highspy VERSION", content)
    content = re.sub(rb"[0-9a-f]{64}(?=  rendered/gitops-ds.lock)", b"DIGEST", content)
    content = re.sub(rb"(Gitops-Ds-(?:Plan|Lock): )[0-9a-f]{64}", rb"\1DIGEST", content)
    content = re.sub(rb"(Gitops-Ds-Base: )[0-9a-f]{40}", rb"\1COMMIT", content)
    return re.sub(rb"(Gitops-Ds-Version: ).*", rb"\1VERSION", content)


def _fleet(case: Path, root: Path) -> Fleet:
    """The case as a repository with one commit, its hub beside it."""
    fleet = Fleet(root)
    (root / "home").mkdir(parents=True)
    own = case / "fleet"
    for part in ("intent", "policies"):
        shutil.copytree(own / part if (own / part).is_dir() else sample_folder() / part, fleet.top / part)
    shutil.copytree(case / "hub" if (case / "hub").is_dir() else sample_folder() / "hub", fleet.hub)
    if (own / "workloads").is_dir():
        shutil.copytree(own / "workloads", fleet.top / "workloads")
    if (case / "power").is_file():
        fleet.edit("intent/gpu-inference.yaml", FROM, TO)
    fleet.git("init", "--quiet")
    fleet.commit("The fleet")
    return fleet
