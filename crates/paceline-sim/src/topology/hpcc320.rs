//! The network of the HPCC paper's simulations.

use paceline_proto::units::{BitsPerSec, Duration};

use super::{ThreeTier, three_tier};
use crate::InputError;
use crate::graph::{Side, Topology};

/// The tree of HPCC (SIGCOMM 2019, section 5.1): 320 hosts on 100 Gb/s, 20 top-of-rack, 20 aggregation and 16 core switches on 400 Gb/s,
/// 1 us per link. Same node ids and link order as the topology file published with the paper.
///
/// # Errors
/// None in practice: the shape is fixed.
pub fn hpcc_fat320() -> Result<Topology, InputError> {
    let shape = ThreeTier { pods: 5, tors_per_pod: 4, aggs_per_pod: 4, cores_per_agg: 4, hosts_per_tor: 16 };
    let delay = Duration::from_us(1);
    let host = Side { rate: BitsPerSec(100_000_000_000), delay };
    three_tier(&shape, host, Side { rate: BitsPerSec(400_000_000_000), ..host })
}
