use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;

use super::finishes;
use crate::mpi::goal::{read, write};
use crate::mpi::program::{ANY, Op};

fn text(program: &crate::mpi::Program) -> String {
    let mut text = Vec::new();
    write(program, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

const SAMPLE: &str = "// two ranks
num_ranks 2
rank 1 { /* out of
            order */
  recv 10b from -1 tag -1 nic 1
}
rank 0 {
  l1: calc 1000 cpu 2\r
  l2 : send 10b to 1 tag 5 cpu 1 nic 3 // said
  l2 requires l1
  l3: send 7 b to 1
  l3 irequires l2 }
";

#[test]
fn a_schedule_is_read_as_it_says() {
    let program = read(SAMPLE, "f").unwrap();
    // As some editors save it.
    assert_eq!(text(&read(&format!("\u{feff}{SAMPLE}"), "f").unwrap()), text(&program));
    let ops = |rank: usize| program.ranks()[rank].blocks()[0].ops();
    assert_eq!(ops(1), [Op { nic: 1, ..Op::recv(ANY, 10, ANY) }]);
    assert_eq!(
        ops(0),
        [Op { cpu: 2, ..Op::calc(1000) }, Op { cpu: 1, nic: 3, ..Op::send(1, 10, 5) }, Op::send(1, 7, 0)]
    );
    let successors: Vec<_> = (0..3).map(|i| program.ranks()[0].blocks()[0].successors(i).collect::<Vec<_>>()).collect();
    assert_eq!(successors, [vec![(1, false)], vec![(2, true)], vec![]]);
}

/// A broadcast among eight ranks in the form that LogGOPSim's example schedules have.
#[test]
fn a_binomial_tree_runs() {
    let mut schedule = String::from("num_ranks 8\n\n");
    for rank in 0..8u32 {
        writeln!(schedule, "rank {rank} {{").unwrap();
        let top = if rank == 0 { 0 } else { rank.ilog2() + 1 };
        let mut label = 1;
        if rank > 0 {
            writeln!(schedule, "l1: recv 1b from {} tag 0", rank - (1 << (top - 1))).unwrap();
            label = 2;
        }
        for k in top..3 {
            writeln!(schedule, "l{label}: send 1b to {} tag 0", rank + (1 << k)).unwrap();
            if rank > 0 {
                writeln!(schedule, "l{label} requires l1").unwrap();
            }
            label += 1;
        }
        schedule += "}\n\n";
    }
    let program = Arc::new(read(&schedule, "tree.goal").unwrap());
    let result = finishes(&program);
    // Three hops of 1 us and 80 ps for the byte on each of two links; rank 0's sends follow each other on its link.
    assert_eq!((result.messages, result.runtime_ps), (7, Some(3 * 1_000_160)));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let error = |text: &str| read(text, "f.goal").unwrap_err().to_string();
    let in_rank = |line: &str| error(&format!("num_ranks 2\nrank 0 {{\nl1: calc 5\n{line}\n}}\nrank 1 {{\n}}\n"));
    let errors = [
        error(""),
        error("rank 0 {\n}"),
        error("num_ranks 0\n"),
        error("num_ranks 2\nrank 0 {\n}"),
        error("num_ranks 1\nrank 1 {\n}"),
        error("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}"),
        error("num_ranks 1\nrank 0 {\ncalc 5\n"),
        error("num_ranks 1\n/* and so\non"),
        error("num_ranks 1\nnum_ranks 1\n"),
        error("num_ranks 1\nrank 0\ncalc 5\n}"),
        in_rank("send 10 to 1"),
        in_rank("send 10b from 1"),
        in_rank("send 10b to 2"),
        in_rank("send 10b to 1 tag -1"),
        in_rank("send 10b to -1"),
        in_rank("recv 10b from -2"),
        in_rank("recv 99999999999999999999b from 1"),
        in_rank("recv 1b from 1 tag 4294967295"),
        in_rank("recv 1b from 1 cpu 256"),
        in_rank("calc 5 tag 1"),
        in_rank("calc 5 cpu 1 cpu 1"),
        in_rank("calc 1.5"),
        in_rank("l1: calc 6"),
        in_rank("l1 requires l2"),
        in_rank("l1 requires l1"),
        in_rank("l2: calc 1\nl1 requires l2\nl2 irequires l1"),
        in_rank("l1 needs l1"),
        in_rank("l1 requires l1 l1"),
        in_rank("calc 5; calc 6"),
        in_rank("\u{1F600}"),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

proptest! {
    #[test]
    fn reading_undoes_writing(program in super::any_program()) {
        let written = text(&program);
        let again = read(&written, "f").unwrap();
        prop_assert_eq!(&again, &program);
        prop_assert_eq!(text(&again), written);
    }

    /// Blocks that are repeated are written out, and what is read back is written as the same text: a schedule can be kept in a
    /// repository.
    #[test]
    fn what_is_read_back_is_written_again(program in super::any_program(), times in prop::collection::vec(1..4u32, 4)) {
        let again = |(rank, times): (&crate::mpi::RankProgram, u32)| {
            let mut more = crate::mpi::RankProgram::default();
            let first = more.block(rank.blocks()[0].clone());
            let second = more.block(crate::mpi::Block::new(vec![Op::calc(7), Op::calc(8)], Vec::new()).unwrap());
            more.repeat(first, times);
            more.repeat(second, 1);
            more.repeat(first, times);
            more
        };
        let repeated = crate::mpi::Program::new(program.ranks().iter().zip(times).map(again).collect()).unwrap();
        let written = text(&repeated);
        prop_assert_eq!(text(&read(&written, "f").unwrap()), written);
    }

    /// Text with bytes changed, cut out or put in: a program or an error with a line, and never more memory than the text asks for.
    #[test]
    fn mutated_text(
        program in super::any_program(),
        sample in any::<bool>(),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0..4u8), 0..6),
    ) {
        let mut bytes = if sample { SAMPLE.to_string() } else { text(&program) }.into_bytes();
        for (at, byte, kind) in edits {
            let at = at % bytes.len().max(1);
            match kind {
                0 if !bytes.is_empty() => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 if !bytes.is_empty() => drop(bytes.remove(at)),
                _ => bytes.insert(at.min(bytes.len()), b"0123456789 \n.-{}/*:blrqt"[byte as usize % 24]),
            }
        }
        let mutated = String::from_utf8_lossy(&bytes);
        match read(&mutated, "f") {
            Ok(program) => {
                prop_assert!(program.len() as usize <= mutated.len());
                prop_assert!(program.totals().operations as usize <= mutated.len());
                let again = read(&text(&program), "f");
                prop_assert_eq!(again, Ok(program));
            }
            Err(error) => {
                prop_assert_eq!(error.file.as_deref(), Some("f"));
                prop_assert!(error.line.is_none_or(|line| line <= 1 + bytes.len()));
            }
        }
    }
}
