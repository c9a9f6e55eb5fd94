"""Order, cycles, groups and cliques of named things, and that they never depend on the order of the input."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.graph import cliques, find_cycle, groups, levels

NAMES = "abcdef"
RELATIONS = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3))
EDGES = st.lists(st.sampled_from(list(combinations(NAMES, 2))), max_size=10)


def test_a_relation_without_a_cycle_has_none() -> None:
    assert find_cycle({}) == ()
    assert find_cycle({"b": ["a"], "c": ["a", "b"]}) == ()


@pytest.mark.parametrize(
    ("after", "cycle"),
    [
        ({"a": ["a"]}, ("a", "a")),
        ({"a": ["b"], "b": ["a"]}, ("a", "b", "a")),
        ({"z": ["c"], "c": ["d"], "d": ["e"], "e": ["c"]}, ("c", "d", "e", "c")),
        ({"c": ["d"], "d": ["c"], "a": ["b"], "b": ["a"]}, ("a", "b", "a")),
    ],
)
def test_the_cycle_of_the_smallest_node_is_shown(after: dict[str, list[str]], cycle: tuple[str, ...]) -> None:
    assert find_cycle(after) == cycle


@given(RELATIONS)
def test_a_cycle_is_one_and_without_one_there_are_levels(after: dict[str, list[str]]) -> None:
    cycle = find_cycle(after)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(first in after[node] for node, first in pairwise(cycle))
        with pytest.raises(ValueError, match="cycle"):
            levels(after)
    else:
        level = levels(after)
        assert list(level) == sorted({*after, *(first for several in after.values() for first in several)})
        for node in level:
            waits = after.get(node, [])
            assert level[node] == max((level[first] + 1 for first in waits), default=0)


def test_groups_are_sorted_and_hold_the_lonely_too() -> None:
    assert groups("dcba", [("d", "b"), ("b", "c")]) == (("a",), ("b", "c", "d"))
    assert groups([], []) == ()


@given(EDGES)
def test_groups_part_the_nodes_along_no_edge(edges: list[tuple[str, str]]) -> None:
    found = groups(NAMES, edges)
    assert sorted(node for part in found for node in part) == list(NAMES)
    assert found == tuple(sorted(tuple(sorted(part)) for part in found))
    of = {node: part for part in found for node in part}
    assert all(of[a] == of[b] for a, b in edges)


def test_mutual_edges_become_one_clique() -> None:
    assert cliques([("c", "a"), ("a", "b"), ("b", "c"), ("c", "d")]) == (("a", "b", "c"), ("c", "d"))


@given(EDGES)
def test_cliques_cover_all_edges_and_nothing_else(edges: list[tuple[str, str]]) -> None:
    found = cliques(edges)
    covered = {pair for clique in found for pair in combinations(clique, 2)}
    assert covered == set(edges)
    assert cliques([(b, a) for a, b in reversed(edges)]) == found
