//! Sorting a dozen events of a bucket, or arrivals of a window, in any order.
//!
//! A sort by comparisons mispredicts a branch per event, which costs more than all else it does. A few events are therefore ranked: for
//! each it is counted how many come before it, four at a time, without branches on the times and by loops of fixed length.

use wide::i32x4;

use super::inbox::Key;
use super::order::Event;

/// Numbers ranked at once.
pub(super) const BLOCK: usize = 8;
/// More than this are not ranked; a bucket of the calendar has room for so many events.
pub(super) const MOST: usize = 4 * BLOCK;
/// Bits of a place among them.
const PLACE_BITS: u32 = MOST.trailing_zeros();
/// Bits of an event's rank.
const RANK_BITS: u32 = 2;

/// Times to be ranked, since the beginning of their bucket or window, must be below this, ps.
/// With the bits below them they stay under half of what an `i32` holds, whose largest value stands for nothing there.
pub(super) const WIDEST: u64 = 1 << (i32::BITS - 2 - PLACE_BITS - RANK_BITS);

/// Numbers all different, and how many are smaller than each.
struct Ranked<const BLOCKS: usize> {
    numbers: [[i32; BLOCK]; BLOCKS],
    ranks: [[i32; BLOCK]; BLOCKS],
}

/// Ranks `n` of what `number` gives for each block and place in it; equal ones in the order of their places. The rest of the last block
/// comes after everything.
#[inline(always)]
fn rank<const BLOCKS: usize>(n: usize, number: impl Fn(usize, usize) -> i32) -> Ranked<BLOCKS> {
    let places = [i32x4::new([0, 1, 2, 3]), i32x4::new([4, 5, 6, 7])];
    let mut numbers = [[i32x4::ZERO; 2]; BLOCKS];
    for (block, numbers) in numbers.iter_mut().enumerate() {
        let four = |k| i32x4::new([number(block, k), number(block, k + 1), number(block, k + 2), number(block, k + 3)]);
        let first = i32x4::splat((block * BLOCK) as i32);
        *numbers = [0, 1].map(|half| four(4 * half) << (PLACE_BITS as i32) | (places[half] + first));
    }
    let last = i32x4::splat((n - (BLOCKS - 1) * BLOCK) as i32 - 1);
    for (number, place) in numbers[BLOCKS - 1].iter_mut().zip(places) {
        let absent = place.simd_gt(last);
        *number = (*number & !absent) | (absent & i32x4::splat(i32::MAX));
    }
    let mut ranks = [[i32x4::ZERO; 2]; BLOCKS];
    let each = numbers.map(|n| n.map(i32x4::to_array));
    for number in each.as_flattened().as_flattened() {
        let number = i32x4::splat(*number);
        for (rank, other) in ranks.as_flattened_mut().iter_mut().zip(numbers.as_flattened()) {
            *rank -= other.simd_gt(number);
        }
    }
    let flat = |[a, b]: [[i32; 4]; 2]| [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
    Ranked { numbers: each.map(flat), ranks: ranks.map(|r| flat(r.map(i32x4::to_array))) }
}

/// Finds the order of the first `n` of a bucket's events: by time, then by the upper two bits of their keys, their rank. `start` is before
/// all times, by less than [`WIDEST`]. Writes them to the beginning of `sorted`; what comes after the first `n` there has no meaning. Returns
/// which of them have time and rank of the next one, a bit each; they and the next are in any order.
#[inline]
pub(super) fn by_time(events: &[Event; MOST], n: usize, start: u64, sorted: &mut [Event; MOST]) -> u32 {
    match n.div_ceil(BLOCK) {
        0 => 0,
        1 => events_by_time::<1>(events, n, start, sorted),
        2 => events_by_time::<2>(events, n, start, sorted),
        3 => events_by_time::<3>(events, n, start, sorted),
        _ => events_by_time::<4>(events, n, start, sorted),
    }
}

/// The same for a known number of blocks.
#[inline(never)]
fn events_by_time<const BLOCKS: usize>(
    events: &[Event; MOST],
    n: usize,
    start: u64,
    sorted: &mut [Event; MOST],
) -> u32 {
    let (blocks, _) = events.as_chunks::<BLOCK>();
    let Some(blocks) = blocks.first_chunk::<BLOCKS>() else { return 0 };
    let Ranked { numbers, ranks } = rank::<BLOCKS>(n, |block, k| {
        let (at, key, _) = blocks[block][k];
        (at.wrapping_sub(start) << RANK_BITS) as i32 | (key >> (u64::BITS - RANK_BITS)) as i32
    });
    let mut in_order = [i32::MAX; MOST + 4];
    for ((ranks, block), numbers) in ranks.iter().zip(blocks).zip(&numbers) {
        for ((rank, number), event) in ranks.iter().zip(numbers).zip(block) {
            sorted[*rank as usize % MOST] = *event;
            in_order[*rank as usize % MOST] = *number;
        }
    }
    let mut same = 0;
    for k in (0..BLOCKS * BLOCK).step_by(4) {
        let four = |k: usize| i32x4::new([in_order[k], in_order[k + 1], in_order[k + 2], in_order[k + 3]]);
        let differ = four(k) ^ four(k + 1);
        same |= i32x4::splat(MOST as i32).simd_gt(differ).to_bitmask() << k;
    }
    same & ((1 << (n - 1)) - 1)
}

/// Sorts keys by their upper halves.
#[derive(Debug)]
pub(super) struct ByUpperHalf {
    /// All upper halves are below this power of two.
    bits: u32,
    /// Keys dealt to groups.
    dealt: Vec<Key>,
    /// Where each group ends among them.
    ends: [u32; GROUPS],
}

/// Most groups that keys are dealt to.
const GROUPS: usize = 64;

impl ByUpperHalf {
    /// For upper halves below `width`.
    pub(super) fn new(width: u64) -> Self {
        Self { bits: u64::BITS - width.saturating_sub(1).leading_zeros(), dealt: Vec::new(), ends: [0; GROUPS] }
    }

    /// Sorts the first `n` of `keys`, which are whole blocks; what comes after them has no meaning, and there may be more of it in the end.
    /// Equal ones are in any order. On the way each is shown to `look`, in the order in which they come.
    #[inline]
    pub(super) fn sort(&mut self, keys: &mut Vec<Key>, n: usize, mut look: impl FnMut(Key)) {
        // Many come in order, from one port; for them that is found without a branch for each.
        let (mut steps, mut before) = (0, 0);
        for key in &keys[..n] {
            look(*key);
            steps |= key.wrapping_sub(std::mem::replace(&mut before, *key));
        }
        match steps >> 63 {
            // In longer windows a step back may be so large that it looks like one ahead.
            0 if self.bits < u32::BITS => {}
            _ if 1 << self.bits > WIDEST => keys[..n].sort_unstable(),
            _ if n <= MOST => rank_few(keys, n),
            _ => self.deal(keys, n),
        }
    }

    /// Deals many keys to groups by their upper halves, some eight to each, and ranks these one after the other.
    #[inline(never)]
    fn deal(&mut self, keys: &mut Vec<Key>, n: usize) {
        let groups = (n / BLOCK).next_power_of_two().min(GROUPS);
        let shift = 32 + self.bits.saturating_sub(groups.ilog2());
        let group = |key: Key| (key >> shift) as usize % GROUPS;
        let ends = &mut self.ends;
        ends[..groups].fill(0);
        keys[..n].iter().for_each(|key| ends[group(*key)] += 1);
        let mut sum = 0;
        for end in &mut ends[..groups] {
            sum += std::mem::replace(end, sum);
        }
        let room = n + MOST;
        if self.dealt.len() < room {
            self.dealt.resize(room, 0);
        }
        for key in &keys[..n] {
            let end = &mut ends[group(*key)];
            self.dealt[*end as usize] = *key;
            *end += 1;
        }
        if keys.len() < room {
            keys.resize(room, 0);
        }
        let mut from = 0;
        for to in &ends[..groups] {
            let (group, sorted) = (&self.dealt[from as usize..], &mut keys[from as usize..]);
            let n = (*to - from) as usize;
            // What is written after a group is overwritten by the next one.
            match n.div_ceil(BLOCK) {
                0 => {}
                1 => rank_keys::<1>(group, n, sorted),
                2 => rank_keys::<2>(group, n, sorted),
                3 => rank_keys::<3>(group, n, sorted),
                4 => rank_keys::<4>(group, n, sorted),
                _ => {
                    sorted[..n].copy_from_slice(&group[..n]);
                    sorted[..n].sort_unstable();
                }
            }
            from = *to;
        }
    }
}

/// Sorts the first `n` of `keys`, at most [`MOST`].
#[inline]
fn rank_few(keys: &mut [Key], n: usize) {
    match n.div_ceil(BLOCK) {
        1 => rank_in_place::<1>(keys, n),
        2 => rank_in_place::<2>(keys, n),
        3 => rank_in_place::<3>(keys, n),
        _ => rank_in_place::<4>(keys, n),
    }
}

#[inline(never)]
fn rank_in_place<const BLOCKS: usize>(keys: &mut [Key], n: usize) {
    let Some(before) = keys.as_chunks::<BLOCK>().0.first_chunk::<BLOCKS>().copied() else { return };
    rank_keys::<BLOCKS>(before.as_flattened(), n, keys);
}

/// Writes the first `n` of `keys` to `sorted` in order; both are at least so many blocks long.
#[inline(always)]
fn rank_keys<const BLOCKS: usize>(keys: &[Key], n: usize, sorted: &mut [Key]) {
    let ((keys, _), (sorted, _)) = (keys.as_chunks::<BLOCK>(), sorted.as_chunks_mut::<BLOCK>());
    let (Some(keys), Some(sorted)) = (keys.first_chunk::<BLOCKS>(), sorted.first_chunk_mut::<BLOCKS>()) else { return };
    let ranks = rank::<BLOCKS>(n, |block, k| (keys[block][k] >> 32) as i32).ranks;
    // No rank is beyond them; the compiler sees that where their number is a power of two.
    let mask = if BLOCKS.is_power_of_two() { BLOCKS * BLOCK - 1 } else { usize::MAX };
    for (rank, key) in ranks.as_flattened().iter().zip(keys.as_flattened()) {
        sorted.as_flattened_mut()[*rank as usize & mask] = *key;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Links of satellites allow windows of 4 ms, in which arrivals may be so far apart that a key's top bit says nothing of their order.
    #[test]
    fn far_apart_in_a_long_window() {
        let mut keys = vec![3 << 62 | 1, 2, 0, 0, 0, 0, 0, 0];
        ByUpperHalf::new(u64::from(u32::MAX)).sort(&mut keys, 2, |_| {});
        assert_eq!(keys[..2], [2, 3 << 62 | 1]);
    }

    proptest! {
        /// Arrivals come in order of time, many or few, whatever the width of windows.
        #[test]
        fn keys_by_time(
            width in prop_oneof![1u64..100, 1..=WIDEST, 1..u64::from(u32::MAX)],
            times in prop::collection::vec(prop_oneof![0u64..20, any::<u64>()], 0..9 * MOST),
            crowded in any::<bool>(),
        ) {
            let width = if crowded { width.div_ceil(1000) } else { width };
            let keys = times.iter().enumerate().map(|(i, at)| ((at % width) << 32) | (i as u64 * 7 % 64));
            let mut keys: Vec<Key> = keys.collect();
            let by_time = |keys: &[Key]| keys.iter().map(|key| key >> 32).collect::<Vec<_>>();
            let all = |keys: &[Key]| {
                let mut keys = keys.to_vec();
                keys.sort_unstable();
                keys
            };
            let expected = all(&keys);
            keys.resize(keys.len().next_multiple_of(BLOCK), 3);
            ByUpperHalf::new(width).sort(&mut keys, times.len(), |_| {});
            keys.truncate(times.len());
            prop_assert_eq!(by_time(&keys), by_time(&expected));
            prop_assert_eq!(all(&keys), expected);
        }
    }
}
