//! Flows that are listed one by one, in a file or in the scenario.

use std::io::BufReader;

use paceline_proto::units::Time;

use super::lengths::Expected;
use super::{Build, MOST_BYTES, Made, read_text};
use crate::error::InputError;
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
        let mut flows: Vec<FlowSpec> = Vec::new();
        if let Some(file) = &p.file {
            let text = read_text(self.spec, &field("file"), &file.0, MOST_BYTES)?;
            let names = TableNames { schemes: self.schemes, groups: &self.scenario.groups };
            let limits =
                TableLimits { graph: &self.scenario.graph, nodes: &self.nodes, framing: self.scenario.framing };
            flows = w::read_table(BufReader::new(text.as_bytes()), &file.0, limits, names, flow)?;
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
        let (count, end) = (Some(flows.len() as u64), flows.last().map(|f| f.start));
        let table = w::FlowTable::new(flows);
        Ok(Made { classes, expected: Expected::Listed(table.clone()), ..Made::flows(table, count, end) })
    }
}
