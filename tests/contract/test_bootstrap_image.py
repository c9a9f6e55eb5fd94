"""The Dockerfile, without an engine: what it says, and its steps done here with what it copies and nothing else."""

import fnmatch
import shlex
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from dockerfile_parse import DockerfileParser

from gitops_ds import __version__
from gitops_ds.bootstrap.pod import USER

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    parser = DockerfileParser(fileobj=BytesIO((TOP / "Dockerfile").read_bytes()))
    return [line for line in parser.structure if line["instruction"] != "COMMENT"]


def values(lines: list[dict[str, Any]], instruction: str) -> list[str]:
    return [line["value"] for line in lines if line["instruction"] == instruction]


def copied(lines: list[dict[str, Any]]) -> list[str]:
    """What is copied out of the repository."""
    words = [shlex.split(value) for value in values(lines, "COPY") if "--from" not in value]
    return [source for line in words for source in line[:-1]]


def is_ignored(path: str) -> bool:
    """What .dockerignore says of a path: its last rule that fits it, or a folder that it is in."""
    ignored = False
    for rule in (TOP / ".dockerignore").read_text().splitlines():
        if not rule or rule.startswith("#"):
            continue
        pattern = rule.removeprefix("!").rstrip("/").removeprefix("**/")
        parts = path.split("/")
        prefixes = ["/".join(parts[: i + 1]) for i in range(len(parts))]
        candidates = [*prefixes, *parts] if "**/" in rule else prefixes
        if any(fnmatch.fnmatchcase(one, pattern) for one in candidates):
            ignored = not rule.startswith("!")
    return ignored


def test_it_runs_as_a_user_without_rights_that_kubernetes_can_tell(lines: list[dict[str, Any]]) -> None:
    assert values(lines, "USER") == [f"{USER}:{USER}"]
    last = [line["instruction"] for line in lines]
    assert last.index("USER") > max(i for i, name in enumerate(last) if name in ("RUN", "COPY"))
    assert values(lines, "ENTRYPOINT") == ['["gitops-ds"]']
    made = values(lines, "RUN")[-1]
    assert f"useradd --uid {USER} --gid {USER}" in made
    assert "git openssh-client" in made


def test_nothing_is_named_but_the_base_image(lines: list[dict[str, Any]]) -> None:
    assert values(lines, "FROM") == ["python:3.12-slim AS build", "python:3.12-slim"]
    assert "://" not in (TOP / "Dockerfile").read_text()
    assert not values(lines, "ADD")
    assert all("--no-cache-dir" in part for line in values(lines, "RUN") for part in line.split("&&") if "pip " in part)


def test_what_is_copied_is_there_and_not_ignored(lines: list[dict[str, Any]]) -> None:
    for source in copied(lines):
        assert (TOP / source).exists(), source
        assert not is_ignored(source.rstrip("/")), source
    for path in (".git/config", ".venv/bin/python", "tests/builders.py", "intent/gpu-inference.yaml", "Dockerfile"):
        assert is_ignored(path), path
    assert is_ignored("gitops_ds/cli/__pycache__/main.cpython-312.pyc")
    assert not is_ignored("gitops_ds/cli/main.py")
    assert not is_ignored("gitops_ds/sample/hub/scores.yaml")


def test_what_is_copied_makes_a_wheel_that_runs(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    source, wheels, site = tmp_path / "src", tmp_path / "wheels", tmp_path / "site"
    for name in copied(lines):
        for path in [TOP / name] if (TOP / name).is_file() else sorted((TOP / name).rglob("*")):
            inside = str(path.relative_to(TOP))
            if path.is_file() and not is_ignored(inside):
                (source / inside).parent.mkdir(parents=True, exist_ok=True)
                (source / inside).write_bytes(path.read_bytes())
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)]
    done = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    code = "from gitops_ds.cli.main import run; run()"
    line = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(site)!r}); {code}"]
    for words, said in ((["--version"], __version__), (["demo", str(tmp_path / "demo")], "commit ")):
        done = subprocess.run([*line, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
    where = subprocess.run(
        [*line[:3], f"{line[3].split(';')[0]}; sys.path.insert(0, {str(site)!r}); import gitops_ds; print(gitops_ds)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(site) in where.stdout
