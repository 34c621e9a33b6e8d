//! Reductions to all and to one.

use super::{AllReduce, part, power_below};
use crate::mpi::builder::{Builder, Comm};

/// Largest vector for recursive doubling, bytes (MPICH: short messages).
const DOUBLING: u64 = 2 << 10;
/// Bytes of an element [choice: doubles]: MPICH does not scatter a vector of fewer elements than ranks.
const ELEMENT: u64 = 8;

/// All members get the reduction of all vectors of `bytes`.
pub fn allreduce(b: &mut Builder, comm: &Comm, bytes: u64, tag: u32, how: AllReduce) {
    let Comm { size, me, .. } = *comm;
    if size < 2 {
        return;
    }
    // The first of each of the first pairs, so many that a power of 2 is left, hands its vector over and gets the result at the end.
    let power = power_below(size);
    let extra = size - power;
    let paired = me < 2 * extra;
    if paired && me.is_multiple_of(2) {
        b.send(comm.rank(me + 1), bytes, tag);
        b.recv(comm.rank(me + 1), bytes, tag);
        return;
    }
    if paired {
        b.recv(comm.rank(me - 1), bytes, tag);
    }
    let own = if paired { me / 2 } else { me - extra };
    let member = |own: u32| comm.rank(if own < extra { 2 * own + 1 } else { own + extra });
    let scatter = match how {
        AllReduce::Auto => bytes > DOUBLING && bytes / ELEMENT >= u64::from(power),
        AllReduce::RecursiveDoubling => false,
        AllReduce::ReduceScatter => true,
    };
    if scatter {
        scatter_and_gather(b, power, own, member, bytes, tag);
    } else {
        let mut step = 1;
        while step < power {
            let partner = member(own ^ step);
            b.exchange(partner, bytes, partner, bytes, tag);
            step *= 2;
        }
    }
    if paired {
        b.send(comm.rank(me - 1), bytes, tag);
    }
}

/// Recursive halving, then the same exchanges backwards. As in MPICH halves get smaller as partners get farther: half of the vector
/// goes to the next rank, the smallest part to the farthest.
fn scatter_and_gather(b: &mut Builder, power: u32, own: u32, member: impl Fn(u32) -> u32, bytes: u64, tag: u32) {
    let span = |from: u32, to: u32| part(bytes, power, from, to);
    let (mut low, mut high, mut distance) = (0, power, 1);
    let mut steps = Vec::new();
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let partner = member(own ^ distance);
        let (kept, given) =
            if own & distance == 0 { ((low, middle), (middle, high)) } else { ((middle, high), (low, middle)) };
        distance *= 2;
        b.exchange(partner, span(given.0, given.1), partner, span(kept.0, kept.1), tag);
        steps.push((partner, kept, given));
        (low, high) = kept;
    }
    for (partner, kept, given) in steps.into_iter().rev() {
        b.exchange(partner, span(kept.0, kept.1), partner, span(given.0, given.1), tag);
    }
}

/// Member `root` gets the reduction of all vectors of `bytes`, along a binomial tree.
pub fn reduce(b: &mut Builder, comm: &Comm, root: u32, bytes: u64, tag: u32) {
    let Comm { size, me, .. } = *comm;
    let place = (me + size - root) % size;
    let mut step = 1;
    while step < size {
        if place & step != 0 {
            b.send(comm.rank(place - step + root), bytes, tag);
            return;
        }
        if place + step < size {
            b.recv(comm.rank(place + step + root), bytes, tag);
        }
        step *= 2;
    }
}
