//! The paths of sprayed messages: each path once, in random order, before any is used again.

use paceline_proto::rng::mix;
use paceline_proto::transport::ndp::paths::path;

/// Most paths that one permutation covers. Where there are more, the switches that would lead beyond it, the last on the way, draw apart
/// from the others: each of their next hops once before any is used again.
pub(crate) const MOST: u32 = 1 << 24;

/// The place of a packet in the spraying of its message: what decides at each switch between several next hops.
///
/// Its path is one number out of a permutation of all paths (NDP, section 3.1.1), of which each switch takes a digit. A permutation
/// switch by switch would spread packets more evenly than NDP does: no two in a row over the same aggregation switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    chosen: u64,
    number: u64,
    /// What is left of the path's number, below `left`.
    index: u32,
    /// Paths from here on, by the choices that are still to be made.
    left: u32,
}

impl Turn {
    /// The packet with a number, from 0, of a message and direction that `key` names, over `paths` paths: the product of the
    /// choices that the switches on a way have, see [`Choices`].
    pub(crate) fn new(key: u64, number: u64, paths: u32) -> Self {
        let left = paths.max(1);
        Self { chosen: key, number: number / u64::from(left), index: path(key, number, left), left }
    }

    /// The next hop at a switch that has `n`, below `n`.
    ///
    /// Where next hops lead to different numbers of choices (a link is down, a network without symmetry), the digits run out before
    /// the way ends: what is left is drawn switch by switch.
    pub(crate) fn next(&mut self, n: u32) -> u32 {
        if n > 1 && self.left.is_multiple_of(n) {
            let choice = self.index % n;
            self.index /= n;
            self.left /= n;
            self.chosen = mix(self.chosen ^ u64::from(choice));
            return choice;
        }
        let choice = path(self.chosen, self.number, n);
        self.number /= u64::from(n);
        self.chosen = mix(self.chosen ^ u64::from(choice));
        choice
    }
}

/// Counts the paths between two NICs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices(u32);

impl Choices {
    /// None so far: one path.
    pub(crate) fn none() -> Self {
        Self(1)
    }

    /// A switch on the way has `n` next hops.
    pub(crate) fn among(&mut self, n: u32) {
        self.0 = self.0.checked_mul(n).filter(|paths| *paths <= MOST).unwrap_or(self.0);
    }

    /// The paths, at most [`MOST`].
    pub(crate) fn paths(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn ways(key: u64, number: u64, tiers: &[u32]) -> Vec<u32> {
        let mut choices = Choices::none();
        for n in tiers {
            choices.among(*n);
        }
        let mut turn = Turn::new(key, number, choices.paths());
        tiers.iter().map(|n| turn.next(*n)).collect()
    }

    /// Every path once per round, over two and three tiers, also where the tiers have different numbers of hops.
    #[test]
    fn each_path_once_before_any_is_used_again() {
        for tiers in [vec![4, 4], vec![3, 5], vec![2, 3, 4], vec![7], vec![]] {
            let all = tiers.iter().product::<u32>();
            for round in 0..50 {
                let first = round * u64::from(all);
                let mut seen: Vec<_> = (first..first + u64::from(all)).map(|i| ways(9, i, &tiers)).collect();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), all as usize, "{tiers:?}, round {round}");
            }
        }
    }

    /// All orders of the four paths over two tiers of two are equally frequent. Drawn tier by tier only 16 of the 24 would occur: an
    /// uplink would never be used twice in a row within a round, and NDP would trim less than it does.
    #[test]
    fn orders_of_paths_over_two_tiers_are_uniform() {
        let mut count = BTreeMap::new();
        for key in 0..48_000 {
            let order: Vec<_> = (0..4).map(|i| ways(key, i, &[2, 2])).collect();
            *count.entry(order).or_insert(0u32) += 1;
        }
        assert_eq!(count.len(), 24);
        assert!(count.values().all(|c| (1_750..2_250).contains(c)), "{count:?}");
    }

    /// Beyond the largest permutation, and where a switch has another number of hops than was counted, all hops are still in use.
    #[test]
    fn what_no_digit_is_left_for_is_drawn_apart() {
        let huge = [4000, 4000, 4000];
        let mut seen: Vec<_> = (0..4000).map(|i| ways(3, i * 4000 * 4000, &huge)[2]).collect();
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 2000, "{}", seen.len());
        let mut used = [0; 3];
        for i in 0..3000 {
            let mut turn = Turn::new(5, i, 4);
            turn.next(2);
            used[turn.next(3) as usize] += 1;
        }
        assert!(used.iter().all(|n| (900..1100).contains(n)), "{used:?}");
    }
}
