//! What a host does with what arrives over RDMA: data at the receiver, ACKs and NACKs at the sender.

use paceline_proto::cc::{Ack, CongestionControl, Controller, FlowContext, Loss};
use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::transport::rdma::{Acked, Receiver, Reply};
use paceline_proto::units::Time;

use super::{Answered, NEVER};
use crate::clock::Clock;
use crate::net::flow::{Flow, Receiving, SLOT_BITS, SLOT_MASK, cap};
use crate::net::port::Port;
use crate::net::{Net, Schedule};
use crate::packet::{Arena, CE, Handle, INLINE_HOPS, INT, Kind, LAST, LONG, PINT, Packet, ROUTED, STAMP, TICKS};
use crate::record::Status;
use crate::scenario::HostConfig;

/// An answer to send now goes at once: answers go before data, and the transmitter is idle.
#[inline(always)]
pub(super) fn goes_at_once(p: &Port, answer: &Packet, now: u64, ack_priority: bool) -> bool {
    let unpaused = answer.class == 0 || ack_priority || p.paused & (1 << answer.class) == 0;
    p.free <= now && p.waiting == 0 && unpaused
}

/// What an acknowledgement did to a flow of the reference's NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReferenceAnswered {
    pub(crate) slot: u32,
    pub(crate) finished: bool,
    /// The controller set a rate, be it the same as before.
    pub(crate) sets_rate: bool,
}

impl Receiving {
    /// Turns a data packet into its answer. False when there is none: it is of a flow that is over, or the receiver stays silent.
    /// `discarded`: grows by the packets that the receiver throws away, this one or such as it had.
    #[inline(always)]
    pub(super) fn answer(
        &mut self,
        packet: &mut Packet,
        now: u64,
        host: &HostConfig,
        control_class: bool,
        discarded: &mut u64,
    ) -> bool {
        if u32::from(self.generation) != packet.flow >> SLOT_BITS || now >= self.forgotten_at {
            *discarded += 1;
            return false;
        }
        let before = self.rx.expected;
        let reply = self.rx.on_data(Time(now), packet.seq, host.nack_interval, host.rto.is_some(), host.chunk);
        if packet.seq != before {
            *discarded += 1 + u64::from(before - self.rx.expected);
        }
        let (kind, seq) = match reply {
            Reply::Ack(seq) => (Kind::Ack, seq),
            Reply::Nack(seq) => (Kind::Nack, seq),
            Reply::Silence => return false,
        };
        let long = if usize::from(self.switches) > INLINE_HOPS { LONG } else { 0 };
        packet.kind = kind;
        packet.seq = seq;
        packet.size = self.ack_size;
        packet.class = if control_class { 0 } else { packet.class };
        packet.flags = packet.flags & (CE | INT | PINT | STAMP | TICKS | ROUTED) | long;
        packet.hop = 0;
        packet.out = self.path;
        true
    }
}

impl Net {
    /// A packet arrives at a host, if its [turn](super::turn) does not take it. Everything the NIC sends before `now` has been sent.
    #[inline(never)]
    pub(crate) fn host_arrival<S: Schedule>(&mut self, nic: u32, h: Handle, now: u64, s: &mut S) {
        let (port, packet) = (self.nics[nic as usize].port, self.arena[h]);
        self.begin_at(nic, now);
        match packet.kind {
            Kind::Data if self.messages.is_none() => {
                if self.receive_data(h, now) {
                    self.send_answer(nic, port, h, now, s);
                }
            }
            Kind::Ack | Kind::Nack => match self.receive_ack(h, now) {
                Answered::Running(slot) => self.refresh(slot),
                Answered::Finished(slot) => self.remove_from_nic(slot),
                Answered::Unknown => {}
            },
            Kind::Pause | Kind::Resume => {
                self.apply_pfc(port, h, &packet, now);
                self.may_send(nic, 0);
            }
            Kind::Notification => self.notified(nic, h, &packet, now),
            Kind::Data | Kind::Control | Kind::Answer => self.message_arrival(nic, h, &packet, now),
        }
    }

    /// Sends an answer, or puts it into the queue of the NIC's answers.
    fn send_answer<S: Schedule>(&mut self, nic: u32, port: u32, h: Handle, now: u64, s: &mut S) {
        let (p, answer) = (&mut self.ports[port as usize], &self.arena[h]);
        if goes_at_once(p, answer, now, self.host.ack_priority) {
            let free = self.nic_launch(port, h, now, s);
            let n = &mut self.nics[nic as usize];
            n.next_at = n.next_at.max(free);
        } else {
            let size = answer.size;
            p.push(self.arena.split().0, h, 0, size);
            self.may_send(nic, 0);
        }
    }

    /// A data packet at its receiver. True when it has become an answer to send.
    pub(crate) fn receive_data(&mut self, h: Handle, now: u64) -> bool {
        let packet = &mut self.arena[h];
        let (number, seq, is_last) = (packet.flow & SLOT_MASK, packet.seq, packet.flags & LAST != 0);
        let state = &mut self.receiving[number];
        self.counters.data_delivered += 1;
        self.books.receive(Kind::Data, packet.size);
        let before = state.rx.expected;
        let answered = state.answer(packet, now, &self.host, self.ack_control_class, &mut self.counters.data_discarded);
        let complete = is_last && before == seq && state.rx.expected == seq + 1;
        if !answered {
            self.arena.release(h);
        }
        if complete {
            self.message_complete(number, seq, now);
        }
        answered
    }

    /// The last byte of a message, or the last one so far of a stream, has arrived in packet `seq`.
    #[inline(never)]
    fn message_complete(&mut self, number: u32, seq: u32, now: u64) {
        let state = &mut self.receiving[number];
        state.done_at = now;
        let (stream, generation) = (state.stream, state.generation);
        if stream != 0 {
            self.stream_arrived(stream - 1, u64::from(seq) + 1, now);
        } else if self.share.bits != 0 {
            self.announce_done(number, generation, now);
        } else if self.programs.is_some() {
            self.program_flow_arrived(number, now);
        }
    }

    /// An ACK or NACK at the sender. The NIC's own lists are the caller's business.
    pub(crate) fn receive_ack(&mut self, h: Handle, now: u64) -> Answered {
        let Packet { flow: number, seq, kind, flags, size, .. } = self.arena[h];
        self.books.receive(kind, size);
        let slot = (number & SLOT_MASK) >> self.share.bits;
        let flow = &mut self.flows[slot as usize];
        if !flow.alive || u32::from(flow.generation) != number >> SLOT_BITS {
            self.arena.release(h);
            return Answered::Unknown;
        }
        let acked = match &mut self.streams {
            Some(streams) if flow.stream != 0 => streams.on_ack(flow, flow.whole_chunks(seq, self.host.chunk)),
            _ => flow.tx.on_ack(flow.whole_chunks(seq, self.host.chunk)),
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
        let counts = flags & (PINT | TICKS | ROUTED) == 0 || self.before_ack(h, slot, flags, now);
        if acked == Acked::Finished {
            self.arena.release(h);
            self.end_flow(slot, now, Status::Finished);
            return Answered::Finished(slot);
        }
        if kind == Kind::Nack {
            if self.asks_in_vain(slot, now) {
                self.arena.release(h);
                self.end_flow(slot, now, Status::Failed);
                return Answered::Finished(slot);
            }
            self.rewind(slot);
        }
        let flow = &mut self.flows[slot as usize];
        flow.react(&self.contexts[usize::from(flow.context)], &mut self.arena, h, counts, now, self.clock);
        Answered::Running(slot)
    }

    /// An ACK or NACK at the sender, as the HPCC reference simulator has it (hpcc-ns3 facts, section 4.6): the controller hears of the last ACK, too, and an
    /// ACK of packets that are to be sent again does not pass over them. `None`: no such flow any more.
    pub(crate) fn receive_ack_as_reference(
        &mut self,
        h: Handle,
        packet: &Packet,
        now: u64,
    ) -> Option<ReferenceAnswered> {
        let Packet { flow: number, seq, kind, flags, size, .. } = *packet;
        self.books.receive(kind, size);
        let slot = (number & SLOT_MASK) >> self.share.bits;
        let flow = &mut self.flows[slot as usize];
        if !flow.alive || u32::from(flow.generation) != number >> SLOT_BITS {
            self.arena.release(h);
            return None;
        }
        let sent = flow.tx.snd_nxt;
        // Unlike ours, a last chunk that is not whole is never acknowledged.
        let whole = match u64::from(self.host.chunk) {
            0 => seq,
            chunk if seq == flow.tx.packets => {
                (self.infos[slot as usize].spec.bytes / (chunk * self.payload) * chunk) as u32
            }
            chunk => seq - seq % chunk as u32,
        };
        let acked = flow.tx.on_ack(whole);
        flow.tx.snd_nxt = sent;
        self.progress += u64::from(acked != Acked::Old);
        let finished = acked == Acked::Finished;
        let counts = flags & (PINT | TICKS | ROUTED) == 0 || self.before_ack(h, slot, flags, now);
        // Of more switches than a header has room for it believes none.
        let counts = counts && (flags & INT == 0 || usize::from(self.flows[slot as usize].switches) <= MAX_HOPS);
        if kind == Kind::Nack {
            self.rewind(slot);
        }
        let flow = &mut self.flows[slot as usize];
        let ctx = &self.contexts[usize::from(flow.context)];
        let sets_rate = counts && flow.sets_rate(ctx, &mut self.arena, h, now);
        if finished {
            self.end_flow(slot, now, Status::Finished);
            // Duplicates that are still to come find no receiver and begin a new one.
            self.receiving[number & SLOT_MASK].rx = Receiver::default();
        }
        let batch = self.reference_batch(slot, seq);
        let flow = &mut self.flows[slot as usize];
        let ctx = &self.contexts[usize::from(flow.context)];
        let before = flow.cc.own_rate(ctx);
        flow.react(ctx, &mut self.arena, h, counts, now, self.clock);
        if let (Some(packets), Controller::Dctcp(dctcp)) = (batch, &mut flow.cc) {
            dctcp.set_batch(packets);
        }
        if sets_rate && !ctx.paced {
            // Paced at line rate (`RATE_BOUND 0`) or not, the next packet moves by what the rates set differ in.
            let gap = |rate| self.clock.serialisation_ps(flow.last_size, rate);
            flow.next_avail = (flow.next_avail + gap(flow.cc.own_rate(ctx))).saturating_sub(gap(before));
        }
        Some(ReferenceAnswered { slot, finished, sets_rate })
    }

    /// The length of the batch that an ACK opens with DCTCP, as the reference counts it: by bytes, and around 2^64 where the ACK
    /// passes over packets that are to be sent again.
    fn reference_batch(&self, slot: u32, ack: u32) -> Option<u32> {
        let flow = &self.flows[slot as usize];
        let Controller::Dctcp(dctcp) = &flow.cc else { return None };
        let first = dctcp.opens_batch(ack)?;
        let bytes = |packets| self.bytes_below(slot as usize, packets);
        let length = bytes(flow.tx.snd_nxt).wrapping_sub(if first { 0 } else { bytes(ack) });
        Some((length / self.payload + 1) as u32)
    }

    /// Bytes of a flow's first packets.
    pub(crate) fn bytes_below(&self, slot: usize, packet: u32) -> u64 {
        let is_all = packet >= self.flows[slot].tx.packets;
        if is_all { self.infos[slot].spec.bytes } else { u64::from(packet) * self.payload }
    }

    /// The port by which a packet comes in that arrives at an inbox.
    pub(crate) fn ingress_of(&self, inbox: u32, h: Handle) -> u32 {
        self.first[self.ports[inbox as usize].node as usize] + u32::from(self.arena[h].in_port)
    }

    /// Whether NACKs have asked for a flow's oldest unacknowledged packet for as long as all its timeouts in a row take. Each has the packet
    /// sent again, from which the timeout counts anew, so that it never ends a flow one packet of which cannot pass while others do.
    fn asks_in_vain(&mut self, slot: u32, now: u64) -> bool {
        let (oldest, info) = (self.flows[slot as usize].tx.snd_una, &mut self.infos[slot as usize]);
        if info.asked_for != oldest + 1 {
            (info.asked_for, info.asked_since) = (oldest + 1, now);
        }
        self.host.rto.is_some_and(|rto| now - info.asked_since >= rto.patience())
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
        flow.limit(&self.contexts[usize::from(flow.context)], self.clock);
    }
}

impl Flow {
    /// Whether an ACK of the reference's NIC will have the controller set a rate.
    #[cold]
    #[inline(never)]
    fn sets_rate(&self, ctx: &FlowContext, arena: &mut Arena, h: Handle, now: u64) -> bool {
        let Packet { seq, flags, .. } = arena[h];
        let int = match flags & (INT | PINT) {
            0 => return false,
            INT => &arena.int(h)[1..=usize::from(self.switches).min(MAX_HOPS)],
            _ => &arena.int(h)[..1],
        };
        let (snd_nxt, switches) = (self.tx.snd_nxt, self.switches);
        self.cc.sets_rate(ctx, &Ack { now: Time(now), ack: seq, snd_nxt, ecn: false, switches, int })
    }

    /// The controller's reaction to an ACK or NACK, which is released. `counts`: the controller hears of the ACK.
    #[inline(always)]
    pub(super) fn react(
        &mut self,
        ctx: &FlowContext,
        arena: &mut Arena,
        h: Handle,
        counts: bool,
        now: u64,
        clock: Clock,
    ) {
        let Packet { seq, kind, flags, .. } = arena[h];
        let int = match flags & (INT | PINT | STAMP) {
            0 => &[],
            INT => &arena.int(h)[1..=usize::from(self.switches).min(MAX_HOPS)],
            _ => &arena.int(h)[..1],
        };
        let (snd_nxt, switches, ecn) = (self.tx.snd_nxt, self.switches, flags & CE != 0);
        let ack = Ack { now: Time(now), ack: seq, snd_nxt, ecn, switches, int };
        if counts {
            self.cc.on_ack(ctx, &ack);
        }
        if kind == Kind::Nack {
            self.cc.on_loss(ctx, Time(now), Loss::Nack, 0);
        }
        arena.release(h);
        self.limit(ctx, clock);
    }

    /// Runs the ticks of the controller due by now, where they are not events.
    #[cold]
    #[inline(never)]
    pub(super) fn catch_up(&mut self, contexts: &[FlowContext], now: u64, clock: Clock) {
        let ctx = &contexts[usize::from(self.context)];
        self.cc.catch_up(ctx, Time(now));
        self.limit(ctx, clock);
    }

    /// Takes over what the controller now allows. With HPCC a new rate also moves the time of the next packet.
    #[inline(always)]
    fn limit(&mut self, ctx: &FlowContext, clock: Clock) {
        let limits = self.cc.limits(ctx);
        self.cwnd = limits.cwnd;
        let rate = cap(limits.rate, self.rate_cap);
        if rate != self.rate {
            self.rate = rate;
            let gap = clock.serialisation_ps(self.last_size, rate);
            if ctx.params.profile().rate_moves_next_packet {
                self.next_avail = (self.next_avail + gap).saturating_sub(self.gap);
            }
            self.gap = gap;
        }
    }
}
