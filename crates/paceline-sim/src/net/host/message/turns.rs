//! A NIC's turns: its endpoint is asked for packets whenever the transmitter is idle, and called at its timeouts.
//!
//! *Deviation:* an endpoint knows nothing of classes. A packet whose class turns out to be paused (PFC) waits at the NIC, and no other
//! goes before it, whatever its class; only RDMA's flows are passed over one by one.

use paceline_proto::transport::message::Endpoint;
use paceline_proto::units::Time;

use super::{NEVER, endpoint};
use crate::net::flow::SLOT_BITS;
use crate::net::{Net, Schedule};
use crate::record::Status;

impl Net {
    /// Something happened at a NIC's endpoint: it may want to send, and to be called.
    pub(super) fn message_changed(&mut self, nic: u32, now: u64) {
        let queries = self.queries_due(nic);
        let Some(m) = &mut self.messages else { return };
        let (timeout, more) = endpoint!(&mut m.endpoints, nic, host => (host.next_timeout(), host.has_more()));
        self.nics[nic as usize].timer_at = timeout.0.min(queries);
        if let Some(adapters) = &mut self.adapters {
            if more {
                adapters.poll(nic, now);
                self.nics[nic as usize].next_at = 0;
            }
        } else if more {
            self.may_send(nic, 0);
        }
    }

    /// The timeouts due at `now`.
    pub(crate) fn message_timeout(&mut self, nic: u32, now: u64) {
        self.begin_at(nic, now);
        self.issue_due(nic, now);
        if let Some(m) = &mut self.messages {
            endpoint!(&mut m.endpoints, nic, host => host.on_timeout(Time(now)));
            while let Some(place) = self.failed_message(nic) {
                let slot = self.messages.as_ref().map_or(0, |m| m.places[nic as usize].sending[place as usize].slot);
                let flow = self.number(slot) | u32::from(self.flows[slot as usize].generation) << SLOT_BITS;
                self.end_message(nic, slot, flow, place, Status::Failed, now);
            }
        }
        self.message_changed(nic, now);
    }

    /// A sender's place whose message has just been given up.
    fn failed_message(&mut self, nic: u32) -> Option<u32> {
        let m = self.messages.as_mut()?;
        endpoint!(&mut m.endpoints, nic, host => host.take_failed())
    }

    /// Lets the NIC send everything that goes before `end`, as `Net::nic_advance` does. Timeouts that fall between are
    /// called; one at `end` itself is the engine's.
    pub(crate) fn message_work<S: Schedule>(&mut self, nic: u32, end: u64, inclusive: bool, s: &mut S) -> u64 {
        if self.adapters.is_some() {
            return self.adapter_work(nic, end, inclusive, s);
        }
        let port = self.nics[nic as usize].port;
        // Whether the endpoint may have a packet, as far as is known.
        let mut more = true;
        loop {
            let free = self.ports[port as usize].free;
            let timer = self.nics[nic as usize].timer_at;
            if timer < free.min(end) {
                self.message_timeout(nic, timer);
                more = true;
                continue;
            }
            if more {
                if free > end || (free == end && !inclusive) {
                    self.nics[nic as usize].next_at = free;
                    return free;
                }
                if let Some(rest) = self.message_send(nic, port, free, s) {
                    more = rest;
                    continue;
                }
            }
            let timer = self.nics[nic as usize].timer_at;
            if timer < end {
                self.message_timeout(nic, timer);
                more = true;
                continue;
            }
            self.nics[nic as usize].next_at = NEVER;
            return NEVER;
        }
    }

    /// Sends the next packet of an idle NIC, and says whether there may be more. None when there is none.
    fn message_send<S: Schedule>(&mut self, nic: u32, port: u32, now: u64, s: &mut S) -> Option<bool> {
        let p = &mut self.ports[port as usize];
        if p.waiting != 0 {
            // Its class was paused when it was its turn.
            let class = p.pick()?;
            let h = p.pop(self.arena.split().0, class);
            self.datagram_leaves(h, now);
            self.nic_launch(port, h, now, s);
            return Some(true);
        }
        let (h, _, more) = self.next_message_packet(nic, now)?;
        let class = self.arena[h].class;
        let p = &mut self.ports[port as usize];
        if p.paused & !1 & (1 << class) != 0 {
            let size = self.arena[h].size;
            p.push(self.arena.split().0, h, class, size);
            return Some(true);
        }
        self.datagram_leaves(h, now);
        self.nic_launch(port, h, now, s);
        Some(more)
    }
}
