"""How a hub is found and trusted: kubeconfig files, contexts, credential plugins, service accounts, certificates."""

import base64
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from gitops_ds.errors import HubError, HubUnreachable
from gitops_ds.hub.live import Limits, hub_name, open_hub, read_from, read_live
from gitops_ds.sample import sample_folder
from tests.hubs import Hub, Store, hub_server

SAMPLE = sample_folder() / "hub"
ONCE = Limits(connect=3.0, read=3.0, tries=1)


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def tls(ca: trustme.CA) -> Iterator[Hub]:
    with hub_server(SAMPLE, tls=ca.issue_cert("127.0.0.1", "hub.test"), ca=ca, token="right") as hub:
        yield hub


def refusal(context: str | None = None, **how: Any) -> str:
    with pytest.raises(HubError) as caught:
        read_live(context, limits=ONCE, **how)
    return str(caught.value)


def final(text: str, caught: pytest.ExceptionInfo[HubError]) -> None:
    assert not isinstance(caught.value, HubUnreachable)
    assert text in str(caught.value)


def test_a_private_ca_of_the_kubeconfig_is_trusted(tls: Hub, tmp_path: Path) -> None:
    assert tls.url.startswith("https://")
    assert read_live(kubeconfig=tls.kubeconfig(tmp_path), environ={}).clusters


def test_certificates_that_are_wrong_are_told_apart(tls: Hub, ca: trustme.CA, tmp_path: Path) -> None:
    other = trustme.CA().cert_pem.bytes()
    unknown = tls.kubeconfig(tmp_path, certificate_authority_data=base64.b64encode(other).decode())
    assert "signed by a CA that is not known here (TLS)" in refusal(kubeconfig=unknown, environ={})
    none = tls.kubeconfig(tmp_path, certificate_authority_data=None)
    assert "put the CA that signed it into certificate-authority-data" in refusal(kubeconfig=none, environ={})
    name = tls.kubeconfig(tmp_path, tls_server_name="other.test")
    assert "its certificate is for another host name (TLS)" in refusal(kubeconfig=name, environ={})
    right = tls.kubeconfig(tmp_path, tls_server_name="hub.test")
    assert read_live(kubeconfig=right, environ={}).clusters


def test_whoever_skips_the_check_of_certificates_gets_no_warnings(tls: Hub, tmp_path: Path) -> None:
    config = tls.kubeconfig(tmp_path, certificate_authority_data=None, insecure_skip_tls_verify=True)
    with warnings.catch_warnings():
        assert read_live(kubeconfig=config, environ={}).clusters


def test_a_certificate_that_has_expired_is_said(ca: trustme.CA, tmp_path: Path) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    with hub_server(tls=ca.issue_cert("127.0.0.1", not_after=past), ca=ca) as hub:
        said = refusal(kubeconfig=hub.kubeconfig(tmp_path), environ={})
    assert "its certificate has expired (TLS)" in said
    assert "this machine's clock" in said


def test_a_failure_of_trust_is_final_and_tried_once(tls: Hub, tmp_path: Path) -> None:
    waits: list[float] = []
    config = tls.kubeconfig(tmp_path, certificate_authority_data=None)
    with pytest.raises(HubError) as caught:
        read_live(kubeconfig=config, environ={}, sleep=waits.append)
    final("(TLS)", caught)
    assert waits == []


def test_a_server_that_speaks_no_tls_is_said(tmp_path: Path) -> None:
    with hub_server() as hub:
        config = hub.kubeconfig(tmp_path, server=hub.url.replace("http:", "https:"), insecure_skip_tls_verify=True)
        assert "it does not speak TLS" in refusal(kubeconfig=config, environ={})


def test_a_client_certificate_is_shown(ca: trustme.CA, tmp_path: Path) -> None:
    with hub_server(SAMPLE, tls=ca.issue_cert("127.0.0.1"), ca=ca, client_ca=ca) as hub:
        config = hub.kubeconfig(tmp_path)
        assert "cannot be read" in refusal(kubeconfig=config, environ={})
        mine = ca.issue_cert("me@example.com")
        whole = yaml.safe_load(config.read_text())
        (tmp_path / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in mine.cert_chain_pems))
        (tmp_path / "key.pem").write_bytes(mine.private_key_pem.bytes())
        whole["users"][0]["user"] = {"client-certificate": "cert.pem", "client-key": "key.pem"}
        config.write_text(yaml.safe_dump(whole))
        assert read_live(kubeconfig=config, environ={}).clusters


def test_a_port_where_nobody_listens_is_unreachable(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        config = nowhere(tmp_path, f"http://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(HubUnreachable, match="the connection was refused") as caught:
            read_live(kubeconfig=config, limits=ONCE, environ={})
    assert "check the address and that the API server runs" in str(caught.value)


def test_a_name_that_nobody_knows_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(HubUnreachable, match="its host name is not known"):
        read_live(kubeconfig=nowhere(tmp_path, "https://hub.invalid"), limits=ONCE, environ={})


def test_a_connection_that_does_not_come_about_is_unreachable(tmp_path: Path) -> None:
    """A full backlog: the kernel answers no further connection."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        limits = Limits(connect=0.3, read=0.3, tries=1)
        with pytest.raises(HubUnreachable, match="in time"):
            read_live(kubeconfig=nowhere(tmp_path, url), limits=limits, environ={})
        for one in waiting:
            one.close()


def nowhere(folder: Path, url: str) -> Path:
    return Hub(Store(), url).kubeconfig(folder)


# kubeconfig files


def test_several_kubeconfig_files_are_joined_and_the_first_current_context_counts(tmp_path: Path) -> None:
    with hub_server(SAMPLE) as one, hub_server() as two:
        first, second = tmp_path / "a", tmp_path / "b"
        first.mkdir()
        second.mkdir()
        files = [
            str(tmp_path / "missing"),
            str(one.kubeconfig(first, name="one")),
            str(two.kubeconfig(second, name="two")),
        ]
        environ = {"KUBECONFIG": os.pathsep.join(files)}
        assert read_live("one", environ=environ).clusters
        assert not read_live("two", environ=environ).clusters
        assert hub_name(environ=environ) in ("kubernetes:one", "kubernetes:two")
        assert hub_name("one", environ=environ) == "kubernetes:one"


def test_the_kubeconfig_of_the_home_is_the_default(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    with hub_server(SAMPLE) as hub:
        hub.kubeconfig(tmp_path / ".kube").rename(tmp_path / ".kube" / "config")
        environ = {"HOME": str(tmp_path)}
        assert hub_name(environ=environ) == "kubernetes:emulator"
        assert read_live(environ=environ).clusters


def test_a_context_may_be_called_anything(tmp_path: Path) -> None:
    name = "arn:aws:eks:eu-west-1:1:cluster/hub"
    with hub_server(SAMPLE) as hub:
        config = hub.kubeconfig(tmp_path, name=name)
        with open_hub(name, kubeconfig=config, environ={}) as server:
            assert server.name == f"kubernetes:{name}"
            assert read_from(server).clusters[0].source.file == server.name


def config(cluster: str, user: str) -> str:
    contexts = "contexts: [{name: x, context: {cluster: c, user: u}}]"
    return f"current-context: x\n{contexts}\nclusters: [{cluster}]\nusers: [{{name: u, {user}}}]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("[", "it is no kubeconfig (ParserError)"),
        ("[]", "it is no kubeconfig"),
        ("a: b", "current-context"),
        ("current-context: x\ncontexts: []\nclusters: []\nusers: []\n", "name one: --hub kubernetes:CONTEXT"),
        (config("{name: c, cluster: {}}", "user: {token: hunter2}"), "the cluster of context x has no server"),
        (config("{name: d, cluster: {}}", "token: hunter2"), "the kubeconfig cannot be used"),
        (config("{name: c, cluster: {server: 'http://h'}}", "token: hunter2"), "the kubeconfig cannot be used"),
    ],
)
def test_a_kubeconfig_that_is_none_is_said_without_what_it_holds(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    heard = refusal(kubeconfig=path, environ={})
    assert said in heard
    assert str(path) in heard
    assert "hunter2" not in heard


def test_no_way_to_a_hub_is_said(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert "there is neither KUBECONFIG nor ~/.kube/config" in refusal(environ=home)
    assert "no kubeconfig with a hub called prod" in refusal("prod", environ=home)
    assert "the kubeconfig does not exist" in refusal(environ={"KUBECONFIG": "/does/not/exist"})


def test_a_context_that_is_none_is_said(tmp_path: Path) -> None:
    with hub_server() as hub:
        said = refusal("prod", kubeconfig=hub.kubeconfig(tmp_path), environ={})
    assert "prod" in said
    assert "kubectl config get-contexts" in said


# Credential plugins and service accounts


def plugin(hub: Hub, folder: Path, script: str) -> Path:
    config = hub.kubeconfig(folder)
    (folder / "plugin.py").write_text(script)
    whole = yaml.safe_load(config.read_text())
    whole["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(folder / "plugin.py")],
            "interactiveMode": "Never",
        }
    }
    config.write_text(yaml.safe_dump(whole))
    return config


def test_a_credential_plugin_gives_the_token(tls: Hub, tmp_path: Path) -> None:
    body = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "right"},
    }
    config = plugin(tls, tmp_path, f"print({json.dumps(json.dumps(body))})")
    assert read_live(kubeconfig=config, environ={}).clusters


def test_a_credential_plugin_that_fails_is_said_and_nothing_is_asked_without_credentials(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with hub_server(SAMPLE) as hub:
        config = plugin(hub, tmp_path, "import sys; sys.exit('no session: run login')")
        said = refusal(kubeconfig=config, environ={})
        assert "the credentials of context emulator cannot be had" in said
        assert "no session: run login" in said
        assert hub.requests == []
    assert capfd.readouterr().err == ""


def test_a_pod_uses_its_service_account(tls: Hub, ca: trustme.CA, tmp_path: Path) -> None:
    account = tmp_path / "account"
    account.mkdir()
    host, port = tls.url.removeprefix("https://").split(":")
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    assert "the pod's service account cannot be used" in refusal(environ=environ, service_account=account)
    (account / "token").write_text("right")
    (account / "ca.crt").write_bytes(ca.cert_pem.bytes())
    assert hub_name(environ=environ) == "kubernetes:in-cluster"
    for context in (None, "in-cluster"):
        with open_hub(context, environ=environ, service_account=account) as server:
            assert server.name == "kubernetes:in-cluster"
            assert read_from(server).clusters
    assert "so there are no contexts" in refusal("prod", environ=environ, service_account=account)
