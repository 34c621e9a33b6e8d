//! What is in a program, for who looks at one.

use std::sync::Arc;

use serde::Serialize;

use super::machine::MachineConfig;
use super::program::{Op, OpKind, Program, RankProgram};
use super::replay;

/// Operations up to which a program is tried out.
const MOST_TRIED: u64 = 100_000_000;

/// What is in a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Info {
    /// Ranks.
    pub ranks: u32,
    /// Operations of its GOAL text.
    pub operations: u64,
    /// Of these, empty computations (`calc 0`): they take no time, others wait for them.
    pub empty_computations: u64,
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
    /// Whether every message is received, by a receive that is long enough, and all ranks come to their end; `None` where there is too much to try it out.
    pub matched: Option<bool>,
    /// Why not.
    pub why: Option<String>,
}

/// Operations of this kind that are carried out.
fn count(program: &Program, is: impl Fn(&Op) -> bool) -> u64 {
    let parts = program.ranks().iter().flat_map(|rank| rank.parts().iter().map(move |part| (rank, part)));
    let found = parts.map(|(rank, part)| {
        let ops = rank.blocks()[part.block as usize].ops();
        ops.iter().filter(|op| is(op)).count() as u64 * u64::from(part.times)
    });
    found.sum()
}

/// Looks at a program and tries it out on a network that takes no time, with messages up to `eager` bytes sent at once.
pub fn info(program: &Arc<Program>, eager: u64) -> Info {
    let totals = program.totals();
    // The same whether it comes from a generator, in blocks, or from the text written for it.
    let joins: u64 = program.ranks().iter().map(RankProgram::joins).sum();
    let mut info = Info {
        ranks: program.len(),
        operations: totals.operations + joins,
        empty_computations: count(program, |op| op.kind == OpKind::Calc && op.size == 0) + joins,
        sends: totals.messages,
        receives: count(program, |op| op.kind == OpKind::Recv),
        message_bytes: totals.bytes,
        largest_message_bytes: totals.largest,
        longest_compute: totals.longest_calc,
        least_runtime: None,
        matched: None,
        why: None,
    };
    if info.operations <= MOST_TRIED {
        let config = MachineConfig { eager, unit_ps: 1, ..MachineConfig::default() };
        let tried = replay(program, config, None);
        let left = match tried.unreceived {
            0 => None,
            1 => Some("1 message is never received".to_string()),
            n => Some(format!("{n} messages are never received")),
        };
        info.least_runtime = tried.runtime_ps;
        info.why = tried.stuck.or(left).or(tried.truncated);
        info.matched = Some(info.why.is_none());
    }
    info
}
