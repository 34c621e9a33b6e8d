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
            if self.heap.len() > 2 * self.listed.len() + 64 {
                self.drop_stale();
            }
        }
    }

    /// Throws out what earlier deadlines have left behind. Else a short timer set in front of a long one, as a delayed ACK in
    /// front of a SYN/ACK's timeout, would leave an entry per message until the long one is due.
    #[cold]
    fn drop_stale(&mut self) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        entries.clear();
        let listed = self.listed.iter().enumerate().filter(|(_, at)| **at != Time::NEVER);
        entries.extend(listed.map(|(slot, at)| Reverse((*at, slot as u32))));
        self.heap = entries.into();
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
    /// A slot used again and again, each time with a long deadline and then a short one, takes no more memory in the end: a day
    /// of short connections would else fill it with timeouts that nobody waits for.
    #[test]
    fn deadlines_left_behind_do_not_pile_up() {
        let mut t = Timers::default();
        // Miri is some hundred times slower.
        for now in 0..if cfg!(miri) { 1_000 } else { 100_000 } {
            t.arm(2, Time(now + 1_000_000));
            t.arm(2, Time(now + 1));
            assert_eq!(t.pop_due(Time(now + 1)), Some(2));
        }
        assert!(t.heap.len() < 100, "{}", t.heap.len());
        t.arm(1, Time(2_000_000));
        assert_eq!((t.pop_due(Time(1_999_999)), t.pop_due(Time(2_000_000))), (None, Some(1)));
    }
}
