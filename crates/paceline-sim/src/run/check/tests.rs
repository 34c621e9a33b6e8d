#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::spec::parse;

/// Endless flows in a run that stops: their length says nothing about how long the run takes.
#[test]
fn a_run_that_stops_is_not_as_long_as_its_flows() {
    let text = "[topology]\nkind = 'star'\nhosts = 3\nhost_rate = '10Gbps'\n[schemes.s]\ncc = 'hpcc'\n[run]\nstop = '1ms'\n\
                [[workloads]]\nkind = 'flows'\nrows = [\n  { start = '0us', src = 0, dst = 2, bytes = '1GB' },\n  \
                { start = '0us', src = 1, dst = 2, bytes = '1GB' },\n]\n";
    let hops = check(&parse(text, "test", &[]).unwrap()).unwrap().data_hops;
    // 1 ms of the receiver's link in packets of 1000 bytes over two links.
    assert!((hops - 2500.0).abs() < 100.0, "{hops}");
}

/// Few connections leave links idle: they ask no more often than answers come back.
#[test]
fn a_closed_loop_asks_when_it_has_been_answered() {
    let asked = |connections: u32| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 3\nhost_rate = '100Gbps'\nlink_delay = '5us'\n[schemes.s]\ncc = 'hpcc'\n\
             [[workloads]]\nkind = 'rpc'\nsizes = '1KB'\nresponse = '1KB'\nservers = [2]\nconnections = {connections}\nend = '1ms'\n"
        );
        check(&parse(&text, "test", &[]).unwrap()).unwrap().flows
    };
    // Two clients; there and back in a little over 20 us. Or the server's link, 12.5 to the us.
    assert!((90..=100).contains(&asked(1)), "{}", asked(1));
    assert!((12_000..=12_500).contains(&asked(1000)), "{}", asked(1000));
}

/// A frame on one slow link outlasts more windows than the windowed engine keeps: it was chosen, and then refused to run.
#[test]
fn a_slow_link_among_fast_ones_is_left_to_the_sequential_engine() {
    let engine = |rate: &str, engine: &str| {
        let text = format!(
            "[topology]\nkind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['s']\nlinks = [{{ a = 'a', b = 's' }}, \
             {{ a = 'b', b = 's' }}, {{ a = 'c', b = 's', rate = '{rate}' }}]\n[switch.pfc]\nenabled = false\n\
             [schemes.s]\ncc = 'hpcc'\nmin_rate = '100Kbps'\n[run]\nengine = '{engine}'\n\
             [[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '1KB' }}]\n"
        );
        check(&parse(&text, "test", &[]).unwrap()).map(|c| c.engine)
    };
    assert_eq!(engine("10Gbps", "auto").as_deref(), Ok("windowed"));
    assert_eq!(engine("1Mbps", "auto").as_deref(), Ok("sequential"));
    let refused = engine("1Mbps", "windowed").unwrap_err();
    assert!(refused.problem.contains("(longest 872"), "{refused}");
}

/// The number of flows bounds a run that an instant would bound much later.
#[test]
fn flows_are_no_more_than_the_scenario_allows() {
    for end in ["", "duration = '10s'\n"] {
        let text = format!(
            "[topology]\nkind = 'star'\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'poisson'\nsizes = '1KB'\n{end}\
             max_flows = 300000\n"
        );
        assert_eq!(check(&parse(&text, "test", &[]).unwrap()).unwrap().flows, 300_000, "{text}");
    }
}

/// Packets are counted by message: 100 times 240 messages of one packet each, 5.4666 links on the mean of all pairs.
#[test]
fn small_messages_are_packets_of_their_own() {
    let hops = |bytes: &str, more: &str| {
        let text = format!(
            "[topology]\nkind = 'fat_tree'\nk = 4\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'mpi'\n\
             program = 'collective'\noperation = 'all_to_all'\nalgorithm = 'pairwise'\nbytes = '{bytes}'\n\
             iterations = 100\n{more}"
        );
        check(&parse(&text, "test", &[]).unwrap()).unwrap().data_hops.round() as u64
    };
    assert_eq!(hops("16B", ""), 131_200);
    assert_eq!(hops("16KB", ""), 131_200);
    assert_eq!(hops("32KB", ""), 262_400);
    // A run that stops early carries a share of it.
    let stopped = hops("32MB", "[run]\nstop = '1ms'\n");
    assert!(stopped < hops("32MB", "") / 100, "{stopped}");
}

/// Rounds without number, of which a run that stops sees a few.
#[test]
fn what_comes_after_the_stop_is_not_counted() {
    let text = "[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = 'hpcc'\n[run]\nstop = '1ms'\n[[workloads]]\n\
                kind = 'all_to_all'\nsizes = '1B'\nrounds = 1000000000\nperiod = '1us'\n";
    let flows = check(&parse(text, "test", &[]).unwrap()).unwrap().flows;
    assert!((11_900..=12_100).contains(&flows), "{flows}");
    let text = text.replace("period = '1us'", "period = '1ns'");
    let flows = check(&parse(&text, "test", &[]).unwrap()).unwrap().flows;
    assert!((11_900_000..=12_100_000).contains(&flows), "{flows}");
}

/// A scheme that nothing uses takes no memory: a flow over UDP was taken for one over TCP, which keeps 3.5 times as much.
#[test]
fn schemes_without_flows_are_not_counted() {
    let mib = |more: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 8\n[switch.pfc]\nenabled = false\n[schemes.u]\ncc = 'udp'\n{more}[[workloads]]\n\
             kind = 'poisson'\nscheme = 'u'\nsizes = '1KB'\nduration = '1ms'\n"
        );
        check(&parse(&text, "test", &[]).unwrap()).unwrap().engine_mib
    };
    let (with, without) = (mib("[schemes.t]\ncc = 'cubic'\n"), mib(""));
    assert!((with / without - 1.0).abs() < 1e-9, "{with} {without}");
}

/// Where far more comes than links carry, what waits takes the memory.
#[test]
fn what_waits_is_counted() {
    let mib = |workload: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 8\nhost_rate = '10Gbps'\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\n{workload}\n"
        );
        check(&parse(&text, "test", &[]).unwrap()).unwrap().engine_mib
    };
    // Measured: 1214 and 244 MiB.
    let flows = mib("kind = 'poisson'\nsizes = '1B'\nduration = '1ms'\nload.value = 0.3");
    assert!((flows / 1214.0 - 1.0).abs() < 0.3, "{flows}");
    let asked = mib("kind = 'rpc'\nmode = 'open'\nsizes = '1B'\nresponse = '1B'\nend = '10ms'\nload.value = 0.05");
    assert!((asked / 244.0 - 1.0).abs() < 0.3, "{asked}");
}

/// What is drawn beside a program goes on after those flows that the check draws, as it does without one.
#[test]
fn flows_beside_a_program_are_all_counted() {
    let flows = |program: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 4\nhost_rate = '10Tbps'\n[schemes.s]\ncc = 'dctcp'\n{program}[[workloads]]\n\
             kind = 'poisson'\nsizes = '1000B'\nload = {{ value = 0.9 }}\nduration = '100us'\n"
        );
        check(&parse(&text, "test", &[]).unwrap()).unwrap().flows
    };
    let program = "[[workloads]]\nkind = 'mpi'\nprogram = 'collective'\nbytes = '1KB'\niterations = 1\n";
    let (alone, beside) = (flows(""), flows(program));
    assert!(alone > 400_000 && beside.abs_diff(alone) < alone / 100, "{alone}, {beside}");
}

/// Ten thousand flows of one packet were said to take as long as ten of a thousand, which cross as many links.
#[test]
fn short_flows_take_more_time_than_their_hops() {
    let seconds = |cc: &str, bytes: u32, flows: u32| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 8\n[switch.pfc]\nenabled = false\n[schemes.s]\ncc = '{cc}'\n\
             [[workloads]]\nkind = 'poisson'\nsizes = '{bytes}B'\nduration = '10s'\nmax_flows = {flows}\n"
        );
        check(&parse(&text, "test", &[]).unwrap()).unwrap().run_s
    };
    for cc in ["hpcc", "new_reno", "homa", "ndp", "express_pass"] {
        let (many, few) = (seconds(cc, 1000, 10_000), seconds(cc, 1_000_000, 10));
        assert!(many > 3.0 * few, "{cc}: {many}, {few}");
    }
}
