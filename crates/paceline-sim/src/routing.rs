//! Shortest-path routing: next hops per destination switch, the path of a flow by hash, of a packet by drawing.
//!
//! A path ends at an [`Address`], a host and one of its NICs. Hosts never forward, so all NICs on one switch share that switch's routes;
//! these are found by one breadth-first search over the switches when a destination is first used.

pub(crate) mod by_node;
pub(crate) mod choice;
pub mod config;
pub(crate) mod flowlets;
pub mod murmur;
mod planes;
pub(crate) mod spraying;
mod tables;

use std::sync::Arc;

use paceline_proto::rng::{below, hash3};

use crate::InputError;
use crate::graph::{Graph, NodeId, PortInfo, PortNo};
use choice::Choice;
use config::RoutingConfig;
use planes::Planes;
use spraying::Choices;
use tables::{End, Fabric, Lists, NONE, Tables};

/// One NIC of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// The host.
    pub host: NodeId,
    /// Its port, 0 for the first NIC.
    pub nic: PortNo,
}

/// What a switch hashes to choose among equal next hops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuple {
    /// IP of the sender of the packet ([`ip_of`]).
    pub src_ip: u32,
    /// IP of its receiver.
    pub dst_ip: u32,
    /// Source port number.
    pub sport: u16,
    /// Destination port number.
    pub dport: u16,
}

impl Tuple {
    /// The tuple of packets in the other direction, such as ACKs.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { src_ip: self.dst_ip, dst_ip: self.src_ip, sport: self.dport, dport: self.sport }
    }

    /// Hash at a switch: `MurmurHash3` over addresses and ports as three little-endian words (hpcc-ns3 facts, section 4.4).
    pub fn hash(&self, seed: u32) -> u32 {
        let words = [self.src_ip, self.dst_ip, u32::from(self.sport) | u32::from(self.dport) << 16];
        let mut key = [0; 12];
        for (bytes, word) in key.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        murmur::murmur3_32(&key, seed)
    }
}

/// IP of a NIC: 11.x.y.1 for the first NIC of hosts 0 to 65535 (hpcc-ns3 facts, section 4.3), the last byte counting NICs.
///
/// Higher hosts continue in 12.0.0.0 and wrap around; distinct for all nodes below 2^24 and NICs below 256.
pub fn ip_of(node: NodeId, nic: PortNo) -> u32 {
    0x0b00_0000u32.wrapping_add(node << 8) | u32::from(nic.wrapping_add(1) as u8)
}

/// Links a path may have: packets count hops in eight bits.
const MAX_LINKS_OF_PATH: usize = 255;

/// Shortest-path routes of a network, found as they are asked for.
pub struct Routes {
    graph: Arc<Graph>,
    choice: Choice,
    /// Links taken out, by link number.
    down: Vec<bool>,
    planes: Planes,
    fabric: Fabric,
    lists: Lists,
    tables: Tables,
    /// Routes of the same network asked elsewhere had a choice.
    chose: bool,
}

impl Routes {
    /// Routes of `graph`, with all its links up; nothing is searched yet.
    pub fn new(graph: Arc<Graph>, config: RoutingConfig) -> Self {
        let down = vec![false; graph.links()];
        Self::without(graph, config, down)
    }

    /// Routes over the links of `graph` that are not marked in `down`, which has an entry per link.
    pub(crate) fn without(graph: Arc<Graph>, config: RoutingConfig, down: Vec<bool>) -> Self {
        let fabric = Fabric::new(&graph, config.order, &down);
        let planes = Planes::new(&graph, &down, config.nics);
        let choice = Choice::new(&graph, config);
        Self { graph, choice, down, planes, fabric, lists: Lists::new(), tables: Tables::new(), chose: false }
    }

    /// The network.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Whether any switch asked so far had a choice between next hops.
    pub fn has_choice(&self) -> bool {
        self.chose || self.lists.has_choice()
    }

    /// Remembers that routes asked elsewhere in the same network had a choice.
    pub(crate) fn note_choice(&mut self, chose: bool) {
        self.chose |= chose;
    }

    /// The NICs of a flow from host `src` to host `dst`: of the NICs of `src` that reach `dst`, and of the NICs of `dst` that
    /// this one reaches, those numbered by `draws` modulo their count. First NICs where no two reach each other. With D-mod-k and
    /// S-mod-k the sender's NIC is its first uplink, chosen as all others are.
    pub fn choose_nics(&self, src: NodeId, dst: NodeId, mut draws: [u64; 2]) -> (Address, Address) {
        draws[0] = self.choice.nic(src, dst).unwrap_or(draws[0]);
        self.planes.choose(&self.graph, src, dst, draws)
    }

    /// The NICs of this number at both hosts, counted as [`choose_nics`](Self::choose_nics) counts them, whatever chooses paths.
    pub fn nics_numbered(&self, src: NodeId, dst: NodeId, number: u64) -> (Address, Address) {
        self.planes.choose(&self.graph, src, dst, [number; 2])
    }

    /// Whether a flow takes NICs at one switch where its hosts have such, the fastest of them.
    pub(crate) fn takes_nearest_nics(&self) -> bool {
        self.planes.nics == config::NicChoice::Nearest
    }

    /// The plane of every NIC of a host: two NICs reach each other when theirs is the same.
    pub(crate) fn planes_of(&self, host: NodeId) -> &[u32] {
        self.planes.of_host(&self.graph, host)
    }

    /// Links between switches that are up, each counted from both ends.
    pub(crate) fn fabric_links(&self) -> usize {
        self.fabric.links()
    }

    /// Ports of switch `at` on shortest paths to switch `dst_switch`, in the order the choice numbers them.
    ///
    /// Empty at the destination itself, where there is no path, and for nodes that are no switch.
    pub fn next_hops(&mut self, at: NodeId, dst_switch: NodeId) -> &[PortNo] {
        let dense = |node: NodeId| self.fabric.dense.get(node as usize).copied().unwrap_or(NONE);
        let (at, target) = (dense(at), dense(dst_switch));
        if at == NONE || target == NONE || at == target {
            return &[];
        }
        self.tables.towards(target, &mut self.fabric, &mut self.lists).next_hops(at)
    }

    /// Links between switch `at` and `dst_switch` on a shortest path; `None` if there is no path.
    pub fn distance(&mut self, mut at: NodeId, dst_switch: NodeId) -> Option<u32> {
        let mut links = 0;
        while at != dst_switch {
            let port = *self.next_hops(at, dst_switch).first()?;
            at = self.graph.ports_of(at)[port as usize].peer;
            links += 1;
        }
        Some(links)
    }

    /// Path of a flow from `src` to `dst` into `out` (cleared first): the egress port of the sending NIC, then one per switch.
    ///
    /// Among n next hops a switch takes number `hash(tuple, seed = its node id + salt) mod n`, or what
    /// [`config::PathChoice`] says.
    ///
    /// # Errors
    /// An address that is no NIC or whose link is out, no path, or a path of more than 255 links.
    pub fn flow_path(
        &mut self,
        src: Address,
        dst: Address,
        tuple: &Tuple,
        out: &mut Vec<PortNo>,
    ) -> Result<(), InputError> {
        let (graph, choice) = (Arc::clone(&self.graph), self.choice.clone());
        let tier = |switch: NodeId| graph.tiers[switch as usize];
        self.path(src, dst, out, |switch, n| choice.pick(switch, tier(switch), [src, dst], tuple, n))
    }

    /// Paths of a flow and of what its receiver sends back, each in the form of [`Routes::flow_path`]. `symmetric`: the way back is the
    /// way there, link by link, and not chosen for itself.
    ///
    /// # Errors
    /// As [`Routes::flow_path`].
    pub(crate) fn both_ways(
        &mut self,
        [src, dst]: [Address; 2],
        tuple: &Tuple,
        symmetric: bool,
        [forth, back]: [&mut Vec<PortNo>; 2],
    ) -> Result<(), InputError> {
        self.flow_path(src, dst, tuple, forth)?;
        if symmetric {
            self.graph.mirror(src.host, forth, back);
            return Ok(());
        }
        self.flow_path(dst, src, &tuple.reversed(), back)
    }

    /// Path of one sprayed packet from `src` to `dst` into `out` (cleared first), in the form of [`Routes::flow_path`].
    ///
    /// `draw(n)` gives a number below n (others count as n - 1); it is asked once at each switch that has n > 1 next hops, in path order.
    ///
    /// # Errors
    /// As [`Routes::flow_path`].
    pub fn spray_path(
        &mut self,
        src: Address,
        dst: Address,
        mut draw: impl FnMut(u32) -> u32,
        out: &mut Vec<PortNo>,
    ) -> Result<(), InputError> {
        self.path(src, dst, out, |_, n| draw(n).min(n - 1))
    }

    /// Paths that sprayed packets from `src` to `dst` take turns on: the product of the choices on the way over the first next hops, at
    /// most [`spraying::MOST`]; 1 where there is no path. `scratch` is overwritten.
    pub(crate) fn paths(&mut self, src: Address, dst: Address, scratch: &mut Vec<PortNo>) -> u32 {
        let mut choices = Choices::none();
        let count = |_, n| {
            choices.among(n);
            0
        };
        if self.path(src, dst, scratch, count).is_ok() { choices.paths() } else { 1 }
    }

    /// A path from a switch to a NIC into `out` (cleared first): one egress port per switch. Choices are drawn by `key`.
    /// False when there is none.
    pub fn way_from(&mut self, switch: NodeId, dst: Address, key: u64, out: &mut Vec<PortNo>) -> bool {
        out.clear();
        let Ok(to) = self.nic("destination", dst) else { return false };
        let mut at = switch;
        while at != to.peer {
            let hops = self.next_hops(at, to.peer);
            let count = hops.len() as u32;
            if count == 0 || out.len() + 1 == MAX_LINKS_OF_PATH {
                return false;
            }
            let port = hops[below(hash3(key, u64::from(at), 0), count) as usize];
            out.push(port);
            at = self.graph.ports_of(at)[port as usize].peer;
        }
        out.push(to.peer_port);
        true
    }

    /// Path that takes the first next hop everywhere, the one base RTTs are taken from (hpcc-ns3 facts, section 4.5).
    ///
    /// # Errors
    /// As [`Routes::flow_path`].
    pub fn first_path(&mut self, src: Address, dst: Address, out: &mut Vec<PortNo>) -> Result<(), InputError> {
        self.path(src, dst, out, |_, _| 0)
    }

    /// Bytes the routes found so far occupy, roughly.
    pub fn heap_bytes(&self) -> usize {
        self.tables.heap_bytes() + self.lists.heap_bytes()
    }

    /// Calls `visit(switch, next hops)` for every switch that reaches `dst_switch`, nearer ones first, the destination itself left out.
    /// Keeps no table.
    pub(crate) fn walk(&mut self, dst_switch: NodeId, visit: &mut dyn FnMut(NodeId, &[PortNo])) {
        let target = self.fabric.dense[dst_switch as usize];
        if target == NONE {
            return;
        }
        self.fabric.search(target);
        for &s in self.fabric.found() {
            let hops = self.fabric.next_hops(s);
            if !hops.is_empty() {
                visit(self.fabric.switches[s as usize], hops);
            }
        }
    }

    /// Whether a link is up.
    pub(crate) fn is_up(&self, link: u32) -> bool {
        !self.down[link as usize]
    }

    fn nic(&self, field: &str, address: Address) -> Result<PortInfo, InputError> {
        let graph = &self.graph;
        let host = Some(address.host).filter(|host| (*host as usize) < graph.nodes() && graph.is_host(*host));
        let ports = host.map_or(&[][..], |host| graph.ports_of(host));
        match ports.get(address.nic as usize) {
            Some(nic) if !self.down[nic.link as usize] => Ok(*nic),
            nic => Err(no_nic(field, address, host.map(|_| ports.len()), nic.is_some())),
        }
    }

    /// The switch that a NIC is linked to; None where there is no such NIC, its link is out, or no switch behind it.
    #[inline(always)]
    fn attached(&self, address: Address) -> Option<End> {
        let (graph, host) = (&self.graph, address.host as usize);
        let (first, next) = (*graph.first.get(host)?, *graph.first.get(host + 1)?);
        let port = Some(first + u32::from(address.nic)).filter(|port| *port < next && graph.is_host(address.host))?;
        Some(self.fabric.end(port as usize)).filter(|end| end.to != NONE)
    }

    #[inline]
    fn path(
        &mut self,
        src: Address,
        dst: Address,
        out: &mut Vec<PortNo>,
        mut choose: impl FnMut(NodeId, u32) -> u32,
    ) -> Result<(), InputError> {
        out.clear();
        let [Some(from), Some(to)] = [src, dst].map(|address| self.attached(address)) else {
            return self.path_past_switches(src, dst, out);
        };
        if src.host == dst.host {
            return Err(same_host(src, dst));
        }
        out.push(src.nic);
        if from.to == to.to {
            out.push(to.back);
            return Ok(()); // nothing is searched, nor is there a choice
        }
        let Self { fabric, tables, lists, .. } = self;
        let towards = tables.towards(to.to, fabric, lists);
        let mut at = from.to;
        while at != to.to {
            let port = match *towards.next_hops(at) {
                [] => return Err(no_path(src, dst, "no path")),
                [only] => only,
                ref hops => hops[choose(fabric.switches[at as usize], hops.len() as u32) as usize],
            };
            if out.len() + 1 == MAX_LINKS_OF_PATH {
                return Err(no_path(src, dst, "path too long").allowed("at most 255 links"));
            }
            out.push(port);
            at = fabric.behind(at, port);
        }
        out.push(to.back);
        Ok(())
    }

    /// As [`Routes::path`], where a NIC is not linked to a switch: to no host but the one at the other end of its link.
    #[cold]
    fn path_past_switches(&self, src: Address, dst: Address, out: &mut Vec<PortNo>) -> Result<(), InputError> {
        let (from, to) = (self.nic("source", src)?, self.nic("destination", dst)?);
        if src.host == dst.host {
            return Err(same_host(src, dst));
        }
        if from.link != to.link {
            return Err(no_path(src, dst, "no path")); // hosts do not forward
        }
        out.push(src.nic);
        Ok(())
    }
}

/// An address that is none. `nics`: of its host, if there is one; `is_down`: it is the link that is out.
#[cold]
fn no_nic(field: &str, address: Address, nics: Option<usize>, is_down: bool) -> InputError {
    let bad = |problem: &str| {
        let error = InputError::new(problem).field(field);
        error.value(format!("host {}, nic {}", address.host, address.nic))
    };
    match nics {
        None => bad("no such host").allowed("the id of a host"),
        Some(_) if is_down => bad("the link of this NIC is down"),
        Some(nics) => bad("no such NIC").allowed(format!("NICs below {nics}")),
    }
}

#[cold]
fn same_host(src: Address, dst: Address) -> InputError {
    no_path(src, dst, "source and destination are the same host").allowed("two different hosts")
}

#[cold]
fn no_path(src: Address, dst: Address, problem: &str) -> InputError {
    let pair = format!("host {} nic {} to host {} nic {}", src.host, src.nic, dst.host, dst.nic);
    InputError::new(problem).field("path").value(pair)
}

#[cfg(test)]
mod tests;
