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
from paceline.explain.settings import setting_at
from paceline.run import Source, check_overrides, named_settings
from paceline.sweeps.grid import dotted, replaces
from paceline.sweeps.runner import side_by_side

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
    tried: list[tuple[str, str]] = []
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
        tried.append((key, default))

    def changes(setting: tuple[str, str]) -> bool | str:
        """Whether the default is another value; or what keeps it from being there."""
        try:
            return resolve("=".join(setting)) != whole
        except _native.InputError as error:
            return error.problem

    for (key, default), found in zip(tried, side_by_side(changes, tried), strict=True):
        if isinstance(found, str):
            left_out.append(f"{key}: not allowed as by default ({default}) with the rest as it is: {found}")
        elif found:
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
    """Paths of the settings to try, of those that a scenario's text names; a workload has its number."""
    for path in named_settings(text):
        # What is numbered within a workload are rows of its traffic.
        rows = any(isinstance(part, int) for part in path[2:])
        if path[0] in _PARTS and path[-1] not in _NAMES and not rows:
            yield tuple(map(str, path))


def _default(path: tuple[str, ...], whole: Mapping[str, Any]) -> str | None:
    """The default of a setting that is another than its value, as an override has it.

    None where it has none, is what chooses the others, or is as by default in the resolved scenario ``whole``.
    """
    inside: Any = whole
    for part in path[:-1]:
        entry = int(part) if isinstance(inside, list) else part
        try:
            inside = inside[entry]
        except (LookupError, TypeError):
            return None
    setting = setting_at(path, inside) if isinstance(inside, dict) else None
    default = setting.default_with(inside) if setting else None
    as_it_is = default is not None and inside.get(path[-1]) == tomllib.loads(f"value = {default}")["value"]
    return None if as_it_is else default


def _in_a_name(default: str) -> str:
    """A default within the name of a case, which has no quotes and marks of its own."""
    return "".join(c for c in default if c not in "\"'=:;")
