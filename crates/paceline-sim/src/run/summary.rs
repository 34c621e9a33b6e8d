//! `summary.json`: what is known before a run, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use paceline_proto::units::{Duration, S};

use super::Ready;
use super::choice::kind_name;
use super::effect;
use super::offered::closed_loop_groups;
use crate::clock::LATEST;
use crate::engine::Ending;
use crate::graph::NodeId;
use crate::lookahead::{Windows, shown};
use crate::machine::peak_rss_mib;
use crate::net::Net;
use crate::results::mpi;
use crate::results::packet_file::Recorded;
use crate::results::{
    CounterSummary, EngineSummary, FlowCounts, LinkDown, Measure, PacketCounts, Priorities, QueryCounts, RUNNING,
    SCHEMA_VERSION, SchemeTraffic, Summary, TierLoad,
};
use crate::scenario::{EngineChoice, Scenario, Stop};
use crate::spec::Resolved;
use crate::spec::run::MeasureEnd;

pub(super) fn first_summary(
    spec: &Resolved,
    scenario: &Scenario,
    ready: &Ready,
    version: String,
    git: Option<String>,
    threads: usize,
) -> Summary {
    let graph = &scenario.graph;
    let hosts = graph.hosts().count();
    let kind = kind_name(ready.choice.0);
    let mut without_effect = Vec::new();
    let used = ready.engine.threads();
    if threads > used {
        let why = if ready.choice.0 == EngineChoice::Windowed {
            format!("this network has {used} part{} to share out", if used == 1 { "" } else { "s" })
        } else {
            format!("the sequential engine runs on one thread ({})", ready.choice.1)
        };
        without_effect.push(format!("--threads {threads}: {why}"));
    }
    Summary {
        schema_version: SCHEMA_VERSION,
        name: spec.name.0.clone(),
        version,
        git,
        seed: spec.seed,
        status: RUNNING.into(),
        engine: EngineSummary {
            kind: kind.into(),
            why: ready.choice.1.clone(),
            lookahead_ps: Windows::of(scenario).lookahead,
            threads: used,
        },
        priorities: Priorities::of(scenario),
        schemes: spec.scheme_values(),
        groups: scenario.groups.clone(),
        closed_loop: closed_loop_groups(scenario),
        measure: Measure {
            warmup_ps: spec.run.warmup.0,
            end_ps: if let MeasureEnd::At(t) = spec.run.measure_end { Some(t.0) } else { None },
        },
        hosts,
        switches: graph.nodes() - hosts,
        links: graph.ports.len() / 2,
        failures: failures(scenario),
        without_effect,
        ..Summary::default()
    }
}

/// What fails when.
fn failures(scenario: &Scenario) -> Vec<LinkDown> {
    let graph = &scenario.graph;
    let mut outages = scenario.failures.outages.clone();
    outages.sort_by_key(|o| (o.down, o.link));
    // Of the two ports of a link the one with the lower number.
    let mut ports: BTreeMap<u32, LinkDown> = BTreeMap::new();
    if !outages.is_empty() {
        for node in 0..graph.nodes() as NodeId {
            for (port, p) in (0..).zip(graph.ports_of(node)) {
                let of =
                    LinkDown { node, port, peer: p.peer, peer_port: u32::from(p.peer_port), down_ps: 0, up_ps: None };
                ports.entry(p.link).or_insert(of);
            }
        }
    }
    let found = outages.iter().filter_map(|o| Some((o, *ports.get(&o.link)?)));
    found.map(|(o, of)| LinkDown { down_ps: o.down.0, up_ps: o.up.map(|up| up.0), ..of }).collect()
}

/// Whether hosts ask one another.
pub(super) fn has_queries(scenario: &Scenario) -> bool {
    !scenario.rpcs.is_empty() || scenario.programs.iter().any(|p| p.asks())
}

pub(super) fn fill_summary(
    summary: &mut Summary,
    spec: &Resolved,
    net: &Net,
    recorded: Option<&Recorded>,
    ending: &Ending,
    simulated: u64,
) {
    let c = net.counters;
    summary.status = match ending {
        Ending::Completed => "completed",
        Ending::Stopped => "stopped",
        Ending::Interrupted => "interrupted",
        Ending::Stalled(_) => "stalled",
    }
    .into();
    if let Ending::Stalled(why) = ending {
        summary.diagnosis = Some(why.clone());
    }
    summary.simulated_ps = simulated;
    let finished = c.finished - (c.connections_ended - c.connections_failed);
    let (total, failed) = (c.started - c.connections, c.failed - c.connections_failed);
    summary.flows = FlowCounts { total, finished, failed, unfinished: total - finished - failed };
    summary.queries = has_queries(&net.scenario).then(|| QueryCounts {
        connections: c.connections,
        connections_failed: c.connections_failed,
        issued: c.queries + net.programs.as_ref().map_or(0, |p| p.issued()),
        answered: c.answered,
    });
    summary.mpi = mpi::runs(net, &summary.groups, &mut summary.warnings);
    let hops = net.hops();
    summary.counters = CounterSummary::new(&c, hops, net.timeouts, net.message_counters(), net.buffers.max_buffered);
    if net.messages.as_ref().is_some_and(|m| m.is_tcp()) {
        let named = net.scenario.schemes.iter().zip(&net.traffic);
        summary.traffic = named.map(|(s, t)| SchemeTraffic::new(&s.name, t)).collect();
    }
    summary.machine.peak_rss_mib = peak_rss_mib();
    let busy = if summary.machine.cpu_s > 0.0 { summary.machine.cpu_s } else { summary.machine.run_s };
    summary.machine.hops_per_s = if busy > 0.0 { (hops.0 + hops.1) as f64 / busy } else { 0.0 };
    summary.series_interval_ps = Some(net.series().interval).filter(|ps| *ps > 0);
    summary.packets = recorded.map(|r| PacketCounts { rows: r.rows, full_ps: r.cut });
    summary.load = tier_loads(net, simulated);
    for tier in &summary.load {
        if tier.offered > 1.0 {
            let towards = tier.direction.as_ref().map_or(String::new(), |towards| format!(" ({towards})"));
            summary.warnings.push(format!(
                "{}{towards}: offered load {:.0} % of the tier's capacity",
                tier.tier,
                tier.offered * 100.0
            ));
        }
    }
    let open = !has_queries(&net.scenario) && net.scenario.programs.is_empty();
    let unasked = summary.queries.as_ref().is_some_and(|q| q.issued == 0);
    if open && c.started == 0 || unasked && c.started == c.connections {
        let what = if unasked { "no query was asked" } else { "no flow started" };
        summary.warnings.push(format!("{what}: the run ended at {:#}", Duration(simulated)));
    }
    if open && c.started > 0 && net.last_start < spec.run.warmup.0 {
        summary.warnings.push(format!("no flow started after run.warmup ({}): nothing is measured", spec.run.warmup));
    }
    if *ending == Ending::Stopped && net.scenario.stop == Stop::Completed {
        let days = LATEST.0 / S / 86_400;
        summary
            .warnings
            .push(format!("the run was stopped at the end of its clock, after {days} days, before all was done"));
    }
    if let Some(drop) = net.first_lossless_drop() {
        summary.warnings.push(format!("a lossless class dropped {} packets; the first: {drop}", c.lossless_drops));
    }
    if let Some((_, _, failure)) = &net.first_failure {
        let (who, first) = match c.failed {
            // A server gives up answers, or a rank messages, of which the other end knows nothing.
            0 => ("messages of an open connection were".into(), ""),
            1 => ("1 flow was".into(), ""),
            many => (format!("{many} flows were"), "; at the first"),
        };
        let tries = if net.messages.is_some() { spec.host.tcp.tries } else { spec.host.rto_tries };
        summary.warnings.push(format!("{who} given up after {tries} timeouts{first}: {failure}"));
    }
    if let Some(rto) = net.host.rto.filter(|_| net.messages.is_none() && net.timeouts > 0)
        && c.drops_buffer + c.drops_wire + c.drops_link_down == 0
    {
        summary.warnings.push(format!(
            "{} timeouts had packets sent again although nothing was lost: answers took longer than host.rto, {}",
            net.timeouts,
            shown(rto.initial.0)
        ));
    }
    summary.warnings.extend(effect::thinned(spec, net));
    summary.warnings.extend(recorded.and_then(|recorded| effect::full(spec, recorded)));
    summary.without_effect.extend(effect::without_effect(spec, net, *ending == Ending::Completed));
    summary.without_effect.extend(recorded.iter().flat_map(|recorded| effect::unrecorded(spec, net, recorded)));
}

/// Offered and carried load by tier, of links between nodes of one tier for each direction.
fn tier_loads(net: &Net, simulated: u64) -> Vec<TierLoad> {
    let directions = net.directions();
    let mut capacity = vec![0u64; directions.len()];
    let mut carried = vec![0u64; directions.len()];
    for (i, p) in net.ports.iter().enumerate() {
        let direction = usize::from(net.port_direction[i]);
        capacity[direction] += net.graph.ports[i].rate.0;
        let data_packets = p.tx_packets - p.tx_control;
        carried[direction] +=
            p.tx_bytes - p.tx_control_bytes + data_packets * u64::from(net.scenario.framing.wire_overhead);
    }
    let share = |bytes: u64, bps: u64, ps: u64| {
        if ps == 0 { 0.0 } else { bytes as f64 * 8.0 / (bps as f64 * ps as f64 * 1e-12) }
    };
    // A load is what arrives over a time: flows that start sooner one after the other than one of them takes to send have none.
    let between = net.last_start.saturating_sub(net.first_start);
    let arrivals_ps = if (between as f64) < mean_sending_ps(net) { 0 } else { between };
    let loads = directions.iter().zip(capacity).zip(&net.offered).zip(carried);
    loads
        .map(|(((direction, bps), offered), carried)| TierLoad {
            tier: net.tiers()[usize::from(direction.tier)].clone(),
            direction: direction.towards.map(str::to_string),
            capacity_bps: bps,
            offered: share(*offered, bps, arrivals_ps),
            carried: share(carried, bps, simulated),
        })
        .collect()
}

/// How long a flow of mean size takes on the fastest NIC, ps, by the frames offered to the links of the hosts.
fn mean_sending_ps(net: &Net) -> f64 {
    let nics = || net.graph.ports.iter().zip(&net.port_direction).filter(|(port, _)| net.graph.is_host(port.node));
    let links: BTreeSet<usize> = nics().map(|(_, link)| usize::from(*link)).collect();
    let bits = links.into_iter().map(|link| net.offered[link]).sum::<u64>() as f64 * 8.0;
    let fastest = nics().map(|(port, _)| port.rate.0).max().unwrap_or(1);
    bits / net.counters.started.max(1) as f64 / fastest as f64 * 1e12
}
