"""Help: quick, complete, and in step with the reference."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from gitops_ds.cli.main import VERBS
from tests.e2e.fleet import INTENT, Fleet, assert_narrow, cli, environment

REFERENCE = Path(__file__).parents[2] / "docs" / "cli.md"
HEAVY = {"highspy", "numpy", "pydantic", "networkx", "git", "rich", "yaml"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["plan", "--help"], ["reconcile", "-h"], []])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys, gitops_ds.cli.main as m\n"
        f"assert m.main({words!r}) == 0\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "gitops-ds" in done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_a_place_in_the_reference(verb: str, tmp_path: Path) -> None:
    answer = cli(verb, "--help", cwd=tmp_path, env=environment(tmp_path, {"COLUMNS": "80"}))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: gitops-ds {verb}")
    assert_narrow(answer.out.splitlines())
    reference = REFERENCE.read_text()
    assert f"\n## {verb}\n" in reference
    options = {word.rstrip(",") for word in answer.out.split() if word.startswith("--")} - {"--help", "--hub,"}
    missing = sorted(option for option in options if option.strip("[].:") not in reference)
    assert not missing


def test_the_list_of_verbs_tells_each_in_a_line(tmp_path: Path) -> None:
    answer = cli("--help", cwd=tmp_path, env=environment(tmp_path, {"COLUMNS": "80"}))
    for verb, line in VERBS.items():
        assert f"  {verb.ljust(10)} {line}" in answer.out
    assert_narrow(answer.out.splitlines())


def test_the_schema_takes_the_sample(settled: Fleet) -> None:
    import yaml

    schema = json.loads(cli("schema", cwd=settled.top, env=settled.env).out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    intent = yaml.safe_load(settled.file(INTENT).read_text())
    jsonschema.validate(intent, schema)
    intent["spec"]["gaol"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(intent, schema)
