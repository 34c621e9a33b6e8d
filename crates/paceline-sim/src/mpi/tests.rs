mod collectives;
mod goal;
mod machine;
mod nas;

use std::sync::Arc;

use proptest::prelude::*;

use super::program::{ANY, Edge};
use super::replay::{Replay, replay};
use super::{Access, Block, Crossbar, MachineConfig, Op, OpKind, Program, RankProgram};
use crate::framing::Framing;
use crate::graph::Side;

/// A program whose ranks have one block each, given as operations that all wait for the one before.
fn sequential(ranks: &[&[Op]]) -> Arc<Program> {
    let block = |ops: &&[Op]| {
        let edges = (1..ops.len() as u32).map(|i| Edge { before: i - 1, after: i, start: false }).collect();
        RankProgram::flat(Block::new(ops.to_vec(), edges).unwrap())
    };
    Arc::new(Program::new(ranks.iter().map(block).collect()).unwrap())
}

/// A program whose operations wait for nothing.
fn loose(ranks: &[&[Op]]) -> Arc<Program> {
    let block = |ops: &&[Op]| RankProgram::flat(Block::new(ops.to_vec(), Vec::new()).unwrap());
    Arc::new(Program::new(ranks.iter().map(block).collect()).unwrap())
}

/// Links of 100 Gb/s and 500 ns, no headers.
fn network(ranks: u32) -> Crossbar {
    let side = Side { rate: "100Gbps".parse().unwrap(), delay: "500ns".parse().unwrap() };
    let access = vec![Access::symmetric(side); ranks as usize].into();
    Crossbar { access, framing: Framing { header: 0, min_frame: 0, ..Framing::HPCC }, hosts_ps: 0, direct: false }
}

/// Runs a program that must finish and receive everything.
fn finishes(program: &Arc<Program>) -> Replay {
    let result = replay(program, MachineConfig::default(), Some(&network(program.len())));
    assert_eq!((&result.stuck, result.unreceived, &result.truncated), (&None, 0, &None));
    assert!(result.runtime_ps.is_some());
    result
}

/// Any program of one block per rank; most never finish.
fn any_program() -> impl Strategy<Value = Program> {
    (1u32..5).prop_flat_map(|ranks| {
        let op = (0..3u8, 0..ranks, prop_oneof![Just(ANY), 0..9u32], 0..100_000u64, 0..3u8, any::<bool>(), 0..3u8)
            .prop_map(move |(kind, peer, tag, size, cpu, wild, nic)| {
                let op = match kind {
                    0 => Op::send(peer, size, if tag == ANY { 0 } else { tag }),
                    1 => Op::recv(if wild { ANY } else { peer }, size, tag),
                    _ => Op::calc(size),
                };
                Op { cpu, nic: if kind > 1 { 0 } else { nic }, ..op }
            });
        let block = prop::collection::vec(op, 0..8).prop_flat_map(|ops| {
            let count = ops.len() as u32;
            let edge = (0..count.max(1), 0..count.max(1), any::<bool>());
            (Just(ops), prop::collection::vec(edge, 0..8))
        });
        let rank = block.prop_map(|(ops, edges)| {
            let edges = edges
                .into_iter()
                .filter(|(a, b, _)| a != b)
                .map(|(a, b, start)| Edge { before: a.min(b), after: a.max(b), start })
                .collect();
            RankProgram::flat(Block::new(ops, edges).unwrap())
        });
        prop::collection::vec(rank, ranks as usize).prop_map(|ranks| Program::new(ranks).unwrap())
    })
}

/// Bytes of the sends of a rank in one round of each of its blocks, largest first.
fn sent_by(program: &Program, rank: usize) -> Vec<u64> {
    let ops = program.ranks()[rank].blocks().iter().flat_map(|b| b.ops().iter());
    let mut bytes: Vec<u64> = ops.filter(|o| o.kind == OpKind::Send).map(|o| o.size).collect();
    bytes.sort_unstable_by(|a, b| b.cmp(a));
    bytes
}
