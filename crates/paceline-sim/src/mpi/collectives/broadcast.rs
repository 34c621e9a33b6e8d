//! From one to all, and nothing to all.

use super::Bcast;
use crate::mpi::builder::{Builder, Comm};

/// Smallest vector for scatter and all-gather, bytes (MPICH: long messages).
const SCATTER: u64 = 12 << 10;
/// Fewest members for scatter and all-gather (MPICH).
const MANY: u32 = 8;

/// Member `root` sends a vector of `bytes` to all.
pub fn bcast(b: &mut Builder, comm: &Comm, root: u32, bytes: u64, tag: u32, how: Bcast) {
    let scatter = match how {
        Bcast::Auto => bytes >= SCATTER && comm.size >= MANY,
        Bcast::Binomial => false,
        Bcast::Scatter => true,
    };
    if scatter {
        tree(b, comm, root, tag, |from, to| part(bytes, comm.size, from, to));
        ring(b, comm, root, bytes, tag);
    } else {
        tree(b, comm, root, tag, |_, _| bytes);
    }
}

/// Bytes of the blocks `from..to` of `of` nearly equal ones.
fn part(bytes: u64, of: u32, from: u32, to: u32) -> u64 {
    let at = |block: u32| bytes * u64::from(block) / u64::from(of);
    at(to) - at(from)
}

/// Along a binomial tree; `share(from, to)` is what the members at places `from..to` from the root need.
fn tree(b: &mut Builder, comm: &Comm, root: u32, tag: u32, share: impl Fn(u32, u32) -> u64) {
    let Comm { size, me, .. } = *comm;
    let place = (me + size - root) % size;
    let mut step = 1;
    while step < size && place & step == 0 {
        step *= 2;
    }
    if place > 0 {
        b.recv(comm.rank(place - step + root), share(place, (place + step).min(size)), tag);
    }
    while step > 1 {
        step /= 2;
        if place + step < size {
            b.send(comm.rank(place + step + root), share(place + step, (place + 2 * step).min(size)), tag);
        }
    }
}

/// Every member hands on what it got last.
fn ring(b: &mut Builder, comm: &Comm, root: u32, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    let place = (me + size - root) % size;
    let block = |place: u32| part(bytes, size, place, place + 1);
    for step in 0..size - 1 {
        let (given, taken) = ((place + size - step) % size, (place + 2 * size - step - 1) % size);
        b.exchange(comm.rank(me + 1), block(given), comm.rank(me + size - 1), block(taken), tag);
    }
}

/// All wait for all: dissemination in log2 P rounds of empty messages.
pub fn barrier(b: &mut Builder, comm: &Comm, tag: u32) {
    let Comm { size, me, .. } = *comm;
    let mut step = 1;
    while step < size {
        b.exchange(comm.rank(me + step), 0, comm.rank(me + size - step), 0, tag);
        step *= 2;
    }
}
