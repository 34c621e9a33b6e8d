//! Range checks shared by the generators and by [`super::validate_topology`].

use paceline_proto::units::{BitsPerSec, Duration};

use super::{MAX_DELAY, MAX_LINKS, MAX_NODES, MAX_PORTS, MAX_RATE};
use crate::InputError;

/// A count given by the user, at least `min`. Upper limits come from [`nodes`], [`links`] and [`ports`].
pub(super) fn count(field: &str, value: u32, min: u32) -> Result<(), InputError> {
    if value < min {
        return Err(InputError::new("too few").field(field).value(value).allowed(format!("{min} or more")));
    }
    Ok(())
}

/// A link rate.
pub(super) fn rate(field: &str, rate: BitsPerSec) -> Result<(), InputError> {
    if rate.0 == 0 || rate > MAX_RATE {
        let problem = if rate.0 == 0 { "a link needs a rate" } else { "faster than any link" };
        return Err(InputError::new(problem).field(field).value(rate).allowed(format!("1bps to {MAX_RATE}")));
    }
    Ok(())
}

/// A propagation delay.
pub(super) fn delay(field: &str, delay: Duration) -> Result<(), InputError> {
    if delay > MAX_DELAY {
        return Err(InputError::new("delay too long").field(field).value(delay).allowed(format!("0ps to {MAX_DELAY}")));
    }
    Ok(())
}

/// Number of nodes; `formula` says how it follows from what the user gave.
pub(super) fn nodes(formula: &str, total: u128) -> Result<(), InputError> {
    limit("too many nodes", formula, total, MAX_NODES)
}

/// Number of links.
pub(super) fn links(formula: &str, total: u128) -> Result<(), InputError> {
    limit("too many links", formula, total, MAX_LINKS)
}

/// Number of ports of one node.
pub(super) fn ports(formula: &str, total: u128) -> Result<(), InputError> {
    limit("too many ports on one switch", formula, total, MAX_PORTS)
}

/// Number of hosts in the whole network: a flow needs two.
pub(super) fn hosts(formula: &str, total: u128) -> Result<(), InputError> {
    if total < 2 {
        return Err(InputError::new("a network needs two hosts").field(formula).value(total).allowed("2 or more"));
    }
    Ok(())
}

fn limit(problem: &str, formula: &str, total: u128, max: u64) -> Result<(), InputError> {
    if total > u128::from(max) {
        return Err(InputError::new(problem).field(formula).value(total).allowed(format!("at most {max}")));
    }
    Ok(())
}
