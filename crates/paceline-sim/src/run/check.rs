//! A scenario checked without running it, and what a run of it would cost.

mod memory;
#[cfg(test)]
mod tests;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::memory::{Kept, engine_bytes};
use self::traffic::{End, Traffic, Wire, messages, queries, waiting};
use super::choice::{at_its_field, choose_engine, windowed};
use super::set_up::{chosen_ports, packet_plan, series_plan};
use crate::assemble::{Assembled, assemble};
use crate::error::InputError;
use crate::graph::NodeId;
use crate::lookahead::Windows;
use crate::machine::memory_mib;
use crate::net::Net;
use crate::results::Priorities;
use crate::scenario::{EngineChoice, Stop};
use crate::spec::scheme::Control;
use crate::spec::{Resolved, lint};
use crate::workload::FlowTable;
use crate::workload::program::Kind;

/// Flows drawn for the estimate.
const SAMPLE: u64 = 200_000;
/// Nanoseconds per link crossed by a data packet, windowed and sequential engine: one core of the machine this was
/// measured on, a guess for another.
const NS_PER_DATA_HOP: [f64; 2] = [90.0, 250.0];

/// CPU time per link crossed by a data packet, over that of HPCC, for which [`NS_PER_DATA_HOP`] is. Measured over the runs of
/// C1 (docs/comparison.md) at quick scale, and in docs/performance.md: their ports take exact steps one by one, and there is more
/// than one control packet for each data packet.
fn over_hpcc(control: &Control) -> f64 {
    match control {
        Control::Homa(_) | Control::NewReno(_) | Control::Cubic(_) | Control::Vegas(_) => 1.9,
        Control::Ndp(_) => 2.2,
        Control::ExpressPass(_) => 2.1,
        _ => 1.0,
    }
}

/// CPU time that a flow takes beside its packets' hops, ns: to be drawn, started, ended and recorded, and for the credits, or the handshake,
/// that it needs however short it is: four fifths of what flows of one packet took on a leaf-spine of 64 hosts beside other programs. A
/// connection that stays open counts as two flows more.
fn flow_ns(control: &Control) -> f64 {
    match control {
        Control::NewReno(_) | Control::Cubic(_) | Control::Vegas(_) | Control::HpccTcp(_) => 4000.0,
        Control::Homa(_) | Control::Ndp(_) => 2000.0,
        Control::ExpressPass(_) => 5000.0,
        _ => 1200.0,
    }
}

/// What a check tells without running.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Check {
    /// The resolved scenario.
    pub resolved: String,
    /// What looks wrong.
    pub warnings: Vec<String>,
    /// Groups of its flows, in the order of the workloads.
    pub groups: Vec<String>,
    /// Engine: `windowed` or `sequential`.
    pub engine: String,
    /// Why this one.
    pub why: String,
    /// How soon one node can affect another, ps.
    pub lookahead_ps: u64,
    /// How large the network is.
    pub network: NetworkSize,
    /// How Homa divides its priorities, where it is what runs.
    pub priorities: Option<Priorities>,
    /// Flows, where known or else expected.
    pub flows: u64,
    /// Whether `flows` is expected only: more would be drawn than the check draws, or hosts ask at random.
    pub extrapolated: bool,
    /// Payload of the flows, bytes, about.
    pub bytes: f64,
    /// Links crossed by packets with payload, about.
    pub data_hops: f64,
    /// Seconds on one core, about.
    pub run_s: f64,
    /// Resident memory the engine adds to the process, MiB, about.
    pub engine_mib: f64,
    /// Resident memory of the process with it, MiB, about.
    pub memory_mib: f64,
}

/// How large a network is.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct NetworkSize {
    /// Hosts.
    pub hosts: usize,
    /// Switches.
    pub switches: usize,
    /// Links.
    pub links: usize,
}

/// Checks a scenario: everything up to the first event, and an estimate of time and memory from its flows, of which it
/// draws at most 200,000.
///
/// # Errors
/// Bad input, as for a run.
pub fn check(spec: &Resolved) -> Result<Check, InputError> {
    let process = memory_mib("VmRSS:");
    let mut warnings = lint(spec);
    let mut assembled = assemble(spec)?;
    warnings.append(&mut assembled.warnings);
    super::refuse_warnings(spec, &warnings)?;
    let scenario = Arc::clone(&assembled.scenario);
    packet_plan(spec, &scenario)?;
    let series = series_plan(spec, &scenario.graph, &chosen_ports(spec, &scenario)?);
    let (engine, why) = choose_engine(&scenario)?;
    if spec.run.engine == EngineChoice::Windowed {
        // Asked for: only the engine itself knows whether it can.
        windowed(spec, &scenario, Box::new(FlowTable::new(Vec::new())), 1)?;
    }
    let mut net = Net::new(Arc::clone(&scenario)).map_err(|e| at_its_field(spec, e))?;
    let horizon = if let Stop::At(t) = scenario.stop { t.0 } else { u64::MAX };
    let (drawn, flows_of) = draw(&mut assembled, &mut net, horizon)?;
    let mut traffic = drawn.times(beyond(&assembled, &drawn, horizon));
    for rpc in scenario.rpcs.iter() {
        traffic.add(&queries(rpc, &mut net, horizon)?);
    }
    for program in scenario.programs.iter() {
        traffic.add(&messages(program, &mut net, horizon)?);
    }
    let by_chance = scenario.programs.iter().any(|p| matches!(p.kind, Kind::ScatterGather(_)));
    let windowed = engine == EngineChoice::Windowed;
    let windows = Windows::of(&scenario);
    let by_event = if windowed { windows.close_share } else { 1.0 };
    let rtt_s = net.network.rtt_ns as f64 * 1e-9;
    let under_way = traffic.under_way(&scenario, &Kept::of(&scenario, &flows_of), rtt_s, windowed);
    let engine_mib =
        engine_bytes(&scenario, series.as_ref(), assembled.classes.len(), under_way, windowed) / f64::from(1 << 20);
    // Flows are not told apart by scheme: the dearest counts.
    let dearest = |of: fn(&Control) -> f64| spec.schemes.iter().map(|(_, s)| of(&s.cc)).fold(1.0, f64::max);
    let by_hop = NS_PER_DATA_HOP[0] * (1.0 - by_event) + NS_PER_DATA_HOP[1] * by_event;
    let run_ns = traffic.data_hops * by_hop * dearest(over_hpcc)
        + (traffic.flows + 2 * traffic.streams) as f64 * dearest(flow_ns);
    let graph = &scenario.graph;
    let hosts = graph.hosts().count();
    Ok(Check {
        resolved: spec.to_toml(),
        warnings,
        groups: scenario.groups.clone(),
        engine: if windowed { "windowed" } else { "sequential" }.into(),
        why,
        lookahead_ps: windows.lookahead,
        network: NetworkSize { hosts, switches: graph.nodes() - hosts, links: graph.ports.len() / 2 },
        priorities: Priorities::of(&scenario),
        flows: traffic.flows,
        extrapolated: drawn.flows == SAMPLE || !scenario.rpcs.is_empty() || by_chance,
        bytes: traffic.bytes,
        data_hops: traffic.data_hops,
        run_s: run_ns * 1e-9,
        engine_mib,
        memory_mib: process + engine_mib,
    })
}

/// What the first flows amount to, and how many of them are of each scheme.
fn draw(assembled: &mut Assembled, net: &mut Net, horizon: u64) -> Result<(Traffic, Vec<f64>), InputError> {
    let payload = u64::from(net.scenario.framing.payload);
    let mut drawn = Traffic::default();
    let mut ends = [const { BTreeMap::<NodeId, End>::new() }; 2];
    let (mut path, mut flows_of) = (Vec::new(), vec![0.0; net.scenario.schemes.len()]);
    while drawn.flows < SAMPLE
        && let Some(f) = assembled.source.next_flow()
        && f.start.0 < horizon
    {
        if f.stream != 0 {
            continue;
        }
        let (src, dst) = net.addresses(f.src, f.dst, drawn.flows);
        net.routes.first_path(src, dst, &mut path)?;
        drawn.flows += 1;
        flows_of[usize::from(f.scheme)] += 1.0;
        let hops = f.bytes.div_ceil(payload) as f64 * path.len() as f64;
        drawn.bytes += f.bytes as f64;
        drawn.data_hops += hops;
        for (host, of) in [f.src, f.dst].into_iter().zip(&mut ends) {
            let new = End { since: f.start.0, flows: 0.0, bytes: 0.0, hops: 0.0, wire: Wire::default() };
            let end = of.entry(host).or_insert(new);
            (end.flows, end.bytes, end.hops) = (end.flows + 1.0, end.bytes + f.bytes as f64, end.hops + hops);
            end.wire.add(Wire::of(1.0, f.bytes, &net.scenario));
        }
        drawn.last_start = f.start.0;
        drawn.largest = drawn.largest.max(f.bytes);
    }
    // A run that stops at an instant may stop long before its flows are through.
    let passed =
        ends.iter().map(|of| of.iter().map(|(host, end)| end.hops_by(horizon, *host, &net.scenario)).sum::<f64>());
    drawn.data_hops = passed.fold(drawn.data_hops, f64::min);
    drawn.waiting = waiting(&ends, drawn.last_start, &net.scenario.graph);
    Ok((drawn, flows_of))
}

/// By how much more than what was drawn comes in the whole run, at least 1.
fn beyond(assembled: &Assembled, drawn: &Traffic, horizon: u64) -> f64 {
    if drawn.flows < SAMPLE {
        return 1.0;
    }
    let end = assembled.drawn.end.map_or(horizon, |t| t.0.min(horizon));
    let of = |flows: u64| flows as f64 / SAMPLE as f64;
    let by_time = (end < u64::MAX).then(|| end as f64 / drawn.last_start.max(1) as f64);
    let factor: f64 = match (assembled.drawn.count, assembled.drawn.most) {
        (Some(count), _) if horizon == u64::MAX => of(count),
        (Some(most), _) | (None, Some(most)) => by_time.map_or(of(most), |f| f.min(of(most))),
        (None, None) => by_time.unwrap_or(1.0),
    };
    factor.max(1.0)
}
