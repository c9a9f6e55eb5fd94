"""The door to HiGHS: `solve(problem) -> Solution`, every status mapped, every answer checked.

Owns which way of solving a problem is taken. Owns no constraint and no objective (`problem/`).

A problem is cut into its independent components, always in the same way. A component is solved by patterns of classes,
to proof where that is within reach; where relations are in the way, by one compact model or by a search. Which way is
taken depends on the component alone, never on the number of workers or the time of day.
"""

from gitops_ds.solver.highs import SOLVER_VERSION
from gitops_ds.solver.parts import solve, solver_on

__all__ = ["SOLVER_VERSION", "solve", "solver_on"]
