//! Tests of the schema as its users meet it.

mod bad_input;
mod good_input;
mod lints;
mod round_trip;
mod schemes;

use super::{Resolved, parse};
use crate::InputError;

/// The least scenario there is; tests append to it or change it by overrides.
const LEAST: &str = "\
[topology]
kind = \"star\"
[schemes.hpcc]
cc = \"hpcc\"
[[workloads]]
kind = \"permutation\"
";

#[allow(clippy::result_large_err, reason = "one error per test")]
fn with(text: &str, overrides: &[&str]) -> Result<Resolved, InputError> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_string()).collect();
    parse(text, "run.toml", &overrides)
}

fn least(overrides: &[&str]) -> Resolved {
    with(LEAST, overrides).unwrap()
}
