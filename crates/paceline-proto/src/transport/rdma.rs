//! RDMA over a lossless or lossy network: a message per flow, one ACK per packet, go-back-N.
//!
//! Source: behaviour of the HPCC authors' simulator (RoCE-like reliable connection). Sequence numbers count packets, as
//! RoCE's do; the reference counts bytes in steps of a packet, which is the same thing.
//!
//! With chunks (`L2_BACK_TO_ZERO 1` of the reference) both ends go back to the start of a chunk
//! instead of to the missing packet; a message's last chunk, which may be shorter, is acknowledged as any other, which the
//! reference does not do.
//!
//! *Deviation:* a retransmission timeout, which the reference lacks (a flow whose last packets are lost hangs there), and an end for a flow
//! whose receiver asks for one packet for as long as all timeouts take; the host arms the one and counts the other, see `paceline_sim::host`.

use crate::units::{Duration, Time};

/// Sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// Next packet to send.
    pub snd_nxt: u32,
    /// Oldest unacknowledged packet.
    pub snd_una: u32,
    /// Packets of the message.
    pub packets: u32,
}

/// What an acknowledgement did to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acked {
    /// Nothing new.
    Old,
    /// The oldest unacknowledged packet moved on.
    Progress,
    /// The last packet is acknowledged.
    Finished,
}

impl Sender {
    /// A sender of `packets` packets.
    pub fn new(packets: u32) -> Self {
        Self { snd_nxt: 0, snd_una: 0, packets }
    }

    /// Whether there is a packet left to (re)send.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.snd_nxt < self.packets
    }

    /// Packets in flight. With the reference's NIC, where an ACK may overtake what is to be sent again, this may wrap around: its window is then
    /// closed.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.snd_nxt.wrapping_sub(self.snd_una)
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub fn on_ack(&mut self, ack: u32) -> Acked {
        let ack = ack.min(self.packets);
        if ack <= self.snd_una {
            return Acked::Old;
        }
        self.snd_una = ack;
        // After a rewind an ACK of an earlier copy may overtake what is about to be sent again.
        self.snd_nxt = self.snd_nxt.max(ack);
        if ack == self.packets { Acked::Finished } else { Acked::Progress }
    }

    /// What an acknowledgement is worth where both ends go back to multiples of `chunk` packets: its whole chunks.
    pub fn whole_chunks(&self, ack: u32, chunk: u32) -> u32 {
        if ack >= self.packets { ack } else { ack - ack % chunk }
    }

    /// Goes back to the oldest unacknowledged packet. Returns how many packets will be sent again.
    pub fn rewind(&mut self) -> u32 {
        let again = self.snd_nxt.saturating_sub(self.snd_una);
        self.snd_nxt = self.snd_una;
        again
    }
}

/// Receiving half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    /// Next packet expected.
    pub expected: u32,
    /// The packet the last NACK asked for, plus one; 0 when there was none.
    last_nack: u32,
    /// No second NACK for the same packet before this instant.
    nack_again: Time,
}

/// What the receiver answers a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Acknowledge everything below.
    Ack(u32),
    /// Ask for this packet.
    Nack(u32),
    /// Say nothing: a duplicate, or a gap already reported.
    Silence,
}

impl Receiver {
    /// A data packet arrived.
    ///
    /// `interval`: how long until a NACK for the same packet is repeated (500 us in the reference). `answer_duplicates`:
    /// acknowledge packets below the expected one again instead of dropping them silently as the reference does; needed
    /// with a retransmission timeout, where the lost packet may have been the ACK. `chunk`: a gap that is reported takes
    /// back what came of its chunk of this many packets; 0 and 1: nothing.
    #[inline]
    pub fn on_data(&mut self, now: Time, seq: u32, interval: Duration, answer_duplicates: bool, chunk: u32) -> Reply {
        if seq == self.expected {
            self.expected += 1;
            return Reply::Ack(self.expected);
        }
        if seq < self.expected {
            return if answer_duplicates { Reply::Ack(self.expected) } else { Reply::Silence };
        }
        if now >= self.nack_again || self.last_nack != self.expected + 1 {
            self.nack_again = now + interval;
            self.last_nack = self.expected + 1;
            if chunk > 1 {
                self.expected -= self.expected % chunk;
            }
            return Reply::Nack(self.expected);
        }
        Reply::Silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Duration = Duration::from_us(500);

    #[test]
    fn a_gap_is_reported_once_per_interval() {
        let mut r = Receiver::default();
        assert_eq!(r.on_data(Time(0), 1, INTERVAL, false, 0), Reply::Nack(0));
        assert_eq!(r.on_data(Time(1), 2, INTERVAL, false, 0), Reply::Silence);
        assert_eq!(r.on_data(Time(500_000_000), 3, INTERVAL, false, 0), Reply::Nack(0));
        assert_eq!(r.on_data(Time(500_000_001), 0, INTERVAL, false, 0), Reply::Ack(1));
        // A new gap is reported at once.
        assert_eq!(r.on_data(Time(500_000_002), 4, INTERVAL, false, 0), Reply::Nack(1));
    }

    /// Packets 0 to 5 have come, 6 is lost, chunks have 4 packets: both ends go back to 4, and what the receiver has beyond
    /// that is worth nothing until the chunk is whole.
    #[test]
    fn a_loss_goes_back_to_the_start_of_its_chunk() {
        let (mut s, mut r) = (Sender { snd_nxt: 8, snd_una: 0, packets: 10 }, Receiver::default());
        for seq in 0..6 {
            assert_eq!(r.on_data(Time(0), seq, INTERVAL, false, 4), Reply::Ack(seq + 1));
            s.on_ack(s.whole_chunks(seq + 1, 4));
        }
        assert_eq!((s.snd_una, r.on_data(Time(0), 7, INTERVAL, false, 4)), (4, Reply::Nack(4)));
        assert_eq!((s.on_ack(s.whole_chunks(4, 4)), s.rewind(), s.snd_nxt), (Acked::Old, 4, 4));
        let reply = (4..10).map(|seq| r.on_data(Time(0), seq, INTERVAL, false, 4)).last();
        assert_eq!(reply, Some(Reply::Ack(10)));
        assert_eq!(s.on_ack(s.whole_chunks(10, 4)), Acked::Finished);
    }

    proptest! {
        /// Over a wire that loses a third of everything in both directions the message still arrives, in order, when the
        /// sender goes back on NACKs and on silence.
        #[test]
        fn go_back_n_delivers_over_a_lossy_wire(
            packets in 1u32..60,
            losses in prop::collection::vec(0u8..3, 4000),
            chunk in 0u32..6,
        ) {
            let (mut s, mut r) = (Sender::new(packets), Receiver::default());
            let mut lost = losses.iter().cycle().map(|x| *x == 0);
            let mut now = 0;
            let mut rounds = 0;
            while s.snd_una < packets {
                rounds += 1;
                prop_assert!(rounds < 10_000, "no progress");
                now += 1_000_000;
                if !s.has_data() {
                    s.rewind();
                }
                let seq = s.snd_nxt;
                s.snd_nxt += 1;
                if lost.next().unwrap() {
                    continue;
                }
                let reply = r.on_data(Time(now), seq, INTERVAL, true, chunk);
                if lost.next().unwrap() {
                    continue;
                }
                let whole = |a| s.whole_chunks(a, chunk.max(1));
                match reply {
                    Reply::Ack(a) => { s.on_ack(whole(a)); }
                    Reply::Nack(a) => { s.on_ack(whole(a)); s.rewind(); }
                    Reply::Silence => {}
                }
            }
            prop_assert_eq!(r.expected, packets);
        }
    }
}
