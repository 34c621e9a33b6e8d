//! Flowlets: after a pause a flow's packets take a path anew, and between pauses they keep theirs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use paceline_sim::assemble::assemble;
use paceline_sim::results::Summary;
use paceline_sim::run::{Request, run};
use paceline_sim::spec::parse;

/// Two racks, four ways between them.
const TWO_RACKS: &str = "
    [topology]
    kind = 'leaf_spine'
    leaves = 2
    spines = 4
    hosts_per_leaf = 2
    [routing]
    choice = 'flowlet'
";

/// One open connection from rack to rack, a query of 20 KB each 200 us on average.
const QUERIES: &str = "
    [[workloads]]
    kind = 'rpc'
    scheme = 's'
    mode = 'open'
    clients = [0]
    servers = [2]
    sizes = '20KB'
    load = { value = 0.008 }
    end = '20ms'
";

/// Its summary, the data packets that each uplink of the first rack sent, and `queries.csv`.
fn ran(name: &str, text: &str) -> (Summary, Vec<u64>, String) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flowlets").join(name);
    let spec = parse(text, name, &[]).unwrap_or_else(|e| panic!("{e}"));
    let request = Request { spec, out: out.clone(), threads: 1, version: "test".into(), git: None };
    let summary = run(request, &mut |_| true).unwrap();
    let links = std::fs::read_to_string(out.join("links.csv")).unwrap();
    let head: Vec<&str> = links.lines().next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let rows = links.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let uplinks = rows.filter(|r| r[column("node")] == "4" && r[column("tier")].starts_with("tor->agg"));
    let sent = uplinks.map(|r| r[column("data_packets")].parse().unwrap()).collect();
    (summary, sent, std::fs::read_to_string(out.join("queries.csv")).unwrap())
}

/// Over RDMA and TCP: with pauses of 50 us all four ways carry about as much, with pauses that never come one carries all. Nothing overtakes.
#[test]
fn pauses_decide_how_many_ways_a_connection_takes() {
    for (cc, more) in [("hpcc", ""), ("dcqcn", ""), ("new_reno", "[switch.pfc]\nenabled = false\n")] {
        for (gap, ways) in [("50us", 4), ("1s", 1)] {
            let text = format!("{TWO_RACKS}flowlet_gap = '{gap}'\n{more}[schemes.s]\ncc = '{cc}'\n{QUERIES}");
            let (summary, sent, _) = ran(&format!("{cc}-{gap}"), &text);
            let used: Vec<u64> = sent.iter().copied().filter(|packets| *packets > 0).collect();
            assert_eq!((sent.len(), used.len()), (4, ways), "{cc}, {gap}: {sent:?}");
            assert!(used.iter().all(|packets| packets * 2 * ways as u64 > used.iter().sum::<u64>()), "{cc}: {sent:?}");
            let counters = &summary.counters;
            assert_eq!(counters.retransmitted_packets, 0, "{cc}, {gap}");
            // Queries at random instants: some come before the pause is over. Over TCP a query is one of its client, an answer one of its server,
            // and an acknowledgement that waited for more data may be one, too.
            let queries = summary.queries.as_ref().unwrap().issued;
            let each = if cc == "new_reno" { 4 } else { 2 };
            let flowlets = if ways == 1 { 0..1 } else { queries / 2..each * queries };
            assert!(flowlets.contains(&counters.flowlets), "{cc}, {gap}: {} of {queries}", counters.flowlets);
            let named = summary.without_effect.iter().any(|note| note.starts_with("routing.flowlet_gap"));
            assert_eq!(named, ways == 1, "{cc}, {gap}");
        }
    }
}

/// HPCC compares what one switch tells with what it told before. Where the flowlet before went by another switch, which has sent more or less,
/// a link seemed overloaded, and the rate fell to the least.
#[test]
fn hpcc_knows_that_a_flowlet_takes_another_path() {
    let other = "[[workloads]]\nkind = 'flows'\nscheme = 'none'\nrows = [{ src = 1, dst = 3, bytes = '200MB' }]\n";
    let text = format!(
        "{TWO_RACKS}flowlet_gap = '50us'\n[schemes.s]\ncc = 'hpcc'\n[schemes.none]\ncc = 'none'\nwindow = 'off'\nrate = '30Gbps'\n{QUERIES}{other}"
    );
    let (_, _, queries) = ran("hpcc-beside", &text);
    let head: Vec<&str> = queries.lines().next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let slowdowns: Vec<f64> = queries
        .lines()
        .skip(1)
        .map(|row| {
            let row: Vec<&str> = row.split(',').collect();
            let of = |name: &str| row[column(name)].parse::<f64>().unwrap();
            of("qct_ps") / of("ideal_qct_ps")
        })
        .collect();
    assert!(slowdowns.iter().all(|s| *s < 1.1), "{slowdowns:?}");
}

/// Pauses shorter than a round trip let packets overtake each other, which go-back-N takes for losses.
#[test]
fn short_pauses_over_rdma_are_warned_of() {
    let warned = |cc: &str, gap: &str| {
        let pfc = if cc == "hpcc" { "" } else { "[switch.pfc]\nenabled = false\n" };
        let text = format!("{TWO_RACKS}flowlet_gap = '{gap}'\n{pfc}[schemes.s]\ncc = '{cc}'\n{QUERIES}");
        let doubts = assemble(&parse(&text, "test", &[]).unwrap()).unwrap().warnings;
        doubts.iter().any(|w| w.contains("routing.flowlet_gap"))
    };
    assert_eq!([warned("hpcc", "1us"), warned("hpcc", "50us"), warned("new_reno", "1us")], [true, false, false]);
}
