"""The git hook that ships, run by git itself."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, cli

HOOK = Path(__file__).parents[2] / "hooks" / "pre-commit"
PLACEMENT = "rendered/default/gpu-inference/placement-app01-placement.yaml"


@pytest.fixture
def hooked(settled: Fleet) -> Fleet:
    (settled.top / "hooks").mkdir()
    shutil.copy(HOOK, settled.top / "hooks" / "pre-commit")
    settled.commit("The hook")
    settled.git("config", "core.hooksPath", "hooks")
    return settled


def _commit(fleet: Fleet, *words: str) -> tuple[bool, str]:
    """Whether `git commit` made a commit, and what was said."""
    before = fleet.commits
    said = fleet.git("commit", "-m", "change", *words, check=False, env={"PATH": _path(fleet)})
    return fleet.commits > before, said


def _path(fleet: Fleet) -> str:
    """A PATH on which gitops-ds is the one under test."""
    folder = fleet.root / "bin"
    folder.mkdir(exist_ok=True)
    script = folder / "gitops-ds"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m gitops_ds "$@"\n')
    script.chmod(0o755)
    return f"{folder}:{fleet.env['PATH']}"


def test_a_good_commit_passes(hooked: Fleet) -> None:
    hooked.edit(INTENT, PERFORMANCE, POWER)
    made, said = _commit(hooked, "--all")
    assert made, said


def test_a_faulty_intent_is_refused(hooked: Fleet) -> None:
    hooked.edit(INTENT, "goal: place-first", "gaol: place-first")
    hooked.git("add", INTENT)
    hooked.edit(INTENT, "gaol: place-first", "goal: place-first")
    made, said = _commit(hooked)
    assert not made, "what is staged counts, not what stands in the working tree"
    assert f"{INTENT}:13:5" in said
    assert "did you mean goal" in said


def test_a_fault_that_is_not_staged_does_not_matter(hooked: Fleet) -> None:
    hooked.write("README.md", "new")
    hooked.git("add", "README.md")
    hooked.edit(INTENT, "goal: place-first", "gaol: place-first")
    made, said = _commit(hooked)
    assert made, said


def test_a_hand_edit_of_rendered_is_refused(hooked: Fleet) -> None:
    hooked.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 0")
    made, said = _commit(hooked, "--all")
    assert not made
    assert f"{PLACEMENT} was edited by hand" in said
    assert "git restore" in said


def test_a_removed_file_and_a_removed_inventory_are_refused(hooked: Fleet) -> None:
    hooked.git("rm", "--quiet", PLACEMENT)
    made, said = _commit(hooked)
    assert not made, said
    hooked.git("rm", "--quiet", "rendered/gitops-ds.inventory")
    made, said = _commit(hooked)
    assert not made, said
    assert "gitops-ds.inventory was removed" in said


def test_a_commit_of_single_files_is_checked_by_what_it_holds(hooked: Fleet) -> None:
    """`git commit FILE` gives the hook an index of its own."""
    hooked.edit(INTENT, "goal: place-first", "gaol: place-first")
    hooked.git("add", INTENT)
    hooked.write("README.md", "new")
    hooked.git("add", "--intent-to-add", "README.md")
    made, said = _commit(hooked, "--", "README.md")
    assert made, said
    made, said = _commit(hooked, "--", INTENT)
    assert not made, said


def test_the_commit_of_reconcile_passes_even_when_it_is_made_again(hooked: Fleet) -> None:
    hooked.edit(INTENT, PERFORMANCE, POWER)
    _commit(hooked, "--all")
    commit = hooked.reconcile()["commit"]
    assert commit == hooked.head
    hooked.git("reset", "--quiet", "--soft", "HEAD^")
    made, said = _commit(hooked)
    assert made, said


def test_it_works_in_a_linked_worktree_and_from_a_folder_below(hooked: Fleet) -> None:
    hooked.git("worktree", "add", "--quiet", "../linked")
    linked = hooked.root / "linked"
    intent = linked / INTENT
    intent.write_text(intent.read_text().replace("goal: place-first", "gaol: place-first"))
    line = ["git", "-c", "user.name=P", "-c", "user.email=p@example.com", "commit", "--all", "-m", "broken"]
    env = {**hooked.env, "PATH": _path(hooked)}
    done = subprocess.run(line, cwd=linked / "policies", env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{INTENT}:13:5" in done.stderr


def test_without_gitops_ds_it_says_so_and_lets_nothing_pass(hooked: Fleet) -> None:
    folder = hooked.root / "few"
    folder.mkdir()
    for name in ("git", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or "")
    hooked.write("README.md", "new")
    hooked.git("add", "README.md")
    said = hooked.git("commit", "-m", "change", check=False, env={"PATH": str(folder)})
    assert "gitops-ds is not on the PATH" in said
    assert hooked.git("log", "-1", "--format=%s").strip() == "The hook"


def test_init_starts_a_repository_whose_first_commit_passes_its_own_hook(hooked: Fleet) -> None:
    """The steps that init itself names, in a folder that is no repository yet."""
    new = Fleet(hooked.root / "new")
    new.top.mkdir(parents=True)
    answer = cli("init", "--name=first", cwd=new.top, env=hooked.env)
    assert answer.code == 0, answer
    assert "git config core.hooksPath hooks" in answer.out
    new.git("init", "--quiet")
    new.git("config", "core.hooksPath", "hooks")
    new.git("add", "--all")
    said = new.git("commit", "-m", "first", env={"PATH": _path(hooked)})
    assert new.commits == 1, said
    assert new.file("hooks/pre-commit").read_bytes() == HOOK.read_bytes()
    first_line = new.file("intent/first.yaml").read_text().splitlines()[0]
    assert first_line == "# yaml-language-server: $schema=../.gitops-ds/intent.schema.json"
    assert new.file(".gitops-ds/intent.schema.json").is_file()
    again = cli("init", "--name=first", cwd=new.top, env=hooked.env)
    assert again.code == 0
    assert again.out.count("it is there already") == 4
    assert new.git("status", "--porcelain") == ""


def test_init_writes_nothing_through_a_link_that_leads_elsewhere(hooked: Fleet) -> None:
    new = hooked.root / "new"
    (hooked.root / "outside").mkdir()
    new.mkdir()
    (new / "intent").symlink_to(hooked.root / "outside")
    assert cli("init", cwd=new, env=hooked.env).code == 1
    assert not list((hooked.root / "outside").iterdir())
    assert cli("init", "--name=../x", cwd=new, env=hooked.env).code == 1
