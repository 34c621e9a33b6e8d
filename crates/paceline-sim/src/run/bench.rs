//! A run without a result folder, for benches.

use super::choice::kind_name;
use super::set_up::{Engine, Ready, set_up};
use crate::assemble::Assembled;
use crate::engine::Ending;
use crate::engine::windowed::Share;
use crate::error::InputError;
use crate::net::Net;
use crate::spec::Resolved;

/// A network ready to run without a result folder: for benches.
pub struct Bench {
    ready: Ready,
}

impl Bench {
    /// Runs it to the end.
    ///
    /// # Errors
    /// A flow that cannot start.
    pub fn run(&mut self) -> Result<Ending, InputError> {
        Ok(self.ready.engine.run(&mut ())?.0)
    }

    /// The network.
    pub fn net(&mut self) -> &Net {
        self.ready.engine.net()
    }

    /// Threads it runs on.
    pub fn threads(&self) -> usize {
        self.ready.engine.threads()
    }

    /// CPU seconds of the threads beside the calling one.
    pub fn others_cpu_s(&self) -> f64 {
        self.ready.engine.others_cpu_s()
    }

    /// What each thread's part has done in the run.
    pub fn shares(&self) -> &[Share] {
        if let Engine::Windowed(e) = &self.ready.engine { e.shares() } else { &[] }
    }

    /// `windowed` or `sequential`.
    pub fn kind(&self) -> &'static str {
        kind_name(self.ready.choice.0)
    }
}

/// Sets up a scenario as [`super::run`] does, default records included.
///
/// # Errors
/// Bad input.
pub fn prepare_bench(spec: &Resolved, assembled: Assembled, threads: usize) -> Result<Bench, InputError> {
    Ok(Bench { ready: set_up(spec, assembled, threads)? })
}
