//! When a run in which nothing moves any more is over: looked for at fixed instants of simulated time, so that it does not
//! depend on the order in which an engine looks at things.

use paceline_proto::units::Duration;

use super::{Symptoms, find_cycle};

/// Looks within the time without progress after which a run is suspected.
const LOOKS: u64 = 8;
/// Least time between looks, ps: each ends a window, and in a suspected run of some forty hosts one took 0.8 ms.
const LEAST_STEP: u64 = 10_000_000;
/// Between looks where nothing is ever suspected, ps.
const UNSUSPECTING: u64 = 1_000_000_000;

/// Watches the progress of a run at the multiples of a step.
#[derive(Clone, Debug)]
pub struct Standstill {
    /// Time without progress after which a run is suspected, ps (`run.stall`).
    stall: Option<u64>,
    /// Between looks, ps.
    step: u64,
    /// The next look. All that happens before it has happened by then, and nothing else.
    pub next: u64,
    progress: u64,
    /// The look at which progress was seen last.
    progress_at: u64,
    /// No flow was under way at the last look.
    idle: bool,
}

/// Looks between which nothing happened, from the first to the last, at one of which the run may have come to a standstill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspicion {
    first: u64,
    last: u64,
}

impl Standstill {
    /// With the time without progress after which a run is suspected; without one it never is.
    pub fn new(stall: Option<Duration>) -> Self {
        let stall = stall.map(|s| s.0);
        let step = stall.map_or(UNSUSPECTING, |s| (s / LOOKS + 1).max(LEAST_STEP));
        Self { stall, step, next: step, progress: 0, progress_at: 0, idle: true }
    }

    /// Nothing happens any more before `until`: takes the looks up to there. `progress` only grows where something moves; `active`
    /// flows are under way.
    #[inline]
    pub fn look(&mut self, until: u64, progress: u64, active: u64) -> Option<Suspicion> {
        if until < self.next { None } else { self.look_on(until, progress, active) }
    }

    #[cold]
    #[inline(never)]
    fn look_on(&mut self, until: u64, progress: u64, active: u64) -> Option<Suspicion> {
        let first = self.next;
        let last = first + (until - first) / self.step * self.step;
        self.next = last.saturating_add(self.step);
        // A flow that starts after a time without any has the time from its start on.
        if progress != self.progress || self.idle {
            (self.progress, self.progress_at) = (progress, first);
        }
        self.idle = active == 0;
        (active > 0 && self.stall.is_some_and(|s| last - self.progress_at > s)).then_some(Suspicion { first, last })
    }

    /// At which of the suspicious looks no timeout that still runs explains any more why nothing moves. Nothing need move where all of
    /// the `active` are clients whose answers were given up.
    pub fn confirm(&self, suspicion: Suspicion, symptoms: &Symptoms, active: u64) -> Option<u64> {
        if symptoms.in_vain() == active {
            return None;
        }
        let helps = if find_cycle(&symptoms.waits).is_some() {
            self.progress_at
        } else {
            // What is sent again when a timeout is due has as long to arrive as anything else.
            self.progress_at.checked_add(symptoms.patience)?.max(symptoms.due)
        };
        let over = helps.checked_add(self.stall?)?;
        let at = (over / self.step + 1).checked_mul(self.step)?.max(suspicion.first);
        (at <= suspicion.last).then_some(at)
    }

    /// When the run is over if nothing will ever happen again.
    pub fn end(&mut self, progress: u64, active: u64, symptoms: &Symptoms) -> u64 {
        let next = self.next;
        self.look(u64::MAX, progress, active).and_then(|s| self.confirm(s, symptoms, active)).unwrap_or(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each look ends a window: of a `stall` of 1 us eight a microsecond made a run over links of 1 ms two hundred times as slow.
    #[test]
    fn a_short_stall_is_not_looked_for_all_the_time() {
        let first = |us| Standstill::new(Some(Duration::from_us(us))).next;
        assert_eq!(first(1), 10_000_000);
        assert_eq!(first(10_000), 1_250_000_001);
    }
}
