"""Hypothesis strategies: random placement problems that are small enough to be solved by trying everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

from hypothesis import strategies as st

from gitops_ds.graph import groups
from gitops_ds.inventory import Inventory, Policy
from gitops_ds.problem import Incumbent, Problem, build
from tests import builders as make

Fields = dict[str, Any]

MOST_PLANS = 50_000
"""Plans that a brute force may have to look at, before constraints are counted."""
POINTS: tuple[tuple[int | None, ...], ...] = (
    (0, 10, 10, 25, 40, 100, -10, -40, -100, None),
    (10, 10, 10, 0),
    (0, -10, -10, None),
)
"""Values of scores to draw from. Few of them, so that many plans are equally good and the rule for ties has work."""


@dataclass(frozen=True)
class Case:
    """A placement problem as people and the hub state it: the arguments of `builders.intent` of each intent."""

    intents: tuple[Mapping[str, Any], ...]
    inventory: Inventory
    incumbent: Incumbent

    def texts(self) -> list[str]:
        return [make.intent(**one) for one in self.intents]

    def problem(self) -> Problem:
        return build(make.load(*self.texts()), self.inventory, make.NOW, self.incumbent)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """2 to 4 clusters of 0 to 3 policies, 1 to 5 workloads in one or two intents, all families of constraints."""
    names = [f"c{i}" for i in range(1, draw(st.integers(2, 4)) + 1)]
    policies = {name: draw(_policies(name, most=3 if len(names) == 2 else 2)) for name in names}
    capacity = {name: draw(st.sampled_from(({}, {"cpu": 2}, {"cpu": 3, "gpu": 1}))) for name in names}
    workloads = draw(_workloads(names, options=[len(policies[n]) + bool(capacity[n]) for n in names]))
    split = draw(st.sampled_from((len(workloads), len(workloads), len(workloads) // 2)))
    parts = [part for part in (workloads[:split], workloads[split:]) if part]
    shared = {"preference": draw(_preferences()), "stability": draw(_stabilities()), "scores": draw(_scores_wanted())}
    intents = tuple(
        {
            "name": f"intent{i}",
            "clusters": [
                {"name": n, "policies": [str(p.name) for p in policies[n]], "capacity": capacity[n]} for n in names
            ],
            "workloads": draw(_related(part)),
            **shared,
        }
        for i, part in enumerate(parts)
    )
    things: list[make.Thing] = [draw(_cluster(name)) for name in names]
    things += [p for several in policies.values() for p in several]
    things += [make.workload(w["name"]) for w in workloads]
    points = draw(st.sampled_from(POINTS))
    for name in names:
        devices = ["", *(p.labels["resource-supply-device"] for p in policies[name])]
        for score in ("speed", "power"):
            things.append(make.scores(name, draw(_items([str(w["name"]) for w in workloads], devices, points)), score))
    return Case(intents, make.inventory(*things), draw(_incumbents(workloads, policies)))


@st.composite
def _policies(draw: st.DrawFn, cluster: str, most: int) -> list[Policy]:
    count = draw(st.sampled_from((most, most, 2, 1, 0)))
    kinds = st.sampled_from(("gpu", "gpu", "gpu", "cpu"))
    amounts = st.sampled_from(("3", "2", "1", "4", "1500m"))
    return [make.policy(f"{cluster}-p{i}", f"d{i}", draw(amounts), draw(kinds)) for i in range(count)]


@st.composite
def _cluster(draw: st.DrawFn, name: str) -> Any:
    region = draw(st.sampled_from(("eu", "us", "eu", None)))
    effect = draw(st.sampled_from((None,) * 7 + ("NoSelect", "NoSelectIfNew", "PreferNoSelect")))
    labels = {"region": region} if region else {}
    return make.cluster(name, labels=labels, taints=(make.taint("odd", effect=effect),) if effect else ())


@st.composite
def _workloads(draw: st.DrawFn, clusters: Sequence[str], options: Sequence[int]) -> list[Fields]:
    """Workloads, as many as a brute force can bear, given in how many ways each cluster may be used."""
    plans, found = 1, list[Fields]()
    for i in range(draw(st.sampled_from((5, 4, 3, 2, 1)))):
        copies = draw(st.sampled_from((1, 1, 1, 2, 3)))
        plans *= sum(prod(ways) for count in range(copies + 1) for ways in combinations(options, count))
        if found and plans > MOST_PLANS:
            break
        found.append(draw(_workload(f"w{i}", clusters, copies)))
    return found


@st.composite
def _workload(draw: st.DrawFn, name: str, clusters: Sequence[str], copies: int) -> Fields:
    requests = draw(st.sampled_from(({"gpu": 1}, {"gpu": 1}, {"gpu": 2}, {}, {"cpu": "500m"}, {"gpu": 1, "cpu": 1})))
    found: Fields = {"name": name, "requests": requests, "copies": copies}
    found["priority"] = draw(st.sampled_from((0, 0, 0, 7, -3)))
    some = st.lists(st.sampled_from(clusters), min_size=1, max_size=2, unique=True)
    match draw(st.sampled_from(("", "", "", "", "", "pin", "allow", "avoid"))):
        case "pin" if copies == 1:
            found["pin"] = draw(st.sampled_from(clusters))
        case "allow" | "avoid" as word:
            found[word] = draw(some)
    if copies > 1 and draw(st.sampled_from((True, False, False))):
        mode = draw(st.sampled_from(("hard", "soft")))
        found["spread"] = [{"key": "region", "maxSkew": draw(st.integers(1, 2)), "mode": mode}]
    if copies > 1 and draw(st.sampled_from((True, False, False))):
        found["minCopies"] = draw(st.integers(1, copies))
    if draw(st.sampled_from((True, False, False, False))):
        device = draw(st.sampled_from(("d0", "d1")))
        found["requestsOn"] = {device: draw(st.sampled_from(({"gpu": 2}, {"gpu": 0}, {"cpu": 1}, {"gpu": 4})))}
    if draw(st.booleans()):
        found["tolerations"] = [{"key": "odd", "operator": "Exists"}]
    return found


@st.composite
def _related(draw: st.DrawFn, workloads: Sequence[Fields]) -> list[Fields]:
    """The workloads of one intent, some of them with each other and some apart, never both."""
    names = [str(w["name"]) for w in workloads]
    couples = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    chosen = st.lists(st.sampled_from(couples), max_size=2, unique=True) if couples else st.just([])
    joined = draw(chosen)
    group = {name: members for members in groups(names, joined) for name in members}
    apart = [(a, b) for a, b in draw(chosen) if b not in group[a]]
    return [
        {**w, "with": [b for a, b in joined if a == w["name"]], "apart": [b for a, b in apart if a == w["name"]]}
        for w in workloads
    ]


@st.composite
def _preferences(draw: st.DrawFn) -> Fields:
    return {
        "goal": draw(st.sampled_from(("place-first", "score-first"))),
        "missing": draw(st.sampled_from(("exclude", "exclude", "zero"))),
    }


@st.composite
def _scores_wanted(draw: st.DrawFn) -> list[Fields]:
    speed = {"name": "speed", "dimension": make.DIMENSION}
    power = {"name": "power", "dimension": make.DIMENSION}
    return draw(st.sampled_from(([speed], [speed], [speed, {**power, "weight": 0.5, "direction": "minimize"}])))


@st.composite
def _stabilities(draw: st.DrawFn) -> Fields:
    return {
        "moveCost": draw(st.sampled_from((0, 0, 5, 12.5))),
        "reconfigureCost": draw(st.sampled_from((0, 0, 10, 30))),
        **draw(st.sampled_from(({}, {}, {"maxMoves": 0}, {"maxMoves": 1}))),
    }


@st.composite
def _items(
    draw: st.DrawFn, apps: Sequence[str], devices: Sequence[str], points: Sequence[int | None]
) -> list[tuple[str, int]]:
    """Score items, some of them missing."""
    names = [f"{app};{device}" for app in apps for device in devices]
    values = draw(st.lists(st.sampled_from(points), min_size=len(names), max_size=len(names)))
    return [(name, value) for name, value in zip(names, values, strict=True) if value is not None]


@st.composite
def _incumbents(draw: st.DrawFn, workloads: Sequence[Fields], policies: Mapping[str, Sequence[Policy]]) -> Incumbent:
    some = st.lists(st.sampled_from([*sorted(policies), "lost"]), max_size=2, unique=True)
    placed: dict[str, list[str]] = {}
    for workload in workloads:
        if draw(st.booleans()):
            placed[str(workload["name"])] = draw(some)
    configured: dict[str, str] = {}
    for name, several in sorted(policies.items()):
        if draw(st.booleans()) and several:
            configured[name] = draw(st.sampled_from([str(p.name) for p in several]))
    return make.incumbent(placed, configured)
