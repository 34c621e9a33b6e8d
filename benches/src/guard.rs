//! The guard: instructions of a short run against the number in `guard.json`, so that no change makes the engine slower
//! unnoticed. Instructions repeat to five digits on any machine, but hold for one toolchain and target only.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::measure::{Way, child, has_valgrind, instructions};
use crate::workloads::{WORKLOADS, Workload};

/// The workload that is watched.
const WATCHED: &str = "fat320-short";
/// Largest change, either way, that goes by.
const TOLERANCE: f64 = 0.02;
const RUSTC: &str = env!("PACELINE_RUSTC");
const TARGET: &str = env!("PACELINE_TARGET");
const WAY: Way = Way { engine: "auto", threads: 1 };

/// The recorded number and what it holds for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    workload: String,
    rustc: String,
    target: String,
    /// Packets with payload crossing a link: other traffic, other number.
    data_hops: u64,
    instructions_per_data_hop: f64,
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/guard.json"))
}

fn measure(w: &Workload) -> Option<Record> {
    let data_hops = child(w, WAY)?.data_hops;
    let per_hop = instructions(w, WAY)? as f64 / data_hops as f64;
    Some(Record {
        workload: w.name.into(),
        rustc: RUSTC.into(),
        target: TARGET.into(),
        data_hops,
        instructions_per_data_hop: (per_hop * 100.0).round() / 100.0,
    })
}

/// What a new number means beside the recorded one: an error says what to do.
fn compare(old: &Record, new: &Record) -> Result<String, String> {
    let change = new.instructions_per_data_hop / old.instructions_per_data_hop - 1.0;
    let what = format!(
        "{}: {:.1} instructions per data hop, recorded {:.1} ({:+.2} %, allowed {:.0} %)",
        new.workload,
        new.instructions_per_data_hop,
        old.instructions_per_data_hop,
        change * 100.0,
        TOLERANCE * 100.0
    );
    if change > TOLERANCE {
        return Err(format!(
            "{what}\nthe engine has become slower. Where it is worth it: paceline-bench --guard --update, \
             and say why in docs/performance.md"
        ));
    }
    if change < -TOLERANCE {
        return Err(format!("{what}\nthe engine has become faster: keep that by paceline-bench --guard --update"));
    }
    Ok(what)
}

/// Checks, or with `update` records. Skipped, with the reason, where the number cannot be had or does not hold.
pub fn guard(update: bool) -> ExitCode {
    let skipped = |why: &str| {
        println!("guard: skipped: {why}");
        ExitCode::SUCCESS
    };
    let failed = |why: &str| {
        eprintln!("guard: {why}");
        ExitCode::FAILURE
    };
    if cfg!(debug_assertions) {
        return failed("this is a debug build. Build with --release.");
    }
    let Some(w) = WORKLOADS.iter().find(|w| w.name == WATCHED) else { return failed("no such workload") };
    let recorded = std::fs::read_to_string(file()).ok().and_then(|text| serde_json::from_str::<Record>(&text).ok());
    if !update
        && let Some(old) = &recorded
        && (old.rustc != RUSTC || old.target != TARGET)
    {
        let theirs = format!("{} for {}", old.rustc, old.target);
        return skipped(&format!("the number was taken with {theirs}, this is {RUSTC} for {TARGET}"));
    }
    if !has_valgrind() {
        let why = "valgrind is not installed (on Debian and Ubuntu the package valgrind)";
        return if update { failed(why) } else { skipped(why) };
    }
    let Some(new) = measure(w) else { return failed("the workload did not run under valgrind") };
    if update {
        let text = serde_json::to_string_pretty(&new).unwrap_or_default() + "\n";
        return match std::fs::write(file(), text) {
            Ok(()) => {
                println!("guard: recorded {:.1} instructions per data hop", new.instructions_per_data_hop);
                ExitCode::SUCCESS
            }
            Err(e) => failed(&format!("{}: {e}", file().display())),
        };
    }
    let Some(old) = recorded else { return failed(&format!("{}: no recorded number", file().display())) };
    if old.data_hops != new.data_hops {
        eprintln!(
            "guard: note: {} data hops, recorded {}: results of this workload have changed",
            new.data_hops, old.data_hops
        );
    }
    match compare(&old, &new) {
        Ok(text) => {
            println!("guard: {text}");
            ExitCode::SUCCESS
        }
        Err(text) => failed(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(n: f64) -> Record {
        Record {
            workload: WATCHED.into(),
            rustc: RUSTC.into(),
            target: TARGET.into(),
            data_hops: 1,
            instructions_per_data_hop: n,
        }
    }

    /// A slower engine is refused, and a faster one as well: else the next regression could hide behind it.
    #[test]
    fn both_directions_are_refused() {
        assert!(compare(&record(600.0), &record(611.0)).is_ok());
        assert!(compare(&record(600.0), &record(589.0)).is_ok());
        assert!(compare(&record(600.0), &record(613.0)).unwrap_err().contains("slower"));
        assert!(compare(&record(600.0), &record(587.0)).unwrap_err().contains("faster"));
    }

    /// The recorded number can be read and names a workload that exists.
    #[test]
    fn the_recorded_number_is_readable() {
        let old: Record = serde_json::from_str(&std::fs::read_to_string(file()).unwrap()).unwrap();
        assert!(WORKLOADS.iter().any(|w| w.name == old.workload) && old.instructions_per_data_hop > 0.0);
    }
}
