"""The way to a hub's API server: kubeconfig files, a context, or the service account of the pod that this runs in.

Owns where credentials come from and what is said when there are none. Owns no call. No message repeats what a
kubeconfig holds beyond its names.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, list_kube_config_contexts, load_kube_config
from kubernetes.config.incluster_config import InClusterConfigLoader

from gitops_ds.errors import Fault, HubError, Place
from gitops_ds.hub.live.server import ApiServer
from gitops_ds.hub.live.transport import Limits

KIND: Final = "kubernetes"
IN_CLUSTER: Final = "in-cluster"
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def open_hub(
    context: str | None = None,
    *,
    kubeconfig: Path | None = None,
    limits: Limits | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Callable[[], float] = random.random,
) -> ApiServer:
    """A hub to be asked; nothing is sent yet.

    Args:
        context: the kubeconfig's context; None: the current one, or without any kubeconfig the pod's service account.
        kubeconfig: the file; None: those that KUBECONFIG names, else `~/.kube/config`.
        limits: how long to wait and how often to try.
        environ: the environment.
        service_account: where a pod finds its token and its CA.
        clock: seconds that only go forward.
        sleep: how a pause between two tries is made.
        jitter: a number from 0 to 1, to spread the tries of many clients.

    Raises:
        HubError: there is no such context, or no way to credentials.
    """
    files = _files(kubeconfig, environ)
    configuration = Configuration()
    configuration.retries = False  # every try is ours to count
    if _is_in_pod(files, context, environ):
        _from_service_account(configuration, service_account, environ)
        name = IN_CLUSTER
    else:
        name = context or _current(files)
        _from_kubeconfig(configuration, files, name)
    return ApiServer(f"{KIND}:{name}", ApiClient(configuration), limits or Limits(), clock, sleep, jitter)


def hub_name(
    context: str | None = None, *, kubeconfig: Path | None = None, environ: Mapping[str, str] = os.environ
) -> str:
    """How the hub is called that `open_hub` would open: `kubernetes:` and the context's name, or `in-cluster`.

    Raises:
        HubError: no context is named and none is current.
    """
    files = _files(kubeconfig, environ)
    if _is_in_pod(files, context, environ):
        return f"{KIND}:{IN_CLUSTER}"
    return f"{KIND}:{context or _current(files)}"


def _files(kubeconfig: Path | None, environ: Mapping[str, str]) -> str:
    """The kubeconfig files, as KUBECONFIG has them; "" where there is none at all.

    Raises:
        HubError: files are named and none of them exists.
    """
    named = str(kubeconfig) if kubeconfig is not None else environ.get("KUBECONFIG", "")
    files = [os.path.expanduser(part) for part in named.split(os.pathsep) if part]  # noqa: PTH111
    if files and not any(map(os.path.exists, files)):
        fix = "correct KUBECONFIG, or unset it to use ~/.kube/config"
        raise HubError(Fault("the kubeconfig does not exist", Place(os.pathsep.join(files)), fix=fix))
    if files:
        return os.pathsep.join(files)
    default = Path(environ.get("HOME") or Path.home()) / ".kube" / "config"
    return str(default) if default.is_file() else ""


def _is_in_pod(files: str, context: str | None, environ: Mapping[str, str]) -> bool:
    """Whether the service account counts: only where there is no kubeconfig.

    Raises:
        HubError: there is neither.
    """
    if files:
        return False
    if context not in (None, IN_CLUSTER) or not environ.get("KUBERNETES_SERVICE_HOST"):
        why = "there is neither KUBECONFIG nor ~/.kube/config, and this runs in no pod"
        if environ.get("KUBERNETES_SERVICE_HOST"):
            why = "this runs in a pod and has no kubeconfig, so there are no contexts"
        fix = "set KUBECONFIG, or in a pod use --hub kubernetes"
        named = f" called {context}" if context else ""
        raise HubError(Fault(f"there is no kubeconfig with a hub{named}", None, why, fix))
    return True


def _from_service_account(configuration: Configuration, folder: Path, environ: Mapping[str, str]) -> None:
    loader = InClusterConfigLoader(str(folder / "token"), str(folder / "ca.crt"), environ=environ)
    try:
        loader.load_and_set(configuration)
    except (ConfigException, OSError) as error:
        fix = "let the pod have a service account token (automountServiceAccountToken), or set KUBECONFIG"
        what = "the pod's service account cannot be used"
        raise HubError(Fault(what, Place(str(folder)), _words(error), fix)) from None


def _current(files: str) -> str:
    try:
        return str(list_kube_config_contexts(files)[1]["name"])
    except Exception as error:
        raise HubError(_unusable(files, error, "name one: --hub kubernetes:CONTEXT")) from None


def _from_kubeconfig(configuration: Configuration, files: str, context: str) -> None:
    configuration.host = ""
    with _heard() as said:
        try:
            load_kube_config(files, context, configuration, persist_config=False)
        # Whatever shape a kubeconfig has wrong, the client finds it in its own way.
        except Exception as error:
            raise HubError(_unusable(files, error, "choose one of `kubectl config get-contexts`")) from None
    if not configuration.verify_ssl:
        # Whoever wrote insecure-skip-tls-verify knows; a warning for each request tells nobody more.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    if not configuration.host:
        raise HubError(Fault(f"the cluster of context {context} has no server", Place(files), fix="write its address"))
    if said and not configuration.api_key and not configuration.cert_file:
        what = f"the credentials of context {context} cannot be had"
        fix = f"run `kubectl --context {context} auth whoami`, which uses the same"
        raise HubError(Fault(what, Place(files), said[0], fix))


def _unusable(files: str, error: Exception, fix: str) -> Fault:
    return Fault("the kubeconfig cannot be used", Place(files), _words(error), fix)


def _words(error: Exception) -> str:
    """What the client says, up to where it may quote a user's entry, token and all."""
    said = " ".join(str(error).partition("{")[0].split())
    return said if isinstance(error, ConfigException | OSError) else f"it is no kubeconfig ({type(error).__name__})"


@contextmanager
def _heard() -> Iterator[list[str]]:
    """The client tells of a credential plugin that fails in the log alone, and goes on without credentials."""
    said: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(" ".join(record.getMessage().split()))

    root, listening = logging.getLogger(), Listening(logging.ERROR)
    root.addHandler(listening)
    try:
        yield said
    finally:
        root.removeHandler(listening)
