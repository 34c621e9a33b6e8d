//! Collective operations as messages.
//!
//! The algorithms and the sizes at which `auto` changes between them are those of MPICH (Thakur, Rabenseifner, Gropp: Optimization of
//! Collective Communication Operations in MPICH, IJHPCA 2005). Reductions take no time to compute. Posted sends are not throttled.

mod all_to_all;
mod broadcast;
mod reduction;
mod ring;

pub use all_to_all::{alltoall, alltoallv};
pub use broadcast::{barrier, bcast};
pub use reduction::{allreduce, reduce};
pub use ring::{ring_allgather, ring_allreduce, ring_reduce_scatter};

/// How an all-to-all of equal blocks goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AllToAll {
    /// Bruck up to 256 B per block from 8 ranks on, posted up to 32 KiB, pairwise above.
    #[default]
    Auto,
    /// Blocks travel together in log2 P steps, each half of all data.
    Bruck,
    /// Everything posted at once, in rotated order.
    Posted,
    /// P - 1 steps, in each an exchange with one partner, or with two where P is no power of 2.
    Pairwise,
}

/// How an all-reduce goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AllReduce {
    /// Recursive doubling up to 2 KiB, or for fewer doubles than ranks; reduce-scatter above.
    #[default]
    Auto,
    /// The whole vector with log2 P partners.
    RecursiveDoubling,
    /// Reduce-scatter by recursive halving, then all-gather by recursive doubling.
    ReduceScatter,
}

/// How a broadcast goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bcast {
    /// Binomial below 12 KiB or 8 ranks, scatter above.
    #[default]
    Auto,
    /// Along a binomial tree.
    Binomial,
    /// Scatter along a binomial tree, then all-gather round a ring.
    Scatter,
}

/// The algorithms of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Algorithms {
    /// All-to-all.
    pub alltoall: AllToAll,
    /// All-reduce.
    pub allreduce: AllReduce,
    /// Broadcast.
    pub bcast: Bcast,
}

/// Bytes of the blocks `from..to` of `of` nearly equal ones that make `bytes`.
pub(super) fn part(bytes: u64, of: u32, from: u32, to: u32) -> u64 {
    // Wide: a vector of TiBs among a million ranks.
    let at = |block: u32| (u128::from(bytes) * u128::from(block) / u128::from(of)) as u64;
    at(to) - at(from)
}

/// Largest power of 2 that is not above `n`, for `n > 0`.
fn power_below(n: u32) -> u32 {
    1 << n.ilog2()
}
