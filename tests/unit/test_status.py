"""The status of a commit on a hub, judged and worded: what is worst, whose leftovers count, and how long is waited."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_ds.blueprint import Blueprint
from gitops_ds.cli import status as verb
from gitops_ds.errors import HubError, HubUnreachable, InputError, RepositoryError
from gitops_ds.hub import objects_from_files, parse_objects
from gitops_ds.ids import ClusterName, IntentId, IntentName, Namespace, PlacementName, PolicyId, WorkloadId
from gitops_ds.intent.load import Intents
from gitops_ds.inventory import Inventory
from gitops_ds.lock import Lock
from gitops_ds.phases import Transit
from gitops_ds.report.basis import Basis
from gitops_ds.report.status import status_json, status_text, summary, worst
from gitops_ds.status import (
    CODES,
    ClusterState,
    Finding,
    Leftover,
    ObjectState,
    Rendered,
    Status,
    WorkloadState,
    read_rendered,
    status_of,
)
from gitops_ds.tree import inventory_path, lock_path
from tests.unit.pages import planned, sample, table
from tests.unit.test_docs_json import assert_documented

NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)
BASIS = Basis("kubernetes:prod", NOW, None, None)
INTENT = IntentId(Namespace("default"), IntentName("one"))
COMMIT = "0123456789abcdef"
LABELS = {"app.kubernetes.io/managed-by": "gitops-ds"}


def cluster(name: str, *codes: Any) -> ClusterState:
    policy = PolicyId(Namespace("default"), "policy-a")  # type: ignore[arg-type]
    found = tuple(Finding(code, f"{name} is {code}", ClusterName(name)) for code in codes)
    return ClusterState(INTENT, ClusterName(name), policy, PlacementName("p"), "b", None, None, (), found)


def placement(name: str, **labels: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        f"metadata:\n  name: {name}\n  namespace: default\n  labels: {LABELS | labels}\nspec: {{}}\n"
    )


def hub_of(*documents: str) -> Inventory:
    return parse_objects(objects_from_files({"hub.yaml": "---\n".join(documents).encode()}))


def lines(status: Status, **options: Any) -> list[str]:
    return [text for text, _ in status_text(status, COMMIT, BASIS, **options)]


def test_the_worst_comes_first_whatever_the_order() -> None:
    found = Status(clusters=tuple(cluster(f"c{i:02d}", code) for i, code in enumerate(reversed(CODES))))
    assert [one.findings[0].code for one in found.missing] == list(CODES)
    assert worst(found) == f"c{len(CODES) - 1:02d} is misconfigured"
    text = lines(found)
    assert text[0] == f"Status: {len(CODES)} of {len(CODES)} not in place (commit 0123456789ab)"
    assert text.index(f"      c{len(CODES) - 1:02d} is misconfigured") < text.index("      c00 is leaving")


def test_a_finding_that_stands_twice_is_said_once_and_the_worst_of_one_first() -> None:
    text = lines(Status(clusters=(cluster("c1", "pending", "lost", "lost"),)))
    assert [line for line in text if line.startswith("      ")] == ["      c1 is lost", "      c1 is pending"]


def test_long_lists_are_cut_and_say_so_unless_all_is_asked_for() -> None:
    many = Status(
        clusters=(*(cluster(f"bad{i:03d}", "lost") for i in range(50)), *(cluster(f"good{i:03d}") for i in range(30))),
        notes=tuple(f"note {i}" for i in range(12)),
    )
    text = lines(many)
    assert [line for line in text if line.startswith("  and ")] == [
        "  and 10 more (--all, or --output json)",
        "  and 10 more (--all, or --output json)",
        "  and 2 more (--all, or --output json)",
    ]
    whole = lines(many, whole=True)
    assert not [line for line in whole if line.startswith("  and ")]
    assert sum(" under policy-a" in line for line in whole) == 80


@pytest.mark.parametrize(
    ("status", "said", "in_place"),
    [
        (Status(), "all in place, 0 things", True),
        (Status(clusters=(cluster("c1"),), notes=("a note",)), "all in place, 1 thing", True),
        (Status(clusters=(cluster("c1"), cluster("c2", "gate"))), "1 of 2 not in place", False),
        (Status(manifests=(Finding("differs", "x"),)), "1 manifest not as in git", False),
        (Status(leftovers=(Leftover("Placement", Namespace("a"), "p", "i"),)), "1 left over", False),
    ],
)
def test_the_summary_and_what_counts(status: Status, said: str, in_place: bool) -> None:
    assert (summary(status), status.in_place) == (said, in_place)
    assert (worst(status) == "") == in_place
    assert status_json(status, COMMIT, BASIS)["status"] == ("in-place" if in_place else "not-in-place")


def test_a_move_is_named() -> None:
    copy = WorkloadId(Namespace("default"), "w"), ClusterName("c2")  # type: ignore[arg-type]
    moving = Status(transit=Transit(Blueprint(), 2, (copy,), (ClusterName("c1"),)))
    assert lines(moving)[3:] == [
        "A move is under way: 2 phases committed; w has come to c2 and leaves another; c1",
        "  gets another policy",
    ]


def test_leftovers_are_ours_alone() -> None:
    one = sample()[0][0]
    other = replace(one, intent=one.intent.model_copy(update={"metadata": with_name(one, "other")}))
    hub = hub_of(
        placement("mine", **{"gitops-ds.io/intent": one.id.name}),
        placement("locked", **{"gitops-ds.io/intent": "gone"}),
        placement("peers", **{"gitops-ds.io/intent": "other"}),
        placement("strange", **{"gitops-ds.io/intent": "strange"}),
        placement("bare"),
        placement("theirs", **{"app.kubernetes.io/managed-by": "argocd", "gitops-ds.io/intent": one.id.name}),
    )
    gone = IntentId(Namespace("default"), IntentName("gone"))
    rendered = Rendered(Lock({one.id: "x", gone: "x"}, Blueprint()), {})
    found = status_of(rendered, hub, Intents((one, other)), NOW, mine=Intents((one,)))
    assert [left.name for left in found.leftovers] == ["locked", "mine"]
    strangers = [note for note in found.notes if "with our label" in note]
    assert [note.split()[1] for note in strangers] == ["default/bare", "default/strange"]
    assert [("no intent" in n, "intent strange, which" in n) for n in strangers] == [(True, False), (False, True)]


def with_name(one: Any, name: str) -> Any:
    return one.intent.metadata.model_copy(update={"name": name})


def test_what_was_never_read_whole_is_a_note() -> None:
    key = "DynamicScoringConfig", Namespace("default"), "dynamic-scoring-config"
    found = status_of(Rendered(Lock({}, Blueprint()), {key: {}}), Inventory(), Intents(), NOW)
    assert (found.in_place, found.notes) == (
        True,
        ("not looked at: DynamicScoringConfig default/dynamic-scoring-config",),
    )


def test_a_plan_that_is_not_on_the_hub_at_all() -> None:
    made = planned()
    intents, inventory = sample()
    rendered = read_rendered(made.tree)
    assert len(rendered.objects) == 6
    found = status_of(rendered, inventory, Intents(intents), NOW)
    assert not found.in_place
    assert all(isinstance(one, (WorkloadState, ClusterState)) for one in found.missing)
    assert {f.code for one in found.missing for f in one.findings} == {"missing", "gate", "pending"}
    assert [copy.scores[0].age for one in found.workloads for copy in one.copies] == [
        timedelta(seconds=30),
        timedelta(seconds=34),
    ]


def test_a_rendered_folder_that_is_broken_is_an_error() -> None:
    tree = dict(planned().tree)
    with pytest.raises(RepositoryError, match="git holds no rendered/"):
        read_rendered({path: body for path, body in tree.items() if path != lock_path()})
    with pytest.raises(RepositoryError, match="is not a line that gitops-ds writes"):
        read_rendered({**tree, inventory_path(): b"odd\n"})
    path = next(path for path in tree if "placement-app01" in path)
    with pytest.raises(InputError):
        read_rendered({**tree, path: b"kind: [\n"})


def test_the_json_is_documented() -> None:
    made = planned()
    intents, inventory = sample()
    text = placement("app01-placement", **{"gitops-ds.io/intent": "gpu-inference"})
    said = "status: {conditions: [{type: PlacementSatisfied, status: 'True'}]}\n"
    on_hub = hub_of(text + said, placement("old", **{"gitops-ds.io/intent": "gpu-inference"}))
    hub = replace(inventory, placements=on_hub.placements)
    found = status_of(read_rendered(made.tree), hub, Intents(intents), NOW, disagreeing=["x"])
    copy = found.workloads[0].workload, ClusterName("c2")
    moving = replace(found, transit=Transit(Blueprint(), 2, (copy,), (ClusterName("c1"),)), notes=("a note",))
    told: Any = {"conditions": found.workloads[0].conditions, "decided": (ClusterName("c1"),)}
    whole = replace(
        moving,
        workloads=tuple(replace(one, **told) for one in found.workloads),
        clusters=tuple(replace(one, **told) for one in found.clusters),
        objects=(ObjectState("DynamicScorer", Namespace("a"), "b", (Finding("missing", "x"),)),),
    )
    body = status_json(whole, COMMIT, BASIS)
    assert body["leftovers"]
    assert_documented(body, "Status:")


def test_every_code_is_documented_from_the_worst_down() -> None:
    assert tuple(table("docs/status.md", "Findings")) == CODES


class Looks:
    """A hub that is looked at, with a clock that only sleep and looks move."""

    def __init__(self, *answers: Status | HubError, takes: float = 1.0) -> None:
        self.answers, self.takes = list(answers), takes
        self.now, self.began, self.granted = 100.0, list[float](), list[float]()

    def look(self, seconds: float) -> verb.Seen:
        self.began.append(self.now - 100)
        self.granted.append(seconds)
        self.now += self.takes
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, HubError):
            raise answer
        return verb.Seen(answer, BASIS)

    def wait(self, timeout: float, interval: float) -> tuple[verb.Seen, float]:
        def sleep(seconds: float) -> None:
            assert seconds >= 0
            self.now += seconds

        held: Any = self
        return verb._wait(held, timeout, interval, clock=lambda: self.now, sleep=sleep)


BAD, GOOD = Status(clusters=(cluster("c1", "gate"),)), Status(clusters=(cluster("c1"),))


def test_looks_begin_at_a_steady_interval_and_end_with_the_first_that_is_good() -> None:
    hub = Looks(BAD, HubUnreachable("no answer"), BAD, GOOD)
    seen, seconds = hub.wait(600, 10)
    assert (seen.status, seconds, hub.began) == (GOOD, 31, [0, 10, 20, 30])


def test_a_look_that_takes_longer_than_the_interval_is_followed_at_once() -> None:
    hub = Looks(BAD, BAD, GOOD, takes=15)
    assert hub.wait(600, 10)[1] == 45
    assert hub.began == [0, 15, 30]


def test_the_last_look_is_at_the_end_of_the_time() -> None:
    hub = Looks(BAD)
    seen, seconds = hub.wait(25, 10)
    assert (seen.status, seconds, hub.began) == (BAD, 26, [0, 10, 20, 25])
    assert hub.granted == [25, 15, 10, 10]


def test_a_hub_without_an_answer_at_the_end_is_an_error_and_one_that_refuses_at_once() -> None:
    with pytest.raises(HubUnreachable):
        Looks(BAD, HubUnreachable("no answer")).wait(25, 10)
    refusing = Looks(HubError("forbidden"))
    with pytest.raises(HubError):
        refusing.wait(25, 10)
    assert refusing.began == [0]


def test_no_time_at_all_is_one_look() -> None:
    hub = Looks(BAD)
    assert hub.wait(0, 10)[0].status == BAD
    assert hub.began == [0]


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0s"), (59.9, "59s"), (600, "10m"), (3661, "1h1m1s")])
def test_how_long_is_spelt(seconds: float, said: str) -> None:
    assert verb._spelt(seconds) == said
