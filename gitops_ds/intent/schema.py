"""The JSON Schema (2020-12) of the intent kinds, from the models themselves, for editors to complete from.

Owns how the schemas of the kinds become one document. Owns no field: descriptions and patterns are the models'.
"""

from datetime import timedelta
from fractions import Fraction
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from gitops_ds.intent.dsf_params import DsfParams
from gitops_ds.intent.load import KINDS


class _Schema(GenerateJsonSchema):
    """Writes the defaults of points and durations as people would, so that they are valid values of their fields."""

    def encode_default(self, dft: Any) -> Any:
        match dft:
            case Fraction():
                return float(dft)
            case timedelta():
                return f"{dft.total_seconds():.0f}s"
        return super().encode_default(dft)


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def intent_schema(kind: str | None = None) -> dict[str, Any]:
    """The schema of one kind, or of any document that `intent/` may hold.

    Raises:
        KeyError: there is no such kind.
    """
    if kind is not None:
        return {"$schema": DIALECT, **KINDS[kind].model_json_schema(by_alias=True, schema_generator=_Schema)}
    defs: dict[str, Any] = {}
    choices = []
    models: list[type[BaseModel]] = [*(KINDS[name] for name in sorted(KINDS)), DsfParams]
    for model in models:
        schema = model.model_json_schema(by_alias=True, schema_generator=_Schema)
        defs |= schema.pop("$defs", {})
        defs[model.__name__] = schema
        choices.append({"$ref": f"#/$defs/{model.__name__}"})
    return {
        "$schema": DIALECT,
        "title": "gitops-ds intent",
        "description": "One document of a file in intent/.",
        "if": {"required": ["kind"]},
        "then": {"oneOf": choices[:-1]},
        "else": choices[-1],
        "$defs": defs,
    }
