"""How a remote is reached: credentials, trust and time limits, given to one git process at a time.

Owns the private settings file that git includes for that one command. No secret is ever an argument, an environment
variable, or a part of a URL that git sees: a credential helper in the settings file reads the token file itself, and
what somebody wrote into a URL goes through a file that only this user can read and that is gone when git has ended.
Owns no knowledge of what is fetched or pushed.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.urls import Address, mask

ANY_NAME = "x-access-token"
"""The user name that goes with a token where none is given: servers that take a token as the password accept it."""

_SLOWEST = 60
"""Seconds without a byte after which an http transfer is given up."""
_LONGEST = 65_536
"""Characters of a token and the line that it stands on; more is no token."""
_CONNECT = 20
"""Seconds in which ssh must have a connection."""


@dataclass(frozen=True, slots=True)
class Access:
    """What is needed to reach a remote; whatever is None is left to git's own settings, helpers and agents.

    Attributes:
        token_file: a file of one line, the password or token for http and https; read anew for each command.
        username: the user name that goes with it.
        ca_file: the certificates (PEM) that sign the server's.
        ssh_key: the private key for ssh; no other key, and no agent, is then tried.
        known_hosts: the host keys that ssh trusts; none is then trusted on first sight.
        timeout: the time that one git command may take as a whole.
        password: the password or token itself, where there is no file.
    """

    token_file: Path | None = None
    username: str | None = None
    ca_file: Path | None = None
    ssh_key: Path | None = None
    known_hosts: Path | None = None
    timeout: timedelta = timedelta(minutes=2)
    password: str | None = field(default=None, repr=False)

    @property
    def gives_password(self) -> bool:
        """Whether there is a password or token to log in with."""
        return self.token_file is not None or self.password is not None


class Grant(NamedTuple):
    """What one git command gets: settings, variables, and the secrets that must not be in its words."""

    settings: tuple[str, ...]
    env: Mapping[str, str]
    secrets: tuple[str, ...]

    def clean(self, text: str) -> str:
        """A text of git or of the remote as it may be shown."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return mask(text)


@contextmanager
def granted(raw: str, found: Address, access: Access, *, own_ssh: bool = False) -> Iterator[Grant]:
    """Lay out the settings file for one command that talks to the remote at `found`.

    Args:
        raw: the URL as git's own configuration, or the caller, spells it.
        found: the same after git's rewriting rules (`url.*.insteadOf`), with its credentials taken out.
        access: what is given.
        own_ssh: the user has an ssh command of their own, which is left as it is unless `access` says how to use ssh.

    Raises:
        RepositoryError: a file of `access` cannot be read, or the token file has no token, or a name or password is no
            single line: what follows the line would be taken for more of what git is told.
    """
    for file in (access.ca_file, access.ssh_key, access.known_hosts):
        _check_readable(file)
    with tempfile.TemporaryDirectory(prefix="gitops-ds-") as folder:
        password = None if access.token_file else access.password or found.password
        for text, what in ((password, "password"), (access.username or found.username, "user name")):
            if text and not text.isprintable():
                raise RepositoryError(Fault(f"the {what} for the remote has a line break or control character in it"))
        token_file = access.token_file
        if token_file is None and password is not None:
            token_file = Path(folder, "password")
            token_file.write_text(password, encoding="utf-8")
        secrets = [secret for secret in (found.password, _token(token_file)) if secret]
        username = access.username or found.username
        config = Path(folder, "config")
        config.touch(mode=0o600)
        config.write_text("".join(_sections(raw, found, username, token_file)), encoding="utf-8")
        env = _variables(access, own_ssh)
        yield Grant((f"include.path={config}",), env, tuple(sorted(set(secrets), key=len, reverse=True)))


def _sections(raw: str, found: Address, username: str | None, token_file: Path | None) -> Iterator[str]:
    yield _section("http", None, [("lowSpeedLimit", "1"), ("lowSpeedTime", str(_SLOWEST))])
    if found.username or found.password:
        # The whole URL is longer than any prefix that the user's own rules rewrite, and so this rule wins.
        yield _section("url", found.url, [("insteadOf", raw), ("pushInsteadOf", raw)])
    if found.server is None:
        return
    if token_file:
        # Only this server is given the token, and no helper of the user or header of a CI system competes with it.
        helper = _helper(username or ANY_NAME, token_file.absolute())
        yield _section("credential", found.server, [("helper", ""), ("helper", helper)])
        yield _section("http", found.url, [("extraHeader", "")])
    elif username:
        yield _section("credential", found.server, [("username", username)])


def _helper(username: str, token_file: Path) -> str:
    """A credential helper in shell: everything in it is built in, so that no process list shows the token."""
    read = (
        f"IFS= read -r token < {shlex.quote(str(token_file))} || test -n \"$token\"; token=${{token%$(printf '\\r')}}"
    )
    said = f"printf 'username=%s\\npassword=%s\\n' {shlex.quote(username)} \"$token\""
    return f'!f() {{ test "$1" = get || exit 0; {read}; {said}; }}; f'


def _section(name: str, of: str | None, values: Sequence[tuple[str, str]]) -> str:
    head = f"[{name}]" if of is None else f"[{name} {_quoted(of)}]"
    return "".join([f"{head}\n", *(f"\t{key} = {_quoted(value)}\n" for key, value in values)])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _variables(access: Access, own_ssh: bool) -> dict[str, str]:
    variables = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"}
    if access.ca_file:  # a variable, since the user's own variable wins over any setting
        variables["GIT_SSL_CAINFO"] = str(access.ca_file.absolute())
    if own_ssh and access.ssh_key is None and access.known_hosts is None:
        return variables
    options = ["BatchMode=yes", f"ConnectTimeout={_CONNECT}", "ServerAliveInterval=15", "ControlPath=none"]
    command = ["ssh", *(part for option in options for part in ("-o", option))]
    if access.ssh_key:
        command += ["-i", str(access.ssh_key.absolute()), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]
    if access.known_hosts:
        trusted = f"UserKnownHostsFile={_ssh_word(access.known_hosts.absolute())}"
        command += ["-o", trusted, "-o", "GlobalKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes"]
    return {**variables, "GIT_SSH_COMMAND": shlex.join(command), "GIT_SSH_VARIANT": "ssh"}


def _ssh_word(path: Path) -> str:
    """A path inside an option of ssh, which splits at spaces and takes `%` for a token of its own."""
    return '"' + str(path).replace("%", "%%") + '"'


def _check_readable(file: Path | None) -> None:
    if file is not None:
        _text(file)


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    fix = "put the token on its first line, and nothing else"
    if file.exists() and not file.is_file():
        raise RepositoryError(Fault("the token file is no regular file", Place(str(file)), fix=fix))
    found = _text(file).rstrip("\r\n")
    if not found:
        raise RepositoryError(Fault("the token file is empty", Place(str(file)), fix=fix))
    if not found.isprintable() or len(found) >= _LONGEST:
        raise RepositoryError(Fault("the token file holds more than a token", Place(str(file)), fix=fix))
    return found


def _text(file: Path) -> str:
    """The beginning of a file: more of it than any token has, and no more of a device that never ends."""
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return lines.read(_LONGEST)
    except OSError as error:
        raise RepositoryError(
            Fault("the file cannot be read", Place(str(file)), why=error.strerror or str(error))
        ) from error
