//! One collective operation again and again, as the ranks of a training job carry it out between computations.

use super::builder::{Builder, Comm};
use super::collectives::{
    AllReduce, AllToAll, Bcast, allreduce, alltoall, bcast, part, ring_allgather, ring_allreduce, ring_reduce_scatter,
};
use super::nas::Setting;
use super::program::{Block, Program, check_size};
use crate::InputError;

/// What the ranks do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// All get the reduction of what all have.
    AllReduce,
    /// Each gets its block of that.
    ReduceScatter,
    /// All get the blocks of all.
    AllGather,
    /// Each gets a block from each.
    AllToAll,
    /// All get what rank 0 has.
    Broadcast,
}

/// How they do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Round a ring where there is such a way, else by size as MPICH.
    Auto,
    /// Every rank sends to the next one and receives from the one before.
    Ring,
    /// All-reduce: the whole vector with log2 P partners.
    RecursiveDoubling,
    /// All-reduce: reduce-scatter by recursive halving, all-gather by recursive doubling.
    HalvingDoubling,
    /// All-to-all: everything posted at once, in rotated order.
    Posted,
    /// All-to-all: an exchange with one partner after the other.
    Pairwise,
    /// All-to-all: blocks travel together in log2 P steps.
    Bruck,
    /// Broadcast: along a binomial tree.
    Binomial,
}

impl Algorithm {
    /// Those of an operation beside `Auto`.
    fn of(operation: Operation) -> &'static [Self] {
        match operation {
            Operation::AllReduce => &[Self::Ring, Self::RecursiveDoubling, Self::HalvingDoubling],
            Operation::ReduceScatter | Operation::AllGather => &[Self::Ring],
            Operation::AllToAll => &[Self::Posted, Self::Pairwise, Self::Bruck],
            Operation::Broadcast => &[Self::Ring, Self::Binomial],
        }
    }

    /// Its word in scenarios.
    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ring => "ring",
            Self::RecursiveDoubling => "recursive_doubling",
            Self::HalvingDoubling => "halving_doubling",
            Self::Posted => "posted",
            Self::Pairwise => "pairwise",
            Self::Bruck => "bruck",
            Self::Binomial => "binomial",
        }
    }
}

/// The program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collective {
    /// What the ranks do together.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// The whole vector, bytes: what a rank has before (all-to-all, reduce-scatter) or after it.
    pub bytes: u64,
    /// Slices of the vector that go their own ways, at least 1.
    pub channels: u32,
    /// Computing before each operation, ns.
    pub calc_ns: u64,
}

/// The program; `s` says how many ranks and how often.
///
/// # Errors
/// An algorithm that the operation does not have, too many operations.
pub fn collective(model: &Collective, times: u32, s: &Setting) -> Result<Program, InputError> {
    let Collective { operation, algorithm, bytes, channels, calc_ns } = *model;
    let having = Algorithm::of(operation);
    if algorithm != Algorithm::Auto && !having.contains(&algorithm) {
        let words: Vec<String> = [Algorithm::Auto].iter().chain(having).map(|a| format!("{:?}", a.word())).collect();
        return Err(InputError::new("the operation has no such algorithm")
            .field("algorithm")
            .value(format!("{:?}", algorithm.word()))
            .allowed(words.join(", ")));
    }
    let ranks = u64::from(s.ranks);
    let of_a_rank = match algorithm {
        Algorithm::RecursiveDoubling | Algorithm::HalvingDoubling | Algorithm::Bruck | Algorithm::Binomial => 128,
        // A send and a receive for every other rank, twice where a reduction is handed on.
        _ if operation == Operation::AllReduce => 4 * ranks + 1,
        _ => 2 * ranks + 66,
    };
    let all = ranks * of_a_rank;
    check_size(all, "ranks", s.ranks)?;
    check_size(all * u64::from(channels), "channels", channels)?;
    s.program(times, |me| {
        let world = Comm::world(s.ranks, me);
        let mut b = Builder::new();
        b.calc(calc_ns);
        b.side_by_side(channels, |b, channel| {
            let slice = part(bytes, channels, channel, channel + 1);
            write(b, &world, operation, algorithm, slice, channel);
        });
        [Block::default(), b.finish(), Block::default()]
    })
}

/// The operation over so many bytes.
fn write(b: &mut Builder, world: &Comm, operation: Operation, algorithm: Algorithm, bytes: u64, tag: u32) {
    match operation {
        Operation::AllReduce => match algorithm {
            Algorithm::RecursiveDoubling => allreduce(b, world, bytes, tag, AllReduce::RecursiveDoubling),
            Algorithm::HalvingDoubling => allreduce(b, world, bytes, tag, AllReduce::ReduceScatter),
            _ => ring_allreduce(b, world, bytes, tag),
        },
        Operation::ReduceScatter => ring_reduce_scatter(b, world, bytes, tag),
        Operation::AllGather => ring_allgather(b, world, bytes, tag),
        Operation::AllToAll => {
            let how = match algorithm {
                Algorithm::Posted => AllToAll::Posted,
                Algorithm::Pairwise => AllToAll::Pairwise,
                Algorithm::Bruck => AllToAll::Bruck,
                _ => AllToAll::Auto,
            };
            alltoall(b, world, bytes / u64::from(world.size), tag, how);
        }
        Operation::Broadcast => {
            let how = match algorithm {
                Algorithm::Ring => Bcast::Scatter,
                Algorithm::Binomial => Bcast::Binomial,
                _ => Bcast::Auto,
            };
            bcast(b, world, 0, bytes, tag, how);
        }
    }
}
