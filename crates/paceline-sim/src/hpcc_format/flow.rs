//! Flow files: a count, then per flow `src dst pg dport size_bytes start_s`, sorted by start.

use std::io;

use paceline_proto::units::{NS, S, Time};

use super::quantity::seconds;
use super::text::{Line, empty, leave_rest, lines, whole};
use crate::InputError;
use crate::clock::{Clock, seconds_to_ns};
use crate::graph::{NodeId, NodeKind};
use crate::workload::FlowSpec;

/// What a flow row looks like, for messages.
const ROW: &str = "6 words `src dst pg dport size_bytes start_s`, e.g. `0 1 3 100 10000000 2.0`";
/// Largest flow: the reference reads 32 bits (quirk Q15 of the hpcc-ns3 facts).
pub const MAX_FLOW: u64 = u32::MAX as u64;

/// Most flows that the header may announce beyond the rows that are there.
pub(super) const MOST_REPEATED: usize = 100_000;

/// A row of a flow file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowRow {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Traffic class (the reference's `pg`), 1 to 7.
    pub class: u8,
    /// Destination port number.
    pub dport: u16,
    /// Payload bytes, 1 to [`MAX_FLOW`].
    pub bytes: u64,
    /// Start as given, in seconds.
    pub start_s: f64,
    /// Start as the decimal says, to the picosecond.
    pub start: Time,
    /// Start on the reference's clock, in ns: truncated, often 1 ns early ([`seconds_to_ns`]).
    pub start_ns: u64,
}

impl FlowRow {
    /// The flow to start, on the exact or the reference's clock, with no rate cap.
    pub fn spec(&self, clock: Clock, scheme: u16, group: u16) -> FlowSpec {
        let start = match clock {
            Clock::Exact => self.start,
            Clock::TruncatedNs => Time(self.start_ns * NS),
        };
        let Self { src, dst, class, dport, bytes, .. } = *self;
        FlowSpec { start, src, dst, bytes, scheme, group, class, dport, rate_cap: 0, stream: 0, nic: None }
    }
}

/// Whether a file that lists flows is of this form: it begins with a number that stands alone.
pub fn is_flow_file(text: &str) -> bool {
    let first = lines(text, "").next();
    first.and_then(|line| line.row()).is_some_and(|[count]| whole(count).is_some())
}

/// Reads a flow file for a network whose nodes are of `kinds`.
///
/// As in the reference, the header's count says how many rows are read: rows after them are left alone with a warning
/// and not checked. Of fewer rows the last is read again, also as there and with a warning.
///
/// # Errors
/// A header or row that is not of the file's form; far more flows announced than there are rows; an end that is no host; `src` equal to `dst`; a class outside 1 to 7;
/// a port above 65535; a size of 0 or above [`MAX_FLOW`]; a start that is no time or before the start of the row above.
pub fn read_flows(text: &str, file: &str, kinds: &[NodeKind]) -> Result<(Vec<FlowRow>, Vec<String>), InputError> {
    let mut warnings = Vec::new();
    let mut rows = lines(text, file);
    let header = rows.next().ok_or_else(|| empty(file))?;
    let Some([count]) = header.row() else {
        return Err(header.bad("header", header.text, "wrong number of words", "the number of flows"));
    };
    let count = header.integer("flows", count, 0, u64::from(u32::MAX), "")? as usize;
    let mut flows: Vec<FlowRow> = Vec::new();
    while flows.len() < count {
        let Some(line) = rows.next() else { break };
        let flow = read_flow(&line, flows.len(), kinds)?;
        if flows.last().is_some_and(|last| flow.start < last.start) {
            let [.., start] = line.row::<6>().unwrap_or_default();
            let field = format!("flow {} start", flows.len());
            return Err(line.bad(&field, start, "starts before the flow above", "rows in ascending order of start"));
        }
        flows.push(flow);
    }
    let rows_given = flows.len();
    let missing = count.saturating_sub(rows_given);
    if missing > 0 {
        let told = format!("the header says {count} flows, the file has {rows_given}");
        let told = match flows.last().copied() {
            None => told,
            Some(_) if missing > MOST_REPEATED => {
                let allowed = format!("at most {} ({MOST_REPEATED} more than rows)", rows_given + MOST_REPEATED);
                return Err(header.bad("flows", &count.to_string(), "far more flows than rows", &allowed));
            }
            Some(last) => {
                // What the reference cannot read it leaves as it was.
                flows.resize(count, last);
                format!("{told}; as in the reference the last one starts {missing} times more")
            }
        };
        warnings.push(header.warning(told));
    }
    leave_rest(
        &mut rows,
        count,
        "flow",
        |line| line.row::<6>().is_some_and(|row| whole(row[0]).is_some()),
        &mut warnings,
    );
    Ok((flows, warnings))
}

fn read_flow(line: &Line<'_>, index: usize, kinds: &[NodeKind]) -> Result<FlowRow, InputError> {
    let Some([src, dst, class, dport, bytes, start]) = line.row() else {
        return Err(line.bad(&format!("flow {index}"), line.text, "not a row of a flow", ROW));
    };
    let field = |name: &str| format!("flow {index} {name}");
    let host = |name: &str, word: &str| {
        let last = (kinds.len() as u64).saturating_sub(1);
        let node = line.integer(&field(name), word, 0, last, " (the topology's nodes)")? as NodeId;
        match kinds.get(node as usize) {
            Some(NodeKind::Host) => Ok(node),
            _ => Err(line.bad(&field(name), word, "not a host", "the id of a host (a node not listed as switch)")),
        }
    };
    let (from, to) = (host("src", src)?, host("dst", dst)?);
    if from == to {
        return Err(line.bad(&field("dst"), dst, "the flow's source itself", "another host"));
    }
    let class = line.integer(&field("pg"), class, 1, 7, " (0 is for control frames)")? as u8;
    let dport = line.integer(&field("dport"), dport, 0, 65_535, "")? as u16;
    let bytes = line.integer(&field("size"), bytes, 1, MAX_FLOW, " bytes (the reference reads 32 bits)")?;
    let (start_s, start) = seconds(start).ok_or_else(|| {
        line.bad(&field("start"), start, "not a start time", "seconds from 0 to 18000000 as a decimal number")
    })?;
    Ok(FlowRow { src: from, dst: to, class, dport, bytes, start_s, start, start_ns: seconds_to_ns(start_s) })
}

/// Writes a flow file: starts as decimals, exact to the picosecond, at least 9 places.
///
/// Reading it back gives the same exact starts; the reference itself will start about half of them 1 ns early.
/// Scheme, group and rate cap are not part of the format.
///
/// # Errors
/// Those of `out`, and `InvalidInput` with an [`InputError`] for a flow above [`MAX_FLOW`], which the reference would
/// cut to 32 bits.
pub fn write_flows(out: &mut impl io::Write, flows: &[FlowSpec]) -> io::Result<()> {
    writeln!(out, "{}", flows.len())?;
    for (i, flow) in flows.iter().enumerate() {
        if flow.bytes == 0 || flow.bytes > MAX_FLOW {
            let error =
                InputError::new("out of range for a flow file").field(format!("flow {i} size")).value(flow.bytes);
            let error = error.allowed(format!("1 to {MAX_FLOW} bytes (the reference reads 32 bits)"));
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let (seconds, ps) = (flow.start.0 / S, flow.start.0 % S);
        write!(out, "{} {} {} {} {} {seconds}.", flow.src, flow.dst, flow.class, flow.dport, flow.bytes)?;
        if ps.is_multiple_of(NS) { writeln!(out, "{:09}", ps / NS)? } else { writeln!(out, "{ps:012}")? }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
