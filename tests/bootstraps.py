"""A fleet repository to bootstrap, and what the verb prints for it, as text, files and objects."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_ds.cli.main import main

URL = "https://git.example.com/platform/fleet.git"
IMAGE = "images.example.com/platform/gitops-ds:1.2.3"
INTENT = """\
apiVersion: gitops-ds.io/v1alpha1
kind: PlacementIntent
metadata: {{name: apps, namespace: default}}
spec:
  preference: {{scores: [{{name: score}}]}}
  clusters: [{{name: cluster1, policies: [policy-a]}}]
  workloads: [{{name: mwrs-app01}}]
  bindClusterSets: {sets}
"""
RECONCILER = """\
apiVersion: gitops-ds.io/v1alpha1
kind: Reconciler
metadata: {name: prod}
spec:
"""


def fleet(folder: Path, spec: str = "", sets: str = "[]") -> Path:
    """A folder with an intent that binds `sets`, and a Reconciler where its spec is given."""
    (folder / "intent").mkdir(parents=True, exist_ok=True)
    if spec:
        (folder / "intent" / "reconciler.yaml").write_text(f"{RECONCILER}{spec}")
    (folder / "intent" / "intent.yaml").write_text(INTENT.format(sets=sets))
    return folder


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `bootstrap` prints; a failure where it refuses."""
    code = main(["bootstrap", *words])
    out, err = capsys.readouterr()
    assert (code, err) == (0, ""), err
    return out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `bootstrap` says where the command line makes no sense."""
    code = main(["bootstrap", *words])
    out, err = capsys.readouterr()
    assert (code, out) == (64, ""), err
    return err


def objects(text: str) -> list[dict[str, Any]]:
    """The documents of a stream."""
    return list(yaml.safe_load_all(text))


def one(found: list[dict[str, Any]], kind: str, name: str | None = None) -> dict[str, Any]:
    """The one object of a kind, or of a name."""
    several = [obj for obj in found if obj["kind"] == kind and name in (None, obj["metadata"]["name"])]
    assert len(several) == 1, (kind, name, [obj["metadata"]["name"] for obj in several])
    return several[0]


def workflows(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    """The workflows that are printed, by name; `on` is text, as it is quoted."""
    found = {flow["name"].split()[1]: flow for flow in objects(printed(capsys, "github", *words))}
    assert set(found) == {"plan", "reconcile"}
    return found


def step(flow: dict[str, Any], name: str) -> dict[str, Any]:
    """The step of the only job that is called `name`."""
    (job,) = flow["jobs"].values()
    (found,) = [one for one in job["steps"] if one.get("name") == name]
    assert isinstance(found, dict)
    return found


def pipeline(capsys: pytest.CaptureFixture[str], repo: Path, *words: str) -> dict[str, dict[str, Any]]:
    """The jobs by name, with what they extend filled in."""
    (jobs,) = objects(printed(capsys, "gitlab", *words, f"--repo={repo}"))
    base = jobs[".gitops-ds"]
    assert all(job["extends"] == ".gitops-ds" for name, job in jobs.items() if not name.startswith("."))
    return {
        name: {**base, **job, "variables": {**base["variables"], **job["variables"]}}
        for name, job in jobs.items()
        if not name.startswith(".")
    }
