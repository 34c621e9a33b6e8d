//! What can be set about NDP, and the settings of its sources.

use crate::transport::message::Sizes;
use crate::transport::unscheduled::{BurstParams, BurstStop, RepairOrder, Unscheduled, burst_packets};
use crate::units::{BitsPerSec, Duration};

/// Times a message's wait for pulls doubles, at most: to 64 timeouts.
pub(super) const DOUBLINGS: u32 = 6;

/// Parameters of an NDP host; all hosts of a network share them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Sizes of frames.
    pub sizes: Sizes,
    /// The first window: `packets` is NDP's initial window (paper: 30 packets, 23 for incasts; facts 3.2 and, for fast
    /// networks, one bandwidth-delay product plus 8). `policy`: [`Unscheduled::Plain`] is NDP, [`Unscheduled::Aeolus`] has a
    /// probe and no trimming, [`Unscheduled::Wait`] asks for pulls first.
    pub burst: BurstParams,
    /// Time between two pulls of a host: a full packet on its wire, of that `rate`. More than 0. htsim adds 1 % (facts 3.1).
    pub pull_interval: Duration,
    /// See `pull_interval`.
    pub rate: BitsPerSec,
    /// A packet without answer for this long is lost, and a sender that hears nothing this long sends a packet unasked.
    /// More than 0; default 1 ms (paper). `u64::MAX` ps: never.
    pub rto: Duration,
    /// Each message draws its timeout from this many percent around `rto`, 0 to 100. Default 0; the authors' simulator 25
    /// where it clamps.
    pub rto_jitter: u32,
    /// A returned packet is sent again at once when at least this many percent of the recent answers were ACKs: then not
    /// the receiver but the path is to blame. 0 to 101 (never); default 25 (paper, section on return to sender).
    pub returned_ack_share: u32,
    /// A pull that finds nothing to send is kept until a loss is known. Default: only with Aeolus (facts 9.4: thrown away,
    /// the mean flow completion time of a web server workload rises from 19.9 to 29.4 us).
    pub keep_idle_pulls: bool,
    /// Pulls outstanding over all messages of a receiver, at most; above 0. Without a limit every message has a window of its
    /// own, and senders that were held up send all of theirs together. Default `u64::MAX`, none, as in the paper, with
    /// Aeolus too, where ports that do not trim then drop what does not fit; three first windows lose none.
    pub pull_limit: u64,
    /// Aeolus: a probe makes the receiver queue one pull for every unscheduled packet it lacks. Default on (facts 9.4).
    pub pull_missing: bool,
    /// Aeolus: after a probe's answer the sender waits this long before it takes open packets for lost, since on sprayed
    /// paths they may still arrive. Default 0; one queueing delay avoids needless copies (facts 4.5).
    pub verdict_delay: Duration,
    /// Priority of ACKs, NACKs and pulls, 0 to 7. Default 0: the header queue.
    pub control_priority: u8,
    /// Priority of data and probes, 0 to 7. Default 1.
    pub data_priority: u8,
}

impl Params {
    /// For a host to which data come at a rate: its pulls keep the pace of its own link.
    #[must_use]
    pub fn at(self, rate: BitsPerSec) -> Self {
        Self { pull_interval: self.pull_interval.at_rate(self.rate, rate), rate, ..self }
    }

    /// The longest time that a sender waits for pulls, but for the jitter of its timeout.
    pub fn longest_wait(&self) -> Duration {
        Duration(self.rto.0.saturating_mul(1 << DOUBLINGS))
    }

    /// NDP as in the paper over links of a rate: a window of one bandwidth-delay product and 8 packets.
    ///
    /// `bdp_bytes`: base RTT times link rate. `wire_overhead`: bytes the wire adds to each frame.
    pub fn ndp(rate: BitsPerSec, bdp_bytes: u64, sizes: Sizes, wire_overhead: u32) -> Self {
        let full = sizes.full() + wire_overhead;
        Self {
            sizes,
            burst: BurstParams {
                policy: Unscheduled::Plain,
                packets: burst_packets(bdp_bytes, full) + 8,
                stop: BurstStop::Never,
                order: RepairOrder::LostFirst,
                resend_open: false,
                ordered_path: false,
            },
            pull_interval: rate.serialisation(u64::from(full)),
            rate,
            rto: Duration::from_us(1000),
            rto_jitter: 0,
            returned_ack_share: 25,
            keep_idle_pulls: false,
            pull_limit: u64::MAX,
            pull_missing: true,
            verdict_delay: Duration(0),
            control_priority: 0,
            data_priority: 1,
        }
    }

    /// NDP over Aeolus: an ordinary queue that drops unscheduled packets selectively, probes, no trimming (facts 4.5).
    pub fn aeolus(rate: BitsPerSec, bdp_bytes: u64, sizes: Sizes, wire_overhead: u32) -> Self {
        let plain = Self::ndp(rate, bdp_bytes, sizes, wire_overhead);
        let packets = burst_packets(bdp_bytes, sizes.full() + wire_overhead);
        Self {
            burst: BurstParams { policy: Unscheduled::Aeolus, packets, ..plain.burst },
            keep_idle_pulls: true,
            ..plain
        }
    }

    /// The settings of htsim's reference runs: 9000-byte packets, all of full size, 30 at first, pulls at 99 % of the
    /// link's rate, a timeout that never matters.
    pub fn htsim(rate: BitsPerSec) -> Self {
        let plain = Self::ndp(rate, 0, Sizes::HTSIM, 0);
        let interval = Duration(plain.pull_interval.0 * 100 / 99);
        Self {
            burst: BurstParams { packets: 30, ..plain.burst },
            pull_interval: interval,
            rto: Duration::from_us(50_000),
            ..plain
        }
    }
}
