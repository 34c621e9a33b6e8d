//! Flow tables: explicit lists of flows as CSV, and any workload saved as one.
//!
//! A table exists when it is given or saved; it then *is* the experiment: replaying a saved table gives the same flows bit for
//! bit, in the same order.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{BufRead, Read, Write};
use std::ops::RangeInclusive;

use paceline_proto::units::{BitsPerSec, Bytes, ParseUnitError, Time};

use crate::InputError;
use crate::framing::Framing;
use crate::graph::{Graph, NodeId};
use crate::spelling::{NAME, clip, is_name, nearest};
use crate::topology::NodeNames;
use crate::workload::{FlowDefaults, FlowSource, FlowSpec, not_too_late};

/// Rate limits that a flow may have, bit/s: as in a scenario.
const CAPS: RangeInclusive<u64> = 1000..=10_000_000_000_000;

/// Longest line that is read, in bytes.
pub const MAX_LINE: usize = 4096;

/// Most groups of a run, where tables have some of their own: reports and sweeps tell times by group.
pub const MOST_GROUPS: usize = 256;

/// Names that a saved table has for indices.
#[derive(Clone, Copy, Debug)]
pub struct TableNames<'a> {
    /// The scenario's schemes.
    pub schemes: &'a [String],
    /// The scenario's groups.
    pub groups: &'a [String],
}

/// What the rows of a table may hold.
#[derive(Clone, Copy, Debug)]
pub struct TableLimits<'a> {
    /// The network whose hosts they name.
    pub graph: &'a Graph,
    /// The names of its nodes.
    pub nodes: &'a NodeNames<'a>,
    /// How flows become packets, of which there are only so many numbers.
    pub framing: Framing,
}

/// A column of a flow table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Start,
    StartPs,
    Src,
    Dst,
    Bytes,
    Scheme,
    Class,
    Dport,
    RateCap,
    Group,
}

const COLUMNS: [(&str, Column); 10] = [
    ("start", Column::Start),
    ("start_ps", Column::StartPs),
    ("src", Column::Src),
    ("dst", Column::Dst),
    ("bytes", Column::Bytes),
    ("scheme", Column::Scheme),
    ("class", Column::Class),
    ("dport", Column::Dport),
    ("rate_cap", Column::RateCap),
    ("group", Column::Group),
];

impl Column {
    fn name(self) -> &'static str {
        COLUMNS.iter().find(|(_, c)| *c == self).map_or("", |(name, _)| name)
    }
}

/// Reads a flow table.
///
/// The first line names the columns: `start` (with a unit, `1.5us`) or `start_ps` (whole picoseconds), `src`, `dst` (node ids of
/// hosts, or their names), `bytes` (a whole number, or with a unit), and optionally `scheme` and `group` (names), `class`, `dport`, `rate_cap`
/// (`10Gbps`; `off` or `0bps` for none). A column left out or an empty cell takes its value from `defaults`. `#` starts a comment line.
/// Rows may be in any order; equal starts keep theirs. A group that is not among `groups` yet comes to them. `file` names the table in errors.
///
/// # Errors
/// Unreadable input, an unknown, repeated or missing column, a bad cell (all with the line), an empty table.
pub fn read_table(
    mut input: impl BufRead,
    file: &str,
    limits: TableLimits<'_>,
    schemes: &[String],
    groups: &mut Vec<String>,
    defaults: FlowDefaults,
) -> Result<Vec<FlowSpec>, InputError> {
    defaults.check().map_err(|error| error.file(file))?;
    let (mut columns, mut flows, mut buffer, mut number) = (Vec::new(), Vec::new(), Vec::new(), 0);
    while let Some(line) = read_line(&mut input, &mut buffer, number + 1).map_err(|error| error.file(file))? {
        number += 1;
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let here = |error: InputError| error.file(file).line(number);
        if columns.is_empty() {
            columns = read_header(line).map_err(here)?;
        } else {
            flows.push(read_row(line, &columns, limits, schemes, groups, defaults).map_err(here)?);
        }
    }
    if flows.is_empty() {
        let allowed = "a header line and at least one flow";
        return Err(InputError::new("no flows in the table").file(file).allowed(allowed));
    }
    if !flows.is_sorted_by_key(|f| f.start) {
        flows.sort_by_key(|f| f.start);
    }
    Ok(flows)
}

/// One line without its end, at most [`MAX_LINE`] bytes of it in memory.
fn read_line<'b>(
    input: &mut impl BufRead,
    buffer: &'b mut Vec<u8>,
    number: usize,
) -> Result<Option<&'b str>, InputError> {
    buffer.clear();
    let mut limited = input.by_ref().take(MAX_LINE as u64 + 1);
    let read = limited.read_until(b'\n', buffer);
    let length = read.map_err(|e| InputError::new(format!("cannot be read: {e}")).line(number))?;
    if length == 0 {
        return Ok(None);
    }
    if length > MAX_LINE {
        return Err(InputError::new("line too long").line(number).allowed(format!("{MAX_LINE} bytes")));
    }
    let line = std::str::from_utf8(buffer).map_err(|_| InputError::new("not UTF-8 text").line(number))?;
    Ok(Some(line.trim_end_matches(['\r', '\n'])))
}

fn read_header(line: &str) -> Result<Vec<Column>, InputError> {
    let all = || COLUMNS.iter().map(|(name, _)| *name);
    let mut columns = Vec::new();
    for cell in Cells(Some(line)) {
        let cell = cell?;
        let Some((_, column)) = COLUMNS.iter().find(|(name, _)| *name == cell) else {
            let allowed = all().collect::<Vec<_>>().join(", ");
            let allowed = match nearest(&cell, all()) {
                Some(near) => format!("{allowed} (`{near}` is the nearest)"),
                None => allowed,
            };
            return Err(InputError::new("no such column").value(clip(&cell)).allowed(allowed));
        };
        if columns.contains(column) {
            return Err(InputError::new("column named twice").value(cell).allowed("each column once"));
        }
        columns.push(*column);
    }
    let has = |c: &Column| columns.contains(c);
    if has(&Column::Start) == has(&Column::StartPs) {
        let problem = if has(&Column::Start) { "two columns for the start" } else { "missing column" };
        return Err(InputError::new(problem).field("start").allowed("either start or start_ps"));
    }
    if let Some(missing) = [Column::Src, Column::Dst, Column::Bytes].into_iter().find(|c| !has(c)) {
        return Err(InputError::new("missing column")
            .field(missing.name())
            .allowed("start, src, dst and bytes at least"));
    }
    Ok(columns)
}

fn read_row(
    line: &str,
    columns: &[Column],
    limits: TableLimits<'_>,
    schemes: &[String],
    groups: &mut Vec<String>,
    defaults: FlowDefaults,
) -> Result<FlowSpec, InputError> {
    let mut flow = defaults.flow(Time::NEVER, 0, 0, 0);
    let mut cells = Cells(Some(line));
    for (n, column) in columns.iter().enumerate() {
        let Some(cell) = cells.next() else {
            return Err(InputError::new("too few cells")
                .value(n)
                .allowed(format!("{}, one per column", columns.len())));
        };
        let cell = cell?;
        let optional = !matches!(column, Column::Start | Column::StartPs | Column::Src | Column::Dst | Column::Bytes);
        if optional && cell.is_empty() {
            continue;
        }
        read_cell(&mut flow, *column, &cell, limits, schemes, groups)
            .map_err(|error| error.field(column.name()).value(clip(&cell)))?;
    }
    if cells.next().is_some() {
        return Err(InputError::new("too many cells").allowed(format!("{}, one per column", columns.len())));
    }
    if flow.src == flow.dst {
        return Err(InputError::new("a flow from a host to itself")
            .field("dst")
            .value(flow.dst)
            .allowed("another host"));
    }
    Ok(flow)
}

/// Sets one field; the caller adds column and value to the error.
fn read_cell(
    flow: &mut FlowSpec,
    column: Column,
    cell: &str,
    limits: TableLimits<'_>,
    schemes: &[String],
    groups: &mut Vec<String>,
) -> Result<(), InputError> {
    match column {
        Column::Start => flow.start = not_too_late(cell.parse().map_err(bad_unit)?)?,
        Column::StartPs => {
            flow.start = not_too_late(Time(whole(cell, 0, u64::MAX, "a whole number of picoseconds")?))?;
        }
        Column::Src => flow.src = host(cell, limits)?,
        Column::Dst => flow.dst = host(cell, limits)?,
        Column::Bytes => {
            flow.bytes = match cell.parse() {
                Ok(bytes) => bytes,
                Err(_) => cell.parse::<Bytes>().map_err(|e| bad_unit(e).allowed("1 or more, or with a unit: 500KB"))?.0,
            };
            if flow.bytes == 0 {
                return Err(InputError::new("a flow needs bytes").allowed("1 or more"));
            }
            limits.framing.fits(flow.bytes)?;
        }
        Column::Scheme => flow.scheme = scheme(cell, schemes)?,
        Column::Group => flow.group = group(cell, groups)?,
        Column::Class => flow.class = whole(cell, 1, 7, "1 to 7 (0 is for control frames)")? as u8,
        Column::Dport => flow.dport = whole(cell, 0, u64::from(u16::MAX), "0 to 65535")? as u16,
        Column::RateCap => {
            // As in scenarios, or as files of results have it.
            flow.rate_cap = if cell == "off" { 0 } else { cell.parse::<BitsPerSec>().map_err(bad_unit)?.0 };
            if flow.rate_cap != 0 && !CAPS.contains(&flow.rate_cap) {
                return Err(InputError::new("not in range").allowed("1Kbps to 10Tbps, or off (or 0bps) for none"));
            }
        }
    }
    Ok(())
}

fn bad_unit(error: ParseUnitError) -> InputError {
    InputError::new(error.problem("cannot be read")).allowed(error.allowed)
}

fn whole(cell: &str, least: u64, most: u64, allowed: &str) -> Result<u64, InputError> {
    let in_range = cell.parse().ok().filter(|n| (least..=most).contains(n));
    in_range.ok_or_else(|| InputError::new("not in range").allowed(allowed))
}

/// A host by its id, or by a name. A number is always an id, since saved tables have ids, whatever the names in the graph.
fn host(cell: &str, TableLimits { graph, nodes, .. }: TableLimits<'_>) -> Result<NodeId, InputError> {
    let allowed = || format!("the id or name of a host; the nodes are 0 to {}", graph.nodes().saturating_sub(1));
    let known = match cell.parse::<NodeId>() {
        Ok(id) => Some(id).filter(|n| (*n as usize) < graph.nodes()).ok_or("no such node".to_string()),
        Err(_) => nodes.find(cell).ok_or_else(|| nodes.unknown(&clip(cell))),
    };
    let node = known.map_err(|problem| InputError::new(problem).allowed(allowed()))?;
    if graph.is_host(node) { Ok(node) } else { Err(InputError::new("not a host").allowed(allowed())) }
}

fn scheme(cell: &str, schemes: &[String]) -> Result<u16, InputError> {
    schemes.iter().position(|name| name == cell).map(|i| i as u16).ok_or_else(|| {
        let list = schemes.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
        InputError::new("no such scheme").allowed(list)
    })
}

/// The number of a group by its name; one that is new has the next.
///
/// # Errors
/// What is no name, and groups beyond [`MOST_GROUPS`].
pub fn group(name: &str, groups: &mut Vec<String>) -> Result<u16, InputError> {
    if let Some(known) = groups.iter().position(|group| group == name) {
        return Ok(known as u16);
    }
    if !is_name(name) {
        return Err(InputError::new("not a name").allowed(NAME));
    }
    if groups.len() >= MOST_GROUPS {
        return Err(InputError::new("too many groups").allowed(format!("{MOST_GROUPS} different ones in a run")));
    }
    groups.push(name.to_string());
    Ok((groups.len() - 1) as u16)
}

/// Cells of a CSV line: trimmed, or between double quotes with doubled quotes inside.
struct Cells<'a>(Option<&'a str>);

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Cow<'a, str>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.take()?;
        let Some(quoted) = rest.trim_start().strip_prefix('"') else {
            let (cell, rest) = rest.split_once(',').map_or((rest, None), |(cell, rest)| (cell, Some(rest)));
            self.0 = rest;
            return Some(Ok(Cow::Borrowed(cell.trim())));
        };
        let (mut cell, mut rest) = (String::new(), quoted);
        while let Some((text, after)) = rest.split_once('"') {
            cell.push_str(text);
            if let Some(more) = after.strip_prefix('"') {
                cell.push('"');
                rest = more;
            } else {
                let after = after.trim_start();
                self.0 = after.strip_prefix(',');
                if self.0.is_none() && !after.is_empty() {
                    break;
                }
                return Some(Ok(Cow::Owned(cell)));
            }
        }
        Some(Err(InputError::new("bad quotes").value(clip(quoted)).allowed("\"text\", with \"\" for a quote inside")))
    }
}

/// Writes all flows of a source as a table that [`read_table`] reads back bit for bit; returns their number. Constant memory.
///
/// # Errors
/// A failed write, a scheme or group without a name, a name with a line break or with spaces around it.
pub fn save(source: &mut dyn FlowSource, out: &mut dyn Write, names: TableNames<'_>) -> Result<u64, InputError> {
    let failed = |e: std::io::Error| InputError::new(format!("the flow table cannot be written: {e}"));
    let schemes = names.schemes.iter().map(|n| quoted(n, "scheme")).collect::<Result<Vec<_>, _>>()?;
    let groups = names.groups.iter().map(|n| quoted(n, "group")).collect::<Result<Vec<_>, _>>()?;
    let name = |list: &[String], i: u16, what: &str| {
        list.get(usize::from(i)).cloned().ok_or_else(|| InputError::new("has no name").field(what).value(i))
    };
    out.write_all(b"start_ps,src,dst,bytes,scheme,class,dport,rate_cap,group\n").map_err(failed)?;
    let (mut written, mut line) = (0, String::new());
    while let Some(flow) = source.next_flow() {
        let FlowSpec { start, src, dst, bytes, scheme, group, class, dport, rate_cap, stream: _, nic: _ } = flow;
        let (scheme, group) = (name(&schemes, scheme, "scheme")?, name(&groups, group, "group")?);
        let cap = BitsPerSec(rate_cap);
        line.clear();
        // Writing to a string cannot fail.
        let _ = writeln!(line, "{},{src},{dst},{bytes},{scheme},{class},{dport},{cap},{group}", start.0);
        out.write_all(line.as_bytes()).map_err(failed)?;
        written += 1;
    }
    out.flush().map_err(failed)?;
    Ok(written)
}

/// A name as a cell.
fn quoted(name: &str, what: &str) -> Result<String, InputError> {
    if name.contains(['\n', '\r']) || name.is_empty() || name.len() > 256 {
        let error = InputError::new("name not fit for a table").field(what).value(clip(name));
        return Err(error.allowed("1 to 256 bytes without line breaks"));
    }
    if name.contains([',', '"']) || name.trim() != name {
        return Ok(format!("\"{}\"", name.replace('"', "\"\"")));
    }
    Ok(name.to_string())
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
