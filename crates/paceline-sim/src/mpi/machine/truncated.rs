//! Messages that are longer than the receives that take them.
//!
//! MPI lets a receive be longer than its message; where it is shorter it raises `MPI_ERR_TRUNCATE` (MPI 4.1, section 3.2.4). LogGOPSim does
//! not compare the two, and neither do matches here: the message is received, and the run tells of it.

use super::{Machine, Message};

/// Those of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Truncated {
    /// How many.
    count: u64,
    /// The first receive and the send of its message, by their numbers among all operations.
    first: (u32, u32),
}

impl Machine {
    /// A message has found its receive, which is an operation of its rank's block.
    pub(super) fn compare_lengths(&mut self, rank: u32, receive: u32, message: Message) {
        let receive = self.base(rank) + receive;
        if self.program.op(message.send()).1.size > self.program.op(receive).1.size {
            let first = (receive, message.send());
            self.ranks[rank as usize].truncated.get_or_insert(Truncated { count: 0, first }).count += 1;
        }
    }

    /// How many messages were longer than the receives that took them, and the first of the first such rank.
    pub fn truncated(&self) -> Option<String> {
        let all = || self.ranks.iter().filter_map(|rank| rank.truncated);
        let (receive, send) = all().next()?.first;
        let (to, receiving) = self.program.op(receive);
        let (from, sending) = self.program.op(send);
        let number = receive - self.program.first(to);
        let at = self.program.line(to, number).map(|at| format!("{at}: ")).unwrap_or_default();
        let told = match all().map(|t| t.count).sum() {
            1 => "1 message is longer than the receive that takes it".to_string(),
            n => format!("{n} messages are longer than the receives that take them"),
        };
        Some(format!(
            "{told}, an error in MPI (MPI_ERR_TRUNCATE); {at}rank {to}, operation {} (`{receiving}`) takes {} B from rank {from}; \
             allowed: a receive of that size or more",
            u64::from(number) + 1,
            sending.size
        ))
    }
}
