//! What a user of a configuration should know before it runs: flows that never end in the reference either, and what is not as there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::INT_RATES;
use crate::hpcc_format::config::{CcMode, HpccConfig};
use crate::hpcc_format::flow::FlowRow;
use crate::routing::by_node::NodeRoutes;
use crate::scenario::Scenario;

/// Adds what there is to tell.
pub(super) fn add(notices: &mut Vec<String>, config: &HpccConfig, scenario: &Scenario, rows: &[FlowRow]) {
    let (interval, chunk) = (u64::from(config.l2_ack_interval), u64::from(config.l2_chunk_size));
    let quirks = scenario.quirks;
    if quirks.nic_round_robin {
        let silent = |bytes: u64| bytes < interval && (chunk == 0 || !bytes.is_multiple_of(chunk));
        tell_flows(notices, rows, silent, "have fewer bytes than L2_ACK_INTERVAL");
        let open = |bytes: u64| config.l2_back_to_zero && !bytes.is_multiple_of(chunk.max(1));
        tell_flows(notices, rows, open, "end within a chunk, with L2_BACK_TO_ZERO 1,");
    } else if interval > 1 {
        notices.push("L2_ACK_INTERVAL: every packet is acknowledged without the quirk nic_round_robin".into());
    }

    let graph = &scenario.graph;
    let switch_ports = || graph.ports.iter().filter(|p| !graph.is_host(p.node));
    if config.cc_mode == CcMode::Hpcc && quirks.clock_1ns {
        let mut rates: Vec<_> = switch_ports().map(|p| p.rate).filter(|r| !INT_RATES.contains(&r.0)).collect();
        rates.sort_unstable();
        rates.dedup();
        for rate in rates {
            notices
                .push(format!("INT has no code for ports of {rate}: as in the reference HPCC takes them for 25Gbps"));
        }
    }
    if quirks.nic_round_robin {
        tell_parted(notices, scenario, rows);
    }
    let several = graph.hosts().filter(|h| graph.ports_of(*h).len() > 1).collect::<Vec<_>>();
    if let Some(first) = several.first().filter(|_| !quirks.routes_by_node) {
        notices.push(format!(
            "{} hosts have several NICs, the first is {first}: flows are spread over them otherwise than in the reference",
            several.len()
        ));
    }
    let mut links = BTreeMap::<_, u32>::new();
    for port in graph.ports.iter().filter(|p| p.node < p.peer) {
        *links.entry((port.node, port.peer)).or_default() += 1;
    }
    if let Some(((a, b), count)) = links.into_iter().find(|(_, count)| *count > 1) {
        notices.push(if quirks.routes_by_node {
            format!("{count} links between {a} and {b}: the last carries all, as in the reference")
        } else {
            format!("{count} links between {a} and {b}: all are used; the reference uses the last only")
        });
    }
}

/// Tells of flows that the failed link leaves without a path.
fn tell_parted(notices: &mut Vec<String>, scenario: &Scenario, rows: &[FlowRow]) {
    let graph = &scenario.graph;
    let mut down = vec![false; graph.links()];
    scenario.failures.outages.iter().for_each(|outage| down[outage.link as usize] = true);
    if !down.contains(&true) {
        return;
    }
    let mut routes = NodeRoutes::new(Arc::clone(graph), &down);
    let mut parted = rows.iter().enumerate().filter(|(_, row)| routes.next_hops(row.src, row.dst).is_empty());
    if let Some((first, row)) = parted.next() {
        let count = 1 + parted.count();
        notices.push(format!(
            "LINK_DOWN leaves {count} flows without a path, the first is flow {first} from {} to {}: those not over by then never \
             end; the reference crashes at such a flow",
            row.src, row.dst
        ));
    }
}

/// Tells of flows by whose sizes no last ACK comes.
fn tell_flows(notices: &mut Vec<String>, rows: &[FlowRow], never_ends: impl Fn(u64) -> bool, what: &str) {
    let mut found = rows.iter().enumerate().filter(|(_, row)| never_ends(row.bytes));
    if let Some((first, row)) = found.next() {
        notices.push(format!(
            "{} flows {what} and never end, as in the reference; the first is flow {first} of {} bytes",
            1 + found.count(),
            row.bytes
        ));
    }
}
