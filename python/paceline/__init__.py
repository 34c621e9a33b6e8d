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

Fields are called as in TOML; only ``class`` is ``class_``, since the other is a word of Python. Flow sizes of your own
are ``sizes=pl.SizeFile(file="sizes.txt")``: lines of bytes and the share of flows up to that size, 0 to 1 or in per
cent. ``paceline explain`` tells of each field.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from paceline._native import InputError, git_revision, version
from paceline.errors import ResultsError

if TYPE_CHECKING:
    from paceline.results import Results
    from paceline.run import SimulationInterrupted, load, restore, save_flows, simulate
    from paceline.scenario import *
    from paceline.sweeps.points import Point, Runs
    from paceline.sweeps.runner import SweepFailed, SweepInterrupted, sweep
    from paceline.sweeps.table import tidy

__version__ = version()

# Loaded when first used: the command line answers --help without NumPy.
_HOMES = {
    "Point": "sweeps.points",
    "Results": "results",
    "Runs": "sweeps.points",
    "SimulationInterrupted": "run",
    "SweepFailed": "sweeps.runner",
    "SweepInterrupted": "sweeps.runner",
    "load": "run",
    "restore": "run",
    "save_flows": "run",
    "simulate": "run",
    "sweep": "sweeps.runner",
    "tidy": "sweeps.table",
}

__all__ = [
    "InputError",
    "Point",
    "Results",
    "ResultsError",
    "Runs",
    "SimulationInterrupted",
    "SweepFailed",
    "SweepInterrupted",
    "__version__",
    "git_revision",
    "load",
    "restore",
    "save_flows",
    "simulate",
    "sweep",
    "tidy",
]


_OWN = __all__
if not TYPE_CHECKING:
    # Made when asked for, with the classes of scenarios, for `from paceline import *` and completion; see _HOMES.
    del __all__


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    home = _HOMES.get(name, "scenario")
    if name.startswith("_"):
        raise AttributeError(f"module 'paceline' has no attribute {name!r}")
    module = import_module(f"paceline.{home}")
    if home == "scenario" and name not in module.__all__:
        raise AttributeError(f"module 'paceline' has no attribute {name!r}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*_OWN, *import_module("paceline.scenario").__all__])
