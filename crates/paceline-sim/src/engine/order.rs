//! Which of two events at one node goes first when they fall in the same picosecond.
//!
//! By what they are: departures, then arrivals, then timers, then flow starts. Among equals a hash of (seed, node, port,
//! time) decides: total, the same for every engine and thread count, and no port wins systematically.

use paceline_proto::rng::hash3;

/// An event of the sequential engine: time, key among equal times, payload.
pub(super) type Event = (u64, u64, u64);

/// What an event is, in the order equal times are handled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// A transmitter takes its next packet.
    Departure,
    /// A packet arrives.
    Arrival,
    /// A timer runs out.
    Timer,
    /// A flow starts.
    Start,
}

/// Rank of an arrival among those at the same node and time.
#[inline]
pub fn tie(seed: u64, node: u32, port: u16, now: u64) -> u64 {
    hash3(seed, u64::from(node) << 16 | u64::from(port), now)
}

/// What [`hashed`] needs to know of an event: its rank, node and port.
#[inline]
pub fn place_key(rank: Rank, node: u32, port: u16) -> u64 {
    (rank as u64) << 62 | u64::from(node) << 16 | u64::from(port)
}

/// The key of an event at `now` that has this [`place_key`].
#[inline]
pub fn hashed(seed: u64, place: u64, now: u64) -> u64 {
    let (rank, place) = (place >> 62 << 62, place & ((1 << 62) - 1));
    rank | hash3(seed, place, now) >> 2
}

/// Key that orders events of equal time.
#[inline]
pub fn key(rank: Rank, tie: u64) -> u64 {
    (rank as u64) << 62 | tie >> 2
}
