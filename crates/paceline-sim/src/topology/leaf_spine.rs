//! Two tiers: every leaf linked to every spine.

use paceline_proto::units::{BitsPerSec, Duration};

use super::{Builder, check};
use crate::InputError;
use crate::graph::{Side, Topology};

/// `hosts_per_leaf` hosts on each of `leaves` leaf switches (tier 1), each linked `links_per_pair` times to each of `spines` spine
/// switches (tier 2). Parallel links are next hops of their own.
///
/// # Errors
/// A count, rate or delay out of range, by argument name.
pub fn leaf_spine(
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    host_rate: BitsPerSec,
    fabric_rate: BitsPerSec,
    delay: Duration,
    links_per_pair: u32,
) -> Result<Topology, InputError> {
    for (field, value) in
        [("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf), ("links_per_pair", links_per_pair)]
    {
        check::count(field, value, 1)?;
    }
    let [l, s, h, p] = [leaves, spines, hosts_per_leaf, links_per_pair].map(u128::from);
    check::hosts("leaves * hosts_per_leaf", l * h)?;
    check::ports("hosts_per_leaf + spines * links_per_pair", h + s * p)?;
    check::ports("leaves * links_per_pair", l * p)?;
    check::nodes("leaves * (hosts_per_leaf + 1) + spines", l * (h + 1) + s)?;
    check::links("leaves * (hosts_per_leaf + spines * links_per_pair)", l * (h + s * p))?;
    check::rate("host_rate", host_rate)?;
    check::rate("fabric_rate", fabric_rate)?;
    check::delay("delay", delay)?;
    let mut b = Builder::with_hosts(leaves * hosts_per_leaf);
    let leaf = b.switches(leaves, 1);
    let spine = b.switches(spines, 2);
    b.racks(0, leaf, leaves, hosts_per_leaf, Side { rate: host_rate, delay });
    for i in 0..leaves {
        for j in 0..spines {
            for _ in 0..links_per_pair {
                b.link(leaf + i, spine + j, Side { rate: fabric_rate, delay });
            }
        }
    }
    Ok(b.topology)
}
