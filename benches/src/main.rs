//! `paceline bench`: how fast the engine is on fixed workloads, against a fixed kernel and against the sequential engine.
//!
//! CPU time is what the operating system counted for the event loop. Instructions per data hop come from valgrind's
//! callgrind, where it is installed, as the difference of two runs of this binary (one sets up, the other also runs).
#![allow(clippy::print_stdout, reason = "a command-line program")]

mod kernel;
mod workloads;

use std::io::Write;
use std::process::{Command, ExitCode};

use paceline_sim::InputError;
use paceline_sim::assemble::assemble;
use paceline_sim::run::{cpu_seconds, peak_rss_mib, prepare_bench};
use paceline_sim::spec;
use serde::{Deserialize, Serialize};
use workloads::{WORKLOADS, Workload};

/// One line of the table.
#[derive(Clone, Debug, Serialize, Deserialize, Default)]
struct Row {
    name: String,
    hosts: usize,
    flows: u64,
    data_hops: u64,
    control_hops: u64,
    cpu_s: f64,
    wall_s: f64,
    setup_s: f64,
    s_per_mdh: f64,
    ns_per_hop: f64,
    events: u64,
    peak_rss_mib: f64,
    threads: usize,
    engine: String,
    /// `s_per_mdh` over the seconds of the calibration kernel.
    calibration_ratio: f64,
    /// CPU time over that of the sequential engine on the same workload.
    sequential_ratio: Option<f64>,
    /// Instructions of the event loop per data hop; `None` where valgrind is missing.
    instructions_per_data_hop: Option<f64>,
}

fn usage() -> String {
    let names: Vec<&str> = WORKLOADS.iter().map(|w| w.name).collect();
    format!(
        "usage: paceline bench [NAME...] [--json] [--quick]\n\nRuns each workload and prints its speed. NAMEs: {}\n\
         --json   one JSON object per workload instead of the table\n\
         --quick  without the sequential engine and without instruction counts",
        names.join(", ")
    )
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|a| a == "--help" || a == "-h") {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    // Called by itself: `--one NAME ENGINE set-up|run`, in a process of its own so that memory is the workload's.
    if let [one, name, engine, mode] = &args[..]
        && one == "--one"
        && let Some(w) = WORKLOADS.iter().find(|w| w.name == name)
    {
        return match run_one(w, engine, mode == "run") {
            Ok(row) => {
                println!("{}", serde_json::to_string(&row).unwrap_or_default());
                ExitCode::SUCCESS
            }
            Err(e) => {
                eprintln!("{name}: {e}");
                ExitCode::FAILURE
            }
        };
    }
    let (flags, names): (Vec<String>, Vec<String>) = args.into_iter().partition(|a| a.starts_with("--"));
    if let Some(bad) = flags.iter().find(|f| !["--json", "--quick"].contains(&f.as_str())) {
        eprintln!("{bad}: unknown option\n{}", usage());
        return ExitCode::from(2);
    }
    if let Some(bad) = names.iter().find(|n| !WORKLOADS.iter().any(|w| w.name == n.as_str())) {
        eprintln!("{bad}: unknown workload\n{}", usage());
        return ExitCode::from(2);
    }
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build: its times say nothing. Build with --release.");
        return ExitCode::FAILURE;
    }
    let chosen = WORKLOADS.iter().filter(|w| names.is_empty() || names.iter().any(|n| n == w.name));
    let (json, quick) = (flags.iter().any(|f| f == "--json"), flags.iter().any(|f| f == "--quick"));
    let before = cpu_seconds();
    let sum = kernel::kernel();
    let kernel_s = cpu_seconds() - before;
    eprintln!("calibration kernel: {kernel_s:.3} s (checksum {sum:x})");
    if !json {
        println!("{}", header());
    }
    let mut rows = Vec::new();
    for w in chosen {
        let Some(row) = measure(w, kernel_s, quick) else { return ExitCode::FAILURE };
        if json {
            println!("{}", serde_json::to_string(&row).unwrap_or_default());
        } else {
            println!("{}", line(&row));
        }
        rows.push(row);
    }
    if let Err(e) = keep(&rows, kernel_s) {
        eprintln!("the history was not written: {e}");
    }
    ExitCode::SUCCESS
}

fn header() -> String {
    format!(
        "{:<22} {:>6} {:>6} {:>9} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>6} {:>6} {:>7}",
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
        "instr"
    )
}

fn line(r: &Row) -> String {
    let optional = |v: Option<f64>, digits: usize| v.map_or_else(|| "-".into(), |v| format!("{v:.digits$}"));
    format!(
        "{:<22} {:>6} {:>6} {:>10.2} {:>9.2} {:>7.3} {:>7.3} {:>8.4} {:>7.1} {:>7.1} {:>6.3} {:>6} {:>7}",
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
        optional(r.instructions_per_data_hop, 0)
    )
}

/// Runs a workload in a process of its own and reads its row.
fn child(w: &Workload, engine: &str, mode: &str) -> Option<Row> {
    let out = Command::new(std::env::current_exe().ok()?).args(["--one", w.name, engine, mode]).output().ok()?;
    std::io::stderr().write_all(&out.stderr).ok()?;
    serde_json::from_slice(&out.stdout).ok()
}

fn measure(w: &Workload, kernel_s: f64, quick: bool) -> Option<Row> {
    let mut row = child(w, "auto", "run")?;
    row.calibration_ratio = row.s_per_mdh / kernel_s;
    if !quick {
        row.sequential_ratio = child(w, "sequential", "run").map(|s| row.cpu_s / s.cpu_s);
        row.instructions_per_data_hop = instructions(w, &row);
    }
    Some(row)
}

/// Instructions of the event loop per data hop, by callgrind: a whole run less one that stops before the first event.
fn instructions(w: &Workload, row: &Row) -> Option<f64> {
    let count = |mode: &str| -> Option<f64> {
        let out = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(["--one", w.name, "auto", mode])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let line = text.lines().find_map(|l| l.split_once("Collected :"))?;
        line.1.trim().parse().ok()
    };
    if row.data_hops > 30_000_000 {
        // Under valgrind the large ones take minutes and say no more than the small ones.
        return None;
    }
    Some((count("run")? - count("set-up")?) / row.data_hops as f64)
}

#[allow(clippy::disallowed_methods, reason = "this is what a bench is for")]
fn run_one(w: &Workload, engine: &str, run: bool) -> Result<Row, InputError> {
    let began = std::time::Instant::now();
    let mut set: Vec<String> = w.set.iter().map(|s| (*s).to_string()).collect();
    set.push(format!("run.engine={engine}"));
    let spec = spec::parse(w.toml, w.name, &set)?;
    let mut bench = prepare_bench(&spec, assemble(&spec)?, 1)?;
    let setup_s = began.elapsed().as_secs_f64();
    let (wall, cpu) = (std::time::Instant::now(), cpu_seconds());
    if run {
        bench.run()?;
    }
    let (cpu_s, wall_s) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
    let net = bench.net();
    let (data_hops, control_hops) = net.hops();
    let per = |n: u64| if n == 0 { 0.0 } else { cpu_s / n as f64 };
    Ok(Row {
        name: w.name.to_string(),
        hosts: net.graph().hosts().count(),
        flows: net.counters().finished,
        data_hops,
        control_hops,
        cpu_s,
        wall_s,
        setup_s,
        s_per_mdh: per(data_hops) * 1e6,
        ns_per_hop: per(data_hops + control_hops) * 1e9,
        events: net.counters().events,
        peak_rss_mib: peak_rss_mib(),
        threads: 1,
        engine: bench.kind().to_string(),
        ..Row::default()
    })
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
