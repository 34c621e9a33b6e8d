//! Configurations as text.

use std::fmt::Display;

use paceline_proto::units::BitsPerSec;

use super::{HpccConfig, KEYS, effect, keys};
use crate::hpcc_format::quantity::rate_text;

impl HpccConfig {
    /// The text of a configuration file, a line for each key that has an effect or is needed; all names of files have to be set. Reading it gives
    /// what has an effect again.
    pub fn to_text(&self) -> String {
        let needed: Vec<&str> = keys::needed(self.cc_mode).map(|(key, _)| key).collect();
        let kept = KEYS.into_iter().filter(|key| needed.contains(key) || effect::why(self, key).is_none());
        kept.filter_map(|key| Some(format!("{key} {}\n", self.value(key)?))).collect()
    }

    /// The value of a key; `None` where there is none to write.
    fn value(&self, key: &str) -> Option<String> {
        let flag = |on: bool| Some(u8::from(on).to_string());
        Some(match key {
            "ENABLE_QCN" => return flag(self.enable_qcn),
            "USE_DYNAMIC_PFC_THRESHOLD" => return flag(self.use_dynamic_pfc_threshold),
            "PAUSE_TIME" => self.pause_time.to_string(),
            "DATA_RATE" => return self.data_rate.clone(),
            "LINK_DELAY" => return self.link_delay.clone(),
            "PACKET_PAYLOAD_SIZE" => self.packet_payload_size.to_string(),
            "L2_CHUNK_SIZE" => self.l2_chunk_size.to_string(),
            "L2_ACK_INTERVAL" => self.l2_ack_interval.to_string(),
            "L2_BACK_TO_ZERO" => return flag(self.l2_back_to_zero),
            "TOPOLOGY_FILE" => self.topology_file.clone(),
            "FLOW_FILE" => self.flow_file.clone(),
            "TRACE_FILE" => self.trace_file.clone(),
            "TRACE_OUTPUT_FILE" => self.trace_output_file.clone(),
            "ENABLE_TRACE" => return flag(self.enable_trace),
            "FCT_OUTPUT_FILE" => self.fct_output_file.clone(),
            "PFC_OUTPUT_FILE" => self.pfc_output_file.clone(),
            "QLEN_MON_FILE" => self.qlen_mon_file.clone(),
            "QLEN_MON_START" => self.qlen_mon_start.to_string(),
            "QLEN_MON_END" => self.qlen_mon_end.to_string(),
            "SIMULATOR_STOP_TIME" => self.simulator_stop_time.to_string(),
            "CC_MODE" => self.cc_mode.number().to_string(),
            "RATE_AI" => rate_text(self.rate_ai),
            "RATE_HAI" => rate_text(self.rate_hai),
            "MIN_RATE" => rate_text(self.min_rate),
            "DCTCP_RATE_AI" => rate_text(self.dctcp_rate_ai),
            "ALPHA_RESUME_INTERVAL" => self.alpha_resume_interval_us.to_string(),
            "RATE_DECREASE_INTERVAL" => self.rate_decrease_interval_us.to_string(),
            "RP_TIMER" => self.rp_timer_us.to_string(),
            "CLAMP_TARGET_RATE" => return flag(self.clamp_target_rate),
            "EWMA_GAIN" => self.ewma_gain.to_string(),
            "FAST_RECOVERY_TIMES" => self.fast_recovery_times.to_string(),
            "ERROR_RATE_PER_LINK" => self.error_rate_per_link.to_string(),
            "HAS_WIN" => return flag(self.has_win),
            "GLOBAL_T" => return flag(self.global_t),
            "VAR_WIN" => return flag(self.var_win),
            "FAST_REACT" => return flag(self.fast_react),
            "U_TARGET" => self.u_target.to_string(),
            "MI_THRESH" => self.mi_thresh.to_string(),
            "INT_MULTI" => self.int_multi.to_string(),
            "MULTI_RATE" => return flag(self.multi_rate),
            "SAMPLE_FEEDBACK" => return flag(self.sample_feedback),
            "PINT_LOG_BASE" => self.pint_log_base.to_string(),
            "PINT_PROB" => self.pint_prob.to_string(),
            "RATE_BOUND" => return flag(self.rate_bound),
            "ACK_HIGH_PRIO" => return flag(self.ack_high_prio),
            "LINK_DOWN" => {
                let down = self.link_down;
                format!("{} {} {}", down.after_us, down.a, down.b)
            }
            "KMAX_MAP" => map_text(&self.kmax_map),
            "KMIN_MAP" => map_text(&self.kmin_map),
            "PMAX_MAP" => map_text(&self.pmax_map),
            "BUFFER_SIZE" => self.buffer_size_mib.to_string(),
            _ => return None,
        })
    }
}

fn map_text<T: Display>(map: &[(BitsPerSec, T)]) -> String {
    map.iter().fold(map.len().to_string(), |text, (rate, value)| format!("{text} {} {value}", rate.0))
}
