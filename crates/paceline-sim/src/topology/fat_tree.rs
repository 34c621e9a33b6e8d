//! Three tiers in pods: the k-ary fat-tree of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008) and its relatives.

use paceline_proto::units::{BitsPerSec, Duration};

use super::{Builder, check};
use crate::InputError;
use crate::graph::{Side, Topology};

/// Counts of a three-tier tree. Core switches number `aggs_per_pod * cores_per_agg`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreeTier {
    /// Pods, at least 1.
    pub pods: u32,
    /// Top-of-rack switches per pod, at least 1; each is linked to every aggregation switch of its pod.
    pub tors_per_pod: u32,
    /// Aggregation switches per pod, at least 1; the j-th of each pod is linked to cores `j * cores_per_agg` and following.
    pub aggs_per_pod: u32,
    /// Core switches each aggregation switch is linked to, at least 1.
    pub cores_per_agg: u32,
    /// Hosts per top-of-rack switch, at least 1.
    pub hosts_per_tor: u32,
}

/// The k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, links of one `delay`.
///
/// `k` is even and at least 2. `hosts_per_edge` is k/2 unless given; more than that oversubscribes the edge.
///
/// # Errors
/// A count, rate or delay out of range, by argument name.
pub fn fat_tree(
    k: u32,
    host_rate: BitsPerSec,
    fabric_rate: BitsPerSec,
    delay: Duration,
    hosts_per_edge: Option<u32>,
) -> Result<Topology, InputError> {
    if k < 2 || k % 2 == 1 {
        return Err(InputError::new("not a fat-tree").field("k").value(k).allowed("an even number from 2"));
    }
    let half = k / 2;
    let hosts = hosts_per_edge.unwrap_or(half);
    check::count("hosts_per_edge", hosts, 1)?;
    check::ports("k", k.into())?;
    check::rate("host_rate", host_rate)?;
    check::rate("fabric_rate", fabric_rate)?;
    check::delay("delay", delay)?;
    let shape =
        ThreeTier { pods: k, tors_per_pod: half, aggs_per_pod: half, cores_per_agg: half, hosts_per_tor: hosts };
    three_tier(&shape, Side { rate: host_rate, delay }, Side { rate: fabric_rate, delay })
}

/// A three-tier tree of any shape. Hosts are on `host` links, switches on `fabric` links.
///
/// # Errors
/// A count, rate or delay out of range, by field name.
pub fn three_tier(shape: &ThreeTier, host: Side, fabric: Side) -> Result<Topology, InputError> {
    let &ThreeTier { pods, tors_per_pod, aggs_per_pod, cores_per_agg, hosts_per_tor } = shape;
    for (field, value) in [
        ("pods", pods),
        ("tors_per_pod", tors_per_pod),
        ("aggs_per_pod", aggs_per_pod),
        ("cores_per_agg", cores_per_agg),
        ("hosts_per_tor", hosts_per_tor),
    ] {
        check::count(field, value, 1)?;
    }
    let [p, t, a, c, h] = [pods, tors_per_pod, aggs_per_pod, cores_per_agg, hosts_per_tor].map(u128::from);
    check::ports("pods", p)?;
    check::ports("hosts per edge switch + aggregation switches per pod", h + a)?;
    check::ports("edge switches per pod + cores per aggregation switch", t + c)?;
    let hosts = p * t * h;
    check::hosts("hosts", hosts)?;
    check::nodes("hosts and switches", hosts + p * (t + a) + a * c)?;
    check::links("links", hosts + p * a * (t + c))?;
    check::rate("host.rate", host.rate)?;
    check::rate("fabric.rate", fabric.rate)?;
    check::delay("host.delay", host.delay)?;
    check::delay("fabric.delay", fabric.delay)?;

    let mut b = Builder::with_hosts(hosts as u32);
    let tor = b.switches(pods * tors_per_pod, 1);
    let agg = b.switches(pods * aggs_per_pod, 2);
    let core = b.switches(aggs_per_pod * cores_per_agg, 3);
    b.racks(0, tor, pods * tors_per_pod, hosts_per_tor, host);
    for i in 0..pods * tors_per_pod {
        let pod = i / tors_per_pod;
        for j in 0..aggs_per_pod {
            b.link(tor + i, agg + pod * aggs_per_pod + j, fabric);
        }
    }
    for i in 0..pods * aggs_per_pod {
        let column = i % aggs_per_pod;
        for j in 0..cores_per_agg {
            b.link(agg + i, core + column * cores_per_agg + j, fabric);
        }
    }
    Ok(b.topology)
}
