//! What the hosts send: a stream of flows in start order.

use paceline_proto::units::Time;

use crate::graph::NodeId;

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
}

/// A stream of flows in order of start time; equal starts keep the order in which they come.
///
/// The position in the stream is the flow's id. Streams are lazy: they hold state per host, not per flow.
pub trait FlowSource: Send {
    /// The next flow, or `None` at the end.
    fn next_flow(&mut self) -> Option<FlowSpec>;
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
}

impl FlowSource for FlowTable {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let flow = self.flows.get(self.at).copied();
        self.at += 1;
        flow
    }
}
