//! What hosts are to be told at an instant.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NEVER: u64 = u64::MAX;

/// What a place is told, in the order of those of one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Call {
    /// The program begins.
    Begin,
    /// A message of its own has arrived.
    Told { message: u64 },
    /// What it asked for.
    Wake { token: u32 },
}

/// A call that is due, in the order of the calls to a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Due {
    /// When, ps.
    pub(super) at: u64,
    pub(super) program: u16,
    pub(super) place: u32,
    pub(super) call: Call,
}

/// The calls to all hosts of a network or a part.
pub(super) struct Calls {
    /// By the first NIC of a host.
    by_nic: Vec<BinaryHeap<Reverse<Due>>>,
    /// How many there are.
    pub(super) waiting: u64,
    /// Those that the engine does not know of yet: when, and which NIC.
    fresh: Vec<(u64, u32)>,
}

impl Calls {
    pub(super) fn new(nics: usize) -> Self {
        Self { by_nic: vec![BinaryHeap::new(); nics], waiting: 0, fresh: Vec::new() }
    }

    /// A place at a NIC is to be told something.
    pub(super) fn add(&mut self, nic: u32, due: Due) {
        self.by_nic[nic as usize].push(Reverse(due));
        self.fresh.push((due.at, nic));
        self.waiting += 1;
    }

    /// One of which the engine does not know yet: when, and which NIC.
    pub(super) fn next_fresh(&mut self) -> Option<(u64, u32)> {
        self.fresh.pop()
    }

    /// When the next one at a NIC is due, ps.
    pub(super) fn next_at(&self, nic: u32) -> u64 {
        self.by_nic[nic as usize].peek().map_or(NEVER, |Reverse(due)| due.at)
    }

    /// Takes the next one at a NIC that is due by `now`.
    pub(super) fn take(&mut self, nic: u32, now: u64) -> Option<Due> {
        if self.next_at(nic) > now {
            return None;
        }
        self.waiting -= 1;
        self.by_nic[nic as usize].pop().map(|Reverse(due)| due)
    }
}
