//! One switch and its hosts.

use paceline_proto::units::{BitsPerSec, Duration};

use super::{Builder, check};
use crate::InputError;
use crate::graph::{Side, Topology};

/// `hosts` (2 to 65535) hosts 0..hosts, each on a link of `rate` and `delay` to switch `hosts`.
///
/// # Errors
/// A count, rate or delay out of range, by argument name.
pub fn star(hosts: u32, rate: BitsPerSec, delay: Duration) -> Result<Topology, InputError> {
    check::hosts("hosts", hosts.into())?;
    check::ports("hosts", hosts.into())?;
    check::rate("rate", rate)?;
    check::delay("delay", delay)?;
    let mut b = Builder::with_hosts(hosts);
    let switch = b.switches(1, 1);
    b.racks(0, switch, 1, hosts, Side { rate, delay });
    Ok(b.topology)
}
