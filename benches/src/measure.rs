//! One workload run and counted, in a process of its own so that memory is the workload's.

use std::io::Write;
use std::process::Command;

use paceline_sim::InputError;
use paceline_sim::assemble::assemble;
use paceline_sim::machine::{cpu_seconds, peak_rss_mib};
use paceline_sim::run::prepare_bench;
use paceline_sim::spec;
use serde::{Deserialize, Serialize};

use crate::workloads::{Measured, Workload};

/// One line of the table.
#[derive(Clone, Debug, Serialize, Deserialize, Default)]
pub struct Row {
    pub name: String,
    pub hosts: usize,
    pub flows: u64,
    pub data_hops: u64,
    pub control_hops: u64,
    /// Of all threads.
    pub cpu_s: f64,
    pub wall_s: f64,
    pub setup_s: f64,
    pub s_per_mdh: f64,
    pub ns_per_hop: f64,
    pub events: u64,
    pub peak_rss_mib: f64,
    /// Resident memory before the first event.
    pub setup_rss_mib: f64,
    pub threads: usize,
    pub engine: String,
    /// `s_per_mdh` over the seconds of the calibration kernel.
    pub calibration_ratio: f64,
    /// CPU time over that of the sequential engine on the same workload.
    pub sequential_ratio: Option<f64>,
    /// Instructions of the event loop per data hop; `None` where valgrind is missing.
    pub instructions_per_data_hop: Option<f64>,
    /// With several threads: packets handed from one to another, over all hops.
    pub crossed_share: Option<f64>,
    /// With several threads: events of the busiest part over those of an even share.
    pub imbalance: Option<f64>,
    /// With several threads: wall time on one over that on these.
    pub speed_up: Option<f64>,
    /// Which step of each goal is reached; empty where there are none for the workload and the threads.
    pub goals: String,
}

impl Row {
    /// Which steps of a workload's goals are reached.
    pub fn reached(&self, w: &Workload) -> String {
        let said = w.goals.iter().filter_map(|(what, steps)| {
            let one = self.threads == 1;
            let (name, value) = match what {
                Measured::Time => ("time", one.then_some(self.s_per_mdh)),
                Measured::Instructions => ("instr", self.instructions_per_data_hop.filter(|_| one)),
                Measured::Memory => ("memory", one.then_some(self.peak_rss_mib)),
                Measured::SpeedUp => ("speed-up", self.speed_up.filter(|_| self.threads == 2)),
            };
            let value = value?;
            let is_met = |step: &&f64| if *what == Measured::SpeedUp { value >= **step } else { value <= **step };
            let step = ["missed", "must", "good", "stretch"][steps.iter().take_while(is_met).count()];
            Some(format!("{name} {step}"))
        });
        said.collect::<Vec<_>>().join(", ")
    }
}

/// How a child process is to run a workload.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// `auto`, `windowed` or `sequential`.
    pub engine: &'a str,
    pub threads: usize,
}

impl Way<'_> {
    fn args(self, w: &Workload, mode: &str) -> [String; 5] {
        ["--one".into(), w.name.into(), self.engine.into(), self.threads.to_string(), mode.into()]
    }
}

/// Runs a workload in a process of its own and reads its row.
pub fn child(w: &Workload, way: Way) -> Option<Row> {
    let out = Command::new(std::env::current_exe().ok()?).args(way.args(w, "run")).output().ok()?;
    std::io::stderr().write_all(&out.stderr).ok()?;
    serde_json::from_slice(&out.stdout).ok()
}

/// Whether valgrind can be started.
pub fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Instructions of the event loop, by callgrind: a whole run less one that stops before the first event.
pub fn instructions(w: &Workload, way: Way) -> Option<u64> {
    let count = |mode: &str| -> Option<u64> {
        let out = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(way.args(w, mode))
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let line = text.lines().find_map(|l| l.split_once("Collected :"))?;
        line.1.trim().parse().ok()
    };
    count("run")?.checked_sub(count("set-up")?)
}

/// What the child does: sets a workload up and, unless that is all, runs it.
///
/// # Errors
/// As for a run.
#[allow(clippy::disallowed_methods, reason = "this is what a bench is for")]
pub fn run_one(w: &Workload, way: Way, run: bool) -> Result<Row, InputError> {
    let began = std::time::Instant::now();
    let mut set: Vec<String> = w.set.iter().map(|s| (*s).to_string()).collect();
    set.push(format!("run.engine={}", way.engine));
    let spec = spec::parse(w.toml, w.name, &set)?;
    let mut bench = prepare_bench(&spec, assemble(&spec)?, way.threads)?;
    let (setup_s, setup_rss_mib) = (began.elapsed().as_secs_f64(), peak_rss_mib());
    let threads = bench.threads();
    let (wall, cpu) = (std::time::Instant::now(), cpu_seconds());
    if run {
        bench.run()?;
    }
    let (cpu_s, wall_s) = (cpu_seconds() - cpu + bench.others_cpu_s(), wall.elapsed().as_secs_f64());
    let shares: Vec<_> = bench.shares().to_vec();
    let kind = bench.kind().to_string();
    let net = bench.net();
    let (data_hops, control_hops) = net.hops();
    let per = |n: u64| if n == 0 { 0.0 } else { cpu_s / n as f64 };
    let several = shares.len() > 1 && net.counters().events > 0;
    let busiest = shares.iter().map(|s| s.events).max().unwrap_or(0);
    let crossed: u64 = shares.iter().map(|s| s.crossed).sum();
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
        setup_rss_mib,
        threads,
        engine: kind,
        crossed_share: several.then(|| crossed as f64 / (data_hops + control_hops) as f64),
        imbalance: several.then(|| (busiest * shares.len() as u64) as f64 / net.counters().events as f64),
        ..Row::default()
    })
}
