//! What was not recorded, or not as was asked for; instants at which nothing was left to end.

use paceline_proto::units::{Duration, Time};

use super::Seen;
use crate::net::Net;
use crate::results::packet_file::Recorded;
use crate::spec::Resolved;
use crate::spec::run::{Interval, MeasureEnd, Stall, Stop};
use crate::spec::workload::{Incast, IncastMode, WorkloadKind};

/// The interval of series where none is asked for.
const DEFAULT_INTERVAL: Duration = Duration::from_us(10);

/// Instants after everything.
pub(super) fn ends(Seen { spec, plain, net, completed }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    // Without an end of their own arrivals go on until the run stops.
    let ends_by_itself = |kind: &WorkloadKind| match kind {
        WorkloadKind::Poisson(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::OnOff(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::Rpc(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::ScatterGather(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::Incast(Incast { mode: IncastMode::Poisson(w), .. }) => w.end.is_some() || w.duration.is_some(),
        _ => true,
    };
    // Packets left over from flows that have ended are cut off by a stop.
    let is_empty = net.packets_alive() == 0;
    if spec.run.stop != Stop::Completed
        && completed
        && is_empty
        && spec.workloads.iter().all(|w| ends_by_itself(&w.kind))
    {
        note("run.stop", &format!("the run ended before, with its last flow, at {:#}", Time(net.last_end)));
    }
    if let (Stall::After(given), Stall::After(usual)) = (&spec.run.stall, &plain.run.stall)
        && completed
        && given <= usual
    {
        note("run.stall", "the run never stood still for so long");
    }
    let open = net.scenario.rpcs.is_empty() && net.scenario.programs.is_empty();
    if open && spec.run.warmup.0 <= net.first_start {
        note("run.warmup", "no flow started before it was over");
    }
    if let MeasureEnd::At(end) = spec.run.measure_end
        && open
        && completed
        && net.last_start < end.0
    {
        note("run.measure_end", &format!("the last flow started before, at {:#}", Time(net.last_start)));
    }
}

/// Says so where series are thinner than was asked for.
pub fn thinned(spec: &Resolved, net: &Net) -> Option<String> {
    let (asked, taken) = (&spec.records.series.interval, net.series());
    let Interval::Every(interval) = *asked else { return None };
    let (most, kept) = (taken.limit, Duration(taken.interval));
    (interval != DEFAULT_INTERVAL && kept > interval).then(|| {
        format!("records.series.interval: there is a sample every {kept}: at {interval} they would be more than {most} (records.series.samples)")
    })
}

/// Says where the record of packets holds less than was asked for.
pub fn unrecorded(spec: &Resolved, net: &Net, recorded: &Recorded) -> Vec<String> {
    let asked = &spec.records.packets;
    let mut out = Vec::new();
    let flows = net.counters.started + net.counters.connections;
    let (late, never): (Vec<u64>, Vec<u64>) = recorded.unmet.iter().partition(|id| **id < flows);
    for (ids, why) in [(late, "no packet was recorded of"), (never, "there was no")] {
        if !ids.is_empty() {
            let ids = ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            out.push(format!("records.packets.flows: {why} flow {ids}"));
        }
    }
    if recorded.rows == 0 && asked.flows.is_empty() {
        out.push("records.packets.rows: no packet came to these ports in this time".to_string());
    }
    out
}

/// Says so where there were more packets than room for them.
pub fn full(spec: &Resolved, recorded: &Recorded) -> Option<String> {
    let rows = spec.records.packets.rows;
    recorded
        .cut
        .map(|at| format!("records.packets.rows: {rows} packets were recorded, and none from {:#} on", Time(at)))
}

/// Followed flows that no sample met.
pub(super) fn series(Seen { spec, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let (asked, taken) = (&spec.records.series, net.series());
    if asked.interval == Interval::Off {
        note("records.series.samples, records.series.busiest", "records.series.interval is off");
    }
    let met = |i: usize| taken.flows.iter().any(|at| at[i].is_some());
    let missed = taken.followed.iter().enumerate().filter(|(i, _)| !met(*i)).map(|(_, id)| *id);
    // Of the transports that share runs with TCP, UDP alone has nothing that could be sampled.
    let is_tcp = net.messages.as_ref().is_some_and(|m| m.is_tcp());
    let states = |i: usize| taken.flows.iter().filter_map(move |at| at[i]);
    let blank = |i: &usize| is_tcp && met(*i) && states(*i).all(|state| state.acknowledged.is_none());
    for i in (0..taken.followed.len()).filter(blank) {
        let id = taken.followed[i];
        note(&spec.follows_by(id), &format!("flow {id} is over UDP, which has no rate, window or ACKs to sample"));
    }
    // A connection is two flows, as in the file of flows.
    let flows = net.counters.started + net.counters.connections;
    let mut told: Vec<(String, &str, Vec<String>)> = Vec::new();
    for id in missed {
        let (by, why) =
            (spec.follows_by(id), if id < flows { "no sample fell into the life of" } else { "there was no" });
        match told.iter_mut().find(|t| t.0 == by && t.1 == why) {
            Some(t) => t.2.push(id.to_string()),
            None => told.push((by, why, vec![id.to_string()])),
        }
    }
    for (by, why, ids) in told {
        note(&by, &format!("{why} flow {}", ids.join(", ")));
    }
    if net.scenario.records.queues == crate::scenario::QueueRecords::Off && !spec.records.series.ports.is_empty() {
        note("records.queues", "off: series of ports are sampled, histograms are not kept");
    }
}
