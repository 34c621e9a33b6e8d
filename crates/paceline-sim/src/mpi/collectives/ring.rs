//! Round a ring: each member sends to the next one and receives from the one before.
//!
//! Bandwidth-optimal for large vectors (Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, JPDC 2009),
//! and what collective libraries for training use for them. A vector has as many nearly equal blocks as there are members.

use super::part;
use crate::mpi::builder::{Builder, Comm};

/// All members get the reduction of all vectors of `bytes`: reduce-scatter, then all-gather.
pub fn ring_allreduce(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    round(b, comm, me, bytes, tag);
    // What came last, the block after its own number, is now reduced over all.
    round(b, comm, (me + 1) % size, bytes, tag);
}

/// Each member gets its block of the reduction of all vectors of `bytes`.
pub fn ring_reduce_scatter(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    round(b, comm, (me + size - 1) % size, bytes, tag);
}

/// All members get the vector of `bytes` of which each has its block.
pub fn ring_allgather(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32) {
    round(b, comm, comm.me, bytes, tag);
}

/// P - 1 steps, in each of which a member hands on the block that came last; `first` is the one it begins with, one higher than that of
/// the member before.
pub(super) fn round(b: &mut Builder, comm: &Comm, first: u32, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    let block = |number: u32| part(bytes, size, number, number + 1);
    for step in 0..size - 1 {
        let (given, taken) = ((first + size - step) % size, (first + 2 * size - step - 1) % size);
        b.exchange(comm.rank(me + 1), block(given), comm.rank(me + size - 1), block(taken), tag);
    }
}
