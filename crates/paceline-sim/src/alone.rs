//! The baseline `alone`: what each flow of a run would take with the network to itself, by simulation.
//!
//! Everything else is that of the run: transport, controller and parameters, framing, switches, quirks, the flow's own path
//! and the way of its ACKs as they are with all links up, the network's base RTT and window. So the slowdown against it is
//! what other traffic costs, without what the stack costs by itself. It is exact: every size is simulated, none is
//! interpolated. That takes about as many link crossings as the run itself at most, since each flow's packets cross their
//! links once more; flows that are alike (size, scheme, class, rate limit, way) share one simulation, and its random draws
//! (wire loss, marks, spraying).
//!
//! It is done after the run, from the result folder: flows are drawn again from the scenario, in blocks, so memory does not
//! grow with their number. Programs' messages that are flows of their own are taken from the folder.

mod way;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::assemble::{Assembled, assemble};
use crate::engine::sequential::Sequential;
use crate::engine::{Observer, Progress};
use crate::error::{InputError, RunError};
use crate::net::Net;
use crate::record::{FlowRecord, Status};
use crate::results::flow_file::Records;
use crate::results::{ALONE_FILE, Summary, hold, part_of, read_summary};
use crate::scenario::{FailureConfig, PathChoice, QueueRecords, RecordConfig, Scenario, Stop};
use crate::spec::{MAX_TEXT, Resolved, parse};
use crate::workload::program::Connections;
use crate::workload::{FlowDefaults, FlowSpec, FlowTable};
use paceline_proto::units::Time;
use way::{Way, Ways};

const MAGIC: &[u8; 8] = b"PACELALN";
const VERSION: u32 = 1;
/// Bytes of a flow's entry: FCT at the sender and at the receiver, ps; 0 where there is none.
const ENTRY: u32 = 16;
/// Flows worked on at a time.
const BLOCK: usize = 1 << 14;
/// Results kept for flows to come.
const MOST_KNOWN: usize = 1 << 20;

/// FCTs of a flow alone, ps: to the last acknowledgement, and to the last byte received. 0: it does not finish.
pub type Fct = [u64; 2];

/// All that the time of a flow alone depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    /// Number of its way among [`Ways`].
    way: u32,
    scheme: u16,
    class: u8,
    rate_cap: u64,
    bytes: u64,
}

/// Simulates every flow of a finished run alone and writes `alone.bin`: a header of 64 bytes, then 16 bytes per flow.
///
/// `watch(flows done, flows)` is called now and then; false stops, nothing is written and the answer is false. The file does not
/// depend on `threads`.
///
/// # Errors
/// A folder that is none, that of a run going on or of another version, or whose input files have changed; a full disk.
pub fn compute(
    folder: &Path,
    version: &str,
    threads: usize,
    watch: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<bool, RunError> {
    // First of all whether it is a folder to write into.
    check_run(folder, &read_summary(folder)?, version)?;
    let part = folder.join(part_of(ALONE_FILE));
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&part)?;
    // Not waited for: it may take long.
    if !hold::try_take(&file)? || !hold::is_at(&file, &part) {
        let error = InputError::new("another process is simulating its flows alone").file(folder.display().to_string());
        return Err(error.allowed("one at a time; when it is done its result will be used").into());
    }
    let result = fill(folder, &file, threads, watch).and_then(|complete| {
        if complete {
            std::fs::rename(&part, folder.join(ALONE_FILE))?;
        }
        Ok(complete)
    });
    if !matches!(result, Ok(true)) {
        let _ = std::fs::remove_file(&part);
    }
    result
}

fn fill(folder: &Path, part: &File, threads: usize, watch: &mut dyn FnMut(u64, u64) -> bool) -> Result<bool, RunError> {
    let summary = read_summary(folder)?;
    let file = folder.join("scenario.toml");
    let name = file.display().to_string();
    let text = crate::input::read(&file, MAX_TEXT as u64);
    let text = text.map_err(|e| InputError::new(e).file(&name).allowed("the scenario of the run"))?;
    let spec = parse(&crate::input::utf8(text, &name)?, &name, &[])?;
    let Assembled { scenario, mut source, .. } = assemble(&spec)?;
    let programs = messages_as_flows(&scenario);
    tell_apart(&spec, &scenario, &programs)?;
    let bare = bare(&scenario);
    let mut ways = Ways::new(Net::new(Arc::new(bare.clone()))?);
    let mut records = Records::open(&folder.join("flows.bin"))?;
    let total = summary.flows.total;
    part.set_len(0)?;
    let mut out = BufWriter::with_capacity(1 << 16, part);
    write_header(&mut out, total)?;
    let mut done = 0u64;
    let mut known: BTreeMap<Key, Fct> = BTreeMap::new();
    loop {
        let mut keys: Vec<Option<Key>> = Vec::with_capacity(BLOCK);
        while keys.len() < BLOCK
            && let Some(record) = records.next().transpose()?
        {
            let id = done + keys.len() as u64;
            // A program's message comes when the program sends it, and is no flow of the source.
            let flow = match programs.get(&record.group) {
                Some(traits) => Some(traits.flow(Time(record.start), record.src, record.dst, record.bytes)),
                None => source.next_flow(),
            };
            let Some(flow) = flow.filter(|f| is_same(f, &record)) else {
                return Err(changed(folder, id).into());
            };
            let key = ways.key(&flow, id)?;
            keys.push((record.status != Status::NotStarted).then_some(key));
        }
        if keys.is_empty() {
            out.flush()?;
            if done != total {
                return Err(InputError::new(format!("holds {done} flows, and summary.json says {total}"))
                    .file(folder.join("flows.bin").display().to_string())
                    .allowed("the flows of the run")
                    .into());
            }
            return Ok(true);
        }
        let new: BTreeSet<Key> = keys.iter().flatten().filter(|k| !known.contains_key(k)).copied().collect();
        let new: Vec<Key> = new.into_iter().collect();
        // A share of the block by the share of its simulations.
        let so_far = |n: usize| done + (n * keys.len() / new.len().max(1)) as u64;
        let Some(found) = simulate_all(&bare, &ways, &new, threads, &mut |n| watch(so_far(n), total))? else {
            return Ok(false);
        };
        known.extend(new.iter().copied().zip(found));
        for key in &keys {
            let fct = key.and_then(|k| known.get(&k).copied()).unwrap_or_default();
            fct.iter().try_for_each(|time| out.write_all(&time.to_le_bytes()))?;
        }
        done += keys.len() as u64;
        if known.len() > MOST_KNOWN || ways.is_full() {
            known.clear();
            ways.clear();
        }
    }
}

fn check_run(folder: &Path, summary: &Summary, version: &str) -> Result<(), InputError> {
    let file = folder.join("summary.json").display().to_string();
    let refuse = |problem: &str, field: &str, value: &str, allowed: &str| {
        Err(InputError::new(problem).file(&file).field(field).value(value).allowed(allowed))
    };
    if summary.status == "running" {
        return refuse("the run has not ended, or was killed", "status", "running", "the folder of a run that ended");
    }
    if summary.version != version {
        let allowed = format!("the version of this program, {version}");
        return refuse("the run is by another version of Paceline", "version", &summary.version, &allowed);
    }
    Ok(())
}

fn changed(folder: &Path, id: u64) -> InputError {
    InputError::new("the scenario's flows are no longer those of the run: has an input file changed?")
        .file(folder.join("scenario.toml").display().to_string())
        .field("workloads")
        .value(format!("flow {id} of flows.bin"))
        .allowed("input files as they were when the run was made")
}

/// Whether a flow is the one on record.
fn is_same(flow: &FlowSpec, record: &FlowRecord) -> bool {
    record.status == Status::NotStarted
        || (flow.src, flow.dst, flow.bytes, flow.start.0, flow.scheme)
            == (record.src, record.dst, record.bytes, record.start, record.scheme)
}

fn write_header(out: &mut dyn Write, flows: u64) -> io::Result<()> {
    let mut header = [0u8; 64];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&ENTRY.to_le_bytes());
    header[16..24].copy_from_slice(&flows.to_le_bytes());
    out.write_all(&header)
}

/// What the flows of each group have in common whose programs send every message as a flow of its own.
fn messages_as_flows(scenario: &Scenario) -> BTreeMap<u16, FlowDefaults> {
    let programs = scenario.programs.iter().filter(|p| p.connections == Connections::New);
    programs.map(|p| (p.flow.group, p.flow)).collect()
}

/// Refuses groups in which a program's messages and other flows cannot be told apart.
fn tell_apart(spec: &Resolved, scenario: &Scenario, programs: &BTreeMap<u16, FlowDefaults>) -> Result<(), InputError> {
    for group in programs.keys() {
        let name = &scenario.groups[usize::from(*group)];
        let mut sharing = spec.workloads.iter().zip(0..).filter(|(w, _)| w.group.0 == *name);
        if let Some((_, number)) = sharing.nth(1) {
            let problem = "a program whose messages are flows shares its group with another workload: alone, they are not told apart";
            let error = spec.error(&format!("workloads[{number}].group"), problem).value(name);
            return Err(error.allowed("a group of its own for such a program"));
        }
    }
    Ok(())
}

/// The scenario without what is no part of a flow's way: records, an end by the clock, links that fail, and what else hosts do.
fn bare(scenario: &Scenario) -> Scenario {
    Scenario {
        stop: Stop::Completed,
        failures: FailureConfig::default(),
        records: RecordConfig { queues: QueueRecords::Off, pfc_log: false },
        rpcs: Arc::default(),
        programs: Arc::default(),
        ..scenario.clone()
    }
}

/// Simulates keys, each alone; `None` when `watch` said so.
fn simulate_all(
    bare: &Scenario,
    ways: &Ways,
    keys: &[Key],
    threads: usize,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Vec<Fct>>, InputError> {
    // Short simulations may all be over before the watch below is looked at.
    if !watch(0) {
        return Ok(None);
    }
    let (next, finished, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let work = || -> Result<Vec<(usize, Fct)>, InputError> {
        let mut mine = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(key) = keys.get(i) else { break };
            let mut go_on = || !stop.load(Ordering::Relaxed);
            mine.push((i, simulate(bare, ways.way(key.way), *key, &mut go_on)?));
            finished.fetch_add(1, Ordering::Relaxed);
        }
        Ok(mine)
    };
    let mut found = vec![Fct::default(); keys.len()];
    let parts: Result<Vec<_>, InputError> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, keys.len().max(1))).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|w| !w.is_finished()) {
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            if !watch(finished.load(Ordering::Relaxed)) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        workers.into_iter().map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    for (i, fct) in parts?.into_iter().flatten() {
        found[i] = fct;
    }
    Ok((!stop.into_inner()).then_some(found))
}

/// Keeps the one flow there is.
struct Watcher<'a> {
    fct: Fct,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Observer for Watcher<'_> {
    fn flow_records(&mut self, records: &[FlowRecord]) {
        if let Some(r) = records.iter().find(|r| r.status == Status::Finished) {
            self.fct = [r.fct_sender, r.fct_receiver];
        }
    }

    fn progress(&mut self, _progress: &Progress) -> bool {
        (self.go_on)()
    }
}

/// One flow on its way, from time 0.
fn simulate(bare: &Scenario, way: &Way, key: Key, go_on: &mut dyn FnMut() -> bool) -> Result<Fct, InputError> {
    let mut scenario = Scenario { graph: Arc::clone(&way.graph), ..bare.clone() };
    if way.pinned.is_some() {
        // Nothing is left to choose, and the way may be no tree, in which alone other choices have a meaning.
        scenario.routing.choice = PathChoice::FlowHash;
    }
    let scenario = Arc::new(scenario);
    let mut net = Net::part(scenario, Some(way.whole))?;
    net.pinned.clone_from(&way.pinned);
    let flow = FlowSpec {
        start: Time(0),
        src: way.ends[0],
        dst: way.ends[1],
        bytes: key.bytes,
        scheme: key.scheme,
        group: 0,
        class: key.class,
        dport: 100,
        rate_cap: key.rate_cap,
        stream: 0,
        nic: None,
    };
    let mut watcher = Watcher { fct: Fct::default(), go_on };
    Sequential::of(net, Box::new(FlowTable::new(vec![flow])), None).run(&mut watcher)?;
    Ok(watcher.fct)
}
