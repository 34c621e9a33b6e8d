//! A scenario as files of the HPCC reference simulator, for that simulator and for `paceline hpcc`: a configuration is made that comes
//! nearest, made into a scenario as those of users are, and that held against the first, setting by setting (`Told`). What the files
//! cannot say is told. Who adds a setting that RDMA's hosts or switches heed adds it there.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use paceline_proto::cc::Params;
use paceline_proto::units::{BitsPerSec, Bytes, Duration, NS, S, Time, US};

use serde::Serialize;

use super::{Options, scenario};
use crate::assemble::{Assembled, assemble, refuse_waiting};
use crate::error::InputError;
use crate::graph::{Graph, Link, Side, Topology};
use crate::hpcc_format::config::{CcMode, HpccConfig, LinkDown};
use crate::hpcc_format::flow::{MAX_FLOW, write_flows};
use crate::hpcc_format::topology::write_topology;
use crate::routing::by_node::NodeRoutes;
use crate::scenario::{
    BufferModel, Ecn, EcnThresholds, PausedLink, Pfc, Quirks, RoutingConfig, Scenario, Scheme, Stop, SwitchConfig,
    Transport, Window,
};
use crate::spec::Resolved;
use crate::workload::{FlowSource, FlowSpec};

/// Instant of the scenario's beginning in its files: where the reference's traffic begins, and its failures count from.
const BEGIN: Time = Time(2 * S);
/// Flows whose rows, of at most 60 bytes, fit into what `paceline hpcc` reads of a file.
const MOST_FLOWS: usize = 4_000_000;
/// After the last flow has started, where the scenario runs until all are over.
const DRAIN: Duration = Duration(S);

/// Files to write.
pub struct Export {
    config: HpccConfig,
    topology: String,
    flows: Vec<FlowSpec>,
    /// What the files cannot say, and what is done otherwise there.
    pub notices: Vec<String>,
}

/// Makes the files.
///
/// # Errors
/// Those of the scenario, and what has no counterpart at all: transports other than RDMA, schemes without `CC_MODE` or several of
/// them, what waits for something to arrive before it sends, links that differ by direction; flows too large, too many, or none.
pub fn export(spec: &Resolved) -> Result<Export, InputError> {
    refuse_waiting(spec)?;
    files(assemble(spec)?).map_err(|e| {
        let located = spec.error(e.field.as_deref().unwrap_or_default(), &e.problem);
        InputError { value: e.value.or(located.value), allowed: e.allowed, ..located }
    })
}

fn files(assembled: Assembled) -> Result<Export, InputError> {
    let Assembled { scenario: mine, mut source, .. } = assembled;
    let topology = write_topology(&wired(&mine.graph)).map_err(|e| e.field("topology"))?;
    let flows = flows(source.as_mut(), &mine)?;
    let Some(first) = flows.first() else {
        return Err(InputError::new("no flow starts in this scenario").field("workloads").allowed("at least one flow"));
    };
    if let Some(other) = flows.iter().find(|f| f.scheme != first.scheme) {
        let names = [first, other].map(|f| mine.schemes[usize::from(f.scheme)].name.as_str()).join(", ");
        let error = InputError::new("the reference has one congestion control for all flows").field("workloads");
        return Err(error.value(names).allowed("flows of one scheme"));
    }
    let scheme = &mine.schemes[usize::from(first.scheme)];
    let last = flows.last().map_or(BEGIN, |f| f.start);
    let config = config(&mine, scheme, last)?;
    let theirs = self::scenario(
        &config,
        Graph::clone(&mine.graph),
        &Options { quirks: Quirks::default(), ..Options::default() },
    )?;
    let mut told = Told(Vec::new());
    told.of_flows(&flows);
    told.of_scheme(scheme, &theirs.schemes[0]);
    told.of_network(&mine, &theirs);
    told.of_switches(&mine, &theirs);
    told.of_hosts(&mine, &theirs);
    if mine.stop == Stop::Completed {
        told.0.push(format!("run.stop: the files end the run {DRAIN:#} after the last flow has started"));
    }
    Ok(Export { config, topology, flows, notices: told.0 })
}

impl Export {
    /// Names of the files, as the first of them calls the others.
    pub const NAMES: [&str; 4] = ["config.txt", "topology.txt", "flow.txt", "trace.txt"];

    /// Writes the files to these places, in the order of [`Self::NAMES`].
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write<P: AsRef<Path>>(&self, [config, topology, flows, trace]: [P; 4]) -> io::Result<()> {
        fs::write(config, self.config.to_text())?;
        fs::write(topology, &self.topology)?;
        let mut out = BufWriter::new(File::create(flows)?);
        write_flows(&mut out, &self.flows)?;
        out.flush()?;
        fs::write(trace, "0\n")
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }
}

/// The network as links.
fn wired(graph: &Graph) -> Topology {
    let mut links: Vec<Option<Link>> = vec![None; graph.links()];
    for port in &graph.ports {
        let back = graph.opposite(port);
        let [ab, ba] = [port, back].map(|p| Side { rate: p.rate, delay: p.delay });
        let link = Link { a: port.node, b: port.peer, ab, ba, error_rate: port.error_rate };
        links[port.link as usize].get_or_insert(link);
    }
    Topology { kinds: graph.kinds.clone(), tiers: graph.tiers.clone(), links: links.into_iter().flatten().collect() }
}

/// All flows that start before the scenario stops, by the clock of the files.
fn flows(source: &mut dyn FlowSource, scenario: &Scenario) -> Result<Vec<FlowSpec>, InputError> {
    let mut flows = Vec::new();
    let stop = scenario.stop.instant();
    while let Some(flow) = source.next_flow().filter(|f| f.start.0 < stop) {
        let number = flows.len();
        if number == MOST_FLOWS {
            let error = InputError::new("too many flows for files").field("workloads");
            return Err(error.allowed(format!("at most {MOST_FLOWS} flows")));
        }
        if flow.bytes > MAX_FLOW {
            let error =
                InputError::new(format!("flow {number} is too large: the reference reads 32 bits")).field("workloads");
            return Err(error.value(flow.bytes).allowed(format!("at most {MAX_FLOW} bytes")));
        }
        flows.push(FlowSpec { start: Time(BEGIN.0.saturating_add(flow.start.0)), ..flow });
    }
    Ok(flows)
}

/// A threshold in the thousands of bytes of the files.
fn thousands(bytes: Bytes) -> u64 {
    bytes.0 / 1000
}

/// The configuration that comes nearest.
fn config(mine: &Scenario, scheme: &Scheme, last: Time) -> Result<HpccConfig, InputError> {
    let whole_us = |time: Duration| (time.0 / US).max(1);
    let stop = match mine.stop {
        Stop::At(at) => BEGIN.0.saturating_add(at.0),
        Stop::Completed => last.0.saturating_add(DRAIN.0),
    };
    let nic_rate = mine.graph.hosts().flat_map(|h| mine.graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(1);
    let link_down = mine.failures.outages.first().filter(|o| o.down.0 >= US).map(|outage| {
        let port = mine.graph.ports.iter().find(|p| p.link == outage.link);
        port.map_or(LinkDown::default(), |p| LinkDown { after_us: outage.down.0 / US, a: p.node, b: p.peer })
    });
    let [_, topology, flow, trace] = Export::NAMES;
    let mut config = HpccConfig {
        enable_qcn: mine.switch.ecn.is_some(),
        packet_payload_size: mine.framing.payload,
        l2_ack_interval: 1,
        topology_file: topology.into(),
        flow_file: flow.into(),
        trace_file: trace.into(),
        trace_output_file: "mix.tr".into(),
        qlen_mon_file: "qlen.txt".into(),
        // A sample every 100 ns of all ports is what takes the reference longest: one will do.
        qlen_mon_end: BEGIN.0 / NS,
        simulator_stop_time: stop as f64 / S as f64,
        has_win: scheme.window != Window::Off,
        global_t: !mine.host.own_base_rtt,
        int_multi: mine.int_units(nic_rate).min(1_000_000) as u32,
        rate_bound: !mine.quirks.line_rate_pacing,
        ack_high_prio: mine.host.ack_priority,
        link_down: link_down.unwrap_or_default(),
        buffer_size_mib: (mine.switch.buffer.0 >> 20).clamp(1, 4095) as u32,
        ..HpccConfig::default()
    };
    let thresholds = ecn_of(mine);
    config.kmax_map = thresholds.iter().map(|e| (e.rate, thousands(e.k_max))).collect();
    config.kmin_map = thresholds.iter().map(|e| (e.rate, thousands(e.k_min))).collect();
    config.pmax_map = thresholds.iter().map(|e| (e.rate, e.p_max)).collect();
    let rate = BitsPerSec;
    let scheme_error = |what: &str| {
        let error = InputError::new(format!("the reference has no {what}")).field(format!("schemes.{}", scheme.name));
        error.allowed("hpcc, hpcc_pint, dcqcn, timely or dctcp over RDMA")
    };
    if scheme.transport != Transport::Rdma {
        return Err(scheme_error("such transport"));
    }
    match &scheme.params {
        Params::Hpcc(p) => {
            config.cc_mode = CcMode::Hpcc;
            (config.u_target, config.mi_thresh) = (p.eta, p.max_stage);
            (config.rate_ai, config.min_rate) = (rate(p.w_ai_rate), rate(p.min_rate));
            (config.fast_react, config.var_win, config.multi_rate) = (p.fast_reaction, p.variable_window, p.multi_rate);
            config.sample_feedback = p.sample_feedback;
        }
        Params::HpccPint(p) => {
            config.cc_mode = CcMode::HpccPint;
            (config.u_target, config.mi_thresh) = (p.eta, p.max_stage);
            (config.rate_ai, config.min_rate) = (rate(p.w_ai_rate), rate(p.min_rate));
            (config.pint_log_base, config.pint_prob, config.var_win) = (p.log_base, p.probability, p.variable_window);
        }
        Params::Dcqcn(p) => {
            config.cc_mode = CcMode::Dcqcn;
            config.ewma_gain = p.g;
            config.alpha_resume_interval_us = whole_us(p.alpha_interval);
            config.rate_decrease_interval_us = whole_us(p.decrease_interval);
            config.rp_timer_us = whole_us(p.increase_interval);
            (config.fast_recovery_times, config.clamp_target_rate) = (p.fast_recovery, p.clamp_target_rate);
            (config.rate_ai, config.rate_hai, config.min_rate) = (rate(p.ai_rate), rate(p.hai_rate), rate(p.min_rate));
            config.var_win = p.variable_window;
        }
        Params::Timely(p) => {
            config.cc_mode = CcMode::Timely;
            (config.rate_ai, config.rate_hai, config.min_rate) = (rate(p.ai_rate), rate(p.hai_rate), rate(p.min_rate));
            config.var_win = p.variable_window;
        }
        Params::Dctcp(p) => {
            config.cc_mode = CcMode::Dctcp;
            (config.ewma_gain, config.var_win) = (p.g, p.variable_window);
            (config.dctcp_rate_ai, config.min_rate) = (rate(p.ai_rate), rate(p.min_rate));
        }
        _ => return Err(scheme_error("such congestion control")),
    }
    Ok(config)
}

/// ECN thresholds of the rates that switch ports have; 0 where there are none.
fn ecn_of(scenario: &Scenario) -> Vec<EcnThresholds> {
    let graph = &scenario.graph;
    let mut rates: Vec<_> = graph.ports.iter().filter(|p| !graph.is_host(p.node)).map(|p| p.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let given = scenario.switch.ecn.as_ref().map_or(&[][..], |ecn| &ecn.by_rate);
    let of = |rate| {
        let none = EcnThresholds { rate, k_min: Bytes(0), k_max: Bytes(0), p_max: 0.0 };
        given.iter().find(|e| e.rate == rate).copied().unwrap_or(none)
    };
    rates.into_iter().map(of).collect()
}

/// Differences, to be told.
struct Told(Vec<String>);

impl Told {
    /// A field that has one value in the scenario and another one in the reference.
    fn differ<T: PartialEq + Display>(&mut self, field: &str, mine: &T, theirs: &T) {
        if mine != theirs {
            self.0.push(format!("{field}: {mine:#} in the scenario, {theirs:#} by the files"));
        }
    }

    /// The same for words.
    fn unlike<T: PartialEq + Serialize>(&mut self, field: &str, mine: &T, theirs: &T) {
        let word = |value: &T| {
            serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default()
        };
        self.differ(field, &word(mine), &word(theirs));
    }

    /// Something that the reference does not have.
    fn lacks(&mut self, is_there: bool, what: &str) {
        if is_there {
            self.0.push(format!("{what}: the reference has no such thing"));
        }
    }

    fn of_flows(&mut self, flows: &[FlowSpec]) {
        self.lacks(flows.iter().any(|f| f.rate_cap > 0), "rate_cap of flows");
        let between = flows.iter().filter(|f| !f.start.0.is_multiple_of(NS)).count();
        if between > 0 {
            self.0.push(format!(
                "{between} of {} flows start between whole nanoseconds: the reference cuts their starts, `paceline hpcc` without the \
                 quirk clock_1ns does not",
                flows.len()
            ));
        }
    }

    fn of_scheme(&mut self, mine: &Scheme, theirs: &Scheme) {
        let field = |key: &str| format!("schemes.{}.{key}", mine.name);
        if let Window::Fixed(bytes) = mine.window {
            self.0
                .push(format!("{}: {bytes} in the scenario, a bandwidth-delay product by the files", field("window")));
        }
        match (&mine.params, &theirs.params) {
            (Params::Hpcc(m), Params::Hpcc(t)) => self.differ(&field("start"), &m.start, &t.start),
            (Params::Dcqcn(m), Params::Dcqcn(t)) => {
                self.differ(&field("alpha_interval"), &m.alpha_interval, &t.alpha_interval);
                self.differ(&field("decrease_interval"), &m.decrease_interval, &t.decrease_interval);
                self.differ(&field("increase_interval"), &m.increase_interval, &t.increase_interval);
                self.differ(&field("cnp_interval"), &m.cnp_interval, &t.cnp_interval);
            }
            (Params::Timely(m), Params::Timely(t)) => {
                self.differ(&field("t_low"), &m.t_low_ns, &t.t_low_ns);
                self.differ(&field("t_high"), &m.t_high_ns, &t.t_high_ns);
                self.differ(&field("min_rtt"), &m.min_rtt_ns, &t.min_rtt_ns);
                self.differ(&field("ewma"), &m.ewma, &t.ewma);
                self.differ(&field("beta"), &m.beta, &t.beta);
                self.differ(&field("hai_after"), &m.hai_after, &t.hai_after);
            }
            _ => {}
        }
    }

    fn of_network(&mut self, mine: &Scenario, theirs: &Scenario) {
        let (m, t) = (&mine.framing, &theirs.framing);
        self.differ("framing.header", &m.header, &t.header);
        self.differ("framing.ack_header", &m.ack_header, &t.ack_header);
        self.differ("framing.min_frame", &m.min_frame, &t.min_frame);
        self.differ("framing.pfc_frame", &m.pfc_frame, &t.pfc_frame);
        self.differ("framing.wire_overhead", &m.wire_overhead, &t.wire_overhead);
        let RoutingConfig { choice, order, salt, nics: _, flowlet_gap: _ } = mine.routing;
        self.unlike("routing.choice", &choice, &theirs.routing.choice);
        self.unlike("routing.order", &order, &theirs.routing.order);
        self.differ("routing.salt", &salt, &theirs.routing.salt);
        let same_failures = match (&mine.failures.outages[..], &theirs.failures.outages[..]) {
            ([], []) => true,
            ([one], [told]) => one.up.is_none() && one.down == Time(told.down.0 - BEGIN.0),
            _ => false,
        };
        if !same_failures {
            self.0.push(
                "failures: by the files one link goes down for good at most, at a whole microsecond from the first on"
                    .into(),
            );
        }
        if NodeRoutes::differ(&mine.graph) {
            self.0.push(
                "topology: of several links between two nodes the reference uses the last, and spreads flows over a host's NICs by a hash".into(),
            );
        }
        self.differ("failures.reroute_after", &mine.failures.reroute_after, &theirs.failures.reroute_after);
    }

    fn of_switches(&mut self, mine: &Scenario, theirs: &Scenario) {
        let (m, t) = (&mine.switch, &theirs.switch);
        let SwitchConfig { trimming, red, qcn, selective, .. } = m;
        self.lacks(trimming.is_some(), "switch.trimming");
        self.lacks(red.is_some(), "switch.red");
        self.lacks(qcn.is_some(), "switch.qcn");
        self.lacks(selective.is_some(), "switch.selective_drop");
        self.lacks(m.strict, "switch.scheduler = \"strict\"");
        self.lacks(m.model == BufferModel::PerPort, "switch.model = \"per_port\"");
        self.differ("switch.buffer", &m.buffer, &t.buffer);
        match (&m.pfc, &t.pfc) {
            (None, _) => self.0.push("switch.pfc.enabled: off in the scenario; the reference always pauses".into()),
            (Some(m), Some(t)) => self.of_pfc(m, t, mine),
            _ => {}
        }
        let is_per_port = m.ecn.as_ref().is_some_and(|Ecn { per_port, .. }| *per_port);
        self.lacks(is_per_port, "switch.ecn.per = \"port\"");
        if m.ecn.is_some() {
            for (m, t) in ecn_of(mine).iter().zip(ecn_of(theirs)) {
                self.differ(&format!("switch.ecn.k_min at {}", m.rate), &m.k_min, &t.k_min);
                self.differ(&format!("switch.ecn.k_max at {}", m.rate), &m.k_max, &t.k_max);
            }
        }
    }

    fn of_pfc(&mut self, mine: &Pfc, theirs: &Pfc, scenario: &Scenario) {
        self.differ("switch.pfc.reserve", &mine.reserve, &theirs.reserve);
        let [a, b] = [mine, theirs].map(|pfc| f64::from(pfc.alpha_q16) / 65_536.0);
        self.differ("switch.pfc.alpha", &a, &b);
        self.differ("switch.pfc.alpha_scales", &mine.alpha_scales, &theirs.alpha_scales);
        self.differ("switch.pfc.resume_offset", &mine.resume_offset, &theirs.resume_offset);
        self.differ("switch.pfc: lossless classes", &mine.classes, &theirs.classes);
        self.differ("switch.pfc.reaction", &mine.reaction, &theirs.reaction);
        let frames = [scenario.max_frame(), scenario.framing.pfc_frame];
        let ports = scenario.graph.ports.iter().filter(|p| !scenario.graph.is_host(p.node));
        let headrooms = ports.map(|p| {
            let back = scenario.graph.opposite(p);
            let (rate, out) = (back.rate, p.rate);
            let round_trip = Duration(p.delay.0.saturating_add(back.delay.0));
            let link = PausedLink { rate, out, round_trip, frames, count: PausedLink::SHARED };
            [mine, theirs].map(|pfc| Bytes(pfc.headroom.bytes(&link)))
        });
        if let Some([mine, theirs]) = headrooms.into_iter().find(|[mine, theirs]| mine != theirs) {
            self.differ("switch.pfc.headroom of the first port where it differs", &mine, &theirs);
        }
    }

    fn of_hosts(&mut self, mine: &Scenario, theirs: &Scenario) {
        let (m, t) = (&mine.host, &theirs.host);
        self.differ("host.nack_interval", &m.nack_interval, &t.nack_interval);
        if m.rto.is_some() {
            self.0.push("host.rto: on in the scenario; the reference has no timeout".into());
        }
        if let Some(rtt) = m.base_rtt {
            self.0.push(format!("host.base_rtt: {rtt} in the scenario, that of the network by the files"));
        }
        self.lacks(mine.adapter.is_some(), "host.adapter");
        if m.ack_priority && !mine.quirks.ack_priority_at_hosts {
            self.0.push(
                "host.ack_priority: in switches, too; in the reference ACKs wait there in the class of data".into(),
            );
        }
    }
}
