use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::finishes;
use crate::mpi::builder::{Builder, Comm};
use crate::mpi::collectives::*;
use crate::mpi::program::{OpKind, Program, RankProgram};

/// A program in which every rank takes part in one collective.
fn program(ranks: u32, write: impl Fn(&mut Builder, &Comm)) -> Arc<Program> {
    let rank = |me| {
        let mut b = Builder::new();
        write(&mut b, &Comm::world(ranks, me));
        RankProgram::flat(b.finish())
    };
    Arc::new(Program::new((0..ranks).map(rank).collect()).unwrap())
}

/// From which ranks every rank has heard, itself or through others, when it is through: a rank tells what it knows when its send begins.
fn heard(program: &Program) -> Vec<BTreeSet<u32>> {
    let blocks: Vec<_> = program.ranks().iter().filter_map(|r| r.blocks().first()).collect();
    let mut known: Vec<Vec<BTreeSet<u32>>> =
        (0..).zip(&blocks).map(|(rank, b)| vec![BTreeSet::from([rank]); b.ops().len()]).collect();
    // Knowledge only grows: go over everything until nothing is new.
    loop {
        let before = known.clone();
        let mut mail: BTreeMap<(u32, u32, u32), VecDeque<BTreeSet<u32>>> = BTreeMap::new();
        for (rank, block) in (0..).zip(&blocks) {
            for (op, knows) in block.ops().iter().zip(&known[rank as usize]) {
                if op.kind == OpKind::Send {
                    mail.entry((rank, op.peer, op.tag)).or_default().push_back(knows.clone());
                }
            }
        }
        for (rank, block) in (0..).zip(&blocks) {
            for i in 0..block.ops().len() {
                let op = block.ops()[i];
                if op.kind == OpKind::Recv {
                    let news = mail.get_mut(&(op.peer, rank, op.tag)).and_then(VecDeque::pop_front).unwrap();
                    known[rank as usize][i].extend(news);
                }
                let knows = known[rank as usize][i].clone();
                for (after, _) in block.successors(i) {
                    known[rank as usize][after].extend(&knows);
                }
            }
        }
        if known == before {
            return (0..).zip(known).map(|(rank, ops)| ops.into_iter().flatten().chain([rank]).collect()).collect();
        }
    }
}

const SIZES: [u32; 9] = [1, 2, 3, 4, 7, 8, 12, 13, 16];

#[test]
fn all_to_all_reaches_all_in_every_way() {
    for ranks in SIZES {
        let all: BTreeSet<u32> = (0..ranks).collect();
        let pairs = u64::from(ranks) * u64::from(ranks - 1);
        for (how, bytes) in [(AllToAll::Posted, 900), (AllToAll::Pairwise, 900), (AllToAll::Auto, 40_000)] {
            let program = program(ranks, |b, comm| alltoall(b, comm, bytes, 1, how));
            finishes(&program);
            assert!(heard(&program).iter().all(|h| *h == all), "{how:?} {ranks}");
            let totals = program.totals();
            assert_eq!((totals.messages, totals.bytes), (pairs, pairs * bytes), "{how:?} {ranks}");
        }
        // MPICH posts short blocks too among fewer than eight.
        let program = program(ranks, |b, comm| alltoall(b, comm, 100, 1, AllToAll::Auto));
        finishes(&program);
        let log = u64::from(ranks.next_power_of_two().ilog2());
        let messages = u64::from(ranks) * if ranks < 8 { u64::from(ranks - 1) } else { log };
        assert_eq!(program.totals().messages, messages, "auto {ranks}");
        let program = self::program(ranks, |b, comm| alltoall(b, comm, 100, 1, AllToAll::Bruck));
        finishes(&program);
        assert!(heard(&program).iter().all(|h| *h == all), "Bruck {ranks}");
        let steps = u64::from(ranks.next_power_of_two().ilog2());
        assert_eq!(program.totals().messages, u64::from(ranks) * steps, "one message per step");
        // A block travels once for every bit of its distance.
        let bits: u64 = (0..ranks).map(|d| u64::from(d.count_ones())).sum();
        assert_eq!(program.totals().bytes, u64::from(ranks) * bits * 100);
    }
}

/// Round a ring all hear from all, and over each link goes what the operation needs and no more. Blocks of 10 B more than ranks differ in size,
/// so that a rank which kept or passed on another's block would send another number of bytes.
#[test]
fn rings_carry_each_block_to_whom_it_belongs() {
    for ranks in SIZES {
        let all: BTreeSet<u32> = (0..ranks).collect();
        let bytes = u64::from(ranks) + 10;
        let block = |number: u32| {
            let at = |n: u32| bytes * u64::from(n) / u64::from(ranks);
            at(number % ranks + 1) - at(number % ranks)
        };
        let sent = |program: &Program, me: u32| -> u64 {
            let ops = program.ranks()[me as usize].blocks().first().map_or(&[][..], |b| b.ops());
            ops.iter().filter(|op| op.kind == OpKind::Send).map(|op| op.size).sum()
        };
        let reduce = program(ranks, |b, comm| ring_allreduce(b, comm, bytes, 1));
        let scatter = program(ranks, |b, comm| ring_reduce_scatter(b, comm, bytes, 1));
        let gather = program(ranks, |b, comm| ring_allgather(b, comm, bytes, 1));
        for program in [&reduce, &scatter, &gather] {
            finishes(program);
            assert!(heard(program).iter().all(|h| *h == all), "{ranks}");
        }
        for me in 0..ranks {
            // Its own block comes to a rank last of all; that of the next one goes last round to it.
            assert_eq!(sent(&scatter, me), bytes - block(me), "{me} of {ranks}");
            assert_eq!(sent(&gather, me), bytes - block(me + 1), "{me} of {ranks}");
            assert_eq!(sent(&reduce, me), 2 * bytes - block(me + 1) - block(me + 2), "{me} of {ranks}");
        }
    }
}

#[test]
fn unequal_parts_are_received_as_sent() {
    let part = |from: u32, to: u32| u64::from(from * 100 + to);
    let program = program(6, |b, comm| alltoallv(b, comm, part, 1));
    finishes(&program);
    for (rank, program) in (0..).zip(program.ranks()) {
        for op in program.blocks()[0].ops() {
            match op.kind {
                OpKind::Send => assert_eq!(op.size, part(rank, op.peer)),
                OpKind::Recv => assert_eq!(op.size, part(op.peer, rank)),
                OpKind::Calc => {}
            }
        }
    }
}

#[test]
fn reductions_hear_from_all() {
    for ranks in SIZES {
        let all: BTreeSet<u32> = (0..ranks).collect();
        for (how, bytes) in [(AllReduce::RecursiveDoubling, 64), (AllReduce::ReduceScatter, 1000), (AllReduce::Auto, 5)]
        {
            let program = program(ranks, |b, comm| allreduce(b, comm, bytes, 1, how));
            finishes(&program);
            assert!(heard(&program).iter().all(|h| *h == all), "{how:?} {ranks}");
        }
        for root in [0, ranks - 1, ranks / 2] {
            let program = program(ranks, |b, comm| reduce(b, comm, root, 64, 1));
            finishes(&program);
            assert_eq!(heard(&program)[root as usize], all, "reduce {ranks} {root}");
            assert_eq!(program.totals().bytes, u64::from(ranks - 1) * 64);
        }
    }
    // Both halves move the whole vector but one part of it.
    let program = program(8, |b, comm| allreduce(b, comm, 8000, 1, AllReduce::Auto));
    assert_eq!(program.totals().bytes, 8 * 2 * 7000);
    // Half of the vector to the next rank, a quarter to the one after that, an eighth to the farthest, and back: the other way round
    // all large messages would cross the network's middle.
    let sent = |program: &Program| -> Vec<(u32, u64)> {
        let ops = program.ranks()[0].blocks()[0].ops();
        ops.iter().filter(|op| op.kind == OpKind::Send).map(|op| (op.peer, op.size)).collect()
    };
    assert_eq!(sent(&program), [(1, 4000), (2, 2000), (4, 1000), (4, 1000), (2, 2000), (1, 4000)]);
    // 300 doubles among 512 ranks: fewer than ranks, so whole vectors.
    let few = self::program(512, |b, comm| allreduce(b, comm, 2400, 1, AllReduce::Auto));
    assert_eq!(few.totals().messages, 512 * 9);
    assert_eq!(sent(&few)[0], (1, 2400));
}

#[test]
fn broadcasts_come_from_the_root_and_barriers_from_all() {
    for ranks in SIZES {
        let all: BTreeSet<u32> = (0..ranks).collect();
        for root in [0, ranks - 1, ranks / 2] {
            for how in [Bcast::Binomial, Bcast::Scatter, Bcast::Auto] {
                let program = program(ranks, |b, comm| bcast(b, comm, root, 16_000, 1, how));
                finishes(&program);
                assert!(heard(&program).iter().all(|h| h.contains(&root)), "{how:?} {ranks} {root}");
                let hops = u64::from(ranks - 1) * 16_000;
                if how == Bcast::Binomial {
                    assert_eq!(program.totals().bytes, hops);
                } else if how == Bcast::Scatter {
                    // The ring alone moves all parts but one's own to everybody.
                    assert!(program.totals().bytes >= hops, "{ranks} {root}");
                }
            }
        }
        let program = program(ranks, |b, comm| barrier(b, comm, 1));
        finishes(&program);
        assert!(heard(&program).iter().all(|h| *h == all), "barrier {ranks}");
    }
}

/// Rows and columns of a grid of ranks take part side by side.
#[test]
fn parts_of_the_ranks_have_collectives_of_their_own() {
    let rank = |me: u32| {
        let mut b = Builder::new();
        let comm = Comm { first: me % 4, stride: 4, size: 3, me: me / 4 };
        alltoall(&mut b, &comm, 10, 1, AllToAll::Posted);
        RankProgram::flat(b.finish())
    };
    let program = Arc::new(Program::new((0..12).map(rank).collect()).unwrap());
    finishes(&program);
    for (rank, heard) in (0..).zip(heard(&program)) {
        assert_eq!(heard, (0..12).filter(|r| r % 4 == rank % 4).collect());
    }
}
