//! Nodes by name: in sets of hosts, receivers, flows, flow tables and ports to sample.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use paceline_sim::assemble::assemble;
use paceline_sim::run::{Request, run};
use paceline_sim::spec::parse;

const HEAD: &str = "
    framing.preset = 'hpcc'
    [schemes.none]
    cc = 'none'
    window = 'off'
";
/// Hosts 0 to 5 in racks of two, `tor0` to `tor2` (6 to 8), `agg0` and `agg1` (9 and 10).
const LEAF_SPINE: &str = "
    [topology]
    kind = 'leaf_spine'
    leaves = 3
    spines = 2
    hosts_per_leaf = 2
";
/// Names that look like a range (host 1), like one backwards (host 4), and like the id of another (host 2 is called 0).
const GRAPH: &str = "
    [topology]
    kind = 'graph'
    hosts = ['web', '0-1', '0', 'db', '2-1']
    switches = ['left', 'right']
    links = [{ a = 'web', b = 'left' }, { a = '0-1', b = 'left' }, { a = '0', b = 'right' }, { a = 'db', b = 'right' }, { a = '2-1', b = 'right' },
        { a = 'left', b = 'right' }, { a = 'left', b = 'right' }]
";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Who sends to whom in this workload, or why it is refused.
fn pairs(network: &str, workload: &str) -> Result<Vec<(u32, u32)>, String> {
    let text = format!("{HEAD}{network}[[workloads]]\n{workload}");
    let mut made = parse(&text, "names.toml", &[]).and_then(|s| assemble(&s)).map_err(|e| e.to_string())?;
    let mut found = Vec::new();
    while let Some(flow) = made.source.next_flow() {
        found.push((flow.src, flow.dst));
    }
    Ok(found)
}

fn all_to_all(network: &str, hosts: &str) -> Result<Vec<(u32, u32)>, String> {
    pairs(network, &format!("kind = 'all_to_all'\nhosts = {hosts}\n"))
}

/// A name stands for the same node as its id, a switch for the hosts at it, and a name of the graph's own goes before a range or an id.
#[test]
fn hosts_by_name_are_those_by_id() {
    for (names, ids) in [
        ("['host0', 'host3']", "[0, 3]"),
        ("['tor1']", "[2, 3]"),
        ("['tor2', 'host4', '0-1', 2]", "['0-2', 4, 5]"),
        ("['4', '5']", "[4, 5]"),
    ] {
        assert_eq!(all_to_all(LEAF_SPINE, names).unwrap(), all_to_all(LEAF_SPINE, ids).unwrap(), "{names}");
    }
    for (names, ids) in [
        ("['web', 'db']", "[0, 3]"),
        ("['right']", "[2, 3, 4]"),
        ("['2-1', 'db']", "[3, 4]"),
        ("['0-1', 'web']", "[0, 1]"),
        ("['0-1', 'db']", "[1, 3]"),
        ("['0', 'web']", "[0, 2]"),
    ] {
        assert_eq!(all_to_all(GRAPH, names).unwrap(), all_to_all(GRAPH, ids).unwrap(), "{names}");
    }
    let incast =
        |receiver: &str| pairs(GRAPH, &format!("kind = 'incast'\nsenders = 2\nreceiver = {receiver}\n")).unwrap();
    assert_eq!(incast("'db'"), incast("3"));
    let row =
        "kind = 'flows'\nrows = [{ src = 'db', dst = '0-1', bytes = '1KB' }, { src = 0, dst = '0', bytes = '1KB' }]\n";
    assert_eq!(pairs(GRAPH, row).unwrap(), [(3, 1), (0, 2)]);
}

/// In tables, too, but there a number is an id: saved tables have ids.
#[test]
fn flow_tables_name_hosts() {
    let table = folder("table").join("flows.csv");
    let read = |rows: &str, network: &str| {
        fs::write(&table, format!("start,src,dst,bytes\n{rows}")).unwrap();
        pairs(network, &format!("kind = 'flows'\nfile = '{}'\n", table.display()))
    };
    assert_eq!(read("1us,db,web,10\n2us,0,0-1,10\n", GRAPH).unwrap(), [(3, 0), (0, 1)]);
    assert_eq!(read("1us,host5,0,10\n", LEAF_SPINE).unwrap(), [(5, 0)]);
    let told = read("1us,host5,tor0,10\n", LEAF_SPINE).unwrap_err();
    assert!(told.contains("flows.csv:2: dst = tor0: not a host"), "{told}");
    let told = read("1us,webb,db,10\n", GRAPH).unwrap_err();
    assert!(told.contains("flows.csv:2: src = webb: no such node, did you mean \"web\"?"), "{told}");
}

/// What is wrong with a network is told by the names that its author gave, not by numbers that stand nowhere in the scenario.
#[test]
fn errors_of_a_network_name_its_nodes() {
    let network = |links: &str| {
        let network = format!(
            "[topology]\nkind = 'graph'\nhosts = ['web', 'db', 'spare']\nswitches = ['left', 'right']\nlinks = [{links}]\n"
        );
        all_to_all(&network, "['web', 'db']").unwrap_err()
    };
    let joined = "{ a = 'web', b = 'left' }, { a = 'db', b = 'left' }";
    let told = network(joined);
    assert!(told.contains("links of host `spare`: a host without a link"), "{told}");
    let told = network(&format!("{joined}, {{ a = 'spare', b = 'right' }}"));
    assert!(told.contains("hosts `web` and `spare`: no path between them over switches"), "{told}");
    let told = network(&format!("{joined}, {{ a = 'spare', b = 'web' }}"));
    assert!(told.contains("link 2 (`spare` - `web`): two hosts linked to each other"), "{told}");
}

/// The ports that are sampled with `ports`.
fn sampled(name: &str, network: &str, ports: &str) -> Result<String, String> {
    let text = format!(
        "{HEAD}{network}[run]\nstop = '20us'\n[records.series]\ninterval = '1us'\nbusiest = 0\nports = {ports}\n\
         [[workloads]]\nkind = 'all_to_all'\nsizes = '10KB'\n"
    );
    let out = folder(name);
    let spec = parse(&text, "names.toml", &[]).map_err(|e| e.to_string())?;
    let request = Request { spec, out: out.clone(), threads: 1, version: "test".into(), git: None };
    run(request, &mut |_| true).map_err(|e| e.to_string())?;
    Ok(fs::read_to_string(out.join("series.csv")).unwrap())
}

/// A port by the link that it sends into is the port with its number; parallel links have a port each.
#[test]
fn ports_by_name_are_those_by_number() {
    for (network, names, numbers) in
        [(LEAF_SPINE, "['tor0->agg1', 'tor2:0']", "['6:3', '8:0']"), (GRAPH, "['left->right']", "['5:2', '5:3']")]
    {
        let [by_name, by_number] =
            [("by-name", names), ("by-number", numbers)].map(|(n, p)| sampled(n, network, p).unwrap());
        assert!(by_name.lines().count() > 10, "no samples: {by_name}");
        assert_eq!(by_name, by_number);
    }
}

/// What cannot be is refused with the value and what is allowed.
#[test]
fn bad_names_are_told() {
    let mut told = Vec::new();
    let mut tell = |problem: String| told.push(problem);
    for hosts in [
        "['hots1', 1]",
        "['agg0', 1]",
        "['tor7', 1]",
        "['0-9', 1]",
        "[9, 1]",
        "['9', 1]",
        "[6, 1]",
        "['a b']",
        "['3-1']",
    ] {
        tell(all_to_all(LEAF_SPINE, hosts).unwrap_err());
    }
    tell(all_to_all(GRAPH, "['right', 'webs']").unwrap_err());
    tell(all_to_all(GRAPH, "['2-9']").unwrap_err());
    tell(pairs(GRAPH, "kind = 'incast'\nreceiver = 'left'\n").unwrap_err());
    tell(pairs(GRAPH, "kind = 'incast'\nreceiver = 'nobody-here'\n").unwrap_err());
    tell(pairs(GRAPH, "kind = 'flows'\nrows = [{ src = 'web', dst = 0, bytes = '1KB' }]\n").unwrap_err());
    tell(pairs(GRAPH, "kind = 'flows'\nrows = [{ src = 'web', dst = 1.5, bytes = '1KB' }]\n").unwrap_err());
    for ports in [
        "['tor0:9']",
        "['tor9:0']",
        "['host0:0']",
        "['tor0->tor1']",
        "['tor0->agg7']",
        "['host0->tor0']",
        "['tor0']",
        "['6:+1']",
    ] {
        tell(sampled("bad", LEAF_SPINE, ports).unwrap_err());
    }
    insta::assert_snapshot!(told.join("\n"));
}
