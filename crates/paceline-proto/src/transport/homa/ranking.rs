//! Which messages a receiver grants: the shortest of each sender, and of these the shortest few; and which scheduled level each has.
//!
//! The granted senders have levels one after another (facts 2.3), as in the authors' simulator. Who comes to the front takes the level above,
//! where one is left, so that it does not queue behind what was granted before; when the first leaves, the others keep their levels. They
//! move up only where there would not be enough of them below.
//!
//! Work is done when a message begins, ends or changes places, not per packet: the few active messages are a short sorted list,
//! the others wait in heaps whose outdated entries are skipped when they come up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Time;

/// What messages are ordered by: packets to be granted, then length, time of the first packet, slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub(super) ungranted: u32,
    pub(super) packets: u32,
    pub(super) since: Time,
    pub(super) slot: u32,
}

#[derive(Clone, Debug, Default)]
struct Peer {
    /// Its messages that are not granted now, and outdated entries.
    waiting: BinaryHeap<Reverse<Key>>,
    active: bool,
    /// With which of them it stands in the queue, so that it is there once: entries with others are outdated.
    offered: Option<Key>,
}

/// The order of a receiver's messages that need grants.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    /// Messages granted now, best first, one per sender.
    active: Vec<(Key, u32)>,
    /// Most of them.
    degree: usize,
    /// Scheduled levels.
    levels: i64,
    /// Level of the best message, from 0, the highest. Below 0 where more messages are granted than there are levels: the first share one.
    first: i64,
    peers: Vec<Peer>,
    /// The best waiting message of each sender that has no active one, and outdated entries.
    queue: BinaryHeap<Reverse<(Key, u32)>>,
    /// Key of each slot's message, if it is ranked.
    keys: Vec<Option<Key>>,
}

impl Ranking {
    /// `degree`: the most messages granted at a time; `levels`: scheduled levels.
    pub(super) fn new(degree: u32, levels: u8) -> Self {
        let (degree, levels) = (degree.max(1) as usize, i64::from(levels.max(1)));
        let (peers, queue, keys) = (Vec::new(), BinaryHeap::new(), Vec::new());
        Self { active: Vec::new(), degree, levels, first: levels, peers, queue, keys }
    }

    /// Messages granted now, best first.
    #[inline]
    pub(super) fn active(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.active.iter().map(|(key, _)| key.slot)
    }

    /// The message's place among the active ones, from 0.
    #[inline]
    pub(super) fn rank(&self, slot: u32) -> Option<usize> {
        self.active.iter().position(|(key, _)| key.slot == slot)
    }

    /// Level of the active message that has this place, from 0, the highest of the scheduled ones.
    #[inline]
    pub(super) fn level(&self, rank: usize) -> u8 {
        (self.first + rank as i64).clamp(0, self.levels - 1) as u8
    }

    /// The sender of the best message.
    fn front(&self) -> Option<u32> {
        self.active.first().map(|(_, peer)| *peer)
    }

    /// Moves the levels after one sender's message has come, gone or changed places; `before` was in front.
    fn settle(&mut self, before: Option<u32>, peer: u32) {
        let after = self.front();
        if after != before {
            let came = after == Some(peer);
            self.first += if came { -i64::from(self.first > 0) } else { 1 };
        }
        self.first = self.first.min(self.levels - self.active.len() as i64);
        if after.is_none() {
            self.first = self.levels;
        }
    }

    fn waits(&self, key: &Key) -> bool {
        self.keys[key.slot as usize] == Some(*key) && self.rank(key.slot).is_none()
    }

    /// Ranks a message that needs grants, or changes the rank of one that is ranked; with nothing to be granted it leaves.
    pub(super) fn set(&mut self, peer: u32, key: Key) {
        let i = key.slot as usize;
        if i >= self.keys.len() {
            self.keys.resize(i + 1, None);
        }
        if peer as usize >= self.peers.len() {
            self.peers.resize_with(peer as usize + 1, Peer::default);
        }
        if self.keys[i] == Some(key) {
            return;
        }
        let before = self.front();
        self.place(peer, key);
        self.settle(before, peer);
    }

    fn place(&mut self, peer: u32, key: Key) {
        if let Some(rank) = self.rank(key.slot).filter(|_| key.ungranted > 0) {
            // Grants only bring a message forward, and what brings it back is rare: then it competes anew.
            let better = key < self.active[rank].0;
            self.keys[key.slot as usize] = Some(key);
            if better {
                self.active[rank].0 = key;
                self.active[..=rank].sort_unstable();
                return;
            }
        }
        self.leave(key.slot);
        if key.ungranted > 0 {
            self.insert(peer, key);
        }
    }

    fn insert(&mut self, peer: u32, key: Key) {
        self.keys[key.slot as usize] = Some(key);
        if self.peers[peer as usize].active {
            match self.active.iter().position(|(_, p)| *p == peer) {
                Some(rank) if key < self.active[rank].0 => {
                    let old = std::mem::replace(&mut self.active[rank].0, key);
                    self.active.sort_unstable();
                    self.peers[peer as usize].waiting.push(Reverse(old));
                }
                _ => self.peers[peer as usize].waiting.push(Reverse(key)),
            }
            return;
        }
        if self.active.len() >= self.degree {
            match self.active.last() {
                Some(&(worst, loser)) if key < worst => {
                    self.active.pop();
                    self.peers[loser as usize].active = false;
                    self.peers[loser as usize].waiting.push(Reverse(worst));
                    self.offer(loser);
                }
                _ => {
                    self.peers[peer as usize].waiting.push(Reverse(key));
                    self.offer(peer);
                    return;
                }
            }
        }
        self.activate(peer, key);
    }

    fn activate(&mut self, peer: u32, key: Key) {
        self.peers[peer as usize].active = true;
        self.active.push((key, peer));
        self.active.sort_unstable();
    }

    /// Puts the best waiting message of a sender without an active one into the queue.
    fn offer(&mut self, peer: u32) {
        while let Some(&Reverse(key)) = self.peers[peer as usize].waiting.peek() {
            if self.waits(&key) {
                if self.peers[peer as usize].offered.replace(key) != Some(key) {
                    self.queue.push(Reverse((key, peer)));
                }
                return;
            }
            self.peers[peer as usize].waiting.pop();
        }
    }

    /// The message needs no more grants.
    pub(super) fn remove(&mut self, slot: u32) {
        let before = self.front();
        if let Some(peer) = self.leave(slot) {
            self.settle(before, peer);
        }
    }

    /// Returns the message's sender if it was active.
    fn leave(&mut self, slot: u32) -> Option<u32> {
        if let Some(key) = self.keys.get_mut(slot as usize) {
            *key = None;
        }
        let (_, gone) = self.active.remove(self.rank(slot)?);
        self.peers[gone as usize].active = false;
        self.offer(gone);
        while self.active.len() < self.degree {
            let Some(Reverse((key, peer))) = self.queue.pop() else { break };
            let whose = &mut self.peers[peer as usize];
            if whose.offered != Some(key) {
                continue;
            }
            whose.offered = None;
            if whose.active {
                continue;
            }
            if self.waits(&key) {
                self.activate(peer, key);
            } else {
                self.offer(peer);
            }
        }
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn key(slot: u32, ungranted: u32) -> Key {
        Key { ungranted, packets: 100, since: Time(0), slot }
    }

    fn active(r: &Ranking) -> Vec<u32> {
        r.active().collect()
    }

    /// Two places, one message per sender, the shortest first; a shorter one takes the place of its sender's longer one or
    /// of the worst.
    #[test]
    fn the_shortest_of_each_sender_compete() {
        let mut r = Ranking::new(2, 7);
        r.set(0, key(0, 50));
        r.set(0, key(1, 60));
        r.set(1, key(2, 40));
        assert_eq!(active(&r), [2, 0]);
        r.set(0, key(3, 30));
        assert_eq!(active(&r), [3, 2], "the sender's shorter message goes first");
        r.set(2, key(4, 10));
        assert_eq!(active(&r), [4, 3]);
        r.remove(4);
        assert_eq!(active(&r), [3, 2]);
        r.set(0, key(3, 0));
        assert_eq!(active(&r), [2, 0]);
        r.set(1, key(2, 55));
        assert_eq!(active(&r), [0, 2], "its turn comes later when more of it is missing");
    }

    /// Sender and level of each active message.
    fn levels(r: &Ranking) -> Vec<(u32, u8)> {
        r.active.iter().enumerate().map(|(rank, (_, peer))| (*peer, r.level(rank))).collect()
    }

    /// Facts 2.3: as many of the lowest levels as there are messages; a newcomer in front takes the level above, and the others keep
    /// theirs while it is there and when it has left.
    #[test]
    fn a_newcomer_in_front_takes_the_next_unused_level() {
        let mut r = Ranking::new(2, 7);
        r.set(0, key(0, 50));
        assert_eq!(levels(&r), [(0, 6)]);
        r.set(1, key(1, 60));
        assert_eq!(levels(&r), [(0, 5), (1, 6)], "one behind it: there is no level below");
        r.set(2, key(2, 40));
        assert_eq!(levels(&r), [(2, 4), (0, 5)]);
        r.set(1, key(1, 30));
        assert_eq!(levels(&r), [(1, 3), (2, 4)], "one that waited comes to the front like a newcomer");
        r.remove(1);
        assert_eq!(levels(&r), [(2, 4), (0, 5)]);
        r.set(2, key(2, 70));
        assert_eq!(levels(&r), [(0, 5), (2, 6)]);
        r.remove(2);
        assert_eq!(levels(&r), [(0, 5)], "what was granted before stays ahead of what comes behind it");
        r.set(0, key(3, 20));
        assert_eq!(levels(&r), [(0, 5)], "another message of the same sender");
        r.remove(3);
        r.remove(0);
        r.set(3, key(4, 90));
        assert_eq!(levels(&r), [(3, 6)], "with nobody left all levels are unused");
    }

    /// Newcomers use the levels up; then the others are moved down. With more messages than levels the first share the highest.
    #[test]
    fn levels_run_out() {
        let mut r = Ranking::new(4, 3);
        for (slot, level) in [(0, 2), (1, 1), (2, 0), (3, 0)] {
            r.set(slot, key(slot, 90 - slot));
            assert_eq!(levels(&r)[0], (slot, level));
        }
        assert_eq!(levels(&r), [(3, 0), (2, 0), (1, 1), (0, 2)]);
        let mut r = Ranking::new(1, 3);
        for slot in 0..5 {
            r.set(slot, key(slot, 90 - slot));
        }
        assert_eq!(levels(&r), [(4, 0)]);
    }

    /// A thousand messages of two senders for one place: each stands in the queue once. With an entry for each message that came, a run
    /// took time by the square of their number.
    #[test]
    fn a_sender_stands_in_the_queue_once() {
        let mut r = Ranking::new(1, 7);
        for slot in 0..1000 {
            r.set(slot % 2, key(slot, 1 + slot));
        }
        for slot in 0..998 {
            r.remove(slot);
            assert_eq!(active(&r), [slot + 1]);
            assert!(r.queue.len() <= 4, "{} entries", r.queue.len());
        }
    }

    proptest! {
        /// The same as sorting everything anew each time, but for equal keys that differ in nothing.
        #[test]
        fn same_as_sorting(steps in prop::collection::vec((0u32..12, 0u32..20), 0..300), degree in 1u32..5) {
            let mut r = Ranking::new(degree, 7);
            let mut model = BTreeMap::new();
            for (slot, ungranted) in steps {
                let (peer, k) = (slot % 4, key(slot, ungranted));
                r.set(peer, k);
                model.insert(slot, k);
                let mut best = BTreeMap::new();
                for k in model.values().filter(|k| k.ungranted > 0) {
                    let b = best.entry(k.slot % 4).or_insert(*k);
                    *b = (*b).min(*k);
                }
                let mut best: Vec<Key> = best.into_values().collect();
                best.sort_unstable();
                best.truncate(degree as usize);
                prop_assert_eq!(active(&r), best.into_iter().map(|k| k.slot).collect::<Vec<_>>());
                let levels: Vec<u8> = levels(&r).into_iter().map(|(_, level)| level).collect();
                prop_assert!(levels.windows(2).all(|w| w[0] + 1 == w[1]) && levels.iter().all(|l| *l < 7), "{:?}", levels);
            }
        }
    }
}
