//! Rules of ports: what becomes of an arriving packet, and what a free transmitter sends next.
//!
//! A rule belongs here when a port could keep it by itself: it is told what waits in the port's own queues, the time and the
//! packet, and answers with a verdict. The queues are the simulator's (`net/switch/special/` and `net/switch/congestion.rs` in
//! `paceline-sim`); what of them a rule has to remember is its own state. Some rules know the packets of the transport that
//! they were made for: trimming its headers, the credit shaper its sizes.
//!
//! Elsewhere are what ports write into packets and nothing hangs on at the port ([`crate::telemetry`], [`crate::pint`]) and what
//! a host does with what ports tell it ([`crate::qcn`], [`crate::cc`]). The simulator has what needs to know the whole switch,
//! its shared buffer and PFC, and beside them ECN's thresholds on the queue of the instant.
//!
//! | rule | of | drops | marks | orders |
//! | --- | --- | --- | --- | --- |
//! | [`red`] | RED on the average queue | packets without ECN, if set | yes | |
//! | [`selective_drop`] | Aeolus | unscheduled packets over a threshold | | |
//! | [`trimming`] | NDP | payloads; headers that do not fit | | headers before data, ten to one |
//! | [`credits`] | ExpressPass | credits over a queue's limit | | credits at their share of the link |
//! | [`congestion_point`] | QCN | | notifies the sender | |

pub mod congestion_point;
pub mod credits;
pub mod red;
pub mod selective_drop;
pub mod trimming;

/// What a rule does with an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Into the queue.
    Enqueue,
    /// Into the queue with a congestion mark.
    Mark,
    /// Away.
    Drop,
}
