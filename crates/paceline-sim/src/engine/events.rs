//! The list of events, and what happens at each: of the sequential engine, and of nodes too close together for windows.
//!
//! One event per hop where nothing queues: a transmitter's end is an event only when something waits for it. With the
//! quirk `insertion_order` ties go to the event scheduled first, as in the reference simulator; the number of an end of
//! transmission is then reserved when the transmission starts, whether or not the event is needed.

use super::NEVER;
use super::calendar::{self, Calendar, Ties};
use super::order::{Event, Rank, place_key};
use crate::error::InputError;
use crate::net::{Net, Schedule};
use crate::packet::{Handle, Kind, NONE};
use crate::scenario::Scenario;
use crate::workload::FlowSpec;

/// Bytes that can come to a switch between two looks at its accounts: a frame.
pub(super) const ONE_FRAME: u64 = 1 << 16;

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A packet arrives at a switch; place: inbox port, detail: handle.
    Arrival,
    /// The same at a host.
    HostArrival,
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
    /// A place of a program is to be told something; place: NIC.
    Program,
    /// A packet arrives over a wire that loses some by the reference's random numbers, or at a node whose packets are traced; as
    /// [`What::Arrival`].
    LookedAt,
}

impl What {
    /// A packet's arrival.
    #[inline(always)]
    fn arrival(at_host: bool) -> Self {
        if at_host { What::HostArrival } else { What::Arrival }
    }
}

/// By number in an event.
const KINDS: [What; 14] = [
    What::Arrival,
    What::HostArrival,
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
    What::LookedAt,
];

/// Width of the event list's buckets, ps: a few events each when a tenth of the links are busy with full frames; and how far ahead, ps,
/// what is sent now arrives.
fn width_and_reach(scenario: &Scenario, is_listed: impl Fn(u32) -> bool) -> (u64, u64) {
    let framing = &scenario.framing;
    let bits = f64::from(framing.payload + framing.header) * 8.0;
    let (mut frames_per_s, mut reach) = (0.0, 0.0f64);
    for p in scenario.graph.ports.iter().filter(|p| is_listed(p.node)) {
        let rate = p.rate.0 as f64;
        frames_per_s += rate / bits;
        reach = reach.max(p.delay.0 as f64 + 1e12 * bits / rate);
    }
    ((4.0 * 1e12 / (0.1 * frames_per_s)).clamp(16.0, 1e6) as u64, reach as u64)
}

/// Bytes of a list for all nodes before the first event, about.
pub(crate) fn list_bytes(scenario: &Scenario) -> usize {
    let (width, reach) = width_and_reach(scenario, |_| true);
    calendar::bytes(width, reach) + scenario.graph.ports.len() * (size_of::<PortEvents>() + size_of::<u64>())
}

/// What an event holds besides its kind.
#[inline(always)]
fn place_and_detail(payload: u64) -> (u32, u32) {
    ((payload >> 32) as u32 & 0x0fff_ffff, payload as u32)
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
    /// By port: when a packet came last that tied with another.
    last_tied: Vec<u64>,
    /// When the last arrival was, and the inbox of the first one of that instant.
    arrived: (u64, u32),
}

/// What the event list keeps of a port. Aligned, so that none lies across two cache lines.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct PortEvents {
    /// Number reserved for the end of the present transmission.
    end_key: u64,
    /// Place, in keys, at which its packets arrive: the far end of its wire.
    far: u64,
    node: u32,
    /// The port's number on its node.
    number: u16,
    /// The end of the present transmission is in the list. (A port that shapes may have to wait before it has ever sent.)
    listed: bool,
    /// It is a host's.
    is_host: bool,
    /// How its packets arrive.
    arrival: What,
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
    /// A list for the nodes that `is_listed` names.
    pub(super) fn new(net: &Net, is_listed: impl Fn(u32) -> bool) -> Self {
        let quirks = net.scenario.quirks;
        let ports = net.ports.iter().enumerate().map(|(i, p)| PortEvents {
            end_key: 0,
            far: place_key(Rank::Arrival, p.peer, p.peer_port),
            node: net.ports[i].node,
            number: (i as u32 - net.first[net.ports[i].node as usize]) as u16,
            listed: false,
            is_host: p.nic != NONE,
            arrival: What::arrival(p.peer_is_host),
            always_listed: quirks.nic_round_robin && net.ports[i].nic != NONE,
        });
        let (width, reach) = width_and_reach(&net.scenario, is_listed);
        let ties = if quirks.insertion_order { Ties::Key } else { Ties::Hashed(net.draws.ties) };
        Self {
            list: Calendar::new(width, reach, ties),
            insertion: quirks.insertion_order,
            scheduled: 0,
            key: 0,
            ports: ports.collect(),
            last_tied: vec![NEVER; net.ports.len()],
            arrived: (NEVER, 0),
        }
    }

    /// What arrives from these ports is looked at first.
    pub(super) fn looked_at(&mut self, ports: impl Iterator<Item = usize>) {
        for port in ports {
            self.ports[port].arrival = What::LookedAt;
        }
    }

    /// Takes the earliest event: when, what, where and its detail.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, What, u32, u32)> {
        self.list.pop().map(|event| self.taken(event))
    }

    /// The same if it comes before `end`.
    #[inline]
    pub(super) fn pop_before(&mut self, end: u64) -> Option<(u64, What, u32, u32)> {
        self.list.pop_before(end).map(|event| self.taken(event))
    }

    #[inline(always)]
    fn taken(&mut self, (at, key, payload): Event) -> (u64, What, u32, u32) {
        self.key = key;
        let (place, detail) = place_and_detail(payload);
        (at, KINDS[(payload >> 60) as usize], place, detail)
    }

    /// Asks for what an event that comes soon will need.
    #[inline(always)]
    pub(super) fn fetch_soon(&self, net: &Net) {
        if let Some(payload) = self.list.soon() {
            let (place, detail) = place_and_detail(payload);
            net.fetch(place, detail);
        }
    }

    /// When the earliest event is.
    pub(super) fn next_at(&self) -> Option<u64> {
        self.list.next_at()
    }

    /// Whether ties go to the event scheduled first.
    pub(super) fn by_insertion(&self) -> bool {
        self.insertion
    }

    #[inline]
    fn push_with(&mut self, at: u64, key: u64, what: What, place: u32, detail: u32) {
        let payload = (what as u64) << 60 | u64::from(place) << 32 | u64::from(detail);
        self.list.push(at, key, payload);
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
    pub(super) fn is_tied(&mut self, inbox: u32, now: u64) -> bool {
        let (at, first) = self.arrived;
        if at != now {
            // Most instants have one arrival: their ports need not be looked at.
            self.arrived = (now, inbox);
            return false;
        }
        self.last_tied[first as usize] = now;
        std::mem::replace(&mut self.last_tied[inbox as usize], now) == now
    }
}

impl Schedule for Events {
    #[inline]
    fn idle(&self, port: u32, free: u64, now: u64) -> bool {
        // By insertion order an end of transmission scheduled later than the present event is still to come.
        free < now || (free == now && (!self.insertion || self.ports[port as usize].end_key < self.key))
    }

    #[inline(always)]
    fn started(&mut self, port: u32, free: u64, handle: Handle, inbox: u32, arrival: u64) {
        if self.insertion {
            let number = self.number_next();
            self.ports[port as usize].end_key = number;
        }
        let p = &mut self.ports[port as usize];
        p.listed = false;
        let (far, what) = (p.far, p.arrival);
        if p.always_listed {
            self.waiting(port, free);
        }
        if handle != NONE {
            let key = if self.insertion { self.number_next() } else { far };
            self.push_with(arrival, key, what, inbox, handle);
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
        let what = What::arrival(self.ports[inbox as usize].is_host);
        self.push_with(arrival, key, what, inbox, handle);
    }
}

/// A schedule with a list of events.
pub(super) trait Listing: Schedule {
    fn events(&mut self) -> &mut Events;
}

impl Listing for Events {
    #[inline(always)]
    fn events(&mut self) -> &mut Events {
        self
    }
}

/// A packet arrives at a host's port.
#[inline(always)]
pub(super) fn arrive_at_host<L: Listing>(net: &mut Net, list: &mut L, inbox: u32, h: Handle, now: u64) {
    let nic = net.ports[inbox as usize].nic;
    if net.adapters.is_some()
        && matches!(net.arena[h].kind, Kind::Data | Kind::Control | Kind::Answer)
        && let Some(at) = net.comes_up(nic, h, now)
    {
        // Until then it changes nothing.
        list_wake(net, list, nic, at);
        return;
    }
    if !net.turn(nic).is_some_and(|mut turn| turn.take(h, now, list)) {
        net.nic_advance(nic, now, true, list);
        net.host_arrival(nic, h, now, list);
    }
    serve_nic(net, list, nic, now);
}

/// A switch port's transmitter may be free.
#[inline(always)]
pub(super) fn depart<L: Listing>(net: &mut Net, list: &mut L, port: u32, now: u64) {
    if net.ports[port as usize].free <= now {
        // A port that shapes may have to be looked at again before it sends.
        list.events().ports[port as usize].listed &= net.special.is_none();
        net.depart(port, now, list);
    }
}

/// A NIC may send, unless it has been found since that this is later.
pub(super) fn wake<L: Listing>(net: &mut Net, list: &mut L, nic: u32, now: u64) {
    if net.nics[nic as usize].wake_at == now {
        net.nics[nic as usize].wake_at = NEVER;
        serve_nic(net, list, nic, now);
    }
}

/// Timeouts may be due at a NIC.
pub(super) fn time_out<L: Listing>(net: &mut Net, list: &mut L, nic: u32, now: u64) {
    if net.nics[nic as usize].timer_at == now {
        net.nic_advance(nic, now, true, list);
        net.nic_timeouts(nic, now);
        serve_nic(net, list, nic, now);
    }
}

/// A flow starts at its NIC.
pub(super) fn start<L: Listing>(
    net: &mut Net,
    list: &mut L,
    (id, spec, sport): (u64, FlowSpec, u16),
    now: u64,
) -> Result<(), InputError> {
    let slot = net.start_flow(id, spec, sport)?;
    let nic = net.ports[net.flows[slot as usize].nic as usize].nic;
    net.nic_advance(nic, now, true, list);
    net.begin_at(nic, now);
    net.add_to_nic(slot);
    serve_nic(net, list, nic, now);
    // Timers go before starts, and the flow may have brought one for this very instant: the next flow to start waits for it.
    while net.nics[nic as usize].timer_at == now {
        time_out(net, list, nic, now);
    }
    Ok(())
}

/// A NIC has something to do at `at`.
fn list_wake<L: Listing>(net: &mut Net, list: &mut L, nic: u32, at: u64) {
    let n = &mut net.nics[nic as usize];
    if at < n.wake_at {
        n.wake_at = at;
        list.events().push_at(at, Rank::Departure, What::Wake, n.port, nic, 0);
    }
}

/// After anything happened at a NIC: sends what may go now and schedules its next departure and timer.
pub(super) fn serve_nic<L: Listing>(net: &mut Net, list: &mut L, nic: u32, now: u64) {
    let before = net.nics[nic as usize].wake_at;
    let wake = net.nic_advance(nic, now, true, list);
    let port = net.nics[nic as usize].port;
    if wake != NEVER && wake != before {
        net.nics[nic as usize].wake_at = wake;
        list.events().push_at(wake, Rank::Departure, What::Wake, port, nic, 0);
    } else if wake == NEVER {
        net.nics[nic as usize].wake_at = NEVER;
    }
    let timer = net.nics[nic as usize].timer_at;
    if timer != NEVER && timer != net.nics[nic as usize].timer_listed {
        net.nics[nic as usize].timer_listed = timer;
        list.events().push_at(timer, Rank::Timer, What::Timeout, port, nic, 0);
    }
}
