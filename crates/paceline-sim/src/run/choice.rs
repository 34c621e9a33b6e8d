//! Which engine runs a scenario.

use std::fmt::Write as _;
use std::sync::Arc;

use paceline_proto::units::Duration;

use crate::engine::windowed::{Windowed, programs_at_once};
use crate::error::InputError;
use crate::lookahead::{MOST_KEPT, Windows, longest_link, shown};
use crate::scenario::{EngineChoice, Scenario};
use crate::spec::Resolved;
use crate::workload::FlowSource;

/// Which engine a scenario gets, and why. Decided by the scenario alone, so that it is the same everywhere.
///
/// # Errors
/// The windowed engine was asked for and cannot run this scenario.
pub fn choose_engine(scenario: &Scenario) -> Result<(EngineChoice, String), InputError> {
    if scenario.engine != EngineChoice::Auto {
        return Ok((scenario.engine, "asked for (run.engine)".into()));
    }
    if scenario.follows_reference_order() {
        return Ok((EngineChoice::Sequential, "the reference's event order was asked for (quirks)".into()));
    }
    if scenario.switch.qcn.is_some() {
        return Ok((
            EngineChoice::Sequential,
            "notifications leave a switch by another port at once (switch.qcn)".into(),
        ));
    }
    if let Some(why) = programs_at_once(scenario) {
        return Ok((EngineChoice::Sequential, why.into()));
    }
    let windows = Windows::of(scenario);
    let (ahead, frames) = (Duration(windows.lookahead), windows.frames);
    if let Some(rto) = scenario.host.rto.filter(|rto| rto.initial.0 < ahead.0) {
        let why = format!("host.rto {:#} is shorter than the lookahead of {ahead:#}", rto.initial);
        return Ok((EngineChoice::Sequential, why));
    }
    if windows.cost.is_infinite() {
        let why = format!("longest link {:#} against a lookahead of {ahead:#}", Duration(longest_link(scenario)));
        return Ok((EngineChoice::Sequential, why));
    }
    let span = windows.span(scenario);
    if span / windows.width.max(1) > MOST_KEPT {
        let why = format!("longest link {} with a frame against a lookahead of {ahead:#}", shown(span));
        return Ok((EngineChoice::Sequential, why));
    }
    if windows.cost > 1.0 {
        let why = format!("lookahead {ahead:#}: {frames:.2} frames per port and window, too few");
        return Ok((EngineChoice::Sequential, why));
    }
    let mut why = format!("lookahead {ahead:#}: {frames:.1} frames per port and window");
    let close = windows.close_nodes();
    if close > 0 {
        let nodes = scenario.graph.nodes();
        let what =
            if windows.several_nics { "shorter links or, as hosts of programs, several NICs" } else { "shorter links" };
        let _ = write!(why, "; {close} of {nodes} nodes have {what} and are run event by event");
    }
    Ok((EngineChoice::Windowed, why))
}

pub(super) fn kind_name(engine: EngineChoice) -> &'static str {
    if engine == EngineChoice::Windowed { "windowed" } else { "sequential" }
}

/// The windowed engine for a scenario; what forbids it is told at the field that asks for it.
pub(super) fn windowed(
    spec: &Resolved,
    scenario: &Arc<Scenario>,
    source: Box<dyn FlowSource>,
    threads: usize,
) -> Result<Windowed, InputError> {
    Windowed::on_threads(scenario, source, threads).map_err(|error| at_its_field(spec, error))
}

/// An error of what was made of a scenario, with file and line of the field that it names, as far as they are known.
pub(super) fn at_its_field(spec: &Resolved, error: InputError) -> InputError {
    let Some(field) = error.field.as_deref().filter(|_| error.file.is_none()) else { return error };
    let mut placed = spec.error(field, &error.problem);
    // Of a whole section the error says better what is wrong.
    placed.value = placed.value.filter(|value| !value.starts_with(['{', '['])).or(error.value);
    placed.allowed = error.allowed;
    placed
}
