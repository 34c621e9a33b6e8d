"""Paceline: a packet-level simulator of congestion control in datacenter networks.

A scenario is TOML or made of the classes here::

    import paceline as pl

    results = pl.simulate(
        pl.Scenario(
            topology=pl.Star(hosts=17),
            schemes={"hpcc": pl.Hpcc()},
            workloads=[pl.SynchronousIncast(senders=16)],
        )
    )
    results.flows["fct_sender_ps"]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from paceline._native import InputError, git_revision, version
from paceline.errors import ResultsError

if TYPE_CHECKING:
    from paceline.results import Results
    from paceline.run import SimulationInterrupted, load, restore, simulate
    from paceline.scenario import *

__version__ = version()

# Loaded when first used: the command line answers --help without NumPy.
_HOMES = {"Results": "results", "SimulationInterrupted": "run", "load": "run", "restore": "run", "simulate": "run"}

__all__ = [
    "InputError",
    "Results",
    "ResultsError",
    "SimulationInterrupted",
    "__version__",
    "git_revision",
    "load",
    "restore",
    "simulate",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name, "scenario")
    if name.startswith("_"):
        raise AttributeError(f"module 'paceline' has no attribute {name!r}")
    module = import_module(f"paceline.{home}")
    if home == "scenario" and name not in module.__all__:
        raise AttributeError(f"module 'paceline' has no attribute {name!r}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("paceline.scenario").__all__])
