//! Poisson arrivals: one independent process per host, sizes from a distribution, destinations uniform over the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use paceline_proto::rng::{self, Purpose, Stream};
use paceline_proto::units::{S, Time};

use crate::InputError;
use crate::graph::NodeId;
use crate::workload::{FlowDefaults, FlowSource, FlowSpec, SizeLaw, host_list, stream_id};

/// What [`Poisson`] draws.
#[derive(Clone, Debug)]
pub struct PoissonConfig {
    /// Sending hosts; their order has no effect.
    pub sources: Vec<NodeId>,
    /// Receiving hosts; a host never sends to itself. Their order has no effect.
    pub destinations: Vec<NodeId>,
    /// Flow sizes.
    pub sizes: SizeLaw,
    /// Mean flows per second at each source; see [`crate::workload::rate_for_load`].
    pub flows_per_second: f64,
    /// No flow starts before.
    pub begin: Time,
    /// No flow starts at or after this instant; [`Time::NEVER`] for none, then `count` must be given.
    pub end: Time,
    /// At most this many flows in all, the first in start order.
    pub count: Option<u64>,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
    /// Everything else about the flows.
    pub flow: FlowDefaults,
}

/// Flows of independent Poisson processes in start order; equal starts in order of the host.
///
/// The `n`-th flow of a host takes the `n`-th number of that host's arrival, size and destination streams. Memory is per
/// host; the fraction of a picosecond that a start leaves over is carried to the next gap, so the rate has no rounding bias.
#[derive(Clone, Debug)]
pub struct Poisson {
    hosts: Vec<Host>,
    destinations: Vec<NodeId>,
    sizes: SizeLaw,
    mean_gap: f64,
    end: Time,
    left: u64,
    flow: FlowDefaults,
    /// Next start (ps) and index of every host that has one.
    next: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Debug)]
struct Host {
    node: NodeId,
    /// Its own place among the destinations; their number if it is not one.
    own: u32,
    /// Gaps; its position is the number of the flow to come, plus one.
    arrivals: Stream,
    sizes: Stream,
    destinations: Stream,
    /// Fraction of a picosecond left over.
    carry: f64,
}

impl Poisson {
    /// A source of flows.
    ///
    /// # Errors
    /// An empty or repeating host list, a source with nobody to send to, a rate that is not above 0 and up to 10^12 per
    /// second, an end not after `begin`, neither end nor count, a class out of range, a size of 0.
    pub fn new(config: &PoissonConfig) -> Result<Self, InputError> {
        let PoissonConfig { seed, workload, begin, end, .. } = *config;
        let destinations = host_list(&config.destinations, "destinations", 1)?;
        let sources = host_list(&config.sources, "sources", 1)?;
        config.sizes.check()?;
        config.flow.check()?;
        let mean_gap = mean_gap(config.flows_per_second, "flows per second")?;
        if end <= begin {
            return Err(InputError::new("ends before it begins")
                .field("end")
                .value(end)
                .allowed(format!("after {begin}")));
        }
        if end == Time::NEVER && config.count.is_none() {
            return Err(InputError::new("would never end").field("end").allowed("an end, a count of flows, or both"));
        }
        if let [only] = destinations[..]
            && sources.binary_search(&only).is_ok()
        {
            let problem = "the only destination cannot send to itself";
            return Err(InputError::new(problem).field("sources").value(only).allowed("other hosts"));
        }
        let mut source = Self {
            hosts: Vec::with_capacity(sources.len()),
            sizes: config.sizes.clone(),
            mean_gap,
            end,
            left: config.count.unwrap_or(u64::MAX),
            flow: config.flow,
            next: BinaryHeap::with_capacity(sources.len()),
            destinations,
        };
        for (i, node) in sources.into_iter().enumerate() {
            let stream = |purpose| Stream::new(seed, purpose, stream_id(workload, u64::from(node)));
            let own = source.destinations.binary_search(&node).unwrap_or(source.destinations.len()) as u32;
            let mut host = Host {
                node,
                own,
                arrivals: stream(Purpose::Arrivals),
                sizes: stream(Purpose::Sizes),
                destinations: stream(Purpose::Destinations),
                carry: 0.0,
            };
            if let Some(first) = next_start(begin.0, end.0, &mut host.arrivals, mean_gap, &mut host.carry) {
                source.next.push(Reverse((first, i as u32)));
            }
            source.hosts.push(host);
        }
        Ok(source)
    }
}

/// Mean gap in picoseconds between events of this rate.
pub(crate) fn mean_gap(per_second: f64, field: &str) -> Result<f64, InputError> {
    if per_second > 0.0 && per_second <= 1e12 {
        return Ok(S as f64 / per_second);
    }
    Err(InputError::new("not a rate").field(field).value(per_second).allowed("above 0, up to 1e12"))
}

/// The start after `now`, if it is before `end`.
#[inline]
pub(crate) fn next_start(now: u64, end: u64, gaps: &mut Stream, mean: f64, carry: &mut f64) -> Option<u64> {
    let gap = gaps.exponential(mean) + *carry;
    let whole = gap as u64;
    *carry = gap - whole as f64;
    now.checked_add(whole).filter(|start| *start < end)
}

impl FlowSource for Poisson {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        self.left = self.left.checked_sub(1)?;
        let mut top = self.next.peek_mut()?;
        let Reverse((start, i)) = *top;
        let host = &mut self.hosts[i as usize];
        let n = host.arrivals.position() - 1;
        let others = self.destinations.len() as u32 - u32::from((host.own as usize) < self.destinations.len());
        let drawn = rng::below(host.destinations.at(n), others);
        let dst = self.destinations[(drawn + u32::from(drawn >= host.own)) as usize];
        let bytes = self.sizes.draw(host.sizes.at(n));
        match next_start(start, self.end.0, &mut host.arrivals, self.mean_gap, &mut host.carry) {
            Some(next) => *top = Reverse((next, i)),
            None => drop(PeekMut::pop(top)),
        }
        Some(self.flow.flow(Time(start), host.node, dst, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::workload::{LoadReference, builtin, rate_for_load};

    fn config(hosts: u32) -> PoissonConfig {
        PoissonConfig {
            sources: (0..hosts).collect(),
            destinations: (0..hosts).collect(),
            sizes: SizeLaw::Drawn(Arc::new(builtin("websearch").unwrap().cdf)),
            flows_per_second: 1e5,
            begin: Time(5_000_000),
            end: Time(S / 20),
            count: None,
            seed: 1,
            workload: 0,
            flow: FlowDefaults::default(),
        }
    }

    fn all(config: &PoissonConfig) -> Vec<FlowSpec> {
        let mut source = Poisson::new(config).unwrap();
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    /// Rate, window, order, sizes and destinations of 16 hosts in 50 ms: 80 000 flows expected, sd 283.
    #[test]
    fn flows_have_the_rate_and_shape_asked_for() {
        let config = config(16);
        let flows = all(&config);
        assert!((78_600..81_400).contains(&flows.len()), "{}", flows.len());
        assert!(flows.is_sorted_by_key(|f| f.start));
        assert!(flows.iter().all(|f| f.src != f.dst && f.start >= config.begin && f.start < config.end));
        let mut pairs = [[0u32; 16]; 16];
        for f in &flows {
            pairs[f.src as usize][f.dst as usize] += 1;
        }
        // About 333 flows for each of 240 pairs, sd 18.
        for (s, row) in pairs.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(d, n)| (d == s && *n == 0) || (245..425).contains(n)), "{row:?}");
        }
        let mean = flows.iter().map(|f| f.bytes as f64).sum::<f64>() / flows.len() as f64;
        assert!((mean / config.sizes.mean() - 1.0).abs() < 0.05, "{mean}");
        // Memoryless: the gaps of one host have a standard deviation equal to their mean.
        let starts: Vec<f64> = flows.iter().filter(|f| f.src == 3).map(|f| f.start.0 as f64).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e7 - 1.0).abs() < 0.07 && (sd / mean - 1.0).abs() < 0.1, "{mean} {sd}");
    }

    /// The bytes offered over a second are the load asked for.
    #[test]
    fn offered_load_is_met() {
        let sizes = SizeLaw::Drawn(Arc::new(builtin("hadoop").unwrap().cdf));
        let of = LoadReference::host_links(8, 1e10);
        let flows_per_second = rate_for_load(0.6, sizes.mean(), of, 8).unwrap();
        let flows = all(&PoissonConfig { sizes, flows_per_second, begin: Time(0), end: Time(S), ..config(8) });
        let offered = flows.iter().map(|f| f.bytes as f64).sum::<f64>() * 8.0 / of.capacity_bps;
        assert!((offered - 0.6).abs() < 0.02, "{offered}");
    }

    #[test]
    fn count_keeps_the_first_flows_and_host_order_has_no_effect() {
        let config = config(16);
        let flows = all(&config);
        let mut few = PoissonConfig { count: Some(1000), end: Time::NEVER, ..config.clone() };
        assert_eq!(all(&few), flows[..1000]);
        few.sources.reverse();
        few.destinations.reverse();
        assert_eq!(all(&few), flows[..1000]);
    }

    /// One host more leaves the starts and sizes of the others alone; another seed or workload number changes all.
    #[test]
    fn streams_are_named_by_host_workload_and_seed() {
        let of_host = |flows: Vec<FlowSpec>| -> Vec<(Time, u64)> {
            flows.iter().filter(|f| f.src == 3).map(|f| (f.start, f.bytes)).collect()
        };
        let base = of_host(all(&config(8)));
        assert_eq!(of_host(all(&config(9))), base);
        for other in [PoissonConfig { seed: 2, ..config(8) }, PoissonConfig { workload: 1, ..config(8) }] {
            let other = of_host(all(&other));
            assert!(other.iter().zip(&base).all(|(a, b)| a.0 != b.0));
        }
    }

    /// The same on every machine: part of the meaning of a seed.
    #[test]
    fn golden_flows() {
        let flows = all(&PoissonConfig { count: Some(3), ..config(4) });
        let seen: Vec<_> = flows.iter().map(|f| (f.start.0, f.src, f.dst, f.bytes)).collect();
        assert_eq!(seen, [(6_297_767, 1, 2, 1_730_100), (10_219_422, 2, 0, 3_353), (12_949_610, 0, 1, 11_169)]);
    }

    #[test]
    fn wrong_settings_are_refused() {
        let bad = |change: fn(&mut PoissonConfig)| {
            let mut config = config(4);
            change(&mut config);
            Poisson::new(&config).unwrap_err().to_string()
        };
        assert!(bad(|c| c.sources = vec![1, 2, 1]).contains("sources = 1: host listed twice"));
        assert!(bad(|c| c.sources.clear()).contains("too few hosts"));
        assert!(bad(|c| c.destinations = vec![2]).contains("the only destination cannot send to itself"));
        assert!(bad(|c| c.flows_per_second = f64::NAN).contains("flows per second = NaN"));
        assert!(bad(|c| c.flows_per_second = 0.0).contains("not a rate"));
        assert!(bad(|c| c.end = c.begin).contains("ends before it begins"));
        assert!(bad(|c| c.end = Time::NEVER).contains("would never end"));
        assert!(bad(|c| c.flow.class = 8).contains("class = 8"));
        assert!(bad(|c| c.sizes = SizeLaw::Fixed(0)).contains("a flow needs bytes"));
    }
}
