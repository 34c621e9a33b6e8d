//! What can be set about Homa.

use super::cutoffs::{Cutoffs, MAX_LEVELS};
use crate::transport::message::Sizes;
use crate::transport::unscheduled::{BurstParams, BurstStop, RepairOrder, Unscheduled, burst_packets};
use crate::units::{BitsPerSec, Duration};

/// Which priority unscheduled packets have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnscheduledPriority {
    /// By the size of the message (facts 2.4).
    #[default]
    MessageSize,
    /// By the bytes that remain when the packet is sent (the authors' simulator; facts 2.4).
    Remaining,
    /// The lowest of all: an option for Aeolus (facts 4.5; at most 5 % of effect, 9.3).
    Lowest,
}

/// Parameters of a Homa host; all hosts of a network share them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Sizes of frames.
    pub sizes: Sizes,
    /// What is sent unasked: `packets` is `RTTbytes` in packets, rounded up. `policy`: [`Unscheduled::Plain`] is Homa,
    /// [`Unscheduled::Aeolus`] adds probes, ACKs and repair by grants, [`Unscheduled::Wait`] asks for grants first.
    pub burst: BurstParams,
    /// Packets of a message that a receiver keeps on their way: `RTTbytes` (facts 2.3). 1 to 2^20.
    pub rtt_packets: u32,
    /// Priorities in use, 2 to 8. Default 8.
    pub levels: u8,
    /// How many of them, from the highest, are for unscheduled packets, and of which messages. The rest is for scheduled
    /// ones.
    pub cutoffs: Cutoffs,
    /// What decides the priority of an unscheduled packet.
    pub unscheduled_priority: UnscheduledPriority,
    /// Degree of overcommitment: senders kept granted at a time, at least 1. Default: the scheduled levels.
    pub overcommitment: u32,
    /// Grants outstanding over all messages of a receiver stay within overcommitment times `RTTbytes`, also for messages that
    /// are fully granted. Default: only with Aeolus, whose promise needs it (facts 9.3).
    pub cap_outstanding: bool,
    /// A message of which less than `RTTbytes` is left to be granted gets the priority of an unscheduled message of that size,
    /// if better. Default off; on in the authors' simulator (facts 2.3).
    pub tail_boost: bool,
    /// Time between two grants to a sender without anything arriving: a full packet on the wire, of that `rate`. More than 0.
    pub grant_interval: Duration,
    /// See `grant_interval`.
    pub rate: BitsPerSec,
    /// A receiver that is owed data and hears nothing of the message this long sends a RESEND. More than 0. Default 5 ms
    /// (the Linux module; the ns-3 port has 1 ms; facts 2.5), 10 ms with Aeolus (facts 9.3): granted packets wait under strict priority, and a shorter
    /// timer takes them for lost. At `u64::MAX` ps there is no recovery, as in the
    /// authors' simulator.
    pub resend_timeout: Duration,
    /// A sender that has heard nothing at all of the receiver this long after its last packet repeats the first one, or
    /// the probe. More than 0. Default: as `resend_timeout`.
    pub sender_timeout: Duration,
    /// A sender that may send nothing and has heard nothing this long asks for the outcome. More than 0. Default 10 ms (the
    /// ns-3 port's outbound timeout; facts 2.5).
    pub done_timeout: Duration,
    /// Most packets one RESEND asks for, at least 1. Default: the whole first gap. 1 is what makes plain Homa slow enough
    /// for the published figure (facts 9.3).
    pub resend_packets: u32,
    /// At most one RESEND to a sender at a time. Default on (Homa RFC).
    pub one_resend_per_peer: bool,
}

impl Params {
    /// For a host to which data come at a rate: its grants keep the pace of its own link.
    #[must_use]
    pub fn at(self, rate: BitsPerSec) -> Self {
        Self { grant_interval: self.grant_interval.at_rate(self.rate, rate), rate, ..self }
    }

    /// Homa over links of a rate. `rtt_bytes`: bytes on the wire that fill the base RTT; `wire_overhead`: bytes the wire
    /// adds to each frame.
    pub fn homa(rate: BitsPerSec, rtt_bytes: u64, sizes: Sizes, wire_overhead: u32, cutoffs: Cutoffs) -> Self {
        let full = sizes.full() + wire_overhead;
        let packets = burst_packets(rtt_bytes, full).max(1);
        Self {
            sizes,
            burst: BurstParams {
                policy: Unscheduled::Plain,
                packets,
                stop: BurstStop::Never,
                order: RepairOrder::LostFirst,
                resend_open: false,
                ordered_path: false,
            },
            rtt_packets: packets,
            levels: MAX_LEVELS,
            cutoffs,
            unscheduled_priority: UnscheduledPriority::MessageSize,
            overcommitment: u32::from(MAX_LEVELS - cutoffs.unscheduled.clamp(1, MAX_LEVELS - 1)),
            cap_outstanding: false,
            tail_boost: false,
            grant_interval: rate.serialisation(u64::from(full)),
            rate,
            resend_timeout: Duration::from_us(5000),
            sender_timeout: Duration::from_us(5000),
            done_timeout: Duration::from_us(10_000),
            resend_packets: u32::MAX,
            one_resend_per_peer: true,
        }
    }

    /// Homa with Aeolus: the unscheduled part may be dropped selectively and is repaired by grants (facts 4.5, 9.6).
    pub fn aeolus(rate: BitsPerSec, rtt_bytes: u64, sizes: Sizes, wire_overhead: u32, cutoffs: Cutoffs) -> Self {
        let plain = Self::homa(rate, rtt_bytes, sizes, wire_overhead, cutoffs);
        Self {
            burst: BurstParams { policy: Unscheduled::Aeolus, stop: BurstStop::FirstCredit, ..plain.burst },
            cap_outstanding: true,
            resend_timeout: Duration::from_us(10_000),
            sender_timeout: Duration::from_us(10_000),
            ..plain
        }
    }

    /// Levels in use, within what a packet can say.
    fn level_count(&self) -> u8 {
        self.levels.clamp(2, MAX_LEVELS)
    }

    /// The highest level of scheduled packets.
    pub(super) fn first_scheduled(&self) -> u8 {
        self.cutoffs.unscheduled.clamp(1, self.level_count() - 1)
    }

    /// The lowest level.
    pub(super) fn lowest(&self) -> u8 {
        self.level_count() - 1
    }

    /// Level of an unscheduled packet (or a probe) of a message of `bytes` of which `remaining` have not been sent.
    #[inline]
    pub(super) fn unscheduled_level(&self, bytes: u64, remaining: u64) -> u8 {
        match self.unscheduled_priority {
            UnscheduledPriority::MessageSize => self.cutoffs.level(bytes),
            UnscheduledPriority::Remaining => self.cutoffs.level(remaining),
            UnscheduledPriority::Lowest => return self.lowest(),
        }
        .min(self.first_scheduled() - 1)
    }

    /// Levels of scheduled packets, the lowest ones.
    pub(super) fn scheduled_levels(&self) -> u8 {
        self.level_count() - self.first_scheduled()
    }
}
