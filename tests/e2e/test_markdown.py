"""`--output markdown` on the real command line: for a pull request's body, with nothing else on standard output."""

import pytest

from tests.e2e.fleet import Fleet


def test_a_plan_as_markdown_can_be_posted_as_it_is(fresh: Fleet) -> None:
    answer = fresh.run("plan", "--output", "markdown", "--detailed-exitcode")
    assert (answer.code, answer.err) == (2, "")
    assert answer.out.startswith("## gitops-ds: place 2 workloads, configure 2 clusters\n\n**Changes ")
    assert "\nHub: `snapshot:" in answer.out
    assert answer.out.endswith("\n\n</details>\n")


def test_a_diff_as_markdown_folds_each_file(fresh: Fleet) -> None:
    answer = fresh.run("diff", "-o", "markdown")
    assert answer.code == 0
    assert "<summary>add <code>rendered/gitops-ds.lock</code></summary>\n\n```diff\n" in answer.out


def test_a_plan_that_changes_nothing_says_so_in_markdown(settled: Fleet) -> None:
    assert settled.run("plan", "-o", "markdown").out.startswith(
        "## gitops-ds: nothing changes\n\n**Nothing changes.**\n"
    )
    assert settled.run("diff", "-o", "markdown").out.endswith("**Nothing changes.**\n")


@pytest.mark.parametrize("verb", ["reconcile", "validate", "explain"])
def test_other_verbs_have_no_markdown(fresh: Fleet, verb: str) -> None:
    assert fresh.run(verb, "-o", "markdown").code == 64
