//! Configuration files: `KEY value...` per line, in any order (hpcc-ns3 facts, section 5).

use std::collections::BTreeMap;

use paceline_proto::units::{BitsPerSec, Bytes};

use super::text::lines;
use crate::InputError;
use crate::clock::seconds_to_ns;
use crate::graph::NodeId;
use crate::scenario::EcnThresholds;

mod effect;
mod keys;
mod value;
mod write;

pub use effect::{why, without_effect};
pub use keys::{KEYS, nearest_key};
use value::Value;

/// Congestion control, by the number the file gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CcMode {
    /// 1: DCQCN.
    Dcqcn,
    /// 3: HPCC.
    Hpcc,
    /// 7: TIMELY.
    Timely,
    /// 8: DCTCP.
    Dctcp,
    /// 10: HPCC with probabilistic telemetry (PINT).
    HpccPint,
}

impl CcMode {
    /// The number in the file.
    pub fn number(self) -> u8 {
        match self {
            Self::Dcqcn => 1,
            Self::Hpcc => 3,
            Self::Timely => 7,
            Self::Dctcp => 8,
            Self::HpccPint => 10,
        }
    }
}

/// `LINK_DOWN t b c`: the link between two nodes goes down for good.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LinkDown {
    /// Microseconds after 2 s; 0 means that no link goes down.
    pub after_us: u64,
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
}

impl LinkDown {
    /// When it happens, in ns; `None` when no link goes down.
    pub fn at_ns(&self) -> Option<u64> {
        (self.after_us > 0).then_some(2_000_000_000 + self.after_us * 1_000)
    }
}

/// A configuration file, each key in a field of its name, with the reference's default where the file leaves it out.
#[derive(Clone, PartialEq, Debug)]
pub struct HpccConfig {
    /// `ENABLE_QCN`: switches mark ECN. Default on.
    pub enable_qcn: bool,
    /// `USE_DYNAMIC_PFC_THRESHOLD`: no effect, thresholds are always dynamic. Default on.
    pub use_dynamic_pfc_threshold: bool,
    /// `PAUSE_TIME`: only whether it is 0 matters, which is refused. Default 5.
    pub pause_time: u32,
    /// `DATA_RATE`: no effect; kept as text.
    pub data_rate: Option<String>,
    /// `LINK_DELAY`: no effect; kept as text.
    pub link_delay: Option<String>,
    /// `PACKET_PAYLOAD_SIZE`: payload of a full packet in bytes, 1 to 65000. Default 1000.
    pub packet_payload_size: u32,
    /// `L2_CHUNK_SIZE` in bytes. Default 0.
    pub l2_chunk_size: u32,
    /// `L2_ACK_INTERVAL` in bytes, at least 1: every packet is acknowledged. Needed.
    pub l2_ack_interval: u32,
    /// `L2_BACK_TO_ZERO`: a NACK goes back to the chunk's beginning. Default off.
    pub l2_back_to_zero: bool,
    /// `TOPOLOGY_FILE`. Needed.
    pub topology_file: String,
    /// `FLOW_FILE`. Needed.
    pub flow_file: String,
    /// `TRACE_FILE`: nodes to trace. Needed.
    pub trace_file: String,
    /// `TRACE_OUTPUT_FILE`: packet trace. Needed.
    pub trace_output_file: String,
    /// `ENABLE_TRACE`. Default on.
    pub enable_trace: bool,
    /// `FCT_OUTPUT_FILE`. Default `fct.txt`.
    pub fct_output_file: String,
    /// `PFC_OUTPUT_FILE`. Default `pfc.txt`.
    pub pfc_output_file: String,
    /// `QLEN_MON_FILE`. Needed.
    pub qlen_mon_file: String,
    /// `QLEN_MON_START` in ns. Default 2 s.
    pub qlen_mon_start: u64,
    /// `QLEN_MON_END` in ns. Default 2.1 s.
    pub qlen_mon_end: u64,
    /// `SIMULATOR_STOP_TIME` in seconds, above 0. Default 3.01.
    pub simulator_stop_time: f64,
    /// `CC_MODE`. Default 1.
    pub cc_mode: CcMode,
    /// `RATE_AI`: additive increase. Needed.
    pub rate_ai: BitsPerSec,
    /// `RATE_HAI`: hyper increase. Needed.
    pub rate_hai: BitsPerSec,
    /// `MIN_RATE`, above 0. Default 100 Mb/s.
    pub min_rate: BitsPerSec,
    /// `DCTCP_RATE_AI`. Default 1 Gb/s.
    pub dctcp_rate_ai: BitsPerSec,
    /// `ALPHA_RESUME_INTERVAL` in whole µs. Default 55.
    pub alpha_resume_interval_us: u64,
    /// `RATE_DECREASE_INTERVAL` in whole µs. Default 4.
    pub rate_decrease_interval_us: u64,
    /// `RP_TIMER` in whole µs. Needed with `CC_MODE 1`; 0 elsewhere.
    pub rp_timer_us: u64,
    /// `CLAMP_TARGET_RATE`. Default off.
    pub clamp_target_rate: bool,
    /// `EWMA_GAIN`, 0 to 1. Default 0 (quirk Q12).
    pub ewma_gain: f64,
    /// `FAST_RECOVERY_TIMES`. Default 5.
    pub fast_recovery_times: u32,
    /// `ERROR_RATE_PER_LINK`: loss probability, 0 to 1. Default 0.
    pub error_rate_per_link: f64,
    /// `HAS_WIN`: flows have a window. Default on.
    pub has_win: bool,
    /// `GLOBAL_T`: window and base RTT are the largest of the network. Default on.
    pub global_t: bool,
    /// `VAR_WIN`: the window follows the rate. Default off.
    pub var_win: bool,
    /// `FAST_REACT`: HPCC reacts to every ACK. Default on.
    pub fast_react: bool,
    /// `U_TARGET`: HPCC's η, above 0. Default 0.95.
    pub u_target: f64,
    /// `MI_THRESH`: HPCC's stages of additive increase. Default 5.
    pub mi_thresh: u32,
    /// `INT_MULTI`: scale of HPCC's telemetry counters, at least 1. Default 1.
    pub int_multi: u32,
    /// `MULTI_RATE`: HPCC keeps a rate per hop. Default on.
    pub multi_rate: bool,
    /// `SAMPLE_FEEDBACK`: HPCC skips empty hops between updates. Default off.
    pub sample_feedback: bool,
    /// `PINT_LOG_BASE`, above 1. Default 1.05.
    pub pint_log_base: f64,
    /// `PINT_PROB`: share of ACKs that count, 0 to 1. Default 1.
    pub pint_prob: f64,
    /// `RATE_BOUND`: flows are paced at their rate. Default on.
    pub rate_bound: bool,
    /// `ACK_HIGH_PRIO`: a pause does not hold a host's ACKs. Default off.
    pub ack_high_prio: bool,
    /// `LINK_DOWN`. Default none.
    pub link_down: LinkDown,
    /// `KMAX_MAP`: (port rate, threshold in 1000 bytes), ascending by rate. Needed.
    pub kmax_map: Vec<(BitsPerSec, u64)>,
    /// `KMIN_MAP`: likewise. Needed.
    pub kmin_map: Vec<(BitsPerSec, u64)>,
    /// `PMAX_MAP`: (port rate, probability), ascending by rate. Needed.
    pub pmax_map: Vec<(BitsPerSec, f64)>,
    /// `BUFFER_SIZE` of a switch in MiB, 1 to 4095. Default 16.
    pub buffer_size_mib: u32,
    /// Keys the file gives, with the line that counts.
    pub(crate) given: BTreeMap<&'static str, usize>,
}

impl Default for HpccConfig {
    fn default() -> Self {
        Self {
            enable_qcn: true,
            use_dynamic_pfc_threshold: true,
            pause_time: 5,
            data_rate: None,
            link_delay: None,
            packet_payload_size: 1000,
            l2_chunk_size: 0,
            l2_ack_interval: 0,
            l2_back_to_zero: false,
            topology_file: String::new(),
            flow_file: String::new(),
            trace_file: String::new(),
            trace_output_file: String::new(),
            enable_trace: true,
            fct_output_file: "fct.txt".into(),
            pfc_output_file: "pfc.txt".into(),
            qlen_mon_file: String::new(),
            qlen_mon_start: 2_000_000_000,
            qlen_mon_end: 2_100_000_000,
            simulator_stop_time: 3.01,
            cc_mode: CcMode::Dcqcn,
            rate_ai: BitsPerSec(0),
            rate_hai: BitsPerSec(0),
            min_rate: BitsPerSec(100_000_000),
            dctcp_rate_ai: BitsPerSec(1_000_000_000),
            alpha_resume_interval_us: 55,
            rate_decrease_interval_us: 4,
            rp_timer_us: 0,
            clamp_target_rate: false,
            ewma_gain: 0.0,
            fast_recovery_times: 5,
            error_rate_per_link: 0.0,
            has_win: true,
            global_t: true,
            var_win: false,
            fast_react: true,
            u_target: 0.95,
            mi_thresh: 5,
            int_multi: 1,
            multi_rate: true,
            sample_feedback: false,
            pint_log_base: 1.05,
            pint_prob: 1.0,
            rate_bound: true,
            ack_high_prio: false,
            link_down: LinkDown::default(),
            kmax_map: Vec::new(),
            kmin_map: Vec::new(),
            pmax_map: Vec::new(),
            buffer_size_mib: 16,
            given: BTreeMap::new(),
        }
    }
}

impl HpccConfig {
    /// Reads a configuration; `file` names it in messages, `lenient` makes unknown keys warnings.
    ///
    /// A word that begins with `#` starts a comment. Of a key given twice the last counts, but for maps, whose entries come together. That and other likely mistakes
    /// which the reference runs with are warnings.
    ///
    /// # Errors
    /// An unknown key (naming the nearest known one), a wrong number of words, a value of the wrong form or out of
    /// range, a needed key left out, thresholds with `KMIN` above `KMAX`, a timer of zero that DCQCN would wait on.
    pub fn parse(text: &str, file: &str, lenient: bool) -> Result<(Self, Vec<String>), InputError> {
        let mut config = Self::default();
        let mut warnings = Vec::new();
        for mut line in lines(text, file) {
            let (kept, comment) = split_comment(line.text);
            // The reference knows no comments: it would read a key in one.
            if let Some(key) = comment.split_whitespace().find_map(keys::known) {
                warnings.push(line.warning(format!("{key} is in a comment and not read; the reference would read it")));
            }
            line.text = kept.trim();
            let words = line.words();
            let Some((word, values)) = words.split_first() else { continue };
            let Some(key) = keys::known(word) else {
                let error = keys::unknown(&line, word);
                if !lenient {
                    return Err(error);
                }
                warnings.push(error.to_string());
                continue;
            };
            config.set(&Value { line, key, words: values }, &mut warnings)?;
            if let Some(before) = config.given.insert(key, line.number) {
                let does = if keys::is_map(key) { "adds to" } else { "replaces" };
                warnings.push(line.warning(format!("{key} is given again; this {does} line {before}")));
            }
        }
        config.check(file, &mut warnings)?;
        Ok((config, warnings))
    }

    /// Sets the field of one key.
    fn set(&mut self, v: &Value<'_, '_>, warnings: &mut Vec<String>) -> Result<(), InputError> {
        match v.key {
            "ENABLE_QCN" => self.enable_qcn = v.flag()?,
            "USE_DYNAMIC_PFC_THRESHOLD" => self.use_dynamic_pfc_threshold = v.flag()?,
            "PAUSE_TIME" => {
                self.pause_time = v.u32(1, u32::MAX, " (with 0 the reference takes a pause for a resume)")?;
            }
            "DATA_RATE" => self.data_rate = Some(v.word("one word")?.into()),
            "LINK_DELAY" => self.link_delay = Some(v.word("one word")?.into()),
            "PACKET_PAYLOAD_SIZE" => self.packet_payload_size = v.u32(1, 65_000, " bytes")?,
            "L2_CHUNK_SIZE" => self.l2_chunk_size = v.u32(0, u32::MAX, " bytes")?,
            "L2_ACK_INTERVAL" => {
                self.l2_ack_interval = v.u32(1, u32::MAX, " bytes (with 0 no flow would ever complete)")?;
            }
            "L2_BACK_TO_ZERO" => self.l2_back_to_zero = v.flag()?,
            "TOPOLOGY_FILE" => self.topology_file = v.file()?,
            "FLOW_FILE" => self.flow_file = v.file()?,
            "TRACE_FILE" => self.trace_file = v.file()?,
            "TRACE_OUTPUT_FILE" => self.trace_output_file = v.file()?,
            "ENABLE_TRACE" => self.enable_trace = v.flag()?,
            "FCT_OUTPUT_FILE" => self.fct_output_file = v.file()?,
            "PFC_OUTPUT_FILE" => self.pfc_output_file = v.file()?,
            "QLEN_MON_FILE" => self.qlen_mon_file = v.file()?,
            "QLEN_MON_START" => self.qlen_mon_start = v.nanoseconds()?,
            "QLEN_MON_END" => self.qlen_mon_end = v.nanoseconds()?,
            "SIMULATOR_STOP_TIME" => self.simulator_stop_time = v.stop_time()?,
            "CC_MODE" => self.cc_mode = v.cc_mode()?,
            "RATE_AI" => self.rate_ai = v.rate(0)?,
            "RATE_HAI" => self.rate_hai = v.rate(0)?,
            "MIN_RATE" => self.min_rate = v.rate(1)?,
            "DCTCP_RATE_AI" => self.dctcp_rate_ai = v.rate(0)?,
            "ALPHA_RESUME_INTERVAL" => self.alpha_resume_interval_us = v.microseconds(warnings)?,
            "RATE_DECREASE_INTERVAL" => self.rate_decrease_interval_us = v.microseconds(warnings)?,
            "RP_TIMER" => self.rp_timer_us = v.microseconds(warnings)?,
            "CLAMP_TARGET_RATE" => self.clamp_target_rate = v.flag()?,
            "EWMA_GAIN" => self.ewma_gain = v.share()?,
            "FAST_RECOVERY_TIMES" => self.fast_recovery_times = v.u32(0, u32::MAX, "")?,
            "ERROR_RATE_PER_LINK" => self.error_rate_per_link = v.share()?,
            "HAS_WIN" => self.has_win = v.flag()?,
            "GLOBAL_T" => self.global_t = v.flag()?,
            "VAR_WIN" => self.var_win = v.flag()?,
            "FAST_REACT" => self.fast_react = v.flag()?,
            "U_TARGET" => self.u_target = v.real(|d| d > 0.0, "a number above 0 (HPCC's eta, e.g. 0.95)")?,
            "MI_THRESH" => self.mi_thresh = v.u32(0, u32::MAX, "")?,
            "INT_MULTI" => self.int_multi = v.u32(1, 1_000_000, "")?,
            "MULTI_RATE" => self.multi_rate = v.flag()?,
            "SAMPLE_FEEDBACK" => self.sample_feedback = v.flag()?,
            "PINT_LOG_BASE" => self.pint_log_base = v.real(|d| d > 1.0, "a number above 1 (e.g. 1.05)")?,
            "PINT_PROB" => self.pint_prob = v.share()?,
            "RATE_BOUND" => self.rate_bound = v.flag()?,
            "ACK_HIGH_PRIO" => self.ack_high_prio = v.flag()?,
            "LINK_DOWN" => self.link_down = v.link_down()?,
            "KMAX_MAP" => v.thresholds(&mut self.kmax_map, warnings)?,
            "KMIN_MAP" => v.thresholds(&mut self.kmin_map, warnings)?,
            "PMAX_MAP" => v.probabilities(&mut self.pmax_map, warnings)?,
            "BUFFER_SIZE" => {
                self.buffer_size_mib = v.u32(1, 4095, " MiB (the reference counts its bytes in 32 bits)")?;
            }
            other => debug_assert!(false, "{other} is a known key without a field"),
        }
        Ok(())
    }

    /// What only the whole file can tell.
    fn check(&self, file: &str, warnings: &mut Vec<String>) -> Result<(), InputError> {
        let at = |key: &str, problem: &str| {
            let error = InputError::new(problem).file(file).field(key);
            if let Some(line) = self.given_at(key) { error.line(line) } else { error }
        };
        for (key, example) in keys::needed(self.cc_mode) {
            if !self.is_given(key) {
                return Err(
                    at(key, "this key is needed and missing").allowed(format!("a line such as `{key} {example}`"))
                );
            }
        }
        if self.cc_mode == CcMode::Dcqcn {
            let timers = [
                ("ALPHA_RESUME_INTERVAL", self.alpha_resume_interval_us),
                ("RATE_DECREASE_INTERVAL", self.rate_decrease_interval_us),
                ("RP_TIMER", self.rp_timer_us),
            ];
            if let Some((key, _)) = timers.iter().find(|(_, us)| *us == 0) {
                return Err(at(key, "a timer of less than 1 us would never let time pass")
                    .value(0)
                    .allowed("at least 1 (us)"));
            }
            if !self.is_given("EWMA_GAIN") {
                warnings.push(format!(
                    "{file}: EWMA_GAIN is missing; the reference's default is 0, so that alpha never changes"
                ));
            }
        }
        for ecn in self.ecn() {
            if ecn.k_min > ecn.k_max {
                let kmin = ecn.k_min.0 / 1000;
                let allowed = format!("at most KMAX_MAP's {} (x1000 bytes) at {}", ecn.k_max.0 / 1000, ecn.rate);
                return Err(at("KMIN_MAP", "KMIN above KMAX").value(kmin).allowed(allowed));
            }
        }
        let [kmax, kmin] = [&self.kmax_map, &self.kmin_map].map(|map| map.iter().map(|e| e.0).collect::<Vec<_>>());
        if kmax != kmin || !kmax.iter().eq(self.pmax_map.iter().map(|e| &e.0)) {
            warnings.push(format!(
                "{file}: KMAX_MAP, KMIN_MAP and PMAX_MAP name different rates; a missing one counts as 0"
            ));
        }
        if self.qlen_mon_start > self.qlen_mon_end {
            warnings.push(format!("{file}: QLEN_MON_START is after QLEN_MON_END; queues are sampled once"));
        }
        Ok(())
    }

    /// Whether the file gives `key`.
    pub fn is_given(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The line whose value of `key` counts.
    pub fn given_at(&self, key: &str) -> Option<usize> {
        self.given.get(key).copied()
    }

    /// `SIMULATOR_STOP_TIME` in ns, truncated as the reference does.
    pub fn stop_ns(&self) -> u64 {
        seconds_to_ns(self.simulator_stop_time)
    }

    /// `BUFFER_SIZE` in bytes.
    pub fn buffer(&self) -> Bytes {
        Bytes(u64::from(self.buffer_size_mib) << 20)
    }

    /// ECN thresholds per port rate, ascending; a rate that a map leaves out counts as 0 there, as in the reference.
    /// A port rate in none of the maps has thresholds of 0.
    pub fn ecn(&self) -> Vec<EcnThresholds> {
        let mut by_rate = BTreeMap::<BitsPerSec, EcnThresholds>::new();
        let mut entry = |rate: BitsPerSec, set: &dyn Fn(&mut EcnThresholds)| {
            set(by_rate.entry(rate).or_insert(EcnThresholds { rate, k_min: Bytes(0), k_max: Bytes(0), p_max: 0.0 }));
        };
        for &(rate, k) in &self.kmax_map {
            entry(rate, &|ecn| ecn.k_max = Bytes(k * 1000));
        }
        for &(rate, k) in &self.kmin_map {
            entry(rate, &|ecn| ecn.k_min = Bytes(k * 1000));
        }
        for &(rate, p) in &self.pmax_map {
            entry(rate, &|ecn| ecn.p_max = p);
        }
        by_rate.into_values().collect()
    }
}

/// A line without its comment, and the comment: from a `#` that begins a word.
fn split_comment(text: &str) -> (&str, &str) {
    let begins = |&(at, _): &(usize, &str)| text[..at].ends_with(char::is_whitespace) || at == 0;
    match text.match_indices('#').find(begins) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    }
}

#[cfg(test)]
pub(super) mod tests;
