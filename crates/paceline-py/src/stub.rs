//! The engine's functions, not bound yet: each raises `RuntimeError`.
#![expect(
    unused_variables,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "signatures only, until the engine is bound"
)]

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn not_bound<T>(what: &str) -> PyResult<T> {
    Err(PyRuntimeError::new_err(format!("{what} is not part of this build of Paceline yet")))
}

/// Runs a scenario and writes its result folder; returns what `summary.json` says.
#[pyfunction]
pub fn run(
    scenario_toml: String,
    source_name: String,
    overrides: Vec<String>,
    out_dir: String,
    threads: usize,
    seed: Option<u64>,
    follow_flows: Vec<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    not_bound("running a scenario")
}

/// Validates a scenario without running it.
#[pyfunction]
pub fn check(scenario_toml: String, source_name: String, overrides: Vec<String>) -> PyResult<Py<PyDict>> {
    not_bound("checking a scenario")
}

/// Runs a configuration of the HPCC reference simulator and writes the files it names.
#[pyfunction]
pub fn hpcc(
    config_path: String,
    lenient: bool,
    qlen_dump_ms: u64,
    quirks: Option<Vec<String>>,
    engine: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    not_bound("running a configuration of the HPCC simulator")
}

/// What scenarios can be made of.
#[pyfunction]
pub fn catalogue() -> PyResult<Py<PyDict>> {
    not_bound("the catalogue")
}

/// The text of a starter scenario.
#[pyfunction]
pub fn template(name: String) -> PyResult<String> {
    not_bound("starting a scenario")
}

/// Writes the CSV files of a result folder from its binary records, where they are missing.
#[pyfunction]
pub fn restore_csv(dir: String) -> PyResult<()> {
    not_bound("restoring CSV files")
}
