"""The hooks that ship, run as lifecycle hooks: CRDs on disk, and a webhook that is a real server."""

import hashlib
import hmac
import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from gitops_ds.errors import RefusedError
from gitops_ds.intent.reconciler import Hooks
from gitops_ds.lifecycle import HookFile, Occasion, post_push, post_render
from tests.unit.pages import planned

FOLDER = Path(__file__).parents[2] / "hooks"
VALIDATE, POST = "hooks/validate-crds", "hooks/post-webhook"


def shipped(name: str) -> HookFile:
    assert os.access(FOLDER / name, os.X_OK)
    return HookFile((FOLDER / name).read_bytes(), "100755")


# validate-crds

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["size", "mode", "items"],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9},
                "share": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "name": {"type": "string", "pattern": "^x", "minLength": 2, "maxLength": 4},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "note": {"type": "string", "nullable": True},
                "when": {"type": "string", "format": "date-time"},
                "flag": {"type": "boolean"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "object": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "one": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "no": {"type": "string", "not": {"enum": ["never"]}},
                "items": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 3,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}},
            {"name": "v1alpha1", "served": False, "storage": False, "schema": {"openAPIV3Schema": SCHEMA}},
        ],
    },
}
GOOD: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "one", "namespace": "default", "labels": {"a": "b"}},
    "spec": {
        "size": 3,
        "share": 0.5,
        "name": "xy",
        "port": "80",
        "note": None,
        "when": "2026-01-15T09:00:00Z",
        "flag": True,
        "labels": {"a": "b"},
        "free": {"any": [1, {"thing": None}]},
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}},
        "one": {"a": "x"},
        "items": [{"name": "a"}, {"name": "b"}],
        "set": ["a", "b"],
    },
}


def written(value: Any) -> bytes:
    """A manifest as JSON, which is YAML: our own writer takes no fractions."""
    return json.dumps(value, indent=2).encode()


def thing(**spec: Any) -> dict[str, Any]:
    said = {**GOOD["spec"], **spec}
    return {**GOOD, "spec": {key: value for key, value in said.items() if value is not ...}}


def validate(
    tree: Mapping[str, Any], crds: Mapping[str, Any] | None = None, settings: str | None = None
) -> tuple[bool, list[str]]:
    """Whether the tree is let through, and what is said of it."""
    wanted = {"crds/thing.yaml": CRD} if crds is None else crds
    files = {path: value if isinstance(value, bytes) else written(value) for path, value in {**wanted, **tree}.items()}
    held = {VALIDATE: shipped("validate-crds")}
    if settings is not None:
        held["hooks/validate-crds.toml"] = HookFile(settings.encode(), "100644")
    shown: list[str] = []
    try:
        post_render(Hooks(postRender=(VALIDATE,)), held, files, Occasion("b" * 40), shown.append)
    except RefusedError:
        return False, [line.removeprefix(f"{VALIDATE}: ") for line in shown]
    return True, [line.removeprefix(f"{VALIDATE}: ") for line in shown]


def test_what_fits_passes_and_kinds_without_a_crd_are_counted() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []}
    several = {"apiVersion": "v1", "kind": "List", "items": [GOOD, GOOD]}
    files = {"rendered/a.yaml": GOOD, "rendered/b/c.yaml": other, "rendered/kustomization.yaml": kustomization}
    good, said = validate({**files, "rendered/l.yaml": several, "rendered/x.lock": b"{no yaml"})
    assert good, said
    assert said == ["3 objects fit their CRDs; 1 have none here: ConfigMap (core)"]
    good, said = validate(files, settings="require-crds = true\n")
    assert not good
    assert said == ["rendered/b/c.yaml:1:1: ConfigMap/c: the object has no CRD here"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"size": "3"}, "spec.size is a number, not text"),
        ({"size": True}, "spec.size is a number, not true or false"),
        ({"size": 0}, "spec.size is at least 1"),
        ({"size": 10}, "spec.size is at most 9"),
        ({"size": ...}, "spec has no size"),
        ({"share": 0}, "spec.share is more than 0"),
        ({"mode": "c"}, "spec.mode is one of a, b"),
        ({"name": "yy"}, "spec.name does not match ^x"),
        ({"name": "x"}, "spec.name has at least 2 characters, not 1"),
        ({"name": "xxxxx"}, "spec.name has at most 4 characters, not 5"),
        ({"nmae": "xx"}, "spec.nmae is no field of it: did you mean name?"),
        ({"port": [1]}, "spec.port is a number or text, not a list"),
        ({"when": "yesterday"}, "spec.when is no time as RFC 3339 has it"),
        ({"flag": "true"}, "spec.flag is true or false, not text"),
        ({"labels": {"a": 1}}, "spec.labels.a is text, not a number"),
        ({"labels": {"a": "1", "b": "2"}}, "spec.labels has at most 1 fields, not 2"),
        ({"object": {"kind": "ConfigMap"}}, "spec.object has no apiVersion"),
        ({"one": {"a": "x", "b": "y"}}, "spec.one fits 2 of the forms of which it has one"),
        ({"no": "never"}, "spec.no has the form that it must not have"),
        ({"items": []}, "spec.items has at least 1 items, not 0"),
        ({"items": [{"name": "a"}, {"name": "a"}]}, "spec.items[1] stands twice, by its name"),
        ({"items": [{}]}, "spec.items[0] has no name"),
        ({"items": [None]}, "spec.items[0] is null"),
        ({"set": ["a", "a"]}, "spec.set[1] stands twice"),
    ],
)
def test_each_way_not_to_fit_is_found(spec: dict[str, Any], said: str) -> None:
    good, lines = validate({"rendered/a.yaml": thing(**spec)})
    assert not good
    assert len(lines) == 1, lines
    assert lines[0].endswith(f": Thing/one: {said}")


def test_the_place_is_that_of_the_field() -> None:
    content = written(thing(size="3"))
    _, lines = validate({"rendered/a.yaml": b"---\n" + content})
    number = next(i for i, line in enumerate(content.decode().splitlines(), 2) if '"size"' in line)
    assert lines[0].startswith(f"rendered/a.yaml:{number}:5: ")


def test_versions_metadata_and_broken_files() -> None:
    for changed, said in (
        ({"apiVersion": "example.com/v1alpha1"}, "apiVersion v1alpha1 is not served: v1"),
        ({"metadata": {"name": "No_Name"}}, "metadata.name is no name that Kubernetes takes"),
        ({"metadata": {"name": "a", "labels": {"a": "b c"}}}, "metadata.labels.a is no value that a label may have"),
        ({"metadata": {"name": "a", "annotations": {"a": 1}}}, "metadata.annotations.a is text: put it in quotes"),
    ):
        good, lines = validate({"rendered/a.yaml": {**GOOD, **changed}})
        assert not good
        assert lines[0].endswith(said), lines
    assert validate({"rendered/a.yaml": b"a: [\n"}) == (False, ["rendered/a.yaml:2:1: is no YAML"])


def test_without_crds_nothing_passes_and_other_folders_can_be_named(tmp_path: Path) -> None:
    good, said = validate({"rendered/a.yaml": GOOD}, {})
    assert not good
    assert "no CustomResourceDefinition is in crds" in said[0]
    (tmp_path / "thing.yaml").write_bytes(written(CRD))
    assert validate({"rendered/a.yaml": GOOD}, {}, f'folders = ["{tmp_path}"]\n')[0]
    assert validate({"rendered/a.yaml": GOOD}, settings="folder = 1\n")[1][0].endswith("known: folders, require-crds")


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="the CRDs that crdcheck uses are not here")
def test_the_sample_fits_the_real_crds_as_crdcheck_has_it() -> None:
    crds = Path(os.environ["CRDCHECK"]).parents[1] / "crds"
    real = {f"crds/{p.name}": p.read_bytes() for p in sorted(crds.iterdir())}
    tree = planned().tree
    good, said = validate(tree, real)
    assert good, said
    path = next(p for p in tree if "placement-app01" in p)
    good, said = validate({**tree, path: tree[path].replace(b"numberOfClusters: 1", b'numberOfClusters: "1"')}, real)
    assert not good
    assert "spec.numberOfClusters is a number, not text" in said[0]


# post-webhook

KEY, HIDDEN = "signing-key-marker", "/hooks/url-marker"
PLAN = json.dumps({"kind": "Plan", "commit": "c" * 40}).encode()


class Receiver(ThreadingHTTPServer):
    """A webhook: what it was sent, and what it answers, the last answer for ever."""

    def __init__(self, *answers: tuple[int, dict[str, str]]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers = list(answers) or [(204, {})]
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{HIDDEN}"


class _Answering(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), body))
        code, headers = self.server.answers[min(len(self.server.seen), len(self.server.answers)) - 1]
        if not code:
            self.connection.close()
            return
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(receiver: Receiver) -> Iterator[Receiver]:
    thread = threading.Thread(target=receiver.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()


def post(settings: str | None, plan: bytes = PLAN, timeout: float = 60) -> tuple[list[str], list[str]]:
    """Run the hook: what was shown, and the warnings. The URL's path and the key are in neither."""
    held = {POST: shipped("post-webhook")}
    if settings is not None:
        held["hooks/post-webhook.toml"] = HookFile(settings.encode(), "100644")
    shown: list[str] = []
    occasion = Occasion("b" * 40, commit="c" * 40, plan=plan)
    hooks = Hooks(postPush=(POST,), timeout=timedelta(seconds=timeout))
    faults = [str(fault) for fault in post_push(hooks, held, {"rendered/a": b""}, occasion, shown.append)]
    for line in (*shown, *faults):
        assert "marker" not in line
    return [line.removeprefix(f"{POST}: ") for line in shown], faults


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text(f"{KEY}\n")
    return tmp_path


def settings_for(receiver: Receiver, secrets: Path, more: str = "") -> str:
    (secrets / "url").write_text(f"{receiver.url}\n")
    return f'url-file = "{secrets}/url"\nkey-file = "{secrets}/key"\n{more}'


def test_the_plan_is_posted_and_signed(secrets: Path) -> None:
    with serving(Receiver()) as receiver:
        assert post(settings_for(receiver, secrets)) == (["posted to 127.0.0.1"], [])
    [(path, headers, body)] = receiver.seen
    assert (path, body) == (HIDDEN, PLAN)
    assert headers["X-Gitops-Ds-Signature-256"] == "sha256=" + hmac.new(KEY.encode(), PLAN, hashlib.sha256).hexdigest()
    assert headers["X-Gitops-Ds-Delivery"] == "c" * 40
    assert headers["Content-Type"] == "application/json"


def test_a_url_in_the_settings_and_no_key_will_do() -> None:
    with serving(Receiver()) as receiver:
        assert post(f'url = "{receiver.url}"\n')[1] == []
    assert "X-Gitops-Ds-Signature-256" not in receiver.seen[0][1]


def test_what_may_pass_is_tried_again(secrets: Path) -> None:
    answers = [(503, {"Retry-After": "0"}), (0, {}), (429, {"Retry-After": "0"}), (200, {})]
    with serving(Receiver(*answers)) as receiver:
        shown, faults = post(settings_for(receiver, secrets))
    assert not faults
    assert shown[0] == "127.0.0.1: the server answered 503"
    assert shown[2:] == ["127.0.0.1: the server answered 429", "posted to 127.0.0.1"]
    assert len({body for _, _, body in receiver.seen}) == 1


@pytest.mark.parametrize("answer", [(400, {}), (401, {}), (404, {}), (302, {"Location": "/elsewhere"})])
def test_what_will_not_pass_is_not_tried_again(answer: tuple[int, dict[str, str]], secrets: Path) -> None:
    with serving(Receiver(answer)) as receiver:
        shown, faults = post(settings_for(receiver, secrets))
    assert shown == [f"127.0.0.1: the server answered {answer[0]}, given up"]
    assert "exit code 1" in faults[0]
    assert len(receiver.seen) == 1


def test_it_gives_up_after_its_tries(secrets: Path) -> None:
    with serving(Receiver((500, {"Retry-After": "0"}))) as receiver:
        shown, faults = post(settings_for(receiver, secrets, "tries = 2\n"))
    assert len(receiver.seen) == 2
    assert shown[-1].endswith("given up")
    assert faults


def test_a_server_with_another_certificate_gets_nothing(secrets: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(secrets / "ca.pem"))
    receiver = Receiver()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    receiver.socket = context.wrap_socket(receiver.socket, server_side=True)
    with serving(receiver):
        (secrets / "url").write_text(receiver.url.replace("http:", "https:"))
        said = f'url-file = "{secrets}/url"\n'
        shown, faults = post(said)
        assert shown == ["127.0.0.1: the server's certificate is not trusted, given up"]
        assert faults
        assert receiver.seen == []
        assert post(f'{said}ca-file = "{secrets}/ca.pem"\n')[1] == []
    assert len(receiver.seen) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (None, "post-webhook.toml is missing"),
        ("", "give url or url-file"),
        ('urls = "x"\n', "unknown: urls; known: url"),
        ('url = "ftp://x-marker/"\n', "the URL of the webhook is none"),
        ('url = "https://u:marker@host/"\n', "has a user name in it"),
        ('url = "https://host/ marker"\n', "the URL of the webhook is none"),
        ('url-file = "/nowhere/url"\n', "/nowhere/url cannot be read"),
        ('url = "https://host/"\nca-file = "/nowhere/ca"\n', "/nowhere/ca cannot be read"),
    ],
)
def test_wrong_settings_are_said_without_a_secret(settings: str | None, said: str) -> None:
    shown, faults = post(settings)
    assert said in shown[0]
    assert faults


def test_the_hooks_find_their_python_without_a_virtual_environment_being_active(tmp_path: Path) -> None:
    """As the service that runs gitops-ds by its full path does."""
    few = tmp_path / "bin"
    few.mkdir()
    for name in ("env", "sh"):
        (few / name).symlink_to(shutil.which(name) or "")
    script = (
        "from tests.contract.test_shipped_hooks import GOOD, validate\nprint(validate({'rendered/a.yaml': GOOD}))\n"
    )
    import sys

    line = [sys.executable, "-c", script]
    done = subprocess.run(line, env={"PATH": str(few)}, cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "(True, ['1 objects fit their CRDs'])\n"
