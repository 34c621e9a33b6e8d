//! Switch ports that let credits through at the rate of the data they call for (ExpressPass): credits in class 0, data in
//! class 1, the low class of priority queueing in class 2.
//!
//! Source: the rules are those of `paceline_proto::transport::express_pass::CreditShaper`. The buffer
//! (`switch.buffer`) and the threshold of selective dropping are for data; the credit queue has a limit of its own, and in a shared buffer what waits in it is counted.

use paceline_proto::transport::express_pass::{CREDIT_PRIORITY, CreditShaper, Framing, Next, ShaperParams};
use paceline_proto::units::Time;

use crate::error::InputError;
use crate::net::Net;
use crate::net::packet::{Arena, Handle, Packet};
use crate::net::port::Port;
use crate::scenario::Scenario;

use super::Special;

/// The shapers of all ports; those of NICs are part of their endpoints.
pub(crate) struct Credits {
    shapers: Vec<CreditShaper>,
}

impl Credits {
    pub(super) fn new(scenario: &Scenario, framing: &Framing, params: ShaperParams) -> Result<Self, InputError> {
        let graph = &scenario.graph;
        // The data that credits call for come the other way, which may be slower.
        let shaper = |p: &crate::graph::PortInfo| {
            CreditShaper::new(p.rate.min(graph.opposite(p).rate), framing, params)
                .map_err(|e| InputError::new("no credit shaper").field(e.field).value(e.value).allowed(e.allowed))
        };
        Ok(Self { shapers: graph.ports.iter().map(shaper).collect::<Result<_, _>>()? })
    }

    /// When the port starts its next packet if nothing arrives before, and its class; the transmitter is free from `free` on.
    #[inline]
    pub(super) fn next(&self, port: u32, p: &Port, arena: &Arena, free: u64) -> Option<(u64, u8)> {
        let credit = p.waiting & 1 != 0;
        let size = credit.then(|| arena[p.head(CREDIT_PRIORITY)].size);
        match self.shapers[port as usize].next(Time(free), size, p.waiting & !1 != 0) {
            Next::Credit(at) => Some((at.0.max(free), CREDIT_PRIORITY)),
            Next::Data => Some((free, (p.waiting & !1).trailing_zeros() as u8)),
            Next::Idle => None,
        }
    }

    /// A packet has been taken from its queue to be sent at `now`.
    #[inline]
    pub(super) fn sent(&mut self, port: u32, class: u8, size: u16, now: u64) {
        if class == CREDIT_PRIORITY {
            self.shapers[port as usize].sent(Time(now), size);
        }
    }
}

impl Net {
    /// Whether what arrives at an idle port may go at once: credits if the bucket holds enough, which is then taken; data if there
    /// would be room for them.
    pub(super) fn passes_shaper(&mut self, port: u32, h: Handle, now: u64) -> bool {
        let Packet { class, size, .. } = self.arena[h];
        if class != CREDIT_PRIORITY {
            return !self.is_full(port, h, 0);
        }
        let Some(Special::Credits(c)) = self.special.as_deref_mut() else { return false };
        let shaper = &c.shapers[port as usize];
        let passes = shaper.admits(0, size) && shaper.next(Time(now), Some(size), false) == Next::Credit(Time(now));
        if passes {
            c.sent(port, class, size, now);
        }
        passes
    }

    /// A packet is let into its queue, or dropped.
    pub(super) fn credits_arrival(&mut self, port: u32, h: Handle, now: u64) {
        let packet = self.arena[h];
        let p = &self.ports[port as usize];
        let credits = p.class_bytes(CREDIT_PRIORITY);
        let Some(Special::Credits(c)) = self.special.as_deref() else { return };
        if packet.class == CREDIT_PRIORITY {
            if c.shapers[port as usize].admits(credits, packet.size) {
                self.keep(port, h, CREDIT_PRIORITY, now);
            } else {
                self.counters.drops_credit += 1;
                self.port_counts[port as usize].drops_credit += 1;
                self.arena.release(h);
            }
        } else if self.is_full(port, h, p.total - credits) {
            self.drop_packet(port, h, &packet, now);
        } else {
            self.keep(port, h, packet.class, now);
        }
    }
}
