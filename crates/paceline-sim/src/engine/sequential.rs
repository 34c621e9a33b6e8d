//! One event after the other, in order of time.
//!
//! One event per hop where nothing queues: a transmitter's end is an event only when something waits for it. With the
//! quirk `insertion_order` ties go to the event scheduled first, as in the reference simulator; the number of an end of
//! transmission is then reserved when the transmission starts, whether or not the event is needed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::calendar::{Calendar, Ties};
use super::order::{Rank, place_key};
use super::reference_nic::ReferenceNics;
use super::{Ending, Observer, progress, report};
use crate::error::InputError;
use crate::net::{Net, Schedule};
use crate::packet::{Handle, NONE};
use crate::programs::{Act, Carrier};
use crate::record::Sampler;
use crate::scenario::{Scenario, Stop};
use crate::workload::{FlowSource, FlowSpec};

/// Never.
const NEVER: u64 = u64::MAX;

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A packet arrives; place: inbox port, detail: handle.
    Arrival,
    /// A transmitter is free and something waits; place: port.
    Departure,
    /// A NIC may send; place: NIC.
    Wake,
    /// A pacing timer of the reference's NIC; place: NIC, detail: which.
    Pacing,
    /// Retransmission timeouts may be due; place: NIC.
    Timeout,
    /// The next flows start.
    Flows,
    /// First of the reference's two steps of starting a flow.
    FlowInit,
    /// Second step.
    FlowStart,
    /// Queue lengths are sampled.
    Sample,
    /// A controller's timer runs out (reference's NIC only); place: flow slot and timer, detail: which.
    Tick,
    /// Links fail or routes change; done before anything else at that instant.
    Links,
    /// A program begins or has asked for this; place: program, detail: which.
    Program,
}

/// Detail of [`What::Program`]: it begins.
const BEGIN: u32 = u32::MAX;

/// Numbers of the flows that are a program's streams, above those of all other flows.
const STREAMS: u64 = 1 << 48;

const KINDS: [What; 12] = [
    What::Arrival,
    What::Departure,
    What::Wake,
    What::Pacing,
    What::Timeout,
    What::Flows,
    What::FlowInit,
    What::FlowStart,
    What::Sample,
    What::Tick,
    What::Links,
    What::Program,
];

/// Width of the event list's buckets, ps: a few events each when a tenth of the links are busy with full frames.
fn bucket_width(net: &Net) -> u64 {
    let framing = &net.scenario.framing;
    let bits = f64::from(framing.payload + framing.header) * 8.0;
    let frames_per_s: f64 = net.graph.ports.iter().map(|p| p.rate.0 as f64 / bits).sum();
    (4.0 * 1e12 / (0.1 * frames_per_s)).clamp(16.0, 1e6) as u64
}

/// The event list, and what it must know to order events.
pub(super) struct Events {
    list: Calendar,
    /// Ties by order of scheduling.
    insertion: bool,
    scheduled: u64,
    /// Key of the event being handled.
    key: u64,
    ports: Vec<PortEvents>,
    /// When the last arrival was, and the inbox of the first one of that instant.
    arrived: (u64, u32),
}

/// What the event list keeps of a port.
#[derive(Clone, Debug)]
struct PortEvents {
    /// Number reserved for the end of the present transmission.
    end_key: u64,
    /// Place, in keys, at which its packets arrive: the far end of its wire.
    far: u64,
    /// When a packet came last, of those that shared their instant with another.
    last_arrival: u64,
    node: u32,
    /// The port's number on its node.
    number: u16,
    /// The end of the present transmission is in the list. (A port that shapes may have to wait before it has ever sent.)
    listed: bool,
    /// Its ends always matter: NICs with the reference's quirk.
    always_listed: bool,
}

impl PortEvents {
    /// Key of an event at this port.
    fn key(&self, rank: Rank) -> u64 {
        place_key(rank, self.node, self.number)
    }
}

impl Events {
    fn new(net: &Net) -> Self {
        let quirks = net.scenario.quirks;
        let ports = net.ports.iter().enumerate().map(|(i, p)| PortEvents {
            end_key: 0,
            far: place_key(Rank::Arrival, p.peer, p.peer_port),
            last_arrival: NEVER,
            node: net.ports[i].node,
            number: (i as u32 - net.first[net.ports[i].node as usize]) as u16,
            listed: false,
            always_listed: quirks.nic_round_robin && net.ports[i].nic != NONE,
        });
        let ties = if quirks.insertion_order { Ties::Key } else { Ties::Hashed(net.draws.ties) };
        Self {
            list: Calendar::new(bucket_width(net), ties),
            insertion: quirks.insertion_order,
            scheduled: 0,
            key: 0,
            ports: ports.collect(),
            arrived: (NEVER, 0),
        }
    }

    #[inline]
    fn push_with(&mut self, at: u64, key: u64, what: What, place: u32, detail: u32) {
        let payload = (what as u64) << 60 | u64::from(place) << 32 | u64::from(detail);
        self.list.push((at, key, payload));
    }

    /// Schedules an event of the whole run (flows, samples).
    pub(super) fn push(&mut self, at: u64, rank: Rank, what: What, place: u32, detail: u32) {
        let key = if self.insertion { self.number_next() } else { place_key(rank, 0, 0) };
        self.push_with(at, key, what, place, detail);
    }

    /// Schedules an event at a NIC's port.
    pub(super) fn push_at(&mut self, at: u64, rank: Rank, what: What, port: u32, nic: u32, detail: u32) {
        let key = if self.insertion { self.number_next() } else { self.own_key(rank, port) };
        self.push_with(at, key, what, nic, detail);
    }

    fn number_next(&mut self) -> u64 {
        self.scheduled += 1;
        self.scheduled
    }

    fn own_key(&self, rank: Rank, port: u32) -> u64 {
        self.ports[port as usize].key(rank)
    }

    /// A packet has come to `inbox` now; whether another one has in the same instant.
    #[inline]
    fn is_tied(&mut self, inbox: u32, now: u64) -> bool {
        let (at, first) = self.arrived;
        if at != now {
            // Most instants have one arrival: their ports need not be looked at.
            self.arrived = (now, inbox);
            return false;
        }
        self.ports[first as usize].last_arrival = now;
        std::mem::replace(&mut self.ports[inbox as usize].last_arrival, now) == now
    }
}

impl Schedule for Events {
    #[inline]
    fn idle(&self, port: u32, free: u64, now: u64) -> bool {
        // By insertion order an end of transmission scheduled later than the present event is still to come.
        free < now || (free == now && (!self.insertion || self.ports[port as usize].end_key < self.key))
    }

    #[inline]
    fn started(&mut self, port: u32, free: u64, handle: Handle, inbox: u32, arrival: u64) {
        let number = if self.insertion { self.number_next() } else { 0 };
        let p = &mut self.ports[port as usize];
        p.end_key = number;
        p.listed = false;
        let far = p.far;
        if p.always_listed {
            self.waiting(port, free);
        }
        if handle != NONE {
            let key = if self.insertion { self.number_next() } else { far };
            self.push_with(arrival, key, What::Arrival, inbox, handle);
        }
    }

    #[inline]
    fn waiting(&mut self, port: u32, free: u64) {
        let p = &mut self.ports[port as usize];
        if !p.listed {
            p.listed = true;
            let key = if self.insertion { p.end_key } else { p.key(Rank::Departure) };
            self.push_with(free, key, What::Departure, port, 0);
        }
    }

    fn turned(&mut self, handle: Handle, in_port: u16, inbox: u32, arrival: u64) {
        let place = || place_key(Rank::Arrival, self.ports[inbox as usize].node, in_port);
        let key = if self.insertion { self.number_next() } else { place() };
        self.push_with(arrival, key, What::Arrival, inbox, handle);
    }
}

/// Periodic queue sampling as the reference does it, ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// First sample.
    pub start: u64,
    /// Last sample.
    pub end: u64,
    /// Between samples.
    pub interval: u64,
    /// The histogram is written whenever a sample falls on a multiple of this.
    pub dump: u64,
}

/// The engine.
pub struct Sequential {
    net: Net,
    events: Events,
    source: Box<dyn FlowSource>,
    next_flow: Option<FlowSpec>,
    next_id: u64,
    /// Flows on their way through the reference's two steps.
    starting: VecDeque<(u64, FlowSpec)>,
    reference: Option<ReferenceNics>,
    sampling: Option<Sampling>,
}

impl Sequential {
    /// An engine for a scenario and its flows.
    pub fn new(
        scenario: Arc<Scenario>,
        source: Box<dyn FlowSource>,
        sampling: Option<Sampling>,
    ) -> Result<Self, InputError> {
        Ok(Self::of(Net::new(scenario)?, source, sampling))
    }

    /// An engine for a network at time 0.
    pub(crate) fn of(mut net: Net, mut source: Box<dyn FlowSource>, sampling: Option<Sampling>) -> Self {
        if sampling.is_some() {
            net.sampler = Some(Sampler::new(net.ports.len()));
        }
        for node in 0..net.graph.nodes() as u32 {
            net.buffers.set_burst(node, 1 << 16);
        }
        let events = Events::new(&net);
        let reference = net.scenario.quirks.nic_round_robin.then(|| ReferenceNics::new(net.nics.len()));
        Self {
            next_flow: source.next_flow(),
            net,
            events,
            source,
            next_id: 0,
            starting: VecDeque::new(),
            reference,
            sampling,
        }
    }

    /// The network as it stands.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The network as it stands, for records.
    pub fn net_mut(&mut self) -> &mut Net {
        &mut self.net
    }

    /// Runs to the end.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(Ending, u64), InputError> {
        let stop = match self.net.scenario.stop {
            Stop::Completed => NEVER,
            Stop::At(t) => t.0,
        };
        let stall = self.net.scenario.stall.0;
        if let Some(flow) = self.next_flow {
            self.events.push(flow.start.0, Rank::Start, What::Flows, 0, 0);
        }
        self.list_link_change();
        let begins: Vec<u64> = self.net.programs.iter().flat_map(|p| p.begins()).collect();
        for (program, at) in begins.into_iter().enumerate() {
            self.events.push(at, Rank::Start, What::Program, program as u32, BEGIN);
        }
        if let Some(s) = self.sampling {
            self.events.push(s.start, Rank::Start, What::Sample, 0, 0);
        }
        let (mut last_progress, mut progress_at, mut now) = (0, 0, 0);
        // When to look for a standstill next, and when for anything besides events.
        let (mut look_at, mut due) = (0, 0);
        while let Some((at, key, payload)) = self.events.list.pop() {
            self.events.key = key;
            if at >= due {
                if at >= stop {
                    report(&mut self.net, observer);
                    return Ok((Ending::Stopped, stop));
                }
                self.net.sample_until(at);
                if at >= self.net.next_link_change() {
                    self.change_links(at);
                }
                due = stop.min(self.net.next_link_change()).min(self.net.series.next);
            }
            now = at;
            let looks = now >= look_at;
            let was_idle = looks && self.net.counters.active() == 0;
            self.net.counters.events += 1;
            let what = KINDS[(payload >> 60) as usize];
            self.handle(what, (payload >> 32) as u32 & 0x0fff_ffff, payload as u32, at, observer)?;
            if self.net.programs.is_some() {
                self.serve_programs(now)?;
            }
            if self.net.counters.events.is_multiple_of(1 << 14) {
                report(&mut self.net, observer);
                if !observer.progress(&progress(&self.net, now)) {
                    return Ok((Ending::Interrupted, now));
                }
            }
            if looks {
                look_at = now.saturating_add(stall / 16 + 1);
                // A flow that starts after a time without any has the time from its start on.
                if self.net.progress != last_progress || self.net.counters.active() == 0 || was_idle {
                    (last_progress, progress_at) = (self.net.progress, now);
                } else if now - progress_at > stall && crate::diagnosis::is_stuck(&self.net, progress_at, now, stall) {
                    report(&mut self.net, observer);
                    return Ok((Ending::Stalled(self.net.diagnose(now)), now));
                }
            }
            if self.finished() {
                break;
            }
        }
        report(&mut self.net, observer);
        if self.net.counters.active() > 0 {
            return Ok((Ending::Stalled(self.net.diagnose(now)), now));
        }
        if let Some(programs) = self.net.programs.as_ref().filter(|p| !p.is_idle()) {
            return Ok((Ending::Stalled(programs.stuck()), now));
        }
        Ok((Ending::Completed, now))
    }

    /// With nothing left to start, send or sample the run is over, whatever idle timers remain.
    fn finished(&self) -> bool {
        self.next_flow.is_none()
            && self.net.counters.active() == 0
            && self.starting.is_empty()
            && self.net.arena.live() == 0
            && self.net.unsettled() == 0
            && self.net.programs.as_ref().is_none_or(|p| p.is_idle())
            && self.sampling.is_none()
    }

    fn handle(
        &mut self,
        what: What,
        place: u32,
        detail: u32,
        now: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), InputError> {
        match what {
            What::Arrival => {
                self.net.counters.ties += u64::from(self.events.is_tied(place, now));
                let nic = self.net.ports[place as usize].nic;
                if nic == NONE {
                    self.net.switch_arrival(place, detail, now, &mut self.events);
                } else if let Some(reference) = &mut self.reference {
                    reference.arrival(&mut self.net, &mut self.events, nic, detail, now);
                } else {
                    self.net.nic_advance(nic, now, true, &mut self.events);
                    self.net.host_arrival(nic, detail, now, &mut self.events);
                    self.settle(nic, now);
                }
            }
            What::Departure => {
                let nic = self.net.ports[place as usize].nic;
                if let (Some(reference), true) = (&mut self.reference, nic != NONE) {
                    reference.transmitted(&mut self.net, &mut self.events, nic, now);
                } else if self.net.ports[place as usize].free <= now {
                    // A port that shapes may have to be looked at again before it sends.
                    self.events.ports[place as usize].listed &= self.net.special.is_none();
                    self.net.depart(place, now, &mut self.events);
                }
            }
            What::Wake => {
                if self.net.nics[place as usize].wake_at == now {
                    self.net.nics[place as usize].wake_at = NEVER;
                    self.settle(place, now);
                }
            }
            What::Pacing => {
                if let Some(reference) = &mut self.reference {
                    reference.paced(&mut self.net, &mut self.events, place, detail, now);
                }
            }
            What::Tick => {
                if let Some(reference) = &mut self.reference {
                    reference.tick(&mut self.net, &mut self.events, place, detail, now);
                }
            }
            What::Timeout => {
                if self.net.nics[place as usize].timer_at == now {
                    self.net.nic_advance(place, now, true, &mut self.events);
                    self.net.nic_timeouts(place, now);
                    self.settle(place, now);
                }
            }
            What::Flows => self.start_flows(now)?,
            What::FlowInit => self.events.push(now, Rank::Start, What::FlowStart, 0, 0),
            What::FlowStart => {
                if let Some((id, spec)) = self.starting.pop_front() {
                    self.start(id, spec, now)?;
                }
            }
            What::Sample => {
                self.sample(now, observer);
            }
            What::Links => {}
            What::Program if detail == BEGIN => self.net.begin_program(place as u16, now),
            What::Program => self.net.wake_program(place as u16, detail, now),
        }
        Ok(())
    }

    /// Sees to it that the next change of links is not passed over.
    fn list_link_change(&mut self) {
        let at = self.net.next_link_change();
        if at != NEVER {
            self.events.push(at, Rank::Departure, What::Links, 0, 0);
        }
    }

    /// Makes the change of links that is due now.
    #[cold]
    fn change_links(&mut self, now: u64) {
        let ports = self.net.change_links(&mut self.events);
        self.list_link_change();
        if let Some(reference) = &mut self.reference {
            if !ports.is_empty() {
                reference.list_again(&mut self.net, &mut self.events, now);
            }
            return;
        }
        for port in ports {
            let nic = self.net.ports[port as usize].nic;
            if nic != NONE {
                self.settle(nic, now);
            }
        }
    }

    /// After anything happened at a NIC: sends what may go now and schedules its next departure and timer.
    fn settle(&mut self, nic: u32, now: u64) {
        let before = self.net.nics[nic as usize].wake_at;
        let wake = self.net.nic_advance(nic, now, true, &mut self.events);
        let port = self.net.nics[nic as usize].port;
        if wake != NEVER && wake != before {
            self.net.nics[nic as usize].wake_at = wake;
            self.events.push_at(wake, Rank::Departure, What::Wake, port, nic, 0);
        } else if wake == NEVER {
            self.net.nics[nic as usize].wake_at = NEVER;
        }
        let timer = self.net.nics[nic as usize].timer_at;
        if timer != NEVER && timer != self.net.nics[nic as usize].timer_listed {
            self.net.nics[nic as usize].timer_listed = timer;
            self.events.push_at(timer, Rank::Timer, What::Timeout, port, nic, 0);
        }
    }

    fn start_flows(&mut self, now: u64) -> Result<(), InputError> {
        while let Some(spec) = self.next_flow.filter(|f| f.start.0 == now) {
            let id = self.next_id;
            self.next_id += 1;
            self.next_flow = self.source.next_flow();
            if self.events.insertion {
                self.starting.push_back((id, spec));
                self.events.push(now, Rank::Start, What::FlowInit, 0, 0);
            } else {
                self.start(id, spec, now)?;
            }
        }
        if let Some(flow) = self.next_flow {
            self.events.push(flow.start.0, Rank::Start, What::Flows, 0, 0);
        }
        Ok(())
    }

    fn start(&mut self, id: u64, spec: FlowSpec, now: u64) -> Result<(), InputError> {
        let sport = self.net.take_sport(&spec, id);
        let slot = self.net.start_flow(id, spec, sport)?;
        if let Some(reference) = &mut self.reference {
            reference.flow(&mut self.net, &mut self.events, slot, now);
            return Ok(());
        }
        let nic = self.net.ports[self.net.flows[slot as usize].nic as usize].nic;
        self.net.nic_advance(nic, now, true, &mut self.events);
        self.net.begin_at(nic, now);
        self.net.add_to_nic(slot);
        self.settle(nic, now);
        Ok(())
    }

    /// Does what programs want.
    fn serve_programs(&mut self, now: u64) -> Result<(), InputError> {
        while let Some(programs) = &mut self.net.programs
            && let Some((program, act)) = programs.next_act()
        {
            match act {
                Act::Wake { at, token } => {
                    self.events.push(at, Rank::Start, What::Program, u32::from(program), token);
                }
                Act::Send { message, from, to, bytes } => match programs.carrier(program, [from, to], bytes, now) {
                    Carrier::Flow(spec) => {
                        programs.goes_by_flow(self.next_id, program, message);
                        self.next_id += 1;
                        self.start(self.next_id - 1, spec, now)?;
                    }
                    Carrier::Stream(stream) => self.append(stream, message, bytes, now)?,
                    Carrier::NewStream(stream, spec) => {
                        self.start(STREAMS | u64::from(stream), spec, now)?;
                        self.append(stream, message, bytes, now)?;
                    }
                },
            }
        }
        Ok(())
    }

    /// A program's message follows on a stream.
    fn append(&mut self, stream: u32, message: u32, bytes: u64, now: u64) -> Result<(), InputError> {
        let Some(nic) = self.net.append_program(stream, message, bytes)? else { return Ok(()) };
        self.net.nic_advance(nic, now, true, &mut self.events);
        self.net.begin_at(nic, now);
        self.net.append(stream, bytes, now);
        self.settle(nic, now);
        Ok(())
    }

    fn sample(&mut self, now: u64, observer: &mut dyn Observer) {
        let Some(s) = self.sampling else { return };
        if let Some(sampler) = &mut self.net.sampler {
            sampler.sample();
        }
        if now.is_multiple_of(s.dump) {
            for port in 0..self.net.ports.len() as u32 {
                if self.net.ports[port as usize].nic == NONE {
                    self.net.note_queue(port, 0, now);
                }
            }
            observer.queue_dump(now, &self.net);
        }
        if now < s.end {
            self.events.push(now + s.interval, Rank::Start, What::Sample, 0, 0);
        } else {
            self.sampling = None;
        }
    }
}
