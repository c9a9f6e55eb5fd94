"""The traps of highspy that could reach us: each is met by a check of ours, or by the way in which we call it."""

import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import highspy
import numpy as np
import pytest

from bench.instances import as_problem, placement
from gitops_ds.errors import SolveError
from gitops_ds.packing.model import Packing
from gitops_ds.solution import Status
from gitops_ds.solver import solve
from gitops_ds.solver.highs import SOLVER_VERSION, USABLE, assert_ok, quiet
from gitops_ds.solver.master import Pattern, master_of
from gitops_ds.solver.staged import solve_staged
from tests import builders as make


def packing() -> Packing:
    """Two workloads, one cluster with room for one of them."""
    return Packing(
        value=np.array([[5], [4]]),
        allowed=np.ones((2, 1), dtype=np.bool_),
        request=np.array([[1], [1]]),
        supply=np.array([[1]]),
        cluster_of=np.array([0]),
        fixed=np.array([0]),
        copies=np.array([1, 1]),
    )


def test_a_refusal_is_an_error_though_highspy_only_returns_it() -> None:
    solver = quiet(seconds=1)
    with pytest.raises(SolveError, match="option no_such_option"):
        assert_ok(solver.setOptionValue("no_such_option", 1), "option no_such_option")
    with pytest.raises(SolveError, match="option threads"):
        assert_ok(solver.setOptionValue("threads", 1.5), "option threads")


def test_every_status_is_either_usable_or_an_error() -> None:
    names = {name for name in vars(highspy.HighsModelStatus) if name.startswith("k") and name != "kMin"}
    usable = {status.name for status in USABLE}
    assert usable < names
    assert "kOptimal" in usable
    assert not usable & {"kInfeasible", "kUnbounded", "kSolveError", "kModelError", "kNotset", "kLoadError"}


def test_nothing_is_printed_by_a_new_solver() -> None:
    code = "from gitops_ds.solver.highs import quiet; s = quiet(seconds=1); s.run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_all_zeros_without_a_solution_are_no_plan() -> None:
    problem = replace(as_problem(placement(30, 12, 3, "tight", 0)), time_limit=0.0)
    with suppress(SolveError):
        assert solve_staged(problem).pairs


def test_the_gap_is_zero_and_the_threads_are_one_whatever_ran_before() -> None:
    highspy.Highs.resetGlobalScheduler(True)
    for _ in range(2):
        solver = quiet(seconds=1)
        assert solver.getOptionValue("threads")[1] == 1
        assert solver.getOptionValue("mip_rel_gap")[1] == 0.0
        assert solver.getOptionValue("random_seed")[1] == 0


def test_objectives_are_counted_in_whole_numbers() -> None:
    solution = solve_staged(as_problem(placement(10, 4, 3, "tight", 1)))
    assert solution.status is Status.OPTIMAL
    assert all(isinstance(stage.value, int) for stage in solution.stages)


def test_a_start_is_a_full_vector_and_is_kept() -> None:
    master = master_of(packing())
    both = [Pattern(0, (0,)), Pattern(0, (1,))]
    assert master.add(both) == 2
    assert master.add(both) == 0
    assert master.whole(5.0, [both[1]]) == ([both[0]], True)


def test_a_second_run_has_its_own_time() -> None:
    master = master_of(packing())
    master.add([Pattern(0, (0,)), Pattern(0, (1,))])
    for _ in range(3):
        assert master.relax()[0] == 5.0
    assert master.whole(5.0) == ([Pattern(0, (0,))], True)


def test_rivals_that_export_the_same_symbols_stay_out_of_our_process() -> None:
    code = "import sys, gitops_ds.solver, gitops_ds.cli.inputs; print(sorted({'ortools', 'pulp'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_version_is_named() -> None:
    assert SOLVER_VERSION.startswith("highspy ")


def test_a_presolve_that_breaks_the_model_is_left_out_in_a_second_run() -> None:
    points = {
        "speed": {"c1": {"w0;": 10, "w0;d0": 10, "w1;": 0, "w1;d0": 0, "w2;": 10, "w2;d0": 10, "w3;": 10, "w3;d0": 0}},
        "power": {"c1": {"w0;": 0, "w0;d0": 10, "w1;": 10, "w1;d0": 0, "w2;": 0, "w2;d0": 10, "w3;": 10, "w3;d0": 10}},
    }
    points["speed"]["c2"] = {f"w{i};{d}": 10 for i in range(4) for d in ("", "d0")}
    points["power"]["c2"] = {**points["speed"]["c2"], "w0;d0": 0}
    things: list[make.Thing] = [make.workload(f"w{i}") for i in range(4)]
    for c in ("c1", "c2"):
        things += [make.cluster(c, labels={"region": "eu"}), make.policy(f"{c}-p0", "d0", "3")]
        things += [make.scores(c, points[name][c], name) for name in points]
    text = make.intent(
        [{"name": c, "policies": [f"{c}-p0"], "capacity": {"cpu": 3, "gpu": 1}} for c in ("c1", "c2")],
        [
            {"name": "w0", "requests": {"cpu": "500m"}, "copies": 2, "with": ["w2"]},
            {"name": "w1", "requests": {}, "copies": 2, "minCopies": 1},
            {"name": "w2", "requests": {"gpu": 1}, "copies": 2, "priority": 7, "minCopies": 1},
            {"name": "w3", "requests": {"gpu": 1, "cpu": 1}, "copies": 2, "priority": -3},
        ],
        preference={"goal": "score-first", "missing": "exclude"},
        scores=[
            {"name": "speed", "dimension": "${app};${device}"},
            {"name": "power", "dimension": "${app};${device}", "weight": 0.5, "direction": "minimize"},
        ],
    )
    solution = solve(make.problem(text, *things))
    assert solution.status is Status.OPTIMAL
    assert (solution.stages[0].name, solution.stages[0].value) == ("score less changes", 45000)
