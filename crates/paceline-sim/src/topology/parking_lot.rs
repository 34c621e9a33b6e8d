//! A chain of switches that one long flow crosses whole while a cross flow loads each hop.

use paceline_proto::units::{BitsPerSec, Duration};

use super::{Builder, check};
use crate::InputError;
use crate::graph::{Side, Topology};

/// Longest chain: the long pair's path, with its two host links, stays within 255 links.
const MAX_HOPS: u32 = 253;

/// A chain of `hops` (1 to 253) links between `hops + 1` switches.
///
/// Host 0 (first switch) to host 1 (last switch) is the long pair; host `2 + 2 i` (switch i) to host `3 + 2 i` (switch i + 1) is the cross
/// pair of hop i. Chain links have `chain_rate` and `chain_delay`, all others `host_rate` and `host_delay`.
///
/// # Errors
/// A count, rate or delay out of range, by argument name.
pub fn parking_lot(
    hops: u32,
    host_rate: BitsPerSec,
    chain_rate: BitsPerSec,
    host_delay: Duration,
    chain_delay: Duration,
) -> Result<Topology, InputError> {
    check::count("hops", hops, 1)?;
    if hops > MAX_HOPS {
        let error = InputError::new("longer than any path may be").field("hops").value(hops);
        return Err(error.allowed(format!("1 to {MAX_HOPS}")));
    }
    check::rate("host_rate", host_rate)?;
    check::rate("chain_rate", chain_rate)?;
    check::delay("host_delay", host_delay)?;
    check::delay("chain_delay", chain_delay)?;
    let mut b = Builder::with_hosts(2 + 2 * hops);
    let first = b.switches(hops + 1, 1);
    let host = Side { rate: host_rate, delay: host_delay };
    b.link(0, first, host);
    b.link(1, first + hops, host);
    for i in 0..hops {
        b.link(2 + 2 * i, first + i, host);
        b.link(3 + 2 * i, first + i + 1, host);
    }
    for i in 0..hops {
        b.link(first + i, first + i + 1, Side { rate: chain_rate, delay: chain_delay });
    }
    Ok(b.topology)
}
