"""What a refusal of the API server means, in plain words, and what to do about it.

Owns the wording and the exact rule that is missing. Owns no decision to try again.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from gitops_ds.errors import Fault, Place
from gitops_ds.hub.live.resources import Resource
from gitops_ds.hub.live.transport import Answer, NoAnswerError, Request

_USER: Final = re.compile(r'User "([^"]+)"')
_READING: Final = ("get", "list")
_LONGEST_MESSAGE: Final = 300


def message_of(answer: Answer) -> str:
    """The words of a refusal: the message of a Status object, else the start of the text."""
    try:
        status: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        status = None
    said = status.get("message") if isinstance(status, dict) else answer.body[:4096].decode(errors="replace")
    words = "".join(c if c.isprintable() else " " for c in said) if isinstance(said, str) else ""
    return " ".join(words.split())[:_LONGEST_MESSAGE]


def unreachable(name: str, host: str, failure: NoAnswerError, request: Request, tries: int = 1) -> Fault:
    """No answer came."""
    often = f" ({tries} tries)" if tries > 1 else ""
    what = f"the hub's API server {host} cannot be read: {failure.what}{often}"
    return Fault(what, Place(name), f"at {request}", failure.fix)


def busy(name: str, answer: Answer, request: Request, tries: int) -> Fault:
    """It answers, but not now."""
    kind = "is too busy" if answer.status == 429 else "fails"
    often = f", {tries} tries" if tries > 1 else ""
    what = f"the hub's API server {kind} ({answer.status}{often})"
    said = message_of(answer)
    return Fault(what, Place(name), f"at {request}{': ' + said if said else ''}", "try again later")


def out_of_time(name: str, request: Request, seconds: float) -> Fault:
    """The whole reading took too long."""
    return Fault(f"the hub was not read within {seconds:g} seconds", Place(name), f"at {request}", "try again later")


def unauthorized(name: str, answer: Answer) -> Fault:
    """401: it does not know who asks."""
    _, _, context = name.partition(":")
    whoami = "kubectl auth whoami" if context == "in-cluster" else f"kubectl --context {context} auth whoami"
    what = "the hub's API server does not accept these credentials (401)"
    why = "they are wrong or have expired"
    said = message_of(answer)
    why += f": {said}" if said and said != "Unauthorized" else ""
    return Fault(what, Place(name), why, f"log in again, then check with `{whoami}`")


def forbidden(name: str, answer: Answer, request: Request) -> Fault:
    """403: it knows who asks and says no. Names the rule that is missing."""
    resource, verb, namespace = request.resource, request.verb, request.namespace
    if resource is None:
        return refused(name, answer, request)
    said = message_of(answer)
    user = _USER.search(said)
    who = user[1] if user else "this user"
    scope = f"in namespace {namespace}" if namespace else "over the whole hub"
    group = f'API group "{resource.group}"'
    what = f"{who} may not {verb} {resource.plural} ({group}) {scope} (403)"
    verbs = ", ".join(f'"{v}"' for v in (_READING if verb in _READING else (verb,)))
    rule = f'{{apiGroups: ["{resource.group}"], resources: ["{resource.plural}"], verbs: [{verbs}]}}'
    kind = "Role" if namespace else "ClusterRole"
    where = f"-n {namespace}" if namespace else "-A"
    check = f"kubectl auth can-i {verb} {resource.api} {where}" + (f" --as {user[1]}" if user else "")
    why = "" if user or not said else said
    return Fault(what, Place(name), why, f"add to its {kind} the rule `- {rule}`, and check with `{check}`")


def absent(name: str, resource: Resource, served: tuple[str, ...]) -> Fault:
    """404 on a list: the hub does not know the kind, or not in the version that is read."""
    what = f"the hub has no {resource.kind}: it does not serve the CRD {resource.api} as {resource.version} (404)"
    why = f"of the group {resource.group} it serves {', '.join(served)}" if served else ""
    return Fault(what, Place(name), why, f"check `kubectl get crd {resource.api}`")


def not_found(name: str, request: Request) -> Fault:
    """404 on a write or a look-up of something that must be there."""
    return Fault(f"the hub has nothing at {request.path} (404)", Place(name))


def conflict(name: str, answer: Answer, request: Request) -> Fault:
    """409: another writer was first."""
    what = f"{request.path} has changed since it was read, or exists already (409)"
    return Fault(what, Place(name), message_of(answer), "read it anew and try again")


def expired(name: str, resource: Resource, tries: int) -> Fault:
    """410: the list changed faster than it could be read."""
    what = f"the list of {resource.plural} expired {tries} times before its last page was read (410)"
    return Fault(what, Place(name), "the hub changes faster than it answers", "try again later")


def refused(name: str, answer: Answer, request: Request) -> Fault:
    """Any other status that is no success."""
    what = f"the hub's API server refused {request} ({answer.status})"
    fix = "check `server` in the kubeconfig: it must be the API server itself" if 300 <= answer.status < 400 else ""
    return Fault(what, Place(name), message_of(answer), fix)


def malformed(name: str, request: Request, why: str) -> Fault:
    """A success whose body is not what Kubernetes answers."""
    what = f"the answer to {request} is not what a Kubernetes API server says: {why}"
    return Fault(what, Place(name), fix="check `server` in the kubeconfig, and proxies on the way")
