//! A weather model's halo exchange, in the manner of WRF on the networks of supercomputers: a mesh of ranks that does not go round, whose
//! neighbours north and south (`± columns`) and east and west (`± 1`) exchange boundaries several times per step, after computing.
//! The pattern (16 by 16 ranks, messages of some 100 KB) is that of studies of such traces; sizes and times are parameters, since
//! the traces are not public.

use super::builder::Builder;
use super::nas::Setting;
use super::program::{Block, Program};
use crate::InputError;

/// The model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Halo {
    /// Ranks in a row, east to west; `None`: the divisor of the ranks nearest to a square, the longer side along rows.
    pub columns: Option<u32>,
    /// Bytes to a neighbour north or south.
    pub north_south: u64,
    /// Bytes to a neighbour east or west.
    pub east_west: u64,
    /// Exchanges per step.
    pub rounds: u32,
    /// Computing per step, ns, shared out over its exchanges.
    pub calc_ns: u64,
}

impl Default for Halo {
    /// 512 KiB and 64 KiB, 4 exchanges and 20 ms per step.
    fn default() -> Self {
        Self { columns: None, north_south: 512 << 10, east_west: 64 << 10, rounds: 4, calc_ns: 20_000_000 }
    }
}

/// The program; `s` says how many ranks and steps.
///
/// # Errors
/// A number of columns that does not divide the ranks, too many operations.
pub fn halo(model: &Halo, steps: u32, s: &Setting) -> Result<Program, InputError> {
    let ranks = s.ranks.max(1);
    let nearest = || (1..=ranks.isqrt()).rev().find(|d| ranks.is_multiple_of(*d)).map_or(ranks, |d| ranks / d);
    let columns = model.columns.unwrap_or_else(nearest);
    if columns == 0 || !s.ranks.is_multiple_of(columns) {
        return Err(InputError::new("the ranks do not fill whole rows")
            .field("columns")
            .value(columns)
            .allowed(format!("a divisor of {} ranks", s.ranks)));
    }
    super::program::check_size(u64::from(s.ranks) * 10 * u64::from(model.rounds), "ranks", s.ranks)?;
    s.program(steps, |me| {
        let (row, column) = (me / columns, me % columns);
        // Neighbour, bytes, tag sent and tag received.
        let mut around = Vec::new();
        if row > 0 {
            around.push((me - columns, model.north_south, 0, 1));
        }
        if row + 1 < s.ranks / columns {
            around.push((me + columns, model.north_south, 1, 0));
        }
        if column > 0 {
            around.push((me - 1, model.east_west, 2, 3));
        }
        if column + 1 < columns {
            around.push((me + 1, model.east_west, 3, 2));
        }
        let mut b = Builder::new();
        for _ in 0..model.rounds {
            b.calc(model.calc_ns / u64::from(model.rounds));
            for (rank, bytes, _, tag) in &around {
                b.irecv(*rank, *bytes, *tag);
            }
            for (rank, bytes, tag, _) in &around {
                b.isend(*rank, *bytes, *tag);
            }
            b.wait();
        }
        [Block::default(), b.finish(), Block::default()]
    })
}
