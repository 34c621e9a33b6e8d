//! ExpressPass' credit shaper of a port: token bucket, queue limit, and who goes next.
//!
//! Source: proactive facts, section 1.2. Every egress port, of hosts too, has a credit queue of a few credits and a data
//! queue. Credits go before data whenever the bucket holds enough for the first of them, and at no other time.
//!
//! **Arithmetic.** A bucket fills by `link / 8 * credit / (credit + data)` bytes per second. Per picosecond that is a fraction
//! `num / den` of a byte (21 / 32,440 at 100 Gb/s), cut down by its greatest common divisor. Tokens are counted in parts of
//! `1 / den` byte in a `u64`, so filling adds `num` per picosecond and a packet takes `size * den`: all integers, nothing is
//! ever rounded, and after hours the bucket holds what it held at the same phase before. Only the answer to "when" is rounded up, to the
//! first picosecond at which there is enough. Time is `u64` picoseconds (213 days).
//!
//! The state is that of the last departure, so a port may be looked at as late as anyone likes (a lazy port): what the bucket
//! holds, and when it will hold enough, are functions of (state, time).
//!
//! *Deviation:* the reference counts whole bytes and lets its clock follow them.

use crate::transport::express_pass::{Framing, Invalid};
use crate::units::{BitsPerSec, Time};

/// A token bucket that fills by a fraction of a byte per picosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenBucket {
    /// Parts of a byte added per picosecond.
    num: u64,
    /// Parts in a byte.
    den: u64,
    /// Most it holds, parts.
    depth: u64,
    /// Held at `at`, parts.
    tokens: u64,
    /// Last spending, ps.
    at: u64,
}

impl TokenBucket {
    /// A bucket, empty at time 0, of `depth` bytes, that gets `share.0 / share.1` of a link.
    ///
    /// Fails when the fraction needs more than 64 bits: link rates of whole kbit/s always fit with depths to 30,000 bytes and shares
    /// of up to 16 bits; a depth of 168 bytes with ordinary frames fits any rate.
    pub fn new(link: BitsPerSec, share: (u64, u64), depth: u32) -> Result<Self, Invalid> {
        let (num, den) = (u128::from(link.0) * u128::from(share.0), 8_000_000_000_000 * u128::from(share.1));
        if num == 0 || den == 0 {
            return Err(Invalid::new("link rate", &link, "above 0, with a share above 0"));
        }
        let divisor = gcd(num, den);
        let (num, den) = (num / divisor, den / divisor);
        let full = den.checked_mul(u128::from(depth)).and_then(|full| u64::try_from(full).ok());
        match (u64::try_from(num), full) {
            (Ok(num), Some(depth)) if depth > 0 => Ok(Self { num, den: den as u64, depth, tokens: 0, at: 0 }),
            _ => {
                let allowed = "1 byte or more; less where the link rate is no whole number of kbit/s";
                Err(Invalid::new("token bucket depth", &depth, allowed))
            }
        }
    }

    /// Parts held at `now`, not before the last spending.
    #[inline]
    fn held(&self, now: Time) -> u64 {
        let grown = now.0.saturating_sub(self.at);
        let room = self.depth - self.tokens;
        match grown.checked_mul(self.num) {
            Some(parts) if parts < room => self.tokens + parts,
            _ => self.depth,
        }
    }

    /// The first instant from `now` on with at least `size` bytes in the bucket; never for more than its depth.
    #[inline]
    pub fn ready_at(&self, now: Time, size: u16) -> Time {
        let Some(need) = u64::from(size).checked_mul(self.den).filter(|n| *n <= self.depth) else {
            return Time::NEVER;
        };
        let missing = need.saturating_sub(self.held(now));
        Time(now.0.max(self.at).saturating_add(missing.div_ceil(self.num)))
    }

    /// Whether a packet of that size may go at `now`.
    #[inline]
    pub fn has(&self, now: Time, size: u16) -> bool {
        u64::from(size).checked_mul(self.den).is_some_and(|need| need <= self.held(now))
    }

    /// A packet of that size goes at `now`: the caller has made sure it may.
    #[inline]
    pub fn spend(&mut self, now: Time, size: u16) {
        self.tokens = self.held(now).saturating_sub(u64::from(size).saturating_mul(self.den));
        self.at = self.at.max(now.0);
    }

    /// Bytes held at `now`, rounded down.
    pub fn bytes(&self, now: Time) -> u64 {
        self.held(now) / self.den
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Parameters of a port's credit queue. Sizes without `wire_overhead`, as headers have them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShaperParams {
    /// Bytes of credits that may wait; at least the largest credit. Default 672, 8 credits of 84 (script; library 10;
    /// scripts with 2 exist).
    pub queue_limit: u32,
    /// Bytes the token bucket holds; at least the largest credit on the wire. Default 168, two credits (script; library 840).
    pub bucket_depth: u32,
}

impl Default for ShaperParams {
    fn default() -> Self {
        Self { queue_limit: 672, bucket_depth: 168 }
    }
}

/// What a free transmitter does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The first credit goes at that instant.
    Credit(Time),
    /// The first data packet goes at once.
    Data,
    /// Nothing waits.
    Idle,
}

/// The credit shaper of a port. The queue itself is the port's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditShaper {
    bucket: TokenBucket,
    queue_limit: u32,
    wire_overhead: u16,
}

impl CreditShaper {
    /// The shaper of a port that sends on a link of that rate.
    pub fn new(link: BitsPerSec, framing: &Framing, p: ShaperParams) -> Result<Self, Invalid> {
        let largest = u32::from(framing.credit.1);
        if p.queue_limit < largest {
            return Err(Invalid::new(
                "queue_limit",
                &p.queue_limit,
                format!("{largest} bytes, a largest credit, or more"),
            ));
        }
        let on_wire = largest + u32::from(framing.wire_overhead);
        if p.bucket_depth < on_wire {
            let allowed = format!("{on_wire} bytes, a largest credit, or more");
            return Err(Invalid::new("bucket_depth", &p.bucket_depth, allowed));
        }
        let bucket = TokenBucket::new(link, framing.credit_share(), p.bucket_depth)?;
        Ok(Self { bucket, queue_limit: p.queue_limit, wire_overhead: framing.wire_overhead })
    }

    /// Whether a credit of `size` bytes is let into a queue that holds `queued` bytes.
    #[inline]
    pub fn admits(&self, queued: u32, size: u16) -> bool {
        u64::from(queued) + u64::from(size) <= u64::from(self.queue_limit)
    }

    /// Who goes at a transmitter that is free at `now`: `credit` is the size of the first credit waiting, `data` whether
    /// anything else waits. A `Credit` in the future holds unless data arrive (at or) before it.
    #[inline]
    pub fn next(&self, now: Time, credit: Option<u16>, data: bool) -> Next {
        match credit {
            Some(size) if data => {
                if self.bucket.has(now, size.saturating_add(self.wire_overhead)) {
                    Next::Credit(now)
                } else {
                    Next::Data
                }
            }
            Some(size) => Next::Credit(self.bucket.ready_at(now, size.saturating_add(self.wire_overhead))),
            None if data => Next::Data,
            None => Next::Idle,
        }
    }

    /// A credit of `size` bytes starts at `now`.
    #[inline]
    pub fn sent(&mut self, now: Time, size: u16) {
        self.bucket.spend(now, size.saturating_add(self.wire_overhead));
    }

    /// The bucket, to look at.
    pub fn bucket(&self) -> &TokenBucket {
        &self.bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::S;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const G100: BitsPerSec = BitsPerSec(100_000_000_000);

    /// A credit of 84 bytes per 129.76 ns at 100 Gb/s; after a pause two at once, no more.
    #[test]
    fn rate_and_depth() {
        let mut b = TokenBucket::new(G100, (84, 1622), 168).unwrap();
        assert_eq!((b.num, b.den), (21, 32_440));
        assert_eq!(b.ready_at(Time(0), 84), Time(129_760));
        assert_eq!((b.has(Time(129_759), 84), b.has(Time(129_760), 84)), (false, true));
        assert_eq!((b.bytes(Time(S)), b.ready_at(Time(S), 169)), (168, Time::NEVER));
        b.spend(Time(S), 84);
        assert!(b.has(Time(S), 84));
        b.spend(Time(S), 84);
        assert_eq!(b.ready_at(Time(S), 84), Time(S + 129_760));
    }

    /// A saturated bucket at a rate that divides nothing sends exactly `link * share` over ten hours: nothing leaks away.
    #[test]
    fn no_drift_over_hours() {
        for link in [100_000_000_000, 7_777_777_777, 400_000_000_000, 1_600_000_000_000] {
            let mut b = TokenBucket::new(BitsPerSec(link), (84, 1622), 168).unwrap();
            let (mut now, mut sent, mut draw) = (Time(0), 0u128, 76u16);
            let period = b.den;
            for round in 0..20_000u64 {
                now = b.ready_at(now, draw);
                b.spend(now, draw);
                sent += u128::from(draw);
                draw = 76 + (draw - 76 + 5) % 17;
                if round % 1000 == 0 {
                    // Half an hour at once: `den` ps bring exactly `num` bytes, taken as sent.
                    let leap = 36_000 * S / 20 / period * period;
                    (b.at, now) = (b.at + leap, Time(now.0 + leap));
                    sent += u128::from(leap / period) * u128::from(b.num);
                }
            }
            let earned = u128::from(now.0) * u128::from(b.num);
            assert!(now.0 > 30_000 * S || link == 7_777_777_777, "{now:?}");
            let held = u128::from(b.held(now));
            assert_eq!(earned, sent * u128::from(b.den) + held, "at {link} bit/s");
        }
    }

    #[test]
    fn impossible_buckets_are_refused() {
        let f = Framing::wire();
        for (queue_limit, bucket_depth) in [(91, 168), (672, 91), (672, u32::MAX)] {
            assert!(
                CreditShaper::new(BitsPerSec(7_777_777_777), &f, ShaperParams { queue_limit, bucket_depth }).is_err()
            );
        }
        assert!(TokenBucket::new(BitsPerSec(0), (84, 1622), 168).is_err());
        assert!(CreditShaper::new(BitsPerSec(7_777_777_777), &f, ShaperParams::default()).is_ok());
        assert!(CreditShaper::new(G100, &f, ShaperParams { queue_limit: 840, bucket_depth: 840 }).is_ok());
    }

    /// The queues of a port, sizes only.
    #[derive(Default)]
    struct Queues {
        credits: VecDeque<u16>,
        data: VecDeque<u16>,
    }

    impl Queues {
        fn of(&mut self, credit: bool) -> &mut VecDeque<u16> {
            if credit { &mut self.credits } else { &mut self.data }
        }
    }

    /// Arrivals in order of time: when (ps), bytes, is it a credit.
    type Arrival = (u64, u16, bool);

    /// Departures (when, is it a credit) of a port that is stepped through every picosecond: tokens, arrivals, then an
    /// idle transmitter looks.
    fn eager(b: TokenBucket, wire: u64, arrivals: &[Arrival], end: u64) -> Vec<(u64, bool)> {
        let (mut tokens, mut free) = (0, 0);
        let (mut queues, mut out) = (Queues::default(), Vec::new());
        let mut arrivals = arrivals.iter().peekable();
        for now in 0..end {
            if now > 0 {
                tokens = (tokens + b.num).min(b.depth);
            }
            while let Some((_, size, credit)) = arrivals.next_if(|a| a.0 == now) {
                queues.of(*credit).push_back(*size);
            }
            if free > now {
                continue;
            }
            let ripe = queues.credits.front().is_some_and(|s| u64::from(*s) * b.den <= tokens);
            if let Some(size) = queues.of(ripe).pop_front() {
                if ripe {
                    tokens -= u64::from(size) * b.den;
                }
                free = now + u64::from(size) * wire;
                out.push((now, ripe));
            }
        }
        out
    }

    /// The same port, looked at only when something arrives, and at the end.
    fn lazy(bucket: TokenBucket, wire: u64, arrivals: &[Arrival], end: u64) -> Vec<(u64, bool)> {
        let mut shaper = CreditShaper { bucket, queue_limit: 0, wire_overhead: 0 };
        let (mut queues, mut out, mut free) = (Queues::default(), Vec::new(), Time(0));
        for arrival in arrivals.iter().map(Some).chain([None]) {
            let now = arrival.map_or(end, |a| a.0);
            loop {
                let (at, credit) = match shaper.next(free, queues.credits.front().copied(), !queues.data.is_empty()) {
                    Next::Credit(at) => (at, true),
                    Next::Data => (free, false),
                    Next::Idle => break,
                };
                if at.0 >= now {
                    break;
                }
                let size = queues.of(credit).pop_front().unwrap();
                if credit {
                    shaper.sent(at, size);
                }
                free = Time(at.0 + u64::from(size) * wire);
                out.push((at.0, credit));
            }
            free = free.max(Time(now));
            if let Some((_, size, credit)) = arrival {
                queues.of(*credit).push_back(*size);
            }
        }
        out
    }

    proptest! {
        /// A port looked at only when something arrives sends the same packets at the same picoseconds as one that is
        /// stepped through every picosecond.
        #[test]
        fn lazy_equals_eager(
            num in 1u64..40, den in 1u64..60, depth in 9u64..30, wire in 1u64..4,
            mut arrivals in prop::collection::vec((0u64..4000, 1u16..10, any::<bool>()), 0..150),
        ) {
            arrivals.sort_by_key(|a| a.0);
            let d = gcd(u128::from(num), u128::from(den)) as u64;
            let b = TokenBucket { num: num / d, den: den / d, depth: depth * den / d, tokens: 0, at: 0 };
            let end = 20_000;
            prop_assert_eq!(lazy(b, wire, &arrivals, end), eager(b, wire, &arrivals, end));
        }

        /// Any bucket that can be built answers any question without overflow, and what it calls ready is ready, not before.
        #[test]
        fn ready_means_ready(link in 1u64..=1_600_000_000_000, depth in 1u32..1000, steps in prop::collection::vec((any::<u64>(), any::<u16>()), 0..40)) {
            let Ok(mut b) = TokenBucket::new(BitsPerSec(link), (84, 1622), depth) else { return Ok(()) };
            let mut now = 0u64;
            for (dt, size) in steps {
                now = now.saturating_add(dt >> 24);
                let at = b.ready_at(Time(now), size);
                if at == Time::NEVER {
                    prop_assert!(u32::from(size) > depth);
                    continue;
                }
                prop_assert!(b.has(at, size));
                prop_assert!(at.0 <= now.max(b.at) || !b.has(Time(at.0 - 1), size));
                b.spend(at, size);
            }
        }
    }
}
