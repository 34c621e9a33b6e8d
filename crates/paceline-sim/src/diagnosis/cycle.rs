//! Cycles in a relation of waiting.

use std::collections::BTreeMap;

/// A cycle in a relation: elements of which each waits for the next, and the last for the first. `waits` holds pairs (who, for
/// whom), in any order and any number of times. The same relation gives the same cycle, which begins with its least element.
pub fn find_cycle<V: Copy + Ord>(waits: &[(V, V)]) -> Option<Vec<V>> {
    let mut next: BTreeMap<V, Vec<V>> = BTreeMap::new();
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    for (who, whom) in sorted {
        next.entry(who).or_default().push(whom);
    }
    // Depth-first search with a stack of its own. Open elements are not looked at to the end yet: how much of each is, and its
    // place on the stack.
    let mut open: BTreeMap<V, (usize, Option<usize>)> = next.keys().map(|v| (*v, (0, None))).collect();
    while let Some((&root, _)) = open.first_key_value() {
        let mut path = vec![root];
        while let Some(&at) = path.last() {
            let (seen, place) = open.get_mut(&at)?;
            *place = Some(path.len() - 1);
            let Some(&whom) = next[&at].get(*seen) else {
                open.remove(&at);
                path.pop();
                continue;
            };
            *seen += 1;
            match open.get(&whom) {
                Some((_, Some(start))) => {
                    let mut cycle = path.split_off(*start);
                    let least = (0..cycle.len()).min_by_key(|i| cycle[*i])?;
                    cycle.rotate_left(least);
                    return Some(cycle);
                }
                Some((_, None)) => path.push(whom),
                None => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_relations() {
        assert_eq!(find_cycle::<u32>(&[]), None);
        assert_eq!(find_cycle(&[(1, 2), (2, 3), (1, 3)]), None, "two ways to the end of a chain");
        assert_eq!(find_cycle(&[(4, 4)]), Some(vec![4]));
        assert_eq!(find_cycle(&[(9, 1), (7, 5), (5, 6), (6, 7), (1, 5)]), Some(vec![5, 6, 7]), "entered from outside");
    }

    /// Relations in the order of the numbers have none; one pair back over a way that is there makes one.
    #[test]
    fn long_chains_do_not_overflow_the_stack() {
        let mut chain: Vec<(u32, u32)> = (0..100_000).map(|i| (i, i + 1)).collect();
        assert_eq!(find_cycle(&chain), None);
        chain.push((100_000, 0));
        assert_eq!(find_cycle(&chain).map(|c| c.len()), Some(100_001));
    }

    proptest! {
        /// What is found is a cycle; nothing is found only where peeling off those that wait for nobody leaves nobody.
        #[test]
        fn any_relation(waits in prop::collection::vec((0u8..12, 0u8..12), 0..30)) {
            let found = find_cycle(&waits);
            if let Some(cycle) = &found {
                let turned = cycle.iter().zip(cycle.iter().cycle().skip(1));
                prop_assert!(turned.into_iter().all(|(a, b)| waits.contains(&(*a, *b))));
                prop_assert_eq!(cycle.iter().min(), cycle.first());
            }
            let mut left = waits.clone();
            loop {
                let before = left.len();
                let waiting: Vec<u8> = left.iter().map(|w| w.0).collect();
                left.retain(|(_, whom)| waiting.contains(whom));
                if left.len() == before {
                    break;
                }
            }
            prop_assert_eq!(found.is_some(), !left.is_empty());
        }
    }
}
