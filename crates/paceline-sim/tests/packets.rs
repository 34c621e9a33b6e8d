//! The record of packets says what ports did: each packet where and when it was, all that were lost, no more than was asked for.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::path::Path;

use paceline_sim::assemble::assemble;
use paceline_sim::engine::Observer;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::net::trace;
use paceline_sim::record::{FlowName, PacketRecord};
use paceline_sim::results::Summary;
use paceline_sim::run::{Request, run};
use paceline_sim::spec::parse;

/// Runs a scenario with its packets recorded: the summary, the rows of `packets.csv`, and the files.
fn recorded(name: &str, text: &str, more: &[&str], threads: usize) -> (Summary, Vec<Row>, String) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("packets-{name}-{threads}"));
    let _ = std::fs::remove_dir_all(&out);
    let sets: Vec<String> = ["records.packets.rows=1000000"].iter().chain(more).map(|set| (*set).to_string()).collect();
    let spec = parse(text, "test", &sets).unwrap();
    let request = Request { spec, out: out.clone(), threads, version: "test".into(), git: None };
    let summary = run(request, &mut |_| true).unwrap();
    let csv = std::fs::read_to_string(out.join("packets.csv")).unwrap();
    std::fs::remove_dir_all(out).unwrap();
    let rows: Vec<Row> = csv.lines().skip(1).map(Row::of).collect();
    assert_eq!(summary.packets.unwrap().rows, rows.len() as u64);
    assert!(rows.is_sorted_by_key(|row| row.time));
    (summary, rows, csv)
}

/// A row, as far as the tests look at it.
#[derive(Clone, Debug)]
struct Row {
    time: u64,
    node: u32,
    event: String,
    flow: Option<u64>,
    kind: String,
}

impl Row {
    fn of(line: &str) -> Self {
        let cells: Vec<&str> = line.split(',').collect();
        Self {
            time: cells[0].parse().unwrap(),
            node: cells[1].parse().unwrap(),
            event: cells[4].into(),
            flow: cells[6].parse().ok(),
            kind: cells[7].into(),
        }
    }
}

/// Two packets through one switch, reckoned by hand: 80 ps for each of 1048 and 548 bytes and of the 60 of an ACK, 1 us per link; the
/// second waits behind the first.
#[test]
fn two_packets_and_their_acks() {
    let text = "[topology]\nkind = 'star'\nhosts = 2\n[schemes.s]\ncc = 'none'\n[[workloads]]\nkind = 'flows'\n\
                rows = [{ src = 0, dst = 1, bytes = '1500B' }]\n";
    let (_, _, csv) = recorded("two", text, &[], 1);
    let expected = "\
time_ps,node,port,peer,event,arrival_ps,flow_id,kind,seq,ack,size_bytes,class,marked,queue_bytes
0,0,0,2,sent,1083840,0,data,0,,1048,3,0,0
83840,0,0,2,sent,1127680,0,data,1,,548,3,0,0
1083840,2,1,1,sent,2167680,0,data,0,,1048,3,0,0
1167680,2,1,1,sent,2211520,0,data,1,,548,3,0,0
2167680,1,0,2,sent,3172480,0,ack,,1,60,3,0,0
2211520,1,0,2,sent,3216320,0,ack,,2,60,3,0,0
3172480,2,0,0,sent,4177280,0,ack,,1,60,3,0,0
3216320,2,0,0,sent,4221120,0,ack,,2,60,3,0,0
";
    assert_eq!(csv, expected);
}

/// Racks whose switches drop, trim, pause or lose on wires.
const RACKS: &str = "[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[[workloads]]\nkind = 'incast'\n\
                     senders = 7\nrandom_senders = false\nreceiver = 0\nsizes = '60KB'\n[run]\nstop = '2ms'\n";

/// Whatever is counted at a port has a row, with any transport and on any number of threads: a packet that is lost without a row would
/// be looked for in the wrong place.
#[test]
fn all_that_is_counted_has_a_row() {
    let lossy = "switch.pfc.enabled=false";
    let small = "switch.buffer=40KB";
    for (cc, more, events) in [
        ("hpcc", &[lossy, small][..], &["dropped_buffer"][..]),
        ("hpcc", &["switch.buffer=2MB", "switch.pfc.headroom=auto"], &[]),
        (
            "hpcc",
            &["failures=[{ kind = 'link', link = ['tor0', 'agg0'], down = '8us', up = '30us' }]"],
            &["dropped_link_down"],
        ),
        ("new_reno", &[lossy, small], &["dropped_buffer"]),
        ("homa", &[lossy, small], &["dropped_buffer"]),
        ("ndp", &[lossy, "switch.trimming.enabled=true"], &["trimmed"]),
        ("express_pass", &[lossy, "workloads.0={ kind = 'all_to_all', sizes = '60KB' }"], &["dropped_credit"]),
    ] {
        let text = format!("{RACKS}[schemes.s]\ncc = '{cc}'\n");
        let (summary, rows, csv) = recorded(cc, &text, more, 1);
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &rows {
            *found.entry(&row.event).or_default() += 1;
        }
        let count = |event: &str| found.get(event).copied().unwrap_or(0);
        let c = summary.counters;
        // What was lost behind a port has left it, but for what was lost as the link went down.
        let sent = count("sent") + count("dropped_wire") + count("dropped_link_down");
        assert!(
            sent >= c.data_hops + c.control_hops && sent <= c.data_hops + c.control_hops + c.drops_link_down,
            "{cc}"
        );
        assert_eq!(count("dropped_buffer"), c.drops_buffer, "{cc}");
        assert_eq!(count("dropped_link_down"), c.drops_link_down, "{cc}");
        assert_eq!(count("trimmed"), c.trimmed_packets, "{cc}");
        // Hosts' shapers drop credits, too.
        assert!(count("dropped_credit") <= c.drops_credit, "{cc}");
        assert!(events.iter().all(|event| count(event) > 0), "{cc}: {found:?}");
        let pauses = rows.iter().filter(|row| row.kind == "pause").count() as u64;
        assert_eq!(pauses, c.pause_frames, "{cc}");
        assert!(rows.iter().all(|row| row.flow.is_some() != ["pause", "resume"].contains(&row.kind.as_str())), "{cc}");
        assert!(csv == recorded(cc, &text, more, 2).2, "{cc} on two threads");
    }
}

/// What was asked for and no more, and a run says where it could not give that.
#[test]
fn what_was_asked_for() {
    let text = format!("{RACKS}[schemes.s]\ncc = 'hpcc'\n");
    let notes = |summary: Summary| {
        let all = summary.warnings.into_iter().chain(summary.without_effect);
        all.filter(|note| note.starts_with("records.packets")).collect::<Vec<_>>()
    };
    let (_, all, _) = recorded("all", &text, &[], 1);
    let (summary, rows, _) = recorded("flows", &text, &["records.packets.flows=[2, 99]"], 1);
    assert_eq!(rows.len(), all.iter().filter(|row| row.flow == Some(2)).count());
    assert_eq!(notes(summary), ["records.packets.flows: there was no flow 99"]);
    let (_, rows, _) = recorded("ports", &text, &["records.packets.ports=['host3->tor0', 'tor0:0']"], 1);
    assert!(rows.iter().any(|row| row.node == 3) && rows.iter().all(|row| row.node == 3 || row.node == 8));
    let time = ["records.packets.start=5us", "records.packets.end=9us"];
    let (_, rows, _) = recorded("time", &text, &time, 1);
    let within = |row: &&Row| (5_000_000..9_000_000).contains(&row.time);
    assert_eq!(rows.len(), all.iter().filter(within).count());
    let (summary, rows, _) = recorded("rows", &text, &["records.packets.rows=100"], 1);
    assert_eq!((rows.len(), summary.packets.unwrap().full_ps), (100, Some(all[100].time)));
    assert_eq!(notes(summary).len(), 1);
    let (summary, _, _) = recorded("none", &text, &["records.packets.start=1ms"], 1);
    assert_eq!(notes(summary), ["records.packets.rows: no packet came to these ports in this time"]);
}

/// How far what is told of packets is from what is done, ps, at most.
#[derive(Default)]
struct Behind(u64);

impl Observer for Behind {
    fn packets(&mut self, packets: &mut Vec<PacketRecord>, _: &[FlowName], before: u64) -> bool {
        self.0 = packets.drain(..).map(|record| record.at.saturating_sub(before)).fold(self.0, u64::max);
        true
    }
}

/// Packets can be written soon after they were sent: held back to the end they would fill the memory, and a run that is killed would
/// have none.
#[test]
fn packets_are_told_as_the_run_goes_on() {
    // Several threads tell of what they have done when they meet, after 16 windows.
    for (threads, most) in [(1, 5_000_000), (2, 20_000_000)] {
        let text = format!("{RACKS}[schemes.s]\ncc = 'hpcc'\n");
        let assembled = assemble(&parse(&text, "test", &[]).unwrap()).unwrap();
        let mut engine = Windowed::on_threads(&assembled.scenario, assembled.source, threads).unwrap();
        let ports = vec![true; assembled.scenario.graph.ports.len()];
        engine.nets_mut().for_each(|net| {
            net.record_packets(trace::Plan { ports: ports.clone().into(), time: 0..u64::MAX });
        });
        let mut behind = Behind::default();
        let (_, now) = engine.run(&mut behind).unwrap();
        assert!(now > 30_000_000 && (1..most).contains(&behind.0), "{} of {now} ps behind", behind.0);
    }
}
