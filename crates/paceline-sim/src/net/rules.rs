//! What all switch ports of a run have in common.

use paceline_proto::port::selective_drop::SelectiveDrop;
use paceline_proto::telemetry::IntUnits;
use paceline_proto::transport::tcp;

use super::UNRECORDED;
use crate::packet::{INT, Kind, Packet, UNSCHEDULED, Words};
use crate::scenario::{Scenario, Transport};

/// Which data packets understand congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ect {
    /// All: RDMA.
    All,
    /// Those that say so: TCP with ECN, and what is beside it.
    Said,
    /// None.
    None,
}

impl Ect {
    fn of(scenario: &Scenario) -> Self {
        let mut transports = scenario.schemes.iter().map(|s| &s.transport);
        if transports.clone().all(|t| *t == Transport::Rdma) {
            Ect::All
        } else if transports.any(Transport::takes_marks) {
            Ect::Said
        } else {
            Ect::None
        }
    }
}

/// Fixed from the start of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Place of each class among a port's histograms, or [`UNRECORDED`].
    pub(crate) class_slot: [u8; 8],
    /// What counts for a mark is all that waits at the port, not only in the packet's class.
    pub(crate) ecn_per_port: bool,
    /// Which data packets understand marks.
    ect: Ect,
    pub(crate) int_units: IntUnits,
    /// Some packets carry INT records.
    pub(crate) writes_int: bool,
    /// Bytes that may wait at a port.
    pub(crate) port_limit: u64,
    /// From the arrival of a PFC frame to its effect, ps.
    pub(crate) pfc_reaction: u64,
    /// Flag of the packets that ports drop selectively, 0 where they do not; and the rule.
    pub(crate) selective_mask: u8,
    pub(crate) selective: Option<SelectiveDrop>,
}

impl Rules {
    /// Those of a scenario, with INT's units scaled by `int_multiple` and room for `port_limit` bytes at every port.
    pub(crate) fn new(scenario: &Scenario, int_multiple: u64, port_limit: u64) -> Self {
        let switch = &scenario.switch;
        let int_units = IntUnits::new(int_multiple);
        Self {
            class_slot: [UNRECORDED; 8],
            ecn_per_port: switch.ecn.as_ref().is_some_and(|e| e.per_port),
            ect: Ect::of(scenario),
            int_units: if scenario.quirks.clock_1ns { int_units.with_wrapping_queue() } else { int_units },
            writes_int: scenario.uses_int(),
            port_limit,
            pfc_reaction: switch.pfc.map_or(0, |p| p.reaction.0),
            // Over RDMA nothing is unscheduled, and the flag says something else.
            selective_mask: if switch.selective.is_some() && Ect::of(scenario) != Ect::All { UNSCHEDULED } else { 0 },
            selective: switch.selective,
        }
    }

    /// Whether a packet understands marks: data over RDMA; of TCP, by the words beside it, new data of a connection with ECN, no
    /// retransmission (RFC 3168, section 6.1.5) and no probe, whose words are switches' records; nothing else.
    pub(crate) fn takes_mark(&self, packet: &Packet, words: Option<&Words>) -> bool {
        packet.kind == Kind::Data
            && match self.ect {
                Ect::All => true,
                Ect::None => false,
                Ect::Said => packet.flags & INT == 0 && words.is_some_and(|w| tcp::is_ect(w.0[3].0)),
            }
    }

    /// Whether the queues of a class are recorded: those of control packets only where data share their class.
    #[inline(always)]
    pub(crate) fn is_recorded(&self, class: u8) -> bool {
        class != 0 || self.class_slot[0] != UNRECORDED
    }
}
