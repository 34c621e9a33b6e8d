"""How curves are told apart: a colour, a line, a mark; and which of them a scheme has in every figure.

A scheme has one hue wherever it is drawn, and variants of it share the hue: they differ by line, by hollow marks, and
some by shade. What is no scheme has the looks of its place among the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from paceline.plot.style import EXTRA, LINE_STYLES, MARKERS, PALETTE, PAPER


@dataclass(frozen=True)
class Look:
    """How a curve, its marks and its bars look."""

    color: str
    line: Any = "-"
    """Line style of curves without marks of their own, all of which differ in a figure."""
    marker: str = "o"
    variant: bool = False
    """Whether it is a variant of another one in the figure: with marks it is dashed and hollow."""

    @property
    def curve(self) -> dict[str, Any]:
        """Of a curve without marks."""
        return {"color": self.color, "linestyle": self.line}

    @property
    def dots(self) -> dict[str, Any]:
        """Of the small marks on a curve that keeps its line."""
        face = PAPER if self.variant else self.color
        return {"marker": self.marker, "markersize": 2.6, "markeredgewidth": 0.7, "markerfacecolor": face}

    @property
    def marked(self) -> dict[str, Any]:
        """Of a curve with marks: its points are few and the marks tell it apart, so that its line is solid."""
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": _VARIANT if self.variant else "-",
            "markerfacecolor": PAPER if self.variant else self.color,
        }


_VARIANT: Any = (0, (4, 1.6))


_COLORS = PALETTE + EXTRA


def as_marked(look: Look) -> Look:
    """The same with the line that it has in charts whose curves have marks: for figures to be read beside these."""
    return replace(look, line=_VARIANT if look.variant else "-")


def look(i: int) -> Look:
    """That of the ``i``-th curve where curves are no schemes."""
    return Look(_COLORS[i % len(_COLORS)], LINE_STYLES[i % len(LINE_STYLES)], MARKERS[i % len(MARKERS)])


def by_place(names: Sequence[str]) -> dict[str, Look]:
    """Looks by place alone, as for the runs of a page: a run keeps its place in all of its figures."""
    return {name: look(i) for i, name in enumerate(names)}


def told_apart(figures: Sequence[Collection[str]]) -> dict[str, int]:
    """Places such that a name has one look in all figures, and no two of a figure have the same."""
    places: dict[str, int] = {}
    for name in dict.fromkeys(name for figure in figures for name in figure):
        taken = {places[other] for figure in figures if name in figure for other in figure if other in places}
        places[name] = next(i for i in count() if i not in taken)
    return places


def unlike(taken: Collection[Look], start: int) -> Look:
    """The first by place, from ``start`` on, with neither colour nor line of any of ``taken``.

    Where all colours or lines are taken, the first that has not both of one of them.
    """
    places = [look(i) for i in range(start, start + len(_COLORS) * len(LINE_STYLES))]
    colors, lines = {other.color for other in taken}, {other.line for other in taken}
    pairs = {(other.color, other.line) for other in taken}
    apart = [one for one in places if one.color not in colors and one.line not in lines]
    left = apart or [one for one in places if (one.color, one.line) not in pairs]
    return left[0] if left else places[0]


_BLUE, _VERMILION, _GREEN, _PINK, _BLACK, _AMBER, _SKY = PALETTE
_PURPLE, _BROWN, _OLIVE, _NAVY = EXTRA[:4]
# Line: place in LINE_STYLES, as the HPCC project page has it for its five schemes.
_FAMILIES: Mapping[str, tuple[str, int, str]] = {
    "hpcc": (_BLUE, 0, "o"),
    "dctcp": (_VERMILION, 4, "s"),
    "ndp": (_GREEN, 2, "D"),
    "homa": (_PINK, 1, "^"),
    "expresspass": (_BLACK, 0, "v"),
    "dcqcn": (_AMBER, 2, "P"),
    "timely": (_PURPLE, 3, "X"),
    "newreno": (_SKY, 3, "<"),
    "cubic": (_BROWN, 1, ">"),
    "vegas": (_OLIVE, 2, "h"),
}
# Of one family with a plain one that is often drawn beside them: told apart by shade and mark, too.
_NAVY_ONES = ("hpcc-pint", "hpcc, tcp")
_PLAIN = re.compile(r"(\+w|-int|, (tcp|rdma))?")
"""What may follow the name of a family without making it a variant."""


def check_labelled(data: object, kind: type, such_as: str) -> None:
    """Raises TypeError where a figure is not given its curves by label: results themselves, or a list of them."""
    if isinstance(data, Mapping):
        wrong = [
            item
            for pair in data.items()
            for item, due in zip(pair, (str, kind), strict=True)
            if not isinstance(item, due)
        ]
        if not wrong:
            return
        found = f"{type(wrong[0]).__name__} in a dict"
    else:
        found = type(data).__name__
    raise TypeError(f'a figure needs its curves by label, such as {{"HPCC": {such_as}}}, not {found}')


def of_schemes(names: Collection[str], variants: Mapping[str, str] | None = None) -> dict[str, Look]:
    """Looks of the curves of a figure: those of schemes by the scheme, others by place.

    ``variants`` maps a name to the one it is a variant of. Lines differ as long as there are enough of them.
    """
    variants = variants or {}
    found: dict[str, Look] = {}
    families = [_family(name) for name in names]
    used = {_FAMILIES[family][0] for family in families if family}
    # Places whose colours no scheme of the figure has.
    free = [i for i, color in enumerate(_COLORS) if color not in used] or list(range(len(_COLORS)))
    others = 0
    for name, family in zip(names, families, strict=True):
        key = name.strip().lower()
        if variants.get(name) in found:
            of = found[variants[name]]
            mine = replace(of, variant=True)
        elif family:
            color, line, marker = _FAMILIES[family]
            if key.startswith(_NAVY_ONES):
                mine = Look(_NAVY, LINE_STYLES[1], "d", variant=True)
            else:
                again = any(o.color == color and not o.variant for o in found.values())
                plain = _PLAIN.fullmatch(key.removeprefix(family))
                mine = Look(color, LINE_STYLES[line], marker, variant=again or not plain)
        elif used:
            mine = look(free[others % len(free)])
            others += 1
        else:
            mine = look(others)
            others += 1
        found[name] = replace(mine, line=_free_line(mine, found.values())) if used else mine
    return found


def _family(name: str) -> str | None:
    """The scheme that a label is about, which begins with its name."""
    key = name.strip().lower().replace("new reno", "newreno")
    return next((f for f in _FAMILIES if key.startswith(f) and not key[len(f) :][:1].isalnum()), None)


def _free_line(mine: Look, others: Collection[Look]) -> Any:
    """Its own line, or the first that no other has; with more curves than lines, that none of its colour has."""
    for rivals in (others, [o for o in others if o.color == mine.color]):
        taken = [o.line for o in rivals]
        left = [line for line in (mine.line, *LINE_STYLES) if line not in taken]
        if left:
            return left[0]
    return mine.line
