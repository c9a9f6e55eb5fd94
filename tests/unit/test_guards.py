"""Each guard: what it lets pass, what it holds, in which words and until when; and what `urgent` lifts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_ds.errors import InputError, UsageError
from gitops_ds.guards import GUARDS, GuardContext, Urgent, guarded, urgent_trailer
from gitops_ds.intent.load import Intents, load_all
from gitops_ds.intent.reconciler import Freeze, Reconciler
from gitops_ds.message import commit_message
from gitops_ds.overrides import Moved, Past, Touch, acts
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solver import solve
from gitops_ds.trailers import trailers_of
from tests import builders as make

CLUSTERS = tuple(f"c{i}" for i in range(1, 5))
NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)
COMMIT, OTHER = "a" * 40, "b" * 40
OFF: dict[str, Any] = {"minFreshClusters": 0}


def things(favourite: str = "c1", without: Sequence[str] = (), **more: Mapping[str, Any]) -> list[make.Thing]:
    """Four clusters, three workloads that each score best on `favourite`, and fields of clusters by name."""
    found: list[make.Thing] = [make.workload(w) for w in ("w1", "w2", "w3")]
    for c in CLUSTERS:
        if c not in without:
            items = dict.fromkeys(("w1", "w2", "w3"), 50 if c == favourite else 10)
            found += [make.cluster(c, **more.get(c, {})), make.scores(c, items)]
    return found


def text(
    workloads: Sequence[str] = ("w1", "w2", "w3"), clusters: Sequence[str] = CLUSTERS, name: str = "fleet", **spec: Any
) -> str:
    entries = [{"name": c, "capacity": {"gpu": "3"}} for c in clusters]
    return make.intent(entries, workloads, name=name, scores=[{"name": "speed", "dimension": "${app}"}], **spec)


def planned(*texts: str, on: Sequence[make.Thing] | None = None, before: Plan | None = None) -> Plan:
    inventory = make.inventory(*(things() if on is None else on))
    current = before.tree if before else {}
    return plan(make.load(*(texts or (text(),))), inventory, current, make.NOW, solve)


def reconciler(**guards: Any) -> Reconciler:
    said = {"metadata": {"name": "prod"}, "spec": {"guards": {**OFF, **guards}}}
    return Reconciler.model_validate(said)


def held(
    made: Plan,
    guards: Mapping[str, Any] | None = None,
    on: Sequence[make.Thing] | None = None,
    *,
    says: Sequence[str] = (),
    **fields: Any,
) -> dict[str, str]:
    """What holds the plan: guard to text. `says` are Holds and Resumes as YAML."""
    found = guarded(made, reconciler(**(guards or {})), context(on, says=says, **fields))
    assert [h.guard for h in found.held] == [h.guard for h in dict.fromkeys(found.held)]
    assert {h.guard for h in found.held} <= set(GUARDS)
    assert (found.status == "held") == bool(found.held)
    return {h.guard: h.text for h in found.held}


def context(on: Sequence[make.Thing] | None = None, *, says: Sequence[str] = (), **fields: Any) -> GuardContext:
    said = documents(*says)
    inventory = make.inventory(*(things() if on is None else on))
    return replace(GuardContext(NOW, make.NOW, inventory, said.holds, said.resumes), **fields)


def documents(*says: str) -> Intents:
    files = {f"intent/said-{i}.yaml": one.encode() for i, one in enumerate(says)}
    named = "---\n".join(
        f"apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: {name}}}\nspec: {{rendered: {name}}}\n"
        for name in ("prod", "staging")
    )
    return load_all({"intent/0.yaml": text().encode(), "intent/r.yaml": named.encode(), **files})


def hold(name: str, **spec: str) -> str:
    fields = "".join(f"  {key}: {value}\n" for key, value in {"reason": "maintenance", **spec}.items())
    return f"apiVersion: gitops-ds.io/v1alpha1\nkind: Hold\nmetadata: {{name: {name}}}\nspec:\n{fields}"


def resume(name: str, *commits: str) -> str:
    after = f"spec: {{after: [{', '.join(commits)}]}}"
    return f"apiVersion: gitops-ds.io/v1alpha1\nkind: Resume\nmetadata: {{name: {name}}}\n{after}\n"


def touch(commit: str, lock: str | None, *, ours: bool, author: str = "Ada", subject: str = "x") -> Touch:
    return Touch(commit, author, datetime(2026, 1, 14, 23, tzinfo=UTC), subject, lock, ours)


REVERTED = Past(
    (
        touch(COMMIT, "1", ours=False),
        touch(OTHER, "2", ours=True, author="bot", subject="gitops-ds: move 1 workload"),
        touch("c" * 40, "1", ours=True, author="bot"),
    )
)


def test_a_plan_that_changes_nothing_is_held_by_nothing() -> None:
    first = planned()
    same = planned(before=first)
    fields: dict[str, Any] = {"past": REVERTED, "says": [hold("all")]}
    assert held(same, {"freeze": [{"timeZone": "UTC"}], "minFreshClusters": 9}, **fields) == {}
    assert guarded(same, reconciler(), context()) is same


def test_a_plan_that_is_held_already_says_what_else_holds_it() -> None:
    strict = planned(text(unplaced="fail"), on=[*things(), make.workload("w1", "9")][1:])
    assert [h.guard for h in strict.held] == ["unplaced"]
    assert list(held(strict, says=[hold("prod")])) == ["unplaced", "hold"]


def test_the_defaults_let_a_first_plan_pass() -> None:
    made = guarded(planned(), Reconciler.model_validate({"metadata": {"name": "prod"}}), context())
    assert made.status == "changed"


@pytest.mark.parametrize(
    ("guards", "holds"),
    [
        ({"maxMoves": 3}, {}),
        ({"maxMoves": 2}, {"maxMoves": "3 of 3 copies leave their cluster, maxMoves is 2"}),
        ({"maxMoves": 0}, {"maxMoves": "3 of 3 copies leave their cluster, maxMoves is 0"}),
        ({"maxMovePercent": 100}, {}),
        ({"maxMovePercent": 99}, {"maxMovePercent": "3 of 3 copies leave their cluster, maxMovePercent 99 allows 2"}),
        ({"maxMovePercent": 10}, {"maxMovePercent": "3 of 3 copies leave their cluster, maxMovePercent 10 allows 1"}),
        ({"maxMovePercent": 0}, {"maxMovePercent": "3 of 3 copies leave their cluster, maxMovePercent 0 allows 0"}),
    ],
)
def test_moves(guards: Mapping[str, int], holds: Mapping[str, str]) -> None:
    first = planned()
    moved = planned(on=things("c2"), before=first)
    assert held(moved, guards) == holds
    assert held(first, guards) == {}, "nothing leaves where git has nothing"


def test_one_copy_may_leave_however_small_the_fleet_and_the_share() -> None:
    first = planned(text(["w1"]))
    assert held(planned(text(["w1"]), on=things("c2"), before=first), {"maxMovePercent": 5}) == {}


def test_a_copy_that_is_no_longer_wanted_leaves_too_and_a_new_one_does_not() -> None:
    first = planned(text(["w1", "w2"]))
    assert held(planned(text(["w1", "w3"]), before=first), {"maxMoves": 0}) == {
        "maxMoves": "1 of 2 copies leave their cluster, maxMoves is 0"
    }


@pytest.mark.parametrize(
    ("wanted", "on", "says"),
    [
        pytest.param(4, things(), "", id="all are fresh"),
        pytest.param("100%", things(), "", id="all of them"),
        pytest.param(3, things(without=["c4"]), "", id="one may be gone"),
        pytest.param(
            4, things(c4={"available": False}), "3 of 4 clusters are reachable and freshly scored, minFreshClusters"
            " asks for 4: c4 is not available", id="unavailable",
        ),
        pytest.param(4, things(c4={"available": None}), "", id="the hub has not said"),
        pytest.param("76%", things(c4={"accepted": False}), "asks for 4 (76%): c4 is not accepted", id="rounded up"),
        pytest.param("75%", things(c4={"accepted": False}), "", id="three of four are 75%"),
        pytest.param(5, things(), "4 of 4 clusters are reachable and freshly scored, minFreshClusters asks for 5",
            id="more than there are"),
    ],
)  # fmt: skip
def test_fresh_clusters(wanted: int | str, on: Sequence[make.Thing], says: str) -> None:
    before = planned()
    found = held(planned(text(stability={"moveCost": 1}), on=on, before=before), {"minFreshClusters": wanted}, on)
    assert (says in found["minFreshClusters"]) if says else found == {}


def test_a_cluster_without_scores_or_with_stale_ones_is_not_fresh() -> None:
    on = [t for t in things() if not (isinstance(t, type(make.scores("c", {}))) and t.cluster != "c1")]
    on += [make.scores("c2", {"w1": 10}, age=timedelta(hours=1)), make.scores("c3", {"w1": 101})]
    made = planned(text(preference={"maxAge": "15m"}), on=on)
    assert held(made, {"minFreshClusters": "50%"}, on) == {
        "minFreshClusters": "1 of 4 clusters are reachable and freshly scored, minFreshClusters asks for 2 (50%): "
        "c2 has a stale speed, c3 has no speed, c4 has no speed"
    }


def test_half_of_a_fleet_that_is_gone_is_missed_though_nothing_selects_it_any_more() -> None:
    def fleet(names: Sequence[str]) -> list[make.Thing]:
        return [make.workload("w1"), *(t for c in names for t in (make.cluster(c), make.scores(c, {"w1": 10})))]

    every = [f"x{i}" for i in range(10)]
    chosen = make.intent(
        [{"selector": {}, "capacity": {"gpu": "1"}}], ["w1"], scores=[{"name": "speed", "dimension": "${app}"}]
    )
    first = planned(chosen, on=fleet(every))
    left = fleet(every[1:5])
    found = held(planned(chosen, on=left, before=first), {"minFreshClusters": "50%"}, left)
    assert found["minFreshClusters"].startswith("4 of 10 clusters are")
    assert found["minFreshClusters"].endswith(", x8 is not on the hub, and 1 more")
    half = fleet(every[5:])
    assert held(planned(chosen, on=half, before=first), {"minFreshClusters": "50%"}, half) == {}


def test_clusters_that_left_the_intents_on_purpose_are_not_missed() -> None:
    first = planned()
    on = things("c2", without=["c1"])
    assert held(planned(text(clusters=["c2", "c3"]), on=on, before=first), {"minFreshClusters": "100%"}, on) == {}


def test_a_workload_that_the_hub_lost_never_becomes_a_smaller_tree() -> None:
    first = planned()
    for name in ("w1", "w2"):
        on = [t for t in things() if getattr(t, "name", "") != name]
        with pytest.raises(InputError, match=f"{name} is neither on the hub nor in the repository"):
            planned(on=on, before=first)


def test_never_empty() -> None:
    first = planned(text(["w1"]), text(["w2"], name="other"))
    none = planned(text(["w3"]), on=[*things()[:2], make.workload("w3", "9"), *things()[3:]], before=first)
    both = "the plan takes away every placement that git has (2)"
    assert held(none) == {"neverEmpty": both}
    assert held(none, {"neverEmpty": False}) == {}
    one = planned(text(["w3"]), text(["w2"], name="other"), on=[*things()[:2], make.workload("w3", "9"), *things()[3:]],
        before=first)  # fmt: skip
    assert held(one) == {
        "neverEmpty": "the plan takes away every placement of intent default/fleet, which is still there"
    }
    gone = planned(text(["w2"], name="other"), before=first)
    assert held(gone) == {}, "an intent that is deleted may go"


def test_a_tree_without_an_object_is_held_though_the_lock_is_gone() -> None:
    first = planned(text(["w1"]))
    tree = {path: content for path, content in first.tree.items() if not path.endswith(".lock")}
    on = [make.workload("w1", "9"), *things()[3:]]
    empty = plan(make.load(text(["w1"])), make.inventory(*on), tree, make.NOW, solve, overwrite=True)
    assert empty.before is None
    assert "leaves no object at all" in held(empty)["neverEmpty"]


def test_freeze() -> None:
    window = {"days": ["Thu"], "from": "08:00", "to": "06:00", "timeZone": "Europe/Berlin", "reason": "quarter end"}
    made = planned()
    found = guarded(made, reconciler(freeze=[window]), context())
    (one,) = found.held
    assert (one.guard, one.until) == ("freeze", datetime(2026, 1, 16, 5, tzinfo=UTC))
    assert one.text == "frozen until Fri 2026-01-16 06:00 Europe/Berlin (05:00 UTC): quarter end"
    assert held(made, {"freeze": [window]}, now=datetime(2026, 1, 16, 5, tzinfo=UTC)) == {}
    assert held(made, {"freeze": [{"timeZone": "UTC"}]}) == {"freeze": "frozen with no end in sight"}


def test_min_interval() -> None:
    made = planned()
    last = Past(last=NOW - timedelta(minutes=4))
    found = guarded(made, reconciler(minInterval="10m"), context(past=last))
    (one,) = found.held
    assert (one.guard, one.until) == ("minInterval", NOW + timedelta(minutes=6))
    assert one.text == (
        "the last commit was at Thu 2026-01-15 08:56 UTC, minInterval lasts until Thu 2026-01-15 09:06 UTC"
        "; --urgent does not wait"
    )
    assert held(made, {"minInterval": "4m"}, past=last) == {}
    assert held(made, {"minInterval": "10m"}) == {}, "no last commit is known"
    fast = replace(last, last=NOW + timedelta(minutes=9))
    assert list(held(made, {"minInterval": "10m"}, past=fast)) == ["minInterval"], "the clock of a machine is fast"
    assert held(made, {"minInterval": "8m"}, past=fast) == {}, "dated into the future"


def test_another_folder_than_before() -> None:
    made = planned()
    left, foreign = Moved("left", "old"), Moved("foreign", "rendered", "other")
    assert held(made, past=Past(moved=(left,))) == {
        "moved": "prod writes to rendered/ now, and old/ still holds what it wrote: `git mv old rendered` moves it "
        "along, or put `rendered: old` back"
    }
    assert held(made, past=Past(moved=(foreign,)), says=[resume("all", COMMIT)]) == {
        "moved": "rendered/ is where prod writes now, and holds what reconciler other wrote: put `rendered` back, "
        "or `git mv` the folders along with it"
    }
    gone = Past(moved=(Moved("gone", "old", commit=COMMIT),))
    assert "`gitops-ds resume aaaaaaaaaaaa` lets it start anew" in held(made, past=gone)["moved"]
    assert held(made, past=gone, says=[resume("prod", COMMIT)]) == {}
    assert acts(gone) == (COMMIT,)


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "Factory", "posix/UTC", "right/UTC", "Mars/Olympus"])
def test_a_time_zone_is_one_that_means_the_same_everywhere(zone: str) -> None:
    with pytest.raises(ValueError, match="no IANA time zone"):
        Freeze(timeZone=zone)
    assert Freeze(timeZone="Europe/Berlin").zone.key == "Europe/Berlin"


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (hold("prod", by="Ada"), "Ada holds prod: maintenance (intent/said-0.yaml:1:1); `gitops-ds resume` lifts it"),
        (
            hold("all"),
            "somebody holds every reconciler: maintenance (intent/said-0.yaml:1:1); `gitops-ds resume` lifts it",
        ),
        (hold("staging"), ""),
        (hold("prod", until='"2026-01-15T09:00:00Z"'), ""),
        (
            hold("prod", until='"2026-01-15T11:00:00+01:00"'),
            (
                "somebody holds prod until Thu 2026-01-15 10:00 UTC: maintenance (intent/said-0.yaml:1:1)"
                "; `gitops-ds resume` lifts it"
            ),
        ),
    ],
)
def test_hold(document: str, says: str) -> None:
    assert held(planned(), says=[document]) == ({"hold": says} if says else {})


def test_a_plan_that_was_taken_back() -> None:
    words = (
        'Ada took back "gitops-ds: move 1 workload" (bbbbbbbbbbbb) in aaaaaaaaaaaa on 2026-01-14: '
        "gitops-ds does not argue; `gitops-ds resume aaaaaaaaaaaa` lets it plan again"
    )
    assert held(planned(), past=REVERTED) == {"reverted": words}
    assert held(planned(), past=REVERTED, says=[resume("staging", COMMIT)]) == {"reverted": words}
    assert held(planned(), past=REVERTED, says=[resume("prod", OTHER)]) == {"reverted": words}
    for name in ("prod", "all"):
        assert held(planned(), past=REVERTED, says=[resume(name, OTHER, COMMIT)]) == {}


def test_a_commit_on_the_pull_request_branch() -> None:
    past = Past(stranger=touch(COMMIT, None, ours=False, author="Eve\nMallory", subject="while\tyou are at it"))
    assert held(planned(), past=past) == {
        "branch": 'Eve Mallory added "while you are at it" to the pull-request branch in aaaaaaaaaaaa on 2026-01-14: '
        "it is not written over; `gitops-ds resume aaaaaaaaaaaa` lets it be replaced"
    }
    assert held(planned(), past=past, says=[resume("prod", COMMIT)]) == {}
    ours = replace(past, stranger=touch(COMMIT, None, ours=True, subject="gitops-ds: move"))
    assert held(planned(), past=ours)["branch"].startswith(
        'Ada changed our commit "gitops-ds: move" on the pull-request branch in aaaaaaaaaaaa'
    )


def test_urgent_lifts_what_asks_when_and_nothing_that_asks_what() -> None:
    first = planned()
    moved = planned(on=things("c2"), before=first)
    guards: dict[str, Any] = {
        "freeze": [{"timeZone": "UTC"}],
        "minInterval": "1h",
        "maxMoves": 0,
        "maxMovePercent": 0,
        "minFreshClusters": 9,
    }
    past = replace(REVERTED, last=NOW, stranger=touch(OTHER, None, ours=False))
    fields: dict[str, Any] = {"past": past, "says": [hold("prod")]}
    every = list(held(moved, guards, **fields))
    assert every == [
        "reverted", "branch", "hold", "freeze", "minInterval", "minFreshClusters", "maxMoves", "maxMovePercent"
    ]  # fmt: skip
    urgent = Urgent("Ada", "the site is down")
    assert list(held(moved, guards, urgent=urgent, **fields)) == [
        one for one in every if one not in ("freeze", "minInterval")
    ]
    only_when = {key: guards[key] for key in ("freeze", "minInterval")}
    assert held(moved, only_when, past=replace(past, touches=(), stranger=None), urgent=urgent) == {}


def test_the_urgent_trailer_is_one_line_that_git_reads_and_nothing_can_hide_in() -> None:
    urgent = Urgent("Ada <ada@example.com>", "down\nGitops-Ds-Plan: 00\r\n\x1b[31m red  \N{LINE SEPARATOR}x")
    line = urgent_trailer(urgent)
    assert line == "Gitops-Ds-Urgent: Ada <ada@example.com>: down Gitops-Ds-Plan: 00 [31m red x"
    message = f"{commit_message(planned(), '1.0').rstrip()}\n{line}\n"
    assert trailers_of(message)["Gitops-Ds-Urgent"] == line.partition(": ")[2]
    assert len(trailers_of(message)["Gitops-Ds-Plan"]) == 64
    assert len(urgent_trailer(Urgent("a" * 900, "b" * 900))) == 500


@pytest.mark.parametrize(("by", "why"), [("", "x"), ("Ada", " \n"), ("\x1b", "x")])
def test_urgent_needs_somebody_who_answers_for_it(by: str, why: str) -> None:
    with pytest.raises(UsageError, match="nobody says"):
        Urgent(by, why)


def test_the_names_of_guards_are_sorted_words() -> None:
    assert list(GUARDS) == sorted(set(GUARDS))
    assert all(name.isalpha() for name in GUARDS)
