//! What every congestion controller does on networks everybody knows: tables to be read in review, and how evenly flows
//! share a bottleneck. The controllers come from [`controllers`]: a new one gets these tests by being in that list.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write;
use std::sync::Arc;

use crate::common::{ENGINES, run_net};
use paceline_proto::cc::{Params, controllers};
use paceline_sim::assemble::{Assembled, assemble};
use paceline_sim::engine::Ending;
use paceline_sim::graph::NodeId;
use paceline_sim::net::Net;
use paceline_sim::record::{FlowRecord, Status, bin_range};
use paceline_sim::scenario::{EngineChoice, Scenario};
use paceline_sim::spec::field::{FIELDS, Type};
use paceline_sim::spec::parse;

/// Three pairs over one link of 100 Gb/s, two of them with twice as many flows.
const DUMBBELL: &str = r#"
[topology]
kind = "dumbbell"
left = 3
right = 3
bottleneck_rate = "100Gbps"

[[workloads]]
kind = "flows"
rows = [
  { start = "0us", src = 0, dst = 3, bytes = "3MB" },
  { start = "20us", src = 1, dst = 4, bytes = "2MB" },
  { start = "40us", src = 2, dst = 5, bytes = "1MB" },
  { start = "100us", src = 1, dst = 3, bytes = "1B" },
  { start = "110us", src = 2, dst = 4, bytes = "64KB" },
]
"#;

/// Eight senders, all at once, with a buffer that eight bandwidth-delay products do not fill.
const INCAST: &str = r#"
[topology]
kind = "star"
hosts = 9

[switch]
buffer = "4MB"

[[workloads]]
kind = "incast"
senders = 8
receiver = 8
random_senders = false
sizes = "1MB"
"#;

/// One long path over three links, each shared with one flow of its own.
const PARKING_LOT: &str = r#"
[topology]
kind = "parking_lot"
hops = 3
chain_rate = "100Gbps"

[[workloads]]
kind = "flows"
rows = [
  { src = 0, dst = 1, bytes = "2MB" },
  { src = 2, dst = 3, bytes = "2MB" },
  { src = 4, dst = 5, bytes = "2MB" },
  { src = 6, dst = 7, bytes = "2MB" },
]
"#;

/// Flows of [`STARTS`] times that share one link for longer than anybody looks.
const SHARED: &str = r#"
[topology]
kind = "star"
hosts = 5
"#;

/// Microseconds from one start to the next on [`SHARED`], and flows.
const STARTS: (u64, u64) = (500, 4);

/// A scenario under a controller of the list. DCTCP wants marks in one step, above a seventh of the bandwidth-delay
/// product (its paper, section 3.4): 30 kB here, where that is 52 kB.
fn made(text: &str, name: &str, params: &Params) -> Assembled {
    let cc = name.split(':').next().unwrap();
    let step = "[switch.ecn]\nk_min = '30KB'\nk_max = '30KB'\np_max = 1.0\n";
    let marks = if matches!(params, Params::Dctcp(_)) { step } else { "" };
    let spec =
        parse(&format!("{text}\n[schemes.s]\ncc = '{cc}'\n{marks}"), name, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut made = assemble(&spec).unwrap_or_else(|e| panic!("{e}"));
    let mut scenario = Scenario::clone(&made.scenario);
    scenario.schemes[0].params = params.clone();
    made.scenario = Arc::new(scenario);
    made
}

fn run<T>(made: Assembled, engine: EngineChoice, look: impl FnOnce(&Net, &[FlowRecord], Ending) -> T) -> T {
    run_net(&Arc::clone(&made.scenario), made.source, &made.classes, engine, |net, collect, ending, _| {
        let mut flows = collect.flows;
        flows.sort_by_key(|f| f.id);
        look(net, &flows, ending)
    })
}

/// The longest queue of any switch port: the upper end of its bin, bytes.
fn longest_queue(net: &Net) -> u64 {
    let ports = 0..net.graph().ports.len() as u32;
    ports.flat_map(|p| net.queue_time(p, 3)).map(|(bin, _)| bin_range(bin).1).max().unwrap_or(0)
}

/// A row: goodput of each flow in Gb/s, completion times, the longest queue, and what was dropped, paused and marked.
fn row(name: &str, net: &Net, flows: &[FlowRecord], ending: &Ending) -> String {
    assert_eq!(*ending, Ending::Completed, "{name}");
    let mut times: Vec<_> = flows.iter().map(|f| f.fct_sender).collect();
    times.sort_unstable();
    let p99 = times[(times.len() * 99).div_ceil(100) - 1];
    let goodput: Vec<_> = flows
        .iter()
        .map(|f| {
            assert_eq!(f.status, Status::Finished, "{name}");
            format!("{:.2}", f.bytes as f64 * 8_000.0 / f.fct_receiver as f64)
        })
        .collect();
    let c = net.counters();
    format!(
        "{name:<20} {:>9.3} {:>9} {:>5} {:>6} {:>6}  {}",
        p99 as f64 / 1e6,
        longest_queue(net) / 1000,
        c.drops_buffer,
        c.pause_frames,
        c.marks,
        goodput.join(" ")
    )
}

fn table(text: &str) -> String {
    let mut out = String::from("controller         p99 FCT us  queue kB drops pauses  marks  goodput Gb/s\n");
    for (name, params) in controllers() {
        let row = |engine| run(made(text, name, &params), engine, |net, flows, ending| row(name, net, flows, &ending));
        let [sequential, windowed] = ENGINES.map(row);
        assert_eq!(sequential, windowed, "engines differ");
        writeln!(out, "{windowed}").unwrap();
    }
    out
}

#[test]
fn dumbbell() {
    insta::assert_snapshot!(table(DUMBBELL));
}

#[test]
fn incast() {
    insta::assert_snapshot!(table(INCAST));
}

#[test]
fn parking_lot() {
    insta::assert_snapshot!(table(PARKING_LOT));
}

/// HPCC alone fills its target of the link at any rate: at 400 Gb/s a unit of INT's byte counter is two packets, at 800 Gb/s four, and a
/// flow got half and a quarter of it.
#[test]
fn hpcc_fills_fast_links() {
    for gbps in [25, 100, 400, 800] {
        let text = format!(
            "[topology]\nkind = 'leaf_spine'\nleaves = 2\nhosts_per_leaf = 1\nhost_rate = '{gbps}Gbps'\nfabric_rate = '{gbps}Gbps'\n\
             [[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '20MB' }}]\n[schemes.x]\ncc = 'hpcc'"
        );
        let made = assemble(&parse(&text, "fast", &[]).unwrap()).unwrap();
        // Of 1090 B on the wire 1048 are those of the ideal; the last round trip and the first are a few per cent of it.
        let share =
            run(made, EngineChoice::Auto, |_, flows, _| flows[0].ideal_sender as f64 / flows[0].fct_sender as f64);
        assert!((share - 0.95 * 1048.0 / 1090.0).abs() < 0.02, "{share:.3} at {gbps} Gb/s");
    }
}

/// Every congestion control a scenario can name is in the list, with the defaults that scenarios have.
#[test]
fn the_list_has_the_schemes_of_scenarios() {
    let field = FIELDS.iter().find(|f| f.path == "schemes.*.cc").unwrap();
    let Type::Choice(words) = field.row.ty else { panic!("cc is a choice") };
    // What is not RDMA has a transport of its own, and tests of its own (`tests/messages.rs`).
    let others = ["new_reno", "cubic", "vegas", "hpcc_tcp", "udp", "homa", "ndp", "express_pass"];
    for cc in words.iter().filter(|cc| !others.contains(cc)) {
        let listed = controllers().into_iter().find(|(name, _)| name == cc);
        let (name, params) = listed.unwrap_or_else(|| panic!("{cc} is not in the list of controllers"));
        let spec = parse(&format!("{INCAST}\n[schemes.s]\ncc = '{name}'\n"), name, &[]).unwrap();
        assert_eq!(assemble(&spec).unwrap().scenario.schemes[0].params, params, "defaults of {name}");
    }
}

/// Bytes each sender of [`SHARED`] has sent by `us`.
fn sent_by(name: &str, params: &Params, us: u64) -> Vec<u64> {
    let rows = (0..STARTS.1).map(|i| format!("{{ start = '{}us', src = {i}, dst = 4, bytes = '1GB' }}", STARTS.0 * i));
    let rows = rows.collect::<Vec<_>>().join(", ");
    let text = format!("{SHARED}\n[run]\nstop = '{us}us'\n[[workloads]]\nkind = 'flows'\nrows = [{rows}]\n");
    run(made(&text, name, params), EngineChoice::Windowed, |net, _, ending| {
        assert_eq!(ending, Ending::Stopped, "{name}");
        let nic = |host| net.graph().port_index(host as NodeId, 0) as u32;
        (0..STARTS.1).map(|host| net.sent_bytes(nic(host))).collect()
    })
}

/// Jain's index: 1 where all are equal, 1/n where one has everything (Jain, Chiu, Hawe 1984).
fn jain(shares: &[u64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + *x as f64, q + (*x as f64).powi(2)));
    sum * sum / (shares.len() as f64 * squares)
}

/// Jain's index a controller must reach in the last millisecond, where its paper claims fairness: HPCC (sec. 5.2, fair
/// rates in the long run), DCQCN (sec. 5: converges to fairness), TIMELY (sec. 4: fair with many flows), DCTCP (sec.
/// 3.3: converges as TCP does). The other forms are in the table only; so is "none", where equal windows are equal shares.
fn fair(name: &str) -> Option<f64> {
    match name {
        "hpcc" | "hpcc:multi_rate" | "hpcc_pint" | "dcqcn" | "timely" => Some(0.95),
        "dcqcn:paper" | "dctcp" => Some(0.98),
        _ => None,
    }
}

#[test]
fn fairness() {
    let mut out = String::from("controller           Jain's index of the flows there are, per ms\n");
    let mut unfair = Vec::new();
    for (name, params) in controllers() {
        let mut before = vec![0; STARTS.1 as usize];
        write!(out, "{name:<20}").unwrap();
        let mut index = 0.0;
        for ms in 1..=8 {
            let sent = sent_by(name, &params, ms * 1000);
            let there = (((ms - 1) * 1000 / STARTS.0) + 1).min(STARTS.1) as usize;
            let shares: Vec<_> = sent.iter().zip(&before).map(|(s, b)| s - b).take(there).collect();
            index = jain(&shares);
            write!(out, " {index:.3}").unwrap();
            before = sent;
        }
        writeln!(out).unwrap();
        if fair(name).is_some_and(|least| index < least) {
            unfair.push((name, index));
        }
    }
    assert_eq!(unfair, [], "less fair than claimed");
    insta::assert_snapshot!(out);
}
