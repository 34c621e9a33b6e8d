//! Quantized congestion notification (QCN, IEEE 802.1Qau): feedback from switches to rate limiters at the senders.
//!
//! A [`CongestionPoint`](crate::port::congestion_point::CongestionPoint) watches one output queue, samples arriving frames and answers some of them with a [`Feedback`], which a
//! congestion notification message (CNM) carries to the frame's sender. There a [`ReactionPoint`] limits the rate.
//!
//! Sources: the QCN pseudo-code of the 802.1 working group (Pan, version 2.x), the defaults of IEEE8021-CN-MIB, and the
//! state machine with the names `RPR_*` of the standard, as gathered in the facts on converged Ethernet, section 2.
//!
//! All is integer arithmetic but the decrease factor, which is one product of IEEE doubles: the same on every machine.

pub mod reaction_point;

pub use reaction_point::{ReactionPoint, ReactionPointParams, Stages};

/// Largest quantised feedback: six bits.
pub const MAX_LEVEL: u8 = 63;

/// A CNM on the wire, bytes without preamble and gap: the smallest Ethernet frame holds the 24 bytes of its message.
pub const CNM_FRAME: u32 = 64;

/// What a congestion notification message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// How congested the queue is, 1 to [`MAX_LEVEL`].
    pub level: u8,
    /// Set point minus queue, bytes (`cnmQOffset`): negative above the set point.
    pub offset: i64,
    /// Growth of the queue since the sample before, bytes (`cnmQDelta`).
    pub delta: i64,
}

/// A value within so many millionths of `middle`, drawn evenly by 64 random bits: the standard's U(0.85, 1.15) with 150,000.
pub(crate) fn around(middle: u64, millionths: u32, bits: u64) -> u64 {
    let half = u128::from(middle) * u128::from(millionths.min(1_000_000)) / 1_000_000;
    let drawn = (u128::from(bits >> 1) * (2 * half + 1)) >> 63;
    u64::try_from(u128::from(middle) - half + drawn).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
