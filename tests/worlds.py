"""A small fleet to plan on, and the reading of problems by name, for the tests of `problem/`."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from gitops_ds.errors import Fault, InputError
from gitops_ds.inventory import SetBinding
from gitops_ds.problem import Problem, State, build
from tests import builders as make

Entries = list[dict[str, Any]]

ONE: Entries = [{"name": "c1", "policies": ["p1"]}]
BOTH: Entries = [{"name": "c1", "policies": ["p1", "q1"]}, {"name": "c2", "policies": ["p2", "q2"]}]
"""The clusters of an intent that lists one cluster with one policy, and both with both."""


def world(*more: make.Thing, without: Sequence[str] = ()) -> list[make.Thing]:
    """Clusters c1 and c2 with two policies each (half: 2 gpu, full: 1 gpu), workloads w1 and w2, and all scores.

    An object of `more` takes the place of one with the same kind and name; objects named in `without` are left out.
    """
    things: list[make.Thing] = []
    for c in ("1", "2"):
        things += [make.cluster(f"c{c}"), make.policy(f"p{c}"), make.policy(f"q{c}", "full", "1")]
        items = {f"{w};{device}": 10 * int(c) for w in ("w1", "w2") for device in ("half", "full")}
        things.append(make.scores(f"c{c}", items))
    things += [make.workload("w1"), make.workload("w2")]
    replaced = set(map(_key, more))
    return [*(t for t in things if _key(t) not in replaced and _key(t)[1] not in without), *more]


def _key(thing: make.Thing) -> tuple[str, str, str, str]:
    if isinstance(thing, SetBinding):
        return "SetBinding", thing.cluster_set, thing.namespace, ""
    where = str(getattr(thing, "namespace", "")), str(getattr(thing, "cluster", ""))
    return type(thing).__name__, thing.name, *where


def faults(texts: str | Sequence[str], *things: make.Thing, **fields: Any) -> tuple[Fault, ...]:
    """The faults that building the problem of these intents finds."""
    several = [texts] if isinstance(texts, str) else texts
    with pytest.raises(InputError) as error:
        build(make.load(*several), make.inventory(*things, **fields), make.NOW)
    return error.value.faults


def fault(texts: str | Sequence[str], *things: make.Thing, **fields: Any) -> Fault:
    """The one fault that it finds."""
    found = faults(texts, *things, **fields)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def labels(problem: Problem) -> list[str]:
    """Its configurations, as cluster/policy; nothing after the slash where the cluster stays as it is."""
    return [f"{c.cluster}/{c.policy.name if c.policy else ''}" for c in problem.configurations]


def states(problem: Problem) -> dict[str, dict[str, str]]:
    """The state of each workload on each configuration, by name."""
    return {
        str(d.workload.name): {label: State(int(problem.state[w, g])).name for g, label in enumerate(labels(problem))}
        for w, d in enumerate(problem.demands)
    }


def state(problem: Problem, workload: str = "w1", configuration: str = "c1/p1") -> str:
    return states(problem)[workload][configuration]


def points(problem: Problem, workload: str = "w1", configuration: str = "c1/p1") -> Fraction:
    """The blended score of a pair."""
    w = [str(d.workload.name) for d in problem.demands].index(workload)
    return Fraction(int(problem.score[w, labels(problem).index(configuration)]), 1000)


def supply(problem: Problem, configuration: str) -> dict[str, Fraction]:
    """What a configuration supplies, by kind, in base units."""
    units = problem.supply[labels(problem).index(configuration)]
    return {str(kind): problem.amount(k, int(units[k])) for k, kind in enumerate(problem.kinds)}
