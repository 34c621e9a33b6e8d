//! Rules between fields, and the defaults that follow from other fields.

mod ports;

use std::collections::BTreeMap;

use paceline_proto::units::{Bytes, Duration, Time};

use crate::InputError;
use crate::scenario::{EngineChoice, PathChoice};
use crate::spelling::{clip, nearest};
use crate::topology::MAX_LEVELS;
use crate::workload::LATEST_START;

use super::Spec;
use super::failure::FailureKind;
use super::node::{Bad, Node, Read};
use super::run::Stop;
use super::scheme::Control;
use super::section::Variants as _;
use super::switch::Accounting;
use super::topology::{GraphTopology, TopologyKind, Xgft};
use super::value::{HostSet, Hosts, Name, NodeRef};
use super::workload::{Connections, Flows, Incast, IncastMode, LoadOf, Receiver, Rpc, RpcMode, Workload, WorkloadKind};

/// An error about a field, at the nearest place that the input has for it.
pub(crate) fn bad(root: &Node, field: &str, problem: &str) -> Bad {
    let (mut node, mut exact) = (root, true);
    for segment in field.split('.') {
        let Some(inner) = node.get(segment) else {
            exact = false;
            break;
        };
        node = inner;
    }
    let error = InputError::new(problem).field(field);
    Bad::new(node.at, if exact { error.value(node.show()) } else { error })
}

/// Adds what is allowed.
fn allowed(Bad(mut inner): Bad, text: impl Into<String>) -> Bad {
    inner.1.allowed = Some(text.into());
    Bad(inner)
}

/// Checks what concerns several fields and fills in what follows from others.
pub(crate) fn check(spec: &mut Spec, root: &Node) -> Read<()> {
    if spec.schemes.is_empty() {
        return Err(allowed(
            bad(root, "schemes", "missing"),
            "at least one section such as [schemes.hpcc] with cc = \"hpcc\"",
        ));
    }
    if spec.workloads.is_empty() {
        let example = "at least one section [[workloads]] with kind = \"poisson\" or another";
        return Err(allowed(bad(root, "workloads", "missing"), example));
    }
    topology(spec, root)?;
    ports::buffers(spec, root)?;
    ports::ecn(spec, root)?;
    ports::red(spec, root)?;
    let (frame, limit) = (spec.framing.payload.0 + spec.framing.header.0, u64::from(u16::MAX));
    if frame > limit {
        let problem = "payload and header together are too long";
        return Err(allowed(bad(root, "framing.payload", problem), format!("at most {limit} bytes together")));
    }
    schemes(spec, root)?;
    transports(spec, root)?;
    adapters(spec, root)?;
    limits_of_tcp(spec, root)?;
    for index in 0..spec.workloads.len() {
        workload(spec, root, index)?;
    }
    let packets = &spec.records.packets;
    if packets.end.is_some_and(|end| end <= packets.start) {
        let problem = format!("not after start ({})", packets.start);
        return Err(allowed(bad(root, "records.packets.end", &problem), "an instant after start"));
    }
    failures(spec, root)
}

fn failures(spec: &Spec, root: &Node) -> Read<()> {
    for (i, failure) in spec.failures.iter().enumerate() {
        let at = |key: &str| format!("failures.{i}.{key}");
        match &failure.kind {
            FailureKind::Link(f) => {
                if f.link.len() != 2 || f.link[0] == f.link[1] {
                    let error = bad(root, &at("link"), "not the two ends of a link");
                    return Err(allowed(error, "two different nodes such as [\"tor0\", \"agg1\"]"));
                }
                if f.up.is_some_and(|up| up <= f.down) {
                    let problem = format!("not after down ({})", f.down);
                    return Err(allowed(bad(root, &at("up"), &problem), "an instant after down"));
                }
            }
            FailureKind::Random(f) if f.end <= f.start => {
                let problem = format!("not after start ({})", f.start);
                return Err(allowed(bad(root, &at("end"), &problem), "an instant after start"));
            }
            FailureKind::Random(_) => {}
        }
    }
    Ok(())
}

fn topology(spec: &Spec, root: &Node) -> Read<()> {
    match &spec.topology.kind {
        TopologyKind::FatTree(tree) if tree.k % 2 == 1 => {
            Err(allowed(bad(root, "topology.k", "odd"), "an even whole number, 2 to 128"))
        }
        TopologyKind::Xgft(tree) => levels(tree, root),
        TopologyKind::Graph(graph) => nodes_of(graph, root),
        _ => Ok(()),
    }
}

fn levels(tree: &Xgft, root: &Node) -> Read<()> {
    let h = tree.children.len();
    if h == 0 || h > MAX_LEVELS {
        let error = bad(root, "topology.children", "not a tree");
        return Err(allowed(error, format!("a number for each of 1 to {MAX_LEVELS} levels of switches")));
    }
    let lists = [
        ("parents", tree.parents.len(), false),
        ("rates", tree.rates.len(), true),
        ("delays", tree.delays.len(), true),
    ];
    for (key, length, one) in lists {
        if length != h && !(one && length == 1) {
            let error = bad(root, &format!("topology.{key}"), "not as many as topology.children");
            return Err(allowed(error, format!("{h} of them{}", if one { ", or one for all levels" } else { "" })));
        }
    }
    Ok(())
}

fn nodes_of(graph: &GraphTopology, root: &Node) -> Read<()> {
    if graph.hosts.len() < 2 {
        return Err(allowed(bad(root, "topology.hosts", "too few hosts"), "at least 2"));
    }
    if graph.links.is_empty() {
        return Err(allowed(bad(root, "topology.links", "missing"), "at least one { a = \"h0\", b = \"s0\" }"));
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (list, nodes) in [("hosts", &graph.hosts), ("switches", &graph.switches)] {
        for (i, node) in nodes.iter().enumerate() {
            if names.insert(&node.0, i).is_some() {
                let field = format!("topology.{list}.{i}");
                return Err(allowed(bad(root, &field, "name used twice"), "a name of its own for every node"));
            }
        }
    }
    for (i, link) in graph.links.iter().enumerate() {
        for (end, name) in [("a", &link.a), ("b", &link.b)] {
            if !names.contains_key(name.0.as_str()) {
                let near = nearest(name, names.keys().copied());
                let hint = near.map_or("no such node".to_string(), |n| format!("no such node, did you mean \"{n}\"?"));
                let field = format!("topology.links.{i}.{end}");
                return Err(allowed(bad(root, &field, &hint), "a name from topology.hosts or topology.switches"));
            }
        }
        if link.a == link.b {
            let field = format!("topology.links.{i}.b");
            return Err(allowed(bad(root, &field, "link from a node to itself"), "another node"));
        }
    }
    Ok(())
}

fn schemes(spec: &Spec, root: &Node) -> Read<()> {
    let line = spec.topology.kind.host_rate();
    let mut log_base: Option<(f64, &str)> = None;
    for (name, scheme) in &spec.schemes {
        let field = |key: &str| format!("schemes.{name}.{key}");
        let given = |key: &str| root.get("schemes").and_then(|s| s.get(name)?.get(key)).is_some();
        if let Some((line, _)) = line.zip(scheme.cc.min_rate()).filter(|(line, min)| min > line) {
            let problem = "above the rate of the host links";
            return Err(allowed(bad(root, &field("min_rate"), problem), format!("at most {line}")));
        }
        match &scheme.cc {
            Control::Timely(timely) if timely.t_low > timely.t_high => {
                let problem = format!("t_low ({}) is above t_high ({})", timely.t_low, timely.t_high);
                let key = if given("t_low") || !given("t_high") { "t_low" } else { "t_high" };
                return Err(allowed(bad(root, &field(key), &problem), "t_low at most t_high"));
            }
            // One of the two would mean nothing.
            Control::Vegas(vegas) if vegas.alpha > vegas.beta => {
                let problem = format!("alpha ({}) is above beta ({})", vegas.alpha, vegas.beta);
                let key = if given("alpha") || !given("beta") { "alpha" } else { "beta" };
                return Err(allowed(bad(root, &field(key), &problem), "alpha at most beta"));
            }
            Control::HpccPint(pint) => match log_base {
                Some((base, other)) if base.to_bits() != pint.log_base.to_bits() => {
                    let problem = format!("{} differs from schemes.{other}", pint.log_base);
                    let only = format!("{base}: switches write utilisation in one base for all schemes");
                    return Err(allowed(bad(root, &field("log_base"), &problem), only));
                }
                _ => log_base = Some((pint.log_base, name)),
            },
            _ => {}
        }
    }
    Ok(())
}

/// The longest timeout and the largest buffers are no less than the shortest and the first: refused where they are set so, and
/// otherwise made so.
fn limits_of_tcp(spec: &mut Spec, root: &Node) -> Read<()> {
    let tcp = &mut spec.host.tcp;
    let times: fn(u64) -> String = |ps| Duration(ps).to_string();
    let sizes: fn(u64) -> String = |bytes| Bytes(bytes).to_string();
    for (least, first, most_key, most, words) in [
        ("rto_min", tcp.rto_min.0, "rto_max", &mut tcp.rto_max.0, times),
        ("send_buffer", tcp.send_buffer.0, "send_buffer_max", &mut tcp.send_buffer_max.0, sizes),
        ("receive_buffer", tcp.receive_buffer.0, "receive_buffer_max", &mut tcp.receive_buffer_max.0, sizes),
    ] {
        let is_set = root.get("host").and_then(|host| host.get("tcp")?.get(most_key)).is_some();
        if is_set && *most < first {
            let field = format!("host.tcp.{most_key}");
            let error = bad(root, &field, &format!("below host.tcp.{least}"));
            return Err(allowed(error, format!("at least {}", words(first))));
        }
        *most = first.max(*most);
    }
    Ok(())
}

/// What message transports cannot share, and what their switches need.
fn transports(spec: &Spec, root: &Node) -> Read<()> {
    let over_ip = |cc: &Control| cc.is_tcp() || cc.is_udp();
    if let Some((name, scheme)) = spec.schemes.iter().find(|(_, s)| over_ip(&s.cc))
        && let Some((other, _)) = spec.schemes.iter().find(|(_, s)| !over_ip(&s.cc))
    {
        let word = if scheme.cc.is_udp() { "UDP" } else { "TCP" };
        let problem =
            format!("schemes.{name} is {word}, which shares no run with transports other than TCP and UDP yet");
        return Err(allowed(bad(root, &format!("schemes.{other}"), &problem), "schemes over TCP or UDP, or none"));
    }
    let message = spec.schemes.iter().find(|(_, s)| s.cc.is_message_transport());
    if spec.quirks.nic_round_robin
        && let Some((name, _)) = spec.schemes.iter().find(|(_, s)| over_ip(&s.cc) || s.cc.is_message_transport())
    {
        let error = bad(
            root,
            "quirks.nic_round_robin",
            &format!("the reference simulator's NIC carries RDMA, and schemes.{name} is none"),
        );
        return Err(allowed(error, "false, or schemes over RDMA"));
    }
    let trimming = spec.switch.trimming.enabled;
    let Some((name, scheme)) = message else {
        if trimming {
            let error = bad(root, "switch.trimming.enabled", "no scheme can do with trimmed packets");
            return Err(allowed(error, "false, or a scheme with cc = \"ndp\""));
        }
        return Ok(());
    };
    if let Some((other, _)) = spec.schemes.iter().find(|(other, _)| other != name) {
        let problem = format!("schemes.{name} serves all flows of a run, so there can be no other scheme");
        return Err(allowed(
            bad(root, &format!("schemes.{other}"), &problem),
            "one scheme; other ones in runs of their own",
        ));
    }
    if trimming && !matches!(scheme.cc, Control::Ndp(_)) {
        let error = bad(root, "switch.trimming.enabled", "trimmed packets mean nothing to this scheme");
        return Err(allowed(error, "false, or a scheme with cc = \"ndp\""));
    }
    if matches!(scheme.cc, Control::Homa(_)) && spec.switch.pfc.enabled {
        // Its highest priority is the control class, which nobody can pause.
        let error = bad(root, "switch.pfc.enabled", "pauses cannot hold Homa's highest priority back");
        return Err(allowed(error, "false with cc = \"homa\""));
    }
    if let Control::ExpressPass(c) = &scheme.cc {
        let field = |key: &str| format!("schemes.{name}.{key}");
        if c.w_min > c.w_max {
            let problem = format!("above w_max ({})", c.w_max);
            return Err(allowed(bad(root, &field("w_min"), &problem), "w_min at most w_max"));
        }
        if c.w_init < c.w_min || c.w_init > c.w_max {
            let error = bad(root, &field("w_init"), "outside w_min to w_max");
            return Err(allowed(error, format!("{} to {}", c.w_min, c.w_max)));
        }
        if spec.switch.pfc.enabled {
            let error = bad(root, "switch.pfc.enabled", "a port that shapes credits never pauses anyone");
            return Err(allowed(error, "false with cc = \"express_pass\""));
        }
        if matches!(spec.switch.accounting, Accounting::Input | Accounting::Both) {
            let error = bad(root, "switch.accounting", "ports that shape credits have queues of their own");
            return Err(allowed(error, "\"output\" with cc = \"express_pass\""));
        }
        if spec.routing.choice.splits_flows() {
            let error = bad(root, "routing.choice", "credits must take the way of the data backwards");
            return Err(allowed(error, "\"flow_hash\" with cc = \"express_pass\""));
        }
    }
    if trimming && spec.switch.pfc.enabled {
        let error = bad(root, "switch.pfc.enabled", "a port that trims never pauses anyone");
        return Err(allowed(error, "false with switch.trimming.enabled"));
    }
    Ok(())
}

/// What adapters and their rate limiters need.
fn adapters(spec: &Spec, root: &Node) -> Read<()> {
    if spec.host.adapter.enabled {
        if let Some((name, scheme)) = spec.schemes.iter().find(|(_, s)| !s.cc.is_tcp() && !s.cc.is_udp()) {
            let problem = format!("schemes.{name} (cc = \"{}\") does not go through adapters", scheme.cc.word());
            return Err(allowed(bad(root, "host.adapter.enabled", &problem), "false, or schemes over TCP or UDP"));
        }
    } else if spec.switch.qcn.enabled {
        let error = bad(root, "switch.qcn.enabled", "there are no rate limiters to notify");
        return Err(allowed(error, "false, or host.adapter.enabled = true"));
    }
    if spec.switch.qcn.enabled && !spec.failures.is_empty() {
        let error = bad(root, "switch.qcn.enabled", "notifications know no way round links that fail");
        return Err(allowed(error, "false, or no failures"));
    }
    if spec.switch.qcn.enabled && spec.run.engine == EngineChoice::Windowed {
        let error = bad(root, "run.engine", "notifications leave a switch by another port at once (switch.qcn)");
        return Err(allowed(error, "\"auto\" or \"sequential\""));
    }
    Ok(())
}

fn workload(spec: &mut Spec, root: &Node, index: usize) -> Read<()> {
    let one = OneWorkload { spec, root, index };
    let scheme = one.scheme()?;
    one.load()?;
    let kind = one.kind(&scheme)?;
    let workload = &mut spec.workloads[index];
    (workload.scheme, workload.kind) = (Some(scheme), kind);
    Ok(())
}

/// A workload that is being checked.
struct OneWorkload<'a> {
    spec: &'a Spec,
    root: &'a Node,
    index: usize,
}

impl OneWorkload<'_> {
    fn at(&self, key: &str) -> String {
        format!("workloads.{}.{key}", self.index)
    }

    /// An error about one of its fields.
    fn bad(&self, key: &str, problem: &str) -> Bad {
        bad(self.root, &self.at(key), problem)
    }

    fn own(&self) -> &Workload {
        &self.spec.workloads[self.index]
    }

    fn scheme_names(&self) -> Vec<&str> {
        self.spec.schemes.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Refuses a name that is that of no scheme.
    fn known(&self, key: &str, name: &Name) -> Read<()> {
        let names = self.scheme_names();
        if names.contains(&name.0.as_str()) {
            return Ok(());
        }
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("no such scheme, did you mean \"{near}\"?"),
            None => "no such scheme".to_string(),
        };
        Err(allowed(self.bad(key, &hint), clip(&names.join(", "))))
    }

    /// Its scheme; the only one where none is named.
    fn scheme(&self) -> Read<Name> {
        let (names, own) = (self.scheme_names(), self.own());
        // Each row may have its own, which is looked at with the rows.
        let of_rows = match &own.kind {
            WorkloadKind::Flows(w) if w.rows.iter().all(|row| row.scheme.is_some()) => {
                w.rows.first().and_then(|first| first.scheme.clone())
            }
            _ => None,
        };
        match (&own.scheme, of_rows) {
            (Some(name), _) => self.known("scheme", name).map(|()| name.clone()),
            (None, _) if names.len() == 1 => Ok(Name(names[0].to_string())),
            (None, Some(first)) => Ok(first),
            (None, None) => Err(allowed(self.bad("scheme", "missing"), clip(&names.join(", ")))),
        }
    }

    /// Refuses a load of which the share of a link cannot be worked out.
    fn load(&self) -> Read<()> {
        let kind = &self.own().kind;
        if let WorkloadKind::OnOff(w) = kind
            && matches!(w.load.of, LoadOf::Link(_))
        {
            let problem = "the share of a link is not worked out for traffic that prefers its rack";
            return Err(allowed(self.bad("load.of", problem), "\"host\", \"tor_uplink\""));
        }
        let share_of = match kind {
            WorkloadKind::Poisson(w) => Some(&w.load.of),
            WorkloadKind::Incast(Incast { mode: IncastMode::Poisson(mode), .. }) => Some(&mode.load.of),
            WorkloadKind::Rpc(Rpc { mode: RpcMode::Open(mode), .. }) => Some(&mode.load.of),
            _ => None,
        };
        let by_number = matches!(self.spec.routing.choice, PathChoice::DModK | PathChoice::SModK);
        if by_number && matches!(share_of, Some(LoadOf::Link(_))) {
            let problem =
                "the share of a link is worked out for paths by chance, and routing.choice takes them by number";
            return Err(allowed(self.bad("load.of", problem), "\"host\", \"tor_uplink\""));
        }
        Ok(())
    }

    /// When arrivals end: given as an instant or by how long they last. Nothing else may end them but the run, unless
    /// `other_limit`; `others` are what could.
    fn end(
        &self,
        end: Option<Time>,
        duration: Option<Duration>,
        other_limit: bool,
        others: &str,
    ) -> Read<Option<Time>> {
        let start = self.own().start;
        let end = match (end, duration) {
            (Some(_), Some(_)) => {
                return Err(allowed(self.bad("duration", "given beside end"), "one of end and duration"));
            }
            (None, Some(duration)) if start + duration > LATEST_START => {
                let error = self.bad("duration", "ends too late");
                return Err(allowed(error, format!("start + duration up to {LATEST_START}")));
            }
            (None, Some(duration)) => Some(start + duration),
            (Some(end), None) if end <= start => {
                let problem = format!("not after start ({start})");
                return Err(allowed(self.bad("end", &problem), "an instant after start"));
            }
            (end, None) => end,
        };
        if end.is_none() && !other_limit && self.spec.run.stop == Stop::Completed {
            let choices = format!("one of end, duration{others}, or an instant for run.stop");
            return Err(allowed(self.bad("end", "missing: the arrivals would never end"), choices));
        }
        Ok(end)
    }

    /// Refuses a node that is no host.
    fn host(&self, key: &str, node: &NodeRef) -> Read<()> {
        host(self.spec.topology.kind.hosts(), node, self.root, &self.at(key))
    }

    fn hosts(&self, key: &str, set: &HostSet) -> Read<()> {
        let HostSet::Listed(entries) = set else { return Ok(()) };
        // Names are looked up when the network is built.
        let by_id = !matches!(self.spec.topology.kind, TopologyKind::Graph(_));
        entries.iter().try_for_each(|entry| match entry {
            Hosts::Node(node) => self.host(key, node),
            Hosts::Range(_, high, _) if by_id => self.host(key, &NodeRef::Id(*high)),
            Hosts::Range(..) => Ok(()),
        })
    }

    /// Refuses flows of a table that has none, or is in two places, or has some that cannot be.
    fn table(&self, w: &Flows) -> Read<()> {
        match (&w.file, w.rows.is_empty()) {
            (Some(_), false) => {
                return Err(allowed(self.bad("rows", "given beside file"), "one of file and rows"));
            }
            (None, true) => {
                let error = self.bad("rows", "missing");
                // A list that is given has a value.
                if error.0.1.value.is_some() {
                    return Err(allowed(self.bad("rows", "no flows"), "at least one"));
                }
                return Err(allowed(error, "one of file and rows"));
            }
            _ => {}
        }
        for (i, row) in w.rows.iter().enumerate() {
            if row.src == row.dst {
                return Err(allowed(self.bad(&format!("rows.{i}.dst"), "same as src"), "another host"));
            }
            self.host(&format!("rows.{i}.src"), &row.src)?;
            self.host(&format!("rows.{i}.dst"), &row.dst)?;
            if let Some(name) = &row.scheme {
                self.known(&format!("rows.{i}.scheme"), name)?;
            }
        }
        Ok(())
    }

    /// What kind it is, with the end of its arrivals in place of how long they last.
    fn kind(&self, scheme: &Name) -> Read<WorkloadKind> {
        let (spec, root) = (self.spec, self.root);
        let mut kind = self.own().kind.clone();
        match &mut kind {
            WorkloadKind::Poisson(w) => {
                self.hosts("hosts", &w.hosts)?;
                w.end = self.end(w.end, w.duration.take(), w.max_flows.is_some(), ", max_flows")?;
            }
            WorkloadKind::Incast(w) => {
                self.hosts("hosts", &w.hosts)?;
                if let Receiver::Host(node) = &w.receiver {
                    self.host("receiver", node)?;
                }
                if let IncastMode::Poisson(mode) = &mut w.mode {
                    mode.end = self.end(mode.end, mode.duration.take(), false, "")?;
                }
            }
            WorkloadKind::Flows(w) => self.table(w)?,
            WorkloadKind::OnOff(w) => {
                self.hosts("hosts", &w.hosts)?;
                w.end = self.end(w.end, w.duration.take(), false, "")?;
            }
            WorkloadKind::Rpc(w) => {
                self.hosts("clients", &w.clients)?;
                self.hosts("servers", &w.servers)?;
                w.end = self.end(w.end, w.duration.take(), false, "")?;
                streams(spec, root, &self.at("kind"), scheme)?;
            }
            WorkloadKind::ScatterGather(w) => {
                self.hosts("hosts", &w.hosts)?;
                w.end = self.end(w.end, w.duration.take(), w.max_queries.is_some(), ", max_queries")?;
                if w.connections == Connections::Open {
                    streams(spec, root, &self.at("connections"), scheme)?;
                }
                reliable(spec, root, &self.at("scheme"), scheme)?;
                any_instant(spec, root, &self.at("kind"))?;
            }
            WorkloadKind::Mpi(w) => {
                self.hosts("hosts", &w.hosts)?;
                if w.connections == Connections::Open {
                    streams(spec, root, &self.at("connections"), scheme)?;
                }
                reliable(spec, root, &self.at("scheme"), scheme)?;
                any_instant(spec, root, &self.at("kind"))?;
            }
            WorkloadKind::Permutation(w) => self.hosts("hosts", &w.hosts)?,
            WorkloadKind::AllToAll(w) => self.hosts("hosts", &w.hosts)?,
        }
        Ok(kind)
    }
}

/// Refuses connections that stay open where transports know messages only, and where both ends go back together.
fn streams(spec: &Spec, root: &Node, field: &str, scheme: &Name) -> Read<()> {
    let control = spec.schemes.iter().find(|(name, _)| *name == scheme.0).map(|(_, s)| &s.cc);
    if let Some(control) = control.filter(|c| c.is_message_transport() || c.is_udp()) {
        let problem = format!("cc = \"{}\" has no connections that stay open", control.word());
        return Err(allowed(bad(root, field, &problem), "a scheme over RDMA or TCP"));
    }
    if spec.quirks.nic_round_robin {
        let error = bad(root, field, "the reference's NIC knows no connections that stay open");
        return Err(allowed(error, "quirks.nic_round_robin off"));
    }
    Ok(())
}

/// Refuses programs at the hosts over transports that do not repeat what is lost.
fn reliable(spec: &Spec, root: &Node, field: &str, scheme: &Name) -> Read<()> {
    if spec.schemes.iter().any(|(name, s)| *name == scheme.0 && s.cc.is_udp()) {
        let error = bad(root, field, "what is lost over UDP would be waited for without end");
        return Err(allowed(error, "a scheme over another transport"));
    }
    Ok(())
}

/// Refuses programs at the hosts where flows are known beforehand.
fn any_instant(spec: &Spec, root: &Node, field: &str) -> Read<()> {
    if spec.quirks.nic_round_robin {
        let error = bad(root, field, "flows at the reference's NIC are known beforehand");
        return Err(allowed(error, "quirks.nic_round_robin off"));
    }
    Ok(())
}

/// Refuses the id of a host that the topology, as far as the scenario itself tells, does not have.
fn host(count: Option<u64>, node: &NodeRef, root: &Node, field: &str) -> Read<()> {
    match (count, node) {
        (Some(count), NodeRef::Id(id)) if u64::from(*id) >= count => {
            let range = format!("node ids of hosts, 0 to {}", count.saturating_sub(1));
            Err(allowed(bad(root, field, "no such host"), range))
        }
        _ => Ok(()),
    }
}
