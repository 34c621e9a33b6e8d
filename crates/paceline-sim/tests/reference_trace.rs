//! The packet trace that `paceline hpcc` writes (`TRACE_OUTPUT_FILE`) is the HPCC reference simulator's, row by row and in its order. Those of
//! its traces that we have (`tests/data/hpcc-ns3/trace_checksums.txt`) are of lone flows; what they do not show (queues, pauses, marks,
//! a failed link) has to agree with itself and with the other result files.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::common::reference::{checksum, data, laid_out, options};
use paceline_sim::hpcc::Prepared;

/// A row, its fields as the specification of the format has them.
#[derive(Debug)]
struct Row {
    time: u64,
    node: u16,
    port: u8,
    queue: u8,
    waiting: u32,
    ips: [u32; 2],
    size: u16,
    kind: &'static str,
    event: &'static str,
    ecn: u8,
    switch: u8,
    rest: [u8; 24],
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b))
}

impl Row {
    fn read(b: &[u8]) -> Self {
        let word = |at| number(&b[at..at + 4]) as u32;
        Row {
            time: number(&b[..8]),
            node: number(&b[8..10]) as u16,
            port: b[10],
            queue: b[11],
            waiting: word(12),
            ips: [word(16), word(20)],
            size: number(&b[24..26]) as u16,
            kind: match b[26] {
                0x11 => "data",
                0xfc => "ack",
                0xfd => "nack",
                0xfe => "pfc",
                other => panic!("protocol {other}"),
            },
            event: ["recv", "enqu", "dequ", "drop"][usize::from(b[27])],
            ecn: b[28],
            switch: b[29],
            rest: b[32..].try_into().unwrap(),
        }
    }

    /// First byte of data, or the next one that an answer asks for.
    fn seq(&self) -> u64 {
        number(if self.kind == "data" { &self.rest[4..8] } else { &self.rest[8..12] })
    }

    /// When it was sent, ns.
    fn stamp(&self) -> u64 {
        number(if self.kind == "data" { &self.rest[8..16] } else { &self.rest[16..] })
    }

    /// As a line of the reference's decoded traces.
    fn line(&self) -> String {
        let [src, dst] = self.ips.map(|ip| ip >> 8 & 0xffff);
        let Row { time, node, port, queue, waiting, size, kind, event, ecn, switch, .. } = self;
        let (sport, dport) = (number(&self.rest[..2]), number(&self.rest[2..4]));
        let seq = self.seq();
        format!(
            "{time},{node},{port},{queue},{waiting},{src},{dst},{size},{kind},{event},{ecn},{switch},{sport},{dport},{seq}"
        )
    }
}

/// What a trace begins with (node, port, bit/s; window), and its rows.
fn decoded(bytes: &[u8]) -> (Vec<(u64, u64, u64)>, u64, Vec<Row>) {
    let ports = number(&bytes[..4]) as usize;
    let (table, rest) = bytes[4..].split_at(11 * ports);
    let ports = table.chunks(11).map(|p| (number(&p[..2]), u64::from(p[2]), number(&p[3..]))).collect();
    assert_eq!((rest.len() - 4) % 56, 0);
    (ports, number(&rest[..4]), rest[4..].chunks(56).map(Row::read).collect())
}

/// Runs a case with these nodes traced and some keys changed. The trace, and the run's fct and pfc files.
fn traced(case: &str, scheme: &str, nodes: &str, keys: &[(&str, &str)]) -> (Vec<u8>, [String; 2]) {
    let folder = laid_out(&format!("trace-{}", keys.len()), case, scheme);
    fs::write(folder.join("trace.txt"), nodes).unwrap();
    let mut config = fs::read_to_string(folder.join("config.txt")).unwrap();
    for (key, value) in [&[("ENABLE_TRACE", "1")], keys].concat() {
        let line = config.lines().find(|line| line.split(' ').next() == Some(key)).unwrap().to_string();
        config = config.replace(&line, &format!("{key} {value}"));
    }
    fs::write(folder.join("config.txt"), config).unwrap();
    let prepared = Prepared::read_in(&folder, Path::new("config.txt"), options()).unwrap();
    assert!(!prepared.warnings.iter().any(|w| w.contains("TRACE")), "{:?}", prepared.warnings);
    prepared.run(&mut |_| true).unwrap();
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    (read("mix.tr"), ["fct.txt", "pfc.txt"].map(|name| String::from_utf8(read(name)).unwrap()))
}

/// All ids below `count`.
fn all(count: u32) -> String {
    (0..count).fold(format!("{count}\n"), |mut text, id| {
        write!(text, "{id} ").unwrap();
        text
    })
}

/// A user's tools for the simulator's traces find the same rows in ours.
#[test]
fn the_rows_are_the_reference_s() {
    let sums = fs::read_to_string(data().join("trace_checksums.txt")).unwrap();
    for line in sums.lines().filter(|line| !line.starts_with('#')) {
        let [case, scheme, count, sum] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let nodes = if case == "t5" { 376 } else { 3 };
        let (_, _, rows) = decoded(&traced(case, scheme, &all(nodes), &[]).0);
        let text: String = rows.iter().map(|row| row.line() + "\n").collect();
        assert_eq!(rows.len().to_string(), count, "{line}");
        assert_eq!(format!("{:016x}", checksum(text.as_bytes())), sum, "{line}");
        // Only TIMELY's packets carry the time at which they were sent.
        let sent: BTreeMap<u64, u64> = rows
            .iter()
            .filter(|r| (r.switch, r.kind, r.event) == (0, "data", "dequ"))
            .map(|r| (r.seq(), r.time))
            .collect();
        let is_stamped = |r: &Row| r.stamp() == if scheme == "timely_vwin" { sent[&r.seq()] } else { 0 };
        assert!(rows.iter().filter(|r| r.kind == "data").all(is_stamped), "{line}");
    }
}

/// A trace begins with the rates of the ports and the window of the longest path, whatever nodes are traced.
#[test]
fn the_ports_come_first() {
    let (bytes, _) = traced("t1s", "hpcc_u95", "0\n", &[]);
    let (ports, window, rows) = decoded(&bytes);
    assert_eq!(
        ports,
        [(0, 1, 100_000_000_000), (1, 1, 100_000_000_000), (2, 1, 100_000_000_000), (2, 2, 100_000_000_000)]
    );
    assert_eq!((window, rows.len()), (52_000, 0));
    let (_, _, rows) = decoded(&traced("t1s", "hpcc_u95", "1\n2\n", &[]).0);
    assert!(rows.iter().all(|r| r.node == 2) && rows.len() == 600, "{}", rows.len());
}

/// In an incast with pauses: every queue is what joined it less what left it, all that is sent arrives, pauses take effect where the pfc
/// file says, and as many packets are marked as ACKs tell of.
#[test]
fn the_rows_of_an_incast_agree() {
    for scheme in ["hpcc_u95", "dctcp", "dcqcn_paper_vwin"] {
        let (bytes, [fct, pfc]) = traced("t6", scheme, &all(18), &[]);
        // That the packets are looked at changes nothing.
        assert_eq!(fct, fs::read_to_string(data().join("t6").join(scheme).join("fct.txt")).unwrap());
        let (_, _, rows) = decoded(&bytes);
        let mut queues: BTreeMap<_, u32> = BTreeMap::new();
        let (mut sent, mut received, mut longest) = (0, 0, 0);
        let mut pauses = String::new();
        for row in &rows {
            let queue = queues.entry((row.node, row.port, row.queue)).or_default();
            match row.event {
                "enqu" if row.switch == 1 => {
                    assert_eq!(row.waiting, *queue, "{scheme} {row:?}");
                    *queue += u32::from(row.size);
                    longest = longest.max(*queue);
                }
                "dequ" => {
                    sent += 1;
                    if row.switch == 1 {
                        *queue -= u32::from(row.size);
                        assert_eq!(row.waiting, *queue, "{scheme} {row:?}");
                    }
                }
                "recv" => {
                    received += 1;
                    if row.kind == "pfc" {
                        let is_pause = number(&row.rest[..4]) != 0;
                        let Row { time, node, switch, port, .. } = row;
                        writeln!(pauses, "{time} {node} {switch} {port} {}", u8::from(is_pause)).unwrap();
                        assert_eq!((row.rest[8], row.ips[1]), (3, u32::MAX), "{row:?}");
                        // Link n joins host n and the switch, which is named second.
                        assert_eq!(row.ips[0].to_be_bytes(), [10, 1, *node as u8 + 1, 2], "{row:?}");
                    }
                }
                _ => {}
            }
        }
        assert!(rows.is_sorted_by_key(|r| r.time));
        assert_eq!(sent, received, "{scheme}");
        assert_eq!(pauses, pfc, "{scheme}");
        assert!(longest > 100_000 && !pfc.is_empty(), "{scheme}: {longest}");
        let arrived = |kind: &str, is: &dyn Fn(&Row) -> bool| {
            rows.iter().filter(|r| (r.switch, r.kind, r.event) == (0, kind, "recv") && is(r)).count()
        };
        let marked = arrived("data", &|r| r.ecn == 3);
        assert_eq!(marked, arrived("ack", &|r| number(&r.rest[4..6]) == 1), "{scheme}");
        assert!(marked > 50 || scheme == "hpcc_u95", "{scheme}: {marked}");
    }
}

/// What a failed link loses is dropped where it would have arrived, in its turn, or where it waited.
#[test]
fn what_a_failed_link_loses_is_dropped() {
    let keys = [("LINK_DOWN", "300 16 17"), ("SIMULATOR_STOP_TIME", "2.001")];
    let (bytes, _) = traced("t3a", "hpcc_u95", &all(18), &keys);
    let (_, _, rows) = decoded(&bytes);
    assert!(rows.is_sorted_by_key(|r| r.time));
    let count = |node: u16, port: u8, events: &[&str]| {
        rows.iter().filter(|r| (r.node, r.port) == (node, port) && events.contains(&r.event)).count()
    };
    // To the receiver, whose link is down from then on.
    let port = rows.iter().find(|r| (r.node, r.kind, r.event) == (17, "data", "dequ")).unwrap().port;
    assert_eq!(count(17, port, &["dequ"]), count(16, 1, &["recv", "drop"]));
    assert!(count(16, 1, &["drop"]) > 5);
    assert_eq!(
        count(17, port, &["enqu"]),
        count(17, port, &["dequ"])
            + rows.iter().filter(|r| (r.node, r.port, r.event, r.queue) == (17, port, "drop", 3)).count()
    );
    let times: BTreeSet<u64> = rows.iter().filter(|r| r.event == "drop").map(|r| r.time / 1000).collect();
    assert!(times.first() >= Some(&2_000_300) && times.last() <= Some(&2_000_302), "{times:?}");
}

/// The queue of a port whose link fails gets shorter with each packet that is dropped.
#[test]
fn a_queue_ends_with_its_link() {
    let keys = [("LINK_DOWN", "10 16 17"), ("SIMULATOR_STOP_TIME", "2.001"), ("BUFFER_SIZE", "32")];
    let (bytes, _) = traced("t3a", "hpcc_u95", &all(18), &keys);
    let (_, _, rows) = decoded(&bytes);
    let waited: Vec<&Row> = rows.iter().filter(|r| (r.node, r.event, r.queue) == (17, "drop", 3)).collect();
    assert!(waited.len() > 100 && waited.last().unwrap().waiting == 0, "{}", waited.len());
    assert!(waited.windows(2).all(|w| w[0].waiting == w[1].waiting + u32::from(w[1].size)), "{waited:?}");
}

/// A configuration whose list of nodes is missing runs as it does there, without a trace, and says so; a list with nonsense is refused.
#[test]
fn a_missing_list_of_nodes_is_told() {
    let folder = laid_out("no-trace", "t1s", "hpcc_u95");
    let config = fs::read_to_string(folder.join("config.txt")).unwrap().replace("ENABLE_TRACE 0", "ENABLE_TRACE 1");
    fs::write(folder.join("config.txt"), config).unwrap();
    let read = || Prepared::read_in(&folder, Path::new("config.txt"), options());
    let _ = fs::remove_file(folder.join("trace.txt"));
    let prepared = read().unwrap();
    assert!(
        prepared.warnings.iter().any(|w| w.starts_with("TRACE_FILE trace.txt: cannot be read")),
        "{:?}",
        prepared.warnings
    );
    prepared.run(&mut |_| true).unwrap();
    assert_eq!(decoded(&fs::read(folder.join("mix.tr")).unwrap()).2.len(), 0);
    fs::write(folder.join("trace.txt"), "1\n77\n").unwrap();
    let error = read().err().unwrap().to_string();
    assert!(error.starts_with("trace.txt:2: trace node = 77"), "{error}");
}
