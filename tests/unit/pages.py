"""The documentation as data, and the shipped sample as a plan, for the tests that hold one against the other."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gitops_ds.hub import merge_repository, objects_from_files, read_snapshot
from gitops_ds.intent.load import LoadedIntent, load_intents
from gitops_ds.inventory import Inventory
from gitops_ds.reconcile import Plan, plan
from gitops_ds.sample import sample_folder
from gitops_ds.solver import solve

TOP = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CHANGELOG.md",
    *sorted(f"docs/{path.name}" for path in (TOP / "docs").glob("*.md")),
)
ROW = re.compile(r"^\| (.+) \|$")


@cache
def text_of(page: str) -> str:
    return (TOP / page).read_text(encoding="utf-8")


def outside_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> Iterator[str]:
    """The code blocks of one language ("" for none), without the indent that they have in a list."""
    body: list[str] | None = None
    indent = wanted = ""
    for line in text_of(page).splitlines(keepends=True):
        if not line.lstrip().startswith("```"):
            if body is not None:
                body.append(line.removeprefix(indent))
        elif body is None:
            body, indent, wanted = [], line[: line.index("`")], line.strip().strip("`")
        else:
            if wanted == language:
                yield "".join(body)
            body = None


def section(page: str, title: str) -> str:
    """What stands below the heading that begins with `title`, down to the next heading of the same level or above."""
    found = re.search(rf"^(#+) {re.escape(title)}(?:\W.*)?$", text_of(page), re.MULTILINE)
    assert found, f"{page} has no section {title}"
    rest = text_of(page)[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", _blanked(rest), re.MULTILINE)
    return rest[: end.start()] if end else rest


def _blanked(text: str) -> str:
    """`text` with its code blanked out, so that positions stay."""
    return re.sub(r"^ *```.*?^ *```$", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.MULTILINE | re.DOTALL)


def rows(text: str) -> dict[str, list[str]]:
    """The rows of the first table in `text`: the first cell's code, or its text, to the other cells."""
    found: dict[str, list[str]] = {}
    for line in text.lstrip("\n").splitlines():
        match = ROW.match(line)
        if match:
            cells = [cell.strip() for cell in match[1].split(" | ")]
            code = re.match(r"`([^`]+)`", cells[0])
            assert (code[1] if code else cells[0]) not in found, line
            found[code[1] if code else cells[0]] = cells[1:]
        elif found and not line.startswith("|"):
            break
    return dict(list(found.items())[1:])


def table(page: str, title: str) -> dict[str, list[str]]:
    body = section(page, title)
    return rows(body[body.index("\n|") + 1 :])


def page_with(title: str) -> str:
    """The page that has a section whose heading begins with `title`."""
    found = [page for page in PAGES if re.search(rf"^#+ {re.escape(title)}(?:\W.*)?$", text_of(page), re.MULTILINE)]
    assert len(found) == 1, f"{title}: {found or 'no page has it'}"
    return found[0]


@cache
def sample_intent() -> dict[str, bytes]:
    """The sample's intent as a file, by its path."""
    return {f"intent/{p.name}": p.read_bytes() for p in sorted((sample_folder() / "intent").iterdir())}


@cache
def sample() -> tuple[tuple[LoadedIntent, ...], Inventory]:
    folder = sample_folder()
    files = {
        part: {f"{part}/{p.name}": p.read_bytes() for p in sorted((folder / part).iterdir())}
        for part in ("intent", "policies")
    }
    inventory = merge_repository(read_snapshot(folder / "hub"), objects_from_files(files["policies"]))
    return load_intents(files["intent"]), inventory


def planned(workloads: dict[str, dict[str, Any]] | None = None) -> Plan:
    """The sample's first plan; `workloads` changes fields of workloads by name."""
    intents, inventory = sample()
    assert inventory.captured_at
    changed = tuple(with_fields(one, workloads or {}) for one in intents)
    return plan(changed, inventory, {}, inventory.captured_at, solve)


def with_fields(loaded: LoadedIntent, workloads: dict[str, dict[str, Any]], **spec: Any) -> LoadedIntent:
    said = loaded.intent.model_dump(by_alias=True, exclude_unset=True)
    said["spec"] |= spec
    said["spec"]["workloads"] = [w | workloads.get(w["name"], {}) for w in said["spec"]["workloads"]]
    return replace(loaded, intent=type(loaded.intent).model_validate(said))
