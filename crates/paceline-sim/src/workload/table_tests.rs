//! Tests of [`super::read_table`] and [`super::save`].

use std::sync::Arc;

use paceline_proto::units::{Duration, MS};
use proptest::prelude::*;

use super::*;
use crate::graph::NodeKind;
use crate::workload::{
    Episodes, FlowTable, Incast, IncastConfig, LATEST_START, Merge, Poisson, PoissonConfig, SizeLaw, builtin,
};

/// Hosts 0 to 15 and switch 16.
fn graph() -> Graph {
    let mut kinds = vec![NodeKind::Host; 16];
    kinds.push(NodeKind::Switch);
    let tiers = [vec![0; 16], vec![1]].concat();
    Graph { kinds, tiers, ..Graph::default() }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn read(text: &str) -> Result<Vec<FlowSpec>, InputError> {
    read_with(text, &mut strings(&["web", "in,cast \"x\""]))
}

fn read_with(text: &str, groups: &mut Vec<String>) -> Result<Vec<FlowSpec>, InputError> {
    let (schemes, graph) = (strings(&["hpcc", "dcqcn"]), graph());
    let nodes = NodeNames::new(&[], &graph.tiers);
    let limits = TableLimits { graph: &graph, nodes: &nodes, framing: Framing::HPCC };
    read_table(text.as_bytes(), "t.csv", limits, &schemes, groups, FlowDefaults::default())
}

/// A table whose rows said `mice` and `elephants` was refused unless workloads were called so.
#[test]
fn groups_of_rows_are_new_ones_where_no_workload_has_them() {
    let mut groups = strings(&["web"]);
    let text = "start,src,dst,bytes,group\n1us,0,1,5,mice\n2us,0,1,5,\n3us,0,1,5,elephants\n4us,0,1,5,mice\n";
    let flows = read_with(text, &mut groups).unwrap();
    assert_eq!(groups, ["web", "mice", "elephants"]);
    assert_eq!(flows.iter().map(|f| f.group).collect::<Vec<_>>(), [1, 0, 2, 1]);
    let wrong = |cell: &str| read(&format!("start,src,dst,bytes,group\n1us,0,1,5,{cell}\n")).unwrap_err().to_string();
    assert!(wrong("a mouse").starts_with("t.csv:2: group = a mouse: not a name; allowed: a name of 1 to 64 letters"));
    let rows = (0..MOST_GROUPS).map(|n| format!("1us,0,1,5,g{n}\n")).collect::<Vec<_>>().concat();
    let many = read_with(&format!("start,src,dst,bytes,group\n{rows}"), &mut groups).unwrap_err().to_string();
    assert_eq!(many, "t.csv:255: group = g253: too many groups; allowed: 256 different ones in a run");
}

#[test]
fn columns_in_any_order_defaults_and_units() {
    let text = "\u{feff}# by hand\r\nbytes,dst,src,start,group,rate_cap,scheme\r\n\
                1MB,1,0,2us,\"in,cast \"\"x\"\"\", 10Gbps ,dcqcn\r\n\n7,2,3,1.5us,,off,\n8,2,4,1.5us,web,0bps,hpcc\n";
    let default = FlowDefaults::default();
    let capped = FlowDefaults { scheme: 1, group: 1, rate_cap: 10_000_000_000, ..default };
    let expected = [
        default.flow(Time(1_500_000), 3, 2, 7),
        default.flow(Time(1_500_000), 4, 2, 8),
        capped.flow(Time(2_000_000), 0, 1, 1_000_000),
    ];
    assert_eq!(read(text).unwrap(), expected);
}

#[test]
fn errors_name_line_column_value_and_remedy() {
    let row = |cells: &str| read(&format!("start,src,dst,bytes,class,scheme\n{cells}\n")).unwrap_err().to_string();
    assert_eq!(row("1us,3,3,5,,"), "t.csv:2: dst = 3: a flow from a host to itself; allowed: another host");
    assert_eq!(
        row("1us,3,17,5,,"),
        "t.csv:2: dst = 17: no such node; allowed: the id or name of a host; the nodes are 0 to 16"
    );
    assert_eq!(
        row("1us,16,1,5,,"),
        "t.csv:2: src = 16: not a host; allowed: the id or name of a host; the nodes are 0 to 16"
    );
    assert_eq!(
        row("1us,0,hots1,5,,"),
        "t.csv:2: dst = hots1: no such node, did you mean \"host1\"?; allowed: the id or name of a host; the nodes are 0 to 16"
    );
    assert!(row("1us,tor0,1,5,,").starts_with("t.csv:2: src = tor0: not a host"));
    assert_eq!(row("1us,0,1,0,,"), "t.csv:2: bytes = 0: a flow needs bytes; allowed: 1 or more");
    assert_eq!(
        row("1us,0,1,18446744073709551615,,"),
        "t.csv:2: bytes = 18446744073709551615: flow too large for the payload of a packet; \
         allowed: at most 4294967295000 B, 2^32 packets less one; or a larger framing.payload"
    );
    assert_eq!(row("1us,0,1,5,8,"), "t.csv:2: class = 8: not in range; allowed: 1 to 7 (0 is for control frames)");
    assert_eq!(row("1us,0,1,5,1,hpc"), "t.csv:2: scheme = hpc: no such scheme; allowed: hpcc, dcqcn");
    assert_eq!(row("1us,0,1,5,1"), "t.csv:2: `5`: too few cells; allowed: 6, one per column");
    assert!(row("1us,0,1,5,1,hpcc,").contains("too many cells"));
    assert!(row("1us,0,1,5,1,\"hpcc").contains("bad quotes"));
    for start in ["1", "NaN", "1 parsec", "-1us", "99999999999s", "0.5ps", ""] {
        assert!(
            row(&format!("{start},0,1,5,,"))
                .starts_with(&format!("t.csv:2: start = {start}: cannot be read; allowed: a number"))
        );
    }
    for late in ["18446744073709551615ps", "18446744073709551614ps", "1000.1s"] {
        let told = row(&format!("{late},0,1,5,,"));
        assert!(told.ends_with("starts too late; allowed: at most 1000s"), "a run with it did not end: {told}");
    }
    for cap in ["999bps", "11Tbps"] {
        let told = read(&format!("start,src,dst,bytes,rate_cap\n1us,0,1,5,{cap}\n")).unwrap_err().to_string();
        assert!(told.ends_with("not in range; allowed: 1Kbps to 10Tbps, or off (or 0bps) for none"), "{told}");
    }
    let late = read("start_ps,src,dst,bytes\n1000000000000001,0,1,5\n").unwrap_err().to_string();
    assert_eq!(late, "t.csv:2: start_ps = 1000000000000001: starts too late; allowed: at most 1000s");
    let word = read("start_ps,src,dst,bytes\n1us,0,1,5\n").unwrap_err().to_string();
    assert_eq!(word, "t.csv:2: start_ps = 1us: not in range; allowed: a whole number of picoseconds");
    for bytes in ["-1", "NaN", "1e6", "99999999999999999999", "5 KBit", ""] {
        assert!(row(&format!("1us,0,1,{bytes},,")).contains("with a unit: 500KB"), "{bytes}");
    }
    let head = |head: &str| read(head).unwrap_err().to_string();
    assert!(head("start,src,dst,size\n").contains("t.csv:1: `size`: no such column; allowed: start, start_ps,"));
    assert!(head("start,src,dst,byts\n").contains("(`bytes` is the nearest)"));
    assert!(head("src,dst,bytes\n").contains("start: missing column; allowed: either start or start_ps"));
    assert!(head("start,start_ps,src,dst,bytes\n").contains("two columns for the start"));
    assert!(head("start,src,bytes\n").contains("dst: missing column"));
    assert!(head("start,src,src,dst,bytes\n").contains("`src`: column named twice"));
    assert!(head("start,src,dst,bytes\n").contains("no flows in the table"));
    assert!(head("").contains("no flows in the table"));
    assert!(head(&"x".repeat(10_000)).contains("t.csv:1: line too long"));
    let graph = graph();
    let nodes = NodeNames::new(&[], &graph.tiers);
    let limits = TableLimits { graph: &graph, nodes: &nodes, framing: Framing::HPCC };
    let latin = read_table(&b"start,src\xff"[..], "t.csv", limits, &[], &mut Vec::new(), FlowDefaults::default());
    assert_eq!(latin.unwrap_err().to_string(), "t.csv:1: not UTF-8 text");
}

#[test]
fn names_that_cannot_be_cells_are_refused() {
    let flow = FlowDefaults { group: 3, ..FlowDefaults::default() }.flow(Time(0), 0, 1, 1);
    let save_with = |groups: &[&str]| {
        let (schemes, groups) = (strings(&["hpcc"]), strings(groups));
        let mut source = FlowTable::new(vec![flow]);
        save(&mut source, &mut Vec::new(), TableNames { schemes: &schemes, groups: &groups }).unwrap_err().to_string()
    };
    assert_eq!(save_with(&["a"]), "group = 3: has no name");
    assert!(save_with(&["a\nb"]).contains("not fit for a table"));
}

/// A mix of generated workloads, saved and replayed, is the same stream.
#[test]
fn generated_workloads_replay_bit_for_bit() {
    let hosts: Vec<NodeId> = (0..16).collect();
    let poisson = PoissonConfig {
        sources: hosts.clone(),
        destinations: hosts.clone(),
        sizes: SizeLaw::Drawn(Arc::new(builtin("w3").unwrap().cdf)),
        flows_per_second: 1e6,
        begin: Time(0),
        end: Time(MS),
        count: None,
        seed: 3,
        workload: 0,
        flow: FlowDefaults::default(),
    };
    let incast = IncastConfig {
        senders: hosts.clone(),
        receivers: hosts,
        fan_in: 6,
        random_senders: true,
        sizes: SizeLaw::Fixed(500_000),
        step: Duration(0),
        episodes: Episodes::Poisson { per_second: 1e5, begin: Time(0), end: Time(MS) },
        seed: 3,
        workload: 1,
        flow: FlowDefaults { scheme: 1, group: 1, rate_cap: 1_500, ..FlowDefaults::default() },
    };
    let mixed = || {
        let sources: Vec<Box<dyn FlowSource>> =
            vec![Box::new(Poisson::new(&poisson).unwrap()), Box::new(Incast::new(&incast).unwrap())];
        Merge::new(sources)
    };
    let (schemes, groups) = (strings(&["hpcc", "dcqcn"]), strings(&["web", "in,cast \"x\""]));
    let names = TableNames { schemes: &schemes, groups: &groups };
    let mut text = Vec::new();
    let written = save(&mut mixed(), &mut text, names).unwrap();
    let mut source = mixed();
    let flows: Vec<_> = std::iter::from_fn(|| source.next_flow()).collect();
    assert!(written > 15_000 && written == flows.len() as u64);
    assert_eq!(read(std::str::from_utf8(&text).unwrap()).unwrap(), flows);
    let mut again = Vec::new();
    save(&mut FlowTable::new(flows), &mut again, names).unwrap();
    assert_eq!(again, text);
}

proptest! {
    #[test]
    fn any_flows_round_trip(
        rows in proptest::collection::vec(
            (0..=LATEST_START.0, 0u32..16, 1u32..16, 1u64..=1000 * u64::from(u32::MAX), 0u16..2, 1u8..=7, any::<u16>(),
             prop_oneof![Just(0), CAPS]), 1..20)
    ) {
        let mut flows: Vec<FlowSpec> = rows
            .into_iter()
            .map(|(start, src, d, bytes, which, class, dport, rate_cap)| {
                FlowDefaults { scheme: which, group: 1 - which, class, dport, rate_cap }
                    .flow(Time(start), src, (src + d) % 16, bytes)
            })
            .collect();
        flows.sort_by_key(|f| f.start);
        let (schemes, groups) = (strings(&["hpcc", "dcqcn"]), strings(&["web", "in,cast \"x\""]));
        let mut text = Vec::new();
        save(&mut FlowTable::new(flows.clone()), &mut text, TableNames { schemes: &schemes, groups: &groups }).unwrap();
        prop_assert_eq!(read(std::str::from_utf8(&text).unwrap()).unwrap(), flows);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(start|src|dst|bytes|class|group|[0-9.us,\" \n#é-]){0,60}") {
        let _ = read(&text);
        let _ = read(&format!("start,src,dst,bytes,group\n{text}"));
    }
}
