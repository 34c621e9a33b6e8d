//! One event after the other, in order of time (`events`); what besides belongs to a run: flows, programs at the hosts, the
//! reference simulator's NICs and its samples of queues.

use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use super::events::list_bytes;
use super::events::{self, Events, What};
use super::order::Rank;
use super::reference_nic::{ReferenceNics, ReferenceOptions};
use super::{Ending, NEVER, Observer, progress, report};
use crate::diagnosis::{Standstill, Symptoms, diagnose, waits};
use crate::error::InputError;
use crate::graph::NodeId;
use crate::net::Net;
use crate::packet::{Handle, NONE};
use crate::record::Sampler;
use crate::scenario::Scenario;
use crate::workload::{FlowSource, FlowSpec};

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
            net.levels.sampler = Some(Sampler::new(net.ports.len()));
        }
        for node in 0..net.graph.nodes() as u32 {
            net.buffers.set_burst(node, events::ONE_FRAME);
        }
        let events = Events::new(&net, |_| true);
        let reference = net.scenario.quirks.nic_round_robin.then(|| ReferenceNics::new(&net));
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

    /// What the reference simulator's NICs and wires do by its configuration. Nothing without the quirks that it concerns.
    pub(crate) fn configure_reference(&mut self, options: &ReferenceOptions) {
        if let Some(nics) = &mut self.reference {
            nics.configure(options);
        }
        let Some(random) = &mut self.net.reference_random else { return };
        if options.links.iter().any(|(rate, _)| *rate > 0.0) {
            random.lose(&options.links);
            self.net.error_rate.fill(0.0);
            let ports = self.net.graph.ports.iter().enumerate();
            self.events.looked_at(ports.filter(|(_, p)| options.links[p.link as usize].0 > 0.0).map(|(i, _)| i));
        }
    }

    /// Has the stages of packets at these nodes, in ascending order, noted as the reference's trace has them. Nothing without the quirk
    /// `nic_round_robin`.
    pub(crate) fn note_stages(&mut self, nodes: &[NodeId]) {
        if self.reference.is_none() || nodes.is_empty() {
            return;
        }
        self.net.note_stages(nodes);
        let ports = self.net.graph.ports.iter().enumerate();
        self.events.looked_at(ports.filter(|(_, p)| nodes.binary_search(&p.peer).is_ok()).map(|(i, _)| i));
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
        let stop = self.net.scenario.stop.instant();
        let mut standstill = Standstill::new(self.net.scenario.stall);
        if let Some(flow) = self.next_flow {
            self.events.push(flow.start.0, Rank::Start, What::Flows, 0, 0);
        }
        self.list_link_change();
        self.net.list_programs();
        self.list_calls();
        if let Some(s) = self.sampling {
            self.events.push(s.start, Rank::Start, What::Sample, 0, 0);
        }
        // Of the last event, and of what comes next besides events.
        let (mut now, mut due) = (0, 0);
        while !(self.next_flow.is_none() && self.finished())
            && let Some((at, what, place, detail)) = self.events.pop()
        {
            self.events.fetch_soon(&self.net);
            if at >= due {
                let (progress, active) = (self.net.progress, self.under_way());
                if let Some(suspicion) = standstill.look(at.min(stop.saturating_sub(1)), progress, active)
                    && let Some(at) = standstill.confirm(suspicion, &Symptoms::of(&self.net), active)
                {
                    return Ok(self.stalled(at, observer));
                }
                if at >= stop {
                    // The reference's first sample comes before a stop at the same instant: it was scheduled first.
                    if self.events.by_insertion() && self.sampling.is_some_and(|s| s.start == stop) {
                        self.sample(stop, observer);
                    }
                    if !self.goes_on() {
                        break;
                    }
                    return Ok(self.stopped(stop, observer));
                }
                self.net.sample_until(at);
                if at >= self.net.next_link_change() {
                    self.change_links(at);
                }
                due = stop.min(self.net.next_link_change()).min(self.net.series.next).min(standstill.next);
            }
            now = at;
            self.net.counters.events += 1;
            self.handle(what, place, detail, at, observer)?;
            if self.net.programs.is_some() {
                self.serve_programs(now)?;
            }
            if self.net.counters.events.is_multiple_of(1 << 14) {
                report(&mut self.net, observer, now);
                if !observer.progress(&progress(&self.net, now)) {
                    return Ok((Ending::Interrupted, now));
                }
            }
        }
        let active = self.under_way();
        if active > 0 && !self.waits_in_vain() {
            let symptoms = Symptoms::of(&self.net);
            if symptoms.sends_at_stop() {
                return Ok(self.stopped(stop, observer));
            }
            let at = standstill.end(self.net.progress, active, &symptoms).min(stop);
            return Ok(self.stalled(at, observer));
        }
        report(&mut self.net, observer, NEVER);
        self.net.end_samples(self.net.last_end);
        if let Some(programs) = self.net.programs.as_ref().filter(|p| p.working() > 0) {
            return Ok((Ending::Stalled(programs.stuck()), self.net.last_end));
        }
        self.net.lose_waiting_clients();
        Ok((Ending::Completed, now))
    }

    /// Whether all that is under way are clients that wait for answers which their servers have given up.
    fn waits_in_vain(&self) -> bool {
        self.net.has_given_up_answers() && Symptoms::of(&self.net).in_vain() == self.net.counters.active()
    }

    /// The run came to its stop with something under way.
    fn stopped(&mut self, stop: u64, observer: &mut dyn Observer) -> (Ending, u64) {
        report(&mut self.net, observer, NEVER);
        self.net.end_samples(stop.saturating_sub(1));
        (Ending::Stopped, stop)
    }

    /// The run came to a standstill at `at`.
    fn stalled(&mut self, at: u64, observer: &mut dyn Observer) -> (Ending, u64) {
        report(&mut self.net, observer, NEVER);
        self.net.end_samples(at.saturating_sub(1));
        (Ending::Stalled(diagnose(&self.net, &waits(&self.net), at)), at)
    }

    /// Flows under way, and one more for datagrams that are: their flows may be over for the senders.
    fn under_way(&self) -> u64 {
        self.net.counters.active() + u64::from(self.net.datagrams != 0)
    }

    /// Whether flows or datagrams are under way or still to come, or programs at work; packets of those that have ended may be there.
    fn goes_on(&self) -> bool {
        self.next_flow.is_some() || self.under_way() != 0 || !self.starting.is_empty() || self.is_owed()
    }

    /// Whether there is something to send besides flows' data, or to sample.
    fn is_owed(&self) -> bool {
        self.net.unsettled() != 0
            || self.net.programs.as_ref().is_some_and(|p| p.working() != 0)
            || self.sampling.is_some()
    }

    /// With nothing left to start, send or sample the run is over, whatever idle timers remain.
    #[inline(never)]
    fn finished(&self) -> bool {
        let is_idle = self.net.counters.active() == 0;
        self.next_flow.is_none()
            && (is_idle || self.net.has_given_up_answers())
            && self.starting.is_empty()
            && self.net.arena.live() == 0
            && !self.is_owed()
            && (is_idle || self.waits_in_vain())
    }

    fn handle(
        &mut self,
        what: What,
        place: u32,
        detail: u32,
        now: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), InputError> {
        let (net, list) = (&mut self.net, &mut self.events);
        match what {
            What::Arrival => {
                net.counters.ties += u64::from(list.is_tied(place, now));
                net.switch_arrival(place, detail, now, list);
            }
            What::HostArrival => {
                net.counters.ties += u64::from(list.is_tied(place, now));
                match &mut self.reference {
                    Some(reference) => {
                        let nic = net.ports[place as usize].nic;
                        reference.arrival(net, list, nic, detail, now);
                    }
                    None => events::arrive_at_host(net, list, place, detail, now),
                }
            }
            What::LookedAt => self.arrive_looked_at(place, detail, now),
            What::Departure => match &mut self.reference {
                Some(reference) if net.ports[place as usize].nic != NONE => {
                    let nic = net.ports[place as usize].nic;
                    reference.transmitted(net, list, nic, now);
                }
                _ => events::depart(net, list, place, now),
            },
            What::Wake => events::wake(net, list, place, now),
            What::Timeout => events::time_out(net, list, place, now),
            What::Pacing => {
                if let Some(reference) = &mut self.reference {
                    reference.paced(net, list, place, detail, now);
                }
            }
            What::Tick => {
                if let Some(reference) = &mut self.reference {
                    reference.tick(net, list, place, detail, now);
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
            What::Program => {
                // Flows that start at this instant come first.
                self.start_due(now)?;
                self.net.call_program(place, now);
            }
        }
        Ok(())
    }

    /// A packet arrives over a wire that loses some by the reference's random numbers, or at a node whose packets are traced.
    #[cold]
    #[inline(never)]
    fn arrive_looked_at(&mut self, place: u32, h: Handle, now: u64) {
        let (net, list) = (&mut self.net, &mut self.events);
        if net.meets_doom(place, h, now) {
            return;
        }
        let link = net.graph.ports[net.ingress_of(place, h) as usize].link;
        if net.reference_random.as_mut().is_some_and(|random| random.is_lost(link)) {
            net.lose(net.ingress_of(place, h), h);
            return;
        }
        net.note_arrival(place, h, now);
        net.counters.ties += u64::from(list.is_tied(place, now));
        let nic = net.ports[place as usize].nic;
        match &mut self.reference {
            _ if nic == NONE => net.switch_arrival(place, h, now, list),
            Some(reference) => reference.arrival(net, list, nic, h, now),
            None => events::arrive_at_host(net, list, place, h, now),
        }
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
                events::serve_nic(&mut self.net, &mut self.events, nic, now);
            }
        }
    }

    fn start_flows(&mut self, now: u64) -> Result<(), InputError> {
        self.start_due(now)?;
        if let Some(flow) = self.next_flow {
            self.events.push(flow.start.0, Rank::Start, What::Flows, 0, 0);
        }
        Ok(())
    }

    fn start_due(&mut self, now: u64) -> Result<(), InputError> {
        while let Some(spec) = self.next_flow.filter(|f| f.start.0 == now) {
            let id = self.next_id;
            self.next_id += 1;
            self.next_flow = self.source.next_flow();
            if self.events.by_insertion() {
                self.starting.push_back((id, spec));
                self.events.push(now, Rank::Start, What::FlowInit, 0, 0);
            } else {
                self.start(id, spec, now)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, id: u64, spec: FlowSpec, now: u64) -> Result<(), InputError> {
        let sport = self.net.take_sport(&spec, id);
        let Some(reference) = &mut self.reference else {
            return events::start(&mut self.net, &mut self.events, (id, spec, sport), now);
        };
        let slot = self.net.start_flow(id, spec, sport)?;
        reference.flow(&mut self.net, &mut self.events, slot, now);
        Ok(())
    }

    /// Does what programs want.
    fn serve_programs(&mut self, now: u64) -> Result<(), InputError> {
        while let Some(programs) = &mut self.net.programs
            && let Some(message) = programs.next_outgoing()
        {
            if programs.keeps_connections(message.program) {
                let (net, list) = (&mut self.net, &mut self.events);
                if let Some(nic) = net.send_on_stream(message, now, list)? {
                    events::serve_nic(net, list, nic, now);
                }
            } else {
                let spec = programs.begin_flow(self.next_id, message, now);
                self.next_id += 1;
                self.start(self.next_id - 1, spec, now)?;
            }
        }
        self.list_calls();
        Ok(())
    }

    /// Lists the instants at which places of programs are to be told something.
    fn list_calls(&mut self) {
        while let Some(programs) = &mut self.net.programs
            && let Some((at, nic)) = programs.next_fresh()
        {
            // Those of one instant in the order of the NICs: connections are numbered as they are opened.
            self.events.push(at, Rank::Start, What::Program, nic, 0);
        }
    }

    fn sample(&mut self, now: u64, observer: &mut dyn Observer) {
        let Some(s) = self.sampling else { return };
        if let Some(sampler) = &mut self.net.levels.sampler {
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
