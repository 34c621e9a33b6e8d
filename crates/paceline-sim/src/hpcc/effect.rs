//! Keys that turn out to have changed nothing, by what happened in the run. Those that other keys rule out are told before it
//! (`hpcc_format/config/effect.rs`).

use paceline_proto::cc::dcqcn;
use paceline_proto::units::Time;

use crate::hpcc_format::config::{self, CcMode, HpccConfig};
use crate::net::Net;
use crate::scenario::Quirks;

/// What controllers that go by marks have. Thresholds are not among them: larger ones may be why nothing was marked.
const OF_MARKS: [&str; 9] = [
    "RATE_AI",
    "RATE_HAI",
    "DCTCP_RATE_AI",
    "ALPHA_RESUME_INTERVAL",
    "RATE_DECREASE_INTERVAL",
    "RP_TIMER",
    "CLAMP_TARGET_RATE",
    "EWMA_GAIN",
    "FAST_RECOVERY_TIMES",
];

/// The keys the file gives that had no effect in this run, and why: `KEY, KEY: why`. `completed`: whether all flows have
/// ended. `smallest`: bytes of the smallest packet of data.
pub(super) fn without_effect(
    config: &HpccConfig,
    quirks: &Quirks,
    net: &Net,
    completed: bool,
    smallest: u64,
) -> Vec<String> {
    let mut out = Vec::new();
    let mut note = |keys: &[&str], reason: &str| {
        let given = |key: &&&str| config.is_given(key) && config::why(config, key).is_none();
        let keys: Vec<&str> = keys.iter().filter(given).copied().collect();
        if !keys.is_empty() {
            out.push(format!("{}: {reason}", keys.join(", ")));
        }
    };
    let c = &net.counters;
    if !config.global_t && net.contexts.iter().all(|ctx| net.is_of_longest_pair(ctx)) {
        note(&["GLOBAL_T"], "all pairs that sent have the network's base RTT");
    }
    // Without the reference's NICs that was told before the run (`notices.rs`).
    if quirks.nic_round_robin && config.l2_ack_interval > 1 && smallest >= u64::from(config.l2_ack_interval) {
        note(&["L2_ACK_INTERVAL"], "no packet has fewer bytes, so that each is acknowledged");
    }
    // Without that quirk ACKs have a class of their own in switches, too.
    if config.ack_high_prio && quirks.ack_priority_at_hosts && c.pause_frames == 0 {
        note(&["ACK_HIGH_PRIO"], "no port was paused");
    }
    if config.error_rate_per_link > 0.0 && c.drops_wire == 0 {
        note(&["ERROR_RATE_PER_LINK"], "no packet was lost on a link");
    }
    let end = Time(net.last_end);
    if completed && net.failures.as_ref().is_some_and(|failures| failures.failures_after(end) > 0) {
        note(&["LINK_DOWN"], "the link goes down only after the last flow has ended");
    }
    let by_marks = [CcMode::Dcqcn, CcMode::Dctcp].contains(&config.cc_mode);
    if by_marks && c.marks == 0 {
        note(&OF_MARKS, "no packet was marked");
    } else if config.cc_mode == CcMode::Dcqcn {
        let used = net.used(0);
        for (key, stage, bit) in [("RATE_AI", "additive", dcqcn::ADDITIVE), ("RATE_HAI", "hyper", dcqcn::HYPER)] {
            if used & bit == 0 {
                note(&[key], &format!("no flow came to {stage} increase below its line rate"));
            }
        }
    }
    out
}
