//! Settings that changed nothing in a run, and how one can tell.
//!
//! | file | of what |
//! |---|---|
//! | here | the whole, in the order of what is told; schemes, paths, failures |
//! | `switches.rs` | buffers, pauses, marks, QCN |
//! | `hosts.rs` | stacks, timeouts, frames |
//! | `transports.rs` | what single transports have |
//! | `workloads.rs` | traffic |
//! | `records.rs` | records, and the run's instants |

mod hosts;
mod records;
mod switches;
mod transports;
mod workloads;

use paceline_proto::cc::dcqcn;
use paceline_proto::units::Time;

use crate::net::Net;
use crate::scenario::{NicChoice, PathChoice};
use crate::spec::scheme::{Control, Window};
use crate::spec::value::Value as _;
use crate::spec::{Resolved, parse};

pub use records::{full, thinned, unrecorded};

/// A scenario that leaves all to defaults.
const PLAIN: &str = "[topology]\nkind = 'star'\nhosts = 2\n[schemes.s]\ncc = 'none'\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n";

/// What is looked at.
#[derive(Clone, Copy)]
struct Seen<'a> {
    /// The scenario of the run.
    spec: &'a Resolved,
    /// One that leaves all to defaults.
    plain: &'a Resolved,
    /// The network after the run.
    net: &'a Net,
    /// The run ended with its last flow.
    completed: bool,
}

/// One clause per setting without effect: `setting: why`. `completed`: whether the run ended with its last flow.
///
/// What did not happen, as a drop, tells of a setting only where the default would not have let it happen either: a larger buffer than
/// that may be why nothing was dropped. So such a clause names settings no laxer than their defaults.
pub fn without_effect(spec: &Resolved, net: &Net, completed: bool) -> Vec<String> {
    let s = &net.scenario;
    let mut out = Vec::new();
    let presets = [
        format!("framing.preset={}", spec.framing.preset.text().unwrap_or_default()),
        format!("host.tcp.stack={}", spec.host.tcp.stack.text().unwrap_or_default()),
    ];
    let Ok(plain) = parse(PLAIN, "defaults", &presets) else { return out };
    let seen = Seen { spec, plain: &plain, net, completed };
    let mut note = |setting: &str, why: &str| {
        if !setting.is_empty() {
            out.push(format!("{setting}: {why}"));
        }
    };
    disabled(seen, &mut note);
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
    switches::buffers(seen, &mut note);
    switches::marks(seen, &mut note);
    switches::notifications(seen, &mut note);
    hosts::framing(seen, &mut note);
    workloads::notes(seen, &mut note);
    hosts::stacks(seen, &mut note);
    for (i, (name, scheme)) in spec.schemes.iter().enumerate() {
        transports::unused(name, &scheme.cc, net, completed, &mut note);
        unmarked(name, &scheme.cc, net, &mut note);
        unraised(i, name, &scheme.cc, net, &mut note);
    }
    hosts::base_rtt(seen, &mut note);
    switches::scheduler(seen, &mut note);
    let is_rdma = net.message_counters().is_none();
    if is_rdma {
        hosts::timeouts(seen, &mut note);
    }
    hosts::unpadded(seen, &mut note);
    if net.counters.retransmitted == 0 && is_rdma {
        note("host.nack_interval", "no packet was missing");
    }
    if s.routing.choice != PathChoice::Flowlet {
        note("routing.flowlet_gap", "routing.choice is not \"flowlet\"");
    } else if net.counters.flowlets == 0 {
        note("routing.flowlet_gap", "no end of a flow paused for so long");
    }
    let one_nic = net.graph.hosts().all(|host| net.graph.ports_of(host).len() == 1);
    match s.routing.choice {
        _ if !net.routes.has_choice() && one_nic => {
            note("routing.order, routing.salt, routing.choice", "every pair of hosts has one shortest path");
        }
        _ if !net.routes.has_choice() => {
            let same = matches!(s.routing.choice, PathChoice::Spray | PathChoice::Flowlet | PathChoice::FlowHash);
            let settings = those(&[("routing.order", true), ("routing.choice", same)]);
            note(&settings, "every pair of NICs has one shortest path");
        }
        // The salt is that of hosts with several NICs, too.
        _ if !one_nic => {}
        PathChoice::Spray if !is_rdma => note("routing.salt", "sprayed packets draw their path"),
        PathChoice::Flowlet if !is_rdma => note("routing.salt", "flowlets draw their path"),
        PathChoice::DModK | PathChoice::SModK => note("routing.salt", "the numbers of hosts choose paths, no hash"),
        // RDMA's answers go by hash where data are sprayed.
        PathChoice::Spray | PathChoice::Flowlet | PathChoice::FlowHash => {}
    }
    if one_nic {
        note("routing.nics", "no host has several NICs");
    } else if s.routing.nics == NicChoice::Nearest && !net.graph.has_hosts_at_one_switch() {
        note("routing.nics", "no two hosts are at one switch");
    }
    if let Some(failures) = &net.failures {
        let end = Time(net.last_end);
        match failures.failures_after(end) {
            0 => {}
            // Flows that had not ended when the run did may have met them.
            _ if !completed => {}
            // Where links may fail, headers on their way back look up their ports at each switch, and need not take the same.
            _ if s.switch.trimming.is_some() => {}
            late => note("failures", &format!("{late} links fail only after the last flow has ended, at {end:#}")),
        }
    } else {
        note("routing.reroute_after, quirks.link_down", "no link fails (failures)");
    }
    records::ends(seen, &mut note);
    records::series(seen, &mut note);
    out
}

/// The settings that are to be named.
fn those(settings: &[(&str, bool)]) -> String {
    settings.iter().filter(|(_, named)| *named).map(|(setting, _)| *setting).collect::<Vec<_>>().join(", ")
}

/// Sections in which something is set, but not `enabled`.
fn disabled(Seen { spec, plain, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
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

/// Parameters of controllers that go by marks, where there was none.
fn unmarked(name: &str, cc: &Control, net: &Net, note: &mut impl FnMut(&str, &str)) {
    if net.counters.marks > 0 || !cc.needs_marks() {
        return;
    }
    let unused = cc.fields().into_iter().filter(|field| *field != "window");
    let fields: Vec<String> = unused.map(|field| format!("schemes.{name}.{field}")).collect();
    note(&fields.join(", "), "no packet was marked");
}

/// Steps of DCQCN's increases that were never taken, or not from a rate below the line. `i`: the scheme's number.
fn unraised(i: usize, name: &str, cc: &Control, net: &Net, note: &mut impl FnMut(&str, &str)) {
    // Without marks all of them are named.
    if !matches!(cc, Control::Dcqcn(_)) || net.counters.marks == 0 {
        return;
    }
    let used = net.used(i);
    for (field, stage, bit) in [("ai_rate", "additive", dcqcn::ADDITIVE), ("hai_rate", "hyper", dcqcn::HYPER)] {
        if used & bit == 0 {
            note(&format!("schemes.{name}.{field}"), &format!("no flow came to {stage} increase below its line rate"));
        }
    }
}
