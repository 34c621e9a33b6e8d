//! What a host does with what arrives over RDMA: data at the receiver, ACKs and NACKs at the sender.

use paceline_proto::cc::{Ack, CongestionControl, FlowContext, Loss};
use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::transport::rdma::{Acked, Reply};
use paceline_proto::units::Time;

use super::{Answered, NEVER};
use crate::clock::Clock;
use crate::flow::{Flow, SLOT_BITS, SLOT_MASK, cap};
use crate::net::{Net, Schedule};
use crate::packet::{CE, Handle, INLINE_HOPS, INT, Kind, LAST, LONG, PINT, Packet, ROUTED, STAMP, TICKS};
use crate::record::Status;

impl Net {
    /// A packet arrives at a host. Everything the NIC sends before `now` has been sent.
    pub(crate) fn host_arrival<S: Schedule>(&mut self, nic: u32, h: Handle, now: u64, s: &mut S) {
        let port = self.nics[nic as usize].port;
        let packet = self.arena[h];
        // Data in the midst of a message make nothing ready but their answer.
        if packet.kind != Kind::Data || packet.flags & LAST != 0 || self.messages.is_some() {
            self.begin_at(nic, now);
        }
        match packet.kind {
            Kind::Control | Kind::Answer => self.message_arrival(nic, h, &packet, now),
            Kind::Data if self.messages.is_some() => self.message_arrival(nic, h, &packet, now),
            Kind::Data => {
                if self.receive_data(h, &packet, now) {
                    let answer = &self.arena[h];
                    let p = &mut self.ports[port as usize];
                    let unpaused = answer.class == 0 || self.host.ack_priority || p.paused & (1 << answer.class) == 0;
                    if p.free <= now && p.waiting == 0 && unpaused {
                        // Answers go before data, and the transmitter is idle: this one goes at once.
                        let free = self.nic_launch(port, h, now, s);
                        let n = &mut self.nics[nic as usize];
                        n.next_at = n.next_at.max(free);
                    } else {
                        p.free = p.free.max(now);
                        let size = answer.size;
                        p.push(self.arena.split().0, h, 0, size);
                        self.may_send(nic, 0);
                    }
                }
            }
            Kind::Ack | Kind::Nack => match self.receive_ack(h, &packet, now) {
                Answered::Running(slot) => self.refresh_at(nic, slot),
                Answered::Finished(slot) => self.remove_from_nic(slot),
                Answered::Unknown => {}
            },
            Kind::Notification => self.notified(nic, h, &packet, now),
            Kind::Pause | Kind::Resume => {
                self.apply_pfc(port, h, &packet, now);
                self.may_send(nic, 0);
            }
        }
    }

    /// A data packet at its receiver. True when it has become an answer to send.
    #[inline(always)]
    pub(crate) fn receive_data(&mut self, h: Handle, packet: &Packet, now: u64) -> bool {
        let number = packet.flow & SLOT_MASK;
        let state = &mut self.receiving[number as usize];
        self.counters.data_delivered += 1;
        if u32::from(state.generation) != packet.flow >> SLOT_BITS {
            self.arena.release(h);
            return false;
        }
        let host = &self.host;
        let before = state.rx.expected;
        let reply = state.rx.on_data(Time(now), packet.seq, host.nack_interval, host.rto.is_some(), host.chunk);
        let complete = packet.flags & LAST != 0 && state.rx.expected == packet.seq + 1 && before == packet.seq;
        let answered = match reply {
            Reply::Ack(seq) => Some((Kind::Ack, seq)),
            Reply::Nack(seq) => Some((Kind::Nack, seq)),
            Reply::Silence => None,
        };
        if let Some((kind, seq)) = answered {
            let long = if usize::from(state.switches) > INLINE_HOPS { LONG } else { 0 };
            let answer = &mut self.arena[h];
            answer.kind = kind;
            answer.seq = seq;
            answer.size = state.ack_size;
            answer.class = if self.ack_control_class { 0 } else { packet.class };
            answer.flags = packet.flags & (CE | INT | PINT | STAMP | TICKS | ROUTED) | long;
            answer.hop = 0;
            answer.out = state.path;
        } else {
            self.arena.release(h);
        }
        if complete {
            self.message_complete(number, packet.seq, now);
        }
        answered.is_some()
    }

    /// The last byte of a message, or the last one so far of a stream, has arrived in packet `seq`.
    #[inline(never)]
    fn message_complete(&mut self, number: u32, seq: u32, now: u64) {
        let state = &mut self.receiving[number as usize];
        state.done_at = now;
        let (stream, generation) = (state.stream, state.generation);
        if stream != 0 {
            self.stream_arrived(stream - 1, u64::from(seq) + 1, now);
        } else if self.programs.is_some() {
            self.program_flow_arrived(number, now);
        } else if self.share.bits != 0 {
            self.announce_done(number, generation, now);
        }
    }

    /// An ACK or NACK at the sender. The NIC's own lists are the caller's business.
    pub(crate) fn receive_ack(&mut self, h: Handle, packet: &Packet, now: u64) -> Answered {
        let slot = (packet.flow & SLOT_MASK) >> self.share.bits;
        let flow = &mut self.flows[slot as usize];
        if !flow.alive || u32::from(flow.generation) != packet.flow >> SLOT_BITS {
            self.arena.release(h);
            return Answered::Unknown;
        }
        let chunk = self.host.chunk;
        let seq = if chunk > 1 { flow.tx.whole_chunks(packet.seq, chunk) } else { packet.seq };
        let acked = match &mut self.streams {
            Some(streams) if flow.stream != 0 => streams.on_ack(flow, seq),
            _ => flow.tx.on_ack(seq),
        };
        if acked != Acked::Old {
            self.progress += 1;
            flow.progress_at = now;
            if flow.timeouts > 0 {
                // The next timeout is due after the first wait again, not after the doubled one that was planned.
                flow.timeouts = 0;
                let nic = &mut self.nics[self.ports[flow.nic as usize].nic as usize];
                nic.timer_at = nic.timer_at.min(now + self.host.rto.map_or(NEVER - now, |r| r.initial.0));
            }
        }
        // Also for the last ACK: with the reference's random numbers other draws would else shift.
        let counts = packet.flags & (PINT | TICKS | ROUTED) == 0 || self.before_ack(h, slot, packet.flags, now);
        if acked == Acked::Finished {
            self.arena.release(h);
            self.end_flow(slot, now, Status::Finished);
            return Answered::Finished(slot);
        }
        if packet.kind == Kind::Nack {
            self.rewind(slot);
        }
        let flow = &mut self.flows[slot as usize];
        let ctx = &self.contexts[usize::from(flow.context)];
        let int = match packet.flags & (INT | PINT | STAMP) {
            0 => &[],
            INT => &self.arena.int(h)[1..=usize::from(flow.switches).min(MAX_HOPS)],
            _ => &self.arena.int(h)[..1],
        };
        let ack = Ack { now: Time(now), ack: packet.seq, snd_nxt: flow.tx.snd_nxt, ecn: packet.flags & CE != 0, int };
        if counts {
            flow.cc.on_ack(ctx, &ack);
        }
        if packet.kind == Kind::Nack {
            flow.cc.on_loss(ctx, Time(now), Loss::Nack, 0);
        }
        self.arena.release(h);
        Self::limit(flow, ctx, self.clock);
        Answered::Running(slot)
    }

    /// Goes back to a flow's oldest unacknowledged packet.
    pub(super) fn rewind(&mut self, slot: u32) {
        let again = self.flows[slot as usize].tx.rewind();
        self.infos[slot as usize].retransmitted += again;
        self.counters.retransmitted += u64::from(again);
        self.refit(slot);
    }

    /// Takes over what a flow's controller now allows.
    pub(crate) fn apply_limits(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        Self::limit(flow, &self.contexts[usize::from(flow.context)], self.clock);
    }

    /// The same. With HPCC a new rate also moves the time of the next packet.
    #[inline(always)]
    fn limit(flow: &mut Flow, ctx: &FlowContext, clock: Clock) {
        let limits = flow.cc.limits(ctx);
        flow.cwnd = limits.cwnd;
        let rate = cap(limits.rate, flow.rate_cap);
        if rate != flow.rate {
            flow.rate = rate;
            let gap = clock.serialisation_ps(flow.last_size, rate);
            if ctx.params.rate_moves_next_packet() {
                flow.next_avail = (flow.next_avail + gap).saturating_sub(flow.gap);
            }
            flow.gap = gap;
        }
    }
}
