"""The live hub: its API server asked over HTTP, and its answers as an `Inventory` or as plain objects.

Owns the way to the API server. Importing it loads the `kubernetes` client, which takes a while: a verb imports it when
it is to ask a hub.
"""

from __future__ import annotations

from typing import Any

from gitops_ds.hub.live.connect import hub_name, open_hub
from gitops_ds.hub.live.read import fetch_each, fetch_live, read_from
from gitops_ds.hub.live.resources import RESOURCES, Resource, resource
from gitops_ds.hub.live.server import APPLY_PATCH, MERGE_PATCH, ApiServer
from gitops_ds.hub.live.transport import Deadline, Limits
from gitops_ds.inventory import Inventory

__all__ = [
    "APPLY_PATCH",
    "MERGE_PATCH",
    "RESOURCES",
    "ApiServer",
    "Deadline",
    "Limits",
    "Resource",
    "fetch_each",
    "fetch_live",
    "hub_name",
    "open_hub",
    "read_from",
    "read_live",
    "resource",
]


def read_live(context: str | None = None, *, works: bool = True, **how: Any) -> Inventory:
    """The inventory that the hub of `context` holds now; `how` is what `open_hub` takes besides.

    Without `works`, ManifestWorks are left out.

    Raises:
        HubError: as `open_hub` and `read_from` say.
    """
    with open_hub(context, **how) as server:
        return read_from(server, works=works)
