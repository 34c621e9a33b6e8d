//! Trees with paths chosen by number: whole runs of both engines.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::{ENGINES, GBPS, flow, plain, run};
use paceline_proto::units::{BitsPerSec, Duration};
use paceline_sim::engine::Ending;
use paceline_sim::graph::Side;
use paceline_sim::scenario::PathChoice;
use paceline_sim::topology::{Level, xgft};
use paceline_sim::workload::FlowSpec;

/// On a full tree every shift of the hosts runs without any queue: all flows at once take as long as each alone, in both engines. By
/// hash some have to share.
#[test]
fn a_shift_runs_as_if_each_flow_were_alone() {
    let wire = |us| Side { rate: BitsPerSec(10 * GBPS), delay: Duration::from_us(us) };
    let level = |children, parents, us| Level { children, parents, wire: wire(us) };
    let tree = xgft(&[level(3, 1, 1), level(3, 3, 2), level(2, 3, 3)]).unwrap();
    for (choice, free) in [(PathChoice::DModK, true), (PathChoice::SModK, true), (PathChoice::FlowHash, false)] {
        let mut scenario = plain(&tree);
        scenario.routing.choice = choice;
        let scenario = Arc::new(scenario);
        for shift in [3, 7, 9] {
            let flows: Vec<FlowSpec> = (0..18).map(|src| flow(0, src, (src + shift) % 18, 100_000)).collect();
            let results = ENGINES.map(|engine| run(&scenario, &flows, engine));
            assert_eq!(results[0], results[1], "{choice:?}, shift by {shift}");
            assert_eq!(results[0].ending, Ending::Completed);
            // Data and ACKs share links; an ACK may wait for the end of a packet, and the other way round.
            let slack = 10 * 1_200_000;
            let alone = results[0].flows.iter().all(|f| f.fct_receiver <= f.ideal_receiver + slack);
            assert_eq!(alone, free, "{choice:?}, shift by {shift}");
        }
    }
}
