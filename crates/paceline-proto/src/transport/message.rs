//! The interface of host-wide message transports: what the NIC asks, what packets say.
//!
//! Such a transport is one object per host, because grants, pulls and shortest-first service look at all of a host's
//! messages. It never sees a clock, a queue or another host. Messages are addressed by dense numbers per host, *slots*:
//! the engine gives a message one slot at its sender and one at its receiver and translates [`Header::flow`] between them.
//! The receiver learns of a message by its first packet; every packet of a sender carries the message's length.

use crate::units::{Duration, Time};

/// What a packet is. In brackets who sends it, and what [`Header::seq`] and [`Header::ext`] say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Payload, or a trimmed header of it (sender: packet, message length in bytes).
    Data,
    /// A packet arrived (receiver: packet; NDP: cumulative pull counter, if [`PULLS`] is set).
    Ack,
    /// A packet was trimmed (NDP receiver: packet, cumulative pull counter if [`PULLS`] is set).
    Nack,
    /// Send one more for each step of the counter (NDP receiver: unused, cumulative pull counter).
    Pull,
    /// Send one more scheduled packet for each step of the counter (Homa receiver: cumulative grants, priority of the data).
    Grant,
    /// Send again (Homa receiver: first packet, packets asked for in the low 32 bits and priority above them).
    Resend,
    /// Alive, sending something else (Homa sender: unused, message length), or known, waiting (Homa receiver).
    Busy,
    /// Has all of it arrived? (Homa sender: unused, message length).
    NeedAck,
    /// All of it has arrived (Homa receiver: unused; NDP receiver, to what comes after that: packet).
    Done,
    /// End of the unscheduled packets, or a request where there are none (sender: how many there were, message length).
    Probe,
    /// The probe has arrived (receiver: what the probe said).
    ProbeAck,
    /// Asks for credits (ExpressPass sender; see [`express_pass`](super::express_pass) for the fields).
    CreditRequest,
    /// Permits one data packet (ExpressPass receiver).
    Credit,
    /// Asks for no more credits (ExpressPass sender).
    CreditStop,
    /// Payload that nobody answers (UDP sender: datagram, bytes of all datagrams of the flow).
    Datagram,
}

impl Kind {
    /// All kinds, each at the place of its number.
    pub const ALL: [Kind; 15] = [
        Kind::Data,
        Kind::Ack,
        Kind::Nack,
        Kind::Pull,
        Kind::Grant,
        Kind::Resend,
        Kind::Busy,
        Kind::NeedAck,
        Kind::Done,
        Kind::Probe,
        Kind::ProbeAck,
        Kind::CreditRequest,
        Kind::Credit,
        Kind::CreditStop,
        Kind::Datagram,
    ];
}

/// [`Header::flags`]: unscheduled; switches may drop it selectively.
pub const UNSCHEDULED: u8 = 1;
/// [`Header::flags`]: the message's last packet.
pub const LAST: u8 = 2;
/// [`Header::flags`]: the payload has been cut off by a switch.
pub const TRIMMED: u8 = 4;
/// [`Header::flags`]: sent before.
pub const AGAIN: u8 = 8;
/// [`Header::flags`]: goes to the message's sender (everything a receiver says, and what a switch returns).
pub const TO_SENDER: u8 = 16;
/// [`Header::flags`]: the answer is a pull as well.
pub const PULLS: u8 = 32;
/// [`Header::flags`]: a grant was spent on this packet (Homa).
pub const GRANTED: u8 = 64;
/// [`Header::flags`], set on arrival: the packet met congestion.
pub const CE: u8 = 128;

/// Words that travel beside a header that does not say all (TCP's options and numbers).
pub type Extra = [u64; 6];

/// Slots are below this; a receiver ignores packets with larger ones.
pub const MAX_SLOTS: u32 = 1 << 24;

/// A packet as plain data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// 0, the highest, to 7.
    pub priority: u8,
    /// [`UNSCHEDULED`], [`LAST`], [`TRIMMED`], [`AGAIN`], [`TO_SENDER`], [`PULLS`], [`GRANTED`].
    pub flags: u8,
    /// Bytes of the frame as buffers count it; what the wire adds is the engine's business.
    pub size: u16,
    /// Slot of the message at the host that makes or reads the header.
    pub flow: u32,
    /// The other host.
    pub peer: u32,
    /// Packet number or counter, see [`Kind`].
    pub seq: u32,
    /// Message length in bytes or another number, see [`Kind`].
    pub ext: u64,
}

const _: () = assert!(size_of::<Header>() == 32);

impl Header {
    /// Whether the flag is set.
    #[inline]
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Sizes of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Payload of a full packet, bytes, 1 to 65,000.
    pub payload: u32,
    /// Headers of a data packet, bytes.
    pub header: u32,
    /// A frame without payload, trimmed data included, bytes; also the smallest data frame.
    pub control: u32,
    /// The last packet of a message is sent full size whatever it carries, as htsim does.
    pub full_last: bool,
}

impl Sizes {
    /// 1460 bytes of payload, 1518 per full frame, 64 per control frame (1538 and 84 with preamble and gap; facts 0).
    pub const ETHERNET: Sizes = Sizes { payload: 1460, header: 58, control: 64, full_last: false };
    /// 9000 bytes of payload in 9064, all packets full, 64 per control frame (htsim's NDP; facts 0 and 7).
    pub const HTSIM: Sizes = Sizes { payload: 9000, header: 64, control: 64, full_last: true };
    /// 1000 bytes of payload in 1048, 60 per control frame (the HPCC simulator's).
    pub const HPCC: Sizes = Sizes { payload: 1000, header: 48, control: 60, full_last: false };

    /// Packets of a message: at least one, at most 2^32 - 2, beyond which a message cannot be described.
    #[inline]
    pub fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.payload.max(1))).clamp(1, u64::from(u32::MAX - 1)) as u32
    }

    /// Payload bytes of one of a message's packets.
    #[inline]
    pub fn payload_of(&self, bytes: u64, seq: u32) -> u32 {
        let before = u64::from(seq) * u64::from(self.payload);
        bytes.saturating_sub(before).min(u64::from(self.payload)) as u32
    }

    /// Bytes of the frame that carries one of a message's packets.
    #[inline]
    pub fn frame(&self, bytes: u64, seq: u32) -> u16 {
        let payload = if self.full_last { self.payload } else { self.payload_of(bytes, seq) };
        (payload + self.header).clamp(self.control, u32::from(u16::MAX)) as u16
    }

    /// Bytes of a frame without payload.
    #[inline]
    pub fn control_frame(&self) -> u16 {
        self.control.min(u32::from(u16::MAX)) as u16
    }

    /// Bytes of a full data frame.
    pub fn full(&self) -> u32 {
        (self.payload + self.header).min(u32::from(u16::MAX))
    }
}

/// [`Message::bytes`] of a stream: it is given its bytes by [`Endpoint::append`] and never ends.
pub const STREAM: u64 = u64::MAX;

/// A message to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Receiving host.
    pub peer: u32,
    /// Length, bytes, or [`STREAM`]. 0 is sent as one packet without payload.
    pub bytes: u64,
    /// Number of the message; orders messages that are otherwise equal.
    pub id: u64,
    /// Number of its scheme, where hosts have several (TCP).
    pub scheme: u16,
}

/// What an arriving packet meant for its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Payload bytes that arrived, or were acknowledged, for the first time.
    pub fresh: u32,
    /// What became complete.
    pub end: End,
}

/// What a packet completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum End {
    /// Nothing.
    #[default]
    None,
    /// The receiver has every byte of the message in [`Header::flow`]. Reported once.
    Delivered,
    /// The sender knows that all has arrived; it has forgotten the message.
    Finished,
}

impl Counters {
    /// Adds what another host has counted.
    pub fn add(&mut self, other: &Counters) {
        let Counters {
            data,
            unscheduled,
            again,
            duplicates,
            probes,
            permits,
            timeouts,
            returned,
            wasted_permits,
            blind_stops,
            lost_credits,
            fast_retransmits,
            ignored_duplicates,
            ecn_reductions,
            late_acks,
            inherited,
            largest_window,
            longest_rtt,
            lifted,
        } = other;
        self.data += data;
        self.unscheduled += unscheduled;
        self.again += again;
        self.duplicates += duplicates;
        self.probes += probes;
        self.permits += permits;
        self.timeouts += timeouts;
        self.returned += returned;
        self.wasted_permits += wasted_permits;
        self.blind_stops += blind_stops;
        self.lost_credits += lost_credits;
        self.fast_retransmits += fast_retransmits;
        self.ignored_duplicates += ignored_duplicates;
        self.ecn_reductions += ecn_reductions;
        self.late_acks += late_acks;
        self.inherited += inherited;
        self.largest_window = self.largest_window.max(*largest_window);
        self.longest_rtt = self.longest_rtt.max(*longest_rtt);
        self.lifted |= lifted;
    }
}

/// What a host counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Data packets sent, copies included.
    pub data: u64,
    /// Of these, unscheduled.
    pub unscheduled: u64,
    /// Of these, sent before.
    pub again: u64,
    /// Data packets that had arrived before.
    pub duplicates: u64,
    /// Probes sent.
    pub probes: u64,
    /// Grants or pulls sent.
    pub permits: u64,
    /// Timeouts that made a host send something, at senders and at receivers.
    pub timeouts: u64,
    /// Trimmed packets that came back to their sender.
    pub returned: u64,
    /// Credits, grants and pulls that found nothing to send.
    pub wasted_permits: u64,
    /// Credit stops sent before the round trip was known (ExpressPass).
    pub blind_stops: u64,
    /// Credits lost in front of their receiver's own link (ExpressPass).
    pub lost_credits: u64,
    /// Entries into fast recovery (TCP).
    pub fast_retransmits: u64,
    /// Third duplicate ACKs that started none, since an earlier reduction covers what they acknowledge (TCP).
    pub ignored_duplicates: u64,
    /// Windows reduced for congestion marks (TCP).
    pub ecn_reductions: u64,
    /// ACKs that the timer of delayed ACKs sent (TCP).
    pub late_acks: u64,
    /// Connections that began with what earlier ones to the same host had left (TCP).
    pub inherited: u64,
    /// Largest congestion window, bytes (TCP).
    pub largest_window: u64,
    /// Longest round trip that an ACK of data told (TCP).
    pub longest_rtt: Duration,
    /// A controller asked for a window below the least one (TCP).
    pub lifted: bool,
}

/// A host's end of a message transport.
///
/// The engine calls [`poll_transmit`](Endpoint::poll_transmit) whenever the transmitter is idle, after anything that
/// may have changed its answer (a start, a packet, a timeout), and [`on_timeout`](Endpoint::on_timeout) at
/// [`next_timeout`](Endpoint::next_timeout), which may be earlier than necessary and is never later.
pub trait Endpoint {
    /// Whether packets have [`Extra`] words.
    const EXTRA: bool = false;

    /// Starts sending a message in a sender's slot that is unused or whose message has finished.
    fn start(&mut self, now: Time, slot: u32, message: Message);

    /// `bytes` more follow in the stream of a sender's slot, as a message of their own. Only where there are streams (TCP).
    fn append(&mut self, _now: Time, _slot: u32, _bytes: u64) {}

    /// A packet arrives, [`Header::flow`] and [`Header::peer`] as this host knows them.
    fn on_packet(&mut self, now: Time, header: &Header) -> Outcome;

    /// The same with the words beside the header.
    fn on_packet_with(&mut self, now: Time, header: &Header, _extra: &Extra) -> Outcome {
        self.on_packet(now, header)
    }

    /// A switch has told of congestion that a packet of a sender's slot met, in place of a mark. Only where windows can shrink (TCP).
    fn congested(&mut self, _now: Time, _slot: u32) {}

    /// A packet has come to the sender of a message that is over. Only where permits are counted that find nothing to send.
    fn on_late(&mut self, _kind: Kind, _flags: u8) {}

    /// The words beside the packet that [`poll_transmit`](Endpoint::poll_transmit) gave last.
    fn extra(&self) -> Extra {
        Extra::default()
    }

    /// A sender's slot whose message was given up in a timeout, until there is no more; it is free.
    fn take_failed(&mut self) -> Option<u32> {
        None
    }

    /// The receiver's slot will belong to another message; nothing of the old one arrives any more.
    fn forget(&mut self, slot: u32);

    /// The next packet for the wire.
    fn poll_transmit(&mut self, now: Time) -> Option<Header>;

    /// Whether there may be another packet at once, without a start, a packet or a timeout in between. Where there is none, a NIC
    /// does not ask in vain when the last one has left.
    fn has_more(&self) -> bool;

    /// Packets that will go after a while although nothing else happens: a shaper holds them back.
    fn held_back(&self) -> usize {
        0
    }

    /// When [`on_timeout`](Endpoint::on_timeout) wants to be called; [`Time::NEVER`] when there is nothing to wait for.
    fn next_timeout(&self) -> Time;

    /// The time has come.
    fn on_timeout(&mut self, now: Time);

    /// What has been counted so far.
    fn counters(&self) -> &Counters;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Engines write the kind as its number.
    #[test]
    fn kinds_are_at_the_places_of_their_numbers() {
        assert!(Kind::ALL.iter().enumerate().all(|(i, kind)| *kind as usize == i));
    }

    /// The sizes that other parts of the project and the reference simulators use (facts 0 and 7).
    #[test]
    fn frames_and_packets() {
        let s = Sizes::ETHERNET;
        assert_eq!((s.packets(0), s.packets(1460), s.packets(1461), s.packets(64_000)), (1, 1, 2, 44));
        assert_eq!((s.full() + 20, s.frame(64_000, 43), s.frame(1, 0), s.frame(0, 0)), (1538, 1278, 64, 64));
        assert_eq!((0..44).map(|seq| s.payload_of(64_000, seq)).sum::<u32>(), 64_000);
        assert_eq!((s.packets(u64::MAX), s.payload_of(10, u32::MAX)), (u32::MAX - 1, 0));
        let h = Sizes::HTSIM;
        assert_eq!((h.packets(2_000_000), h.frame(2_000_000, 222)), (223, 9064));
    }
}
