//! Flow-size distributions from the literature, named `name@source`.
//!
//! A name without a source is an alias. Different sources give different numbers under one name (data mining: means
//! 12.7 MB and 7.5 MB), so results should quote the full name. Drawing conventions follow the source where it states
//! one, but sizes are rounded down everywhere; the scripts of `ns2-xpass` round up (at most one byte more).

use crate::InputError;
use crate::spelling::{clip, nearest};
use crate::workload::{Cdf, Sampling};

/// Eighteen distributions with all their points; format in its first lines.
const DATA: &str = include_str!("sizes.txt");

/// What a name without a source stands for.
const ALIASES: &[(&str, &str)] = &[
    ("websearch", "websearch@hpcc"),
    ("hadoop", "hadoop@hpcc"),
    ("alistorage", "alistorage@hpcc"),
    ("googlerpc", "googlerpc@hpcc"),
    ("cachefollower", "cachefollower@xpass"),
    ("webserver", "webserver@xpass"),
    ("datamining", "datamining@vl2"),
    ("university", "university@trafpy"),
    ("w1", "w1@homa"),
    ("w2", "w2@homa"),
    ("w3", "w3@homa"),
    ("w4", "w4@homa"),
    ("w5", "w5@homa"),
];

/// A distribution that comes with Paceline.
#[derive(Clone, PartialEq, Debug)]
pub struct Builtin {
    /// Full name, `name@source`.
    pub name: &'static str,
    /// What it is and, where the source names a mean, which one.
    pub description: &'static str,
    /// Repository, file and commit the points are from.
    pub source: &'static str,
    /// The distribution, with its sampling convention.
    pub cdf: Cdf,
}

/// Full names of all built-in distributions.
pub fn names() -> impl Iterator<Item = &'static str> {
    sections().map(|(name, _)| name)
}

/// Aliases and the full names they stand for.
pub fn aliases() -> &'static [(&'static str, &'static str)] {
    ALIASES
}

/// The built-in distribution of this name or alias, upper and lower case alike.
///
/// # Errors
/// An unknown name; the message suggests the nearest one, or lists all.
pub fn builtin(name: &str) -> Result<Builtin, InputError> {
    let wanted = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map_or(name, |(_, full)| full);
    match sections().find(|(full, _)| full.eq_ignore_ascii_case(wanted)) {
        Some((full, body)) => read_section(full, body),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> InputError {
    let all = || names().chain(ALIASES.iter().map(|(alias, _)| *alias));
    let allowed = match nearest(name, all()) {
        Some(near) => format!("`{near}` is the nearest of {}", all().count()),
        None => all().collect::<Vec<_>>().join(", "),
    };
    InputError::new("no such built-in size distribution").value(clip(name)).allowed(allowed)
}

/// Name and text of every section of the data file.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    DATA.split("\n@ ").skip(1).filter_map(|section| section.split_once(' '))
}

fn read_section(name: &'static str, body: &'static str) -> Result<Builtin, InputError> {
    let broken = || InputError::new("this program's own data is damaged").field(name);
    let mut lines = body.lines();
    let (sampling, nominal) = lines.next().and_then(|head| head.split_once(' ')).ok_or_else(broken)?;
    let sampling = if sampling == "step" { Sampling::Step } else { Sampling::Interpolated };
    let mut text = || lines.next().and_then(|l| l.strip_prefix("= ")).ok_or_else(broken);
    let (description, source) = (text()?, text()?);
    let points = lines
        .flat_map(str::split_ascii_whitespace)
        .map(|point| {
            let (bytes, p) = point.split_once(':')?;
            Some((bytes.parse().ok()?, p.parse().ok()?))
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(broken)?;
    Ok(Builtin { name, description, source, cdf: Cdf::new(points, sampling, nominal.parse().ok())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of points, mean (of the curve, before rounding down), and F(10 kB), F(100 kB), F(1 MB) as published with the
    /// points.
    #[test]
    fn tables_are_complete() {
        let facts = [
            ("websearch@hpcc", 12, 1_711_250.0, [0.150, 0.542, 0.700]),
            ("hadoop@hpcc", 20, 120_420.8, [0.703, 0.885, 0.975]),
            ("alistorage@hpcc", 9, 40_869.8, [0.721, 0.954, 0.986]),
            ("alistorage@bs19", 12, 43_499.2, [0.692, 0.954, 0.986]),
            ("googlerpc@hpcc", 843, 2_891.6, [0.972, 0.996, 1.000]),
            ("websearch@xpass", 12, 1_710_004.4, [0.155, 0.543, 0.700]),
            ("datamining@xpass", 7, 7_487_883.7, [0.800, 0.822, 0.912]),
            ("cachefollower@xpass", 23, 712_573.5, [0.480, 0.520, 0.700]),
            ("webserver@xpass", 13, 66_121.0, [0.631, 0.809, 1.000]),
            ("datamining@vl2", 13, 12_658_198.6, [0.800, 0.823, 0.911]),
            ("w1@homa", 315, 187.5, [1.000, 1.000, 1.000]),
            ("w2@homa", 155, 440.8, [0.999, 1.000, 1.000]),
            ("w3@homa", 842, 2_927.4, [0.971, 0.996, 1.000]),
            ("w4@homa", 461, 127_796.6, [0.710, 0.887, 0.972]),
            ("w5@homa", 400, 2_515_863.3, [0.150, 0.544, 0.703]),
            ("webserver@homa", 441, 62_874.3, [0.652, 0.815, 1.000]),
            ("cachefollower@homa", 331, 692_975.6, [0.478, 0.532, 0.718]),
            ("university@trafpy", 219, 23_109.4, [0.811, 0.964, 0.997]),
        ];
        assert!(names().eq(facts.iter().map(|f| f.0)));
        for (name, points, mean, shares) in facts {
            let b = builtin(name).unwrap();
            let step = b.cdf.sampling() == Sampling::Step;
            assert_eq!((b.cdf.points().len(), step), (points, name.ends_with("@homa")), "{name}");
            // Rounding down takes half a byte off interpolated sizes, less where many are equal.
            let rounded = if step { 0.0 } else { 0.5 };
            assert!((b.cdf.mean() + rounded - mean).abs() < 0.2, "{name} {}", b.cdf.mean());
            if let Some(nominal) = b.cdf.nominal_mean() {
                assert!((nominal / b.cdf.mean() - 1.0).abs() < 0.04, "{name}");
            }
            for (bytes, share) in [10_000, 100_000, 1_000_000].into_iter().zip(shares) {
                assert!((b.cdf.percentile_of(bytes) - share).abs() <= 0.000_51, "{name} {bytes}");
            }
            assert!(b.source.starts_with("github.com/") && b.source.contains("commit"), "{name}");
        }
    }

    #[test]
    fn aliases_lead_to_tables_and_typos_to_suggestions() {
        for (alias, full) in aliases() {
            assert_eq!(builtin(alias).unwrap().name, *full);
        }
        assert_eq!(builtin("WebSearch").unwrap().name, "websearch@hpcc");
        let near = builtin("websaerch@hpcc").unwrap_err().to_string();
        assert!(near.contains("`websearch@hpcc` is the nearest"), "{near}");
        let far = builtin("completely different").unwrap_err().to_string();
        assert!(far.contains("hadoop@hpcc, alistorage@hpcc"), "{far}");
    }
}
