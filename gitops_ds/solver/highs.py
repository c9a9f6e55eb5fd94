"""HiGHS itself: a quiet solver with fixed options, its statuses, and the check that it accepted what it was given.

Owns every option and the meaning of every status. Owns no model.
"""

from __future__ import annotations

from importlib.metadata import version

import highspy

from gitops_ds.errors import Fault, SolveError
from gitops_ds.solution import Status

SOLVER_VERSION = f"highspy {version('highspy')}"

USABLE = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kTimeLimit: Status.LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: Status.LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.LIMIT,
    highspy.HighsModelStatus.kMemoryLimit: Status.LIMIT,
    highspy.HighsModelStatus.kObjectiveBound: Status.LIMIT,
    highspy.HighsModelStatus.kObjectiveTarget: Status.LIMIT,
}
"""Statuses under which a feasible plan may be used. Every other one is an error of ours or of the solver."""


class _Quiet(highspy.Highs):
    """HiGHS, silenced before its constructor turns callbacks on, which is when it would print its banner."""

    def enableCallbacks(self) -> None:  # noqa: N802  (the library's name)
        self.silent()
        super().enableCallbacks()  # type: ignore[no-untyped-call]  # highspy leaves it so


def quiet(*, seconds: float, gap: float = 0.0) -> highspy.Highs:
    """A solver that prints nothing and always answers the same question in the same way."""
    solver = _Quiet()  # type: ignore[no-untyped-call]
    options: dict[str, bool | int | float] = {
        "output_flag": False,
        "threads": 1,
        "random_seed": 0,
        "mip_rel_gap": gap,
        "mip_abs_gap": 0.5,
        "time_limit": seconds,
    }
    for name, value in options.items():
        assert_ok(solver.setOptionValue(name, value), f"option {name}")
    return solver


def assert_ok(status: highspy.HighsStatus, what: str) -> None:
    """Raise where the solver refused `what`: it never raises by itself.

    Raises:
        SolveError: it did.
    """
    if status != highspy.HighsStatus.kOk:
        raise SolveError(Fault(f"the solver refuses its {what}", fix="report this"))
