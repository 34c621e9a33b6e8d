//! Message-passing programs over a network: all ranks come to their end over every kind of transport and connection, no
//! faster than they compute and with the messages that the program says; one that cannot end says why.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::Collect;
use paceline_sim::assemble::{Assembled, assemble};
use paceline_sim::engine::Ending;
use paceline_sim::engine::sequential::Sequential;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::mpi::program::{Edge, Op, OpKind};
use paceline_sim::mpi::{Block, Builder, Program, RankProgram, Replay, goal as goal_text, replay};
use paceline_sim::net::Net;
use paceline_sim::record::FlowRecord;
use paceline_sim::results::mpi::{MpiRun, ranks, runs};
use paceline_sim::run::choose_engine;
use paceline_sim::spec::parse;
use paceline_sim::workload::program::{Kind, Mpi};
use proptest::prelude::*;
use proptest::test_runner::contextualize_config;

/// What a run came to.
#[derive(PartialEq, Debug)]
struct Outcome {
    ending: Ending,
    flows: Vec<FlowRecord>,
    run: MpiRun,
    ranks: String,
    ideal: Replay,
    warnings: Vec<String>,
}

fn outcome(net: &Net, workload: &Mpi, flows: Vec<FlowRecord>, ending: Ending) -> Outcome {
    let groups = vec!["mpi".to_string()];
    let (mut warnings, mut table) = (Vec::new(), Vec::new());
    let run = runs(net, &groups, &mut warnings).remove(0);
    ranks(net, &groups, &mut table).unwrap();
    let ideal = replay(&workload.program, workload.config, Some(&workload.ideal));
    Outcome { ending, flows, run, ranks: String::from_utf8(table).unwrap(), ideal, warnings }
}

/// 16 hosts at 10 Gb/s with half as many uplinks.
const TREE: &str =
    "kind = 'xgft'\nchildren = [4, 4]\nparents = [1, 2]\nrates = ['10Gbps']\n[routing]\nchoice = 'd_mod_k'";

/// On [`TREE`]; `more` goes on in the workload and then in other sections.
fn run(cc: &str, more: &str) -> Outcome {
    run_on(TREE, cc, more)
}

fn assembled(network: &str, cc: &str, more: &str) -> (Assembled, Mpi) {
    let text = format!("[topology]\n{network}\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'mpi'\n{more}");
    let assembled = assemble(&parse(&text, "mpi.toml", &[]).unwrap()).unwrap();
    let Kind::Mpi(workload) = assembled.scenario.programs[0].kind.clone() else { panic!("{text}") };
    (assembled, workload)
}

fn run_on(network: &str, cc: &str, more: &str) -> Outcome {
    let (assembled, workload) = assembled(network, cc, more);
    let mut engine = Sequential::new(assembled.scenario, assembled.source, None).unwrap();
    engine.net_mut().record_classes(&assembled.classes);
    let mut collect = Collect::default();
    let (ending, _) = engine.run(&mut collect).unwrap();
    assert!(ending != Ending::Completed || engine.net().packets_alive() == 0);
    outcome(engine.net(), &workload, collect.flows, ending)
}

/// The same in windows; how many packets went from part to part, of how many parts.
fn run_in_windows(network: &str, cc: &str, more: &str, threads: usize) -> (Outcome, u64, usize) {
    let (assembled, workload) = assembled(network, cc, more);
    let mut engine = Windowed::on_threads(&assembled.scenario, assembled.source, threads).unwrap();
    engine.nets_mut().for_each(|net| net.record_classes(&assembled.classes));
    let mut collect = Collect::default();
    let (ending, _) = engine.run(&mut collect).unwrap();
    let crossed = engine.shares().iter().map(|share| share.crossed).sum();
    (outcome(engine.net(), &workload, collect.flows, ending), crossed, engine.shares().len())
}

const NO_PFC: &str = "[switch]\npfc = { enabled = false }\n";

/// Ports on which a transport can run.
fn ports(cc: &str) -> &'static str {
    match cc {
        "ndp" => "[switch]\npfc = { enabled = false }\ntrimming = { enabled = true }\n",
        "new_reno" | "homa" | "express_pass" => NO_PFC,
        _ => "",
    }
}

/// A message lost, told twice or told to the wrong rank would leave ranks waiting or let them run ahead.
#[test]
fn programs_end_over_every_transport() {
    for (cc, connections) in
        [("hpcc", "open"), ("new_reno", "open"), ("hpcc", "new"), ("new_reno", "new"), ("homa", "new"), ("ndp", "new")]
    {
        for program in ["'ft'\nproblem_class = 'S'\niterations = 2", "'cg'\nproblem_class = 'S'\niterations = 1"] {
            let o = run(cc, &format!("program = {program}\nconnections = '{connections}'\n{}", ports(cc)));
            let what = format!("{cc} {connections} {program}");
            assert_eq!((o.ending, o.warnings), (Ending::Completed, vec![]), "{what}");
            let slowdown = o.run.slowdown.unwrap();
            assert!((1.0..4.0).contains(&slowdown), "{what}: {slowdown}");
            // Of the table: every rank took at least as long as it computed.
            for row in o.ranks.lines().skip(1) {
                let cell = |i: usize| row.split(',').nth(i).unwrap().parse::<u64>().unwrap();
                assert!(cell(4) >= cell(5) && cell(5) > 0, "{what}: {row}");
                assert_eq!(cell(1), cell(2), "rank i is on host i");
            }
            let sent: u64 = o.flows.iter().map(|f| f.bytes).sum();
            // Eager messages only in CG; all of FT's transposes are asked for and granted.
            let all = if connections == "new" { o.run.message_bytes } else { 0 };
            let control = 128 * o.flows.len() as u64;
            assert!((all..=all + control).contains(&sent), "{what}: {sent} of {all}");
        }
    }
}

/// The same scenario gives the same, to the picosecond.
#[test]
fn runs_repeat() {
    let once = || {
        run("new_reno", &format!("program = 'is'\nproblem_class = 'S'\niterations = 2\nconnections = 'new'\n{NO_PFC}"))
    };
    let (a, b) = (once(), once());
    assert_eq!((a.ranks, a.flows), (b.ranks, b.flows));
}

/// All programs, on the numbers of ranks that they allow, placed at random.
#[test]
fn every_program_runs() {
    for program in [
        "'bt'\nproblem_class = 'S'\niterations = 2\nranks = 9",
        "'is'\nproblem_class = 'W'\niterations = 1",
        "'mg'\nproblem_class = 'S'\niterations = 1\nranks = 8",
        "'wrf'\niterations = 1\ncompute = '1ms'\nranks = 15",
        "'collective'\niterations = 2\nbytes = '1MB'\nranks = 15",
        "'collective'\noperation = 'all_to_all'\nalgorithm = 'pairwise'\niterations = 1\nbytes = '1MB'",
        "'collective'\nalgorithm = 'halving_doubling'\niterations = 2\nbytes = '100001B'\nchannels = 3",
        "'collective'\noperation = 'broadcast'\niterations = 3\nbytes = '1MB'\ncompute = '10us'",
    ] {
        let o = run("hpcc", &format!("program = {program}\nplacement = 'random'\n"));
        assert_eq!(o.ending, Ending::Completed, "{program}");
        let hosts: Vec<u32> = o.ranks.lines().skip(1).map(|r| r.split(',').nth(2).unwrap().parse().unwrap()).collect();
        let mut sorted = hosts.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..o.run.ranks).collect::<Vec<_>>(), "{program}");
        assert_ne!(hosts, sorted, "{program}: placed in order");
    }
}

/// The algorithms of an all-reduce differ as their costs do: round a ring each rank sends the vector twice less a block for each turn; by recursive
/// doubling all of it to each of four partners.
#[test]
fn an_all_reduce_takes_what_its_algorithm_sends() {
    let vector = 4_000_000;
    let runtime = |algorithm: &str, sent: u64| {
        let more = format!(
            "program = 'collective'\nalgorithm = '{algorithm}'\nbytes = '{vector}B'\niterations = 1\nranks = 16\n{NO_PFC}"
        );
        let o = run("hpcc", &more);
        assert_eq!((o.ending, o.run.message_bytes), (Ending::Completed, 16 * sent), "{algorithm}");
        let ps = o.run.runtime_ps.unwrap();
        let least = sent * 8 * 100; // at 10 Gb/s
        assert!(ps > least, "{algorithm}: {ps} ps for {least}");
        ps
    };
    let [ring, doubling] =
        [("ring", 2 * vector / 16 * 15), ("recursive_doubling", 4 * vector)].map(|(a, b)| runtime(a, b));
    assert!(doubling > ring * 3 / 2, "{ring} {doubling}");
}

/// Slices that go their own ways fill the link while one of them waits for its next block: as many bytes, sooner, and what follows waits
/// for all of them.
#[test]
fn channels_hide_the_way_of_a_block() {
    let of = |channels: u32| {
        let more = format!(
            "program = 'collective'\nalgorithm = 'ring'\nbytes = '320KB'\niterations = 3\nchannels = {channels}\ncompute = '50us'\n"
        );
        let o = run("hpcc", &more);
        assert_eq!((o.ending, o.run.message_bytes), (Ending::Completed, 3 * 16 * 2 * 15 * 20_000), "{channels}");
        o.run.runtime_ps.unwrap()
    };
    let [one, four] = [1, 4].map(of);
    // Thirty steps of 20 KB, each 16 us on the wire and 4 to 8 us on its way.
    let least = 3 * (50 + 30 * 16) * 1_000_000;
    assert!(four > least && one > least * 6 / 5 && four < one * 9 / 10, "{one} {four} {least}");
}

/// Four hosts on two rails, which have nothing in common.
fn two_rails(second: &str) -> String {
    let links = |rail: &str, rate: &str| {
        let link = |host: &str| format!("{{ a = '{host}', b = '{rail}', rate = '{rate}' }}");
        ["a", "b", "c", "d"].map(link).join(", ")
    };
    format!(
        "kind = 'graph'\nhosts = ['a', 'b', 'c', 'd']\nswitches = ['s', 't']\nlinks = [{}, {}]",
        links("s", "100Gbps"),
        links("t", second)
    )
}

/// Each channel of a collective has a rail of its own, in turn: two take half the time of one, whatever numbers connections have, and
/// more than there are rails share them.
#[test]
fn channels_go_by_the_nics_in_turn() {
    let network = two_rails("100Gbps");
    let of = |cc: &str, channels: u32| {
        let more =
            format!("program = 'collective'\nbytes = '8MB'\niterations = 1\nchannels = {channels}\n{}", ports(cc));
        let o = run_on(&network, cc, &more);
        assert_eq!((&o.ending, run_in_windows(&network, cc, &more, 2).0 == o), (&Ending::Completed, true));
        o.run.runtime_ps.unwrap() as f64
    };
    for cc in ["hpcc", "new_reno"] {
        let [one, two, four] = [1, 2, 4].map(|channels| of(cc, channels));
        assert!(two < 0.6 * one && four < 0.6 * one, "{cc}: {one} {two} {four}");
    }
}

/// There is a connection for each two NICs that channels go by: in a ring of four one for each of two rails, and a single one where both
/// numbers lead to the same NICs, or a host has but one.
#[test]
fn channels_share_connections_by_the_same_nics() {
    let connections = |network: &str, channels: u32| {
        let more =
            format!("program = 'collective'\nbytes = '8MB'\niterations = 1\nchannels = {channels}\neager = '16MB'");
        assembled(network, "hpcc", &more).1.pairs.len()
    };
    let rails = two_rails("100Gbps");
    for (network, ring) in [(&rails[..], 4), (RAILS, 6), (TREE, 16), (TWICE, 6)] {
        let doubled = if network == rails || network == TWICE { 2 } else { 1 };
        assert_eq!([1, 2, 3].map(|n| connections(network, n)), [ring, doubled * ring, doubled * ring], "{network}");
    }
}

/// A schedule says by which NIC a message goes, counted round those there are; the request and the grant of a large one go with it.
#[test]
fn a_schedule_names_nics() {
    let network = two_rails("10Gbps");
    let runtime = |nic: &str, bytes: u64, more: &str| {
        let receive = format!("rank 1 {{\nl1: recv {bytes}b from 0 tag 1\n}}\n");
        // Another message, which goes by the first rail, so that there is always one that names a NIC.
        let rest = "rank 2 {\nsend 5b to 3 nic 2\n}\nrank 3 {\nrecv 5b from 2\n}\n";
        let text = format!("num_ranks 4\nrank 0 {{\nl1: send {bytes}b to 1 tag 1{nic}\n}}\n{receive}{rest}");
        let o = run_on(
            &network,
            "hpcc",
            &format!("{}{more}", goal(&format!("nic-{bytes}{}.goal", nic.replace(' ', "")), &text)),
        );
        assert_eq!(o.ending, Ending::Completed);
        o.run.runtime_ps.unwrap() as f64
    };
    for bytes in [30_000, 1_000_000] {
        let [none, first, second, third] = ["", " nic 0", " nic 1", " nic 2"].map(|nic| runtime(nic, bytes, ""));
        assert_eq!((none, third), (first, first), "{bytes}");
        assert!(second > 5.0 * first, "{bytes}: {first} {second}");
    }
}

/// Of a schedule.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi").join(name)
}

/// Writes a schedule and returns the lines that name it.
fn goal(name: &str, text: &str) -> String {
    let path = path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    format!("program = 'goal'\nfile = '{}'\n", path.display())
}

/// A schedule of ping and pong between the two hosts that are named, first and second.
#[test]
fn a_schedule_runs_on_the_hosts_given() {
    let file = goal(
        "ping.goal",
        "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 3\nl2: recv 1000b from 1 tag 4\nl2 requires l1\n}\n\
         rank 1 {\nl1: recv 1000b from -1 tag -1\nl2: calc 50\nl3: send 1000b to 0 tag 4\nl2 requires l1\nl3 requires l2\n}\n",
    );
    let o = run("hpcc", &format!("{file}calc_unit = '1us'\nhosts = [13, 2]\nstart = '7us'\n"));
    assert_eq!((o.ending, o.run.messages, o.run.message_bytes), (Ending::Completed, 2, 2000));
    let rows: Vec<&str> = o.ranks.lines().skip(1).collect();
    assert!(rows[0].starts_with("mpi,0,13,7000000,") && rows[1].starts_with("mpi,1,2,7000000,"), "{rows:?}");
    // Each way: four links of 1 us and 10 Gb/s, far from one another; 50 us in between.
    let runtime = o.run.runtime_ps.unwrap();
    assert!((58_000_000..70_000_000).contains(&runtime), "{runtime}");
}

/// A schedule that waits for a message nobody sends ends with the rank and the operation, and a message that nobody wants is told.
#[test]
fn what_cannot_end_is_explained() {
    let file = goal("stuck.goal", "num_ranks 2\nrank 0 {\nsend 9b to 1 tag 1\n}\nrank 1 {\nrecv 9b from 0 tag 2\n}\n");
    let o = run("hpcc", &file);
    let Ending::Stalled(why) = &o.ending else { panic!("{:?}", o.ending) };
    assert!(
        why.contains("rank 1, operation 1 (`recv 9b from 0 tag 2`): no message fits; there is one from 0 with tag 1"),
        "{why}"
    );
    assert_eq!((o.run.runtime_ps, o.run.slowdown), (None, None));
    assert_eq!(o.warnings, ["workloads.0: 1 messages arrived and were not received"]);
    // In parts each knows of its own ranks only.
    for threads in [1, 2] {
        assert_eq!(run_in_windows(TREE, "hpcc", &format!("{file}hosts = [0, 15]\n"), threads).0.ending, o.ending);
    }
}

/// A receive shorter than its message, which ends a program in MPI, passed without a word.
#[test]
fn a_receive_that_is_too_short_is_told_with_its_line() {
    let text = "num_ranks 2\nrank 0 {\n\nsend 99999b to 1\n}\nrank 1 {\n// short\nrecv 99998b from -1\n}\n";
    let told = |text: &str, threads| {
        let file = goal(&format!("short-{threads}.goal"), text);
        let o = run_in_windows(TREE, "hpcc", &format!("{file}hosts = [0, 15]\n"), threads).0;
        assert_eq!(o.ending, Ending::Completed);
        o.warnings
    };
    for threads in [1, 2] {
        let warnings = told(text, threads);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("workloads.0: 1 message is longer"), "{warnings:?}");
        let at = format!(
            "short-{threads}.goal:8: rank 1, operation 1 (`recv 99998b from -1 tag 0`) takes 99999 B from rank 0"
        );
        assert!(warnings[0].contains(&at), "{warnings:?}");
        assert_eq!(told(&text.replace("recv 99998b", "recv 1000000b"), threads), Vec::<String>::new());
    }
}

/// A program that was to begin after the end of the run was in the table as if it had begun at the instant planned.
#[test]
fn a_program_that_never_began_has_no_start() {
    let file = goal("late.goal", "num_ranks 2\nrank 0 {\ncalc 5\n}\nrank 1 {\ncalc 5\n}\n");
    let starts = |stop: &str| {
        let o = run("hpcc", &format!("{file}start = '7us'\n[run]\nstop = '{stop}'\n"));
        let cells = |row: &str| row.split(',').skip(3).take(2).map(String::from).collect::<Vec<_>>();
        o.ranks.lines().skip(1).map(cells).collect::<Vec<_>>()
    };
    assert_eq!(starts("8us"), [["7000000", "5000"], ["7000000", "5000"]]);
    assert_eq!(starts("6us"), [["", ""], ["", ""]]);
}

/// Computations that go on beyond the end of the clock were reported as a standstill.
#[test]
fn what_computes_beyond_the_clock_is_refused_unless_the_run_stops() {
    let file = goal("long.goal", "num_ranks 2\nrank 0 {\ncalc 100000000\n}\nrank 1 {\ncalc 1\n}\n");
    let text =
        format!("[topology]\n{TREE}\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'mpi'\n{file}calc_unit = '1s'\n");
    let error = assemble(&parse(&text, "long.toml", &[]).unwrap()).err().unwrap().to_string();
    assert!(error.contains("workloads.0.calc_unit = \"1s\": a rank computes for 100000000 units of 1s"), "{error}");
    assert_eq!(run("hpcc", &format!("{file}calc_unit = '1s'\n[run]\nstop = '1ms'\n")).ending, Ending::Stopped);
}

/// A large send is over for its sender when an acknowledgement could be there, or with `arrival` when it has arrived: users choose between
/// what RDMA does and a sender that goes on at once.
#[test]
fn a_large_send_ends_as_the_scenario_says() {
    let file =
        goal("large-send.goal", "num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\nrank 1 {\nrecv 100000b from 0\n}\n");
    let ends = |ends: &str| {
        let o = run("hpcc", &format!("{file}hosts = [0, 15]\nsends_end = '{ends}'\n"));
        o.ranks.lines().skip(1).map(|row| row.split(',').nth(4).unwrap().parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    let (told, at_once) = (ends("acknowledged"), ends("arrival"));
    assert_eq!((at_once[0], told[1]), (at_once[1], at_once[1]));
    // Four links of 1 us and 10 Gb/s, on each an ACK of 60 bytes.
    assert_eq!(told[0] - told[1], 4 * (1_000_000 + 60 * 800));
}

/// Programs run in windows, and on threads, wherever hosts are told of others by messages alone; elsewhere users read why not.
#[test]
fn the_choice_of_the_engine_is_explained() {
    let ring = "program = 'collective'\nalgorithm = 'ring'\nbytes = '1MB'\n";
    let two_nics = "kind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s', 't']\nlinks = [{ a = 'a', b = 's' }, { a = 'a', b = 't' }, \
                    { a = 'b', b = 's' }, { a = 'b', b = 't' }]";
    let near = "kind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['s', 't']\nlinks = [{ a = 'a', b = 's', delay = '5ns' }, \
                { a = 'b', b = 't' }, { a = 'c', b = 't' }, { a = 's', b = 't' }]";
    let mut all = String::new();
    for (network, more) in [
        (TREE, ""),
        (TREE, "sends_end = 'arrival'"),
        (TREE, "sends_end = 'arrival'\neager = '1MB'"),
        (TREE, "connections = 'new'"),
        (TREE, "[host.adapter]\nenabled = true"),
        (two_nics, ""),
        (near, ""),
    ] {
        let cc = if more.contains("adapter") { "new_reno" } else { "hpcc" };
        let (assembled, _) = assembled(network, cc, &format!("{ring}{more}"));
        let (engine, why) = choose_engine(&assembled.scenario).unwrap();
        let _ = writeln!(all, "{more}: {engine:?}, {why}");
    }
    insta::assert_snapshot!(all);
}

/// The receive from any source that is followed by nothing goes to who comes first: rank 1 by its number on the ideal network, the
/// near rank 2 in the tree, which computes longer afterwards. A user is told why that is faster than the ideal.
#[test]
fn a_program_that_no_ideal_bounds_is_told() {
    let sender = |calc: u32| format!("{{\nl1: send 100000b to 0 tag 1\nl2: calc {calc}\nl2 requires l1\n}}\n");
    let receiver =
        "{\nl1: recv 100000b from -1 tag 1\nl2: calc 10000000\nl3: recv 100000b from -1 tag 1\nl3 requires l2\n}\n";
    let text = format!("num_ranks 3\nrank 0 {receiver}rank 1 {}rank 2 {}", sender(1_000_000), sender(5_000_000));
    let o = run("hpcc", &format!("{}hosts = [0, 4, 1]\n", goal("any-source.goal", &text)));
    assert!(o.run.slowdown.is_some_and(|s| s < 0.8), "{:?}", o.run);
    assert_eq!(
        o.warnings,
        [
            "workloads.0: faster than on the ideal network, which is no bound where the order of a program's operations depends on \
          the network"
        ]
    );
}

/// Files and fields that do not fit are told with their place.
#[test]
fn bad_input_is_told() {
    let error = |more: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'mpi'\n{more}"
        );
        let spec = parse(&text, "mpi.toml", &[]).and_then(|spec| assemble(&spec).map(|_| ()));
        spec.unwrap_err().to_string()
    };
    let mut all = String::new();
    for more in [
        "program = 'lu'",
        "program = 'ft'\nranks = 8",
        "program = 'bt'\nranks = 3",
        "program = 'ft'\nranks = 3",
        "program = 'ft'\nproblem_class = 'G'",
        "program = 'is'\nproblem_class = 'F'",
        "program = 'ft'\nallreduce = 'auto'",
        "program = 'wrf'\ncolumns = 3",
        "program = 'collective'\nalgorithm = 'bruck'",
        "program = 'cg'\nhosts = [0, '0-2']",
        "program = 'cg'\nhosts = [9]",
        "program = 'goal'",
        "program = 'goal'\nfile = 'no-such.goal'",
    ] {
        let _ = writeln!(all, "{}", error(more));
    }
    insta::assert_snapshot!(all);
    let file = goal("bad.goal", "num_ranks 1\nrank 0 {\nsend 5b to 1\n}\n");
    assert!(error(&file).ends_with("bad.goal:3: to = 1: out of range; allowed: a whole number, 0 to 0"));
}

/// Sizes that a program tells beforehand are refused before it begins: packets of a flow have 32-bit numbers, those of a connection over
/// RDMA half as many. Such a message had ended the run that came to it.
#[test]
fn messages_of_too_many_packets_are_refused_beforehand() {
    let told = |cc: &str, payload: u32, more: &str| {
        let text = format!(
            "framing.payload = '{payload}B'\n[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'mpi'\n{more}"
        );
        let assembled = parse(&text, "mpi.toml", &[]).and_then(|spec| assemble(&spec).map(|_| ()));
        assembled.map_or_else(|e| e.to_string(), |()| "fits".to_string())
    };
    let rest = "}\nrank 1 {\nrecv 1099511627776b from 0\nrecv 1099511627776b from 0\n}\n";
    let one = goal("large.goal", &format!("num_ranks 2\nrank 0 {{\nsend 5b to 1\nsend 1099511627776b to 1\n{rest}"));
    let two = goal("two.goal", &format!("num_ranks 2\nrank 0 {{\n{}{rest}", "send 1099511627776b to 1\n".repeat(2)));
    let own = goal("own.goal", "num_ranks 1\nrank 0 {\nsend 1099511627776b to 0\nrecv 1099511627776b from 0\n}\n");
    let new = "connections = 'new'\n";

    let flow = told("hpcc", 256, &format!("{one}{new}"));
    assert!(flow.contains("large.goal:4: send = 1099511627776: flow too large"), "{flow}");
    assert!(flow.ends_with("allowed: at most 1099511627520 B, 2^32 packets less one; or a larger framing.payload"));
    let open = "send = 1099511627776: too many packets on one connection over RDMA, which numbers them in 32 bits; allowed: a scheme \
                over TCP, or connections = \"new\"";
    assert!(told("hpcc", 512, &one).ends_with(&format!("large.goal:4: {open}")));
    for (cc, payload, more) in
        [("hpcc", 257, format!("{one}{new}")), ("hpcc", 513, one), ("new_reno", 256, two.clone()), ("hpcc", 1, own)]
    {
        assert_eq!(told(cc, payload, &more), "fits", "{cc} {payload}");
    }

    // What a connection carries in all, but for a run that stops before it is through.
    let all = told("hpcc", 1000, &two);
    assert!(all.starts_with("mpi.toml:7: workloads.0.connections") && all.contains("too many packets"), "{all}");
    assert_eq!(told("hpcc", 1000, &format!("{two}[run]\nstop = '1s'\n")), "fits");
    assert_eq!(told("hpcc", 1000, &format!("{two}{new}")), "fits");

    // Generated programs, by the setting that makes the message large.
    let wrf = told("hpcc", 500, "program = 'wrf'\nnorth_south = '1TiB'\n");
    assert!(wrf.starts_with("mpi.toml:10: workloads.0.north_south = 1099511627776: too many packets"), "{wrf}");
    let wrf = told("hpcc", 500, "program = 'wrf'\neast_west = '1TiB'\n");
    assert!(wrf.starts_with("mpi.toml:10: workloads.0.east_west = 1099511627776: too many packets"), "{wrf}");
    let ring = told("hpcc", 100, "program = 'collective'\nbytes = '1TiB'\niterations = 1\n");
    assert!(ring.starts_with("mpi.toml:10: workloads.0.bytes = 274877906944: too many packets"), "{ring}");
    assert_eq!(
        told("hpcc", 500, "program = 'wrf'\ncolumns = 1\neast_west = '1TiB'\n"),
        "fits",
        "nobody is east or west"
    );
    let ft = told("hpcc", 1, "program = 'ft'\nproblem_class = 'D'\nranks = 2\n");
    assert!(ft.starts_with("mpi.toml:10: workloads.0.problem_class = 8589934592: too many packets"), "{ft}");
}

/// One phase.
#[derive(Clone, Debug)]
struct Phase {
    /// What each rank computes first, ns.
    before: Vec<u64>,
    /// From, how far on from there, bytes; all posted at once.
    messages: Vec<(u32, u32, u64)>,
    /// What ranks compute while these travel, ns.
    meanwhile: u64,
    /// If no message has to be asked for, each receive is waited for before the next one is posted; sends go out before.
    one_by_one: bool,
}

/// Ranks that compute and exchange messages of any size, phase after phase. Of `redundant` each makes an operation wait for one
/// of an earlier phase, for which it waits over others anyway.
fn phased(ranks: u32, eager: u64, phases: &[Phase], redundant: &[(usize, usize)]) -> Arc<Program> {
    let rank = |me: u32| {
        let mut b = Builder::new();
        let mut ends = vec![0];
        for (number, phase) in (0..).zip(phases) {
            b.calc(phase.before[me as usize]);
            let ends_of = |(from, ahead, _): &(u32, u32, u64)| (from % ranks, (from + 1 + ahead % (ranks - 1)) % ranks);
            let one_by_one = phase.one_by_one && phase.messages.iter().all(|m| m.2 <= eager);
            let receives = || phase.messages.iter().filter(|m| ends_of(m).1 == me);
            if !one_by_one {
                receives().for_each(|m| b.irecv(ends_of(m).0, m.2, number));
            }
            phase.messages.iter().filter(|m| ends_of(m).0 == me).for_each(|m| b.isend(ends_of(m).1, m.2, number));
            b.calc(phase.meanwhile);
            if one_by_one {
                receives().for_each(|m| b.recv(ends_of(m).0, m.2, number));
            }
            b.wait();
            ends.push(b.clone().finish().ops().len());
        }
        let block = b.finish();
        let count = block.ops().len();
        let mut edges = Vec::new();
        for before in 0..count {
            let edge = |(after, start)| Edge { before: before as u32, after: after as u32, start };
            edges.extend(block.successors(before).map(edge));
        }
        for (after, before) in redundant.iter().filter(|_| count > 0).map(|(a, b)| (a % count, b % count)) {
            if ends.iter().any(|end| before < *end && after >= *end) {
                edges.push(Edge { before: before as u32, after: after as u32, start: false });
            }
        }
        // Messages of any length go by one NIC or another.
        let ops = block
            .ops()
            .iter()
            .map(|op| if op.kind == OpKind::Send { Op { nic: (op.size % 5) as u8, ..*op } } else { *op });
        RankProgram::flat(Block::new(ops.collect(), edges).unwrap())
    };
    Arc::new(Program::new((0..ranks).map(rank).collect()).unwrap())
}

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let calc = || prop_oneof![Just(0), 0..20_000u64];
    let bytes = prop_oneof![1..200u64, 1..5_000u64, 1..90_000u64];
    let messages = prop::collection::vec((0..6u32, 0..6u32, bytes), 0..12);
    let phase = (prop::collection::vec(calc(), 6), messages, calc(), any::<bool>());
    let phase =
        phase.prop_map(|(before, messages, meanwhile, one_by_one)| Phase { before, messages, meanwhile, one_by_one });
    prop::collection::vec(phase, 1..6)
}

/// Two servers of three hosts with a near switch of their own, and a rail for each host of a server: a message that has come by one NIC
/// has another sent by the other.
const RAILS: &str =
    "kind = 'graph'\nhosts = ['a', 'b', 'c', 'd', 'e', 'f']\nswitches = ['n', 'm', 's', 't', 'u', 'v']\nlinks = [
    { a = 'a', b = 'n', rate = '40Gbps', delay = '25ns' }, { a = 'b', b = 'n', rate = '40Gbps', delay = '25ns' },
    { a = 'c', b = 'n', rate = '40Gbps', delay = '25ns' }, { a = 'd', b = 'm', rate = '40Gbps', delay = '25ns' },
    { a = 'e', b = 'm', rate = '40Gbps', delay = '25ns' }, { a = 'f', b = 'm', rate = '40Gbps', delay = '25ns' },
    { a = 'a', b = 's', rate = '10Gbps' }, { a = 'd', b = 's', rate = '10Gbps' }, { a = 'b', b = 't', rate = '10Gbps' },
    { a = 'e', b = 't', rate = '10Gbps' }, { a = 'c', b = 'u', rate = '10Gbps' }, { a = 'f', b = 'u', rate = '10Gbps' },
    { a = 's', b = 'v' }, { a = 't', b = 'v' }, { a = 'u', b = 'v' }]\n[routing]\nnics = 'nearest'";

/// Two NICs of each host, in one network.
const TWICE: &str = "kind = 'xgft'\nchildren = [3, 2]\nparents = [2, 2]\nrates = ['10Gbps']";

/// Stars, trees, servers, hosts of unequal links, and two hosts without a switch.
const NETWORKS: [(&str, u32); 7] = [
    (RAILS, 6),
    (TWICE, 6),
    ("kind = 'star'\nhosts = 6\nhost_rate = '10Gbps'", 6),
    ("kind = 'star'\nhosts = 4\nhost_rate = '100Gbps'\nlink_delay = '0s'", 4),
    (TREE, 6),
    (
        "kind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['s']\nlinks = [{ a = 'a', b = 's', rate = '10Gbps' }, \
         { a = 'b', b = 's', rate = '40Gbps', rate_back = '25Gbps', delay_back = '3us' }, { a = 'c', b = 's', rate = '100Gbps' }]",
        3,
    ),
    ("kind = 'graph'\nhosts = ['a', 'b']\nswitches = []\nlinks = [{ a = 'a', b = 'b', rate = '10Gbps' }]", 2),
];

proptest! {
    #![proptest_config(contextualize_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() }))]

    /// No network lets a rank be through sooner than the ideal one, or the program: a slowdown below 1 would make every other
    /// slowdown doubtful. Windows and threads change nothing.
    #[test]
    fn nothing_is_faster_than_the_ideal_network(
        (network, ranks) in prop::sample::select(&NETWORKS[..]),
        (cc, connections) in prop::sample::select(&[
            ("dctcp", "open"), ("none", "new"), ("hpcc", "open"), ("hpcc", "new"), ("new_reno", "open"), ("new_reno", "new"),
            ("homa", "new"), ("ndp", "new"), ("express_pass", "new"),
        ][..]),
        eager in prop::sample::select(&[0, 2_000, 32_768, 1_000_000][..]),
        phases in phases(),
        redundant in prop::collection::vec(any::<(usize, usize)>(), 0..6),
        case in any::<u64>(),
    ) {
        let program = phased(ranks, eager, &phases, &redundant);
        let mut text = Vec::new();
        goal_text::write(&program, &mut text).unwrap();
        let name = format!("random-{case}.goal");
        let file = goal(&name, std::str::from_utf8(&text).unwrap());
        let more = format!("{file}connections = '{connections}'\neager = '{eager}B'\n{}", ports(cc));
        let o = run_on(network, cc, &more);
        prop_assert_eq!(&o.ending, &Ending::Completed);
        prop_assert_eq!(&o.warnings, &Vec::<String>::new());
        prop_assert!(o.run.runtime_ps >= o.run.ideal_ps, "{:?}", o.run);
        for (threads, is_parted) in [(1, false), (3, [TREE, RAILS].contains(&network))] {
            if connections == "new" {
                break;
            }
            let (other, crossed, parts) = run_in_windows(network, cc, &more, threads);
            prop_assert_eq!(&other, &o, "on {} threads", threads);
            // Of the tree ranks 4 and 5 are in another rack, of the rails the last three in another server.
            let first = if network == TREE { 4 } else { 3 };
            let ends = |m: &(u32, u32, u64)| (m.0 % ranks, (m.0 + 1 + m.1 % (ranks - 1)) % ranks);
            let is_apart = |(from, to)| (from < first) != (to < first);
            let apart = phases.iter().flat_map(|p| &p.messages).any(|m| is_apart(ends(m)));
            prop_assert!(!is_parted || parts > 1 && (crossed > 0 || !apart));
        }
        let _ = std::fs::remove_file(path(&name));
        for (row, ideal) in o.ranks.lines().skip(1).zip(&o.ideal.finished_ps) {
            let took: u64 = row.split(',').nth(4).unwrap().parse().unwrap();
            prop_assert!(Some(took) >= *ideal, "{row}: {ideal:?}");
        }
    }
}
