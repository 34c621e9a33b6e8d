//! `cargo run --release --example hpcc -- config.txt [none] [windowed]`: the reference's files without the Python front.
#![allow(clippy::print_stdout, reason = "a command-line example")]

use std::path::Path;

use paceline_proto::units::{Duration, MS};
use paceline_sim::hpcc::{Options, Prepared};
use paceline_sim::scenario::{EngineChoice, Quirks};

fn main() -> Result<(), paceline_sim::error::RunError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|a| a == name);
    let mut options = Options { qlen_dump: Duration(10 * MS), ..Options::default() };
    if has("none") {
        options.quirks = Quirks::default();
    }
    if has("windowed") {
        options.engine = EngineChoice::Windowed;
    }
    let config = args.iter().find(|a| a.contains('.')).map_or("config.txt", String::as_str);
    let summary = Prepared::read(Path::new(config), options)?.run(&mut |_| true)?;
    println!("{summary:?}");
    Ok(())
}
