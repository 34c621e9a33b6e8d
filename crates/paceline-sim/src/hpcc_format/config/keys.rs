//! The keys of a configuration file.

use super::CcMode;
use crate::InputError;
use crate::hpcc_format::text::Line;
use crate::spelling::{clip, closest};

/// All keys, in the order of the reports.
pub const KEYS: [&str; 50] = [
    "ENABLE_QCN",
    "USE_DYNAMIC_PFC_THRESHOLD",
    "PAUSE_TIME",
    "DATA_RATE",
    "LINK_DELAY",
    "PACKET_PAYLOAD_SIZE",
    "L2_CHUNK_SIZE",
    "L2_ACK_INTERVAL",
    "L2_BACK_TO_ZERO",
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "TRACE_FILE",
    "TRACE_OUTPUT_FILE",
    "ENABLE_TRACE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
    "SIMULATOR_STOP_TIME",
    "CC_MODE",
    "RATE_AI",
    "RATE_HAI",
    "MIN_RATE",
    "DCTCP_RATE_AI",
    "ALPHA_RESUME_INTERVAL",
    "RATE_DECREASE_INTERVAL",
    "RP_TIMER",
    "CLAMP_TARGET_RATE",
    "EWMA_GAIN",
    "FAST_RECOVERY_TIMES",
    "ERROR_RATE_PER_LINK",
    "HAS_WIN",
    "GLOBAL_T",
    "VAR_WIN",
    "FAST_REACT",
    "U_TARGET",
    "MI_THRESH",
    "INT_MULTI",
    "MULTI_RATE",
    "SAMPLE_FEEDBACK",
    "PINT_LOG_BASE",
    "PINT_PROB",
    "RATE_BOUND",
    "ACK_HIGH_PRIO",
    "LINK_DOWN",
    "KMAX_MAP",
    "KMIN_MAP",
    "PMAX_MAP",
    "BUFFER_SIZE",
];

/// Keys a file cannot do without, each with an example of its value (hpcc-ns3 facts, section 5, "Needed in practice").
pub(super) fn needed(mode: CcMode) -> impl Iterator<Item = (&'static str, &'static str)> {
    let always = [
        ("TOPOLOGY_FILE", "topology.txt"),
        ("FLOW_FILE", "flow.txt"),
        ("TRACE_FILE", "trace.txt"),
        ("TRACE_OUTPUT_FILE", "mix.tr"),
        ("QLEN_MON_FILE", "qlen.txt"),
        ("KMAX_MAP", "1 100000000000 1600"),
        ("KMIN_MAP", "1 100000000000 400"),
        ("PMAX_MAP", "1 100000000000 0.2"),
        ("RATE_AI", "50Mb/s"),
        ("RATE_HAI", "50Mb/s"),
        ("L2_ACK_INTERVAL", "1"),
    ];
    // Only DCQCN waits on the timer whose default is 0.
    always.into_iter().chain((mode == CcMode::Dcqcn).then_some(("RP_TIMER", "300")))
}

/// Whether a key gives a map by port rate.
pub(super) fn is_map(key: &str) -> bool {
    matches!(key, "KMAX_MAP" | "KMIN_MAP" | "PMAX_MAP")
}

/// `word` as one of [`KEYS`].
pub(super) fn known(word: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|key| *key == word)
}

/// The known key with the fewest edits from `word`, letter case aside; the first in [`KEYS`] of several.
pub fn nearest_key(word: &str) -> &'static str {
    closest(word, KEYS).map_or(KEYS[0], |(_, key)| key)
}

/// The error for a word that is no key.
pub(super) fn unknown(line: &Line<'_>, word: &str) -> InputError {
    line.error("unknown key").value(clip(word)).allowed(format!("a known key; the nearest is {}", nearest_key(word)))
}
