"""Shades of heat maps, on light ground and on dark: the further from the ground the more.

They come in steps, each with a name in the page, whose style sheet has its colour for light and for dark screens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

STEPS: Final = 32

_Colour = tuple[int, int, int]
_Ends = tuple[_Colour, _Colour]
_ON_LIGHT: Final[_Ends] = (230, 240, 247), (0, 60, 100)
_ON_DARK: Final[_Ends] = (31, 41, 52), (158, 208, 246)


def _between(ends: _Ends, share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def _luminance(hex_color: str) -> float:
    """Relative luminance, as WCAG 2 has it."""
    parts = [int(hex_color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _first(holds: Callable[[float], bool]) -> float:
    return next(k / 1000 for k in range(1001) if holds(k / 1000))


_EVEN: Final = 0.179
"""Luminance of a ground on which black and white have equal contrast."""
_TURN: Final = _first(lambda share: _luminance(_between(_ON_LIGHT, share)) < _EVEN)
"""Share from which white is read better on light ground's shades."""
# By this power of the share, the shades on dark ground turn at the same one.
_POWER: Final = math.log(_first(lambda share: _luminance(_between(_ON_DARK, share)) > _EVEN)) / math.log(_TURN)

LIGHT: Final = tuple(_between(_ON_LIGHT, k / (STEPS - 1)) for k in range(STEPS))
DARK: Final = tuple(_between(_ON_DARK, (k / (STEPS - 1)) ** _POWER) for k in range(STEPS))
ON_LITTLE, ON_MUCH = "#0a0a0a", "#fefefe"
"""Numbers on the first shades and on the last; on dark ground the other way round."""

NAMES: Final = {color: f"var(--h{k})" for k, color in enumerate(LIGHT)} | {
    ON_LITTLE: "var(--h-little)",
    ON_MUCH: "var(--h-much)",
}


def variables(*, dark: bool) -> str:
    """The colours for the style sheet of a page."""
    found = [f"--h{k}: {color};" for k, color in enumerate(DARK if dark else LIGHT)]
    little, much = (ON_MUCH, ON_LITTLE) if dark else (ON_LITTLE, ON_MUCH)
    return " ".join([*found, f"--h-little: {little}; --h-much: {much};"])


def shade(share: float) -> tuple[str, str]:
    """The colour of a cell for a share from 0 to 1, and that of the number in it."""
    step = round(min(max(share, 0.0), 1.0) * (STEPS - 1))
    return LIGHT[step], ON_MUCH if _luminance(LIGHT[step]) < _EVEN else ON_LITTLE
