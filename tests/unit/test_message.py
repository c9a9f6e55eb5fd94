"""The commit message: short where git wants it short, bounded where the fleet is large, and read back by git itself."""

import random
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gitops_ds.blueprint import Blueprint
from gitops_ds.decisions import Decision
from gitops_ds.ids import ClusterName, Device, PolicyId, PolicyName, WorkloadId, WorkloadName
from gitops_ds.intent.reconciler import Message
from gitops_ds.message import RECONCILER, TRAILERS, commit_message, is_ours, trailers_of
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solver import solve
from tests import builders as make

CLUSTERS = [{"name": "c1", "policies": ["half-c1", "third-c1"]}]


def _plan(points: Mapping[str, int], before: Plan | None = None, request: str = "2", **spec: Any) -> Plan:
    inventory = make.inventory(
        make.cluster("c1"),
        make.policy("half-c1", "half", "2"),
        make.policy("third-c1", "third", "3"),
        make.workload("w1", request),
        make.scores("c1", {f"w1;{device}": value for device, value in points.items()}),
    )
    current = before.tree if before else {}
    return plan(make.load(make.intent(CLUSTERS, ["w1"], **spec)), inventory, current, make.NOW, solve)


def _trailers(message: str) -> list[str]:
    line = ["git", "interpret-trailers", "--parse"]
    return subprocess.run(line, input=message, capture_output=True, text=True, check=True).stdout.splitlines()


def test_it_says_what_is_placed_where_and_why() -> None:
    message = commit_message(_plan({"half": 60, "third": 10}), "1.2.3")
    subject, _, body = message.partition("\n\n")
    assert subject == "gitops-ds: place 1 workload, configure 1 cluster"
    assert body.startswith(
        "Workloads:\n"
        "- default/w1: nowhere -> c1\n"
        "  score 60, 50 more than the next best, c1 as third\n"
        "\n"
        "Clusters:\n"
        "- c1: no policy -> half-c1\n"
        "  for w1\n"
        "\n"
        "Placed 1 of 1 copies, score 60.\n"
        "\n"
        "Gitops-Ds-Plan: "
    )


def test_a_workload_that_stays_under_another_policy_is_not_said_to_move() -> None:
    first = _plan({"half": 60, "third": 10})
    message = commit_message(_plan({"half": 10, "third": 60}, first), "1")
    assert message.startswith("gitops-ds: reconfigure 1 cluster\n\n")
    assert "- default/w1: stays on c1, now under third-c1\n" in message
    assert "- c1: half-c1 -> third-c1\n" in message
    assert "c1 -> c1" not in message


def test_what_has_no_place_is_said_with_what_it_keeps() -> None:
    first = _plan({"half": 60, "third": 10})
    message = commit_message(_plan({"half": 60, "third": 10}, first, "9", stability={"moveCost": 1}), "1")
    assert "Without a place:\n- default/w1: c1 as third: gpu short by 6: 9 requested, 3 supplied" in message
    assert "  stays on c1\n" in message
    assert message.startswith("gitops-ds: record what the intents say now\n")


def test_git_reads_the_trailers_and_none_more() -> None:
    made = _plan({"half": 60, "third": 10})
    found = _trailers(commit_message(made, "1.2.3"))
    assert [line.partition(": ")[0] for line in found] == list(TRAILERS)
    assert all(re.fullmatch(r"[0-9a-f]{64}", line.partition(": ")[2]) for line in found[:3])
    assert found[3] == "Gitops-Ds-Version: 1.2.3"
    assert commit_message(made, "1.2.3") == commit_message(made, "1.2.3")


def test_only_our_messages_are_ours() -> None:
    message = commit_message(_plan({"half": 60, "third": 10}), "1")
    assert is_ours(message)
    assert is_ours(message.rstrip())
    assert is_ours(f"{message}Signed-off-by: somebody\n")
    assert not is_ours("")
    assert not is_ours("Take the plan back")
    quoted = "\n".join(f"> {line}" for line in message.splitlines())
    assert not is_ours(f"Why was this made?\n\n{quoted}\n")
    assert not is_ours(f"{message}\nA paragraph of mine after it\n")


def _forged(made: Plan, reason: str, device: str) -> Plan:
    """The plan with a reason and a device that somebody chose to hurt."""
    return replace(made, decisions=tuple(replace(d, reason=reason, device=Device(device)) for d in made.decisions))


@pytest.mark.parametrize(
    "reason",
    [
        "x\n\nGitops-Ds-Plan: forged",
        "x\nSigned-off-by: somebody",
        "---\ndiff --git a/x b/x",
        "\x1b[2Jx\x9b",
        "\u202eevil",
        "word " * 10_000,
        "w" * 10_000,
    ],
)
def test_no_name_forges_a_line(reason: str) -> None:
    made = _plan({"half": 60, "third": 10})
    message = commit_message(_forged(made, reason, "half"), "1")
    assert _trailers(message) == _trailers(commit_message(made, "1"))
    assert all(c.isprintable() or c == "\n" for c in message)
    assert not any(line.startswith("---") for line in message.splitlines())
    assert len(message) < 4000


def _many(made: Plan, n: int) -> Iterator[Decision]:
    one = made.decisions[0]
    for i in range(n):
        workload, cluster = WorkloadName(f"workload-{i:05}"), ClusterName(f"cluster-{i % 700:04}")
        policy = PolicyId(make.NAMESPACE, PolicyName(f"policy-{i % 700:04}"))
        yield replace(one, workload=WorkloadId(make.NAMESPACE, workload), cluster=cluster, policy=policy)


def test_a_plan_of_5000_workloads_has_a_message_that_a_person_can_still_open() -> None:
    from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot

    made = _plan({"half": 60, "third": 10})
    decisions = tuple(_many(made, 5000))
    intent = decisions[0].intent
    placed = tuple(
        PlacedOn(d.workload, intent, made.blueprint.placements[0].placement, (Spot(d.cluster, d.policy),))
        for d in decisions
    )
    configured = {d.cluster: ConfiguredBy(d.cluster, d.policy, intent) for d in decisions if d.policy}
    large = replace(made, decisions=decisions, blueprint=Blueprint(placed, tuple(configured.values())))
    message = commit_message(large, "1")
    assert message.startswith("gitops-ds: place 5000 workloads, configure 700 clusters\n\n")
    assert "\n- and 4800 more\n" in message
    assert "\n- and 500 more\n" in message
    assert len(message) < 65_536
    assert len(_trailers(message)) == 4


def test_every_subject_fits() -> None:
    from gitops_ds.message import _subject
    from gitops_ds.steps import ClusterStep, Steps, WorkloadStep

    made = _plan({"half": 60, "third": 10})
    random_ = random.Random(1)
    for _ in range(40):
        workloads: list[WorkloadStep] = []
        clusters: list[ClusterStep] = []
        for verb in ("place", "move", "remove", "rescore"):
            n = random_.choice([0, 1, 2, 12_345])
            workloads += [WorkloadStep(verb, made.decisions[0].workload, (), ())] * n
        for action in ("configure", "reconfigure", "release"):
            n = random_.choice([0, 1, 2, 12_345])
            clusters += [ClusterStep(action, ClusterName("c1"), None, None)] * n
        subject = _subject(made, Steps(tuple(workloads), tuple(clusters)))
        assert subject.startswith("gitops-ds: ")
        assert len(subject) <= 72
        assert "\n" not in subject


def test_taking_back_edits_is_said_in_subject_and_body() -> None:
    first = _plan({"half": 60, "third": 10})
    path = next(p for p in first.tree if "placement-w1" in p)
    edited = replace(first, tree={**first.tree, path: b"by hand\n"})
    message = commit_message(_plan({"half": 60, "third": 10}, edited), "1")
    assert message.startswith("gitops-ds: take back 1 edited file\n\n")
    assert f"Written anew over what somebody edited by hand:\n- {path}\n" in message
    moved = commit_message(_plan({"half": 10, "third": 60}, edited), "1")
    assert moved.startswith("gitops-ds: reconfigure 1 cluster\n")
    assert f"- {path}\n" in moved


def test_what_goes_is_said_with_why_it_goes() -> None:
    first = _plan({"half": 60, "third": 10})
    second = _plan({"half": 60, "third": 10}, first)
    problem = replace(second.problem, demands=(), intents={})
    bare = replace(second, problem=problem, blueprint=Blueprint(), decisions=())
    message = commit_message(bare, "1")
    assert "- default/w1: c1 -> nowhere\n  intent default/fleet is no longer there\n" in message
    assert "- c1: half-c1 -> no policy\n  no intent lists the cluster any more\n" in message
    named = replace(bare, problem=replace(problem, intents=second.problem.intents))
    assert "  no intent names it any more\n" in commit_message(named, "1")


def test_copies_that_are_kept_are_counted() -> None:
    first = _plan({"half": 60, "third": 10})
    message = commit_message(_plan({"half": 60, "third": 10}, first, request="9"), "1")
    assert "Placed 0 of 1 copies, 1 kept where git has it, score 0.\n" in message


# Templates


@cache
def _made() -> Plan:
    return _plan({"half": 60, "third": 10})


@cache
def _plain() -> str:
    return commit_message(_made(), "1")


PIECES = (
    "${subject}",
    "${body}",
    "${reconciler}",
    "${intents}",
    "$$",
    "\n",
    "\n\n",
    "Gitops-Ds-Plan: " + "0" * 64,
    "gitops-ds-lock:",
    "Signed-off-by: A <a@example.com>",
    "---",
    "--- ",
    "# " + "-" * 24 + " >8 " + "-" * 24,
    "; " + "-" * 24 + " >8 " + "-" * 24,
    "Conflicts:",
    "diff --git a/x b/x",
    "#",
    "\t",
    "  ",
    "\r\n",
    "text",
    "\x1b[2J",
    "\u2028",
)
TEMPLATES = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_characters="$", exclude_categories=["Cs"]), max_size=5),
    max_size=12,
)


def test_a_template_words_subject_and_body() -> None:
    template = Message(subject="deploy(${reconciler}): ${subject}", body="For ${intents}, $$5.\n\n${body}")
    message = commit_message(_made(), "1", template=template, reconciler="prod")
    lines = message.splitlines()
    assert lines[0] == "deploy(prod): gitops-ds: place 1 workload, configure 1 cluster"
    assert lines[2] == "For default/fleet, $5."
    assert lines[4] == "Workloads:"
    assert _trailers(message) == [*_trailers(_plain()), f"{RECONCILER}: prod"]


def test_without_a_template_and_with_the_default_one_it_is_the_same() -> None:
    assert commit_message(_made(), "1", template=Message()) == _plain()


def test_a_long_subject_is_cut_and_one_of_nothing_is_ours() -> None:
    long = commit_message(_made(), "1", template=Message(subject="${subject} ${subject}")).splitlines()[0]
    assert len(long) <= 72
    assert long.endswith("...")
    assert commit_message(_made(), "1", template=Message(subject=" \n ")) == _plain()


def test_what_a_word_stands_for_is_no_template() -> None:
    message = commit_message(_made(), "1", template=Message(subject="${reconciler}"), reconciler="${body}$$")
    assert message.startswith("${body}$$\n")


@settings(deadline=None, max_examples=100)
@given(TEMPLATES, TEMPLATES)
def test_no_template_forges_or_hides_a_trailer(subject: list[str], body: list[str]) -> None:
    template = Message(subject="".join(subject), body="".join(body))
    message = commit_message(_made(), "1", template=template, reconciler="prod")
    assert _trailers(message) == [*_trailers(_plain()), f"{RECONCILER}: prod"]
    assert is_ours(message)
    assert all(c.isprintable() or c == "\n" for c in message)
    head, _, rest = message.partition("\n")
    assert head
    assert len(head) <= 72
    assert rest.startswith("\n")
    ours = [line for line in message.splitlines() if re.match(r"gitops-ds-[a-z]+:", line, re.IGNORECASE)]
    assert len(ours) == len(TRAILERS) + 1


def test_further_trailers_stand_below_ours_and_stay_in_their_line() -> None:
    extra = [("Gitops-Ds-Urgent", "Pat <pat@example.com>: a\nGitops-Ds-Plan: forged\x1b"), ("Ticket", "OPS-1")]
    message = commit_message(_made(), "1", extra_trailers=extra)
    assert trailers_of(message) == {
        **trailers_of(_plain()),
        "Gitops-Ds-Urgent": "Pat <pat@example.com>: a Gitops-Ds-Plan: forged\\x1b",
        "Ticket": "OPS-1",
    }


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\nb", "Gitops-Ds-Plan", "gitops-ds-lock", RECONCILER])
def test_a_further_trailer_with_a_name_of_ours_or_with_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name for a further trailer"):
        commit_message(_made(), "1", extra_trailers=[(name, "x")])


# Trailers as git reads them

LINES = (
    "Subject",
    "Key: value",
    "Key : value",
    "Key:",
    "key\t: v: w",
    "a b: c",
    ": x",
    "-k: v",
    "K\u00e9: x",
    "  more",
    "\tpath",
    "",
    "",
    "   ",
    "\r",
    "key: v\r",
    "# comment",
    "---",
    "--- ",
    "--- a/x",
    "----",
    "Conflicts:",
    "Signed-off-by: A <a@example.com>",
    "(cherry picked from commit abc)",
    "# " + "-" * 24 + " >8 " + "-" * 24,
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(LINES), max_size=10), st.sampled_from(["", "\n", "\n\n"]))
def test_trailers_are_the_ones_that_git_reads(lines: list[str], end: str) -> None:
    scissors = LINES[-1]
    divided = next((i for i, line in enumerate(lines) if re.match(r"---(?:\s|$)", line)), len(lines))
    assume(scissors not in lines[divided:])  # git of our day never comes back from that
    message = "\n".join(lines) + end
    line = ["git", "interpret-trailers", "--parse"]
    said = subprocess.run(line, input=message.encode(), capture_output=True, check=True, timeout=60).stdout.decode()
    expected = [one.partition(":") for one in said.split("\n") if one]
    assert trailers_of(message) == {key: value.strip() for key, _, value in expected}
