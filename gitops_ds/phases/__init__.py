"""Moves without downtime: from what git holds to what is wanted, one commit's worth at a time.

Owns which step comes next, what it waits for, and what keeps it from coming. Pure: what the hub shows, what there is
room for and what is in flight are arguments. Owns neither what is wanted (`reconcile.py`) nor where progress is read.
"""

from gitops_ds.phases.course import Phase, Staged, stage
from gitops_ds.phases.origin import returning
from gitops_ds.phases.progress import Progress
from gitops_ds.phases.step import Step, next_step
from gitops_ds.phases.terms import Terms, takes_phases, terms_of
from gitops_ds.phases.transit import Copy, Transit

__all__ = [
    "Copy",
    "Phase",
    "Progress",
    "Staged",
    "Step",
    "Terms",
    "Transit",
    "next_step",
    "returning",
    "stage",
    "takes_phases",
    "terms_of",
]
