//! ExpressPass: data goes only where a credit has gone before (Cho, Jang and Han, SIGCOMM 2017).
//!
//! The receiver sends credits at a rate it controls; every port and NIC lets credits through at the rate at which the
//! full data packets they call for fill the link the other way, and drops the rest; the sender answers each credit with one
//! data packet along the same path backwards. So credits are lost instead of data.
//!
//! Source: the public ns-2 simulator of the authors, as proactive facts sections 1.1 to 1.9 describe it (it is what
//! Aeolus was built on), and for the first round trip Aeolus (Hu et al., SIGCOMM 2020; facts, section 4). Policies
//! ([`super::unscheduled::Unscheduled`]):
//!
//! | policy | first round trip | repair |
//! | --- | --- | --- |
//! | `Wait` | request only: plain ExpressPass | go-back-N on NACKs |
//! | `Aeolus` | burst that switches may drop, probe | ACK per unscheduled packet, probe's answer; sent again on credits |
//! | `Plain` | burst at low priority: the *priority queueing* alternative | a timeout per packet, so every packet has an ACK |
//!
//! *Deviations from that simulator:*
//! - A receiver that has everything stops crediting and says so in an ACK with [`COMPLETE`]; the sender repeats its
//!   credit stop until then. There, nothing tells the sender, and a lost last packet hangs the flow. One control packet per flow.
//! - A credit stop names the first packet never sent: a gap before it is a loss like one before a data packet.
//! - Numbers count packets, not bytes. Rates are not cut to whole bytes per second, nor tokens to whole bytes.
//! - The round trip a sender takes from a request's first credit never shrinks, and repeated requests tell it only while it is
//!   unknown: the credit may belong to an earlier request.
//! - A host's data queue has no limit, where the reference has 1000 packets: only credited packets and control wait in it.
//! - Over Aeolus the receiver names missing scheduled packets when a final credit stop comes and every
//!   [`Params::retransmit_timeout`] from then on, not only after 10 ms of silence.
//! - A sender that has had no credit for [`Params::credit_timeout`] asks again, though the reference waits forever. That is also how long a request that is
//!   lost costs where credits of before a stop are still on their way: as there, any credit ends the wait for the request's answer.
//! - Where a link's directions differ in rate, credits on it get their share of the slower one; there, links are symmetric.
//! - Switches choose nothing here: credits must take the data path backwards, which the engine's paths ensure.
//!
//! # What a host does ([`Host`])
//!
//! Each flow has a [`Sender`] at its source and a [`Receiver`] at its destination, under the same dense slot number. After *every* call of
//! `start`, `on_packet`, `on_timeout` and `poll_unscheduled` the host calls `poll_transmit` until it says `None` and puts each
//! packet into the host port's queue of its [`Class`]. When that port is idle and has nothing queued but low-priority or
//! unripe credit packets, it asks its flows in turn for `poll_unscheduled`. Each half has one timer, `next_timeout`.
//! Ports, of NICs too, are shaped by [`CreditShaper`](crate::port::credits::CreditShaper).
//!
//! # Fields of a packet
//!
//! | kind | from | class | bytes on the wire | `seq` | `ext` | flags |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | `CreditRequest` | sender | scheduled | 84 | first packet never sent | [`Length`] | |
//! | `Credit` | receiver | credit | 76 to 92, random | credit number | [`Stamp`] | |
//! | `Data` on a credit | sender | scheduled | 78 + payload, at least 84 | packet number | the credit's [`Stamp`] | |
//! | `Data` before | sender | unscheduled | the same | packet number | [`Length`] | |
//! | `CreditStop` | sender | scheduled | 84 | first packet never sent | [`Length`] | [`FINAL`] |
//! | `Nack`, go-back-N | receiver | scheduled | 84 | packet expected | 0 | |
//! | `Nack`, selective | receiver | scheduled | 84 | first missing packet | bit i: `seq + i` is missing | |
//! | `Ack` | receiver | scheduled | 84 | packet number | 0 | [`COMPLETE`] |
//! | `Probe` | sender | scheduled | 84 (a 64-byte frame) | unscheduled packets sent | [`Length`] | [`REQUEST`] |
//! | `ProbeAck` | receiver | scheduled | 84 | the probe's | 0 | [`COMPLETE`] |

mod credit_rate;
mod host;
mod outstanding;
mod params;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use credit_rate::CreditRate;
pub use host::{CREDIT_PRIORITY, DATA_PRIORITY, Host, LOW_PRIORITY};
pub use params::{Config, Feedback, Framing, Invalid, Params, UnscheduledRepair};
pub use receiver::Receiver;
pub use sender::{Sender, SenderCounters};

use crate::units::{Duration, Time};

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Asks for credits.
    CreditRequest,
    /// Permits one data packet.
    Credit,
    /// Carries payload.
    Data,
    /// Asks for no more credits.
    CreditStop,
    /// Names missing packets.
    Nack,
    /// Names a packet that has arrived.
    Ack,
    /// Follows the last unscheduled packet.
    Probe,
    /// Answers a probe.
    ProbeAck,
}

impl Kind {
    /// Whether it travels from the flow's receiver to its sender.
    #[inline]
    pub fn is_from_receiver(self) -> bool {
        matches!(self, Kind::Credit | Kind::Nack | Kind::Ack | Kind::ProbeAck)
    }
}

/// The queue a packet belongs in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// The shaped credit queue.
    Credit,
    /// The data queue.
    Scheduled,
    /// With Aeolus the data queue, subject to selective dropping; with priority queueing a queue below it.
    Unscheduled,
}

/// Flag of `Ack` and `ProbeAck`: everything has arrived.
pub const COMPLETE: u8 = 1;
/// Flag of `Probe`: it is a credit request too.
pub const REQUEST: u8 = 2;
/// Flag of `CreditStop`: nothing is left to send.
pub const FINAL: u8 = 4;

/// A packet as transports see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// See the table of fields above.
    pub ext: u64,
    /// Flow slot, the same at both ends.
    pub slot: u32,
    /// See the table of fields above.
    pub seq: u32,
    /// Bytes, in the convention of [`Framing`].
    pub size: u16,
    /// What it is.
    pub kind: Kind,
    /// Its queue.
    pub class: Class,
    /// [`COMPLETE`], [`REQUEST`], [`FINAL`].
    pub flags: u8,
}

/// Length of a flow as senders state it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Length {
    /// Packets of the flow.
    pub packets: u32,
    /// Of these, still to be sent on credits; for `Data` 0.
    pub remaining: u32,
}

impl Length {
    /// As an extension word.
    #[inline]
    pub fn pack(self) -> u64 {
        u64::from(self.packets) << 32 | u64::from(self.remaining)
    }

    /// From an extension word.
    #[inline]
    pub fn unpack(ext: u64) -> Self {
        Self { packets: (ext >> 32) as u32, remaining: ext as u32 }
    }
}

/// What a credit carries and its data packet brings back: the credit's number modulo 2^24 and when it was sent, in
/// picoseconds modulo 2^40 (1.0995 s). Differences are exact while less than half of that many credits were lost in a
/// row and the round trip is shorter than that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp(pub u64);

const TIME_BITS: u32 = 40;
const SEQ_MASK: u32 = (1 << (64 - TIME_BITS)) - 1;

impl Stamp {
    /// Round trips from this time on cannot be told from such that are shorter by it.
    pub const LONGEST: Duration = Duration(1 << TIME_BITS);

    /// The stamp of credit `seq` sent at `at`.
    #[inline]
    pub fn new(seq: u32, at: Time) -> Self {
        Self(u64::from(seq & SEQ_MASK) << TIME_BITS | at.0 & ((1 << TIME_BITS) - 1))
    }

    /// How far this credit is beyond credit `expected`.
    #[inline]
    pub fn beyond(self, expected: u32) -> u32 {
        ((self.0 >> TIME_BITS) as u32).wrapping_sub(expected) & SEQ_MASK
    }

    /// Time since the credit was sent.
    #[inline]
    pub fn age(self, now: Time) -> Duration {
        Duration(now.0.wrapping_sub(self.0) & ((1 << TIME_BITS) - 1))
    }
}

/// `at + d`, at most [`Time::NEVER`].
#[inline]
fn later(at: Time, d: Duration) -> Time {
    Time(at.0.saturating_add(d.0))
}
