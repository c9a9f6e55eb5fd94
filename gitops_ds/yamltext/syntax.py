"""Why a text is no YAML, in words that help the person who wrote it.

Owns the translation of the parser's messages. Owns no finding of errors.
"""

from __future__ import annotations

from yaml.error import MarkedYAMLError, YAMLError

from gitops_ds.errors import Fault, Place

_INDENTATION = "line it up with the entries that it belongs to, or quote the text above it"

_REASONS = {
    "mapping values are not allowed in this context": (
        "a ': ' makes a key, and no key may stand here",
        "quote the text, or check the indentation of this line",
    ),
    "did not find expected key": ("the line belongs to no entry above it", _INDENTATION),
    "did not find expected '-' indicator": ("an item of the list above was expected, with a '-'", _INDENTATION),
    "block sequence entries are not allowed in this context": (
        "a list cannot begin on the line of its key",
        "put the '- ' on a line of its own",
    ),
    "could not find expected ':'": ("a key needs a ':' after it", "add ': ', or check the quotes and the indentation"),
    "did not find expected ',' or '}'": ("a '{' is not closed", "add the missing '}' or ','"),
    "did not find expected ',' or ']'": ("a '[' is not closed", "add the missing ']' or ','"),
    "did not find expected node content": ("a value was expected", "write one, or quote the text"),
    "found unexpected end of stream": ("a quote is not closed before the file ends", "add the missing quote"),
    "found unexpected document indicator": ("a quote is not closed before the document ends", "add the missing quote"),
    "found unknown escape character": ("double quotes know no such backslash", "use single quotes, or \\\\"),
    "found character that cannot start any token": (
        "a tab, '@', '`' or '%' cannot begin a value",
        "indent with spaces; quote the value",
    ),
    "found a tab character that violates indentation": ("a tab cannot indent", "indent with spaces"),
    "found a tab character where an indentation space is expected": ("a tab cannot indent", "indent with spaces"),
    "did not find expected <document start>": ("something stands after the end of the document", "remove it"),
    "did not find expected comment or line break": ("nothing may follow here on the same line", "begin a new line"),
    "found unknown directive name": ("a line that begins with '%' is a directive", "remove the line"),
    "found incompatible YAML document": ("only %YAML 1.1 and 1.2 can be read", "remove the directive"),
    "found duplicate %YAML directive": ("one directive a document", "remove the second"),
    "exceeded maximum nesting depth": ("nothing that is meant is nested this deeply", ""),
    "found undefined tag handle": ("the tag's prefix is declared nowhere", "remove the tag"),
    "found half of a surrogate pair": ("the escape stands for no character", "write both halves, or the character"),
}


def syntax_fault(error: YAMLError, file: str) -> Fault:
    """The fault that a parser's error stands for, at the spot where the parser gave up."""
    if not isinstance(error, MarkedYAMLError):
        return Fault(f"this is no YAML: {error}", Place(file))
    problem = error.problem or "unknown error"
    mark, context = error.problem_mark, error.context_mark
    why, fix = _REASONS.get(problem, ("", ""))
    begun = f"{error.context or 'reading'} from line {context.line + 1}, column {context.column + 1}" if context else ""
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    return Fault(f"this is no YAML: {problem}", place, ", ".join(part for part in (why, begun) if part), fix)
