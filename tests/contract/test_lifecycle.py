"""Lifecycle hooks as real programs: what they get, what they may do, and how the unruly ones end."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitops_ds import lifecycle
from gitops_ds.errors import InputError, RefusedError
from gitops_ds.intent.load import Loaded, load_all
from gitops_ds.intent.reconciler import Hooks, Reconciler
from gitops_ds.lifecycle import MOST_OUTPUT, HookFile, Occasion, check_hooks, post_push, post_render
from tests import builders as make

HOOK = "hooks/check"
FILES = {"rendered/a/b.yaml": b"kind: A\n", "intent/x.yaml": b"kind: X\n", "crds/c.yaml": b"kind: C\n"}
BASE = Occasion("b" * 40, reconciler="prod", branch="main")


def run(
    script: str,
    *,
    timeout: float = 30,
    more: Mapping[str, HookFile] | None = None,
    files: Mapping[str, bytes] = FILES,
    occasion: Occasion = BASE,
) -> list[str]:
    """Run one post-render hook; the lines that were shown."""
    shown: list[str] = []
    held = {HOOK: HookFile(script.encode(), "100755"), **(more or {})}
    hooks = Hooks(postRender=(HOOK,), timeout=timedelta(seconds=timeout))
    post_render(hooks, held, files, occasion, shown.append)
    return shown


def refused(script: str, **options: Any) -> str:
    with pytest.raises(RefusedError) as caught:
        run(script, **options)
    assert caught.value.exit_code == 6
    return str(caught.value)


def reconciler(**hooks: Any) -> Loaded[Reconciler]:
    text = json.dumps(
        {
            "apiVersion": "gitops-ds.io/v1alpha1",
            "kind": "Reconciler",
            "metadata": {"name": "prod"},
            "spec": {"hooks": hooks},
        }
    )
    said = load_all(
        {
            "intent/p.yaml": make.intent([{"name": "c1", "policies": ["p"]}], ["w1"]).encode(),
            "intent/r.yaml": text.encode(),
        }
    )
    return said.reconcilers[0]


def test_it_finds_a_small_copy_of_the_repository_with_the_tree_in_it() -> None:
    shown = run('#!/bin/sh\necho "$# $1"; pwd; cat rendered/a/b.yaml intent/x.yaml crds/c.yaml; cat "$1/a/b.yaml"\n')
    arguments, folder, *contents = [line.removeprefix(f"{HOOK}: ") for line in shown]
    assert arguments == f"1 {folder}/rendered"
    assert contents == ["kind: A", "kind: X", "kind: C", "kind: A"]
    assert not Path(folder).exists()


def test_what_stands_beside_the_hook_is_there_with_its_mode() -> None:
    more = {"hooks/lib.sh": HookFile(b"#!/bin/sh\necho from lib\n", "100755"), "hooks/note": HookFile(b"n\n", "100644")}
    shown = run('#!/bin/sh\n"$(dirname "$0")/lib.sh"; test ! -x hooks/note && cat hooks/note\n', more=more)
    assert shown == [f"{HOOK}: from lib", f"{HOOK}: n"]


def test_the_folder_is_private_and_its_environment_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_DS_TOKEN", "marker")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "marker")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    script = (
        "#!/usr/bin/env python3\nimport os, json, stat\nprint(json.dumps(dict(os.environ)))\n"
        "print(oct(stat.S_IMODE(os.stat('..').st_mode)), os.read(0, 10), sorted(os.listdir('/proc/self/fd')))\n"
    )
    environment, seen = [line.removeprefix(f"{HOOK}: ") for line in run(script)]
    said = json.loads(environment)
    assert {"marker", "/nowhere"}.isdisjoint(said.values())
    told = {name: value for name, value in said.items() if name.startswith("GITOPS_DS_")}
    assert told == {
        "GITOPS_DS_HOOK": "post-render",
        "GITOPS_DS_BASE": "b" * 40,
        "GITOPS_DS_BRANCH": "main",
        "GITOPS_DS_RECONCILER": "prod",
    }
    assert set(said) - set(told) - {"LC_CTYPE", "_"} == {"PATH", "HOME", "TMPDIR", "LANG", "TZ"}
    assert said["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert said["HOME"] == said["TMPDIR"]
    assert seen.startswith("0o700 b''")
    assert "'4'" not in seen, "no file of ours is open in it but the listing itself"


def test_a_refusal_says_who_why_and_the_last_lines() -> None:
    said = refused('#!/bin/sh\nfor i in 1 2 3 4 5 6 7; do echo "line $i"; done; echo "bad tree" >&2; exit 3\n')
    assert f"hook {HOOK} refused the commit: exit code 3" in said
    assert "line 4 | line 5 | line 6 | line 7 | bad tree" in said
    assert "line 3" not in said


def test_all_hooks_are_run_and_all_refusals_told() -> None:
    names = [f"hooks/{name}" for name in ("one", "two", "three")]
    held = {n: HookFile(f"#!/bin/sh\necho {n}; exit {i}\n".encode(), "100755") for i, n in enumerate(names)}
    shown: list[str] = []
    with pytest.raises(RefusedError) as caught:
        post_render(Hooks(postRender=tuple(names)), held, FILES, BASE, shown.append)
    assert shown == [f"{n}: {n}" for n in names]
    assert [f.place.file for f in caught.value.faults if f.place] == ["hooks/three", "hooks/two"]


def test_what_a_hook_changes_is_gone_for_the_next_one() -> None:
    script = b"#!/bin/sh\ntest -e rendered/a/b.yaml && test ! -e new || exit 1\nrm -r rendered/a; touch new\n"
    held = {"hooks/one": HookFile(script, "100755"), "hooks/two": HookFile(script, "100755")}
    files = dict(FILES)
    post_render(Hooks(postRender=("hooks/one", "hooks/two")), held, files, BASE, print)
    assert files == FILES


def test_nothing_is_run_where_nothing_is_named() -> None:
    post_render(Hooks(), {HOOK: HookFile(b"#!/bin/sh\nexit 1\n", "100755")}, FILES, BASE, pytest.fail)
    assert post_push(Hooks(), {}, FILES, BASE, pytest.fail) == ()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/nowhere/sh\n", "it cannot be started"),
        ("no first line\n", "it cannot be started: Exec format error"),
        ("#!/bin/sh\nkill -9 $$\n", "it was ended by SIGKILL"),
        ("#!/bin/sh\nkill -TERM $$\n", "it was ended by SIGTERM"),
        ("#!/bin/sh\nexit 127\n", "exit code 127"),
    ],
)
def test_each_bad_end_has_its_words(script: str, said: str) -> None:
    assert said in refused(script)


def alive(marker: str) -> list[int]:
    """The processes with this word among their arguments."""
    listed = subprocess.run(["ps", "-axo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, state, *words in rows if marker in words and not state.startswith("Z")]


def gone(marker: str) -> bool:
    """Whether no process with this argument is left: the kernel may need a moment for those it has killed."""
    return any(not alive(marker) or time.sleep(0.05) for _ in range(100))  # type: ignore[func-returns-value]


def test_one_that_takes_too_long_is_stopped_with_all_that_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "GRACE", timedelta(seconds=0.2))
    marker = f"marker-{os.getpid()}-slow"
    child = f"sh -c 'trap \"\" TERM; sleep 600; :' {marker} &"
    script = f"#!/bin/sh\ntrap '' TERM\n{child}\necho started\nsleep 600; sleep 600\n"
    said = refused(script, timeout=0.5)
    assert "it took longer than 0.5s and was stopped" in said
    assert "it said: started" in said
    assert gone(marker)


def test_one_that_ends_when_asked_gets_the_time_to() -> None:
    assert "tidied up" in refused("#!/bin/sh\ntrap 'echo tidied up; exit 0' TERM\nsleep 600 & wait\n", timeout=0.5)


def test_one_that_leaves_something_running_is_not_waited_for() -> None:
    marker = f"marker-{os.getpid()}-left"
    assert run(f"#!/bin/sh\nsh -c 'sleep 600; :' {marker} &\necho done\n") == [f"{HOOK}: done"]
    assert gone(marker)


def test_a_daemon_that_has_left_and_goes_on_writing_is_not_waited_for() -> None:
    marker = f"marker-{os.getpid()}-daemon"
    script = (
        f"#!/bin/sh\nsetsid sh -c 'while echo noise; do :; done' {marker} &\n"
        "while ! pgrep -f daemon >/dev/null 2>&1 && [ ${n:=0} -lt 20 ]; do n=$((n+1)); sleep 0.05; done\necho done\n"
    )
    shown = run(script)
    assert shown
    assert sum(map(len, shown)) < 2 * MOST_OUTPUT + len(shown) * len(HOOK) * 2
    for process in alive(marker):
        os.kill(process, signal.SIGKILL)


LEFT = "env -i setsid setsid sh -c 'trap \"\" TERM; sleep 600; :' {marker} &\nwait $!\n"
"""What starts something that forgets its parent, its session and its environment."""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone lets it be found")
@pytest.mark.parametrize("end", ["sleep 600", "exit 0", "exec >&- 2>&-; exit 0"])
def test_one_that_has_left_for_a_session_of_its_own_ends_as_well(end: str) -> None:
    marker = f"marker-{os.getpid()}-away"
    script = f"#!/bin/sh\n{LEFT.format(marker=marker)}while ! pgrep -f {marker}; do :; done\n{end}\n"
    before = subprocess.Popen(["sleep", "600"], start_new_session=True)
    if end == "sleep 600":
        refused(script, timeout=1)
    else:
        run(script)
    assert gone(marker)
    assert before.poll() is None, "what others have started is none of its business"
    before.kill()
    before.wait()


def test_output_is_clean_and_only_the_last_of_it_is_kept() -> None:
    shown = run('#!/usr/bin/env python3\nfor i in range(10): print("x" * 10_000_000, end="")\nprint("\\nend")\n')
    assert shown[0] == f"{HOOK}: (only the last 64 KiB of its output are shown)"
    assert shown[-1] == f"{HOOK}: end"
    assert sum(map(len, shown)) < MOST_OUTPUT + 200
    dirty = run(r"""#!/usr/bin/env python3
import sys
sys.stdout.buffer.write(b"\x1b[31mred\x1b[0m\x1b]0;title\x07\r\n\x00\xff\xfe a\x9bb\n")
sys.stdout.buffer.write(b"50%\r100%\n\xe2\x80\xaeevil\n\x1b[2J\n")
""")
    assert dirty == [f"{HOOK}: {text}" for text in ("red", "\ufffd\ufffd a\ufffdb", "50%", "100%", "evil")]


def test_one_that_closes_its_output_and_goes_on_is_waited_for() -> None:
    assert "exit code 4" in refused("#!/bin/sh\nexec >&- 2>&-\nsleep 0.3\nexit 4\n")


def test_being_interrupted_ends_the_hook_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "GRACE", timedelta(seconds=0.2))
    marker = f"marker-{os.getpid()}-cut"

    def interrupt() -> None:
        while not alive(marker):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(f"#!/bin/sh\nsh -c 'sleep 600; :' {marker}\n")
    thread.join()
    assert gone(marker)


PLAN = json.dumps({"kind": "Plan", "commit": "c" * 40, "padding": "x" * 300_000}).encode()
AFTER = Occasion("b" * 40, commit="c" * 40, plan=PLAN)


def after(script: str, timeout: float = 30) -> tuple[list[str], list[str]]:
    """Run one post-push hook: the lines that were shown, and the warnings."""
    shown: list[str] = []
    hooks = Hooks(postPush=(HOOK,), timeout=timedelta(seconds=timeout))
    faults = post_push(hooks, {HOOK: HookFile(script.encode(), "100755")}, FILES, AFTER, shown.append)
    return shown, list(map(str, faults))


def test_after_the_push_it_gets_the_plan() -> None:
    shown, faults = after('#!/bin/sh\nwc -c; echo "$GITOPS_DS_HOOK $GITOPS_DS_COMMIT"\n')
    assert shown == [f"{HOOK}: {len(PLAN)}", f"{HOOK}: post-push {'c' * 40}"]
    assert not faults
    assert after("#!/bin/sh\nexit 0\n") == ([], []), "one that reads nothing is well too"


@pytest.mark.parametrize("script", ["#!/bin/sh\necho no; exit 2\n", "#!/nowhere\n", "#!/bin/sh\nsleep 600\n"])
def test_after_the_push_a_failure_is_a_warning(script: str) -> None:
    _, faults = after(script, timeout=0.5)
    assert len(faults) == 1
    assert f"hook {HOOK} failed after the commit was made, which stays" in faults[0]


def test_a_full_disk_after_the_push_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lifecycle, "_write", full)
    _, faults = after("#!/bin/sh\n")
    assert "No space left on device" in faults[0]


def test_missing_links_and_what_is_not_executable_are_told_at_once_with_their_places() -> None:
    loaded = reconciler(postRender=["hooks/a", "hooks/b"], postPush=["hooks/c", "hooks/d"])
    held = {
        "hooks/b": HookFile(b"elsewhere", "120000"),
        "hooks/c": HookFile(b"#!/bin/sh\n", "100644"),
        "hooks/d": HookFile(b"#!/bin/sh\n", "100755"),
    }
    with pytest.raises(InputError) as caught:
        check_hooks(loaded, held)
    said = [str(fault) for fault in caught.value.faults]
    assert len(said) == 3
    assert all(line.startswith("intent/r.yaml:1:") for line in said)
    assert "there is no hook hooks/a in the commit" in said[0]
    assert "hooks/b is a symbolic link" in said[1]
    assert "git update-index --chmod=+x hooks/c" in said[2]
    check_hooks(loaded, dict.fromkeys(("hooks/a", "hooks/b", "hooks/c", "hooks/d"), held["hooks/d"]))


def test_hooks_are_read_from_a_commit_as_it_holds_them(tmp_path: Path) -> None:
    from gitops_ds.cli.hooks import hook_files, seen_files
    from gitops_ds.repo import open_repository

    def git(*words: str) -> None:
        line = ["git", "-c", "user.name=P", "-c", "user.email=p@example.com", "-c", "core.autocrlf=true", *words]
        subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for path, text in {
        "hooks/run": "#!/bin/sh\n",
        "hooks/lib/x": "x",
        "rendered/own.txt": "mine",
        "crds/c.yaml": "c",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "hooks/run").chmod(0o755)
    (tmp_path / "hooks/link").symlink_to("run")
    git("add", "-A")
    git("commit", "-qm", "x")
    (tmp_path / "hooks/run").write_text("changed")
    repo = open_repository(tmp_path)
    hooks = Hooks(postRender=("hooks/run",))
    found = hook_files(repo, repo.head, hooks)
    assert {path: (one.mode, one.content) for path, one in found.items()} == {
        "hooks/run": ("100755", b"#!/bin/sh\n"),
        "hooks/lib/x": ("100644", b"x"),
        "hooks/link": ("120000", b"run"),
    }
    assert hook_files(repo, repo.head, Hooks()) == {}
    seen = seen_files(repo, repo.head, "rendered", {"rendered/a.yaml": b"a"})
    assert dict(seen) == {"rendered/own.txt": b"mine", "crds/c.yaml": b"c", "rendered/a.yaml": b"a"}
    post_render(hooks, found, seen, BASE, pytest.fail)
    assert stat.S_IMODE((tmp_path / "hooks/run").stat().st_mode) & 0o111
