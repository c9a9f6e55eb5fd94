"""Other people's text inside Markdown: shown as it is, and able to do nothing.

Names, reasons and messages are data that anybody may have written. None may end a table's cell, open a tag, a link or
a code block, or call a person, an issue or a page into a pull request. Owns that, and no layout.

Markdown's own characters become entities, which are text and never structure. Forges look for mentions, references and
addresses once more in the text that comes out, so a zero-width space follows what starts one, although they leave text
in `<code>` alone. No line feed is left, so nothing is a line of its own (GitLab runs lines such as /merge).
"""

from __future__ import annotations

import re

LONGEST = 300
"""Characters of one piece of data that are shown."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/: -]*[A-Za-z0-9._/-])?")
_STARTS_SOMETHING = re.compile(r"[#!~%$&^](?=\S)|/(?=/)|www(?=\.)|:(?=[a-z_+-][a-z0-9_+-]*:)", re.IGNORECASE)
_MARKUP = re.compile(r"[&<>|`*_\[\]\\~$^]")
_PUNCTUATION = re.compile(r"[!-,:-@[-`{-~]")
_LIST_MARK = re.compile(r"^[-+#=>]|^(\d+)[.)]")


def sentence(text: str) -> str:
    """`text` as plain words, in one line."""
    escaped = _MARKUP.sub(_entity, _broken(_one_line(text)))
    return _LIST_MARK.sub(lambda m: f"{m[1]}{_code_of(m[0][-1])}" if m[1] else _code_of(m[0]), escaped)


def code(text: str) -> str:
    """`text` as a name in code, in one line, also in a table's cell."""
    shown = _one_line(text)
    if _PLAIN_NAME.fullmatch(shown):
        return f"`{shown}`"
    return tagged(text)


def tagged(text: str) -> str:
    """`text` as a name in code, by HTML's tag: what `code` does not do inside of another tag."""
    return f"<code>{_PUNCTUATION.sub(_entity, _broken(_one_line(text)))}</code>"


def fenced(text: str, language: str) -> str:
    """`text`, which may have several lines, in a block of code that nothing in it can end."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    shown = "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
    return f"{fence}{language}\n{shown}\n{fence}"


def _broken(text: str) -> str:
    """`text` with a space of no width in whatever a forge would take for a mention, a reference or an address."""
    return _STARTS_SOMETHING.sub(lambda match: f"{match[0]}\u200b", text).replace("@", "\u200b@\u200b")


def _one_line(text: str) -> str:
    short = " ".join(text[: LONGEST + 1].split())
    cut = short if len(text) <= LONGEST else f"{short[:LONGEST]}..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


def _entity(match: re.Match[str]) -> str:
    return _code_of(match[0])


def _code_of(character: str) -> str:
    return f"&#{ord(character)};"
