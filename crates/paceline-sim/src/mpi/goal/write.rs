//! From a program to GOAL text.

use std::io::{self, Write};

use crate::mpi::program::{Block, Program, RankProgram};

/// Writes a program, repeated blocks in full. Operations are labelled by their number in the rank's run, from 1; where a block
/// follows another, an empty computation `j…` between them stands for "when all of it is over".
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
    let mut base = 1u64;
    let mut join = 0u64;
    let blocks = rank.parts().iter().flat_map(|p| (0..p.times).map(|_| &rank.blocks()[p.block as usize]));
    let mut previous: Option<&Block> = None;
    for block in blocks {
        if let Some(previous) = previous {
            join += 1;
            writeln!(out, "j{join}: calc 0")?;
            let len = previous.ops().len();
            for op in (0..len).filter(|op| previous.successors(*op).all(|(_, start)| start)) {
                writeln!(out, "j{join} requires l{}", base - len as u64 + op as u64)?;
            }
        }
        write_block(block, base, join, out)?;
        base += block.ops().len() as u64;
        previous = Some(block);
    }
    Ok(())
}

fn write_block(block: &Block, base: u64, join: u64, out: &mut impl Write) -> io::Result<()> {
    for (i, op) in block.ops().iter().enumerate() {
        writeln!(out, "l{}: {op}", base + i as u64)?;
    }
    let mut waiting = Vec::new();
    if join > 0 {
        block.count_waiting(&mut waiting);
        for op in (0..waiting.len()).filter(|op| waiting[*op] == 0) {
            writeln!(out, "l{} requires j{join}", base + op as u64)?;
        }
    }
    for before in 0..block.ops().len() {
        for (after, start) in block.successors(before) {
            let word = if start { "irequires" } else { "requires" };
            writeln!(out, "l{} {word} l{}", base + after as u64, base + before as u64)?;
        }
    }
    Ok(())
}
