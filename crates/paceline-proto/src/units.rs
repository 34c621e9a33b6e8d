//! Quantities with their units in the type: instants, durations, sizes, rates.
//!
//! Time is an integer number of picoseconds, so that one byte lasts a whole number of units at every common rate from
//! 1 Gb/s to 1.6 Tb/s and nothing is rounded. Text forms (`"1us"`, `"100Gbps"`, `"32MiB"`) are parsed exactly, in
//! integers: a value that is no whole number of the base unit is an error, not a rounding.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant: picoseconds since the start of the simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(pub u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Duration(pub u64);

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct BitsPerSec(pub u64);

/// Picoseconds in a nanosecond.
pub const NS: u64 = 1_000;
/// Picoseconds in a microsecond.
pub const US: u64 = 1_000_000;
/// Picoseconds in a millisecond.
pub const MS: u64 = 1_000_000_000;
/// Picoseconds in a second.
pub const S: u64 = 1_000_000_000_000;

impl Time {
    /// The instant no simulation reaches; stands for "never".
    pub const NEVER: Time = Time(u64::MAX);
}

impl Duration {
    /// Nanoseconds, rounded down.
    pub fn as_ns(self) -> u64 {
        self.0 / NS
    }
    /// A duration of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * NS)
    }
    /// A duration of whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * US)
    }
    /// What takes so long at rate `from`, at another rate; 1 ps at least.
    #[must_use]
    pub fn at_rate(self, from: BitsPerSec, to: BitsPerSec) -> Self {
        let scaled = u128::from(self.0) * u128::from(from.0) / u128::from(to.0.max(1));
        Self(u64::try_from(scaled).unwrap_or(u64::MAX).max(1))
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0 + d.0)
    }
}

impl std::ops::Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl BitsPerSec {
    /// Time to put `bytes` on a wire of this rate, rounded up to the next picosecond (exact at every common rate).
    pub fn serialisation(self, bytes: u64) -> Duration {
        Duration((u128::from(bytes) * 8 * u128::from(S)).div_ceil(u128::from(self.0)) as u64)
    }
}

/// A quantity that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseUnitError {
    /// The text as given.
    pub value: String,
    /// What is allowed, for the message.
    pub allowed: String,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not valid here; allowed: {}", self.value, self.allowed)
    }
}

impl std::error::Error for ParseUnitError {}

/// Reads `number unit` exactly: the value in base units, or `None` when it is malformed, unknown, not whole or too big.
fn parse_exact(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = (&text[..split], text[split..].trim());
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut value = whole.checked_mul(scale)?;
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        if fraction.len() > 18 {
            return None;
        }
        let digits = u128::from(fraction.parse::<u64>().ok()?) * u128::from(scale);
        let ten = 10u128.pow(fraction.len() as u32);
        if digits % ten != 0 {
            return None;
        }
        value = value.checked_add(u64::try_from(digits / ten).ok()?)?;
    }
    Some(value)
}

/// Writes `value` with the largest unit that divides it.
fn write_exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, scale) = units
        .iter()
        .filter(|(_, s)| value.is_multiple_of(*s) && value >= *s)
        .max_by_key(|(_, s)| *s)
        .unwrap_or(&units[0]);
    write!(f, "{}{}", value / scale, name)
}

/// Writes `value` with the largest unit that is no larger, and as many decimals as that takes.
fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, scale) = units.iter().filter(|(_, s)| value >= *s).max_by_key(|(_, s)| *s).unwrap_or(&units[0]);
    // Only of a power of ten the rest has that many decimals.
    let digits = scale.ilog10() as usize;
    if 10u64.pow(digits as u32) != *scale || value.is_multiple_of(*scale) {
        return write_exact(f, value, units);
    }
    let rest = format!("{:0digits$}", value % scale);
    write!(f, "{}.{}{}", value / scale, rest.trim_end_matches('0'), name)
}

macro_rules! unit {
    ($ty:ident, $units:expr, $shown:expr, $allowed:expr) => {
        impl FromStr for $ty {
            type Err = ParseUnitError;
            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                parse_exact(text, $units)
                    .map($ty)
                    .ok_or_else(|| ParseUnitError { value: text.to_string(), allowed: $allowed.to_string() })
            }
        }
        /// A whole number of the largest unit that divides it; with `{:#}`, for sentences, a decimal number of the largest that is no larger,
        /// unless that is a power of two. Both are exact.
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if f.alternate() { write_decimal(f, self.0, $shown) } else { write_exact(f, self.0, $shown) }
            }
        }
        impl Serialize for $ty {
            fn serialize<Z: Serializer>(&self, s: Z) -> Result<Z::Ok, Z::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $ty {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

const TIMES: &[(&str, u64)] = &[("ps", 1), ("ns", NS), ("us", US), ("ms", MS), ("s", S)];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
const RATES: &[(&str, u64)] =
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];

unit!(Time, TIMES, TIMES, "a number and a unit of ps, ns, us, ms, s, a whole number of ps");
unit!(Duration, TIMES, TIMES, "a number and a unit of ps, ns, us, ms, s, a whole number of ps");
unit!(
    Bytes,
    SIZES,
    SIZES,
    "a number and a unit of B, KB, MB, GB (powers of 1000), KiB, MiB, GiB, a whole number of bytes"
);
unit!(BitsPerSec, RATES, RATES, "a number and a unit of bps, Kbps, Mbps, Gbps, Tbps, a whole number of bit/s");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Times in sentences can be read, and say the same instant.
    #[test]
    fn sentences_have_decimals() {
        for (time, plain, sentence) in [
            (688_774_558_080, "688774558080ps", "688.77455808ms"),
            (2_700_994_560, "2700994560ps", "2.70099456ms"),
            (1_000_001, "1000001ps", "1.000001us"),
            (137_000, "137ns", "137ns"),
            (999, "999ps", "999ps"),
            (0, "0ps", "0ps"),
            (90 * S, "90s", "90s"),
        ] {
            assert_eq!((Time(time).to_string(), format!("{:#}", Time(time))), (plain.into(), sentence.into()));
            assert_eq!(sentence.parse::<Time>(), Ok(Time(time)));
        }
        assert_eq!(format!("{:#} {:#}", Bytes(1500), Bytes(1 << 21)), "1500B 2MiB");
        assert_eq!(format!("{:#}", BitsPerSec(2_500_000_000)), "2.5Gbps");
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!("1.5us".parse::<Duration>().unwrap(), Duration(1_500_000));
        assert_eq!(".25 us".parse::<Duration>().unwrap(), Duration(250_000));
        assert_eq!("100Gbps".parse::<BitsPerSec>().unwrap(), BitsPerSec(100_000_000_000));
        for bad in ["", "us", "1", "-1us", "1.2.3us", "NaNus", "0.5ps", "99999999999s", "1e3us", "inf s"] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }

    proptest! {
        /// What a resolved scenario prints reads back as the same value.
        #[test]
        fn text_form_round_trips(v in 0u64..u64::MAX) {
            prop_assert_eq!(Duration(v).to_string().parse::<Duration>().unwrap(), Duration(v));
            prop_assert_eq!(Bytes(v).to_string().parse::<Bytes>().unwrap(), Bytes(v));
        }
    }
}
