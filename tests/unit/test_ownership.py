"""A plan takes no name that somebody else has on the hub, unless its intent adopts it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitops_ds.errors import InputError, Source
from gitops_ds.ids import Namespace, PlacementName
from gitops_ds.inventory import ExistingBinding, ExistingPlacement
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solver import solve
from tests import builders as make
from tests.worlds import BOTH, world

OURS = {"app.kubernetes.io/managed-by": "gitops-ds"}
HUB = Source("hub/placements.yaml")


def planned(
    *existing: ExistingPlacement | ExistingBinding, current: Mapping[str, bytes] | None = None, **spec: Any
) -> Plan:
    inventory = replace(
        make.inventory(*world()),
        placements=tuple(one for one in existing if isinstance(one, ExistingPlacement)),
        bindings=tuple(one for one in existing if isinstance(one, ExistingBinding)),
    )
    return plan(make.load(make.intent(BOTH, ["w1", "w2"], **spec)), inventory, current or {}, make.NOW, solve)


def placement(name: str, namespace: str = make.NAMESPACE, **labels: str) -> ExistingPlacement:
    return ExistingPlacement(Namespace(namespace), PlacementName(name), labels, HUB)


def binding(name: str, labels: Mapping[str, str] | None = None) -> ExistingBinding:
    return ExistingBinding(make.NAMESPACE, name, labels or {}, HUB)


def names(made: Plan, kind: str) -> list[str]:
    prefix = f"{kind.lower()}-"
    return sorted(path.rpartition("/")[2][len(prefix) : -5] for path in made.tree if f"/{prefix}" in path)


def test_a_placement_of_somebody_else_is_not_taken() -> None:
    name = next(name for name in names(planned(), "Placement") if name.startswith("w1"))
    with pytest.raises(InputError) as caught:
        planned(placement(name))
    (fault,) = caught.value.faults
    assert fault.what == f"Placement {make.NAMESPACE}/{name} is on the hub already and is not ours"
    assert fault.why == "its label app.kubernetes.io/managed-by is missing; see hub/placements.yaml"
    assert f"`adopt: [{name}]`" in fault.fix
    assert fault.place is not None
    assert (fault.place.file, fault.place.line) == ("intent/0.yaml", 12)


def test_every_name_that_is_taken_is_said_at_once() -> None:
    made = planned()
    several = [placement(name) for name in names(made, "Placement")]
    several_bindings = [binding(name) for name in names(made, "PlacementBinding")]
    assert several_bindings
    with pytest.raises(InputError) as caught:
        planned(*several, *several_bindings)
    assert len(caught.value.faults) == len(several) + len(several_bindings)


def test_what_is_adopted_or_ours_or_elsewhere_is_taken() -> None:
    made = planned()
    placements, bindings = names(made, "Placement"), names(made, "PlacementBinding")
    foreign: list[ExistingPlacement | ExistingBinding] = [
        *(placement(name) for name in placements),
        *(binding(name) for name in bindings),
    ]
    adopted = planned(*foreign, adopt=[*placements, *bindings])
    assert {path for path in adopted.tree if path.endswith(".yaml")} == {p for p in made.tree if p.endswith(".yaml")}
    ours = [replace(placement(name), labels=OURS) for name in placements]
    assert planned(*ours, *(binding(name, OURS) for name in bindings)).tree == made.tree
    assert planned(*(placement(name, "elsewhere") for name in placements), placement("other")).tree == made.tree


def test_another_tools_label_is_quoted() -> None:
    name = names(planned(), "Placement")[0]
    theirs = replace(placement(name), labels={"app.kubernetes.io/managed-by": "Helm"})
    with pytest.raises(InputError, match=r"its label app.kubernetes.io/managed-by is Helm"):
        planned(theirs)
