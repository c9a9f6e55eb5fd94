"""Health checks for Argo CD, in the Lua that it runs: Lua 5.1 with `obj`, the object as the hub holds it.

Owns when an object counts as Healthy, Progressing, Suspended or Degraded. Argo CD has no check of its own for a
Placement, a PlacementBinding or a ManifestWorkReplicaSet. Its check for a Policy calls one that no cluster is bound to
Progressing for ever, and one that is on its way Degraded; of several candidates only one is ever bound.

Progressing holds back the later waves of a sync, so it is only said of what goes on by itself: before a controller has
looked, and while a claim gate is closed. A condition does not tell which generation of the spec it is about.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_DELETION: Final = """\
if obj.metadata ~= nil and obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "is being deleted" }
end
"""

PLACEMENT: Final = f"""\
{_DELETION}
local satisfied, misconfigured, gated
for _, condition in ipairs((obj.status or {{}}).conditions or {{}}) do
  if condition.type == "PlacementSatisfied" then satisfied = condition end
  if condition.type == "PlacementMisconfigured" then misconfigured = condition end
end
for _, predicate in ipairs((obj.spec or {{}}).predicates or {{}}) do
  local selector = predicate.requiredClusterSelector or {{}}
  if #((selector.claimSelector or {{}}).matchExpressions or {{}}) > 0 then gated = true end
end

-- A Placement may be satisfied and misconfigured at once, so this comes first.
if misconfigured ~= nil and misconfigured.status == "True" then
  return {{ status = "Degraded", message = misconfigured.message or "misconfigured" }}
end
if satisfied == nil then
  return {{ status = "Progressing", message = "the placement controller has not looked yet" }}
end
local said = satisfied.message or satisfied.reason or ""
if satisfied.status == "True" then
  return {{ status = "Healthy", message = said }}
end
local reason = satisfied.reason
if gated and (reason == "NoManagedClusterMatched" or reason == "NotAllDecisionsScheduled") then
  return {{ status = "Progressing", message = "waits for the claim gate: " .. said }}
end
return {{ status = "Degraded", message = said }}
"""

PLACEMENT_BINDING: Final = f"""\
{_DELETION}
local names = {{}}
for _, subject in ipairs(obj.subjects or {{}}) do
  names[#names + 1] = subject.name
end
local placement = (obj.placementRef or {{}}).name
if placement == nil or #names == 0 then
  return {{ status = "Degraded", message = "binds nothing" }}
end
return {{ status = "Healthy", message = "binds " .. table.concat(names, ", ") .. " by " .. placement }}
"""

POLICY: Final = f"""\
{_DELETION}
if obj.spec ~= nil and obj.spec.disabled then
  return {{ status = "Suspended", message = "is disabled" }}
end
local status = obj.status or {{}}
local waiting, wrong = {{}}, {{}}
for _, entry in ipairs(status.status or {{}}) do
  if entry.compliant == "NonCompliant" then
    wrong[#wrong + 1] = entry.clustername
  elseif entry.compliant ~= "Compliant" then
    waiting[#waiting + 1] = entry.clustername
  end
end
if #wrong > 0 then
  return {{ status = "Degraded", message = "not compliant: " .. table.concat(wrong, ", ") }}
end
if #waiting > 0 then
  return {{ status = "Progressing", message = "not yet compliant: " .. table.concat(waiting, ", ") }}
end
if status.compliant == "NonCompliant" then
  return {{ status = "Degraded", message = "not compliant" }}
end
if status.compliant == "Pending" then
  return {{ status = "Progressing", message = "not yet compliant" }}
end
if status.compliant == nil then
  return {{ status = "Healthy", message = "no cluster is bound to it" }}
end
return {{ status = "Healthy", message = "compliant" }}
"""

REPLICA_SET: Final = f"""\
{_DELETION}
local status = obj.status or {{}}
local placed, applied
for _, condition in ipairs(status.conditions or {{}}) do
  if condition.type == "PlacementVerified" then placed = condition end
  if condition.type == "ManifestworkApplied" then applied = condition end
end
if applied ~= nil and applied.status == "False" and applied.reason == "InvalidManifestWorkName" then
  return {{ status = "Degraded", message = applied.message or "its name is too long" }}
end
if placed == nil then
  return {{ status = "Progressing", message = "the work controller has not looked yet" }}
end
if placed.reason == "PlacementDecisionNotFound" then
  return {{ status = "Suspended", message = "has no Placement: no plan has a place for it, or none is applied" }}
end
if placed.reason == "PlacementDecisionEmpty" then
  return {{ status = "Progressing", message = "its Placement selects no cluster: it waits for its gate" }}
end
local summary = status.summary or {{}}
local total = summary.desiredTotal or summary.total or 0
local counts = (summary.applied or 0) .. " applied and " .. (summary.available or 0) .. " available of " .. total
if (summary.degraded or 0) > 0 then
  return {{ status = "Degraded", message = summary.degraded .. " degraded; " .. counts }}
end
if (summary.applied or 0) < total or (summary.available or 0) < total or total == 0 then
  return {{ status = "Progressing", message = counts }}
end
return {{ status = "Healthy", message = counts }}
"""

HEALTH: Final = MappingProxyType(
    {
        "cluster.open-cluster-management.io_Placement": PLACEMENT,
        "policy.open-cluster-management.io_PlacementBinding": PLACEMENT_BINDING,
        "policy.open-cluster-management.io_Policy": POLICY,
        "work.open-cluster-management.io_ManifestWorkReplicaSet": REPLICA_SET,
    }
)
"""`<group>_<kind>`, as Argo CD names a kind in a setting, to its check."""
