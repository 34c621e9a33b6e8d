//! What holds for all flows of a controller, whatever its settings. Each controller says it in its own file.

use super::{hpcc, hpcc_pint, timely};

/// Over which transports a controller runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// Per packet, over RDMA. Controllers that live on marks or delays of every packet would never hear of anything over TCP.
    Rdma,
    /// Over a byte stream, TCP. A window of bytes means nothing to RDMA's go-back-N.
    Tcp,
    /// Over both: TCP feeds it one probe per round trip.
    Both,
}

/// What the packets of a scheme carry for its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Telemetry {
    /// Nothing.
    None,
    /// A record per switch ([`crate::telemetry::IntHop`]).
    Int,
    /// The largest utilisation of the path, one word ([`crate::pint`]).
    Pint,
    /// The time the packet was handed to the wire in ps, one word.
    SendTime,
}

impl Telemetry {
    /// Bytes it adds to every data packet and, echoed, to every ACK.
    pub fn bytes(self) -> u32 {
        match self {
            Telemetry::None => 0,
            Telemetry::Int => hpcc::HEADER_BYTES,
            Telemetry::Pint => hpcc_pint::HEADER_BYTES,
            Telemetry::SendTime => timely::HEADER_BYTES,
        }
    }
}

/// What a controller is, needs and does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Over which transports it runs.
    pub runs: Runs,
    /// What its packets carry.
    pub telemetry: Telemetry,
    /// It slows down for congestion marks of single packets, and for nothing else.
    pub needs_marks: bool,
    /// It reckons with the window, so that there must be one: HPCC measures queues against it.
    pub needs_window: bool,
    /// A new rate also moves the time of the next packet, as if the gap after the last one had been paced at it. Only HPCC does so
    /// (behaviour of its authors' simulator); elsewhere a rate counts from the next packet on.
    pub rate_moves_next_packet: bool,
    /// It has periodic timers.
    pub ticks: bool,
}

impl Profile {
    /// Over RDMA, and nothing further.
    pub const RDMA: Self = Self {
        runs: Runs::Rdma,
        telemetry: Telemetry::None,
        needs_marks: false,
        needs_window: false,
        rate_moves_next_packet: false,
        ticks: false,
    };
    /// Over TCP, and nothing further.
    pub const TCP: Self = Self { runs: Runs::Tcp, ..Self::RDMA };
}

/// Parameters of a controller.
pub trait Algorithm {
    /// What holds whatever they are.
    const PROFILE: Profile;

    /// The lowest rate the controller goes down to, bit/s; `None` where nothing changes a rate.
    fn min_rate_mut(&mut self) -> Option<&mut u64> {
        None
    }
}
