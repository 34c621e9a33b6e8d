//! What the hosts send: a stream of flows in start order.
//!
//! Generators draw from named random streams keyed by the scenario's seed, the purpose, the workload's number and the
//! host or episode, so that adding a workload, or changing the scheme, leaves the flows of the others as they were.

use paceline_proto::units::{S, Time};

use crate::InputError;
use crate::graph::NodeId;

pub mod builtin;
pub mod cdf;
pub mod incast;
pub mod load;
pub mod merge;
pub mod on_off;
pub mod pattern;
pub mod poisson;
pub mod program;
pub mod rpc;
pub mod share;
pub mod table;

pub use builtin::{Builtin, builtin};
pub use cdf::{Cdf, Sampling, SizeLaw};
pub use incast::{Episodes, Incast, IncastConfig};
pub use load::{LoadBytes, LoadMean, LoadReference, rate_for_load};
pub use merge::Merge;
pub use on_off::{OnOff, OnOffConfig, WhileOn};
pub use pattern::{AllToAll, AllToAllConfig, Permutation, PermutationConfig, Shuffle};
pub use poisson::{Poisson, PoissonConfig};
pub use rpc::{Asks, Connections, Pick, Rpc, RpcConfig};
pub use share::{Crossing, Pairs, expected_share};
pub use table::{TableLimits, TableNames, group, read_table, save};

/// One flow to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSpec {
    /// When it starts at the sender.
    pub start: Time,
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Index into the scenario's schemes.
    pub scheme: u16,
    /// Index into the scenario's groups (one per workload).
    pub group: u16,
    /// Traffic class (priority) 1 to 7; 0 is for control frames only.
    pub class: u8,
    /// Destination port number of the flow's tuple (the reference's `dport`).
    pub dport: u16,
    /// Upper limit on the sending rate in bit/s; 0 means none.
    pub rate_cap: u64,
    /// The direction of a connection that this flow is, see [`rpc`]: it stays open and carries the messages it is given.
    /// 0: a flow of its own.
    pub stream: u32,
    /// Number of the NIC at either end, counted round those that reach the other end; a draw where it asks for none.
    pub nic: Option<u8>,
}

/// A stream of flows in order of start time; equal starts keep the order in which they come.
///
/// The position in the stream is the flow's id. Streams are lazy: they hold state per host, not per flow.
pub trait FlowSource: Send {
    /// The next flow, or `None` at the end.
    fn next_flow(&mut self) -> Option<FlowSpec>;
}

/// What the flows of a workload have in common, and what a flow table leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowDefaults {
    /// Index into the scenario's schemes.
    pub scheme: u16,
    /// Index into the scenario's groups.
    pub group: u16,
    /// Traffic class, 1 to 7.
    pub class: u8,
    /// Destination port number.
    pub dport: u16,
    /// Upper limit on the sending rate in bit/s; 0 means none.
    pub rate_cap: u64,
}

impl Default for FlowDefaults {
    /// First scheme and group, class 3 and port 100 as in the HPCC traffic generator, no cap.
    fn default() -> Self {
        Self { scheme: 0, group: 0, class: 3, dport: 100, rate_cap: 0 }
    }
}

impl FlowDefaults {
    /// A flow with these traits.
    pub fn flow(&self, start: Time, src: NodeId, dst: NodeId, bytes: u64) -> FlowSpec {
        let Self { scheme, group, class, dport, rate_cap } = *self;
        FlowSpec { start, src, dst, bytes, scheme, group, class, dport, rate_cap, stream: 0, nic: None }
    }

    /// Refuses class 0 (control frames) and classes above 7.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        if (1..=7).contains(&self.class) {
            return Ok(());
        }
        Err(InputError::new("no such traffic class for flows").field("class").value(self.class).allowed("1 to 7"))
    }
}

/// Latest start of a flow, as everywhere in a scenario. Near the end of the clock a run would go on for ever.
pub const LATEST_START: Time = Time(1000 * S);

/// Refuses a start after [`LATEST_START`].
pub(crate) fn not_too_late(start: Time) -> Result<Time, InputError> {
    if start <= LATEST_START {
        return Ok(start);
    }
    Err(InputError::new("starts too late").allowed(format!("at most {LATEST_START}")))
}

/// What an instant must be, for error messages.
pub(crate) const CLOCK: &str = "instants before 2^63 ps, about 106 days";

/// Number of a random stream: entities (hosts, episodes) of different workloads never share one.
pub(crate) fn stream_id(workload: u16, entity: u64) -> u64 {
    u64::from(workload) << 48 | entity & ((1 << 48) - 1)
}

/// A host list in ascending order, so that its order as given has no effect; refuses doubles and lists under `least`.
pub(crate) fn host_list(hosts: &[NodeId], field: &str, least: usize) -> Result<Vec<NodeId>, InputError> {
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(InputError::new("host listed twice").field(field).value(pair[0]));
    }
    if sorted.len() < least {
        let allowed = format!("at least {least}");
        return Err(InputError::new("too few hosts").field(field).value(sorted.len()).allowed(allowed));
    }
    Ok(sorted)
}

/// A given list of flows.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    flows: std::sync::Arc<Vec<FlowSpec>>,
    at: usize,
}

impl FlowTable {
    /// A source over `flows`, which must be in start order.
    pub fn new(flows: Vec<FlowSpec>) -> Self {
        debug_assert!(flows.is_sorted_by_key(|f| f.start));
        Self { flows: std::sync::Arc::new(flows), at: 0 }
    }

    /// All of them.
    pub fn flows(&self) -> &[FlowSpec] {
        &self.flows
    }
}

impl FlowSource for FlowTable {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let flow = self.flows.get(self.at).copied();
        self.at += 1;
        flow
    }
}
