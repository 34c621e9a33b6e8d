//! `[switch]`: packet buffer, PFC and ECN marking.

use paceline_proto::port::trimming::TrimmingPort;
use paceline_proto::port::{congestion_point, red, selective_drop};
use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use crate::scenario::{self, BufferModel, EcnThresholds, Framing};

use super::declare::section;
use super::value::{Multiple, choice, either};

choice! { BufferModel { Shared = "shared", PerPort = "per_port", } }

section! {
    /// Every switch.
    pub struct Switch {
        /// Packet buffer: of the switch (`model = "shared"`) or of each port (`"per_port"`).
        buffer: Bytes = "32MiB", in "[1KB, 4GB]", from "HPCC, sec. 5.1; reference simulator, BUFFER_SIZE 32";
        /// How the buffer is divided: one pool for all ports, or a fixed part per port.
        model: BufferModel = "shared", from "HPCC reference simulator";
        /// With `model = "per_port"`: at which port a packet takes room. `"auto"`: with PFC at the port it came by, without at the port
        /// by which it will leave.
        accounting: Accounting = "auto", from "Paceline; 802.1Qbb pauses ingress ports";
        /// Who goes next at a switch port where several classes wait: after class 0 the others in turn, or by strict priority, the lowest
        /// number first. `"auto"`: strict for Homa, NDP and ExpressPass, else in turn. Hosts serve their flows in turn, whatever their
        /// classes.
        scheduler: Scheduler = "auto", from "Paceline";
        /// Time through the switch, added to what leaves it.
        delay: Duration = "0s", in "[0s, 1s]", from "Aeolus, fig. 17: 250 ns; HPCC: none";
        /// Without PFC and with a shared buffer: an egress queue may hold this many times what is free in the pool.
        egress_alpha: f64 = 1.0, in "(0, 1024]", from "Choudhury and Hahne, ToN 1998: dynamic threshold";
        sections {
            /// Priority flow control.
            pfc: Pfc;
            /// ECN marking.
            ecn: Ecn;
            /// RED on the average queue.
            red: Red;
            /// Congestion notifications to the senders' adapters.
            qcn: Qcn;
            /// Dropping of unscheduled packets before others.
            selective_drop: SelectiveDrop;
            /// Trimming in place of dropping.
            trimming: Trimming;
        }
    }
}

choice! {
    /// At which port of a switch a packet takes room.
    pub enum Accounting {
        /// With PFC `input`, without `output`.
        Auto = "auto",
        /// That by which it will leave.
        Output = "output",
        /// That by which it came.
        Input = "input",
        /// Both: it is dropped where either is full.
        Both = "both",
    }
}

choice! {
    /// Who goes next at a port where several classes wait.
    pub enum Scheduler {
        /// Strict priority where the scheme is a message transport, else round robin.
        Auto = "auto",
        /// Class 0 first, the others in turn.
        RoundRobin = "round_robin",
        /// The lowest class first.
        Strict = "strict",
    }
}

choice! {
    /// How the threshold is compared with the queue.
    pub enum DropAccounting {
        /// Dropped when the queue before the packet is at the threshold or above.
        Before = "before",
        /// Dropped when the queue with the packet would be above it.
        After = "after",
    }
}

section! {
    /// Aeolus' rule: an unscheduled packet is dropped where the queue is over a small threshold, all others only where the
    /// buffer is full. What a commodity switch does with RED, both thresholds equal, and unscheduled packets marked
    /// as not ECN-capable.
    pub struct SelectiveDrop {
        /// Whether ports drop selectively.
        enabled: bool = false, from "Aeolus, SIGCOMM 2020, sec. 4.1";
        /// Bytes over which unscheduled packets are dropped.
        threshold: Bytes = "6KiB", in "[1B, 1GiB]", from "Aeolus, sec. 6: 6 KB";
        /// Whether the packet itself counts.
        accounting: DropAccounting = "before", from "as RED does; the text at hand does not say";
        /// Which queue counts: that of the packet's class or that of the whole port.
        per: EcnQueue = "port", from "the text at hand does not say";
    }
}

section! {
    /// NDP's switch ports: a short queue of data, one of headers; what does not fit loses its payload, not its header.
    /// Takes the place of `buffer`, `model` and `pfc`.
    pub struct Trimming {
        /// Whether ports trim.
        enabled: bool = false, from "NDP, SIGCOMM 2017, sec. 3.1";
        /// Full data packets that a port may hold, the one being sent among them.
        data_packets: u32 = 8, in "[1, 100000]", from "NDP, sec. 3.1; the authors' simulator counts the packet being sent";
        /// Headers and control packets that a port may hold, with the one being sent, as the full packets they have the room of.
        header_packets: u32 = 8, in "[1, 100000]", from "NDP, sec. 3.1: the same; htsim: twice as many";
        /// Headers that go before each data packet.
        headers_per_data: u32 = 10, in "[1, 1000000]", from "NDP, sec. 3.1; htsim: 100000";
        /// A header that does not fit goes back to its sender.
        return_to_sender: bool = true, from "NDP, sec. 3.2.4; htsim: off";
    }
}

either! {
    /// How much buffer is set aside per port for what arrives after a pause was sent.
    pub enum Headroom {
        /// What can arrive at most.
        Auto = "auto",
        ;
        /// This many bytes.
        Bytes(Bytes),
        /// This many times rate times delay.
        RateDelay(Multiple),
    }
}

either! {
    /// At how many bytes a class pauses or resumes.
    pub enum Threshold {
        /// By `headroom` and `resume_offset`.
        Auto = "auto",
        ;
        /// This many bytes.
        Bytes(Bytes),
    }
}

impl Threshold {
    fn given(&self) -> Option<Bytes> {
        if let Threshold::Bytes(bytes) = self { Some(*bytes) } else { None }
    }
}

impl Headroom {
    /// The engine's form.
    pub(crate) fn config(&self) -> scenario::Headroom {
        match *self {
            Headroom::Auto => scenario::Headroom::Auto,
            Headroom::Bytes(bytes) => scenario::Headroom::Fixed(bytes),
            Headroom::RateDelay(Multiple(factor)) => scenario::Headroom::RateDelay(factor),
        }
    }
}

section! {
    /// Priority flow control, per (ingress port, class). Without it a full buffer drops.
    pub struct Pfc {
        /// Whether switches send pause frames.
        enabled: bool = true, from "HPCC, sec. 5.1";
        /// Bytes every (ingress port, class) may hold before it draws on the shared pool.
        reserve: Bytes = "4096B", in "[0B, 1GiB]", from "HPCC reference simulator (fixed there)";
        /// Bytes set aside per port and class in use for what arrives after a pause was sent: a size, a multiple of rate times
        /// delay (half of the time there and back, `reaction` included), or `"auto"`, what may arrive at most: rate times the delay there and back, three largest frames (one over the
        /// threshold, one begun at either end) and eight pause frames. `paceline check` warns of less.
        headroom: Headroom = "3x", in "[0B, 1GiB]", from "HPCC reference simulator (fixed there)";
        /// An (ingress port, class) at host speed is paused when it holds this share of what is free in the pool.
        alpha: f64 = 0.125, in "(0, 1]", from "HPCC reference simulator: 1/8 (fixed there)";
        /// Double `alpha` for each factor 2, also one only begun, of the port's rate above that of the first host, up to 1.
        alpha_scales: bool = true, from "HPCC reference simulator (fixed there)";
        /// A paused class resumes when it is this far under its threshold.
        resume_offset: Bytes = "3072B", in "[0B, 1GiB]", from "HPCC reference simulator (fixed there)";
        /// With `model = "per_port"`: bytes of a class at the port they came by that a pause keeps to: it is sent when one more largest
        /// frame could take them above. `"auto"`: the port's buffer, an equal share for each class in use, less `headroom`.
        xoff: Threshold = "auto", in "[1B, 1GiB]", from "HotI 2011: 97 KB of 100 KB (99328 of 102400 bytes)";
        /// With `model = "per_port"`: a paused class resumes at this many bytes. `"auto"`: `resume_offset` under `xoff`.
        xon: Threshold = "auto", in "[0B, 1GiB]", from "HotI 2011: 80 KB of 100 KB (81920 of 102400 bytes)";
        /// From the arrival of a pause or resume frame to its effect.
        reaction: Duration = "0s", in "[0s, 1ms]", from "Paceline; 802.1Qbb allows some 0.6 us at 10 Gb/s";
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
    /// one step (`k_min` and `k_max` of `"300KB"` at 100 Gb/s); the other schemes ignore marks.
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

choice! {
    /// What RED does to a packet without ECN that it would mark.
    pub enum NonEct {
        /// Nothing.
        Pass = "pass",
        /// Drops it.
        Drop = "drop",
    }
}

section! {
    /// Random early detection on the average queue, at arrivals, in place of `switch.ecn`: bursts pass, standing queues do not.
    /// The defaults are those of `HotI` 2011 at 10 Gb/s.
    pub struct Red {
        /// Whether ports have RED; needs `switch.ecn.enabled = false`.
        enabled: bool = false, from "Floyd and Jacobson, ToN 1993";
        /// Which queue is averaged: that of the packet's class or that of the whole port.
        per: EcnQueue = "class", from "Paceline";
        /// Nothing is marked while the average is below.
        min: Bytes = "25600B", in "[0B, 1GiB]", from "HotI 2011: 25.6 KB";
        /// Everything is marked while the average is at it or above.
        max: Bytes = "76800B", in "[1B, 1GiB]", from "HotI 2011: 76.8 KB";
        /// Weight of the newest queue in the average; 1 is the queue as it is.
        weight: f64 = 0.002, in "(0, 1]", from "Floyd and Jacobson, ToN 1993, sec. 6; HotI 2011";
        /// Probability of a mark as the average nears `max`.
        p_max: f64 = 0.02, in "[0, 1]", from "Floyd and Jacobson, ToN 1993, sec. 7; HotI 2011";
        /// Packets that an idle link is taken to send meanwhile, on the wire.
        packet: Bytes = "1500B", in "[1B, 64KB]", from "HotI 2011: frames of 1500 B";
        /// From `max` to twice `max` the probability rises from `p_max` to 1, instead of being 1 at once.
        gentle: bool = false, from "Floyd 2000";
        /// What becomes of a packet without ECN in place of a mark; `"drop"` only without PFC.
        non_ect: NonEct = "pass", from "HotI 2011: only data feel RED (inferred); RFC 3168, sec. 7: \"drop\"";
    }
}

choice! {
    /// How congestion becomes the six bits of a notification.
    pub enum Quantiser {
        /// In proportion to the largest value there can be.
        Proportional = "proportional",
        /// The top six bits of the largest value there can be.
        TopBits = "top_bits",
    }
}

section! {
    /// Quantized congestion notification (IEEE 802.1Qau): switches sample frames of data classes, and tell the senders of some how
    /// congested the queue is; the limiters of their adapters (`host.qcn`) slow them down. Over TCP; runs in the sequential engine.
    pub struct Qcn {
        /// Whether switches notify; needs `host.adapter.enabled`.
        enabled: bool = false, from "IEEE 802.1Qau";
        /// Queue at which the loop shall settle (Qeq).
        set_point: Bytes = "20480B", in "[1B, 1GiB]", from "HotI 2011: 20 KB or 66 KB of a port's 100; IEEE8021-CN-MIB: 26,000 B";
        /// Weight w of the queue's growth since the last sample.
        weight: f64 = 2.0, in "[0, 1024]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Bytes between two samples where there is no congestion; an eighth of it where there is most.
        sample_base: Bytes = "150000B", in "[1B, 1GiB]", from "HotI 2011; IEEE8021-CN-MIB";
        /// Each interval is drawn from this share of it around it.
        jitter: f64 = 0.15, in "[0, 1]", from "QCN pseudo-code 2.x";
        /// How congestion becomes six bits.
        quantiser: Quantiser = "proportional", from "IEEE 802.1Qau; QCN pseudo-code: \"top_bits\"";
        /// The queue is averaged with a weight of 2 to the power of minus this for each frame; 0 is the queue as it is.
        average_shift: u8 = 0, in "[0, 16]", from "IEEE 802.1Qau; 9 averages as RED does with 0.002";
        /// Frames that open a connection (SYN and its answer) are neither sampled nor limited.
        exempt_syn: bool = false, from "IEEE 802.1Qau knows no TCP; for comparison";
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
    ///
    /// `framing`: sizes on the wire; `messages`: the scheme is a message transport.
    pub fn config(&self, rates: &[BitsPerSec], framing: &Framing, messages: bool) -> scenario::SwitchConfig {
        let mut rates = rates.to_vec();
        rates.sort_unstable();
        rates.dedup();
        let q16 = |alpha: f64| (alpha * 65536.0).round() as u32;
        let pfc = self.pfc.enabled.then(|| scenario::Pfc {
            reserve: self.pfc.reserve,
            headroom: self.pfc.headroom.config(),
            // The engine counts in 1/65536; the least share it knows is one of them.
            alpha_q16: q16(self.pfc.alpha).max(1),
            alpha_scales: self.pfc.alpha_scales,
            wraps: false,
            resume_offset: self.pfc.resume_offset,
            classes: 1,
            xoff: self.pfc.xoff.given(),
            xon: self.pfc.xon.given(),
            reaction: self.pfc.reaction,
        });
        let ecn = self.ecn.enabled.then(|| scenario::Ecn {
            by_rate: rates.iter().map(|rate| self.ecn.thresholds(*rate)).collect(),
            per_port: self.ecn.per == EcnQueue::Port,
        });
        let egress_alpha_q16 = q16(self.egress_alpha).max(1);
        let selective = self.selective_drop.enabled.then(|| selective_drop::SelectiveDrop {
            threshold: self.selective_drop.threshold.0.min(u64::from(u32::MAX)) as u32,
            limit: u32::MAX,
            accounting: match self.selective_drop.accounting {
                DropAccounting::Before => selective_drop::Accounting::Before,
                DropAccounting::After => selective_drop::Accounting::After,
            },
            scope: match self.selective_drop.per {
                EcnQueue::Port => selective_drop::Scope::Port,
                EcnQueue::Class => selective_drop::Scope::Queue,
            },
        });
        let red = self.red.enabled.then(|| scenario::RedQueues {
            params: red::Params {
                min: self.red.min.0 as u32,
                max: self.red.max.0 as u32,
                weight: self.red.weight,
                p_max: self.red.p_max,
                packet: self.red.packet.0 as u32,
                gentle: self.red.gentle,
                drop_non_ect: self.red.non_ect == NonEct::Drop,
            },
            per_port: self.red.per == EcnQueue::Port,
        });
        let qcn = self.qcn.enabled.then(|| congestion_point::CongestionPointParams {
            set_point: self.qcn.set_point.0 as u32,
            weight_q10: (self.qcn.weight * 1024.0).round() as u32,
            sample_base: self.qcn.sample_base.0 as u32,
            jitter: (self.qcn.jitter * 1e6).round() as u32,
            quantiser: match self.qcn.quantiser {
                Quantiser::Proportional => congestion_point::Quantiser::Proportional,
                Quantiser::TopBits => congestion_point::Quantiser::TopBits,
            },
            average_shift: self.qcn.average_shift,
        });
        let full = framing.payload + framing.header;
        let trimming = self.trimming.enabled.then(|| TrimmingPort {
            data_limit: self.trimming.data_packets.saturating_mul(full),
            header_limit: self.trimming.header_packets.saturating_mul(full),
            headers_per_data: self.trimming.headers_per_data,
            return_to_sender: self.trimming.return_to_sender,
        });
        let strict = match self.scheduler {
            Scheduler::Auto => messages,
            Scheduler::RoundRobin => false,
            Scheduler::Strict => true,
        };
        let (buffer, model) = (self.buffer, self.model);
        let accounting = match self.accounting {
            Accounting::Auto if self.pfc.enabled => scenario::Accounting::Input,
            Accounting::Auto | Accounting::Output => scenario::Accounting::Output,
            Accounting::Input => scenario::Accounting::Input,
            Accounting::Both => scenario::Accounting::Both,
        };
        scenario::SwitchConfig {
            buffer,
            model,
            accounting,
            pfc,
            egress_alpha_q16,
            ecn,
            strict,
            selective,
            red,
            qcn,
            exempt_syn: self.qcn.exempt_syn,
            trimming,
        }
    }
}
