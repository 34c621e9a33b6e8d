//! The sender's side: a rate limiter that feedback slows down and that speeds up by itself.
//!
//! Two counters drive the recovery: a *stage* of one ends with every so many bytes sent, of the other with every run of the timer.
//! While both are young the rate halves its distance to the target, the rate before the last decrease (*fast recovery*);
//! when one is past the threshold the target rises slowly (*active increase*), when both are, faster and faster (*hyper-active
//! increase*).
//!
//! *Deviations:* none known. The target never exceeds the link's rate, and half a bit per second is rounded up, so that a rate
//! on its way to the link's rate gets there (the pseudo-codes differ; the difference is below 1 bit/s). The timer stops when rate
//! and target have reached the link's rate, as it could change nothing before the next feedback.

use super::{Feedback, around};
use crate::rng::Stream;
use crate::units::{BitsPerSec, Duration, Time};

/// When a stage counts as past the threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stages {
    /// Above it; the hyper-active step is multiplied by the smaller stage less the threshold (pseudo-code 2.x).
    #[default]
    PseudoCode,
    /// At it and above: one stage earlier, multiplied by one more (the standard's state machine).
    Standard,
}

/// Parameters of a reaction point.
#[derive(Clone, PartialEq, Debug)]
pub struct ReactionPointParams {
    /// Length of a timer stage, above 0; half of it past the threshold. Default 15 ms (MIB).
    pub timer: Duration,
    /// Length of a byte stage, 1 to 2^40 bytes; half of it past the threshold. Default 150,000 (MIB).
    pub byte_limit: u64,
    /// Each stage but the first is drawn from this many millionths around its length, 0 to 1,000,000. Default 150,000 (pseudo-code).
    pub jitter: u32,
    /// Stages of fast recovery, 1 to 255. Default 5 (MIB).
    pub threshold: u32,
    /// Step of the target in active increase, bit/s. Default 5 Mb/s (MIB).
    pub ai_rate: u64,
    /// Step of the target in hyper-active increase, bit/s. Default 50 Mb/s (MIB).
    pub hai_rate: u64,
    /// Lowest rate, bit/s, 1000 and up. Default 5 Mb/s (MIB); 100 kb/s in `HotI` 2011.
    pub min_rate: u64,
    /// Share of the rate that a unit of feedback takes (Gd), 0 to 1. Default 1/128 (MIB: 2^-7): with the largest feedback, 63, about
    /// half. `HotI` 2011 states it as 0.5, for feedback from 0 to 1.
    pub gain: f64,
    /// Smallest share of the rate that one feedback leaves, 0 to 1. Default 0.5 (MIB).
    pub min_decrease: f64,
    /// Feedback in the first byte stage leaves target and byte counter alone. Default on (pseudo-code); with `clamp_target` what
    /// `HotI` 2011 calls extra fast recovery (inferred).
    pub keep_target: bool,
    /// In a first stage, a target above ten times the rate falls to an eighth instead of rising. Default on (pseudo-code).
    pub clamp_target: bool,
    /// Only feedback of a queue above its set point starts the limiter. Default off; one implementation has it.
    pub start_above_set_point: bool,
    /// When a stage counts as past the threshold.
    pub stages: Stages,
}

impl Default for ReactionPointParams {
    fn default() -> Self {
        Self {
            timer: Duration::from_us(15_000),
            byte_limit: 150_000,
            jitter: 150_000,
            threshold: 5,
            ai_rate: 5_000_000,
            hai_rate: 50_000_000,
            min_rate: 5_000_000,
            gain: 0.007_812_5,
            min_decrease: 0.5,
            keep_target: true,
            clamp_target: true,
            start_above_set_point: false,
            stages: Stages::PseudoCode,
        }
    }
}

/// [`ReactionPoint::used`]: active increase has raised a target, so that `ai_rate` matters.
pub const ACTIVE: u8 = 1;
/// [`ReactionPoint::used`]: hyper-active increase has, so that `hai_rate` matters.
pub const HYPER: u8 = 2;
/// [`ReactionPoint::used`]: a target rose at a stage at which the two meanings of [`Stages`] differ.
pub const STAGES: u8 = 4;
/// [`ReactionPoint::used`]: feedback has met a limiter in its first byte stage, so that `keep_target` matters.
pub const FIRST_STAGE: u8 = 8;
/// [`ReactionPoint::used`]: a first stage has ended with a target above ten times the rate, so that `clamp_target` matters.
pub const CLAMP: u8 = 16;
/// [`ReactionPoint::used`]: feedback of a queue below its set point has met a limiter that did not limit, so that
/// `start_above_set_point` matters.
pub const BELOW_SET_POINT: u8 = 32;

impl ReactionPointParams {
    /// What a feedback leaves of a rate, at least the lowest rate.
    fn decreased(&self, rate: u64, level: u8) -> u64 {
        let share = (1.0 - self.gain * f64::from(level)).max(self.min_decrease).min(1.0);
        ((rate as f64 * share) as u64).max(self.min_rate).max(1).min(rate)
    }

    /// What raises the target at these stages: how many times which step ([`ACTIVE`], [`HYPER`]; 0: none).
    fn steps(&self, stages: Stages, bytes: u32, timer: u32) -> (u64, u8) {
        let late = match stages {
            Stages::PseudoCode => 1,
            Stages::Standard => 0,
        };
        let first = self.threshold.saturating_add(late);
        let past = |stage: u32| stage >= first;
        match (past(bytes), past(timer)) {
            (false, false) => (0, 0),
            (true, true) => (u64::from(bytes.min(timer) - first) + 1, HYPER),
            _ => (1, ACTIVE),
        }
    }

    fn timer_stage(&self, stage: u32) -> u64 {
        if stage < self.threshold { self.timer.0 } else { self.timer.0 / 2 }
    }

    fn byte_stage(&self, stage: u32) -> u64 {
        let limit = self.byte_limit.min(1 << 40);
        if stage < self.threshold { limit } else { limit / 2 }
    }
}

/// A reaction point: one rate limiter.
///
/// It lets frames out one by one: ask [`ReactionPoint::next_departure`] for the next, tell it with [`ReactionPoint::on_sent`]. Call
/// [`ReactionPoint::on_timeout`] at [`ReactionPoint::next_timeout`]; that changes the rate, and with it the next departure. So a
/// limiter has to be looked at again at the earlier of both instants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReactionPoint {
    link: u64,
    /// Rate now and target, bit/s.
    rate: u64,
    target: u64,
    /// Bytes left of the byte stage.
    left: i64,
    byte_stage: u32,
    timer_stage: u32,
    /// End of the timer stage.
    timer: Time,
    active: bool,
    used: u8,
    /// The last frame: when it began to leave, and its bytes on the wire.
    sent_at: Time,
    sent: u32,
    stream: Stream,
}

impl ReactionPoint {
    /// A limiter that does not limit yet, at a link of so many bit/s. `stream`: random numbers of this limiter alone
    /// ([`crate::rng::Purpose::Qcn`]).
    pub fn new(link: BitsPerSec, stream: Stream) -> Self {
        Self {
            link: link.0.max(1),
            rate: link.0.max(1),
            target: link.0.max(1),
            left: 0,
            byte_stage: 0,
            timer_stage: 0,
            timer: Time::NEVER,
            active: false,
            used: 0,
            sent_at: Time(0),
            sent: 0,
            stream,
        }
    }

    /// Whether it limits.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Which of the parameters have mattered so far: bits, from [`ACTIVE`] on.
    pub fn used(&self) -> u8 {
        self.used
    }

    /// Whether it lets frames out as a new one would: at the link's rate, with nothing left to recover.
    pub fn is_at_rest(&self) -> bool {
        self.rate >= self.link && self.timer == Time::NEVER
    }

    /// The rate, from the lowest up to the link's.
    pub fn rate(&self) -> BitsPerSec {
        BitsPerSec(self.rate)
    }

    /// The rate it recovers to.
    pub fn target(&self) -> BitsPerSec {
        BitsPerSec(self.target)
    }

    /// The earliest instant for the next frame: the last one has then had its time at the rate of now. A limiter that idles saves
    /// nothing up.
    pub fn next_departure(&self) -> Time {
        Time(self.sent_at.0.saturating_add(BitsPerSec(self.rate).serialisation(u64::from(self.sent)).0))
    }

    /// When [`ReactionPoint::on_timeout`] is due.
    pub fn next_timeout(&self) -> Time {
        self.timer
    }

    /// A congestion notification arrives at `now`.
    pub fn on_feedback(&mut self, p: &ReactionPointParams, now: Time, feedback: Feedback) {
        if feedback.level == 0 {
            return;
        }
        if !self.active {
            if feedback.offset >= 0 {
                self.used |= BELOW_SET_POINT;
                if p.start_above_set_point {
                    return;
                }
            }
            self.active = true;
            (self.rate, self.target) = (self.link, self.link);
            self.left = p.byte_stage(0) as i64;
        } else if self.byte_stage == 0 {
            self.used |= FIRST_STAGE;
        }
        if self.byte_stage != 0 || !p.keep_target {
            self.target = self.rate;
            self.left = p.byte_stage(0) as i64;
        }
        (self.byte_stage, self.timer_stage) = (0, 0);
        self.rate = p.decreased(self.rate, feedback.level);
        self.timer = Time(now.0.saturating_add(p.timer.0));
    }

    /// A frame of `len` bytes begins to leave at `now`; its time at a rate is that of `overhead` more, as on the link. `drained`: no
    /// other frame waits at this limiter.
    pub fn on_sent(&mut self, p: &ReactionPointParams, now: Time, len: u32, overhead: u32, drained: bool) {
        (self.sent_at, self.sent) = (now, len.saturating_add(overhead));
        if !self.active {
            return;
        }
        if self.rate >= self.link && drained {
            *self = Self {
                sent_at: now,
                sent: self.sent,
                used: self.used,
                ..Self::new(BitsPerSec(self.link), self.stream)
            };
            return;
        }
        self.left -= i64::from(len);
        if self.left < 0 {
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.left = around(p.byte_stage(self.byte_stage), p.jitter, self.stream.next_u64()) as i64;
            self.increase(p);
        }
    }

    /// The timer stage that ends at [`ReactionPoint::next_timeout`], `now`, is over. Does nothing before that instant.
    pub fn on_timeout(&mut self, p: &ReactionPointParams, now: Time) {
        if !self.active || now < self.timer {
            return;
        }
        self.timer_stage = self.timer_stage.saturating_add(1);
        self.increase(p);
        let length = around(p.timer_stage(self.timer_stage), p.jitter, self.stream.next_u64()).max(1);
        let done = self.rate == self.link && self.target == self.link;
        self.timer = if done { Time::NEVER } else { Time(now.0.saturating_add(length)) };
    }

    fn increase(&mut self, p: &ReactionPointParams) {
        let first = self.byte_stage == 1 || self.timer_stage == 1;
        let far = first && self.target > self.rate.saturating_mul(10);
        if far {
            self.used |= CLAMP;
        }
        if far && p.clamp_target {
            self.target /= 8;
        } else {
            self.raise(p);
        }
        self.rate = (u128::from(self.rate) + u128::from(self.target)).div_ceil(2) as u64;
    }

    /// Raises the target as far as the stages say.
    fn raise(&mut self, p: &ReactionPointParams) {
        let steps = |stages| p.steps(stages, self.byte_stage, self.timer_stage);
        let (times, step) = steps(p.stages);
        let size = if step == HYPER { p.hai_rate } else { p.ai_rate };
        if self.target < self.link {
            self.used |= step;
            if steps(Stages::PseudoCode) != steps(Stages::Standard) {
                self.used |= STAGES;
            }
        }
        self.target = self.target.saturating_add(size.saturating_mul(times)).min(self.link);
    }
}
