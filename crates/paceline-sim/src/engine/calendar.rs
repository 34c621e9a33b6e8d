//! The sequential engine's event list: a calendar of short buckets, sorted when their time comes, and a heap for what
//! lies beyond it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::order;

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
const END: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    next: u32,
}

/// A priority queue of events whose times rarely lie before the last one taken.
#[derive(Debug)]
pub(super) struct Calendar {
    /// Bucket of a time: `time >> shift`.
    shift: u32,
    /// First node of each bucket.
    buckets: Vec<u32>,
    /// One bit per bucket: not empty.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    free: u32,
    /// Events of the bucket being worked on, latest first.
    current: Vec<Event>,
    /// That bucket, counted from time 0.
    bucket: u64,
    far: BinaryHeap<Reverse<Event>>,
    ties: Ties,
}

impl Calendar {
    /// A calendar whose buckets are at most `width` ps wide.
    pub(super) fn new(width: u64, ties: Ties) -> Self {
        Self {
            shift: width.max(1).ilog2(),
            buckets: vec![END; BUCKETS],
            occupied: vec![0; BUCKETS / 64],
            nodes: Vec::new(),
            free: END,
            current: Vec::new(),
            bucket: 0,
            far: BinaryHeap::new(),
            ties,
        }
    }

    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let bucket = event.0 >> self.shift;
        if bucket <= self.bucket {
            let at = self.current.partition_point(|e| self.ties.compare(e, &event).is_gt());
            self.current.insert(at, event);
            return;
        }
        if bucket >= self.bucket + BUCKETS as u64 {
            self.far.push(Reverse(event));
            return;
        }
        let slot = bucket as usize & (BUCKETS - 1);
        let node = Node { event, next: self.buckets[slot] };
        let index = if self.free == END {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = std::mem::replace(&mut self.nodes[index as usize], node).next;
            index
        };
        self.buckets[slot] = index;
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Takes the earliest event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if let Some(event) = self.current.pop() {
            return Some(event);
        }
        self.advance();
        self.current.pop()
    }

    /// Goes on to the next bucket with events.
    fn advance(&mut self) {
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(e)| e.0 >> self.shift);
        let Some(bucket) = near.into_iter().chain(far).min() else { return };
        self.bucket = bucket;
        let slot = bucket as usize & (BUCKETS - 1);
        if near == Some(bucket) {
            let mut at = std::mem::replace(&mut self.buckets[slot], END);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            while at != END {
                let node = &mut self.nodes[at as usize];
                self.current.push(node.event);
                let next = std::mem::replace(&mut node.next, self.free);
                self.free = at;
                at = next;
            }
        }
        while let Some(Reverse(event)) = self.far.peek()
            && event.0 >> self.shift <= bucket
        {
            self.current.push(*event);
            self.far.pop();
        }
        let ties = self.ties;
        self.current.sort_unstable_by(|a, b| ties.compare(b, a));
    }

    /// The next bucket after the present one that is not empty.
    fn next_occupied(&self) -> Option<u64> {
        let from = (self.bucket + 1) as usize & (BUCKETS - 1);
        let words = self.occupied.len();
        for step in 0..=words {
            let index = (from / 64 + step) % words;
            let mut word = self.occupied[index];
            if step == 0 {
                word &= u64::MAX << (from % 64);
            } else if step == words {
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
