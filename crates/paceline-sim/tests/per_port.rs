//! Switches whose ports have buffers of their own: who drops, who pauses, and how much room a pause needs.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::{ENGINES, GBPS, Outcome, flow, plain, run, star};
use paceline_proto::units::{BitsPerSec, Bytes, Duration};
use paceline_sim::engine::Ending;
use paceline_sim::graph::{Link, Topology};
use paceline_sim::record::Status;
use paceline_sim::scenario::*;
use paceline_sim::workload::FlowSpec;
use proptest::prelude::*;

/// Frames of 1500 bytes, ACKs and pauses of 64.
const FRAMING: Framing =
    Framing { payload: 1448, header: 52, ack_header: 52, min_frame: 64, pfc_frame: 64, wire_overhead: 20 };
/// `HotI` 2011: buffer, XOFF and XON of a port.
const BUFFER: u64 = 102_400;
const XOFF: u64 = 99_328;
const XON: u64 = 81_920;

fn pfc(xoff: Option<u64>, xon: Option<u64>) -> Pfc {
    Pfc {
        reserve: Bytes(4096),
        headroom: Headroom::Auto,
        alpha_q16: 1 << 13,
        alpha_scales: true,
        wraps: false,
        resume_offset: Bytes(3072),
        classes: 1,
        xoff: xoff.map(Bytes),
        xon: xon.map(Bytes),
        reaction: Duration(0),
    }
}

/// A network of 10 Gb/s whose ports have the buffers of `HotI` 2011.
fn hoti(topology: &Topology) -> Scenario {
    let mut scenario = plain(topology);
    scenario.framing = FRAMING;
    scenario.switch.buffer = Bytes(BUFFER);
    scenario.switch.model = BufferModel::PerPort;
    scenario.switch.accounting = Accounting::Input;
    scenario.switch.pfc = Some(pfc(Some(XOFF), Some(XON)));
    scenario
}

fn both(scenario: Scenario, flows: &[FlowSpec]) -> Outcome {
    let scenario = Arc::new(scenario);
    let [sequential, windowed] = ENGINES.map(|engine| run(&scenario, flows, engine));
    assert_eq!(sequential, windowed, "engines differ");
    sequential
}

/// `n` senders and one receiver; each pair that sends has a flow back, so that pauses wait behind full frames.
fn two_ways(n: u32, bytes: u64) -> Vec<FlowSpec> {
    (0..n).flat_map(|h| [flow(0, h, n, bytes), flow(0, n, h, bytes / u64::from(n))]).collect()
}

/// Every ingress port fills to its XOFF and no further, so the queue that all of them feed is that of all their buffers: the
/// plateau of a greedy crowd.
#[test]
fn the_queue_of_greedy_senders_is_n_times_xoff() {
    for n in [2u32, 7] {
        let mut scenario = hoti(&star(&vec![(10 * GBPS, 0); n as usize + 1]));
        scenario.host.ack_priority = true;
        let flows: Vec<_> = (0..n).map(|h| flow(u64::from(h), h, n, 3_000_000)).collect();
        let scenario = Arc::new(scenario);
        let result = run(&scenario, &flows, EngineChoice::Sequential);
        assert_eq!((result.counters.drops_buffer, &result.ending), (0, &Ending::Completed));
        assert!(result.counters.pause_frames > u64::from(n));
        // The histogram of the port to the receiver: by whole eighths of octaves.
        let queue = &result.queues[(2 * n + 1) as usize];
        let total: u64 = queue.iter().map(|(_, time)| time).sum();
        let n = u64::from(n);
        let between: u64 = queue
            .iter()
            .filter(|(bin, _)| {
                let (low, high) = paceline_sim::record::bin_range(*bin);
                high > n * XON * 9 / 10 && low <= n * (XOFF + 3000)
            })
            .map(|(_, time)| time)
            .sum();
        let (highest, _) = *queue.last().unwrap();
        assert!(between * 10 > total * 7, "{between} of {total} ps near the plateau");
        assert!(paceline_sim::record::bin_range(highest).0 <= n * (XOFF + 3000));
    }
}

/// 3064 bytes can come after a pause at 10 Gb/s without delay: a full frame that holds the pause up, the pause, and a frame begun
/// meanwhile. 3072 are set aside. With 500 ns of cable 1250 more are under way.
#[test]
fn headroom_is_just_enough_at_the_limit() {
    let told = |delay_ns: u64, reaction_ns: u64, xoff: u64| {
        let mut scenario = hoti(&star(&[(10 * GBPS, delay_ns * 1000); 3]));
        scenario.switch.pfc = Some(Pfc { reaction: Duration::from_ns(reaction_ns), ..pfc(Some(xoff), Some(XON)) });
        paceline_sim::net::switch::buffers::lack_of_headroom(&scenario)
    };
    assert_eq!(told(0, 0, XOFF), None);
    assert_eq!(told(0, 0, XOFF + 8), None);
    assert_eq!(
        told(0, 0, XOFF + 9).unwrap(),
        "switch.pfc.xoff sets 3063 bytes aside for the link host0->tor0, over which 3064 may arrive after a pause (10Gbps and \
         back in 0ps, two frames of 1500 bytes, one pause frame of 64): packets may be lost; enough is xoff = \"99336B\""
    );
    assert!(told(500, 0, XOFF).unwrap().contains("over which 4314 may arrive"));
    assert!(told(0, 1000, XOFF).unwrap().contains("over which 4314 may arrive"));
    assert_eq!(told(500, 0, BUFFER - 4314), None);
    assert_eq!(told(700, 0, BUFFER - 4814), None);

    let lost = |delay_ns: u64, xoff: u64| {
        let mut scenario = hoti(&star(&[(10 * GBPS, delay_ns * 1000); 4]));
        scenario.switch.pfc = Some(pfc(Some(xoff), Some(XON)));
        scenario.host.rto = Some(Rto { initial: Duration::from_us(2000), tries: 7 });
        both(scenario, &two_ways(3, 1_500_000)).counters.lossless_drops
    };
    assert_eq!(lost(0, XOFF), 0);
    // With frames of one size another one comes only from some 600 ns on: it takes frames of all sizes to be worse.
    assert!(lost(700, XOFF) > 0, "a threshold that the check calls too high loses nothing");
    assert_eq!(lost(700, BUFFER - 4814), 0);
}

/// A buffer of the ingress port alone leaves the egress queue to grow with the number of senders; that of the egress port does
/// not; with both, either drops.
#[test]
fn without_pfc_the_port_that_counts_drops() {
    let most = |accounting| {
        let mut scenario = hoti(&star(&[(10 * GBPS, 0); 5]));
        (scenario.switch.pfc, scenario.switch.accounting) = (None, accounting);
        scenario.host.rto = Some(Rto { initial: Duration::from_us(5000), tries: 7 });
        let flows: Vec<_> = (0..4).map(|h| flow(0, h, 4, 400_000)).collect();
        let result = both(scenario, &flows);
        let (queue, _) = *result.queues[9].last().unwrap();
        assert!(result.counters.drops_buffer > 0);
        paceline_sim::record::bin_range(queue).0
    };
    assert!(most(Accounting::Output) <= BUFFER);
    assert!(most(Accounting::Both) <= BUFFER);
    let ingress = most(Accounting::Input);
    assert!(ingress > 3 * BUFFER && ingress <= 4 * BUFFER, "{ingress}");
}

/// With a reaction of 5 us the sender goes on for so long after the pause has come.
#[test]
fn a_pause_takes_effect_after_the_reaction_time() {
    let paused_at = |reaction_us: u64| {
        let mut scenario = hoti(&star(&[(10 * GBPS, 0), (GBPS, 0)]));
        let reaction = Duration::from_us(reaction_us);
        scenario.switch.pfc = Some(Pfc { reaction, ..pfc(Some(50_000), Some(20_000)) });
        let result = both(scenario, &[flow(0, 0, 1, 300_000)]);
        assert_eq!(result.counters.lossless_drops, 0);
        result.pfc[0].0
    };
    assert_eq!(paused_at(5), paused_at(0) + 5_000_000);
}

/// Random stars under a pile of flows, ACKs in the flows' class.
fn random() -> impl Strategy<Value = (Scenario, Vec<FlowSpec>)> {
    let links = prop::collection::vec((prop::sample::select(vec![10 * GBPS, 25 * GBPS]), 0u64..900), 3..7);
    let flows = prop::collection::vec((0u64..30_000, 0u32..16, 1u32..16, 1u64..400_000, 3u8..5), 1..40);
    (links, flows, any::<[bool; 3]>(), 0u64..2_000, 1u64..1000).prop_map(
        |(links, flows, [lossless, strict, ack], reaction, seed)| {
            let n = links.len() as u32;
            let links: Vec<_> = links.into_iter().map(|(rate, ns)| (rate, ns * 1000)).collect();
            let mut s = hoti(&star(&links));
            s.seed = seed;
            s.switch.strict = strict;
            s.host.ack_priority = ack;
            s.host.rto = Some(Rto { initial: Duration::from_us(700), tries: 7 });
            s.switch.pfc =
                lossless.then(|| Pfc { classes: 2, reaction: Duration::from_ns(reaction), ..pfc(None, None) });
            s.switch.buffer = Bytes(60_000);
            if !lossless {
                s.switch.accounting = [Accounting::Output, Accounting::Input, Accounting::Both][seed as usize % 3];
            }
            let mut flows: Vec<_> = flows
                .into_iter()
                .map(|(ns, src, by, bytes, class)| FlowSpec {
                    class,
                    ..flow(ns * 1000, src % n, (src + 1 + by % (n - 1)) % n, bytes)
                })
                .filter(|f| f.src != f.dst)
                .collect();
            flows.sort_by_key(|f| f.start);
            (s, flows)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// What `headroom = "auto"` sets aside is enough, whatever the traffic; engines agree on everything.
    #[test]
    fn nothing_lossless_is_lost((scenario, flows) in random()) {
        let lossless = scenario.switch.pfc.is_some();
        let lacks = paceline_sim::net::switch::buffers::lack_of_headroom(&scenario);
        prop_assert_eq!(lacks, None);
        let result = both(scenario, &flows);
        prop_assert!(!lossless || result.counters.drops_buffer == 0, "{:?}", result.first_drop);
        prop_assert_eq!(&result.ending, &Ending::Completed);
    }
}

/// Two switches in a row: the second one's pauses fill the first one's ports, and nothing is lost on the way.
#[test]
fn pauses_pass_on_upstream() {
    let mut t = star(&[(10 * GBPS, 0); 4]);
    // Hosts 0 to 3 at switch 4; hosts 5 to 7 at switch 8, which the first one reaches over one link.
    t.kinds.extend([paceline_sim::graph::NodeKind::Host; 3]);
    t.kinds.push(paceline_sim::graph::NodeKind::Switch);
    t.tiers.extend([0, 0, 0, 1]);
    let rate = BitsPerSec(10 * GBPS);
    t.links.extend((5..8).map(|h| Link::symmetric(h, 8, rate, Duration(0))));
    t.links.push(Link::symmetric(4, 8, rate, Duration(0)));
    let flows: Vec<_> =
        [(0, 5), (1, 5), (2, 6), (6, 5), (7, 5)].map(|(src, dst)| flow(0, src, dst, 2_000_000)).to_vec();
    let result = both(hoti(&t), &flows);
    assert_eq!((result.counters.drops_buffer, &result.ending), (0, &Ending::Completed));
    // The link between the switches is paused for longer than the hosts at its near end that share it with a victim.
    let paused: u64 = result.pauses.iter().map(|p| p[3]).sum();
    assert!(paused > 0 && result.pauses[0][3] > 0 && result.pauses[2][3] > 0, "the victim's host is paused as well");
}

/// A port that has no room for a full frame passes none on, whether its transmitter is idle or not: a switch has a whole frame before
/// it sends any of it. Short frames still pass.
#[test]
fn a_frame_larger_than_a_ports_buffer_is_dropped_by_both_engines() {
    for (buffer, finished) in [(1499, [false, true]), (1500, [true, true])] {
        let mut scenario = plain(&star(&[(10 * GBPS, 1_000_000); 3]));
        scenario.framing = FRAMING;
        scenario.switch.buffer = Bytes(buffer);
        scenario.switch.model = BufferModel::PerPort;
        scenario.switch.accounting = Accounting::Output;
        scenario.switch.pfc = None;
        scenario.host.rto = Some(Rto { initial: Duration::from_us(100), tries: 2 });
        let result = both(scenario, &[flow(0, 0, 2, 30_000), flow(0, 1, 0, 100)]);
        assert_eq!([0, 1].map(|i: usize| result.flows[i].status == Status::Finished), finished, "{buffer}");
    }
}
