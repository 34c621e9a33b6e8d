//! The sequential engine's event list: a calendar of short buckets, sorted when their time comes, and a heap for what
//! lies beyond it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::chains::{Chains, EMPTY};
use super::{order, sort};

/// An event: time, key among equal times, payload.
pub(super) type Event = (u64, u64, u64);

/// How events of equal time are ordered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ties {
    /// By their keys.
    Key,
    /// Keys are [`order::place_key`]s; the hash is taken only when two times are equal.
    Hashed(u64),
}

impl Ties {
    #[inline(always)]
    fn compare(self, a: &Event, b: &Event) -> Ordering {
        a.0.cmp(&b.0).then_with(|| self.compare_equal(a, b))
    }

    #[cold]
    fn compare_equal(self, a: &Event, b: &Event) -> Ordering {
        let key = |e: &Event| match self {
            Ties::Key => e.1,
            Ties::Hashed(seed) => order::hashed(seed, e.1, e.0),
        };
        key(a).cmp(&key(b)).then(a.2.cmp(&b.2))
    }
}

/// Buckets; a power of two.
const BUCKETS: usize = 1 << 13;
/// Words of 64 buckets; a power of two.
const WORDS: usize = BUCKETS / 64;
/// Events a block holds: three cache lines.
const BLOCK: usize = 8;

/// A priority queue of events whose times rarely lie before the last one taken.
#[derive(Debug)]
pub(super) struct Calendar {
    /// Bucket of a time: `time >> shift`.
    shift: u32,
    /// List of each bucket.
    buckets: Vec<u32>,
    /// One bit per bucket: not empty.
    occupied: Vec<u64>,
    events: Chains<Event, BLOCK>,
    /// Events of the bucket being worked on, in order: how many they are (there is more room), and how many have been taken.
    current: Vec<Event>,
    filled: usize,
    taken: usize,
    /// Room for them before they are sorted.
    unsorted: Vec<Event>,
    /// That bucket, counted from time 0.
    bucket: u64,
    far: BinaryHeap<Reverse<Event>>,
    ties: Ties,
}

impl Calendar {
    /// A calendar whose buckets are at most `width` ps wide.
    pub(super) fn new(width: u64, ties: Ties) -> Self {
        Self {
            shift: width.clamp(1, sort::WIDEST).ilog2(),
            buckets: vec![EMPTY; BUCKETS],
            occupied: vec![0; WORDS],
            events: Chains::new(),
            current: vec![Event::default(); sort::MOST],
            filled: 0,
            unsorted: Vec::new(),
            taken: 0,
            bucket: 0,
            far: BinaryHeap::new(),
            ties,
        }
    }

    /// Adds an event. The rare cases are functions of their own, and get the event in parts, so that it stays in registers.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let (at, key, payload) = event;
        let bucket = at >> self.shift;
        let ahead = bucket.wrapping_sub(self.bucket + 1);
        if ahead >= BUCKETS as u64 - 1 {
            self.push_elsewhere(at, key, payload);
            return;
        }
        let slot = bucket as usize & (BUCKETS - 1);
        if !self.events.append(&mut self.buckets[slot], event) {
            self.open_block(slot, at, key, payload);
        }
    }

    /// Adds an event to a bucket that is empty or whose block is full.
    #[inline(never)]
    fn open_block(&mut self, slot: usize, at: u64, key: u64, payload: u64) {
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.events.open_block(&mut self.buckets[slot], (at, key, payload));
    }

    /// Adds an event to the bucket being worked on, or to those that lie beyond the calendar.
    #[inline(never)]
    fn push_elsewhere(&mut self, at: u64, key: u64, payload: u64) {
        let event = (at, key, payload);
        if at >> self.shift > self.bucket {
            self.far.push(Reverse(event));
            return;
        }
        let later = self.current[self.taken..self.filled].partition_point(|e| self.ties.compare(e, &event).is_lt());
        self.current.insert(self.taken + later, event);
        self.filled += 1;
    }

    /// When the earliest event is.
    #[inline]
    pub(super) fn next_at(&mut self) -> Option<u64> {
        self.open_bucket();
        (self.taken < self.filled).then(|| self.current[self.taken].0)
    }

    /// Takes the earliest event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        self.open_bucket();
        if self.taken == self.filled {
            return None;
        }
        self.taken += 1;
        Some(self.current[self.taken - 1])
    }

    /// Sees to it that the earliest event is in the bucket being worked on.
    #[inline(always)]
    fn open_bucket(&mut self) {
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
            self.advance();
        }
    }

    /// Goes on to the next bucket with events.
    #[inline(never)]
    fn advance(&mut self) {
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(e)| e.0 >> self.shift);
        let Some(bucket) = near.into_iter().chain(far).min() else { return };
        self.bucket = bucket;
        let slot = bucket as usize & (BUCKETS - 1);
        self.unsorted.clear();
        let mut n = 0;
        if near == Some(bucket) {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            n = self.events.drain_blocks(&mut self.buckets[slot], &mut self.unsorted);
        }
        while let Some(Reverse(event)) = self.far.peek()
            && event.0 >> self.shift <= bucket
        {
            if n == self.unsorted.len() {
                self.unsorted.extend([Event::default(); BLOCK]);
            }
            self.unsorted[n] = *event;
            n += 1;
            self.far.pop();
        }
        self.filled = n;
        // It grows by what is inserted.
        self.current.truncate(sort::MOST);
        let start = bucket << self.shift;
        if !sort::by_time(&self.unsorted, n, start, &mut self.current) {
            std::mem::swap(&mut self.current, &mut self.unsorted);
            let ties = self.ties;
            self.current[..n].sort_unstable_by(|a, b| ties.compare(a, b));
            self.current.resize(self.current.len().max(sort::MOST), Event::default());
        } else if self.current[..n].windows(2).map(|e| u32::from(e[0].0 == e[1].0)).sum::<u32>() > 0 {
            self.order_ties();
        }
    }

    /// Puts events of the same instant into their order.
    #[cold]
    fn order_ties(&mut self) {
        let ties = self.ties;
        for equal in self.current[..self.filled].chunk_by_mut(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            equal.sort_unstable_by(|a, b| ties.compare_equal(a, b));
        }
    }

    /// The next bucket after the present one that is not empty.
    fn next_occupied(&self) -> Option<u64> {
        let from = (self.bucket + 1) as usize & (BUCKETS - 1);
        for step in 0..=WORDS {
            let index = (from / 64 + step) & (WORDS - 1);
            let mut word = self.occupied[index];
            if step == 0 {
                word &= u64::MAX << (from % 64);
            } else if step == WORDS {
                word &= !(u64::MAX << (from % 64));
            }
            if word != 0 {
                let slot = index * 64 + word.trailing_zeros() as usize;
                let ahead = slot.wrapping_sub(from) & (BUCKETS - 1);
                return Some(self.bucket + 1 + ahead as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Events come out in order of (time, key), whatever the mix of near, far and present times.
        #[test]
        fn events_come_in_order(width in 1u64..5000, gaps in prop::collection::vec((0u64..200_000_000, 0u64..4, any::<bool>()), 1..300)) {
            let mut calendar = Calendar::new(width, Ties::Key);
            let mut expected = BinaryHeap::new();
            let mut now = 0;
            for (i, (gap, scale, take)) in gaps.into_iter().enumerate() {
                let event = (now + (gap >> (scale * 8)), i as u64 % 7, i as u64);
                calendar.push(event);
                expected.push(Reverse(event));
                if take {
                    let got = calendar.pop();
                    prop_assert_eq!(got, expected.pop().map(|Reverse(e)| e));
                    now = got.map_or(now, |e| e.0);
                }
            }
            while let Some(Reverse(e)) = expected.pop() {
                prop_assert_eq!(calendar.pop(), Some(e));
            }
            prop_assert_eq!(calendar.pop(), None);
        }
    }
}
