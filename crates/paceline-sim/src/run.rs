//! A whole run: from a specification to a result folder.
//!
//! | file | what |
//! |---|---|
//! | here | the run: set up, run, written down |
//! | `choice.rs` | which engine, and why |
//! | `set_up.rs` | the network in its engine, with what it records |
//! | `watch.rs` | flows to disk and progress to who watches, while it runs |
//! | `summary.rs` | `summary.json`, and the warnings in it |
//! | `check.rs`, `check/` | a scenario checked, and what its run would cost in time and memory |
//! | `effect.rs`, `effect/` | which settings changed nothing |
//! | `offered.rs` | what counts as offered load |
//! | `bench.rs` | a run without a result folder |

mod bench;
mod check;
mod choice;
mod effect;

mod offered;
mod set_up;
mod summary;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use self::bench::{Bench, prepare_bench};
pub use self::check::{Check, check};
pub use self::choice::choose_engine;
pub(crate) use self::set_up::Engine;
use self::set_up::{Ready, set_up};
use self::summary::{fill_summary, first_summary, has_queries};
pub use self::watch::Snapshot;
use self::watch::Watcher;
use crate::assemble::assemble;
use crate::engine::Ending;
use crate::error::InputError;
pub use crate::error::RunError;
use crate::machine::cpu_seconds;
use crate::net::Net;
use crate::results::flow_file::FlowFile;
use crate::results::packet_file::{self, PacketFile, Recorded};
use crate::results::query_file::{self, QueryFile};
use crate::results::{Folder, Hold, RUNNING, Summary, is_replaced, mpi, tables};
use crate::spec::{Resolved, lint};
use crate::workload::program::Program;

/// What is asked for.
#[derive(Debug)]
pub struct Request {
    /// The scenario.
    pub spec: Resolved,
    /// Result folder.
    pub out: PathBuf,
    /// Threads asked for.
    pub threads: usize,
    /// Paceline's version.
    pub version: String,
    /// Git revision, where known.
    pub git: Option<String>,
}

/// Runs a scenario into its result folder. `watch` is called now and then; false stops the run with what there is.
///
/// # Errors
/// Bad input (nothing is written), a disk that does not take the results, memory that runs out, or a violated `run.strict`.
pub fn run(request: Request, watch: &mut dyn FnMut(&Snapshot) -> bool) -> Result<Summary, RunError> {
    run_and_hold(request, watch).map(|(summary, _)| summary)
}

/// A strict scenario has no warnings.
fn refuse_warnings(spec: &Resolved, warnings: &[String]) -> Result<(), InputError> {
    if !spec.run.strict || warnings.is_empty() {
        return Ok(());
    }
    let error = spec.error("run.strict", &warnings.join("; "));
    Err(error.value("true").allowed("a scenario without warnings"))
}

/// Steps of all programs, where nothing but programs makes a run as long as it is.
fn steps_total(spec: &Resolved, programs: &[Arc<Program>]) -> Option<u64> {
    let alone = programs.len() == spec.workloads.len();
    alone.then(|| programs.iter().map(|p| p.steps()).sum()).flatten()
}

/// [`run`], which leaves the folder to nobody else until the caller has read what it needs, or added to it.
///
/// # Errors
/// As of [`run`].
#[allow(clippy::disallowed_methods, reason = "wall time is reported beside the results, never in them")]
pub fn run_and_hold(request: Request, watch: &mut dyn FnMut(&Snapshot) -> bool) -> Result<(Summary, Hold), RunError> {
    let Request { spec, out, threads, version, git } = request;
    let set_up_began = Instant::now();
    let mut warnings = lint(&spec);
    let assembled = assemble(&spec)?;
    warnings.extend(assembled.warnings.iter().cloned());
    refuse_warnings(&spec, &warnings)?;
    let scenario = Arc::clone(&assembled.scenario);
    let flows_total = assembled.flow_count;
    let arrivals_end = assembled.arrivals_end.map(|t| t.0);
    let mut ready = set_up(&spec, assembled, threads)?;
    let mut summary = first_summary(&spec, &scenario, &ready, version, git, threads);
    summary.warnings = warnings;

    inputs_stay(&spec, &out)?;
    let folder = Folder::create(&out)?;
    // By its summary a folder is known as that of a run: it comes first.
    folder.write_summary(&summary)?;
    let room = folder.keep_room(&summary);
    let now = Instant::now();
    summary.machine.setup_s = now.duration_since(set_up_began).as_secs_f64();
    let end = match scenario.stop {
        crate::scenario::Stop::At(t) => Some(t.0),
        crate::scenario::Stop::Completed => arrivals_end,
    };
    let filled = fill(&folder, &spec, &mut ready, &mut summary, (end, flows_total), watch);
    // A run that broke off may have done so between the two halves of a count.
    let unsound = filled.as_ref().ok().and_then(|()| ready.engine.net().unsound()).map(RunError::Unsound);
    summary.warnings.extend(unsound.as_ref().map(ToString::to_string));
    // There is room for the end, whatever it is, on a disk that is full by now.
    drop(room);
    if let Err(e) = filled.and_then(|()| Ok(folder.write_summary(&summary)?)) {
        summary.status = RUNNING.into();
        let stalled = summary.diagnosis.map(|why| format!("; it had stalled: {why}"));
        summary.diagnosis = Some(format!("{e}{}", stalled.unwrap_or_default()));
        // Said where that can be: the disk may take no more of this than of the rest.
        folder.write_summary(&summary).ok();
        return Err(e);
    }
    if let Some(e) = unsound {
        return Err(e);
    }
    if spec.run.strict
        && let Some(drop) = ready.engine.net().first_lossless_drop()
    {
        return Err(RunError::Strict(format!("a lossless class dropped packets: {drop}")));
    }
    Ok((summary, folder.into_hold()))
}

/// Runs what is set up, and writes all but the last summary; what that has to say is in `summary` then. After an error it holds what is
/// known of the run all the same. `ends` are when the run or its arrivals end, and how many flows there will be, where known.
#[allow(clippy::disallowed_methods, reason = "wall time is reported beside the results, never in them")]
fn fill(
    folder: &Folder,
    spec: &Resolved,
    ready: &mut Ready,
    summary: &mut Summary,
    ends: (Option<u64>, Option<u64>),
    watch: &mut dyn FnMut(&Snapshot) -> bool,
) -> Result<(), RunError> {
    folder.replace("scenario.toml", |file| file.write_all(spec.to_toml().as_bytes()))?;
    let scenario = Arc::clone(&ready.engine.net().scenario);
    let flows = FlowFile::create(&folder.path().join("flows.bin"))?;
    let bin = folder.path().join("queries.bin");
    let asks = has_queries(&scenario);
    let queries = if asks { Some(QueryFile::create(&bin)?) } else { None };
    let asked = &spec.records.packets;
    let rows = || PacketFile::create(&folder.path().join("packets.bin"), &scenario.graph, asked.rows, &asked.flows);
    let packets = if asked.rows > 0 { Some(rows()?) } else { None };
    let now = Instant::now();
    let (began, flushed, looked, steps_total) = (now, now, now, steps_total(spec, &scenario.programs));
    let (end, flows_total) = ends;
    let mut watcher =
        Watcher { flows, queries, packets, watch, began, flushed, looked, end, flows_total, steps_total, error: None };
    let cpu_before = cpu_seconds();
    let (ending, now_ps) = ready.engine.run(&mut watcher)?;
    summary.machine.cpu_s = cpu_seconds() - cpu_before + ready.engine.others_cpu_s();
    summary.machine.run_s = watcher.began.elapsed().as_secs_f64();

    let net = ready.engine.net();
    let simulated = if ending == Ending::Completed { net.last_end } else { now_ps };
    let recorded = finish_records(watcher, net, simulated);
    if let Err(e @ RunError::Memory(_)) = recorded {
        return Err(e);
    }
    let of_packets = recorded.as_ref().ok().and_then(Option::as_ref);
    fill_summary(summary, spec, net, of_packets, &ending, simulated);
    if recorded.is_err() {
        // The end of flows that are on record as started may not be: their age then is none at this instant.
        summary.simulated_ps = 0;
    }
    // Until the tables are there the run is not over. They may be large: what was counted is told ahead of them, for a kill midway.
    let over = (std::mem::replace(&mut summary.status, RUNNING.into()), summary.diagnosis.take());
    let written = recorded.and_then(|_| {
        folder.write_summary(summary).ok();
        Ok(write_tables(folder, summary, spec, net, &ready.classes, &ready.chosen_ports, simulated)?)
    });
    (summary.status, summary.diagnosis) = over;
    written
}

/// Brings the last records to the disk. What went wrong in the event loop comes first.
fn finish_records(mut watcher: Watcher<'_>, net: &Net, simulated: u64) -> Result<Option<Recorded>, RunError> {
    let mut flows = watcher.flows;
    let failed = watcher.error.take();
    // Those that are under way are on record as started: no memory is taken for them where that has run out.
    if failed.is_none() {
        flows.add(&net.running(simulated));
    }
    // A connection is two flows in the stream of flows, and counts as one.
    let finished_file = flows.finish(net.counters.started + net.counters.connections);
    failed.map_or(Ok(()), Err)?;
    finished_file?;
    if let Some(queries) = watcher.queries {
        queries.finish([net.unanswered(), net.unanswered_of_programs()].concat())?;
    }
    Ok(watcher.packets.map_or(Ok(None), |file| file.finish().map(Some))?)
}

/// Refuses a result folder whose files, which the run replaces, are its own input.
fn inputs_stay(spec: &Resolved, out: &Path) -> Result<(), InputError> {
    let Ok(folder) = out.canonicalize() else { return Ok(()) };
    for (field, file) in spec.input_files() {
        let path = Path::new(&file);
        // The file that is meant, and the link by which it is meant.
        let link =
            path.parent().and_then(|p| p.canonicalize().ok()).zip(path.file_name()).map(|(p, name)| p.join(name));
        for path in [path.canonicalize().ok(), link].into_iter().flatten() {
            if let Ok(inside) = path.strip_prefix(&folder)
                && is_replaced(inside)
            {
                let error = spec.error(&field, "the run would replace its own input").value(&file);
                return Err(error.allowed(format!("a file that is no result in {}", out.display())));
            }
        }
    }
    Ok(())
}

fn write_tables(
    folder: &Folder,
    summary: &Summary,
    spec: &Resolved,
    net: &mut Net,
    classes: &[u8],
    chosen: &[u32],
    end: u64,
) -> std::io::Result<()> {
    let schemes: Vec<String> = spec.schemes.iter().map(|(name, _)| name.clone()).collect();
    let bin = folder.path().join("flows.bin");
    let (groups, rpcs) = (&summary.groups, has_queries(&net.scenario));
    folder.replace("flows.csv", |out| crate::results::flow_file::write_csv(&bin, &schemes, groups, rpcs, out))?;
    if rpcs {
        let bin = folder.path().join("queries.bin");
        folder.replace("queries.csv", |out| query_file::write_csv(&bin, &schemes, groups, out))?;
    }
    if spec.records.packets.rows > 0 {
        let bin = folder.path().join("packets.bin");
        folder.replace("packets.csv", |out| packet_file::write_csv(&bin, out))?;
    }
    if !summary.mpi.is_empty() {
        folder.replace("ranks.csv", |out| mpi::ranks(net, groups, out))?;
    }
    folder.replace("queues.csv", |out| tables::queues(net, classes, end, out))?;
    if spec.records.links {
        folder.replace("links.csv", |out| tables::links(net, out))?;
    }
    if spec.records.pauses {
        folder.replace("pauses.csv", |out| tables::pauses(net, end, out))?;
    }
    if spec.records.pauses && net.buffers.lossless() {
        folder.replace("saturation.csv", |out| tables::saturation(net, out))?;
    }
    let busiest = spec.records.series.busiest as usize;
    folder.replace("series.csv", |out| tables::series(net, chosen, busiest, out))
}
