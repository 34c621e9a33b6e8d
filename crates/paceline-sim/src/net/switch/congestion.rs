//! QCN (IEEE 802.1Qau) in the network: congestion points at the output queues of switches, notifications on their way to the
//! sender of the sampled frame, whose adapter limits its rate ([`crate::net::host::adapter`]).
//!
//! Source: the rules are those of [`paceline_proto::port::congestion_point`]. A notification (CNM) takes a shortest path to the sampled frame's
//! sender in the control class; it is not sampled itself, and dropped where its way is longer than packets can carry. Every
//! frame of a data class is sampled, whatever it carries (ACKs and SYNs too), where it enters a queue or passes an idle port.

use paceline_proto::port::congestion_point::{CongestionPoint, CongestionPointParams};
use paceline_proto::qcn::{CNM_FRAME, Feedback};
use paceline_proto::rng::{Purpose, Stream, hash3};
use paceline_proto::telemetry::IntHop;

use crate::net::{Net, Schedule};
use crate::packet::{Handle, INLINE_HOPS, Kind, Packet};
use crate::routing::Address;
use crate::scenario::Scenario;

/// The congestion points of all switches.
pub(crate) struct CongestionPoints {
    params: CongestionPointParams,
    /// By port and class.
    points: Vec<CongestionPoint>,
}

impl CongestionPoints {
    /// Those of a scenario whose switches have them.
    pub(crate) fn new(scenario: &Scenario) -> Option<Box<Self>> {
        let params = scenario.switch.qcn?;
        let stream = |queue| Stream::new(scenario.seed, Purpose::Qcn, queue);
        let queues = 0..scenario.graph.ports.len() as u64 * 8;
        let points = queues.map(|queue| CongestionPoint::new(&params, stream(queue))).collect();
        Some(Box::new(Self { params, points }))
    }
}

impl Net {
    /// A frame enters the queue of `port`, or passes it: it may be sampled. Returns what its sender is to be told.
    #[inline]
    pub(crate) fn sample_congestion(&mut self, port: u32, h: Handle, packet: &Packet, now: u64) -> Option<Feedback> {
        if packet.class == 0 || self.congestion.is_none() || self.scenario.switch.exempt_syn && self.opens_connection(h)
        {
            return None;
        }
        let waiting = self.ports[port as usize].class_bytes(packet.class);
        let qcn = self.congestion.as_mut()?;
        let size = u32::from(packet.size);
        let idle = if waiting == 0 && qcn.params.average_shift > 0 {
            let p = &self.ports[port as usize];
            let frame = self.scenario.max_frame().min(u32::from(u16::MAX)) as u16;
            now.saturating_sub(p.free) / p.wire_ps(frame, &self.wires).max(1)
        } else {
            0
        };
        let point = &mut qcn.points[port as usize * 8 + usize::from(packet.class & 7)];
        point.on_arrival(&qcn.params, waiting.saturating_add(size), size, true, idle)
    }

    /// Sends a notification to the sender of a frame.
    #[cold]
    pub(crate) fn notify<S: Schedule>(&mut self, port: u32, packet: &Packet, feedback: Feedback, now: u64, s: &mut S) {
        let Some((sender, receiver, id)) = self.ends_of_packet(packet) else { return };
        let node = self.ports[port as usize].node;
        let nic = self.nics[sender as usize].port;
        let host = self.ports[nic as usize].node;
        let address = Address { host, nic: (nic - self.first[host as usize]) as u16 };
        let mut path = std::mem::take(&mut self.path);
        let key = hash3(self.draws.spray, id, u64::from(node));
        self.counters.notifications += 1;
        if !self.routes.way_from(node, address, key, &mut path) || path.len() > INLINE_HOPS {
            self.path = path;
            self.counters.drops_buffer += 1;
            let counts = &mut self.port_counts[port as usize];
            counts.drops_buffer += 1;
            counts.drops_control += 1;
            return;
        }
        let mut cnm = Packet {
            flow: packet.flow,
            size: CNM_FRAME as u16,
            in_port: packet.in_port,
            kind: Kind::Notification,
            ..Packet::default()
        };
        Self::set_path(&mut cnm, &path);
        cnm.hop = 1;
        let out = self.first[node as usize] + u32::from(path[0]);
        self.path = path;
        let back = packet.kind.is_back();
        self.books.make(&cnm);
        let cnm = self.arena.alloc(cnm);
        let words = self.arena.int(cnm);
        words[0] = IntHop(u64::from(feedback.level) | u64::from(back) << 8 | u64::from(receiver) << 16);
        words[1] = IntHop(feedback.offset as u64);
        words[2] = IntHop(feedback.delta as u64);
        self.switch_arrival(out, cnm, now, s);
    }

    /// A notification is back at the host whose frame was sampled.
    pub(crate) fn notified(&mut self, nic: u32, h: Handle, packet: &Packet, now: u64) {
        let words = *self.arena.int(h);
        self.books.receive(packet.kind, packet.size);
        self.arena.release(h);
        let (word, offset, delta) = (words[0].0, words[1].0 as i64, words[2].0 as i64);
        let feedback = Feedback { level: word as u8, offset, delta };
        let back = word >> 8 & 1 != 0;
        if self.adapters.as_ref().is_some_and(|a| a.to_window()) {
            // Who sends ACKs has no window to shrink.
            if !back {
                self.congested(nic, packet.flow, now);
            }
            return;
        }
        if let Some(adapters) = &mut self.adapters {
            let key = adapters.key((word >> 16) as u32, packet.flow, back);
            adapters.feedback(nic, key, feedback, now);
            self.nics[nic as usize].next_at = 0;
        }
    }
}
