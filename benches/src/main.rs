//! `paceline bench`: how fast the engine is on fixed workloads, against a fixed kernel and against the sequential engine.
//!
//! CPU time is what the operating system counted for the event loop. Instructions per data hop come from valgrind's
//! callgrind, where it is installed, as the difference of two runs of this binary (one sets up, the other also runs).
#![allow(clippy::print_stdout, reason = "a command-line program")]

mod guard;
mod kernel;
mod measure;
mod workloads;

use std::io::Write;
use std::process::ExitCode;

use measure::{Row, Way, child, instructions, run_one};
use paceline_sim::machine::cpu_seconds;
use workloads::{WORKLOADS, Workload};

/// Data hops above which a run under valgrind takes minutes and says no more than the small ones.
const MOST_COUNTED: u64 = 30_000_000;

fn usage() -> String {
    let names = |listed: bool| -> String {
        WORKLOADS.iter().filter(|w| w.listed == listed).map(|w| w.name).collect::<Vec<_>>().join(", ")
    };
    format!(
        "usage: paceline bench [NAME...] [--json] [--quick] [--threads N] [--json-errors]\n       \
         paceline bench --guard [--update]\n\n\
         Runs each workload and prints its speed. NAMEs: {}; by name only, as they take long: {}\n\
         --json       one JSON object per workload instead of the table\n\
         --quick      without the sequential engine and without instruction counts\n\
         --threads N  on up to N threads: shows how much faster they are than one, what they cost and how even the parts are\n\
         --guard      compares instructions per data hop with the recorded number; --update records\n\
         --json-errors  errors as one line of JSON on standard error\n\n\
         The last column says which step of a goal is reached, must, good or stretch: time (s/Mdh), instructions per data hop, memory (MiB); \
         with two threads the speed-up",
        names(true),
        names(false)
    )
}

/// The option of all commands.
const JSON_ERRORS: &str = "--json-errors";

/// An error of the command line, as those of all commands are told.
fn told(why: &str, as_json: bool) -> String {
    if as_json {
        serde_json::json!({ "error": "usage", "problem": why }).to_string()
    } else {
        format!("error: {why}\nsee: paceline bench -h")
    }
}

/// What the command line asks for.
#[derive(Debug, Default)]
struct Args {
    names: Vec<String>,
    json: bool,
    quick: bool,
    guard: bool,
    update: bool,
    threads: usize,
}

impl Args {
    fn parse(args: Vec<String>) -> Result<Self, String> {
        let mut parsed = Self { threads: 1, ..Self::default() };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => parsed.json = true,
                "--quick" => parsed.quick = true,
                "--guard" => parsed.guard = true,
                "--update" => parsed.update = true,
                "--threads" => {
                    let value = args.next().unwrap_or_default();
                    parsed.threads =
                        value.parse().ok().filter(|n| (1..=64).contains(n)).ok_or_else(|| {
                            format!("--threads: not a number of threads: '{value}'; allowed: 1 to 64")
                        })?;
                }
                option if option.starts_with("--") => {
                    return Err(format!(
                        "{option}: unknown option; allowed: --json, --quick, --threads N, --guard, --update, --json-errors"
                    ));
                }
                name if WORKLOADS.iter().any(|w| w.name == name) => parsed.names.push(arg),
                name => {
                    let names = WORKLOADS.iter().map(|w| w.name).collect::<Vec<_>>().join(", ");
                    return Err(format!("{name}: unknown workload; allowed: {names}"));
                }
            }
        }
        if parsed.update && !parsed.guard {
            return Err("--update: goes with --guard only".into());
        }
        if parsed.guard && (parsed.json || parsed.quick || parsed.threads > 1 || !parsed.names.is_empty()) {
            return Err("--guard: takes --update only".into());
        }
        Ok(parsed)
    }
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let as_json = args.iter().any(|a| a == JSON_ERRORS);
    args.retain(|a| a != JSON_ERRORS);
    if args.iter().any(|a| a == "--help" || a == "-h") {
        say(&usage());
        return ExitCode::SUCCESS;
    }
    // Called by itself: `--one NAME ENGINE THREADS set-up|run`.
    if let [one, name, engine, threads, mode] = &args[..]
        && one == "--one"
        && let Some(w) = WORKLOADS.iter().find(|w| w.name == name)
    {
        return match run_one(w, Way { engine, threads: threads.parse().unwrap_or(1) }, mode == "run") {
            Ok(row) => {
                say(&serde_json::to_string(&row).unwrap_or_default());
                ExitCode::SUCCESS
            }
            Err(e) => {
                eprintln!("{name}: {e}");
                ExitCode::FAILURE
            }
        };
    }
    let args = match Args::parse(args) {
        Ok(args) => args,
        Err(why) => {
            eprintln!("{}", told(&why, as_json));
            return ExitCode::from(2);
        }
    };
    if args.guard {
        return guard::guard(args.update);
    }
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build: its times say nothing. Build with --release.");
        return ExitCode::FAILURE;
    }
    bench(&args)
}

/// Prints a line. Who reads may have had enough (`| head`), which is no error.
pub fn say(line: &str) {
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}

fn bench(args: &Args) -> ExitCode {
    let chosen = |w: &&Workload| if args.names.is_empty() { w.listed } else { args.names.iter().any(|n| n == w.name) };
    let before = cpu_seconds();
    let sum = kernel::kernel();
    let kernel_s = cpu_seconds() - before;
    eprintln!("calibration kernel: {kernel_s:.3} s (checksum {sum:x})");
    if !args.json {
        say(&header());
    }
    let mut rows = Vec::new();
    for w in WORKLOADS.iter().filter(chosen) {
        let Some(row) = measure(w, kernel_s, args) else { return ExitCode::FAILURE };
        if args.json {
            say(&serde_json::to_string(&row).unwrap_or_default());
        } else {
            say(&line(&row));
        }
        rows.push(row);
    }
    if let Err(e) = keep(&rows, kernel_s) {
        eprintln!("the history was not written: {e}");
    }
    ExitCode::SUCCESS
}

fn measure(w: &Workload, kernel_s: f64, args: &Args) -> Option<Row> {
    let way = Way { engine: "auto", threads: args.threads };
    let mut row = child(w, way)?;
    row.calibration_ratio = row.s_per_mdh / kernel_s;
    if !args.quick {
        let sequential = child(w, Way { engine: "sequential", threads: 1 });
        row.sequential_ratio = sequential.map(|s| row.cpu_s / s.cpu_s);
        if row.data_hops <= MOST_COUNTED {
            row.instructions_per_data_hop = instructions(w, way).map(|n| n as f64 / row.data_hops as f64);
        }
    }
    if row.threads > 1 {
        row.speed_up = child(w, Way { threads: 1, ..way }).map(|alone| alone.wall_s / row.wall_s);
    }
    row.goals = row.reached(w);
    Some(row)
}

fn header() -> String {
    format!(
        "{:<22} {:>6} {:>6} {:>9} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>6} {:>6} {:>7} {:>4} {:>6} {:>6} {:>6}  {}",
        "workload",
        "hosts",
        "flows",
        "Mdata hops",
        "Mctl hops",
        "cpu s",
        "wall s",
        "s/Mdh",
        "ns/hop",
        "MiB",
        "calib",
        "seq",
        "instr",
        "thr",
        "cross%",
        "uneven",
        "faster",
        "goals"
    )
}

fn line(r: &Row) -> String {
    let optional = |v: Option<f64>, digits: usize| v.map_or_else(|| "-".into(), |v| format!("{v:.digits$}"));
    format!(
        "{:<22} {:>6} {:>6} {:>10.2} {:>9.2} {:>7.3} {:>7.3} {:>8.4} {:>7.1} {:>7.1} {:>6.3} {:>6} {:>7} {:>4} {:>6} {:>6} {:>6}  {}",
        r.name,
        r.hosts,
        r.flows,
        r.data_hops as f64 / 1e6,
        r.control_hops as f64 / 1e6,
        r.cpu_s,
        r.wall_s,
        r.s_per_mdh,
        r.ns_per_hop,
        r.peak_rss_mib,
        r.calibration_ratio,
        optional(r.sequential_ratio, 2),
        optional(r.instructions_per_data_hop, 0),
        r.threads,
        optional(r.crossed_share.map(|s| s * 100.0), 1),
        optional(r.imbalance, 3),
        optional(r.speed_up, 2),
        r.goals
    )
}

/// Appends to `benches/history`, where that is: in a checkout.
fn keep(rows: &[Row], kernel_s: f64) -> std::io::Result<()> {
    let folder = std::path::Path::new("benches/history");
    if !folder.is_dir() {
        return Ok(());
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("bench.jsonl"))?;
    let record = serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "kernel_s": kernel_s, "rows": rows });
    writeln!(file, "{record}")
}
