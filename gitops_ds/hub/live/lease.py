"""`HubLease`: the Kubernetes Lease by which one of several replicas works: taken, renewed, judged and given back.

Owns the fields of the Lease and the rule of who holds it when. Owns no thread and no pace: whoever wants the Lease
calls `attempt` again and again.

The rule is client-go's. No clock of another machine is believed: a Lease is free once nobody has changed it for its
whole duration, by the clock here, since the last change was *seen*. Its holder stops counting itself as one after two
thirds of the duration, measured from before its last renewal was sent: that is sooner than any other may take it, as
long as clocks run at about the same speed. Every write names the version that it was decided on, so that of several
who try at once one gets it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gitops_ds.errors import HubConflict
from gitops_ds.hub.live.resources import Resource
from gitops_ds.hub.live.server import ApiServer
from gitops_ds.hub.live.transport import Limits

LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
DURATION: Final = timedelta(seconds=15)
"""How long a holder that falls silent keeps the others waiting."""
_HELD: Final = 2 / 3
"""The part of the duration for which a holder counts itself as one."""


def lease_limits(duration: timedelta = DURATION) -> Limits:
    """Limits of calls that are quick enough for a Lease: an attempt of two calls fits into a third of its duration."""
    call = duration.total_seconds() / 6
    return Limits(connect=call, read=call, total=call, tries=1)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class HubLease:
    """One Lease as one contender for it sees it.

    Attributes:
        server: the hub, with limits such as `lease_limits` gives.
        namespace, name: the Lease.
        identity: who contends; no other contender may ever have the same.
        duration: in whole seconds, and the same for all contenders.
        clock: seconds that only go forward.
        now: the time, for people who read the Lease: nothing is judged by it.
        holder: who holds it, as far as was last seen; "" for nobody.
    """

    server: ApiServer
    namespace: str
    name: str
    identity: str
    duration: timedelta = DURATION
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = _now
    holder: str = field(default="", init=False)
    _version: str = field(default="", init=False)
    _changed: float = field(default=0.0, init=False)
    _renewed: float | None = field(default=None, init=False)

    @property
    def held(self) -> bool:
        """Whether this contender may work now. It may be asked from any thread."""
        renewed = self._renewed
        return renewed is not None and self.clock() < renewed + self.duration.total_seconds() * _HELD

    def attempt(self) -> None:
        """Look at the Lease, and renew it or take it where that is due. To be called every third of the duration.

        Raises:
            HubError: the hub gave no answer or refuses. What is held stays so until its time is over.
        """
        began = self.clock()
        found = self.server.find(LEASES, self.name, self.namespace, deadline=self.server.deadline())
        if found is not None:
            self._look(found)
        if found is None or self._is_free(_spec(found)):
            self._take(found, began)

    def release(self) -> None:
        """Give the Lease back, so that nobody has to wait for its end; nothing where it is not held.

        Raises:
            HubError: the hub gave no answer or refuses; the Lease runs out by itself then.
        """
        was, self._renewed = self._renewed, None
        found = self.server.find(LEASES, self.name, self.namespace, deadline=self.server.deadline()) if was else None
        if found is None or _spec(found).get("holderIdentity") != self.identity:
            return
        spec = {**_spec(found), "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._stamp()}
        try:
            self.server.send("PUT", LEASES, {**found, "spec": spec}, name=self.name, namespace=self.namespace)
        except HubConflict:
            return  # somebody has taken it already
        self.holder = ""

    def _look(self, found: Mapping[str, Any]) -> None:
        """Note who holds the Lease, and when a change of it was seen."""
        version = str((found.get("metadata") or {}).get("resourceVersion") or "")
        if version != self._version:
            self._version, self._changed = version, self.clock()
        self.holder = str(_spec(found).get("holderIdentity") or "")
        if self.holder != self.identity:
            self._renewed = None

    def _is_free(self, spec: Mapping[str, Any]) -> bool:
        """Whether this contender may write itself into the Lease: it is its own, nobody's, or has run out."""
        if self.holder in ("", self.identity):
            return True
        said = spec.get("leaseDurationSeconds")
        duration = max(self.duration.total_seconds(), said if isinstance(said, int) else 0)
        return self.clock() >= self._changed + duration

    def _take(self, found: Mapping[str, Any] | None, began: float) -> None:
        """Write this contender into the Lease, unless another one was quicker."""
        old = _spec(found or {})
        stamp, passed_on = self._stamp(), self.holder != self.identity
        transitions = old.get("leaseTransitions") or 0
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.duration.total_seconds()),
            "renewTime": stamp,
            "acquireTime": stamp if passed_on else old.get("acquireTime"),
            "leaseTransitions": transitions + (passed_on and found is not None),
        }
        try:
            if found is None:
                named = {"name": self.name, "namespace": self.namespace}
                body = {"apiVersion": f"{LEASES.group}/{LEASES.version}", "kind": LEASES.kind, "metadata": named}
                made = self.server.send("POST", LEASES, {**body, "spec": spec}, namespace=self.namespace)
            else:
                whole = {**found, "spec": {**old, **spec}}
                made = self.server.send("PUT", LEASES, whole, name=self.name, namespace=self.namespace)
        except HubConflict:
            return  # the next attempt sees whose it is now
        self._look(made)
        self._renewed = began if self.holder == self.identity else None

    def _stamp(self) -> str:
        return self.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _spec(found: Mapping[str, Any]) -> dict[str, Any]:
    spec = found.get("spec")
    return spec if isinstance(spec, dict) else {}
