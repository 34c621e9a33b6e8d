//! Window by window, node by node, egress port by egress port: no event list.
//!
//! A window is as long as the shortest time in which one node can affect another (lookahead). Within it nodes are
//! independent, and within a switch so are its ports as long as no threshold of the shared buffer is in reach; where one
//! is, that switch runs that window in exact order of time across its ports. In trees every other node is run for two
//! windows at a time, in turn with the others (`windows`). Nodes with links shorter than a window are run event by event
//! (`close`). The results are those of the sequential engine, byte for byte, whatever the number of threads: the network is
//! cut into parts (`partition`), each thread runs a part (`part`), and what crosses a cut is exchanged between windows
//! (`team`). All nodes are together at the same instant only where that is needed: for a sample, when links change, at the
//! run's end. Windows are cut short there.

use std::sync::Arc;

use super::events::ONE_FRAME;
use super::part::{Part, Start};
use super::partition::partition;
use super::team::{Standing, Team};
use super::windows::{Ahead, SIDES, Windows};
use super::{Ending, Observer, Progress};
use crate::diagnosis::Symptoms;
use crate::error::InputError;
use crate::net::Net;
use crate::record::{FlowRecord, PfcEvent, QueryRecord};
use crate::scenario::{Scenario, Stop};
use crate::workload::{FlowSource, FlowSpec};

const NEVER: u64 = u64::MAX;
/// Windows for which flows are drawn ahead.
const DRAWN_AHEAD: u64 = 64;
/// Windows between two reports to the observer.
const REPORT: usize = 64;

/// The engine.
pub struct Windowed {
    parts: Vec<Part>,
    feeder: Feeder,
    width: u64,
    windows: u64,
    others_cpu_s: f64,
    shares: Vec<Share>,
}

/// What one part has done in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Packets looked at on arrival.
    pub events: u64,
    /// Packets sent to other parts.
    pub crossed: u64,
}

/// Draws flows and tells the parts.
struct Feeder {
    source: Box<dyn FlowSource>,
    next: Option<FlowSpec>,
    id: u64,
    part_of: Arc<[u8]>,
}

impl Feeder {
    /// Draws the flows that start before `until`; `net` gives NICs and source ports, in the order of the stream.
    fn draw(&mut self, net: &mut Net, until: u64, mut give: impl FnMut(u8, Start)) {
        while let Some(spec) = self.next.filter(|f| f.start.0 < until) {
            // A host with several NICs: which one the flow will use follows from its id.
            let port = net.nic_port(&spec, self.id);
            let sport = net.take_sport(&spec, self.id);
            let part = self.part_of.get(spec.src as usize).copied().unwrap_or(0);
            give(part, Start { id: self.id, spec, sport, port });
            self.id += 1;
            self.next = self.source.next_flow();
        }
    }
}

/// What all threads conclude from the standings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// A window, up to its end or, where it is cut short, to an earlier instant.
    Window(u64, u64),
    /// Links change: no node has anything to do before.
    Links,
    /// Flows must be drawn first.
    Draw,
    Stopped,
    Completed,
    Stalled,
    Interrupted,
}

/// What one thread knows and does between windows.
struct Driver<'a> {
    part: &'a mut Part,
    me: usize,
    parts: usize,
    team: &'a Team,
    width: u64,
    stop: u64,
    stall: u64,
    turn: usize,
    /// Flows are drawn for windows before this.
    drawn: u64,
    now: u64,
    /// Up to when each side has been run.
    fronts: [u64; SIDES],
    progress_at: u64,
    /// No flow was under way at the last meeting.
    idle: bool,
    windows: u64,
    /// Sums over all parts at the last meeting.
    progress: u64,
    seen: Progress,
}

/// The others have died.
struct Abandoned;

impl<'a> Driver<'a> {
    fn new(part: &'a mut Part, me: usize, parts: usize, team: &'a Team, width: u64) -> Self {
        let scenario = &part.net.scenario;
        let stop = match scenario.stop {
            Stop::Completed => NEVER,
            Stop::At(t) => t.0,
        };
        let stall = scenario.stall.0;
        Self {
            part,
            me,
            parts,
            team,
            width,
            stop,
            stall,
            turn: 0,
            drawn: DRAWN_AHEAD,
            now: 0,
            fronts: [0; SIDES],
            progress_at: 0,
            idle: true,
            windows: 0,
            progress: 0,
            seen: Progress::default(),
        }
    }

    /// Runs to the end. The leader draws the flows and reports to the observer.
    fn run(&mut self, mut leader: Option<(&mut Feeder, &mut dyn Observer)>) -> Result<Verdict, InputError> {
        let mut ended = Vec::new();
        let mut pfc = Vec::new();
        let mut queries = Vec::new();
        let mut failure = None;
        loop {
            let mut standing = Standing { quit: failure.is_some(), ..Standing::default() };
            if let Some((feeder, _)) = &mut leader {
                let until = self.drawn.saturating_mul(self.width);
                let mut first = NEVER;
                feeder.draw(&mut self.part.net, until, |part, start| {
                    first = first.min(start.spec.start.0);
                    standing.pending += 1;
                    self.team.letters(self.turn, self.me, usize::from(part)).starts.push(start);
                });
                if first != NEVER {
                    standing.ahead.add(0, self.part.window_of(0, first), first);
                }
                standing.next_flow = feeder.next.map(|f| f.start.0 / self.width);
            }
            if let Some((_, observer)) = &mut leader
                && self.turn.is_multiple_of(REPORT)
            {
                report(&mut ended, &mut pfc, &mut queries, *observer);
                standing.quit |= !observer.progress(&Progress { now: self.now, ..self.seen });
            }
            if self.exchange(standing).is_err() {
                return Ok(Verdict::Interrupted);
            }
            if leader.is_some() {
                for part in 0..self.parts {
                    let mut standing = self.team.standing(self.turn, part);
                    ended.append(&mut standing.flows);
                    queries.append(&mut standing.queries);
                    pfc.append(&mut standing.pfc);
                }
            }
            let verdict = self.conclude();
            self.turn += 1;
            if let Some(error) = failure {
                return Err(error);
            }
            match verdict {
                Verdict::Draw => {}
                Verdict::Links => self.now = self.now.max(self.part.change_links()),
                Verdict::Window(w, end) => {
                    self.drawn = self.drawn.max(w + DRAWN_AHEAD);
                    failure = self.part.run_window(w, end).err();
                    self.fronts[self.part.side(w)] = end;
                    (self.now, self.windows) = (end, self.windows + 1);
                }
                _ => {
                    if let Some((_, observer)) = &mut leader {
                        report(&mut ended, &mut pfc, &mut queries, *observer);
                    }
                    return Ok(verdict);
                }
            }
        }
    }

    /// Leaves letters and standing, meets the others, and reads the letters.
    fn exchange(&mut self, mut standing: Standing) -> Result<(), Abandoned> {
        let (turn, me, team) = (self.turn, self.me, self.team);
        let mut sent = 0;
        for part in (0..self.parts).filter(|part| *part != me) {
            let mut post = team.letters(turn, me, part);
            self.part.hand_over(part, &mut post, &mut standing.ahead);
            sent += post.cut.len() as u64;
        }
        standing.ahead = standing.ahead.and(self.part.next_windows());
        let net = &mut self.part.net;
        let c = net.counters();
        (standing.started, standing.ended) = (c.started, c.finished + c.failed);
        standing.packets = u64::from(net.arena.live()) + sent;
        standing.pending += self.part.pending.len() as u64 + net.unsettled();
        standing.progress = net.progress;
        if turn.is_multiple_of(REPORT) {
            let (data, control) = net.hops();
            standing.hops = data + control;
        }
        std::mem::swap(&mut standing.flows, &mut net.flow_records);
        std::mem::swap(&mut standing.queries, &mut net.queries);
        std::mem::swap(&mut standing.pfc, &mut net.pfc_log);
        *team.standing(turn, me) = standing;
        if !team.meet() {
            return Err(Abandoned);
        }
        for from in 0..self.parts {
            self.part.accept(&mut team.letters(turn, from, me));
        }
        Ok(())
    }

    /// What is next; the same for all threads. Takes the samples that are due before.
    fn conclude(&mut self) -> Verdict {
        let (mut ahead, mut next_flow, mut quit) = (Ahead::default(), None, false);
        let (mut started, mut ended, mut packets, mut pending, mut progress, mut hops) = (0, 0, 0, 0, 0, 0);
        for part in 0..self.parts {
            let s = self.team.standing(self.turn, part);
            ahead = ahead.and(s.ahead);
            next_flow = next_flow.or(s.next_flow);
            quit |= s.quit;
            started += s.started;
            ended += s.ended;
            packets += s.packets;
            pending += s.pending;
            progress += s.progress;
            hops += s.hops;
        }
        self.seen = Progress { now: self.now, started, ended, hops: self.seen.hops.max(hops) };
        if quit {
            return Verdict::Interrupted;
        }
        let active = started - ended;
        // A flow that starts after a time without any has the time from its start on.
        let was_idle = std::mem::replace(&mut self.idle, active == 0);
        if progress != self.progress || active == 0 || was_idle {
            (self.progress, self.progress_at) = (progress, self.now);
        } else if self.now - self.progress_at > self.stall && self.is_stuck() {
            return Verdict::Stalled;
        }
        // Whatever idle timers remain, also in a window that the stop cuts short.
        if next_flow.is_none() && pending + active + packets == 0 {
            return Verdict::Completed;
        }
        let last = ahead.sides().map(|(_, w, _)| w).max();
        if next_flow.is_some_and(|f| last.is_none_or(|w| f <= w)) {
            self.drawn = next_flow.unwrap_or(0) + DRAWN_AHEAD;
            return if self.drawn.saturating_sub(DRAWN_AHEAD).saturating_mul(self.width) >= self.stop {
                Verdict::Stopped
            } else {
                Verdict::Draw
            };
        }
        let begins = |(side, _, at): (usize, u64, u64)| at.max(self.fronts[side]);
        let links = self.part.next_link_change();
        // Before that nothing happens.
        let now = ahead.sides().map(begins).min().unwrap_or(NEVER).min(links);
        if now == NEVER {
            return if active > 0 { Verdict::Stalled } else { Verdict::Completed };
        }
        if now >= self.stop {
            return Verdict::Stopped;
        }
        let limit = self.part.sample_until(now).min(self.stop);
        if links == now {
            return Verdict::Links;
        }
        // What is left of a window that was cut short at the limit waits until the other side is there too.
        let next = ahead.sides().filter(|next| begins(*next) < limit).map(|(_, w, _)| w).min();
        next.map_or(Verdict::Stopped, |w| Verdict::Window(w, ((w + 1) * self.width).min(limit)))
    }

    /// Asks all parts for what speaks for a standstill.
    #[cold]
    fn is_stuck(&mut self) -> bool {
        self.turn += 1;
        *self.team.standing(self.turn, self.me) =
            Standing { symptoms: Symptoms::of(&self.part.net), ..Standing::default() };
        if !self.team.meet() {
            return true;
        }
        let mut all = Symptoms::default();
        for part in 0..self.parts {
            all.add(&self.team.standing(self.turn, part).symptoms);
        }
        all.is_stuck(self.now - self.progress_at, self.stall)
    }
}

/// Hands the observer what has piled up.
fn report(
    flows: &mut Vec<FlowRecord>,
    pfc: &mut Vec<PfcEvent>,
    queries: &mut Vec<QueryRecord>,
    observer: &mut dyn Observer,
) {
    if !queries.is_empty() {
        observer.queries_answered(queries);
        queries.clear();
    }
    if !flows.is_empty() {
        observer.flow_records(flows);
        flows.clear();
    }
    if !pfc.is_empty() {
        observer.pfc(pfc);
        pfc.clear();
    }
}

/// Sets the others free when a thread dies.
struct Disband<'a>(&'a Team);

impl Drop for Disband<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.disband();
        }
    }
}

impl Windowed {
    /// An engine on one thread for a scenario and its flows. The scenario must have a lookahead above 0 and no quirk of
    /// order.
    pub fn new(scenario: &Arc<Scenario>, source: Box<dyn FlowSource>) -> Result<Self, InputError> {
        Self::on_threads(scenario, source, 1)
    }

    /// The same on up to `threads` threads; fewer when the network has fewer parts. The results do not depend on it.
    pub fn on_threads(
        scenario: &Arc<Scenario>,
        mut source: Box<dyn FlowSource>,
        threads: usize,
    ) -> Result<Self, InputError> {
        let windows = Windows::of(scenario);
        let (width, length) = (windows.width, windows.length());
        check(scenario, width)?;
        let (part_of, parts) = partition(&scenario.graph, threads, &windows.clusters(scenario), &windows.sides);
        let part_of: Arc<[u8]> = if parts == 1 { Arc::default() } else { part_of.into() };
        let mut all = Vec::with_capacity(parts);
        for me in 0..parts {
            let mut net = Net::new(Arc::clone(scenario))?;
            if parts > 1 {
                net.become_part(me as u8, parts, &part_of);
            }
            if !windows.close.is_empty() {
                net.set_close(&windows.close);
            }
            let largest = |p: &crate::port::Port| net.wires[usize::from(p.wire)].longest() + p.delay;
            let span = net.ports.iter().map(largest).max().unwrap_or(0) + net.rules.pfc_reaction + length;
            if span / width > 4096 {
                return Err(InputError::new("link delays, or PFC's reaction, too long for the windowed engine")
                    .field("run.engine")
                    .value(format!("longest {span} ps, lookahead {width} ps"))
                    .allowed("a ratio of at most 4096; or engine = \"sequential\""));
            }
            for node in 0..net.graph.nodes() as u32 {
                let per_port = |p: &crate::graph::PortInfo| {
                    (u128::from(p.rate.0) * u128::from(length) / 8_000_000_000_000) as u64 + u64::from(u16::MAX)
                };
                let burst = net.graph.ports_of(node).iter().map(per_port).sum();
                let by_event = windows.close.get(node as usize).is_some_and(|close| *close);
                net.buffers.set_burst(node, if by_event { ONE_FRAME } else { burst });
            }
            all.push(Part::new(net, &windows, span));
        }
        let next = source.next_flow();
        Ok(Self {
            parts: all,
            feeder: Feeder { source, next, id: 0, part_of },
            width,
            windows: 0,
            others_cpu_s: 0.0,
            shares: Vec::new(),
        })
    }

    /// The network as it stands; before the run that of the first part.
    pub fn net(&self) -> &Net {
        &self.parts[0].net
    }

    /// The network as it stands, for records; before the run that of the first part.
    pub fn net_mut(&mut self) -> &mut Net {
        &mut self.parts[0].net
    }

    /// The networks of all parts, to set up their records alike.
    pub fn nets_mut(&mut self) -> impl Iterator<Item = &mut Net> {
        self.parts.iter_mut().map(|p| &mut p.net)
    }

    /// Threads it will run on; 1 after the run.
    pub fn threads(&self) -> usize {
        self.parts.len()
    }

    /// CPU seconds of the threads beside the calling one.
    pub fn others_cpu_s(&self) -> f64 {
        self.others_cpu_s
    }

    /// Runs to the end.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(Ending, u64), InputError> {
        let team = Team::new(self.parts.len());
        let (parts, width) = (self.parts.len(), self.width);
        let feeder = &mut self.feeder;
        let mut drivers =
            self.parts.iter_mut().enumerate().map(|(me, part)| Driver::new(part, me, parts, &team, width));
        let Some(mut first) = drivers.next() else { return Ok((Ending::Completed, 0)) };
        let (outcome, others) = std::thread::scope(|scope| {
            let others: Vec<_> = drivers
                .map(|mut driver| {
                    scope.spawn(move || {
                        let _disband = Disband(driver.team);
                        (driver.run(None), crate::machine::cpu_seconds())
                    })
                })
                .collect();
            let _disband = Disband(&team);
            let outcome = first.run(Some((feeder, &mut *observer)));
            let others: Vec<_> = others.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            (outcome, others)
        });
        let (now, stop) = (first.now, first.stop);
        self.windows = first.windows;
        let mut failed = None;
        for other in others {
            match other {
                Ok((result, cpu_s)) => {
                    failed = failed.or(result.err());
                    self.others_cpu_s += cpu_s;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let shares = self.parts.iter().map(|p| Share { events: p.net.counters.events, crossed: p.crossed });
        self.shares = shares.collect();
        // The parts' packets are not brought together, and these stand in queues.
        for part in self.parts.iter_mut().filter(|p| !p.net.flow_records.is_empty()) {
            // Told of by other parts' last notes.
            observer.flow_records(&part.net.flow_records);
            part.net.flow_records.clear();
        }
        let stalled = matches!(outcome, Ok(Verdict::Stalled));
        let waits: Vec<_> =
            self.parts.iter().filter(|_| stalled).flat_map(|p| crate::diagnosis::waits(&p.net)).collect();
        let end = match outcome {
            Ok(Verdict::Stopped) => Some(stop.saturating_sub(1)),
            Ok(Verdict::Completed) => self.parts.iter().map(|p| p.net.last_end).max(),
            _ => None,
        };
        if let Some(end) = end {
            self.parts.iter_mut().for_each(|p| p.net.end_samples(end));
        }
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        if let Some(mut all) = parts.next() {
            all.net.settle();
            for part in parts {
                all.exact_windows += part.exact_windows;
                all.net.absorb(part.net);
            }
            self.parts = vec![all];
        }
        let verdict = outcome?;
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(match verdict {
            Verdict::Stopped => (Ending::Stopped, stop),
            Verdict::Interrupted => (Ending::Interrupted, now),
            Verdict::Stalled => (Ending::Stalled(crate::diagnosis::diagnose(self.net(), &waits, now)), now),
            Verdict::Completed | Verdict::Draw | Verdict::Links | Verdict::Window(..) => (Ending::Completed, now),
        })
    }

    /// What each part has done; empty before the run.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Windows run, and among the visits of switches those that needed exact order.
    pub fn windows(&self) -> (u64, u64) {
        (self.windows, self.parts.iter().map(|p| p.exact_windows).sum())
    }
}

/// Refuses what windows cannot do.
fn check(scenario: &Scenario, width: u64) -> Result<(), InputError> {
    if width == 0 || width > u64::from(u32::MAX) {
        return Err(InputError::new("the windowed engine needs a lookahead")
            .field("run.engine")
            .value("windowed")
            .allowed("links whose delay and smallest frame take 1 ps to 4 ms; or engine = \"sequential\""));
    }
    if scenario.quirks.insertion_order || scenario.quirks.nic_round_robin || scenario.quirks.reference_random {
        return Err(InputError::new("the windowed engine cannot follow the reference's event order")
            .field("run.engine")
            .value("windowed")
            .allowed("quirks insertion_order, nic_round_robin and reference_random off; or engine = \"sequential\""));
    }
    if let Some(rto) = scenario.host.rto.filter(|rto| rto.initial.0 < width) {
        // A timer that is set and runs out in one window would be seen too late.
        return Err(InputError::new("the windowed engine needs a timeout no shorter than the lookahead")
            .field("host.rto")
            .value(rto.initial)
            .allowed(format!("at least {}; or engine = \"sequential\"", paceline_proto::units::Duration(width))));
    }
    Ok(())
}
