//! From a program to GOAL text.

use std::io::{self, Write};

use crate::mpi::program::{Block, Program, RankProgram};

/// Writes a program, repeated blocks in full: for each rank its operations, then what waits for what. Operations are labelled by
/// their number in the rank's run, from 1; where a block follows another, an empty computation between them stands for "when all
/// of it is over". So what is read back and written again is the same text.
///
/// Reading it gives an equal program if every rank has one block that it carries out once, and otherwise one that does the same.
///
/// # Errors
/// What `out` does not take.
pub fn write(program: &Program, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", program.len())?;
    for (number, rank) in program.ranks().iter().enumerate() {
        writeln!(out, "\nrank {number} {{")?;
        write_rank(rank, out)?;
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn write_rank(rank: &RankProgram, out: &mut impl Write) -> io::Result<()> {
    let blocks = || {
        let all = rank.parts().iter().flat_map(|p| (0..p.times).map(|_| &rank.blocks()[p.block as usize]));
        all.scan(1, |next, block| {
            let base = *next;
            *next = join_after(base, block) + 1;
            Some((base, block))
        })
    };
    for (base, block) in blocks() {
        if base > 1 {
            writeln!(out, "l{}: calc 0", base - 1)?;
        }
        for (op, label) in block.ops().iter().zip(base..) {
            writeln!(out, "l{label}: {op}")?;
        }
    }
    let mut waiting = Vec::new();
    let mut blocks = blocks().peekable();
    while let Some((base, block)) = blocks.next() {
        if base > 1 {
            block.count_waiting(&mut waiting);
            for (_, label) in waiting.iter().zip(base..).filter(|(n, _)| **n == 0) {
                writeln!(out, "l{label} requires l{}", base - 1)?;
            }
        }
        let join = blocks.peek().is_some().then(|| join_after(base, block));
        write_edges(block, base, join, out)?;
    }
    Ok(())
}

/// The label after those of a block.
fn join_after(base: u64, block: &Block) -> u64 {
    base + block.ops().len() as u64
}

/// What waits for the operations of a block; `join`: the label of what waits for all of them.
fn write_edges(block: &Block, base: u64, join: Option<u64>, out: &mut impl Write) -> io::Result<()> {
    for (before, label) in (0..block.ops().len()).zip(base..) {
        for (after, start) in block.successors(before) {
            let word = if start { "irequires" } else { "requires" };
            writeln!(out, "l{} {word} l{label}", base + after as u64)?;
        }
        if let Some(join) = join.filter(|_| block.successors(before).all(|(_, start)| start)) {
            writeln!(out, "l{join} requires l{label}")?;
        }
    }
    Ok(())
}
