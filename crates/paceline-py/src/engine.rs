//! The engine's functions for Python. The interpreter is free while they work.
#![allow(clippy::needless_pass_by_value, reason = "Python's arguments arrive owned")]

use std::path::{Path, PathBuf};

use paceline_proto::units::Duration;
use paceline_sim::engine::Ending;
use paceline_sim::run::{Request, RunError};
use paceline_sim::scenario::{EngineChoice, Quirks};
use paceline_sim::spec::{self, Resolved};
use paceline_sim::{InputError, hpcc as reference, workload};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{to_py, unwritten};
use crate::progress::{Reporter, Snapshot};

/// A result folder that no other run may write into. See the type stub.
#[pyclass]
pub struct Hold(Option<paceline_sim::results::Hold>);

#[pymethods]
impl Hold {
    fn release(&mut self) {
        self.0 = None;
    }
}

/// A JSON value as Python objects.
pub(crate) fn to_python<T: serde::Serialize>(py: Python<'_>, value: &T) -> PyResult<Py<PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

/// Reads a scenario; names of input files in it are relative to `base_dir`.
pub(crate) fn parse(text: &str, name: &str, base: Option<&str>, overrides: &[String]) -> Result<Resolved, InputError> {
    let mut spec = spec::parse(text, name, overrides)?;
    spec.anchor(Path::new(base.unwrap_or("")));
    Ok(spec)
}

/// Runs a scenario into a result folder. See the type stub.
#[pyfunction]
#[pyo3(signature = (scenario_toml, source_name, overrides, out_dir, threads, seed=None, follow_flows=Vec::new(), progress=None, base_dir=None))]
#[allow(clippy::too_many_arguments, reason = "one call across the seam; Python names them")]
pub fn run(
    py: Python<'_>,
    scenario_toml: &str,
    source_name: &str,
    overrides: Vec<String>,
    out_dir: PathBuf,
    threads: usize,
    seed: Option<u64>,
    follow_flows: Vec<u64>,
    progress: Option<Py<PyAny>>,
    base_dir: Option<&str>,
) -> PyResult<(Py<PyAny>, Hold)> {
    let mut reporter = Reporter::new(progress);
    let out = out_dir.clone();
    let result = py.detach(|| {
        let mut spec = parse(scenario_toml, source_name, base_dir, &overrides)?;
        if let Some(seed) = seed {
            spec.reseed(seed);
        }
        spec.follow(&follow_flows);
        let version = env!("CARGO_PKG_VERSION").to_string();
        let git = option_env!("PACELINE_GIT_REVISION").map(str::to_string);
        let request = Request { spec, out: out_dir, threads, version, git };
        paceline_sim::run::run_and_hold(request, &mut |s| {
            reporter.tick(&Snapshot {
                sim_ps: s.engine.now,
                end_ps: s.end,
                flows_started: s.engine.started,
                flows_done: s.engine.ended,
                flows_total: s.flows_total,
                steps_done: s.engine.steps,
                steps_total: s.steps_total,
                hops: s.engine.hops,
            })
        })
    });
    reporter.finish()?;
    match result {
        Ok((summary, hold)) => Ok((to_python(py, &summary)?, Hold(Some(hold)))),
        Err(RunError::Input(e)) => Err(to_py(py, &e)),
        Err(RunError::Io(e)) => {
            Err(PyOSError::new_err(format!("{}: the results cannot be written: {e}", out.display())))
        }
        Err(RunError::Memory(e)) => Err(PyOSError::new_err(format!("{}: {e}", out.display()))),
        Err(other) => Err(PyRuntimeError::new_err(other.to_string())),
    }
}

/// Simulates every flow of a finished run alone. See the type stub.
#[pyfunction]
#[pyo3(signature = (dir, threads=1, progress=None))]
pub fn alone(py: Python<'_>, dir: PathBuf, threads: usize, progress: Option<Py<PyAny>>) -> PyResult<bool> {
    let mut reporter = Reporter::new(progress);
    let result = py.detach(|| {
        paceline_sim::alone::compute(&dir, env!("CARGO_PKG_VERSION"), threads, &mut |done, total| {
            let flows_total = Some(total);
            reporter.tick(&Snapshot { flows_started: done, flows_done: done, flows_total, ..Snapshot::default() })
        })
    });
    reporter.finish()?;
    result.map_err(|e| match e {
        RunError::Input(e) => to_py(py, &e),
        RunError::Io(e) => PyOSError::new_err(format!("{}: {e}", dir.display())),
        other => PyRuntimeError::new_err(other.to_string()),
    })
}

/// Checks a scenario without running it.
#[pyfunction]
#[pyo3(signature = (scenario_toml, source_name, overrides, base_dir=None))]
pub fn check(
    py: Python<'_>,
    scenario_toml: &str,
    source_name: &str,
    overrides: Vec<String>,
    base_dir: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let result = py.detach(|| {
        let spec = parse(scenario_toml, source_name, base_dir, &overrides)?;
        paceline_sim::run::check(&spec)
    });
    match result {
        Ok(check) => to_python(py, &check),
        Err(e) => Err(to_py(py, &e)),
    }
}

/// The quirks of a run: those named (`none` stands for the empty list), or all without those named in `without`.
fn quirks(names: Option<&[String]>, without: &[String]) -> Result<Quirks, InputError> {
    if let (Some(_), Some(name)) = (names, without.first()) {
        let error = InputError::new("it leaves out of all quirks, and some are already chosen");
        return Err(error.field("without-quirk").value(name).allowed("either quirk or without-quirk"));
    }
    let mut quirks = if names.is_some() { Quirks::default() } else { Quirks::REFERENCE };
    for name in names.unwrap_or_default().iter().filter(|n| *n != "none") {
        quirks.switch("quirk", name, true).map_err(|e| {
            let others = e.allowed.clone().unwrap_or_default();
            e.allowed(format!("none, {others}"))
        })?;
    }
    for name in without {
        quirks.switch("without-quirk", name, false)?;
    }
    Ok(quirks)
}

/// Runs a configuration of the HPCC reference simulator.
#[pyfunction]
#[pyo3(signature = (config_path, lenient=false, qlen_dump_ms=100, quirks=None, without_quirks=Vec::new(), engine=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "one call across the seam; Python names them")]
pub fn hpcc(
    py: Python<'_>,
    config_path: PathBuf,
    lenient: bool,
    qlen_dump_ms: u64,
    quirks: Option<Vec<String>>,
    without_quirks: Vec<String>,
    engine: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let mut reporter = Reporter::new(progress);
    let result = py.detach(|| -> Result<_, RunError> {
        let mut options = reference::Options { lenient, ..reference::Options::default() };
        let dump = qlen_dump_ms.checked_mul(1_000_000_000).filter(|d| *d > 0).ok_or_else(|| {
            InputError::new("out of range").field("qlen-dump-ms").value(qlen_dump_ms).allowed("1 to 18446744")
        })?;
        options.qlen_dump = Duration(dump);
        options.quirks = self::quirks(quirks.as_deref(), &without_quirks)?;
        options.engine = match engine.as_deref() {
            None | Some("sequential") => EngineChoice::Sequential,
            Some("windowed") => EngineChoice::Windowed,
            Some(other) => {
                return Err(InputError::new("no such engine")
                    .field("engine")
                    .value(other)
                    .allowed("sequential, windowed")
                    .into());
            }
        };
        let prepared = reference::Prepared::read(&config_path, options)?;
        let mut warnings = prepared.warnings.clone();
        let total = prepared.flow_count as u64;
        let summary = prepared.run(&mut |p| {
            reporter.tick(&Snapshot {
                sim_ps: p.now,
                end_ps: None,
                flows_started: p.started,
                flows_done: p.ended,
                flows_total: Some(total),
                hops: p.hops,
                ..Snapshot::default()
            })
        })?;
        warnings.extend(summary.without_effect.iter().map(|clause| format!("no effect: {clause}")));
        Ok((summary, warnings))
    });
    reporter.finish()?;
    let (summary, warnings) = result.map_err(|e| match e {
        RunError::Input(e) => to_py(py, &e),
        RunError::Io(e) => PyOSError::new_err(e.to_string()),
        other => PyRuntimeError::new_err(other.to_string()),
    })?;
    let status = match summary.ending {
        Ending::Completed => "completed",
        Ending::Stopped => "stopped",
        Ending::Interrupted => "interrupted",
        Ending::Stalled(_) => "stalled",
    };
    let diagnosis = if let Ending::Stalled(why) = &summary.ending { Some(why.clone()) } else { None };
    let value = serde_json::json!({
        "status": status,
        "diagnosis": diagnosis,
        "simulated_ps": summary.end.0,
        "flows": { "total": summary.finished + summary.unfinished, "finished": summary.finished, "failed": 0,
                   "unfinished": summary.unfinished },
        "counters": { "events": summary.events, "data_hops": summary.hops.0, "control_hops": summary.hops.1,
                      "drops": summary.drops },
        "warnings": warnings,
    });
    to_python(py, &value)
}

/// Topologies, schemes, workloads, distributions and templates.
#[pyfunction]
pub fn catalogue(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &spec::catalogue(&workload::builtin::names().collect::<Vec<_>>()))
}

/// The sections of a scenario with their settings.
#[pyfunction]
pub fn settings(py: Python<'_>) -> PyResult<Py<PyAny>> {
    to_python(py, &spec::settings())
}

/// A commented scenario to start from.
#[pyfunction]
pub fn template(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    spec::template(name).map_err(|e| to_py(py, &e))
}

/// What a setting means.
#[pyfunction]
pub fn explain(py: Python<'_>, path: &str) -> PyResult<String> {
    spec::explain(path).map_err(|e| to_py(py, &e))
}

/// Makes `flows.csv` anew from `flows.bin` where it is missing or older.
#[pyfunction]
pub fn restore_csv(py: Python<'_>, dir: PathBuf) -> PyResult<()> {
    py.detach(|| paceline_sim::results::restore(&dir)).map_err(|e| match e {
        RunError::Input(e) => to_py(py, &e),
        RunError::Io(e) => PyOSError::new_err(format!("{}: the tables cannot be written: {e}", dir.display())),
        other => PyRuntimeError::new_err(other.to_string()),
    })
}

/// Writes a scenario as files of the HPCC reference simulator. See the type stub.
#[pyfunction]
#[pyo3(signature = (scenario_toml, source_name, overrides, files, base_dir=None))]
pub fn hpcc_export(
    py: Python<'_>,
    scenario_toml: &str,
    source_name: &str,
    overrides: Vec<String>,
    files: [PathBuf; 4],
    base_dir: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let made = py.detach(|| {
        let spec = parse(scenario_toml, source_name, base_dir, &overrides)?;
        reference::export(&spec)
    });
    let made = made.map_err(|e| to_py(py, &e))?;
    py.detach(|| made.write(files)).map_err(unwritten)?;
    to_python(py, &serde_json::json!({ "flows": made.flows(), "notices": made.notices }))
}

/// The flows of a scenario as a flow table. See the type stub.
#[pyfunction]
#[pyo3(signature = (scenario_toml, source_name, overrides, base_dir=None))]
pub fn flow_table(
    py: Python<'_>,
    scenario_toml: &str,
    source_name: &str,
    overrides: Vec<String>,
    base_dir: Option<&str>,
) -> PyResult<(Py<PyBytes>, u64)> {
    let made =
        py.detach(|| paceline_sim::assemble::flow_table(&parse(scenario_toml, source_name, base_dir, &overrides)?));
    let (text, flows) = made.map_err(|e| to_py(py, &e))?;
    Ok((PyBytes::new(py, &text).unbind(), flows))
}
