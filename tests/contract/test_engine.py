"""Engines: the same bytes wherever components are solved, on a real Dask cluster too."""

from collections.abc import Iterator

import pytest
from distributed import LocalCluster

from gitops_ds.engine import Dask, Engine, Processes, Serial, engine_from
from gitops_ds.errors import SolveError, UsageError
from gitops_ds.problem import Problem
from gitops_ds.problem.components import components
from gitops_ds.solver import solve, solver_on
from tests import builders as make


def fleet(parts: int) -> Problem:
    """Several pairs of clusters that share nothing with the other pairs."""
    things: list[make.Thing] = []
    texts = []
    for i in range(parts):
        names = [f"w{i}{j}" for j in range(3)]
        clusters = [f"c{i}a", f"c{i}b"]
        things += [make.workload(name) for name in names]
        for n, c in enumerate(clusters):
            things += [make.cluster(c), make.policy(f"{c}-p", amount="4")]
            things.append(make.scores(c, {f"{name};half": 10 * n + j for j, name in enumerate(names)}))
        texts.append(make.intent([{"name": c, "policies": [f"{c}-p"]} for c in clusters], names, name=f"part{i}"))
    return make.problem("---\n".join(texts), *things)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with LocalCluster(  # type: ignore[no-untyped-call]  # Dask leaves it so
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        yield cluster.scheduler_address


def test_components_are_independent() -> None:
    problem = fleet(4)
    parts = components(problem)
    assert len(parts) == 4
    seen = [w for part in parts for w in part.workloads]
    assert sorted(seen) == list(range(len(problem.demands)))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_processes_changes_nothing(workers: int) -> None:
    problem = fleet(3)
    assert solver_on(Processes(workers))(problem) == solve(problem)


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_same_plan(scheduler: str) -> None:
    problem = fleet(3)
    assert solver_on(Dask(scheduler))(problem) == solve(problem)


def test_a_scheduler_that_is_not_there_is_said_so() -> None:
    with pytest.raises(SolveError, match=r"Dask scheduler at tcp://127\.0\.0\.1:9"):
        solver_on(Dask("tcp://127.0.0.1:9"))(fleet(2))


@pytest.mark.parametrize(
    ("text", "engine"),
    [("local", Serial()), ("processes:3", Processes(3)), ("dask:tcp://127.0.0.1:9", Dask("tcp://127.0.0.1:9"))],
)
def test_engines_are_named_by_text(text: str, engine: Engine) -> None:
    assert engine_from(text) == engine


@pytest.mark.parametrize("text", ["", "threads:2", "processes:0", "processes:x", "dask:", "local:1"])
def test_a_wrong_name_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="no engine"):
        engine_from(text)
