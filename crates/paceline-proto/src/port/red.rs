//! Random early detection (RED) on the average queue: Floyd and Jacobson, 1993, with ECN (RFC 3168).
//!
//! Source: the paper's algorithm in the form of the facts on converged Ethernet, section 5. Unlike the thresholds on the
//! instantaneous queue of data centre switches ([`super::selective_drop`] and the switches' own marking), the average
//! lets bursts pass: at 10 Gb/s and a weight of 0.002 it takes 0.6 ms to follow the queue. Marks are spread evenly: the longer
//! the last one is ago, the likelier the next.
//!
//! The average is a double. Only sums, products and quotients of doubles are used, which IEEE 754 rounds the same way on
//! every machine; the power over an idle time is made by squaring and never by a library's `pow`.

use super::Verdict;
use crate::units::{BitsPerSec, Duration};

/// Parameters of a queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Average queue up to which nothing is marked, bytes. Default 25,600 (`HotI` 2011).
    pub min: u32,
    /// Average queue from which on everything is marked, bytes, above `min`. Default 76,800 (`HotI` 2011).
    pub max: u32,
    /// Weight of the newest queue in the average (Wq), 0 to 1; 1 is the queue as it is. Default 0.002 (the paper, `HotI` 2011).
    pub weight: f64,
    /// Probability of a mark as the average nears `max`, 0 to 1. Default 0.02 (the paper, `HotI` 2011).
    pub p_max: f64,
    /// Size of the packets that an idle link is taken to send, bytes on the wire, 1 and up. Default 1500.
    pub packet: u32,
    /// From `max` to twice `max` the probability grows from `p_max` to 1, instead of being 1 at once (Floyd 2000). Default off.
    pub gentle: bool,
    /// A packet without ECN is dropped where one with it is marked (RFC 3168); otherwise it passes. Default off: in `HotI` 2011
    /// only data feel RED, not SYNs, ACKs and retransmissions (inferred).
    pub drop_non_ect: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { min: 25_600, max: 76_800, weight: 0.002, p_max: 0.02, packet: 1500, gentle: false, drop_non_ect: false }
    }
}

impl Params {
    /// Time of a packet on an idle link of a rate: what [`Red::on_arrival`] counts idle times in.
    pub fn packet_time(&self, link: BitsPerSec) -> Duration {
        Duration(link.serialisation(u64::from(self.packet)).0.max(1))
    }

    /// Probability of a mark at an average queue, for the first packet after a mark.
    pub fn probability(&self, average: f64) -> f64 {
        let (min, max) = (f64::from(self.min), f64::from(self.max));
        if average < min {
            0.0
        } else if average < max {
            self.p_max * (average - min) / (max - min)
        } else if self.gentle && average < 2.0 * max {
            self.p_max + (1.0 - self.p_max) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// What RED remembers of a queue.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Red {
    /// Average queue, bytes.
    average: f64,
    /// Packets since the last mark, plus one; 0 while the average is below `min`.
    count: u32,
}

impl Red {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// The average queue, bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// What becomes of an arriving packet, whether or not the buffer has room for it.
    ///
    /// `queue`: bytes that wait, this packet not counted. `idle`: for how long the link has had nothing to send, counts only with
    /// `queue` 0.
    /// `packet_time`: [`Params::packet_time`] of the queue's link. `ect`: the packet understands marks. `random`: 64 random
    /// bits, drawn only where chance decides.
    pub fn on_arrival(
        &mut self,
        p: &Params,
        queue: u32,
        idle: Duration,
        packet_time: Duration,
        ect: bool,
        random: impl FnOnce() -> u64,
    ) -> Verdict {
        let old = 1.0 - p.weight;
        if queue > 0 {
            self.average = old * self.average + p.weight * f64::from(queue);
        } else {
            self.average *= power(old, (idle.0 / packet_time.0.max(1)).saturating_add(1));
        }
        let before = self.count;
        if !self.chooses(p, random) {
            return Verdict::Enqueue;
        }
        match (ect, p.drop_non_ect) {
            (true, _) => Verdict::Mark,
            (false, true) => Verdict::Drop,
            (false, false) => {
                // Nothing is marked, so the count goes on: the next packet that understands marks is as likely as it was.
                self.count = before.saturating_add(1);
                Verdict::Enqueue
            }
        }
    }

    /// Whether this packet is the one.
    fn chooses(&mut self, p: &Params, random: impl FnOnce() -> u64) -> bool {
        let likely = p.probability(self.average);
        if self.average < f64::from(p.min) {
            self.count = 0;
            return false;
        }
        if likely >= 1.0 {
            self.count = 1;
            return true;
        }
        // The first packet above `min` is spared and starts the count (as in the ns simulators).
        let spared = self.count == 0;
        let since = f64::from(self.count);
        self.count = self.count.saturating_add(1);
        if spared {
            return false;
        }
        // likely / (1 - since * likely), and 1 where that is no probability.
        let left = 1.0 - since * likely;
        let chosen = left <= likely || crate::rng::unit(random()) * left < likely;
        if chosen {
            self.count = 1;
        }
        chosen
    }
}

/// `base` to the power of `n`, by squaring.
pub(super) fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};
    use crate::units::US;
    use proptest::prelude::*;

    const FULL: Duration = Duration(1_200_000);

    fn arrive(red: &mut Red, p: &Params, queue: u32, bits: u64) -> Verdict {
        red.on_arrival(p, queue, Duration(0), FULL, true, || bits)
    }

    /// Above the minimum the count runs from 0: spared, then 1, 2, …; a mark sets it back.
    #[test]
    fn counted_by_hand() {
        let p = Params { weight: 1.0, p_max: 0.2, ..Params::default() };
        assert_eq!((p.packet_time(BitsPerSec(10_000_000_000)), p.probability(51_200.0)), (FULL, 0.1));
        let mut red = Red::new();
        // Half way between the thresholds p_b = 0.1: after the spared packet 1/9, 1/8, 1/7, … of the packets are marked.
        let share = |n: u64| (u64::MAX / n, u64::MAX / n + (1 << 40));
        assert_eq!(arrive(&mut red, &p, 51_200, 0), Verdict::Enqueue);
        for n in [9, 8, 7] {
            let mut other = red;
            assert_eq!(arrive(&mut other, &p, 51_200, share(n).0 - (1 << 40)), Verdict::Mark, "{n}");
            assert_eq!(other.count, 1);
            assert_eq!(arrive(&mut red, &p, 51_200, share(n).1), Verdict::Enqueue, "{n}");
        }
        for _ in 0..5 {
            assert_eq!(arrive(&mut red, &p, 51_200, u64::MAX), Verdict::Enqueue);
        }
        assert_eq!(arrive(&mut red, &p, 51_200, u64::MAX), Verdict::Mark, "at the latest one in ten");
        // From the maximum on every packet; below the minimum none, and the next above it is spared again.
        assert_eq!([76_800, 76_800].map(|q| arrive(&mut red, &p, q, u64::MAX)), [Verdict::Mark; 2]);
        assert_eq!([25_599, 25_600].map(|q| arrive(&mut red, &p, q, 0)), [Verdict::Enqueue; 2]);
        assert_eq!(arrive(&mut red, &p, 25_601, 0), Verdict::Mark);
    }

    /// The average follows the queue by Wq per arrival; an idle link halves it in 416 us at 10 Gb/s.
    #[test]
    fn average_by_hand() {
        let p = Params::default();
        let mut red = Red::new();
        for _ in 0..500 {
            arrive(&mut red, &p, 100_000, 0);
        }
        assert!((red.average() / 100_000.0 - 0.632_5).abs() < 1e-4, "1 - 0.998^500: {}", red.average());
        let full = red.average();
        // 346 virtual packets in 416 us, and the update of the arrival.
        red.on_arrival(&p, 0, Duration(416 * US), FULL, true, || 0);
        let mut expected = full;
        for _ in 0..347 {
            expected *= 0.998;
        }
        assert!((red.average() / expected - 1.0).abs() < 1e-12);
        assert!((red.average() / full - 0.5).abs() < 0.001, "{}", red.average() / full);
        red.on_arrival(&p, 0, Duration(u64::MAX), Duration(0), true, || 0);
        assert!(red.average() < 1e-300, "forgotten after months");
    }

    #[test]
    fn packets_without_ecn() {
        let above = Red { average: 90_000.0, count: 3 };
        for (drop_non_ect, expected) in [(false, Verdict::Enqueue), (true, Verdict::Drop)] {
            let p = Params { drop_non_ect, ..Params::default() };
            assert_eq!(above.clone().on_arrival(&p, 90_000, Duration(0), FULL, false, || 0), expected);
            assert_eq!(above.clone().on_arrival(&p, 90_000, Duration(0), FULL, true, || 0), Verdict::Mark);
        }
        // One that passes although it was chosen is not counted as a mark: the next is chosen all the more.
        let p = Params { weight: 1.0, p_max: 0.1, ..Params::default() };
        let mut red = Red { average: 51_200.0, count: 19 };
        assert_eq!(red.on_arrival(&p, 51_200, Duration(0), FULL, false, || 0), Verdict::Enqueue);
        assert_eq!(red.count, 20);
        assert_eq!(red.on_arrival(&p, 51_200, Duration(0), FULL, true, || u64::MAX), Verdict::Mark);
        let gentle = Params { gentle: true, ..Params::default() };
        for (average, expected) in [(76_800.0, 0.02), (115_200.0, 0.51), (153_600.0, 1.0)] {
            assert!((gentle.probability(average) - expected).abs() < 1e-12, "{average}");
        }
    }

    /// Gaps between marks are even from 1 to `1 / p_b - 1`.
    #[test]
    fn marks_are_spread_evenly() {
        let p = Params { weight: 1.0, p_max: 0.1, ..Params::default() };
        let (mut red, mut stream) = (Red::new(), Stream::new(1, Purpose::Ecn, 0));
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..200_000 {
            gap += 1;
            if red.on_arrival(&p, 51_200, Duration(0), FULL, true, || stream.next_u64()) == Verdict::Mark {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        let mean = f64::from(gaps[1..].iter().sum::<u32>()) / (gaps.len() - 1) as f64;
        assert!((mean - 10.0).abs() < 0.2, "p_b = 0.05: {mean}");
        assert_eq!(gaps[1..].iter().max(), Some(&19));
    }

    proptest! {
        /// Whatever arrives, the average stays between the extremes of the queue, and packets pass below the minimum and are
        /// marked above the maximum.
        #[test]
        fn any_arrivals(
            (min, more) in (0u32..200_000, 1u32..200_000),
            (weight, p_max) in (0.0..=1.0, 0.0..=1.0),
            gentle: bool,
            arrivals in prop::collection::vec((0u32..1_000_000, any::<u64>(), any::<u64>(), any::<bool>()), 1..200),
        ) {
            let p = Params { min, max: min + more, weight, p_max, gentle, drop_non_ect: true, ..Params::default() };
            let mut red = Red::new();
            for (queue, idle, bits, ect) in arrivals {
                let queue = queue.saturating_sub(500_000);
                let verdict = red.on_arrival(&p, queue, Duration(idle), FULL, ect, || bits);
                prop_assert!((0.0..=500_000.0).contains(&red.average()));
                let all = p.probability(red.average()) >= 1.0;
                let chosen = if ect { Verdict::Mark } else { Verdict::Drop };
                prop_assert!(verdict == Verdict::Enqueue || verdict == chosen);
                prop_assert!(!all || verdict == chosen || red.average() < f64::from(min));
                prop_assert!(red.average() >= f64::from(min) || verdict == Verdict::Enqueue);
            }
        }
    }
}
