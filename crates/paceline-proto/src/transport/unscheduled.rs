//! What a sender may send before its first credit, grant or pull, and how it repairs what of that was lost.
//!
//! Source: Aeolus (Hu et al., SIGCOMM 2020) as far as its sections 5 to 8 say it (proactive facts, section 4): packets of
//! the first round trip are *unscheduled*, dropped selectively by switches (see [`selective_drop`](crate::port::selective_drop)), acknowledged one by
//! one, followed by a probe, and repaired by *scheduled* packets. The same bookkeeping serves a plain burst, whose losses
//! the transport learns of in its own way, and no burst at all.
//!
//! *Deviations:* none known from the text at hand. What it leaves open is a parameter here: when the burst stops, the
//! order of repair, whether packets of unknown fate are sent again, whether an acknowledgement condemns earlier packets.

use super::packet_set::PacketSet;

/// What goes out before the receiver has spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unscheduled {
    /// Nothing but a request (ExpressPass).
    Wait,
    /// A burst, repaired by the transport's own means (Homa, NDP).
    #[default]
    Plain,
    /// A burst that switches may drop selectively, a probe behind it, an ACK per packet (Aeolus).
    Aeolus,
}

/// What ends a burst early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BurstStop {
    /// The first credit, grant or pull (proactive facts 4.4, from memory of the paper).
    FirstCredit,
    /// Nothing: the whole burst goes out. NDP needs it (facts 9.4: with a busy NIC the window would stay one packet).
    Never,
}

/// Which packet a credit, grant or pull is spent on first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RepairOrder {
    /// Known losses, then what was never sent (facts 4.4).
    #[default]
    LostFirst,
    /// What was never sent, then known losses. A variant: the paper's text at hand does not say.
    NewFirst,
}

/// How a sender behaves in the first round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BurstParams {
    /// What is sent at all.
    pub policy: Unscheduled,
    /// Longest burst, packets; 0 to 2^20. One bandwidth-delay product, see [`burst_packets`] (Aeolus section 4).
    pub packets: u32,
    /// What ends it early. Default by transport (facts 9.6): ExpressPass and Homa the first credit, NDP nothing.
    pub stop: BurstStop,
    /// Order of repair. Default [`RepairOrder::LostFirst`].
    pub order: RepairOrder,
    /// When nothing is known lost and nothing is unsent, send packets of unknown fate again. Default off (facts 9.6).
    pub resend_open: bool,
    /// An ACK of an unscheduled packet proves every earlier one lost of which nothing is known: right on a path that keeps
    /// order, wrong with spraying.
    pub ordered_path: bool,
}

impl BurstParams {
    /// The first packets of a message, however long, where a receiver answers to what it gets and nothing else announces it (Homa,
    /// NDP): so that a plain burst has at least one.
    pub fn announcing(&self) -> u32 {
        match self.policy {
            Unscheduled::Wait => 0,
            Unscheduled::Plain => self.packets.max(1),
            Unscheduled::Aeolus => self.packets,
        }
    }
}

/// Packets of a burst of one bandwidth-delay product, rounded up: 84 at 100 Gb/s, 10 us and 1500 bytes (Aeolus,
/// section 6). 0 for packets of no size.
pub fn burst_packets(bdp_bytes: u64, packet_bytes: u32) -> u32 {
    if packet_bytes == 0 { 0 } else { bdp_bytes.div_ceil(u64::from(packet_bytes)).min(1 << 20) as u32 }
}

/// Where a message's probe stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    /// The burst goes on, or the policy has no probe.
    No,
    Owed,
    Sent,
    Answered,
}

/// Which of its packets a sender has sent, and what it knows about them.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    packets: u32,
    /// First packet never sent.
    next_new: u32,
    /// The burst is the packets below.
    burst_end: u32,
    /// Sent unscheduled, fate unknown.
    open: PacketSet,
    /// Known lost, to be sent again.
    lost: PacketSet,
    probes: bool,
    probe: Probe,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            packets: 0,
            next_new: 0,
            burst_end: 0,
            open: PacketSet::new(),
            lost: PacketSet::new(),
            probes: false,
            probe: Probe::No,
        }
    }
}

impl Scoreboard {
    /// Begins a message of `packets` packets, the first `burst` of which may go out at once; `probes` when a probe follows
    /// them (with a burst of 0 it is owed at once, as a request). Memory of an earlier message is reused.
    pub fn restart(&mut self, packets: u32, burst: u32, probes: bool) {
        self.open.clear();
        self.lost.clear();
        (self.packets, self.next_new, self.burst_end) = (packets, 0, burst.min(packets));
        (self.probes, self.probe) = (probes, Probe::No);
        self.end_burst_if_through();
    }

    fn end_burst_if_through(&mut self) {
        if self.next_new >= self.burst_end && self.probes && self.probe == Probe::No {
            self.probe = Probe::Owed;
        }
    }

    /// Whether unscheduled packets are left to send.
    #[inline]
    pub fn in_burst(&self) -> bool {
        self.next_new < self.burst_end
    }

    /// The next unscheduled packet; it counts as sent.
    #[inline]
    pub fn next_unscheduled(&mut self) -> Option<u32> {
        if !self.in_burst() {
            return None;
        }
        let seq = self.next_new;
        self.next_new += 1;
        self.open.insert(seq);
        self.end_burst_if_through();
        Some(seq)
    }

    /// Ends the burst before its time.
    pub fn stop_burst(&mut self) {
        self.burst_end = self.burst_end.min(self.next_new);
        self.end_burst_if_through();
    }

    /// When a probe is due: how many unscheduled packets went before it. It counts as sent.
    pub fn take_probe(&mut self) -> Option<u32> {
        (self.probe == Probe::Owed).then(|| {
            self.probe = Probe::Sent;
            self.burst_end
        })
    }

    /// Whether a probe is due.
    #[inline]
    pub fn owes_probe(&self) -> bool {
        self.probe == Probe::Owed
    }

    /// Whether a probe is on its way, or its answer is.
    pub fn awaits_probe_ack(&self) -> bool {
        self.probe == Probe::Sent
    }

    /// No answer to the probe came: it is due again.
    pub fn repeat_probe(&mut self) {
        if self.probe == Probe::Sent {
            self.probe = Probe::Owed;
        }
    }

    /// The packet has arrived. With `ordered` (the ACK is of an unscheduled packet on a path that keeps order) all earlier
    /// unscheduled ones of unknown fate are lost. Returns how many became known as lost.
    #[inline]
    pub fn on_ack(&mut self, seq: u32, ordered: bool) -> u32 {
        if !self.open.remove(seq) {
            self.lost.remove(seq);
        }
        if ordered && seq < self.next_new { self.condemn(seq) } else { 0 }
    }

    /// The probe's answer: every unscheduled packet of unknown fate is lost. Returns how many. Later answers do nothing.
    pub fn on_probe_ack(&mut self) -> u32 {
        if self.probe != Probe::Sent && self.probe != Probe::Owed {
            return 0;
        }
        self.probe = Probe::Answered;
        self.condemn(self.burst_end)
    }

    /// Open packets below `end` are lost.
    fn condemn(&mut self, end: u32) -> u32 {
        let mut count = 0;
        while let Some(seq) = self.open.first().filter(|seq| *seq < end) {
            self.open.remove(seq);
            self.lost.insert(seq);
            count += 1;
        }
        count
    }

    /// The packet is lost (a NACK, a bounce, a timeout). False when it was never sent, waits already or cannot be noted.
    pub fn mark_lost(&mut self, seq: u32) -> bool {
        if seq >= self.next_new || !self.lost.insert(seq) {
            return false;
        }
        self.open.remove(seq);
        true
    }

    /// The packet a credit, grant or pull is to be spent on; it counts as sent, scheduled. The flag: it was sent before.
    #[inline]
    pub fn next_scheduled(&mut self, order: RepairOrder, resend_open: bool) -> Option<(u32, bool)> {
        if order == RepairOrder::NewFirst
            && let Some(seq) = self.take_new()
        {
            return Some((seq, false));
        }
        if let Some(seq) = self.lost.pop_first() {
            return Some((seq, true));
        }
        if let Some(seq) = self.take_new() {
            return Some((seq, false));
        }
        if resend_open { self.open.pop_first().map(|seq| (seq, true)) } else { None }
    }

    /// The first known loss; it counts as sent, scheduled. For repairs while the burst goes on.
    #[inline]
    pub fn take_lost(&mut self) -> Option<u32> {
        self.lost.pop_first()
    }

    fn take_new(&mut self) -> Option<u32> {
        if self.next_new >= self.packets {
            return None;
        }
        let seq = self.next_new;
        self.next_new += 1;
        // A scheduled packet that takes over what was left of the burst shortens the burst.
        if seq < self.burst_end {
            self.burst_end = seq;
            self.end_burst_if_through();
        }
        Some(seq)
    }

    /// Whether a credit, grant or pull could be spent now.
    #[inline]
    pub fn has_scheduled(&self, resend_open: bool) -> bool {
        self.next_new < self.packets || !self.lost.is_empty() || (resend_open && !self.open.is_empty())
    }

    /// Packets not yet known to have arrived and not (again) sent as scheduled ones.
    pub fn remaining(&self) -> u32 {
        self.packets - self.next_new + self.open.len() + self.lost.len()
    }

    /// First packet never sent.
    #[inline]
    pub fn next_new(&self) -> u32 {
        self.next_new
    }

    /// Packets of the message.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Packets known to be lost and not yet sent again.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost.len()
    }

    /// Unscheduled packets of unknown fate.
    pub fn open(&self) -> u32 {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(packets: u32, burst: u32) -> Scoreboard {
        let mut s = Scoreboard::default();
        s.restart(packets, burst, true);
        s
    }

    fn burst(s: &mut Scoreboard) -> Vec<u32> {
        std::iter::from_fn(|| s.next_unscheduled()).collect()
    }

    /// Aeolus, section 6: 84 packets per flow at 100 Gb/s, 10 us, 1.5 kB.
    #[test]
    fn burst_of_the_paper() {
        assert_eq!(burst_packets(125_000, 1500), 84);
        assert_eq!((burst_packets(42_800, 1538), burst_packets(1, 0)), (28, 0));
    }

    /// Burst, probe, ACKs with a gap, probe's answer, and then repair: known losses, new data, then (if wanted) the unknown.
    #[test]
    fn repair_goes_in_order() {
        let mut s = board(8, 5);
        assert_eq!(s.take_probe(), None);
        assert_eq!(burst(&mut s), [0, 1, 2, 3, 4]);
        assert_eq!((s.take_probe(), s.take_probe()), (Some(5), None));
        assert_eq!(s.on_ack(2, true), 2, "0 and 1 were overtaken");
        assert_eq!(s.remaining(), 3 + 2 + 2);
        let next = |s: &mut Scoreboard| s.next_scheduled(RepairOrder::LostFirst, true);
        assert_eq!((next(&mut s), next(&mut s), next(&mut s)), (Some((0, true)), Some((1, true)), Some((5, false))));
        assert_eq!(s.on_probe_ack(), 2);
        assert_eq!(s.on_ack(4, false), 0, "a late ACK saves the packet from being sent again");
        assert_eq!((next(&mut s), next(&mut s), next(&mut s)), (Some((3, true)), Some((6, false)), Some((7, false))));
        assert_eq!((next(&mut s), s.remaining(), s.on_probe_ack()), (None, 0, 0));
    }

    /// The first credit ends the burst, and the probe says how far it came; also when scheduled packets use it up.
    #[test]
    fn an_ended_burst_owes_its_probe() {
        let mut s = board(10, 6);
        s.next_unscheduled();
        s.next_unscheduled();
        s.stop_burst();
        assert_eq!((s.next_unscheduled(), s.take_probe()), (None, Some(2)));
        let mut s = board(2, 2);
        s.next_unscheduled();
        assert_eq!(s.next_scheduled(RepairOrder::LostFirst, false), Some((1, false)));
        assert_eq!(s.take_probe(), Some(1));
        assert_eq!(board(3, 0).take_probe(), Some(0), "no burst: the probe is the request");
    }

    #[test]
    fn a_lost_probe_is_repeated_and_packets_of_unknown_fate_wait() {
        let mut s = board(3, 3);
        burst(&mut s);
        s.take_probe();
        assert_eq!(s.next_scheduled(RepairOrder::LostFirst, false), None);
        assert_eq!(s.next_scheduled(RepairOrder::LostFirst, true), Some((0, true)));
        s.repeat_probe();
        assert_eq!((s.take_probe(), s.on_probe_ack(), s.lost()), (Some(3), 2, 2));
        s.repeat_probe();
        assert_eq!(s.take_probe(), None);
    }

    #[test]
    fn new_data_first_is_a_variant() {
        let mut s = board(3, 1);
        s.next_unscheduled();
        assert!(s.mark_lost(0) && !s.mark_lost(0) && !s.mark_lost(2));
        let order: Vec<_> = std::iter::from_fn(|| s.next_scheduled(RepairOrder::NewFirst, false)).collect();
        assert_eq!(order, [(1, false), (2, false), (0, true)]);
    }
}
