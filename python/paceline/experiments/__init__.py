"""The published results this project regenerates, and comparisons of its own.

They are a part of the package, so that an installed one can reproduce as well as a checkout. Each module below offers
``EXPERIMENTS``; a new one is a line here. The page of the documentation that explains them has the folder's name.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module

from paceline import _native
from paceline.reproduce.model import Experiment

_MODULES = (
    *(f"hpcc_page.{name}" for name in ("headers", "slowdown", "asymmetry", "joining")),
    *(f"aeolus.{name}" for name in ("timeouts", "incast", "goodput", "loads", "guarantees", "oversubscribed")),
    *(f"buffer_sizing.{name}" for name in ("flooding", "storage")),
    *(f"cee.{name}.experiments" for name in ("hotspot", "roundtrips", "queries", "programs")),
    *(f"cee.{name}" for name in ("deadlock", "matrix")),
    "comparison.families",
)


@cache
def experiments() -> tuple[Experiment, ...]:
    """All experiments, in the order of the scoreboard."""
    found: list[Experiment] = []
    for name in _MODULES:
        page = f"docs/{name.partition('.')[0].replace('_', '-')}.md"
        module = import_module(f"paceline.experiments.{name}")
        found += [replace(experiment, explained_in=page) for experiment in module.EXPERIMENTS]
    ids = [experiment.id for experiment in found]
    assert len(set(ids)) == len(ids), f"an experiment's id is there twice: {ids}"
    return tuple(sorted(found, key=lambda e: (e.id[0], int(e.id[1:]))))


def chosen(ids: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments with these ids, upper or lower case, each once. InputError for one that is not there."""
    known = {experiment.id: experiment for experiment in experiments()}
    found = {}
    for given in ids:
        if given.upper() not in known:
            near = difflib.get_close_matches(given.upper(), known, n=1, cutoff=0.0)
            hint = f"; did you mean {near[0]}?" if near else ""
            problem = f"no such experiment{hint}"
            raise _native.input_error(problem, field="ID", value=given, allowed=", ".join(known))
        found[given.upper()] = known[given.upper()]
    return tuple(found.values())
