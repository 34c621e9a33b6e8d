//! The switch's side of Aeolus: unscheduled packets only take room that nobody needs.
//!
//! Source: proactive facts, section 4.3. A port drops an unscheduled packet on arrival when its queue is over a small
//! threshold, and everything else only when the buffer is full. The same effect is had from a commodity switch by RED
//! with both thresholds at K, where scheduled packets say they understand ECN (they are marked, and nobody reads the
//! mark) and unscheduled ones say they do not (they are dropped).
//!
//! Queues count what waits, not the packet being sent (as ns-2's do; NDP's ports count both).
//!
//! *Deviations:* none known. Whether K is compared before or after adding the packet, and with the port or the queue,
//! is not in the text at hand; both are parameters (facts 9.3: at most 5 % of effect).

use super::Verdict;

/// How the threshold is compared with the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Accounting {
    /// Dropped when the queue before the packet is at K or above. As RED sees it; at most K plus one packet are let in.
    #[default]
    Before,
    /// Dropped when the queue with the packet would be above K.
    After,
}

/// Which queue the threshold is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// All of the port's data queues together.
    #[default]
    Port,
    /// The packet's own queue.
    Queue,
}

/// Selective dropping at an egress port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SelectiveDrop {
    /// Threshold K, bytes of frames. Default 6144: 6 KB (Aeolus, section 6), which lets five frames of 1518
    /// bytes wait; 6000 B would let four.
    pub threshold: u32,
    /// Buffer of the port, bytes of frames. Default 204,800: 200 KB (Aeolus, section 6).
    pub limit: u32,
    /// How K is compared.
    pub accounting: Accounting,
    /// What K is compared with.
    pub scope: Scope,
}

impl Default for SelectiveDrop {
    fn default() -> Self {
        Self { threshold: 6 << 10, limit: 200 << 10, accounting: Accounting::Before, scope: Scope::Port }
    }
}

impl SelectiveDrop {
    /// Whether an arriving frame is let in. `port` and `queue` are the bytes waiting at the port and in the frame's queue.
    #[inline]
    pub fn admits(&self, port: u32, queue: u32, size: u32, unscheduled: bool) -> bool {
        let fits = u64::from(port) + u64::from(size) <= u64::from(self.limit);
        fits && !(unscheduled && self.over(port, queue, size))
    }

    #[inline]
    fn over(&self, port: u32, queue: u32, size: u32) -> bool {
        let level = match self.scope {
            Scope::Port => port,
            Scope::Queue => queue,
        };
        match self.accounting {
            Accounting::Before => level >= self.threshold,
            Accounting::After => u64::from(level) + u64::from(size) > u64::from(self.threshold),
        }
    }

    /// The same decision as a commodity switch takes it: RED with min = max = K on the instantaneous queue. `ect`: the
    /// frame says it understands ECN, as scheduled ones do and unscheduled ones do not.
    pub fn red(&self, port: u32, queue: u32, size: u32, ect: bool) -> Verdict {
        if u64::from(port) + u64::from(size) > u64::from(self.limit) {
            return Verdict::Drop;
        }
        match (self.over(port, queue, size), ect) {
            (false, _) => Verdict::Enqueue,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Drop,
        }
    }

    /// Frames of `size` bytes that fit between threshold and limit when unscheduled packets fill the queue to K: probes of
    /// that many new flows get through at the same instant.
    pub fn headroom_frames(&self, size: u32) -> u32 {
        self.limit.saturating_sub(self.threshold) / size.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Aeolus, section 6: about 3100 new flows at 200 KB, 6 KB and probes of 64 bytes.
    #[test]
    fn probes_of_three_thousand_flows_fit() {
        assert_eq!(SelectiveDrop::default().headroom_frames(64), 3104);
    }

    #[test]
    fn at_most_the_threshold_and_one_packet_of_a_burst_get_in() {
        for (accounting, most) in [(Accounting::Before, 5 * 1518), (Accounting::After, 4 * 1518)] {
            let port = SelectiveDrop { accounting, ..SelectiveDrop::default() };
            let mut queue = 0;
            while port.admits(queue, queue, 1518, true) {
                queue += 1518;
            }
            assert_eq!(queue, most);
            assert!(port.admits(queue, queue, 1518, false) && port.admits(204_736, 0, 64, false));
            assert!(!port.admits(204_737, 0, 64, false));
        }
        let own = SelectiveDrop { scope: Scope::Queue, ..SelectiveDrop::default() };
        assert!(own.admits(100_000, 0, 1518, true) && !SelectiveDrop::default().admits(100_000, 0, 1518, true));
    }

    proptest! {
        /// The commodity switch's settings and the direct rule let the same packets in.
        #[test]
        fn red_settings_equal_the_rule(port in 0u32..300_000, size in 1u32..9_100, share in 0.0f64..1.0, unscheduled: bool) {
            let queue = (f64::from(port) * share) as u32;
            for accounting in [Accounting::Before, Accounting::After] {
                for scope in [Scope::Port, Scope::Queue] {
                    let s = SelectiveDrop { accounting, scope, ..SelectiveDrop::default() };
                    let red = s.red(port, queue, size, !unscheduled) != Verdict::Drop;
                    prop_assert_eq!(s.admits(port, queue, size, unscheduled), red);
                }
            }
        }
    }
}
