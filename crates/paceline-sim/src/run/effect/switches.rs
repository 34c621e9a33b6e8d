//! Settings of switches: buffers, pauses, marks, what is cut and what is dropped.

use paceline_proto::qcn::reaction_point;
use paceline_proto::transport::express_pass::DATA_PRIORITY;

use super::{Seen, those};
use crate::scenario::{BufferModel, Pfc, Transport};
use crate::spec::field::FIELDS;
use crate::spec::host::Rto;
use crate::spec::switch::{Accounting, Headroom};

/// What ports do beside serving queues, and the buffer.
pub(super) fn buffers(seen: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let (c, s) = (&seen.net.counters, &seen.net.scenario.switch);
    if s.selective.is_some() && s.trimming.is_none() {
        dropping(seen, note);
    }
    if s.trimming.is_some() {
        trimming(seen, note);
    } else if let Some(pfc) = &s.pfc {
        lossless(seen, pfc, note);
    } else {
        lossy(seen, note);
    }
    if c.pause_frames == 0 && (s.pfc.is_none() || seen.spec.switch.pfc.headroom != Headroom::Auto) {
        note("framing.pfc_frame", "no pause frame was sent");
    }
}

/// Unscheduled packets that are dropped selectively.
fn dropping(Seen { spec, plain, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    // Credits have a queue of their own, which does not count.
    let one_queue = net.scenario.schemes.iter().all(|s| {
        matches!(s.transport, Transport::ExpressPass { .. })
            && s.transport.classes().is_some_and(|classes| *classes.end() <= DATA_PRIORITY)
    });
    if one_queue {
        note("switch.selective_drop.per", "all packets but credits are of one class");
    }
    if net.counters.drops_unscheduled == 0 {
        let (given, usual) = (&spec.switch.selective_drop, &plain.switch.selective_drop);
        let settings = those(&[
            ("switch.selective_drop.enabled, switch.selective_drop.accounting", true),
            ("switch.selective_drop.threshold", given.threshold <= usual.threshold),
            ("switch.selective_drop.per", !one_queue && given.per == usual.per),
        ]);
        note(&settings, "no unscheduled packet was dropped");
    }
}

/// Queues of ports that trim.
fn trimming(Seen { spec, plain, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let (c, given, usual) = (&net.counters, &spec.switch.trimming, &plain.switch.trimming);
    let settings = those(&[
        ("switch.buffer, switch.model, switch.accounting, switch.egress_alpha, switch.pfc", true),
        ("switch.selective_drop", net.scenario.switch.selective.is_some()),
    ]);
    note(&settings, "ports that trim have queues of their own");
    if c.data_trimmed == 0 {
        let settings = those(&[
            ("switch.trimming.data_packets", given.data_packets <= usual.data_packets),
            ("switch.trimming.header_packets", given.header_packets <= usual.header_packets),
            ("switch.trimming.return_to_sender", true),
        ]);
        note(&settings, "no packet was trimmed");
    } else if c.returned + c.drops_buffer == 0 {
        let is_less = given.header_packets <= usual.header_packets;
        let settings =
            those(&[("switch.trimming.header_packets", is_less), ("switch.trimming.return_to_sender", true)]);
        note(&settings, "no queue of headers was full");
    }
}

/// A buffer with PFC.
fn lossless(seen: Seen<'_>, pfc: &Pfc, note: &mut impl FnMut(&str, &str)) {
    let Seen { spec, plain, net, .. } = seen;
    let c = &net.counters;
    let (switch, default) = (&spec.switch, &plain.switch);
    if c.pause_frames == 0 && c.drops_buffer == 0 {
        let (given, usual) = (&switch.pfc, &default.pfc);
        let aside = |h: &Headroom| if let Headroom::RateDelay(times) = h { Some(times.0) } else { None };
        let settings = those(&[
            ("switch.buffer", !buffer_times(seen) && switch.buffer <= default.buffer),
            ("switch.model", switch.model == default.model),
            // A smaller one leaves the pool what it takes from each port's own part.
            ("switch.pfc.reserve", given.reserve == usual.reserve),
            ("switch.pfc.headroom", aside(&given.headroom) >= aside(&usual.headroom)),
            ("switch.pfc.alpha", given.alpha <= usual.alpha),
            ("switch.pfc.xoff", given.xoff == usual.xoff),
            ("switch.pfc.alpha_scales, switch.pfc.resume_offset, switch.pfc.xon", true),
        ]);
        note(&settings, "no threshold was reached: no pause, no drop");
    }
    note("switch.egress_alpha", "with PFC the buffer belongs to ingress ports");
    let per_port = net.scenario.switch.model == BufferModel::PerPort;
    if per_port {
        let why = "each port has its own buffer (switch.model), with fixed thresholds";
        note("switch.pfc.reserve, switch.pfc.alpha, switch.pfc.alpha_scales", why);
    } else {
        note("switch.accounting, switch.pfc.xoff, switch.pfc.xon", "the buffer is shared by all ports (switch.model)");
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
}

/// A buffer without PFC.
fn lossy(seen: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let Seen { spec, plain, net, .. } = seen;
    let (switch, default) = (&spec.switch, &plain.switch);
    note(
        "switch.pfc.reserve, switch.pfc.headroom, switch.pfc.alpha, switch.pfc.alpha_scales, \
         switch.pfc.resume_offset, switch.pfc.xoff, switch.pfc.xon, switch.pfc.reaction",
        "switch.pfc.enabled is false",
    );
    let shared = net.scenario.switch.model == BufferModel::Shared;
    if shared {
        note("switch.accounting", "the buffer is shared by all ports (switch.model)");
    } else {
        note("switch.egress_alpha", "the buffer is divided by port");
    }
    if net.counters.drops_buffer == 0 {
        let settings = those(&[
            ("switch.buffer", !buffer_times(seen) && switch.buffer <= default.buffer),
            ("switch.model", switch.model == default.model),
            ("switch.accounting", matches!(switch.accounting, Accounting::Auto | Accounting::Output)),
            ("switch.egress_alpha", shared && switch.egress_alpha <= default.egress_alpha),
        ]);
        note(&settings, "nothing was dropped");
    }
}

/// Whether a timeout ran out that is made from the buffer.
fn buffer_times(Seen { spec, net, .. }: Seen<'_>) -> bool {
    spec.host.rto == Rto::Auto && net.timeouts > 0
}

/// Marking thresholds.
pub(super) fn marks(Seen { spec, plain, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
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
                ("switch.red.gentle", true),
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
        note(&settings, "no packet was marked");
        return;
    }
    let graph = &net.graph;
    let has = |rate| graph.ports.iter().any(|p| !graph.is_host(p.node) && p.rate == rate);
    let rows = &spec.switch.ecn.by_rate;
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| !has(row.rate)) {
        note(&format!("switch.ecn.by_rate.{i}"), &format!("no switch has a port of {}", row.rate));
    }
    let ecn = &spec.switch.ecn;
    if ecn.k_min == ecn.k_max {
        note("switch.ecn.p_max", "switch.ecn.k_min is k_max: above it every packet is marked, below none");
    }
    let scaled = |p: &&crate::graph::PortInfo| !graph.is_host(p.node) && rows.iter().all(|row| row.rate != p.rate);
    if !graph.ports.iter().any(|p| scaled(&p)) {
        note(
            "switch.ecn.k_min, switch.ecn.k_max, switch.ecn.p_max, switch.ecn.at",
            "every port has thresholds of its own rate (switch.ecn.by_rate)",
        );
    }
}

/// QCN.
pub(super) fn notifications(Seen { spec, plain, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let (c, s) = (&net.counters, &net.scenario);
    let (switch, default) = (&spec.switch, &plain.switch);
    if s.switch.qcn.is_none() {
        note("host.qcn", "switch.qcn.enabled is false");
        return;
    }
    let to_window = s.adapter.as_ref().is_some_and(|a| a.to_window);
    if to_window {
        note(&format!("host.qcn.limiter, {}", limits()), "host.qcn.reaction is \"window\"");
    }
    if c.notifications == 0 {
        // Limiters are queues of their own, served in turn, also where nothing limits them; so is what passes by them.
        let queues = s.adapter.as_ref().is_some_and(|a| a.limiter.is_some() || a.exempt_syn);
        let settings = those(&[
            ("switch.qcn.enabled", !queues),
            ("host.qcn", s.adapter.is_none()),
            (&limits(), s.adapter.is_some() && !to_window),
            ("switch.qcn.set_point", switch.qcn.set_point <= default.qcn.set_point),
            ("switch.qcn.sample_base", switch.qcn.sample_base <= default.qcn.sample_base),
        ]);
        note(&settings, "no frame that was sampled found a queue above the set point");
    } else if let Some(adapters) = net.adapters.as_ref().filter(|_| !to_window) {
        for (field, bit, why) in [
            ("ai_rate", reaction_point::ACTIVE, "no limiter came to active increase below its link's rate"),
            ("hai_rate", reaction_point::HYPER, "no limiter came to hyper-active increase below its link's rate"),
            ("stages", reaction_point::STAGES, "no limiter's target rose where these differ"),
            ("keep_target", reaction_point::FIRST_STAGE, "no notification met a limiter in its first byte stage"),
            (
                "clamp_target",
                reaction_point::CLAMP,
                "no limiter's first stage ended with a target above ten times its rate",
            ),
            (
                "start_above_set_point",
                reaction_point::BELOW_SET_POINT,
                "every notification to a limiter at rest told of a queue above the set point",
            ),
        ] {
            if adapters.used() & bit == 0 {
                note(&format!("host.qcn.{field}"), why);
            }
        }
    }
}

/// The settings of QCN's limiters that say how they limit.
fn limits() -> String {
    let fields = FIELDS.iter().map(|field| field.path.as_str()).filter(|path| path.starts_with("host.qcn."));
    fields.filter(|path| !["host.qcn.limiter", "host.qcn.reaction"].contains(path)).collect::<Vec<_>>().join(", ")
}

/// Which class goes next.
pub(super) fn scheduler(Seen { spec, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let s = &net.scenario;
    let shapes = s.schemes.iter().any(|s| matches!(s.transport, Transport::ExpressPass { .. }));
    if s.switch.trimming.is_some() || shapes {
        note("switch.scheduler", "ports that trim or shape credits have an order of their own");
    } else if !s.host.ack_priority && s.switch.qcn.is_none() && spec.has_one_data_class() {
        note("switch.scheduler", "all packets are of one class");
    }
}
