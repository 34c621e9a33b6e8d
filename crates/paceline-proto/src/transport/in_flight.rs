//! Packets on their way, in the order they were sent: the ground for timeouts per packet.
//!
//! A list in order of sending and a bit per packet. A packet that leaves from the middle stays in the list until it comes to the front,
//! or until most of the list is of its kind: then these are swept out. So entering, leaving and finding the oldest take constant time on
//! average, and memory follows the number of packets in flight; only the bits follow the distance between the first and the last.

use std::collections::VecDeque;

use super::packet_set::PacketSet;
use crate::units::Time;

/// Packets that may have left and are still in the list, beside as many as are in flight.
const SLACK: usize = 16;

/// Packets in flight.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    /// By time of sending. The first is in flight.
    sent: VecDeque<(u32, Time)>,
    live: PacketSet,
    /// Those whose first place in the list is out of date: the packet has left since.
    stale: PacketSet,
}

impl InFlight {
    /// Packets in flight.
    #[inline]
    pub fn len(&self) -> u32 {
        self.live.len()
    }

    /// Whether nothing is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Whether the packet is.
    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        self.live.contains(seq)
    }

    /// The packet sent longest ago, and when.
    #[inline]
    pub fn oldest(&self) -> Option<(u32, Time)> {
        self.sent.front().copied()
    }

    /// The packet is sent at `now`, again if it is in flight. False, and nothing done, when it lies too far from another one in
    /// flight ([`super::packet_set::MAX_SPAN`]).
    #[inline]
    pub fn insert(&mut self, seq: u32, now: Time) -> bool {
        if self.live.contains(seq) {
            self.remove(seq);
        }
        if !self.live.insert(seq) {
            return false;
        }
        self.sent.push_back((seq, now));
        true
    }

    /// The packet is in flight no more. Whether it was.
    #[inline]
    pub fn remove(&mut self, seq: u32) -> bool {
        if !self.live.remove(seq) {
            return false;
        }
        if self.sent.front().is_some_and(|(first, _)| *first == seq) {
            // In order: the first place is never out of date.
            self.sent.pop_front();
        } else if !self.stale.insert(seq) {
            // One place out of date is all that the bit can tell of.
            self.sweep();
        }
        if self.sent.len() > 2 * self.live.len() as usize + SLACK {
            self.sweep();
        }
        while let Some((first, _)) = self.sent.front()
            && self.stale.remove(*first)
        {
            self.sent.pop_front();
        }
        true
    }

    /// Throws out what has left.
    #[cold]
    fn sweep(&mut self) {
        let (live, stale) = (&self.live, &mut self.stale);
        // Of a packet sent again the first place is the old one.
        self.sent.retain(|(seq, _)| live.contains(*seq) && !stale.remove(*seq));
        self.stale.clear();
        if self.sent.capacity() > 4 * (self.sent.len() + SLACK) {
            self.sent.shrink_to(2 * self.sent.len());
        }
    }

    /// Forgets everything; memory is kept.
    pub fn clear(&mut self) {
        self.sent.clear();
        self.live.clear();
        self.stale.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet_set::MAX_SPAN;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as a plain list in order of sending.
        #[test]
        fn same_as_a_list(steps in prop::collection::vec((0u8..3, 0u32..200), 0..300)) {
            let (mut f, mut model) = (InFlight::default(), Vec::<(u32, Time)>::new());
            for (now, (what, seq)) in steps.into_iter().enumerate() {
                let now = Time(now as u64);
                let was = model.iter().position(|(s, _)| *s == seq).map(|i| model.remove(i)).is_some();
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

    /// A packet that is lost waits for its timeout while the others come and go: of these nothing is kept but bits. Ten thousand flows
    /// with a timeout of 10 ms took 24 to 48 bytes for each packet they had sent.
    #[test]
    fn memory_is_of_what_is_in_flight() {
        let mut f = InFlight::default();
        for seq in 0..100_000 {
            f.insert(seq, Time(u64::from(seq)));
            // Fifty on their way, of which every thousandth is lost.
            if seq >= 50 && seq % 1000 != 50 {
                f.remove(seq - 50);
            }
            assert!(f.sent.capacity() <= 512, "{} for {}", f.sent.capacity(), f.len());
        }
        assert_eq!((f.oldest(), f.len()), (Some((0, Time(0))), 50 + 100));
        // A burst of which most have arrived gives its memory back.
        for seq in 100_000..200_000 {
            assert!(f.insert(seq, Time(0)));
        }
        for seq in 1000..200_000 {
            f.remove(seq);
        }
        assert_eq!(f.len(), 1);
        assert!(f.sent.capacity() < 200, "{}", f.sent.capacity());
    }

    #[test]
    fn absurd_distances_are_refused() {
        let mut f = InFlight::default();
        assert!(f.insert(0, Time(0)) && !f.insert(MAX_SPAN * 8, Time(0)) && f.contains(0));
    }
}
