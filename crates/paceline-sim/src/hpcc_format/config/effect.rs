//! Keys that change nothing in the run their file describes.

use super::{CcMode, HpccConfig, KEYS};

/// The keys the file gives that have no effect in its mode, those with one reason together: `KEY, KEY: why`, in the order of
/// [`KEYS`].
///
/// "No effect" is on the fct, pfc and qlen files; from the hpcc-ns3 facts, sections 4.5 to 4.12 and 5.
pub fn without_effect(config: &HpccConfig) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for key in KEYS.into_iter().filter(|key| config.is_given(key)) {
        let Some(why) = why(config, key) else { continue };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, keys)) => keys.push(key),
            None => reasons.push((why, vec![key])),
        }
    }
    reasons.into_iter().map(|(why, keys)| format!("{}: {why}", keys.join(", "))).collect()
}

/// Why `key` has no effect in its mode; `None` when it may have one.
pub fn why(config: &HpccConfig, key: &str) -> Option<String> {
    use CcMode::{Dcqcn, Dctcp, Hpcc, HpccPint, Timely};
    let mode = config.cc_mode;
    let when = |idle: bool, why: &str| idle.then(|| why.to_string());
    let only = |modes: &[CcMode], who: &str| {
        (!modes.contains(&mode)).then(|| format!("read by {who} only, and CC_MODE is {}", mode.number()))
    };
    match key {
        "USE_DYNAMIC_PFC_THRESHOLD" => when(true, "the reference's PFC thresholds are always dynamic"),
        "DATA_RATE" => when(true, "the topology file gives every link its rate"),
        "LINK_DELAY" => when(true, "the topology file gives every link its delay"),
        "PAUSE_TIME" => when(true, "a pause lasts until its resume"),
        "L2_CHUNK_SIZE" => when(
            !config.l2_back_to_zero && config.l2_ack_interval <= 1,
            "chunks count with L2_BACK_TO_ZERO 1 or L2_ACK_INTERVAL above 1 only",
        ),
        "TRACE_FILE" => when(!config.enable_trace, "ENABLE_TRACE is 0"),
        "ENABLE_QCN" | "KMAX_MAP" | "KMIN_MAP" | "PMAX_MAP" if ![Dcqcn, Dctcp].contains(&mode) => {
            Some(format!("CC_MODE {} does not react to ECN marks", mode.number()))
        }
        "KMAX_MAP" | "KMIN_MAP" | "PMAX_MAP" => when(!config.enable_qcn, "ENABLE_QCN is 0"),
        "RATE_AI" => only(&[Dcqcn, Hpcc, Timely, HpccPint], "DCQCN, HPCC and TIMELY (1, 3, 7, 10)"),
        "RATE_HAI" => only(&[Dcqcn, Timely], "DCQCN and TIMELY (1, 7)"),
        "DCTCP_RATE_AI" => only(&[Dctcp], "DCTCP (8)"),
        "ALPHA_RESUME_INTERVAL"
        | "RATE_DECREASE_INTERVAL"
        | "RP_TIMER"
        | "CLAMP_TARGET_RATE"
        | "FAST_RECOVERY_TIMES" => only(&[Dcqcn], "DCQCN (1)"),
        "EWMA_GAIN" => only(&[Dcqcn, Dctcp], "DCQCN and DCTCP (1, 8)"),
        "GLOBAL_T" => when(
            !config.has_win && ![Hpcc, HpccPint].contains(&mode),
            "without window (HAS_WIN 0) nothing derives from it",
        ),
        "VAR_WIN" => when(!config.has_win, "HAS_WIN is 0"),
        "U_TARGET" | "MI_THRESH" => only(&[Hpcc, HpccPint], "HPCC (3, 10)"),
        "FAST_REACT" | "INT_MULTI" | "MULTI_RATE" | "SAMPLE_FEEDBACK" => only(&[Hpcc], "HPCC with INT (3)"),
        "PINT_LOG_BASE" | "PINT_PROB" => only(&[HpccPint], "HPCC-PINT (10)"),
        "LINK_DOWN" => {
            let down = config.link_down;
            when(down.after_us == 0 && (down.a, down.b) != (0, 0), "a time of 0 means that no link goes down")
        }
        _ => None,
    }
}
