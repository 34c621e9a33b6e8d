//! RED at switch ports, in whole runs of both engines.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::{ENGINES, GBPS, Outcome, flow, plain, run, star};
use paceline_proto::port::red;
use paceline_proto::units::{Bytes, Duration};
use paceline_sim::engine::Ending;
use paceline_sim::scenario::*;

/// Two hosts send `bytes` each to a third at the same time, all at 10 Gb/s: half of what arrives at the third one's port waits.
fn two_to_one(bytes: u64, red: red::Params, pfc: bool) -> Outcome {
    let mut scenario = plain(&star(&[(10 * GBPS, 1_000_000); 3]));
    scenario.switch.red = Some(RedQueues { params: red, per_port: false });
    if pfc {
        scenario.switch.model = BufferModel::Shared;
        scenario.switch.buffer = Bytes(150_000);
        scenario.switch.pfc = Some(Pfc {
            reserve: Bytes(0),
            headroom: Headroom::Auto,
            alpha_q16: 1 << 13,
            alpha_scales: false,
            wraps: false,
            resume_offset: Bytes(3072),
            classes: 1,
            xoff: None,
            xon: None,
            reaction: Duration(0),
        });
    }
    scenario.host.rto = Some(Rto { initial: Duration::from_us(1000), tries: 7 });
    let scenario = Arc::new(scenario);
    let flows = [flow(0, 0, 2, bytes), flow(0, 1, 2, bytes)];
    let [sequential, windowed] = ENGINES.map(|engine| run(&scenario, &flows, engine));
    assert_eq!(sequential, windowed);
    assert_eq!(sequential.ending, Ending::Completed);
    sequential
}

fn thresholds(min: u32, max: u32) -> red::Params {
    red::Params { min, max, packet: 1048, ..red::Params::default() }
}

/// 100 packets of 1048 bytes come while 50 leave. On the queue as it is, marks begin with the packet that finds 20 waiting: of the
/// last 60 packets or so each is marked. On the average, 500 packets slow, the burst is over before anything is seen of it.
#[test]
fn bursts_pass_the_average() {
    let now = two_to_one(50_000, red::Params { weight: 1.0, ..thresholds(20 * 1048 - 1, 20 * 1048) }, false);
    assert!((57..=61).contains(&now.counters.marks), "{}", now.counters.marks);
    let average = two_to_one(50_000, thresholds(20 * 1048 - 1, 20 * 1048), false);
    assert_eq!((average.counters.marks, average.counters.drops_buffer), (0, 0));
    // The same load for longer is seen.
    let long = two_to_one(2_000_000, thresholds(20 * 1048 - 1, 20 * 1048), false);
    assert!(long.counters.marks > 3000, "{}", long.counters.marks);
}

/// Where pauses hold the queue, switches run in exact order: the engines agree there too.
#[test]
fn with_pauses() {
    let outcome = two_to_one(500_000, red::Params { weight: 0.1, ..thresholds(2_000, 8_000) }, true);
    assert!(outcome.counters.pause_frames > 0 && outcome.counters.marks > 0, "{:?}", outcome.counters);
    assert_eq!(outcome.counters.drops_buffer, 0);
}

/// ACKs do not understand marks. They pass, or are dropped where RED is told to: then timeouts repair it.
#[test]
fn packets_without_ecn_are_dropped_only_on_demand() {
    let all = red::Params { weight: 1.0, ..thresholds(0, 1) };
    let mut scenario = plain(&star(&[(10 * GBPS, 1_000_000); 3]));
    scenario.host.rto = Some(Rto { initial: Duration::from_us(1000), tries: 7 });
    for (drop_non_ect, drops) in [(false, false), (true, true)] {
        scenario.switch.red = Some(RedQueues { params: red::Params { drop_non_ect, ..all.clone() }, per_port: true });
        let scenario = Arc::new(scenario.clone());
        // ACKs of the third flow wait behind data of the first two.
        let flows = [flow(0, 1, 0, 300_000), flow(0, 2, 0, 300_000), flow(0, 0, 1, 300_000)];
        let [sequential, windowed] = ENGINES.map(|engine| run(&scenario, &flows, engine));
        assert_eq!(sequential, windowed);
        assert_eq!(sequential.counters.drops_buffer > 0, drops, "{:?}", sequential.counters);
        assert!(sequential.flows.iter().all(|f| f.status == paceline_sim::record::Status::Finished));
    }
}
