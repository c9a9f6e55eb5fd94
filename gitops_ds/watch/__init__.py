"""`watch`: the unattended loop over the very line that `reconcile` runs once.

    loop       rounds, one after the other, each with a reading of its own; what a failed one means
    pace       how long to wait for the next
    signals    what the operating system tells: stop, stop at once, one round now
    election   which of several replicas works, by a Kubernetes Lease
    logs, metrics, health, web   what can be seen from outside

Owns when a round is run and what is told of it. Owns no part of the round: that is handed in, since only the command
line knows where inputs come from.
"""

from gitops_ds.watch.health import Health
from gitops_ds.watch.logs import Log
from gitops_ds.watch.loop import Loop, Opened, Reading, Settings, Timed
from gitops_ds.watch.metrics import Metrics
from gitops_ds.watch.signals import Signals, Stopping
from gitops_ds.watch.web import Address, address_of, serving

__all__ = [
    "Address",
    "Health",
    "Log",
    "Loop",
    "Metrics",
    "Opened",
    "Reading",
    "Settings",
    "Signals",
    "Stopping",
    "Timed",
    "address_of",
    "serving",
]
