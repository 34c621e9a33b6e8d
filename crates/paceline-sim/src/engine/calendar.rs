//! The sequential engine's event list: a calendar of short buckets, sorted when their time comes, and a heap for what
//! lies beyond it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::chains::{Chains, EMPTY};
use super::order;
use super::sort::{self, BLOCK};

/// An event: time, key among equal times, payload.
pub(super) type Event = (u64, u64, u64);

/// How events of equal time are ordered. The upper two bits of keys go first in either way.
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

    #[inline]
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
    /// The bucket being worked on, counted from time 0.
    bucket: u64,
    /// Its events, in order: how many they are (there is more room), and how many have been taken.
    current: Vec<Event>,
    filled: usize,
    taken: usize,
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
            bucket: 0,
            current: vec![Event::default(); sort::MOST],
            filled: 0,
            taken: 0,
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
        let before = self.current[self.taken..self.filled].partition_point(|e| self.ties.compare(e, &event).is_lt());
        self.current.insert(self.taken + before, event);
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

    /// What an event that comes soon holds, if it is known already; perhaps nothing that will come.
    #[inline(always)]
    pub(super) fn soon(&self) -> Option<u64> {
        self.current.get(self.taken + 1).map(|e| e.2)
    }

    /// Sees to it that the earliest event is in the bucket being worked on.
    #[inline(always)]
    fn open_bucket(&mut self) {
        if self.taken == self.filled {
            self.advance();
        }
    }

    /// Goes on to the next bucket with events.
    #[inline(never)]
    fn advance(&mut self) {
        (self.taken, self.filled) = (0, 0);
        // It grew by what was inserted.
        self.current.truncate(sort::MOST);
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(e)| e.0 >> self.shift);
        let Some(bucket) = near.into_iter().chain(far).min() else { return };
        self.bucket = bucket;
        let mut list = EMPTY;
        if near == Some(bucket) {
            let slot = bucket as usize & (BUCKETS - 1);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            list = std::mem::replace(&mut self.buckets[slot], EMPTY);
        }
        if far == Some(bucket) {
            self.fetch_far(&mut list);
        }
        self.sort(&mut list);
        let next = self.buckets[(bucket + 1) as usize & (BUCKETS - 1)];
        self.events.fetch_block(next);
    }

    /// Moves to the bucket what lay beyond the calendar when it was scheduled.
    #[cold]
    fn fetch_far(&mut self, list: &mut u32) {
        while let Some(Reverse(event)) = self.far.peek()
            && event.0 >> self.shift <= self.bucket
        {
            self.events.add(list, *event);
            self.far.pop();
        }
    }

    /// Puts the events of the bucket in order.
    fn sort(&mut self, list: &mut u32) {
        let (mut firsts, mut blocks) = ([0; sort::MOST / BLOCK], 0);
        for (first, held) in self.events.blocks(*list) {
            // All blocks are full but the last of the list, which comes first.
            self.filled += held;
            if let Some(place) = firsts.get_mut(blocks) {
                *place = first;
            }
            blocks += 1;
        }
        let start = self.bucket << self.shift;
        let tied = firsts
            .get(..blocks)
            .and_then(|blocks| sort::by_time(self.events.items(), blocks, self.filled, start, &mut self.current));
        match tied {
            Some(0) => {}
            Some(tied) => self.order_ties(tied),
            None => self.sort_many(*list),
        }
        self.events.clear(list);
    }

    /// Puts events of the same instant and rank into their order. `tied`: which of them have those of the next one.
    #[inline(never)]
    fn order_ties(&mut self, mut tied: u32) {
        let ties = self.ties;
        while tied != 0 {
            let first = tied.trailing_zeros();
            let others = (tied >> first).trailing_ones();
            let equal = &mut self.current[first as usize..=(first + others) as usize];
            if let [a, b] = equal {
                // Nearly all are pairs; to call the sort for them costs a run 2 % of its time.
                let is_ordered = ties.compare_equal(a, b).is_lt();
                (*a, *b) = if is_ordered { (*a, *b) } else { (*b, *a) };
            } else {
                equal.sort_unstable_by(|a, b| ties.compare_equal(a, b));
            }
            // The last of them does not tie with what follows.
            tied &= u32::MAX << first << others;
        }
    }

    /// Puts the events in order where they are too many to be ranked.
    #[inline(never)]
    fn sort_many(&mut self, list: u32) {
        self.current.clear();
        for (first, held) in self.events.blocks(list) {
            self.current.extend_from_slice(&self.events.items()[first as usize..][..held]);
        }
        let ties = self.ties;
        self.current.sort_unstable_by(|a, b| ties.compare(a, b));
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
        /// Events come out in order of (time, key), rank and all, whatever the mix of near, far and present times.
        #[test]
        fn events_come_in_order(width in 1u64..5000, gaps in prop::collection::vec((0u64..200_000_000, 0u64..4, any::<bool>()), 1..300)) {
            let mut calendar = Calendar::new(width, Ties::Key);
            let mut expected = BinaryHeap::new();
            let mut now = 0;
            for (i, (gap, scale, take)) in gaps.into_iter().enumerate() {
                let event = (now + (gap >> (scale * 8)), (i as u64 % 7) | ((i as u64 % 4) << 62), i as u64);
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
