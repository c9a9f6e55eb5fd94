"""`ScorerConfig`: what a scorer's own `/config` says, and a scorer of an intent settled by it.

Owns which of its fields count and how they are read: leniently, since other people's scorers write it, but with the
same checks of addresses and queries as an intent has. Owns no fetching (`hub/scorer_config.py`).
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from gitops_ds.intent.scoring import (
    ScorerScoring,
    ScorerSource,
    ScorerSpec,
    ScoringParams,
    SourceParams,
    base_of,
)


def _as_known(value: Any) -> Any:
    """A source's type in the CRD's spelling: scorers that write it in another case mean the same."""
    spelled = {"prometheus": "Prometheus", "none": "None", "": None}
    return spelled.get(value.lower(), value) if isinstance(value, str) else value


def _bare(value: Any) -> Any:
    """What a scorer said, without what says nothing: empty texts, and all that a source of type None has."""
    if not isinstance(value, Mapping):
        return value
    found = {key: _bare(inner) for key, inner in value.items() if inner not in ("", None) and key != "auth"}
    if "type" in found:
        found["type"] = _as_known(found["type"])
        if found["type"] == "None":
            return {"type": "None"}
    return found


_TOLD = ConfigDict(extra="ignore")


class _ToldQuery(SourceParams):
    model_config = _TOLD


class _ToldScore(ScoringParams):
    model_config = _TOLD


class _ToldSource(ScorerSource):
    model_config = _TOLD
    params: _ToldQuery | None = None


class _ToldScoring(ScorerScoring):
    model_config = _TOLD
    params: _ToldScore


class ScorerConfig(BaseModel):
    """What a scorer's `/config` says: the name and interval of its score at least. Further fields are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    source: Annotated[_ToldSource, BeforeValidator(_bare)] = _ToldSource()
    scoring: Annotated[_ToldScoring, BeforeValidator(_bare)]


def read_config(value: Any) -> ScorerConfig:
    """The configuration in `value`, plain data.

    Raises:
        ValueError: it is none; the message says what is wrong, one fault after the other.
    """
    try:
        return ScorerConfig.model_validate(value)
    except ValidationError as error:
        said = [
            f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {str(e['msg']).removeprefix('Value error, ')}"
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise ValueError("; ".join(said)) from None


def write_config(config: ScorerConfig) -> dict[str, Any]:
    """The configuration as plain data that `read_config` reads."""
    return config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def settled(scorer: ScorerSpec, told: ScorerConfig | None) -> ScorerSpec:
    """The scorer as the agent is to know it: with `told` what it said wins, field by field, and nothing stays open.

    What only the DSF's own rule for Full gives, a source's host that is `configURL`'s, is written out.
    """
    if told is None:
        return scorer
    parts: dict[str, Any] = {}
    for word in ("source", "scoring"):
        said = getattr(told, word).model_dump(exclude_none=True)
        parts[word] = {**getattr(scorer, word).model_dump(exclude_none=True), **said}
    if parts["source"].get("type") == "None":
        parts["source"] = {"type": "None"}
    elif "type" in parts["source"]:
        parts["source"].setdefault("host", base_of(scorer.configURL))
    whole = scorer.model_dump() | parts | {"configSyncMode": "None", "pin": False}
    return ScorerSpec.model_validate(whole)
