"""`Problem`: intents and inventory as sorted sets and arrays, and the integer model of them.

Owns what may be chosen, what it is worth and which rules hold. Owns no solver and no way of saying the answer.
"""

from gitops_ds.problem.build import build
from gitops_ds.problem.matrix import Matrix, matrix_of
from gitops_ds.problem.model import POINT, Configuration, Demand, Incumbent, Pair, Problem, State

__all__ = [
    "POINT",
    "Configuration",
    "Demand",
    "Incumbent",
    "Matrix",
    "Pair",
    "Problem",
    "State",
    "build",
    "matrix_of",
]
