//! On-off sources of a scenario.

use std::collections::BTreeMap;

use paceline_proto::rng::Lognormal;
use paceline_proto::units::{Duration, Time};

use super::lengths::{Expected, seconds};
use super::{Build, Made};
use crate::error::InputError;
use crate::framing::Added;
use crate::graph::NodeId;
use crate::spec::workload::{Gap, LoadBytes, LoadOf, OnOff, OnOffMode, Workload};
use crate::workload::{self as w, FlowDefaults};

/// Share of the time in which hosts are on, where gaps follow from the load.
const SHARE_ON: f64 = 1.0 / 3.0;

impl Build<'_> {
    pub(super) fn on_off(
        &self,
        number: usize,
        workload: &Workload,
        p: &OnOff,
        flow: FlowDefaults,
    ) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let place = |e: InputError| if e.file.is_some() { e } else { self.inside(&field(""), e) };
        let graph = &self.scenario.graph;
        let nodes = self.hosts(&field("hosts"), &p.hosts, 2)?;
        let hosts: Vec<_> = nodes.iter().map(|h| (*h, graph.ports_of(*h)[0].peer)).collect();
        let law = |median: Duration, sigma: f64| Lognormal::of_median(median.0 as f64, sigma);
        let on = law(p.on_median, p.on_sigma);
        let (mut while_on, mean) = match &p.mode {
            OnOffMode::Flows(mode) => {
                let sizes = self.sizes(&field("sizes"), &mode.sizes)?;
                let mean = self.mean(&sizes, p.load.bytes, p.load.mean, usize::from(flow.scheme));
                let gaps = Lognormal::of_median(1.0, mode.gap_sigma);
                (w::WhileOn::Flows { sizes, gaps }, mean.map_err(|e| self.inside(&field("load."), e))?)
            }
            OnOffMode::Cbr(mode) => {
                let framing = &self.scenario.framing;
                let full = w::load::wire_bytes(u64::from(framing.payload), framing, Added::default()) as f64;
                let wire_per_second = mode.rate.0 as f64 / 8.0;
                let payload_per_second = wire_per_second * f64::from(framing.payload) / full;
                let counted = match p.load.bytes {
                    LoadBytes::Payload => payload_per_second,
                    LoadBytes::Wire => wire_per_second,
                };
                (w::WhileOn::Rate(payload_per_second), counted * on.mean() * 1e-12)
            }
        };
        let pairs = [(1.0, w::Pairs::uniform(&nodes, &nodes))];
        let mut of = self.reference(number, &p.load.of, &nodes, &pairs)?;
        if p.load.of == LoadOf::TorUplink {
            let one_switch =
                |host: &NodeId| graph.ports_of(*host).iter().all(|p| p.peer == graph.ports_of(*host)[0].peer);
            of.crossing = if nodes.iter().all(one_switch) {
                crossing(&hosts, p.local)
            } else {
                self.reference(number, &p.load.of, &nodes, &on_off_pairs(&hosts, p.local))?.crossing
            };
            if of.crossing <= 0.0 {
                let error = self.spec.error(&field("local"), "no traffic leaves a rack, whose uplinks it is to load");
                return Err(error.value(p.local).allowed("below 1; or load.of = \"host\""));
            }
        }
        let flows_per_second = w::rate_for_load(p.load.value, mean, of, nodes.len() as u32)
            .map_err(|e| self.inside(&field("load."), e))?;
        if let (w::WhileOn::Flows { gaps, .. }, OnOffMode::Flows(mode)) = (&mut while_on, &p.mode) {
            *gaps = match mode.gap_median {
                Gap::Median(median) => law(median, mode.gap_sigma),
                Gap::Auto => Lognormal::of_mean(SHARE_ON * 1e12 / flows_per_second, mode.gap_sigma),
            };
        }
        let end = p.end.or_else(|| self.stop());
        let sizes = match &while_on {
            w::WhileOn::Flows { sizes, .. } => sizes.clone(),
            w::WhileOn::Rate(per_second) => w::SizeLaw::Fixed((per_second * on.mean() * 1e-12) as u64),
        };
        let flows = flows_per_second * nodes.len() as f64 * seconds(self.scenario, workload.start, end);
        let expected = Expected::Drawn(sizes, flows);
        let config = w::OnOffConfig {
            hosts,
            local: p.local,
            on,
            off_sigma: p.off_sigma,
            while_on,
            flows_per_second,
            begin: workload.start,
            end: end.unwrap_or(Time::NEVER),
            seed: self.scenario.seed,
            workload: number as u16,
            flow,
        };
        Ok(Made { expected, ..Made::flows(w::OnOff::new(&config).map_err(place)?, None, end) })
    }
}

/// Who sends to whom, in parts with their shares of the flows: to others of the rack, that of the first NIC, or out of it.
fn on_off_pairs(hosts: &[(NodeId, NodeId)], local: f64) -> Vec<(f64, w::Pairs)> {
    let mut racks: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for (host, rack) in hosts {
        racks.entry(*rack).or_default().push(*host);
    }
    let mut parts = Vec::new();
    for (rack, own) in &racks {
        let others: Vec<NodeId> = hosts.iter().filter(|h| h.1 != *rack).map(|h| h.0).collect();
        let inside = match (own.len(), others.len()) {
            (1, _) => 0.0,
            (_, 0) => 1.0,
            _ => local,
        };
        let share = own.len() as f64 / hosts.len() as f64;
        parts.push((share * inside, w::Pairs::uniform(own, own)));
        parts.push((share * (1.0 - inside), w::Pairs::uniform(own, &others)));
    }
    parts.retain(|(share, _)| *share > 0.0);
    parts
}

/// Share of the flows that leave their rack; those of hosts without others in theirs all do.
fn crossing(hosts: &[(NodeId, NodeId)], local: f64) -> f64 {
    let mut racks: BTreeMap<NodeId, u32> = BTreeMap::new();
    for (_, rack) in hosts {
        *racks.entry(*rack).or_default() += 1;
    }
    let alone = racks.values().filter(|n| **n == 1).count() as f64 / hosts.len() as f64;
    alone + (1.0 - alone) * (1.0 - local)
}
