//! Programs at the hosts.

use std::collections::BTreeMap;

use paceline_proto::units::Time;

use super::Build;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::net::streams::{MOST_PACKETS, too_many_packets};
use crate::spec::workload;
use crate::workload::FlowDefaults;
use crate::workload::program::{Connections, INSTEAD_OF_OPEN, Kind, Program, ScatterGather};

pub(super) fn connections(given: workload::Connections) -> Connections {
    match given {
        workload::Connections::New => Connections::New,
        workload::Connections::Open => Connections::Open,
    }
}

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
        let connections = connections(p.connections);
        for (key, bytes) in [("request", scatter.request), ("response", scatter.response)] {
            self.message_fits(connections, flow, bytes).map_err(|e| self.inside(&format!("{field}{key}"), e))?;
        }
        Ok(Program { kind: Kind::ScatterGather(scatter), hosts, flow, connections, begin, workload: number as u16 })
    }

    /// Refuses a program's message that could not be sent: its packets would be too many for their numbers.
    pub(super) fn message_fits(
        &self,
        connections: Connections,
        flow: FlowDefaults,
        bytes: u64,
    ) -> Result<(), InputError> {
        let framing = &self.scenario.framing;
        match connections {
            Connections::New => framing.fits(bytes),
            Connections::Open if self.numbers_packets(flow) && framing.split(bytes).0 > MOST_PACKETS => {
                Err(too_many_packets().value(bytes).allowed(INSTEAD_OF_OPEN))
            }
            Connections::Open => Ok(()),
        }
    }

    /// Whether connections that stay open are over RDMA, which numbers packets and not bytes.
    pub(super) fn numbers_packets(&self, flow: FlowDefaults) -> bool {
        !self.spec.schemes[usize::from(flow.scheme)].1.cc.is_tcp()
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
