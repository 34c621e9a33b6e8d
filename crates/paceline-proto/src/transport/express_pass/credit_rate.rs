//! Credit feedback control: a receiver's credit rate for one flow.
//!
//! Source: proactive facts, section 1.5. Once per round trip the share of credits that brought no data back is compared with a target.

use super::params::{Config, Feedback};
use crate::units::{Duration, Time};

/// Picoseconds per second.
const PS: f64 = 1e12;

/// Rate and aggressiveness of a flow's credits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditRate {
    /// Rate c, bytes of credits on the wire per second.
    rate: f64,
    /// Aggressiveness w.
    w: f64,
    /// The last update met no congestion.
    up: bool,
    /// Credits accounted for since the last update, and how many of them were lost.
    total: u32,
    dropped: u32,
    /// The last update.
    since: Time,
    /// Smoothed round trip, ps; 0 while unknown.
    srtt: f64,
}

impl CreditRate {
    /// Nothing known yet; [`CreditRate::restart`] sets the rate.
    pub const fn new() -> Self {
        Self { rate: 0.0, w: 0.0, up: false, total: 0, dropped: 0, since: Time(0), srtt: 0.0 }
    }

    /// A request for `packets` (at least 1) has come. What was counted since the last update stays, also what died at a sender that had
    /// stopped.
    pub fn restart(&mut self, now: Time, packets: u32, c: &Config) {
        let p = &c.params;
        let part = (f64::from(packets.max(1)) / f64::from(p.full_rate_packets)).min(1.0);
        (self.rate, self.w, self.since) = (p.alpha * c.max_rate * part, p.w_init, now);
    }

    /// Rate now, bytes of credits on the wire per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Aggressiveness now.
    pub fn w(&self) -> f64 {
        self.w
    }

    /// Smoothed round trip; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0.0).then_some(Duration(self.srtt as u64))
    }

    /// Data came back for a credit sent `rtt` ago; `lost` credits before it brought none.
    #[inline]
    pub fn on_data(&mut self, rtt: Duration, lost: u32) {
        let sample = rtt.0 as f64;
        self.srtt = if self.srtt > 0.0 { 0.8 * self.srtt + 0.2 * sample } else { sample };
        self.total = self.total.saturating_add(lost).saturating_add(1);
        self.dropped = self.dropped.saturating_add(lost);
    }

    /// Adapts the rate, if a round trip has passed since the last time and there is something to go by.
    #[inline]
    pub fn update(&mut self, now: Time, c: &Config) {
        let elapsed = now.0.saturating_sub(self.since.0) as f64;
        if self.srtt > 0.0 && elapsed >= self.srtt && self.total > 0 {
            self.adapt(elapsed, c);
            (self.total, self.dropped, self.since) = (0, 0, now);
        }
    }

    fn adapt(&mut self, elapsed: f64, c: &Config) {
        let (p, max) = (&c.params, c.max_rate);
        let loss = f64::from(self.dropped) / f64::from(self.total);
        let least = c.mean_credit * PS / self.srtt;
        let target = match p.feedback {
            Feedback::Simulator => (1.0 - self.rate / max) * p.target_loss,
            Feedback::Paper => p.target_loss,
        };
        let congested = loss > target;
        let mut most = max;
        match p.feedback {
            Feedback::Simulator if congested => {
                let came = f64::from(self.total - self.dropped) * c.mean_credit * PS / elapsed;
                self.rate = if loss >= 1.0 { least } else { self.rate.min(came * (1.0 + target)) };
            }
            Feedback::Simulator => {
                if self.up {
                    self.w = (self.w + p.w_step).min(p.w_max);
                }
                if self.rate < max {
                    self.rate = self.w * max + (1.0 - self.w) * self.rate;
                }
            }
            Feedback::Paper => {
                most = max * (1.0 + target);
                if congested {
                    self.rate *= (1.0 - loss) * (1.0 + target);
                } else {
                    if self.up {
                        self.w = f64::midpoint(self.w, p.w_max);
                    }
                    self.rate = (1.0 - self.w) * self.rate + self.w * most;
                }
            }
        }
        if congested {
            self.w = (self.w / 2.0).max(p.w_min);
        }
        self.up = !congested;
        // One credit per round trip at least; where that is more than the link grants, the link decides.
        self.rate = self.rate.max(least).min(most);
    }

    /// Time to the next credit; `draw` in [0, 1) picks the jitter.
    #[inline]
    pub fn gap(&self, draw: f64, c: &Config) -> Duration {
        let gap = c.mean_credit * PS / self.rate * (1.0 + c.params.jitter * (2.0 * draw - 1.0));
        Duration((gap as u64).max(1))
    }
}

impl Default for CreditRate {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::Params;
    use super::*;
    use crate::units::{BitsPerSec, US};

    fn at_10g(params: Params) -> Config {
        Config::new(params, BitsPerSec(10_000_000_000)).unwrap()
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
    }

    /// Facts, section 0: 64,734,895 B/s at 10 Gb/s, one credit per 129.76 ns at 100 Gb/s, whichever way frames are counted.
    #[test]
    fn credits_get_84_of_1622_bytes() {
        use super::super::params::Framing;
        for framing in [Framing::wire(), Framing::frames()] {
            let c = at_10g(Params { framing, jitter: 0.0, alpha: 1.0, ..Params::default() });
            close(c.max_rate, 1.25e9 * 84.0 / 1622.0);
            assert_eq!(c.max_rate as u64, 64_734_895);
            let mut r = CreditRate::new();
            let fast = Config::new(c.params, BitsPerSec(100_000_000_000)).unwrap();
            r.restart(Time(0), 1000, &fast);
            assert!((129_759..=129_760).contains(&r.gap(0.5, &fast).0));
        }
    }

    /// A flow's first steps by hand, R = 64,734,895.19 B/s, round trip 60 us: start at half of R; no loss three times: w
    /// stays at 1/16, then grows by 0.05 a time.
    #[test]
    fn growth_by_hand() {
        let c = at_10g(Params::default());
        let big_r = c.max_rate;
        let mut r = CreditRate::new();
        r.restart(Time(0), 1000, &c);
        close(r.rate(), 0.5 * big_r);
        let mut now = 0;
        let mut step = |r: &mut CreditRate| {
            now += 60 * US;
            r.on_data(Duration(60 * US), 0);
            r.update(Time(now), &c);
            (r.rate() / big_r, r.w())
        };
        let (rate, w) = step(&mut r);
        close(rate, 0.0625 + 0.9375 * 0.5);
        close(w, 0.0625);
        let (rate, w) = step(&mut r);
        close(w, 0.1125);
        close(rate, 0.1125 + 0.8875 * 0.531_25);
        let (rate, w) = step(&mut r);
        close(w, 0.1625);
        close(rate, 0.1625 + 0.8375 * 0.583_984_375);
    }

    /// At R no loss is tolerated; 30 of 100 credits lost in 100 us: 70 came back, at 58.8 MB/s. Then w halves, and the first
    /// round without loss does not raise it.
    #[test]
    fn cut_by_hand() {
        let c = at_10g(Params { alpha: 1.0, ..Params::default() });
        let mut r = CreditRate::new();
        r.restart(Time(0), 1000, &c);
        for lost in [0, 20, 10] {
            r.on_data(Duration(50 * US), lost);
        }
        for _ in 0..67 {
            r.on_data(Duration(50 * US), 0);
        }
        r.update(Time(100 * US), &c);
        close(r.rate(), 70.0 * 84.0 / 100e-6);
        close(r.w(), 0.031_25);
        // Now the target is (1 - 58.8/64.73) * 0.125 = 1.146 %; one in fifty is above it, one in a hundred is not.
        let before = r.rate();
        r.on_data(Duration(50 * US), 1);
        for _ in 0..98 {
            r.on_data(Duration(50 * US), 0);
        }
        r.update(Time(200 * US), &c);
        close(r.w(), 0.031_25);
        close(r.rate(), 0.031_25 * c.max_rate + 0.968_75 * before);
    }

    /// Not before a round trip has passed since the last update, nor without data; never below a credit per round trip.
    #[test]
    fn when_and_how_little() {
        let c = at_10g(Params::default());
        let mut r = CreditRate::new();
        r.restart(Time(0), 4, &c);
        close(r.rate(), 0.05 * c.max_rate);
        r.update(Time(US), &c);
        r.on_data(Duration(60 * US), 999);
        r.update(Time(59 * US), &c);
        close(r.rate(), 0.05 * c.max_rate);
        r.update(Time(600 * US), &c);
        close(r.rate(), 84.0 / 60e-6);
    }

    /// The paper's rule: constant target of a tenth, growth towards 1.1 R, a cut by (1 - loss) * 1.1.
    #[test]
    fn the_papers_rule() {
        let c = at_10g(Params { feedback: Feedback::Paper, target_loss: 0.1, ..Params::default() });
        let mut r = CreditRate::new();
        r.restart(Time(0), 1000, &c);
        r.on_data(Duration(60 * US), 0);
        r.update(Time(60 * US), &c);
        close(r.rate() / c.max_rate, 0.0625 * 1.1 + 0.9375 * 0.5);
        r.on_data(Duration(60 * US), 0);
        r.update(Time(120 * US), &c);
        close(r.w(), 0.281_25);
        let before = r.rate();
        r.on_data(Duration(60 * US), 4);
        r.update(Time(180 * US), &c);
        close(r.rate(), before * 0.2 * 1.1);
        close(r.w(), 0.140_625);
    }
}
