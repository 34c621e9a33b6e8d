//! A fixed piece of work that no change to the engine touches: times relative to it can be compared across machines.
//!
//! Pointer chasing over a few megabytes with integer arithmetic and unpredictable branches, as the engine does; about a
//! tenth of a second. Never change it: every number in `history/` is relative to it.

use paceline_proto::rng::mix;

/// Runs the kernel; the result keeps the compiler from removing it.
pub fn kernel() -> u64 {
    const SIZE: usize = 1 << 18;
    let mut next: Vec<u32> = (0..SIZE as u32).collect();
    for i in (1..SIZE).rev() {
        next.swap(i, (mix(i as u64) % (i as u64 + 1)) as usize);
    }
    let (mut at, mut sum) = (0u32, 0u64);
    for step in 0..12_000_000u64 {
        at = next[at as usize];
        let value = mix(u64::from(at) ^ step);
        sum = if value.trailing_zeros() >= 2 { sum.wrapping_add(value) } else { sum ^ (value >> 7) };
    }
    sum
}
