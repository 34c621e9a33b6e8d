//! Offered load that refers to a link, and load on networks whose hosts have several NICs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use paceline_sim::assemble::assemble;
use paceline_sim::results::Summary;
use paceline_sim::run::{Request, run};
use paceline_sim::spec::parse;

const HEAD: &str = "
    framing.preset = 'hpcc'
    [schemes.none]
    cc = 'none'
    window = 'off'
";
const LEAF_SPINE: &str = "
    [topology]
    kind = 'leaf_spine'
    leaves = 3
    spines = 2
    hosts_per_leaf = 4
    host_rate = '10Gbps'
    fabric_rate = '25Gbps'
";

fn poisson(of: &str) -> String {
    format!(
        "[[workloads]]\nkind = 'poisson'\nsizes = '10KB'\nduration = '4ms'\n\
         load = {{ value = 0.3, bytes = 'wire', of = '{of}' }}\n"
    )
}

/// The summary and `links.csv` of a run, by name of the test.
fn ran(name: &str, text: &str) -> (Summary, String) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loads").join(name);
    let spec = parse(text, name, &[]).unwrap_or_else(|e| panic!("{e}"));
    let request = Request { spec, out: out.clone(), threads: 1, version: "test".into(), git: None };
    let summary = run(request, &mut |_| true).unwrap();
    (summary, std::fs::read_to_string(out.join("links.csv")).unwrap())
}

/// Share of a direction's capacity that data frames took, from `links.csv`, over `seconds`.
fn carried(links: &str, from: &str, to: &str, seconds: f64) -> f64 {
    let head: Vec<&str> = links.lines().next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let rows = links.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let mine: Vec<_> = rows.filter(|r| r[column("node")] == from && r[column("peer")] == to).collect();
    let sum = |name: &str| mine.iter().map(|r| r[column(name)].parse::<f64>().unwrap()).sum::<f64>();
    sum("data_bytes") * 8.0 / (sum("rate_bps") * seconds)
}

/// A load of 0.3 on a link puts 0.3 of its capacity on it, wherever the link is: about 1,000 flows, 3 % each way.
#[test]
fn a_named_link_gets_the_load_asked_for() {
    for (from, to) in [("0", "12"), ("12", "15"), ("16", "13"), ("14", "9")] {
        let text = format!("{HEAD}{LEAF_SPINE}{}", poisson(&format!("{from}->{to}")));
        let (_, links) = ran(&format!("named-{from}-{to}"), &text);
        let load = carried(&links, from, to, 4e-3);
        assert!((load - 0.3).abs() < 0.05, "{from}->{to}: {load}");
    }
}

/// Incasts to one receiver, from the first hosts to all, and from all to all: each loads a downlink of rack 0 as asked.
#[test]
fn incasts_load_a_link_by_their_own_pairs() {
    let incast = |more: &str| {
        format!(
            "{HEAD}{LEAF_SPINE}[[workloads]]\nkind = 'incast'\nmode = 'poisson'\nsizes = '10KB'\nduration = '4ms'\n\
             load = {{ value = 0.3, bytes = 'wire', of = '15->12' }}\n{more}"
        )
    };
    for (name, more) in [
        ("fixed", "receiver = 0\nsenders = 5\n"),
        ("first", "receiver = 'random'\nsenders = 5\nrandom_senders = false\n"),
        ("drawn", "receiver = 'random'\nsenders = 8\n"),
    ] {
        let (_, links) = ran(&format!("incast-{name}"), &incast(more));
        let load = carried(&links, "15", "12", 4e-3);
        assert!((load - 0.3).abs() < 0.06, "{name}: {load}");
    }
}

/// Those that may send are those of `hosts`, without the receiver: with more senders than that no fan-in is as wide as it says.
#[test]
fn incasts_of_more_senders_than_hosts_are_told() {
    let told = |more: &str| {
        let incast = format!("{HEAD}{LEAF_SPINE}[[workloads]]\nkind = 'incast'\nsizes = '10KB'\n{more}");
        let warnings = assemble(&parse(&incast, "incast.toml", &[]).unwrap()).unwrap().warnings;
        warnings.into_iter().filter(|told| told.contains("senders")).collect::<String>()
    };
    let above =
        |senders, most| format!("workloads.0.senders ({senders}) is above the number of hosts that may send ({most})");
    assert_eq!(told("senders = 11"), "");
    assert!(told("senders = 12").contains(&above(12, 11)));
    assert_eq!(told("senders = 3\nhosts = [0, 1, 2, 3]"), "");
    assert!(told("senders = 4\nhosts = [0, 1, 2, 3]").contains(&above(4, 3)));
    assert_eq!(told("senders = 4\nhosts = [0, 1, 2, 3]\nreceiver = 5"), "");
    assert!(told("senders = 5\nhosts = [0, 1, 2, 3]\nreceiver = 5").contains(&above(5, 4)));
}

#[test]
fn links_that_are_none_or_carry_nothing_are_refused() {
    let graph = "[topology]\nkind = 'graph'\nhosts = ['alpha', 'beta']\nswitches = ['s-1', 's-2', 's-3']\nlinks = [
        { a = 'alpha', b = 's-1' }, { a = 's-1', b = 's-2' }, { a = 's-2', b = 'beta' }, { a = 's-2', b = 's-3' }]\n";
    let told = |topology: &str, of: &str| {
        let spec = parse(&format!("{HEAD}{topology}{}", poisson(of)), "bad.toml", &[]);
        spec.and_then(|s| assemble(&s).map(|_| ())).map_or_else(|e| e.to_string(), |()| String::new())
    };
    assert_eq!(told(graph, "s-1->s-2"), "");
    assert_eq!(told(graph, "0->2"), "", "ids are fine too");
    assert_eq!(told(LEAF_SPINE, "agg1->tor2"), "");
    for (topology, of, part) in [
        (graph, "s-1->s-3", "no such link"),
        (graph, "s-1->s-3", "s-1->alpha, s-1->s-2"),
        (graph, "s-2->s-3", "no flow of this workload crosses this link"),
        (graph, "s-1->bets", "did you mean \"beta\"?"),
        (graph, "s-1->99", "99: no such node"),
        (graph, "s-1->", "not a link"),
        (graph, "s-1->s-1", "not a link"),
        (graph, "tor_uplnk", "did you mean \"tor_uplink\""),
        (LEAF_SPINE, "0->13", "0->tor0"),
        (LEAF_SPINE, "17->0", "host0 to host11, tor0 to tor2, agg0 to agg1, or a node id"),
    ] {
        let text = told(topology, of);
        assert!(text.contains(part) && text.contains("workloads.0.load"), "{of}: {text}");
    }
}

/// Poisson arrivals at 110 % of the hosts' links.
const TOO_MUCH: &str = "
    [[workloads]]
    group = 'poisson'
    kind = 'poisson'
    sizes = '10KB'
    duration = '1ms'
    load = { value = 1.1, bytes = 'wire' }
";

/// Six transposes among twelve hosts' first eight, over connections of this kind.
fn transposes(connections: &str) -> String {
    format!(
        "[[workloads]]\ngroup = 'ranks'\nkind = 'mpi'\nprogram = 'ft'\nproblem_class = 'S'\nranks = 8\n\
         iterations = 6\ncompute_rate = 1e12\nconnections = '{connections}'\n"
    )
}

/// Ranks that compute for 10 us, exchange what takes longer, and are through.
const EXCHANGE: &str = "
    [[workloads]]
    group = 'ranks'
    kind = 'mpi'
    program = 'wrf'
    iterations = 1
    rounds = 1
    compute = '10us'
    eager = '1MiB'
    connections = 'new'
";

/// Eight queries outstanding on each connection.
const OUTSTANDING: &str = "
    [[workloads]]
    group = 'clients'
    kind = 'rpc'
    clients = ['0-3']
    servers = ['4-11']
    sizes = '100KB'
    outstanding = 8
    start = '10us'
    duration = '1ms'
";

/// Warnings of too much load.
fn too_much(summary: &Summary) -> Vec<&String> {
    summary.warnings.iter().filter(|w| w.contains("offered load")).collect()
}

fn offered(summary: &Summary) -> Vec<f64> {
    summary.load.iter().map(|tier| tier.offered).collect()
}

/// Ranks that wait for one another, and clients that wait for answers, cannot ask for more than links take: a warning that
/// they do would send its reader after a mistake that is none.
#[test]
fn closed_loops_carry_load_and_offer_none() {
    for (name, workload) in
        [("ranks", EXCHANGE), ("ranks", &transposes("open")), ("ranks", &transposes("new")), ("clients", OUTSTANDING)]
    {
        let (summary, _) = ran("closed", &format!("{HEAD}{LEAF_SPINE}{workload}"));
        assert_eq!(summary.status, "completed");
        assert_eq!(too_much(&summary), [""; 0], "{workload}");
        assert_eq!(summary.closed_loop, [name]);
        for tier in &summary.load {
            assert!(tier.offered == 0.0 && tier.carried > 0.01, "{workload}: {tier:?}");
        }
    }
}

/// What comes whatever the network does is warned of, to the same share as without the program beside it, which ends much later.
#[test]
fn beside_closed_loops_the_open_one_is_warned_of() {
    let (alone, _) = ran("open-alone", &format!("{HEAD}{LEAF_SPINE}{TOO_MUCH}"));
    assert_eq!(alone.closed_loop, [""; 0]);
    assert!((alone.load[0].offered - 1.1).abs() < 0.08, "{:?}", alone.load);
    assert!(too_much(&alone).iter().any(|w| w.starts_with("host->")), "{:?}", alone.warnings);
    for other in [&*transposes("open"), &transposes("new"), OUTSTANDING] {
        let (both, _) = ran("open-beside", &format!("{HEAD}{LEAF_SPINE}{TOO_MUCH}{other}"));
        assert_eq!((offered(&both), too_much(&both)), (offered(&alone), too_much(&alone)), "{other}");
        assert_eq!(both.closed_loop.len(), 1);
        assert!(both.simulated_ps > alone.simulated_ps, "{other}");
    }
}

/// Queries at random instants ask for what they ask for, from the beginning of time or later.
#[test]
fn queries_at_random_instants_are_offered() {
    for start in ["0s", "100us"] {
        let rpc = format!(
            "[[workloads]]\nkind = 'rpc'\nsizes = '10KB'\nmode = 'open'\nstart = '{start}'\nend = '2ms'\n\
             load = {{ value = 0.5, bytes = 'wire' }}\n"
        );
        let (summary, _) = ran("queries", &format!("{HEAD}{LEAF_SPINE}{rpc}"));
        assert!((summary.load[0].offered - 0.5).abs() < 0.05, "{start}: {:?}", summary.load);
        assert_eq!((&summary.closed_loop, too_much(&summary)), (&vec![], vec![]));
    }
}

/// A load is what comes while it comes: 1 ms of flows after 10 ms of silence were 5 % of what links carry, and an overload after them none.
#[test]
fn a_load_counts_from_its_first_flow() {
    for start in ["0s", "10ms"] {
        let poisson = format!(
            "[[workloads]]\nkind = 'poisson'\nsizes = '10KB'\nstart = '{start}'\nduration = '4ms'\nload = {{ value = 1.4, bytes = 'wire' }}\n"
        );
        let (summary, _) = ran("late", &format!("{HEAD}{LEAF_SPINE}{poisson}"));
        assert!((summary.load[0].offered - 1.4).abs() < 0.1, "{start}: {:?}", summary.load);
        assert!(!too_much(&summary).is_empty(), "{start}");
    }
    let incast = "[[workloads]]\nkind = 'incast'\nsenders = 8\nsizes = '100KB'\nstart = '1ms'\n";
    let (summary, _) = ran("late-at-once", &format!("{HEAD}{LEAF_SPINE}{incast}"));
    assert_eq!(offered(&summary), vec![0.0; summary.load.len()]);
}

/// NDP with padded last packets put 1.8 times the load on the wire that was asked for, and `offered` did not say so.
#[test]
fn padded_packets_count_on_the_wire() {
    let text = "[topology]\nkind = 'star'\nhosts = 8\n[framing]\npayload = '9000B'\n[switch.pfc]\nenabled = false\n[switch.trimming]\n\
                enabled = true\n[schemes.s]\ncc = 'ndp'\npad_last = true\n[[workloads]]\nkind = 'poisson'\nsizes = '10KB'\n\
                duration = '2ms'\nload = { value = 0.3, bytes = 'wire' }\n";
    let (summary, _) = ran("padded", text);
    let load = &summary.load[0];
    assert!((load.offered - 0.3).abs() < 0.02 && (load.carried - 0.3).abs() < 0.02, "{:?}", summary.load);
}

/// Clients that are servers, too, ask fewer of them than the others: the link had 1.5 times the load asked for.
#[test]
fn queries_among_overlapping_hosts_have_the_load_asked_for() {
    let text = format!(
        "{HEAD}{LEAF_SPINE}[[workloads]]\nkind = 'rpc'\nsizes = '10KB'\nresponse = '1B'\nmode = 'open'\nend = '4ms'\nclients = [0, 1]\n\
         servers = [1, 4]\nload = {{ value = 0.2, of = '12->15', bytes = 'wire' }}\n"
    );
    let (_, links) = ran("overlap", &text);
    // Both of the open connections that leave the rack may lie on one of its two uplinks.
    let load = carried(&links, "12", "15", 4e-3) + carried(&links, "12", "16", 4e-3);
    assert!((load - 0.4).abs() < 0.04, "{load}");
}

/// Whoever asks for a load of uplinks from sources that never leave their rack was told of a crossing share, which is no field.
#[test]
fn sources_that_stay_in_their_rack_load_no_uplink() {
    let text = format!(
        "{HEAD}{LEAF_SPINE}[[workloads]]\nkind = 'on_off'\nmode = 'flows'\nsizes = '10KB'\nend = '1ms'\nlocal = 1\n\
         load = {{ value = 0.1, of = 'tor_uplink' }}\n"
    );
    let error = assemble(&parse(&text, "test", &[]).unwrap()).err().unwrap();
    assert_eq!(error.field.as_deref(), Some("workloads.0.local"), "{error}");
}

/// Three flows within a microsecond are no load of some hundred per cent: a warning of it would send its reader after nothing.
#[test]
fn flows_that_start_at_once_have_no_load() {
    let rows = "[[workloads]]\nkind = 'flows'\nrows = [\n  { start = '0us', src = 0, dst = 5, bytes = '2MB' },\n  \
                { start = '0us', src = 1, dst = 5, bytes = '2MB' },\n  { start = '1us', src = 2, dst = 9, bytes = '100KB' },\n]\n";
    let (summary, _) = ran("at-once", &format!("{HEAD}{LEAF_SPINE}{rows}"));
    assert_eq!((offered(&summary), too_much(&summary)), (vec![0.0; summary.load.len()], vec![]));
    assert!(summary.load.iter().all(|tier| tier.carried > 0.0));
}

/// A run over UDP ends when the last datagram has arrived: if it ended with the senders, the receiver's link would have carried
/// eight times what it can.
#[test]
fn datagrams_on_their_way_belong_to_the_run() {
    let text = "[topology]\nkind = 'star'\nhosts = 9\n[schemes.s]\ncc = 'udp'\n[[workloads]]\nkind = 'incast'\nsenders = 8\n\
                random_senders = false\nreceiver = 8\nsizes = '100KB'\n";
    let (summary, _) = ran("udp", text);
    // 800 packets of 1048 bytes over the receiver's link of 100 Gb/s.
    assert!(summary.simulated_ps > 67_000_000, "{}", summary.simulated_ps);
    assert!(summary.load.iter().all(|tier| tier.carried <= 1.0), "{:?}", summary.load);
}
