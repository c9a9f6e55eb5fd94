"""The compact model as HiGHS takes it: a matrix's columns and rows, all columns whole.

Owns the hand-over, nothing else: no option, no stage, no solving.
"""

from __future__ import annotations

import highspy
import numpy as np
import numpy.typing as npt

from gitops_ds.problem.matrix import Matrix


def lp_of(matrix: Matrix, cost: npt.NDArray[np.float64], sense: highspy.ObjSense) -> highspy.HighsLp:
    """The model with one cost a column."""
    columns, (start, index, value) = matrix.columns, matrix.entries
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns.count, len(matrix.row_lower)
    lp.sense_ = sense
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = np.zeros(columns.count), columns.upper
    lp.row_lower_, lp.row_upper_ = matrix.row_lower, matrix.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = start, index, value
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns.count
    return lp
