//! Sorting the events of a bucket: a dozen, in any order.
//!
//! A sort by comparisons guesses wrong once per event, which costs more than all else it does. A few events are therefore ranked: for
//! each it is counted how many come before it, four at a time, without branches on the times and by loops of fixed length.

use wide::i32x4;

use super::calendar::Event;

/// Events a block holds: three cache lines.
pub(super) const BLOCK: usize = 8;
/// More events than this are not ranked.
pub(super) const MOST: usize = 4 * BLOCK;
/// Bits of a place among them.
const PLACE_BITS: u32 = MOST.trailing_zeros();

/// Times of the events to be ranked, since the beginning of their bucket, must be below this, ps.
pub(super) const WIDEST: u64 = 1 << (29 - PLACE_BITS);

/// Finds the order of `n` events that lie in blocks among `events`: by time, then by the upper two bits of their keys, their rank.
/// `firsts`: where each block begins; all are full but the first one. `start` is before all times, by less than [`WIDEST`]. Writes them to
/// the beginning of `sorted`; what comes after the first `n` there has no meaning. Returns which of them have time and rank of the next one,
/// a bit each; they and the next are in any order. Nothing where there are too many.
#[inline]
pub(super) fn by_time(events: &[Event], firsts: &[u32], n: usize, start: u64, sorted: &mut [Event]) -> Option<u32> {
    let sorted = sorted.first_chunk_mut()?;
    match *firsts {
        [] => Some(0),
        [a] => Some(ranked(events, [a], n, start, sorted)),
        [a, b] => Some(ranked(events, [a, b], n, start, sorted)),
        [a, b, c] => Some(ranked(events, [a, b, c], n, start, sorted)),
        [a, b, c, d] => Some(ranked(events, [a, b, c, d], n, start, sorted)),
        _ => None,
    }
}

/// The same for a known number of blocks.
#[inline(never)]
fn ranked<const BLOCKS: usize>(
    events: &[Event],
    firsts: [u32; BLOCKS],
    n: usize,
    start: u64,
    sorted: &mut [Event; MOST],
) -> u32 {
    // Time above, then rank, place below: all different.
    let mut times = [[i32x4::ZERO; 2]; BLOCKS];
    let mut places = [i32x4::new([0, 1, 2, 3]), i32x4::new([4, 5, 6, 7])];
    for (times, first) in times.iter_mut().zip(firsts) {
        let Some(block) = events[first as usize..].first_chunk::<BLOCK>() else { return 0 };
        let since = |k: usize| (block[k].0.wrapping_sub(start) << 2) as i32 | (block[k].1 >> 62) as i32;
        let four = |k: usize| i32x4::new([since(k), since(k + 1), since(k + 2), since(k + 3)]) << (PLACE_BITS as i32);
        *times = [four(0) | places[0], four(4) | places[1]];
        places = places.map(|p| p + i32x4::splat(BLOCK as i32));
    }
    // What is not there comes after everything.
    let last = i32x4::splat(n as i32 - 1 - (BLOCKS - 1) as i32 * BLOCK as i32);
    for (times, places) in times[0].iter_mut().zip([[0, 1, 2, 3], [4, 5, 6, 7]]) {
        let none = i32x4::new(places).simd_gt(last);
        *times = (*times & !none) | (none & i32x4::splat(i32::MAX));
    }
    let mut ranks = [[i32x4::ZERO; 2]; BLOCKS];
    let numbers = times.map(|t| t.map(i32x4::to_array));
    for time in numbers.as_flattened().as_flattened() {
        let time = i32x4::splat(*time);
        for (rank, other) in ranks.as_flattened_mut().iter_mut().zip(times.as_flattened()) {
            *rank -= other.simd_gt(time);
        }
    }
    let mut in_order = [i32::MAX; MOST + 4];
    for ((ranks, first), times) in ranks.iter().zip(firsts).zip(numbers) {
        let Some(block) = events[first as usize..].first_chunk::<BLOCK>() else { return 0 };
        let ranks = ranks.map(i32x4::to_array);
        for ((rank, time), event) in ranks.as_flattened().iter().zip(times.as_flattened()).zip(block) {
            sorted[*rank as usize % MOST] = *event;
            in_order[*rank as usize % MOST] = *time;
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
