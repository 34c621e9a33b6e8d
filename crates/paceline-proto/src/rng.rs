//! Named random streams: pure functions of (seed, purpose, entity, counter).
//!
//! A counter-based generator has no hidden state, so drawing more numbers in one place never shifts those of another, and
//! the order in which threads draw does not matter. One number is two rounds of a 64-bit finaliser with a 128-bit key:
//! `mix(mix(a + counter * GOLDEN) ^ b)`. One round alone is `SplitMix64`, whose streams are shifted copies of one another; the second
//! key word, added between the rounds, makes overlapping streams need a collision of all 128 bits. It is as
//! cheap as that (two multiplications per round, no table, no state to save) and passes the tests below; it is not
//! cryptographic. Chosen over Philox for speed: one number per packet is drawn for ECN, loss and spraying.

/// 2^64 divided by the golden ratio, odd: the counter step that spreads neighbours farthest (Weyl sequence).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Odd multipliers that make [`hash3`] injective in its second and third argument.
const K1: u64 = 0xD6E8_FEB8_6659_FD93;
const K2: u64 = 0xA076_1D64_78BD_642F;

/// A bijection of the 64-bit words in which every input bit flips every output bit with probability one half
/// (the output function of `SplitMix64`: Steele, Lea and Flood 2014, with Stafford's constants, variant 13).
#[inline]
pub const fn mix(a: u64) -> u64 {
    let a = a.wrapping_add(GOLDEN);
    let a = (a ^ (a >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let a = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    a ^ (a >> 31)
}

/// A 64-bit hash of three words for the engine's hot path (ordering of simultaneous events): four multiplications.
///
/// Two argument triples that differ in one place only never collide.
#[inline]
pub const fn hash3(a: u64, b: u64, c: u64) -> u64 {
    mix(a.wrapping_add(b.wrapping_mul(K1)).wrapping_add(c.wrapping_mul(K2)))
}

/// What a stream of random numbers is for. The numbers are part of every result: never renumber, only append.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u64)]
#[non_exhaustive]
pub enum Purpose {
    /// Gaps between flow arrivals, per workload and host.
    Arrivals = 1,
    /// Flow sizes, per workload and host or episode.
    Sizes = 2,
    /// Destinations, per workload and host.
    Destinations = 3,
    /// Gaps between incast episodes, per workload.
    Episodes = 4,
    /// Receiver and senders of an incast, per workload and episode.
    Incast = 5,
    /// Permutation traffic, per workload and round.
    Permutation = 6,
    /// ECN marking, per port.
    Ecn = 7,
    /// Path choice of sprayed packets, per flow.
    Spray = 8,
    /// Loss on the wire, per link direction.
    WireLoss = 9,
    /// Order of simultaneous events.
    Ties = 10,
    /// A congestion controller's own draws, per flow.
    Controller = 11,
    /// Probabilistic telemetry (PINT), per flow.
    Telemetry = 12,
    /// Salts of the per-switch ECMP hash.
    Routing = 13,
    /// Jitter of a host or transport (credit pacing, request timers), per host.
    Transport = 14,
    /// Randomly placed failures, per link.
    Failures = 15,
    /// Anything a topology generator draws.
    Topology = 16,
    /// Sampling intervals and recovery stages of QCN, per queue and per rate limiter.
    Qcn = 17,
    /// Lengths of on and off periods, per workload and host.
    OnOff = 18,
    /// What message-passing programs draw, per pair of ranks.
    Programs = 19,
}

/// A uniform number in [0, 1) from 64 random bits: multiples of 2^-53.
#[inline]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A number in `0..n` from 64 random bits (multiply and shift); 0 for `n == 0`. No value is off its share by more than
/// `n / 2^64`, under 2.4e-10 of it, and exactly one draw is used.
#[inline]
pub fn below(bits: u64, n: u32) -> u32 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u32
}

/// An exponential variate with the given mean from 64 random bits, never above 36.74 means (53-bit resolution).
///
/// Uses `libm` and not the platform's logarithm, so that results agree on every machine.
#[inline]
pub fn exponential(bits: u64, mean: f64) -> f64 {
    -mean * libm::log(1.0 - unit(bits))
}

/// A standard normal variate from two words of 64 random bits (Box and Muller 1958), within 8.6 of 0.
#[inline]
pub fn normal(bits: u64, more: u64) -> f64 {
    libm::sqrt(-2.0 * libm::log(1.0 - unit(bits))) * libm::cos(std::f64::consts::TAU * unit(more))
}

/// A lognormal law: `exp(mu + sigma * z)` with a standard normal `z`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lognormal {
    mu: f64,
    sigma: f64,
}

impl Lognormal {
    /// That of this median, above 0.
    pub fn of_median(median: f64, sigma: f64) -> Self {
        Self { mu: libm::log(median), sigma }
    }

    /// That of this mean, above 0.
    pub fn of_mean(mean: f64, sigma: f64) -> Self {
        Self { mu: libm::log(mean) - sigma * sigma / 2.0, sigma }
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        libm::exp(self.mu + self.sigma * self.sigma / 2.0)
    }

    /// The law of a length met at a random instant, where lengths follow one another: each weighed by itself.
    #[must_use]
    pub fn by_length(&self) -> Self {
        Self { mu: self.mu + self.sigma * self.sigma, sigma: self.sigma }
    }

    /// A variate; takes two numbers of the stream.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let (bits, more) = (stream.next_u64(), stream.next_u64());
        libm::exp(self.mu + self.sigma * normal(bits, more))
    }
}

/// A random stream. Its `n`-th number is the same whether reached by [`Stream::next_u64`] or by [`Stream::at`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    a: u64,
    b: u64,
    counter: u64,
}

impl Stream {
    /// The stream of one entity (`id`: host, flow, port, … in a numbering of the purpose's own) for one purpose.
    #[inline]
    pub const fn new(seed: u64, purpose: Purpose, id: u64) -> Self {
        let seed = mix(seed);
        let purpose = purpose as u64;
        Self { a: mix(mix(seed ^ purpose) ^ id), b: mix(mix(seed.rotate_left(32) ^ id) ^ purpose), counter: 0 }
    }

    /// The number at a position, from 0; the stream does not move.
    #[inline]
    pub const fn at(&self, counter: u64) -> u64 {
        mix(mix(self.a.wrapping_add(counter.wrapping_mul(GOLDEN))) ^ self.b)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let bits = self.at(self.counter);
        self.counter += 1;
        bits
    }

    /// How many numbers have been drawn.
    pub const fn position(&self) -> u64 {
        self.counter
    }

    /// A uniform number in [0, 1); see [`unit()`].
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// A number in `0..n`; see [`below`].
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        below(self.next_u64(), n)
    }

    /// An exponential variate; see [`exponential`].
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        exponential(self.next_u64(), mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 200_000;

    /// The generator is part of every stored result: a change of these numbers breaks them all.
    #[test]
    fn golden_values() {
        // The published first output of SplitMix64 with seed 0.
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        let mut s = Stream::new(1, Purpose::Arrivals, 0);
        let drawn = [s.next_u64(), s.next_u64(), Stream::new(1, Purpose::Sizes, 0).at(0), hash3(1, 2, 3)];
        assert_eq!(drawn, GOLDEN_DRAWS, "{drawn:#x?}");
        assert_eq!(Stream::new(7, Purpose::Arrivals, 3).exponential(1e8).to_bits(), GOLDEN_GAP);
    }
    const GOLDEN_DRAWS: [u64; 4] =
        [0x8C64_0500_6B2A_AA33, 0x2804_6615_D4F5_9F76, 0x27E5_975C_BF7A_6EE4, 0x3C5F_F456_A465_8A00];
    const GOLDEN_GAP: u64 = 0x41B7_541F_34E2_7878;

    #[test]
    fn stepping_equals_jumping() {
        let mut s = Stream::new(42, Purpose::Ecn, 9);
        let still = s;
        for n in 0..100 {
            assert_eq!(s.next_u64(), still.at(n));
        }
        assert_eq!(s.position(), 100);
    }

    /// Mean, variance and, per byte of the word, Pearson's chi-square, for streams that differ in one key part only.
    #[test]
    fn numbers_are_uniform() {
        for (seed, id) in [(0, 0), (0, 1), (1, 0), (u64::MAX, 1 << 40)] {
            let mut s = Stream::new(seed, Purpose::Destinations, id);
            let (mut sum, mut squares, mut bytes) = (0.0, 0.0, [[0u32; 256]; 8]);
            for _ in 0..N {
                let bits = s.next_u64();
                let u = unit(bits);
                assert!((0.0..1.0).contains(&u));
                sum += u;
                squares += u * u;
                for (count, byte) in bytes.iter_mut().zip(bits.to_le_bytes()) {
                    count[usize::from(byte)] += 1;
                }
            }
            let mean = sum / N as f64;
            assert!((mean - 0.5).abs() < 0.0033, "{mean}"); // five standard errors
            assert!((squares / N as f64 - mean * mean - 1.0 / 12.0).abs() < 0.001);
            for count in bytes {
                let expected = N as f64 / 256.0;
                let chi: f64 = count.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
                assert!((140.0..400.0).contains(&chi), "{chi}"); // 255 degrees of freedom, sd 22.6
            }
        }
    }

    /// Hosts next to each other, and one host's purposes, share no correlation.
    #[test]
    fn neighbouring_streams_are_independent() {
        let base = Stream::new(5, Purpose::Arrivals, 10);
        let others = [
            Stream::new(5, Purpose::Arrivals, 11),
            Stream::new(5, Purpose::Sizes, 10),
            Stream::new(6, Purpose::Arrivals, 10),
        ];
        for other in others {
            for lag in 0..2 {
                let cov: f64 =
                    (0..N).map(|n| (unit(base.at(n)) - 0.5) * (unit(other.at(n + lag)) - 0.5)).sum::<f64>() / N as f64;
                assert!((cov * 12.0).abs() < 5.0 / (N as f64).sqrt(), "{cov}");
            }
        }
    }

    #[test]
    fn every_input_bit_flips_half_the_output() {
        for bit in 0..64 {
            let flips: u32 = (0..2000u64).map(|x| (mix(x * 977) ^ mix((x * 977) ^ (1 << bit))).count_ones()).sum();
            let share = f64::from(flips) / 2000.0 / 64.0;
            assert!((share - 0.5).abs() < 0.01, "bit {bit}: {share}");
        }
    }

    /// Ties: two ports meeting at regular times (packets of 1000 bytes at 100 Gb/s) each win half of them.
    #[test]
    fn hashed_ties_favour_nobody() {
        for (p, q) in [(0, 1), (1, 2), (3, 64), (1000, 1001)] {
            let wins = (0..20_000u64).filter(|k| hash3(1, p, k * 80_000) < hash3(1, q, k * 80_000)).count();
            assert!((9_600..10_400).contains(&wins), "{p} {q}: {wins}");
        }
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut s = Stream::new(3, Purpose::Spray, 0);
        let mut count = [0u32; 7];
        for _ in 0..70_000 {
            count[s.below(7) as usize] += 1;
        }
        assert!(count.iter().all(|c| (9_500..10_500).contains(c)), "{count:?}");
        assert_eq!((below(u64::MAX, u32::MAX), below(u64::MAX, 1), below(u64::MAX, 0)), (u32::MAX - 1, 0, 0));
    }

    /// Mean, spread and tail of the logarithm; mean and median of the variate; and lengths weighed by themselves.
    #[test]
    fn lognormal_has_its_moments() {
        for law in [Lognormal::of_median(3.0, 0.5), Lognormal::of_mean(3.0 * (0.125f64).exp(), 0.5)] {
            let mut s = Stream::new(3, Purpose::OnOff, 0);
            let drawn: Vec<f64> = (0..N).map(|_| law.draw(&mut s)).collect();
            let n = N as f64;
            let mean = drawn.iter().sum::<f64>() / n;
            assert!((mean / law.mean() - 1.0).abs() < 0.006, "{mean}");
            let below = drawn.iter().filter(|x| **x < 3.0).count() as f64 / n;
            assert!((below - 0.5).abs() < 0.006, "{below}");
            let far = drawn.iter().filter(|x| **x > 3.0 * 1f64.exp()).count() as f64 / n;
            assert!((far - 0.022_75).abs() < 0.0017, "beyond two sigma: {far}");
            let squares = drawn.iter().map(|x| x * x).sum::<f64>() / n;
            assert!((squares / mean / law.by_length().mean() - 1.0).abs() < 0.02);
        }
        assert!(normal(u64::MAX, 0) < 8.7 && normal(0, 7).abs() < 1e-9);
    }

    #[test]
    fn exponential_has_its_mean_and_spread() {
        let mut s = Stream::new(3, Purpose::Arrivals, 0);
        let (mut sum, mut squares, mut late) = (0.0, 0.0, 0u32);
        for _ in 0..N {
            let x = s.exponential(2.0);
            assert!(x >= 0.0);
            sum += x;
            squares += x * x;
            late += u32::from(x > 6.0);
        }
        let mean = sum / N as f64;
        assert!((mean - 2.0).abs() < 0.023, "{mean}");
        assert!((squares / N as f64 - 8.0).abs() < 0.2);
        assert!((f64::from(late) / N as f64 - (-3.0f64).exp()).abs() < 0.0025);
        assert!(exponential(u64::MAX, 1.0) < 36.75 && exponential(0, 1.0) < 1e-300);
    }
}
