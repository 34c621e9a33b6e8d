//! Settings of hosts: stacks, timeouts, base RTT; the frames they send.

use paceline_proto::cc::Params;
use paceline_proto::units::Duration;

use super::{Seen, those, transports};
use crate::net::Net;
use crate::scenario::{Scheme, Transport};
use crate::spec::host::Rto;
use crate::spec::scheme::{Control, Window};
use crate::spec::workload::{Sizes, WorkloadKind};
use crate::workload::program::{Connections, Kind};

/// What one transport has and another has not.
pub(super) fn stacks(seen: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let s = &seen.net.scenario;
    let messages = seen.net.message_counters().is_some();
    let stays_open = !s.rpcs.is_empty() || s.programs.iter().any(|p| p.connections == Connections::Open);
    let is_tcp = s.schemes.iter().any(is_over_tcp);
    if s.schemes.iter().any(is_over_udp) && !is_tcp {
        note(
            "host.ack_priority, host.nack_interval, host.rto, host.rto_tries, host.idle_restart, host.base_rtt, host.tcp",
            "UDP answers nothing and repeats nothing",
        );
        note("workloads.rate_cap, workloads.rows.rate_cap", "a scheme over UDP has its rate");
    } else if is_tcp {
        tcp(seen, stays_open, note);
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
}

/// TCP's, and what it has instead of RDMA's. `stays_open`: some connections stay open.
fn tcp(Seen { spec, plain, net, .. }: Seen<'_>, stays_open: bool, note: &mut impl FnMut(&str, &str)) {
    let (c, s) = (&net.counters, &net.scenario);
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
    let in_order = !lost && !s.routing.choice.splits_flows() && net.failures.is_none();
    if in_order {
        let settings = "host.tcp.sack, host.tcp.dup_thresh, host.tcp.limited_transmit, host.tcp.reassembly_limit";
        note(settings, "nothing was lost, and nothing overtaken");
    }
    let over_tcp = || s.schemes.iter().filter(|s| is_over_tcp(s));
    if let Some(counted) = net.message_counters() {
        let schemes: Vec<_> = over_tcp().collect();
        transports::tcp((&spec.host.tcp, &plain.host.tcp), &schemes, &counted, (stays_open, in_order), note);
    }
    let inherits = |t: &Transport| matches!(t, Transport::Tcp(p) if p.host_cache);
    if !s.schemes.iter().any(|s| inherits(&s.transport)) {
        note("host.tcp.inherit_cwnd", "host.tcp.host_cache is false");
    }
    if let Some(adapters) = &net.adapters
        && adapters.had_room(plain.host.adapter.buffer.0)
    {
        note("host.adapter.buffer", "no adapter's buffer was full");
    }
    if !stays_open {
        note("host.tcp.idle_restart", "a connection carries one flow, which never pauses");
        note("host.tcp.ack_push", "a connection carries one flow, whose last segment is acknowledged at once");
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
    }
    if over_tcp().all(|s| matches!(s.params, Params::Hpcc(_))) {
        let settings = those(&[("host.tcp.initial_window", true), ("host.tcp.idle_restart", stays_open)]);
        note(&settings, "the window of HPCC over TCP is that of its scheme");
    }
}

/// What comes from the base RTT.
pub(super) fn base_rtt(Seen { spec, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    let messages = net.message_counters().is_some();
    let [tcp, udp] = [is_over_tcp, is_over_udp].map(|is_over| s.schemes.iter().any(is_over));
    if messages {
        note("quirks.line_rate_pacing", "it is about the pacing of RDMA, which no scheme of this run is over");
        if spec.schemes.iter().all(|(_, s)| s.cc.is_message_transport() && !s.cc.fills_round_trip()) {
            note("host.base_rtt", "what senders may send unasked is given, or nothing");
        }
    } else if !has_timed_out(net) && spec.schemes.iter().all(|(_, s)| goes_by_no_base_rtt(&s.cc)) {
        // The timeout that is made from it did not run out.
        note(
            "host.base_rtt",
            "no scheme of this run has a window that is made from it, and no retransmission timeout ran out",
        );
    }
    let asks = if tcp { s.uses_int() } else { !udp };
    if s.host.own_base_rtt && messages && asks {
        note("host.base_rtt", "the transport goes by the network's base RTT, or a time, not by that of each pair");
    } else if s.host.own_base_rtt && !messages && net.contexts.iter().all(|ctx| net.is_of_longest_pair(ctx)) {
        note("host.base_rtt", "all pairs that sent have the network's base RTT");
    }
}

fn is_over_tcp(scheme: &Scheme) -> bool {
    matches!(scheme.transport, Transport::Tcp(_))
}

fn is_over_udp(scheme: &Scheme) -> bool {
    matches!(scheme.transport, Transport::Udp(_))
}

/// Whether a controller goes by nothing that comes from the base RTT, its window included.
fn goes_by_no_base_rtt(cc: &Control) -> bool {
    let windows_alone = matches!(cc, Control::Fixed(_) | Control::Dcqcn(_) | Control::Timely(_) | Control::Dctcp(_));
    windows_alone && cc.window() != Window::Bdp
}

/// Whether RDMA's timeouts had an effect: one ran out, or a flow was given up that asked in vain for as long as all of them take.
fn has_timed_out(net: &Net) -> bool {
    net.timeouts > 0 || net.counters.failed > 0
}

/// RDMA's timeouts.
pub(super) fn timeouts(Seen { spec, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    if s.host.rto.is_some() && s.quirks.nic_round_robin {
        note("host.rto, host.rto_tries", "there are no timeouts with quirks.nic_round_robin");
    } else if s.host.rto.is_some() && !has_timed_out(net) {
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

/// Sizes of answers that there are none of, or that are padded anyway.
pub(super) fn framing(Seen { plain, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
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

/// Padding of data frames, where none is shorter than the smallest frame.
pub(super) fn unpadded(Seen { spec, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
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
    // Programs are held against an ideal network, whose frames have none.
    let programs = s.programs.iter().any(|p| matches!(p.kind, Kind::Mpi(_)));
    let telemetry = s.schemes.iter().map(Scheme::telemetry_bytes).filter(|_| !programs).min().unwrap_or(0);
    if net.message_counters().is_some() && !programs {
        note("quirks.unpadded_data", "it is about the data frames of RDMA, which no scheme of this run is over");
    } else if payload + s.framing.header + telemetry >= s.framing.min_frame {
        note("quirks.unpadded_data", "no data frame is shorter than framing.min_frame");
    }
}
