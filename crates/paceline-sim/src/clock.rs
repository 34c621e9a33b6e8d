//! How long bytes take on a wire: exact picoseconds, or the whole nanoseconds of the reference simulator.

use paceline_proto::units::{NS, Time};

/// Picoseconds of a second in eight-bit units: one byte at 1 bit/s lasts `PS_PER_BYTE_BPS` ps.
const PS_PER_BYTE_BPS: u64 = 8_000_000_000_000;

/// Half of what the clock can count, 106 days: nothing that is put off from an instant before goes beyond its end, where no later
/// instant would ever come and a run not end.
pub const LATEST: Time = Time(1 << 63);

/// Nanoseconds of a time in seconds, as the reference converts it: 64 bits of fraction, truncated twice.
///
/// The result may be 1 ns below the decimal that was meant: 2.0004 s gives 2000399999 ns. Range 0 to 2^64 ns; anything
/// outside goes to the nearest end, and NaN to 0.
///
/// ```
/// assert_eq!(paceline_sim::clock::seconds_to_ns(2.0004), 2_000_399_999);
/// ```
pub fn seconds_to_ns(seconds: f64) -> u64 {
    units_to_ns(seconds, 1_000_000_000)
}

/// The same for a time in units of `scale` ns.
pub(crate) fn units_to_ns(value: f64, scale: u64) -> u64 {
    let whole = value.floor();
    let fraction = ((value - whole) * 18_446_744_073_709_551_616.0) as u64;
    let below = ((u128::from(fraction) * u128::from(scale)) >> 64) as u64;
    (whole as u64).saturating_mul(scale).saturating_add(below)
}

/// Nanoseconds to put `bytes` on a wire of `rate_bps` bit/s, as the reference computes it.
///
/// The exact time rounded down; where that is a whole number of nanoseconds, one less (at 1 Gb/s not at every size). The pacing gap of
/// a flow follows the same rule with its current rate. A rate of 0 gives the largest number (never).
pub fn serialisation_ns(bytes: u64, rate_bps: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    seconds_to_ns((bytes as f64 * 8.0) / rate_bps as f64)
}

/// A time base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Picoseconds; times that are no whole number are rounded up.
    Exact,
    /// Whole nanoseconds as the reference simulator truncates them.
    TruncatedNs,
}

impl Clock {
    /// Picoseconds to put `bytes` on a wire of `rate` bit/s.
    #[inline]
    pub fn serialisation_ps(self, bytes: u32, rate: u64) -> u64 {
        match self {
            Clock::Exact => (u64::from(bytes) * PS_PER_BYTE_BPS).div_ceil(rate),
            Clock::TruncatedNs => serialisation_ns(u64::from(bytes), rate) * NS,
        }
    }
}

/// Serialisation at one fixed rate, without a division where a byte lasts a whole number of picoseconds.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Picoseconds per byte, or 0 when `table` decides.
    ps_per_byte: u64,
    /// For the largest frame.
    longest: u64,
    /// Picoseconds by frame size.
    table: Vec<u64>,
}

impl Wire {
    /// A wire of `rate` bit/s for frames of up to `max_frame` bytes, `overhead` bytes added to each.
    pub fn new(clock: Clock, rate: u64, max_frame: u32, overhead: u32) -> Self {
        let ps_per_byte = PS_PER_BYTE_BPS / rate;
        // Ports keep it in 32 bits; below some 2 kb/s it does not fit.
        let fits = u32::try_from(ps_per_byte).is_ok() && PS_PER_BYTE_BPS.is_multiple_of(rate);
        if clock == Clock::Exact && fits && overhead == 0 {
            return Self { ps_per_byte, longest: ps_per_byte * u64::from(max_frame), table: Vec::new() };
        }
        let table: Vec<u64> = (0..=max_frame).map(|b| clock.serialisation_ps(b + overhead, rate)).collect();
        Self { ps_per_byte: 0, longest: table.last().copied().unwrap_or(0), table }
    }

    /// Picoseconds per byte where that is a whole number and all there is to it, else 0.
    pub fn ps_per_byte(&self) -> u32 {
        self.ps_per_byte as u32
    }

    /// Picoseconds for the largest frame.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Picoseconds for a frame of `bytes`.
    #[inline(always)]
    pub fn ps(&self, bytes: u16) -> u64 {
        if self.ps_per_byte != 0 { self.ps_per_byte * u64::from(bytes) } else { self.table[usize::from(bytes)] }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const G: u64 = 1_000_000_000;

    #[test]
    fn exact_wire_agrees_with_the_clock() {
        for rate in [1_000_000_000u64, 25_000_000_000, 100_000_000_000, 1_600_000_000_000, 7_777_777_777] {
            let wire = Wire::new(Clock::Exact, rate, 2000, 20);
            assert_eq!(wire.ps(1500), Clock::Exact.serialisation_ps(1520, rate));
        }
    }

    /// At 1 kb/s a byte took 3.7 s in place of 8: what a port keeps of its wire has 32 bits.
    #[test]
    fn a_byte_on_a_very_slow_wire_is_not_cut_short() {
        for rate in [1, 1000, 1862, 1863, 2000] {
            let wire = Wire::new(Clock::Exact, rate, 2000, 0);
            assert_eq!(wire.ps(1500), Clock::Exact.serialisation_ps(1500, rate));
            assert!([0, Clock::Exact.serialisation_ps(1, rate)].contains(&u64::from(wire.ps_per_byte())), "{rate}");
        }
    }

    #[test]
    fn seconds_truncate_below_the_decimal() {
        for (s, ns) in [
            (0.0, 0),
            (-0.0, 0),
            (2.0, 2_000_000_000),
            (2.0004, 2_000_399_999),
            (2.5, 2_500_000_000),
            (1e-9, 0),
            (2e-9, 1),
            (0.999_999_999_999_999_9, 999_999_999),
            (f64::NAN, 0),
            (-3.0, 0),
            (f64::INFINITY, u64::MAX),
            (1e300, u64::MAX),
        ] {
            assert_eq!(seconds_to_ns(s), ns, "{s}");
        }
    }

    /// Key values of section 4.1 at 100 and 400 Gb/s.
    #[test]
    fn serialisation_key_values() {
        for (bytes, at_100, at_400) in
            [(1090, 87, 21), (1048, 83, 20), (1056, 84, 21), (1050, 83, 20), (88, 7, 1), (60, 4, 1), (43, 3, 0)]
        {
            assert_eq!(serialisation_ns(bytes, 100 * G), at_100, "{bytes} B");
            assert_eq!(serialisation_ns(bytes, 400 * G), at_400, "{bytes} B");
        }
        assert_eq!(serialisation_ns(0, 0), 0);
        assert_eq!(serialisation_ns(1, 0), u64::MAX);
    }

    /// The reference's table for 1 to 1600 bytes at 8 rates, as FNV-1a over the 12800 values (8 bytes each, little
    /// endian, row by row); computed from our measurement of the reference.
    #[test]
    fn serialisation_equals_the_whole_table() {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut sums = [0u64; 8];
        for bytes in 1..=1600 {
            for (i, rate) in [1, 10, 25, 40, 50, 100, 200, 400].into_iter().enumerate() {
                let ns = serialisation_ns(bytes, rate * G);
                sums[i] += ns;
                for byte in ns.to_le_bytes() {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        assert_eq!(sums, TABLE_SUMS);
        assert_eq!(hash, TABLE_FNV);
    }
    const TABLE_SUMS: [u64; 8] = [10_244_814, 1_023_680, 409_024, 255_200, 204_096, 101_632, 50_400, 24_800];
    const TABLE_FNV: u64 = 0x70d6_a837_0f7e_cce5;

    proptest! {
        #[test]
        fn seconds_keep_order(a in 0f64..1e7, b in 0f64..1e7) {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(seconds_to_ns(low) <= seconds_to_ns(high));
        }

        /// Floor of the exact time, except one less where that is whole: the rule as stated for the 8 rates of the table.
        #[test]
        fn serialisation_is_the_floor_or_one_less(bytes in 1u64..100_000, rate in prop::sample::select(&[10u64, 25, 40, 50, 100, 200, 400][..])) {
            let got = serialisation_ns(bytes, rate * G);
            let exact = bytes * 8 / rate;
            prop_assert!(got == exact || (bytes * 8).is_multiple_of(rate) && got + 1 == exact);
        }

        #[test]
        fn any_double_is_converted(bits in any::<u64>()) {
            seconds_to_ns(f64::from_bits(bits));
        }
    }
}
