//! Packets on their way, in the order they were sent: the ground for timeouts per packet.
//!
//! A ring of list nodes indexed by packet number. Entering, leaving and finding the oldest take constant time; memory
//! follows the distance between the first and the last packet in flight and is kept for reuse.

use super::packet_set::MAX_SPAN;
use crate::units::Time;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Packet number; [`NONE`]: the place is free.
    seq: u32,
    before: u32,
    after: u32,
    sent: Time,
}

const FREE: Node = Node { seq: NONE, before: NONE, after: NONE, sent: Time(0) };

/// Packets in flight.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// A power of two long, or empty.
    nodes: Vec<Node>,
    oldest: u32,
    newest: u32,
    len: u32,
}

impl Default for InFlight {
    fn default() -> Self {
        Self { nodes: Vec::new(), oldest: NONE, newest: NONE, len: 0 }
    }
}

impl InFlight {
    #[inline]
    fn index(&self, seq: u32) -> usize {
        seq as usize & (self.nodes.len() - 1)
    }

    #[inline]
    fn node(&mut self, seq: u32) -> &mut Node {
        let i = self.index(seq);
        &mut self.nodes[i]
    }

    /// Packets in flight.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether nothing is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the packet is.
    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        self.len > 0 && self.nodes[self.index(seq)].seq == seq
    }

    /// The packet sent longest ago, and when.
    #[inline]
    pub fn oldest(&self) -> Option<(u32, Time)> {
        (self.len > 0).then(|| (self.oldest, self.nodes[self.index(self.oldest)].sent))
    }

    /// The packet is sent at `now`, again if it is in flight. False, and nothing done, when it lies more than 4 Mi packets
    /// from another one in flight ([`MAX_SPAN`]).
    #[inline]
    pub fn insert(&mut self, seq: u32, now: Time) -> bool {
        self.remove(seq);
        while self.nodes.is_empty() || self.nodes[self.index(seq)].seq != NONE {
            if !self.grow() {
                return false;
            }
        }
        let before = self.newest;
        *self.node(seq) = Node { seq, before, after: NONE, sent: now };
        if before == NONE {
            self.oldest = seq;
        } else {
            self.node(before).after = seq;
        }
        self.newest = seq;
        self.len += 1;
        true
    }

    /// Doubles the ring. False when it is as long as it may be.
    #[cold]
    fn grow(&mut self) -> bool {
        let size = (self.nodes.len() * 2).max(16);
        if size > MAX_SPAN as usize {
            return false;
        }
        let old = std::mem::replace(&mut self.nodes, vec![FREE; size]);
        for node in old {
            if node.seq != NONE {
                *self.node(node.seq) = node;
            }
        }
        true
    }

    /// The packet is in flight no more. When it was sent, if it was.
    #[inline]
    pub fn remove(&mut self, seq: u32) -> Option<Time> {
        if !self.contains(seq) {
            return None;
        }
        let node = std::mem::replace(self.node(seq), FREE);
        if node.before == NONE {
            self.oldest = node.after;
        } else {
            self.node(node.before).after = node.after;
        }
        if node.after == NONE {
            self.newest = node.before;
        } else {
            self.node(node.after).before = node.before;
        }
        self.len -= 1;
        Some(node.sent)
    }

    /// Forgets everything; memory is kept.
    pub fn clear(&mut self) {
        while let Some((seq, _)) = self.oldest() {
            self.remove(seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as a plain list in order of sending.
        #[test]
        fn same_as_a_list(steps in prop::collection::vec((0u8..3, 0u32..200), 0..300)) {
            let (mut f, mut model) = (InFlight::default(), Vec::<(u32, Time)>::new());
            for (now, (what, seq)) in steps.into_iter().enumerate() {
                let now = Time(now as u64);
                let was = model.iter().position(|(s, _)| *s == seq).map(|i| model.remove(i).1);
                if what == 0 {
                    prop_assert_eq!(f.remove(seq), was);
                } else {
                    prop_assert!(f.insert(seq, now));
                    model.push((seq, now));
                }
                prop_assert_eq!(f.oldest(), model.first().copied());
                prop_assert_eq!((f.len() as usize, f.contains(seq)), (model.len(), what != 0));
            }
        }
    }

    #[test]
    fn absurd_distances_are_refused() {
        let mut f = InFlight::default();
        assert!(f.insert(0, Time(0)) && !f.insert(MAX_SPAN * 8, Time(0)) && f.contains(0));
    }
}
