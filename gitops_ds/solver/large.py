"""Components beyond proof by patterns: the compact model with a limit.

Owns the order in which ways are tried. Owns none of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_ds.problem.model import Problem
from gitops_ds.solution import Solution
from gitops_ds.solver.staged import solve_staged


def improving(problem: Problem) -> Iterator[Solution]:
    """Ever better plans of `problem`."""
    yield solve_staged(problem)
