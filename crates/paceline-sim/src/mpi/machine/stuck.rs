//! Why a program does not go on.

use std::fmt::Write as _;

use super::{Machine, STARTED};
use crate::mpi::program::OpKind;

/// Ranks that are told about.
const SHOWN: usize = 4;

impl Machine {
    /// Once nothing is on its way any more: which operations can never end, and why. `None` if all ranks that have begun are through.
    pub fn stuck(&self) -> Option<String> {
        let open: Vec<u32> = (0..self.program.len())
            .filter(|r| self.ranks[*r as usize].begun && self.ranks[*r as usize].finished.is_none())
            .collect();
        if open.is_empty() {
            return None;
        }
        let mut text = format!("{} of {} ranks can never finish", open.len(), self.program.len());
        // Ranks with a cause of their own first; the others wait for them.
        let (mut told, mut others) = (0, 0);
        for rank in open {
            match self.cause(rank) {
                Some(cause) if told < SHOWN => {
                    told += 1;
                    let _ = write!(text, "; rank {rank}, {cause}");
                }
                _ => others += 1,
            }
        }
        if others > 0 {
            let _ = write!(text, "; and {others} more");
        }
        Some(text)
    }

    /// The first operation of a rank that has begun and cannot end.
    fn cause(&self, rank: u32) -> Option<String> {
        let state = &self.ranks[rank as usize];
        let at = state.waiting.iter().position(|w| *w == STARTED)?;
        let op = Self::block_of(&self.program, rank, state.part).ops()[at];
        let number = self.base(rank) - self.program.first(rank) + at as u32 + 1;
        let why = match op.kind {
            OpKind::Recv if state.granted.values().any(|r| *r as usize == at) => "its data has not come".to_string(),
            OpKind::Recv => match state.queues.first_kept() {
                Some((from, tag)) => format!("no message fits; there is one from {from} with tag {tag}"),
                None => "no message has come for it".to_string(),
            },
            OpKind::Send => "its receiver has not posted a receive that fits".to_string(),
            OpKind::Calc => "it is still computing".to_string(),
        };
        let times = state.waiting.iter().filter(|w| **w == STARTED).count() - 1;
        let more = if times > 0 { format!(" (and {times} more of its operations)") } else { String::new() };
        Some(format!("operation {number} (`{op}`): {why}{more}"))
    }

    /// Messages that arrived and were never received.
    pub fn unreceived(&self) -> u64 {
        self.ranks.iter().map(|r| r.queues.unreceived() as u64).sum()
    }
}
