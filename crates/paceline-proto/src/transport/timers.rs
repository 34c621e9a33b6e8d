//! One timer per message, for any number of messages, without work per packet.
//!
//! Deadlines only ever move away while packets flow. So a message is listed once, at a deadline that may be too early;
//! when that comes, its owner works out the real one and lists it again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Time;

/// The deadlines of many messages.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// Earliest deadline listed per slot; [`Time::NEVER`] for none.
    listed: Vec<Time>,
}

impl Timers {
    /// Sees to it that the slot comes up at `at` or before.
    #[inline]
    pub fn arm(&mut self, slot: u32, at: Time) {
        let i = slot as usize;
        if i >= self.listed.len() {
            self.listed.resize(i + 1, Time::NEVER);
        }
        if at < self.listed[i] {
            self.listed[i] = at;
            self.heap.push(Reverse((at, slot)));
        }
    }

    /// The first deadline.
    #[inline]
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes out a slot that is due. It is listed no more.
    pub fn pop_due(&mut self, now: Time) -> Option<u32> {
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            // An earlier deadline listed later leaves this one behind.
            if self.listed[slot as usize] == at {
                self.listed[slot as usize] = Time::NEVER;
                return Some(slot);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_comes_up_once_at_its_earliest_deadline() {
        let mut t = Timers::default();
        for at in [30, 50, 20, 40] {
            t.arm(7, Time(at));
        }
        t.arm(3, Time(25));
        assert_eq!((t.next(), t.pop_due(Time(19))), (Time(20), None));
        assert_eq!((t.pop_due(Time(100)), t.pop_due(Time(100)), t.pop_due(Time(100))), (Some(7), Some(3), None));
        assert_eq!(t.next(), Time::NEVER);
        t.arm(7, Time(200));
        assert_eq!(t.pop_due(Time(200)), Some(7));
    }
}
