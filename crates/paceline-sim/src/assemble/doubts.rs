//! Warnings that take the network to see: what is allowed but gives results that are probably not meant.

use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::units::BitsPerSec;

use super::Build;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::ideal::BaseRtt;
use crate::routing::Routes;
use crate::scenario::{PathChoice, Scenario};
use crate::spec::Resolved;
use crate::spec::workload::Load;
use crate::workload::SizeLaw;

/// Of schemes and the network's paths. `network`: its maxima.
pub(super) fn of_paths(spec: &Resolved, scenario: &Scenario, network: &BaseRtt, routes: &mut Routes) -> Vec<String> {
    let mut out = Vec::new();
    let sprays = scenario.routing.choice == PathChoice::Spray && has_choice(scenario, routes);
    let switches = network.links.saturating_sub(1);
    for (name, scheme) in &spec.schemes {
        let cc = &scheme.cc;
        if cc.params().uses_int() && switches > MAX_HOPS as u32 {
            out.push(format!(
                "schemes.{name}: telemetry has room for {MAX_HOPS} switches, and paths cross up to {switches}: queues behind \
                 the first {MAX_HOPS} are not seen"
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
        }
    }
    out
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
