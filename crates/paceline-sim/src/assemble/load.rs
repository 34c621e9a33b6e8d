//! From the load of a workload to its arrivals: mean flow size, and what the load is a share of.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Build;
use crate::error::InputError;
use crate::graph::{NodeId, PortInfo};
use crate::routing::Routes;
use crate::spec::value::LinkRef;
use crate::spec::workload::{Load, LoadBytes, LoadMean, LoadOf};
use crate::workload::{self as w, LoadReference, SizeLaw};

impl Build<'_> {
    pub(super) fn mean(
        &self,
        law: &SizeLaw,
        bytes: LoadBytes,
        mean: LoadMean,
        scheme: usize,
    ) -> Result<f64, InputError> {
        let bytes = match bytes {
            LoadBytes::Payload => w::LoadBytes::Payload,
            LoadBytes::Wire => w::LoadBytes::Wire,
        };
        let mean = match mean {
            LoadMean::Sampled => w::LoadMean::Sampled,
            LoadMean::Nominal => w::LoadMean::Nominal,
        };
        w::load::mean_bytes(law, bytes, mean, &self.scenario.framing, self.spec.schemes[scheme].1.cc.added())
    }

    /// Arrivals per second at each of `sources`.
    pub(super) fn rate(
        &self,
        number: usize,
        load: &Load,
        law: &SizeLaw,
        sources: &[NodeId],
        pairs: &[(f64, w::Pairs)],
        scheme: usize,
    ) -> Result<f64, InputError> {
        let prefix = format!("workloads.{number}.load.");
        let mean = self.mean(law, load.bytes, load.mean, scheme).map_err(|e| self.inside(&prefix, e))?;
        let of = self.reference(number, &load.of, sources, pairs)?;
        w::rate_for_load(load.value, mean, of, sources.len() as u32).map_err(|e| self.inside(&prefix, e))
    }

    /// What a load of this workload refers to: its hosts' links, the uplinks of their top-of-rack switches, or one link.
    pub(super) fn reference(
        &self,
        number: usize,
        of: &LoadOf,
        hosts: &[NodeId],
        pairs: &[(f64, w::Pairs)],
    ) -> Result<LoadReference, InputError> {
        let graph = &self.scenario.graph;
        let rates = |ports: &mut dyn Iterator<Item = &PortInfo>| ports.map(|p| p.rate.0 as f64).sum();
        let field = format!("workloads.{number}.load.of");
        let (capacity_bps, crossing) = match of {
            LoadOf::Host => {
                let all = rates(&mut hosts.iter().flat_map(|h| graph.ports_of(*h)));
                return Ok(LoadReference { capacity_bps: all, crossing: 1.0 });
            }
            LoadOf::TorUplink => {
                let racks: BTreeSet<NodeId> = hosts.iter().flat_map(|h| graph.ports_of(*h)).map(|p| p.peer).collect();
                let ports = racks.iter().flat_map(|r| graph.ports_of(*r));
                (rates(&mut ports.filter(|p| !graph.is_host(p.peer))), w::Crossing::Rack)
            }
            LoadOf::Link(link) => {
                let [from, to] = self.ends(&field, link)?;
                (rates(&mut graph.ports_of(from).iter().filter(|p| p.peer == to)), w::Crossing::Link(from, to))
            }
        };
        let mut routes = Routes::new(Arc::clone(graph), self.scenario.routing);
        let mut share = 0.0;
        for (part, pairs) in pairs {
            let here = w::expected_share(&mut routes, pairs, crossing).map_err(|e| {
                let error = self.spec.error(&field, &e.problem);
                InputError { value: e.value, allowed: e.allowed.map(|a| format!("{a}; or of = \"host\"")), ..error }
            })?;
            share += part * here;
        }
        if share <= 0.0 || capacity_bps <= 0.0 {
            let (problem, allowed) = match of {
                LoadOf::Link(_) => ("no flow of this workload crosses this link", "a link on a path of its flows"),
                _ => ("no traffic leaves a rack in this network", "of = \"host\""),
            };
            return Err(self.spec.error(&field, problem).allowed(allowed));
        }
        Ok(LoadReference { capacity_bps, crossing: share })
    }

    /// The nodes at the ends of a link, which must be there.
    fn ends(&self, field: &str, link: &LinkRef) -> Result<[NodeId; 2], InputError> {
        let graph = &self.scenario.graph;
        let node = |text: &str| self.nodes.find(text).ok_or_else(|| self.no_such_node(field, text));
        let (from, to) = (node(&link.from)?, node(&link.to)?);
        if graph.ports_of(from).iter().any(|p| p.peer == to) {
            return Ok([from, to]);
        }
        let peers: BTreeSet<NodeId> = graph.ports_of(from).iter().map(|p| p.peer).collect();
        let near: Vec<String> =
            peers.iter().take(8).filter_map(|n| self.nodes.name(*n)).map(|to| format!("{}->{to}", link.from)).collect();
        let more = if peers.len() > near.len() { ", ..." } else { "" };
        Err(self.spec.error(field, "no such link").value(link).allowed(near.join(", ") + more))
    }
}
