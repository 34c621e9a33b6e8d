//! Links that fail and come back by a schedule known beforehand.
//!
//! From the instant of a failure on what is on the wire, either way, and what waits at the two ports is lost, and nothing
//! is sent into the link; pauses of its two ports end. Switches look up the next port of every packet when it arrives, by
//! the tables of that instant: shortest paths over the links that were up `reroute_after` before. What they still send to
//! a dead port is lost there. Where answers take the way of the data backwards (credits), a switch on the data's path of that instant sends
//! them where the data would come from; one that is not on it, any more or yet, sends them on as it would data. A host goes on sending into a dead NIC, so that its timeouts run. When a link comes back, the
//! switch behind it may still have headroom in use: a lossless class may then drop. Window and base RTT stay those of the whole network,
//! and so do ideals, but for flows that came to a faster way (as the tables say when they start and when they end).
//!
//! The next port of a packet is decided when the switch before starts sending it, as everywhere in this engine; since the
//! schedule is known, it can be asked for the instant of the arrival. All ports of such a run are `watched`, so runs
//! without failures pay nothing.

mod schedule;

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_proto::cc::CongestionControl;
use paceline_proto::rng::{below, hash3, mix};
use paceline_proto::units::{BitsPerSec, Time};

use crate::graph::{Graph, NodeId};
use crate::ideal::{BaseRtt, base_rtt, base_rtt_by_node};
use crate::net::Net;
use crate::net::switch::special::Special;
use crate::net::switch::special::trimming::ingress;
use crate::packet::{Handle, INT, Kind, NONE, Packet};
use crate::record::{PacketEvent, Stage};
use crate::routing::by_node::NodeRoutes;
use crate::routing::choice::Choice;
use crate::routing::spraying::Turn;
use crate::routing::{Address, Routes, Tuple, ip_of};
use crate::scenario::{PathChoice, RoutingConfig, Scenario};
use schedule::Schedule;

/// What a packet carries with it in place of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    from: Address,
    to: Address,
    sport: u16,
    dport: u16,
    /// Number of the flow.
    id: u64,
    /// Choices between next hops made so far.
    choices: u64,
    /// Number of the draw of its path: its own or its flowlet's.
    draw: u32,
    /// The packet's place in the spraying of its message, where it is in one.
    turn: Option<Turn>,
    /// Of the data packet, also on its way back as an ACK: switches passed and a hash of their ports.
    switches: u8,
    path: u32,
}

impl Carried {
    /// For a packet of a message transport: its ends, port numbers at these, and the flow.
    pub(crate) fn new(ends: [Address; 2], ports: [u16; 2], id: u64, turn: Option<Turn>) -> Self {
        let ([from, to], [sport, dport]) = (ends, ports);
        Self { from, to, sport, dport, id, choices: 0, draw: 0, turn, switches: 0, path: 0 }
    }

    fn tuple(&self) -> Tuple {
        let ip = |a: Address| ip_of(a.host, a.nic);
        Tuple { src_ip: ip(self.from), dst_ip: ip(self.to), sport: self.sport, dport: self.dport }
    }

    /// For the way back from where it is.
    fn reversed(self) -> Self {
        Self { from: self.to, to: self.from, sport: self.dport, dport: self.sport, ..self }
    }
}

/// Failing links.
pub(crate) struct Failures {
    graph: Arc<Graph>,
    routing: RoutingConfig,
    choice: Choice,
    /// Answers take the way of the data backwards.
    symmetric: bool,
    schedule: Schedule,
    /// The two ports of every link.
    ends: Vec<[u32; 2]>,
    /// Key of the draws of sprayed packets.
    spray: u64,
    /// Routes of the present epoch and of those that packets now on a wire will see.
    routes: BTreeMap<usize, Routes>,
    /// The reference's in their place, where they differ.
    by_node: Option<BTreeMap<usize, NodeRoutes>>,
    /// By packet.
    carried: Vec<Carried>,
    /// The next instant at which a link fails or routes change, ps.
    next: u64,
}

/// Where a packet goes next: an inbox (global port index), or the port at which it is lost.
pub(crate) type Step = Result<u32, u32>;

impl Failures {
    /// The failures of a scenario, if it has any. `spray`: key of the draws of sprayed packets.
    pub(crate) fn new(scenario: &Scenario, spray: u64) -> Option<Box<Self>> {
        if scenario.failures.outages.is_empty() {
            return None;
        }
        let graph = Arc::clone(&scenario.graph);
        let schedule = Schedule::new(graph.links(), &scenario.failures);
        let mut ends = vec![[u32::MAX; 2]; graph.links()];
        for (number, port) in (0..).zip(&graph.ports) {
            let [first, second] = &mut ends[port.link as usize];
            *(if *first == u32::MAX { first } else { second }) = number;
        }
        Some(Box::new(Self {
            next: schedule.next(0),
            choice: Choice::new(&graph, scenario.routing),
            symmetric: scenario.schemes.iter().any(|s| s.transport.is_symmetric()),
            graph,
            routing: scenario.routing,
            schedule,
            ends,
            spray,
            routes: BTreeMap::new(),
            by_node: scenario.quirks.routes_by_node.then(BTreeMap::new),
            carried: Vec::new(),
        }))
    }

    /// What a packet carries.
    pub(crate) fn carried(&self, h: Handle) -> Option<Carried> {
        self.carried.get(h as usize).copied()
    }

    /// Writes down what a packet carries.
    pub(crate) fn carry(&mut self, h: Handle, carried: Carried) {
        if self.carried.len() <= h as usize {
            self.carried.resize(h as usize + 1, carried);
        }
        self.carried[h as usize] = carried;
    }

    /// Whether the link behind a port is down.
    pub(crate) fn is_down(&self, port: u32, at: u64) -> bool {
        self.schedule.is_down(self.graph.ports[port as usize].link, at)
    }

    /// Whether a packet that starts at `port` at `sent` is lost on the wire, where it would arrive at `arrival`.
    pub(crate) fn is_lost(&self, port: u32, sent: u64, arrival: u64) -> bool {
        self.schedule.loses(self.graph.ports[port as usize].link, sent, arrival)
    }

    /// Failures of the schedule that come after `end`.
    pub(crate) fn failures_after(&self, end: Time) -> usize {
        self.schedule.failures_after(end)
    }

    /// Sees off a packet that starts at `port` at `sent` and would arrive at `inbox` at `arrival` if nothing ever failed.
    pub(crate) fn forward(&mut self, port: u32, h: Handle, packet: &Packet, sent: u64, arrival: u64) -> Step {
        let link = &self.graph.ports[port as usize];
        if self.is_lost(port, sent, arrival) {
            return Err(port);
        }
        let (node, first) = (link.peer, self.graph.first[link.peer as usize]);
        if packet.kind.is_pfc() || self.graph.is_host(node) {
            return Ok(first + u32::from(link.peer_port));
        }
        let out = self.enter(port, node, h, packet, arrival)?;
        if packet.kind == Kind::Data {
            let carried = &mut self.carried[h as usize];
            carried.switches = carried.switches.saturating_add(1);
            carried.path = mix(u64::from(carried.path) << 32 | u64::from(out)) as u32;
        }
        Ok(out)
    }

    /// A packet sent from `port` arrives at a switch: its inbox there.
    fn enter(&mut self, port: u32, node: NodeId, h: Handle, packet: &Packet, at: u64) -> Step {
        let out = self.graph.first[node as usize] + self.next_port(node, h, packet, at).ok_or(port)?;
        if self.is_down(out, at) { Err(out) } else { Ok(out) }
    }

    /// A switch turns a packet round that was meant to leave by `port`, sprayed by `key`: its inbox there, at `at`.
    pub(crate) fn turn_back(&mut self, port: u32, h: Handle, packet: &Packet, key: u64, at: u64) -> Step {
        let carried = &mut self.carried[h as usize];
        let turn = carried.turn.map(|_| Turn::new(key, 0, 1));
        *carried = Carried { turn, ..carried.reversed() };
        self.enter(port, self.graph.ports[port as usize].node, h, packet, at)
    }

    /// The port by which a flow's data, by the tables of an epoch, come in at a switch, which may not be on their way. `to`
    /// and `from` of the answers that take their way backwards.
    fn backwards(&mut self, node: NodeId, answer: &Carried, epoch: usize) -> Option<u32> {
        let data = answer.reversed();
        let [start, end] = [data.from, data.to]
            .map(|a| self.graph.ports_of(a.host)[usize::from(a.nic)])
            .map(|p| (p.peer, p.peer_port));
        let (mut at, mut by) = start;
        while at != node && at != end.0 {
            let hops = self.routes.get_mut(&epoch)?.next_hops(at, end.0);
            let port = match *hops {
                [] => return None,
                [only] => only,
                _ => {
                    let n = hops.len() as u32;
                    hops[pick(&self.choice, &self.graph, at, &data, n) as usize]
                }
            };
            let link = &self.graph.ports_of(at)[usize::from(port)];
            (at, by) = (link.peer, link.peer_port);
        }
        (at == node).then_some(u32::from(by))
    }

    /// The reference's routes at an instant, where they differ.
    fn nodes_at(&mut self, at: u64) -> Option<&mut NodeRoutes> {
        let epoch = self.schedule.epoch(at);
        let (graph, schedule) = (&self.graph, &self.schedule);
        let routes = self.by_node.as_mut()?.entry(epoch);
        Some(routes.or_insert_with(|| NodeRoutes::new(Arc::clone(graph), &schedule.down_in(epoch))))
    }

    /// The rate of the slowest link of the first path between two hosts at an instant; `None` where there is none.
    fn slowest(&mut self, [src, dst]: [Address; 2], payload: u32, at: u64) -> Option<BitsPerSec> {
        if let Some(routes) = self.nodes_at(at) {
            return base_rtt_by_node(routes, [src.host, dst.host], payload).map(|pair| pair.min_rate);
        }
        let epoch = self.schedule.epoch(at);
        base_rtt(self.routes_in(epoch), src, dst, payload).ok().map(|pair| pair.min_rate)
    }

    /// The tables of an instant, where they are not those of the whole network (or the reference's, which are others).
    pub(crate) fn detours(&mut self, at: u64) -> Option<&mut Routes> {
        let epoch = self.schedule.epoch(at);
        (epoch != 0 && self.by_node.is_none()).then(|| self.routes_in(epoch))
    }

    fn routes_in(&mut self, epoch: usize) -> &mut Routes {
        let (graph, routing, schedule) = (&self.graph, self.routing, &self.schedule);
        let routes = self.routes.entry(epoch);
        routes.or_insert_with(|| Routes::without(Arc::clone(graph), routing, schedule.down_in(epoch)))
    }

    /// The port of a switch that its tables give a packet at an instant.
    fn next_port(&mut self, node: NodeId, h: Handle, packet: &Packet, at: u64) -> Option<u32> {
        let carried = self.carried[h as usize];
        if let Some(routes) = self.nodes_at(at) {
            return routes.choose(node, carried.to.host, &carried.tuple()).map(u32::from);
        }
        let carried = &mut self.carried[h as usize];
        let to = &self.graph.ports_of(carried.to.host)[usize::from(carried.to.nic)];
        if to.peer == node {
            return Some(u32::from(to.peer_port));
        }
        let epoch = self.schedule.epoch(at);
        let target = to.peer;
        self.routes_in(epoch);
        if self.symmetric && packet.kind.is_back() {
            let answer = self.carried[h as usize];
            if let Some(port) = self.backwards(node, &answer, epoch) {
                return Some(port);
            }
        }
        let carried = &mut self.carried[h as usize];
        let hops = self.routes.get_mut(&epoch)?.next_hops(node, target);
        let n = hops.len() as u32;
        let choice = match (n, &mut carried.turn) {
            (0, _) => return None,
            (1, _) => 0,
            (_, Some(turn)) => turn.next(n),
            _ if self.routing.choice.splits_flows() && packet.kind == Kind::Data => {
                carried.choices += 1;
                below(hash3(self.spray, carried.id, u64::from(carried.draw) << 8 | carried.choices & 0xff), n)
            }
            _ => pick(&self.choice, &self.graph, node, carried, n),
        };
        hops.get(choice as usize).map(|port| u32::from(*port))
    }
}

/// The hop that a switch chooses by hash for a packet among `n`.
fn pick(choice: &Choice, graph: &Graph, node: NodeId, packet: &Carried, n: u32) -> u32 {
    let tuple = packet.tuple();
    choice.pick(node, graph.tiers[node as usize], [packet.from, packet.to], &tuple, n)
}

impl Net {
    /// The next instant at which a link fails or routes change; never without failures.
    #[inline]
    pub(crate) fn next_link_change(&self) -> u64 {
        self.failures.as_ref().map_or(u64::MAX, |f| f.next)
    }

    /// Whether the link behind a port is down.
    pub(crate) fn link_is_down(&self, port: u32, now: u64) -> bool {
        self.failures.as_ref().is_some_and(|f| f.is_down(port, now))
    }

    /// A packet leaves its host: what switches need to know of it is written down. Message transports have done so.
    pub(crate) fn address_packet(&mut self, h: Handle, packet: &Packet) {
        if self.messages.is_some() {
            return;
        }
        let slot = ((packet.flow & crate::net::flow::SLOT_MASK) >> self.share.bits) as usize;
        let carried = if packet.kind == Kind::Data {
            let info = &self.infos[slot];
            let (spec, id) = (&info.spec, info.id);
            let (from, to) = self.ends(spec, id);
            let draw = if self.flowlet_gap.is_some() { info.flowlet.number() } else { packet.seq };
            Carried { draw, ..Carried::new([from, to], [info.sport, spec.dport], id, None) }
        } else {
            let Some(failures) = &self.failures else { return };
            failures.carried[h as usize].reversed()
        };
        if let Some(failures) = &mut self.failures {
            failures.carry(h, carried);
        }
    }

    /// An ACK has come back: the path its data packet took. A path other than before makes the records of the switches on
    /// it useless as a reference (the path id of HPCC's INT header, sec. 3.1 of the paper).
    pub(crate) fn note_path(&mut self, h: Handle, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        let path = match &self.failures {
            Some(failures) => {
                let carried = &failures.carried[h as usize];
                flow.switches = carried.switches;
                // The reference simulator knows no path ids, and sprayed packets take another path each time.
                if self.scenario.quirks.link_down || failures.routing.choice == PathChoice::Spray {
                    return;
                }
                u64::from(carried.path)
            }
            None if flow.flags & INT != 0 => self.arena.int(h)[0].0,
            None => return,
        };
        let before = std::mem::replace(&mut self.infos[slot as usize].path, path);
        if before != 0 && before != path {
            flow.cc.on_new_path();
        }
    }

    /// The port by which a host sends the packets of a flow to the other end, by the reference's routes at an instant; `None` where
    /// these are those of a host with one NIC, or there is no way. `back`: its receiver answers.
    pub(crate) fn reference_port(&mut self, slot: u32, back: bool, now: u64) -> Option<u32> {
        let info = &self.infos[slot as usize];
        let spec = &info.spec;
        let (src_ip, dst_ip) = (ip_of(spec.src, 0), ip_of(spec.dst, 0));
        let there = Tuple { src_ip, dst_ip, sport: info.sport, dport: spec.dport };
        let (at, to, tuple) = if back { (spec.dst, spec.src, there.reversed()) } else { (spec.src, spec.dst, there) };
        let routes = match &mut self.failures {
            Some(failures) => failures.nodes_at(now)?,
            None => self.by_node.as_deref_mut()?,
        };
        routes.choose(at, to, &tuple).map(|port| self.graph.port_index(at, port) as u32)
    }

    /// After a link has failed the reference counts a flow's standalone time at the rate of the new path, with the old base RTT.
    pub(crate) fn renew_standalone(&mut self, slot: u32, now: u64) {
        let (spec, id) = (self.infos[slot as usize].spec, self.infos[slot as usize].id);
        let ((src, dst), payload) = (self.ends(&spec, id), self.scenario.framing.payload);
        let Some(rate) = self.failures.as_mut().and_then(|f| f.slowest([src, dst], payload, now)) else { return };
        let pair = match &mut self.by_node {
            Some(routes) => base_rtt_by_node(routes, [src.host, dst.host], payload),
            None => base_rtt(&mut self.routes, src, dst, payload).ok(),
        };
        if let Some(pair) = pair {
            self.infos[slot as usize].ideal_hpcc = self.standalone(&BaseRtt { min_rate: rate, ..pair }, spec.bytes);
        }
    }

    /// What is due at the instant of [`Net::next_link_change`]: before anything else at that instant, everything before
    /// done. Returns the ports whose links failed.
    #[cold]
    pub(crate) fn change_links<S: crate::net::Schedule>(&mut self, s: &mut S) -> Vec<u32> {
        let Some(failures) = &mut self.failures else { return Vec::new() };
        let now = failures.next;
        failures.next = failures.schedule.next(now.saturating_add(1));
        // No packet arrives in a past epoch any more.
        let epoch = failures.schedule.epoch(now);
        failures.routes.retain(|e, _| *e >= epoch);
        failures.by_node.iter_mut().for_each(|routes| routes.retain(|e, _| *e >= epoch));
        let ports: Vec<u32> = failures.schedule.failing(now).flat_map(|link| failures.ends[link as usize]).collect();
        for &port in &ports {
            self.end_pauses(port, now);
        }
        for &port in &ports {
            self.discard_queues(port, now, s);
            let nic = self.ports[port as usize].nic;
            if nic != NONE {
                self.begin_at(nic, now);
                self.may_send(nic, now);
            }
        }
        ports
    }

    /// Pauses end at a port whose link failed: those it was told and those it told its peer.
    fn end_pauses(&mut self, port: u32, now: u64) {
        let at_host = self.ports[port as usize].nic != NONE;
        if at_host && self.scenario.quirks.link_down {
            return;
        }
        let p = &mut self.ports[port as usize];
        let paused = std::mem::take(&mut p.paused);
        for class in (0..8).filter(|c| paused & (1 << c) != 0) {
            if let Some(record) = &mut self.pauses[port as usize] {
                record.time[class] += now - record.since[class];
            }
        }
        if !at_host && !self.scenario.quirks.link_down {
            self.buffers.forget_pauses(self.ports[port as usize].node, port);
        }
    }

    /// What waits at a port whose link failed is lost. With the quirk `link_down` it keeps its place in the accounts.
    fn discard_queues<S: crate::net::Schedule>(&mut self, port: u32, now: u64, s: &mut S) {
        let at_switch = self.ports[port as usize].nic == NONE;
        let node = self.ports[port as usize].node;
        if at_switch && self.scenario.quirks.link_down {
            let mut next = self.ports[port as usize].abandon();
            // In turn, as they would have been sent.
            while let Some(h) = next.pop_front() {
                let Packet { next: after, class, .. } = self.arena[h];
                self.note_stage(port, h, now, Stage::Discarded, class);
                self.note_packet(port, h, now, PacketEvent::DroppedLinkDown);
                self.lose_to_failure(port, h);
                match (after, class) {
                    (NONE, _) => {}
                    (_, 0) => next.push_front(after),
                    _ => next.push_back(after),
                }
            }
            return;
        }
        while self.ports[port as usize].waiting != 0 {
            let class = self.ports[port as usize].waiting.trailing_zeros() as u8;
            if at_switch && self.rules.is_recorded(class) {
                self.note_queue(port, class, now);
            }
            let h = self.ports[port as usize].pop(self.arena.split().0, class);
            let mut packet = self.arena[h];
            if matches!(self.special.as_deref(), Some(Special::Trimming(_))) {
                packet.in_port = ingress(packet.in_port);
            }
            self.note_stage(port, h, now, Stage::Discarded, class);
            self.note_packet(port, h, now, PacketEvent::DroppedLinkDown);
            if !at_switch {
                // It leaves its host nevertheless, on no port's account.
                self.datagram_leaves(h, now);
                self.books.not_sent(&packet);
            }
            self.lose_to_failure(port, h);
            if at_switch
                && !packet.kind.is_pfc()
                && let Some(ingress) = self.release_place(node, &packet)
            {
                self.send_pfc(ingress, class, Kind::Resume, now, s);
            }
        }
    }

    /// A packet is lost because a link is down, at a port.
    pub(crate) fn lose_to_failure(&mut self, port: u32, h: Handle) {
        self.note_loss(h);
        self.counters.drops_link_down += 1;
        self.port_counts[port as usize].drops_link_down += 1;
        let packet = self.arena[h];
        self.note_dropped(&packet);
        self.arena.release(h);
    }
}
