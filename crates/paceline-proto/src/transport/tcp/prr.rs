//! Proportional rate reduction: how much may leave during a recovery, so that what is in the network comes down to the new
//! window step by step, and not by a silence and a burst.
//!
//! Source: RFC 9937 (2025; RFC 6937 before it). Counted in bytes; what the proportion allows is rounded up to whole segments, as in the
//! RFC's example. *Deviation:* only with SACK; a congestion mark reduces the window at once.

/// One recovery.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// The window aimed at (`ssthresh`), bytes.
    target: u64,
    /// What was in the network when the recovery began (`RecoverFS`), bytes, above 0.
    flight: u64,
    /// Delivered since then.
    delivered: u64,
    /// Sent since then.
    out: u64,
    /// May be sent until the next ACK (`sndcnt`).
    pub allowance: u64,
    /// Below this everything missing counted as lost at the last ACK.
    pub lost_edge: u64,
}

/// What an ACK says during a recovery.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes that have arrived by what it says, and had not before (`DeliveredData`).
    pub bytes: u64,
    /// Estimate of what is in the network after it, bytes.
    pub pipe: u64,
    /// It acknowledges more of the stream, and tells of no further loss (`SafeACK`).
    pub safe: bool,
}

impl Prr {
    /// A recovery that begins with `flight` bytes in the network and is to end with `target`.
    pub fn new(target: u64, flight: u64) -> Self {
        Self { target, flight: flight.max(1), delivered: 0, out: 0, allowance: 0, lost_edge: 0 }
    }

    /// An ACK of the recovery, the one that began it included.
    pub fn on_ack(&mut self, ack: Delivery, mss: u64) {
        if ack.bytes == 0 {
            return;
        }
        self.delivered += ack.bytes;
        self.allowance = if ack.pipe > self.target {
            let share = (u128::from(self.delivered) * u128::from(self.target)).div_ceil(u128::from(self.flight));
            u64::try_from(share).unwrap_or(u64::MAX).div_ceil(mss).saturating_mul(mss).saturating_sub(self.out)
        } else {
            let catch_up = self.delivered.saturating_sub(self.out).max(ack.bytes) + if ack.safe { mss } else { 0 };
            catch_up.min(self.target - ack.pipe)
        };
    }

    /// So many bytes have been sent, again or for the first time.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However ACKs come in, a recovery whose losses are all known at once ends with the window aimed at in the network, and never
        /// has more than that was, or than there was at first.
        #[test]
        fn ends_at_the_target(segments in 4u64..300, lost in 1u64..200, share in 1u64..10) {
            let (mss, lost) = (1000, lost.min(segments - 2));
            let target = (segments * share / 10).max(1) * mss;
            let mut prr = Prr::new(target, segments * mss);
            let mut pipe = (segments - lost) * mss;
            // A window's worth of ACKs, then one for each segment sent.
            let mut coming = segments - lost;
            for _ in 0..4 * segments {
                if coming == 0 {
                    break;
                }
                coming -= 1;
                pipe -= mss;
                prr.on_ack(Delivery { bytes: mss, pipe, safe: true }, mss);
                while prr.allowance >= mss {
                    prr.on_sent(mss);
                    pipe += mss;
                    coming += 1;
                }
                prop_assert!(pipe <= target.max((segments - lost) * mss));
            }
            prop_assert_eq!(pipe, target);
        }
    }

    /// However large the window, a recovery from it is no silence: while more is in the network than the target, data leave in
    /// proportion to what arrives. Products of bytes pass 32 bits from windows of 64 KB on.
    #[test]
    fn data_leave_in_proportion_from_any_window() {
        let mss = 1448;
        for segments in [20, 200, 700_000] {
            let (flight, target) = (segments * mss, segments * mss * 7 / 10);
            let mut prr = Prr::new(target, flight);
            let (mut acks, mut out) = (0, 0);
            while flight + out * mss > target + (acks + 1) * mss {
                acks += 1;
                prr.on_ack(Delivery { bytes: mss, pipe: flight + out * mss - acks * mss, safe: false }, mss);
                while prr.allowance >= mss {
                    prr.on_sent(mss);
                    out += 1;
                }
                assert_eq!(out, (7 * acks).div_ceil(10), "after {acks} of {segments}");
            }
            assert!(acks >= segments - 10, "{acks} of {segments}");
        }
    }

    /// Losses that show late bring what is in the network below the target at once. What the reduction has held back until then leaves in
    /// their place (`prr_delivered - prr_out`), also with an ACK that acknowledges no more of the stream.
    #[test]
    fn what_was_held_back_makes_up_for_later_losses() {
        let mss = 1000;
        let mut prr = Prr::new(10 * mss, 20 * mss);
        for arrived in 1..=10 {
            prr.on_ack(Delivery { bytes: mss, pipe: (20 - arrived + arrived / 2) * mss, safe: false }, mss);
            prr.on_sent(prr.allowance);
        }
        // Ten have arrived and five left: fifteen under way, of which one arrives and eight turn out to be lost.
        prr.on_ack(Delivery { bytes: mss, pipe: 6 * mss, safe: false }, mss);
        assert_eq!(prr.allowance, 4 * mss);
    }
}
