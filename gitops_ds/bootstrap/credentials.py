"""Which files of a Secret a reconciler in a cluster looks for, and which servers it talks to, by its Reconciler.

Owns the defaults of both. Owns no Secret: what is in it is nobody's business here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from urllib.parse import urlsplit

from gitops_ds.bootstrap.pod import Secrets
from gitops_ds.errors import Fault, UsageError, raise_faults
from gitops_ds.intent.reconciler import ReconcilerSpec

FOLDER = "/var/run/secrets/gitops-ds"
"""Where credentials are that the Reconciler names no file for."""
TOKEN, SSH_KEY, KNOWN_HOSTS = "token", "ssh-privatekey", "known_hosts"
"""Their keys in the Secret; the second is that of the type kubernetes.io/ssh-auth."""
_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


def secrets_for(spec: ReconcilerSpec, url: str, name: str) -> Secrets:
    """The files that a reconciler of the repository at `url` needs from the Secret `name`.

    The variables say where they are while the Reconciler, which is in the repository, is not yet read.

    Raises:
        UsageError: a file is named by a path that is not absolute, or two of them would be one key of the Secret.
    """
    git = spec.git
    files = {file for file in _named(spec) if file}
    env = []
    if _scheme(url) == "ssh":
        key, hosts = git.sshKeyFile or f"{FOLDER}/{SSH_KEY}", git.knownHostsFile or f"{FOLDER}/{KNOWN_HOSTS}"
        files |= {key, hosts}
        options = ("BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=yes", f"UserKnownHostsFile={hosts}")
        words = ["ssh", "-i", key, *(word for option in options for word in ("-o", option))]
        env.append(("GIT_SSH_COMMAND", shlex.join(words)))
    else:
        token = git.tokenFile or f"{FOLDER}/{TOKEN}"
        files.add(token)
        env.append(("GITOPS_DS_TOKEN_FILE", token))
    if git.caFile:
        env.append(("GIT_SSL_CAINFO", git.caFile))
    raise_faults(UsageError, _faults(files))
    return Secrets(name, tuple(sorted(files)), tuple(sorted(env)))


def ports_for(spec: ReconcilerSpec, url: str) -> tuple[int, ...]:
    """The ports of the git server, its API and the sources of scores."""
    urls = [url, *([spec.git.pullRequest.apiUrl] if spec.git.pullRequest.apiUrl else [])]
    urls += [source.prometheus.url for source in spec.scoreSources]
    return tuple(sorted({_port(one) for one in urls}))


def _named(spec: ReconcilerSpec) -> Iterator[str | None]:
    git = spec.git
    yield from (git.tokenFile, git.sshKeyFile, git.knownHostsFile, git.caFile)
    if git.signing is not None and git.signing.format == "ssh":
        yield git.signing.key
    for source in spec.scoreSources:
        server = source.prometheus
        password = server.basicAuth.passwordFile if server.basicAuth else None
        yield from (server.bearerTokenFile, server.caFile, password)


def _faults(files: set[str]) -> Iterator[Fault]:
    folders = {file.rpartition("/")[0] for file in files}
    for file in sorted(files):
        folder, _, key = file.rpartition("/")
        if not file.startswith("/") or not folder or not key or "/../" in file:
            why = "in a pod it is mounted from a Secret"
            yield Fault(f"the Reconciler's {file} is no absolute path of a file in a folder", None, why, "write one")
        if any(other != file and other.endswith(f"/{key}") for other in files):
            yield Fault(
                f"the Reconciler names two files called {key}", None, "each is a key of one Secret", "rename one"
            )
    for folder in sorted(folders):
        if any(other.startswith(f"{folder}/") for other in folders):
            why = "a folder that is mounted cannot be inside another one"
            yield Fault(f"the Reconciler names files in {folder} and in a folder below it", None, why, "use one folder")


def _scheme(url: str) -> str:
    return urlsplit(url).scheme if "://" in url else "ssh"


def _port(url: str) -> int:
    parts = urlsplit(url) if "://" in url else None
    return (parts.port if parts else None) or _PORTS.get(_scheme(url), 443)
