"""What each setting of a scenario brings: beside the scenario, one case for each with that setting as by default.

A run says itself which settings had no effect, where it can know that. Of the others only a run without them tells.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _native
from paceline.errors import plain
from paceline.run import Source, check_overrides
from paceline.sweeps.grid import dotted, replaces

AS_GIVEN = "as given"
"""The case of the scenario as it is."""
_PARTS = ("framing", "switch", "host", "routing", "quirks", "schemes", "workloads")
"""Sections whose settings are tried. Another network, another end of the run or other records are other questions."""
_NAMES = ("group",)
"""Settings that only name something."""


@dataclass(frozen=True)
class Ablation:
    """The cases of a scenario, and the settings that have none."""

    cases: tuple[str, ...]
    """For ``cases`` of :func:`paceline.sweeps.grid.grid`; the first is :data:`AS_GIVEN`."""
    left_out: tuple[str, ...]
    """A line for each setting that cannot be as by default by itself, with the reason."""


def ablation(scenario: Path, overrides: Sequence[str] = ()) -> Ablation:
    """One case for each setting that a scenario file gives, and that is not as by default anyway.

    What ``overrides`` set stays as it is in all cases. Raises InputError when the scenario is wrong, or gives no
    setting that could be as by default.
    """
    check_overrides(overrides)
    source = Source.of(scenario)

    def resolve(*more: str) -> dict[str, Any]:
        told = _native.check(source.text, source.name, [*overrides, "run.strict=false", *more], source.base)
        return tomllib.loads(told["resolved"])

    whole = resolve()
    cases, left_out = [f"{AS_GIVEN}:"], []
    for path in _given(source.text):
        key = ".".join(path)
        if any(replaces(dotted(text), key) or replaces(key, dotted(text)) for text in overrides):
            continue
        default = _default(path, whole)
        if default is None:
            continue
        if any("." in part for part in path):
            left_out.append(f"{key}: a name with a dot has no key")
            continue
        try:
            changed = resolve(f"{key}={default}")
        except _native.InputError as error:
            left_out.append(f"{key}: not allowed as by default ({default}) with the rest as it is: {error.problem}")
            continue
        if changed != whole:
            cases.append(f"{key} at {_in_a_name(default)}: {key}={default}")
    if len(cases) == 1:
        allowed = f"one that is not as by default, in {', '.join(_PARTS)}"
        raise _native.input_error("no setting to leave out", field="--ablate", value=str(scenario), allowed=allowed)
    return Ablation(tuple(cases), tuple(left_out))


def found(rows: Sequence[Mapping[str, Any]], tried: Ablation) -> list[str]:
    """Which settings made no difference in any of the ``rows`` of the sweep's table, and which were not tried."""
    by_case: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_case.setdefault(row["case"], []).append({**row, "case": None, "folder": None})
    given = by_case.pop(AS_GIVEN)
    ran = all(row["status"] != "failed" for row in given)
    same = [case.partition(" ")[0] for case, other in by_case.items() if ran and other == given]
    said = [f"made no difference: {plain(', '.join(same))} (equal rows with and without)"] if same else []
    return [*said, *(f"not left out: {plain(line)}" for line in tried.left_out)]


def _given(text: str) -> Iterator[tuple[str, ...]]:
    """Paths of the settings that a scenario's text names; an entry of a list has its number."""

    def walk(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from walk(inner, (*path, name))
        elif isinstance(value, list) and path == ("workloads",):
            for number, inner in enumerate(value):
                yield from walk(inner, (*path, str(number)))
        elif path[0] in _PARTS and path[-1] not in _NAMES:
            yield path

    yield from walk(tomllib.loads(text), ())


def _default(path: tuple[str, ...], whole: Mapping[str, Any]) -> str | None:
    """The default of a setting as an override has it; None where it has none, or is what chooses the others."""
    inside: Any = whole
    for part in path[:-1]:
        entry = int(part) if isinstance(inside, list) else part
        try:
            inside = inside[entry]
        except (LookupError, TypeError):
            return None
    for section in _native.settings():
        if not _is_at(section["path"], path[:-1]):
            continue
        if any(not isinstance(inside, dict) or inside.get(key) != word for key, word in section["chosen"]):
            continue
        for setting in section["parameters"]:
            if setting["name"] != path[-1] or setting["required"]:
                continue
            if setting["default_by"]:
                deciding, values = setting["default_by"]
                default = dict(values).get(inside.get(deciding))
            else:
                default = setting["default"]
            return None if default is None else str(default)
    return None


def _is_at(pattern: Sequence[str], path: Sequence[str]) -> bool:
    return len(pattern) == len(path) and all(want in ("*", part) for want, part in zip(pattern, path, strict=True))


def _in_a_name(default: str) -> str:
    """A default within the name of a case, which has no quotes and marks of its own."""
    return "".join(c for c in default if c not in "\"'=:;")
