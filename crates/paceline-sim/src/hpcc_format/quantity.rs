//! The reference's arithmetic for times and rates: doubles truncated to whole nanoseconds (hpcc-ns3 facts, section 4.1).
//!
//! [`Clock::Exact`] reads a file's decimals as what they say, in whole picoseconds and bit/s; [`Clock::TruncatedNs`] as what
//! the reference makes of them.

use paceline_proto::units::{BitsPerSec, Duration, NS, Time, US};

use crate::clock::{Clock, units_to_ns};
use crate::topology;

/// Largest time in a file, in seconds (208 days): below 2^64 ps.
pub const MAX_SECONDS: f64 = 18_000_000.0;
/// Largest link rate in a file, in bit/s: that of any network, so that a file is refused where it says more.
pub const MAX_RATE: u64 = topology::MAX_RATE.0;
/// Largest link delay in a file, likewise.
pub const MAX_DELAY: Duration = topology::MAX_DELAY;

/// A rate in the largest unit ns-3 knows (it has no Tbps) that divides it.
pub(super) fn rate_text(rate: BitsPerSec) -> String {
    let units = [(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "Kbps"), (1, "bps")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| rate.0.is_multiple_of(*scale)).unwrap_or((1, "bps"));
    format!("{}{unit}", rate.0 / scale)
}

/// Names of rate units and their bit/s, as ns-3 documents them for its data rates; `Tbps` and `Tb/s` are ours.
const RATES: &[(&str, u64)] = &[
    ("", 1),
    ("bps", 1),
    ("b/s", 1),
    ("Bps", 8),
    ("B/s", 8),
    ("kbps", 1_000),
    ("kb/s", 1_000),
    ("Kbps", 1_000),
    ("Kb/s", 1_000),
    ("kBps", 8_000),
    ("kB/s", 8_000),
    ("KBps", 8_000),
    ("KB/s", 8_000),
    ("Kib/s", 1_024),
    ("KiB/s", 8_192),
    ("Mbps", 1_000_000),
    ("Mb/s", 1_000_000),
    ("MBps", 8_000_000),
    ("MB/s", 8_000_000),
    ("Mib/s", 1_048_576),
    ("MiB/s", 8_388_608),
    ("Gbps", 1_000_000_000),
    ("Gb/s", 1_000_000_000),
    ("GBps", 8_000_000_000),
    ("GB/s", 8_000_000_000),
    ("Gib/s", 1_073_741_824),
    ("GiB/s", 8_589_934_592),
    ("Tbps", 1_000_000_000_000),
    ("Tb/s", 1_000_000_000_000),
];
/// Names of time units and their picoseconds.
const TIMES: &[(&str, u64)] = &[("ps", 1), ("ns", NS), ("us", US), ("ms", 1_000 * US), ("s", 1_000_000 * US)];

/// What [`rate`] takes, for messages.
pub(super) const RATE_ALLOWED: &str =
    "a number and a unit of bps, Kbps, Mbps, Gbps (or b/s, Kb/s, Mb/s, Gb/s), at most 100000Gbps";
/// What [`delay`] takes, for messages.
pub(super) const DELAY_ALLOWED: &str = "a number and a unit of ps, ns, us, ms, s (whole picoseconds), at most 1s";

/// Splits `100Gbps` into its number and the size of its unit.
fn split<'a>(word: &'a str, units: &[(&str, u64)]) -> Option<(&'a str, u64)> {
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let (number, unit) = word.split_at(end);
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    // Refuses what is not one number: nothing, a lone point, two points.
    number.parse::<f64>().ok()?;
    Some((number, scale))
}

/// `number` times `scale` in integers; `None` when that is no whole number or too big. `floor` drops the rest instead.
fn scaled(number: &str, scale: u64, floor: bool) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut rest = 0;
    let mut unit = u128::from(scale);
    let mut exact = true;
    // Long division digit by digit, in units of 10^-18 so that no digit of a used scale is lost.
    unit *= 1_000_000_000_000_000_000;
    for digit in fraction.bytes() {
        exact &= unit.is_multiple_of(10) || digit == b'0';
        unit /= 10;
        rest += unit * u128::from(digit - b'0');
    }
    exact &= rest.is_multiple_of(1_000_000_000_000_000_000);
    if !exact && !floor {
        return None;
    }
    whole.checked_mul(scale)?.checked_add((rest / 1_000_000_000_000_000_000) as u64)
}

/// A rate such as `100Gbps` or `50Mb/s`; a bare number is in bit/s. 0 is let through, more than [`MAX_RATE`] is not.
pub(super) fn rate(word: &str, clock: Clock) -> Option<BitsPerSec> {
    let (number, scale) = split(word, RATES)?;
    let value = match clock {
        Clock::Exact => scaled(number, scale, false)?,
        Clock::TruncatedNs => (number.parse::<f64>().ok()? * scale as f64) as u64,
    };
    (value <= MAX_RATE).then_some(BitsPerSec(value))
}

/// A delay such as `1000ns` or `0.001ms`, at most [`MAX_DELAY`].
///
/// On the reference's clock a decimal of a unit above 1 ns goes through its double as in [`seconds_to_ns`](crate::clock::seconds_to_ns): read so from
/// the rule for seconds, not checked against the reference, whose files here all state whole nanoseconds.
pub(super) fn delay(word: &str, clock: Clock) -> Option<Duration> {
    let (number, scale) = split(word, TIMES)?;
    let value = match clock {
        Clock::Exact => scaled(number, scale, false)?,
        Clock::TruncatedNs if scale < NS => scaled(number, scale, true)? / NS * NS,
        Clock::TruncatedNs => units_to_ns(number.parse().ok()?, scale / NS).checked_mul(NS)?,
    };
    (value <= MAX_DELAY.0).then_some(Duration(value))
}

/// A time in seconds, exact where it is a plain decimal (digits past 10^-12 s are dropped); `None` when out of range.
pub(super) fn seconds(word: &str) -> Option<(f64, Time)> {
    let value = super::text::real(word).filter(|d| (0.0..=MAX_SECONDS).contains(d))?;
    let plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let ps = if plain { scaled(word, 1_000_000 * US, true)? } else { (value * 1e12).round() as u64 };
    Some((value, Time(ps)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::seconds_to_ns;
    use proptest::prelude::*;

    const G: u64 = 1_000_000_000;

    /// Starts as the reference wrote them to fct.txt for flows 137 ns apart and for flows 0.4 ms apart.
    #[test]
    fn starts_are_those_the_reference_wrote() {
        let apart_137 = [0, 136, 274, 410, 548, 684, 822, 958, 1096, 1232, 1370, 1506, 1644, 1780, 1918, 2054];
        let apart_400k = [0, 399_999, 799_999, 1_199_999, 1_599_999, 1_999_999, 2_400_000, 2_800_000];
        let first = apart_137.iter().enumerate().map(|(i, ns)| (i as u64 * 137, *ns));
        let second = apart_400k.iter().enumerate().map(|(i, ns)| (i as u64 * 400_000, *ns));
        for (offset, ns) in first.chain(second) {
            let text = format!("2.{offset:09}");
            let (value, exact) = seconds(&text).unwrap();
            assert_eq!(seconds_to_ns(value), 2 * G + ns, "{text}");
            assert_eq!(exact, Time((2 * G + offset) * NS));
        }
    }

    #[test]
    fn rates_and_delays_in_every_spelling() {
        for clock in [Clock::Exact, Clock::TruncatedNs] {
            for (word, bps) in [
                ("100Gbps", 100 * G),
                ("12.5Gb/s", 12_500_000_000),
                ("50Mb/s", 50_000_000),
                ("1000Mb/s", G),
                ("615Mbps", 615_000_000),
                ("8kbps", 8_000),
                ("1MB/s", 8_000_000),
                ("1Kib/s", 1_024),
                ("7", 7),
                ("0Mb/s", 0),
            ] {
                assert_eq!(rate(word, clock), Some(BitsPerSec(bps)), "{word}");
            }
            for (word, ns) in [("1000ns", 1000), ("1us", 1000), ("0.001ms", 1000), ("1s", G), ("0ns", 0)] {
                assert_eq!(delay(word, clock), Some(Duration::from_ns(ns)), "{word}");
            }
            for bad in ["", "Gbps", ".", "1.2.3Gbps", "-1Gbps", "1e3Gbps", "NaNGbps", "1 Gbps", "10Xbps", "100001Gbps"]
            {
                assert_eq!(rate(bad, clock), None, "{bad}");
            }
            for bad in ["", "1", "ns", "-1ns", "infs", "1e3ns", "1.1s", "99999999999999999999s", "1h"] {
                assert_eq!(delay(bad, clock), None, "{bad}");
            }
        }
        assert_eq!(delay("1.5ns", Clock::Exact), Some(Duration(1500)));
        assert_eq!(delay("1.5ns", Clock::TruncatedNs), Some(Duration(1000)));
        assert_eq!(delay("2999ps", Clock::TruncatedNs), Some(Duration(2000)));
        assert_eq!(delay("0.0003ms", Clock::Exact), Some(Duration::from_ns(300)));
        assert_eq!(delay("0.0003ms", Clock::TruncatedNs), Some(Duration::from_ns(299)));
        assert_eq!(delay("0.5ps", Clock::Exact), None);
        assert_eq!(rate("0.5bps", Clock::Exact), None);
    }

    proptest! {
        /// The conversion is the floor of the decimal, or 1 ns below it; whole and dyadic seconds are exact.
        #[test]
        fn seconds_are_at_most_one_ns_early(ns in 0u64..4_000_000_000_000) {
            let text = format!("{}.{:09}", ns / G, ns % G);
            let got = seconds_to_ns(text.parse().unwrap());
            prop_assert!(got == ns || got + 1 == ns, "{} -> {}", text, got);
            prop_assert_eq!(seconds(&text).unwrap().1, Time(ns * NS));
        }
    }
}
