//! NDP's choice of paths: every path once in random order, then all of them again in another order.
//!
//! Source: the NDP paper, section 3.1.1 (proactive facts, section 3.4). Only a function: the `i`-th packet of a message takes a
//! path that follows from (key, i), so nothing is stored.
//!
//! *Deviation:* the path scoreboard (avoiding paths with unusually many NACKs) is left out; it is optional in the source.

use crate::rng::{below, hash3, mix};

/// The path of the `counter`-th packet among `paths` equal ones; 0 when there is at most one.
///
/// `key` names the message and the direction. Each block of `paths` packets is a permutation of the paths, by the
/// swap-or-not shuffle (Hoang, Morris and Rogaway 2012): in each of eight rounds a random partner is drawn for every
/// path, and a random bit of the pair decides whether the two change places.
pub fn path(key: u64, counter: u64, paths: u32) -> u32 {
    if paths <= 1 {
        return 0;
    }
    let (block, mut at) = (counter / u64::from(paths), (counter % u64::from(paths)) as u32);
    for round in 0..8 {
        let bits = hash3(key, block, round);
        let sum = below(bits, paths);
        let partner = if at <= sum { sum - at } else { paths - (at - sum) };
        if mix(bits ^ u64::from(at.max(partner))) >> 63 != 0 {
            at = partner;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every path is used exactly once per round.
        #[test]
        fn every_round_is_a_permutation(key: u64, paths in 1u32..200, round in 0u64..1000) {
            let n = u64::from(paths);
            let mut used: Vec<u32> = (round * n..(round + 1) * n).map(|i| path(key, i, paths)).collect();
            used.sort_unstable();
            prop_assert!(used.into_iter().eq(0..paths));
        }
    }

    /// All orders of three paths are equally frequent, in one round after the other and over messages.
    #[test]
    fn orders_are_uniform() {
        for by_key in [false, true] {
            let mut count = std::collections::BTreeMap::new();
            for n in 0..60_000u64 {
                let (key, round) = if by_key { (n, 0) } else { (5, n) };
                let order = [0, 1, 2].map(|i| path(key, round * 3 + i, 3));
                *count.entry(order).or_insert(0u32) += 1;
            }
            assert!(count.len() == 6 && count.values().all(|c| (9_500..10_500).contains(c)), "{count:?}");
        }
        assert_eq!(path(1, u64::MAX, u32::MAX), path(1, u64::MAX, u32::MAX));
    }
}
