//! TCP: connections as pure state machines.
//!
//! A [`Connection`] is one end. It is told what arrives ([`Connection::on_segment`]), that time has passed
//! ([`Connection::on_timeout`]) and what its application does (`write`, `read`, `close`), and asked what to send
//! ([`Connection::poll_transmit`], after each of these until it says `None`) and when to come back
//! ([`Connection::next_timeout`]). What all connections of a stack share is passed in as a [`Context`].
//!
//! | file | concept | source |
//! |---|---|---|
//! | `connection` | opening, closing, what happens on an arrival or a timer | RFC 9293 |
//! | `transmit` | what leaves next: windows, Nagle, bursts, pacing, probes of a closed window | RFC 9293, RFC 3042 |
//! | `acknowledged` | what an ACK does to the sender | RFC 5681, RFC 6582, RFC 6675, RFC 3168 |
//! | `sender`, `recovery`, `sack` | the sender's positions, its loss recovery, its scoreboard | |
//! | `prr` | how much may leave during a recovery | RFC 9937 |
//! | `receiver`, `delayed_ack` | reassembly, announced window, when an ACK leaves | RFC 9293, RFC 2018, RFC 7323 |
//! | `rto`, `timers` | round-trip time and timeout | RFC 6298 |
//! | `marked` | round trips as FreeBSD's Vegas has them timed | FreeBSD |
//! | `host` | all connections of a host behind one link | |
//! | `cache` | what a new connection inherits | FreeBSD |
//!
//! How the window grows and shrinks is a controller's business ([`crate::cc`]).
//!
//! *Not modelled:* resets, simultaneous opening, urgent data, PAWS, D-SACK, path MTU discovery, SYN cookies, checksums;
//! windows are announced in bytes, without the rounding of window scaling.

mod acknowledged;
mod cache;
mod connection;
mod delayed_ack;
mod host;
mod marked;
mod params;
mod prr;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod sack;
mod segment;
mod sender;
mod timers;
mod transmit;

#[cfg(test)]
mod testing;

pub use cache::CacheEntry;
pub use connection::{Connection, Context, Counters, Outcome, State};
pub use host::{Host, is_ect, is_opening};
pub use params::{Buffer, DelayedAck, InheritCwnd, InitialWindow, Pacing, Params, Rto};
pub use segment::{Flags, SACK_BLOCKS, SackBlocks, Segment, Timestamps};
