//! Message-passing programs for Python. The interpreter is free meanwhile.
#![allow(clippy::needless_pass_by_value, reason = "Python's arguments arrive owned")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_sim::InputError;
use paceline_sim::assemble::message_passing;
use paceline_sim::mpi::collectives::{AllReduce, AllToAll};
use paceline_sim::mpi::nas::Setting;
use paceline_sim::mpi::{Algorithms, Generator, Info, MachineConfig, Program, RankProgram, goal, info};
use pyo3::prelude::*;

use crate::engine::{parse, to_python};
use crate::error::{to_py, unwritten};

/// Operations of a schedule that is written out: some 10 GB of text.
const MOST_WRITTEN: u64 = 200_000_000;

fn word<T: Copy>(field: &str, given: &str, words: &[(&str, T)]) -> Result<T, InputError> {
    words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        InputError::new("no such algorithm").field(field).value(given).allowed(all.join(", "))
    })
}

/// Writes a generated program as GOAL text into a file and says what is in it. See the type stub.
#[pyfunction]
#[pyo3(signature = (program, out, ranks, problem_class=None, iterations=None, compute_rate=1e9, seed=1, alltoall="auto", allreduce="auto"))]
#[allow(clippy::too_many_arguments, reason = "one call across the seam; Python names them")]
pub fn mpi_export(
    py: Python<'_>,
    program: &str,
    out: PathBuf,
    ranks: u32,
    problem_class: Option<&str>,
    iterations: Option<u32>,
    compute_rate: f64,
    seed: u64,
    alltoall: &str,
    allreduce: &str,
) -> PyResult<Py<PyAny>> {
    let built = py.detach(|| {
        let alltoall = word(
            "alltoall",
            alltoall,
            &[
                ("auto", AllToAll::Auto),
                ("bruck", AllToAll::Bruck),
                ("posted", AllToAll::Posted),
                ("pairwise", AllToAll::Pairwise),
            ],
        )?;
        let allreduce = word(
            "allreduce",
            allreduce,
            &[
                ("auto", AllReduce::Auto),
                ("recursive_doubling", AllReduce::RecursiveDoubling),
                ("reduce_scatter", AllReduce::ReduceScatter),
            ],
        )?;
        if !(1.0..=1e18).contains(&compute_rate) {
            let error = InputError::new("out of range").field("compute_rate").value(compute_rate);
            return Err(error.allowed("1 to 1e18 operations per second"));
        }
        let algorithms = Algorithms { alltoall, allreduce, ..Algorithms::default() };
        let setting = Setting { ranks, iterations, rate: compute_rate, algorithms, seed };
        let program = Generator::named(program, problem_class)?.build(&setting)?;
        let program = Arc::new(program);
        writable(&program, "iterations")?;
        Ok(program)
    });
    export(py, built, &out)
}

/// Writes the program of a scenario as GOAL text into a file and says what is in it. See the type stub.
#[pyfunction]
#[pyo3(signature = (scenario_toml, source_name, overrides, out, base_dir=None, workload=None))]
pub fn mpi_export_scenario(
    py: Python<'_>,
    scenario_toml: &str,
    source_name: &str,
    overrides: Vec<String>,
    out: PathBuf,
    base_dir: Option<&str>,
    workload: Option<usize>,
) -> PyResult<Py<PyAny>> {
    let built = py.detach(|| {
        let spec = parse(scenario_toml, source_name, base_dir, &overrides)?;
        let program = message_passing(&spec, workload)?;
        writable(&program, "workloads")?;
        Ok(program)
    });
    export(py, built, &out)
}

/// Refuses a program that would be a file without end.
fn writable(program: &Program, field: &str) -> Result<(), InputError> {
    let operations = program.totals().operations + program.ranks().iter().map(RankProgram::joins).sum::<u64>();
    if operations <= MOST_WRITTEN {
        return Ok(());
    }
    let error = InputError::new(format!("the schedule would hold {operations} operations"));
    Err(error.field(field).allowed(format!("so few iterations that {MOST_WRITTEN} are enough")))
}

fn export(py: Python<'_>, program: Result<Arc<Program>, InputError>, out: &Path) -> PyResult<Py<PyAny>> {
    let program = program.map_err(|e| to_py(py, &e))?;
    py.detach(|| write(&program, out)).map_err(unwritten)?;
    tell(py, &program)
}

/// A file being written, of which Ctrl-C makes an end.
struct Interruptible(File);

impl Write for Interruptible {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        // An error made of Python's becomes that again.
        Python::attach(|py| py.check_signals().map_err(std::io::Error::other))?;
        self.0.write(text)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn write(program: &Program, out: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, Interruptible(File::create(out)?));
    goal::write(program, &mut file)?;
    file.flush()
}

fn tell(py: Python<'_>, program: &Arc<Program>) -> PyResult<Py<PyAny>> {
    let found: Info = py.detach(|| info(program, MachineConfig::default().eager));
    to_python(py, &found)
}

/// What is in a GOAL schedule. See the type stub.
#[pyfunction]
pub fn mpi_info(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    let program = py.detach(|| goal::load(&path)).map_err(|e| to_py(py, &e))?;
    tell(py, &Arc::new(program))
}
