//! `paceline._native`: the seam between the engine and Python. Text and numbers in, dictionaries out; every name here is
//! described with its types in `python/paceline/_native.pyi`.

mod engine;
mod error;
mod mpi;
mod progress;

use pyo3::prelude::*;

/// The engine of Paceline.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::engine::{
        Hold, alone, catalogue, check, explain, flow_table, hpcc, hpcc_export, restore_csv, run, settings, template,
    };
    #[pymodule_export]
    use super::error::input_error;
    #[pymodule_export]
    use super::mpi::{mpi_export, mpi_export_scenario, mpi_info};
    #[pymodule_export]
    use super::{git_revision, source_digest, version};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::add_to(module)
    }
}

/// Version of the engine, `major.minor.patch`.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Git commit the engine was built from, with `-dirty` appended when its sources differed from that commit; `None`
/// outside a git checkout.
#[pyfunction]
fn git_revision() -> Option<&'static str> {
    option_env!("PACELINE_GIT_REVISION")
}

/// Digest of the sources that decide results: equal digests, equal results.
#[pyfunction]
fn source_digest() -> &'static str {
    env!("PACELINE_SOURCE_DIGEST")
}
