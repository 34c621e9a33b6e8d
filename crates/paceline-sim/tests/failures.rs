//! What happens to packets, flows and pauses when links fail, in both engines and in the reference simulator's terms.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{ENGINES, GBPS, Outcome, flow, plain, run, star};
use paceline_proto::cc::{Params, hpcc};
use paceline_proto::units::{BitsPerSec, Bytes, Duration, NS, Time, US};
use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::graph::{Link, NodeKind, Topology};
use paceline_sim::hpcc::{Options, Prepared, Summary};
use paceline_sim::record::Status;
use paceline_sim::scenario::*;
use paceline_sim::spec::parse;
use paceline_sim::topology::leaf_spine;
use paceline_sim::workload::FlowSpec;

fn outage(link: u32, down: u64, up: Option<u64>) -> Outage {
    Outage { link, down: Time(down), up: up.map(Time) }
}

fn with_outages(mut s: Scenario, outages: &[Outage], reroute_after: u64) -> Scenario {
    s.failures = FailureConfig { outages: outages.to_vec(), reroute_after: Duration(reroute_after) };
    s.host.rto = Some(Rto { initial: Duration::from_us(300), tries: 3 });
    s
}

/// Both engines; they agree, and nothing is lost from the books.
fn run_both(s: Scenario, flows: &[FlowSpec]) -> Outcome {
    let s = Arc::new(s);
    let [one, other] = ENGINES.map(|engine| run(&s, flows, engine));
    assert_eq!(one, other);
    let c = &one.counters;
    assert_eq!((one.ending.clone(), c.data_made), (Ending::Completed, c.data_delivered + c.data_dropped));
    one
}

/// Hosts 0 and 1, switch 2, 100 Gb/s and 1 us each. A frame of 1048 B takes 83,840 ps. The second link fails at 10 us:
/// of the packets sent back to back from 0 on, those whose last bit would come after that are lost, on the wire and at the
/// dead port, up to the end of the message; nothing else is.
#[test]
fn what_is_on_the_wire_or_comes_later_is_lost() {
    let topology = star(&[(100 * GBPS, US), (100 * GBPS, US)]);
    let s = with_outages(plain(&topology), &[outage(1, 10 * US, Some(100 * US))], 0);
    let (frame, packets) = (83_840, 500);
    let r = run_both(s, &[flow(0, 0, 1, packets * 1000)]);
    // Packet n (from 1) has left the host at n frames, the switch a frame later, and takes two delays.
    let arrived = (10 * US - 1 - 2 * US - frame) / frame;
    // ACKs on their way back over the other direction of the dead link are lost as well; the host's timeout sends all again.
    assert_eq!(r.counters.data_dropped, packets - arrived);
    assert!(r.counters.drops_link_down > r.counters.data_dropped);
    assert_eq!((r.counters.drops_buffer, r.counters.drops_wire), (0, 0));
    let f = &r.flows[0];
    assert_eq!(
        (f.status, r.counters.data_delivered - packets),
        (Status::Finished, u64::from(f.retransmitted) + arrived - packets)
    );
    assert!(f.fct_sender > 300 * US, "only a timeout brings it back");
}

/// Leaves 2 and 3, spines 4 and 5, a host at each leaf: links 0, 1 to the hosts, 2 to 5 in the fabric.
fn two_paths() -> Topology {
    leaf_spine(2, 2, 1, BitsPerSec(100 * GBPS), BitsPerSec(100 * GBPS), Duration(US), 1).unwrap()
}

/// Which spine a flow's packets took is seen from the link whose failure hurts.
#[test]
fn traffic_takes_the_other_path() {
    let flows = [flow(0, 0, 1, 2_000_000)];
    let mut undisturbed = 0;
    for link in 2..6 {
        // At once: what was on the wire is lost and sent again after a NACK, the rest finds the other spine.
        let at_once = run_both(with_outages(plain(&two_paths()), &[outage(link, 50 * US, None)], 0), &flows);
        // Late: everything for the dead port is lost until the tables change.
        let late = run_both(with_outages(plain(&two_paths()), &[outage(link, 50 * US, None)], 40 * US), &flows);
        assert_eq!((at_once.flows[0].status, late.flows[0].status), (Status::Finished, Status::Finished));
        let [drops, late_drops] = [&at_once, &late].map(|r| r.counters.data_dropped);
        if drops == 0 {
            undisturbed += 1;
            assert_eq!(late_drops, 0);
            continue;
        }
        // A delay of the wire and one frame: 12 frames of 83.84 ns and the one being sent.
        assert!((12..=14).contains(&drops), "{drops}");
        assert!(late_drops > 40 * US / 83_840, "{late_drops}");
        assert!(late.flows[0].fct_sender > at_once.flows[0].fct_sender);
    }
    assert!((1..4).contains(&undisturbed), "data and ACKs use at most two spines");
}

/// The shortest way, by its links, takes 50 us; the detour over one switch more takes 2 us. A flow is measured against the way it has when
/// it starts or, where that is faster, when it ends: against the dead way it would be ten times as fast as it can be.
#[test]
fn ideals_are_of_a_way_that_a_flow_has() {
    let link = |a, b, delay| Link::symmetric(a, b, BitsPerSec(100 * GBPS), Duration(delay));
    let links = vec![link(0, 2, US), link(2, 3, 50 * US), link(2, 4, US), link(4, 3, US), link(3, 1, US)];
    let kinds = [[NodeKind::Host; 2].as_slice(), &[NodeKind::Switch; 3]].concat();
    let topology = Topology { kinds, tiers: vec![0, 0, 1, 1, 1], links };
    let s = with_outages(plain(&topology), &[outage(1, 150 * US, Some(2000 * US))], 0);
    let packet = |at| flow(at, 0, 1, 1000);
    let r = run_both(s, &[packet(0), flow(1, 0, 1, 2_000_000), packet(300 * US), packet(2001 * US)]);
    let frames = |links: u64| links * 83_840;
    let [before, across, during, after] = [0, 1, 2, 3].map(|id| r.flows.iter().find(|f| f.id == id).unwrap());
    for (f, links, delay) in [(before, 3, 52 * US), (during, 4, 4 * US), (after, 3, 52 * US)] {
        assert_eq!((f.ideal_receiver, u64::from(f.hops)), (frames(links) + delay, links));
        assert_eq!(f.fct_receiver, f.ideal_receiver, "alone on its way");
    }
    assert_eq!(across.ideal_receiver, 1999 * 83_840 + frames(4) + 4 * US);
    assert!(across.fct_receiver > across.ideal_receiver);
}

/// A spine that loses its second leaf sends what it has for it back and over the other spine.
#[test]
fn packets_under_way_are_turned_round() {
    let flows = [flow(0, 0, 1, 1_000_000)];
    let base = Arc::new(plain(&two_paths()));
    let before = run(&base, &flows, EngineChoice::Sequential);
    let crossings = (before.hops.0 / 1000, before.hops.0 % 1000);
    assert_eq!(crossings, (4, 0));
    let worst = (4..6)
        .chain(2..4)
        .map(|link| run_both(with_outages(plain(&two_paths()), &[outage(link, 50 * US, None)], 0), &flows).hops.0);
    // Packets between leaf and spine at the failure: two links more each than those that never went there.
    assert!(worst.max().unwrap() > 4000 + 12, "nothing went back");
}

/// Both flows of a pair cut off for good are given up after their timeouts, also the one that starts later; those of
/// another pair do not notice. No panic, no standstill.
#[test]
fn pairs_cut_off_give_up() {
    let topology = star(&[(100 * GBPS, US); 4]);
    for host in [0, 1] {
        let s = with_outages(plain(&topology), &[outage(host, 5 * US, None)], 0);
        let flows = [flow(0, 0, 1, 1_000_000), flow(0, 2, 3, 1_000_000), flow(20 * US, 0, 1, 5_000)];
        let r = run_both(s, &flows);
        let of = |id: u64| r.flows.iter().find(|f| f.id == id).unwrap();
        assert_eq!([0, 1, 2].map(|id| of(id).status), [Status::Failed, Status::Finished, Status::Failed]);
        assert_eq!((r.counters.failed, of(1).fct_sender), (2, of(1).ideal_sender));
        // A dead NIC sends nothing: its packets are lost, but not counted as sent.
        assert_eq!(r.counters.data_made > r.hops.0, host == 0);
    }
}

/// Two senders at 100 Gb/s into a receiver at 25 Gb/s: they are paused when their links fail, and the switch has drained when
/// those are back. They send again at once: a pause does not outlive its link, whose resume frames were lost.
#[test]
fn pauses_end_with_the_link() {
    let mut s = plain(&star(&[(100 * GBPS, US), (100 * GBPS, US), (25 * GBPS, US)]));
    s.switch.buffer = Bytes(300_000);
    s.switch.model = BufferModel::Shared;
    s.switch.pfc = Some(Pfc {
        reserve: Bytes(2000),
        headroom: Headroom::Auto,
        alpha_q16: 1 << 13,
        alpha_scales: false,
        wraps: false,
        resume_offset: Bytes(3000),
        classes: 1,
        xoff: None,
        xon: None,
        reaction: Duration(0),
    });
    let flows = [flow(0, 0, 2, 400_000), flow(0, 1, 2, 400_000)];
    let cut = [0, 1].map(|link| outage(link, 30 * US, Some(150 * US)));
    let r = run_both(with_outages(s, &cut, 0), &flows);
    assert!(r.counters.pause_frames > 0 && r.pauses.iter().any(|p| p[3] > 0));
    assert_eq!((r.counters.finished, r.counters.lossless_drops), (2, 0));
}

/// HPCC takes the records of a new path for new: without that, differences between counters of different switches would
/// stop the flow for a round trip or more.
#[test]
fn hpcc_starts_anew_on_a_new_path() {
    let scheme = Params::Hpcc(hpcc::Params::default());
    let flows = [flow(0, 0, 1, 10_000_000)];
    let fct = |outages: &[Outage], link_down: bool| {
        let mut s = with_outages(plain(&two_paths()), outages, 0);
        s.schemes[0] = Scheme { params: scheme.clone(), window: Window::Bdp, ..s.schemes[0].clone() };
        s.quirks.link_down = link_down;
        // Windows do not know that quirk.
        let outcome = if link_down { run(&Arc::new(s), &flows, EngineChoice::Sequential) } else { run_both(s, &flows) };
        outcome.flows[0].fct_sender
    };
    let alone = fct(&[], false);
    let slowest = |link_down| (2..6).map(|l| fct(&[outage(l, 300 * US, None)], link_down)).max().unwrap();
    let (rerouted, unnoticed) = (slowest(false), slowest(true));
    // A window is lost and sent again, with a few round trips to notice.
    assert!(rerouted < alone + 60 * US && rerouted < unnoticed, "{rerouted} after {alone}, {unnoticed} unnoticed");
}

const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf_spine"
leaves = 3
spines = 2
hosts_per_leaf = 2
links_per_pair = 2
[schemes.none]
cc = "none"
[[workloads]]
kind = "permutation"
sizes = "9KB"
"#;

fn outages_of(failure: &str) -> Result<Vec<Outage>, String> {
    let spec = parse(&format!("{LEAF_SPINE}[[failures]]\n{failure}"), "f.toml", &[]).map_err(|e| e.to_string())?;
    assemble(&spec).map(|a| a.scenario.failures.outages.clone()).map_err(|e| e.to_string())
}

/// Links are named as users see them, by tier and number or by id; mistakes are told with what there is.
#[test]
fn links_by_name() {
    let one = |text: &str| outages_of(text).unwrap().iter().map(|o| o.link).collect::<Vec<_>>();
    assert_eq!(one("link = [\"host3\", \"tor1\"]\ndown = \"1us\"\n"), [3]);
    assert_eq!(one("link = [\"3\", \"7\"]\ndown = \"1us\"\n"), [3]);
    // Hosts 0 to 5, leaves 6 to 8, spines 9 and 10; links 6 on: leaf by leaf, spine by spine, two each.
    let both = one("link = [\"agg1\", \"tor2\"]\ndown = \"1us\"\n");
    assert_eq!(both.len(), 2);
    assert_eq!(one("link = [\"tor2\", \"agg1\"]\nnumber = 1\ndown = \"1us\"\n"), both[1..]);
    let bad = |text: &str| outages_of(text).unwrap_err();
    for (text, parts) in [
        ("link = [\"tor0\", \"agg2\"]\ndown = \"1us\"\n", ["failures.0.link.1", "no such node", "agg0 to agg1"]),
        ("link = [\"tor0\", \"tor1\"]\ndown = \"1us\"\n", ["failures.0.link", "no link between", "agg1"]),
        ("link = [\"tor0\"]\ndown = \"1us\"\n", ["failures.0.link", "two ends", "two different nodes"]),
        ("link = [\"tor0\", \"agg1\"]\nnumber = 2\ndown = \"1us\"\n", ["failures.0.number", "2", "0 to 1"]),
        (
            "link = [\"tor0\", \"agg1\"]\ndown = \"1us\"\nup = \"1us\"\n",
            ["failures.0.up", "not after down", "after down"],
        ),
        ("kind = \"random\"\nstart = \"1us\"\nend = \"1us\"\n", ["failures.0.end", "not after start", "after start"]),
    ] {
        let e = bad(text);
        assert!(parts.iter().all(|p| e.contains(p)), "{e}");
    }
}

/// Random failures depend on the seed alone and stay where and when they may.
#[test]
fn random_failures() {
    let text = "kind = \"random\"\ncount = 200\nstart = \"10us\"\nend = \"20us\"\nrepair = \"3us\"\n";
    let drawn = outages_of(text).unwrap();
    assert_eq!(drawn, outages_of(text).unwrap());
    assert!(drawn.iter().all(|o| (6..18).contains(&o.link) && (10 * US..20 * US).contains(&o.down.0)));
    assert!(drawn.iter().all(|o| o.up == Some(Time(o.down.0 + 3 * US))));
    assert!((6..18).all(|link| drawn.iter().any(|o| o.link == link)), "every link has its turn");
    let hosts = outages_of(&text.replace("count", "among = \"hosts\"\ncount")).unwrap();
    assert!(hosts.iter().all(|o| o.link < 6));
}

/// A run of the reference simulator's files: two hosts, leaves 2 and 3, spines 4 and 5, one flow of 3,004,000 B at 2 s.
fn reference_run(name: &str, keys: &str, options: Options) -> (Summary, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("failures-{name}"));
    fs::create_dir_all(&folder).unwrap();
    let links = ["0 2", "1 3", "2 4", "2 5", "3 4", "3 5"].map(|l| format!("{l} 100Gbps 1000ns 0\n")).concat();
    fs::write(folder.join("topology.txt"), format!("6 4 6\n2 3 4 5\n{links}")).unwrap();
    fs::write(folder.join("flow.txt"), "1\n0 1 3 100 3004000 2\n").unwrap();
    fs::write(folder.join("trace.txt"), "0\n").unwrap();
    let config = "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nTRACE_FILE trace.txt\nTRACE_OUTPUT_FILE mix.tr\n\
        CC_MODE 3\nRATE_AI 50Mb/s\nRATE_HAI 50Mb/s\nMIN_RATE 1000Mb/s\nMI_THRESH 0\nMULTI_RATE 0\nINT_MULTI 4\nVAR_WIN 1\n\
        L2_ACK_INTERVAL 1\nEWMA_GAIN 0.00390625\nBUFFER_SIZE 32\nENABLE_TRACE 0\n\
        KMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n\
        SIMULATOR_STOP_TIME 2.02\nQLEN_MON_FILE qlen.txt\nQLEN_MON_START 2000000000\nQLEN_MON_END 2010000000\n";
    fs::write(folder.join("config.txt"), format!("{config}{keys}")).unwrap();
    let prepared = Prepared::read_in(&folder, Path::new("config.txt"), options).unwrap_or_else(|e| panic!("{e}"));
    let summary = prepared.run(&mut |_| true).unwrap();
    (summary, fs::read_to_string(folder.join("fct.txt")).unwrap())
}

/// `LINK_DOWN`: one of the four fabric links carries the flow's data up, one down; when one of those fails the flow loses
/// packets, goes back and finishes over the other spine. With `L2_BACK_TO_ZERO 1` it goes back further.
#[test]
fn link_down_of_the_reference() {
    let fct = |text: &str| text.split_whitespace().nth(6).unwrap().parse::<u64>().unwrap();
    let (whole, text) = reference_run("whole", "LINK_DOWN 0 0 0\n", Options::default());
    assert_eq!((whole.finished, whole.drops), (1, 0));
    let mut hit = 0;
    for link in ["2 4", "2 5", "3 4", "3 5"] {
        let keys = format!("LINK_DOWN 100 {link}\n");
        let (run, failed) = reference_run("down", &keys, Options::default());
        assert_eq!((run.ending.clone(), run.finished), (Ending::Completed, 1), "{link}");
        if run.drops == 0 {
            continue;
        }
        hit += 1;
        // The loss, a NACK, a window again; far less than a repeated NACK (500 us) or a timeout, of which there is none.
        assert!(fct(&failed) > fct(&text) && fct(&failed) < fct(&text) + 100 * US / NS, "{link}: {failed} {text}");
        let chunks = format!("{keys}L2_BACK_TO_ZERO 1\nL2_CHUNK_SIZE 4000\n");
        let (run, back) = reference_run("chunks", &chunks, Options::default());
        assert_eq!(
            (run.finished, run.drops > 0, fct(&back) >= fct(&failed)),
            (1, true, true),
            "{link}: {back} {failed}"
        );
    }
    assert!(hit > 0, "no link carried the flow");
    // A chunk that is no multiple of a packet, a link that is not there.
    let refused = |keys: &str| {
        std::panic::catch_unwind(|| reference_run("refused", keys, Options::default()))
            .unwrap_err()
            .downcast::<String>()
    };
    let text = refused("L2_BACK_TO_ZERO 1\nL2_CHUNK_SIZE 1500\n").unwrap();
    assert!(text.contains("L2_CHUNK_SIZE = 1500") && text.contains("whole packets"), "{text}");
    assert!(refused("LINK_DOWN 5 2 3\n").unwrap().contains("LINK_DOWN = 2 3"));
}
