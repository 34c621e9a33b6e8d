//! Warnings: settings that are allowed but probably not meant.

use std::collections::BTreeSet;

use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time};

use crate::scenario::{BufferModel, EcnThresholds, PausedLink, doublings_above};

use super::Resolved;
use super::field::FIELDS;
use super::host::{BaseRtt, Rto};
use super::run::{Interval, MeasureEnd, Stop};
use super::scheme::proactive::{AutoCount, FirstRtt, Stop as BurstStop};
use super::scheme::{Control, SendRate, Window};
use super::section::default_of;
use super::switch::{EcnQueue, Scheduler};
use super::topology::{Ports, TopologyKind};
use super::value::Value;
use super::workload::{IncastMode, OnOff, OnOffMode, Rpc, RpcMode, WorkloadKind};

/// INT bytes of the largest telemetry there is.
const TELEMETRY: u64 = paceline_proto::cc::hpcc::HEADER_BYTES as u64;

/// What looks like a mistake in a scenario, one sentence each, with the fields it is about. Nothing here stops a run.
pub fn lint(scenario: &Resolved) -> Vec<String> {
    let mut warnings = Vec::new();
    let deaf = |cc: &Control| is_deaf(scenario, cc);
    if !scenario.schemes.iter().all(|(_, s)| deaf(&s.cc)) {
        let hears = |cc: &Control| if cc.is_tcp() { !deaf(cc) } else { cc.params().profile().needs_marks };
        let heard = scenario.schemes.iter().any(|(_, s)| hears(&s.cc));
        ecn(scenario, heard, &mut warnings);
    }
    pfc(scenario, &mut warnings);
    schemes(scenario, &mut warnings);
    quirks(scenario, &mut warnings);
    one_of_a_kind(scenario, &mut warnings);
    load(scenario, &mut warnings);
    times(scenario, &mut warnings);
    warnings
}

/// Whether packets of a scheme are never marked.
fn is_deaf(scenario: &Resolved, cc: &Control) -> bool {
    cc.is_message_transport() || cc.is_udp() || cc.is_tcp() && !scenario.host.tcp.ecn
}

/// Whether a field has its default.
fn is_default<T: Value + PartialEq>(path: &str, value: &T) -> bool {
    FIELDS
        .iter()
        .find(|field| field.path == path)
        .and_then(|field| default_of(&field.row))
        .is_some_and(|usual: T| usual == *value)
}

/// Port rates that the scenario itself tells, ascending.
fn rates(scenario: &Resolved) -> Vec<BitsPerSec> {
    let ports = scenario.topology.kind.switches();
    let mut rates: Vec<_> = ports.iter().flatten().map(|p| p.out.rate).collect();
    rates.extend(scenario.switch.ecn.by_rate.iter().map(|row| row.rate));
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// `heard`: some scheme reacts to marks. Where none does they may come when they want.
fn ecn(scenario: &Resolved, heard: bool, out: &mut Vec<String>) {
    let ecn = &scenario.switch.ecn;
    if !ecn.enabled {
        if !ecn.by_rate.is_empty() {
            out.push("switch.ecn.by_rate has no effect: switch.ecn.enabled is false".to_string());
        }
        return;
    }
    let rates = if heard { rates(scenario) } else { Vec::new() };
    let thresholds: Vec<_> = rates.into_iter().map(|rate| ecn.thresholds(rate)).collect();
    // Thresholds of the user's own, at a rate that was not thought of.
    let is_usual = is_default("switch.ecn.k_min", &ecn.k_min) && is_default("switch.ecn.k_max", &ecn.k_max);
    let is_own = !is_usual && is_default("switch.ecn.at", &ecn.at) && ecn.by_rate.is_empty();
    if let Some(first) = thresholds.first().filter(|_| is_own && thresholds.iter().all(|t| t.rate != ecn.at)) {
        out.push(format!(
            "switch.ecn.k_min and k_max ({}, {}) are meant at switch.ecn.at ({}), which no port has: ports of {} mark at {} to {}",
            ecn.k_min, ecn.k_max, ecn.at, first.rate, first.k_min, first.k_max
        ));
    }
    for pair in thresholds.windows(2) {
        let (slow, fast) = (&pair[0], &pair[1]);
        if fast.k_min < slow.k_min || fast.k_max < slow.k_max {
            out.push(format!(
                "switch.ecn: ports of {} mark at {} to {}, faster ones of {} already at {} to {}",
                slow.rate, slow.k_min, slow.k_max, fast.rate, fast.k_min, fast.k_max
            ));
        }
    }
    // Where ingress ports have the buffer, an egress queue may hold that of several.
    let by_ingress = scenario.switch.model == BufferModel::PerPort && scenario.switch.pfc.enabled;
    if let Some(last) = thresholds.iter().find(|t| t.k_max > scenario.switch.buffer && !by_ingress) {
        let (k_max, buffer) = (last.k_max, scenario.switch.buffer);
        out.push(format!("switch.ecn.k_max ({k_max} on ports of {}) is above switch.buffer ({buffer})", last.rate));
    }
    marks_after_pauses(scenario, &thresholds, out);
}

/// PFC acts before ECN is sure to have marked: at the lightest, when nothing else is in the buffer.
fn marks_after_pauses(scenario: &Resolved, thresholds: &[EcnThresholds], out: &mut Vec<String>) {
    let pfc = &scenario.switch.pfc;
    if !pfc.enabled || scenario.switch.model == BufferModel::PerPort {
        return;
    }
    let host_rate = scenario.topology.kind.host_rate();
    for ports in scenario.topology.kind.switches() {
        let aside =
            ports.iter().map(|p| u128::from(p.count) * u128::from(headroom(scenario, p).saturating_add(pfc.reserve.0)));
        let aside: u128 = aside.sum();
        let pool = u128::from(scenario.switch.buffer.0).saturating_sub(aside) as f64;
        if pool <= 0.0 {
            out.push(format!(
                "switch.buffer ({}) is used up by reserve and headroom of a switch with {} ports ({aside} bytes)",
                scenario.switch.buffer,
                ports.iter().map(|p| u64::from(p.count)).sum::<u64>()
            ));
            return;
        }
        for port in ports {
            let rate = port.out.rate;
            let faster = host_rate.map_or(0, |host| doublings_above(port.back.rate.0, host.0));
            let alpha =
                if pfc.alpha_scales { (pfc.alpha * f64::from(1u32 << faster.min(16))).min(1.0) } else { pfc.alpha };
            // The share a holds of what is then free: alpha * (pool - share) = share.
            let share = Bytes((pool * alpha / (1.0 + alpha)) as u64 + pfc.reserve.0);
            let late = thresholds.binary_search_by_key(&rate, |t| t.rate).ok().map(|i| thresholds[i]);
            if let Some(t) = late.filter(|t| t.k_max > share) {
                out.push(format!(
                    "switch.ecn.k_max ({} on ports of {rate}) is above the PFC threshold (at most {} bytes): pauses come before marks",
                    t.k_max, share.0
                ));
                return;
            }
        }
    }
}

/// Bytes set aside at a port.
fn headroom(scenario: &Resolved, port: &Ports) -> u64 {
    let framing = &scenario.framing;
    let frames = [framing.payload.0 + framing.header.0 + TELEMETRY, framing.pfc_frame.0];
    let round_trip = Duration(port.out.delay.0 + port.back.delay.0 + scenario.switch.pfc.reaction.0);
    let frames = frames.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let (rate, out, count) = (port.back.rate, port.out.rate, PausedLink::SHARED);
    scenario.switch.pfc.headroom.config().bytes(&PausedLink { rate, out, round_trip, frames, count })
}

fn pfc(scenario: &Resolved, out: &mut Vec<String>) {
    // TCP and message transports have timers of their own.
    let resends = !scenario.schemes.iter().any(|(_, s)| s.cc.is_rdma());
    if !scenario.switch.pfc.enabled && scenario.host.rto == Rto::Off && !resends {
        let text = "host.rto is off and switch.pfc.enabled is false: a flow whose last packets are dropped never ends";
        out.push(text.to_string());
    }
}

fn schemes(scenario: &Resolved, out: &mut Vec<String>) {
    let host_rate = scenario.topology.kind.host_rate();
    for (name, scheme) in &scenario.schemes {
        let cc = &scheme.cc;
        let window = cc.window();
        if let Window::Bytes(bytes) = window
            && bytes < scenario.framing.payload
        {
            let payload = scenario.framing.payload;
            out.push(format!("schemes.{name}.window ({bytes}) is below one packet ({payload})"));
        }
        let rate = match cc {
            Control::Fixed(none) => &none.rate,
            Control::Udp(udp) => &udp.rate,
            _ => &SendRate::Line,
        };
        if let (SendRate::Rate(rate), Some(line)) = (rate, host_rate)
            && *rate > line
        {
            out.push(format!("schemes.{name}.rate ({rate}) is above the host links ({line}), which limit it"));
        }
        if let Some((field, BitsPerSec(0))) = cc.additive_increase() {
            out.push(format!("schemes.{name}.{field} is 0: flows never converge to equal rates"));
        }
        if window == Window::Off && cc.variable_window() == Some(false) {
            out.push(format!("schemes.{name}.variable_window has no effect: schemes.{name}.window is \"off\""));
        }
        slows_down(scenario, name, cc, out);
        ports(scenario, name, cc, out);
        cut_burst(name, cc, out);
        all_levels(name, cc, out);
    }
}

/// Switch ports that a receiver-driven transport is not made for.
fn ports(scenario: &Resolved, name: &str, cc: &Control, out: &mut Vec<String>) {
    let Some(first_rtt) = cc.first_rtt() else { return };
    let (trims, drops) = (scenario.switch.trimming.enabled, scenario.switch.selective_drop.enabled);
    let aeolus = first_rtt == FirstRtt::Aeolus;
    if aeolus && trims {
        out.push(format!(
            "schemes.{name}.first_rtt is \"aeolus\", whose probes tell of dropped packets, but switch.trimming drops none: set \
             switch.trimming.enabled = false and switch.selective_drop.enabled = true"
        ));
    } else if aeolus && !drops {
        out.push(format!(
            "schemes.{name}.first_rtt is \"aeolus\", but switch.selective_drop.enabled is false: bursts fill buffers, and scheduled \
             packets are lost for them"
        ));
    } else if !aeolus && drops && !trims && first_rtt == FirstRtt::Burst {
        out.push(format!(
            "switch.selective_drop drops the unscheduled packets of schemes.{name}, whose first_rtt is not \"aeolus\": only timeouts \
             repair them"
        ));
    } else if matches!(cc, Control::Ndp(_)) && !aeolus && !trims {
        out.push(format!(
            "schemes.{name}: NDP wants switch.trimming.enabled = true (or first_rtt = \"aeolus\" with switch.selective_drop); packets \
             that are dropped wait for its timeout"
        ));
    }
}

/// A burst that the first grant ends. Homa's receivers count a whole burst as on its way and grant what comes after it; without a
/// probe nobody tells them where it ended.
fn cut_burst(name: &str, cc: &Control, out: &mut Vec<String>) {
    let Control::Homa(homa) = cc else { return };
    if homa.first_rtt == FirstRtt::Burst && homa.stop == BurstStop::FirstCredit {
        out.push(format!(
            "schemes.{name}.stop is \"first_credit\" and first_rtt \"burst\": what a burst that was cut short has left is never granted, \
             only RESENDs after resend_timeout ({}) ask for it; set stop = \"never\"",
            homa.resend_timeout
        ));
    }
}

/// Homa's levels for unscheduled packets, where they are to be all there are.
fn all_levels(name: &str, cc: &Control, out: &mut Vec<String>) {
    if let Control::Homa(homa) = cc
        && let AutoCount::Count(own) = homa.unscheduled_levels
        && own >= homa.levels
    {
        let (levels, left) = (homa.levels, homa.levels - 1);
        out.push(format!(
            "schemes.{name}.unscheduled_levels ({own}) leaves none of {levels} levels for scheduled packets, which have one: it is {left}"
        ));
    }
}

/// Whether anything can make a scheme slow down.
fn slows_down(scenario: &Resolved, name: &str, cc: &Control, out: &mut Vec<String>) {
    let marks = scenario.switch.ecn.enabled || scenario.switch.red.enabled;
    if cc.needs_marks() && !marks {
        out.push(format!(
            "schemes.{name} never slows down: it reacts to congestion marks only, and switch.ecn.enabled is false"
        ));
    } else if matches!(cc, Control::Dctcp(_)) && scenario.switch.ecn.enabled {
        step(scenario, name, out);
    }
    if scenario.quirks.line_rate_pacing
        && let Some(variable) = cc.variable_window()
        && (cc.window() == Window::Off || !variable)
    {
        out.push(format!(
            "schemes.{name} never slows down: with quirks.line_rate_pacing its rate only sets the window, which is off or fixed"
        ));
    }
}

/// DCTCP with thresholds that are not one step.
fn step(scenario: &Resolved, name: &str, out: &mut Vec<String>) {
    let ecn = &scenario.switch.ecn;
    let mut rates = rates(scenario);
    if rates.is_empty() {
        rates.push(ecn.at);
    }
    if let Some(t) = rates.into_iter().map(|rate| ecn.thresholds(rate)).find(|t| t.k_min < t.k_max) {
        out.push(format!(
            "schemes.{name}: DCTCP wants marking in one step, but switch.ecn (shared by all schemes) rises from {} to {} on ports \
             of {}; the step is k_min = k_max = \"300KB\" at 100 Gb/s",
            t.k_min, t.k_max, t.rate
        ));
    }
}

/// Behaviours that nothing in the scenario shows.
fn quirks(scenario: &Resolved, out: &mut Vec<String>) {
    if scenario.quirks.ack_priority_at_hosts && !scenario.host.ack_priority {
        out.push("quirks.ack_priority_at_hosts has no effect: host.ack_priority is false".to_string());
    }
    if scenario.quirks.pint_data_only && !scenario.schemes.iter().any(|s| matches!(s.1.cc, Control::HpccPint(_))) {
        out.push("quirks.pint_data_only has no effect: no scheme has cc = \"hpcc_pint\"".to_string());
    }
    let schemes = || scenario.schemes.iter().map(|(_, s)| &s.cc);
    if scenario.quirks.reference_random && !schemes().any(|cc| matches!(cc, Control::HpccPint(_))) {
        let unmarked = if !scenario.switch.ecn.enabled {
            Some("switch.ecn.enabled is false")
        } else if schemes().all(|cc| is_deaf(scenario, cc)) {
            Some("ECN marks no packet of this scenario's schemes")
        } else {
            None
        };
        if let Some(why) = unmarked {
            out.push(format!("quirks.reference_random has no effect: {why}, and no scheme has cc = \"hpcc_pint\""));
        }
    }
    let at_line = |cc: &Control| matches!(cc, Control::Fixed(none) if none.rate == SendRate::Line);
    if scenario.quirks.line_rate_pacing && schemes().all(at_line) && !has_caps(scenario) {
        let why = "all schemes have cc = \"none\" and rate = \"line\"";
        out.push(format!("quirks.line_rate_pacing has no effect: {why}"));
    }
}

/// Whether flows may have a limit on their rate.
fn has_caps(scenario: &Resolved) -> bool {
    scenario.workloads.iter().any(|w| {
        let of_rows = match &w.kind {
            WorkloadKind::Flows(flows) => flows.file.is_some() || flows.rows.iter().any(|row| row.rate_cap.is_some()),
            _ => false,
        };
        of_rows || w.rate_cap.limit() != 0
    })
}

/// Settings that tell apart what there is only one of.
fn one_of_a_kind(scenario: &Resolved, out: &mut Vec<String>) {
    let (ecn, pfc) = (&scenario.switch.ecn, &scenario.switch.pfc);
    let control = scenario.host.ack_priority || scenario.switch.qcn.enabled;
    if scenario.has_one_data_class() {
        if ecn.enabled && ecn.per == EcnQueue::Port && !control {
            let why = "all packets are of one class, whose queue is that of the port";
            out.push(format!("switch.ecn.per has no effect: {why}"));
        }
        // Without control frames the run says so.
        if scenario.switch.scheduler != Scheduler::Auto && control {
            let why = "there is one class beside that of control frames, which always goes first";
            out.push(format!("switch.scheduler has no effect: {why}"));
        }
    }
    let ports = scenario.topology.kind.switches();
    let faster = |host: BitsPerSec| ports.iter().flatten().any(|p| doublings_above(p.back.rate.0, host.0) > 0);
    let is_shared = pfc.enabled && scenario.switch.model == BufferModel::Shared;
    if is_shared && !pfc.alpha_scales && scenario.topology.kind.host_rate().is_some_and(|host| !faster(host)) {
        out.push("switch.pfc.alpha_scales has no effect: no switch has a port faster than the hosts'".to_string());
    }
    if !matches!(scenario.topology.kind, TopologyKind::Star(_)) {
        return;
    }
    for (name, scheme) in &scenario.schemes {
        if matches!(&scheme.cc, Control::Hpcc(hpcc) if hpcc.multi_rate) {
            out.push(format!("schemes.{name}.multi_rate has no effect: all paths have one switch"));
        }
    }
    for (i, workload) in scenario.workloads.iter().enumerate() {
        if matches!(&workload.kind, WorkloadKind::OnOff(p) if !is_default("workloads.*.local", &p.local)) {
            out.push(format!("workloads.{i}.local has no effect: all hosts are of one rack"));
        }
    }
}

fn load(scenario: &Resolved, out: &mut Vec<String>) {
    let loads = scenario.workloads.iter().enumerate().filter_map(|(i, w)| match &w.kind {
        WorkloadKind::Poisson(p) => Some((i, p.load.value, &p.load.of)),
        WorkloadKind::OnOff(p) => Some((i, p.load.value, &p.load.of)),
        WorkloadKind::Incast(incast) => match &incast.mode {
            IncastMode::Poisson(p) => Some((i, p.load.value, &p.load.of)),
            _ => None,
        },
        WorkloadKind::Rpc(Rpc { mode: RpcMode::Open(p), .. }) => Some((i, p.load.value, &p.load.of)),
        _ => None,
    });
    let loads: Vec<_> = loads.collect();
    for (i, value, _) in loads.iter().filter(|(_, value, _)| *value > 1.0) {
        out.push(format!("workloads.{i}.load.value ({value}) is above 1: the backlog grows without end"));
    }
    for (i, (_, _, of)) in loads.iter().enumerate().filter(|(i, load)| loads[..*i].iter().all(|l| l.2 != load.2)) {
        let values = loads[i..].iter().filter(|(_, _, other)| other == of).map(|(_, value, _)| *value);
        let (sum, most) = values.fold((0.0, 0.0f64), |(sum, most), v| (sum + v, most.max(v)));
        if sum > 1.0 && most <= 1.0 {
            let of = of.text().unwrap_or_default();
            out.push(format!("the loads of the workloads with load.of = {of} add up to {sum:.2}, above 1"));
        }
    }
    for (i, workload) in scenario.workloads.iter().enumerate() {
        if let WorkloadKind::OnOff(OnOff { mode: OnOffMode::Cbr(cbr), .. }) = &workload.kind {
            let (name, scheme) = match &workload.scheme {
                Some(given) => scenario.schemes.iter().find(|(name, _)| *name == given.0),
                None => scenario.schemes.first(),
            }
            .map_or(("", None), |(name, scheme)| (name.as_str(), Some(&scheme.cc)));
            let instead = match scheme {
                Some(Control::Udp(udp)) => (udp.rate != SendRate::Rate(cbr.rate))
                    .then(|| format!("that of schemes.{name}.rate ({})", udp.rate.text().unwrap_or_default())),
                _ => Some(format!("the rate that schemes.{name} allows, which is not over UDP")),
            };
            if let Some(instead) = instead {
                out.push(format!("workloads.{i}.rate ({}) sets how much is sent; its flows go at {instead}", cbr.rate));
            }
        }
    }
}

fn times(scenario: &Resolved, out: &mut Vec<String>) {
    let run = &scenario.run;
    let stop = if let Stop::At(time) = run.stop { Some(time) } else { None };
    let end = if let MeasureEnd::At(time) = run.measure_end { Some(time) } else { None };
    if let Some(end) = end.filter(|end| *end <= run.warmup) {
        out.push(format!(
            "the measuring window is empty: run.measure_end ({end}) is not after run.warmup ({})",
            run.warmup
        ));
    }
    if let Some(stop) = stop.filter(|stop| *stop <= run.warmup) {
        out.push(format!("nothing is measured: the run stops ({stop}) before run.warmup ({}) is over", run.warmup));
    }
    let ends = scenario.workloads.iter().map(|w| match &w.kind {
        WorkloadKind::Poisson(p) => p.end,
        WorkloadKind::OnOff(p) => p.end,
        WorkloadKind::Rpc(p) => p.end,
        WorkloadKind::ScatterGather(p) => p.end,
        WorkloadKind::Incast(i) => {
            if let IncastMode::Poisson(p) = &i.mode {
                p.end
            } else {
                None
            }
        }
        _ => None,
    });
    let ends: Option<Vec<Time>> = ends.collect();
    let last = ends.and_then(|ends| ends.into_iter().max());
    if let Some(last) = last.filter(|last| *last <= run.warmup) {
        let warmup = run.warmup;
        out.push(format!("nothing is measured: the last arrivals ({last}) are before run.warmup ({warmup}) is over"));
    }
    for (i, workload) in scenario.workloads.iter().enumerate() {
        if let Some(stop) = stop.filter(|stop| workload.start >= *stop) {
            let start = workload.start;
            out.push(format!("workloads.{i} has no effect: it starts ({start}) when the run has stopped ({stop})"));
        }
    }
    if let (BaseRtt::Fixed(rtt), Rto::After(rto)) = (&scenario.host.base_rtt, &scenario.host.rto)
        && rto <= rtt
    {
        out.push(format!("host.rto ({rto}) is not longer than host.base_rtt ({rtt}): every packet times out"));
    }
    let tcp = &scenario.host.tcp;
    let held_back = tcp.ack_segments > 1;
    if held_back
        && tcp.rto_min.0 + tcp.rto_slop.0 <= tcp.ack_delay.0
        && scenario.schemes.iter().any(|(_, s)| s.cc.is_tcp())
    {
        out.push(format!(
            "host.tcp.rto_min ({}) is not longer than host.tcp.ack_delay ({}): a sender with a single segment under way, whose ACK is held back, times out",
            tcp.rto_min, tcp.ack_delay
        ));
    }
    let series = &scenario.records.series;
    if series.interval == Interval::Off {
        let mut settings = series.flows.iter().map(|flow| scenario.follows_by(*flow)).collect::<BTreeSet<_>>();
        settings.extend((!series.ports.is_empty()).then(|| "records.series.ports".to_string()));
        for setting in settings {
            out.push(format!("{setting} has no effect: records.series.interval is \"off\""));
        }
    }
    let packets = &scenario.records.packets;
    if packets.rows == 0 {
        for (setting, is_set) in [
            ("ports", !packets.ports.is_empty()),
            ("flows", !packets.flows.is_empty()),
            ("start", packets.start != Time(0)),
            ("end", packets.end.is_some()),
        ] {
            if is_set {
                out.push(format!("records.packets.{setting} has no effect: records.packets.rows is 0"));
            }
        }
    }
}
