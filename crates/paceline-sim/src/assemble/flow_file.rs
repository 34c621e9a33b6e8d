//! Files that list flows, in one of two forms: a table of ours, or a flow file of the HPCC reference simulator. Those of any scenario as
//! such a table.

use std::io::{self, Write};

use paceline_proto::units::Time;

use super::{Assembled, MOST_BYTES, assemble, refuse_waiting};
use crate::clock::Clock;
use crate::error::InputError;
use crate::hpcc_format::flow::{is_flow_file, read_flows};
use crate::spec::Resolved;
use crate::workload::{FlowDefaults, FlowSource, FlowSpec, TableLimits, TableNames, not_too_late, read_table, save};

/// The flows of a file of either form in order of their starts, with what is doubtful about them. What the file does not say of a flow
/// is as in `defaults`.
///
/// # Errors
/// What either form refuses; no flow at all; a start or a size that is too large.
pub(super) fn read(
    text: &str,
    file: &str,
    limits: TableLimits<'_>,
    schemes: &[String],
    groups: &mut Vec<String>,
    defaults: FlowDefaults,
) -> Result<(Vec<FlowSpec>, Vec<String>), InputError> {
    if is_flow_file(text) {
        of_hpcc(text, file, limits, defaults)
    } else {
        Ok((read_table(text.as_bytes(), file, limits, schemes, groups, defaults)?, Vec::new()))
    }
}

/// The flows of a flow file of the HPCC reference simulator. They start as long after one another as there, the first at once: its
/// scripts begin at 2 s, and all until then would count as idle time.
fn of_hpcc(
    text: &str,
    file: &str,
    limits: TableLimits<'_>,
    defaults: FlowDefaults,
) -> Result<(Vec<FlowSpec>, Vec<String>), InputError> {
    let (rows, doubts) = read_flows(text, file, &limits.graph.kinds)?;
    let Some(first) = rows.first().map(|row| row.start.0) else {
        return Err(InputError::new("no flows in the file").file(file).line(1).allowed("at least one flow"));
    };
    let flows = rows.iter().enumerate().map(|(i, row)| {
        let here = |error: InputError, what: &str| error.file(file).field(format!("flow {i} {what}"));
        let after_first = Time(row.start.0 - first);
        let start = not_too_late(after_first).map_err(|error| {
            let allowed = format!("{} after the first flow", error.allowed.as_deref().unwrap_or_default());
            here(error, "start").value(format!("{after_first} after the first")).allowed(allowed)
        })?;
        limits.framing.fits(row.bytes).map_err(|error| here(error, "size"))?;
        Ok(FlowSpec { start, rate_cap: defaults.rate_cap, ..row.spec(Clock::Exact, defaults.scheme, defaults.group) })
    });
    Ok((flows.collect::<Result<_, _>>()?, doubts))
}

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
    let flows = save(&mut source, &mut text, names).map_err(|e| spec.error("workloads", &e.problem))?;
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
