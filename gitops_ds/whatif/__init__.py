"""What another choice would cost the whole plan, and what would have to change for a workload to get a place.

Owns the questions that are answered by solving again: exact, so on demand only. Plain reasons need none of this
(`decisions.py`). Owns no solver: it is an argument.
"""

from gitops_ds.whatif.loss import Loss, Weigh, loss, losses
from gitops_ds.whatif.relaxations import LeastCapacity, Relaxation, more_capacity, relaxations

__all__ = ["LeastCapacity", "Loss", "Relaxation", "Weigh", "loss", "losses", "more_capacity", "relaxations"]
