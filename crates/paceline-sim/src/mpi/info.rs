//! What is in a program, for who looks at one.

use std::sync::Arc;

use serde::Serialize;

use super::machine::MachineConfig;
use super::program::{OpKind, Program};
use super::{Crossbar, replay};

/// Operations up to which a program is tried out.
const MOST_TRIED: u64 = 100_000_000;

/// What is in a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Info {
    /// Ranks.
    pub ranks: u32,
    /// Operations carried out.
    pub operations: u64,
    /// Of these, sends.
    pub sends: u64,
    /// Of these, receives.
    pub receives: u64,
    /// Bytes of all messages.
    pub message_bytes: u64,
    /// Largest message, bytes.
    pub largest_message_bytes: u64,
    /// Longest computation of one rank in all, units of `calc`.
    pub longest_compute: u64,
    /// Least time until all ranks are through, on a network that takes none, units of `calc`; `None` if they never are.
    pub least_runtime: Option<u64>,
    /// Whether every message is received and all ranks come to their end; `None` where there is too much to try it out.
    pub matched: Option<bool>,
    /// Why not.
    pub why: Option<String>,
}

/// Looks at a program and tries it out on a network that takes no time, with messages up to `eager` bytes sent at once.
pub fn info(program: &Arc<Program>, eager: u64) -> Info {
    let totals = program.totals();
    let receives = program.ranks().iter().flat_map(|r| r.parts().iter().map(move |p| (r, p))).map(|(rank, part)| {
        let ops = rank.blocks()[part.block as usize].ops();
        ops.iter().filter(|o| o.kind == OpKind::Recv).count() as u64 * u64::from(part.times)
    });
    let mut info = Info {
        ranks: program.len(),
        operations: totals.operations,
        sends: totals.messages,
        receives: receives.sum(),
        message_bytes: totals.bytes,
        largest_message_bytes: totals.largest,
        longest_compute: totals.longest_calc,
        least_runtime: None,
        matched: None,
        why: None,
    };
    if totals.operations <= MOST_TRIED {
        let config = MachineConfig { eager, unit_ps: 1, ..MachineConfig::default() };
        let tried = replay(program, config, &Crossbar::INSTANT);
        let left = (tried.unreceived > 0).then(|| format!("{} messages are never received", tried.unreceived));
        info.least_runtime = tried.runtime_ps;
        info.why = tried.stuck.or(left);
        info.matched = Some(info.why.is_none());
    }
    info
}
