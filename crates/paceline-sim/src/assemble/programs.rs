//! Programs at the hosts.

use std::collections::BTreeMap;

use paceline_proto::units::Time;

use super::Build;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::programs::scatter_gather::ScatterGather;
use crate::programs::{Connections, Kind, Program};
use crate::spec::workload;
use crate::workload::FlowDefaults;

impl Build<'_> {
    pub(super) fn scatter_gather(
        &self,
        number: usize,
        p: &workload::ScatterGather,
        begin: Time,
        flow: FlowDefaults,
    ) -> Result<Program, InputError> {
        let field = format!("workloads.{number}.");
        let hosts = self.hosts(&format!("{field}hosts"), &p.hosts, 2)?;
        let scatter = ScatterGather {
            racks: self.racks(&hosts),
            request: p.request.0,
            response: p.response.0,
            mean_gap: p.interval.0 as f64,
            begin,
            end: p.end.or_else(|| self.stop()).unwrap_or(Time::NEVER),
            count: p.max_queries,
        };
        scatter.check().map_err(|e| self.inside(&field, e))?;
        self.fits(&format!("{field}request"), scatter.request)?;
        self.fits(&format!("{field}response"), scatter.response)?;
        let connections = match p.connections {
            workload::Connections::New => Connections::New,
            workload::Connections::Open => Connections::Open,
        };
        Ok(Program { kind: Kind::ScatterGather(scatter), hosts, flow, connections, begin, workload: number as u16 })
    }

    /// The places of hosts by the switch of their first link, racks in the order of their first hosts.
    fn racks(&self, hosts: &[NodeId]) -> Vec<Vec<u32>> {
        let mut racks: Vec<Vec<u32>> = Vec::new();
        let mut of_switch = BTreeMap::new();
        for (place, host) in hosts.iter().enumerate() {
            let switch = self.scenario.graph.ports_of(*host)[0].peer;
            let rack = *of_switch.entry(switch).or_insert_with(|| {
                racks.push(Vec::new());
                racks.len() - 1
            });
            racks[rack].push(place as u32);
        }
        racks
    }
}
