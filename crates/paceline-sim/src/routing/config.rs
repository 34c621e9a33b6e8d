//! What a scenario says of routing.

use paceline_proto::units::Duration;
use serde::{Deserialize, Serialize};

/// Path choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathChoice {
    /// Per-flow ECMP: a hash of the flow's tuple, salted per switch.
    FlowHash,
    /// Per-packet spraying, drawn at the source.
    Spray,
    /// Per flowlet: a flow's packets keep a path, drawn at the source, until the flow has paused.
    Flowlet,
    /// Per flow by the number of the destination among the hosts: flows to one host meet at one switch of the top.
    DModK,
    /// Per flow by the number of the source among the hosts.
    SModK,
}

impl PathChoice {
    /// Whether packets of one flow may take several paths.
    pub fn splits_flows(self) -> bool {
        matches!(self, Self::Spray | Self::Flowlet)
    }
}

/// Order in which equal next hops are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextHopOrder {
    /// By port number.
    Port,
    /// By descending node id, as the reference simulator does.
    DescendingId,
}

/// Routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingConfig {
    /// How one of several shortest paths is chosen.
    pub choice: PathChoice,
    /// Numbering of equal next hops.
    pub order: NextHopOrder,
    /// Added to each switch's id to salt its hash.
    pub salt: u32,
    /// Which NICs of two hosts a flow between them may use.
    pub nics: NicChoice,
    /// From how long a pause on a flow's packets take a path anew, with [`PathChoice::Flowlet`].
    pub flowlet_gap: Duration,
}

impl RoutingConfig {
    /// The pause that begins a flowlet, ps, where there are any.
    pub(crate) fn flowlets(&self) -> Option<u64> {
        (self.choice == PathChoice::Flowlet).then_some(self.flowlet_gap.0)
    }
}

/// Which NICs of hosts with several flows use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicChoice {
    /// All that reach each other.
    All,
    /// Where the two hosts have NICs at one switch, the fastest of these; else all.
    Nearest,
}
