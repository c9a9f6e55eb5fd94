"""The branches and remotes that a Reconciler may name, alone and beside another one."""

from __future__ import annotations

import pytest

from gitops_ds.errors import InputError
from gitops_ds.intent.load import load_all
from gitops_ds.sample import sample_folder

SAMPLE = {"intent/fleet.yaml": next((sample_folder() / "intent").glob("*.yaml")).read_bytes()}


def faults(*several: str) -> list[str]:
    """What is wrong with Reconcilers a, b, ... that say this of git."""
    texts = [
        f"apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: {name}}}\n"
        f"spec: {{rendered: rendered/{name}, git: {git}}}\n"
        for name, git in zip("ab", several, strict=False)
    ]
    try:
        load_all({**SAMPLE, "intent/reconcilers.yaml": "---\n".join(texts).encode()})
    except InputError as error:
        return [str(fault) for fault in error.faults]
    return []


@pytest.mark.parametrize(
    "name", ["main", "a/b", "env-next", "feature/#12", "v1.2", "zweig/\u00e4", "refs", "heads/main"]
)
def test_a_branch(name: str) -> None:
    assert faults(f'{{branch: "{name}"}}') == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "@",
        "HEAD",
        "refs/heads/main",
        "refs/tags/v1",
        "a b",
        "-x",
        "/a",
        "a/",
        "a//b",
        "a..b",
        "x/.y",
        "a.",
        "a.lock",
        "a.lock/b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a@{1}",
        "${name}",
        "a\\nb",
    ],
)
def test_no_branch(name: str) -> None:
    for git in (f'{{branch: "{name}"}}', f'{{pullRequest: {{promoter: {{branch: "{name}"}}}}}}'):
        assert "is no name of a branch" in "".join(faults(git))
    if "$" not in name:
        assert "is no name of a branch" in "".join(faults(f'{{pullRequest: {{branch: "{name}"}}}}'))


@pytest.mark.parametrize(
    ("several", "said"),
    [
        (("{branch: main, pullRequest: {branch: main}}",), "would propose main to be merged into itself"),
        (("{branch: x-a, pullRequest: {branch: 'x-${name}'}}",), "would propose x-a to be merged into itself"),
        (("{pullRequest: {branch: x}}", "{pullRequest: {branch: x}}"), "have the same pull-request branch, x"),
        (("{pullRequest: {branch: 'x-${name}'}}", "{pullRequest: {branch: x-a}}"), "same pull-request branch, x-a"),
        (("{branch: x}", "{pullRequest: {branch: x}}"), "reconciler b would replace x, which a plans from"),
        (("{pullRequest: {branch: x}}", "{branch: x}"), "reconciler a would replace x, which b plans from"),
        (("{pullRequest: {branch: x}}", "{remote: other, pullRequest: {branch: x}}"), ""),
        (("{branch: main}", "{branch: main}"), ""),
        (("{pullRequest: {promoter: {branch: x}}}", "{pullRequest: {promoter: {branch: x}}}"), ""),
    ],
)
def test_no_branch_is_used_for_two_things(several: tuple[str, ...], said: str) -> None:
    found = faults(*several)
    assert len(found) == (1 if said else 0), found
    assert said in "".join(found)
    assert all(":4:" in one or ":9:" in one for one in found)


@pytest.mark.parametrize(
    "remote", ["origin", "git@h:a/b.git", "ssh://git@h:22/a", "https://h:8/a@b", "file:///srv/a b", "/srv/a"]
)
def test_a_remote(remote: str) -> None:
    assert faults(f'{{remote: "{remote}"}}') == []


@pytest.mark.parametrize(
    "remote", ["https://u:S3CRET@h/a", "https://S3CRET@h/a", "ssh://u:S3CRET@h/a", "http://u:S3CRET"]
)
def test_a_remote_with_a_secret_is_refused_and_not_repeated(remote: str) -> None:
    (found,) = faults(f'{{remote: "{remote}"}}')
    assert "S3CRET" not in found
