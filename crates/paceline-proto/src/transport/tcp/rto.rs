//! Round-trip time and retransmission timeout: RFC 6298, and FreeBSD's rule with a slop.
//!
//! One formula serves both. With `b` the back-off (1, 2, 4, ...):
//! `clamp(max(min, SRTT + max(quantum, 4 RTTVAR)) * b + slop, min, max)`. RFC 6298 has no slop; FreeBSD adds it after the
//! back-off and multiplies nothing of it, so that its true floor is `min + slop`.

use crate::units::{Duration, Time};

use super::params::Rto as Params;

/// A connection's estimate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rto {
    /// Smoothed round-trip time, ps; 0 without samples and when it was forgotten.
    srtt: u64,
    /// Its mean deviation, ps.
    rttvar: u64,
    /// Samples so far.
    samples: u32,
    /// The next sample starts the average anew.
    fresh: bool,
    /// Timeouts since the last sample.
    backoff: u8,
    /// The SYN timed out and the RTO is what RFC 6298, section 5.7 says, until a sample comes.
    syn_lost: bool,
}

impl Rto {
    /// An estimate without samples.
    pub fn new() -> Self {
        Self { fresh: true, ..Self::default() }
    }

    /// An estimate that starts from another connection's to the same host; the next sample is averaged into it.
    pub fn inherited(srtt: Duration, rttvar: Duration) -> Self {
        Self { srtt: srtt.0, rttvar: rttvar.0, ..Self::default() }
    }

    /// A round-trip time was measured (RFC 6298, sections 2.2 and 2.3). Ends a back-off.
    pub fn sample(&mut self, rtt: Duration, params: &Params) {
        // A clock of `quantum` sees whole ticks, and never none.
        let rtt = rtt.0.max(params.quantum.0);
        if self.fresh {
            (self.srtt, self.rttvar) = (rtt, rtt / 2);
        } else {
            self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (7 * self.srtt + rtt) / 8;
        }
        self.fresh = false;
        self.syn_lost = false;
        self.samples = self.samples.saturating_add(1);
        self.backoff = 0;
    }

    /// The timer ran out: doubles what follows (RFC 6298, section 5.5).
    pub fn back_off(&mut self, params: &Params) {
        self.backoff = self.backoff.saturating_add(1);
        // RFC 6298, section 5, last note: SRTT may be dropped after several timeouts. FreeBSD folds it into the
        // deviation, which leaves the RTO as it is, and takes the next sample as a first one.
        if params.forget_after > 0 && u32::from(self.backoff) > params.forget_after && !self.fresh {
            self.rttvar += self.srtt / 4;
            self.srtt = 0;
            self.fresh = true;
        }
    }

    /// The handshake is over. `syn_lost`: the SYN had to be repeated.
    pub fn established(&mut self, syn_lost: bool) {
        self.backoff = 0;
        self.syn_lost = syn_lost;
    }

    /// The timeout now.
    pub fn timeout(&self, params: &Params) -> Duration {
        if self.srtt == 0 && self.rttvar == 0 {
            return match (self.syn_lost, self.backoff) {
                (true, n) => self.bounded(params.after_lost_syn.0.max(params.min.0), n, params),
                (false, 0) => params.initial,
                (false, n) => {
                    let doublings = n.saturating_sub(params.syn_flat).min(params.syn_doublings);
                    self.bounded(params.initial.0, doublings, params)
                }
            };
        }
        self.bounded(self.unclamped(params), self.backoff.min(params.doublings), params)
    }

    /// How long to wait before the `n`-th probe of a closed window.
    pub fn persist(&self, n: u8, params: &Params) -> Duration {
        let base = if self.srtt == 0 && self.rttvar == 0 { params.initial.0 } else { self.unclamped(params) };
        Duration(shifted(base, n).max(params.persist_min.0).min(params.persist_max.0))
    }

    fn unclamped(&self, params: &Params) -> u64 {
        (self.srtt + (4 * self.rttvar).max(params.quantum.0)).max(params.min.0)
    }

    fn bounded(&self, base: u64, doublings: u8, params: &Params) -> Duration {
        let slop = if self.samples == 0 && self.backoff == 0 && self.fresh { 0 } else { params.slop.0 };
        Duration(shifted(base, doublings).saturating_add(slop).max(params.min.0).min(params.max.0))
    }

    /// Smoothed round-trip time; 0 before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        Duration(self.srtt)
    }

    /// Its mean deviation.
    pub fn rttvar(&self) -> Duration {
        Duration(self.rttvar)
    }

    /// Samples so far.
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

/// `base * 2^n`, saturating.
fn shifted(base: u64, n: u8) -> u64 {
    if u32::from(n) >= base.leading_zeros() { u64::MAX } else { base << n }
}

/// The first tick of a clock of `quantum` at or after `at`: when a timer of that clock really runs.
#[inline]
pub fn next_tick(at: Time, quantum: Duration) -> Time {
    if quantum.0 <= 1 { at } else { Time(at.0.div_ceil(quantum.0).saturating_mul(quantum.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The waits of a connection that hears nothing, ms.
    fn waits(mut rto: Rto, count: usize, p: &Params) -> Vec<u64> {
        let next = |_| {
            let wait = rto.timeout(p).as_ns() / 1_000_000;
            rto.back_off(p);
            wait
        };
        (0..count).map(next).collect()
    }

    /// The study's remark that the floor of a data RTO is 22 ms and not the 2 ms that its table says. A connection that hears nothing would
    /// be given up three times as late if its timeouts doubled on and on.
    #[test]
    fn slop_is_added_and_not_multiplied_and_doublings_end() {
        let p = Params::freebsd();
        let mut rto = Rto::new();
        rto.sample(Duration::from_us(75), &p);
        assert_eq!(waits(rto, 13, &p), [22, 24, 28, 36, 52, 84, 148, 276, 532, 1044, 1044, 1044, 1044]);
        assert_eq!(waits(Rto::new(), 13, &p), [10, 30, 30, 30, 30, 40, 60, 100, 180, 340, 660, 660, 660]);
        assert_eq!(waits(Rto::new(), 8, &Params::rfc()), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    }

    /// With ticks of a millisecond a round trip of 75 us is one tick, and the RTO has nothing to do with it.
    #[test]
    fn a_coarse_clock_sees_whole_ticks() {
        let p = Params { quantum: Duration::from_us(1_000), min: Duration(0), slop: Duration(0), ..Params::freebsd() };
        let mut rto = Rto::new();
        rto.sample(Duration::from_us(75), &p);
        assert_eq!(rto.srtt(), Duration::from_us(1_000));
        assert_eq!(next_tick(Time(1), p.quantum), Time(1_000_000_000));
    }

    /// After three back-offs FreeBSD starts the average anew: a path that became slow is believed at once.
    #[test]
    fn a_long_silence_forgets_the_average() {
        let p = Params::freebsd();
        let mut rto = Rto::new();
        rto.sample(Duration::from_us(1_000), &p);
        let before = rto.unclamped(&p);
        (0..4).for_each(|_| rto.back_off(&p));
        assert_eq!(rto.unclamped(&p), before, "the timeout itself stays");
        rto.sample(Duration::from_us(50_000), &p);
        assert_eq!(rto.srtt(), Duration::from_us(50_000));
    }
}
