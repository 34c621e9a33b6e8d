//! Sorting the events of a bucket: a dozen, in any order.
//!
//! A sort by comparisons guesses wrong once per event, which costs more than all else it does. A few events are therefore ranked: for
//! each it is counted how many come before it, four at a time, without branches on the times and by loops of fixed length.

use wide::i32x4;

use super::calendar::Event;

/// More events than this are not ranked.
pub(super) const MOST: usize = 32;
/// Bits of a place among them.
const PLACE_BITS: u32 = MOST.trailing_zeros();

/// Times of the events to be ranked, since the beginning of their bucket, must be below this, ps.
pub(super) const WIDEST: u64 = 1 << (31 - PLACE_BITS);

/// Writes the first `n` of `events` to the beginning of `sorted` in order of time; those of equal times one after the other in the order
/// they are in. `start` is before all times, by less than [`WIDEST`]. `events` is whole blocks of eight; what comes after the first `n`,
/// and in `sorted` after as many, has no meaning. False, and nothing done, where they are too many.
#[inline]
pub(super) fn by_time(events: &[Event], n: usize, start: u64, sorted: &mut [Event]) -> bool {
    let Some(sorted) = sorted.first_chunk_mut() else { return false };
    match n.div_ceil(8) {
        0 => {}
        1 => ranked::<2>(events, n, start, sorted),
        2 => ranked::<4>(events, n, start, sorted),
        3 => ranked::<6>(events, n, start, sorted),
        4 => ranked::<8>(events, n, start, sorted),
        _ => return false,
    }
    true
}

/// The same for at most `4 * VECTORS` events.
#[inline(never)]
fn ranked<const VECTORS: usize>(events: &[Event], n: usize, start: u64, sorted: &mut [Event; MOST]) {
    let events = &events[..4 * VECTORS];
    // Time above, place below: all different. What is not there comes after everything.
    let mut times = [[0; 4]; VECTORS];
    let mut place = i32x4::new([0, 1, 2, 3]);
    for (times, events) in times.iter_mut().zip(events.chunks_exact(4)) {
        let since = |k: usize| events[k].0.wrapping_sub(start) as i32;
        let time = i32x4::new([since(0), since(1), since(2), since(3)]) << (PLACE_BITS as i32) | place;
        let absent = place.simd_gt(i32x4::splat(n as i32 - 1));
        *times = ((time & !absent) | (absent & i32x4::splat(i32::MAX))).to_array();
        place += i32x4::splat(4);
    }
    let vectors = times.map(i32x4::new);
    let mut ranks = [i32x4::ZERO; VECTORS];
    for time in times.as_flattened() {
        let time = i32x4::splat(*time);
        for (rank, other) in ranks.iter_mut().zip(vectors) {
            *rank -= other.simd_gt(time);
        }
    }
    for (rank, event) in ranks.map(i32x4::to_array).as_flattened().iter().zip(events) {
        sorted[*rank as usize % MOST] = *event;
    }
}
