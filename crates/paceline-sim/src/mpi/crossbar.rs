//! An ideal network: the time below which a program cannot come, whatever lies between the links of its hosts.
//!
//! Every rank has the links of its host to a switch without limits that stores and forwards packets. A message alone takes
//! what a flow at line rate takes on the way of its sender's link and its receiver's. Messages do not hold each other up one by
//! one, since a network may put any of them first; but an operation that waits for several begins no earlier than the
//! links can have carried all of them ([`Load`]), and the program ends no earlier than they can have carried everything.
//! A send of a large message is over when the message has arrived. Requests and grants take their own time only.
//!
//! Why that is a bound: what a rank does at an instant depends on what has arrived, and no operation begins later because something
//! arrives earlier. So, message by message from the beginning on, no network that has these links delivers one earlier or lets a rank
//! go on earlier than this one. It holds as long as messages meet the same receives: without receives from any source, or
//! sends, receives or computations of one processor whose order depends on time. This is the denominator of slowdowns.

use std::sync::Arc;

use paceline_proto::units::BitsPerSec;

use crate::framing::Framing;
use crate::graph::Side;
use crate::ideal;

/// The links of a rank's host. Of several those that one message takes are told apart from all together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Access {
    /// To the switch: the fastest one, and the least delay.
    pub out: Side,
    /// From the switch, likewise.
    pub into: Side,
    /// Rate of all together, to the switch.
    pub out_all: BitsPerSec,
    /// Rate of all together, from the switch.
    pub in_all: BitsPerSec,
}

impl Access {
    /// One link with the same rate and delay both ways.
    pub fn symmetric(side: Side) -> Self {
        Self { out: side, into: side, out_all: side.rate, in_all: side.rate }
    }
}

/// What a message asks of the links of its two ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Rank that sends it.
    pub from: u32,
    /// Rank that gets it.
    pub to: u32,
    /// Payload.
    pub bytes: u64,
    /// When its sender's link may have it first, the time on that link's wire and in the hosts added, ps.
    pub sent_ps: u64,
    /// When its receiver's link may have it first, the time on that link's wire and in the hosts added, ps.
    pub reached_ps: u64,
}

/// The network.
#[derive(Clone, PartialEq, Debug)]
pub struct Crossbar {
    /// The links of each rank.
    pub access: Arc<[Access]>,
    /// Sizes of packets.
    pub framing: Framing,
    /// Time of a message in the hosts at both ends, ps.
    pub hosts_ps: u64,
    /// The two hosts are linked to each other, without a switch.
    pub direct: bool,
}

impl Crossbar {
    /// What a message that is sent now asks of the links, and when it has arrived if it is alone, ps.
    pub(super) fn carry(&self, from: u32, to: u32, bytes: u64, now: u64) -> (Load, u64) {
        let (out, into) = (self.access[from as usize].out, self.access[to as usize].into);
        let way = [out, into];
        let way = if self.direct { &way[..1] } else { &way };
        let sum = |parts: &[u64]| parts.iter().fold(0, |a: u64, b| a.saturating_add(*b));
        let delay = sum(&[self.hosts_ps, out.delay.0, if self.direct { 0 } else { into.delay.0 }]);
        let alone = ideal::line_rate(bytes, &self.framing, way, &[]).receiver.0;
        let first = self.wire_bytes(bytes.min(self.framing.payload.into()));
        let stored = if self.direct { 0 } else { out.rate.serialisation(first).0 };
        let sent_ps = sum(&[now, self.hosts_ps, out.delay.0]);
        let load = Load { from, to, bytes, sent_ps, reached_ps: sum(&[now, delay, stored]) };
        (load, sum(&[now, self.hosts_ps, alone]))
    }

    /// From the end of its sender's link on a packet takes at least this, ps: a header's time on a receiver's link, and its delay.
    pub(super) fn least_beyond(&self) -> u64 {
        let of_link = |a: &Access| a.into.rate.serialisation(self.header()).0.saturating_add(a.into.delay.0);
        if self.direct { 0 } else { self.access.iter().map(of_link).min().unwrap_or(0) }
    }

    /// What a packet adds to its payload on the wire, bytes.
    pub(super) fn header(&self) -> u64 {
        u64::from(self.framing.header) + u64::from(self.framing.wire_overhead)
    }

    /// Bytes on the wire of a message, or of several that share packets, in the fewest packets.
    pub(super) fn wire_bytes(&self, bytes: u64) -> u64 {
        bytes.saturating_add(bytes.div_ceil(u64::from(self.framing.payload.max(1))).saturating_mul(self.header()))
    }

    /// How long the links to a rank are busy with so many bytes on the wire, ps.
    pub(super) fn in_time(&self, rank: u32, bytes: u64) -> u64 {
        self.access[rank as usize].in_all.serialisation(bytes).0
    }

    /// The same of the links from a rank.
    pub(super) fn out_time(&self, rank: u32, bytes: u64) -> u64 {
        self.access[rank as usize].out_all.serialisation(bytes).0
    }
}
