//! What a user of a configuration should know before it runs: flows that never end in the reference either, and what is not as there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use paceline_proto::telemetry::MAX_HOPS;
use paceline_proto::units::{BitsPerSec, Duration};

use crate::graph::PortInfo;
use crate::hpcc_format::config::{CcMode, HpccConfig};
use crate::hpcc_format::flow::FlowRow;
use crate::routing::Routes;
use crate::routing::by_node::NodeRoutes;
use crate::scenario::{INT_RATES, PausedLink, Scenario};

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
    let mut late = rows.iter().enumerate().filter(|(_, row)| row.start_ns >= config.stop_ns());
    if let Some((first, row)) = late.next() {
        notices.push(format!(
            "{} flows start at SIMULATOR_STOP_TIME {} or after it, and so never; the first is flow {first} at {} s",
            1 + late.count(),
            config.simulator_stop_time,
            row.start_s
        ));
    }

    let graph = &scenario.graph;
    let rates = graph.ports.iter().filter(|p| !graph.is_host(p.node)).map(|p| p.rate).collect::<BTreeSet<_>>();
    if config.cc_mode == CcMode::Hpcc && quirks.clock_1ns {
        for rate in rates.iter().filter(|rate| !INT_RATES.contains(&rate.0)) {
            notices
                .push(format!("INT has no code for ports of {rate}: as in the reference HPCC takes them for 25Gbps"));
        }
    }
    if config.cc_mode == CcMode::Hpcc && quirks.nic_round_robin {
        tell_long_ways(notices, scenario, rows);
    }
    if config.enable_qcn && [CcMode::Dcqcn, CcMode::Dctcp].contains(&config.cc_mode) {
        tell_unmarked(notices, config, &rates);
    }
    tell_small_buffer(notices, config, scenario);
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

/// Tells of ports whose rate the maps of thresholds leave out.
fn tell_unmarked(notices: &mut Vec<String>, config: &HpccConfig, rates: &BTreeSet<BitsPerSec>) {
    let ecn = config.ecn();
    for rate in rates.iter().filter(|rate| ecn.iter().all(|at| at.rate != **rate)) {
        notices.push(format!(
            "KMAX_MAP, KMIN_MAP and PMAX_MAP do not name ports of {rate}: as in the reference their thresholds are 0, and each packet \
             that leaves others behind is marked"
        ));
    }
}

/// Tells of a switch whose ports set more aside than its buffer holds.
fn tell_small_buffer(notices: &mut Vec<String>, config: &HpccConfig, scenario: &Scenario) {
    let (Some(pfc), graph) = (&scenario.switch.pfc, &scenario.graph) else { return };
    let mut set_aside = BTreeMap::<_, u64>::new();
    for port in graph.ports.iter().filter(|port| !graph.is_host(port.node)) {
        let PortInfo { rate, delay, .. } = *port;
        let link = PausedLink { rate, out: rate, round_trip: Duration(2 * delay.0), frames: [0; 2], count: [0; 2] };
        let bytes = set_aside.entry(port.node).or_default();
        *bytes = bytes.saturating_add(pfc.reserve.0).saturating_add(pfc.headroom.bytes(&link));
    }
    if let Some((switch, bytes)) = set_aside.into_iter().find(|(_, bytes)| *bytes > config.buffer().0) {
        notices.push(format!(
            "BUFFER_SIZE {} is less than the {bytes} bytes that the ports of switch {switch} set aside for PFC: as in the reference what \
             is left wraps around to 4 GB, and nothing pauses before",
            config.buffer_size_mib
        ));
    }
}

/// Tells of flows whose packets cross more switches than INT has room for.
fn tell_long_ways(notices: &mut Vec<String>, scenario: &Scenario, rows: &[FlowRow]) {
    let graph = &scenario.graph;
    let mut routing = Routes::new(Arc::clone(graph), scenario.routing);
    let mut long = BTreeMap::<[_; 2], bool>::new();
    let mut found = rows.iter().enumerate().filter(|(_, row)| {
        let ends = [row.src, row.dst].map(|host| graph.ports_of(host)[0].peer);
        *long.entry(ends).or_insert_with(|| routing.distance(ends[0], ends[1]) >= Some(MAX_HOPS as u32))
    });
    if let Some((first, row)) = found.next() {
        notices.push(format!(
            "{} flows cross more than {MAX_HOPS} switches, for which INT has no room: as in the reference they never change their \
             rate; the first is flow {first} from {} to {}",
            1 + found.count(),
            row.src,
            row.dst
        ));
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
