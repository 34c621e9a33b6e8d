//! The extended generalised fat-tree of Oehring, Ibel, Das and Kumar (IPPS 1995): trees of any height, fat or slim.

use super::{Builder, check};
use crate::InputError;
use crate::graph::{NodeId, Side, Topology};

/// Most levels of switches.
pub const MAX_LEVELS: usize = 8;

/// One level of an XGFT: level-i switches and the links below them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level {
    /// Children of a switch of this level (`m_i`), at least 1.
    pub children: u32,
    /// Parents of a node of the level below (`w_i`), at least 1: of the lowest level, NICs of a host.
    pub parents: u32,
    /// The links between.
    pub wire: Side,
}

/// XGFT(h; m1, ..., mh; w1, ..., wh), the lowest level first.
///
/// A node of level l is named by h digits: which child its ancestors above level l are of one another, from the top down, then which
/// parent it is by the levels up to l. Nodes are linked where their digits differ only in that of the upper node's level. Hosts, and
/// the switches of a level, are numbered by their digits, the first the most significant; the uplinks of a node, by the digit they
/// change. With that, [`crate::scenario::PathChoice::DModK`] is what its authors define.
///
/// # Errors
/// No or too many levels, or a count, rate or delay out of range, by level from 1.
pub fn xgft(levels: &[Level]) -> Result<Topology, InputError> {
    if levels.is_empty() || levels.len() > MAX_LEVELS {
        let error = InputError::new("not a tree").field("levels").value(levels.len());
        return Err(error.allowed(format!("1 to {MAX_LEVELS} levels of switches")));
    }
    let sizes = sizes(levels);
    for (i, (level, below)) in (1..).zip(levels.iter().zip(&sizes)) {
        check::count(&format!("children, level {i}"), level.children, 1)?;
        check::count(&format!("parents, level {i}"), level.parents, 1)?;
        let uplinks = levels.get(i).map_or(0, |l| l.parents);
        check::ports(
            &format!("children of a switch of level {i} and its parents"),
            u128::from(level.children) + u128::from(uplinks),
        )?;
        check::links(&format!("links below level {i}"), below.saturating_mul(level.parents.into()))?;
        check::rate(&format!("rate, level {i}"), level.wire.rate)?;
        check::delay(&format!("delay, level {i}"), level.wire.delay)?;
    }
    check::hosts("hosts, the product of all children", sizes[0])?;
    check::nodes("hosts and switches", sizes.iter().fold(0, |sum: u128, n| sum.saturating_add(*n)))?;
    let links = sizes.iter().zip(levels).map(|(below, l)| below.saturating_mul(l.parents.into()));
    check::links("links", links.fold(0, u128::saturating_add))?;

    let mut b = Builder::with_hosts(sizes[0] as u32);
    let mut lower: NodeId = 0;
    let mut parents = 1; // of a host, up to the level below: the product of w
    for (i, level) in levels.iter().enumerate() {
        let upper = b.switches(sizes[i + 1] as u32, i as u8 + 1);
        for node in 0..sizes[i] as u32 {
            let (children, digits) = (node / parents, node % parents);
            let tree = children / level.children * parents * level.parents;
            for parent in 0..level.parents {
                b.link(lower + node, upper + tree + parent * parents + digits, level.wire);
            }
        }
        lower = upper;
        parents *= level.parents;
    }
    Ok(b.topology)
}

/// Nodes of every level, hosts first. Up to 65,535 to the power of eight, which 128 bits hold; above, too many all the same.
fn sizes(levels: &[Level]) -> Vec<u128> {
    let product = |numbers: &mut dyn Iterator<Item = u32>| numbers.fold(1, |p: u128, n| p.saturating_mul(n.into()));
    let size = |l: usize| {
        let (low, high) = levels.split_at(l);
        let parents = product(&mut low.iter().map(|l| l.parents));
        parents.saturating_mul(product(&mut high.iter().map(|l| l.children)))
    };
    (0..=levels.len()).map(size).collect()
}
