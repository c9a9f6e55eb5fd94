"""The door to parallel work: applies one function to many items in this process, in several, or on a Dask cluster.

Owns where the work runs. The answer never depends on it: results come back in the order of the items, and the items
are the same whatever the engine. Processes are spawned, not forked: a forked HiGHS may hang for ever.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol, TypeVar

from gitops_ds.errors import Fault, SolveError, UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Something that maps: a module-level function over items that can be pickled."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """`function` of every item, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Serial:
    """One after the other, in this process."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """`function` of every item, in order."""
        return [function(item) for item in items]


@dataclass(frozen=True, slots=True)
class Processes:
    """In `workers` spawned processes on this machine."""

    workers: int

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """`function` of every item, in order."""
        if self.workers < 2 or len(items) < 2:
            return Serial().map(function, items)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(self.workers, len(items)), mp_context=context) as pool:
            return list(pool.map(function, items))


@dataclass(frozen=True, slots=True)
class Dask:
    """On a Dask cluster: the one whose scheduler is at `address`. Needs the extra `dask`."""

    address: str

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """`function` of every item, in order.

        Raises:
            SolveError: the scheduler cannot be reached.
        """
        from dask.distributed import Client

        try:
            with Client(self.address, timeout="10s") as client:  # type: ignore[no-untyped-call]  # Dask leaves it so
                futures = client.map(function, list(items), pure=False)
                found: list[Result] = client.gather(futures)
                return found
        except OSError as error:
            fix = "start it, or plan with GITOPS_DS_ENGINE=local"
            what = f"the Dask scheduler at {self.address} cannot be reached: {error}"
            raise SolveError(Fault(what, fix=fix)) from None


def engine_from(text: str) -> Engine:
    """The engine that `text` names: `local`, `processes:N` or `dask:ADDRESS`.

    Raises:
        UsageError: it names none, or one that is not installed.
    """
    kind, _, rest = text.partition(":")
    if kind == "local" and not rest:
        return Serial()
    if kind == "processes" and rest.isdecimal() and int(rest) > 0:
        return Processes(int(rest))
    if kind == "dask" and rest:
        if find_spec("distributed") is None:
            raise UsageError(Fault("the Dask engine is not installed", fix="pip install 'gitops-ds[dask]'"))
        return Dask(rest)
    raise UsageError(Fault(f'"{text}" is no engine', fix="write local, processes:N or dask:ADDRESS"))
