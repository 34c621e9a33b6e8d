//! The same scenario gives the same flows every time, whatever the controller, from both engines. What the controllers do on
//! these networks is in `tests/controllers.rs`.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write;
use std::sync::Arc;

use crate::common::{Collect, ENGINES, run_net};
use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::net::Net;
use paceline_sim::packet::Packet;
use paceline_sim::record::{FlowRecord, Status};
use paceline_sim::scenario::EngineChoice;
use paceline_sim::spec::parse;

const DUMBBELL: &str = r#"
[topology]
kind = "dumbbell"
left = 3
right = 3
bottleneck_rate = "40Gbps"

[[workloads]]
kind = "flows"
rows = [
  { start = "0us", src = 0, dst = 3, bytes = "400KB" },
  { start = "5us", src = 1, dst = 4, bytes = "200KB" },
  { start = "10us", src = 2, dst = 5, bytes = "1B" },
  { start = "20us", src = 2, dst = 5, bytes = "64KB" },
]
"#;

const INCAST: &str = r#"
[topology]
kind = "star"
hosts = 9

[switch]
buffer = "700KB"

[[workloads]]
kind = "incast"
senders = 8
receiver = 8
random_senders = false
sizes = "200KB"
"#;

const PARKING_LOT: &str = r#"
[topology]
kind = "parking_lot"
hops = 3
chain_rate = "50Gbps"

[[workloads]]
kind = "flows"
rows = [
  { src = 0, dst = 1, bytes = "500KB" },
  { src = 2, dst = 3, bytes = "500KB" },
  { src = 4, dst = 5, bytes = "500KB" },
  { src = 6, dst = 7, bytes = "500KB" },
]
"#;

/// Four long flows that start one after the other and, in turn, have to make room.
const FAIRNESS: &str = r#"
[topology]
kind = "star"
hosts = 5

[[workloads]]
kind = "flows"
rows = [
  { start = "0us", src = 0, dst = 4, bytes = "5MB" },
  { start = "100us", src = 1, dst = 4, bytes = "4MB" },
  { start = "200us", src = 2, dst = 4, bytes = "3MB" },
  { start = "300us", src = 3, dst = 4, bytes = "2MB" },
]
"#;

/// Loss on every link.
const LOSSY: &str = r#"
[topology]
kind = "graph"
hosts = ["a", "b", "c"]
switches = ["s"]
links = [
  { a = "a", b = "s", error_rate = 0.01 },
  { a = "b", b = "s", error_rate = 0.01 },
  { a = "c", b = "s" },
]

[host]
rto = "200us"
nack_interval = "50us"

[[workloads]]
kind = "all_to_all"
sizes = "100KB"
"#;

const CASES: [(&str, &str); 5] = [
    ("dumbbell", DUMBBELL),
    ("incast", INCAST),
    ("parking lot", PARKING_LOT),
    ("fairness", FAIRNESS),
    ("lossy", LOSSY),
];

const SCHEMES: [&str; 2] = ["hpcc", "none"];

/// Runs a scenario and hands over what it left.
fn look<T>(text: &str, cc: &str, engine: EngineChoice, look: impl FnOnce(&Net, &[FlowRecord], &Ending) -> T) -> T {
    let spec =
        parse(&format!("{text}\n[schemes.{cc}]\ncc = \"{cc}\"\n"), "case", &[]).unwrap_or_else(|e| panic!("{e}"));
    let made = assemble(&spec).unwrap_or_else(|e| panic!("{e}"));
    run_net(
        &Arc::clone(&made.scenario),
        made.source,
        &made.classes,
        engine,
        |net, Collect { mut flows, .. }, ending, _| {
            flows.sort_by_key(|f| f.id);
            look(net, &flows, &ending)
        },
    )
}

fn us(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// Flows with times in microseconds, then marks, pauses and what was sent again.
fn table(text: &str, cc: &str) -> String {
    look(text, cc, EngineChoice::Windowed, |net, flows, ending| {
        let mut out = format!("{cc}\nflow  src -> dst      bytes     start_us         fct_us  slowdown  sent_again\n");
        for f in flows {
            let slowdown = f.fct_sender as f64 / f.ideal_sender as f64;
            let fct = if f.status == Status::Finished { us(f.fct_sender) } else { format!("{:?}", f.status) };
            let start = us(f.start);
            writeln!(
                out,
                "{:>4}  {:>3} -> {:<3} {:>10} {start:>12} {fct:>14} {slowdown:>9.3} {:>11}",
                f.id, f.src, f.dst, f.bytes, f.retransmitted
            )
            .unwrap();
        }
        let c = net.counters();
        let (data, control) = net.hops();
        let paused: u64 =
            (0..net.graph().ports.len() as u32).filter_map(|p| net.pauses(p)).map(|p| p.time.iter().sum::<u64>()).sum();
        writeln!(
            out,
            "{ending:?}; marks {}, pauses {}, resumes {}, paused {} us, drops {} + {}, hops {data} + {control}",
            c.marks,
            c.pause_frames,
            c.resume_frames,
            us(paused),
            c.drops_buffer,
            c.drops_wire
        )
        .unwrap();
        out
    })
}

fn tables(text: &str) -> String {
    SCHEMES.map(|cc| table(text, cc)).join("\n")
}

#[test]
fn lossy() {
    insta::assert_snapshot!(tables(LOSSY));
}

#[test]
fn equal_runs_have_equal_flows() {
    for (name, text) in CASES {
        for cc in SCHEMES {
            let run =
                |engine| look(text, cc, engine, |net, flows, _| (flows.to_vec(), net.hops(), net.counters().events));
            for engine in ENGINES {
                let (first, second) = (run(engine), run(engine));
                assert!(!first.0.is_empty());
                assert_eq!(first, second, "{name}, {cc}, {engine:?}");
            }
            assert_eq!(run(ENGINES[0]).0, run(ENGINES[1]).0, "{name}, {cc}");
        }
    }
}

/// Another seed is another run where anything is drawn (losses, ties between arrivals), and only there.
#[test]
fn only_draws_depend_on_the_seed() {
    let run = |text: &str, seed: u64| {
        look(&format!("seed = {seed}\n{text}"), "hpcc", EngineChoice::Windowed, |_, flows, _| flows.to_vec())
    };
    assert_ne!(run(LOSSY, 1), run(LOSSY, 2));
    assert_ne!(run(INCAST, 1), run(INCAST, 2));
    assert_eq!(run(DUMBBELL, 1), run(DUMBBELL, 2));
}

/// Sizes of what there are many of: two packets to a cache line, a flow record as it is written.
#[test]
fn sizes_of_hot_structs() {
    assert_eq!(size_of::<Packet>(), 32);
    assert!(size_of::<FlowRecord>() <= 120, "{}", size_of::<FlowRecord>());
}
