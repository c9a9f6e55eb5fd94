"""A reconciler that writes to another folder than before, by the real command line: held, or moved along."""

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet


def reconciler(name: str, rendered: str, intents: str = "intent", guards: str = "{}") -> str:
    spec = f"spec: {{rendered: {rendered}, intents: {intents}, guards: {guards}}}"
    return f"apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: {name}}}\n{spec}\n"


def held(plan: dict[str, list[dict[str, str]]]) -> list[tuple[str, str]]:
    return [(one["guard"], one["text"]) for one in plan["held"]]


def moved_to(fleet: Fleet, rendered: str, guards: str = "{}") -> None:
    fleet.write("intent/r.yaml", reconciler("prod", rendered, guards=guards))
    fleet.edit(INTENT, PERFORMANCE, POWER)
    fleet.commit("power, elsewhere")


@pytest.mark.parametrize("named", [False, True])
def test_another_folder_is_held_until_what_was_written_is_moved_along(settled: Fleet, named: bool) -> None:
    if named:
        settled.write("intent/r.yaml", reconciler("prod", "rendered"))
        settled.commit("a name")
    moved_to(settled, "out", "{minInterval: 24h}")
    before = settled.state()
    ((guard, text),) = held(settled.reconcile(code=3))
    assert (guard, settled.state()) == ("moved", before)
    assert "rendered/ still holds what it wrote: `git mv rendered out`" in text
    settled.git("mv", "rendered", "out")
    settled.commit("moved along")
    assert settled.run("validate").code == 0
    assert [guard for guard, _ in held(settled.reconcile(code=3))] == ["minInterval"], "the lock came along"
    settled.edit("intent/r.yaml", "{minInterval: 24h}", "{}")
    settled.commit("let it")
    assert settled.reconcile()["status"] == "changed"
    assert not settled.file("rendered").exists()
    assert settled.file("out/gitops-ds.inventory").read_text().count("  rendered/") == 0
    assert settled.reconcile()["status"] == "unchanged"
    assert settled.run("verify", "HEAD").code == 0


def test_a_move_alone_writes_the_inventory_anew_and_still_sees_edits(settled: Fleet) -> None:
    settled.write("intent/r.yaml", reconciler("prod", "out"))
    settled.git("mv", "rendered", "out")
    settled.commit("moved")
    path = next(p for p in sorted(settled.file("out").rglob("placement-*.yaml")))
    text = path.read_text()
    path.write_text(f"{text}# mine\n")
    settled.commit("edited")
    assert [guard for guard, _ in held(settled.reconcile(code=3))] == ["edited"]
    path.write_text(text)
    settled.commit("undone")
    made = settled.reconcile()
    changed = settled.git("show", "--name-only", "--format=", made["commit"]).split()
    assert changed == ["out/gitops-ds.inventory"]


def test_a_folder_that_was_removed_along_is_settled_by_name(settled: Fleet) -> None:
    settled.git("rm", "-rq", "rendered")
    moved_to(settled, "out")
    ours = settled.git("rev-parse", "HEAD~1").strip()
    ((guard, text),) = held(settled.reconcile(code=3))
    assert guard == "moved"
    assert f"`gitops-ds resume {ours[:12]}` lets it start anew" in text
    assert settled.run("resume", ours[:12], "--by", "Ada").code == 0
    assert settled.reconcile()["status"] == "changed"


def team(fleet: Fleet, name: str) -> None:
    """A reconciler with an intent of its own: one of the sample's workloads on one of its clusters."""
    other = {"a": "2", "b": "1"}[name]
    lines = fleet.file(INTENT).read_text().splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if f"- name: cluster{other}" in line)
    kept = [line for i, line in enumerate(lines) if i not in range(start, start + 5)]
    text = "".join(line for line in kept if f"mwrs-app0{other}" not in line)
    fleet.write(f"intent/{name}/gpu.yaml", text.replace("gpu-inference", f"gpu-{name}"))
    fleet.write(f"intent/{name}.yaml", reconciler(name, f"rendered/{name}", f"intent/{name}"))


def test_two_reconcilers_whose_folders_are_swapped_leave_each_other_alone(fresh: Fleet) -> None:
    for name in ("a", "b"):
        team(fresh, name)
    fresh.git("rm", "-qf", INTENT)
    fresh.commit("two")
    for name in ("a", "b"):
        assert fresh.reconcile(f"--reconciler={name}")["status"] == "changed"
    for name, other in ("ab", "ba"):
        fresh.edit(f"intent/{name}.yaml", f"rendered/{name}", f"rendered/{other}")
    fresh.commit("swapped")
    before = fresh.state()
    for name, other in ("ab", "ba"):
        ((guard, text),) = [one for one in held(fresh.reconcile(f"--reconciler={name}", code=3)) if one[0] == "moved"]
        assert guard == "moved"
        assert text.startswith(f"rendered/{other}/ is where {name} writes now, and holds what reconciler {other} wrote")
    assert fresh.state() == before
    for source, target in (("a", "c"), ("b", "a"), ("c", "b")):
        fresh.git("mv", f"rendered/{source}", f"rendered/{target}")
    fresh.commit("moved along")
    for name in ("a", "b"):
        assert fresh.reconcile(f"--reconciler={name}")["status"] == "changed"
        assert fresh.reconcile(f"--reconciler={name}")["status"] == "unchanged"


def test_a_new_reconciler_beside_others_is_not_held(fresh: Fleet) -> None:
    team(fresh, "a")
    fresh.git("mv", INTENT, "intent.txt")
    fresh.commit("one")
    assert fresh.reconcile()["status"] == "changed"
    fresh.git("mv", "intent.txt", INTENT)
    team(fresh, "b")
    fresh.git("rm", "-qf", INTENT)
    fresh.commit("two")
    assert fresh.reconcile("--reconciler=b")["status"] == "changed"
