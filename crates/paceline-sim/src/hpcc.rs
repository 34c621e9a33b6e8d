//! A drop-in for the HPCC reference simulator: its configuration in, its result files out.
//!
//! Its fct, pfc and qlen files are reproduced byte for byte for every `CC_MODE` in all runs we have of it (lossless, with
//! `MULTI_RATE 0`, `SAMPLE_FEEDBACK 0`, `GLOBAL_T 1`, `RATE_BOUND 1`, `PINT_PROB 1`, one NIC per host), and so are the rows of the nine
//! packet traces (`trace`). All other options
//! were compared with an independent model of it only (`tests/reference_options.rs`). *Not as there:* where a flow has no path
//! after `LINK_DOWN` it never ends, while the reference crashes. HPCC without a window is refused: its division by it makes
//! no number in the reference either. docs/compatibility.md tells users all this.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_proto::units::{Bytes, Duration, MS, NS, Time};

use crate::clock::Clock;
use crate::engine::reference_nic::ReferenceOptions;
use crate::engine::sequential::{Sampling, Sequential};
use crate::engine::windowed::Windowed;
use crate::engine::{Ending, Observer, Progress};
use crate::error::{InputError, RunError};
use crate::graph::{Graph, NodeId};
use crate::hpcc_format::config::HpccConfig;
use crate::hpcc_format::output::{FctLine, PfcLine, write_fct, write_pfc, write_qlen_block};
use crate::hpcc_format::packet_trace::{write_header, write_row};
use crate::hpcc_format::{config, flow, topology};
use crate::input::utf8;
use crate::net::Net;
use crate::packet::NONE;
use crate::record::{FlowRecord, PfcEvent, StageRecord, Status};
use crate::routing::by_node::NodeRoutes;
use crate::run::Engine;
use crate::scenario::{
    Accounting, BufferModel, Ecn, EngineChoice, FailureConfig, Framing, Headroom, HostConfig, NextHopOrder, NicChoice,
    Outage, PathChoice, Pfc, QueueRecords, Quirks, RecordConfig, RoutingConfig, Scenario, Scheme, Stop, SwitchConfig,
    Transport, Window,
};
use crate::workload::FlowTable;

mod effect;
mod export;
mod notices;
mod outputs;
mod params;
mod trace;

pub use export::{Export, export};
use outputs::Output;

/// How to run it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Unknown keys are warnings.
    pub lenient: bool,
    /// The queue histogram is written at multiples of this (100 ms in the reference).
    pub qlen_dump: Duration,
    /// The reference's behaviours; all on by default. `line_rate_pacing` follows `RATE_BOUND`, whatever it is here.
    pub quirks: Quirks,
    /// Which engine; the windowed one only without quirks of order.
    pub engine: EngineChoice,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lenient: false,
            qlen_dump: Duration(100 * MS),
            quirks: Quirks::REFERENCE,
            engine: EngineChoice::Sequential,
        }
    }
}

/// A configuration made ready to run.
pub struct Prepared {
    /// The scenario.
    pub scenario: Scenario,
    /// Its flows.
    pub flows: FlowTable,
    /// How many.
    pub flow_count: usize,
    /// Bytes of the smallest packet of data.
    smallest: u64,
    /// What the user should know: odd counts, keys without effect.
    pub warnings: Vec<String>,
    /// What concerns the reference's hosts and wires only.
    reference: ReferenceOptions,
    /// Nodes whose packets are traced.
    traced: Vec<NodeId>,
    /// By link, the node that the topology file names first.
    first_ends: Vec<NodeId>,
    config: HpccConfig,
    /// Its own file, as `config` names the others.
    config_path: PathBuf,
    folder: PathBuf,
    options: Options,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How it ended.
    pub ending: Ending,
    /// Simulated time at the end.
    pub end: Time,
    /// Flows finished.
    pub finished: u64,
    /// Flows started or waiting to start that did not finish.
    pub unfinished: u64,
    /// Events handled.
    pub events: u64,
    /// Link crossings of packets with payload, and of others.
    pub hops: (u64, u64),
    /// Packets dropped.
    pub drops: u64,
    /// Keys that changed nothing, by what happened, one clause per reason: `KEY, KEY: why`.
    pub without_effect: Vec<String>,
}

/// Largest configuration.
const MOST_CONFIG: u64 = 1 << 20;
/// Largest file that it names.
const MOST_BYTES: u64 = 256 << 20;

fn read(folder: &Path, name: &str, key: &str, most: u64) -> Result<String, InputError> {
    let fail = |problem: String| InputError::new(problem).field(key).value(name).allowed("a readable file");
    utf8(crate::input::read(&folder.join(name), most).map_err(fail)?, name)
}

/// An error that names no file is about the configuration: its line is that of the key, where the file gives it.
fn placed(error: InputError, config: &HpccConfig, file: &str) -> InputError {
    if error.file.is_some() {
        return error;
    }
    let line = error.field.as_deref().and_then(|key| config.given_at(key));
    let error = error.file(file);
    if let Some(line) = line { error.line(line) } else { error }
}

impl Prepared {
    /// Reads a configuration and the files it names (relative to the working directory, as the reference does).
    pub fn read(config_path: &Path, options: Options) -> Result<Self, InputError> {
        Self::read_in(Path::new(""), config_path, options)
    }

    /// The same in a folder: every file name, the configuration's own included, is relative to it.
    pub fn read_in(folder: &Path, config_path: &Path, options: Options) -> Result<Self, InputError> {
        let folder = folder.to_path_buf();
        let file = config_path.display().to_string();
        let text = read(&folder, &file, "config", MOST_CONFIG)?;
        let (config, mut warnings) = HpccConfig::parse(&text, &file, options.lenient)?;
        let named = |e: InputError| placed(e, &config, &file);
        warnings.extend(config::without_effect(&config).into_iter().map(|w| format!("no effect: {w}")));
        let clock = if options.quirks.clock_1ns { Clock::TruncatedNs } else { Clock::Exact };
        let text = read(&folder, &config.topology_file, "TOPOLOGY_FILE", MOST_BYTES).map_err(named)?;
        let (mut network, more) = topology::read_topology(&text, &config.topology_file, clock)?;
        warnings.extend(more);
        crate::topology::validate_topology(&network).map_err(|e| e.file(&config.topology_file))?;
        let text = read(&folder, &config.flow_file, "FLOW_FILE", MOST_BYTES).map_err(named)?;
        let (rows, more) = flow::read_flows(&text, &config.flow_file, &network.kinds)?;
        warnings.extend(more);
        let flows: Vec<_> = rows.iter().map(|r| r.spec(clock, 0, 0)).collect();
        let own: Vec<bool> = network.links.iter().map(|l| l.error_rate > 0.0).collect();
        for link in network.links.iter_mut().filter(|l| l.error_rate == 0.0) {
            link.error_rate = config.error_rate_per_link;
        }
        let links: Vec<_> = network.links.iter().map(|l| l.error_rate).zip(own).collect();
        if !options.quirks.reference_random && links.iter().any(|(rate, _)| *rate > 0.0) {
            warnings.push("error rates above 0: as many packets are lost as in the reference, but not the same".into());
        }
        let traced = trace::nodes(&folder, &config, network.kinds.len(), &options.quirks, &mut warnings)?;
        let first_ends = network.links.iter().map(|l| l.a).collect();
        check_acks(&config, &rows).map_err(named)?;
        let scenario = scenario(&config, Graph::new(&network), &options).map_err(named)?;
        notices::add(&mut warnings, &config, &scenario, &rows);
        if options.engine == EngineChoice::Windowed {
            warnings.push("QLEN_MON_FILE stays empty: the windowed engine takes no samples of queues".into());
        }
        let reference =
            ReferenceOptions { ack_interval: config.l2_ack_interval.into(), chunk: config.l2_chunk_size.into(), links };
        let last = |row: &flow::FlowRow| u64::from(scenario.framing.split(row.bytes).1);
        let smallest = rows.iter().map(last).min().unwrap_or(0);
        Ok(Self {
            scenario,
            reference,
            traced,
            first_ends,
            flow_count: flows.len(),
            smallest,
            flows: FlowTable::new(flows),
            warnings,
            config,
            config_path: config_path.to_path_buf(),
            folder,
            options,
        })
    }

    /// Runs it and writes the result files. `watch` is told how far it is; false stops the run.
    ///
    /// # Errors
    /// [`RunError::Input`] for result files that are inputs, one another or cannot be opened, none of which is touched then;
    /// [`RunError::Io`] for a full disk.
    pub fn run(self, watch: &mut dyn FnMut(&Progress) -> bool) -> Result<Summary, RunError> {
        let graph = Arc::clone(&self.scenario.graph);
        let sampling = Sampling {
            start: self.config.qlen_mon_start * NS,
            end: self.config.qlen_mon_end * NS,
            interval: 100 * NS,
            dump: self.options.qlen_dump.0.max(1),
        };
        let (scenario, flows) = (Arc::new(self.scenario), Box::new(self.flows));
        // What an engine cannot run is told before any file is touched.
        let mut engine = if self.options.engine == EngineChoice::Windowed {
            let asked = |e: InputError| if e.field.as_deref() == Some("run.engine") { e.field("engine") } else { e };
            Engine::Windowed(Box::new(Windowed::new(&scenario, flows).map_err(asked)?))
        } else {
            let mut sequential = Sequential::new(scenario, flows, Some(sampling))?;
            sequential.configure_reference(&self.reference);
            sequential.note_stages(&self.traced);
            Engine::Sequential(Box::new(sequential))
        };
        let config = &self.config;
        let inputs = [&config.topology_file, &config.flow_file, &config.trace_file].map(|name| self.folder.join(name));
        let inputs = [&inputs[..], &[self.folder.join(&self.config_path)]].concat();
        let names = [
            ("FCT_OUTPUT_FILE", config.fct_output_file.as_str()),
            ("PFC_OUTPUT_FILE", config.pfc_output_file.as_str()),
            ("QLEN_MON_FILE", config.qlen_mon_file.as_str()),
            ("TRACE_OUTPUT_FILE", config.trace_output_file.as_str()),
        ];
        let opened = outputs::open(&self.folder, names, &inputs);
        let file = self.config_path.display().to_string();
        let [fct, pfc, qlen, mut trace] = opened.map_err(|e| placed(e, config, &file))?;
        let rows = trace::Rows::new(&graph, &self.first_ends, config, &self.traced);
        trace.put(|out| write_header(out, &rows.ports(), engine.net().network.bdp))?;
        let mut files = Files {
            fct,
            pfc,
            qlen,
            trace,
            rows,
            watch,
            kinds: graph,
            error: None,
            sort: !self.options.quirks.insertion_order,
            flows: Vec::new(),
            frames: Vec::new(),
        };
        let (ending, end) = engine.run(&mut files)?;
        let net = engine.net();
        files.write_flows(u64::MAX);
        files.write_frames(u64::MAX);
        let outputs = [&mut files.fct, &mut files.pfc, &mut files.qlen, &mut files.trace];
        let flushed = outputs.into_iter().try_for_each(Output::flush);
        if let Some(e) = files.error.or(flushed.err()) {
            return Err(e.into());
        }
        if let Some(why) = net.unsound() {
            return Err(RunError::Unsound(why));
        }
        let c = &net.counters;
        // Where queues are sampled for longer than flows last, the samples end the run.
        let completed = c.finished == self.flow_count as u64;
        let without_effect = effect::without_effect(config, &self.options.quirks, net, completed, self.smallest);
        Ok(Summary {
            ending,
            end: Time(end),
            finished: c.finished,
            unfinished: self.flow_count as u64 - c.finished,
            events: c.events,
            hops: net.hops(),
            drops: c.drops_buffer + c.drops_wire + c.drops_link_down,
            without_effect,
        })
    }
}

/// The scenario of a configuration.
fn scenario(config: &HpccConfig, graph: Graph, options: &Options) -> Result<Scenario, InputError> {
    let params = params::params(config);
    let chunk = chunk(config)?;
    let failures = link_down(config, &graph)?;
    let routes_by_node = options.quirks.nic_round_robin && NodeRoutes::differ(&graph);
    if params.profile().needs_window && !config.has_win {
        let error = InputError::new("HPCC measures queues against the window, so there must be one");
        return Err(error.field("HAS_WIN").value(0).allowed("1 with CC_MODE 3 (HPCC)"));
    }
    Ok(Scenario {
        seed: 1,
        graph: Arc::new(graph),
        names: Vec::new(),
        framing: Framing { payload: config.packet_payload_size, ..Framing::HPCC },
        switch: SwitchConfig {
            strict: false,
            selective: None,
            trimming: None,
            red: None,
            qcn: None,
            exempt_syn: false,
            buffer: config.buffer(),
            model: BufferModel::Shared,
            accounting: Accounting::Output,
            pfc: Some(Pfc {
                reserve: Bytes(4096),
                headroom: Headroom::RateDelay(3),
                alpha_q16: (1 << 16) / 8,
                alpha_scales: true,
                wraps: true,
                resume_offset: Bytes(3072),
                classes: 1,
                xoff: None,
                xon: None,
                reaction: Duration(0),
            }),
            egress_alpha_q16: 1 << 16,
            ecn: config.enable_qcn.then(|| Ecn { by_rate: config.ecn(), per_port: false }),
        },
        host: HostConfig {
            ack_priority: config.ack_high_prio,
            nack_interval: Duration::from_us(500),
            rto: None,
            own_base_rtt: !config.global_t,
            base_rtt: None,
            idle_restart: None,
            chunk,
        },
        failures,
        routing: RoutingConfig {
            choice: PathChoice::FlowHash,
            order: NextHopOrder::DescendingId,
            salt: 0,
            nics: NicChoice::All,
            flowlet_gap: Duration(0),
        },
        schemes: vec![Scheme {
            transport: Transport::Rdma,
            name: "reference".into(),
            params,
            window: if config.has_win { Window::Bdp } else { Window::Off },
        }],
        rpcs: std::sync::Arc::default(),
        programs: std::sync::Arc::default(),
        adapter: None,
        groups: vec!["flows".into()],
        int_multiple: u64::from(config.int_multi),
        stop: Stop::At(Time(config.stop_ns() * NS)),
        stall: None,
        engine: options.engine,
        records: RecordConfig { queues: QueueRecords::Off, pfc_log: true },
        quirks: Quirks { line_rate_pacing: !config.rate_bound, routes_by_node, ..options.quirks },
    })
}

/// Where the reference would divide by zero: without chunks, at a packet that it does not acknowledge for being too near
/// the start of its message.
fn check_acks(config: &HpccConfig, rows: &[flow::FlowRow]) -> Result<(), InputError> {
    let (interval, chunk) = (u64::from(config.l2_ack_interval), config.l2_chunk_size);
    let first = |row: &flow::FlowRow| row.bytes.min(config.packet_payload_size.into());
    let Some(least) = rows.iter().map(first).min().filter(|least| chunk == 0 && *least < interval) else {
        return Ok(());
    };
    let error = InputError::new(format!(
        "a first packet of {least} bytes is below L2_ACK_INTERVAL {interval}; the reference divides by this key then"
    ));
    Err(error.field("L2_CHUNK_SIZE").value(0).allowed(format!("above 0, or L2_ACK_INTERVAL of at most {least}")))
}

/// Packets of a chunk both ends go back by, 0 for none.
fn chunk(config: &HpccConfig) -> Result<u32, InputError> {
    let (bytes, payload) = (config.l2_chunk_size, config.packet_payload_size);
    if !config.l2_back_to_zero {
        return Ok(0);
    }
    if bytes == 0 || !bytes.is_multiple_of(payload) {
        let error = InputError::new("with L2_BACK_TO_ZERO 1 a chunk has to be of whole packets").field("L2_CHUNK_SIZE");
        return Err(error.value(bytes).allowed(format!("a multiple of PACKET_PAYLOAD_SIZE ({payload}), above 0")));
    }
    Ok(bytes / payload)
}

/// The failure of `LINK_DOWN`: of several links between the two nodes the last, the one that the reference uses.
fn link_down(config: &HpccConfig, graph: &Graph) -> Result<FailureConfig, InputError> {
    let down = config.link_down;
    let Some(at) = down.at_ns() else { return Ok(FailureConfig::default()) };
    let port = graph.ports.iter().rfind(|p| (p.node, p.peer) == (down.a, down.b));
    let Some(port) = port else {
        let error = InputError::new("no link between these nodes").field("LINK_DOWN");
        return Err(error.value(format!("{} {}", down.a, down.b)).allowed("two nodes that TOPOLOGY_FILE links"));
    };
    let outages = vec![Outage { link: port.link, down: Time(at * NS), up: None }];
    Ok(FailureConfig { outages, reroute_after: Duration(0) })
}

/// The reference's result files, written as the run goes.
struct Files<'a> {
    fct: Output,
    pfc: Output,
    qlen: Output,
    trace: Output,
    rows: trace::Rows,
    watch: &'a mut dyn FnMut(&Progress) -> bool,
    kinds: Arc<Graph>,
    error: Option<std::io::Error>,
    /// Lines are sorted by time and place, for the same bytes from every engine. The reference's order of events has its
    /// own order of lines.
    sort: bool,
    flows: Vec<FlowRecord>,
    frames: Vec<PfcEvent>,
}

impl Files<'_> {
    /// Writes the flows that ended before `end`.
    fn write_flows(&mut self, end: u64) {
        let ended = |r: &FlowRecord| r.start + r.fct_sender;
        if self.sort {
            self.flows.sort_by_key(|r| (ended(r), r.id));
        }
        let ready = if self.sort { self.flows.partition_point(|r| ended(r) < end) } else { self.flows.len() };
        let records: Vec<FlowRecord> = self.flows.drain(..ready).collect();
        for r in &records {
            let line = FctLine {
                src: r.src,
                dst: r.dst,
                sport: r.sport,
                dport: r.dport,
                bytes: r.bytes,
                start_ns: r.start / NS,
                fct_ns: r.fct_sender / NS,
                standalone_ns: r.ideal_hpcc / NS,
            };
            let result = self.fct.put(|out| write_fct(out, &line));
            self.keep(result);
        }
    }

    /// Writes the PFC frames that took effect before `end`.
    fn write_frames(&mut self, end: u64) {
        if self.sort {
            self.frames.sort_by_key(|e| (e.now, e.node, e.port, e.class));
        }
        let ready = if self.sort { self.frames.partition_point(|e| e.now < end) } else { self.frames.len() };
        let events: Vec<PfcEvent> = self.frames.drain(..ready).collect();
        for e in &events {
            let switch = !self.kinds.is_host(e.node);
            let line =
                PfcLine { time_ns: e.now / NS, node: e.node, switch, port: u32::from(e.port) + 1, pause: e.pause };
            let result = self.pfc.put(|out| write_pfc(out, &line));
            self.keep(result);
        }
    }

    fn keep(&mut self, result: std::io::Result<()>) {
        if let Err(e) = result {
            self.error.get_or_insert(e);
        }
    }
}

impl Observer for Files<'_> {
    // Reports come in order of time, but may part what happens at one instant: that is held back for the next one.
    fn flow_records(&mut self, records: &[FlowRecord]) {
        self.flows.extend(records.iter().filter(|r| r.status == Status::Finished));
        let last = self.flows.iter().map(|r| r.start + r.fct_sender).max();
        self.write_flows(last.unwrap_or(0));
    }

    fn pfc(&mut self, events: &[PfcEvent]) {
        self.frames.extend_from_slice(events);
        let last = self.frames.iter().map(|e| e.now).max();
        self.write_frames(last.unwrap_or(0));
    }

    fn stages(&mut self, records: Vec<StageRecord>) {
        for record in &records {
            let row = self.rows.row(record);
            for _ in 0..self.rows.copies(record) {
                let result = self.trace.put(|out| write_row(out, &row));
                self.keep(result);
            }
        }
    }

    fn queue_dump(&mut self, now: u64, net: &Net) {
        let Some(sampler) = &net.levels.sampler else { return };
        let ports = (0..net.ports.len() as u32).filter(|p| net.ports[*p as usize].nic == NONE).map(|p| {
            let node = net.ports[p as usize].node;
            (node, p - net.first[node as usize] + 1, sampler.counts(p))
        });
        let result = self.qlen.put(|out| write_qlen_block(out, now / NS, ports));
        self.keep(result);
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        (self.watch)(progress) && self.error.is_none()
    }
}
