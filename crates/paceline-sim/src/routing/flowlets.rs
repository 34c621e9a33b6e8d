//! Flowlets: what an end of a flow sends without a pause, all of which takes one path.
//!
//! Source: Vanini and others, "Let It Flow" (NSDI 2017), section 3. There the first switch tells flowlets apart; here the sender does, where
//! the pauses are the same, since what a host sends on its link keeps its order and distances.

/// Where an end of a flow is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flowlet {
    /// When it sent a packet last, ps; never as long as it has sent none.
    sent: u64,
    number: u32,
}

impl Default for Flowlet {
    fn default() -> Self {
        Self { sent: u64::MAX, number: 0 }
    }
}

impl Flowlet {
    /// A packet leaves: the number of its flowlet, from 0, and whether it is the first after a pause of `gap`, ps.
    pub(crate) fn next(&mut self, now: u64, gap: u64) -> (u32, bool) {
        let paused = now.saturating_sub(self.sent) >= gap;
        self.number = self.number.wrapping_add(u32::from(paused));
        self.sent = now;
        (self.number, paused)
    }

    /// The number of the flowlet of the last packet.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first packet begins none, however late it comes; a pause counts from the last packet, not from the first of a flowlet.
    #[test]
    fn pauses_begin_flowlets() {
        let mut flowlet = Flowlet::default();
        let numbers = [50, 59, 68, 78, 79, 95].map(|now| flowlet.next(now, 10).0);
        assert_eq!(numbers, [0, 0, 0, 1, 1, 2]);
    }
}
