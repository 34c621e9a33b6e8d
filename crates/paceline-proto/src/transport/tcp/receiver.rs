//! The receiving half: reassembly, the announced window, what an ACK reports.

use crate::units::Time;

use super::delayed_ack::DelayedAck;
use super::params::Params;
use super::ranges::Ranges;
use super::segment::{Flags, ISS, SACK_BLOCKS, SackBlocks, Segment, expand};

/// State of the receiving half. Positions are those of [`super::segment`].
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next byte expected.
    pub(super) rcv_nxt: u64,
    /// End of the window announced; never moves back.
    announced: u64,
    /// Bytes the application has taken, as a position.
    read: u64,
    /// Position of the peer's FIN, once known.
    fin: Option<u64>,
    /// Received above a gap.
    above: Ranges,
    /// The acknowledgement owed.
    pub(super) ack: DelayedAck,
    /// ECN-Echo until the peer says CWR.
    echo_ce: bool,
    /// TS.Recent (RFC 7323).
    ts_recent: Option<u32>,
    /// Position last acknowledged (Last.ACK.sent).
    last_ack_sent: u64,
    /// Socket buffer, bytes, and the measurement that makes it grow: the timestamp with which a round trip began, if one is
    /// measured, and the bytes that have come in it.
    buffer: u64,
    round: Option<u32>,
    round_bytes: u64,
    /// Segments dropped because the reassembly queue was full.
    pub(super) reassembly_drops: u64,
}

impl Receiver {
    /// Before the peer's SYN.
    pub fn new(params: &Params) -> Self {
        Self {
            rcv_nxt: ISS,
            announced: ISS + 1 + params.receive_buffer.initial,
            read: ISS + 1,
            fin: None,
            above: Ranges::default(),
            ack: DelayedAck::default(),
            echo_ce: false,
            ts_recent: None,
            last_ack_sent: ISS,
            buffer: params.receive_buffer.initial,
            round: None,
            round_bytes: 0,
            reassembly_drops: 0,
        }
    }

    /// The peer's SYN arrived.
    pub fn on_syn(&mut self, segment: &Segment) {
        self.rcv_nxt = ISS + 1;
        self.last_ack_sent = ISS + 1;
        self.ts_recent = segment.timestamps.map(|t| t.value);
    }

    /// What the next segment echoes (RFC 7323, section 4.3): the timestamp of the earliest segment not yet acknowledged, or of the last
    /// that moved the left edge; of SYNs the last.
    pub fn on_timestamp(&mut self, segment: &Segment) {
        let Some(t) = segment.timestamps else { return };
        let newer = self.ts_recent.is_none_or(|recent| t.value.wrapping_sub(recent) < 1 << 31);
        if newer && expand(segment.seq, self.rcv_nxt) <= self.last_ack_sent {
            self.ts_recent = Some(t.value);
        }
    }

    /// Whether everything up to and including the peer's FIN has arrived.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// Bytes of the stream that have arrived in order.
    pub fn delivered(&self) -> u64 {
        (self.rcv_nxt - u64::from(self.finished())).saturating_sub(ISS + 1)
    }

    /// Takes a segment in. Returns how many bytes more are in order.
    pub fn on_data(&mut self, now: Time, segment: &Segment, params: &Params, mss: u32, ecn: bool) -> u64 {
        let start = expand(segment.seq, self.rcv_nxt);
        let end = start + u64::from(segment.len);
        self.on_timestamp(segment);
        if ecn {
            // RFC 3168, section 6.1.3: CWR ends the echo, unless this very packet is marked.
            self.echo_ce = self.echo_ce && !segment.flags.has(Flags::CWR) || segment.flags.has(Flags::CE);
        }
        let fin = segment.flags.has(Flags::FIN);
        if segment.len == 0 && !fin {
            return 0;
        }
        let (had_gap, before) = (!self.above.is_empty(), self.rcv_nxt);
        // Data beyond the announced window are cut off; the FIN with them.
        let kept = end.min(self.announced);
        // A FIN is believed where the first one stood.
        if fin && kept == end && self.fin.is_none() && end >= self.above.highest().unwrap_or(end).max(self.rcv_nxt) {
            self.fin = Some(end);
        }
        let kept = self.fin.map_or(kept, |fin| kept.min(fin));
        if start <= self.rcv_nxt && kept > self.rcv_nxt {
            self.rcv_nxt = kept;
            if had_gap {
                while let Some(end) = self.above.end_of_range_at(self.rcv_nxt) {
                    self.rcv_nxt = end;
                }
                self.above.remove_below(self.rcv_nxt);
            }
        } else if start > self.rcv_nxt && kept > start {
            if self.above.segments() < params.reassembly_limit {
                self.above.insert(start, kept);
            } else {
                self.reassembly_drops += 1;
            }
        }
        let new = self.rcv_nxt - before;
        if self.fin == Some(self.rcv_nxt) {
            self.rcv_nxt += 1;
        }
        self.measure_round(segment, new > 0 && !had_gap, params);
        if new > 0 && params.auto_read {
            self.read = self.rcv_nxt;
            self.move_edge(mss);
        }
        // RFC 5681, section 4.2: only plain in-order data may wait for an ACK.
        if new > 0 && !had_gap && !self.finished() {
            self.ack.on_segment(now, segment.flags.has(Flags::PSH), params);
        } else {
            self.ack.demand();
        }
        new
    }

    /// The application takes `bytes` more. Returns whether the peer should be told of the room.
    pub fn read(&mut self, bytes: u64, mss: u32) -> bool {
        self.read = (self.read + bytes).min(ISS + 1 + self.delivered());
        let blocked = self.announced - self.rcv_nxt.min(self.announced) < 2 * u64::from(mss);
        let moved = self.move_edge(mss);
        let tell = moved > 0 && (blocked || moved >= self.buffer / 2);
        if tell {
            self.ack.demand();
        }
        tell
    }

    /// Moves the end of the window by what the application took, in steps that avoid silly windows (RFC 9293,
    /// section 3.8.6.2.2). Returns by how much.
    fn move_edge(&mut self, mss: u32) -> u64 {
        let edge = self.read + self.buffer;
        let gain = edge.saturating_sub(self.announced);
        if gain == 0 || gain < (self.buffer / 2).min(u64::from(mss)) {
            return 0;
        }
        self.announced = edge;
        gain
    }

    /// Automatic growth (FreeBSD): when one round trip brings more than 7/8 of the buffer, one step more. A round trip begins with
    /// the timestamp of a segment that leaves, and ends when a later one has come back; what is out of order breaks it off.
    fn measure_round(&mut self, segment: &Segment, plain: bool, params: &Params) {
        let limits = &params.receive_buffer;
        let Some(round) = self.round.filter(|_| self.buffer < limits.max) else { return };
        let echo = segment.timestamps.map_or(0, |t| t.echo);
        let over = plain && echo != 0 && echo != round && echo.wrapping_sub(round) < 1 << 31;
        if plain && !over {
            self.round_bytes += u64::from(segment.len);
            return;
        }
        if over && self.round_bytes > self.buffer / 8 * 7 {
            self.buffer = (self.buffer + limits.step).min(limits.max);
        }
        (self.round, self.round_bytes) = (None, 0);
    }

    /// Fills the acknowledging part of a segment about to leave, which settles what was owed.
    pub fn acknowledge(&mut self, segment: &mut Segment, sack: bool) {
        segment.ack = self.rcv_nxt as u32;
        segment.window = self.announced.saturating_sub(self.rcv_nxt) as u32;
        segment.flags |= Flags::ACK | Flags::ECE.when(self.echo_ce);
        if let Some(t) = &mut segment.timestamps {
            t.echo = self.ts_recent.unwrap_or(0);
            self.round.get_or_insert(t.value);
        }
        if sack && !self.above.is_empty() {
            segment.sack = self.blocks();
        }
        self.last_ack_sent = self.rcv_nxt;
        self.ack.settle();
    }

    #[cold]
    fn blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for r in self.above.most_recent::<SACK_BLOCKS>() {
            blocks.push(r.start, r.end);
        }
        blocks
    }

    /// Bytes of the socket buffer now.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }
}
