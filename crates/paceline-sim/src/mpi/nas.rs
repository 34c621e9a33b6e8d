//! The NAS Parallel Benchmarks as message-passing programs: BT, CG, FT, IS and MG of NPB 3.4, MPI version.
//!
//! Messages, their sizes and their order follow the benchmarks' sources; what they compute becomes time: operations, as the benchmarks
//! count them for their Mop/s, over a rate.

pub mod bt;
pub mod cg;
pub mod ft;
pub mod is;
pub mod mg;

use super::collectives::Algorithms;
use super::program::{MOST_RANKS, Program, RankProgram};
use crate::InputError;

/// Problem classes of the benchmarks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the benchmarks' own letters")]
pub enum Class {
    S,
    W,
    A,
    B,
    C,
    D,
    E,
    F,
}

impl Class {
    /// All of them, in order of size.
    pub const ALL: [Class; 8] = [Class::S, Class::W, Class::A, Class::B, Class::C, Class::D, Class::E, Class::F];

    /// The letters of those up to `last`, for messages.
    pub fn up_to(last: Class) -> String {
        let letters: Vec<String> = Self::ALL.iter().filter(|c| **c <= last).map(|c| format!("{c:?}")).collect();
        letters.join(", ")
    }
}

/// What generators have in common.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// Ranks.
    pub ranks: u32,
    /// Iterations; `None`: as many as the benchmark has.
    pub iterations: Option<u32>,
    /// Operations that a rank computes per second, above 0.
    pub rate: f64,
    /// Algorithms of collectives.
    pub algorithms: Algorithms,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Setting {
    /// 10^9 operations per second, algorithms left to the sizes, seed 1.
    pub fn new(ranks: u32) -> Self {
        Self { ranks, iterations: None, rate: 1e9, algorithms: Algorithms::default(), seed: 1 }
    }

    /// Time of so many operations, ns: whole, so that GOAL text holds it.
    pub(super) fn ns(&self, operations: f64) -> u64 {
        (operations * 1e9 / self.rate).round() as u64
    }

    /// A program that begins with one block, repeats another and ends with a third.
    pub(super) fn program(
        &self,
        iterations: u32,
        mut blocks: impl FnMut(u32) -> [super::Block; 3],
    ) -> Result<Program, InputError> {
        let rank = |me| {
            let mut rank = RankProgram::default();
            let [begin, body, end] = blocks(me).map(|b| rank.block(b));
            rank.repeat(begin, 1);
            rank.repeat(body, self.iterations.unwrap_or(iterations));
            rank.repeat(end, 1);
            rank
        };
        Program::new((0..self.ranks).map(rank).collect())
    }

    /// Refuses a number of ranks.
    pub(super) fn refuse(&self, problem: &str, allowed: impl Into<String>) -> InputError {
        InputError::new(problem).field("ranks").value(self.ranks).allowed(allowed)
    }

    /// A power of 2 up to `most`.
    fn check_power(&self, most: u64, name: &str) -> Result<(), InputError> {
        let most = most.min(u64::from(MOST_RANKS));
        if self.ranks.is_power_of_two() && u64::from(self.ranks) <= most {
            return Ok(());
        }
        let problem = format!("{name} does not run on so many ranks");
        Err(self.refuse(&problem, format!("a power of 2 up to {most} with this problem size")))
    }
}
