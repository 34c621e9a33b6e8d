//! Message-passing programs: their part of the summary, and `ranks.csv`.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::mpi::replay;
use crate::net::Net;

/// How a message-passing program went.
#[derive(Clone, Debug, Serialize, Deserialize, Default, PartialEq)]
pub struct MpiRun {
    /// Group of the workload.
    pub group: String,
    /// Name of its scheme.
    pub scheme: String,
    /// Ranks.
    pub ranks: u32,
    /// Messages that the program sends, requests and grants not counted.
    pub messages: u64,
    /// Their bytes.
    pub message_bytes: u64,
    /// From its beginning until the last rank was through, ps.
    pub runtime_ps: Option<u64>,
    /// The least on any network with the same links of the hosts, ps: [`crate::mpi::crossbar`].
    pub ideal_ps: Option<u64>,
    /// Their ratio.
    pub slowdown: Option<f64>,
}

/// How the programs of a run went; warns of messages that nobody received or that their receives are too short for, and of programs that no ideal network bounds.
pub fn runs(net: &Net, groups: &[String], warnings: &mut Vec<String>) -> Vec<MpiRun> {
    let mut runs = Vec::new();
    for (program, workload, machine) in net.programs.iter().flat_map(|p| p.mpi()) {
        let totals = workload.program.totals();
        let runtime_ps = machine.runtime();
        let ideal_ps =
            runtime_ps.and_then(|_| replay(&workload.program, workload.config, Some(&workload.ideal)).runtime_ps);
        let (number, unreceived) = (program.workload, machine.unreceived());
        if unreceived > 0 {
            warnings.push(format!("workloads.{number}: {unreceived} messages arrived and were not received"));
        }
        if let Some(truncated) = machine.truncated() {
            warnings.push(format!("workloads.{number}: {truncated}"));
        }
        if runtime_ps.zip(ideal_ps).is_some_and(|(runtime, ideal)| runtime < ideal) {
            warnings.push(format!(
                "workloads.{number}: faster than on the ideal network, which is no bound where the order of a program's operations \
                 depends on the network"
            ));
        }
        runs.push(MpiRun {
            group: groups[usize::from(program.flow.group)].clone(),
            scheme: net.scenario.schemes[usize::from(program.flow.scheme)].name.clone(),
            ranks: workload.program.len(),
            messages: totals.messages,
            message_bytes: totals.bytes,
            runtime_ps,
            ideal_ps,
            slowdown: runtime_ps.zip(ideal_ps).filter(|(_, i)| *i > 0).map(|(r, i)| r as f64 / i as f64),
        });
    }
    runs
}

/// `ranks.csv`: what every rank of message-passing programs did.
pub fn ranks(net: &Net, groups: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "group,rank,host,start_ps,runtime_ps,compute_ps,messages,message_bytes")?;
    for (program, workload, machine) in net.programs.iter().flat_map(|p| p.mpi()) {
        let group = &groups[usize::from(program.flow.group)];
        let begin = program.begin.0;
        for (rank, host) in (0..).zip(&program.hosts) {
            let totals = workload.program.totals_of(rank);
            // A run may end before a program begins.
            let start = if machine.has_begun(rank) { begin.to_string() } else { String::new() };
            let runtime = machine.finish_of(rank).map(|at| (at - begin).to_string()).unwrap_or_default();
            let compute = totals.longest_calc.saturating_mul(workload.config.unit_ps);
            let (messages, bytes) = (totals.messages, totals.bytes);
            writeln!(out, "{group},{rank},{host},{start},{runtime},{compute},{messages},{bytes}")?;
        }
    }
    Ok(())
}
