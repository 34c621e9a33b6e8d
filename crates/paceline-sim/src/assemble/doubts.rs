//! Warnings that take the network to see: what is allowed but gives results that are probably not meant.

use paceline_proto::telemetry::{LONGEST_LIFE, MAX_HOPS};
use paceline_proto::transport::express_pass::Stamp;
use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use super::Build;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::ideal::BaseRtt;
use crate::routing::Routes;
use crate::scenario::{PathChoice, Scenario};
use crate::spec::Resolved;
use crate::spec::host::Rto;
use crate::spec::scheme::{Control, HpccWindow};
use crate::spec::workload::Load;
use crate::workload::SizeLaw;
use crate::workload::program::{Connections, Kind};

/// Packets in a base RTT on the fastest link from which HPCC-PINT's utilisation is told to be clearly too low. By the arithmetic of section
/// 4.9 of the hpcc-ns3 facts, at 100 Gb/s: 0.916 where it is 0.95 with 42 us, 0.868 with 84.
const COARSE: u64 = 800;

/// Full packets that the fastest link of the network carries in this time.
fn packets_in(time: Duration, scenario: &Scenario) -> Option<u64> {
    let fastest = scenario.graph.ports.iter().map(|p| p.rate).max()?;
    time.0.checked_div(fastest.serialisation(u64::from(scenario.max_frame())).0)
}

/// Of schemes and the network's paths. `network`: its maxima.
pub(super) fn of_paths(spec: &Resolved, scenario: &Scenario, network: &BaseRtt, routes: &mut Routes) -> Vec<String> {
    let mut out = Vec::new();
    let choice = scenario.routing.choice;
    let matters = choice.splits_flows() || spec.schemes.iter().any(|(_, s)| matches!(s.cc, Control::Ndp(_)));
    let has_choice = matters && has_choice(scenario, routes);
    let sprays = choice == PathChoice::Spray && has_choice;
    let flowlets = choice == PathChoice::Flowlet && has_choice;
    let switches = network.links.saturating_sub(1);
    for (name, scheme) in &spec.schemes {
        let cc = &scheme.cc;
        if cc.params().uses_int() && switches > MAX_HOPS as u32 {
            out.push(format!(
                "schemes.{name}: telemetry has room for {MAX_HOPS} switches, and paths cross up to {switches}: queues behind \
                 the first {MAX_HOPS} are not seen"
            ));
        }
        let base = Duration::from_ns(network.rtt_ns);
        if cc.params().uses_int() && cc.is_tcp() && base >= LONGEST_LIFE {
            out.push(format!(
                "schemes.{name} never slows down: a round trip ({base:#}) is no shorter than the time in which telemetry's clock comes round \
                 ({LONGEST_LIFE:#}), so that no probe can be compared with the one before"
            ));
        }
        if let Control::HpccPint(_) = cc
            && let Some(packets) = packets_in(base, scenario).filter(|packets| *packets >= COARSE)
        {
            out.push(format!(
                "schemes.{name}: a round trip ({base:#}) is as long as {packets} packets on the fastest links: of the average that a switch keeps \
                 over it each takes off what its arithmetic rounds down (0.868 instead of 0.95 with a thousand), so that links seem less used and queues stand"
            ));
        }
        if matches!(cc, Control::ExpressPass(_)) && base >= Stamp::LONGEST {
            out.push(format!(
                "schemes.{name}: a round trip ({base:#}) is no shorter than the time in which the stamps of credits come round ({:#}): receivers \
                 take round trips for shorter ones",
                Stamp::LONGEST
            ));
        }
        if matches!(cc, Control::Ndp(_)) && choice != PathChoice::Spray && has_choice {
            out.push(format!(
                "schemes.{name} without routing.choice = \"spray\": NDP sends each packet over a path of its own, here all of a {} take one",
                if flowlets { "flowlet" } else { "message" }
            ));
        }
        let rdma = !cc.is_tcp() && !cc.is_udp() && !cc.is_message_transport();
        if rdma && sprays {
            let telemetry =
                if cc.params().uses_int() { ", and telemetry of several paths is taken for one" } else { "" };
            out.push(format!(
                "schemes.{name} with routing.choice = \"spray\": go-back-N takes packets that overtake each other for \
                 losses{telemetry}"
            ));
        } else if let (true, true, gap) = (rdma, flowlets, spec.routing.flowlet_gap)
            && gap < base
        {
            out.push(format!(
                "routing.flowlet_gap ({gap:#}) is shorter than a round trip ({base:#}): packets may overtake each other, which go-back-N \
                 of schemes.{name} takes for losses"
            ));
        } else if cc.is_tcp() && cc.params().uses_int() && (sprays || flowlets) {
            out.push(format!(
                "schemes.{name} with routing.choice = \"{}\": one probe after the other takes another path, and telemetry of \
                 several paths is taken for one",
                if flowlets { "flowlet" } else { "spray" }
            ));
        }
    }
    timers(spec, Duration::from_ns(network.rtt_ns), &mut out);
    windows(spec, network, &mut out);
    least_rates(spec, scenario, &mut out);
    out
}

/// Programs that name NICs where every message draws its own.
pub(super) fn of_programs(scenario: &Scenario) -> impl Iterator<Item = String> {
    let graph = &scenario.graph;
    let several = |host: &NodeId| graph.ports_of(*host).len() > 1;
    let drawn = scenario.programs.iter().filter(move |program| {
        let Kind::Mpi(mpi) = &program.kind else { return false };
        program.connections == Connections::New && mpi.program.names_nics() && program.hosts.iter().any(several)
    });
    drawn.map(|program| {
        format!(
            "workloads.{}.connections = \"new\": every message draws its NIC, whichever its program names (`channels`, or `nic` in GOAL)",
            program.workload
        )
    })
}

/// Lowest rates, made for hosts of 100 Gb/s, of which few flows already fill a slower host's link.
fn least_rates(spec: &Resolved, scenario: &Scenario, out: &mut Vec<String>) {
    let graph = &scenario.graph;
    let Some(slowest) = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).min() else { return };
    let of_limiters = scenario.adapter.as_ref().and_then(|a| a.limiter.as_ref()).map(|l| l.min_rate);
    if let Some(least) = of_limiters.filter(|least| *least >= slowest).map(BitsPerSec) {
        let of = BitsPerSec(slowest);
        out.push(format!(
            "host.qcn.min_rate ({least}) is not below the slowest host links ({of}): notifications slow nobody down there"
        ));
    }
    for (name, scheme) in &spec.schemes {
        let Some(least) = scheme.cc.min_rate().filter(|least| least.0 >= slowest.div_ceil(10)) else { continue };
        let of = BitsPerSec(slowest);
        out.push(if least.0 >= slowest {
            format!("schemes.{name}.min_rate ({least}) is not below the slowest host links ({of}): flows never slow down there")
        } else {
            let flows = slowest / least.0;
            format!(
                "schemes.{name}.min_rate ({least}) is at least a tenth of the slowest host links ({of}): more than {flows} flows to one \
                 such host do not slow down enough"
            )
        });
    }
}

/// Timeouts that run out while the answer is under way.
fn timers(spec: &Resolved, base_rtt: Duration, out: &mut Vec<String>) {
    let mut all: Vec<(String, Duration)> = Vec::new();
    for (name, scheme) in &spec.schemes {
        let timers: &[(&str, Duration)] = match &scheme.cc {
            Control::Homa(p) => &[
                ("resend_timeout", p.resend_timeout),
                ("sender_timeout", p.sender_timeout),
                ("done_timeout", p.done_timeout),
            ],
            Control::Ndp(p) => &[("rto", p.rto)],
            Control::ExpressPass(p) => {
                &[("retransmit_timeout", p.retransmit_timeout), ("credit_timeout", p.credit_timeout)]
            }
            _ => &[],
        };
        all.extend(timers.iter().map(|(field, time)| (format!("schemes.{name}.{field}"), *time)));
        let cc = &scheme.cc;
        let (field, time) = if cc.is_tcp() {
            ("host.tcp.rto_initial", Some(spec.host.tcp.rto_initial))
        } else {
            let rdma = !cc.is_udp() && !cc.is_message_transport();
            ("host.rto", if let Rto::After(time) = spec.host.rto { Some(time) } else { None }.filter(|_| rdma))
        };
        if let Some(time) = time.filter(|_| all.iter().all(|(other, _)| other != field)) {
            all.push((field.to_string(), time));
        }
    }
    for (field, time) in all.into_iter().filter(|(_, time)| *time <= base_rtt) {
        out.push(format!(
            "{field} ({time:#}) is not longer than the network's base RTT ({base_rtt:#}): it runs out although nothing is lost"
        ));
    }
}

/// Base round trips by which an ACK must be held back to be told of: made for such networks, a stack holds it for a few.
const LONG_HELD: u64 = 100;

/// TCP windows that the path does not suit: too small for it, or so small that ACKs are held back.
fn windows(spec: &Resolved, network: &BaseRtt, out: &mut Vec<String>) {
    let tcp = &spec.host.tcp;
    let (buffer, which) = if tcp.send_buffer_max <= tcp.receive_buffer_max {
        (tcp.send_buffer_max, "send_buffer_max")
    } else {
        (tcp.receive_buffer_max, "receive_buffer_max")
    };
    if spec.schemes.iter().any(|(_, s)| s.cc.is_tcp()) && buffer.0 < network.bdp {
        out.push(format!(
            "host.tcp.{which} ({buffer}) is less than a bandwidth-delay product ({} on the longest path): one flow alone does not fill \
             the path",
            Bytes(network.bdp)
        ));
    }
    for (name, scheme) in &spec.schemes {
        let Control::HpccTcp(p) = &scheme.cc else { continue };
        let window = if let HpccWindow::Bytes(bytes) = p.window { bytes } else { Bytes(network.bdp) };
        let needed = u64::from(tcp.ack_segments) * spec.framing.payload.0;
        // At its target the window is `eta` of that.
        if window.0 as f64 * p.eta < needed as f64 && tcp.ack_delay.0 > network.rtt_ns.saturating_mul(1000) {
            out.push(format!(
                "schemes.{name}.eta ({}) of the window at line rate ({window}) is less than host.tcp.ack_segments ({}) full segments: \
                 ACKs wait for host.tcp.ack_delay ({:#})",
                p.eta, tcp.ack_segments, tcp.ack_delay
            ));
        } else if tcp.min_window < tcp.ack_segments && tcp.ack_delay.0 > network.rtt_ns.saturating_mul(1000 * LONG_HELD)
        {
            out.push(format!(
                "schemes.{name}: where flows meet, their windows fall to host.tcp.min_window ({}), fewer segments than host.tcp.ack_segments \
                 ({}): such flows stand still until ACKs that host.tcp.ack_delay ({:#}) holds back",
                tcp.min_window, tcp.ack_segments, tcp.ack_delay
            ));
        }
    }
}

/// Whether some switch has several shortest paths to some host.
fn has_choice(scenario: &Scenario, routes: &mut Routes) -> bool {
    let graph = &scenario.graph;
    let mut racks: Vec<NodeId> = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.peer).collect();
    racks.sort_unstable();
    racks.dedup();
    let mut found = false;
    racks.into_iter().filter(|node| !graph.is_host(*node)).any(|rack| {
        routes.walk(rack, &mut |_, hops| found |= hops.len() > 1);
        found
    })
}

impl Build<'_> {
    /// A load that hosts share evenly although some have slower links, and that is too much for these.
    pub(super) fn overload(
        &self,
        number: usize,
        load: &Load,
        law: &SizeLaw,
        hosts: &[NodeId],
        flows_per_second: f64,
        scheme: usize,
    ) -> Result<Option<String>, InputError> {
        let rate = |host: NodeId| self.scenario.graph.ports_of(host).iter().map(|p| p.rate.0).sum::<u64>();
        let (slowest, fastest) =
            hosts.iter().map(|h| rate(*h)).fold((u64::MAX, 0), |(a, b), rate| (a.min(rate), b.max(rate)));
        let offered = flows_per_second * 8.0 * self.mean(law, load.bytes, load.mean, scheme)?;
        let share = |rate: u64| offered / rate as f64 * 100.0;
        Ok((slowest < fastest && share(slowest) > 100.0 && load.value <= 1.0).then(|| {
            format!(
                "workloads.{number}.load: every host sends and is sent the same, whatever its links: {:.0} % of what hosts of {} \
                 carry, {:.0} % at {}",
                share(slowest),
                BitsPerSec(slowest),
                share(fastest),
                BitsPerSec(fastest)
            )
        }))
    }
}
