//! Which of several next hops the packets of a flow take at a switch.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::config::{PathChoice, RoutingConfig};
use super::{Address, Tuple};
use crate::InputError;
use crate::graph::{Graph, NodeId};

/// The choice of a flow's packets among equal next hops; sprayed packets draw theirs.
#[derive(Clone)]
pub(crate) struct Choice {
    salt: u32,
    modulo: Option<Arc<Modulo>>,
}

/// D-mod-k and S-mod-k (Oehring et al., IPPS 1995; Rodriguez et al., CLUSTER 2009): on the way up a node of level l takes uplink
/// `x / (w_1 ... w_l) mod w_(l+1)`, where x numbers the destination (or source) among the hosts and `w_i` are the uplinks of a
/// node of level i - 1. The way down is unique.
struct Modulo {
    /// By source instead of destination.
    by_source: bool,
    /// By tier: the product of the uplinks of the tiers below.
    stride: Vec<u64>,
    /// Number of each host among the hosts, by node.
    rank: Vec<u32>,
}

impl Choice {
    pub(crate) fn new(graph: &Graph, config: RoutingConfig) -> Self {
        let by_source = config.choice == PathChoice::SModK;
        let modulo = (by_source || config.choice == PathChoice::DModK).then(|| {
            let mut rank = vec![0; graph.nodes()];
            for (number, host) in (0..).zip(graph.hosts()) {
                rank[host as usize] = number;
            }
            let uplinks = uplinks(graph).unwrap_or_default();
            let stride = uplinks.iter().scan(1u64, |below, up| {
                let stride = *below;
                *below = below.saturating_mul((*up).into());
                Some(stride)
            });
            Arc::new(Modulo { by_source, stride: stride.collect(), rank })
        });
        Self { salt: config.salt, modulo }
    }

    /// Number of the next hop, below `n`, that a packet takes at a node of a tier.
    #[inline]
    pub(crate) fn pick(&self, node: NodeId, tier: u8, [src, dst]: [Address; 2], tuple: &Tuple, n: u32) -> u32 {
        match &self.modulo {
            None => tuple.hash(node.wrapping_add(self.salt)) % n,
            Some(modulo) => (modulo.quotient(tier, src.host, dst.host) % u64::from(n)) as u32,
        }
    }

    /// The draw for the NIC of a sender, where it is no matter of chance.
    pub(super) fn nic(&self, src: NodeId, dst: NodeId) -> Option<u64> {
        self.modulo.as_ref().map(|modulo| modulo.quotient(0, src, dst))
    }
}

impl Modulo {
    fn quotient(&self, tier: u8, src: NodeId, dst: NodeId) -> u64 {
        let host = if self.by_source { src } else { dst };
        let stride = self.stride.get(usize::from(tier)).copied().unwrap_or(1);
        u64::from(self.rank[host as usize]) / stride
    }
}

/// Whether a path choice has a meaning in a network.
///
/// # Errors
/// D-mod-k or S-mod-k where the nodes of a tier differ in their uplinks.
pub(crate) fn check(graph: &Graph, config: RoutingConfig) -> Result<(), InputError> {
    let word = match config.choice {
        PathChoice::FlowHash | PathChoice::Spray | PathChoice::Flowlet => return Ok(()),
        PathChoice::DModK => "d_mod_k",
        PathChoice::SModK => "s_mod_k",
    };
    uplinks(graph).map(|_| ()).map_err(|why| {
        InputError::new(format!("not defined in this network: {why}"))
            .field("routing.choice")
            .value(format!("\"{word}\""))
            .allowed("\"flow_hash\", \"spray\" or \"flowlet\"; d_mod_k and s_mod_k in trees such as kind = \"xgft\" or \"fat_tree\"")
    })
}

/// Uplinks of a node, by tier from the hosts up; or what is irregular.
fn uplinks(graph: &Graph) -> Result<Vec<u32>, String> {
    let top = graph.tiers.iter().copied().max().unwrap_or(0);
    let mut uplinks: Vec<Option<u32>> = vec![None; usize::from(top) + 1];
    for node in 0..graph.nodes() as NodeId {
        let tier = graph.tiers[node as usize];
        let (mut up, mut peers) = (0, BTreeSet::new());
        for port in graph.ports_of(node) {
            let other = graph.tiers[port.peer as usize];
            if other != tier.saturating_add(1) && tier != other.saturating_add(1) {
                return Err(format!("nodes {node} and {} are linked across or within tiers", port.peer));
            }
            if !peers.insert(port.peer) {
                return Err(format!("nodes {node} and {} have more than one link", port.peer));
            }
            up += u32::from(other > tier);
        }
        let same = uplinks[usize::from(tier)].get_or_insert(up);
        if *same != up {
            return Err(format!("node {node} has {up} uplinks, others of its tier {same}"));
        }
    }
    Ok(uplinks.into_iter().map(|up| up.unwrap_or(0)).collect())
}
