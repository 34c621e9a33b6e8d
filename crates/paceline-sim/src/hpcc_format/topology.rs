//! Topology files: `nodes switches links`, the switch ids, then per link `a b rate delay error_rate`.
//!
//! SimAI's differ in the first line, `nodes gpus_per_server nvswitches switches links gpu_type`, and list NVSwitches before the other
//! switches (aliyun/SimAI, `gen_Topo_Template.py`; forks have a seventh word).

use std::collections::BTreeSet;
use std::fmt::Write;

use paceline_proto::units::{BitsPerSec, Duration, NS};

use super::quantity::{DELAY_ALLOWED, MAX_DELAY, MAX_RATE, RATE_ALLOWED, delay, rate, rate_text};
use super::text::{Line, empty, leave_rest, lines, whole};
use crate::InputError;
use crate::clock::Clock;
use crate::graph::{Link, NodeId, NodeKind, PortNo, Topology};

/// What a link row looks like, for messages.
const ROW: &str = "5 words `a b rate delay error_rate`, e.g. `0 320 100Gbps 1000ns 0.000000`";

/// What the first line of a SimAI file looks like, for messages.
const SIMAI_HEADER: &str = "`nodes gpus_per_server nvswitches switches links gpu_type` of SimAI";

/// A network as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkFile {
    /// The network.
    pub topology: Topology,
    /// Switches that are a SimAI file's NVSwitches.
    pub nvswitches: usize,
    /// What looks wrong.
    pub warnings: Vec<String>,
}

/// Reads a topology file of the reference or of SimAI, whose NVSwitches are switches like others here.
///
/// # Errors
/// As [`read_topology`], of either form.
pub fn read_any_topology(text: &str, file: &str) -> Result<NetworkFile, InputError> {
    let header = lines(text, file).next().ok_or_else(|| empty(file))?;
    let words = match (header.row::<6>(), header.row::<7>()) {
        (Some([nodes, gpus, nvswitches, switches, links, _]), _)
        | (_, Some([nodes, gpus, nvswitches, switches, links, _, _])) => [nodes, gpus, nvswitches, switches, links],
        _ => {
            let (topology, warnings) = read_topology(text, file, Clock::Exact)?;
            return Ok(NetworkFile { topology, nvswitches: 0, warnings });
        }
    };
    let [nodes, gpus, nvswitches, switches, links] = words;
    let most = most_nodes(text);
    let count = |field, word| header.integer(field, word, 0, most, " (no more than the file has bytes)");
    header.integer("gpus_per_server", gpus, 1, u64::from(u32::MAX), "")?;
    let (nvswitches, others) = (count("nvswitches", nvswitches)?, count("switches", switches)?);
    let switches = (nvswitches + others).to_string();
    let (topology, warnings) = read(text, file, Clock::Exact, [nodes, &switches, links])?;
    Ok(NetworkFile { topology, nvswitches: nvswitches as usize, warnings })
}

/// Every node a user means takes more than a byte of the file: keeps a mistyped count from taking all memory.
fn most_nodes(text: &str) -> u64 {
    (text.len() as u64).min(u64::from(NodeId::MAX))
}

/// Reads a topology file of the reference. Links keep their order (it numbers the ports); tiers are 0 for hosts and 1 for switches.
///
/// As in the reference, the header's link count says how many rows are read: rows after them are left alone with a
/// warning; too few rows, a wrong switch count and nodes without a link are warnings too. `clock` says whether decimals
/// are read exactly or as the reference's doubles.
///
/// # Errors
/// A header or row that is not of the file's form, an unknown node or switch, a link from a node to itself, a rate of 0
/// or above [`MAX_RATE`], a delay above [`MAX_DELAY`], an error rate outside 0 to 1, more ports on a node than a port
/// number can count, a file without links, a node count larger than the file's length in bytes.
pub fn read_topology(text: &str, file: &str, clock: Clock) -> Result<(Topology, Vec<String>), InputError> {
    let header = lines(text, file).next().ok_or_else(|| empty(file))?;
    let Some(counts) = header.row() else {
        let allowed = format!("3 numbers `nodes switches links`, or in scenarios {SIMAI_HEADER}");
        return Err(header.bad("header", header.text, "wrong number of words", allowed));
    };
    read(text, file, clock, counts)
}

/// Reads what follows the first line, whose words for nodes, switches and links are given.
fn read(
    text: &str,
    file: &str,
    clock: Clock,
    [nodes, switches, links]: [&str; 3],
) -> Result<(Topology, Vec<String>), InputError> {
    let mut warnings = Vec::new();
    let mut rows = lines(text, file).peekable();
    let header = rows.next().ok_or_else(|| empty(file))?;
    let most = most_nodes(text);
    let nodes = header.integer("nodes", nodes, 1, most, " (no more nodes than the file has bytes)")? as usize;
    let switches = header.integer("switches", switches, 0, nodes as u64, " (at most the number of nodes)")? as usize;
    let links = header.integer("links", links, 1, u64::from(u32::MAX), "")? as usize;

    let mut kinds = vec![NodeKind::Host; nodes];
    let (mut listed, mut again) = (0, BTreeSet::new());
    while let Some(line) = rows.next_if(|line| is_id_line(line, listed, switches)) {
        for word in line.text.split_whitespace() {
            let id = line.integer("switch id", word, 0, nodes as u64 - 1, "")? as usize;
            if kinds[id] == NodeKind::Switch && again.insert(id) {
                warnings.push(line.warning(format!("switch {id} is listed twice")));
            }
            kinds[id] = NodeKind::Switch;
            listed += 1;
        }
    }
    if listed != switches {
        warnings
            .push(header.warning(format!("the header says {switches} switches, {listed} are listed; those are used")));
    }

    let mut topology =
        Topology { tiers: kinds.iter().map(|k| u8::from(*k == NodeKind::Switch)).collect(), kinds, links: vec![] };
    let mut ports = vec![0u32; nodes];
    while topology.links.len() < links {
        let Some(line) = rows.next() else { break };
        let link = read_link(&line, nodes, clock)?;
        for node in [link.a, link.b] {
            ports[node as usize] += 1;
            if ports[node as usize] > u32::from(PortNo::MAX) {
                let problem = "too many links at this node";
                return Err(line.bad(
                    "node",
                    &node.to_string(),
                    problem,
                    format!("at most {} links per node", PortNo::MAX),
                ));
            }
        }
        topology.links.push(link);
    }
    if topology.links.is_empty() {
        return Err(InputError::new("the file ends before its first link").file(file).allowed(ROW));
    }
    if topology.links.len() < links {
        warnings.push(header.warning(format!("the header says {links} links, the file has {}", topology.links.len())));
    }
    leave_rest(
        &mut rows,
        links,
        "link",
        |line| line.row::<5>().is_some_and(|row| whole(row[0]).is_some()),
        &mut warnings,
    );
    let lonely: Vec<usize> = (0..nodes).filter(|&n| ports[n] == 0).collect();
    if let Some(first) = lonely.first() {
        let count = lonely.len();
        warnings.push(
            header.warning(format!("of the header's {nodes} nodes {count} have no link, the first is node {first}")),
        );
    }
    Ok((topology, warnings))
}

/// Whether a line lists switch ids: only whole numbers, while ids are missing (or, if none was listed, unlike a row).
fn is_id_line(line: &Line<'_>, listed: usize, switches: usize) -> bool {
    let missing = listed < switches || listed == 0 && line.row::<5>().is_none();
    missing && line.text.split_whitespace().all(|word| whole(word).is_some())
}

fn read_link(line: &Line<'_>, nodes: usize, clock: Clock) -> Result<Link, InputError> {
    let Some([a, b, line_rate, wire_delay, error_rate]) = line.row() else {
        return Err(line.bad("link", line.text, "not a row of a link", ROW));
    };
    let node = |field, word| line.integer(field, word, 0, nodes as u64 - 1, " (the header's nodes)");
    let (a, b) = (node("link.a", a)? as NodeId, node("link.b", b)? as NodeId);
    if a == b {
        return Err(line.bad("link.b", &b.to_string(), "a link from a node to itself", "another node"));
    }
    let line_rate = match rate(line_rate, clock) {
        None => return Err(line.bad("link.rate", line_rate, "not a rate", RATE_ALLOWED)),
        Some(BitsPerSec(0)) => return Err(line.bad("link.rate", line_rate, "a rate of zero", "at least 1bps")),
        Some(rate) => rate,
    };
    let wire_delay =
        delay(wire_delay, clock).ok_or_else(|| line.bad("link.delay", wire_delay, "not a delay", DELAY_ALLOWED))?;
    let error_rate =
        line.number("link.error_rate", error_rate, |p| (0.0..=1.0).contains(&p), "a probability from 0 to 1")?;
    Ok(Link { error_rate, ..Link::symmetric(a, b, line_rate, wire_delay) })
}

/// The text of a topology file; reading it back with [`Clock::Exact`] gives the same links in the same order.
///
/// Tiers are not part of the format.
///
/// # Errors
/// What the format cannot say: a link whose directions differ, or what [`read_topology`] would refuse.
pub fn write_topology(topology: &Topology) -> Result<String, InputError> {
    let switches: Vec<String> =
        (0..topology.kinds.len()).filter(|&n| topology.kinds[n] == NodeKind::Switch).map(|n| n.to_string()).collect();
    let mut text =
        format!("{} {} {}\n{}\n", topology.kinds.len(), switches.len(), topology.links.len(), switches.join(" "));
    for (i, link) in topology.links.iter().enumerate() {
        let bad = |problem: &str, value: String, allowed: String| {
            Err(InputError::new(problem).field(format!("link {i}")).value(value).allowed(allowed))
        };
        let Link { a, b, ab, .. } = *link;
        if ab != link.ba {
            let allowed = "the same rate and delay both ways: the file has one of each per link".to_string();
            return bad("the two directions differ", format!("{a} to {b}"), allowed);
        }
        if ab.rate.0 == 0 || ab.rate.0 > MAX_RATE {
            return bad("rate out of range", ab.rate.to_string(), RATE_ALLOWED.to_string());
        }
        if ab.delay > MAX_DELAY {
            return bad("delay out of range", ab.delay.to_string(), DELAY_ALLOWED.to_string());
        }
        let error = if link.error_rate == 0.0 { "0.000000".to_string() } else { link.error_rate.to_string() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{a} {b} {} {} {error}", rate_text(ab.rate), delay_text(ab.delay));
    }
    Ok(text)
}

/// A delay in nanoseconds, as the reference's own files have it, or picoseconds where it is not whole.
fn delay_text(delay: Duration) -> String {
    if delay.0.is_multiple_of(NS) { format!("{}ns", delay.0 / NS) } else { format!("{}ps", delay.0) }
}

#[cfg(test)]
mod tests;
