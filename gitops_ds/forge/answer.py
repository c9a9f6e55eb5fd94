"""`Answer`: what a forge answered, and what that says: sentences, limits on requests, waits.

Owns the reading. Owns no request and no judgement of what to do about it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

UNSAID_LIMIT = 60.0
"""Seconds to wait where a forge limits requests and does not say for how long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: `value` is the JSON, None for none; `is_json` says whether it was JSON, or nothing, at all."""

    status: int
    headers: httpx.Headers
    value: Any
    is_json: bool


def answer_of(response: httpx.Response, content: bytes) -> Answer:
    """The answer, with its content read as JSON where it is that."""
    try:
        value, is_json = json.loads(content) if content.strip() else None, True
    except (ValueError, RecursionError):
        value, is_json = None, False
    return Answer(response.status_code, response.headers, value, is_json)


def limit_of(answer: Answer) -> float | None:
    """How long the forge asks to wait where it limits requests; None where it does not."""
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status == 403:
        told = any("rate limit" in text.lower() for text in sentences(answer.value))
        if not (told or spent or "retry-after" in answer.headers):
            return None
    elif answer.status != 429:
        return None
    asked = asked_wait(answer)
    if asked is None and spent:
        asked = _until_reset(answer)
    return UNSAID_LIMIT if asked is None else asked


def asked_wait(answer: Answer) -> float | None:
    """The seconds that Retry-After asks for, in either of its forms; None where there is no such header."""
    said = answer.headers.get("retry-after", "").strip()
    if said.isdecimal():
        return float(said)
    now, then = _date(answer.headers.get("date", "")), _date(said)
    return None if now is None or then is None else max(then - now, 0.0)


def _until_reset(answer: Answer) -> float | None:
    """From the answer's own date to the second that it names, so that this machine's clock does not matter."""
    said, now = answer.headers.get("x-ratelimit-reset", ""), _date(answer.headers.get("date", ""))
    return max(float(said) - now, 0.0) + 1 if said.isdecimal() and now is not None else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def sentences(value: Any, depth: int = 0) -> Iterator[str]:
    """Every sentence in what a forge says of an error: each has a shape of its own."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 4:
        for one in value:
            yield from sentences(one, depth + 1)
    elif isinstance(value, Mapping) and depth < 4:
        if depth and not {"message", "errors", "error"} & set(value):
            field, code = value.get("field"), value.get("code")
            yield from [f"{field}: {code}"] if isinstance(field, str) and isinstance(code, str) else _named(value)
        for key in ("message", "error_description", "error", "errors"):
            yield from sentences(value.get(key), depth + 1)


def _named(value: Mapping[str, Any]) -> Iterator[str]:
    """GitLab's faults by field: {"title": ["is too long"]}."""
    for field, several in sorted(value.items()):
        for one in several if isinstance(several, list) else [several]:
            if isinstance(one, str):
                yield f"{field} {one}"
