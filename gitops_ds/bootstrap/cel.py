"""Health checks for Flux, in CEL with the object's own fields as variables.

Owns when a Placement has failed, has not come that far, and is as it should be. `inProgress` is asked first, then
`failed`, then `current`. An object without any status is an error in CEL, for which Flux waits as for one in progress.
"""

from __future__ import annotations

from typing import Any, Final

from gitops_ds.hub.objects import CLUSTER_GROUP, served_as

_SATISFIED: Final = 'e.type == "PlacementSatisfied"'
_MISCONFIGURED: Final = 'status.conditions.exists(e, e.type == "PlacementMisconfigured" && e.status == "True")'
_UNSEEN: Final = f"!has(status.conditions) || !status.conditions.exists(e, {_SATISFIED})"
_UNSATISFIED: Final = f'status.conditions.exists(e, {_SATISFIED} && e.status != "True")'

PLACEMENT: Final[dict[str, Any]] = {
    "apiVersion": f"{CLUSTER_GROUP}/{served_as(CLUSTER_GROUP, 'Placement')[0]}",
    "kind": "Placement",
    "inProgress": f"{_UNSEEN} || ({_UNSATISFIED} && !{_MISCONFIGURED})",
    "failed": _MISCONFIGURED,
    "current": f'status.conditions.exists(e, {_SATISFIED} && e.status == "True")',
}
"""A closed gate is in progress, and so is a cluster set that is not bound yet: all of rendered/ is applied at once."""
