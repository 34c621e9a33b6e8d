//! A connection's timers: a closed set and an array.

use crate::units::Time;

/// What may be waited for. The order decides which of two due at the same instant runs first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Timer {
    /// Retransmission (RFC 6298).
    Retransmit,
    /// Probe of a closed window (RFC 9293, section 3.8.6.1).
    Persist,
    /// An acknowledgement held back.
    DelayedAck,
    /// The next paced burst.
    Pace,
    /// A telemetry probe that did not come back.
    Probe,
    /// End of TIME-WAIT.
    TimeWait,
}

const ALL: [Timer; 6] =
    [Timer::Retransmit, Timer::Persist, Timer::DelayedAck, Timer::Pace, Timer::Probe, Timer::TimeWait];

/// When each is due; [`Time::NEVER`] when it is not running.
#[derive(Clone, Copy, Debug)]
pub struct Timers([Time; ALL.len()]);

impl Default for Timers {
    fn default() -> Self {
        Self([Time::NEVER; ALL.len()])
    }
}

impl Timers {
    /// Starts or moves a timer.
    #[inline]
    pub fn set(&mut self, timer: Timer, at: Time) {
        self.0[timer as usize] = at;
    }

    /// Stops a timer.
    #[inline]
    pub fn clear(&mut self, timer: Timer) {
        self.0[timer as usize] = Time::NEVER;
    }

    /// Whether it is running.
    #[inline]
    pub fn is_set(&self, timer: Timer) -> bool {
        self.0[timer as usize] != Time::NEVER
    }

    /// When the first one is due.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let first = self.0.iter().fold(Time::NEVER, |first, at| first.min(*at));
        (first != Time::NEVER).then_some(first)
    }

    /// The earliest one due by `now`, which stops.
    pub fn expired(&mut self, now: Time) -> Option<Timer> {
        let due = self.next().filter(|due| *due <= now)?;
        let timer = ALL.into_iter().find(|t| self.0[*t as usize] == due)?;
        self.clear(timer);
        Some(timer)
    }

    /// Stops all.
    pub fn clear_all(&mut self) {
        *self = Self::default();
    }
}
