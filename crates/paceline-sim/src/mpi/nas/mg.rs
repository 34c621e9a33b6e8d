//! MG: multigrid on a cube of `N^3` points.
//!
//! `P = 2^k` ranks form a periodic grid, `2^floor(k/3)` along x, then half of the rest along y. A V-cycle restricts the residual level by
//! level to 2^3 points, smooths there and comes back. After every operator the ghost points are exchanged, axis by axis,
//! both ways: `8 ny nz` B along x, `8 (nx + 2) nz` along y, `8 (nx + 2) (ny + 2)` along z for a rank's `nx ny nz` points of that level. Where
//! a level has fewer points along an axis than there are ranks, only the last of each group of neighbours takes part,
//! and talks to the last of the next group; on the way up the ranks that come back get their ghost points (one layer from
//! above, two from below) from their neighbours. An iteration counts `58 N^3` operations, shared out by points.

use super::{Class, Setting};
use crate::InputError;
use crate::mpi::builder::{Builder, Comm};
use crate::mpi::collectives::allreduce;
use crate::mpi::program::{Program, check_size};

/// Points along an edge of the cube, and iterations, of a class.
pub fn class(class: Class) -> (u32, u32) {
    match class {
        Class::S => (32, 4),
        Class::W => (128, 4),
        Class::A => (256, 4),
        Class::B => (256, 20),
        Class::C => (512, 20),
        Class::D => (1024, 50),
        Class::E => (2048, 50),
        Class::F => (4096, 50),
    }
}

/// Ranks along x, y and z.
fn grid(ranks: u32) -> [u32; 3] {
    let k = ranks.ilog2();
    let dx = k / 3;
    let dy = (k - dx) / 2;
    [1 << dx, 1 << dy, 1 << (k - dx - dy)]
}

/// A rank at one level.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// From a rank to the next one that takes part, along each axis.
    stride: [u32; 3],
    /// Points along each axis, 0 where the rank takes no part.
    points: [u64; 3],
}

/// A rank's view of all levels.
struct Place {
    grid: [u32; 3],
    at: [u32; 3],
    /// From level 1 (2 points) on; the place 0 is not used.
    levels: Vec<Level>,
}

impl Place {
    fn new(me: u32, ranks: u32, n: u32) -> Self {
        let grid = grid(ranks);
        let at = [me % grid[0], me / grid[0] % grid[1], me / grid[0] / grid[1]];
        let level = |level: u32| {
            let points = 1u32 << level;
            let axis = |a: usize| {
                let stride = (grid[a] / points).max(1);
                let own = if (at[a] + 1).is_multiple_of(stride) { (points / grid[a]).max(1) } else { 0 };
                (stride, u64::from(own))
            };
            let axes = [axis(0), axis(1), axis(2)];
            Level { stride: axes.map(|a| a.0), points: axes.map(|a| a.1) }
        };
        Self { grid, at, levels: (0..=n.ilog2()).map(level).collect() }
    }

    /// The rank that is `ahead` (or, modulo the grid, behind) along an axis.
    fn neighbour(&self, axis: usize, ahead: u32) -> u32 {
        let mut at = self.at;
        at[axis] = (at[axis] + ahead) % self.grid[axis];
        at[0] + self.grid[0] * (at[1] + self.grid[1] * at[2])
    }

    /// Next and previous rank along an axis at a level, if there are others.
    fn around(&self, axis: usize, level: usize) -> Option<(u32, u32)> {
        let stride = self.levels[level].stride[axis];
        let count = self.grid[axis];
        (stride < count).then(|| (self.neighbour(axis, stride), self.neighbour(axis, count - stride)))
    }

    /// Ghost points of a level are exchanged.
    fn exchange(&self, b: &mut Builder, level: usize) {
        let [nx, ny, nz] = self.levels[level].points;
        if nx * ny * nz == 0 {
            return;
        }
        let faces = [ny * nz, (nx + 2) * nz, (nx + 2) * (ny + 2)];
        for (axis, face) in faces.into_iter().enumerate() {
            let Some((next, previous)) = self.around(axis, level) else { continue };
            let (up, down) = (2 * axis as u32, 2 * axis as u32 + 1);
            b.irecv(next, 8 * face, down);
            b.irecv(previous, 8 * face, up);
            b.isend(next, 8 * face, up);
            b.isend(previous, 8 * face, down);
            b.wait();
        }
    }

    /// Ranks that took no part below a level get their ghost points there.
    fn expand(&self, b: &mut Builder, level: usize) {
        let (upper, lower) = (&self.levels[level], &self.levels[level - 1]);
        let [mx, my, mz] = upper.points.map(|p| p + 2);
        for (axis, face) in [my * mz, mx * mz, mx * my].into_iter().enumerate() {
            let Some((next, previous)) = self.around(axis, level) else { continue };
            if lower.stride[axis] == upper.stride[axis] || upper.points[axis] == 0 {
                continue;
            }
            let (up, down) = (10 + 2 * axis as u32, 11 + 2 * axis as u32);
            if lower.points[axis] == 0 {
                b.irecv(next, 8 * face, down);
                b.irecv(previous, 16 * face, up);
            } else {
                b.isend(next, 16 * face, up);
                b.isend(previous, 8 * face, down);
            }
            b.wait();
        }
    }

    /// Points of a level that the rank works on.
    fn points(&self, level: usize) -> f64 {
        self.levels[level].points.iter().map(|p| *p as f64).product()
    }
}

/// The program, for a cube of `n` points along each edge, a power of 2 from 4 on.
///
/// # Errors
/// Another `n`, ranks that are no power of 2 or leave a rank without a point, too many operations.
pub fn mg(n: u32, iterations: u32, s: &Setting) -> Result<Program, InputError> {
    if !n.is_power_of_two() || !(4..=1 << 16).contains(&n) {
        return Err(InputError::new("not a size of MG").field("n").value(n).allowed("a power of 2, 4 to 65536"));
    }
    s.check_power(u64::from(n).pow(3), "MG")?;
    let top = n.ilog2() as usize;
    check_size(u64::from(s.ranks) * 30 * (3 * top as u64 + 2), "ranks", s.ranks)?;
    // Points that an iteration works on, over all levels: once on the way down, once at the bottom, twice on the way up,
    // and once more at the top.
    let cube = |level: usize| f64::from(1u32 << level).powi(3);
    let all =
        (1..top).map(cube).sum::<f64>() + cube(1) + (2..top).map(|l| 2.0 * cube(l)).sum::<f64>() + 3.0 * cube(top);
    let per_point = 58.0 * cube(top) / all;
    s.program(iterations, |me| {
        let place = Place::new(me, s.ranks, n);
        let operator = |b: &mut Builder, level: usize| {
            b.calc(s.ns(per_point * place.points(level)));
            place.exchange(b, level);
        };
        let mut body = Builder::new();
        for level in (1..top).rev() {
            operator(&mut body, level);
        }
        operator(&mut body, 1);
        for level in 2..=top {
            place.expand(&mut body, level);
            operator(&mut body, level);
            operator(&mut body, level);
        }
        operator(&mut body, top);
        let norm = |b: &mut Builder| {
            allreduce(b, &Comm::world(s.ranks, me), 8, 20, s.algorithms.allreduce);
            allreduce(b, &Comm::world(s.ranks, me), 8, 21, s.algorithms.allreduce);
        };
        let (mut begin, mut end) = (Builder::new(), Builder::new());
        operator(&mut begin, top);
        norm(&mut begin);
        norm(&mut end);
        [begin.finish(), body.finish(), end.finish()]
    })
}
