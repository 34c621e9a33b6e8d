//! On-off sources: every host is on and off in turn, for times drawn from lognormal laws, and starts flows only while it is on.
//!
//! Source: Benson et al., WREN 2009, measured at edge switches: lengths of on and off periods, and gaps between arrivals within
//! the former, are lognormal or nearly so. The fitted numbers are not printed; those here are settings.
//!
//! The clock of the gaps runs while the host is on, from one on period into the next, so that flows are a renewal process in
//! that time and their rate is known exactly. The first period and the first gap are drawn as seen at a random instant
//! (their lengths weighed by themselves, a uniform part of them over), so that the load is the same from the beginning on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use paceline_proto::rng::{self, Lognormal, Purpose, Stream};
use paceline_proto::units::{S, Time};

use crate::InputError;
use crate::graph::NodeId;
use crate::workload::{FlowDefaults, FlowSource, FlowSpec, SizeLaw, host_list, stream_id};

/// What a host does while it is on.
#[derive(Clone, Debug)]
pub enum WhileOn {
    /// It starts flows of these sizes, gaps of this law (ps) between them.
    Flows {
        /// Flow sizes.
        sizes: SizeLaw,
        /// Gaps.
        gaps: Lognormal,
    },
    /// It sends one flow at a constant rate: as many payload bytes per second as these, as long as it is on.
    Rate(f64),
}

impl WhileOn {
    /// Mean flows per second of a host that is on all the time, where that is how flows come.
    fn per_second(&self) -> Option<f64> {
        if let WhileOn::Flows { gaps, .. } = self { Some(S as f64 / gaps.mean()) } else { None }
    }
}

/// What [`OnOff`] draws.
#[derive(Clone, Debug)]
pub struct OnOffConfig {
    /// Hosts that send and receive, with the number of their rack; their order has no effect.
    pub hosts: Vec<(NodeId, u32)>,
    /// Probability that a flow stays in its rack.
    pub local: f64,
    /// Lengths of on periods, ps.
    pub on: Lognormal,
    /// Spread of the lengths of off periods; their mean follows from the rate.
    pub off_sigma: f64,
    /// What hosts do in them.
    pub while_on: WhileOn,
    /// Mean flows per second at each host, over all its time; see [`crate::workload::rate_for_load`].
    pub flows_per_second: f64,
    /// No flow starts before.
    pub begin: Time,
    /// No flow starts at or after this instant.
    pub end: Time,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
    /// Everything else about the flows.
    pub flow: FlowDefaults,
}

/// Flows of independent on-off sources in start order; equal starts in order of the host. Memory is per host.
#[derive(Clone, Debug)]
pub struct OnOff {
    hosts: Vec<Host>,
    /// All hosts, rack by rack.
    racks: Vec<NodeId>,
    local: f64,
    on: Lognormal,
    /// `None` where hosts are never off.
    off: Option<Lognormal>,
    while_on: WhileOn,
    end: f64,
    flow: FlowDefaults,
    /// Next start (ps) and index of every host that has one.
    next: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Debug)]
struct Host {
    node: NodeId,
    /// The hosts of its rack in [`OnOff::racks`].
    rack: std::ops::Range<u32>,
    periods: Stream,
    gaps: Stream,
    sizes: Stream,
    destinations: Stream,
    /// Now, ps: exact below 2^53, some 2 hours.
    now: f64,
    /// Time the host will still be on.
    on_left: f64,
    /// Time on until the next flow.
    gap_left: f64,
    /// Bytes of the flow to come, where they follow from the period.
    bytes: u64,
}

impl OnOff {
    /// A source of flows.
    ///
    /// # Errors
    /// Fewer than two hosts or one listed twice, a probability outside 0 to 1, an end not after `begin`, a class out of range, a
    /// size of 0, more flows than hosts can start that are on all the time.
    pub fn new(config: &OnOffConfig) -> Result<Self, InputError> {
        let OnOffConfig { seed, workload, begin, end, on, .. } = *config;
        let nodes: Vec<NodeId> = config.hosts.iter().map(|(node, _)| *node).collect();
        host_list(&nodes, "hosts", 2)?;
        config.flow.check()?;
        if let WhileOn::Flows { sizes, .. } = &config.while_on {
            sizes.check()?;
        }
        if !(0.0..=1.0).contains(&config.local) {
            return Err(InputError::new("not a probability").field("local").value(config.local).allowed("0 to 1"));
        }
        if end <= begin {
            return Err(InputError::new("ends before it begins")
                .field("end")
                .value(end)
                .allowed(format!("after {begin}")));
        }
        let duty = match config.while_on.per_second() {
            Some(most) => config.flows_per_second / most,
            None => config.flows_per_second * on.mean() / S as f64,
        };
        if duty.is_nan() || duty <= 0.0 || duty > 1.0 {
            return Err(InputError::new(format!(
                "hosts that are on all the time offer {:.4} of this load",
                1.0 / duty
            ))
            .field("load.value")
            .allowed("a smaller load, shorter gaps or a higher rate"));
        }
        let off_mean = on.mean() * (1.0 / duty - 1.0);
        let off = (off_mean > 0.0).then(|| Lognormal::of_mean(off_mean, config.off_sigma));
        let mut sorted = config.hosts.clone();
        sorted.sort_unstable_by_key(|(node, rack)| (*rack, *node));
        let mut source = Self {
            hosts: Vec::with_capacity(sorted.len()),
            racks: sorted.iter().map(|(node, _)| *node).collect(),
            local: config.local,
            on,
            off,
            while_on: config.while_on.clone(),
            end: end.0 as f64,
            flow: config.flow,
            next: BinaryHeap::with_capacity(sorted.len()),
        };
        let mut hosts: Vec<_> = sorted
            .iter()
            .map(|(node, rack)| {
                let first = sorted.partition_point(|(_, r)| r < rack) as u32;
                (*node, first..sorted.partition_point(|(_, r)| r <= rack) as u32)
            })
            .collect();
        hosts.sort_unstable_by_key(|(node, _)| *node);
        for (i, (node, rack)) in hosts.into_iter().enumerate() {
            let stream = |purpose| Stream::new(seed, purpose, stream_id(workload, u64::from(node)));
            let mut host = Host {
                node,
                rack,
                periods: stream(Purpose::OnOff),
                gaps: stream(Purpose::Arrivals),
                sizes: stream(Purpose::Sizes),
                destinations: stream(Purpose::Destinations),
                now: begin.0 as f64,
                on_left: 0.0,
                gap_left: 0.0,
                bytes: 0,
            };
            source.begin(&mut host, duty);
            if let Some(first) = source.next_start(&mut host) {
                source.next.push(Reverse((first, i as u32)));
            }
            source.hosts.push(host);
        }
        Ok(source)
    }

    /// Puts a host at a random instant of its life.
    fn begin(&self, host: &mut Host, duty: f64) {
        let on = host.periods.unit() < duty;
        let law = if on { Some(self.on) } else { self.off };
        let period = law.map_or(0.0, |law| law.by_length().draw(&mut host.periods));
        let left = period * host.periods.unit();
        if on {
            host.on_left = left;
        } else {
            host.now += left;
            host.on_left = self.on.draw(&mut host.periods);
        }
        if let WhileOn::Flows { gaps, .. } = &self.while_on {
            let gap = gaps.by_length().draw(&mut host.gaps);
            host.gap_left = gap * host.gaps.unit();
        }
    }

    /// The host's next start, if it is before the end; what follows it is not drawn yet.
    fn next_start(&self, host: &mut Host) -> Option<u64> {
        loop {
            if host.now >= self.end {
                return None;
            }
            match &self.while_on {
                WhileOn::Rate(per_second) if host.gap_left <= 0.0 => {
                    host.bytes = (per_second * host.on_left / S as f64).round().max(1.0) as u64;
                    host.gap_left = f64::INFINITY;
                    return Some(host.now as u64);
                }
                WhileOn::Flows { .. } if host.gap_left <= host.on_left => {
                    host.now += host.gap_left;
                    host.on_left -= host.gap_left;
                    host.gap_left = 0.0;
                    return (host.now < self.end).then_some(host.now as u64);
                }
                WhileOn::Rate(_) => host.gap_left = 0.0,
                WhileOn::Flows { .. } => host.gap_left -= host.on_left,
            }
            host.now += host.on_left + self.off.map_or(0.0, |off| off.draw(&mut host.periods));
            host.on_left = self.on.draw(&mut host.periods);
        }
    }

    /// Draws a destination for a host: another one of its rack, or of any other rack; where there is none of one kind, of the other.
    fn destination(&self, host: &mut Host) -> NodeId {
        let near = host.rack.len() as u32 - 1;
        let far = self.racks.len() as u32 - host.rack.len() as u32;
        let stays = host.destinations.unit() < self.local;
        let bits = host.destinations.next_u64();
        if far == 0 || stays && near > 0 {
            let i = host.rack.start + rng::below(bits, near);
            let found = self.racks[i as usize];
            // Hosts of a rack are in ascending order: those from this one on move up.
            return if found >= host.node { self.racks[i as usize + 1] } else { found };
        }
        let i = rng::below(bits, far);
        self.racks[if i >= host.rack.start { i as usize + host.rack.len() } else { i as usize }]
    }
}

impl FlowSource for OnOff {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let Reverse((start, i)) = *self.next.peek()?;
        let mut host = self.hosts[i as usize].clone();
        let dst = self.destination(&mut host);
        let bytes = match &self.while_on {
            WhileOn::Flows { sizes, gaps } => {
                host.gap_left = gaps.draw(&mut host.gaps);
                sizes.draw(host.sizes.next_u64())
            }
            WhileOn::Rate(_) => host.bytes,
        };
        let flow = self.flow.flow(Time(start), host.node, dst, bytes);
        let following = self.next_start(&mut host);
        self.hosts[i as usize] = host;
        if let Some(mut top) = self.next.peek_mut() {
            match following {
                Some(next) => *top = Reverse((next, i)),
                None => drop(PeekMut::pop(top)),
            }
        }
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_proto::units::{MS, US};

    fn config(while_on: WhileOn) -> OnOffConfig {
        OnOffConfig {
            hosts: (0..16).map(|h| (h, h / 4)).collect(),
            local: 0.7,
            on: Lognormal::of_median(MS as f64, 1.0),
            off_sigma: 1.0,
            while_on,
            flows_per_second: 2_000.0,
            begin: Time(3 * MS),
            end: Time(5 * S),
            seed: 1,
            workload: 0,
            flow: FlowDefaults::default(),
        }
    }

    fn flows_of(sizes: SizeLaw) -> WhileOn {
        WhileOn::Flows { sizes, gaps: Lognormal::of_median(100.0 * US as f64, 1.0) }
    }

    fn all(config: &OnOffConfig) -> Vec<FlowSpec> {
        let mut source = OnOff::new(config).unwrap();
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    /// 16 hosts start 2000 flows a second each, for five seconds; seven of ten stay in the rack of four, evenly over its others, the
    /// others go anywhere else.
    #[test]
    fn flows_have_the_rate_and_the_ways_asked_for() {
        let config = config(flows_of(SizeLaw::Fixed(1000)));
        let flows = all(&config);
        assert!((flows.len() as f64 / (16.0 * 2000.0 * 4.997) - 1.0).abs() < 0.05, "{}", flows.len());
        assert!(flows.is_sorted_by_key(|f| f.start));
        assert!(flows.iter().all(|f| f.src != f.dst && f.start >= config.begin && f.start < config.end));
        let local = flows.iter().filter(|f| f.src / 4 == f.dst / 4).count();
        assert!((local as f64 / flows.len() as f64 - 0.7).abs() < 0.01);
        for h in 0..16u32 {
            let to = |d: u32| flows.iter().filter(|f| f.src == h && f.dst == d).count() as f64;
            let sent = flows.iter().filter(|f| f.src == h).count() as f64;
            for d in (0..16).filter(|d| *d != h) {
                let expected = if d / 4 == h / 4 { 0.7 / 3.0 } else { 0.3 / 12.0 };
                assert!((to(d) / sent - expected).abs() < 0.03, "{h} to {d}");
            }
        }
    }

    /// The load is there from the beginning, not only once the first hosts are on.
    #[test]
    fn the_beginning_is_as_busy_as_the_rest() {
        let config = OnOffConfig {
            hosts: (0..4000).map(|h| (h, h / 40)).collect(),
            end: Time(13 * MS),
            ..config(flows_of(SizeLaw::Fixed(1)))
        };
        let flows = all(&config);
        let early = flows.iter().filter(|f| f.start.0 < 8 * MS).count() as f64;
        assert!((early / (4000.0 * 2.0 * 5.0) - 1.0).abs() < 0.04, "{early}");
        assert!((early / (flows.len() as f64 - early) - 1.0).abs() < 0.06);
    }

    /// At a constant rate a host sends as long as it is on: one flow each time, all together the load.
    #[test]
    fn constant_rates_make_the_load() {
        let config = config(WhileOn::Rate(125e6));
        let config = OnOffConfig { flows_per_second: 0.25 * S as f64 / config.on.mean(), ..config };
        let flows = all(&config);
        let bytes: u64 = flows.iter().map(|f| f.bytes).sum();
        assert!((bytes as f64 / (0.25 * 125e6 * 16.0 * 4.997) - 1.0).abs() < 0.06, "{bytes}");
        for h in 0..16 {
            let own: Vec<_> = flows.iter().filter(|f| f.src == h).collect();
            let over = |f: &FlowSpec| f.start.0 as f64 + f.bytes as f64 / 125e6 * S as f64;
            assert!(own.windows(2).all(|w| over(w[0]) <= w[1].start.0 as f64 + 10_000.0), "host {h} overlaps itself");
        }
    }

    /// Flows in bursts: far more of them follow close upon another than in a Poisson process of the same rate.
    #[test]
    fn arrivals_come_in_bursts() {
        let flows = all(&config(flows_of(SizeLaw::Fixed(1000))));
        let own: Vec<_> = flows.iter().filter(|f| f.src == 3).map(|f| f.start.0).collect();
        let gaps: Vec<f64> = own.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(variance / mean.powi(2) > 3.0, "{}", variance / mean.powi(2));
    }

    #[test]
    fn one_rack_or_one_host_to_a_rack_is_enough() {
        for (racks, local) in [(1, 0.0), (16, 1.0)] {
            let hosts = (0..16).map(|h| (h, h * racks / 16)).collect();
            let flows = all(&OnOffConfig { hosts, local, end: Time(S / 10), ..config(flows_of(SizeLaw::Fixed(1))) });
            assert!(flows.len() > 1000 && flows.iter().all(|f| f.src != f.dst));
        }
    }

    #[test]
    fn a_load_beyond_always_on_is_refused() {
        let most = S as f64 / Lognormal::of_median(100.0 * US as f64, 1.0).mean();
        let with = |flows_per_second| {
            OnOff::new(&OnOffConfig { flows_per_second, ..config(flows_of(SizeLaw::Fixed(1))) }).map(|_| ())
        };
        assert!(with(most * 0.99).is_ok());
        let error = with(most * 2.0).unwrap_err().to_string();
        assert!(error.contains("offer 0.5000 of this load"), "{error}");
    }
}
