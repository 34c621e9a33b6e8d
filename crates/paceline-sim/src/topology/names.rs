//! The names that scenarios and files give to nodes.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::graph::NodeId;
use crate::spelling::nearest;
use crate::topology::tier_name;

/// Every node by its names: its own in a graph, else that of its tier with its number in the tier (`host0`, `tor3`); and its id.
///
/// The list of names is made when one is first asked for: a large network of which nobody names a node has none.
#[derive(Debug)]
pub struct NodeNames<'a> {
    own: &'a [String],
    tiers: &'a [u8],
    by_name: OnceCell<BTreeMap<String, NodeId>>,
}

impl<'a> NodeNames<'a> {
    /// Of nodes of these tiers, in the order of their ids; `own` are their names in a graph, else nothing.
    pub fn new(own: &'a [String], tiers: &'a [u8]) -> Self {
        Self { own, tiers, by_name: OnceCell::new() }
    }

    fn by_name(&self) -> &BTreeMap<String, NodeId> {
        self.by_name.get_or_init(|| {
            let ids = 0..self.tiers.len() as NodeId;
            let mut names: BTreeMap<String, NodeId> = ids.map(|n| (n.to_string(), n)).collect();
            if !self.own.is_empty() {
                names.extend((0..).zip(self.own).map(|(n, name)| (name.clone(), n)));
                return names;
            }
            let mut count = [0u32; 256];
            for (n, tier) in (0..).zip(self.tiers) {
                let number = &mut count[usize::from(*tier)];
                names.insert(format!("{}{number}", tier_name(*tier)), n);
                *number += 1;
            }
            names
        })
    }

    /// The node of this name, a name of its own before an id.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        // No list of names for numbers, where no name can be one.
        if self.own.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
            return name.parse().ok().filter(|id| (*id as usize) < self.tiers.len());
        }
        self.by_name().get(name).copied()
    }

    /// A name of the node, other than its id.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        // Names sort behind numbers.
        self.by_name().iter().filter(|(_, n)| **n == node).map(|(name, _)| name.as_str()).next_back()
    }

    /// What a node is called here that others call so: `spine1` is `agg1` in a network of two tiers of switches.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let highest = *self.tiers.iter().max()?;
        let called = [("leaf", 1), ("edge", 1), ("rack", 1), ("aggregation", 2), ("spine", highest)];
        let found = called.into_iter().find_map(|(word, tier)| Some((tier, name.strip_prefix(word)?)));
        let here = found.map(|(tier, number)| format!("{}{number}", tier_name(tier)))?;
        self.by_name().contains_key(&here).then_some(here)
    }

    /// `no such node`, and which name the user may have meant.
    pub fn unknown(&self, name: &str) -> String {
        if let Some(here) = self.elsewhere(name).filter(|_| self.own.is_empty()) {
            return format!("no such node; here it is called \"{here}\"");
        }
        let names = self.by_name().keys().map(String::as_str).filter(|n| n.parse::<NodeId>().is_err());
        nearest(name, names)
            .map_or("no such node".to_string(), |near| format!("no such node, did you mean \"{near}\"?"))
    }

    /// The names there are, for errors: `host0 to host15, tor0 to tor3`.
    pub fn allowed(&self) -> String {
        if !self.own.is_empty() {
            return "a name in topology.hosts or topology.switches, or a node id".to_string();
        }
        let mut count = BTreeMap::new();
        for tier in self.tiers {
            *count.entry(*tier).or_insert(0u32) += 1;
        }
        let range = |(tier, n): (u8, u32)| match n {
            1 => format!("{}0", tier_name(tier)),
            _ => format!("{0}0 to {0}{1}", tier_name(tier), n - 1),
        };
        count.into_iter().map(range).collect::<Vec<_>>().join(", ") + ", or a node id"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who calls the switches of a leaf-spine leaves and spines is told what they are called here.
    #[test]
    fn names_from_elsewhere_are_told_the_name_here() {
        let leaf_spine = [0, 0, 1, 1, 2];
        let names = NodeNames::new(&[], &leaf_spine);
        assert_eq!(names.unknown("spine0"), "no such node; here it is called \"agg0\"");
        assert_eq!(names.unknown("leaf1"), "no such node; here it is called \"tor1\"");
        assert!(!names.unknown("spine3").contains("called"), "there is one");
        let fat_tree = [0, 1, 2, 3];
        assert_eq!(NodeNames::new(&[], &fat_tree).unknown("spine0"), "no such node; here it is called \"core0\"");
        let own = ["a", "b"].map(String::from);
        assert_eq!(NodeNames::new(&own, &[0, 1]).unknown("leaf0"), "no such node");
    }
}
