//! Everybody to everybody.

use super::AllToAll;
use crate::mpi::builder::{Builder, Comm};

/// Largest block for Bruck's algorithm, bytes, and the fewest ranks (MPICH: short messages).
const BRUCK: u64 = 256;
const BRUCK_RANKS: u32 = 8;
/// Largest block for posting everything at once, bytes (MPICH: medium messages).
const POSTED: u64 = 32 << 10;

/// Each member sends `bytes` to each other one.
pub fn alltoall(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32, how: AllToAll) {
    let how = match how {
        AllToAll::Auto if bytes <= BRUCK && comm.size >= BRUCK_RANKS => AllToAll::Bruck,
        AllToAll::Auto if bytes <= POSTED => AllToAll::Posted,
        AllToAll::Auto => AllToAll::Pairwise,
        given => given,
    };
    match how {
        AllToAll::Bruck => bruck(b, comm, bytes, tag),
        AllToAll::Posted => alltoallv(b, comm, |_, _| bytes, tag),
        AllToAll::Pairwise | AllToAll::Auto => pairwise(b, comm, bytes, tag),
    }
}

/// Each member sends `bytes(from, to)` to each other one: all posted, in rotated order.
pub fn alltoallv(b: &mut Builder, comm: &Comm, bytes: impl Fn(u32, u32) -> u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    for step in 1..size {
        let from = (me + size - step) % size;
        b.irecv(comm.rank(from), bytes(from, me), tag);
    }
    for step in 1..size {
        let to = (me + step) % size;
        b.isend(comm.rank(to), bytes(me, to), tag);
    }
    b.wait();
}

/// In step `2^k` all blocks whose distance has bit `k` move on by `2^k`.
fn bruck(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    let mut step = 1;
    while step < size {
        let blocks = (1..size).filter(|distance| distance & step != 0).count() as u64;
        let (to, from) = (comm.rank(me + step), comm.rank(me + size - step));
        b.exchange(to, blocks * bytes, from, blocks * bytes, tag);
        step *= 2;
    }
}

fn pairwise(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    for step in 1..size {
        let (to, from) = if size.is_power_of_two() {
            (comm.rank(me ^ step), comm.rank(me ^ step))
        } else {
            (comm.rank(me + step), comm.rank(me + size - step))
        };
        b.exchange(to, bytes, from, bytes, tag);
    }
}
