//! Regular patterns: permutation and all-to-all.

use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::{Duration, Time};

use crate::InputError;
use crate::clock::LATEST;
use crate::graph::NodeId;
use crate::workload::{CLOCK, FlowDefaults, FlowSource, FlowSpec, SizeLaw, host_list, stream_id};

/// How a permutation maps senders to receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shuffle {
    /// Drawn for each round; no host sends to itself, all such permutations equally likely.
    Random,
    /// The host at place `i` of the list sends to place `i + shift`, modulo the length.
    Shift(u32),
}

/// What [`Permutation`] draws.
#[derive(Clone, Debug)]
pub struct PermutationConfig {
    /// The hosts: each sends one flow and receives one flow per round.
    pub hosts: Vec<NodeId>,
    /// Who sends to whom.
    pub shuffle: Shuffle,
    /// Flow sizes.
    pub sizes: SizeLaw,
    /// Start of the first round; all its flows start together.
    pub begin: Time,
    /// From one round to the next; no effect with one round.
    pub period: Duration,
    /// Number of rounds.
    pub rounds: u64,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
    /// Everything else about the flows.
    pub flow: FlowDefaults,
}

/// Permutation traffic; flows of a round in order of the sender's place in the list.
#[derive(Clone, Debug)]
pub struct Permutation {
    config: PermutationConfig,
    round: u64,
    at: usize,
    /// Receiver's place for each sender's place, of the current round.
    map: Vec<u32>,
}

impl Permutation {
    /// A source of flows.
    ///
    /// # Errors
    /// Fewer than two hosts or a repeated one, a shift that maps hosts to themselves, no rounds, several with a period of 0,
    /// starts beyond the clock, a size of 0, a class out of range.
    pub fn new(config: &PermutationConfig) -> Result<Self, InputError> {
        let n = host_list(&config.hosts, "hosts", 2)?.len() as u64;
        config.sizes.check()?;
        config.flow.check()?;
        if let Shuffle::Shift(shift) = config.shuffle
            && u64::from(shift).is_multiple_of(n)
        {
            let error = InputError::new("hosts would send to themselves").field("shift").value(shift);
            return Err(error.allowed(format!("no multiple of the {n} hosts")));
        }
        check_rounds(config.begin, config.period, config.rounds)?;
        Ok(Self { config: config.clone(), round: 0, at: 0, map: Vec::new() })
    }

    fn shuffle(&mut self) {
        let n = self.config.hosts.len() as u32;
        match self.config.shuffle {
            Shuffle::Shift(shift) => {
                self.map = (0..n).map(|i| ((u64::from(i) + u64::from(shift)) % u64::from(n)) as u32).collect();
            }
            // Shuffles are drawn until one has no fixed point: e on average, and all derangements stay equally likely.
            Shuffle::Random => {
                let id = stream_id(self.config.workload, self.round);
                let mut draws = Stream::new(self.config.seed, Purpose::Permutation, id);
                self.map = (0..n).collect();
                while self.map.iter().zip(0..).any(|(to, from)| *to == from) {
                    for i in (1..n).rev() {
                        self.map.swap(i as usize, draws.below(i + 1) as usize);
                    }
                }
            }
        }
    }
}

impl FlowSource for Permutation {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let c = &self.config;
        if self.round == c.rounds {
            return None;
        }
        if self.at == 0 {
            self.shuffle();
        }
        let c = &self.config;
        let start = Time(c.begin.0 + self.round * c.period.0);
        let (src, dst) = (c.hosts[self.at], c.hosts[self.map[self.at] as usize]);
        let sizes = Stream::new(c.seed, Purpose::Sizes, stream_id(c.workload, u64::from(src)));
        let flow = c.flow.flow(start, src, dst, c.sizes.draw(sizes.at(self.round)));
        self.at += 1;
        if self.at == c.hosts.len() {
            self.at = 0;
            self.round += 1;
        }
        Some(flow)
    }
}

/// What [`AllToAll`] sends.
#[derive(Clone, Debug)]
pub struct AllToAllConfig {
    /// The hosts: each sends one flow to each other per round.
    pub hosts: Vec<NodeId>,
    /// Flow sizes.
    pub sizes: SizeLaw,
    /// Start of the first round.
    pub begin: Time,
    /// From a host's start of one flow to that of its next in the round; 0 starts all together.
    pub step: Duration,
    /// From one round to the next, at least `step` times the hosts less 2; no effect with one round.
    pub period: Duration,
    /// Number of rounds.
    pub rounds: u64,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
    /// Everything else about the flows.
    pub flow: FlowDefaults,
}

/// All-to-all traffic. The `k`-th flow of the host at place `i` goes to place `i + k` modulo the length, so that equal
/// numbers never meet at one receiver.
#[derive(Clone, Debug)]
pub struct AllToAll {
    config: AllToAllConfig,
    round: u64,
    /// Distance to the receiver, from 1.
    shift: usize,
    at: usize,
}

impl AllToAll {
    /// A source of flows.
    ///
    /// # Errors
    /// Fewer than two hosts or a repeated one, no rounds, rounds that overlap, starts beyond the clock, a size of 0, a class
    /// out of range.
    pub fn new(config: &AllToAllConfig) -> Result<Self, InputError> {
        let n = host_list(&config.hosts, "hosts", 2)?.len() as u64;
        config.sizes.check()?;
        config.flow.check()?;
        let late =
            || InputError::new("goes beyond the end of the clock").field("step").value(config.step).allowed(CLOCK);
        let span = config.step.0.checked_mul(n - 2).ok_or_else(late)?;
        let last = check_rounds(config.begin, config.period, config.rounds)?;
        last.checked_add(span).filter(|end| *end < LATEST.0).ok_or_else(late)?;
        if config.rounds > 1 && config.period.0 < span {
            let error = InputError::new("rounds overlap").field("period").value(config.period);
            return Err(error.allowed(format!("{} or more", Duration(span))));
        }
        Ok(Self { config: config.clone(), round: 0, shift: 1, at: 0 })
    }
}

impl FlowSource for AllToAll {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let c = &self.config;
        if self.round == c.rounds {
            return None;
        }
        let n = c.hosts.len();
        let (src, dst) = (c.hosts[self.at], c.hosts[(self.at + self.shift) % n]);
        let start = Time(c.begin.0 + self.round * c.period.0 + (self.shift as u64 - 1) * c.step.0);
        let sizes = Stream::new(c.seed, Purpose::Sizes, stream_id(c.workload, u64::from(src)));
        let drawn = self.round * (n as u64 - 1) + self.shift as u64 - 1;
        let flow = c.flow.flow(start, src, dst, c.sizes.draw(sizes.at(drawn)));
        self.at += 1;
        if self.at == n {
            self.at = 0;
            self.shift += 1;
        }
        if self.shift == n {
            self.shift = 1;
            self.round += 1;
        }
        Some(flow)
    }
}

/// Start of the last round in picoseconds.
fn check_rounds(begin: Time, period: Duration, rounds: u64) -> Result<u64, InputError> {
    let Some(more) = rounds.checked_sub(1) else {
        return Err(InputError::new("must not be 0").field("rounds").value(0).allowed("1 or more"));
    };
    if more > 0 && period.0 == 0 {
        return Err(InputError::new("must not be 0 with several rounds")
            .field("period")
            .value(period)
            .allowed("above 0"));
    }
    let last = period.0.checked_mul(more).and_then(|d| begin.0.checked_add(d)).filter(|t| *t < LATEST.0);
    last.ok_or_else(|| InputError::new("goes beyond the end of the clock").field("rounds").value(rounds).allowed(CLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permutation(hosts: Vec<NodeId>, shuffle: Shuffle) -> PermutationConfig {
        let (sizes, flow) = (SizeLaw::Fixed(1000), FlowDefaults::default());
        let (begin, period) = (Time(7), Duration(100));
        PermutationConfig { hosts, shuffle, sizes, begin, period, rounds: 1, seed: 1, workload: 0, flow }
    }

    fn pairs(mut source: impl FlowSource) -> Vec<(u64, NodeId, NodeId)> {
        std::iter::from_fn(|| source.next_flow()).map(|f| (f.start.0, f.src, f.dst)).collect()
    }

    #[test]
    fn shift_maps_by_place() {
        let config = permutation(vec![4, 9, 2], Shuffle::Shift(1));
        assert_eq!(pairs(Permutation::new(&config).unwrap()), [(7, 4, 9), (7, 9, 2), (7, 2, 4)]);
    }

    /// Each of the nine derangements of four hosts turns up its share of times, over rounds.
    #[test]
    fn random_rounds_are_uniform_derangements() {
        let config = PermutationConfig { rounds: 9_000, ..permutation((0..4).collect(), Shuffle::Random) };
        let flows = pairs(Permutation::new(&config).unwrap());
        let mut seen = std::collections::BTreeMap::new();
        for (round, four) in flows.chunks(4).enumerate() {
            assert!(four.iter().all(|f| f.0 == 7 + 100 * round as u64));
            *seen.entry(four.iter().map(|f| f.2).collect::<Vec<_>>()).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 9);
        for (to, n) in seen {
            let mut sorted = to.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
            assert!((840..1160).contains(&n) && to.iter().zip(0..).all(|(d, s)| *d != s), "{to:?} {n}");
        }
        let other = PermutationConfig { seed: 2, ..config };
        assert_ne!(pairs(Permutation::new(&other).unwrap()), flows);
    }

    #[test]
    fn all_to_all_sends_every_pair_once_per_round_in_start_order() {
        let flow = FlowDefaults::default();
        let (sizes, step, period) = (SizeLaw::Fixed(1), Duration(10), Duration(50));
        let config = AllToAllConfig {
            hosts: vec![5, 6, 7],
            sizes,
            begin: Time(0),
            step,
            period,
            rounds: 2,
            seed: 1,
            workload: 0,
            flow,
        };
        let flows = pairs(AllToAll::new(&config).unwrap());
        assert_eq!(flows[..6], [(0, 5, 6), (0, 6, 7), (0, 7, 5), (10, 5, 7), (10, 6, 5), (10, 7, 6)]);
        assert!(flows[6..].iter().zip(&flows).all(|(b, a)| (b.0 - 50, b.1, b.2) == *a) && flows.len() == 12);
        let overlap = AllToAllConfig { step: Duration(60), ..config };
        assert!(AllToAll::new(&overlap).unwrap_err().to_string().contains("rounds overlap"));
    }

    #[test]
    fn wrong_settings_are_refused() {
        let bad = |config: PermutationConfig| Permutation::new(&config).unwrap_err().to_string();
        assert!(bad(permutation(vec![1], Shuffle::Random)).contains("too few hosts"));
        assert!(bad(permutation(vec![1, 1], Shuffle::Random)).contains("twice"));
        let two = permutation(vec![1, 2], Shuffle::Shift(4));
        assert!(bad(two.clone()).contains("shift = 4"));
        let two = PermutationConfig { shuffle: Shuffle::Random, ..two };
        assert!(bad(PermutationConfig { rounds: 0, ..two.clone() }).contains("rounds = 0"));
        assert!(bad(PermutationConfig { rounds: 2, period: Duration(0), ..two.clone() }).contains("period"));
        assert!(bad(PermutationConfig { rounds: u64::MAX, ..two }).contains("beyond the end of the clock"));
    }
}
