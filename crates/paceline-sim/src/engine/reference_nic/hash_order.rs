//! The order in which the reference simulator comes across a host's flows when a link has failed: that of a hash table.
//!
//! It keeps them in an `unordered_map` of GNU's C++ library by a key of 64 bits, whose hash is the key itself. What that
//! library's documentation leaves open was observed of GCC 12 (the same from 9 on): all entries are in one list; an entry
//! goes to the front of its bucket, or of the list where its bucket is empty; a table that is full goes over to the next
//! size below, and its entries, in the order of the list, are entered anew.

use std::collections::BTreeMap;

/// Sizes a table grows through.
const SIZES: [u64; 21] = [
    13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10_273, 20_753, 42_043, 85_229, 172_933, 351_061, 712_697, 1_447_153,
    2_938_679, 5_967_347, 12_117_689, 24_607_243,
];

/// The flows of a host in that order.
#[derive(Clone, Debug, Default)]
pub(super) struct HashOrder {
    /// Key and flow slot.
    entries: Vec<(u64, u32)>,
    /// Place of the table's size.
    size: usize,
}

impl HashOrder {
    fn buckets(&self) -> u64 {
        SIZES[self.size.min(SIZES.len() - 1)]
    }

    /// Enters a flow; its key is new.
    pub(super) fn insert(&mut self, key: u64, slot: u32) {
        if self.entries.len() as u64 == self.buckets() {
            self.grow();
        }
        let buckets = self.buckets();
        let place = self.entries.iter().position(|(k, _)| k % buckets == key % buckets);
        self.entries.insert(place.unwrap_or(0), (key, slot));
    }

    fn grow(&mut self) {
        self.size += 1;
        let buckets = self.buckets();
        // The last of a bucket that is entered stands first in it, and the last bucket first of all.
        let mut met = BTreeMap::new();
        let ranked = self.entries.iter().map(|entry| {
            let next = met.len();
            (*met.entry(entry.0 % buckets).or_insert(next), *entry)
        });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        self.entries = ranked.into_iter().rev().map(|(_, entry)| entry).collect();
    }

    /// Takes a flow out.
    pub(super) fn remove(&mut self, slot: u32) {
        self.entries.retain(|(_, s)| *s != slot);
    }

    /// The flows.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|(_, slot)| *slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(order: &HashOrder) -> Vec<u64> {
        order.entries.iter().map(|(key, _)| *key).collect()
    }

    /// Observed of `std::unordered_map<uint64_t, int>` of GCC 12.2 with the same insertions and removals.
    #[test]
    fn flows_come_as_from_the_hash_table() {
        let mut order = HashOrder::default();
        for key in [5, 18, 7, 31, 2, 20] {
            order.insert(key, key as u32);
        }
        assert_eq!(walked(&order), [2, 20, 7, 31, 18, 5]);
        order.remove(18);
        for key in [44, 100, 3, 4, 70, 71, 72, 9, 10] {
            order.insert(key, key as u32);
        }
        assert_eq!(walked(&order), [10, 5, 44, 70, 7, 20, 72, 31, 2, 9, 3, 4, 100, 71]);
    }
}
