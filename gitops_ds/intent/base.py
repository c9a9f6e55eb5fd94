"""What every intent kind is made of: the strict base model, names as Kubernetes allows them, amounts, durations.

Owns the field types that several kinds share. Owns no kind, no reading of files, and no look at the hub.
"""

import math
import re
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    model_validator,
)

from gitops_ds.quantity import parse_quantity

API_VERSION: Literal["gitops-ds.io/v1alpha1"] = "gitops-ds.io/v1alpha1"

MOST_POINTS = 1_000_000
"""Costs beyond this cannot be told apart from "never" and only blur the sums."""

_LABEL_NAME = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9_.-]{0,61}[A-Za-z0-9])"
_SUBDOMAIN = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"


class Strict(BaseModel):
    """A frozen mapping that refuses fields it does not know and never turns one type into another."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


def _one_of_kind(text: str, form: str, most: int, what: str) -> str:
    if len(text) > most:
        raise ValueError(f"{what} has at most {most} characters, this one has {len(text)}")
    if re.fullmatch(form, text, re.ASCII) is None:
        raise ValueError(f'"{text}" is no {what}')
    return text


def _dns_label(text: str) -> str:
    what = "DNS label (lower-case letters, digits and -, starting and ending with a letter or digit)"
    return _one_of_kind(text, r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", 63, what)


def _dns_name(text: str) -> str:
    return _one_of_kind(text, _SUBDOMAIN, 253, "DNS name (lower-case letters, digits, - and .)")


def _label_key(text: str) -> str:
    prefix, _, name = text.rpartition("/")
    if prefix:
        _one_of_kind(prefix, _SUBDOMAIN, 253, "label prefix")
    elif "/" in text:
        raise ValueError(f'"{text}" is no label key: its prefix is empty')
    _one_of_kind(name, _LABEL_NAME, 63, "label key")
    return text


def _label_value(text: str) -> str:
    return text and _one_of_kind(text, _LABEL_NAME, 63, "label value")


def _template(text: str) -> str:
    """A name with `${cluster}` in it, or without."""
    _dns_name(text.replace("${cluster}", "c"))
    return text


DnsLabel = Annotated[str, AfterValidator(_dns_label), Field(examples=["default"])]
DnsName = Annotated[str, AfterValidator(_dns_name)]
PolicyTemplate = Annotated[str, AfterValidator(_template), Field(examples=["policy-enable-mig-3g-${cluster}"])]
LabelKey = Annotated[str, AfterValidator(_label_key)]
LabelValue = Annotated[str, AfterValidator(_label_value)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=1024)]

_DURATION = re.compile(r"^(?=.)(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?$", re.ASCII)


def as_duration(value: object) -> timedelta:
    """A span of time from text such as 90s, 15m, 2h or 1h30m.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, timedelta):
        return value
    found = _DURATION.fullmatch(value) if isinstance(value, str) and not value.endswith("\n") else None
    if found is None:
        raise ValueError("write a duration such as 90s, 15m, 2h or 1h30m")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def as_quantity(value: object) -> Fraction:
    """A resource amount from what YAML gives: a whole number, or text such as 500m.

    Raises:
        ValueError: it is no amount.
    """
    match value:
        case Fraction():
            return value
        case str() | int():
            return parse_quantity(value)
        case float():
            raise ValueError(f'quote an amount with a decimal point: "{value}"')
        case _:
            raise ValueError("an amount is a number, or text such as 500m or 64Gi")


def _points(value: object) -> Fraction:
    match value:
        case Fraction():
            exact = value
        case bool():
            raise ValueError("write a number of score points")
        case int() | float() if math.isfinite(value):
            exact = Fraction(str(value))
        case _:
            raise ValueError("write a number of score points")
    if (exact * 1000).denominator != 1:
        raise ValueError("at most three decimal places")
    if abs(exact) > MOST_POINTS:
        raise ValueError(f"at most {MOST_POINTS} points")
    return exact


Duration = Annotated[
    timedelta,
    BeforeValidator(as_duration, json_schema_input_type=str),
    PlainSerializer(lambda time: f"{time.total_seconds():.0f}s", return_type=str, when_used="json"),
    Field(json_schema_extra={"type": "string", "format": "", "pattern": _DURATION.pattern, "examples": ["15m"]}),
]
Quantity = Annotated[Fraction, BeforeValidator(as_quantity, json_schema_input_type=int | str)]
Points = Annotated[
    Fraction,
    BeforeValidator(_points, json_schema_input_type=float),
    PlainSerializer(float, return_type=float, when_used="json"),
]


class Metadata(Strict):
    """Which intent this is."""

    name: DnsLabel
    """The intent's name: unique in its namespace, and the value of the label `gitops-ds.io/intent`."""
    namespace: DnsLabel
    """The hub namespace of its workloads, policies and rendered Placements."""


class Requirement(Strict):
    """One selector requirement, as Kubernetes has it."""

    key: Text
    """The label key, or the name of the cluster claim."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the key's value relates to `values`."""
    values: tuple[str, ...] = Field(default=(), strict=False)
    """The values: needed by In and NotIn, refused by Exists and DoesNotExist."""

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        if self.operator in ("In", "NotIn") and not self.values:
            raise ValueError(f"{self.operator} needs values")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            raise ValueError(f"{self.operator} takes no values")
        return self


class Selector(Strict):
    """Clusters by their labels and claims: everything that is said must hold (as in OCM's predicates)."""

    matchLabels: dict[LabelKey, LabelValue] = {}  # noqa: N815
    """Labels that the ManagedCluster must carry."""
    matchExpressions: tuple[Requirement, ...] = Field(default=(), strict=False)  # noqa: N815
    """Requirements on its labels."""
    claimExpressions: tuple[Requirement, ...] = Field(default=(), strict=False)  # noqa: N815
    """Requirements on its cluster claims (`status.clusterClaims`)."""
