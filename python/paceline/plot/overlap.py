"""Curves that lie on one another: those below are drawn as pale bands, which show on both sides of those above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import F8

NEAR = 0.012
"""Share of the height of an axis, some two widths of a line, within which a curve hides another."""
MOSTLY = 0.7
"""Share of its length from which a curve counts as hidden."""
FEW, OF_FEW = 6, 0.6
"""Points up to which a curve has few, and the share of these from which it is hidden, if they are three at least."""
LEAP = 0.25
"""Share of a curve's height from which a step of it is long enough to be seen where only its end is hidden."""
DEEPEST = 3
"""Curves above one that make it wider: with more it would be a band."""
WIDER = 0.9
"""What a line gains for each curve that lies on it, in its own widths."""
PALE = 0.5
"""How opaque such a line is."""

Points = tuple[NDArray[Any], NDArray[Any]]


def widths(curves: Sequence[Points], *, log: bool = False, steps: bool = False) -> list[float]:
    """By how much to widen the line of each curve, 1 where none of those after it hides it.

    The curves are drawn in this order, each over those before. ``log`` is about the y axis; ``steps`` hold their values
    until the next.
    """
    shown = [_finite(curve, log) for curve in curves]
    heights = np.concatenate([y for _, y in shown]) if shown else np.zeros(0)
    reach = NEAR * float(np.ptp(heights)) if len(heights) else 0.0
    above = [sum(_hides(other, one, reach, steps) for other in shown[i + 1 :]) for i, one in enumerate(shown)]
    return [1.0 + WIDER * min(count, DEEPEST) for count in above]


def line(dashes: Any, width: float, wider: float) -> dict[str, Any]:
    """How a line of this width is drawn: one that others hide wider, and pale, as those above may have its colour.

    Its dashes and gaps keep their lengths, which count in widths: longer ones would leave out pieces of the curve.
    """
    if wider <= 1:
        return {"linewidth": width}
    if not isinstance(dashes, str):
        offset, lengths = dashes
        dashes = (offset / wider, tuple(length / wider for length in lengths))
    return {"linewidth": width * wider, "linestyle": dashes, "alpha": PALE}


def _finite(curve: Points, log: bool) -> tuple[F8, F8]:
    x, y = (np.asarray(values, dtype=float) for values in curve)
    seen = np.isfinite(x) & np.isfinite(y) & ((y > 0) | (not log))
    return x[seen], np.log(y[seen]) if log else y[seen]


def _hides(above: tuple[F8, F8], below: tuple[F8, F8], reach: float, steps: bool) -> bool:
    """Whether most of the lower curve lies beneath the upper one."""
    (x, y), (at, value) = above, below
    if not len(x) or not len(at):
        return False
    if steps:
        found = y[np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(y) - 1)]
        # Where both are at their ends, steep curves side by side are alike, too: what counts is how they rise.
        weight = np.abs(np.diff(value, prepend=value[0]))
        # Of a leap both ends have to be there.
        before = y[np.clip(np.searchsorted(x, at, side="left") - 1, 0, len(y) - 1)]
        leapt = np.abs(before - np.concatenate([value[:1], value[:-1]])) <= max(reach, LEAP * float(np.ptp(value)))
    else:
        order = np.argsort(x, kind="stable")
        found = np.interp(at, x[order], y[order], left=np.nan, right=np.nan)
        weight, leapt = np.ones(len(at)), np.ones(len(at), dtype=bool)
    near = leapt & (np.abs(found - value) <= reach)
    few = not steps and len(at) <= FEW and np.count_nonzero(near) >= 3
    return float(np.average(near, weights=weight if weight.any() else None)) >= (OF_FEW if few else MOSTLY)
