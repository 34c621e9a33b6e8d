use std::sync::Arc;

use proptest::prelude::*;

use super::{finishes, loose, network, sequential};
use crate::mpi::machine::{Act, Machine, MachineConfig, Message};
use crate::mpi::program::{ANY, Block, Edge, Op, Program, RankProgram};
use crate::mpi::replay;

/// Microseconds in ps.
const US: u64 = 1_000_000;

/// A machine that has begun, and what it asks for.
fn begun(program: &Arc<Program>) -> (Machine, Vec<Act>) {
    let mut machine = Machine::new(Arc::clone(program), MachineConfig::default());
    let mut acts = Vec::new();
    machine.begin(0, &mut acts);
    (machine, acts)
}

/// The messages among acts: from, to, bytes.
fn sends(acts: &[Act]) -> Vec<(Message, u32, u32, u64)> {
    let send = |act: &Act| match *act {
        Act::Send { message, from, to, bytes, .. } => Some((message, from, to, bytes)),
        Act::Wake { .. } => None,
    };
    acts.iter().filter_map(send).collect()
}

/// 1250 B at 100 Gb/s last 100 ns; the first 1000 of them, 80 ns, are stored at the switch, and the way is 1 us.
#[test]
fn an_eager_message_takes_latency_and_its_time_on_the_receivers_link() {
    let program = sequential(&[&[Op::send(1, 1250, 0)], &[Op::recv(0, 1250, 0), Op::calc(2_000)]]);
    let result = finishes(&program);
    assert_eq!(result.runtime_ps, Some(US + US / 10 + 80_000 + 2 * US));
    assert_eq!((result.messages, result.bytes), (1, 1250));
}

/// Request and grant of 64 B (5.12 ns on each of two links) go before the data, and the send is over when these have arrived.
#[test]
fn a_large_message_waits_for_its_receive() {
    let program =
        sequential(&[&[Op::send(1, 125_000, 0)], &[Op::calc(50_000), Op::recv(0, 125_000, 0)], &[Op::calc(1)]]);
    let result = finishes(&program);
    assert_eq!((result.messages, result.bytes), (3, 125_000 + 128));
    assert_eq!(result.runtime_ps, Some(50 * US + US + 2 * 5_120 + US + 80_000 + 10 * US));
    let (mut machine, mut acts) = begun(&program);
    let request = sends(&acts)[0];
    assert_eq!((request.1, request.2, request.3), (0, 1, 64));
    acts.clear();
    machine.received(request.0, 5, &mut acts);
    assert!(acts.is_empty(), "no grant before the receive is posted");
    machine.woken(1, 0, 9, &mut acts);
    let grant = sends(&acts)[0];
    assert_eq!((grant.1, grant.2, grant.3), (1, 0, 64));
    acts.clear();
    machine.received(grant.0, 12, &mut acts);
    let data = sends(&acts)[0];
    assert_eq!((data.1, data.2, data.3), (0, 1, 125_000));
    machine.received(data.0, 20, &mut acts);
    assert_eq!((machine.finish_of(0), machine.finish_of(1)), (None, Some(20)));
    machine.sent(data.0, 30, &mut acts);
    assert_eq!((machine.finish_of(0), machine.finished()), (Some(30), None));
}

/// 125 kB last 10 us. The links of rank 0 are shared in any order, but carry no more than their rate: neither what is waited for at
/// once nor what is received one by one, all sent at the beginning.
#[test]
fn a_link_carries_one_message_after_the_other() {
    let config = MachineConfig { eager: 1 << 20, ..MachineConfig::default() };
    let sender: &[Op] = &[Op::send(0, 125_000, 0)];
    let receives = [Op::recv(1, 125_000, 0), Op::recv(2, 125_000, 0), Op::recv(3, 125_000, 0)];
    let one_by_one = [&receives[..], &[Op::calc(2_000)]].concat();
    let at_once =
        Block::new(one_by_one.clone(), (0..3).map(|before| Edge { before, after: 3, start: false }).collect()).unwrap();
    let mut at_once = vec![RankProgram::flat(at_once)];
    at_once.resize(4, RankProgram::flat(Block::new(sender.to_vec(), Vec::new()).unwrap()));
    let last = US + 80_000 + 30 * US + 2 * US;
    for program in [sequential(&[&one_by_one, sender, sender, sender]), Arc::new(Program::new(at_once).unwrap())] {
        assert_eq!(replay(&program, config, Some(&network(4))).runtime_ps, Some(last));
    }
}

/// Rank 0 grants what rank 1 wants to send while its own data are on the way for 100 us: the grant goes in between, as a network may
/// let it.
#[test]
fn a_grant_does_not_wait_behind_data() {
    let wait = vec![Edge { before: 1, after: 2, start: false }];
    let first = vec![Op::send(1, 1_250_000, 0), Op::calc(50_000), Op::recv(1, 1_250_000, 1)];
    let second = vec![Op::recv(0, 1_250_000, 0), Op::send(0, 1_250_000, 1)];
    let ranks =
        [(first, wait), (second, Vec::new())].map(|(ops, edges)| RankProgram::flat(Block::new(ops, edges).unwrap()));
    let program = Arc::new(Program::new(ranks.into()).unwrap());
    let way = US + 2 * 5_120;
    assert_eq!(finishes(&program).runtime_ps, Some(50 * US + way + US + 80_000 + 100 * US));
}

/// A message takes the receive that was posted first, whether that has a wildcard or not.
#[test]
fn receives_match_in_order_of_posting() {
    // What follows each receive tells which one took the message.
    let take = |first: Op, second: Op| {
        let ops = vec![first, second, Op::calc(1_000), Op::calc(50_000)];
        let edges = vec![Edge { before: 0, after: 2, start: false }, Edge { before: 1, after: 3, start: false }];
        let rank = RankProgram::flat(Block::new(ops, edges).unwrap());
        let sender = RankProgram::flat(Block::new(vec![Op::send(0, 10, 7)], Vec::new()).unwrap());
        let program = Arc::new(Program::new(vec![rank, sender]).unwrap());
        let (mut machine, mut acts) = begun(&program);
        let message = sends(&acts)[0].0;
        acts.clear();
        machine.received(message, 0, &mut acts);
        let [Act::Wake { at_ps, .. }] = acts[..] else { panic!("{acts:?}") };
        at_ps / 1000
    };
    assert_eq!(take(Op::recv(ANY, 10, 7), Op::recv(1, 10, 7)), 1_000);
    assert_eq!(take(Op::recv(1, 10, 7), Op::recv(ANY, 10, ANY)), 1_000);
    assert_eq!(take(Op::recv(1, 10, 8), Op::recv(1, 10, ANY)), 50_000, "another tag does not fit");
    assert_eq!(take(Op::recv(0, 10, 7), Op::recv(1, 10, 7)), 50_000, "another source does not fit");
}

/// A receive takes the message that came first of those that fit.
#[test]
fn a_wildcard_takes_the_message_that_came_first() {
    let rank = sequential(&[
        &[Op::calc(100), Op::recv(ANY, 10, ANY), Op::recv(2, 10, 0)],
        &[Op::send(0, 10, 0)],
        &[Op::send(0, 10, 0)],
    ]);
    let run = |first: usize| {
        let (mut machine, mut acts) = begun(&rank);
        let messages = sends(&acts);
        acts.clear();
        machine.received(messages[first].0, 1, &mut acts);
        machine.received(messages[1 - first].0, 2, &mut acts);
        machine.woken(0, 0, 100_000, &mut acts);
        (machine.finished(), machine.stuck())
    };
    assert_eq!(run(0), (Some(100_000), None));
    let (finished, stuck) = run(1);
    assert_eq!(finished, None);
    assert_eq!(
        stuck.unwrap(),
        "1 of 3 ranks can never finish; rank 0, operation 3 (`recv 10b from 2 tag 0`): no message fits; there is one from \
         1 with tag 0"
    );
}

/// With a connection per message a short one may overtake a long one; MPI does not let it.
#[test]
fn messages_are_looked_at_in_the_order_of_their_sends() {
    let program = sequential(&[
        &[Op::send(1, 30_000, 5), Op::send(1, 1, 5)],
        &[Op::recv(0, 30_000, 5), Op::calc(1_000), Op::recv(0, 1, 5)],
    ]);
    let (mut machine, acts) = begun(&program);
    let messages = sends(&acts);
    let mut acts = Vec::new();
    machine.received(messages[1].0, 10, &mut acts);
    assert!(acts.is_empty(), "the second message was taken for the first");
    machine.received(messages[0].0, 20, &mut acts);
    assert_eq!(acts.len(), 1);
    machine.woken(1, 0, 1_000_020, &mut acts);
    assert_eq!(machine.finished(), Some(1_000_020));
}

/// Computations of one processor follow each other, those of two overlap.
#[test]
fn processors_are_busy_with_one_computation_at_a_time() {
    let two = |cpu: u8| loose(&[&[Op::calc(1_000), Op { cpu, ..Op::calc(3_000) }]]);
    assert_eq!(finishes(&two(0)).runtime_ps, Some(4 * US));
    assert_eq!(finishes(&two(1)).runtime_ps, Some(3 * US));
}

/// `irequires` waits for the start only: of a computation, for its processor.
#[test]
fn irequires_waits_for_the_start() {
    let ops = vec![Op::calc(1_000), Op::calc(5_000), Op { cpu: 1, ..Op::calc(2_000) }];
    let program = |start| {
        let edges = vec![Edge { before: 1, after: 2, start }];
        Arc::new(Program::new(vec![RankProgram::flat(Block::new(ops.clone(), edges).unwrap())]).unwrap())
    };
    assert_eq!(finishes(&program(true)).runtime_ps, Some(6 * US), "over while the second computes");
    assert_eq!(finishes(&program(false)).runtime_ps, Some(8 * US));
}

#[test]
fn a_rank_may_send_to_itself() {
    let program = sequential(&[&[Op::send(0, 1 << 20, 3), Op::recv(0, 1 << 20, 3), Op::calc(7)]]);
    let result = finishes(&program);
    assert_eq!((result.runtime_ps, result.messages), (Some(7_000), 0));
}

/// Blocks follow each other, and the same block again, only when all of the one before is over.
#[test]
fn a_block_begins_when_the_one_before_is_over() {
    let mut rank = RankProgram::default();
    let long = Block::new(vec![Op::calc(1_000), Op { cpu: 1, ..Op::calc(4_000) }], Vec::new()).unwrap();
    let long = rank.block(long);
    let empty = rank.block(Block::default());
    rank.repeat(empty, 5);
    rank.repeat(long, 3);
    rank.repeat(empty, 1);
    let program = Arc::new(Program::new(vec![rank, RankProgram::default()]).unwrap());
    assert_eq!(finishes(&program).runtime_ps, Some(12 * US));
    assert_eq!(program.totals().operations, 6);
}

/// Two ranks that both wait for a large message to be received first never get anywhere, and are told why.
#[test]
fn a_deadlock_is_explained() {
    let ranks: &[&[Op]] =
        &[&[Op::send(1, 1 << 20, 0), Op::recv(1, 1 << 20, 0)], &[Op::send(0, 1 << 20, 0), Op::recv(0, 1 << 20, 0)]];
    let result = replay(&sequential(ranks), MachineConfig::default(), Some(&network(2)));
    assert_eq!(result.runtime_ps, None);
    insta::assert_snapshot!(result.stuck.unwrap(), @"2 of 2 ranks can never finish; rank 0, operation 1 (`send 1048576b to 1 tag 0`): its receiver has not posted a receive that fits; rank 1, operation 1 (`send 1048576b to 0 tag 0`): its receiver has not posted a receive that fits");
    // The same with messages small enough to be sent at once.
    let config = MachineConfig { eager: 1 << 20, ..MachineConfig::default() };
    assert!(replay(&sequential(ranks), config, Some(&network(2))).runtime_ps.is_some());
}

#[test]
fn messages_that_nobody_receives_are_counted() {
    let result = replay(&loose(&[&[Op::send(1, 5, 0)], &[]]), MachineConfig::default(), None);
    assert_eq!((result.runtime_ps, result.unreceived), (Some(0), 1));
}

/// Whoever shortens a receive by mistake is told where: MPI would have ended the program. Longer receives, of any source too, are its right.
#[test]
fn receives_that_are_too_short_are_told() {
    let truncated = |receives: &[Op]| {
        let sends = [Op::send(1, 20, 0), Op::send(1, 20, 0), Op::send(1, 100_000, 7)];
        let result = replay(&sequential(&[&sends, receives]), MachineConfig::default(), None);
        assert_eq!((result.runtime_ps, result.unreceived), (Some(0), 0), "they are received all the same");
        result.truncated
    };
    let large = Op::recv(0, 100_000, 7);
    assert_eq!(truncated(&[Op::recv(ANY, 20, ANY), Op::recv(0, 1 << 30, 0), large]), None);
    let one = truncated(&[Op::recv(ANY, 20, 0), Op::recv(0, 19, ANY), large]).unwrap();
    assert!(one.starts_with("1 message is longer than the receive that takes it"), "{one}");
    assert!(one.contains("rank 1, operation 2 (`recv 19b from 0 tag -1`) takes 20 B from rank 0"), "{one}");
    let two = truncated(&[Op::recv(0, 0, 0), Op::recv(0, 20, 0), Op::recv(0, 99_999, 7)]).unwrap();
    assert!(two.starts_with("2 messages are longer") && two.contains("operation 1 (`recv 0b"), "{two}");
}

/// What is to happen: when, in which order, and to which message (arrived or sent) or to which rank's processor.
type Due = (u64, u64, Option<(Message, bool)>, (u32, u32));

/// Carries messages with any delays, each apart from the others.
fn carry(program: &Arc<Program>, delays: &[u64]) -> Machine {
    let (mut machine, mut acts) = begun(program);
    let mut todo: Vec<Due> = Vec::new();
    let (mut now, mut count) = (0, 0);
    loop {
        for act in acts.drain(..) {
            count += 1;
            let delay = delays[count as usize % delays.len()];
            match act {
                Act::Wake { rank, at_ps, token } => todo.push((at_ps, count, None, (rank, token))),
                Act::Send { message, .. } => {
                    todo.push((now + delay, count, Some((message, true)), (0, 0)));
                    todo.push((now + delays[count as usize / 2 % delays.len()], count, Some((message, false)), (0, 0)));
                }
            }
        }
        let Some(next) = (0..todo.len()).min_by_key(|i| (todo[*i].0, todo[*i].1)) else { return machine };
        let (at, _, message, (rank, token)) = todo.remove(next);
        now = at;
        match message {
            None => machine.woken(rank, token, now, &mut acts),
            Some((message, true)) => machine.received(message, now, &mut acts),
            Some((message, false)) => machine.sent(message, now, &mut acts),
        }
    }
}

proptest! {
    /// Ranks that send and receive in one common order never get stuck, however messages are delayed or overtake.
    #[test]
    fn programs_in_a_common_order_finish(
        steps in prop::collection::vec((0..4u32, 1..4u32, 0..3u32, 1..60_000u64), 0..40),
        delays in prop::collection::vec(0..5_000u64, 1..20),
        wild in any::<bool>(),
    ) {
        let mut ranks: Vec<Vec<Op>> = vec![Vec::new(); 4];
        for (from, ahead, tag, bytes) in steps {
            let to = (from + ahead) % 4;
            ranks[from as usize].push(Op::send(to, bytes, tag));
            ranks[to as usize].push(Op::recv(from, bytes, if wild { ANY } else { tag }));
        }
        let program = sequential(&ranks.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let machine = carry(&program, &delays);
        prop_assert_eq!((machine.stuck(), machine.unreceived()), (None, 0));
    }

    /// Whatever a program is, it ends with an answer: finished or stuck.
    #[test]
    fn any_program_finishes_or_is_explained(program in super::any_program(), delays in prop::collection::vec(0..5_000u64, 1..9)) {
        let machine = carry(&Arc::new(program), &delays);
        prop_assert_eq!(machine.finished().is_some(), machine.stuck().is_none());
        // All that is shown of a long program's progress: it comes to its end with the program, and not before.
        let all = machine.program().totals().operations;
        prop_assert!(machine.operations_done() <= all);
        prop_assert!(machine.operations_done() == all || machine.finished().is_none());
    }
}
