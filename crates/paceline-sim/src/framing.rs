//! How large everything is on the wire.

use crate::error::InputError;

/// Sizes of everything on the wire, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Payload of a full data packet.
    pub payload: u32,
    /// Headers of a data packet, telemetry not counted.
    pub header: u32,
    /// Headers of an ACK or NACK, telemetry not counted.
    pub ack_header: u32,
    /// Smallest frame; shorter ones are padded.
    pub min_frame: u32,
    /// A PFC pause or resume frame.
    pub pfc_frame: u32,
    /// What the wire adds to every frame and no buffer counts (preamble, inter-frame gap).
    pub wire_overhead: u32,
}

/// What a scheme adds to the payload of data packets, beside the headers of [`Framing`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Bytes of telemetry in each of them.
    pub telemetry: u32,
    /// The last packet of a message is as long as a full one, whatever it carries.
    pub full_last: bool,
}

impl Framing {
    /// The HPCC reference simulator's sizes (hpcc-ns3 facts, section 4.2).
    pub const HPCC: Framing =
        Framing { payload: 1000, header: 48, ack_header: 46, min_frame: 60, pfc_frame: 43, wire_overhead: 0 };
    /// Ethernet with a 1460-byte payload: 1538 bytes on the wire for a full packet, 84 for a small one.
    pub const ETHERNET: Framing =
        Framing { payload: 1460, header: 58, ack_header: 58, min_frame: 64, pfc_frame: 64, wire_overhead: 20 };

    /// Bytes of the largest flow: packets are numbered by 32 bits.
    fn largest_flow(&self) -> u64 {
        u64::from(u32::MAX) * u64::from(self.payload)
    }

    /// Refuses a flow of so many bytes where it has more packets than there are numbers.
    ///
    /// # Errors
    /// The bytes and how many are allowed; the caller adds the place.
    pub fn fits(&self, bytes: u64) -> Result<(), InputError> {
        let most = self.largest_flow();
        if bytes <= most {
            return Ok(());
        }
        let allowed = format!("at most {most} B, 2^32 packets less one; or a larger framing.payload");
        Err(InputError::new("flow too large for the payload of a packet").value(bytes).allowed(allowed))
    }

    /// Packets of a message, and the payload of the last.
    pub fn split(&self, bytes: u64) -> (u64, u32) {
        let packets = bytes.div_ceil(u64::from(self.payload)).max(1);
        (packets, (bytes - (packets - 1) * u64::from(self.payload)) as u32)
    }
}
