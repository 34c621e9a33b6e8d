"""The engine, in Rust (crates/paceline-py). Private: use the functions of the package."""

from collections.abc import Callable
from os import PathLike
from typing import Any, final

from paceline.progress import Snapshot

__all__ = [
    "Hold",
    "InputError",
    "alone",
    "catalogue",
    "check",
    "explain",
    "flow_table",
    "git_revision",
    "hpcc",
    "hpcc_export",
    "input_error",
    "mpi_export",
    "mpi_export_scenario",
    "mpi_info",
    "restore_csv",
    "run",
    "settings",
    "source_digest",
    "template",
    "version",
]

class InputError(ValueError):
    """Bad input: names the file, line and field, the value given and what is allowed."""

    file: str | None
    line: int | None
    field: str | None
    value: str | None
    problem: str
    allowed: str | None
    json: str

def input_error(
    problem: str,
    *,
    file: str | None = None,
    line: int | None = None,
    field: str | None = None,
    value: str | None = None,
    allowed: str | None = None,
) -> InputError: ...
def version() -> str: ...
def git_revision() -> str | None: ...
def source_digest() -> str: ...

@final
class Hold:
    """A result folder that no other run may write into until this is released or gone."""

    def release(self) -> None: ...

def run(
    scenario_toml: str,
    source_name: str,
    overrides: list[str],
    out_dir: str,
    threads: int,
    seed: int | None = None,
    follow_flows: list[int] = ...,
    progress: Callable[[Snapshot], bool] | None = None,
    base_dir: str | None = None,
) -> tuple[dict[str, Any], Hold]: ...
def alone(dir: str, threads: int = 1, progress: Callable[[Snapshot], bool] | None = None) -> bool: ...
def check(
    scenario_toml: str, source_name: str, overrides: list[str], base_dir: str | None = None
) -> dict[str, Any]: ...
def explain(path: str) -> str: ...
def hpcc(
    config_path: str,
    lenient: bool = False,
    qlen_dump_ms: int = 100,
    quirks: list[str] | None = None,
    without_quirks: list[str] = ...,
    engine: str | None = None,
    progress: Callable[[Snapshot], bool] | None = None,
) -> dict[str, Any]: ...
def hpcc_export(
    scenario_toml: str,
    source_name: str,
    overrides: list[str],
    files: list[str],
    base_dir: str | None = None,
) -> dict[str, Any]:
    """Writes a scenario as files of the HPCC simulator: configuration, topology, flows, nodes to trace.

    Returns how many ``flows`` there are and, as ``notices``, what the files cannot say.
    """

def flow_table(
    scenario_toml: str, source_name: str, overrides: list[str], base_dir: str | None = None
) -> tuple[bytes, int]:
    """The flows of a scenario as a table that `kind = "flows"` reads, and how many there are."""

def catalogue() -> dict[str, Any]: ...
def settings() -> list[dict[str, Any]]: ...
def template(name: str) -> str: ...
def restore_csv(dir: str) -> None: ...
def mpi_export(
    program: str,
    out: str | PathLike[str],
    ranks: int,
    problem_class: str | None = None,
    iterations: int | None = None,
    compute_rate: float = 1e9,
    seed: int = 1,
    alltoall: str = "auto",
    allreduce: str = "auto",
) -> dict[str, Any]: ...
def mpi_export_scenario(
    scenario_toml: str,
    source_name: str,
    overrides: list[str],
    out: str | PathLike[str],
    base_dir: str | None = None,
    workload: int | None = None,
) -> dict[str, Any]: ...
def mpi_info(path: str | PathLike[str]) -> dict[str, Any]: ...
