//! Window by window, node by node, egress port by egress port: no event list.
//!
//! A window is as long as the shortest time in which one node can affect another (lookahead). Within it nodes are
//! independent, and within a switch so are its ports as long as no threshold of the shared buffer is in reach; where one
//! is, that switch runs that window in exact order of time across its ports. In trees every other node is run for two
//! windows at a time, in turn with the others (`windows`). Nodes with links shorter than a window, and hosts of programs with
//! several NICs, are run event by event (`close`). The results are those of the sequential engine, byte for byte, whatever the
//! number of threads: the network is cut into parts (`partition`), each thread runs a part (`part`), and what crosses a cut is
//! exchanged between windows, where there are two sides while nodes away from the cut are run (`driver`, `team`). All nodes are together at the same instant only where that is needed: for a
//! sample, when links change, at the run's end. Windows are cut short there.

use std::sync::Arc;

use super::driver::{Driver, Feeder, Verdict};
use super::events::ONE_FRAME;
use super::part::Part;
use super::partition::partition;
use super::team::Team;
use super::work::{Foreseen, by_rates};
use super::{Ending, Observer};
use crate::error::InputError;
use crate::lookahead::Windows;
use crate::net::Net;
use crate::record::News;
use crate::scenario::Scenario;
use crate::workload::FlowSource;

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
        source: Box<dyn FlowSource>,
        threads: usize,
    ) -> Result<Self, InputError> {
        let windows = Windows::of(scenario);
        let (width, length, span) = (windows.width, windows.length(), windows.span(scenario));
        check(scenario, width)?;
        if let Some(why) = programs_at_once(scenario) {
            return Err(InputError::new(why)
                .field("run.engine")
                .value("windowed")
                .allowed("\"auto\" or \"sequential\""));
        }
        if let Some(error) = windows.too_many(scenario) {
            return Err(error);
        }
        let (source, (part_of, parts)) = if threads > 1 {
            let flows = Foreseen::new(source);
            let known =
                if scenario.programs.is_empty() { flows.work(&scenario.graph, scenario.stop.instant()) } else { None };
            let work = known.unwrap_or_else(|| by_rates(&scenario.graph));
            let cut = partition(&scenario.graph, threads, &windows.clusters(scenario), &windows.sides, &work);
            (Box::new(flows) as Box<dyn FlowSource>, cut)
        } else {
            (source, (Vec::new(), 1))
        };
        let part_of: Arc<[u8]> = if parts == 1 { Arc::default() } else { part_of.into() };
        let mut all = Vec::with_capacity(parts);
        for me in 0..parts {
            let mut net = Net::new(Arc::clone(scenario))?;
            if parts > 1 {
                net.become_part(me as u8, parts, &part_of);
            }
            let largest = |p: &crate::net::port::Port| net.wires[usize::from(p.wire)].longest() + p.delay;
            debug_assert!(
                net.ports.iter().all(|p| largest(p) + net.rules.pfc_reaction + length <= span),
                "what a port causes has room among the windows"
            );
            for node in 0..net.graph.nodes() as u32 {
                // What arrives, at the rate of the port at the other end.
                let per_port = |p: &crate::graph::PortInfo| {
                    let rate = net.graph.opposite(p).rate.0;
                    (u128::from(rate) * u128::from(length) / 8_000_000_000_000) as u64 + u64::from(u16::MAX)
                };
                let burst = net.graph.ports_of(node).iter().map(per_port).sum();
                let by_event = windows.close.get(node as usize).is_some_and(|close| *close);
                net.buffers.set_burst(node, if by_event { ONE_FRAME } else { burst });
            }
            net.list_programs();
            all.push(Part::new(net, &windows, span));
        }
        Ok(Self {
            parts: all,
            feeder: Feeder::new(source, part_of),
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
        let mut last = News::default();
        // Told of by other parts' last notes.
        self.parts.iter_mut().for_each(|part| last.append(&mut part.net.news));
        last.tell(observer);
        let stalled = matches!(outcome, Ok(Verdict::Stalled(_)));
        let waits: Vec<_> =
            self.parts.iter().filter(|_| stalled).flat_map(|p| crate::diagnosis::waits(&p.net)).collect();
        let end = match outcome {
            Ok(Verdict::Stopped) => Some(stop.saturating_sub(1)),
            Ok(Verdict::Stalled(at)) => Some(at.saturating_sub(1)),
            Ok(Verdict::Completed | Verdict::Stuck) => self.parts.iter().map(|p| p.net.last_end).max(),
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
            if matches!(outcome, Ok(Verdict::Completed)) {
                all.net.lose_waiting_clients();
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
            Verdict::Stuck => {
                let why = self.net().programs.as_ref().map(|p| p.stuck());
                (Ending::Stalled(why.unwrap_or_default()), self.net().last_end)
            }
            Verdict::Stalled(at) => (Ending::Stalled(crate::diagnosis::diagnose(self.net(), &waits, at)), at),
            Verdict::Completed | Verdict::Draw | Verdict::Links | Verdict::Window(..) | Verdict::Windows(..) => {
                (Ending::Completed, now)
            }
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

/// Why something may happen at one host at the very instant at which programs do something at another; nothing where windows can be run.
pub(crate) fn programs_at_once(scenario: &Scenario) -> Option<&'static str> {
    let own = scenario.programs.iter().find_map(|program| program.why_at_once());
    // A host runs ahead to the end of its window there, and would tell its programs too late.
    let adapters = !scenario.programs.is_empty() && scenario.adapter.is_some();
    own.or(adapters.then_some("programs on hosts with adapters are run event by event (host.adapter)"))
}

/// Refuses what windows cannot do.
fn check(scenario: &Scenario, width: u64) -> Result<(), InputError> {
    if width == 0 || width > u64::from(u32::MAX) {
        return Err(InputError::new("the windowed engine needs a lookahead")
            .field("run.engine")
            .value("windowed")
            .allowed("links whose delay and smallest frame take 1 ps to 4 ms; or engine = \"sequential\""));
    }
    if scenario.follows_reference_order() {
        return Err(InputError::new("the windowed engine cannot follow the reference's event order")
            .field("run.engine")
            .value("windowed")
            .allowed("quirks insertion_order, nic_round_robin, reference_random and, where links fail, link_down off; or engine = \"sequential\""));
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
