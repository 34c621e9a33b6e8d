//! Flows that are listed one by one, in a file or in the scenario.

use paceline_proto::units::Time;

use super::lengths::Expected;
use super::{Build, MOST_BYTES, Made, flow_file, read_text};
use crate::error::InputError;
use crate::spec::workload::{Flows, Workload};
use crate::workload::{self as w, FlowDefaults, TableLimits};

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
            let limits =
                TableLimits { graph: &self.scenario.graph, nodes: &self.nodes, framing: self.scenario.framing };
            (flows, doubts) = flow_file::read(&text, &file.0, limits, self.schemes, groups, flow)?;
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
}
