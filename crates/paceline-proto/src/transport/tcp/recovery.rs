//! Loss recovery: duplicate ACKs, fast retransmit, fast recovery, the aftermath of a timeout.
//!
//! Without SACK `NewReno` (RFC 6582), with SACK the scoreboard decides (RFC 6675). Both count the same duplicates and share
//! "recover", the end of what was in flight at the last reduction.

use super::params::Params;
use super::prr::Prr;
use super::sack::Scoreboard;
use super::sender::Sender;

/// State of loss recovery.
#[derive(Clone, Default, Debug)]
pub struct Recovery {
    /// In fast recovery.
    pub fast: bool,
    /// Duplicate ACKs since the last new one.
    pub dupacks: u32,
    /// `NewReno`'s "recover": one past the highest position sent at the last loss; 0 before the first. Duplicates that do
    /// not acknowledge more start no fast retransmit.
    pub recover: u64,
    /// The same for timeouts alone, which hold also with SACK (RFC 6675, section 5.1).
    pub timeout_recover: u64,
    /// The highest position sent when the window was last reduced, whatever for; 0 before the first. Echoes of marks up to there, it
    /// included, tell nothing new (RFC 3168, section 6.1.2: one reduction per window of data).
    pub reduced_until: u64,
    /// A mark was answered, and what was in flight then is not all acknowledged: nothing grows, and a loss reduces no more.
    pub answered: bool,
    /// The next new data must tell of a reduction (CWR).
    pub cwr: bool,
    /// What the window is wider than the controller's in `NewReno`'s fast recovery: plus a segment per duplicate, less
    /// what partial ACKs took. May be negative.
    pub inflation: i64,
    /// Bytes beyond the window that limited transmit allows, and those sent so.
    pub limited: u64,
    pub limited_sent: u64,
    /// The first unacknowledged segment is to be sent again now, whatever the windows say.
    pub resend: bool,
    /// No partial ACK yet in this recovery.
    pub no_partial_yet: bool,
    /// SACK.
    pub board: Scoreboard,
    /// What may leave in this recovery, with proportional rate reduction.
    pub prr: Option<Prr>,
}

/// What a duplicate ACK calls for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicate {
    /// Nothing, or to send what the window now allows.
    Counted,
    /// Fast retransmit.
    Lost,
    /// The third, but of data that were sent twice: nothing.
    Ignored,
}

impl Recovery {
    /// A duplicate ACK of `tx.una`; with SACK any that tells of more data above it.
    pub fn on_duplicate(&mut self, tx: &Sender, sack: bool, params: &Params, mss: u64) -> Duplicate {
        if self.fast {
            if !sack {
                self.inflation += mss as i64;
            }
            return Duplicate::Counted;
        }
        self.dupacks += 1;
        let lost = self.dupacks >= params.dup_thresh || sack && self.board.first_is_lost(tx.una, params, mss);
        if !lost {
            // Not while a timeout's retransmissions are under way. With SACK as much as the pipe leaves of the window (RFC 6675, section 5,
            // step 3): nothing counts as lost yet, so that is what has been selectively acknowledged.
            if params.limited_transmit && tx.nxt == tx.max && self.dupacks <= 2 {
                let by_pipe = sack && !params.freebsd_recovery;
                self.limited =
                    if by_pipe { self.board.sacked.bytes_below(tx.max) } else { u64::from(self.dupacks) * mss };
            }
            return Duplicate::Counted;
        }
        let covers_more = if sack { tx.una >= self.timeout_recover } else { tx.una > self.recover };
        if covers_more {
            return Duplicate::Lost;
        }
        self.dupacks = 0;
        Duplicate::Ignored
    }

    /// Fast retransmit (RFC 6582, section 3.2, step 2; RFC 6675, section 5, step 4).
    pub fn enter(&mut self, tx: &mut Sender, sack: bool, params: &Params, mss: u64) {
        self.fast = true;
        self.no_partial_yet = true;
        self.recover = tx.max;
        self.resend = true;
        let early = if params.freebsd_recovery { self.limited_sent.div_ceil(mss.max(1)).min(2) } else { 0 };
        self.inflation = if sack { 0 } else { (3 - early as i64) * mss as i64 };
        (self.limited, self.limited_sent) = (0, 0);
        tx.nxt = tx.max;
        tx.timed = None;
        self.board.begin(tx.una, tx.max, mss);
    }

    /// New data were acknowledged in fast recovery, but not all that were in flight when it began: the next hole.
    pub fn on_partial(&mut self, acked: u64, sack: bool, mss: u64) {
        if sack {
            return;
        }
        self.inflation -= acked as i64;
        if acked >= mss {
            self.inflation += mss as i64;
        }
        self.resend = true;
    }

    /// Back to normal.
    pub fn leave(&mut self) {
        self.fast = false;
        self.inflation = 0;
        self.resend = false;
        self.prr = None;
        self.on_new_ack();
    }

    /// New data were acknowledged outside of fast recovery.
    #[inline]
    pub fn on_new_ack(&mut self) {
        self.dupacks = 0;
        (self.limited, self.limited_sent) = (0, 0);
    }

    /// The retransmission timer ran out (RFC 6582, section 4.2: recover; RFC 2018, section 8: no trust in old SACKs).
    pub fn on_timeout(&mut self, tx: &mut Sender) {
        self.leave();
        self.recover = tx.max;
        self.timeout_recover = tx.max;
        self.reduced_until = tx.max;
        self.answered = false;
        self.resend = true;
        self.board.forget();
        tx.nxt = tx.una;
        tx.timed = None;
    }
}
