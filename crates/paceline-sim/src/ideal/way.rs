//! The way of a flow or message, as the least time on it depends on it.

use paceline_proto::units::{BitsPerSec, Duration, S};

use super::line_rate::{IdealFct, data_frame, line_rate};
use super::sprayed;
use crate::framing::Framing;
use crate::graph::{NodeId, Side};
use crate::routing::Routes;

/// Links from host to host: one path, or many of which packets take now this and now that.
#[derive(Clone, Debug, Default)]
pub struct Way {
    links: Box<[Side]>,
    paths: Paths,
}

/// How many paths there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Paths {
    /// One: packets follow each other on every link.
    #[default]
    One,
    /// Many, like `links`; of the steps between the first link and the last one that is narrower than both, if any: which link it is,
    /// and what all its parallel links carry.
    Many(Option<(usize, BitsPerSec)>),
}

impl Way {
    /// All packets take these links.
    pub fn one(links: impl Into<Box<[Side]>>) -> Self {
        Self { links: links.into(), paths: Paths::One }
    }

    /// Packets are sprayed over all shortest paths between switches `from` and `to`, of which `links` is one, the links of the hosts
    /// with it. `uneven`: parallel links may differ ([`super::parallel_links_differ`]).
    ///
    /// Looks at all paths only where parallel links may differ, or one is slower than the hosts' links.
    pub fn sprayed(mut links: Vec<Side>, routes: &mut Routes, (from, to): (NodeId, NodeId), uneven: bool) -> Self {
        if !has_choice(routes, from, to) {
            return Self::one(links);
        }
        let mut narrowest = None;
        if let [first, between @ .., last] = &mut *links {
            let hosts = first.rate.min(last.rate);
            if uneven || between.iter().any(|side| side.rate < hosts) {
                let narrow = sprayed::spread(routes, between, from, to).filter(|(_, rate)| *rate < hosts);
                narrowest = narrow.map(|(step, rate)| (step + 1, rate));
            }
        }
        Self { links: links.into(), paths: Paths::Many(narrowest) }
    }

    /// Ideal FCTs of a flow of `bytes` whose ACK comes back by `back`: exact on one path, else a lower bound.
    pub fn ideal(&self, bytes: u64, framing: &Framing, back: &Way) -> IdealFct {
        let (Paths::Many(narrowest), [first, between @ .., last]) = (self.paths, &*self.links) else {
            return line_rate(bytes, framing, &self.links, &back.links);
        };
        // All packets share the first link and the last. Those between hold up each packet for its own serialisation only, the last and
        // shortest as well.
        let (packets, rest) = framing.split(bytes.max(1));
        let (full, frame) = (data_frame(framing, framing.payload), data_frame(framing, rest));
        let alone = |side: &Side| side.rate.serialisation(frame).0.saturating_add(side.delay.0);
        let mut ideal = line_rate(bytes, framing, &[*first, *last], &back.links);
        let back = ideal.sender.0 - ideal.receiver.0;
        let mut arrived = between.iter().fold(ideal.receiver.0, |t, side| t.saturating_add(alone(side)));
        if let Some((step, rate)) = narrowest {
            // No packet is there before the shortest could be, and after the last bit the shortest still has the rest of the way.
            let bits = (u128::from(packets - 1) * u128::from(full) + u128::from(frame)) * 8 * u128::from(S);
            let through = u64::try_from(bits / u128::from(rate.0)).unwrap_or(u64::MAX);
            let others = self.links.iter().enumerate().filter(|(i, _)| *i != step).map(|(_, side)| alone(side));
            let delay = self.links[step].delay.0;
            arrived = arrived.max(others.fold(through.saturating_add(delay), u64::saturating_add));
        }
        ideal.receiver = Duration(arrived);
        ideal.sender = Duration(arrived.saturating_add(back));
        ideal
    }

    /// The least time in which a message alone on its way has arrived, ps.
    pub fn least_time(&self, bytes: u64, framing: &Framing) -> u64 {
        self.ideal(bytes, framing, &Way::default()).receiver.0
    }
}

/// Whether there is more than one shortest path between two switches.
fn has_choice(routes: &mut Routes, mut at: NodeId, to: NodeId) -> bool {
    loop {
        match *routes.next_hops(at, to) {
            [] => return false,
            [only] => at = routes.graph().ports_of(at)[usize::from(only)].peer,
            _ => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::graph::{Graph, Link, NodeKind, Topology};
    use crate::ideal::{parallel_links_differ, path_sides};
    use crate::routing::Address;
    use crate::routing::config::{NextHopOrder, NicChoice, PathChoice, RoutingConfig};

    const GBPS: u64 = 1_000_000_000;

    /// The way of sprayed packets from host 0 to host 1 over these links.
    fn way(switches: usize, tiers: &[u8], links: Vec<Link>) -> Way {
        let kinds = [vec![NodeKind::Host; 2], vec![NodeKind::Switch; switches]].concat();
        let graph = Arc::new(Graph::new(&Topology { kinds, tiers: tiers.to_vec(), links }));
        let config = RoutingConfig {
            choice: PathChoice::Spray,
            order: NextHopOrder::Port,
            salt: 0,
            nics: NicChoice::All,
            flowlet_gap: Duration(0),
        };
        let mut routes = Routes::new(Arc::clone(&graph), config);
        let mut path = Vec::new();
        let ends = [0, 1].map(|host| Address { host, nic: 0 });
        routes.first_path(ends[0], ends[1], &mut path).unwrap();
        let switch = |host| graph.ports_of(host)[0].peer;
        let ends = (switch(0), switch(1));
        Way::sprayed(path_sides(&graph, 0, &path).0, &mut routes, ends, parallel_links_differ(&graph))
    }

    fn link(a: u32, b: u32, gbps: u64, ns: u64) -> Link {
        Link::symmetric(a, b, BitsPerSec(gbps * GBPS), Duration::from_ns(ns))
    }

    /// Sprayed packets may take the short way: measured against the long one they would beat their ideal.
    #[test]
    fn the_ideal_is_that_of_the_fastest_path() {
        // Two racks, joined by two spines at different distances.
        let near = vec![link(0, 2, 100, 10), link(1, 3, 100, 10), link(2, 4, 100, 900), link(4, 3, 100, 100)];
        let links = [near, vec![link(2, 5, 100, 300), link(5, 3, 100, 200)]].concat();
        let ideal = way(4, &[0, 0, 1, 1, 2, 2], links).least_time(1000, &Framing::HPCC);
        // One packet of 1048 B over four links at 100 Gb/s.
        assert_eq!(ideal, 520_000 + 4 * 83_840);
    }

    /// Where there is one path only nothing is side by side: a slow link in the middle holds up every packet.
    #[test]
    fn one_path_is_one_path_though_packets_are_sprayed() {
        let links = vec![link(0, 2, 100, 10), link(2, 3, 10, 10), link(3, 1, 100, 10)];
        let ideal = way(2, &[0, 0, 1, 1], links).least_time(10_000, &Framing::HPCC);
        assert_eq!(ideal, 30_000 + 2 * 83_840 + 10 * 838_400);
    }

    /// Two slow links side by side carry twice what one does, and no more.
    #[test]
    fn narrow_steps_bound_the_ideal_by_all_their_links() {
        let racks = vec![link(0, 2, 100, 0), link(1, 3, 100, 0)];
        let spines = [4, 5].map(|s| [link(2, s, 25, 0), link(s, 3, 25, 0)]).concat();
        let ideal = way(4, &[0, 0, 1, 1, 2, 2], [racks, spines].concat()).least_time(1_000_000, &Framing::HPCC);
        let packet_at_100 = 83_840;
        // A thousand packets at 50 Gb/s; one alone on three other links.
        assert_eq!(ideal, 1000 * 2 * packet_at_100 + 2 * packet_at_100 + 4 * packet_at_100);
    }
}
