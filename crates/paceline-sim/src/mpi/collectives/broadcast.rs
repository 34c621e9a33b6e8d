//! From one to all, and nothing to all.

use super::ring::round;
use super::{Bcast, part};
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
        round(b, comm, (comm.me + comm.size - root) % comm.size, bytes, tag);
    } else {
        tree(b, comm, root, tag, |_, _| bytes);
    }
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

/// All wait for all: dissemination in log2 P rounds of empty messages.
pub fn barrier(b: &mut Builder, comm: &Comm, tag: u32) {
    let Comm { size, me, .. } = *comm;
    let mut step = 1;
    while step < size {
        b.exchange(comm.rank(me + step), 0, comm.rank(me + size - step), 0, tag);
        step *= 2;
    }
}
