//! How long bytes take on a wire: exact picoseconds, or the whole nanoseconds of the reference simulator.

use paceline_proto::units::NS;

use crate::hpcc_format::serialisation_ns;

/// Picoseconds of a second in eight-bit units: one byte at 1 bit/s lasts `PS_PER_BYTE_BPS` ps.
const PS_PER_BYTE_BPS: u64 = 8_000_000_000_000;

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
    use super::*;

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
}
