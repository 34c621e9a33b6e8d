//! A TCP segment as plain data, and its 32-bit sequence numbers.
//!
//! On the wire a sequence number counts bytes modulo 2^32, as in TCP itself, and so fits the 32-bit field of an engine's
//! packet. Inside, positions are 64 bits and never wrap: [`expand`] finds the one position near a known one, which is
//! unambiguous while windows stay below 2^31 bytes. Connections may therefore carry any number of bytes.

use std::ops::{BitOr, BitOrAssign};

/// Position of every SYN. Its low 32 bits are 0, and nothing that can arrive expands to a position below 0.
pub const ISS: u64 = 1 << 32;

/// Blocks a SACK option can hold beside timestamps (RFC 2018, section 3).
pub const SACK_BLOCKS: usize = 3;

/// The position near `near` whose low 32 bits are `low`: less than 2^31 away.
#[inline]
pub fn expand(low: u32, near: u64) -> u64 {
    near.wrapping_add(i64::from(low.wrapping_sub(near as u32) as i32) as u64)
}

/// The bits of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flags(pub u16);

impl Flags {
    /// Opens a direction; takes one sequence number.
    pub const SYN: Flags = Flags(1);
    /// Closes a direction; takes one sequence number.
    pub const FIN: Flags = Flags(2);
    /// The acknowledgement number counts.
    pub const ACK: Flags = Flags(4);
    /// A message ends in this segment.
    pub const PSH: Flags = Flags(8);
    /// ECN-Echo: a packet with a congestion mark arrived (RFC 3168).
    pub const ECE: Flags = Flags(16);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(32);
    /// IP header: the sender understands congestion marks, ECT(0).
    pub const ECT: Flags = Flags(64);
    /// IP header: congestion met, CE.
    pub const CE: Flags = Flags(128);
    /// On a SYN: the sender of it understands SACK.
    pub const SACK_PERMITTED: Flags = Flags(256);
    /// No part of the byte stream: a probe for telemetry, to be reflected at once. `seq` is its number.
    pub const PROBE: Flags = Flags(512);
    /// A reflected probe.
    pub const PROBE_REPLY: Flags = Flags(1024);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These bits when `condition` holds, else none.
    #[inline]
    #[must_use]
    pub const fn when(self, condition: bool) -> Flags {
        if condition { self } else { Flags(0) }
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// The timestamps option (RFC 7323): clock ticks of the sender, and the last one of the peer's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Timestamps {
    /// `TSval`.
    pub value: u32,
    /// `TSecr`.
    pub echo: u32,
}

/// The SACK option: up to three received blocks `[start, end)` above the acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlocks {
    blocks: [(u32, u32); SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// Adds a block; beyond [`SACK_BLOCKS`] it is left out.
    pub fn push(&mut self, start: u64, end: u64) {
        if usize::from(self.len) < SACK_BLOCKS {
            self.blocks[usize::from(self.len)] = (start as u32, end as u32);
            self.len += 1;
        }
    }

    /// The blocks, the most recently changed one first.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len).min(SACK_BLOCKS)]
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A segment. SACK blocks and timestamps are rarely or cheaply needed; an engine may keep them beside its packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Segment {
    /// Sequence number of the first byte (of the SYN, of the FIN without data), modulo 2^32.
    pub seq: u32,
    /// Next byte expected from the peer, modulo 2^32.
    pub ack: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Bytes the sender of this can take beyond `ack`.
    pub window: u32,
    /// Flags of the TCP and of the IP header.
    pub flags: Flags,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK option.
    pub sack: SackBlocks,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Wrapping numbers lose nothing while the two ends are within 2 GiB of each other.
        #[test]
        fn positions_survive_the_wrap(near in ISS..1 << 60, distance in -(1i64 << 31) + 1..1 << 31) {
            let position = near.wrapping_add(distance as u64);
            prop_assert_eq!(expand(position as u32, near), position);
        }
    }
}
