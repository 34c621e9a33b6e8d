//! Clients and servers.

use paceline_proto::units::Time;

use super::Build;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::net::streams::{MOST_PACKETS, too_many_packets};
use crate::spec::workload::{Pick, Rpc, RpcMode};
use crate::workload::{self as w, FlowDefaults};

impl Build<'_> {
    pub(super) fn rpc(
        &self,
        number: usize,
        p: &Rpc,
        first: u32,
        begin: Time,
        flow: FlowDefaults,
    ) -> Result<w::Rpc, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let clients = self.hosts(&field("clients"), &p.clients, 1)?;
        let servers = self.hosts(&field("servers"), &p.servers, 1)?;
        let law = self.sizes(&field("sizes"), &p.sizes)?;
        let asks = match &p.mode {
            RpcMode::Closed(mode) => w::Asks::Outstanding(mode.outstanding),
            RpcMode::Open(mode) => {
                // The only server asks nobody.
                let alone = |client: &NodeId| servers.iter().all(|s| s == client);
                let asking: Vec<NodeId> = clients.iter().copied().filter(|c| !alone(c)).collect();
                let asking = if asking.is_empty() { &clients } else { &asking };
                let pairs = [(1.0, w::Pairs::uniform(asking, &servers))];
                let rate = self.rate(number, &mode.load, &law, asking, &pairs, usize::from(flow.scheme))?;
                let pick = if mode.pick == Pick::Idle { w::Pick::Idle } else { w::Pick::Random };
                w::Asks::PerSecond(rate, pick)
            }
        };
        let config = w::RpcConfig {
            clients,
            servers,
            connections: p.connections,
            first,
            asks,
            sizes: law,
            response: p.response.0,
            begin,
            end: p.end.or_else(|| self.stop()).unwrap_or(Time::NEVER),
            workload: number as u16,
            flow,
        };
        let rpc = w::Rpc::new(config).map_err(|e| self.inside(&field(""), e))?;
        let (packets, key) = rpc.packets_ahead(self.scenario.framing.payload);
        if self.numbers_packets(flow) && packets > MOST_PACKETS as f64 {
            let allowed = format!("at most {MOST_PACKETS} packets asked for on a connection, or a scheme over TCP");
            return Err(self.inside(&field(key), too_many_packets().allowed(allowed)));
        }
        Ok(rpc)
    }
}
