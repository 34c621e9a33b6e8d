//! Two switches with hosts on either side of one bottleneck link.

use paceline_proto::units::{BitsPerSec, Duration};

use super::{Builder, check};
use crate::InputError;
use crate::graph::{Side, Topology};

/// Hosts 0..left on the left switch, the next `right` on the right one; the bottleneck is the last link.
///
/// # Errors
/// A count, rate or delay out of range, by argument name.
pub fn dumbbell(
    left: u32,
    right: u32,
    host_rate: BitsPerSec,
    bottleneck_rate: BitsPerSec,
    host_delay: Duration,
    bottleneck_delay: Duration,
) -> Result<Topology, InputError> {
    for (field, value) in [("left", left), ("right", right)] {
        check::count(field, value, 1)?;
        check::ports(&format!("{field} + 1"), u128::from(value) + 1)?;
    }
    check::rate("host_rate", host_rate)?;
    check::rate("bottleneck_rate", bottleneck_rate)?;
    check::delay("host_delay", host_delay)?;
    check::delay("bottleneck_delay", bottleneck_delay)?;
    let mut b = Builder::with_hosts(left + right);
    let near = b.switches(2, 1);
    let far = near + 1;
    let host = Side { rate: host_rate, delay: host_delay };
    b.racks(0, near, 1, left, host);
    b.racks(left, far, 1, right, host);
    b.link(near, far, Side { rate: bottleneck_rate, delay: bottleneck_delay });
    Ok(b.topology)
}
