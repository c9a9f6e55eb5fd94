"""Relations between named things: order, cycles, groups and independent components.

Owns the graph questions that the problem asks, answered in sorted order. Owns no meaning of the nodes.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, Self, TypeVar

import networkx as nx


class Sortable(Hashable, Protocol):
    """A node: hashable, and with an order that does not depend on the process."""

    def __lt__(self, other: Self, /) -> bool: ...


Node = TypeVar("Node", bound=Sortable)


def find_cycle(after: Mapping[Node, Sequence[Node]]) -> tuple[Node, ...]:
    """The cycle that the smallest node reaches first, as a path whose last node is its first; () without one."""
    graph = _ordered(after)
    for start in sorted(graph):
        if any(start in graph[other] for other in nx.descendants(graph, start)) or start in graph[start]:
            back = min(n for n in graph.predecessors(start) if n == start or nx.has_path(graph, start, n))
            return (*nx.shortest_path(graph, start, back), start)
    return ()


def levels(after: Mapping[Node, Sequence[Node]]) -> dict[Node, int]:
    """How many steps each node comes after the first ones: 0 for a node that waits for nobody.

    Raises:
        ValueError: the relation has a cycle.
    """
    if find_cycle(after):
        raise ValueError("the relation has a cycle")
    graph = _ordered(after).reverse()
    level: dict[Node, int] = {}
    for node in nx.lexicographical_topological_sort(graph):
        level[node] = max((level[first] + 1 for first in graph.predecessors(node)), default=0)
    return dict(sorted(level.items()))


def groups(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> tuple[tuple[Node, ...], ...]:
    """The connected components: each sorted, in the order of their smallest nodes."""
    graph: nx.Graph[Node] = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return tuple(sorted(tuple(sorted(part)) for part in nx.connected_components(graph)))


def cliques(edges: Iterable[tuple[Node, Node]]) -> tuple[tuple[Node, ...], ...]:
    """Sets of mutually joined nodes that together cover every edge: grown greedily from the smallest uncovered edge."""
    graph: nx.Graph[Node] = nx.Graph()
    graph.add_edges_from(edges)
    left = {tuple(sorted(edge)) for edge in graph.edges}
    found: list[tuple[Node, ...]] = []
    while left:
        clique = list(min(left))
        for node in sorted(graph):
            if node not in clique and all(graph.has_edge(node, member) for member in clique):
                clique.append(node)
        found.append(tuple(sorted(clique)))
        left -= {(a, b) for i, a in enumerate(found[-1]) for b in found[-1][i + 1 :]}
    return tuple(found)


def _ordered(after: Mapping[Node, Sequence[Node]]) -> "nx.DiGraph[Node]":
    graph: nx.DiGraph[Node] = nx.DiGraph()
    graph.add_nodes_from(sorted(after))
    graph.add_edges_from((node, first) for node in sorted(after) for first in sorted(after[node]))
    return graph
