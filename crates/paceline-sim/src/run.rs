//! A whole run: from a specification to a result folder.

mod estimate;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use paceline_proto::units::Duration;

pub use self::estimate::{Check, check};
use crate::assemble::{Assembled, assemble, series_interval};
use crate::engine::sequential::Sequential;
use crate::engine::windowed::{Share, Windowed, lookahead};
use crate::engine::{Ending, Observer, Progress};
pub use crate::error::RunError;

use crate::error::InputError;
use crate::graph::Graph;
use crate::net::Net;
use crate::record::{FlowRecord, QueryRecord};
use crate::results::flow_file::FlowFile;
use crate::results::mpi;
use crate::results::query_file::{self, QueryFile};
use crate::results::{
    CounterSummary, EngineSummary, FlowCounts, Folder, Measure, QueryCounts, SCHEMA_VERSION, SchemeTraffic, Summary,
    TierLoad, tables,
};
use crate::scenario::{EngineChoice, Scenario};
use crate::series::Series;
use crate::spec::run::MeasureEnd;
use crate::spec::{Resolved, lint};

/// Ports up to which queue lengths are sampled over time.
const MOST_SAMPLED: usize = 4096;
/// Samples a series keeps at most (see [`Series`]).
const MOST_SERIES_SAMPLES: usize = 512;
/// Frames per port and window below which windows do not pay.
const LEAST_FRAMES: f64 = 0.5;
/// Longest link over lookahead up to which windows are used.
const MOST_SPREAD: u64 = 1024;

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

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// The engine's own view.
    pub engine: Progress,
    /// Simulated time at which the run ends or the arrivals end, ps, where known.
    pub end: Option<u64>,
    /// Flows there will be, where known.
    pub flows_total: Option<u64>,
    /// Wall seconds since the event loop began.
    pub wall_s: f64,
}

/// Which engine a scenario gets, and why. Decided by the scenario alone, so that it is the same everywhere.
///
/// # Errors
/// The windowed engine was asked for and cannot run this scenario.
pub fn choose_engine(scenario: &Scenario) -> Result<(EngineChoice, String), InputError> {
    let ahead = lookahead(scenario);
    if scenario.engine != EngineChoice::Auto {
        return Ok((scenario.engine, "asked for (run.engine)".into()));
    }
    if scenario.quirks.insertion_order || scenario.quirks.nic_round_robin || scenario.quirks.reference_random {
        return Ok((EngineChoice::Sequential, "the reference's event order was asked for (quirks)".into()));
    }
    if !scenario.programs.is_empty() {
        let why = "programs at the hosts start flows at the instants at which others end".into();
        return Ok((EngineChoice::Sequential, why));
    }
    if scenario.switch.qcn.is_some() {
        return Ok((
            EngineChoice::Sequential,
            "notifications leave a switch by another port at once (switch.qcn)".into(),
        ));
    }
    if let Some(rto) = scenario.host.rto.filter(|rto| rto.initial.0 < ahead) {
        let why = format!("host.rto {} is shorter than the lookahead of {}", rto.initial, Duration(ahead));
        return Ok((EngineChoice::Sequential, why));
    }
    let graph = &scenario.graph;
    let rate = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(0);
    let frame = f64::from(scenario.framing.payload + scenario.framing.header);
    let frames = ahead as f64 * 1e-12 * rate as f64 / (8.0 * frame);
    if frames < LEAST_FRAMES {
        let why =
            format!("lookahead {}: {frames:.2} frames per port and window, fewer than {LEAST_FRAMES}", Duration(ahead));
        return Ok((EngineChoice::Sequential, why));
    }
    let reaction = scenario.switch.pfc.map_or(0, |p| p.reaction.0);
    let longest = graph.ports.iter().map(|p| p.delay.0).max().unwrap_or(0).max(reaction);
    if longest / ahead > MOST_SPREAD || ahead > u64::from(u32::MAX) {
        let why = format!("longest link {} against a lookahead of {}", Duration(longest), Duration(ahead));
        return Ok((EngineChoice::Sequential, why));
    }
    Ok((EngineChoice::Windowed, format!("lookahead {}: {frames:.1} frames per port and window", Duration(ahead))))
}

enum Engine {
    Sequential(Box<Sequential>),
    Windowed(Box<Windowed>),
}

impl Engine {
    fn net(&mut self) -> &mut Net {
        match self {
            Engine::Sequential(e) => e.net_mut(),
            Engine::Windowed(e) => e.net_mut(),
        }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> Result<(Ending, u64), InputError> {
        match self {
            Engine::Sequential(e) => e.run(observer),
            Engine::Windowed(e) => e.run(observer),
        }
    }

    /// Sets up records alike in all parts of the network.
    fn prepare(&mut self, mut prepare: impl FnMut(&mut Net)) {
        match self {
            Engine::Sequential(e) => prepare(e.net_mut()),
            Engine::Windowed(e) => e.nets_mut().for_each(prepare),
        }
    }

    fn threads(&self) -> usize {
        match self {
            Engine::Sequential(_) => 1,
            Engine::Windowed(e) => e.threads(),
        }
    }

    /// CPU seconds of threads beside the calling one.
    fn others_cpu_s(&self) -> f64 {
        match self {
            Engine::Sequential(_) => 0.0,
            Engine::Windowed(e) => e.others_cpu_s(),
        }
    }
}

/// Streams ended flows to disk and passes progress on.
struct Watcher<'a> {
    flows: FlowFile,
    queries: Option<QueryFile>,
    watch: &'a mut dyn FnMut(&Snapshot) -> bool,
    began: Instant,
    flushed: Instant,
    end: Option<u64>,
    flows_total: Option<u64>,
    error: Option<std::io::Error>,
}

impl Observer for Watcher<'_> {
    fn flows_ended(&mut self, records: &[FlowRecord]) {
        self.flows.add(records);
    }

    fn queries_answered(&mut self, records: &[QueryRecord]) {
        self.queries.iter_mut().for_each(|file| file.add(records));
    }

    #[allow(clippy::disallowed_methods, reason = "paces writing and the display; no result depends on it")]
    fn progress(&mut self, progress: &Progress) -> bool {
        let now = Instant::now();
        if now.duration_since(self.flushed).as_millis() >= 200 {
            self.flushed = now;
            let queries = self.queries.as_mut().map_or(Ok(()), QueryFile::flush);
            if let Err(e) = self.flows.flush().and(queries) {
                self.error = Some(e);
                return false;
            }
        }
        let wall_s = now.duration_since(self.began).as_secs_f64();
        (self.watch)(&Snapshot { engine: *progress, end: self.end, flows_total: self.flows_total, wall_s })
    }
}

/// CPU seconds of the calling thread so far; 0 where the system does not tell.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

/// Largest resident memory of the process, MiB; 0 where the system does not tell.
pub fn peak_rss_mib() -> f64 {
    memory_mib("VmHWM:")
}

/// A line of the process's status, in MiB; 0 where the system has none.
fn memory_mib(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// A network set up to run, with its records.
struct Ready {
    engine: Engine,
    choice: (EngineChoice, String),
    classes: Vec<u8>,
    chosen_ports: Vec<u32>,
}

/// Ports whose queues are to be in the series, by global index.
fn chosen_ports(spec: &Resolved, graph: &Graph) -> Result<Vec<u32>, InputError> {
    let mut chosen = Vec::new();
    for (i, port) in spec.records.series.ports.iter().enumerate() {
        let known = (port.node as usize) < graph.nodes()
            && !graph.is_host(port.node)
            && usize::from(port.port) < graph.ports_of(port.node).len();
        if !known {
            return Err(spec
                .error(&format!("records.series.ports.{i}"), "no such switch port")
                .value(format!("{}:{}", port.node, port.port))
                .allowed("\"switch:port\" with a switch's node id and a port number from 0"));
        }
        chosen.push(graph.port_index(port.node, port.port) as u32);
    }
    Ok(chosen)
}

fn set_up(spec: &Resolved, assembled: Assembled, threads: usize) -> Result<Ready, InputError> {
    let scenario = assembled.scenario;
    let chosen_ports = chosen_ports(spec, &scenario.graph)?;
    let choice = choose_engine(&scenario)?;
    let mut engine = if choice.0 == EngineChoice::Windowed {
        Engine::Windowed(Box::new(Windowed::on_threads(&scenario, assembled.source, threads)?))
    } else {
        Engine::Sequential(Box::new(Sequential::new(Arc::clone(&scenario), assembled.source, None)?))
    };
    engine.prepare(|net| net.record_classes(&assembled.classes));
    if let Some(interval) = series_interval(spec) {
        // Samples fall on window boundaries, where both engines have seen the same.
        let step = if choice.0 == EngineChoice::Windowed { lookahead(&scenario) } else { 1 };
        let interval = interval.0.div_ceil(step) * step;
        let most = if chosen_ports.is_empty() && spec.records.series.busiest == 0 { 0 } else { MOST_SAMPLED };
        engine.prepare(|net| net.series = Series::new(net, interval, most, spec.records.series.flows.clone()));
    }
    Ok(Ready { engine, choice, classes: assembled.classes, chosen_ports })
}

/// A network ready to run without a result folder: for benches.
pub struct Bench {
    ready: Ready,
}

impl Bench {
    /// Runs it to the end.
    ///
    /// # Errors
    /// A flow that cannot start.
    pub fn run(&mut self) -> Result<Ending, InputError> {
        Ok(self.ready.engine.run(&mut ())?.0)
    }

    /// The network.
    pub fn net(&mut self) -> &Net {
        self.ready.engine.net()
    }

    /// Threads it runs on.
    pub fn threads(&self) -> usize {
        self.ready.engine.threads()
    }

    /// CPU seconds of the threads beside the calling one.
    pub fn others_cpu_s(&self) -> f64 {
        self.ready.engine.others_cpu_s()
    }

    /// What each thread's part has done in the run.
    pub fn shares(&self) -> &[Share] {
        if let Engine::Windowed(e) = &self.ready.engine { e.shares() } else { &[] }
    }

    /// `windowed` or `sequential`.
    pub fn kind(&self) -> &'static str {
        kind_name(self.ready.choice.0)
    }
}

fn kind_name(engine: EngineChoice) -> &'static str {
    if engine == EngineChoice::Windowed { "windowed" } else { "sequential" }
}

/// Sets up a scenario as [`run`] does, default records included.
///
/// # Errors
/// Bad input.
pub fn prepare_bench(spec: &Resolved, assembled: Assembled, threads: usize) -> Result<Bench, InputError> {
    Ok(Bench { ready: set_up(spec, assembled, threads)? })
}

/// Runs a scenario into its result folder. `watch` is called now and then; false stops the run with what there is.
///
/// # Errors
/// Bad input (nothing is written), a disk that does not take the results, or a violated `run.strict`.
#[allow(clippy::disallowed_methods, reason = "wall time is reported beside the results, never in them")]
pub fn run(request: Request, watch: &mut dyn FnMut(&Snapshot) -> bool) -> Result<Summary, RunError> {
    let Request { spec, out, threads, version, git } = request;
    let set_up_began = Instant::now();
    let mut warnings = lint(&spec);
    let assembled = assemble(&spec)?;
    warnings.extend(assembled.warnings.iter().cloned());
    if spec.run.strict && !warnings.is_empty() {
        let error = spec.error("run.strict", &warnings.join("; "));
        return Err(error.value("true").allowed("a scenario without warnings").into());
    }
    let scenario = Arc::clone(&assembled.scenario);
    let flows_total = assembled.flow_count;
    let arrivals_end = assembled.arrivals_end.map(|t| t.0);
    let mut ready = set_up(&spec, assembled, threads)?;
    let mut summary = first_summary(&spec, &scenario, &ready, version, git, threads);
    summary.warnings = warnings;

    let folder = Folder::create(&out)?;
    // By its summary a folder is known as that of a run: it comes first.
    folder.write_summary(&summary)?;
    folder.replace("scenario.toml", |file| file.write_all(spec.to_toml().as_bytes()))?;
    let now = Instant::now();
    summary.machine.setup_s = now.duration_since(set_up_began).as_secs_f64();
    let end = match scenario.stop {
        crate::scenario::Stop::At(t) => Some(t.0),
        crate::scenario::Stop::Completed => arrivals_end,
    };
    let flows = FlowFile::create(&folder.path().join("flows.bin"))?;
    let bin = folder.path().join("queries.bin");
    let asks = has_queries(&scenario);
    let queries = if asks { Some(QueryFile::create(&bin)?) } else { None };
    let mut watcher = Watcher { flows, queries, watch, began: now, flushed: now, end, flows_total, error: None };
    let cpu_before = cpu_seconds();
    let (ending, now_ps) = ready.engine.run(&mut watcher)?;
    summary.machine.cpu_s = cpu_seconds() - cpu_before + ready.engine.others_cpu_s();
    summary.machine.run_s = watcher.began.elapsed().as_secs_f64();

    let net = ready.engine.net();
    let simulated = if ending == Ending::Completed { net.last_end } else { now_ps };
    let mut flows = watcher.flows;
    let failed_write = watcher.error.take();
    flows.add(&net.running(simulated));
    // A connection is two flows in the stream of flows, and counts as one.
    let finished_file = flows.finish(net.counters.started + net.counters.connections);
    if let Some(e) = failed_write {
        return Err(e.into());
    }
    finished_file?;
    if let Some(mut queries) = watcher.queries {
        queries.add(&net.unanswered());
        queries.add(&net.unanswered_of_programs());
        queries.flush()?;
    }
    fill_summary(&mut summary, &spec, net, &ending, simulated);
    write_tables(&folder, &summary, &spec, net, &ready.classes, &ready.chosen_ports, simulated)?;
    folder.write_summary(&summary)?;
    if spec.run.strict
        && let Some(drop) = net.first_lossless_drop()
    {
        return Err(RunError::Strict(format!("a lossless class dropped packets: {drop}")));
    }
    Ok(summary)
}

fn first_summary(
    spec: &Resolved,
    scenario: &Scenario,
    ready: &Ready,
    version: String,
    git: Option<String>,
    threads: usize,
) -> Summary {
    let graph = &scenario.graph;
    let hosts = graph.hosts().count();
    let kind = kind_name(ready.choice.0);
    let mut without_effect = Vec::new();
    let used = ready.engine.threads();
    if threads > used {
        let why = if ready.choice.0 == EngineChoice::Windowed {
            format!("this network has {used} parts to share out")
        } else {
            format!("the sequential engine runs on one thread ({})", ready.choice.1)
        };
        without_effect.push(format!("--threads {threads}: {why}"));
    }
    Summary {
        schema_version: SCHEMA_VERSION,
        name: spec.name.0.clone(),
        version,
        git,
        seed: spec.seed,
        status: "running".into(),
        engine: EngineSummary {
            kind: kind.into(),
            why: ready.choice.1.clone(),
            lookahead_ps: lookahead(scenario),
            threads: used,
        },
        schemes: spec.scheme_values(),
        groups: scenario.groups.clone(),
        measure: Measure {
            warmup_ps: spec.run.warmup.0,
            end_ps: if let MeasureEnd::At(t) = spec.run.measure_end { Some(t.0) } else { None },
        },
        hosts,
        switches: graph.nodes() - hosts,
        links: graph.ports.len() / 2,
        without_effect,
        ..Summary::default()
    }
}

/// Whether hosts ask one another.
fn has_queries(scenario: &Scenario) -> bool {
    !scenario.rpcs.is_empty() || scenario.programs.iter().any(|p| p.asks())
}

fn fill_summary(summary: &mut Summary, spec: &Resolved, net: &Net, ending: &Ending, simulated: u64) {
    let c = net.counters;
    summary.status = match ending {
        Ending::Completed => "completed",
        Ending::Stopped => "stopped",
        Ending::Interrupted => "interrupted",
        Ending::Stalled(_) => "stalled",
    }
    .into();
    if let Ending::Stalled(why) = ending {
        summary.diagnosis = Some(why.clone());
    }
    summary.simulated_ps = simulated;
    let finished = c.finished - (c.connections_ended - c.connections_failed);
    let (total, failed) = (c.started - c.connections, c.failed - c.connections_failed);
    summary.flows = FlowCounts { total, finished, failed, unfinished: total - finished - failed };
    summary.queries = has_queries(&net.scenario).then(|| QueryCounts {
        connections: c.connections,
        connections_failed: c.connections_failed,
        issued: c.queries + net.programs.as_ref().map_or(0, |p| p.issued()),
        answered: c.answered,
    });
    summary.mpi = mpi::runs(net, &summary.groups, &mut summary.warnings);
    let hops = net.hops();
    summary.counters = CounterSummary::new(&c, hops, net.timeouts, net.message_counters(), net.buffers.max_buffered);
    if net.messages.as_ref().is_some_and(|m| m.is_tcp()) {
        let named = net.scenario.schemes.iter().zip(&net.traffic);
        summary.traffic = named.map(|(s, t)| SchemeTraffic::new(&s.name, t)).collect();
    }
    summary.machine.peak_rss_mib = peak_rss_mib();
    let busy = if summary.machine.cpu_s > 0.0 { summary.machine.cpu_s } else { summary.machine.run_s };
    summary.machine.hops_per_s = if busy > 0.0 { (hops.0 + hops.1) as f64 / busy } else { 0.0 };
    summary.load = tier_loads(net, simulated);
    for tier in &summary.load {
        if tier.offered > 1.0 {
            summary.warnings.push(format!(
                "{}: offered load {:.0} % of the tier's capacity",
                tier.tier,
                tier.offered * 100.0
            ));
        }
    }
    if let Some(drop) = net.first_lossless_drop() {
        summary.warnings.push(format!("a lossless class dropped {} packets; the first: {drop}", c.lossless_drops));
    }
    if let Some((_, _, failure)) = &net.first_failure {
        summary.warnings.push(format!(
            "{} flows were given up after {} timeouts; at the first: {failure}",
            c.failed, spec.host.rto_tries
        ));
    }
    summary.without_effect.extend(crate::effect::without_effect(spec, net));
}

/// Offered and carried load by tier.
fn tier_loads(net: &Net, simulated: u64) -> Vec<TierLoad> {
    let tiers = net.tiers();
    let mut capacity = vec![0u64; tiers.len()];
    let mut carried = vec![0u64; tiers.len()];
    for (i, p) in net.ports.iter().enumerate() {
        let tier = usize::from(net.port_tier[i]);
        capacity[tier] += net.graph.ports[i].rate.0;
        let data_packets = p.tx_packets - p.tx_control;
        carried[tier] += p.tx_bytes - p.tx_control_bytes + data_packets * u64::from(net.scenario.framing.wire_overhead);
    }
    let share = |bytes: u64, bps: u64, ps: u64| {
        if ps == 0 { 0.0 } else { bytes as f64 * 8.0 / (bps as f64 * ps as f64 * 1e-12) }
    };
    let loads = tiers.iter().zip(capacity).zip(&net.offered).zip(carried);
    loads
        .map(|(((tier, bps), offered), carried)| TierLoad {
            tier: tier.clone(),
            capacity_bps: bps,
            offered: share(*offered, bps, net.last_start),
            carried: share(carried, bps, simulated),
        })
        .collect()
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
