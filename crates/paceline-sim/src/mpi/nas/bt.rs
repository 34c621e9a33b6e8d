//! BT: block-tridiagonal solver on `P = p^2` ranks.
//!
//! Rank `i + p j` owns `p` cells of the grid, one on each diagonal (multi-partition), so that it has one cell at every stage of a sweep
//! along any axis. A time step exchanges faces with six neighbours, `80 (p - 1) (N / p)^2` B each (two layers of five variables of
//! 8 B), all posted at once. Then for each axis a forward sweep of `p` stages, with `240 d^2` B to the successor after each but
//! the last, and a backward one with `40 d^2` B to the predecessor, for `d = floor(N / p) + 1`. A step counts `3478.8 N^3 - 17655.7
//! N^2 + 28023.7 N` operations: here a quarter for the right-hand side and a quarter for each axis, three quarters of it forward.

use super::{Class, Setting};
use crate::InputError;
use crate::mpi::builder::Builder;
use crate::mpi::program::{Block, Program, check_size};

/// Points along an edge of the grid, and iterations, of a class.
pub fn class(class: Class) -> (u32, u32) {
    match class {
        Class::S => (12, 60),
        Class::W => (24, 200),
        Class::A => (64, 200),
        Class::B => (102, 200),
        Class::C => (162, 200),
        Class::D => (408, 250),
        Class::E => (1020, 250),
        Class::F => (2560, 250),
    }
}

/// Bytes of a face, of a message of a forward and of a backward stage.
pub fn sizes(n: u32, p: u32) -> [u64; 3] {
    let (n, p) = (u64::from(n), u64::from(p));
    let d = n / p + 1;
    [80 * (p - 1) * n * n / (p * p), 240 * d * d, 40 * d * d]
}

/// The program, for a grid of `n` points along each edge.
///
/// # Errors
/// Ranks that are no square or leave less than 3 points to a cell's edge, too many operations.
pub fn bt(n: u32, iterations: u32, s: &Setting) -> Result<Program, InputError> {
    let p = s.ranks.isqrt();
    if p == 0 || p * p != s.ranks || n / p < 3 {
        let most = (n / 3).max(1);
        return Err(s.refuse(
            "BT does not run on so many ranks",
            format!("a square up to {}, as a cell has 3 points along its edge", u64::from(most) * u64::from(most)),
        ));
    }
    check_size(u64::from(s.ranks) * (30 + 18 * u64::from(p)), "ranks", s.ranks)?;
    let size = f64::from(n);
    let step = ((3478.8 * size - 17655.7) * size + 28023.7) * size / f64::from(s.ranks);
    let quarter = step / 4.0;
    let [face, forward, backward] = sizes(n, p);
    let (right_side, ahead, back) =
        (s.ns(quarter), s.ns(quarter * 0.75 / f64::from(p)), s.ns(quarter * 0.25 / f64::from(p)));
    s.program(iterations, |me| {
        let rank = |i: u32, j: u32| i % p + p * (j % p);
        let (i, j, before) = (me % p, me / p, p - 1);
        // Successor and predecessor along x, y and z.
        let ways = [
            (rank(i + 1, j), rank(i + before, j)),
            (rank(i, j + 1), rank(i, j + before)),
            (rank(i + before, j + 1), rank(i + 1, j + before)),
        ];
        let mut b = Builder::new();
        if p > 1 {
            for (axis, (succ, pred)) in (0..).zip(ways) {
                b.irecv(succ, face, 2 * axis);
                b.irecv(pred, face, 2 * axis + 1);
            }
            for (axis, (succ, pred)) in (0..).zip(ways) {
                b.isend(succ, face, 2 * axis + 1);
                b.isend(pred, face, 2 * axis);
            }
            b.wait();
        }
        b.calc(right_side);
        for (axis, (succ, pred)) in (0..).zip(ways) {
            sweep(&mut b, p, (pred, succ), forward, ahead, 10 + axis);
            sweep(&mut b, p, (succ, pred), backward, back, 20 + axis);
        }
        [Block::default(), b.finish(), Block::default()]
    })
}

/// `p` stages; each but the first waits for `from`, each but the last sends to `to`.
fn sweep(b: &mut Builder, p: u32, (from, to): (u32, u32), bytes: u64, ns: u64, tag: u32) {
    for stage in 0..p {
        if stage > 0 {
            b.irecv(from, bytes, tag);
            b.wait();
        }
        b.calc(ns);
        if stage + 1 < p {
            b.isend(to, bytes, tag);
        }
    }
    b.wait();
}
