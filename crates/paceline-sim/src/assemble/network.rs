//! The network: one of the known shapes, from a file, or drawn node by node.

use super::{MOST_BYTES, read_text};
use crate::error::InputError;
use crate::graph::{Link, NodeId, NodeKind, Topology};
use crate::hpcc_format::topology::{NetworkFile, read_any_topology};
use crate::scenario::NicChoice;
use crate::spec::Resolved;
use crate::spec::topology::{GraphTopology, TopologyKind};
use crate::topology;

/// The network of a scenario. What is wrong with one of a known shape is said of its section in the scenario.
pub(super) fn build_topology(spec: &Resolved, warnings: &mut Vec<String>) -> Result<Topology, InputError> {
    let network = match &spec.topology.kind {
        TopologyKind::File(t) => return from_file(spec, &t.file.0, warnings),
        TopologyKind::Star(t) => topology::star(t.hosts, t.host_rate, t.link_delay),
        TopologyKind::Dumbbell(t) => {
            topology::dumbbell(t.left, t.right, t.host_rate, t.bottleneck_rate, t.host_delay, t.bottleneck_delay)
        }
        TopologyKind::ParkingLot(t) => {
            topology::parking_lot(t.hops, t.host_rate, t.chain_rate, t.host_delay, t.chain_delay)
        }
        TopologyKind::LeafSpine(t) => topology::leaf_spine(
            t.leaves,
            t.spines,
            t.hosts_per_leaf,
            t.host_rate,
            t.fabric_rate,
            t.link_delay,
            t.links_per_pair,
        ),
        TopologyKind::FatTree(t) => topology::fat_tree(t.k, t.host_rate, t.fabric_rate, t.link_delay, t.hosts_per_edge),
        TopologyKind::Xgft(t) => topology::xgft(&t.levels()),
        TopologyKind::HpccFat320(_) => topology::hpcc_fat320(),
        TopologyKind::Graph(t) => graph_topology(spec, t),
    };
    let valid = network.and_then(|network| topology::validate_topology(&network).map(|()| network));
    valid.map_err(|e| {
        let at = spec.error("topology", "");
        InputError { file: e.file.or(at.file), line: e.line.or(at.line), ..e }
    })
}

fn from_file(spec: &Resolved, file: &str, warnings: &mut Vec<String>) -> Result<Topology, InputError> {
    let text = read_text(spec, "topology.file", file, MOST_BYTES)?;
    let NetworkFile { topology: mut network, nvswitches, warnings: more } = read_any_topology(&text, file)?;
    warnings.extend(more);
    if nvswitches > 0 && spec.routing.nics == NicChoice::All {
        warnings.push(format!(
            "{file}: GPUs of a server use the network beside their NVSwitch ({nvswitches} of them); routing.nics = \"nearest\" has them use that alone, as SimAI does"
        ));
    }
    topology::validate_topology(&network).map_err(|e| e.file(file))?;
    topology::tier_by_distance(&mut network);
    Ok(network)
}

fn graph_topology(spec: &Resolved, t: &GraphTopology) -> Result<Topology, InputError> {
    let names: Vec<&str> = t.hosts.iter().chain(&t.switches).map(|n| n.0.as_str()).collect();
    let index: std::collections::BTreeMap<&str, NodeId> =
        names.iter().enumerate().map(|(i, n)| (*n, i as NodeId)).collect();
    let kinds = [vec![NodeKind::Host; t.hosts.len()], vec![NodeKind::Switch; t.switches.len()]].concat();
    let tiers = kinds.iter().map(|k| u8::from(*k == NodeKind::Switch)).collect();
    let mut network = Topology { tiers, kinds, links: Vec::new() };
    for (i, link) in t.links.iter().enumerate() {
        let end = |name: &str, key: &str| {
            index.get(name).copied().ok_or_else(|| {
                spec.error(&format!("topology.links.{i}.{key}"), "no such node")
                    .value(name)
                    .allowed("a name in topology.hosts or topology.switches")
            })
        };
        let [ab, ba] = link.sides();
        let (a, b) = (end(&link.a.0, "a")?, end(&link.b.0, "b")?);
        network.links.push(Link { a, b, ab, ba, error_rate: link.error_rate });
    }
    topology::tier_by_distance(&mut network);
    topology::validate_named(&network, &|node| format!("`{}`", names[node as usize])).map_err(|e| {
        let place = e.field.map(|f| format!("{f}: ")).unwrap_or_default();
        let error = spec.error("topology", &format!("{place}{}", e.problem));
        InputError { value: e.value, allowed: e.allowed, ..error }
    })?;
    Ok(network)
}
