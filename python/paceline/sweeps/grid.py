"""The points of a sweep over the fields of one scenario."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline import _native
from paceline.run import MOST_SEED, Source, check_overrides
from paceline.sweeps.points import Point

MOST_RUNS = 100_000
"""Runs of one sweep; each has a folder of its own."""


@dataclass(frozen=True)
class Axis:
    """A field, the values it gets one after the other, and how errors call these."""

    key: str
    values: tuple[str, ...]
    given_as: str = "vary"
    """The argument that they are of: with the key, or where it is another one, without."""
    source: str = ""
    """Where the values come from that were not typed."""

    @classmethod
    def of(cls, text: str) -> Axis:
        """From a text of ``vary``; InputError when it is no such list."""
        _, equals, rest = text.partition("=")
        values = tuple(value.strip() for value in _split(rest))
        if not equals or not dotted(text) or not all(values):
            allowed = "key=value,value,...; the key dotted as the scenario nests it"
            raise _native.input_error("not a list of values", field="vary", value=text, allowed=allowed)
        if len(set(values)) < len(values):
            raise _native.input_error("a value twice", field="vary", value=text, allowed="each value once")
        return cls(dotted(text), values)

    def told(self, value: str) -> str:
        """What errors about a value name in place of the file."""
        return self.source or f"``{self.given_as}`` {f'{self.key}=' if self.given_as == 'vary' else ''}{value}"


def grid(
    scenario: Path,
    vary: Sequence[str | Axis],
    *,
    seeds: int = 1,
    overrides: Sequence[str] = (),
    cases: Sequence[str] = (),
) -> list[Point]:
    """All combinations of the values of ``vary``, axes or texts as ``key=a,b,c``, each with ``seeds`` seeds.

    ``cases``, texts as ``name: key=a; key=b``, are one more axis whose values set several fields together: schemes
    that need switches of their own. The seeds count up from the scenario's.

    Raises InputError when a text is no such list, a key or case comes twice, what is set or varied would be replaced by
    a value that varies or is of a case, or the scenario is wrong.
    """
    check_overrides(overrides)
    source = Source.of(scenario)
    # Warnings are of the points, which may have none: what varies can be what the scenario is warned of.
    lenient = [*overrides, "run.strict=false"]
    resolved = tomllib.loads(_native.check(source.text, source.name, lenient, source.base)["resolved"])
    first = int(resolved["seed"])
    axes, together = _axes(vary), _cases(cases)
    _check_sets_once(axes, together, overrides)
    # Before they are listed: a billion points do not fit into memory.
    _check_count(axes, together, seeds, first)
    return [
        Point(
            scenario=scenario,
            key=({"case": case} if cases else {}) | {axis.key: value for axis, value in chosen},
            seed=seed,
            overrides=(*overrides, *settings, *(f"{axis.key}={value}" for axis, value in chosen)),
            origins={text: f"``cases`` {case}: {text}" for text in settings}
            | {f"{axis.key}={value}": axis.told(value) for axis, value in chosen},
        )
        for case, settings in together.items()
        for values in itertools.product(*(axis.values for axis in axes))
        for chosen in (tuple(zip(axes, values, strict=True)),)
        for seed in range(first, first + seeds)
    ]


def _axes(vary: Sequence[str | Axis]) -> list[Axis]:
    """The axes in the order given. InputError for a field that is there twice, or within one that comes after it."""
    found: list[Axis] = []
    for given in vary:
        axis = Axis.of(given) if isinstance(given, str) else given
        key, text = axis.key, given if isinstance(given, str) else f"{axis.key}={','.join(axis.values)}"
        if key == "seed":
            problem = "the seed is not a field to vary here"
            raise _native.input_error(problem, field="vary", value=text, allowed="``seeds`` N")
        for other in found:
            if other.key == key:
                problem = "a field varied twice"
                raise _native.input_error(problem, field="vary", value=text, allowed="each field once")
            # Values take effect in this order: a table would replace what varies in it.
            if replaces(key, other.key):
                problem, allowed = "a field of one that varies", f"after ``vary`` {text}"
                raise _native.input_error(problem, field="vary", value=other.key, allowed=allowed)
        found.append(axis)
    return found


def _check_sets_once(axes: Sequence[Axis], cases: Mapping[str, Sequence[str]], overrides: Sequence[str]) -> None:
    """Raises InputError where an axis or a case would win, in silence, over a value that is set for the same field."""
    by_set = [(text, f"``overrides`` {text}") for text in overrides]
    by_case = [(text, f"{text} in ``cases`` {name}") for name, settings in cases.items() for text in settings]
    for text, option in (*by_set, *by_case):
        for axis in axes:
            # What was made from a setting takes its place.
            if replaces(axis.key, dotted(text)) and not axis.source:
                allowed = f"without {option}"
                raise _native.input_error("a field varied and set", field="vary", value=axis.key, allowed=allowed)
    for name, settings in cases.items():
        for k, text in enumerate(settings):
            earlier = [(other, f"{other} before it") for other in settings[:k]]
            for other, option in (*by_set, *earlier):
                if replaces(dotted(text), dotted(other)):
                    problem, allowed = f"{dotted(other)} is set twice", f"without {option}"
                    value = f"{name}: {text}"
                    raise _native.input_error(problem, field="cases", value=value, allowed=allowed)


def _check_count(axes: Sequence[Axis], cases: Mapping[str, Sequence[str]], seeds: int, first: int) -> None:
    """Raises InputError for more runs than :data:`MOST_RUNS`, and for seeds, from ``first`` on, that there are not."""
    runs = seeds * len(cases) * math.prod(len(axis.values) for axis in axes)
    if runs > MOST_RUNS:
        field, value = ("seeds", str(seeds)) if seeds > 1 else ("vary", f"{len(axes)} fields")
        allowed = f"at most {MOST_RUNS} runs, values times seeds"
        raise _native.input_error(f"{runs} runs are too many", field=field, value=value, allowed=allowed)
    if first + seeds - 1 > MOST_SEED:
        allowed = f"seeds up to {MOST_SEED}, and the scenario's is {first}"
        raise _native.input_error("there are not so many", field="seeds", value=str(seeds), allowed=allowed)


def _cases(texts: Sequence[str]) -> dict[str, list[str]]:
    """The settings of each case by its name; one case without any where none is asked for."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        settings = [part.strip() for part in _split(rest, ";") if part.strip()]
        if not colon or not name.strip() or "=" in name or not all("=" in part for part in settings):
            allowed = "NAME: key=value; key=value; ..."
            raise _native.input_error("not a case", field="cases", value=text, allowed=allowed)
        if name.strip() in found:
            raise _native.input_error("a case twice", field="cases", value=text, allowed="each name once")
        check_overrides(settings, "cases")
        if any(dotted(setting) == "seed" for setting in settings):
            # That of the point would win, in silence.
            problem = "the seed is not a field to vary here"
            raise _native.input_error(problem, field="cases", value=text, allowed="``seeds`` N")
        found[name.strip()] = settings
    return found or {"": []}


def dotted(assignment: str) -> str:
    """The key of ``key=value`` as the engine reads it: blanks may stand around each of its parts."""
    return ".".join(part.strip() for part in assignment.partition("=")[0].split("."))


def replaces(key: str, other: str) -> bool:
    """Whether a value for ``key`` leaves nothing of one that was set for ``other`` before."""
    return f"{other}.".startswith(f"{key}.")


def _split(text: str, at: str = ",") -> list[str]:
    """The parts between commas, or other marks, that stand neither in brackets nor in quotes."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == at and depth == 0:
            parts.append("")
            continue
        parts[-1] += c
    return parts
