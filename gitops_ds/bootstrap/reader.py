"""What a reconciler may do on the hub: read the kinds that a plan reads, and nothing else.

Owns the rules of that ClusterRole, made from the table that the reading itself goes by. Owns no binding.
"""

from __future__ import annotations

from typing import Any

from gitops_ds.hub.live.resources import READ


def reader_rules() -> list[dict[str, Any]]:
    """RBAC rules for one reading of a hub: `list` on what is listed, `get` by name on what is asked for by name."""
    lists: dict[str, list[str]] = {}
    rules = []
    for wanted in READ:
        if wanted.name:
            rule = {
                "apiGroups": [wanted.resource.group],
                "resources": [wanted.resource.plural],
                "resourceNames": [wanted.name],
                "verbs": ["get"],
            }
            rules.append(rule)
        else:
            lists.setdefault(wanted.resource.group, []).append(wanted.resource.plural)
    listed = [
        {"apiGroups": [group], "resources": sorted(set(names)), "verbs": ["list"]}
        for group, names in sorted(lists.items())
    ]
    return listed + sorted(rules, key=lambda rule: str(rule["resources"]))
