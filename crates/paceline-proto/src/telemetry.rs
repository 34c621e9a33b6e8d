//! In-band network telemetry (INT): what a switch port writes into a data packet as it leaves.
//!
//! The layout is HPCC's (SIGCOMM 2019, figure 7, as its simulator packs it): 64 bits per hop with a 24-bit time in
//! nanoseconds, a 20-bit byte counter in units of 128 B times a multiple, a 17-bit queue in units of 80 B times the same
//! multiple, and a 3-bit code for the port's rate. Times and bytes wrap as the real header would: what two records say of the
//! time between them holds while it is short ([`record_life`]). A queue too long for its field is written as the longest there is room for.

use crate::units::{Duration, Time};

/// Hops a packet has room for.
pub const MAX_HOPS: usize = 5;

/// Different port rates one run may have: the code has three bits.
pub const MAX_RATES: usize = 8;

/// A tick of [`record_life`] is 2 to the power of this, ps: 268 us.
pub const TICK_BITS: u32 = 28;

const TIME_BITS: u32 = 24;
const BYTES_BITS: u32 = 20;
const QUEUE_BITS: u32 = 17;

/// Ticks in which a record's clock does not come round, a sixteenth left for what ACKs differ by on their way.
const CLOCK_LIFE: u64 = (((1 << TIME_BITS) * crate::units::NS) >> TICK_BITS) * 15 / 16;

/// The longest that any record can be compared with the one before.
pub const LONGEST_LIFE: Duration = Duration(CLOCK_LIFE << TICK_BITS);

/// Ticks in which neither the time of a record nor the bytes of a port at `fastest` bit/s come round, a sixteenth left for what ACKs
/// differ by on their way; of the bytes no less than eight base RTTs, in which a flow must learn something.
pub fn record_life(multiple: u64, fastest: f64, base_rtt: Duration) -> u16 {
    let bytes = ((128 * multiple) << BYTES_BITS) as f64 * 8.0;
    let seconds = bytes / fastest.max(1.0);
    let ticks = ((seconds * crate::units::S as f64) as u64) >> TICK_BITS;
    let least = (base_rtt.0.saturating_mul(8) >> TICK_BITS) + 1;
    CLOCK_LIFE.min((ticks * 15 / 16).max(least)) as u16
}

/// One hop's record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IntHop(pub u64);

/// The units of a run's records: a division by each becomes a multiplication.
#[derive(Clone, Copy, Debug)]
pub struct IntUnits {
    bytes: u64,
    queue: u64,
    /// Units of the longest queue written.
    longest: u64,
}

impl IntUnits {
    /// Units of 128 B and 80 B times `multiple` (4 at 100 Gb/s), from 1 to 2^16.
    pub fn new(multiple: u64) -> Self {
        // Rounded up to 64 fractional bits: the quotient is exact for dividends below 2^64 / divisor.
        let reciprocal = |unit: u64| (u64::MAX / unit) + 1;
        Self { bytes: reciprocal(128 * multiple), queue: reciprocal(80 * multiple), longest: (1 << QUEUE_BITS) - 1 }
    }

    /// The same with queues that wrap too, as in the authors' simulator: one beyond 10.5 MB times `multiple` reads as a short one.
    #[must_use]
    pub fn with_wrapping_queue(self) -> Self {
        Self { longest: u64::MAX, ..self }
    }

    /// Packs a record.
    ///
    /// `tx_bytes` is what the port had sent before this packet, `queue` what waits behind it, both in bytes and below
    /// 2^40; `rate_code` indexes the run's table of port rates, below [`MAX_RATES`].
    #[inline(always)]
    pub fn pack(self, now: Time, tx_bytes: u64, queue: u64, rate_code: u8) -> IntHop {
        let divided = |value: u64, reciprocal: u64| ((u128::from(value) * u128::from(reciprocal)) >> 64) as u64;
        let time = (now.0 / crate::units::NS) & ((1 << TIME_BITS) - 1);
        let bytes = divided(tx_bytes, self.bytes) & ((1 << BYTES_BITS) - 1);
        let queue = divided(queue, self.queue).min(self.longest) & ((1 << QUEUE_BITS) - 1);
        IntHop(time | bytes << TIME_BITS | queue << (TIME_BITS + BYTES_BITS) | u64::from(rate_code) << 61)
    }
}

impl IntHop {
    /// Nanoseconds from `earlier` to this record, modulo 2^24 ns (16.8 ms).
    #[inline(always)]
    pub fn ns_since(self, earlier: IntHop) -> u64 {
        self.0.wrapping_sub(earlier.0) & ((1 << TIME_BITS) - 1)
    }

    /// Bytes sent from `earlier` to this record, in steps of the unit, modulo 2^20 units.
    #[inline(always)]
    pub fn bytes_since(self, earlier: IntHop, multiple: u64) -> u64 {
        let units = (self.0 >> TIME_BITS).wrapping_sub(earlier.0 >> TIME_BITS) & ((1 << BYTES_BITS) - 1);
        units * 128 * multiple
    }

    /// Bytes waiting, in steps of the unit.
    #[inline(always)]
    pub fn queue(self, multiple: u64) -> u64 {
        self.shorter_queue(self, multiple)
    }

    /// The smaller of two records' bytes waiting, in steps of the unit.
    #[inline(always)]
    pub fn shorter_queue(self, other: IntHop, multiple: u64) -> u64 {
        // Above the queue comes the code of the rate; what is below it decides only between equal queues.
        let upper = |record: IntHop| record.0 << (u64::BITS - TIME_BITS - BYTES_BITS - QUEUE_BITS);
        (upper(self).min(upper(other)) >> (u64::BITS - QUEUE_BITS)) * 80 * multiple
    }

    /// Index of the port's rate in the run's table.
    #[inline(always)]
    pub fn rate_code(self) -> usize {
        (self.0 >> 61) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2^24 ns are 16.8 ms, 62 ticks. 2^20 units of 512 B at 400 Gb/s last 10.7 ms, 40 ticks; of 128 B 2.7 ms, 10 ticks, but a base RTT of
    /// 1 ms asks for 29 and one more.
    #[test]
    fn how_long_records_hold() {
        let life = |multiple, gbps: f64, us| record_life(multiple, gbps * 1e9, Duration::from_us(us));
        assert_eq!([life(4, 100.0, 12), life(4, 400.0, 12), life(1, 400.0, 12), life(1, 400.0, 1000)], [58, 37, 9, 30]);
        assert_eq!([life(1, 0.0, 12), life(1, 10.0, 1_000_000)], [58, 58]);
    }

    proptest! {
        /// The multiplication gives the quotient for every counter a run can reach.
        #[test]
        fn units_divide_exactly(value in 0u64..1 << 46, multiple in 1u64..200) {
            let record = IntUnits::new(multiple).pack(Time(0), value, value & 0xffff_ffff, 0);
            prop_assert_eq!((record.0 >> 24) & 0xf_ffff, (value / (128 * multiple)) & 0xf_ffff);
            let queue = (value & 0xffff_ffff) / (80 * multiple);
            prop_assert_eq!(record.queue(multiple), queue.min(0x1_ffff) * 80 * multiple);
            let wrapping = IntUnits::new(multiple).with_wrapping_queue().pack(Time(0), value, value & 0xffff_ffff, 0);
            prop_assert_eq!(wrapping.queue(multiple), (queue & 0x1_ffff) * 80 * multiple);
        }

        /// Differences survive the wrap of every counter, in whole units.
        #[test]
        fn differences_survive_wraps(t in 0u64..1 << 40, dt in 1u64..1 << 23, b in 0u64..1 << 30, db in 0u64..1 << 24, q in 0u64..1 << 20) {
            let old = IntUnits::new(4).pack(Time(t * 1000), b * 512, 0, 1);
            let new = IntUnits::new(4).pack(Time((t + dt) * 1000), b * 512 + db, q, 1);
            prop_assert_eq!(new.ns_since(old), dt);
            prop_assert_eq!(new.bytes_since(old, 4), db / 512 * 512);
            prop_assert_eq!(new.queue(4), q / 320 * 320);
            prop_assert_eq!(new.rate_code(), 1);
        }
    }
}
