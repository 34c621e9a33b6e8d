//! Switch ports that let credits through at the rate of the data they call for (ExpressPass): credits in class 0, data in
//! class 1, the low class of priority queueing in class 2.
//!
//! Source: the rules are those of `paceline_proto::transport::express_pass::CreditShaper`. The buffer
//! (`switch.buffer`) is for data; the credit queue has a limit of its own, and in a shared buffer what waits in it is counted.

use paceline_proto::transport::express_pass::{CREDIT_PRIORITY, CreditShaper, Framing, Next, ShaperParams};
use paceline_proto::units::Time;

use crate::error::InputError;
use crate::net::Net;
use crate::packet::{Arena, Handle};
use crate::port::Port;
use crate::scenario::Scenario;

use super::Special;

/// The shapers of all ports; those of NICs are part of their endpoints.
pub(crate) struct Credits {
    shapers: Vec<CreditShaper>,
}

impl Credits {
    pub(super) fn new(scenario: &Scenario, framing: &Framing, params: ShaperParams) -> Result<Self, InputError> {
        let shaper = |p: &crate::graph::PortInfo| {
            CreditShaper::new(p.rate, framing, params)
                .map_err(|e| InputError::new("no credit shaper").field(e.field).value(e.value).allowed(e.allowed))
        };
        Ok(Self { shapers: scenario.graph.ports.iter().map(shaper).collect::<Result<_, _>>()? })
    }

    fn decide(&self, port: u32, p: &Port, arena: &Arena, now: u64) -> Next {
        let credit = p.waiting & 1 != 0;
        let size = credit.then(|| arena[p.head(CREDIT_PRIORITY)].size);
        self.shapers[port as usize].next(Time(now), size, p.waiting & !1 != 0)
    }

    /// When the port starts its next packet if nothing arrives before.
    pub(super) fn next(&self, port: u32, p: &Port, arena: &Arena) -> Option<u64> {
        match self.decide(port, p, arena, p.free) {
            Next::Credit(at) => Some(at.0.max(p.free)),
            Next::Data => Some(p.free),
            Next::Idle => None,
        }
    }

    /// The class served at `now`.
    pub(super) fn pick(&mut self, port: u32, p: &Port, arena: &Arena, now: u64) -> Option<u8> {
        match self.decide(port, p, arena, now) {
            Next::Credit(at) if at.0 <= now => {
                let size = arena[p.head(CREDIT_PRIORITY)].size;
                self.shapers[port as usize].sent(Time(now), size);
                Some(CREDIT_PRIORITY)
            }
            Next::Data => Some((p.waiting & !1).trailing_zeros() as u8),
            Next::Credit(_) | Next::Idle => None,
        }
    }
}

impl Net {
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
