//! Commented scenarios to start from.

use crate::InputError;
use crate::spelling::{clip, nearest};

/// Names and texts of the scenarios that come with Paceline, in the order they are listed.
pub const TEMPLATES: &[(&str, &str)] = &[
    ("quickstart", include_str!("templates/quickstart.toml")),
    ("hpcc-websearch", include_str!("templates/hpcc-websearch.toml")),
    ("incast", include_str!("templates/incast.toml")),
    ("dcqcn-incast", include_str!("templates/dcqcn-incast.toml")),
    ("all-reduce", include_str!("templates/all-reduce.toml")),
    ("fat-tree", include_str!("templates/fat-tree.toml")),
    ("tcp-udp-pfc", include_str!("templates/tcp-udp-pfc.toml")),
];

/// The scenario of this name.
///
/// # Errors
/// There is none; the one that may have been meant is named.
#[allow(clippy::result_large_err, reason = "one error per run of the program")]
pub fn template(name: &str) -> Result<&'static str, InputError> {
    if let Some((_, text)) = TEMPLATES.iter().find(|(known, _)| *known == name) {
        return Ok(text);
    }
    let known: Vec<&str> = TEMPLATES.iter().map(|(known, _)| *known).collect();
    // A word of one of them only, as `websearch` of `hpcc-websearch`.
    let having = known.iter().copied().filter(|known| known.split('-').any(|word| word == name)).collect::<Vec<_>>();
    let meant = nearest(name, known.iter().copied()).or(if let [only] = having[..] { Some(only) } else { None });
    let problem = meant.map_or("no such template".to_string(), |m| format!("no such template, did you mean \"{m}\"?"));
    Err(InputError::new(problem).value(clip(name)).allowed(known.join(", ")))
}
