//! Flow-size distributions given as points of the cumulative distribution.

use std::path::Path;
use std::sync::Arc;

use paceline_proto::rng;
use serde::{Deserialize, Serialize};

use crate::InputError;
use crate::spelling::clip;

/// Largest file of points that is read, in bytes.
pub const MAX_FILE: u64 = 1_000_000;
/// Largest flow size in a distribution: 1 PiB, so that every size is exact as a double.
pub const MAX_BYTES: u64 = 1 << 50;
/// Equal slices of probability with a known first point, so that drawing a size searches a few points only.
const SLICES: usize = 1024;

/// What lies between two points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Sizes between two points are equally likely; the size is rounded down. Two points of one size are a jump.
    Interpolated,
    /// Only the sizes listed occur.
    Step,
}

/// A flow-size distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct Cdf {
    points: Vec<(u64, f64)>,
    sampling: Sampling,
    nominal: Option<f64>,
    mean: f64,
    slices: Vec<u32>,
}

impl Cdf {
    /// A distribution through `points` (bytes, cumulative probability 0 to 1).
    ///
    /// `nominal` is the mean in bytes that the source of the points names, where it does.
    ///
    /// # Errors
    /// Fewer than two points, a probability outside 0 to 1, falling sizes or probabilities, a size above
    /// [`MAX_BYTES`], a last probability other than 1, a nominal mean that is not positive.
    pub fn new(points: Vec<(u64, f64)>, sampling: Sampling, nominal: Option<f64>) -> Result<Self, InputError> {
        check(&points, 1.0).map_err(|(i, error)| error.field(format!("point {}", i + 1)))?;
        Self::of_checked(points, sampling, nominal)
    }

    fn of_checked(points: Vec<(u64, f64)>, sampling: Sampling, nominal: Option<f64>) -> Result<Self, InputError> {
        if let Some(mean) = nominal.filter(|m| !(m.is_finite() && *m > 0.0)) {
            return Err(InputError::new("not a mean size").field("nominal mean").value(mean).allowed("bytes above 0"));
        }
        let slices = (0..=SLICES).map(|k| points.partition_point(|p| p.1 <= k as f64 / SLICES as f64) as u32).collect();
        let mut cdf = Self { points, sampling, nominal, mean: 0.0, slices };
        cdf.mean = cdf.expect(|b| b as f64, |n| u128::from(n) * u128::from(n.saturating_sub(1)) / 2);
        Ok(cdf)
    }

    /// Reads `bytes cdf` lines: whitespace or a comma between, `#` comments, probabilities up to 1 or, in per cent
    /// (with or without `%`), up to 100. `file` names the text in errors.
    ///
    /// # Errors
    /// As [`Cdf::new`], and text that is not two numbers, all with the line.
    pub fn parse(text: &str, file: &str, sampling: Sampling) -> Result<Self, InputError> {
        let at = |line: usize, error: InputError| error.file(file).line(line);
        if text.len() as u64 > MAX_FILE {
            let error = InputError::new("file too big for a list of points").file(file);
            return Err(error.allowed(format!("up to {MAX_FILE} bytes")));
        }
        let (mut points, mut lines, mut signs) = (Vec::new(), Vec::new(), 0);
        for (n, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let mut cells = line.split(|c: char| c.is_whitespace() || c == ',').filter(|c| !c.is_empty());
            let Some(bytes) = cells.next() else { continue };
            let (Some(share), None) = (cells.next(), cells.next()) else {
                let error = InputError::new("not a point").value(clip(line.trim())).allowed("two numbers: bytes cdf");
                return Err(at(n + 1, error));
            };
            let bytes = bytes.parse().map_err(|_| {
                let allowed = format!("a whole number from 0 to {MAX_BYTES}");
                at(n + 1, InputError::new("not a size in bytes").field("bytes").value(clip(bytes)).allowed(allowed))
            })?;
            signs += usize::from(share.ends_with('%'));
            let share = share
                .strip_suffix('%')
                .unwrap_or(share)
                .parse::<f64>()
                .ok()
                .filter(|p| p.is_finite())
                .ok_or_else(|| {
                    at(n + 1, InputError::new("not a probability").field("cdf").value(clip(share)).allowed(CDF_ALLOWED))
                })?;
            points.push((bytes, share));
            lines.push(n + 1);
        }
        if signs != 0 && signs != points.len() {
            return Err(InputError::new("only some probabilities carry a % sign")
                .file(file)
                .allowed("% behind all of them or none"));
        }
        let last = points.last().map_or(1.0, |p: &(u64, f64)| p.1);
        let whole = if signs != 0 || last > 1.0 { 100.0 } else { 1.0 };
        check(&points, whole).map_err(|(i, error)| at(lines.get(i).copied().unwrap_or(1), error))?;
        for point in &mut points {
            point.1 /= whole;
        }
        Self::of_checked(points, sampling, None).map_err(|error| error.file(file))
    }

    /// Reads a file of points; see [`Cdf::parse`].
    ///
    /// # Errors
    /// A file that cannot be read, is above [`MAX_FILE`] or is not UTF-8, and those of [`Cdf::parse`].
    pub fn read(path: &Path, sampling: Sampling) -> Result<Self, InputError> {
        let name = path.display().to_string();
        let unreadable = |e: String| InputError::new(e).file(&name).allowed("a file of points `bytes probability`");
        let bytes = crate::input::read(path, MAX_FILE).map_err(unreadable)?;
        Self::parse(&crate::input::utf8(bytes, &name)?, &name, sampling)
    }

    /// The flow size in bytes at probability `u` in [0, 1): rounded down, at least 1.
    #[inline]
    pub fn quantile(&self, u: f64) -> u64 {
        let slice = ((u * SLICES as f64) as usize).min(SLICES - 1);
        let (from, to) = (self.slices[slice] as usize, self.slices[slice + 1] as usize);
        let i = (from + self.points[from..to].partition_point(|p| p.1 <= u)).min(self.points.len() - 1);
        let (bytes, p) = self.points[i];
        let size = match self.sampling {
            Sampling::Interpolated if i > 0 => {
                let (low, p_low) = self.points[i - 1];
                // p > u >= p_low except at u >= 1, which is no probability: the last size then.
                let share = if p > p_low { ((u - p_low) / (p - p_low)).min(1.0) } else { 1.0 };
                low + ((bytes - low) as f64 * share) as u64
            }
            _ => bytes,
        };
        size.max(1)
    }

    /// Share of flows up to this size, 0 to 1: the position on the percentile axis of slowdown figures.
    pub fn percentile_of(&self, bytes: u64) -> f64 {
        let i = self.points.partition_point(|p| p.0 <= bytes);
        let Some(&(low, p_low)) = i.checked_sub(1).and_then(|i| self.points.get(i)) else { return 0.0 };
        match (self.sampling, self.points.get(i)) {
            (Sampling::Interpolated, Some(&(high, p))) => {
                p_low + (p - p_low) * ((bytes - low) as f64 / (high - low) as f64)
            }
            _ => p_low,
        }
    }

    /// Mean of the sizes drawn, in bytes: of the rounded sizes, not of the curve through the points, and exact
    /// but for the rounding of doubles.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The mean in bytes that the source of the points names and uses to turn a load into a rate of flows.
    pub fn nominal_mean(&self) -> Option<f64> {
        self.nominal
    }

    /// How sizes between the points are drawn.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// The points: bytes and cumulative probability.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Mean of `value(size)` over the sizes drawn, where `below(n)` is the sum of `value` over the sizes 0 to n-1.
    ///
    /// Between two points every whole size from the lower one up to, not including, the upper one is equally likely;
    /// size 0 becomes 1.
    pub(crate) fn expect(&self, value: impl Fn(u64) -> f64, below: impl Fn(u64) -> u128) -> f64 {
        let mut mean = 0.0;
        let mut before = None;
        for &(bytes, p) in &self.points {
            let (low, p_low) = before.unwrap_or((bytes, 0.0));
            before = Some((bytes, p));
            if p <= p_low {
                continue;
            }
            let inside = if low == bytes || self.sampling == Sampling::Step {
                value(bytes.max(1))
            } else {
                let zero = if low == 0 { value(1) - below(1) as f64 } else { 0.0 };
                ((below(bytes) - below(low)) as f64 + zero) / (bytes - low) as f64
            };
            mean += (p - p_low) * inside;
        }
        mean
    }
}

const CDF_ALLOWED: &str = "0 to 1, or 0 to 100 in per cent";

/// The first fault in a list of points whose probabilities end at `whole`, with the index of the point.
fn check(points: &[(u64, f64)], whole: f64) -> Result<(), (usize, InputError)> {
    let mut before = (0, 0.0);
    for (i, &(bytes, p)) in points.iter().enumerate() {
        let size = |problem: &str, allowed: String| Err((i, InputError::new(problem).value(bytes).allowed(allowed)));
        if !(0.0..=whole).contains(&p) {
            return Err((i, InputError::new("not a probability").value(p).allowed(CDF_ALLOWED)));
        }
        if bytes > MAX_BYTES {
            return size("size too big", format!("0 to {MAX_BYTES} bytes"));
        }
        if bytes < before.0 {
            return size("sizes must not fall", format!("{} or more", before.0));
        }
        if p < before.1 {
            return Err((
                i,
                InputError::new("cumulative probabilities must not fall").value(p).allowed("not below the line before"),
            ));
        }
        before = (bytes, p);
    }
    let last = points.len().saturating_sub(1);
    if points.len() < 2 {
        return Err((last, InputError::new("too few points").value(points.len()).allowed("2 or more")));
    }
    if before.1 < whole {
        return Err((
            last,
            InputError::new("the probabilities do not end at 1").value(before.1).allowed("1, or 100 in per cent"),
        ));
    }
    Ok(())
}

/// Where a flow's size comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeLaw {
    /// Every flow has this many bytes.
    Fixed(u64),
    /// Drawn from a distribution.
    Drawn(Arc<Cdf>),
}

impl SizeLaw {
    /// A size from 64 random bits.
    #[inline]
    pub fn draw(&self, bits: u64) -> u64 {
        match self {
            SizeLaw::Fixed(bytes) => *bytes,
            SizeLaw::Drawn(cdf) => cdf.quantile(rng::unit(bits)),
        }
    }

    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            SizeLaw::Fixed(bytes) => *bytes as f64,
            SizeLaw::Drawn(cdf) => cdf.mean(),
        }
    }

    /// Largest size in bytes.
    pub fn largest(&self) -> u64 {
        match self {
            SizeLaw::Fixed(bytes) => *bytes,
            SizeLaw::Drawn(cdf) => cdf.points().last().map_or(0, |p| p.0),
        }
    }

    /// Refuses flows without bytes.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        match self {
            SizeLaw::Fixed(0) => {
                Err(InputError::new("a flow needs bytes").field("bytes").value(0).allowed("1 or more"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "cdf_tests.rs"]
mod tests;
