//! Round trips as FreeBSD's Vegas has them timed (`h_ertt` of 9.3).
//!
//! A segment is *marked* when none is: the first to leave after the ACK that ended the last round trip, sent again or not. Its round
//! trip ends with the ACK that covers it, by the echoed timestamp of this sending and no earlier one. So round trips end also while what a
//! timeout gave up is sent again, and after the timeout of the marked segment itself the first ACK ends one, of what had left last
//! before.
//!
//! Where the ACK is for more than the marked segment, the mark passes on to the last but one that it covers: with one ACK for two
//! segments it stays where it is, and what it waited at the receiver for the second is part of its round trip. The lowest round-trip
//! time is of the last segments that ACKs cover, which waited for none, but for ACKs of a single segment from a receiver
//! that has lately acknowledged several at a time: a timer may have held these back.
//!
//! *Deviations:* segments are as they left, without offload; selective acknowledgements end no round trip; timestamps are trusted.

use std::collections::VecDeque;

/// Steps of the guess whether the receiver delays ACKs.
const GUESS: u8 = 5;

/// One sending of a segment; positions in the stream, the clock's ticks.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    ticks: u32,
    marked: bool,
}

impl Sent {
    fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// An ACK that moves `una` to `ack`.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub una: u64,
    pub ack: u64,
    /// The timestamp that it echoes.
    pub echo: Option<u32>,
    /// The clock's ticks now.
    pub ticks: u32,
    /// Bytes of a full segment.
    pub mss: u64,
}

/// A round trip that is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// How long it took, ticks.
    pub ticks: u32,
    /// Bytes sent in it, those of the segment that was timed and any sent again included.
    pub sent: u64,
    /// The shortest so far, ticks.
    pub lowest: u32,
}

/// What is timed.
#[derive(Clone, Default, Debug)]
pub struct Marked {
    /// All that left and is not acknowledged, in the order of leaving.
    sent: VecDeque<Sent>,
    /// One of them is marked.
    timing: bool,
    /// Bytes sent since that one left, it included.
    bytes: u64,
    /// How surely the receiver delays ACKs, 0 to `GUESS`.
    delays: u8,
    lowest: Option<u32>,
}

impl Marked {
    /// The data from `start` to `end` leave.
    pub fn on_sent(&mut self, start: u64, end: u64, ticks: u32) {
        let marked = !self.timing;
        self.timing = true;
        self.bytes = if marked { 0 } else { self.bytes } + (end - start);
        self.sent.push_back(Sent { start, end, ticks, marked });
    }

    /// New data are acknowledged.
    pub fn on_ack(&mut self, at: &Arrival) -> Option<Round> {
        let acked = at.ack - at.una;
        let since = |sent: &Sent| at.ticks.wrapping_sub(sent.ticks);
        let mut several = false;
        // The last segment that had the mark and passed it on, and the bytes of all those.
        let mut passed: Option<Sent> = None;
        let mut before = 0;
        let mut timed = None;
        while let Some(first) = self.sent.front().copied() {
            let marked = first.marked || passed.is_some();
            let mut old = at.ack > first.end;
            if !old {
                if acked > at.mss.min(first.len()) {
                    several = true;
                    self.delays = (self.delays + 1).min(GUESS);
                } else if acked == at.mss || acked == first.len() {
                    self.delays = self.delays.saturating_sub(1);
                }
                let age = at.echo.map_or(0, |echo| echo.wrapping_sub(first.ticks) as i32);
                if age < 0 && self.delays == 0 {
                    break;
                }
                old = age > 0;
            }
            if old {
                if marked {
                    passed = Some(first);
                    before += first.len();
                }
                self.sent.pop_front();
                continue;
            }
            if at.ack > first.start {
                if self.delays == 0 || several {
                    self.lowest = Some(self.lowest.map_or(since(&first), |lowest| lowest.min(since(&first))));
                }
                timed = marked.then_some(first);
                self.sent.pop_front();
            }
            break;
        }
        let (ticks, sent) = match (passed, timed) {
            // FreeBSD times the one after it too, and then forgets that it has.
            (Some(last), _) => (since(&last), self.bytes + last.len() - before),
            (None, Some(marked)) => (since(&marked), self.bytes),
            (None, None) => return None,
        };
        self.timing = false;
        self.lowest.map(|lowest| Round { ticks, sent, lowest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(segments: std::ops::Range<u64>, echo: u32, ticks: u32) -> Arrival {
        Arrival { una: segments.start * MSS, ack: segments.end * MSS, echo: Some(echo), ticks, mss: MSS }
    }

    fn send(marked: &mut Marked, segment: u64, ticks: u32) {
        marked.on_sent(segment * MSS, (segment + 1) * MSS, ticks);
    }

    /// Segments 0 and 1 leave at 1 and 11; their ACK, at 112, ends the round trip of segment 0, which waited 10 for the other.
    #[test]
    fn one_ack_for_two_segments_times_the_first_and_the_lowest_is_of_the_second() {
        let mut marked = Marked::default();
        send(&mut marked, 0, 1);
        send(&mut marked, 1, 11);
        send(&mut marked, 2, 20);
        assert_eq!(marked.on_ack(&ack(0..2, 1, 112)), Some(Round { ticks: 111, sent: 3 * MSS, lowest: 101 }));
        // Segment 3 is marked now. That 2, which comes alone, is acknowledged late tells nothing.
        send(&mut marked, 3, 113);
        assert_eq!(marked.on_ack(&ack(2..3, 20, 400)), None);
        send(&mut marked, 4, 401);
        assert_eq!(marked.on_ack(&ack(3..5, 113, 501)), Some(Round { ticks: 388, sent: 2 * MSS, lowest: 100 }));
    }

    /// Segments 0 to 2 are lost and sent again one by one after a timeout. Each ACK but the first tells of the sending before it;
    /// the first ends the round trip of what had left last. What a user would miss: Vegas' growth in all of this time.
    #[test]
    fn what_is_sent_again_is_timed() {
        let mut marked = Marked::default();
        for segment in 0..3 {
            send(&mut marked, segment, 1 + segment as u32);
        }
        send(&mut marked, 0, 1001);
        assert_eq!(marked.on_ack(&ack(0..1, 1001, 1101)), Some(Round { ticks: 1098, sent: 2 * MSS, lowest: 100 }));
        send(&mut marked, 1, 1101);
        assert_eq!(marked.on_ack(&ack(1..2, 1101, 1211)), Some(Round { ticks: 110, sent: MSS, lowest: 100 }));
        send(&mut marked, 2, 1211);
        assert_eq!(marked.on_ack(&ack(2..3, 1211, 1306)), Some(Round { ticks: 95, sent: MSS, lowest: 95 }));
    }
}
