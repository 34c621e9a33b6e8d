//! `[switch]`: packet buffer, PFC and ECN marking.

use paceline_proto::units::{BitsPerSec, Bytes};

use crate::scenario::{self, BufferModel, EcnThresholds};

use super::declare::section;
use super::value::{Multiple, choice, either};

choice! { BufferModel { Shared = "shared", PerPort = "per_port", } }

section! {
    /// Every switch.
    pub struct Switch {
        /// Packet buffer: of the switch (`model = "shared"`) or of each egress port (`"per_port"`).
        buffer: Bytes = "32MiB", in "[1KB, 1TiB]", from "HPCC, sec. 5.1; reference simulator, BUFFER_SIZE 32";
        /// How the buffer is divided: one pool for all ports, or a fixed part per egress port.
        model: BufferModel = "shared", from "HPCC reference simulator";
        /// Without PFC and with a shared buffer: an egress queue may hold this many times what is free in the pool.
        egress_alpha: f64 = 1.0, in "(0, 1024]", from "Choudhury and Hahne, ToN 1998: dynamic threshold";
        sections {
            /// Priority flow control.
            pfc: Pfc;
            /// ECN marking.
            ecn: Ecn;
        }
    }
}

either! {
    /// How much buffer is set aside per port for what arrives after a pause was sent.
    pub enum Headroom {
        /// What can arrive at most: two times rate times delay, two full packets and a pause frame.
        Auto = "auto",
        ;
        /// This many bytes.
        Bytes(Bytes),
        /// This many times rate times delay.
        RateDelay(Multiple),
    }
}

section! {
    /// Priority flow control, per (ingress port, class). Without it a full buffer drops.
    pub struct Pfc {
        /// Whether switches send pause frames.
        enabled: bool = true, from "HPCC, sec. 5.1";
        /// Bytes every (ingress port, class) may hold before it draws on the shared pool.
        reserve: Bytes = "4096B", in "[0B, 1GiB]", from "HPCC reference simulator (fixed there)";
        /// Bytes set aside per port and class in use for what arrives after a pause was sent: `"auto"` (two times rate times delay, two full
        /// packets and a pause frame), a size, or a multiple of rate times delay.
        headroom: Headroom = "3x", in "[0B, 1GiB]", from "HPCC reference simulator (fixed there)";
        /// An (ingress port, class) at host speed is paused when it holds this share of what is free in the pool.
        alpha: f64 = 0.125, in "(0, 1]", from "HPCC reference simulator: 1/8 (fixed there)";
        /// Double `alpha` for each factor 2 of the port's rate above host speed, up to 1.
        alpha_scales: bool = true, from "HPCC reference simulator (fixed there)";
        /// A paused class resumes when it is this far under its threshold.
        resume_offset: Bytes = "3072B", in "[0B, 1GiB]", from "HPCC reference simulator (fixed there)";
    }
}

choice! {
    /// Which queue decides about a mark.
    pub enum EcnQueue {
        /// That of the packet's class.
        Class = "class",
        /// All classes of the port together.
        Port = "port",
    }
}

section! {
    /// ECN marking at departure, by the bytes left behind: never at or below `k_min`, with a probability that rises to
    /// `p_max` at `k_max`, always above. All schemes of a run share the thresholds: the defaults suit DCQCN, DCTCP wants
    /// one step (`k_min` and `k_max` of `"300KB"` at 100 Gb/s, `p_max = 1`); the other schemes ignore marks.
    pub struct Ecn {
        /// Whether switches mark.
        enabled: bool = true, from "HPCC reference simulator, ENABLE_QCN 1";
        /// Which queue counts: that of the packet's class or that of the whole port.
        per: EcnQueue = "class", from "HPCC reference simulator";
        /// No mark at or below this queue, on a port of rate `at`.
        k_min: Bytes = "400KB", in "[0B, 1TiB]", from "HPCC reference simulator, KMIN_MAP";
        /// Always a mark above this queue, on a port of rate `at`.
        k_max: Bytes = "1600KB", in "[0B, 1TiB]", from "HPCC reference simulator, KMAX_MAP";
        /// Probability of a mark at `k_max`.
        p_max: f64 = 0.2, in "[0, 1]", from "HPCC reference simulator, PMAX_MAP";
        /// Port rate at which `k_min` and `k_max` hold; for other rates they scale in proportion.
        at: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC reference simulator: 400 and 1600 KB at 100 Gb/s, four times that at 400 Gb/s";
        rows {
            /// Thresholds of ports of a certain rate, in place of the scaled ones.
            by_rate: EcnAtRate;
        }
    }
}

section! {
    /// Thresholds of the ports of one rate.
    pub struct EcnAtRate {
        /// Port rate.
        rate: BitsPerSec, in "[1Mbps, 10Tbps]", from "HPCC reference simulator, KMIN_MAP";
        /// No mark at or below this queue.
        k_min: Bytes, in "[0B, 1TiB]", from "HPCC reference simulator, KMIN_MAP";
        /// Always a mark above this queue.
        k_max: Bytes, in "[0B, 1TiB]", from "HPCC reference simulator, KMAX_MAP";
        /// Probability of a mark at `k_max`.
        p_max: f64 = 0.2, in "[0, 1]", from "HPCC reference simulator, PMAX_MAP";
    }
}

impl Ecn {
    /// The thresholds of a port of this rate; scaled ones are rounded down to whole bytes.
    pub fn thresholds(&self, rate: BitsPerSec) -> EcnThresholds {
        if let Some(row) = self.by_rate.iter().find(|row| row.rate == rate) {
            return EcnThresholds { rate, k_min: row.k_min, k_max: row.k_max, p_max: row.p_max };
        }
        let scale = |k: Bytes| {
            let scaled = u128::from(k.0) * u128::from(rate.0) / u128::from(self.at.0);
            Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
        };
        EcnThresholds { rate, k_min: scale(self.k_min), k_max: scale(self.k_max), p_max: self.p_max }
    }
}

impl Switch {
    /// The engine's form, for a network with ports of these rates.
    pub fn config(&self, rates: &[BitsPerSec]) -> scenario::SwitchConfig {
        let mut rates = rates.to_vec();
        rates.sort_unstable();
        rates.dedup();
        let q16 = |alpha: f64| (alpha * 65536.0).round() as u32;
        let pfc = self.pfc.enabled.then(|| scenario::Pfc {
            reserve: self.pfc.reserve,
            headroom: match self.pfc.headroom {
                Headroom::Auto => scenario::Headroom::Auto,
                Headroom::Bytes(bytes) => scenario::Headroom::Fixed(bytes),
                Headroom::RateDelay(Multiple(factor)) => scenario::Headroom::RateDelay(factor),
            },
            // The engine counts in 1/65536; the least share it knows is one of them.
            alpha_q16: q16(self.pfc.alpha).max(1),
            alpha_scales: self.pfc.alpha_scales,
            resume_offset: self.pfc.resume_offset,
            classes: 1,
        });
        let ecn = self.ecn.enabled.then(|| scenario::Ecn {
            by_rate: rates.iter().map(|rate| self.ecn.thresholds(*rate)).collect(),
            per_port: self.ecn.per == EcnQueue::Port,
        });
        let egress_alpha_q16 = q16(self.egress_alpha).max(1);
        scenario::SwitchConfig { buffer: self.buffer, model: self.model, pfc, egress_alpha_q16, ecn }
    }
}
