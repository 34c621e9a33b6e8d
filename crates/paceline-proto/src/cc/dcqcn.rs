//! DCQCN: congestion control for large-scale RDMA (Zhu et al., SIGCOMM 2015), as Mellanox NICs do it.
//!
//! Source: the paper's section 5 (rates, `alpha`, stages) and the HPCC authors' public simulator (hpcc-ns3 facts, section
//! 4.10), which models the NIC's three timers.
//!
//! *Deviations from the paper, as in that simulator:* the receiver echoes the mark of every packet in its ACK, and each
//! such ACK is a congestion notification; with `cnp_interval` 0 none is left out (50 us in the paper, here counted at the
//! sender). A notification only sets flags; the rate falls at the next tick of the decrease timer, by an `alpha` that only its
//! own ticks move (the paper cuts, then raises it). There is no byte counter: only the increase timer drives recovery, and of
//! its steps past fast recovery the first is additive, all others hyper (the paper's hyper increase needs both counters past F).
//! The target falls to the rate only where the rate has risen since the last decrease, unless `clamp_target_rate` (in the paper
//! at every decrease). `alpha` starts to move with the first notification.
//!
//! Ticks fall due at fixed instants. They may be run one by one ([`CongestionControl::on_timer`]), or all those due when
//! the flow is next looked at ([`CongestionControl::catch_up`]): nothing outside the flow sees a tick before that. Of two
//! ticks at the same instant the one armed first goes first, as in the simulator.

use super::{Ack, Algorithm, CongestionControl, FlowContext, Limits, Profile, TIMERS, scaled_window};
use crate::units::{Duration, Time};

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Gain g of `alpha`, 0 to 1. The paper's 1/256.
    pub g: f64,
    /// Interval of the ticks that update `alpha`, above 0. 1 us in the NIC vendor's setting, 50 us (55 us) in the paper.
    pub alpha_interval: Duration,
    /// Interval of the ticks that may reduce the rate, above 0. 4 us (vendor), 50 us (paper).
    pub decrease_interval: Duration,
    /// Interval of the ticks that raise the rate, above 0. 300 us (vendor), 55 us (paper).
    pub increase_interval: Duration,
    /// Increase ticks of fast recovery (F). 1 in the HPCC authors' runs, 5 in the paper.
    pub fast_recovery: u32,
    /// Additive increase, bit/s. 20 Mb/s at 100 Gb/s in the HPCC authors' runs.
    pub ai_rate: u64,
    /// Hyper increase, bit/s. 200 Mb/s likewise.
    pub hai_rate: u64,
    /// Lowest rate, bit/s.
    pub min_rate: u64,
    /// The target falls to the present rate at every decrease, not only after an increase.
    pub clamp_target_rate: bool,
    /// Notifications within this time of the last that counted are ignored; 0: all count. 50 us in the paper.
    pub cnp_interval: Duration,
    /// The window, where there is one, follows the rate.
    pub variable_window: bool,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile { needs_marks: true, ticks: true, ..Profile::RDMA };

    fn min_rate_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.min_rate)
    }
}

impl Params {
    /// The NIC vendor's timers (300 us, 4 us), with the HPCC authors' steps at 100 Gb/s.
    pub fn vendor() -> Self {
        Self {
            g: 0.003_906_25,
            alpha_interval: Duration::from_us(1),
            decrease_interval: Duration::from_us(4),
            increase_interval: Duration::from_us(300),
            fast_recovery: 1,
            ai_rate: 20_000_000,
            hai_rate: 200_000_000,
            min_rate: 1_000_000_000,
            clamp_target_rate: false,
            cnp_interval: Duration(0),
            variable_window: true,
        }
    }

    /// The DCQCN paper's timers (55 us, 50 us), with the HPCC authors' steps at 100 Gb/s.
    pub fn paper() -> Self {
        Self {
            alpha_interval: Duration::from_us(50),
            decrease_interval: Duration::from_us(50),
            increase_interval: Duration::from_us(55),
            ..Self::vendor()
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::vendor()
    }
}

/// Index of the `alpha` timer.
const ALPHA: usize = 0;
/// Index of the decrease timer.
const DECREASE: usize = 1;
/// Index of the increase timer.
const INCREASE: usize = 2;

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    alpha: f64,
    /// Target rate and rate now, bit/s.
    target: u64,
    rate: u64,
    /// Next ticks.
    timers: [Time; TIMERS],
    /// The notification that counted last.
    last_cnp: Time,
    /// Increase ticks since the last decrease.
    stage: u32,
    /// Notified since the last tick of the `alpha` and of the decrease timer.
    alpha_flag: bool,
    decrease_flag: bool,
    used: u8,
}

/// [`CongestionControl::used`]: an additive increase has moved a target rate, so that `ai_rate` matters.
pub const ADDITIVE: u8 = 1;
/// The same of a hyper increase and `hai_rate`.
pub const HYPER: u8 = 2;

impl Dcqcn {
    /// A fresh flow: line rate, timers off until the first notification.
    pub fn new(ctx: &FlowContext) -> Self {
        Self {
            alpha: 1.0,
            target: ctx.line_rate,
            rate: ctx.line_rate,
            timers: [Time::NEVER; TIMERS],
            last_cnp: Time::NEVER,
            stage: 0,
            alpha_flag: false,
            decrease_flag: false,
            used: 0,
        }
    }

    /// The timer that runs out next. The decrease timer ticks off the `alpha` timer's grid; it may meet the increase timer.
    fn next_timer(&self, p: &Params) -> usize {
        let [alpha, decrease, increase] = self.timers;
        let increase_first = p.increase_interval > p.decrease_interval;
        let (other, at) = if increase < decrease || (increase == decrease && increase_first) {
            (INCREASE, increase)
        } else {
            (DECREASE, decrease)
        };
        if alpha <= at { ALPHA } else { other }
    }

    fn decrease(&mut self, p: &Params, line_rate: u64, now: Time) {
        if !std::mem::take(&mut self.decrease_flag) {
            return;
        }
        if p.clamp_target_rate || self.stage != 0 {
            self.target = self.rate;
        }
        self.rate = ((self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64).max(p.min_rate).min(line_rate);
        self.stage = 0;
        self.timers[INCREASE] = now + p.increase_interval;
    }

    fn increase(&mut self, p: &Params, line_rate: u64) {
        let step = match self.stage.cmp(&p.fast_recovery) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => p.ai_rate,
            std::cmp::Ordering::Greater => p.hai_rate,
        };
        // A target at the line stays there, whatever the step.
        if self.target < line_rate {
            self.used |= match self.stage.cmp(&p.fast_recovery) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => ADDITIVE,
                std::cmp::Ordering::Greater => HYPER,
            };
        }
        self.target = (self.target + step).min(line_rate);
        // Halves are truncated, so that two of an odd lowest rate fall short of it.
        self.rate = (self.rate / 2 + self.target / 2).max(p.min_rate).min(line_rate);
        self.stage = self.stage.saturating_add(1);
    }
}

impl CongestionControl for Dcqcn {
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::Dcqcn(p) = &ctx.params else { return };
        if !ack.ecn || (self.last_cnp != Time::NEVER && ack.now < self.last_cnp + p.cnp_interval) {
            return;
        }
        let first = self.last_cnp == Time::NEVER;
        self.last_cnp = ack.now;
        self.decrease_flag = true;
        self.alpha_flag = !first;
        if first {
            self.timers[ALPHA] = ack.now + p.alpha_interval;
            // A nanosecond later, so that alpha is updated before it is used.
            self.timers[DECREASE] = ack.now + p.decrease_interval + Duration::from_ns(1);
        }
    }

    fn used(&self) -> u8 {
        self.used
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Dcqcn(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }

    fn timers(&self) -> [Time; TIMERS] {
        self.timers
    }

    fn on_timer(&mut self, ctx: &FlowContext, timer: usize, now: Time) {
        let super::Params::Dcqcn(p) = &ctx.params else { return };
        match timer {
            ALPHA => {
                self.timers[ALPHA] = now + p.alpha_interval;
                let flag = f64::from(u8::from(std::mem::take(&mut self.alpha_flag)));
                self.alpha = (1.0 - p.g) * self.alpha + p.g * flag;
            }
            DECREASE => {
                self.timers[DECREASE] = now + p.decrease_interval;
                self.decrease(p, ctx.line_rate, now);
            }
            _ => {
                self.timers[INCREASE] = now + p.increase_interval;
                self.increase(p, ctx.line_rate);
            }
        }
    }

    fn catch_up(&mut self, ctx: &FlowContext, now: Time) {
        let super::Params::Dcqcn(p) = &ctx.params else { return };
        loop {
            let timer = self.next_timer(p);
            let at = self.timers[timer];
            if at > now {
                return;
            }
            self.on_timer(ctx, timer, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;
    use crate::units::{NS, US};
    use proptest::prelude::*;

    fn notify(f: &mut Dcqcn, ctx: &FlowContext, now: u64) {
        f.catch_up(ctx, Time(now));
        f.on_ack(ctx, &Ack { now: Time(now), ..ack(1, 2, true) });
    }

    /// Worked by hand with the vendor's timers.
    #[test]
    fn timers_move_the_rate() {
        let ctx = context(super::super::Params::Dcqcn(Params::vendor()));
        let mut f = Dcqcn::new(&ctx);
        f.catch_up(&ctx, Time(5 * US));
        assert_eq!(f.limits(&ctx).rate, 100_000_000_000);
        notify(&mut f, &ctx, 10 * US);
        assert_eq!(f.rate, 100_000_000_000, "a notification only sets flags");
        // Four alpha ticks without a notification, then the decrease: alpha = (255/256)^4.
        f.catch_up(&ctx, Time(14 * US));
        assert_eq!(f.rate, 100_000_000_000);
        f.catch_up(&ctx, Time(14 * US + NS));
        let alpha = (255.0f64 / 256.0).powi(4);
        assert_eq!((f.alpha, f.rate), (alpha, (1e11 * (1.0 - alpha / 2.0)) as u64));
        assert_eq!(f.target, 100_000_000_000, "stage 0: the target stays");
        // One tick of fast recovery halves the distance, the second adds 20 Mb/s to the target (already at line rate).
        let low = f.rate;
        f.catch_up(&ctx, Time(314 * US + NS));
        assert_eq!(f.rate, low / 2 + 50_000_000_000);
        assert_eq!(f.timers[INCREASE], Time(614 * US + NS));
        // After an increase a decrease brings the target down to the rate.
        let high = f.rate;
        notify(&mut f, &ctx, 400 * US);
        f.catch_up(&ctx, Time(402 * US + NS));
        assert_eq!((f.target, f.stage), (high, 0));
        f.catch_up(&ctx, Time(702 * US + NS));
        f.catch_up(&ctx, Time(1002 * US + NS));
        assert_eq!(f.target, high + 20_000_000, "active increase after one tick of fast recovery");
        f.catch_up(&ctx, Time(1302 * US + NS));
        assert_eq!(f.target, high + 220_000_000, "then hyper increase");
    }

    #[test]
    fn a_cnp_interval_ignores_what_comes_too_soon() {
        let params = Params { cnp_interval: Duration::from_us(50), ..Params::paper() };
        let ctx = context(super::super::Params::Dcqcn(params));
        let mut f = Dcqcn::new(&ctx);
        notify(&mut f, &ctx, 0);
        f.catch_up(&ctx, Time(50 * US + NS));
        assert!(!f.decrease_flag, "the decrease took the flag");
        f.last_cnp = Time(20 * US);
        notify(&mut f, &ctx, 69 * US);
        assert!(!f.decrease_flag);
        notify(&mut f, &ctx, 70 * US);
        assert!(f.decrease_flag);
    }

    proptest! {
        /// It does not matter how often a flow is looked at: catching up in steps and at once give the same state, and
        /// the rate stays within its bounds.
        #[test]
        fn catching_up_late_equals_ticking(
            paper in any::<bool>(),
            looks in prop::collection::vec((0u64..400_000, any::<bool>()), 1..80),
        ) {
            let params = if paper { Params::paper() } else { Params::vendor() };
            let ctx = context(super::super::Params::Dcqcn(params));
            let (mut often, mut seldom, mut now) = (Dcqcn::new(&ctx), Dcqcn::new(&ctx), 0);
            for (step, notified) in looks {
                for part in 1..=4 {
                    often.catch_up(&ctx, Time(now + step * NS * part / 4));
                }
                now += step * NS;
                if notified {
                    notify(&mut often, &ctx, now);
                    notify(&mut seldom, &ctx, now);
                }
                prop_assert!((1_000_000_000..=ctx.line_rate).contains(&often.rate));
            }
            seldom.catch_up(&ctx, Time(now));
            prop_assert_eq!(format!("{often:?}"), format!("{seldom:?}"));
        }
    }
}
