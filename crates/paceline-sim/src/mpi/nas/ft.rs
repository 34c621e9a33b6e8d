//! FT: three-dimensional fast Fourier transforms, all-to-all.
//!
//! Up to `nz` ranks the grid lies in slabs: one iteration computes, transposes by one all-to-all of all ranks with
//! `16 nx ny nz / P^2` B per pair (complex numbers of 16 B), computes, and reduces one complex checksum. More ranks form a grid of `nz`
//! by `P / nz`, with two transposes, inside its columns and its rows. An iteration counts `(5.235 + 7.211 ln n) n` operations for `n =
//! nx ny nz`, half before the transpose and half after it (a third each around two). One transform comes first.

use super::{Class, Setting};
use crate::InputError;
use crate::mpi::builder::{Builder, Comm};
use crate::mpi::collectives::{alltoall, reduce};
use crate::mpi::program::{Block, Program, check_size};

/// Points in each dimension, powers of 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the benchmark's own names")]
pub struct Size {
    pub nx: u32,
    pub ny: u32,
    pub nz: u32,
}

/// Size and iterations of a class.
pub fn class(class: Class) -> (Size, u32) {
    let (nx, ny, nz, iterations) = match class {
        Class::S => (64, 64, 64, 6),
        Class::W => (128, 128, 32, 6),
        Class::A => (256, 256, 128, 6),
        Class::B => (512, 256, 256, 20),
        Class::C => (512, 512, 512, 20),
        Class::D => (2048, 1024, 1024, 25),
        Class::E => (4096, 2048, 2048, 25),
        Class::F => (8192, 4096, 4096, 25),
    };
    (Size { nx, ny, nz }, iterations)
}

/// The program.
///
/// # Errors
/// A size that is no power of 2, ranks that are none or more than `nz min(nx, ny)`, too many operations.
pub fn ft(size: Size, iterations: u32, s: &Setting) -> Result<Program, InputError> {
    for (field, n) in [("nx", size.nx), ("ny", size.ny), ("nz", size.nz)] {
        if !n.is_power_of_two() || n > 1 << 16 {
            return Err(InputError::new("not a size of FT").field(field).value(n).allowed("a power of 2 up to 65536"));
        }
    }
    s.check_power(u64::from(size.nz) * u64::from(size.nx.min(size.ny)), "FT")?;
    let ranks = u64::from(s.ranks);
    let (columns, rows) = if s.ranks <= size.nz { (1, s.ranks) } else { (size.nz, s.ranks / size.nz) };
    check_size(ranks * 4 * (u64::from(columns) + u64::from(rows) + 16), "ranks", s.ranks)?;
    let points = u64::from(size.nx) * u64::from(size.ny) * u64::from(size.nz);
    let n = points as f64;
    let ns = s.ns((5.235 + 7.211 * libm::log(n)) * n / f64::from(s.ranks));
    let how = s.algorithms.alltoall;
    s.program(iterations, |me| {
        let in_row = Comm { first: me / rows * rows, stride: 1, size: rows, me: me % rows };
        let in_column = Comm { first: me % rows, stride: rows, size: columns, me: me / rows };
        let transform = |b: &mut Builder| {
            let steps: &[(Comm, u32)] = if columns == 1 { &[(in_row, 1)] } else { &[(in_row, 1), (in_column, 2)] };
            let share = ns / (steps.len() as u64 + 1);
            for (comm, tag) in steps {
                b.calc(share);
                alltoall(b, comm, 16 * points / (ranks * u64::from(comm.size)), *tag, how);
            }
            b.calc(ns - share * steps.len() as u64);
        };
        let (mut first, mut body) = (Builder::new(), Builder::new());
        transform(&mut first);
        transform(&mut body);
        reduce(&mut body, &Comm::world(s.ranks, me), 0, 16, 3);
        [first.finish(), body.finish(), Block::default()]
    })
}
