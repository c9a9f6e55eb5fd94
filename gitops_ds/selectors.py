"""Label and claim selectors, as Kubernetes and OCM evaluate them.

Owns matching. Owns no form of writing selectors down: callers hand over plain requirements.
"""

from collections.abc import Iterable, Mapping, Sequence

Requirement = tuple[str, str, Sequence[str]]
"""(key, operator, values)."""


def matches(have: Mapping[str, str], want: Mapping[str, str], requirements: Iterable[Requirement] = ()) -> bool:
    """Whether `have` carries all of `want` and meets every requirement. An empty selector matches everything.

    NotIn and DoesNotExist hold where the key is absent, as apimachinery's labels package has it.
    """
    return all(have.get(k) == v for k, v in want.items()) and all(_meets(have, *r) for r in requirements)


def _meets(have: Mapping[str, str], key: str, operator: str, values: Sequence[str]) -> bool:
    match operator:
        case "In":
            return key in have and have[key] in values
        case "NotIn":
            return key not in have or have[key] not in values
        case "Exists":
            return key in have
        case "DoesNotExist":
            return key not in have
    raise ValueError(f"{operator} is no operator of a selector")
