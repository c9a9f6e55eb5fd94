"""Signed commits: making one with the key that is configured, and proving that it carries that very key's signature.

Owns the two formats, ssh and openpgp, and the refusal of everything less than a good signature by the right key. An
unsigned commit is never made in the place of a signed one. Owns no key and no trust in other people's keys.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.gitcmd import TIMED_OUT, Answer, Repository, git, text, try_git, zero_split
from gitops_ds.repo.opening import Identity
from gitops_ds.repo.urls import mask

_LIMIT = timedelta(minutes=1)
"""The time that a signing program may take: one that waits for a passphrase that nobody types would take for ever."""
_SIGNER = "signer"
_PUBLIC = re.compile(r"(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+ \S+")
_OPTIONS = {"ssh": "gpg.ssh.program", "openpgp": "gpg.openpgp.program"}


@dataclass(frozen=True, slots=True)
class Signing:
    """A key to sign commits with.

    Attributes:
        format: the kind of key.
        key: for ssh, the path of a private key, or of a public one whose private half an agent holds, or the public key
            itself after `key::`. For openpgp, what gpg finds the key by.
        program: the program to sign with, in the place of ssh-keygen or gpg.
    """

    format: Literal["ssh", "openpgp"]
    key: str
    program: str | None = None


def signed_tree(  # noqa: PLR0917
    repo: Repository, tree: str, parent: str, message: bytes, author: Mapping[str, str], signing: Signing
) -> str:
    """Store the commit of a tree, signed; its id.

    Raises:
        RepositoryError: the commit could not be signed; there is none then.
    """
    arguments = ("commit-tree", tree, "-p", parent, "-F", "-", f"-S{_key(signing)}")
    env = {**author, "SSH_ASKPASS_REQUIRE": "never"}
    answer = try_git(repo, *arguments, stdin=message, env=env, settings=_settings(signing), limit=_LIMIT)
    commit = answer.out.decode().strip()
    if answer.status or not commit:
        raise _unsigned(signing, answer)
    return commit


def verify_signature(repo: Repository, commit: str, signing: Signing, identity: Identity) -> None:
    """Make sure that a commit is by `identity` and has a good signature by the key of `signing`.

    Raises:
        RepositoryError: it is not, it has none, or the key cannot be read.
    """
    committer = text(git(repo, "log", "-1", "--no-show-signature", "--format=%cn%x00%ce", commit)).rstrip("\n")
    if committer != f"{identity.name.strip()}\0{identity.email.strip()}":
        raise _not_good(commit, f"its committer is {mask(committer.replace(chr(0), ' '))}", signing)
    if signing.format == "ssh":
        _verify_ssh(repo, commit, signing)
    else:
        _verify_openpgp(repo, commit, signing)


def _verify_ssh(repo: Repository, commit: str, signing: Signing) -> None:
    with tempfile.TemporaryDirectory(prefix="gitops-ds-") as folder:
        allowed = Path(folder, "signers")
        allowed.write_text(f'{_SIGNER} namespaces="git" {_public_key(signing)}\n', encoding="utf-8")
        trusted = ("gpg.format=ssh", f"gpg.ssh.allowedSignersFile={allowed}", "gpg.ssh.program=ssh-keygen")
        revoked = "gpg.ssh.revocationFile="
        answer = try_git(repo, "verify-commit", "--raw", commit, settings=(*trusted, revoked), limit=_LIMIT)
    if answer.status or f'Good "git" signature for {_SIGNER} ' not in answer.err:
        raise _not_good(commit, _words(answer) or "it is not signed", signing)


def _verify_openpgp(repo: Repository, commit: str, signing: Signing) -> None:
    settings = (*_settings(signing), "gpg.minTrustLevel=undefined")
    answer = try_git(repo, "verify-commit", "--raw", commit, settings=settings, limit=_LIMIT)
    valid = re.search(r"^\[GNUPG:\] VALIDSIG (.+)$", answer.err, re.MULTILINE)
    if answer.status or valid is None or "[GNUPG:] GOODSIG " not in answer.err:
        raise _not_good(commit, _words(answer) or "it is not signed", signing)
    signers = set(valid[1].split()) & _fingerprints(repo, signing)
    if not signers:
        raise _not_good(commit, f"the signature is by {valid[1].split()[0]}", signing)


def _fingerprints(repo: Repository, signing: Signing) -> set[str]:
    """The fingerprints of the keys, and their subkeys, that gpg finds by the name of the key."""
    keys = zero_split(try_git(repo, "config", "-z", "--get", _OPTIONS["openpgp"]).out)
    keys += zero_split(try_git(repo, "config", "-z", "--get", "gpg.program").out)
    program = signing.program or next(iter(keys), "gpg")
    listed = _run([program, "--batch", "--with-colons", "--list-keys", "--", signing.key], signing)
    records = (line.split(":") for line in listed.splitlines())
    return {record[9] for record in records if record[0] == "fpr" and len(record) > 9}


def _public_key(signing: Signing) -> str:
    """The public half of an ssh key, as one line of its type and its digits."""
    named = signing.key.removeprefix("key::")
    found = _PUBLIC.match(named)
    if found:
        return found[0]
    file = Path(named).expanduser()
    public = file.with_name(file.name + ".pub")
    try:
        for candidate in (file, public):
            found = (
                _PUBLIC.match(candidate.read_text(encoding="utf-8", errors="replace")) if candidate.exists() else None
            )
            if found:
                return found[0]
    except OSError as error:
        raise RepositoryError(Fault("the key cannot be read", Place(str(file)), error.strerror or "")) from error
    found = _PUBLIC.match(_run(["ssh-keygen", "-y", "-P", "", "-f", str(file)], signing))
    if found is None:
        raise _no_public_key(signing, "")
    return found[0]


def _run(command: list[str], signing: Signing) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=_LIMIT.total_seconds()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_public_key(signing, str(error)) from error
    if done.returncode:
        raise _no_public_key(signing, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def _key(signing: Signing) -> str:
    if signing.format == "openpgp" or signing.key.startswith("key::") or _PUBLIC.match(signing.key):
        return signing.key
    return str(Path(signing.key).expanduser().absolute())


def _settings(signing: Signing) -> tuple[str, ...]:
    program = (f"{_OPTIONS[signing.format]}={signing.program}",) if signing.program else ()
    return (f"gpg.format={signing.format}", *program)


def _words(answer: Answer) -> str:
    """What git and the signing program said, without the lines that are for programs."""
    lines = [line.strip() for line in mask(answer.err).splitlines()]
    said = [line.removeprefix("error: ").removeprefix("fatal: ") for line in lines if line and "[GNUPG:]" not in line]
    return "; ".join(said[:10])


def _unsigned(signing: Signing, answer: Answer) -> RepositoryError:
    why = "the signing program waits for something" if answer.status == TIMED_OUT else ""
    return RepositoryError(
        Fault(
            "the commit cannot be signed",
            Place(f"{signing.format} key {mask(signing.key)}"),
            why="; ".join(filter(None, (why, _words(answer)))),
            fix="check the key and that it can be used without a passphrase; nothing is committed unsigned",
        )
    )


def _not_good(commit: str, why: str, signing: Signing) -> RepositoryError:
    fix = f"check that {signing.format} key {mask(signing.key)} is the one that signs"
    return RepositoryError(Fault(f"commit {commit} has no good signature by the configured key", None, why, fix))


def _no_public_key(signing: Signing, why: str) -> RepositoryError:
    said = "; ".join(line.strip() for line in mask(why).splitlines() if line.strip())
    where = Place(f"{signing.format} key {mask(signing.key)}")
    return RepositoryError(Fault("the public half of the signing key cannot be found", where, said))
