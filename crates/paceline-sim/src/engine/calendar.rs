//! The sequential engine's event list: a calendar of short buckets, each with a place of its own for some events, sorted when their time
//! comes; chains for what a bucket has no room for, and a heap for what lies beyond the calendar.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::chains::{Chains, EMPTY};
use super::order::{self, Event};
use super::sort::{self, BLOCK, MOST};
use crate::packet::prefetch;

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

/// Most buckets: 25 MiB.
const MOST_BUCKETS: u64 = 1 << 15;

/// The power of two that buckets at most `width` ps wide last, and how many of them there are to reach `reach` ps into the future.
fn shift_and_buckets(width: u64, reach: u64) -> (u32, usize) {
    let shift = width.clamp(1, sort::WIDEST).ilog2();
    (shift, ((reach >> shift) + 2).next_power_of_two().clamp(64, MOST_BUCKETS) as usize)
}

/// Bytes of the buckets of such a calendar.
pub(super) fn bytes(width: u64, reach: u64) -> usize {
    shift_and_buckets(width, reach).1 * size_of::<[Event; MOST]>()
}

/// A priority queue of events whose times rarely lie before the last one taken.
#[derive(Debug)]
pub(super) struct Calendar {
    /// Bucket of a time: `time >> shift`.
    shift: u32,
    /// What each bucket holds, and how many. The number of buckets is a power of two.
    buckets: Vec<[Event; MOST]>,
    held: Vec<u8>,
    /// One bit per bucket: not empty.
    occupied: Vec<u64>,
    /// By bucket: a list of what it has no room for.
    crowded: Vec<u32>,
    crowds: Chains<[u64; 3], BLOCK>,
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
    /// A calendar whose buckets are at most `width` ps wide and which reaches, if it can, `reach` ps into the future.
    pub(super) fn new(width: u64, reach: u64, ties: Ties) -> Self {
        let (shift, buckets) = shift_and_buckets(width, reach);
        Self {
            shift,
            buckets: vec![[Event::default(); MOST]; buckets],
            held: vec![0; buckets],
            occupied: vec![0; buckets / 64],
            crowded: vec![EMPTY; buckets],
            crowds: Chains::new(),
            bucket: 0,
            current: vec![Event::default(); MOST],
            filled: 0,
            taken: 0,
            far: BinaryHeap::new(),
            ties,
        }
    }

    /// Adds an event. It comes in parts, so that it stays in registers: what has just been written in parts cannot be read as a whole
    /// before it is in the cache. The rare cases are a function of their own.
    #[inline]
    pub(super) fn push(&mut self, at: u64, key: u64, payload: u64) {
        let bucket = at >> self.shift;
        let ahead = bucket.wrapping_sub(self.bucket + 1);
        let slot = bucket as usize & (self.buckets.len() - 1);
        if ahead < self.buckets.len() as u64 - 1 {
            // No bucket is opened or filled up here: that would be a branch that cannot be predicted.
            let held = usize::from(self.held[slot]);
            if let Some(place) = self.buckets[slot].get_mut(held) {
                *place = (at, key, payload);
                self.held[slot] = held as u8 + 1;
                self.occupied[slot / 64] |= 1 << (slot % 64);
                return;
            }
        }
        self.push_elsewhere(at, key, payload);
    }

    /// Adds an event to the bucket being worked on, to those that lie beyond the calendar, or to a crowd.
    #[inline(never)]
    fn push_elsewhere(&mut self, at: u64, key: u64, payload: u64) {
        let event = (at, key, payload);
        let bucket = at >> self.shift;
        if bucket <= self.bucket {
            let rest = &self.current[self.taken..self.filled];
            let before = rest.partition_point(|e| self.ties.compare(e, &event).is_lt());
            self.current.insert(self.taken + before, event);
            self.filled += 1;
        } else if bucket - self.bucket < self.buckets.len() as u64 {
            let slot = bucket as usize & (self.buckets.len() - 1);
            self.crowds.add(&mut self.crowded[slot], event.into());
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// When the earliest event is. No bucket is opened for that: what still comes before it would have to be put in one by one.
    pub(super) fn next_at(&self) -> Option<u64> {
        if self.taken < self.filled {
            return Some(self.current[self.taken].0);
        }
        let near = self.next_occupied().and_then(|bucket| {
            let slot = bucket as usize & (self.buckets.len() - 1);
            let held = self.buckets[slot].iter().take(usize::from(self.held[slot]));
            let crowd = self.crowds.blocks(self.crowded[slot]).flatten();
            held.map(|event| event.0).chain(crowd.map(|[at, ..]| *at)).min()
        });
        near.into_iter().chain(self.far.peek().map(|Reverse(e)| e.0)).min()
    }

    /// Takes the earliest event if it comes before `end`.
    #[inline]
    pub(super) fn pop_before(&mut self, end: u64) -> Option<Event> {
        if self.taken == self.filled {
            if self.next_bucket()? << self.shift >= end {
                return None;
            }
            self.advance();
        }
        let event = self.current[..self.filled].get(self.taken).copied().filter(|e| e.0 < end)?;
        self.taken += 1;
        Some(event)
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
        self.current.truncate(MOST);
        let Some(bucket) = self.next_bucket() else { return };
        let far = self.far.peek().map(|Reverse(e)| e.0 >> self.shift);
        self.bucket = bucket;
        let slot = bucket as usize & (self.buckets.len() - 1);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let held = usize::from(std::mem::take(&mut self.held[slot]));
        if far == Some(bucket) || self.crowded[slot] != EMPTY {
            self.sort_many(slot, held);
            return;
        }
        self.filled = held;
        let Some(sorted) = self.current.first_chunk_mut() else { return };
        let tied = sort::by_time(&self.buckets[slot], held, bucket << self.shift, sorted);
        // The next one's events were written long ago, the first half of them on six cache lines.
        let next = &self.buckets[(slot + 1) & (self.buckets.len() - 1)];
        (0..MOST / 2).step_by(3).for_each(|k| prefetch(&next[k]));
        if tied != 0 {
            self.order_ties(tied);
        }
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

    /// Puts the events of a bucket in order where they are too many to be ranked, or some lay beyond the calendar when they were scheduled.
    #[inline(never)]
    fn sort_many(&mut self, slot: usize, held: usize) {
        self.current.clear();
        self.current.extend_from_slice(&self.buckets[slot][..held]);
        self.current.extend(self.crowds.blocks(self.crowded[slot]).flatten().copied().map(Event::from));
        self.crowds.clear(&mut self.crowded[slot]);
        while let Some(Reverse(event)) = self.far.peek()
            && event.0 >> self.shift <= self.bucket
        {
            self.current.push(*event);
            self.far.pop();
        }
        let ties = self.ties;
        self.current.sort_unstable_by(|a, b| ties.compare(a, b));
        self.filled = self.current.len();
        self.current.resize(self.filled.max(MOST), Event::default());
    }

    /// The bucket of the earliest event, none of which are in the present one.
    fn next_bucket(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse(e)| e.0 >> self.shift);
        self.next_occupied().into_iter().chain(far).min()
    }

    /// The next bucket after the present one that is not empty.
    fn next_occupied(&self) -> Option<u64> {
        let (buckets, words) = (self.buckets.len(), self.occupied.len());
        let from = (self.bucket + 1) as usize & (buckets - 1);
        for step in 0..=words {
            let index = (from / 64 + step) & (words - 1);
            let mut word = self.occupied[index];
            if step == 0 {
                word &= u64::MAX << (from % 64);
            } else if step == words {
                word &= !(u64::MAX << (from % 64));
            }
            if word != 0 {
                let slot = index * 64 + word.trailing_zeros() as usize;
                let ahead = slot.wrapping_sub(from) & (buckets - 1);
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

    /// Asking what comes before an instant, when the next event is far ahead, costs no room for each event that comes before that: close
    /// nodes whose next event was a timer once took 24 bytes for every packet until then.
    #[test]
    fn what_comes_before_a_far_event_is_forgotten() {
        let mut calendar = Calendar::new(1000, 100_000, Ties::Key);
        calendar.push(1_000_000_000, 0, 0);
        for at in (0..900_000_000).step_by(10_000) {
            calendar.push(at, 0, 1);
            assert_eq!(calendar.pop_before(at + 1), Some((at, 0, 1)));
            assert_eq!((calendar.pop_before(at + 1), calendar.next_at()), (None, Some(1_000_000_000)));
        }
        assert!(calendar.current.capacity() <= 4 * MOST, "{}", calendar.current.capacity());
    }

    proptest! {
        /// Events come out in order of (time, key), rank and all, whatever the mix of near, far and present times, and also where there
        /// are more at an instant than a bucket has room for. Those before an instant are taken as if there were no others, however
        /// often one asks in vain.
        #[test]
        fn events_come_in_order(
            width in 1u64..5000,
            reach in 0u64..2_000_000,
            gaps in prop::collection::vec((0u64..200_000_000, 0u64..4, any::<bool>(), prop_oneof![9 => 1..2usize, 1 => 1..3 * MOST]), 1..300),
            ahead in prop_oneof![Just(u64::MAX), 1..100_000u64],
        ) {
            let mut calendar = Calendar::new(width, reach, Ties::Key);
            let mut expected = BinaryHeap::new();
            let (mut now, mut pushed) = (0, 0);
            for (gap, scale, take, copies) in gaps {
                for _ in 0..copies {
                    let event = (now + (gap >> (scale * 8)), (pushed % 7) | ((pushed % 4) << 62), pushed);
                    pushed += 1;
                    calendar.push(event.0, event.1, event.2);
                    expected.push(Reverse(event));
                }
                let next = expected.peek().map(|Reverse(e)| e.0);
                prop_assert_eq!(calendar.next_at(), next);
                let end = now.saturating_add(ahead);
                if ahead < u64::MAX && next.is_some_and(|at| at >= end) {
                    prop_assert_eq!(calendar.pop_before(end), None);
                    // Time goes on to there, and what is scheduled next may lie before all others.
                    now = end;
                } else if take {
                    let got = if ahead < u64::MAX { calendar.pop_before(end) } else { calendar.pop() };
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
