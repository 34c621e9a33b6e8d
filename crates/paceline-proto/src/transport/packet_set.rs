//! Sets of packet numbers: what has arrived, what is lost, what waits to be sent again.
//!
//! Memory follows the distance between the smallest and the largest member, grows by doubling and is kept for reuse, so
//! that nothing is allocated per packet.

/// A set whose members would lie further apart than this many packets refuses the newcomer. At 400 Gb/s and 1.5 kB these
/// are 2 s of traffic, and half of them, what may lie beyond a first hole, 50 GB; the limit keeps a header with an absurd number from
/// claiming memory (8 MiB at most).
pub const MAX_SPAN: u32 = 1 << 26;

/// A set of packet numbers.
#[derive(Clone, Debug, Default)]
pub struct PacketSet {
    /// Ring of 64-bit words, a power of two long or empty. Words outside `low..low + span` are zero.
    words: Vec<u64>,
    /// Number of the first word in use; not zero unless the set is empty.
    low: u32,
    /// Words in use.
    span: u32,
    len: u32,
}

impl PacketSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new(), low: 0, span: 0, len: 0 }
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all members; memory is kept.
    pub fn clear(&mut self) {
        self.words.fill(0);
        (self.low, self.span, self.len) = (0, 0, 0);
    }

    #[inline]
    fn index(&self, word: u32) -> usize {
        word as usize & (self.words.len() - 1)
    }

    #[inline]
    fn word(&self, word: u32) -> u64 {
        if word.wrapping_sub(self.low) < self.span { self.words[self.index(word)] } else { 0 }
    }

    /// Whether `n` is a member.
    #[inline]
    pub fn contains(&self, n: u32) -> bool {
        self.word(n / 64) >> (n % 64) & 1 != 0
    }

    /// Whether `n` is a member or could become one.
    pub fn fits(&self, n: u32) -> bool {
        self.len == 0 || self.span_with(n / 64).1 <= MAX_SPAN / 64
    }

    /// First word and number of words with a further one in use.
    #[inline]
    fn span_with(&self, word: u32) -> (u32, u32) {
        if self.len == 0 {
            return (word, 1);
        }
        let low = self.low.min(word);
        let last = (self.low + (self.span - 1)).max(word);
        (low, last - low + 1)
    }

    /// Adds a member. False when it is one already or does not fit ([`MAX_SPAN`]).
    #[inline]
    pub fn insert(&mut self, n: u32) -> bool {
        let word = n / 64;
        let (low, span) = self.span_with(word);
        if span > MAX_SPAN / 64 {
            return false;
        }
        if span as usize > self.words.len() {
            self.grow(span);
        }
        (self.low, self.span) = (low, span);
        let (index, bit) = (self.index(word), 1 << (n % 64));
        let new = self.words[index] & bit == 0;
        self.words[index] |= bit;
        self.len += u32::from(new);
        new
    }

    #[cold]
    fn grow(&mut self, span: u32) {
        let size = (span as usize).next_power_of_two().max(2);
        let mut words = vec![0; size];
        for w in self.low..self.low + self.span {
            words[w as usize & (size - 1)] = self.word(w);
        }
        self.words = words;
    }

    /// Takes a member out. Whether it was one.
    #[inline]
    pub fn remove(&mut self, n: u32) -> bool {
        if !self.contains(n) {
            return false;
        }
        let index = self.index(n / 64);
        self.words[index] &= !(1 << (n % 64));
        self.len -= 1;
        if self.len == 0 {
            self.span = 0;
            return true;
        }
        while self.words[self.index(self.low)] == 0 {
            self.low += 1;
            self.span -= 1;
        }
        while self.words[self.index(self.low + self.span - 1)] == 0 {
            self.span -= 1;
        }
        true
    }

    /// The smallest member.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.len > 0).then(|| self.low * 64 + self.words[self.index(self.low)].trailing_zeros())
    }

    /// Takes out the smallest member.
    #[inline]
    pub fn pop_first(&mut self) -> Option<u32> {
        let first = self.first()?;
        self.remove(first);
        Some(first)
    }

    /// The smallest member not below `n`.
    pub fn first_from(&self, n: u32) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let (begin, end) = ((n / 64).max(self.low), self.low + self.span);
        (begin..end).find_map(|w| {
            let mask = if w == n / 64 { u64::MAX << (n % 64) } else { u64::MAX };
            let word = self.word(w) & mask;
            (word != 0).then(|| w * 64 + word.trailing_zeros())
        })
    }
}

/// What a packet was to a [`Received`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The first copy.
    New,
    /// It has been here before.
    Duplicate,
    /// Too far ahead of the first missing packet to be kept ([`MAX_SPAN`]): as if it had been lost.
    TooFar,
}

/// Packets of a message that have arrived (or, at a sender, have been acknowledged), in any order.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Everything below has arrived.
    next: u32,
    /// What has arrived above.
    above: PacketSet,
}

impl Received {
    /// Forgets everything; memory is kept.
    pub fn clear(&mut self) {
        self.next = 0;
        self.above.clear();
    }

    /// Records a packet.
    #[inline]
    pub fn insert(&mut self, seq: u32) -> Arrival {
        if seq == self.next && seq < u32::MAX {
            self.next += 1;
            while !self.above.is_empty() && self.above.remove(self.next) {
                self.next += 1;
            }
            return Arrival::New;
        }
        if self.contains(seq) {
            return Arrival::Duplicate;
        }
        if seq - self.next >= MAX_SPAN / 2 || !self.above.insert(seq) {
            return Arrival::TooFar;
        }
        Arrival::New
    }

    /// Whether the packet has arrived.
    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        seq < self.next || self.above.contains(seq)
    }

    /// Packets that have arrived.
    #[inline]
    pub fn count(&self) -> u32 {
        self.next + self.above.len()
    }

    /// The first missing packet.
    #[inline]
    pub fn first_missing(&self) -> u32 {
        self.next
    }

    /// The first run of missing packets below `end`, at most `limit` long: start and length.
    pub fn first_gap(&self, end: u32, limit: u32) -> Option<(u32, u32)> {
        let stop = self.above.first().unwrap_or(u32::MAX).min(end);
        (self.next < stop).then(|| (self.next, (stop - self.next).min(limit)))
    }

    /// Packets below `end` that have arrived.
    pub fn count_below(&self, end: u32) -> u32 {
        if end <= self.next {
            return end;
        }
        let mut count = self.next;
        let mut at = self.next;
        while let Some(n) = self.above.first_from(at).filter(|n| *n < end) {
            count += 1;
            at = n + 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_far_apart_are_refused_and_claim_no_memory() {
        let mut s = PacketSet::new();
        assert!(s.insert(u32::MAX) && !s.insert(0) && !s.fits(0));
        assert_eq!((s.len(), s.first(), s.words.len()), (1, Some(u32::MAX), 2));
        let mut r = Received::default();
        assert_eq!(r.insert(u32::MAX), Arrival::TooFar);
        assert_eq!((r.insert(1), r.insert(0), r.count()), (Arrival::New, Arrival::New, 2));
    }

    proptest! {
        /// The set behaves as an ordinary ordered set through growth, wrap-around and trimming.
        #[test]
        fn same_as_an_ordered_set(steps in prop::collection::vec((0u8..4, 0u32..700), 0..400), base in 0u32..5000) {
            let (mut s, mut model) = (PacketSet::new(), BTreeSet::new());
            for (i, (what, n)) in steps.into_iter().enumerate() {
                let n = base + n + 10 * i as u32;
                match what {
                    0 | 1 => prop_assert_eq!(s.insert(n), model.insert(n)),
                    2 => prop_assert_eq!(s.remove(n), model.remove(&n)),
                    _ => prop_assert_eq!(s.pop_first(), model.pop_first()),
                }
                prop_assert_eq!(s.len() as usize, model.len());
                prop_assert_eq!(s.first(), model.first().copied());
                prop_assert_eq!(s.first_from(n), model.range(n..).next().copied());
                prop_assert_eq!(s.contains(n), model.contains(&n));
            }
        }

        /// Arrival in any order, with duplicates, is counted once each, and the first gap is the first gap.
        #[test]
        fn received_counts_each_packet_once(seqs in prop::collection::vec(0u32..300, 0..600), end in 0u32..300) {
            let (mut r, mut model) = (Received::default(), BTreeSet::new());
            for seq in seqs {
                let expected = if model.insert(seq) { Arrival::New } else { Arrival::Duplicate };
                prop_assert_eq!(r.insert(seq), expected);
            }
            prop_assert_eq!(r.count() as usize, model.len());
            prop_assert_eq!(r.count_below(end) as usize, model.range(..end).count());
            let first = (0..end).find(|n| !model.contains(n));
            let gap = first.map(|f| (f, (f..end).take_while(|n| !model.contains(n)).count() as u32));
            prop_assert_eq!(r.first_gap(end, u32::MAX), gap);
        }
    }
}
