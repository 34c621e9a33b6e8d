//! What size costs in memory: the largest networks, and very many flows. A peak is one of a process, so each is measured in a
//! process of its own: this binary again, with one test and one case only.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::process::Command;

use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::machine::peak_rss_mib;
use paceline_sim::run::{check, prepare_bench};
use paceline_sim::spec::{Resolved, parse};

/// Says to a process which case it is to measure.
const CASE: &str = "PACELINE_MEASURED_CASE";
/// Before the numbers in its output.
const MEASURED: &str = "measured:";

/// Runs `measure` in a process of its own and returns its numbers, MiB; `None` where the system does not tell peaks.
/// `test` is the name of the test that calls.
fn apart<const N: usize>(test: &str, case: &str, measure: impl FnOnce() -> [f64; N]) -> Option<[f64; N]> {
    if let Ok(wanted) = std::env::var(CASE) {
        if wanted == case {
            println!("{MEASURED} {}", measure().map(|x| x.to_string()).join(" "));
            std::process::exit(0);
        }
        return None;
    }
    if peak_rss_mib() == 0.0 {
        eprintln!("{test}, {case}: skipped: this system has no /proc/self/status");
        return None;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let out = command.args([&format!("scale::{test}"), "--exact", "--nocapture"]).env(CASE, case).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{case}: {text}{}", String::from_utf8_lossy(&out.stderr));
    let line = text.split_once(MEASURED).unwrap_or_else(|| panic!("{case}: no numbers in: {text}")).1;
    let numbers: Vec<f64> = line.split_whitespace().take(N).map(|x| x.parse().unwrap()).collect();
    eprintln!("{case}: {numbers:.1?} MiB");
    Some(numbers.try_into().unwrap())
}

fn read(toml: &str, set: &[&str]) -> Resolved {
    let set: Vec<String> = set.iter().map(|s| (*s).to_string()).collect();
    parse(toml, "test", &set).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// The peak after a whole run on so many threads, in which every flow finishes; how many there were.
fn run(spec: &Resolved, threads: usize) -> (f64, u64) {
    let mut bench = prepare_bench(spec, assemble(spec).unwrap(), threads).unwrap();
    assert_eq!(bench.run().unwrap(), Ending::Completed);
    let c = bench.net().counters();
    assert_eq!((c.started, c.failed), (c.finished, 0));
    (peak_rss_mib(), c.finished)
}

/// A fat tree of k = 64, 65,536 hosts, each with a flow of ten packets, all at once: what still fits a laptop. The bound is a
/// third above what it takes, so that it is noticed when a host, port, flow or packet grows.
#[test]
fn the_largest_fat_tree_fits() {
    let peak = apart("the_largest_fat_tree_fits", "k = 64", || {
        let (peak, flows) = run(&read(include_str!("../../../benches/workloads/k64-permutation.toml"), &[]), 1);
        assert_eq!(flows, 65_536);
        [peak]
    });
    assert!(peak.is_none_or(|[peak]| peak < 512.0), "{peak:?} MiB");
}

/// 8,192 hosts and a flow of several base RTTs between each and the one half the network on.
#[test]
fn thousands_of_hosts_and_flows_fit() {
    let toml = include_str!("../../../benches/workloads/days-e5.toml");
    let peak = apart("thousands_of_hosts_and_flows_fit", "k = 32", || {
        let (peak, flows) = run(&read(toml, &["workloads.0.sizes=128KB"]), 1);
        assert_eq!(flows, 8192);
        [peak]
    });
    assert!(peak.is_none_or(|[peak]| peak < 128.0), "{peak:?} MiB");
}

/// Transports, with what their switches need. A receiver of TCP that delays its ACK holds both ends of the flow that long, as
/// long as a short run takes.
const TRANSPORTS: [(&str, &str); 8] = [
    ("hpcc", "[schemes.x]\ncc = 'hpcc'"),
    ("new_reno", "[schemes.x]\ncc = 'new_reno'\n[host.tcp]\nack_delay = '50us'"),
    (
        "new_reno behind limiters of flows",
        "[schemes.x]\ncc = 'new_reno'\n[host.tcp]\nack_delay = '50us'\n\
         [host.adapter]\nenabled = true\n[host.qcn]\nlimiter = 'flow'\n[switch.qcn]\nenabled = true",
    ),
    ("udp", "[schemes.x]\ncc = 'udp'"),
    ("homa", "[schemes.x]\ncc = 'homa'"),
    ("ndp", "[schemes.x]\ncc = 'ndp'\n[switch.trimming]\nenabled = true"),
    ("express_pass", "[schemes.x]\ncc = 'express_pass'"),
    ("aeolus", "[schemes.x]\ncc = 'express_pass'\nfirst_rtt = 'aeolus'\n[switch.selective_drop]\nenabled = true"),
];

/// A run four times as long takes no more memory: nothing is left of a flow that has ended, whatever its transport, on several
/// threads as on one.
#[test]
fn ended_flows_leave_nothing_behind() {
    let test = "ended_flows_leave_nothing_behind";
    let ways = TRANSPORTS.iter().map(|t| (t, "auto", 2)).chain([(&TRANSPORTS[0], "sequential", 1)]);
    for ((name, transport), engine, threads) in ways {
        let switch = if *name == "hpcc" { "" } else { "[switch]\nmodel = 'per_port'\npfc.enabled = false\n" };
        let peak = |flows: u64| {
            let toml = format!(
                "[topology]\nkind = 'leaf_spine'\n{switch}{transport}\n[run]\nengine = '{engine}'\n\
                 [records.series]\nsamples = 512\n[[workloads]]\n\
                 kind = 'poisson'\nsizes = '1KB'\nmax_flows = {flows}\nload.value = 0.01\n"
            );
            apart(test, &format!("{flows} flows, {name}, {engine}"), || {
                let (peak, finished) = run(&read(&toml, &[]), threads);
                assert_eq!(finished, flows);
                [peak]
            })
        };
        // Some milliseconds, so that as many flows as ever are under way or just over, and series as long as they may be.
        if let (Some([few]), Some([many])) = (peak(50_000), peak(200_000)) {
            assert!(many < 1.08 * few, "{name}, {engine}: {few} MiB, {many} MiB for four times as many flows");
        }
    }
}

/// Scenarios of all kinds of load and transport, of which a check tells beforehand what they take.
fn estimated() -> Vec<(&'static str, String)> {
    let websearch = "[[workloads]]\nkind = 'poisson'\nduration = '150us'\nload.value = 0.5\n";
    let tiny = "[[workloads]]\nkind = 'poisson'\nsizes = '1KB'\nmax_flows = 50000\nload.value = 0.1\n";
    let lossy = "[switch]\nmodel = 'per_port'\npfc.enabled = false\n";
    let permutation = |k: u32| {
        format!(
            "[topology]\nkind = 'fat_tree'\nk = {k}\n[schemes.x]\ncc = 'hpcc'\n[[workloads]]\nkind = 'permutation'\nsizes = '64KB'\n"
        )
    };
    let run = |topology: &str, scheme: &str, workload: &str| {
        let switch = if scheme.contains("'hpcc'") { "" } else { lossy };
        let scheme = if scheme.starts_with('[') { scheme.into() } else { format!("[schemes.x]\ncc = '{scheme}'") };
        format!("[topology]\nkind = '{topology}'\n{switch}{scheme}\n{workload}")
    };
    let asked = "[[workloads]]\nkind = 'rpc'\nconnections = 20\nduration = '50us'\n";
    let all_to_all = "[[workloads]]\nkind = 'mpi'\nprogram = 'ft'\nproblem_class = 'S'\niterations = 1\n";
    let ndp = "[switch.trimming]\nenabled = true\n[schemes.x]\ncc = 'ndp'";
    vec![
        ("320 hosts, HPCC", run("hpcc_fat320", "[schemes.x]\ncc = 'hpcc'", websearch)),
        ("k = 16, permutation", permutation(16)),
        ("k = 32, permutation", permutation(32)),
        ("incast with PFC", include_str!("../../../benches/workloads/incast-pfc.toml").into()),
        ("leaf-spine, TCP", run("leaf_spine", "new_reno", websearch)),
        ("320 hosts, TCP", run("hpcc_fat320", "new_reno", websearch)),
        ("320 hosts, Homa", run("hpcc_fat320", "homa", websearch)),
        ("320 hosts, NDP", run("hpcc_fat320", ndp, websearch)),
        ("320 hosts, ExpressPass", run("hpcc_fat320", "express_pass", websearch)),
        ("tiny flows", include_str!("../../../benches/workloads/tiny-flows.toml").replace("2000000", "200000")),
        ("tiny flows over TCP", run("leaf_spine", "new_reno", tiny)),
        ("tiny flows over NDP", run("leaf_spine", ndp, tiny)),
        ("20,000 connections, HPCC", run("leaf_spine", "[schemes.x]\ncc = 'hpcc'", asked)),
        ("20,000 connections, TCP", run("leaf_spine", "new_reno", asked)),
        (
            "64 ranks to each other",
            run("fat_tree", "new_reno", all_to_all).replace("'fat_tree'", "'fat_tree'\nk = 4\nhosts_per_edge = 8"),
        ),
    ]
}

/// `paceline check` tells what a run takes within 30 %: by it sweeps decide how many runs the machine bears at a time.
#[test]
fn the_estimate_is_what_a_run_takes() {
    let test = "the_estimate_is_what_a_run_takes";
    for (case, toml) in estimated() {
        let estimate = apart(test, &format!("{case}, checked"), || [check(&read(&toml, &[])).unwrap().memory_mib]);
        let measured = apart(test, case, || [run(&read(&toml, &[]), 1).0]);
        if let (Some([estimate]), Some([measured])) = (estimate, measured) {
            let ratio = estimate / measured;
            assert!((0.7..1.3).contains(&ratio), "{case}: {estimate} MiB expected, {measured} MiB taken");
        }
    }
}
