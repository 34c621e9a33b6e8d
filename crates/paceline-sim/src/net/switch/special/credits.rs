//! Switch ports that let credits through at the rate of the data they call for (ExpressPass): credits in class 0, data in
//! class 1, the low class of priority queueing in class 2.
//!
//! Source: the rules are those of [`paceline_proto::port::credits`]. The buffer
//! (`switch.buffer`) and the threshold of selective dropping are for data; the credit queue has a limit of its own, and in a shared buffer what waits in it is counted.

use paceline_proto::port::credits::{CreditShaper, Next, ShaperParams};
use paceline_proto::transport::express_pass::{CREDIT_PRIORITY, Framing};
use paceline_proto::units::Time;

use crate::error::InputError;
use crate::net::Net;
use crate::net::port::Port;
use crate::net::switch::local::Fixed;
use crate::packet::{Handle, Packet};
use crate::record::PacketEvent;
use crate::scenario::Scenario;

use super::{PortRules, Special};

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

    /// What it is for one port.
    #[inline]
    pub(super) fn at(&mut self, port: u32) -> CreditsAt<'_> {
        CreditsAt(&mut self.shapers[port as usize])
    }

    /// When the port starts its next packet if nothing arrives before, and its class; the transmitter is free from `free` on.
    #[inline]
    pub(super) fn next(&self, port: u32, p: &Port, packets: &[Packet], free: u64) -> Option<(u64, u8)> {
        next(&self.shapers[port as usize], p, packets, free)
    }

    /// A packet has been taken from its queue to be sent at `now`.
    #[inline]
    pub(super) fn sent(&mut self, port: u32, class: u8, size: u16, now: u64) {
        if class == CREDIT_PRIORITY {
            self.shapers[port as usize].sent(Time(now), size);
        }
    }
}

/// The rules for one port.
pub(super) struct CreditsAt<'a>(&'a mut CreditShaper);

impl PortRules for CreditsAt<'_> {
    #[inline(always)]
    fn passes(&mut self, fixed: &Fixed<'_>, packet: &Packet, now: u64) -> bool {
        if packet.class != CREDIT_PRIORITY {
            return fits(fixed, packet, 0);
        }
        takes(self.0, packet.size, now)
    }

    #[inline(always)]
    fn keeps(&self, fixed: &Fixed<'_>, p: &Port, packet: &Packet, _busy: bool) -> Option<u8> {
        let credits = p.class_bytes(CREDIT_PRIORITY);
        let room = if packet.class == CREDIT_PRIORITY {
            self.0.admits(credits, packet.size)
        } else {
            fits(fixed, packet, p.total - credits)
        };
        room.then_some(packet.class)
    }

    #[inline(always)]
    fn next_at(&self, p: &Port, packets: &[Packet]) -> Option<u64> {
        next(self.0, p, packets, p.free).map(|(at, _)| at)
    }

    #[inline(always)]
    fn next_class(&mut self, p: &Port, packets: &[Packet], _now: u64) -> Option<u8> {
        next(self.0, p, packets, p.free).map(|(_, class)| class)
    }

    #[inline(always)]
    fn sent(&mut self, class: u8, size: u16, now: u64) {
        if class == CREDIT_PRIORITY {
            self.0.sent(Time(now), size);
        }
    }
}

/// As [`Credits::next`], of a port.
#[inline(always)]
fn next(shaper: &CreditShaper, p: &Port, packets: &[Packet], free: u64) -> Option<(u64, u8)> {
    let credit = p.waiting & 1 != 0;
    let size = credit.then(|| packets[p.head(CREDIT_PRIORITY) as usize].size);
    match shaper.next(Time(free), size, p.waiting & !1 != 0) {
        Next::Credit(at) => Some((at.0.max(free), CREDIT_PRIORITY)),
        Next::Data => Some((free, (p.waiting & !1).trailing_zeros() as u8)),
        Next::Idle => None,
    }
}

/// Whether a credit may go at once; the bucket then holds less.
#[inline(always)]
fn takes(shaper: &mut CreditShaper, size: u16, now: u64) -> bool {
    let passes = shaper.admits(0, size) && shaper.next(Time(now), Some(size), false) == Next::Credit(Time(now));
    if passes {
        shaper.sent(Time(now), size);
    }
    passes
}

/// Whether data fit in where no threshold of the switch is in reach. Not, where they may be dropped selectively: that takes a longer look.
#[inline(always)]
fn fits(fixed: &Fixed<'_>, packet: &Packet, waiting: u32) -> bool {
    packet.flags & fixed.rules.selective_mask == 0
        && u64::from(waiting) + u64::from(packet.size) <= fixed.rules.port_limit
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
        takes(&mut c.shapers[port as usize], size, now)
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
                self.note_packet(port, h, now, PacketEvent::DroppedCredit);
                self.books.drop(&packet);
                self.arena.release(h);
            }
        } else if self.is_full(port, h, p.total - credits) {
            self.drop_packet(port, h, &packet, now);
        } else {
            self.keep(port, h, packet.class, now);
        }
    }
}
