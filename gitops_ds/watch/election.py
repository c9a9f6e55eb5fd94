"""Which of several replicas works: the one that holds the Lease that the Reconciler names, where it names one.

Owns the thread that seeks and renews the Lease while rounds are run, and its pace. Owns no rule of who holds it
(`hub/live/lease.py`).
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gitops_ds.errors import Fault, HeldError, HubError, InputError
from gitops_ds.intent.reconciler import Lease
from gitops_ds.watch.logs import Log

if TYPE_CHECKING:
    from gitops_ds.hub.live.lease import HubLease

_LIVE = "kubernetes:"
_RENEWALS, _RETRIES = 3, 15
"""How many attempts fit into the duration of a Lease, and how many after one that failed."""


def new_identity() -> str:
    """Who this process is to other replicas: its host (in a pod, the pod's name), its id, and chance.

    Chance keeps processes apart that have host and id in common, as containers on the host's network have.
    """
    return f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"


class Election:
    """Seeks one Lease in a thread of its own, until `close`.

    Args:
        lease: the Lease as this process contends for it.
        log: is told when it is got or lost, and of each new trouble with it.
        changed: called, in the thread, after each attempt that changed whether the Lease is held.
    """

    def __init__(self, lease: HubLease, log: Log, changed: Callable[[], None]) -> None:
        self._lease = lease
        self._log = log
        self._changed = changed
        self._ended = threading.Event()
        self._was_held = False
        self._holder = ""
        self._trouble: tuple[Fault, ...] = ()
        self._thread = threading.Thread(target=self._seek, name="gitops-ds-lease", daemon=True)
        self._thread.start()

    @property
    def held(self) -> bool:
        """Whether this process may work now."""
        return self._lease.held

    @property
    def stands_by(self) -> bool:
        """Whether another replica is known to hold the Lease."""
        return not self._trouble and self._lease.holder not in ("", self._lease.identity)

    def close(self) -> None:
        """End the thread, and give the Lease back."""
        self._ended.set()
        self._thread.join()
        try:
            if self.held:
                self._lease.release()
                self._log.event("lease.released", lease=self._name)
        except HubError as error:
            self._log.event("lease.error", "warning", lease=self._name, faults=[str(one) for one in error.faults])
        finally:
            self._lease.server.close()

    @property
    def _name(self) -> str:
        return f"{self._lease.namespace}/{self._lease.name}"

    def _seek(self) -> None:
        duration = self._lease.duration.total_seconds()
        while True:
            self._attempt()
            self._notice()
            if self._ended.wait(duration / (_RETRIES if self._trouble else _RENEWALS)):
                return

    def _attempt(self) -> None:
        trouble: tuple[Fault, ...] = ()
        try:
            self._lease.attempt()
        except HubError as error:
            trouble = error.faults
        if trouble and trouble != self._trouble:
            self._log.event("lease.error", "error", lease=self._name, faults=[str(one) for one in trouble])
        self._trouble = trouble

    def _notice(self) -> None:
        held, holder = self._lease.held, self._lease.holder
        if held and not self._was_held:
            self._log.event("lease.acquired", lease=self._name, identity=self._lease.identity)
        elif self._was_held and not held:
            self._log.event("lease.lost", "warning", lease=self._name, holder=holder or None)
        elif not held and holder and holder != self._holder:
            self._log.event("lease.standby", lease=self._name, holder=holder)
        changed, self._was_held, self._holder = held != self._was_held, held, holder
        if changed:
            self._changed()


class Leadership:
    """Whether this process may work, by the Lease that counts now, or without one.

    Args:
        log: is told of elections.
        changed: called, in another thread, when it may have changed.
        identity: who this process is to other replicas.
    """

    def __init__(self, log: Log, changed: Callable[[], None], identity: str) -> None:
        self._log = log
        self._changed = changed
        self._identity = identity
        self._wanted: tuple[str, Lease] | None = None
        self._election: Election | None = None

    def follow(self, hub: str, lease: Lease | None) -> None:
        """From now on, let this Lease on this hub decide; None: this process may always work.

        Raises:
            GitopsDsError: the hub is no live one, or there is no way to its credentials.
        """
        wanted = None if lease is None else (hub, lease)
        if wanted == self._wanted and (self._election is None) == (wanted is None):
            return
        self.close()
        self._wanted = wanted
        if lease is not None:
            self._election = Election(self._contend(hub, lease), self._log, self._changed)

    def _contend(self, hub: str, lease: Lease) -> HubLease:
        from gitops_ds.hub.live import open_hub
        from gitops_ds.hub.live.lease import HubLease, lease_limits

        if not hub.startswith(_LIVE):
            fix = "--hub kubernetes, or take spec.watch.lease out of the Reconciler"
            raise InputError(Fault(f"a Lease needs a live hub, and the hub is {hub or 'not named'}", fix=fix))
        server = open_hub(hub.removeprefix(_LIVE), limits=lease_limits())
        return HubLease(server, lease.namespace, lease.name, self._identity)

    @property
    def may_work(self) -> bool:
        """Whether this process may work now."""
        return self._wanted is None or (self._election is not None and self._election.held)

    @property
    def seeks(self) -> bool:
        """Whether a Lease is sought that is not held."""
        return self._election is not None and not self._election.held

    @property
    def stands_by(self) -> bool:
        """Whether another replica is known to do the work."""
        return self._election is not None and self._election.stands_by

    def may_work_by(self, hub: str, lease: Lease | None) -> bool:
        """Whether this process may work by this very Lease (None: by none)."""
        return self.may_work and self._wanted == (None if lease is None else (hub, lease))

    def insist(self, hub: str, lease: Lease | None) -> None:
        """Make sure that this process may work by this very Lease.

        Raises:
            HeldError: it may not, or has not sought this Lease yet.
        """
        if not self.may_work_by(hub, lease):
            name = f"{lease.namespace}/{lease.name}" if lease else "that counted so far"
            raise HeldError(Fault(f"the Lease {name} is not held", why="another replica may be at work"))

    def close(self) -> None:
        """Give back what is held."""
        election, self._election = self._election, None
        if election is not None:
            election.close()
