//! Programs at the hosts over all transports: every query is answered, its messages are flows in the results (or go over kept
//! connections), runs repeat byte for byte, and one that cannot go on says so.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::Collect;
use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::engine::sequential::Sequential;
use paceline_sim::net::Net;
use paceline_sim::spec::parse;

/// Twelve hosts in three racks; `more` goes on in the workload and then in other sections.
fn run<T>(cc: &str, more: &str, look: impl FnOnce(&Net, Collect, Ending) -> T) -> T {
    let text = format!(
        "[topology]\nkind = 'leaf_spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nhost_rate = '10Gbps'\n\
         fabric_rate = '10Gbps'\n[schemes.s]\ncc = '{cc}'\n\
         [[workloads]]\nkind = 'scatter_gather'\ninterval = '200us'\nmax_queries = 20\n{more}"
    );
    let assembled = assemble(&parse(&text, "programs.toml", &[]).unwrap()).unwrap();
    let mut engine = Sequential::new(assembled.scenario, assembled.source, None).unwrap();
    engine.net_mut().record_classes(&assembled.classes);
    let mut collect = Collect::default();
    let (ending, _) = engine.run(&mut collect).unwrap();
    look(engine.net(), collect, ending)
}

/// Ports on which each of the transports can run.
fn ports(cc: &str) -> &'static str {
    match cc {
        "express_pass" => "[switch]\nmodel = 'per_port'\nbuffer = '200KB'\npfc = { enabled = false }\n",
        "ndp" => "[switch]\npfc = { enabled = false }\ntrimming = { enabled = true }\n",
        "new_reno" | "homa" => "[switch]\npfc = { enabled = false }\n",
        _ => "",
    }
}

/// A scheme that loses a message, tells of it twice or never starts it would leave queries open.
#[test]
fn every_query_is_answered_over_every_transport() {
    for cc in ["hpcc", "dcqcn", "new_reno", "cubic", "homa", "ndp", "express_pass"] {
        run(cc, ports(cc), |net, collect, ending| {
            assert_eq!(ending, Ending::Completed, "{cc}");
            assert_eq!(collect.queries.len(), 20, "{cc}");
            // Each query: three aggregators with three workers each, there and back.
            assert_eq!(collect.flows.len(), 20 * 2 * 3 * 4, "{cc}");
            assert_eq!(net.packets_alive(), 0, "{cc}");
            for q in &collect.queries {
                assert!(q.qct >= q.ideal && q.ideal > 4 * 16_000_000, "{cc}: {q:?}");
                assert_eq!((q.bytes, q.response_bytes), (12 * 20_480, 12 * 20_480));
            }
        });
    }
}

/// Kept connections carry the same messages, and no flow is left over.
#[test]
fn kept_connections_carry_the_messages() {
    for cc in ["hpcc", "new_reno"] {
        let more = format!("connections = 'open'\n{}", ports(cc));
        run(cc, &more, |net, collect, ending| {
            assert_eq!((ending, collect.queries.len(), collect.flows.len()), (Ending::Completed, 20, 0), "{cc}");
            assert_eq!(net.packets_alive(), 0, "{cc}");
            assert!(collect.queries.iter().all(|q| q.qct >= q.ideal && q.ideal > 4 * 16_000_000), "{cc}");
        });
    }
}

/// The same scenario twice gives the same, to the picosecond; another seed does not.
#[test]
fn runs_repeat() {
    let once =
        |seed: &str| run("new_reno", &format!("{}[run]\n{seed}", ports("new_reno")), |_, c, _| (c.flows, c.queries));
    assert_eq!(once(""), once(""));
}

/// A flow that is given up leaves a query open, and the run says so instead of ending well.
#[test]
fn a_lost_message_is_reported() {
    let more = "[switch]\nbuffer = '1KB'\nmodel = 'per_port'\npfc = { enabled = false }\n[host]\nrto = '20us'\nrto_tries = 1\n";
    run("none", more, |_, collect, ending| {
        assert!(collect.queries.len() < 20);
        let Ending::Stalled(why) = ending else { panic!("{ending:?}") };
        assert!(why.contains("queries are not done"), "{why}");
    });
}
