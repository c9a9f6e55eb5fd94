"""Amounts of resources, exactly: Kubernetes quantities to fractions and back to text.

Owns the grammar of quantities (`2`, `500m`, `1.5`, `64Gi`, `1e3`) as apimachinery's resource.Quantity defines it. Owns
no kind of resource: what an amount is an amount of stays with its name.
"""

import re
from fractions import Fraction

_FORM = re.compile(r"\+?(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<unit>[a-zA-Z]{0,2}|[eE][-+]?[0-9]{1,2})", re.ASCII)
_UNITS = {
    "": Fraction(1),
    **{unit: Fraction(1, 1000**power) for power, unit in enumerate(("m", "u", "n"), 1)},
    **{unit: Fraction(1000**power) for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    **{unit: Fraction(1024**power) for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}
LONGEST = 40
"""Characters; anything longer is no amount of anything."""


def parse_quantity(text: str | int) -> Fraction:
    """The amount that `text` says, in the base unit (cores, bytes, devices).

    Raises:
        ValueError: it is no quantity, or it is negative.
    """
    if text is True or text is False:
        raise ValueError("a boolean is no amount")
    if isinstance(text, int):
        if text < 0:
            raise ValueError("an amount is 0 or more")
        return Fraction(text)
    found = _FORM.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise ValueError(f'"{text[:LONGEST]}" is no amount (0 or more): write a number such as 2, 500m or 64Gi')
    unit = found["unit"]
    if unit in _UNITS:
        return Fraction(found["number"]) * _UNITS[unit]
    if unit[0] in "eE" and unit[1:]:
        return Fraction(found["number"]) * Fraction(10) ** int(unit[1:])
    raise ValueError(f'"{text}" is no amount: {unit} is no unit of Kubernetes')


def format_quantity(amount: Fraction) -> str:
    """`amount` as people write it: whole, with Ki/Mi/Gi where that is exact, or in thousandths."""
    if amount.denominator == 1:
        for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            if amount and amount % _UNITS[unit] == 0:
                return f"{amount / _UNITS[unit]}{unit}"
        return str(amount.numerator)
    for unit in ("m", "u", "n"):
        scaled = amount / _UNITS[unit]
        if scaled.denominator == 1:
            return f"{scaled.numerator}{unit}"
    return f"{float(amount):.6g}"
