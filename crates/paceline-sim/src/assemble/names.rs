//! From the names that a specification has for nodes to the nodes.

use std::collections::BTreeSet;

use super::Build;
use crate::error::InputError;
use crate::graph::NodeId;
use crate::spec::value::{HostSet, Hosts, NodeRef};

impl Build<'_> {
    /// The host of this name or id.
    pub(super) fn host(&self, field: &str, node: &NodeRef) -> Result<NodeId, InputError> {
        let graph = &self.scenario.graph;
        let found = match node {
            NodeRef::Id(id) => Some(*id).filter(|id| (*id as usize) < graph.nodes()),
            NodeRef::Name(name) => Some(self.nodes.find(name).ok_or_else(|| self.no_such_node(field, name))?),
        };
        let problem = if found.is_some() { "not a host" } else { "no such host" };
        found.filter(|n| graph.is_host(*n)).ok_or_else(|| {
            let all = graph.hosts().count().saturating_sub(1);
            self.spec.error(field, problem).value(node).allowed(format!("host ids 0 to {all}, or a host's name"))
        })
    }

    /// An error for a name that no node has.
    pub(super) fn no_such_node(&self, field: &str, name: &str) -> InputError {
        self.spec.error(field, &self.nodes.unknown(name)).value(name).allowed(self.nodes.allowed())
    }

    /// The hosts of a set in the order of their ids, at least so many.
    pub(super) fn hosts(&self, field: &str, set: &HostSet, least: usize) -> Result<Vec<NodeId>, InputError> {
        let (mut hosts, _) = self.listed_hosts(field, set)?;
        hosts.sort_unstable();
        if hosts.len() < least {
            let few = format!("too few hosts, {}", hosts.len());
            return Err(self.spec.error(field, &few).allowed(format!("at least {least}")));
        }
        Ok(hosts)
    }

    /// The hosts of a set in the order in which they are given.
    pub(super) fn ordered_hosts(&self, field: &str, set: &HostSet) -> Result<Vec<NodeId>, InputError> {
        let (hosts, repeated) = self.listed_hosts(field, set)?;
        if repeated {
            let error = self.spec.error(field, "a host has one rank, and some are listed twice");
            return Err(error.allowed("each host once"));
        }
        Ok(hosts)
    }

    /// The hosts of a set, each once, where it is first given, and whether any is given again.
    fn listed_hosts(&self, field: &str, set: &HostSet) -> Result<(Vec<NodeId>, bool), InputError> {
        let graph = &self.scenario.graph;
        let HostSet::Listed(entries) = set else { return Ok((graph.hosts().collect(), false)) };
        let (mut hosts, mut seen, mut repeated) = (Vec::new(), vec![false; graph.nodes()], false);
        let mut add = |host: NodeId| {
            repeated |= seen[host as usize];
            if !std::mem::replace(&mut seen[host as usize], true) {
                hosts.push(host);
            }
        };
        for entry in entries {
            let name = match entry {
                Hosts::Node(NodeRef::Name(name)) if !name.bytes().all(|b| b.is_ascii_digit()) => name,
                Hosts::Range(_, _, text) if self.nodes.find(text).is_some() => text,
                Hosts::Node(node) => {
                    add(self.host(field, node)?);
                    continue;
                }
                Hosts::Range(low, high, text) if low > high => {
                    let error = self.spec.error(field, "a range backwards").value(&text.0);
                    return Err(error.allowed("the lower id first, or the name of a node"));
                }
                Hosts::Range(low, high, _) => {
                    let high = self.host(field, &NodeRef::Id(*high))?;
                    (*low..=high).filter(|n| graph.is_host(*n)).for_each(&mut add);
                    continue;
                }
            };
            let node = self.nodes.find(name).ok_or_else(|| self.no_such_node(field, name))?;
            self.at_node(field, name, node)?.into_iter().for_each(&mut add);
        }
        Ok((hosts, repeated))
    }

    /// A host, or the hosts linked to a switch.
    fn at_node(&self, field: &str, name: &str, node: NodeId) -> Result<Vec<NodeId>, InputError> {
        let graph = &self.scenario.graph;
        if graph.is_host(node) {
            return Ok(vec![node]);
        }
        let peers: BTreeSet<NodeId> = graph.ports_of(node).iter().map(|p| p.peer).collect();
        let hosts: Vec<NodeId> = peers.into_iter().filter(|peer| graph.is_host(*peer)).collect();
        if hosts.is_empty() {
            let error = self.spec.error(field, "a switch without hosts").value(name);
            return Err(error.allowed("hosts, switches that hosts are linked to, ranges of node ids"));
        }
        Ok(hosts)
    }
}
