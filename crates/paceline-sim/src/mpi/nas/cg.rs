//! CG: conjugate gradients with a random sparse matrix.
//!
//! `P = 2^k` ranks form a grid of `2^floor(k/2)` rows and `2^ceil(k/2)` columns, rank `r` at row `r / columns`. A vector of `na` numbers of
//! 8 B lies over the rows; where there are twice as many columns as rows a rank exchanges half of its row's part. An iteration is
//! one solution: a scalar sum, 25 inner steps, the residual and two norms. An inner step multiplies, sums the product over its row
//! in a butterfly of `log2 columns` exchanges of vectors, exchanges one with the rank across the diagonal, and sums two scalars over the
//! row. Everything is a send after a posted receive and a wait for it: strictly one after the other. An iteration
//! counts `2 na (3 + m + 25 (5 + m) + 3)` operations for `m = nonzer (nonzer + 1)`.

use super::{Class, Setting};
use crate::InputError;
use crate::mpi::builder::Builder;
use crate::mpi::program::{Block, Program, check_size};

/// Inner steps of an iteration.
const STEPS: u32 = 25;

/// Problem size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Rows of the matrix.
    pub na: u32,
    /// Numbers drawn for each row.
    pub nonzer: u32,
}

/// Size and iterations of a class.
pub fn class(class: Class) -> (Size, u32) {
    let (na, nonzer, iterations) = match class {
        Class::S => (1_400, 7, 15),
        Class::W => (7_000, 8, 15),
        Class::A => (14_000, 11, 15),
        Class::B => (75_000, 13, 75),
        Class::C => (150_000, 15, 75),
        Class::D => (1_500_000, 21, 100),
        Class::E => (9_000_000, 26, 100),
        Class::F => (54_000_000, 31, 100),
    };
    (Size { na, nonzer }, iterations)
}

/// Where a rank stands and whom it talks to.
struct Place {
    /// Partners in the butterfly over its row, the farthest first.
    row: Vec<u32>,
    /// The rank across the diagonal.
    across: u32,
    /// Numbers of its row's part, and of these the ones that it exchanges.
    part: u64,
    own: u64,
}

/// Rows and columns of the ranks' grid.
fn grid(ranks: u32) -> (u32, u32) {
    let rows = 1 << (ranks.ilog2() / 2);
    (rows, ranks / rows)
}

impl Place {
    fn new(me: u32, ranks: u32, na: u32) -> Self {
        let (rows, columns) = grid(ranks);
        let (row, column) = (me / columns, me % columns);
        let mut partners = Vec::new();
        let mut span = columns;
        while span > 1 {
            let partner = (column + span / 2) % span + column / span * span;
            partners.push(row * columns + partner);
            span /= 2;
        }
        let square = rows == columns;
        let across =
            if square { me % rows * rows + me / rows } else { 2 * (me / 2 % rows * rows + me / 2 / rows) + me % 2 };
        let part = u64::from(na / rows + u32::from(row < na % rows));
        // Of an odd number the even rank has one more.
        let own = if square { part } else { part / 2 + part % 2 * u64::from(me.is_multiple_of(2)) };
        Self { row: partners, across, part, own }
    }

    /// Sums `numbers` over the row.
    fn sum(&self, b: &mut Builder, numbers: u64, tag: u32) {
        for partner in &self.row {
            b.exchange(*partner, 8 * numbers, *partner, 8 * numbers, tag);
        }
    }

    /// Sums a product over the row and brings it across the diagonal.
    fn vector(&self, b: &mut Builder, me: u32, theirs: u64) {
        for (i, partner) in self.row.iter().enumerate().rev() {
            // The nearest partner gets its own half; from then on both work on theirs.
            let sent = if i + 1 == self.row.len() && self.own < self.part { self.part - self.own } else { self.own };
            b.exchange(*partner, 8 * sent, *partner, 8 * self.own, 1);
        }
        if self.across != me {
            b.exchange(self.across, 8 * self.own, self.across, 8 * theirs, 2);
        }
    }
}

/// The program.
///
/// # Errors
/// Ranks that are no power of 2 or leave a row or column without a number, too many operations.
pub fn cg(size: Size, iterations: u32, s: &Setting) -> Result<Program, InputError> {
    // As many rows and columns as there are numbers, at most.
    let side = 1u64 << size.na.max(1).ilog2();
    s.check_power(side * side, "CG")?;
    let exchanges = u64::from(3 * s.ranks.ilog2().div_ceil(2) + 1);
    check_size(u64::from(s.ranks) * u64::from(STEPS + 2) * (2 * exchanges + 4), "ranks", s.ranks)?;
    let m = f64::from(size.nonzer) * (f64::from(size.nonzer) + 1.0);
    let share = 2.0 * f64::from(size.na) / f64::from(s.ranks);
    // A step multiplies (m), then works on vectors: 2 operations before the first scalar, 3 after it.
    let (multiply, before, after) = (s.ns(share * m), s.ns(share * 2.0), s.ns(share * 3.0));
    s.program(iterations, |me| {
        let place = Place::new(me, s.ranks, size.na);
        let theirs = Place::new(place.across, s.ranks, size.na).own;
        let mut b = Builder::new();
        b.calc(after);
        place.sum(&mut b, 1, 3);
        for _ in 0..STEPS {
            b.calc(multiply);
            place.vector(&mut b, me, theirs);
            b.calc(before);
            place.sum(&mut b, 1, 4);
            b.calc(after);
            place.sum(&mut b, 1, 5);
        }
        b.calc(multiply);
        place.vector(&mut b, me, theirs);
        b.calc(after);
        place.sum(&mut b, 1, 6);
        place.sum(&mut b, 2, 7);
        [Block::default(), b.finish(), Block::default()]
    })
}
