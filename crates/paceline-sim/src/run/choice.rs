//! Which engine runs a scenario.

use paceline_proto::units::Duration;

use crate::engine::windowed::lookahead;
use crate::error::InputError;
use crate::scenario::{EngineChoice, Scenario};

/// Frames per port and window below which windows do not pay.
const LEAST_FRAMES: f64 = 0.5;
/// Longest link over lookahead up to which windows are used.
const MOST_SPREAD: u64 = 1024;

/// Which engine a scenario gets, and why. Decided by the scenario alone, so that it is the same everywhere.
///
/// # Errors
/// The windowed engine was asked for and cannot run this scenario.
pub fn choose_engine(scenario: &Scenario) -> Result<(EngineChoice, String), InputError> {
    let ahead = lookahead(scenario);
    if scenario.engine != EngineChoice::Auto {
        return Ok((scenario.engine, "asked for (run.engine)".into()));
    }
    if scenario.quirks.insertion_order || scenario.quirks.nic_round_robin || scenario.quirks.reference_random {
        return Ok((EngineChoice::Sequential, "the reference's event order was asked for (quirks)".into()));
    }
    if !scenario.programs.is_empty() {
        let why = "programs at the hosts start flows at the instants at which others end".into();
        return Ok((EngineChoice::Sequential, why));
    }
    if scenario.switch.qcn.is_some() {
        return Ok((
            EngineChoice::Sequential,
            "notifications leave a switch by another port at once (switch.qcn)".into(),
        ));
    }
    if let Some(rto) = scenario.host.rto.filter(|rto| rto.initial.0 < ahead) {
        let why = format!("host.rto {} is shorter than the lookahead of {}", rto.initial, Duration(ahead));
        return Ok((EngineChoice::Sequential, why));
    }
    let graph = &scenario.graph;
    let rate = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(0);
    let frame = f64::from(scenario.framing.payload + scenario.framing.header);
    let frames = ahead as f64 * 1e-12 * rate as f64 / (8.0 * frame);
    if frames < LEAST_FRAMES {
        let why =
            format!("lookahead {}: {frames:.2} frames per port and window, fewer than {LEAST_FRAMES}", Duration(ahead));
        return Ok((EngineChoice::Sequential, why));
    }
    let reaction = scenario.switch.pfc.map_or(0, |p| p.reaction.0);
    let longest = graph.ports.iter().map(|p| p.delay.0).max().unwrap_or(0).max(reaction);
    if longest / ahead > MOST_SPREAD || ahead > u64::from(u32::MAX) {
        let why = format!("longest link {} against a lookahead of {}", Duration(longest), Duration(ahead));
        return Ok((EngineChoice::Sequential, why));
    }
    Ok((EngineChoice::Windowed, format!("lookahead {}: {frames:.1} frames per port and window", Duration(ahead))))
}

pub(super) fn kind_name(engine: EngineChoice) -> &'static str {
    if engine == EngineChoice::Windowed { "windowed" } else { "sequential" }
}
