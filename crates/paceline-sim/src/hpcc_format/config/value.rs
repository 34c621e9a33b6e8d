//! The words after a key, read as the type the key asks for.

use std::collections::BTreeMap;

use paceline_proto::units::BitsPerSec;

use super::{CcMode, LinkDown};
use crate::InputError;
use crate::clock::Clock;
use crate::graph::NodeId;
use crate::hpcc_format::quantity::{MAX_SECONDS, RATE_ALLOWED, rate};
use crate::hpcc_format::text::Line;
use crate::spelling::clip;

/// Largest ECN threshold: the reference counts its bytes in 32 bits.
const MAX_THRESHOLD: u64 = u32::MAX as u64 / 1000;
/// Largest timer, in µs: 11 days.
const MAX_TIMER: f64 = 1e12;

/// A key's words.
pub(super) struct Value<'a, 'w> {
    pub line: Line<'a>,
    pub key: &'static str,
    pub words: &'w [&'a str],
}

impl<'a> Value<'a, '_> {
    fn bad(&self, value: &str, problem: &str, allowed: impl Into<String>) -> InputError {
        self.line.bad(self.key, value, problem, allowed)
    }

    /// The only word.
    pub fn word(&self, allowed: &str) -> Result<&'a str, InputError> {
        if let [word] = self.words {
            return Ok(word);
        }
        let problem = format!("wrong number of words: {} after the key", self.words.len());
        Err(self.bad(&self.words.join(" "), &problem, format!("{allowed}, one word")))
    }

    pub fn file(&self) -> Result<String, InputError> {
        self.word("a file name without spaces").map(str::to_string)
    }

    pub fn flag(&self) -> Result<bool, InputError> {
        match self.word("0 or 1")? {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(self.bad(other, "not a switch", "0 or 1")),
        }
    }

    pub fn u32(&self, min: u32, max: u32, unit: &str) -> Result<u32, InputError> {
        let word = self.word("a whole number")?;
        self.line.integer(self.key, word, u64::from(min), u64::from(max), unit).map(|n| n as u32)
    }

    pub fn real(&self, ok: impl Fn(f64) -> bool, allowed: &str) -> Result<f64, InputError> {
        self.line.number(self.key, self.word(allowed)?, ok, allowed)
    }

    /// A probability or gain.
    pub fn share(&self) -> Result<f64, InputError> {
        self.real(|d| (0.0..=1.0).contains(&d), "a number from 0 to 1")
    }

    pub fn nanoseconds(&self) -> Result<u64, InputError> {
        let word = self.word("a time in ns")?;
        self.line.integer(self.key, word, 0, MAX_SECONDS as u64 * 1_000_000_000, " ns")
    }

    pub fn stop_time(&self) -> Result<f64, InputError> {
        self.real(|d| d > 0.0 && d <= MAX_SECONDS, "seconds above 0, at most 18000000")
    }

    /// A timer: the reference reads a double and drops what is below 1 µs.
    pub fn microseconds(&self, warnings: &mut Vec<String>) -> Result<u64, InputError> {
        let us = self.real(|d| (0.0..=MAX_TIMER).contains(&d), "microseconds from 0 to 1000000000000")?;
        if us.fract() != 0.0 {
            let key = self.key;
            warnings
                .push(self.line.warning(format!("{key} = {us} us counts as {} us, as in the reference", us.trunc())));
        }
        Ok(us as u64)
    }

    pub fn rate(&self, min: u64) -> Result<BitsPerSec, InputError> {
        let word = self.word(RATE_ALLOWED)?;
        match rate(word, Clock::TruncatedNs) {
            None => Err(self.bad(word, "not a rate", RATE_ALLOWED)),
            Some(rate) if rate.0 < min => Err(self.bad(word, "out of range", format!("at least {min}bps"))),
            Some(rate) => Ok(rate),
        }
    }

    pub fn cc_mode(&self) -> Result<CcMode, InputError> {
        const ALLOWED: &str = "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP) or 10 (HPCC-PINT)";
        Ok(match self.word(ALLOWED)? {
            "1" => CcMode::Dcqcn,
            "3" => CcMode::Hpcc,
            "7" => CcMode::Timely,
            "8" => CcMode::Dctcp,
            "10" => CcMode::HpccPint,
            other => return Err(self.bad(other, "no such congestion control", ALLOWED)),
        })
    }

    pub fn link_down(&self) -> Result<LinkDown, InputError> {
        let &[after, a, b] = self.words else {
            let problem = format!("wrong number of words: {} after the key", self.words.len());
            return Err(self.bad(&self.words.join(" "), &problem, "3 numbers: microseconds after 2 s, node, node"));
        };
        let node = |word| self.line.integer(self.key, word, 0, u64::from(NodeId::MAX), " (a node id)");
        let after_us = self.line.integer(self.key, after, 0, MAX_TIMER as u64, " (us after 2 s)")?;
        let down = LinkDown { after_us, a: node(a)? as NodeId, b: node(b)? as NodeId };
        if down.after_us > 0 && down.a == down.b {
            return Err(self.bad(b, "a link from a node to itself", "the two ends of a link"));
        }
        Ok(down)
    }

    /// Adds `n rate value rate value ...` to a map that is ascending by rate; of a rate given twice the last counts, as in the reference.
    fn map<T: Copy>(
        &self,
        entries: &mut Vec<(BitsPerSec, T)>,
        warnings: &mut Vec<String>,
        allowed: &str,
        read: impl Fn(&str) -> Result<T, InputError>,
    ) -> Result<(), InputError> {
        let form = format!("`n rate value rate value ...` with n pairs; rates in bit/s, values {allowed}");
        let Some((count, pairs)) = self.words.split_first() else {
            return Err(self.bad("", "wrong number of words: none after the key", form));
        };
        let count = self.line.integer(self.key, count, 1, u64::from(u32::MAX), " (the number of pairs)")?;
        if pairs.len() as u64 != count * 2 {
            let problem = format!("wrong number of words: {} after a count of {count}, not {}", pairs.len(), count * 2);
            return Err(self.bad(&self.words.join(" "), &problem, form));
        }
        let mut map: BTreeMap<_, _> = entries.iter().copied().collect();
        for pair in pairs.chunks_exact(2) {
            let max = crate::hpcc_format::quantity::MAX_RATE;
            let rate = BitsPerSec(self.line.integer(self.key, pair[0], 1, max, " bit/s")?);
            if map.insert(rate, read(pair[1])?).is_some() {
                let (key, rate) = (self.key, clip(pair[0]));
                warnings.push(self.line.warning(format!("{key} gives rate {rate} twice; the last counts")));
            }
        }
        *entries = map.into_iter().collect();
        Ok(())
    }

    pub fn thresholds(&self, map: &mut Vec<(BitsPerSec, u64)>, warnings: &mut Vec<String>) -> Result<(), InputError> {
        let read = |word: &str| self.line.integer(self.key, word, 0, MAX_THRESHOLD, " (x1000 bytes)");
        self.map(map, warnings, "in 1000 bytes", read)
    }

    pub fn probabilities(
        &self,
        map: &mut Vec<(BitsPerSec, f64)>,
        warnings: &mut Vec<String>,
    ) -> Result<(), InputError> {
        let inside = |p: f64| (0.0..=1.0).contains(&p);
        let read = |word: &str| self.line.number(self.key, word, inside, "a probability from 0 to 1");
        self.map(map, warnings, "from 0 to 1", read)
    }
}
