"""The documentation against the code: fields, verbs, options, exit codes, JSON, links, snippets and pasted output."""

import importlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import gitops_ds
from gitops_ds.cli.faults import BUG, INTERRUPTED, TERMINATED, USAGE
from gitops_ds.cli.main import VERBS, cli, main
from gitops_ds.errors import GitopsDsError
from gitops_ds.hub import objects_from_files, parse_objects
from gitops_ds.intent.load import KINDS, load_all, load_intents
from gitops_ds.intent.schema import intent_schema
from gitops_ds.manifests.metadata import GENERATED, INTENT, MANAGED_BY, NO_SUBSTITUTION, WAVE
from gitops_ds.message import TRAILERS, commit_message
from gitops_ds.problem.families import FAMILIES
from gitops_ds.problem.supply import (
    REQUEST_AMOUNT,
    REQUEST_KIND,
    REQUESTS,
    SUPPLY,
    SUPPLY_AMOUNT,
    SUPPLY_DEVICE,
    SUPPLY_KIND,
)
from gitops_ds.tree import inventory_path, lock_path
from gitops_ds.yamltext import read_kubernetes
from tests.unit.pages import (
    PAGES,
    TOP,
    blocks,
    outside_code,
    page_with,
    planned,
    sample_intent,
    section,
    table,
    text_of,
)

PACKAGE = Path(gitops_ds.__file__).parent


# docs/intent.md


def models() -> dict[str, dict[str, Any]]:
    """The models of all kinds; those of the DSF form have a section of their own."""
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        schema = intent_schema(kind)
        found |= {kind: schema, **schema["$defs"]}
    return found


@pytest.mark.parametrize("name", sorted(models()))
def test_every_intent_field_has_a_row_with_its_default_and_its_choices(name: str) -> None:
    schema = models()[name]
    documented = table(page_with(f"{name}:"), f"{name}:")
    assert list(documented) == list(schema["properties"])
    required = {*schema.get("required", ()), *(("apiVersion", "kind") if name in KINDS else ())}
    for field, (kind, default, meaning) in documented.items():
        assert (default == "required") == (field in required), field
        assert meaning.endswith("."), field
        for choice in choices(schema["properties"][field]):
            assert f"`{choice}`" in kind, f"{name}.{field}: {choice} is missing"
        if field not in required:
            assert is_default(default, schema["properties"][field]), f"{name}.{field}: {default}"


def choices(field: dict[str, Any]) -> Iterator[str]:
    for option in (field, *field.get("anyOf", ())):
        yield from option.get("enum", ())
        if "const" in option:
            yield option["const"]


def is_default(said: str, field: dict[str, Any]) -> bool:
    value = field.get("default")
    if "default" not in field:
        return said == "`{}`" and field["type"] == "object"
    match value:
        case None:
            return said == "none"
        case dict():
            return said in ("all defaults", "`{}`")
        case float():
            return said == f"`{value:g}`"
        case [*words] if words:
            return said == f"`[{', '.join(words)}]`"
    return said == (f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`")


def test_the_dsf_form_is_documented_field_by_field() -> None:
    documented = {re.split(r"[.\[]", path)[0] for path in table("docs/intent.md", "The DSF params form")}
    assert documented == set(intent_schema()["$defs"]["DsfParams"]["properties"])
    whole = section("docs/intent.md", "The DSF params form")
    defs = intent_schema()["$defs"]
    for name in ("_Cluster", "_Named", "_Preference"):
        assert all(field in whole for field in defs[name]["properties"]), name


def test_the_labels_that_are_read_are_documented() -> None:
    body = section("docs/intent.md", "Labels that are read")
    for label in (SUPPLY_KIND, SUPPLY_AMOUNT, SUPPLY_DEVICE, REQUEST_KIND, REQUEST_AMOUNT, SUPPLY, REQUESTS):
        assert f"| `{label}` |" in body


@pytest.mark.parametrize("page", PAGES)
def test_intents_and_manifests_in_the_pages_load(page: str) -> None:
    for body in blocks(page, "yaml"):
        if any(f"kind: {kind}" in body for kind in KINDS if kind != "PlacementIntent"):
            with_intent = {"intent/example.yaml": body.encode(), **sample_intent()}
            if "kind: Reconciler" not in body:  # what is said to one is an error where there is none of the name
                named = "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: prod}\n"
                with_intent["intent/reconciler.yaml"] = named.encode()
            assert load_all(with_intent).placements
        elif "kind: PlacementIntent" in body or "targetWorkloads" in body:
            assert load_intents({"intent/example.yaml": body.encode()})
        else:
            assert all(d.value["apiVersion"] and d.value["kind"] for d in read_kubernetes(body.encode(), page))
    for body in blocks(page, "json"):
        json.loads(body)


def test_there_are_snippets_to_load() -> None:
    assert sum("kind: PlacementIntent" in body for body in blocks("docs/intent.md", "yaml")) > 0
    assert sum("targetWorkloads" in body for body in blocks("docs/intent.md", "yaml")) > 0


# docs/cli.md


def commands() -> dict[str, click.Command]:
    return {verb: importlib.import_module(f"gitops_ds.cli.{verb}").command for verb in sorted(VERBS)}


def params_of(command: click.Command) -> list[click.Parameter]:
    """What a verb takes; of a group, what all of its commands take."""
    several = command.commands.values() if isinstance(command, click.Group) else ()
    return [*command.params, *(param for one in several for param in params_of(one))]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_and_option_is_documented(verb: str) -> None:
    body = section("docs/cli.md", verb)
    assert f"`gitops-ds {verb}" in body
    said = set(re.findall(r"`(-[-a-z]+)(?: [A-Z]+)?`", body))
    assert said == {
        option for param in params_of(commands()[verb]) if isinstance(param, click.Option) for option in param.opts
    }
    for param in params_of(commands()[verb]):
        if isinstance(param, click.Argument):
            assert re.search(
                rf"\b{param.human_readable_name.strip('[].')}\b", body.upper().replace("WORKLOADS", "WORKLOAD")
            )


def test_shared_options_name_the_verbs_that_have_them() -> None:
    of = {
        verb: {option for param in params_of(command) for option in param.opts} for verb, command in commands().items()
    }
    named: set[str] = set()
    for option, (verbs, _) in table("docs/cli.md", "Shared options").items():
        name = option.split()[0]
        listed = set(verbs.removeprefix("all but ").split(", "))
        if verbs != "as above":
            named = set(VERBS) - listed if verbs.startswith("all but ") else set(VERBS) if verbs == "all" else listed
        having = set(VERBS) if name == "--help" else {verb for verb, options in of.items() if name in options}
        assert named == having, option


def test_every_exit_code_is_documented_and_no_other() -> None:
    def errors(kind: type[GitopsDsError]) -> Iterator[int]:
        yield kind.exit_code
        for child in kind.__subclasses__():
            yield from errors(child)

    expected = {*errors(GitopsDsError), 0, 2, 4, USAGE, BUG, INTERRUPTED, TERMINATED}
    assert {int(code) for code in table("docs/cli.md", "Exit codes")} == expected


def test_every_environment_variable_is_documented_and_no_other() -> None:
    read = re.compile(r"environ\.get\(\"(\w+)\"|envvar=\"(\w+)\"")
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))
    expected = {one or other for one, other in read.findall(sources)}
    assert set(table("docs/cli.md", "Environment")) == expected


def test_the_kinds_that_a_snapshot_gives_are_documented() -> None:
    from gitops_ds.hub import objects

    body = section("docs/cli.md", "A snapshot of the hub")
    for (group, kind), how in objects._KINDS.items():
        assert kind in body
        if kind != "CustomResourceDefinition":
            plural = "policies" if kind == "Policy" else f"{kind.lower()}s"
            resource = f"{plural}.{how.version}.{group}".replace("cluster.open-cluster-management.io", "$CLUSTER")
            assert resource in body
            assert how.namespaced == (f"{resource} -A" in body)


def test_the_snapshot_instant_that_the_page_writes_is_read() -> None:
    lines = next(body for body in blocks("docs/cli.md", "sh") if "HubSnapshot" in body).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("printf"))
    script = "\n".join(lines[start : start + 2]).rpartition(">")[0]
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    assert parse_objects(objects_from_files({"captured.yaml": done.stdout})).captured_at


# docs/model.md and docs/gitops.md


def test_every_constraint_family_has_its_inequality() -> None:
    assert list(table("docs/model.md", "Constraints")) == [family.__name__ for family in FAMILIES]


def test_what_rendered_objects_carry_is_documented() -> None:
    page = text_of("docs/gitops.md")
    for word in (MANAGED_BY, INTENT, GENERATED, NO_SUBSTITUTION, WAVE, *TRAILERS):
        assert word in page


def test_the_placement_in_the_page_is_the_one_that_is_rendered() -> None:
    shown = next(body for body in blocks("docs/gitops.md", "yaml") if "name: app01-placement" in body)
    assert planned().tree["rendered/default/gpu-inference/placement-app01-placement.yaml"].decode() == shown


def test_the_commit_message_in_the_page_is_the_one_that_is_written() -> None:
    shown = next(body for body in blocks("docs/gitops.md", "") if body.startswith("gitops-ds: "))
    written = commit_message(planned(), gitops_ds.__version__).splitlines()
    assert [without_digest(line) for line in shown.splitlines()] == [without_digest(line) for line in written]


def without_digest(line: str) -> str:
    return re.sub(r"^(Gitops-Ds-(?:Plan|Intent|Lock): ).*", r"\1", line)


# README.md


def test_the_tree_in_the_readme_is_the_one_that_is_committed() -> None:
    shown = next(body for body in blocks("README.md", "") if body.startswith("rendered/"))
    folders: list[str] = []
    files = []
    for line in shown.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        folders[depth:] = [line.strip()]
        if not line.endswith("/"):
            files.append("".join(folders))
    assert sorted(files) == sorted(planned().tree)
    assert {lock_path(), inventory_path()} < set(files)


def test_the_output_in_the_readme_is_what_the_demo_and_explain_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("GIT_", "GITOPS_DS_"))]:
        monkeypatch.delenv(name)
    shown = [body for body in blocks("README.md", "") if body.startswith("$ ")]
    assert [body.splitlines()[0] for body in shown] == [
        "$ gitops-ds reconcile --hub demo",
        "$ gitops-ds explain mwrs-app01 --hub demo",
    ]
    assert main(["demo", str(tmp_path / "fleet")]) == 0
    assert in_order(shown[0], capsys.readouterr().out)
    assert main(["explain", "mwrs-app01", "--hub", "demo", "--repo", str(tmp_path / "fleet")]) == 0
    printed = capsys.readouterr().out
    assert "".join(shown[1].splitlines(keepends=True)[1:]).strip() == printed.strip()


def in_order(shown: str, printed: str) -> bool:
    """Whether the lines of `shown` are lines of `printed` in the same order; `...` and ids of commits aside."""
    rest = iter(printed.splitlines())
    lines = (line for line in shown.splitlines() if line.strip() != "..." and not line.startswith("commit "))
    return all(line in rest for line in lines)


def command_lines() -> list[tuple[str, str]]:
    """Every command of ours and of make that a page shows in a shell block or after a prompt."""
    found = []
    for page in PAGES:
        shell = [line for body in blocks(page, "sh") for line in body.splitlines()]
        shell += [
            line.removeprefix("$ ") for body in blocks(page, "") for line in body.splitlines() if line[:2] == "$ "
        ]
        shell += re.findall(r"`((?:gitops-ds|make) [^`\n]+)`", outside_code(text_of(page)))
        for line in shell:
            parts = re.split(r"\s*(?:&&|\||  #)\s*", line)
            found += [(page, part) for part in parts if part.startswith(("gitops-ds ", "make "))]
    return sorted(set(found))


@pytest.mark.parametrize(("page", "line"), command_lines())
def test_commands_in_the_pages_exist(page: str, line: str) -> None:
    program, verb, *words = line.replace("...", "x").replace("[", "").replace("]", "").split()
    if program == "make":
        assert re.search(rf"^{verb}:", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return
    if verb == "VERB" or verb.startswith("<"):
        return
    known = cli.params if verb.startswith("-") else params_of(commands()[verb])
    options = {option for param in known for option in param.opts} | {"--help", "-h"}
    assert {word for word in [verb, *words] if word.startswith("-")} <= options


# All pages


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_code(text_of(page))):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (TOP / page).parent / path if path else TOP / page
        assert file.is_file(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives headings."""
    titles = re.findall(r"^#+ (.+)$", outside_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_their_width(page: str) -> None:
    assert [line for line in text_of(page).splitlines() if len(line) > 120 or line != line.rstrip()] == []


def test_every_page_is_tested_and_reached_from_the_readme() -> None:
    docs = {f"docs/{path.name}" for path in (TOP / "docs").iterdir()}
    assert docs == {page for page in PAGES if page.startswith("docs/")}
    assert all(f"({page})" in text_of("README.md") for page in PAGES if page != "README.md")
