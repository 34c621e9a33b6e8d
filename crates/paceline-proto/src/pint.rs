//! Probabilistic telemetry (PINT) at a switch port: utilisation in one or two bytes per packet, as HPCC-PINT needs it.
//!
//! Source: Ben Basat et al., SIGCOMM 2020, section 4.3, and the behaviour of the authors' public simulator (hpcc-ns3
//! facts, section 4.9). A port keeps an average `U` of its utilisation over one base RTT `T`, in arithmetic a switch can
//! do: products become sums of logarithms in steps of 2^-15, operands keep 16 bits. What leaves is the largest `U` on the
//! path as a power of `log_base`, rounded to a whole power at random so that its mean is right.
//!
//! Each packet takes from `U` what this arithmetic rounds down, so that `U` is the lower the more packets a base RTT holds: 0.868
//! instead of 0.95 with a thousand of them. That is the method's, and stays as it is.
//!
//! *Deviations:* powers of two are products of two table entries, which may differ from the simulator's in the last of 53 bits; a
//! packet in the same nanosecond as the one before has no queue term (the simulator takes the logarithm of 0).

use libm::{exp2, log, log2, pow};

/// Steps of one in the switch's logarithms.
const STEP: f64 = 32768.0;
/// Bits of these steps.
const STEP_BITS: u32 = 15;
/// Of these, the ones that a power's second factor stands for.
const FINE_BITS: u32 = 8;
/// Utilisation travels in units of 1/512.
const UNIT: f64 = 512.0;
/// The switch stores `U` in units of 1/8192.
const STORED: f64 = 8192.0;

/// Bytes of the largest packet that counts as small.
const SMALL: u32 = 128;
/// Whole numbers below this, in units of 1/512, are encoded by table: a utilisation of 8.
const TABLED: usize = 4096;

/// What the switches' arithmetic looks up, as switches do. The numbers are those that the formulas give.
#[derive(Debug)]
pub struct Tables {
    log_base: f64,
    /// Logarithms of 0 to 65536 in steps; 0 for 0.
    steps: Box<[i32]>,
    /// Powers of the utilisations 0 to 8 in units.
    codes: Box<[Code]>,
    /// Two to the power of 256 times 0 to 127 steps, and of 0 to 255 steps.
    coarse: [f64; 1 << (STEP_BITS - FINE_BITS)],
    fine: [f64; 1 << FINE_BITS],
}

/// The powers below and above a utilisation, and how many of 65536 draws round up.
#[derive(Clone, Copy, Debug)]
struct Code {
    below: u16,
    above: u16,
    up: u32,
}

impl Tables {
    /// For utilisation encoded as powers of `log_base` (above 1).
    pub fn new(log_base: f64) -> Self {
        Self {
            log_base,
            steps: (0..=1u32 << 16).map(|x| (log2(f64::from(x.max(1))) * STEP) as i32).collect(),
            codes: (0..TABLED).map(|value| code(value as f64, log_base)).collect(),
            coarse: std::array::from_fn(|k| exp2((k << FINE_BITS) as f64 / STEP)),
            fine: std::array::from_fn(|k| exp2(k as f64 / STEP)),
        }
    }

    /// Two to the power of a logarithm in steps, from 0 to below 1023 times 2^15.
    #[inline(always)]
    fn power(&self, steps: i64) -> f64 {
        let coarse = self.coarse[(steps >> FINE_BITS) as usize % self.coarse.len()];
        let fine = self.fine[steps as usize % self.fine.len()];
        f64::from_bits((1023 + (steps >> STEP_BITS) as u64) << 52) * (coarse * fine)
    }

    /// Logarithm to the base 2 of a whole number in steps of 2^-15, from its first 16 bits; what is cut off rounds the last
    /// of these up with its own probability. 0 for 0.
    #[inline]
    fn log_steps(&self, x: u64, random: &mut impl FnMut() -> u32) -> i64 {
        let bits = 64 - x.leading_zeros();
        if bits <= 16 {
            return i64::from(self.steps[x as usize]);
        }
        let cut_bits = bits - 16;
        let mask = (1u64 << cut_bits) - 1;
        let up = x & mask > u64::from(random()) & mask;
        i64::from(self.steps[(x >> cut_bits) as usize + usize::from(up)]) + (i64::from(cut_bits) << 15)
    }

    /// The power of the base that stands for a utilisation, rounded at random. `random` gives 31 random bits, once.
    #[inline(always)]
    pub fn encode(&self, utilisation: f64, random: &mut impl FnMut() -> u32) -> u16 {
        let exact = UNIT * utilisation;
        let (near, nearest) = nearest(exact);
        let value = near + u64::from(nearest < exact);
        let code = match self.codes.get(value as usize) {
            Some(code) => *code,
            None => code(value as f64, self.log_base),
        };
        if random() % 65536 < code.up { code.above } else { code.below }
    }
}

/// The whole number nearest to one from 0 to below 2^51, in both forms: bits that a double of 2^52 and more has no room for are
/// rounded away. A conversion that minds its range takes three times as many instructions.
#[inline(always)]
fn nearest(number: f64) -> (u64, f64) {
    const LARGE: f64 = (1u64 << 52) as f64;
    let sum = number + LARGE;
    (sum.to_bits() & ((1 << 52) - 1), sum - LARGE)
}

/// How a utilisation of `value` units travels.
fn code(value: f64, base: f64) -> Code {
    let power = log(value.max(1.0)) / log(base);
    let low = libm::floor(power);
    let (below, above) = (pow(base, low), pow(base, low + 1.0));
    let largest = f64::from(largest_power(base));
    Code {
        below: low.min(largest) as u16,
        above: libm::ceil(power).min(largest) as u16,
        up: libm::ceil((value - below) / (above - below) * 65536.0) as u32,
    }
}

/// Constants of a port: factors, where the switch would add logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    base_rtt_ns: u64,
    /// Utilisation per product of a queue in 256 bytes and a time in ns.
    waiting: f64,
    /// Per byte sent.
    sent: f64,
    /// Per product of time left of the base RTT in ns and stored utilisation.
    kept: f64,
}

impl Scale {
    /// A port of `rate` bit/s in a network whose largest base RTT is `base_rtt_ns`.
    pub fn new(rate: u64, base_rtt_ns: u64) -> Self {
        let (rtt, bytes_per_ns) = (base_rtt_ns as f64, (rate / 8) as f64 / 1e9);
        Self {
            base_rtt_ns,
            waiting: 256.0 / (bytes_per_ns * rtt * rtt),
            sent: 1.0 / (bytes_per_ns * rtt),
            kept: 1.0 / (STORED * rtt),
        }
    }
}

/// What a port remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortUse {
    /// Average utilisation, queue included.
    utilisation: f64,
    /// Size of the last packet, bytes; 0: none yet.
    last_size: u32,
    /// Sizes of a small and of a large packet, and the utilisation that each adds: ACKs and full packets are most of all.
    sent: [(u32, f64); 2],
    /// When the last packet left, ns.
    last_ns: u64,
}

impl PortUse {
    /// A packet leaves that is accounted for without updating the average.
    pub fn pass(&mut self, now_ns: u64, size: u32) {
        self.last_size = size;
        self.last_ns = now_ns;
    }

    /// A packet of `size` bytes (below 65536) leaves `queue` bytes behind at `now_ns`: updates the average and returns it.
    /// `random` gives 31 random bits.
    #[inline(always)]
    pub fn update(
        &mut self,
        tables: &Tables,
        scale: &Scale,
        now_ns: u64,
        queue: u32,
        size: u32,
        random: &mut impl FnMut() -> u32,
    ) -> f64 {
        let rtt = scale.base_rtt_ns;
        let dt = (now_ns - self.last_ns).min(rtt);
        let (mut waiting, mut decayed) = (0.0, 0.0);
        if queue >> 8 > 0 && dt > 0 {
            let logs = tables.log_steps(dt, random) + tables.log_steps(u64::from(queue >> 8), random);
            waiting = scale.waiting * tables.power(logs);
        }
        let (of, sent) = &mut self.sent[usize::from(self.last_size > SMALL)];
        if *of != self.last_size {
            let logs = tables.log_steps(u64::from(self.last_size), random);
            (*of, *sent) = (self.last_size, scale.sent * tables.power(logs));
        }
        if dt < rtt && self.utilisation > 0.0 {
            let rounded = STORED * self.utilisation + 0.5;
            let (near, nearest) = nearest(rounded);
            let stored = near - u64::from(nearest > rounded);
            let logs = tables.log_steps(rtt - dt, random) + tables.log_steps(stored, random);
            decayed = scale.kept * tables.power(logs);
        }
        self.utilisation = waiting + *sent + decayed;
        self.pass(now_ns, size);
        self.utilisation
    }
}

/// The utilisation a power stands for.
pub fn decode(power: u16, base: f64) -> f64 {
    pow(base, f64::from(power)) / UNIT
}

/// The largest power a packet can carry: one byte where that reaches a utilisation of 128, else two.
fn largest_power(base: f64) -> u16 {
    if 16.0 * log(2.0) / log(base) < 255.0 { u16::from(u8::MAX) } else { u16::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logarithms_of_powers_of_two_are_exact() {
        let tables = Tables::new(1.05);
        let mut never = || unreachable!("16 bits suffice");
        assert_eq!(tables.log_steps(1, &mut never), 0);
        assert_eq!(tables.log_steps(4096, &mut never), 12 << 15);
        assert_eq!(tables.log_steps(1000, &mut never), 326_558); // log2(1000) = 9.965784
        // 17 bits: 65537 keeps 65536 or goes up to 65538.
        assert_eq!(tables.log_steps(65_537, &mut || 1), 16 << 15);
        assert_eq!(tables.log_steps(65_537, &mut || 0), 524_289);
    }

    /// A table that is off by one step somewhere would make runs differ from the reference simulator's.
    #[test]
    fn the_table_is_the_logarithm() {
        let tables = Tables::new(1.05);
        for m in (1u64 << 15)..=(1 << 16) {
            for shift in 1..24 {
                let direct = (log2((m << shift) as f64) * STEP) as i64;
                assert_eq!(i64::from(tables.steps[m as usize]) + (shift << 15), direct, "{m} << {shift}");
            }
        }
    }

    /// A port sending full packets back to back for many RTTs measures a utilisation of one; one that sends every other
    /// packet time, one half.
    #[test]
    fn measures_the_load() {
        let (tables, scale) = (Tables::new(1.05), Scale::new(100_000_000_000, 12_240));
        for (gap_ns, load) in [(80, 1.0), (160, 0.5), (800, 0.1)] {
            let mut port = PortUse::default();
            let mut u = 0.0;
            for i in 1..2000 {
                u = port.update(&tables, &scale, i * gap_ns, 0, 1000, &mut || 0);
            }
            assert!((u - load).abs() < 0.02 * load, "{u} at load {load}");
        }
        // A standing queue of one bandwidth-delay product adds one.
        let mut port = PortUse::default();
        let mut u = 0.0;
        for i in 1..2000 {
            u = port.update(&tables, &scale, i * 80, 153_000, 1000, &mut || 0);
        }
        assert!((u - 2.0).abs() < 0.03, "{u}");
    }

    /// Products of table entries are powers of two but for rounding: an entry out of place would show in every port's load.
    #[test]
    fn powers_of_two() {
        let tables = Tables::new(1.05);
        for steps in (0..60 << 15).step_by(31) {
            let (got, exact) = (tables.power(steps), exp2(steps as f64 / STEP));
            assert!((got / exact - 1.0).abs() < 1e-15, "2^({steps} / 32768) became {got}, not {exact}");
        }
    }

    proptest! {
        /// What is decoded is within one step of what was encoded, and right on average.
        #[test]
        fn encoding_is_unbiased(u in 0.003f64..20.0, base in prop::sample::select(vec![1.01, 1.05, 1.1])) {
            let tables = Tables::new(base);
            let mut sum = 0.0;
            for draw in 0..512u32 {
                let got = decode(tables.encode(u, &mut || draw * 128), base);
                prop_assert!(got < (u + 2.0 / UNIT) * base && got * base > u, "{u} became {got}");
                sum += got;
            }
            let value = libm::ceil(UNIT * u) / UNIT;
            prop_assert!((sum / 512.0 - value).abs() < 0.01 * value, "mean {} of {}", sum / 512.0, value);
        }
    }
}
