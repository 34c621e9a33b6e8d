//! Clients and servers.

use std::collections::BTreeSet;

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
                let pairs = rpc_pairs(asking, &servers);
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

/// Who asks whom, in parts with their shares of the queries: all clients ask as often, each any server but itself.
fn rpc_pairs(clients: &[NodeId], servers: &[NodeId]) -> Vec<(f64, w::Pairs)> {
    let [asking, asked]: [BTreeSet<NodeId>; 2] = [clients, servers].map(|hosts| hosts.iter().copied().collect());
    let (both, clients_only): (Vec<NodeId>, Vec<NodeId>) = clients.iter().partition(|c| asked.contains(c));
    let servers_only: Vec<NodeId> = servers.iter().copied().filter(|s| !asking.contains(s)).collect();
    let share = |part: &[NodeId]| part.len() as f64 / clients.len() as f64;
    // Of the servers that a client which is one itself may ask, those that ask, too.
    let others = both.len().saturating_sub(1) as f64 / (servers.len() - 1).max(1) as f64;
    let parts = [
        (share(&both) * others, w::Pairs::uniform(&both, &both)),
        (share(&both) * (1.0 - others), w::Pairs::uniform(&both, &servers_only)),
        (share(&clients_only), w::Pairs::uniform(&clients_only, servers)),
    ];
    parts.into_iter().filter(|(share, _)| *share > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Where clients and servers overlap in part, those that are both ask fewer servers than the others: loads of links were off by half.
        #[test]
        fn every_client_asks_as_often(
            clients in prop::collection::btree_set(0u32..8, 1..8),
            servers in prop::collection::btree_set(0u32..8, 2..8),
        ) {
            let parts = rpc_pairs(&clients.iter().copied().collect::<Vec<_>>(), &servers.iter().copied().collect::<Vec<_>>());
            for client in &clients {
                for server in servers.iter().filter(|s| *s != client) {
                    // Of each part: its receiver first, then one of the others that send.
                    let of = |pairs: &w::Pairs| {
                        let sends = |host: u32| pairs.sources.iter().any(|s| s.0 == host);
                        if !sends(*client) || !pairs.destinations.contains(server) {
                            return 0.0;
                        }
                        let senders = pairs.sources.len() - usize::from(sends(*server));
                        1.0 / (pairs.destinations.len() * senders) as f64
                    };
                    let found: f64 = parts.iter().map(|(share, pairs)| share * of(pairs)).sum();
                    let asked = servers.len() - usize::from(servers.contains(client));
                    let expected = 1.0 / (clients.len() * asked) as f64;
                    prop_assert!((found - expected).abs() < 1e-12, "{client}->{server}: {found} {expected}");
                }
            }
        }
    }
}
