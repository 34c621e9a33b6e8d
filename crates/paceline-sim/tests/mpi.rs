//! Message-passing programs over a network: all ranks come to their end over every kind of transport and connection, no
//! faster than they compute and with the messages that the program says; one that cannot end says why.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::fmt::Write as _;

use common::Collect;
use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::engine::sequential::Sequential;
use paceline_sim::net::Net;
use paceline_sim::record::FlowRecord;
use paceline_sim::results::mpi::{MpiRun, ranks, runs};
use paceline_sim::spec::parse;

/// What a run came to.
struct Outcome {
    ending: Ending,
    flows: Vec<FlowRecord>,
    run: MpiRun,
    ranks: String,
    warnings: Vec<String>,
}

fn outcome(net: &Net, flows: Vec<FlowRecord>, ending: Ending) -> Outcome {
    let groups = vec!["mpi".to_string()];
    let (mut warnings, mut table) = (Vec::new(), Vec::new());
    let run = runs(net, &groups, &mut warnings).remove(0);
    ranks(net, &groups, &mut table).unwrap();
    Outcome { ending, flows, run, ranks: String::from_utf8(table).unwrap(), warnings }
}

/// A tree of 16 hosts at 10 Gb/s with half as many uplinks; `more` goes on in the workload and then in other sections.
fn run(cc: &str, more: &str) -> Outcome {
    let text = format!(
        "[topology]\nkind = 'xgft'\nchildren = [4, 4]\nparents = [1, 2]\nrates = ['10Gbps']\n\
         [routing]\nchoice = 'd_mod_k'\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'mpi'\n{more}"
    );
    let assembled = assemble(&parse(&text, "mpi.toml", &[]).unwrap()).unwrap();
    let mut engine = Sequential::new(assembled.scenario, assembled.source, None).unwrap();
    engine.net_mut().record_classes(&assembled.classes);
    let mut collect = Collect::default();
    let (ending, _) = engine.run(&mut collect).unwrap();
    assert!(ending != Ending::Completed || engine.net().packets_alive() == 0);
    outcome(engine.net(), collect.flows, ending)
}

const NO_PFC: &str = "[switch]\npfc = { enabled = false }\n";

/// Ports on which a transport can run.
fn ports(cc: &str) -> &'static str {
    match cc {
        "ndp" => "[switch]\npfc = { enabled = false }\ntrimming = { enabled = true }\n",
        "new_reno" | "homa" => NO_PFC,
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
            assert!((0.99..4.0).contains(&slowdown), "{what}: {slowdown}");
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

/// Writes a schedule and returns the lines that name it.
fn goal(name: &str, text: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
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
    let Ending::Stalled(why) = o.ending else { panic!("{:?}", o.ending) };
    assert!(
        why.contains("rank 1, operation 1 (`recv 9b from 0 tag 2`): no message fits; there is one from 0 with tag 1"),
        "{why}"
    );
    assert_eq!((o.run.runtime_ps, o.run.slowdown), (None, None));
    assert_eq!(o.warnings, ["workloads.0: 1 messages arrived and were not received"]);
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
        "program = 'ft'\nproblem_class = 'E'",
        "program = 'ft'\nallreduce = 'auto'",
        "program = 'wrf'\ncolumns = 3",
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
