//! IS: integer sort by buckets.
//!
//! An iteration counts the keys of each bucket, adds the counts up over all ranks (all-reduce of one integer per bucket and
//! five more, 4 B each), tells every rank how many keys it will get (all-to-all, 4 B per pair), sends the keys (all-to-all of unequal
//! parts) and ranks them. Keys are nearly normally distributed, but buckets go to ranks in nearly equal shares, so that a
//! pair's part is `4 keys / P^2` B; `noise` spreads it evenly around that, the same in every iteration as the keys are. Ten
//! operations per key and iteration, half before the messages. A warm-up iteration comes first; at the end every rank sends 4 B
//! to the next.

use paceline_proto::rng::{Purpose, Stream};

use super::{Class, Setting};
use crate::InputError;
use crate::mpi::builder::{Builder, Comm};
use crate::mpi::collectives::{allreduce, alltoall, alltoallv};
use crate::mpi::program::{Program, check_size};

/// Problem size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Size {
    /// Keys, as a power of 2.
    pub keys_log2: u32,
    /// Buckets, as a power of 2.
    pub buckets_log2: u32,
    /// Largest deviation of a pair's bytes from the mean, as a share, 0 to 1.
    pub noise: f64,
}

/// Largest deviation of a pair's bytes from the mean where nothing else is said, as a share.
pub const NOISE: f64 = 0.03;

/// Size, with deviations up to [`NOISE`], and iterations of a class, the warm-up among them.
///
/// # Errors
/// F, which the benchmark does not have.
pub fn class(class: Class) -> Result<(Size, u32), InputError> {
    let (keys_log2, buckets_log2) = match class {
        Class::S => (16, 9),
        Class::W => (20, 10),
        Class::A => (23, 10),
        Class::B => (25, 10),
        Class::C => (27, 10),
        Class::D => (31, 10),
        Class::E => (35, 10),
        Class::F => {
            let error = InputError::new("IS has no such class").field("problem_class").value("F");
            return Err(error.allowed(Class::up_to(Class::E)));
        }
    };
    Ok((Size { keys_log2, buckets_log2, noise: NOISE }, 11))
}

/// The program.
///
/// # Errors
/// Ranks that are no power of 2 or more than buckets, too many operations.
pub fn is(size: Size, iterations: u32, s: &Setting) -> Result<Program, InputError> {
    s.check_power(1 << size.buckets_log2, "IS")?;
    let ranks = u64::from(s.ranks);
    check_size(ranks * 4 * (ranks + 16), "ranks", s.ranks)?;
    let keys = (1u64 << size.keys_log2) as f64;
    let mean = keys / (f64::from(s.ranks) * f64::from(s.ranks));
    let ns = s.ns(10.0 * keys / f64::from(s.ranks));
    let counts = 4 * ((1 << size.buckets_log2) + 5);
    let noise = Stream::new(s.seed, Purpose::Programs, 0);
    let part = |from: u32, to: u32| {
        let draw = paceline_proto::rng::unit(noise.at(u64::from(from) * ranks + u64::from(to)));
        4 * (mean * (1.0 + size.noise * (2.0 * draw - 1.0))).round() as u64
    };
    s.program(iterations, |me| {
        let world = Comm::world(s.ranks, me);
        let mut body = Builder::new();
        body.calc(ns / 2);
        allreduce(&mut body, &world, counts, 1, s.algorithms.allreduce);
        alltoall(&mut body, &world, 4, 2, s.algorithms.alltoall);
        alltoallv(&mut body, &world, part, 3);
        body.calc(ns - ns / 2);
        let mut end = Builder::new();
        if me > 0 {
            end.irecv(me - 1, 4, 4);
        }
        if me + 1 < s.ranks {
            end.isend(me + 1, 4, 4);
        }
        end.wait();
        [Builder::new().finish(), body.finish(), end.finish()]
    })
}
