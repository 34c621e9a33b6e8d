use paceline_proto::units::US;
use proptest::prelude::*;

use super::*;
use crate::graph::Side;

const STAR: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0.000000\n1 2 100Gbps 1000ns 0.000000\n";

fn read(text: &str) -> (Topology, Vec<String>) {
    read_topology(text, "t.txt", Clock::Exact).unwrap()
}

#[test]
fn reads_and_writes_the_reference_s_form() {
    let (star, warnings) = read(STAR);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(star.kinds, [NodeKind::Host, NodeKind::Host, NodeKind::Switch]);
    assert_eq!(star.tiers, [0, 0, 1]);
    let link = |a| Link::symmetric(a, 2, BitsPerSec(100_000_000_000), Duration(US));
    assert_eq!(star.links, [link(0), link(1)]);
    assert_eq!(write_topology(&star).unwrap(), STAR);
}

/// The same network in the spellings other people's files use.
#[test]
fn spellings_mean_the_same() {
    for text in [
        "3 1 2\r\n2\r\n0 2 100Gbps 0.001ms 0\r\n1 2 100Gb/s 1us 0\r\n\r\n",
        "\n3\t1 2\n\n2\n0 2 100000Mbps 1000ns 0.0\n\n1 2 100000000000 1000000ps 0e0",
    ] {
        for clock in [Clock::Exact, Clock::TruncatedNs] {
            assert_eq!(read_topology(text, "t.txt", clock).unwrap(), (read(STAR).0, vec![]), "{text}");
        }
    }
    // Switch ids over two lines, and a network without switches.
    assert_eq!(read("3 2 1\n1\n2\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0").0.tiers, [0, 1, 1]);
    assert_eq!(read("2 0 1\n\n0 1 1Gbps 1us 0").1, Vec::<String>::new());
}

/// Two servers of two GPUs, as SimAI's generator writes networks.
const SIMAI: &str = "8 2 2 2 9 H100
4 5 6 7 \n0 4 2880Gbps 0.000025ms 0\n0 6 400Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms 0\n1 6 400Gbps 0.0005ms 0
2 5 2880Gbps 0.000025ms 0\n2 7 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n3 7 400Gbps 0.0005ms 0\n6 7 400Gbps 0.0005ms 0\n";

/// A file of SimAI is the same network as one of the reference with another first line; the reference's own reader knows none.
#[test]
fn simai_counts_nvswitches_apart() {
    let theirs = read_any_topology(SIMAI, "t.txt").unwrap();
    assert_eq!((theirs.nvswitches, theirs.warnings), (2, vec![]));
    let (ours, _) = read(&SIMAI.replace("8 2 2 2 9 H100", "8 4 9"));
    assert_eq!(theirs.topology, ours);
    assert_eq!(ours.links[1].ab, Side { rate: BitsPerSec(400_000_000_000), delay: Duration(500 * NS) });
    // Forks say how many GPUs a node has; some files have NVSwitches and other switches on two lines, or no NVSwitches.
    for (from, to) in [("H100", "H100 2"), ("4 5 6 7", "4 5\n6 7"), ("2 2 2", "2 0 4")] {
        assert_eq!(read_any_topology(&SIMAI.replace(from, to), "t.txt").unwrap().topology, ours, "{to}");
    }
    assert_eq!(read_any_topology(STAR, "t.txt").unwrap().topology, read(STAR).0);
    for (first, value, allowed) in [
        ("8 2 2 2 9", "8 2 2 2 9", "SimAI"),
        ("8 2 2 9000 9 H100", "9000", "than the file has bytes"),
        ("8 2 2 x 9 H100", "x", "whole number"),
        ("8 0 2 2 9 H100", "0", "from 1"),
        ("3 2 2 2 9 H100", "4", "number of nodes"),
    ] {
        let error = read_any_topology(&SIMAI.replace("8 2 2 2 9 H100", first), "t.txt").unwrap_err();
        assert_eq!((error.line, error.value.as_deref()), (Some(1), Some(value)), "{error}");
        assert!(error.allowed.as_ref().unwrap().contains(allowed), "{error}");
    }
    let reference = read_topology(SIMAI, "t.txt", Clock::TruncatedNs).unwrap_err();
    assert_eq!((reference.line, reference.problem.as_str()), (Some(1), "wrong number of words"));
}

#[test]
fn wrong_counts_are_warnings() {
    for (text, links, warning) in [
        (STAR.replace("3 1 2", "3 1 5"), 2, "t.txt:1: the header says 5 links, the file has 2"),
        (STAR.replace("3 1 2", "3 2 2"), 2, "t.txt:1: the header says 2 switches, 1 are listed"),
        (STAR.replace("3 1 2", "3 0 2"), 2, "t.txt:1: the header says 0 switches, 1 are listed"),
        (STAR.replace("3 1 2\n2", "3 1 2\n2 1"), 2, "t.txt:1: the header says 1 switches, 2 are listed"),
        (STAR.replace("3 1 2", "5 1 2"), 2, "t.txt:1: of the header's 5 nodes 2 have no link, the first is node 3"),
        (STAR.replace("2\n0", "2 2\n0"), 2, "t.txt:2: switch 2 is listed twice"),
        (
            STAR.replace("3 1 2", "3 1 1"),
            1,
            "t.txt:4: the header says 1 links, 1 more follow; only the first 1 are used",
        ),
        (format!("{STAR}\nsrc dst rate delay error_rate\n"), 2, "t.txt:6: text after the last link is not read"),
    ] {
        let (topology, warnings) = read(&text);
        assert_eq!(topology.links.len(), links, "{text}");
        assert!(warnings.iter().any(|w| w.starts_with(warning)), "{warnings:?}");
    }
}

#[test]
fn bad_files_name_line_value_and_what_is_allowed() {
    let row = |row: &str| format!("3 1 2\n2\n0 2 100Gbps 1000ns 0.0\n{row}\n");
    for (text, line, value, allowed) in [
        (String::new(), 1, None, "header line"),
        ("3 1\n2\n".into(), 1, Some("3 1"), "nodes switches links"),
        ("three 1 2\n2\n".into(), 1, Some("three"), "whole number"),
        ("0 0 1\n".into(), 1, Some("0"), "from 1"),
        ("4294967295 1 2\n2\n".into(), 1, Some("4294967295"), "bytes"),
        ("3 4 2\n".into(), 1, Some("4"), "number of nodes"),
        ("3 1 0\n2\n".into(), 1, Some("0"), "from 1"),
        ("3 1 -2\n2\n".into(), 1, Some("-2"), "whole number"),
        (STAR.replace("\n2\n", "\n3\n"), 2, Some("3"), "from 0 to 2"),
        (STAR.replace("\n2\n", "\n2x\n"), 2, Some("2x"), "5 words"),
        (row("1 3 100Gbps 1000ns 0"), 4, Some("3"), "header's nodes"),
        (row("-1 2 100Gbps 1000ns 0"), 4, Some("-1"), "header's nodes"),
        (row("2 2 100Gbps 1000ns 0"), 4, Some("2"), "another node"),
        (row("1 2 0Gbps 1000ns 0"), 4, Some("0Gbps"), "at least 1bps"),
        (row("1 2 100Gbit 1000ns 0"), 4, Some("100Gbit"), "Gbps"),
        (row("1 2 NaNGbps 1000ns 0"), 4, Some("NaNGbps"), "Gbps"),
        (row("1 2 100Gbps 1000 0"), 4, Some("1000"), "unit of ps"),
        (row("1 2 100Gbps -1ns 0"), 4, Some("-1ns"), "unit of ps"),
        (row("1 2 100Gbps 2s 0"), 4, Some("2s"), "at most 1s"),
        (row("1 2 1000Tbps 1us 0"), 4, Some("1000Tbps"), "at most 100000Gbps"),
        (row("1 2 100Gbps 1000ns 1.1"), 4, Some("1.1"), "from 0 to 1"),
        (row("1 2 100Gbps 1000ns nan"), 4, Some("nan"), "from 0 to 1"),
        (row("1 2 100Gbps 1000ns"), 4, Some("1 2 100Gbps 1000ns"), "5 words"),
        (row("1 2 100Gbps 1000ns 0 0"), 4, Some("1 2 100Gbps 1000ns 0 0"), "5 words"),
        (row("\u{0}\u{1}garbage"), 4, Some("\u{0}\u{1}garbage"), "5 words"),
    ] {
        let error = read_topology(&text, "t.txt", Clock::TruncatedNs).unwrap_err();
        let place = (error.file.as_deref(), error.line, error.value.as_deref());
        assert_eq!(place, (Some("t.txt"), Some(line), value), "{error}");
        assert!(error.allowed.as_ref().unwrap().contains(allowed), "{error}");
    }
    let cut = read_topology("3 1 2\n2\n", "t.txt", Clock::Exact).unwrap_err();
    assert_eq!(cut.problem, "the file ends before its first link");
}

#[test]
fn a_node_has_no_more_links_than_port_numbers() {
    let mut text = "70001 1 70000\n70000\n".to_string();
    for host in 0..70_000 {
        writeln!(text, "{host} 70000 1Gbps 1us 0").unwrap();
    }
    let error = read_topology(&text, "t.txt", Clock::Exact).unwrap_err();
    assert_eq!((error.line, error.value.as_deref()), (Some(65_538), Some("70000")), "{error}");
}

#[test]
fn what_the_format_cannot_say_is_refused() {
    let mut topology = read(STAR).0;
    topology.links[1].ba.delay = Duration(5);
    let error = write_topology(&topology).unwrap_err();
    assert_eq!((error.field.as_deref(), error.value.as_deref()), (Some("link 1"), Some("1 to 2")));
    let side = Side { rate: BitsPerSec(0), delay: Duration(0) };
    topology.links[1] = Link { ab: side, ba: side, ..topology.links[0] };
    assert!(write_topology(&topology).is_err());
}

prop_compose! {
    fn any_link(nodes: u32)(
        a in 0..nodes,
        step in 1..nodes,
        rate in prop_oneof![1..=MAX_RATE, (1..=1600u64).prop_map(|g| g * 1_000_000_000)],
        delay in prop_oneof![0..=MAX_DELAY.0, (0..10_000u64).prop_map(|n| n * NS)],
        error_rate in prop_oneof![Just(0.0), Just(1e-9), 0.0..=1.0f64],
    ) -> Link {
        let link = Link::symmetric(a, (a + step) % nodes, BitsPerSec(rate), Duration(delay));
        Link { error_rate, ..link }
    }
}

fn any_topology() -> impl Strategy<Value = Topology> {
    (2..20u32).prop_flat_map(|nodes| {
        let kinds = prop::collection::vec(prop::bool::ANY, nodes as usize);
        (kinds, prop::collection::vec(any_link(nodes), 1..30)).prop_map(|(switch, links)| Topology {
            kinds: switch.iter().map(|s| if *s { NodeKind::Switch } else { NodeKind::Host }).collect(),
            tiers: switch.iter().map(|s| u8::from(*s)).collect(),
            links,
        })
    })
}

proptest! {
    #[test]
    fn a_written_topology_reads_back(topology in any_topology()) {
        let text = write_topology(&topology).unwrap();
        prop_assert_eq!(read(&text).0, topology);
    }

    /// On the reference's clock a delay never grows and loses less than 2 ns.
    #[test]
    fn the_reference_s_clock_only_truncates(topology in any_topology()) {
        let text = write_topology(&topology).unwrap();
        let (read, _) = read_topology(&text, "t.txt", Clock::TruncatedNs).unwrap();
        for (got, exact) in read.links.iter().zip(&topology.links) {
            prop_assert_eq!(got.ab.rate, exact.ab.rate);
            prop_assert!(got.ab.delay <= exact.ab.delay && got.ab.delay.0 + 2 * NS > exact.ab.delay.0);
        }
    }
}
