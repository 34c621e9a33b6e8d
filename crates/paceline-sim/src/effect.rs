//! Settings that changed nothing in a run, and how one can tell.

use paceline_proto::cc::Params;

use crate::net::Net;
use crate::scenario::{BufferModel, PathChoice};
use crate::spec::Resolved;

/// One clause per setting without effect: `setting: why`.
pub fn without_effect(spec: &Resolved, net: &Net) -> Vec<String> {
    let (c, s) = (&net.counters, &net.scenario);
    let mut out = Vec::new();
    let mut note = |setting: &str, why: &str| out.push(format!("{setting}: {why}"));
    for scheme in &s.schemes {
        if !net.contexts.iter().any(|ctx| ctx.params == scheme.params) {
            note(&format!("schemes.{}", scheme.name), "no flow of this run uses it");
        }
    }
    if s.switch.pfc.is_some() {
        if c.pause_frames == 0 && c.drops_buffer == 0 {
            note("switch.pfc (all thresholds), switch.buffer", "no threshold was reached: no pause, no drop");
        }
        note("switch.egress_alpha", "a switch with PFC does not limit egress queues");
    } else if c.drops_buffer == 0 {
        note("switch.buffer, switch.egress_alpha", "nothing was dropped");
    } else if s.switch.model == BufferModel::PerPort {
        note("switch.egress_alpha", "the buffer is divided by port");
    }
    if s.switch.ecn.is_some() {
        let listens = |p: &Params| !matches!(p, Params::Fixed(_) | Params::Hpcc(_));
        if c.marks == 0 {
            note("switch.ecn", "no queue reached k_min: no packet was marked");
        } else if !s.schemes.iter().any(|x| listens(&x.params)) {
            note("switch.ecn", "packets were marked, but no scheme of this run reacts to marks");
        }
    }
    if s.host.rto.is_some() && net.timeouts == 0 {
        note("host.rto, host.rto_tries", "no retransmission timeout ran out");
    }
    if c.retransmitted == 0 {
        note("host.nack_interval", "no packet was missing");
    }
    if s.routing.choice == PathChoice::FlowHash && !net.routes.has_choice() {
        note("routing", "every pair of hosts has one shortest path");
    } else if s.routing.choice == PathChoice::Spray {
        note("routing.salt, routing.order", "sprayed packets draw their path");
    }
    if s.records.queues == crate::scenario::QueueRecords::Off && !spec.records.series.ports.is_empty() {
        note("records.queues", "off: series of ports are sampled, histograms are not kept");
    }
    out
}
