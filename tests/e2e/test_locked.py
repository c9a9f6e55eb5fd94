"""`render --locked`: the tree again from what git holds alone."""

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, assert_refused, cli, files_below


def _locked(fleet: Fleet) -> dict[str, bytes]:
    out = fleet.root / "out"
    answer = cli("render", "--locked", "--to", str(out), cwd=fleet.top, env=fleet.env)
    assert answer.code == 0, answer
    return files_below(out / "rendered")


def test_it_is_what_the_head_commit_holds(settled: Fleet) -> None:
    assert _locked(settled) == settled.rendered()


def test_it_is_that_after_a_second_plan_with_a_kept_workload(settled: Fleet) -> None:
    text = settled.file("hub/workloads.yaml").read_text()
    head, _, tail = text.rpartition('resource-request-amount: "2"')
    settled.write("hub/workloads.yaml", f'{head}resource-request-amount: "9"{tail}')
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    settled.reconcile(code=4)
    assert _locked(settled) == settled.rendered()


def test_a_comment_and_another_order_are_no_change(settled: Fleet) -> None:
    settled.edit(
        INTENT, "    - name: mwrs-app01\n    - name: mwrs-app02\n", "    - name: mwrs-app02\n    - name: mwrs-app01\n"
    )
    settled.edit(INTENT, "spec:\n", "# only a comment\nspec:\n", 1)
    settled.commit("Tidied")
    assert _locked(settled) == settled.rendered()
    assert settled.reconcile()["status"] == "unchanged"


def test_another_wish_is_refused(settled: Fleet) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    answer = cli("render", "--locked", cwd=settled.top, env=settled.env)
    assert_refused(answer, 1, "default/gpu-inference", "rendered/gitops-ds.lock")


def test_without_a_lock_it_is_refused(fresh: Fleet) -> None:
    assert_refused(
        cli("render", "--locked", cwd=fresh.top, env=fresh.env), 1, "no rendered/gitops-ds.lock", "reconcile"
    )


def test_it_overwrites_no_folder(settled: Fleet) -> None:
    before = settled.state()
    answer = cli("render", "--locked", "--to", ".", cwd=settled.top, env=settled.env)
    assert_refused(answer, 64, "not empty")
    assert settled.state() == before


def test_without_a_folder_it_lists_what_it_would_write(settled: Fleet) -> None:
    answer = cli("render", "--locked", cwd=settled.top, env=settled.env)
    assert answer.out == settled.file("rendered/gitops-ds.inventory").read_text()
