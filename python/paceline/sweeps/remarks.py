"""What the runs of a sweep warn of, told once for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paceline.errors import plain
from paceline.results import summary
from paceline.run import Source, given_settings
from paceline.sweeps.points import Run, Runs
from paceline.words import many

if TYPE_CHECKING:
    from paceline.results import Results

_MOST_VALUES = 4
"""Values of an axis that a remark names."""
_MOST_ALIKE = 3
"""Warnings that differ in their numbers only and are all told."""


def _as_given(axis: str, values: Sequence[Any]) -> str:
    return f"{plain(axis)} {', '.join(plain(str(value)) for value in values)}"


def remarks(
    runs: Runs,
    shown: Callable[[str, Sequence[Any]], str] = _as_given,
    *,
    rows: Sequence[Mapping[str, Any]] = (),
    varied: Sequence[str] = (),
    scenarios: Mapping[Path, str] | None = None,
) -> list[str]:
    """Warnings and diagnoses, each once and with the points it is about; then what had no effect in any run.

    ``scenarios`` are the texts of files as they were when the runs began: since then they may have been edited.

    A setting that matters in some of the runs is none to tell of: it may be made for those. ``shown`` writes some of
    the values of an axis. Last what of ``varied`` left each of the ``rows``, those of the sweep's table, as it is.
    """
    ended = [run for run in runs if run.folder.is_dir()]
    sources = {str(file): text for file, text in (scenarios or {}).items()}
    given: set[str] = set()
    summaries = []
    told: dict[str, list[Run]] = {}
    for run in ended:
        key = str(run.point.scenario)
        if key not in sources:
            sources[key] = Source.of(run.point.scenario).text
        given |= given_settings(sources[key], run.point.overrides)
        summaries.append(run.results().summary)
        for text in summary.warnings(summaries[-1]):
            told.setdefault(text, []).append(run)
    alike: dict[str, list[str]] = {}
    for text in told:
        alike.setdefault(re.sub(r"\d[\d.,]*", "0", text), []).append(text)
    said = []
    for texts in alike.values():
        if len(texts) > _MOST_ALIKE:
            runs_of = {id(run) for text in texts for run in told[text]}
            said.append(f"{texts[0]} (the first of {len(texts)} such, in {len(runs_of)} of {many(len(ended), 'run')})")
            continue
        for text in texts:
            place = _where(told[text], ended, shown)
            said.append(text + (f" ({place})" if place else ""))
    settings = summary.without_effect(summaries, given)
    return [*said, *summary.no_effect_lines(settings), *_alike(rows, varied, settings)]


def together(runs: Runs) -> list[str]:
    """A notice where a run's times are of flows, or queries, of several schemes or groups, which no column shows."""
    for run in runs:
        if not run.folder.is_dir():
            continue
        results = run.results()
        groups = [str(name) for name in results.summary["groups"]]
        if len(groups) < 2 and len(results.schemes) < 2:
            continue
        schemes = _mixed(results, "scheme", results.schemes)
        mixed = _mixed(results, "group", groups)
        if not schemes and not mixed:
            continue
        how = "``group`` takes those of one group"
        if not mixed:
            how = "give their workloads a `group` each, and ``group`` takes those of one"
        return [f"Slowdowns and times are over {' and '.join([*schemes, *mixed])} together; {how}."]
    return []


def _alike(rows: Sequence[Mapping[str, Any]], varied: Sequence[str], known: Collection[str]) -> list[str]:
    """A notice of what was varied, seeds too, and left every row as it is; without what is ``known`` to have no effect.

    Runs know that of some settings. That of others shows only beside a run with another value.
    """
    ended = [row for row in rows if row["status"] != "failed"]
    found = []
    axes = [*varied, "seed"]
    for axis in axes:
        by_rest: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for row in ended:
            by_rest.setdefault(tuple(row[other] for other in axes if other != axis), []).append(row)
        without = [[{**row, axis: None, "folder": None} for row in same] for same in by_rest.values()]
        if any(len(same) > 1 for same in without) and all(row == same[0] for same in without for row in same):
            parts = axis.split(".")
            if not any(".".join(parts[:k]) in known for k in range(1, len(parts) + 1)):
                found.append(plain(axis))
    seeded, found = "seed" in found, [axis for axis in found if axis != "seed"]
    said = [f"made no difference: {', '.join(found)} (all its values give equal rows)"] if found else []
    return [*said, *(["made no difference: the seed (all seeds give equal rows)"] if seeded else [])]


def _mixed(results: Results, what: Literal["scheme", "group"], names: Sequence[str]) -> list[str]:
    """The schemes or groups that times are of, where that is more than one; flows and queries have columns apart."""
    asked = results.queries.codes(what) if results.queries.rows else ()
    kinds = [{int(code) for code in codes} for codes in (results.measured_codes(what), asked)]
    found = sorted(set().union(*(kind for kind in kinds if len(kind) > 1)))
    return [f"{what}s {', '.join(plain(names[code]) for code in found)}"] if found else []


def _key(run: Run) -> dict[str, Any]:
    return {**run.point.key, "seed": run.point.seed}


def _where(about: Sequence[Run], ended: Sequence[Run], shown: Callable[[str, Sequence[Any]], str]) -> str:
    """Which runs of all: by the values that tell them from the others, else how many; nothing for all of them."""
    if len(about) == len(ended):
        return ""
    every, own = _values(map(_key, ended)), _values(map(_key, about))
    if len(about) != prod(map(len, own.values())):
        return f"{len(about)} of {many(len(ended), 'run')}"
    told = {axis: values for axis, values in own.items() if len(values) < len(every[axis])}
    if any(len(values) > _MOST_VALUES for values in told.values()):
        return f"{len(about)} of {many(len(ended), 'run')}"
    return "; ".join(shown(axis, values) for axis, values in told.items())


def _values(keys: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, dict[Any, None]] = {}
    for key in keys:
        for axis, value in key.items():
            found.setdefault(axis, {})[value] = None
    return {axis: list(values) for axis, values in found.items()}
