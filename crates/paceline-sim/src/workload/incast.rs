//! Incast: many hosts send to one at the same time, once or again and again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::{Duration, Time};

use crate::InputError;
use crate::clock::LATEST;
use crate::graph::NodeId;
use crate::workload::poisson::{mean_gap, next_start};
use crate::workload::{CLOCK, FlowDefaults, FlowSource, FlowSpec, SizeLaw, host_list, stream_id};

/// Flows of episodes under way at one time that are accepted; each takes some bytes of memory.
const MAX_PENDING: f64 = 1e7;

/// When the episodes of an incast begin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Episodes {
    /// `count` of them, `period` apart.
    Every {
        /// First one.
        begin: Time,
        /// From one to the next; no effect with a count of 1.
        period: Duration,
        /// How many.
        count: u64,
    },
    /// A Poisson process.
    Poisson {
        /// Mean number per second; see [`crate::workload::rate_for_load`].
        per_second: f64,
        /// None begins before.
        begin: Time,
        /// None begins at or after this instant.
        end: Time,
    },
}

/// What [`Incast`] draws.
#[derive(Clone, Debug)]
pub struct IncastConfig {
    /// Hosts that may send.
    pub senders: Vec<NodeId>,
    /// Flows per episode. More than there are senders: each sends several, as evenly as can be.
    pub fan_in: u32,
    /// Senders are drawn anew for each episode; otherwise the first ones in order of the node id.
    pub random_senders: bool,
    /// One receiver, or several of which one is drawn for each episode. It never sends to itself.
    pub receivers: Vec<NodeId>,
    /// Flow sizes.
    pub sizes: SizeLaw,
    /// From one sender's start to the next one's; 0 for a synchronous incast.
    pub step: Duration,
    /// When episodes begin.
    pub episodes: Episodes,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
    /// Everything else about the flows.
    pub flow: FlowDefaults,
}

/// Incast flows in start order. Memory is for the senders and the episodes under way.
#[derive(Clone, Debug)]
pub struct Incast {
    /// Candidates, ascending between draws.
    senders: Vec<NodeId>,
    receivers: Vec<NodeId>,
    config: IncastConfig,
    /// Beginning and number of the next episode.
    next: Option<(u64, u64)>,
    gaps: Stream,
    mean_gap: f64,
    carry: f64,
    under_way: BinaryHeap<Reverse<Episode>>,
}

/// An episode under way, ordered by its next start, then its number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Episode {
    at: u64,
    number: u64,
    sent: u32,
    receiver: NodeId,
    senders: Vec<NodeId>,
}

impl Incast {
    /// A source of flows.
    ///
    /// # Errors
    /// Empty or repeating host lists, nobody to send, a fan-in, count or size of 0, a period of 0 with several episodes, a rate
    /// out of range, an end not after the beginning, starts beyond the clock, too many episodes under way at a time.
    pub fn new(config: &IncastConfig) -> Result<Self, InputError> {
        let senders = host_list(&config.senders, "senders", 1)?;
        let receivers = host_list(&config.receivers, "receivers", 1)?;
        config.sizes.check()?;
        config.flow.check()?;
        if let [only] = senders[..]
            && receivers.binary_search(&only).is_ok()
        {
            let problem = "the only sender cannot send to itself";
            return Err(InputError::new(problem).field("receivers").value(only).allowed("other hosts"));
        }
        let zero = |field: &str| Err(InputError::new("must not be 0").field(field).value(0).allowed("1 or more"));
        if config.fan_in == 0 {
            return zero("fan-in");
        }
        let late = |field: &str| Err(InputError::new("goes beyond the end of the clock").field(field).allowed(CLOCK));
        let Some(span) = config.step.0.checked_mul(u64::from(config.fan_in - 1)) else { return late("step") };
        let gaps = Stream::new(config.seed, Purpose::Episodes, stream_id(config.workload, 0));
        let (config, next) = (config.clone(), None);
        let mut incast =
            Self { senders, receivers, next, gaps, mean_gap: 0.0, carry: 0.0, under_way: BinaryHeap::new(), config };
        let (last, apart) = match incast.config.episodes {
            Episodes::Every { count: 0, .. } => return zero("count"),
            Episodes::Every { period: Duration(0), count: 2.., .. } => return zero("period"),
            Episodes::Every { begin, period, count } => {
                incast.next = Some((begin.0, 0));
                let last = period.0.checked_mul(count - 1).and_then(|d| begin.0.checked_add(d));
                (last, if count == 1 { f64::INFINITY } else { period.0 as f64 })
            }
            Episodes::Poisson { per_second, begin, end } => {
                if end <= begin {
                    let error = InputError::new("ends before it begins").field("end").value(end);
                    return Err(error.allowed(format!("after {begin}")));
                }
                incast.mean_gap = mean_gap(per_second, "episodes per second")?;
                incast.next = incast.poisson_start(begin.0, end.0).map(|at| (at, 0));
                (Some(end.0), incast.mean_gap)
            }
        };
        if last.and_then(|last| last.checked_add(span)).is_none_or(|end| Time(end) >= LATEST) {
            return late("episodes");
        }
        let pending = (span as f64 / apart + 1.0) * f64::from(incast.config.fan_in);
        if pending > MAX_PENDING {
            let error =
                InputError::new("too many flows of overlapping episodes").field("step").value(incast.config.step);
            return Err(error.allowed(format!("about {MAX_PENDING} flows under way at most")));
        }
        Ok(incast)
    }

    fn poisson_start(&mut self, now: u64, end: u64) -> Option<u64> {
        next_start(now, end, &mut self.gaps, self.mean_gap, &mut self.carry)
    }

    /// Draws receiver and senders of an episode from a stream of its own.
    fn open(&mut self, at: u64, number: u64) {
        let mut draws = Stream::new(self.config.seed, Purpose::Incast, stream_id(self.config.workload, number));
        let receiver = self.receivers[draws.below(self.receivers.len() as u32) as usize];
        let fan_in = self.config.fan_in as usize;
        let senders = if self.config.random_senders {
            // The first steps of a Fisher-Yates shuffle, undone afterwards so that no episode depends on those before it.
            let mut swaps = Vec::with_capacity(fan_in.min(self.senders.len()) + 1);
            let mut eligible = self.senders.len();
            if let Ok(own) = self.senders.binary_search(&receiver) {
                eligible -= 1;
                self.senders.swap(own, eligible);
                swaps.push((own, eligible));
            }
            let picked = fan_in.min(eligible);
            for i in 0..picked {
                let j = i + draws.below((eligible - i) as u32) as usize;
                self.senders.swap(i, j);
                swaps.push((i, j));
            }
            let senders = self.senders[..picked].to_vec();
            for (i, j) in swaps.into_iter().rev() {
                self.senders.swap(i, j);
            }
            senders
        } else {
            self.senders.iter().copied().filter(|s| *s != receiver).take(fan_in).collect()
        };
        self.under_way.push(Reverse(Episode { at, number, sent: 0, receiver, senders }));
    }
}

impl FlowSource for Incast {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        while let Some((at, number)) = self.next {
            if self.under_way.peek().is_some_and(|Reverse(e)| e.at < at) {
                break;
            }
            self.open(at, number);
            self.next = match self.config.episodes {
                Episodes::Every { period, count, .. } => (number + 1 < count).then(|| at + period.0),
                Episodes::Poisson { end, .. } => self.poisson_start(at, end.0),
            }
            .map(|at| (at, number + 1));
        }
        let mut top = self.under_way.peek_mut()?;
        let episode = &mut top.0;
        let sizes = Stream::new(self.config.seed, Purpose::Sizes, stream_id(self.config.workload, episode.number));
        let bytes = self.config.sizes.draw(sizes.at(u64::from(episode.sent)));
        let src = episode.senders[episode.sent as usize % episode.senders.len()];
        let flow = self.config.flow.flow(Time(episode.at), src, episode.receiver, bytes);
        episode.sent += 1;
        if episode.sent == self.config.fan_in {
            std::collections::binary_heap::PeekMut::pop(top);
        } else {
            episode.at += self.config.step.0;
        }
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use paceline_proto::units::{MS, S, US};

    use super::*;
    use crate::workload::{LoadReference, rate_for_load};

    fn config() -> IncastConfig {
        IncastConfig {
            senders: (0..8).collect(),
            fan_in: 4,
            random_senders: false,
            receivers: vec![1],
            sizes: SizeLaw::Fixed(500_000),
            step: Duration(0),
            episodes: Episodes::Every { begin: Time(US), period: Duration::from_us(10), count: 2 },
            seed: 1,
            workload: 0,
            flow: FlowDefaults::default(),
        }
    }

    fn all(config: &IncastConfig) -> Vec<FlowSpec> {
        let mut source = Incast::new(config).unwrap();
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    fn starts(config: &IncastConfig) -> Vec<(u64, NodeId)> {
        all(config).iter().map(|f| (f.start.0 / US, f.src)).collect()
    }

    #[test]
    fn synchronous_episodes_repeat() {
        assert_eq!(starts(&config()), [(1, 0), (1, 2), (1, 3), (1, 4), (11, 0), (11, 2), (11, 3), (11, 4)]);
        assert!(all(&config()).iter().all(|f| f.dst == 1 && f.bytes == 500_000));
    }

    /// Staggered over longer than the period: two episodes under way, still in start order.
    #[test]
    fn overlapping_staggered_episodes_interleave() {
        let config = IncastConfig { fan_in: 3, step: Duration::from_us(7), ..config() };
        assert_eq!(starts(&config), [(1, 0), (8, 2), (11, 0), (15, 3), (18, 2), (25, 3)]);
    }

    /// 3000 flows from 7 hosts: each sends 428 or 429 of them.
    #[test]
    fn a_fan_in_above_the_senders_is_spread_evenly() {
        for random_senders in [false, true] {
            let flows = all(&IncastConfig { fan_in: 3000, random_senders, ..config() });
            for host in 0..8 {
                let n = flows[..3000].iter().filter(|f| f.src == host).count();
                assert!(if host == 1 { n == 0 } else { n == 428 || n == 429 }, "{host} {n}");
            }
        }
    }

    /// The paper's mix: 2 % load of Poisson episodes of 60 random senders and 500 KB each among 320 hosts.
    #[test]
    fn random_episodes_have_the_load_and_distinct_senders() {
        let hosts: Vec<NodeId> = (0..320).collect();
        let of = LoadReference::host_links(320, 1e11);
        let per_second = rate_for_load(0.02, 60.0 * 500e3, of, 1).unwrap();
        let (begin, end) = (Time(0), Time(S / 2));
        let flows = all(&IncastConfig {
            senders: hosts.clone(),
            receivers: hosts,
            fan_in: 60,
            random_senders: true,
            episodes: Episodes::Poisson { per_second, begin, end },
            ..config()
        });
        let offered = flows.len() as f64 * 500e3 * 8.0 / (of.capacity_bps * 0.5);
        assert!((offered - 0.02).abs() < 0.0018, "{offered}"); // 1333 episodes, three sd
        let (mut sends, mut receives) = ([0u32; 320], [0u32; 320]);
        for episode in flows.chunks(60) {
            let mut senders: Vec<_> = episode.iter().map(|f| f.src).collect();
            senders.sort_unstable();
            senders.dedup();
            assert_eq!(senders.len(), 60);
            assert!(episode.iter().all(|f| f.dst == episode[0].dst && f.src != f.dst && f.start == episode[0].start));
            for f in episode {
                sends[f.src as usize] += 1;
            }
            receives[episode[0].dst as usize] += 1;
        }
        let mean = flows.len() as f64 / 320.0;
        assert!(sends.iter().all(|n| (f64::from(*n) - mean).abs() < 5.0 * mean.sqrt()), "{mean} {sends:?}");
        assert!(receives.iter().filter(|n| **n > 0).count() > 300);
    }

    #[test]
    fn wrong_settings_are_refused() {
        let bad = |change: fn(&mut IncastConfig)| {
            let mut config = config();
            change(&mut config);
            Incast::new(&config).unwrap_err().to_string()
        };
        let every = |period: u64, count: u64| Episodes::Every { begin: Time(0), period: Duration(period), count };
        assert!(bad(|c| c.fan_in = 0).contains("fan-in = 0"));
        assert!(bad(|c| c.senders = vec![1]).contains("the only sender"));
        assert!(bad(|c| c.receivers.clear()).contains("receivers = 0: too few hosts"));
        let mut c = config();
        for (episodes, message) in [
            (every(1, 0), "count = 0"),
            (every(0, 2), "period = 0"),
            (every(u64::MAX, 3), "beyond the end of the clock"),
            (Episodes::Poisson { per_second: -1.0, begin: Time(0), end: Time(1) }, "not a rate"),
            (Episodes::Poisson { per_second: 1.0, begin: Time(1), end: Time(1) }, "ends before"),
            (Episodes::Poisson { per_second: 1.0, begin: Time(1), end: Time::NEVER }, "end of the clock"),
        ] {
            c.episodes = episodes;
            assert!(Incast::new(&c).unwrap_err().to_string().contains(message), "{message}");
        }
        let crowd = IncastConfig { step: Duration(MS), fan_in: 100_000, ..config() };
        assert!(Incast::new(&IncastConfig { episodes: every(1, 1 << 40), ..crowd }).is_err());
    }
}
