"""Plans as Markdown: read back by a real parser, with hostile names, and far more than fits."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.decisions import Decision, Unplaced
from gitops_ds.ids import (
    ClusterName,
    Device,
    IntentId,
    IntentName,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    WorkloadId,
    WorkloadName,
)
from gitops_ds.reconcile import Held, Plan
from gitops_ds.report.basis import Basis
from gitops_ds.report.inert import code, fenced, sentence, tagged
from gitops_ds.report.markdown import LIMIT, NET_SCORE, diff_markdown, plan_markdown, pull_request_title
from gitops_ds.solution import Status
from gitops_ds.tree import Change, Difference
from tests.unit.pages import planned

BOARD = MarkdownIt("gfm-like", {"html": True, "linkify": True})
assert BOARD.linkify is not None
BOARD.linkify.set({"fuzzy_link": False})  # the forges make links of addresses with a scheme, of www. and of mail

ALLOWED_TAGS = {"<code>", "</code>"}
ALLOWED_BLOCKS = re.compile(r"<details>\n<summary>[^<]*(<code>[^<]*</code>)?</summary>\n?|</details>\n?")

HOSTILE = (
    "a|b",
    "a\\|b",
    "`tick` ``two``",
    "<script>alert(1)</script>",
    "<!-- comment",
    "</details></summary>",
    "@everyone @acme/admins",
    "me@example.com",
    "[text](https://evil.example)",
    "![pixel](https://evil.example/p.png)",
    "https://evil.example/x www.evil.example",
    "fixes #12, closes acme/fleet#3, !4 ~bug %m $s &e",
    "line\n\n# heading\n/merge\n| a | b |",
    "**bold** _it_ ~~gone~~ :tada: $x^2$",
    "- item",
    "1. item",
    "> quote",
    "# heading",
    "&lt;b&gt; &#64;me",
    "\x1b[31m\u202ereversed\u2066 \x00 \udc80",
    "|",
    "\\",
    "`",
    " ",
    "",
)


def _workload(name: str) -> WorkloadId:
    return WorkloadId(Namespace("default"), WorkloadName(name))


def _policy(name: str) -> PolicyId:
    return PolicyId(Namespace("default"), PolicyName(name))


FLEET = IntentId(Namespace("default"), IntentName("fleet"))


@cache
def _base() -> Plan:
    return planned()


def _large(count: int = 5000, texts: tuple[str, ...] = (), **fields: Any) -> Plan:
    """A plan that moves `count` workloads; `texts` stand in every name and every sentence, one after the other."""
    says = [texts[i % len(texts)] if texts else "" for i in range(count)]
    workloads = [_workload(f"w{i:05}{says[i]}") for i in range(count)]
    where = [Spot(ClusterName(f"c{i:05}{says[i]}"), _policy(f"p{i}{says[i]}"), 60_000) for i in range(count)]

    def of(*shifts: int) -> tuple[PlacedOn, ...]:
        spots = [tuple(sorted(where[(i + shift) % count] for shift in shifts)) for i in range(count)]
        return tuple(PlacedOn(w, FLEET, PlacementName("p"), s) for w, s in zip(workloads, spots, strict=True))

    decisions = tuple(
        Decision(w, FLEET, s.cluster, s.policy, Device("half"), 60_000, f"score 60; {t or 'nothing else is possible'}")
        for w, s, t in zip(workloads, where, says, strict=True)
    )
    before = of(1)
    extra = tuple(PlacedOn(_workload(f"gone{i}"), FLEET, PlacementName("p"), (where[i],)) for i in range(3))
    configurations = tuple(ConfiguredBy(s.cluster, s.policy, FLEET) for s in where if s.policy)
    changes = tuple(
        Change(f"rendered/default/fleet/{i:05}{says[i]}.yaml", "change", b"a\n", b"b\n") for i in range(count)
    )
    made = replace(
        _base(),
        decisions=decisions,
        before=Blueprint(tuple(sorted((*before, *extra)))),
        blueprint=Blueprint(of(0), configurations),
        difference=Difference(changes, (), (), ()),
        warnings=tuple(f"speed of c{i} is stale (40m old, 15m allowed){t}" for i, t in enumerate(says)),
    )
    return replace(made, **fields)


def _tables(text: str) -> list[list[list[str]]]:
    """The cells of each table, as text."""
    tables: list[list[list[str]]] = []
    for token, inline in _pairs(BOARD.parse(text)):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("td_open", "th_open") and inline is not None:
            tables[-1][-1].append(_shown(inline))
    return tables


def _pairs(tokens: list[Token]) -> Iterator[tuple[Token, Token | None]]:
    yield from zip(tokens, [*tokens[1:], None], strict=True)


def _shown(inline: Token) -> str:
    """What a reader sees, without the spaces that have no width."""
    kinds = ("text", "code_inline", "text_special")
    return "".join(t.content for t in inline.children or () if t.type in kinds).replace("\u200b", "")


def _assert_inert(text: str) -> None:
    """Nothing but our own structure is in it."""
    for token in BOARD.parse(text):
        assert token.type not in ("code_block", "blockquote_open", "hr", "lheading_open", "ordered_list_open"), token
        if token.type == "html_block":
            assert ALLOWED_BLOCKS.fullmatch(token.content), token.content
        for child in token.children or ():
            assert child.type not in ("link_open", "image", "em_open", "strong_open", "s_open", "softbreak") or (
                child.type == "strong_open" and token.content.startswith(("**Changes", "**Held", "**Nothing"))
            ), (child.type, token.content)
            if child.type == "html_inline":
                assert child.content in ALLOWED_TAGS, child.content
            if child.type in ("text", "text_special"):
                assert not re.search(r"@\w|#\d|//|www\.", child.content), child.content
    assert not any(line.startswith("/") for line in text.splitlines())
    assert all(c.isprintable() or c in "\n\u200b" for c in text)


def _without_fences(text: str) -> str:
    return re.sub(r"^(`{3,})diff\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_a_plan_reads_as_what_changes_from_where_to_where_and_why() -> None:
    made = _base()
    text = plan_markdown(made, None)
    first = made.decisions[0]
    assert first.policy
    assert text.startswith(
        "## gitops-ds: place 2 workloads, configure 2 clusters\n\n"
        "**Changes 11 files below `rendered/`.**\n\n"
        "Placed 2 of 2 copies; score 115 (optimal).\n\n"
        "### Workloads\n\n"
        "| Change | Workload | From | To | Why |\n"
        "|---|---|---|---|---|\n"
        f"| place | `default/mwrs-app01` | nowhere | `{first.cluster}` under `{first.policy.name}` | {first.reason} |\n"
    )
    assert text.endswith("- add `rendered/kustomization.yaml`\n\n</details>\n")
    workloads, clusters = _tables(text)
    assert [row[1] for row in workloads[1:]] == ["default/mwrs-app01", "default/mwrs-app02"]
    assert sorted(row[1:] for row in clusters[1:]) == sorted(
        [d.cluster, "no policy", d.policy.name, f"for {d.workload.name}"] for d in made.decisions if d.policy
    )
    _assert_inert(text)


def test_an_unchanged_plan_says_so_in_a_line() -> None:
    made = _base()
    same = replace(made, status="unchanged", before=made.blueprint, difference=Difference((), (), (), ()))
    assert pull_request_title(same) == "gitops-ds: nothing changes"
    assert plan_markdown(same, None) == (
        "## gitops-ds: nothing changes\n\n**Nothing changes.**\n\nPlaced 2 of 2 copies; score 115 (optimal).\n"
    )


def test_a_held_plan_says_by_what_and_until_when() -> None:
    until = datetime(2026, 1, 16, 6, tzinfo=UTC)
    made = _base().holding(Held("freeze", "the window weekend is closed", until), Held("hold", "anna holds it"))
    text = plan_markdown(made, None)
    assert "**Held: nothing is committed.** It would change 11 files below `rendered/`.\n" in text
    assert "### Held\n\n- the window weekend is closed (until 2026-01-16T06:00:00Z)\n- anna holds it\n" in text
    assert text.index("### Held") < text.index("### Workloads")


def test_workloads_without_a_place_say_why_and_where_they_stay() -> None:
    one = Unplaced(_workload("big"), FLEET, 2, "c1 as half: gpu short by 1", {}, (ClusterName("c9"),))
    text = plan_markdown(replace(_base(), unplaced=(one,)), None)
    assert "- `default/big` (2 copies): c1 as half: gpu short by 1; stays on `c9`, where git has it\n" in text
    assert "Placed 2 of 2 copies, 1 kept where git has it; score 115 (optimal)." in text


def test_what_is_not_proved_is_said_with_bound_and_gap() -> None:
    made = _base()
    assert NET_SCORE in [stage.name for stage in made.solution.stages]
    stages = tuple(
        replace(s, bound={NET_SCORE: 120_500.0, "names": s.bound + 9}.get(s.name, float("inf")))
        for s in made.solution.stages
    )
    limited = replace(made, solution_status=Status.LIMIT, solution=replace(made.solution, stages=stages))
    text = plan_markdown(limited, None)
    assert "score 115 (limit).\n\n- placed at priority 0: 2, no bound is proved\n" in text
    assert "- score less changes: 115, bound 120.5, gap 5.5\n" in text
    assert "names" not in text.split("###")[0]


def test_the_facts_are_named_with_their_age() -> None:
    then = datetime(2026, 1, 15, 9, tzinfo=UTC)
    text = plan_markdown(_base(), Basis("snapshot:/srv/hub", then, then, timedelta(hours=3)))
    assert "\nHub: `snapshot:/srv/hub`, captured 2026-01-15T09:00:00Z, 3h old\n" in text


def test_warnings_keep_their_ages() -> None:
    text = plan_markdown(replace(_base(), warnings=("speed of c1 is stale (40m old, 15m allowed)",)), None)
    assert "### Warnings\n\n- speed of c1 is stale (40m old, 15m allowed)\n" in text


def test_a_plan_of_5000_workloads_keeps_within_the_limit_and_counts_the_rest() -> None:
    made = _large()
    text = plan_markdown(made, None)
    assert LIMIT * 0.95 < len(text.encode()) <= LIMIT
    workloads, clusters = _tables(text)
    assert {len(row) for table in (workloads, clusters) for row in table} == {5}
    assert [row[0] for row in workloads[1:5]] == ["remove", "remove", "remove", "move"]
    assert len(workloads) > 100
    assert f"\nand {5003 - (len(workloads) - 1):,} more moves\n" in text
    assert f"\nand {5000 - (len(clusters) - 1):,} more configurations\n" in text
    assert "\nand 4,990 more warnings\n" in text
    assert "\nand 4,990 more files\n" in text
    assert len(clusters) == 11
    _assert_inert(text)


def test_several_kinds_that_are_left_out_are_counted_apart() -> None:
    made = _large(200)
    text = plan_markdown(made, None, limit=4000)
    assert re.search(r"\nand \d+ more: (1 removal, |2 removals, )?\d+ moves\n|\nand \d+ more moves\n", text)
    assert len(text.encode()) <= 4000


@pytest.mark.parametrize("limit", [0, 1, 40, 200, 500, 1000, 3000, 30_000, 1_048_576])
@pytest.mark.parametrize("texts", [(), HOSTILE])
def test_no_limit_is_exceeded_in_characters_or_in_bytes(limit: int, texts: tuple[str, ...]) -> None:
    made = _large(300, texts)
    for text in (plan_markdown(made, None, limit=limit), diff_markdown(made, limit=limit)):
        assert len(text.encode()) <= limit
        assert text.endswith("\n") or limit < 300
    assert ("Not shown, for want of room: 3 removals, 300 moves, " in plan_markdown(made, None, limit=limit)) == (
        limit == 200
    )


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert plan_markdown(_large(500, HOSTILE), None) == plan_markdown(_large(500, HOSTILE), None)


def test_hostile_names_and_sentences_stay_text() -> None:
    made = _large(len(HOSTILE), HOSTILE).holding(*(Held("x", text) for text in HOSTILE))
    missing = tuple(Unplaced(_workload(t), FLEET, 1, t, {}, (ClusterName(t),)) for t in HOSTILE)
    text = plan_markdown(
        replace(made, unplaced=missing), Basis(f"snapshot:{HOSTILE[3]}", *(datetime.now(UTC),) * 2, None)
    )
    _assert_inert(text)
    workloads, clusters = _tables(text)
    assert len(workloads) == 4 + len(HOSTILE)
    assert len(clusters) == 1 + len(HOSTILE)
    assert {len(row) for table in (workloads, clusters) for row in table} == {5}
    names = [row[1] for row in workloads[1:]]
    for i, said in enumerate(HOSTILE):
        if said.isprintable() and said.strip() == said:
            assert f"default/w{i:05}{said}" in names
    _assert_inert(_without_fences(diff_markdown(made)))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("a1 `|\\<>[]()@#!*_~&;:/.-+=$^w\n") | st.characters(), max_size=40))
def test_any_text_is_inert_and_reads_as_it_is(text: str) -> None:
    row = f"| {code(text)} | {sentence(text)} | end |"
    page = f"| a | b | c |\n|---|---|---|\n{row}\n\n- {sentence(text)}\n- {code(text)}\n"
    _assert_inert(page)
    (table,) = _tables(page)
    assert len(table) == 2
    assert len(table[1]) == 3
    assert table[1][2] == "end"
    if text.isprintable() and " ".join(text.split()) == text:
        assert table[1][:2] == [text, text]


@given(st.text(alphabet=st.sampled_from("`~ \na|<"), max_size=60))
def test_a_block_of_code_ends_where_it_should(text: str) -> None:
    tokens = BOARD.parse(f"before\n\n{fenced(text, 'diff')}\n\nafter\n")
    fences = [token for token in tokens if token.type == "fence"]
    assert [(f.info, f.content) for f in fences] == [("diff", f"{text}\n")]


def test_a_tag_in_a_tag_holds_no_markup() -> None:
    assert tagged("a</code>`@b") == "<code>a&#60;/code&#62;&#96;\u200b&#64;\u200bb</code>"


def test_a_diff_is_folded_file_by_file() -> None:
    made = _base()
    text = diff_markdown(made)
    assert text.count("<details>") == text.count("```diff\n") == len(made.difference.changes)
    assert "<summary>add <code>rendered&#47;gitops" not in text
    tokens = BOARD.parse(text)
    assert [t.content.splitlines()[0] for t in tokens if t.type == "fence"] == [
        f"diff --git a/{c.path} b/{c.path}" for c in made.difference.changes
    ]
    _assert_inert(_without_fences(text))


def test_a_diff_that_is_too_long_counts_the_files_it_leaves_out() -> None:
    text = diff_markdown(_base(), limit=3000)
    shown = text.count("<details>")
    assert 0 < shown < 11
    assert text.endswith(f"\nand {11 - shown} more files\n")


def test_a_title_is_the_commits_subject() -> None:
    assert pull_request_title(_base()) == "gitops-ds: place 2 workloads, configure 2 clusters"
    assert len(pull_request_title(_large())) <= 72
