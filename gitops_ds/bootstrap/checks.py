"""What may be told to `bootstrap`: each check says what is wrong with a text, or "" where nothing is.

Owns the forms of names, URLs, images and schedules. Owns no wording around them.

Nothing that is told may hold a `$`: Kubernetes, GitHub and GitLab each fill in some form of it. What is written is
quoted, and reaches scripts by the environment alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

Check = Callable[[str], str]

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_REFERENCE: Final = re.compile(
    r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_FIELD: Final = re.compile(r"(?:\*|[0-9]{1,2}(?:-[0-9]{1,2})?)(?:/[1-9][0-9]?)?")
_RANGES: Final = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 6))
_SCHEMES: Final = ("https", "http", "ssh")
_SCP: Final = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9.-]+:[^\s:][^\s]*")
LONGEST: Final = 40
"""Characters of a name that others are made of."""


def plain(text: str) -> str:
    """Printable characters in one line, and no `$`."""
    if not text or text != text.strip() or not text.isprintable() or not text.isascii():
        return "is no text of visible ASCII characters in one line"
    return "has a $ in it, which would be filled in" if "$" in text else ""


def name(text: str) -> str:
    """A DNS label that others can be made of."""
    if not _LABEL.fullmatch(text):
        return "is no DNS label: lower-case letters, digits and -"
    return f"has more than {LONGEST} characters" if len(text) > LONGEST else ""


def object_name(text: str) -> str:
    """The name of an object that somebody else made."""
    return "" if _NAME.fullmatch(text) and len(text) <= 253 else "is no name of an object"


def namespace(text: str) -> str:
    """The name of a namespace."""
    return "" if _LABEL.fullmatch(text) and len(text) <= 63 else "is no DNS label: lower-case letters, digits and -"


def image(text: str) -> str:
    """A reference to an image, which had better say a version."""
    if not _REFERENCE.fullmatch(text):
        return "is no reference to an image, such as registry.example.com/gitops-ds:1.0"
    last = text.rpartition("/")[2]
    if "@" not in last and (":" not in last or last.endswith(":latest")):
        return "names no version: what runs would change by itself"
    return ""


def url(text: str) -> str:
    """A URL of a git repository, without credentials."""
    wrong = plain(text)
    if wrong:
        return wrong
    if "://" not in text:
        return "" if _SCP.fullmatch(text) else "is no URL such as https://git.example.com/platform/fleet.git"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme not in _SCHEMES or not parts.hostname or not parts.path.strip("/") or port == 0:
        return "is no https or ssh URL of a repository"
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        return "has credentials in it: they go into a Secret"
    return "has a query or a fragment" if parts.query or parts.fragment or " " in text else ""


def server(text: str) -> str:
    """The URL of an API server."""
    wrong = plain(text)
    is_right = text.startswith("https://") and " " not in text and "@" not in text
    return wrong or ("" if is_right else "is no https URL of an API server")


def schedule(text: str) -> str:
    """Five fields of cron, of numbers: what Kubernetes and GitHub both take."""
    fields = text.split(" ")
    if len(fields) != len(_RANGES):
        return "has not five fields with one blank between them: minute, hour, day, month, weekday"
    for field, (what, least, most) in zip(fields, _RANGES, strict=True):
        for part in field.split(","):
            numbers = [int(number) for number in re.findall(r"[0-9]+", part.partition("/")[0])]
            inside = all(least <= number <= most for number in numbers)
            if not _FIELD.fullmatch(part) or not inside or numbers != sorted(numbers):
                return f'has "{field}" for the {what}: write *, */N, or numbers from {least} to {most}'
    return ""
