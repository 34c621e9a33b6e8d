//! Flows that are listed one by one, in a file or in the scenario.

use std::io::BufReader;

use paceline_proto::units::Time;

use super::lengths::Expected;
use super::{Build, MOST_BYTES, Made, read_text};
use crate::clock::Clock;
use crate::error::InputError;
use crate::hpcc_format::flow::{FlowRow, is_flow_file, read_flows};
use crate::spec::workload::{Flows, Workload};
use crate::workload::{self as w, FlowDefaults, FlowSpec, TableLimits, TableNames};

impl Build<'_> {
    pub(super) fn table(
        &self,
        number: usize,
        workload: &Workload,
        p: &Flows,
        flow: FlowDefaults,
    ) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let (mut flows, mut doubts) = (Vec::new(), Vec::new());
        if let Some(file) = &p.file {
            let text = read_text(self.spec, &field("file"), &file.0, MOST_BYTES)?;
            if is_flow_file(&text) {
                (flows, doubts) = self.flows_of_hpcc(&field("file"), &text, &file.0, flow)?;
            } else {
                let names = TableNames { schemes: self.schemes, groups: &self.scenario.groups };
                let limits =
                    TableLimits { graph: &self.scenario.graph, nodes: &self.nodes, framing: self.scenario.framing };
                flows = w::read_table(BufReader::new(text.as_bytes()), &file.0, limits, names, flow)?;
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
