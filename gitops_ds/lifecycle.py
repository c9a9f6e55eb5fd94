"""Lifecycle hooks: programs of the repository that are run around a commit, each in a small copy of the repository.

Owns what a hook gets (folder, argument, environment, standard input), how long it may take, that all it started ends
with it, and what is shown of its output. Owns neither the choice of the hooks (`intent/reconciler.py`) nor the reading
of them from git.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from gitops_ds.errors import Fault, InputError, Place, RefusedError, raise_faults
from gitops_ds.intent.load import Loaded
from gitops_ds.intent.reconciler import Hooks, Reconciler
from gitops_ds.processes import adopting, ask_to_end, kill_strangers, strangers

Moment = Literal["post-render", "post-push"]
Show = Callable[[str], None]
"""Gets one line of a hook's output, clean and with the hook's name before it."""

MOST_OUTPUT = 64 * 1024
"""How many bytes of a hook's output are kept: the last ones."""
MOST_LAST_LINES = 5
GRACE = timedelta(seconds=0.5)
"""How long what a hook started may take to end after it was told to."""

_EXECUTABLE, _LINK = "100755", "120000"
_CHUNK = 64 * 1024
_PIPE = 2**20
"""No pipe holds more than this: what was printed before the end is among it."""
_TICK = 0.05
"""Seconds between two looks at whether a program has ended."""
_STYLE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file as a commit holds it; `mode` as git has it, such as `100755`."""

    content: bytes
    mode: str


@dataclass(frozen=True, slots=True)
class Occasion:
    """What hooks are told of the run.

    Attributes:
        base: the commit that is planned from.
        root: the folder of the rendered tree.
        reconciler: the reconciler's name; "" where there is none.
        branch: the branch that gets the plan.
        commit: the commit that holds the plan; "" before there is one.
        plan: the plan as JSON, for hooks that run after the push.
    """

    base: str
    root: str = "rendered"
    reconciler: str = ""
    branch: str = ""
    commit: str = ""
    plan: bytes = b""


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a hook ended: `problem` is "" for well."""

    problem: str
    lines: tuple[str, ...]
    fix: str = ""


def hook_folders(hooks: Hooks) -> tuple[str, ...]:
    """The folders that hold the hooks, sorted: a hook finds what stands beside it there."""
    return tuple(sorted({path.rpartition("/")[0] or path for path in (*hooks.postRender, *hooks.postPush)}))


def check_hooks(reconciler: Loaded[Reconciler], held: Mapping[str, HookFile]) -> None:
    """Make sure that every hook of a reconciler is there and can be run.

    Args:
        reconciler: the reconciler.
        held: what the commit that is planned from has in the folders of the hooks, by path.

    Raises:
        InputError: a hook is missing, a link, or not executable: a fault each.
    """
    hooks = reconciler.intent.spec.hooks
    named = (("postRender", hooks.postRender), ("postPush", hooks.postPush))
    raise_faults(
        InputError,
        [
            fault
            for field, paths in named
            for i, path in enumerate(paths)
            for fault in _unfit(path, held.get(path), reconciler.at("spec", "hooks", field, i))
        ],
    )


def post_render(
    hooks: Hooks, held: Mapping[str, HookFile], files: Mapping[str, bytes], occasion: Occasion, show: Show
) -> None:
    """Run the hooks that may refuse the commit. All of them are run, so that all that is wrong is told.

    Args:
        hooks: which hooks, and how long each may take.
        held: what the commit that is planned from has in the folders of the hooks, by path.
        files: what the hooks see of the repository beside that, by path: the tree as it will be committed included.
        occasion: what they are told.
        show: gets their output.

    Raises:
        RefusedError: hooks failed: a fault each.
    """
    faults = []
    for path in hooks.postRender:
        ended = _run("post-render", path, hooks.timeout, held, files, occasion, show)
        if ended.problem:
            fix = ended.fix or "mend what it found, or the hook itself"
            faults.append(Fault(f"hook {path} refused the commit: {ended.problem}", Place(path), _last(ended), fix))
    raise_faults(RefusedError, faults)


def post_push(
    hooks: Hooks, held: Mapping[str, HookFile], files: Mapping[str, bytes], occasion: Occasion, show: Show
) -> tuple[Fault, ...]:
    """Run the hooks that are told of a commit that has landed; a fault for each that failed, which undoes nothing.

    The arguments are those of `post_render`.
    """
    faults = []
    for path in hooks.postPush:
        try:
            ended = _run("post-push", path, hooks.timeout, held, files, occasion, show)
        except OSError as error:
            ended = _Ended(f"its folder cannot be made: {error.strerror}", ())
        if ended.problem:
            what = f"hook {path} failed after the commit was made, which stays: {ended.problem}"
            faults.append(Fault(what, Place(path), _last(ended), ended.fix))
    return tuple(faults)


def _unfit(path: str, found: HookFile | None, place: Place) -> Iterator[Fault]:
    if found is None:
        yield Fault(f"there is no hook {path} in the commit", place, fix="commit the file, or correct its path")
    elif found.mode == _LINK:
        yield Fault(f"hook {path} is a symbolic link", place, fix="commit the program itself")
    elif found.mode != _EXECUTABLE:
        yield Fault(f"hook {path} is not executable", place, fix=f"git update-index --chmod=+x {path}, and commit")


def _run(  # noqa: PLR0917
    moment: Moment,
    path: str,
    timeout: timedelta,
    held: Mapping[str, HookFile],
    files: Mapping[str, bytes],
    occasion: Occasion,
    show: Show,
) -> _Ended:
    """Run one hook in a fresh copy: what it changes there is gone with the copy."""
    unfit = [fault.what for fault in _unfit(path, held.get(path), Place(path))]
    if unfit:
        return _Ended(unfit[0], ())
    with tempfile.TemporaryDirectory(prefix="gitops-ds-hook-", ignore_cleanup_errors=True) as scratch:
        top, home = Path(scratch, "repository"), Path(scratch, "home")
        (top / occasion.root).mkdir(parents=True)
        home.mkdir()
        _write(top, {**{name: file.content for name, file in held.items() if file.mode != _LINK}, **files})
        for name, file in held.items():
            if file.mode == _EXECUTABLE:
                (top / name).chmod(0o755)
        said = Path(scratch, "stdin")
        said.write_bytes(occasion.plan if moment == "post-push" else b"")
        command = [str(top / path), str(top / occasion.root)]
        with adopting():
            ended = _watched(command, top, said, _environment(moment, home, occasion), timeout)
    for line in ended.lines:
        show(f"{path}: {line}")
    return ended


def _write(top: Path, files: Mapping[str, bytes]) -> None:
    for folder in sorted({(top / name).parent for name in files}):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (top / name).write_bytes(content)


def _environment(moment: Moment, home: Path, occasion: Occasion) -> dict[str, str]:
    """All that a hook finds in its environment. `python3` and `gitops-ds` are the ones that run it."""
    told = {
        "GITOPS_DS_HOOK": moment,
        "GITOPS_DS_BASE": occasion.base,
        "GITOPS_DS_COMMIT": occasion.commit,
        "GITOPS_DS_BRANCH": occasion.branch,
        "GITOPS_DS_RECONCILER": occasion.reconciler,
    }
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH") or os.defpath))
    here = {"PATH": path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    return {**here, **{name: value for name, value in told.items() if value}}


def _watched(command: Sequence[str], cwd: Path, stdin: Path, env: Mapping[str, str], timeout: timedelta) -> _Ended:
    """Run a program to its end, or to the end of its time, and end all that it has left running."""
    output, spared = bytearray(), strangers()
    with stdin.open("rb") as source:
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            fix = "begin it with a line such as #!/bin/sh; TMPDIR must be where programs may be run from"
            return _Ended(f"it cannot be started: {error.strerror}", (), fix)
    assert process.stdout is not None
    with process.stdout as pipe:
        try:
            os.set_blocking(pipe.fileno(), False)
            in_time = _follow(process, pipe.fileno(), output, time.monotonic() + timeout.total_seconds())
        finally:
            _end(process, spared)
        _read(pipe.fileno(), output, _PIPE)
    return _Ended(_problem(process.returncode, timeout, in_time=in_time), tuple(_lines(bytes(output))))


def _follow(process: subprocess.Popen[bytes], pipe: int, output: bytearray, deadline: float) -> bool:
    """Keep the last of what a program prints until it ends; whether it did before `deadline`.

    Something that it left running may hold the pipe open and write to it for ever: that is not waited for.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if not selector.get_map():  # it has closed its output, and goes on
                time.sleep(min(_TICK, left))
            elif selector.select(min(_TICK, left)) and not _read(pipe, output, _CHUNK):
                selector.unregister(pipe)
    return True


def _read(pipe: int, output: bytearray, most: int) -> bool:
    """Read up to `most` bytes of what is there now, and keep the last of them; False: nothing will ever come again."""
    while most > 0:
        try:
            chunk = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        output += chunk
        del output[: -MOST_OUTPUT - 1]  # one byte more, which tells that there was more
        most -= len(chunk)
    return True


def _end(process: subprocess.Popen[bytes], spared: Set[int]) -> None:
    """End whatever is left of the program, in sessions of its own too: asked first, and then made to."""
    try:
        if process.poll() is None:
            _signal(process, signal.SIGTERM)
            ask_to_end(strangers(process.pid) - spared)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE.total_seconds())
    finally:  # impatience (a second Ctrl-C) leaves nothing running either
        _signal(process, signal.SIGKILL)
        process.wait()
        kill_strangers(spared)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _problem(code: int, timeout: timedelta, *, in_time: bool) -> str:
    if not in_time:
        return f"it took longer than {timeout.total_seconds():g}s and was stopped"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it was ended by signal {-code}"
    return f"exit code {code}" if code else ""


def _lines(output: bytes) -> Iterator[str]:
    """The last lines of what was printed, without anything that a terminal would obey."""
    if len(output) > MOST_OUTPUT:
        yield f"(only the last {MOST_OUTPUT // 1024} KiB of its output are shown)"
    text = _STYLE.sub("", output[-MOST_OUTPUT:].decode("utf-8", "replace"))
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        clean = "".join(c for c in line.expandtabs(4) if c.isprintable()).rstrip()
        if clean:
            yield clean


def _last(ended: _Ended) -> str:
    return f"it said: {' | '.join(ended.lines[-MOST_LAST_LINES:])}" if ended.lines else "it said nothing"
