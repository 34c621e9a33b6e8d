//! Settings that changed nothing in a run, and how one can tell.

mod transports;

use std::collections::BTreeSet;

use paceline_proto::cc::Params;
use paceline_proto::units::{Bytes, Duration, Time};

use crate::mpi::MachineConfig;
use crate::net::Net;
use crate::results::packet_file::Recorded;
use crate::scenario::{BufferModel, PathChoice, Scheme, Transport};
use crate::spec::field::FIELDS;
use crate::spec::host::Rto;
use crate::spec::run::{Interval, MeasureEnd, Stall, Stop};
use crate::spec::scheme::{Control, Window};
use crate::spec::switch::{Accounting, Headroom};
use crate::spec::value::Value as _;
use crate::spec::workload::{Incast, IncastMode, OnOff, OnOffMode, RpcMode, Sizes, WorkloadKind};
use crate::spec::{Resolved, parse};
use crate::workload::program::{Connections, Kind};

/// A scenario that leaves all to defaults.
const PLAIN: &str = "[topology]\nkind = 'star'\nhosts = 2\n[schemes.s]\ncc = 'none'\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n";
/// The interval of series where none is asked for.
const DEFAULT_INTERVAL: Duration = Duration::from_us(10);

/// One clause per setting without effect: `setting: why`. `completed`: whether the run ended with its last flow.
///
/// What did not happen, as a drop, tells of a setting only where the default would not have let it happen either: a larger buffer than
/// that may be why nothing was dropped. So such a clause names settings no laxer than their defaults.
pub fn without_effect(spec: &Resolved, net: &Net, completed: bool) -> Vec<String> {
    let (c, s) = (&net.counters, &net.scenario);
    let mut out = Vec::new();
    let presets = [
        format!("framing.preset={}", spec.framing.preset.text().unwrap_or_default()),
        format!("host.tcp.stack={}", spec.host.tcp.stack.text().unwrap_or_default()),
    ];
    let Ok(plain) = parse(PLAIN, "defaults", &presets) else { return out };
    let messages = net.message_counters().is_some();
    let mut note = |setting: &str, why: &str| {
        if !setting.is_empty() {
            out.push(format!("{setting}: {why}"));
        }
    };
    disabled(spec, &plain, &mut note);
    for scheme in &s.schemes {
        if !net.contexts.iter().any(|ctx| ctx.params == scheme.params) {
            note(&format!("schemes.{}", scheme.name), "no flow of this run uses it");
        }
    }
    for (name, scheme) in &spec.schemes {
        if scheme.cc.window() == Window::Off && scheme.cc.variable_window().is_some() {
            note(&format!("schemes.{name}.variable_window"), &format!("schemes.{name}.window is \"off\""));
        }
    }
    let (switch, default) = (&spec.switch, &plain.switch);
    if s.switch.selective.is_some() && c.drops_unscheduled == 0 {
        let settings = those(&[
            ("switch.selective_drop.enabled, switch.selective_drop.accounting", true),
            ("switch.selective_drop.threshold", switch.selective_drop.threshold <= default.selective_drop.threshold),
            ("switch.selective_drop.per", switch.selective_drop.per == default.selective_drop.per),
        ]);
        note(&settings, "no unscheduled packet was dropped");
    }
    if s.switch.trimming.is_some() {
        note(
            "switch.buffer, switch.model, switch.accounting, switch.egress_alpha, switch.pfc",
            "ports that trim have queues of their own",
        );
        if c.data_trimmed == 0 {
            let (limits, usual) = (&switch.trimming, &default.trimming);
            let settings = those(&[
                ("switch.trimming.data_packets", limits.data_packets <= usual.data_packets),
                ("switch.trimming.header_packets", limits.header_packets <= usual.header_packets),
                ("switch.trimming.return_to_sender", true),
            ]);
            note(&settings, "no packet was trimmed");
        }
    } else if let Some(pfc) = &s.switch.pfc {
        if c.pause_frames == 0 && c.drops_buffer == 0 {
            let (given, usual) = (&switch.pfc, &default.pfc);
            let aside = |h: &Headroom| if let Headroom::RateDelay(times) = h { Some(times.0) } else { None };
            let settings = those(&[
                ("switch.buffer", switch.buffer <= default.buffer),
                ("switch.model", switch.model == default.model),
                ("switch.pfc.reserve", given.reserve <= usual.reserve),
                ("switch.pfc.headroom", aside(&given.headroom) >= aside(&usual.headroom)),
                ("switch.pfc.alpha", given.alpha <= usual.alpha),
                ("switch.pfc.xoff", given.xoff == usual.xoff),
                ("switch.pfc.alpha_scales, switch.pfc.resume_offset, switch.pfc.xon", true),
            ]);
            note(&settings, "no threshold was reached: no pause, no drop");
        }
        note("switch.egress_alpha", "with PFC the buffer belongs to ingress ports");
        let per_port = s.switch.model == BufferModel::PerPort;
        if per_port {
            let why = "each port has its own buffer (switch.model), with fixed thresholds";
            note("switch.pfc.reserve, switch.pfc.alpha, switch.pfc.alpha_scales", why);
        } else {
            note(
                "switch.accounting, switch.pfc.xoff, switch.pfc.xon",
                "the buffer is shared by all ports (switch.model)",
            );
        }
        if per_port && pfc.xoff.is_some() {
            note("switch.pfc.headroom", "switch.pfc.xoff says what is set aside");
        }
        if per_port && pfc.xon.is_some() {
            note("switch.pfc.resume_offset", "switch.pfc.xon says when a class resumes");
        }
        if c.pause_frames == 0 {
            note("switch.pfc.reaction", "no pause frame was sent");
        }
    } else {
        note(
            "switch.pfc.reserve, switch.pfc.headroom, switch.pfc.alpha, switch.pfc.alpha_scales, \
             switch.pfc.resume_offset, switch.pfc.xoff, switch.pfc.xon, switch.pfc.reaction",
            "switch.pfc.enabled is false",
        );
        if s.switch.model == BufferModel::Shared {
            note("switch.accounting", "the buffer is shared by all ports (switch.model)");
        }
        if c.drops_buffer == 0 {
            let settings = those(&[
                ("switch.buffer", switch.buffer <= default.buffer),
                ("switch.model", switch.model == default.model),
                ("switch.accounting", matches!(switch.accounting, Accounting::Auto | Accounting::Output)),
                ("switch.egress_alpha", switch.egress_alpha <= default.egress_alpha),
            ]);
            note(&settings, "nothing was dropped");
        } else if s.switch.model == BufferModel::PerPort {
            note("switch.egress_alpha", "the buffer is divided by port");
        }
    }
    if c.pause_frames == 0 && (s.switch.pfc.is_none() || switch.pfc.headroom != Headroom::Auto) {
        note("framing.pfc_frame", "no pause frame was sent");
    }
    ecn(spec, &plain, net, &mut note);
    if s.switch.qcn.is_none() {
        note("host.qcn", "switch.qcn.enabled is false");
    } else if c.notifications == 0 {
        // Limiters are queues of their own, served in turn, also where nothing limits them.
        let queues = s.adapter.as_ref().is_some_and(|adapter| adapter.limiter.is_some());
        let settings = those(&[
            ("switch.qcn.enabled, host.qcn", !queues),
            (&limits(), queues),
            ("switch.qcn.set_point", switch.qcn.set_point <= default.qcn.set_point),
            ("switch.qcn.sample_base", switch.qcn.sample_base <= default.qcn.sample_base),
        ]);
        note(&settings, "no frame that was sampled found a queue above the set point");
    }
    framing(&plain, net, &mut note);
    for (i, workload) in spec.workloads.iter().enumerate() {
        once(i, &workload.kind, &mut note);
        one_size(i, &workload.kind, &mut note);
    }
    for program in s.programs.iter() {
        let Kind::Mpi(w) = &program.kind else { continue };
        if w.program.totals().largest <= w.config.eager {
            note(&format!("workloads.{}.control", program.workload), "no message is larger than eager");
        }
        let (usual, given) = (MachineConfig::default().eager, w.config.eager);
        let between = usual.min(given) + 1..=usual.max(given);
        if !w.program.sends().any(|send| between.contains(&send.bytes)) {
            let why = format!("no message is of a size between it and the default, {}", Bytes(usual));
            note(&format!("workloads.{}.eager", program.workload), &why);
        }
    }
    let stays_open = !s.rpcs.is_empty() || s.programs.iter().any(|p| p.connections == Connections::Open);
    let tcp = s.schemes.iter().any(|s| matches!(s.transport, Transport::Tcp(_)));
    let udp = s.schemes.iter().any(|s| matches!(s.transport, Transport::Udp(_)));
    if udp && !tcp {
        note(
            "host.ack_priority, host.nack_interval, host.rto, host.rto_tries, host.idle_restart, host.base_rtt, host.tcp",
            "UDP answers nothing and repeats nothing",
        );
        note("workloads.rate_cap, workloads.rows.rate_cap", "a scheme over UDP has its rate");
    } else if tcp {
        note("host.nack_interval, host.rto, host.rto_tries, host.idle_restart", "TCP has its own (host.tcp)");
        if !s.uses_int() {
            note("host.base_rtt", "TCP measures its round trips");
        }
        note("workloads.rate_cap, workloads.rows.rate_cap", "TCP chooses its rates");
        if s.schemes.iter().any(|s| matches!(&s.transport, Transport::Tcp(p) if !p.sack)) {
            note("host.tcp.prr", "host.tcp.sack is false");
        } else if net.message_counters().is_some_and(|c| c.fast_retransmits == 0) {
            note("host.tcp.prr", "no loss was repaired by fast retransmit");
        }
        if s.schemes.iter().any(|s| matches!(&s.transport, Transport::Tcp(p) if p.ecn)) && c.marks == 0 {
            let marks = s.switch.ecn.is_some() || s.switch.red.is_some();
            let why = if marks { "no packet was marked" } else { "neither switch.ecn nor switch.red is enabled" };
            note("host.tcp.ecn", why);
        }
        let lost = c.drops_buffer + c.drops_wire + c.drops_link_down + c.retransmitted > 0;
        if !lost && s.routing.choice != PathChoice::Spray && net.failures.is_none() {
            let settings = "host.tcp.sack, host.tcp.dup_thresh, host.tcp.limited_transmit, host.tcp.reassembly_limit";
            note(settings, "nothing was lost, and nothing overtaken");
        }
        let over_tcp = || s.schemes.iter().filter(|s| matches!(s.transport, Transport::Tcp(_)));
        if let Some(counted) = net.message_counters() {
            transports::tcp((&spec.host.tcp, &plain.host.tcp), over_tcp(), &counted, &mut note);
        }
        let inherits = |t: &Transport| matches!(t, Transport::Tcp(p) if p.host_cache);
        if !s.schemes.iter().any(|s| inherits(&s.transport)) {
            note("host.tcp.inherit_cwnd", "host.tcp.host_cache is false");
        }
        if !stays_open {
            note("host.tcp.idle_restart", "a connection carries one flow, which never pauses");
            if net.message_counters().is_some_and(|c| c.timeouts == 0) {
                let (given, usual) = (&spec.host.tcp, &plain.host.tcp);
                let settings = those(&[
                    ("host.tcp.rto_initial", given.rto_initial <= usual.rto_initial),
                    ("host.tcp.rto_min", given.rto_min <= usual.rto_min),
                    ("host.tcp.rto_max", given.rto_max <= usual.rto_max),
                    ("host.tcp.rto_slop", given.rto_slop <= usual.rto_slop),
                    ("host.tcp.tries", true),
                ]);
                note(&settings, "no retransmission timeout ran out");
            }
            if over_tcp().all(|s| matches!(s.params, Params::Hpcc(_))) {
                note("host.tcp.initial_window", "the window of HPCC over TCP is that of its scheme");
            }
        }
    } else if messages {
        note(
            "host.ack_priority, host.nack_interval, host.rto, host.rto_tries, host.idle_restart, host.tcp",
            "the transport has timeouts, windows and priorities of its own",
        );
        let settings = "workloads.class, workloads.rows.class, workloads.rate_cap, workloads.rows.rate_cap";
        note(settings, "the transport chooses classes and rates");
    } else {
        note("host.tcp, host.adapter", "no scheme of this run is over TCP");
        if !stays_open {
            note("host.idle_restart", "no connection stays open (kind = \"rpc\")");
        }
    }
    for (name, scheme) in &spec.schemes {
        transports::unused(name, &scheme.cc, net, completed, &mut note);
        unmarked(name, &scheme.cc, net, &mut note);
    }
    if messages {
        note("quirks.line_rate_pacing", "it is about the pacing of RDMA, which no scheme of this run is over");
    } else if net.timeouts == 0 && spec.schemes.iter().all(|(_, s)| has_no_window(&s.cc)) {
        // The timeout that is made from it did not run out.
        note("host.base_rtt", "no scheme of this run has a window, and no retransmission timeout ran out");
    }
    let asks = if tcp { s.uses_int() } else { !udp };
    if s.host.own_base_rtt && messages && asks {
        note("host.base_rtt", "the transport goes by the network's base RTT, or a time, not by that of each pair");
    }
    let shapes = s.schemes.iter().any(|s| matches!(s.transport, Transport::ExpressPass { .. }));
    if s.switch.trimming.is_some() || shapes {
        note("switch.scheduler", "ports that trim or shape credits have an order of their own");
    } else if is_of_one_class(spec, net) {
        note("switch.scheduler", "all packets are of one class");
    }
    if !messages {
        timeouts(spec, net, &mut note);
    }
    unpadded(spec, net, &mut note);
    if c.retransmitted == 0 && !messages {
        note("host.nack_interval", "no packet was missing");
    }
    match s.routing.choice {
        _ if !net.routes.has_choice() => note("routing", "every pair of hosts has one shortest path"),
        PathChoice::Spray => note("routing.salt", "sprayed packets draw their path"),
        PathChoice::DModK | PathChoice::SModK => note("routing.salt", "the numbers of hosts choose paths, no hash"),
        PathChoice::FlowHash => {}
    }
    if let Some(failures) = &net.failures {
        let end = Time(net.last_end);
        match failures.failures_after(end) {
            0 => {}
            late => note("failures", &format!("{late} links fail only after the last flow has ended, at {end}")),
        }
    } else {
        note("routing.reroute_after, quirks.link_down", "no link fails (failures)");
    }
    ends(spec, &plain, net, completed, &mut note);
    series(spec, net, &mut note);
    if s.records.queues == crate::scenario::QueueRecords::Off && !spec.records.series.ports.is_empty() {
        note("records.queues", "off: series of ports are sampled, histograms are not kept");
    }
    out
}

/// The settings of QCN's limiters that say how they limit.
fn limits() -> String {
    let fields = FIELDS.iter().map(|field| field.path.as_str()).filter(|path| path.starts_with("host.qcn."));
    fields.filter(|path| !["host.qcn.limiter", "host.qcn.reaction"].contains(path)).collect::<Vec<_>>().join(", ")
}

/// The settings that are to be named.
fn those(settings: &[(&str, bool)]) -> String {
    settings.iter().filter(|(_, named)| *named).map(|(setting, _)| *setting).collect::<Vec<_>>().join(", ")
}

/// Instants after everything.
fn ends(spec: &Resolved, plain: &Resolved, net: &Net, completed: bool, note: &mut impl FnMut(&str, &str)) {
    // Without an end of their own arrivals go on until the run stops.
    let ends_by_itself = |kind: &WorkloadKind| match kind {
        WorkloadKind::Poisson(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::OnOff(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::Rpc(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::ScatterGather(w) => w.end.is_some() || w.duration.is_some(),
        WorkloadKind::Incast(Incast { mode: IncastMode::Poisson(w), .. }) => w.end.is_some() || w.duration.is_some(),
        _ => true,
    };
    if spec.run.stop != Stop::Completed && completed && spec.workloads.iter().all(|w| ends_by_itself(&w.kind)) {
        note("run.stop", &format!("the run ended before, with its last flow, at {}", Time(net.last_end)));
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
        note("run.measure_end", &format!("the last flow started before, at {}", Time(net.last_start)));
    }
}

/// Padding of data frames, where none is shorter than the smallest frame.
fn unpadded(spec: &Resolved, net: &Net, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    let last = |bytes: u64| s.framing.split(bytes).1;
    let of = |sizes: &Sizes| if let Sizes::Fixed(bytes) = sizes { last(bytes.0) } else { 1 };
    let smallest = |kind: &WorkloadKind| match kind {
        WorkloadKind::Poisson(w) => of(&w.sizes),
        WorkloadKind::Incast(w) => of(&w.sizes),
        WorkloadKind::Permutation(w) => of(&w.sizes),
        WorkloadKind::AllToAll(w) => of(&w.sizes),
        WorkloadKind::Flows(w) if w.file.is_none() => w.rows.iter().map(|row| last(row.bytes.0)).min().unwrap_or(1),
        WorkloadKind::Rpc(w) => of(&w.sizes).min(last(w.response.0)),
        WorkloadKind::ScatterGather(w) => last(w.request.0).min(last(w.response.0)),
        _ => 1,
    };
    let payload = spec.workloads.iter().map(|w| smallest(&w.kind)).min().unwrap_or(1);
    let telemetry = s.schemes.iter().map(Scheme::telemetry_bytes).min().unwrap_or(0);
    if net.message_counters().is_some() && !s.programs.iter().any(|p| matches!(p.kind, Kind::Mpi(_))) {
        note("quirks.unpadded_data", "it is about the data frames of RDMA, which no scheme of this run is over");
    } else if payload + s.framing.header + telemetry >= s.framing.min_frame {
        note("quirks.unpadded_data", "no data frame is shorter than framing.min_frame");
    }
}

/// Sections in which something is set, but not `enabled`.
fn disabled(spec: &Resolved, plain: &Resolved, note: &mut impl FnMut(&str, &str)) {
    let (switch, host) = (&spec.switch, &spec.host);
    for (section, is_set) in [
        ("switch.red", !switch.red.enabled && switch.red != plain.switch.red),
        ("switch.qcn", !switch.qcn.enabled && switch.qcn != plain.switch.qcn),
        (
            "switch.selective_drop",
            !switch.selective_drop.enabled && switch.selective_drop != plain.switch.selective_drop,
        ),
        ("switch.trimming", !switch.trimming.enabled && switch.trimming != plain.switch.trimming),
        ("host.adapter", !host.adapter.enabled && host.adapter != plain.host.adapter),
    ] {
        if is_set {
            note(section, &format!("{section}.enabled is false"));
        }
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
    recorded.cut.map(|at| format!("records.packets.rows: {rows} packets were recorded, and none from {} on", Time(at)))
}

/// Followed flows that no sample met.
fn series(spec: &Resolved, net: &Net, note: &mut impl FnMut(&str, &str)) {
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
}

/// Whether queues hold packets of one class only, answers and notifications too.
fn is_of_one_class(spec: &Resolved, net: &Net) -> bool {
    let s = &net.scenario;
    if s.host.ack_priority || s.switch.qcn.is_some() || s.schemes.iter().any(|s| s.transport.classes().is_some()) {
        return false;
    }
    let mut classes = BTreeSet::new();
    for workload in &spec.workloads {
        classes.insert(workload.class);
        if let WorkloadKind::Flows(flows) = &workload.kind {
            if flows.file.is_some() {
                return false; // it may name classes of its own
            }
            classes.extend(flows.rows.iter().filter_map(|row| row.class));
        }
    }
    classes.len() == 1
}

/// Whether a controller goes by no window, and by nothing else that comes from the base RTT.
fn has_no_window(cc: &Control) -> bool {
    matches!(cc, Control::Fixed(_) | Control::Dcqcn(_) | Control::Timely(_)) && cc.window() == Window::Off
}

/// Periods of what takes place once.
fn once(i: usize, kind: &WorkloadKind, note: &mut impl FnMut(&str, &str)) {
    let (field, times) = match kind {
        WorkloadKind::Incast(incast) => match &incast.mode {
            IncastMode::Synchronous(mode) => ("count", mode.count),
            IncastMode::Staggered(mode) => ("count", mode.count),
            IncastMode::Poisson(_) => return,
        },
        WorkloadKind::Permutation(w) => ("rounds", w.rounds),
        WorkloadKind::AllToAll(w) => ("rounds", w.rounds),
        _ => return,
    };
    if times == 1 {
        note(&format!("workloads.{i}.period"), &format!("workloads.{i}.{field} is 1"));
    }
}

/// Which mean the load is of, where all sizes are equal.
fn one_size(i: usize, kind: &WorkloadKind, note: &mut impl FnMut(&str, &str)) {
    let sizes = match kind {
        WorkloadKind::Poisson(w) => &w.sizes,
        WorkloadKind::Incast(w) if matches!(w.mode, IncastMode::Poisson(_)) => &w.sizes,
        WorkloadKind::Rpc(w) if matches!(w.mode, RpcMode::Open(_)) => &w.sizes,
        WorkloadKind::OnOff(OnOff { mode: OnOffMode::Flows(w), .. }) => &w.sizes,
        _ => return,
    };
    if matches!(sizes, Sizes::Fixed(_)) {
        note(&format!("workloads.{i}.load.mean"), &format!("workloads.{i}.sizes is one size"));
    }
}

/// Sizes of answers that there are none of, or that are padded anyway.
fn framing(plain: &Resolved, net: &Net, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    if s.schemes.iter().all(|s| matches!(s.transport, Transport::Udp(_))) {
        note("framing.ack_header", "UDP answers nothing");
        return;
    }
    let telemetry = s.schemes.iter().map(Scheme::telemetry_bytes).max().unwrap_or(0);
    let largest = s.framing.ack_header.max(plain.framing.config().ack_header);
    if largest + telemetry <= s.framing.min_frame {
        let why = format!("answers are padded to framing.min_frame, {} B", s.framing.min_frame);
        note("framing.ack_header", &why);
    }
}

/// Parameters of controllers that go by marks, where there was none.
fn unmarked(name: &str, cc: &Control, net: &Net, note: &mut impl FnMut(&str, &str)) {
    if net.counters.marks > 0 || !cc.needs_marks() {
        return;
    }
    let unused = cc.fields().into_iter().filter(|field| *field != "window");
    let fields: Vec<String> = unused.map(|field| format!("schemes.{name}.{field}")).collect();
    note(&fields.join(", "), "no packet was marked");
}

/// RDMA's timeouts.
fn timeouts(spec: &Resolved, net: &Net, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    if s.host.rto.is_some() && s.quirks.nic_round_robin {
        note("host.rto, host.rto_tries", "there are no timeouts with quirks.nic_round_robin");
    } else if s.host.rto.is_some() && net.timeouts == 0 {
        // The default is no shorter.
        let early = match spec.host.rto {
            Rto::Auto => true,
            Rto::After(time) => time <= Duration::from_us(1000),
            Rto::Off => false,
        };
        note(&those(&[("host.rto", early), ("host.rto_tries", true)]), "no retransmission timeout ran out");
    } else if s.host.rto.is_none() {
        note("host.rto_tries", "host.rto is off");
    }
}

/// Marking thresholds.
fn ecn(spec: &Resolved, plain: &Resolved, net: &Net, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    let tcp = |t: &Transport| *t != Transport::Rdma && t.takes_marks();
    let heard = s.schemes.iter().any(|x| x.params.profile().needs_marks || tcp(&x.transport));
    if s.switch.ecn.is_none() {
        note(
            "switch.ecn.per, switch.ecn.k_min, switch.ecn.k_max, switch.ecn.p_max, switch.ecn.at, switch.ecn.by_rate",
            "switch.ecn.enabled is false",
        );
        let (red, usual) = (&spec.switch.red, &plain.switch.red);
        if !red.enabled && !heard {
            note("switch.ecn.enabled", "no scheme of this run reacts to marks");
        }
        if red.enabled && net.counters.marks == 0 && red.non_ect == usual.non_ect {
            let settings = those(&[
                ("switch.red.enabled, switch.red.per", true),
                ("switch.red.min", red.min <= usual.min),
                ("switch.red.max", red.max <= usual.max),
                ("switch.red.p_max", red.p_max >= usual.p_max),
            ]);
            note(&settings, "no packet was marked: none had ECN, or no average queue reached min");
        }
        return;
    }
    if !heard {
        let marked = if net.counters.marks == 0 { "nothing was marked, and" } else { "packets were marked, but" };
        note("switch.ecn", &format!("{marked} no scheme of this run reacts to marks"));
        return;
    }
    if net.counters.marks == 0 {
        let (ecn, usual) = (&spec.switch.ecn, &plain.switch.ecn);
        let settings = those(&[
            ("switch.ecn.enabled, switch.ecn.per", true),
            ("switch.ecn.k_min", ecn.k_min <= usual.k_min),
            ("switch.ecn.k_max", ecn.k_max <= usual.k_max),
            ("switch.ecn.p_max", ecn.p_max >= usual.p_max),
            ("switch.ecn.at", ecn.at >= usual.at),
        ]);
        note(&settings, "no queue reached k_min: no packet was marked");
        return;
    }
    let graph = &net.graph;
    let has = |rate| graph.ports.iter().any(|p| !graph.is_host(p.node) && p.rate == rate);
    let rows = &spec.switch.ecn.by_rate;
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| !has(row.rate)) {
        note(&format!("switch.ecn.by_rate.{i}"), &format!("no switch has a port of {}", row.rate));
    }
    let scaled = |p: &&crate::graph::PortInfo| !graph.is_host(p.node) && rows.iter().all(|row| row.rate != p.rate);
    if !graph.ports.iter().any(|p| scaled(&p)) {
        note(
            "switch.ecn.k_min, switch.ecn.k_max, switch.ecn.p_max, switch.ecn.at",
            "every port has thresholds of its own rate (switch.ecn.by_rate)",
        );
    }
}
