//! Any bytes as any of the files: an answer or an error, never a panic, and never more than the file's worth of memory.

use proptest::prelude::*;

use super::config;
use super::config::HpccConfig;
use super::flow::{MOST_REPEATED, read_flows};
use super::topology::{read_any_topology, read_topology, write_topology};
use super::trace::read_trace_nodes;
use crate::clock::Clock;
use crate::graph::{Graph, NodeKind};
use crate::input::utf8;

/// A host, a host and a switch.
const KINDS: [NodeKind; 3] = [NodeKind::Host, NodeKind::Host, NodeKind::Switch];

/// Reads `text` as every kind of file and checks what must hold of whatever comes out.
fn all_readers(text: &str) {
    for lenient in [false, true] {
        match HpccConfig::parse(text, "f", lenient) {
            Ok((config, _)) => {
                config::without_effect(&config);
                config.ecn();
                config.link_down.at_ns();
                assert!(config.stop_ns() > 0 || config.simulator_stop_time < 1e-8);
            }
            Err(error) => assert_eq!(error.file.as_deref(), Some("f")),
        }
    }
    for clock in [Clock::Exact, Clock::TruncatedNs] {
        match read_topology(text, "f", clock) {
            Ok((topology, warnings)) => {
                assert!(topology.kinds.len() <= text.len() && topology.links.capacity() <= text.len());
                assert!(warnings.len() <= 4 + text.len());
                Graph::new(&topology);
                let again = write_topology(&topology).unwrap();
                assert_eq!(read_topology(&again, "f", Clock::Exact).map(|(t, _)| t), Ok(topology));
            }
            Err(error) => assert_eq!(error.file.as_deref(), Some("f")),
        }
    }
    match read_any_topology(text, "f") {
        Ok(network) => {
            assert!(network.topology.kinds.len() <= text.len() && network.topology.links.capacity() <= text.len());
            Graph::new(&network.topology);
        }
        Err(error) => assert_eq!(error.file.as_deref(), Some("f")),
    }
    if let Ok((flows, _)) = read_flows(text, "f", &KINDS) {
        assert!(flows.capacity() <= 2 * (text.len() + MOST_REPEATED) && flows.is_sorted_by_key(|f| f.start));
    }
    if let Ok((ids, _)) = read_trace_nodes(text, "f", 3) {
        assert!(ids.capacity() <= text.len().max(4));
    }
}

/// Words such files hold, and words that look like them.
fn word() -> impl Strategy<Value = String> {
    let fixed = [
        "2",
        "0",
        "1",
        "3",
        "4294967295",
        "18446744073709551616",
        "-1",
        "1e9",
        "nan",
        "inf",
        "0.5",
        "2.0004",
        "100Gbps",
        "0Gbps",
        "1000ns",
        "0.001ms",
        "1us",
        "50Mb/s",
        "KMAX_MAP",
        "CC_MODE",
        "LINK_DOWN",
        "FOO",
        "#",
        "\u{fffd}",
        ".",
        "\u{00e9}\u{1f600}",
    ];
    let keys: Vec<&str> = config::KEYS.to_vec();
    prop_oneof![
        prop::sample::select(fixed.to_vec()).prop_map(str::to_string),
        prop::sample::select(keys).prop_map(str::to_string)
    ]
}

/// Lines of such words.
fn soup() -> impl Strategy<Value = String> {
    let line = prop::collection::vec(word(), 0..8).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

const FILES: [&str; 5] = [
    config::tests::SAMPLE,
    "3 1 2\n2\n0 2 100Gbps 1000ns 0.000000\n1 2 40Gbps 1us 0.5\n",
    "4 2 1 1 4 H100\n2 3\n0 2 2880Gbps 0.000025ms 0\n1 2 2880Gbps 0.000025ms 0\n0 3 400Gbps 0.0005ms 0\n1 3 400Gbps 0.0005ms 0\n",
    "3\n0 1 3 100 10000000 2.000000000\n1 0 3 100 1 2.0004\n0 1 7 65535 4294967295 17999999.5\n",
    "2\n0 1\n",
];

proptest! {
    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Err(error) = utf8(bytes.clone(), "f") {
            prop_assert!(error.line.is_some_and(|line| line <= 1 + bytes.len()));
        }
        all_readers(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn words(text in soup()) {
        all_readers(&text);
    }

    /// Good files with bytes changed, cut out or put in.
    #[test]
    fn mutated_files(file in 0..FILES.len(), edits in prop::collection::vec((any::<usize>(), any::<u8>(), 0..3u8), 0..6)) {
        let mut bytes = FILES[file].as_bytes().to_vec();
        for (at, byte, kind) in edits {
            let at = at % bytes.len().max(1);
            match kind {
                0 if !bytes.is_empty() => bytes[at] = byte,
                1 => bytes.truncate(at),
                _ => bytes.insert(at.min(bytes.len()), b"0123456789 \n.-"[byte as usize % 14]),
            }
        }
        all_readers(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn bytes_that_are_no_text_are_told_by_line() {
    let error = utf8(b"1\n2\n\xff".to_vec(), "f.txt").unwrap_err();
    assert_eq!(
        (error.line, error.value.as_deref(), error.allowed.as_deref()),
        (Some(3), Some("byte 0xff"), Some("UTF-8"))
    );
    assert_eq!(utf8(b"1\n".to_vec(), "f.txt"), Ok("1\n".to_string()));
}

#[test]
fn a_long_value_is_quoted_in_part() {
    let error = read_topology(&"x".repeat(100_000), "f", Clock::Exact).unwrap_err();
    assert!(error.to_string().len() < 300, "{error}");
}
