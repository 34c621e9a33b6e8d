//! The sender's scoreboard and what follows from it (RFC 6675).

use std::ops::Range;

use super::params::Params;
use super::ranges::Ranges;
use super::segment::{SackBlocks, expand};

/// What the receiver has above the cumulative acknowledgement, and what has been sent again in this recovery.
#[derive(Clone, Default, Debug)]
pub struct Scoreboard {
    /// Selectively acknowledged.
    pub(super) sacked: Ranges,
    /// `HighRxt`: everything below that was missing has been sent again.
    high_rxt: u64,
    /// `RescueRxt`: only once more than this is acknowledged may there be a rescue retransmission. In a recovery first the end of
    /// its first retransmission, then of the recovery itself.
    rescue_rxt: u64,
}

/// What [`Scoreboard::next`] chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextSeg {
    /// Send `[start, end)` again.
    Again(u64, u64),
    /// The same, as the one rescue retransmission.
    Rescue(u64, u64),
    /// Send new data, if there are any and the peer's window lets them.
    New,
}

impl Scoreboard {
    /// Takes in the blocks of an ACK. Returns how many bytes are newly known to have arrived.
    #[inline]
    pub fn update(&mut self, blocks: &SackBlocks, snd_una: u64, snd_max: u64) -> u64 {
        if blocks.is_empty() { 0 } else { self.insert(blocks, snd_una, snd_max) }
    }

    #[cold]
    fn insert(&mut self, blocks: &SackBlocks, snd_una: u64, snd_max: u64) -> u64 {
        let mut new = 0;
        for &(start, end) in blocks.as_slice() {
            let (start, end) = (expand(start, snd_una), expand(end, snd_una));
            if start >= snd_una && end <= snd_max {
                new += self.sacked.insert(start, end);
            }
        }
        new
    }

    /// Below this everything missing counts as lost (`IsLost`, section 4): there are `dup_thresh` ranges above it, or more
    /// than `dup_thresh - 1` segments' bytes.
    pub fn lost_edge(&self, params: &Params, mss: u64) -> u64 {
        let (mut bytes, mut count) = (0, 0);
        for r in self.sacked.as_slice().iter().rev() {
            bytes += r.len();
            count += 1;
            if count >= params.dup_thresh || bytes > u64::from(params.dup_thresh.saturating_sub(1)) * mss {
                return r.start;
            }
        }
        0
    }

    /// Whether the first unacknowledged byte counts as lost.
    pub fn first_is_lost(&self, snd_una: u64, params: &Params, mss: u64) -> bool {
        self.lost_edge(params, mss) > snd_una
    }

    /// Estimate of the bytes in the network (`SetPipe`, section 4): not selectively acknowledged and not lost, plus sent again.
    pub fn pipe(&self, snd_una: u64, snd_max: u64, params: &Params, mss: u64) -> u64 {
        let missing_below = |x: u64| self.missing_between(snd_una, x);
        let lost = missing_below(self.lost_edge(params, mss));
        missing_below(snd_max) - lost + missing_below(self.high_rxt.min(snd_max))
    }

    /// Bytes between two positions that the receiver does not have.
    pub fn missing_between(&self, from: u64, to: u64) -> u64 {
        let to = to.max(from);
        to - from + self.sacked.bytes_below(from) - self.sacked.bytes_below(to)
    }

    /// A recovery begins; the segment at `snd_una` has priority over the window.
    pub fn begin(&mut self, snd_una: u64, snd_max: u64, mss: u64) {
        self.high_rxt = snd_una;
        self.rescue_rxt = self.end_of_hole(snd_una, snd_max, mss);
    }

    /// The first missing byte at or above `from`.
    pub fn first_missing(&self, from: u64) -> u64 {
        self.sacked.end_of_range_at(from).unwrap_or(from)
    }

    /// End of the segment to send again from `start`: the hole, or a full segment of it.
    pub fn end_of_hole(&self, start: u64, snd_max: u64, mss: u64) -> u64 {
        self.sacked.next_start(start).unwrap_or(snd_max).min(snd_max).min(start + mss)
    }

    /// What to send next in recovery (`NextSeg`, section 4), of what is `outstanding`. `more`: new data could go (rule 2).
    pub fn next(&self, outstanding: Range<u64>, more: bool, params: &Params, mss: u64) -> Option<NextSeg> {
        let missing = self.first_missing(self.high_rxt.max(outstanding.start));
        let again = || NextSeg::Again(missing, self.end_of_hole(missing, outstanding.end, mss));
        // Rule 1: the lowest one that is lost and not yet sent again.
        if missing < self.lost_edge(params, mss) {
            return Some(again());
        }
        if more {
            return Some(NextSeg::New);
        }
        // Rule 3: one below something SACKed.
        if self.sacked.highest().is_some_and(|high| missing < high) {
            return Some(again());
        }
        // Rule 4: one with the highest byte missing, sent after the recovery began or before.
        if !params.rescue || outstanding.start <= self.rescue_rxt {
            return None;
        }
        let mut end = outstanding.end;
        let mut start = outstanding.start;
        for r in self.sacked.as_slice().iter().rev() {
            if r.end < end {
                start = r.end;
                break;
            }
            end = end.min(r.start);
        }
        Some(NextSeg::Rescue(start.max(end.saturating_sub(mss)), end))
    }

    /// A choice of [`Scoreboard::next`] has been sent, up to `end`.
    pub fn on_again(&mut self, end: u64) {
        self.high_rxt = self.high_rxt.max(end);
    }

    /// The rescue retransmission of a recovery up to `recovery_point` has been sent. It does not move `HighRxt`.
    pub fn on_rescue(&mut self, recovery_point: u64) {
        self.rescue_rxt = recovery_point;
    }

    /// Everything below has been acknowledged.
    #[inline]
    pub fn advance(&mut self, snd_una: u64) {
        self.sacked.remove_below(snd_una);
    }

    /// A timeout: the information may be stale (RFC 2018, section 8).
    pub fn forget(&mut self) {
        self.sacked.clear();
    }
}
