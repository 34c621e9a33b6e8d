"""Numbers with their units as scenarios have them: sizes, times and rates. The engine's own are in its ``units.rs``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

PLAIN: Final[Mapping[str, int]] = {"": 1}
"""Of numbers without a unit."""
BYTES: Final[Mapping[str, int]] = {"B": 1} | {
    f"{prefix}{unit}": base**power
    for unit, base in (("B", 1000), ("iB", 1024))
    for power, prefix in enumerate("KMGT", start=1)
}
PICOSECONDS: Final[Mapping[str, int]] = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
BITS_PER_SECOND: Final[Mapping[str, int]] = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
KINDS: Final[Sequence[Mapping[str, int]]] = (PLAIN, BYTES, PICOSECONDS, BITS_PER_SECOND)

QUOTES: Final = "\"'"
"""Around a value, as TOML has them."""

_NUMBER = re.compile(r"((?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:e[+-]?\d+)?) ?([A-Za-z]*)")


def quantity(text: str, units: Mapping[str, int]) -> float | None:
    """A text such as ``1.5us``, also within quotes, in the unit that is 1; None where it is no such number."""
    found = _NUMBER.fullmatch(text.strip(QUOTES))
    value = float(found[1]) * units[found[2]] if found and found[2] in units else math.inf
    return value if math.isfinite(value) else None
