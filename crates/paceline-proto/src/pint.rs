//! Probabilistic telemetry (PINT) at a switch port: utilisation in one or two bytes per packet, as HPCC-PINT needs it.
//!
//! Source: Ben Basat et al., SIGCOMM 2020, section 4.3, and the behaviour of the authors' public simulator (hpcc-ns3
//! facts, section 4.9). A port keeps an average `U` of its utilisation over one base RTT `T`, in arithmetic a switch can
//! do: products become sums of logarithms in steps of 2^-15, operands keep 16 bits. What leaves is the largest `U` on the
//! path as a power of `log_base`, rounded to a whole power at random so that its mean is right.
//!
//! *Deviation:* a packet in the same nanosecond as the one before has no queue term (the simulator takes the logarithm of 0).

use libm::{log, log2, pow};

/// Steps of one in the switch's logarithms.
const STEP: f64 = 32768.0;
/// Utilisation travels in units of 1/512.
const UNIT: f64 = 512.0;
/// The switch stores `U` in units of 1/8192.
const STORED: f64 = 8192.0;

/// Constants of a port.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    base_rtt_ns: u64,
    log_rtt: f64,
    log_bytes: f64,
    log_ns: f64,
}

impl Scale {
    /// A port of `rate` bit/s in a network whose largest base RTT is `base_rtt_ns`.
    pub fn new(rate: u64, base_rtt_ns: u64) -> Self {
        Self {
            base_rtt_ns,
            log_rtt: log2(base_rtt_ns as f64) * STEP,
            log_bytes: log2((rate / 8) as f64) * STEP,
            log_ns: log2(1e9) * STEP,
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
    /// When it left, ns.
    last_ns: u64,
}

impl PortUse {
    /// A packet leaves that is accounted for without updating the average.
    pub fn pass(&mut self, now_ns: u64, size: u32) {
        self.last_size = size;
        self.last_ns = now_ns;
    }

    /// A packet of `size` bytes leaves `queue` bytes behind at `now_ns`: updates the average and returns it. `random`
    /// gives 31 random bits.
    pub fn update(
        &mut self,
        scale: &Scale,
        now_ns: u64,
        queue: u32,
        size: u32,
        random: &mut impl FnMut() -> u32,
    ) -> f64 {
        let rtt = scale.base_rtt_ns;
        let dt = (now_ns - self.last_ns).min(rtt);
        let (mut waiting, mut sent, mut decayed) = (0.0, 0.0, 0.0);
        if queue >> 8 > 0 && dt > 0 {
            let logs = log_steps(dt, random) + log_steps(u64::from(queue >> 8), random);
            waiting = 256.0 * pow(2.0, (logs as f64 + scale.log_ns - scale.log_bytes - 2.0 * scale.log_rtt) / STEP);
        }
        if self.last_size > 0 {
            let logs = log_steps(u64::from(self.last_size), random);
            sent = pow(2.0, (logs as f64 + scale.log_ns - scale.log_bytes - scale.log_rtt) / STEP);
        }
        if dt < rtt && self.utilisation > 0.0 {
            let logs = log_steps(rtt - dt, random) + log_steps(libm::round(STORED * self.utilisation) as u64, random);
            decayed = pow(2.0, (logs as f64 - scale.log_rtt) / STEP) / STORED;
        }
        self.utilisation = waiting + sent + decayed;
        self.pass(now_ns, size);
        self.utilisation
    }
}

/// Logarithm to the base 2 of a whole number in steps of 2^-15, from its first 16 bits; what is cut off rounds the last of
/// these up with its own probability. 0 for 0.
fn log_steps(x: u64, random: &mut impl FnMut() -> u32) -> i64 {
    let bits = 64 - x.leading_zeros();
    let mut x = x;
    if bits > 16 {
        let mask = (1u64 << (bits - 16)) - 1;
        let cut = x & mask;
        x &= !mask;
        if cut > u64::from(random()) & mask {
            x += mask + 1;
        }
    }
    (log2(x.max(1) as f64) * STEP) as i64
}

/// The power of `base` that stands for a utilisation, rounded at random. `random` gives 31 random bits, once.
pub fn encode(utilisation: f64, base: f64, random: &mut impl FnMut() -> u32) -> u16 {
    let value = libm::ceil(UNIT * utilisation).max(1.0);
    let power = log(value) / log(base);
    let low = libm::floor(power);
    let (below, above) = (pow(base, low), pow(base, low + 1.0));
    let up = f64::from(random() % 65536) < (value - below) / (above - below) * 65536.0;
    let power = if up { libm::ceil(power) } else { low };
    power.min(f64::from(largest_power(base))) as u16
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
        let mut never = || unreachable!("16 bits suffice");
        assert_eq!(log_steps(1, &mut never), 0);
        assert_eq!(log_steps(4096, &mut never), 12 << 15);
        assert_eq!(log_steps(1000, &mut never), 326_558); // log2(1000) = 9.965784
        // 17 bits: 65537 keeps 65536 or goes up to 65538.
        assert_eq!(log_steps(65_537, &mut || 1), 16 << 15);
        assert_eq!(log_steps(65_537, &mut || 0), 524_289);
    }

    /// A port sending full packets back to back for many RTTs measures a utilisation of one; one that sends every other
    /// packet time, one half.
    #[test]
    fn measures_the_load() {
        let scale = Scale::new(100_000_000_000, 12_240);
        for (gap_ns, load) in [(80, 1.0), (160, 0.5), (800, 0.1)] {
            let mut port = PortUse::default();
            let mut u = 0.0;
            for i in 1..2000 {
                u = port.update(&scale, i * gap_ns, 0, 1000, &mut || 0);
            }
            assert!((u - load).abs() < 0.02 * load, "{u} at load {load}");
        }
        // A standing queue of one bandwidth-delay product adds one.
        let mut port = PortUse::default();
        let mut u = 0.0;
        for i in 1..2000 {
            u = port.update(&scale, i * 80, 153_000, 1000, &mut || 0);
        }
        assert!((u - 2.0).abs() < 0.03, "{u}");
    }

    proptest! {
        /// What is decoded is within one step of what was encoded, and right on average.
        #[test]
        fn encoding_is_unbiased(u in 0.003f64..20.0, base in prop::sample::select(vec![1.01, 1.05, 1.1])) {
            let mut sum = 0.0;
            for draw in 0..512u32 {
                let got = decode(encode(u, base, &mut || draw * 128), base);
                prop_assert!(got < (u + 2.0 / UNIT) * base && got * base > u, "{u} became {got}");
                sum += got;
            }
            let value = libm::ceil(UNIT * u) / UNIT;
            prop_assert!((sum / 512.0 - value).abs() < 0.01 * value, "mean {} of {}", sum / 512.0, value);
        }
    }
}
