//! Flows that are listed one by one, in a file or in the scenario; those of any scenario as such a file.

use std::io::{self, BufReader, Write};

use paceline_proto::units::Time;

use super::lengths::Expected;
use super::{Assembled, Build, MOST_BYTES, Made, assemble, read_text, refuse_waiting};
use crate::clock::Clock;
use crate::error::InputError;
use crate::hpcc_format::flow::{FlowRow, is_flow_file, read_flows};
use crate::spec::Resolved;
use crate::spec::workload::{Flows, Workload};
use crate::workload::{self as w, FlowDefaults, FlowSource, FlowSpec, TableLimits, TableNames};

/// The flows of a scenario as a table that `kind = "flows"` reads: the same flows again, bit for bit and in the same order. Also how
/// many there are.
///
/// # Errors
/// Those of the scenario, and what waits for something to arrive before it sends; no flow, or more than a scenario reads.
pub fn flow_table(spec: &Resolved) -> Result<(Vec<u8>, u64), InputError> {
    refuse_waiting(spec)?;
    let Assembled { scenario, source, .. } = assemble(spec)?;
    let schemes: Vec<String> = scenario.schemes.iter().map(|s| s.name.clone()).collect();
    let names = TableNames { schemes: &schemes, groups: &scenario.groups };
    let mut text = Limited(Vec::new());
    let mut source = Until { source, stop: Time(scenario.stop.instant()) };
    let flows = w::save(&mut source, &mut text, names).map_err(|e| spec.error("workloads", &e.problem))?;
    if flows == 0 {
        return Err(spec.error("workloads", "no flow starts in this scenario").allowed("at least one flow"));
    }
    Ok((text.0, flows))
}

/// Flows that start before the run stops.
struct Until {
    source: Box<dyn FlowSource>,
    stop: Time,
}

impl FlowSource for Until {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        self.source.next_flow().filter(|f| f.start < self.stop)
    }
}

/// As much text as a scenario reads of a file.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if (self.0.len() + text.len()) as u64 > MOST_BYTES {
            return Err(io::Error::other(format!(
                "it would be larger than {} MiB, which no scenario reads",
                MOST_BYTES >> 20
            )));
        }
        self.0.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Build<'_> {
    pub(super) fn table(
        &self,
        number: usize,
        workload: &Workload,
        p: &Flows,
        flow: FlowDefaults,
        groups: &mut Vec<String>,
    ) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let (mut flows, mut doubts) = (Vec::new(), Vec::new());
        if let Some(file) = &p.file {
            let text = read_text(self.spec, &field("file"), &file.0, MOST_BYTES)?;
            if is_flow_file(&text) {
                (flows, doubts) = self.flows_of_hpcc(&field("file"), &text, &file.0, flow)?;
            } else {
                let limits =
                    TableLimits { graph: &self.scenario.graph, nodes: &self.nodes, framing: self.scenario.framing };
                let rows = BufReader::new(text.as_bytes());
                flows = w::read_table(rows, &file.0, limits, self.schemes, groups, flow)?;
            }
        }
        for (i, row) in p.rows.iter().enumerate() {
            let at = |key: &str| field(&format!("rows.{i}.{key}"));
            let (src, dst) = (self.host(&at("src"), &row.src)?, self.host(&at("dst"), &row.dst)?);
            if src == dst {
                let error = self.spec.error(&at("dst"), "a host cannot send to itself");
                return Err(error.value(&row.dst).allowed("another host than src"));
            }
            self.fits(&at("bytes"), row.bytes.0)?;
            let mut f = flow.flow(row.start, src, dst, row.bytes.0);
            if let Some(name) = &row.scheme {
                f.scheme = self.spec.scheme_index(&name.0).unwrap_or(0) as u16;
            }
            if let Some(name) = &row.group {
                f.group = w::group(&name.0, groups).map_err(|e| self.inside(&at("group"), e.value(&name.0)))?;
            }
            f.class = row.class.unwrap_or(f.class);
            if let Some(cap) = &row.rate_cap {
                f.rate_cap = cap.limit();
            }
            flows.push(f);
        }
        for f in &mut flows {
            f.start = Time(f.start.0.saturating_add(workload.start.0));
        }
        flows.sort_by_key(|f| f.start);
        let mut classes: Vec<u8> = flows.iter().map(|f| f.class).collect();
        classes.sort_unstable();
        classes.dedup();
        if let Some(file) = &p.file
            && flow.class != FlowDefaults::default().class
            && !classes.contains(&flow.class)
        {
            let (field, class) = (field("class"), flow.class);
            doubts.push(format!("{field} is {class}, but every flow of {} has a class of its own", file.0));
        }
        let (count, end) = (Some(flows.len() as u64), flows.last().map(|f| f.start));
        let table = w::FlowTable::new(flows);
        Ok(Made { classes, doubts, expected: Expected::Listed(table.clone()), ..Made::flows(table, count, end) })
    }

    /// The flows of a flow file of the HPCC reference simulator, with what is doubtful about it. They start as long after one another as
    /// there, the first at once: its scripts begin at 2 s, and all until then would count as idle time.
    fn flows_of_hpcc(
        &self,
        field: &str,
        text: &str,
        file: &str,
        flow: FlowDefaults,
    ) -> Result<(Vec<FlowSpec>, Vec<String>), InputError> {
        let (rows, doubts) = read_flows(text, file, &self.scenario.graph.kinds)?;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Err(InputError::new("no flows in the file").file(file).line(1).allowed("at least one flow"));
        };
        let (first, longest) = (first.start.0, Time(last.start.0 - first.start.0));
        if longest > w::LATEST_START {
            let error = InputError::new("the last flow starts too long after the first").file(file).value(longest);
            return Err(error.allowed(format!("at most {}", w::LATEST_START)));
        }
        if let Some(largest) = rows.iter().map(|row| row.bytes).max() {
            self.fits(field, largest)?;
        }
        let from_first = |row: &FlowRow| {
            let spec = row.spec(Clock::Exact, flow.scheme, flow.group);
            FlowSpec { start: Time(spec.start.0 - first), rate_cap: flow.rate_cap, ..spec }
        };
        Ok((rows.iter().map(from_first).collect(), doubts))
    }
}
