//! Parameters of ExpressPass, with unit, range, default and source.
//!
//! "Script": the reference's large-scale script; "facts": proactive facts.

use crate::transport::unscheduled::{BurstParams, BurstStop, RepairOrder, Unscheduled};
use crate::units::{BitsPerSec, Duration};

/// Sizes of packets. A size is what a header carries and a buffer counts; on the wire each packet takes `wire_overhead` more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Payload of a full data packet, bytes, 1 to 65,000. 1460.
    pub payload: u16,
    /// What a data packet has besides, bytes. 78.
    pub data_overhead: u16,
    /// Smallest data packet, bytes. 84.
    pub min_data: u16,
    /// Request, stop, ACK, NACK and probe's answer, bytes. 84.
    pub control: u16,
    /// Probe, bytes. Aeolus says 64 (a frame without preamble and gap): 84 where these are counted.
    pub probe: u16,
    /// Smallest and largest credit, bytes, drawn uniformly for each: sizes break up drops in step. 76 and 92, mean 84.
    pub credit: (u16, u16),
    /// Bytes on the wire that sizes leave out (preamble and gap). 0.
    pub wire_overhead: u16,
}

impl Framing {
    /// As the reference counts: preamble and gap belong to a packet, in buffers too (facts, section 0).
    pub const fn wire() -> Self {
        Self {
            payload: 1460,
            data_overhead: 78,
            min_data: 84,
            control: 84,
            probe: 84,
            credit: (76, 92),
            wire_overhead: 0,
        }
    }

    /// As switches count: buffers hold frames (64-byte control, 1518-byte data), wires add 20 bytes (facts, section 7).
    pub const fn frames() -> Self {
        Self {
            payload: 1460,
            data_overhead: 58,
            min_data: 64,
            control: 64,
            probe: 64,
            credit: (56, 72),
            wire_overhead: 20,
        }
    }

    /// Bytes of a data packet with that much payload.
    #[inline]
    pub fn data(&self, payload: u16) -> u16 {
        self.data_overhead.saturating_add(payload).max(self.min_data)
    }

    /// Twice the mean of a credit's bytes on the wire: 168.
    pub fn two_credits(&self) -> u64 {
        u64::from(self.credit.0) + u64::from(self.credit.1) + 2 * u64::from(self.wire_overhead)
    }

    /// Share of a link that credits get, as a fraction: 84 / (84 + 1538), times two in both parts to stay whole.
    pub fn credit_share(&self) -> (u64, u64) {
        let credit = self.two_credits();
        (credit, credit + 2 * (u64::from(self.data(self.payload)) + u64::from(self.wire_overhead)))
    }
}

/// The rule by which a receiver adapts its credit rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Feedback {
    /// As the authors' simulator does it (facts, section 1.5).
    #[default]
    Simulator,
    /// As the SIGCOMM 2017 paper has it, from memory (facts, section 1.5): constant target loss, growth beyond the
    /// maximum by it, a cut by the share lost.
    Paper,
}

/// How an unscheduled packet is sent again after its timeout (priority queueing).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnscheduledRepair {
    /// On a credit, as a scheduled packet.
    #[default]
    OnCredit,
    /// At once, as an unscheduled packet. A variant: the paper's text does not say (facts, section 4.6).
    AtOnce,
}

/// Parameters of a host's ExpressPass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Sizes.
    pub framing: Framing,
    /// Initial rate as a share of the maximum, above 0 to 1. 0.5 (script).
    pub alpha: f64,
    /// A request for fewer packets starts in proportion slower; at least 1. 40 (facts, 1.4).
    pub full_rate_packets: u32,
    /// Initial aggressiveness w, `w_min` to `w_max`. 1/16 (script; library 0.5).
    pub w_init: f64,
    /// Smallest w, above 0. 0.01.
    pub w_min: f64,
    /// Largest w, to 1. 0.5.
    pub w_max: f64,
    /// Growth of w with a second update without congestion, 0 to 1. 0.05. Not used by [`Feedback::Paper`].
    pub w_step: f64,
    /// Target credit loss of a flow without rate (simulator) or of any (paper), 0 to 1. 0.125 (simulator), 0.1 (paper).
    pub target_loss: f64,
    /// Rule of adaptation.
    pub feedback: Feedback,
    /// Each gap between credits varies by up to this share, 0 to below 1. 0.1.
    pub jitter: f64,
    /// Stop credits early when those on their way will do. True (facts, 1.3).
    pub early_stop: bool,
    /// Interval of repeated requests, stops, probes and NACKs (`T_r`), above 0. 100 us (script; library 100 ms, Aeolus
    /// 10 ms: at 100 us repeated requests of a big incast fill the buffer, facts 9.4).
    pub retransmit_timeout: Duration,
    /// Wait for the effect of a credit stop while the round trip is unknown, above 0. 2 ms.
    pub credit_stop_timeout: Duration,
    /// A sender that waits for credits asks again after so long without any, above 0. 10 ms (no source).
    pub credit_timeout: Duration,
    /// First round trip.
    pub burst: BurstParams,
    /// The probe is the request too, sent after the burst; else a request goes before the burst. False. Aeolus only.
    pub request_in_probe: bool,
    /// Priority queueing: timeout of unscheduled packets from sending, above 0. 10 ms or 20 us (Aeolus, section 5).
    pub rto_unscheduled: Duration,
    /// Priority queueing: timeout of scheduled packets from sending, above 0. 10 ms (Aeolus, section 5).
    pub rto_scheduled: Duration,
    /// Priority queueing: what becomes of an unscheduled packet after its timeout.
    pub unscheduled_repair: UnscheduledRepair,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            framing: Framing::wire(),
            alpha: 0.5,
            full_rate_packets: 40,
            w_init: 0.0625,
            w_min: 0.01,
            w_max: 0.5,
            w_step: 0.05,
            target_loss: 0.125,
            feedback: Feedback::Simulator,
            jitter: 0.1,
            early_stop: true,
            retransmit_timeout: Duration::from_us(100),
            credit_stop_timeout: Duration::from_us(2_000),
            credit_timeout: Duration::from_us(10_000),
            burst: BurstParams {
                policy: Unscheduled::Wait,
                packets: 0,
                stop: BurstStop::FirstCredit,
                order: RepairOrder::LostFirst,
                resend_open: false,
                ordered_path: true,
            },
            request_in_probe: false,
            rto_unscheduled: Duration::from_us(10_000),
            rto_scheduled: Duration::from_us(10_000),
            unscheduled_repair: UnscheduledRepair::OnCredit,
        }
    }
}

impl Params {
    /// ExpressPass with Aeolus: a burst of `packets` (one bandwidth-delay product), `T_r` 10 ms.
    pub fn aeolus(packets: u32) -> Self {
        let plain = Self::default();
        let burst = BurstParams { policy: Unscheduled::Aeolus, packets, ..plain.burst };
        Self { burst, retransmit_timeout: Duration::from_us(10_000), ..plain }
    }

    /// ExpressPass with unscheduled packets at low priority and timeouts of 10 ms.
    pub fn priority_queueing(packets: u32) -> Self {
        let aeolus = Self::aeolus(packets);
        let burst = BurstParams { policy: Unscheduled::Plain, ..aeolus.burst };
        Self { burst, ..aeolus }
    }

    fn check(&self) -> Result<(), Invalid> {
        let f = &self.framing;
        let share = |field, value: f64, least: f64, most: f64, allowed| {
            if value > least && value <= most { Ok(()) } else { Err(Invalid::new(field, &value, allowed)) }
        };
        share("alpha", self.alpha, 0.0, 1.0, "above 0 to 1")?;
        share("w_max", self.w_max, 0.0, 1.0, "above 0 to 1")?;
        share("w_min", self.w_min, 0.0, self.w_max, "above 0 to w_max")?;
        share("w_init", self.w_init, self.w_min.next_down(), self.w_max, "w_min to w_max")?;
        share("w_step", self.w_step, -f64::MIN_POSITIVE, 1.0, "0 to 1")?;
        share("target_loss", self.target_loss, -f64::MIN_POSITIVE, 1.0, "0 to 1")?;
        share("jitter", self.jitter, -f64::MIN_POSITIVE, 1f64.next_down(), "0 to below 1")?;
        let within = |field, value: u16, least: u16, most: u16| {
            let allowed = format!("{least} to {most}");
            if (least..=most).contains(&value) { Ok(()) } else { Err(Invalid::new(field, &value, allowed)) }
        };
        within("payload", f.payload, 1, 65_000)?;
        within("data_overhead", f.data_overhead, 0, 65_000 - f.payload)?;
        within("wire_overhead", f.wire_overhead, 0, 1000)?;
        within("min_data", f.min_data, 0, f.data_overhead + f.payload)?;
        within("control", f.control, 1, 9_000)?;
        within("probe", f.probe, 1, 9_000)?;
        within("credit, largest", f.credit.1, 1, 9_000)?;
        within("credit, smallest", f.credit.0, 1, f.credit.1)?;
        if self.full_rate_packets == 0 {
            return Err(Invalid::new("full_rate_packets", &0, "1 or more"));
        }
        if self.burst.packets > 1 << 20 {
            return Err(Invalid::new("packets of the burst", &self.burst.packets, "0 to 2^20"));
        }
        for (field, value) in [
            ("retransmit_timeout", self.retransmit_timeout),
            ("credit_stop_timeout", self.credit_stop_timeout),
            ("credit_timeout", self.credit_timeout),
            ("rto_unscheduled", self.rto_unscheduled),
            ("rto_scheduled", self.rto_scheduled),
        ] {
            if value.0 == 0 {
                return Err(Invalid::new(field, &value, "above 0"));
            }
        }
        Ok(())
    }
}

/// A parameter out of its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    /// Its name.
    pub field: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl Invalid {
    pub(crate) fn new(field: &'static str, value: &(impl ToString + ?Sized), allowed: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), allowed: allowed.into() }
    }
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {} is not valid here; allowed: {}", self.field, self.value, self.allowed)
    }
}

impl std::error::Error for Invalid {}

/// Parameters at a host: what all its flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The parameters.
    pub params: Params,
    /// Highest credit rate, bytes of credits on the wire per second: what the host's link grants them.
    pub max_rate: f64,
    /// Mean credit on the wire, bytes.
    pub mean_credit: f64,
}

impl Config {
    /// For a host whose link has that rate (1 bit/s or more).
    pub fn new(params: Params, link: BitsPerSec) -> Result<Self, Invalid> {
        params.check()?;
        if link.0 == 0 {
            return Err(Invalid::new("link rate", &link, "1 bps or more"));
        }
        let (credit, both) = params.framing.credit_share();
        let max_rate = link.0 as f64 / 8.0 * credit as f64 / both as f64;
        let mean_credit = params.framing.two_credits() as f64 / 2.0;
        Ok(Self { params, max_rate, mean_credit })
    }
}
