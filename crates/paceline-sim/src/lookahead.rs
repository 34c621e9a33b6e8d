//! How long windows are, and which nodes are too close together for them.
//!
//! A window may be as long as the shortest time in which one node can affect another. A few short links, a rack of hosts on
//! 10 ns among racks on 1 us, would shrink the windows of all. Where it pays, windows are made for the longer links, and the
//! nodes that hang together by shorter ones, *close* nodes, are run event by event within each window (`close`). Which those
//! are follows from the scenario alone, and results do not depend on it. Hosts with several NICs are run so where programs send by one
//! what has come by another.
//!
//! Trees have two *sides*: every link goes from one to the other, as between hosts and aggregation switches here, racks and cores
//! there. What a node does comes back to its own side after two links at the earliest. So the sides are run in turn, each for
//! twice as long, and each is ahead of the other by half of that: half as often a port is looked at.

use paceline_proto::units::{Duration, US};

use crate::clock::Clock;
use crate::error::InputError;
use crate::graph::{Graph, PortInfo};
use crate::scenario::Scenario;

/// Frames per port and window at line rate at which windows take as long as single events.
const BREAK_EVEN: f64 = 0.5;
/// What an event costs, in the cost of a hop in a window of very many frames; the rest, up to the break-even, is what a window
/// costs a port.
const EVENT: f64 = 2.2;
/// Close nodes must save this share of the work: they make runs harder to share out among threads.
const WORTHWHILE: f64 = 0.9;
/// Longest link over window up to which there are windows: the inboxes are a ring of so many.
const MOST_SPREAD: u64 = 1024;

/// Usual time between two samples, ps (the default of `records.series.interval`); others are mostly multiples of it.
const SAMPLES: u64 = 10_000_000;

/// Windows that the engine can keep: a [`Windows::span`] in windows may not be longer.
pub(crate) const MOST_KEPT: u64 = 4096;

/// Windows of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// How soon one node can affect another, ps; close ones apart.
    pub lookahead: u64,
    /// From the end of one to the end of the next, ps: the lookahead, or a little less.
    pub width: u64,
    /// By node: the side it is on, 0 or 1, where the two are run in turn. Empty where all nodes are run in each window.
    pub sides: Box<[u8]>,
    /// By node: it is close to another one, or a host of a program with several NICs. Empty when no node is.
    pub close: Box<[bool]>,
    /// Hosts of programs have several NICs: what comes by one leads at once to what goes by another.
    pub several_nics: bool,
    /// Share of the work that is close nodes', taken as the sum of link rates.
    pub close_share: f64,
    /// Frames per port and window at the hosts' line rate.
    pub frames: f64,
    /// What a hop costs, as a share of what it costs event by event; infinite where windows cannot be had.
    pub cost: f64,
}

impl Windows {
    /// Those that cost least.
    pub fn of(scenario: &Scenario) -> Self {
        let graph = &scenario.graph;
        let fastest = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(0);
        let bits = f64::from(scenario.framing.payload + scenario.framing.header) * 8.0;
        let frames = |width: u64| width as f64 * 1e-12 * fastest as f64 / bits;
        let spread = longest_link(scenario);
        let cost = |width: u64, close: f64| {
            if width == 0 || width > u64::from(u32::MAX) || spread / width > MOST_SPREAD {
                return f64::INFINITY;
            }
            let hop = 1.0 + (EVENT - 1.0) * BREAK_EVEN / frames(width);
            close + (1.0 - close) * hop / EVENT
        };
        let smallest = smallest_frame(scenario);
        let mut links: Vec<(u64, &PortInfo)> =
            graph.ports.iter().map(|p| (link_lookahead(scenario, p, smallest), p)).collect();
        links.sort_by_key(|(ahead, p)| (*ahead, p.node));
        let total = links.iter().map(|(_, p)| p.rate.0 as f64).sum::<f64>().max(1.0);
        let least = links.first().map_or(0, |l| l.0);
        let work_of = |node: u32| graph.ports_of(node).iter().map(|p| p.rate.0 as f64).sum::<f64>();
        let (mut close, mut work) = (vec![false; graph.nodes()], 0.0);
        for host in scenario.programs.iter().flat_map(|program| &program.hosts) {
            if graph.ports_of(*host).len() > 1 && !std::mem::replace(&mut close[*host as usize], true) {
                work += work_of(*host);
            }
        }
        let several_nics = work > 0.0;
        let made = |width: u64, close: Box<[bool]>, close_share: f64| Self {
            lookahead: width,
            width,
            sides: Box::default(),
            close,
            several_nics,
            close_share,
            frames: frames(width),
            cost: cost(width, close_share),
        };
        let first = if several_nics { close.clone().into() } else { Box::default() };
        let mut best = made(least, first, work / total);
        let longest = longest_width(scenario);
        for pair in links.windows(2) {
            let ((ahead, port), (width, _)) = (pair[0], pair[1]);
            for node in [port.node, port.peer] {
                if !std::mem::replace(&mut close[node as usize], true) {
                    work += work_of(node);
                }
            }
            let share = work / total;
            let limit = match best.close.is_empty() {
                true => best.cost.min(1.0) * WORTHWHILE,
                // Hosts are run event by event anyway, so that short windows save little: long ones can be shared out among threads.
                false if several_nics => 1.0,
                false => best.cost,
            };
            if width > ahead && width <= longest && cost(width, share) < limit {
                best = made(width, close.clone().into(), share);
            }
        }
        if best.close.is_empty() {
            best.width = in_step(best.width);
            if may_take_turns(scenario, best.width) {
                best.sides = sides(graph).unwrap_or_default();
            }
        }
        best
    }

    /// How long a node is run at a time, ps.
    pub fn length(&self) -> u64 {
        if self.sides.is_empty() { self.width } else { 2 * self.width }
    }

    /// Longest time from when a port begins to send to what that causes elsewhere, ps: of the largest frame on the slowest link, which
    /// may take far longer than any delay.
    pub fn span(&self, scenario: &Scenario) -> u64 {
        let clock = if scenario.quirks.clock_1ns { Clock::TruncatedNs } else { Clock::Exact };
        let frame = scenario.max_frame() + scenario.framing.wire_overhead;
        let links = scenario.graph.ports.iter().map(|p| clock.serialisation_ps(frame, p.rate.0) + p.delay.0);
        let reaction = scenario.switch.pfc.map_or(0, |p| p.reaction.0);
        links.max().unwrap_or(0) + reaction + self.length()
    }

    /// What to tell where more windows would be open at a time than can be kept.
    pub fn too_many(&self, scenario: &Scenario) -> Option<InputError> {
        let (link, span) = (longest_link(scenario), self.span(scenario));
        if span / self.width <= MOST_KEPT {
            return None;
        }
        let longest = shown(if link / self.width > MOST_KEPT { link } else { span });
        let problem = "link delays, or PFC's reaction, too long for the windowed engine";
        Some(
            InputError::new(format!("{problem} (longest {longest}, lookahead {})", shown(self.width)))
                .field("run.engine")
                .allowed(format!("a ratio of at most {MOST_KEPT}; or engine = \"sequential\"")),
        )
    }

    /// The nodes that are close.
    pub fn close_nodes(&self) -> usize {
        self.close.iter().filter(|c| **c).count()
    }

    /// For every node the first of those that it hangs together with by links shorter than a window; itself where there are none.
    pub fn clusters(&self, scenario: &Scenario) -> Vec<u32> {
        let graph = &scenario.graph;
        let mut first: Vec<u32> = (0..graph.nodes() as u32).collect();
        let smallest = smallest_frame(scenario);
        let mut seen = vec![self.close.is_empty(); graph.nodes()];
        let mut stack = Vec::new();
        for root in 0..graph.nodes() as u32 {
            stack.push(root);
            while let Some(node) = stack.pop() {
                if std::mem::replace(&mut seen[node as usize], true) {
                    continue;
                }
                first[node as usize] = root;
                // A link that is short in one direction makes its ends close.
                let short = |p: &PortInfo| link_lookahead(scenario, p, smallest) < self.width;
                let close = |p: &&PortInfo| short(p) || short(graph.opposite(p));
                stack.extend(graph.ports_of(node).iter().filter(close).map(|p| p.peer));
            }
        }
        first
    }
}

/// A width of which a whole number lies between two samples, where one is at most 4 % below the given one. A sample cuts windows short, and
/// all ports are looked at once more: those whose window ends there anyway are spared that.
fn in_step(width: u64) -> u64 {
    if width == 0 {
        return 0;
    }
    let number = SAMPLES.div_ceil(width);
    let shorter = SAMPLES / number;
    if SAMPLES.is_multiple_of(number) && shorter >= width - width / 25 { shorter } else { width }
}

/// Whether windows of twice the width can be had, and pay.
fn may_take_turns(scenario: &Scenario, width: u64) -> bool {
    // A trimming switch turns headers round within the time of one link; where links fail, both sides change at one instant.
    let alone = scenario.switch.trimming.is_none() && scenario.failures.outages.is_empty();
    alone && 2 * width <= longest_width(scenario).min(u64::from(u32::MAX))
}

/// The side of every node, where all links go from one to the other and all hosts are on the first.
fn sides(graph: &Graph) -> Option<Box<[u8]>> {
    const UNKNOWN: u8 = u8::MAX;
    let mut sides = vec![UNKNOWN; graph.nodes()];
    let mut stack: Vec<u32> = graph.hosts().collect();
    for host in &stack {
        sides[*host as usize] = 0;
    }
    while let Some(node) = stack.pop() {
        let other = 1 - sides[node as usize];
        for port in graph.ports_of(node) {
            match &mut sides[port.peer as usize] {
                side if *side == UNKNOWN => {
                    *side = other;
                    stack.push(port.peer);
                }
                side if *side == other => {}
                _ => return None,
            }
        }
    }
    // Switches that no host reaches do nothing.
    sides.iter_mut().filter(|side| **side == UNKNOWN).for_each(|side| *side = 0);
    Some(sides.into())
}

/// Shortest time in which each node can send so many bytes to another, ps.
pub(crate) fn over_shortest_links(scenario: &Scenario, bytes: u32) -> Box<[u64]> {
    let of = |ports: &[PortInfo]| ports.iter().map(|p| link_lookahead(scenario, p, bytes)).min().unwrap_or(0);
    (0..scenario.graph.nodes() as u32).map(|node| of(scenario.graph.ports_of(node))).collect()
}

/// Bytes of the smallest frame on a wire.
fn smallest_frame(scenario: &Scenario) -> u32 {
    let f = &scenario.framing;
    let others = scenario.schemes.iter().filter_map(|s| s.transport.other_frames()).map(|(smallest, _)| smallest);
    // Frames are padded to `min_frame`; that is none itself, and 0 where nothing is padded.
    let padded = f.min_frame.max(f.header.min(f.ack_header));
    let data = if scenario.quirks.unpadded_data { f.header + 1 } else { padded };
    padded.min(f.pfc_frame).min(f.ack_header).min(data).min(others.min().unwrap_or(u32::MAX)) + f.wire_overhead
}

fn link_lookahead(scenario: &Scenario, port: &PortInfo, smallest: u32) -> u64 {
    let clock = if scenario.quirks.clock_1ns { Clock::TruncatedNs } else { Clock::Exact };
    match clock.serialisation_ps(smallest, port.rate.0) {
        // Several frames leave at one instant, as only events one by one tell apart.
        0 => 0,
        time => port.delay.0 + time,
    }
}

/// Longest windows where some links are shorter, ps: a timer must not be set and run out within one.
fn longest_width(scenario: &Scenario) -> u64 {
    scenario.host.rto.map_or(u64::MAX, |rto| rto.initial.0)
}

/// A time that is not a round one, without digits that nobody wants to read.
pub(crate) fn shown(ps: u64) -> Duration {
    Duration(if ps < 100 * US { ps } else { ps / US * US })
}

/// Longest time from a departure to what it causes elsewhere, ps.
pub(crate) fn longest_link(scenario: &Scenario) -> u64 {
    let reaction = scenario.switch.pfc.map_or(0, |p| p.reaction.0);
    scenario.graph.ports.iter().map(|p| p.delay.0).max().unwrap_or(0).max(reaction)
}

#[cfg(test)]
mod tests {
    use paceline_proto::units::BitsPerSec;

    use super::*;
    use crate::assemble::assemble;
    use crate::graph::{Link, NodeKind, Topology};
    use crate::spec::parse;

    /// Three racks of three hosts below one core; `near`: delay of the links to the hosts of the first.
    fn racks(near: &str, core: &str, more: &str) -> Scenario {
        let links: Vec<String> = (0..3)
            .flat_map(|rack| {
                let delay = if rack == 0 { near } else { "1us" };
                let host =
                    move |h: u32| format!("{{ a = 'h{h}', b = 't{rack}', rate = '100Gbps', delay = '{delay}' }}");
                let up = format!("{{ a = 't{rack}', b = 'c', rate = '100Gbps', delay = '{core}' }}");
                (3 * rack..3 * rack + 3).map(host).chain([up])
            })
            .collect();
        let hosts: Vec<String> = (0..9).map(|h| format!("h{h}")).collect();
        let text = format!(
            "[topology]\nkind = 'graph'\nhosts = {hosts:?}\nswitches = ['t0', 't1', 't2', 'c']\nlinks = [{}]\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n[schemes.x]\n{more}",
            links.join(", ")
        );
        (*assemble(&parse(&text, "test", &[]).unwrap()).unwrap().scenario).clone()
    }

    /// Frames without padding have headers still: such networks were run event by event, on one thread.
    #[test]
    fn no_padding_leaves_windows_as_long() {
        let width = |least: &str| {
            Windows::of(&racks("1us", "1us", &format!("cc = 'hpcc'\n[framing]\nmin_frame = '{least}'"))).width
        };
        assert_eq!([width("0B"), width("1B")], [width("43B"); 2]);
    }

    /// A rack with short links is run event by event, and the windows of all others stay long.
    #[test]
    fn one_near_rack_does_not_shrink_all_windows() {
        let scenario = racks("10ns", "1us", "cc = 'hpcc'");
        let windows = Windows::of(&scenario);
        assert_eq!(windows.width, 1_000_000 + 43 * 80);
        let close: Vec<usize> = (0..13).filter(|n| windows.close[*n]).collect();
        assert_eq!(close, [0, 1, 2, 9]);
        assert!(windows.cost < 0.8);
        assert_eq!(windows.clusters(&scenario), [0, 0, 0, 3, 4, 5, 6, 7, 8, 0, 10, 11, 12]);
    }

    /// Nodes are run event by event only where that is the lesser cost.
    #[test]
    fn like_links_have_no_close_nodes() {
        for (near, core) in [("1us", "1us"), ("1us", "2us"), ("900ns", "1us")] {
            assert_eq!(Windows::of(&racks(near, core, "cc = 'hpcc'")).close_nodes(), 0, "{near}, {core}");
        }
    }

    /// A header is turned round by a switch of the far racks after a window, by one of the near rack sooner.
    #[test]
    fn headers_return_as_fast_as_the_links_of_their_switch() {
        let ndp = "cc = 'ndp'\n[switch]\nmodel = 'per_port'\nbuffer = '100KB'\npfc.enabled = false\n[switch.trimming]\nenabled = true";
        let scenario = racks("10ns", "1us", ndp);
        let (windows, turns) = (Windows::of(&scenario), over_shortest_links(&scenario, 84));
        assert_eq!(windows.close_nodes(), 4);
        assert!(windows.close.iter().zip(&turns).all(|(close, turn)| *close == (*turn < windows.width)));
    }

    /// Trees have two sides, whose nodes are looked at half as often. Where something comes back sooner than over two links, or
    /// both sides are to be together, there is one.
    #[test]
    fn trees_have_two_sides() {
        let tree = racks("1us", "1us", "cc = 'hpcc'");
        let windows = Windows::of(&tree);
        assert_eq!(&*windows.sides, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]);
        assert_eq!(windows.length(), 2 * windows.width);
        // Nor do windows decide when a message's place is free again, and with it ties: recorded results would change with them.
        assert_eq!(crate::net::host::message::rest(&windows), 1_000_000_000 + windows.lookahead);
        assert!(windows.lookahead > windows.width, "{windows:?}");
        let trims = "cc = 'ndp'\n[switch]\nmodel = 'per_port'\nbuffer = '100KB'\npfc.enabled = false\n[switch.trimming]\nenabled = true";
        let fails = "cc = 'hpcc'\n[[failures]]\nlink = ['h0', 't0']\ndown = '1ms'";
        let hasty = "cc = 'hpcc'\n[host]\nrto = '1900ns'";
        for scenario in [
            racks("10ns", "1us", "cc = 'hpcc'"),
            racks("1us", "1us", trims),
            racks("1us", "1us", fails),
            racks("1us", "1us", hasty),
        ] {
            let windows = Windows::of(&scenario);
            assert!(windows.sides.is_empty());
            assert_eq!(windows.length(), windows.width);
        }
        let link = |a, b| Link::symmetric(a, b, BitsPerSec(100_000_000_000), Duration::from_us(1));
        let graph = |links| {
            Graph::new(&Topology {
                kinds: [vec![NodeKind::Host; 2], vec![NodeKind::Switch; 3]].concat(),
                tiers: vec![0, 0, 1, 1, 1],
                links,
            })
        };
        // A ring of three switches; hosts that lie two and three links apart.
        assert_eq!(sides(&graph(vec![link(0, 2), link(1, 3), link(2, 3), link(3, 4), link(4, 2)])), None);
        assert_eq!(sides(&graph(vec![link(0, 2), link(1, 3), link(2, 3)])), None);
        assert_eq!(sides(&graph(vec![link(0, 2), link(2, 4), link(4, 3), link(3, 1)])).unwrap()[..], [0, 0, 1, 1, 0]);
    }

    /// A sample finds the windows at their ends where that makes them hardly shorter.
    #[test]
    fn windows_in_step_with_samples() {
        for (width, expected) in [
            (1_003_440, 1_000_000),
            (1_000_000, 1_000_000),
            (1_050_000, 1_050_000),
            (10_300_000, 10_000_000),
            (3_400_000, 3_400_000),
            (67_000, 67_000),
            (25_000_000, 25_000_000),
            (0, 0),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(in_step(width), expected);
        }
    }

    /// What must not happen within a window limits it.
    #[test]
    fn windows_stay_short_where_a_timer_is_quicker() {
        let rto = "cc = 'hpcc'\n[host]\nrto = '1us'";
        assert_eq!(Windows::of(&racks("10ns", "1us", rto)).close_nodes(), 0);
    }
}
