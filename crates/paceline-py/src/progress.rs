//! Progress out, "go on or stop" back: the one thing that crosses the seam while the engine runs.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Wall time between two calls of the callback: 10 Hz is smooth to look at and costs nothing.
const INTERVAL: Duration = Duration::from_millis(100);

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Simulated time so far, in picoseconds.
    pub sim_ps: u64,
    /// Simulated time the run ends at, at the latest, in picoseconds; `None` when it ends with its last flow.
    pub end_ps: Option<u64>,
    /// Flows started so far.
    pub flows_started: u64,
    /// Flows finished or failed so far.
    pub flows_done: u64,
    /// Flows there will be; `None` when the workload is open-ended.
    pub flows_total: Option<u64>,
    /// Steps of programs that are over: operations that pass messages or compute, queries.
    pub steps_done: u64,
    /// Those there will be; `None` where that is not known or other workloads go on beside the programs.
    pub steps_total: Option<u64>,
    /// Packet hops forwarded so far, data and control.
    pub hops: u64,
}

/// Calls a Python callback with snapshots, at most every [`INTERVAL`] of wall time. To be used with the GIL released.
pub struct Reporter {
    callback: Option<Py<PyAny>>,
    started: Instant,
    last: Option<Instant>,
    failed: Option<PyErr>,
}

impl Reporter {
    /// A reporter whose clock starts now; without a callback it never stops the run.
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, started: now(), last: None, failed: None }
    }

    /// Reports if it is time to. Returns whether to go on: `false` when the callback said stop or raised.
    pub fn tick(&mut self, snapshot: &Snapshot) -> bool {
        let Some(callback) = &self.callback else { return true };
        let at = now();
        if self.last.is_some_and(|last| at.duration_since(last) < INTERVAL) {
            return true;
        }
        self.last = Some(at);
        let wall_s = at.duration_since(self.started).as_secs_f64();
        match Python::attach(|py| call(callback.bind(py), snapshot, wall_s)) {
            Ok(go_on) => go_on,
            Err(raised) => {
                self.failed = Some(raised);
                false
            }
        }
    }

    /// The exception the callback raised, if it did: what the bound function has to raise in turn.
    pub fn finish(self) -> PyResult<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

#[expect(clippy::disallowed_methods, reason = "paces what people see; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

fn call(callback: &Bound<'_, PyAny>, snapshot: &Snapshot, wall_s: f64) -> PyResult<bool> {
    let dict = PyDict::new(callback.py());
    dict.set_item("sim_ps", snapshot.sim_ps)?;
    dict.set_item("end_ps", snapshot.end_ps)?;
    dict.set_item("flows_started", snapshot.flows_started)?;
    dict.set_item("flows_done", snapshot.flows_done)?;
    dict.set_item("flows_total", snapshot.flows_total)?;
    dict.set_item("steps_done", snapshot.steps_done)?;
    dict.set_item("steps_total", snapshot.steps_total)?;
    dict.set_item("hops", snapshot.hops)?;
    dict.set_item("wall_s", wall_s)?;
    callback.call1((dict,))?.is_truthy()
}
