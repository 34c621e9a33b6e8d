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
    /// The quantity that may have been meant, of which only the unit is written in another way.
    pub meant: Option<String>,
}

impl ParseUnitError {
    /// What is wrong, with what may have been meant.
    pub fn problem(&self, wrong: &str) -> String {
        self.meant.as_ref().map_or(wrong.to_string(), |meant| format!("{wrong}, did you mean \"{meant}\"?"))
    }
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}; allowed: {}", self.value, self.problem("not valid here"), self.allowed)
    }
}

impl std::error::Error for ParseUnitError {}

/// Reads `number unit` exactly: the value in base units, or `None` when it is malformed, unknown, not whole or too big.
fn parse_exact(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
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

/// The two parts of a quantity; `None` without a unit.
fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    Some((&text[..split], text[split..].trim()))
}

/// What may have been meant by a quantity that has another unit than these: 100Gbps by `100Gb`, 10us by `10usec`.
fn meant(text: &str, units: &[(&str, u64)]) -> Option<String> {
    let (number, unit) = number_and_unit(text)?;
    // Bits are no bytes: a unit of the one is not meant where the other is asked for.
    let others = if units == RATES { unit.contains('B') } else { unit.contains("bit") };
    if others {
        return None;
    }
    let plain = unit.to_lowercase().replace(['µ', 'μ'], "u").replace("/s", "ps");
    let plain = plain.replace("bits", "b").replace("bit", "b");
    let known = || units.iter().map(|(name, _)| (*name, name.to_lowercase()));
    let (unit, _) = known()
        .find(|(_, name)| *name == plain)
        .or_else(|| known().find(|(_, name)| name.starts_with(&plain)))
        .or_else(|| known().filter(|(_, name)| plain.starts_with(name)).max_by_key(|(_, name)| name.len()))?;
    Some(format!("{number}{unit}")).filter(|meant| parse_exact(meant, units).is_some())
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
                parse_exact(text, $units).map($ty).ok_or_else(|| ParseUnitError {
                    value: text.to_string(),
                    allowed: $allowed.to_string(),
                    meant: meant(text, $units),
                })
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

    /// Units of other programs are known, but not taken: `Gb` is as often a size.
    #[test]
    fn another_way_to_write_a_unit_is_understood() {
        let rate = |text: &str| text.parse::<BitsPerSec>().unwrap_err().meant;
        let size = |text: &str| text.parse::<Bytes>().unwrap_err().meant;
        let time = |text: &str| text.parse::<Duration>().unwrap_err().meant;
        for text in ["100Gb", "100gbps", "100G", "100 Gbit/s", "100Gb/s", "100gbits/sec"] {
            assert_eq!(rate(text).as_deref(), Some("100Gbps"), "{text}");
        }
        assert_eq!(size("1.5mb").as_deref(), Some("1.5MB"));
        assert_eq!(size("64k").as_deref(), Some("64KB"));
        assert_eq!(size("64Ki").as_deref(), Some("64KiB"));
        assert_eq!(size("64kbytes").as_deref(), Some("64KB"));
        for text in ["10usec", "10µs", "10μs", "10US"] {
            assert_eq!(time(text).as_deref(), Some("10us"), "{text}");
        }
        assert_eq!(time("2 seconds").as_deref(), Some("2s"));
        for other in ["100GB/s", "100GBps", "100", "Gb", "100us", "1.2.3Gb", ""] {
            assert_eq!(rate(other), None, "{other}");
        }
        assert_eq!(size("100Gbit"), None);
        for other in ["10", "1 parsec", "-1usec", "99999999999999999sec", "0.5ps", "1e3us"] {
            assert_eq!(time(other), None, "{other}");
        }
        assert_eq!(
            "10usec".parse::<Time>().unwrap_err().to_string(),
            "`10usec` is not valid here, did you mean \"10us\"?; allowed: a number and a unit of ps, ns, us, ms, s, a whole number of ps"
        );
    }

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
