//! The switch's side of QCN: when a frame is sampled, and what its sender is told. Sources: [`crate::qcn`].

use super::red::power;
use crate::qcn::{Feedback, MAX_LEVEL, around};
use crate::rng::Stream;

/// How congestion becomes six bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Quantiser {
    /// In proportion to the largest value there can be: `floor(63 Psi / (Qeq (2 w + 1)))` (standard).
    #[default]
    Proportional,
    /// The top six bits of the largest value there can be (pseudo-code): as coarse, but up to twice as gentle, since that
    /// value seldom is a power of two.
    TopBits,
}

/// Parameters of a congestion point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionPointParams {
    /// Queue at which the loop shall settle (Qeq), bytes, 1 to 2^30. MIB: 26,000; `HotI` 2011: 20,480 and 67,584 (20 % and
    /// 66 % of a port's buffer).
    pub set_point: u32,
    /// Weight w of the queue's growth, in 1/1024, 0 to 2^20. The standard has powers of two from 2^-10 to 2^10; default 2048,
    /// w = 2 (MIB, `HotI` 2011).
    pub weight_q10: u32,
    /// Bytes between two samples without congestion, 1 to 2^30. Default 150,000 (MIB).
    pub sample_base: u32,
    /// Each interval is drawn from this many millionths around its value, 0 to 1,000,000. Default 150,000 (pseudo-code).
    pub jitter: u32,
    /// How congestion becomes six bits.
    pub quantiser: Quantiser,
    /// The queue is averaged with weight `2^-average_shift` per arriving frame, 0 to 16; 0 is the queue as it is (standard).
    /// 9 averages as RED does with 1/512, over idle time too.
    pub average_shift: u8,
}

impl Default for CongestionPointParams {
    fn default() -> Self {
        Self {
            set_point: 26_000,
            weight_q10: 2048,
            sample_base: 150_000,
            jitter: 150_000,
            quantiser: Quantiser::Proportional,
            average_shift: 0,
        }
    }
}

/// Sampling intervals by the upper three bits of the feedback, in 1/300 of the base: 150, 75, 50, 37.5, 30, 25, 21.5 and
/// 18.5 KB of 150 KB.
const INTERVALS: [u64; 8] = [300, 150, 100, 75, 60, 50, 43, 37];

impl CongestionPointParams {
    /// Congestion times 1024, cut off below 0 and above its largest value, and that value.
    fn congestion(&self, queue: u32, old: u32) -> (u64, u64) {
        let (set_point, weight) = (i64::from(self.set_point.min(1 << 30)), i64::from(self.weight_q10.min(1 << 20)));
        let most = set_point * (1024 + 2 * weight);
        let psi = (i64::from(queue) - set_point) * 1024 + weight * (i64::from(queue) - i64::from(old));
        (psi.clamp(0, most) as u64, most as u64)
    }

    /// The feedback for a queue that was `old` bytes long at the sample before: 0 for none, up to [`MAX_LEVEL`].
    pub fn level(&self, queue: u32, old: u32) -> u8 {
        let (psi, most) = self.congestion(queue, old);
        match self.quantiser {
            Quantiser::Proportional => (u128::from(MAX_LEVEL) * u128::from(psi) / u128::from(most.max(1))) as u8,
            Quantiser::TopBits => {
                let bits = u64::BITS - (most >> 10).leading_zeros();
                let psi = psi >> 10;
                if bits > 6 { (psi >> (bits - 6)) as u8 } else { psi as u8 }
            }
        }
    }

    /// Bytes to the next sample after feedback of a level, before jitter.
    pub fn interval(&self, level: u8) -> u64 {
        u64::from(self.sample_base.min(1 << 30)) * INTERVALS[usize::from(level >> 3).min(7)] / 300
    }
}

/// A congestion point: one output queue of one priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionPoint {
    /// Bytes that may still arrive before the next sample.
    left: i64,
    /// Queue at the last sample, bytes.
    old: u32,
    /// Average of the queue, bytes times 65,536.
    average_q16: i64,
    /// Feedback that has not met a frame to answer yet.
    pending: Option<Feedback>,
    stream: Stream,
}

impl CongestionPoint {
    /// An empty queue. `stream`: random numbers of this queue alone ([`crate::rng::Purpose::Qcn`]).
    pub fn new(p: &CongestionPointParams, stream: Stream) -> Self {
        Self { left: i64::from(p.sample_base.min(1 << 30)), old: 0, average_q16: 0, pending: None, stream }
    }

    /// A frame of `len` bytes arrives and makes the queue `queue` bytes long. Feedback goes to the sender of this frame.
    ///
    /// `idle`: full frames that the link could have sent since the queue was last empty and the link idle, 0 where it is not; an average
    /// falls with each as with an arrival at an empty queue (as RED's does, [`super::red::Red::on_arrival`]).
    /// `answerable`: the frame's sender can be told. Other frames count, and feedback they would get goes to the next answerable
    /// one, unless a newer sample comes first.
    #[inline]
    pub fn on_arrival(
        &mut self,
        p: &CongestionPointParams,
        queue: u32,
        len: u32,
        answerable: bool,
        idle: u64,
    ) -> Option<Feedback> {
        if p.average_shift > 0 {
            if idle > 0 {
                let old = 1.0 - 1.0 / f64::from(1u32 << p.average_shift.min(16));
                self.average_q16 = (self.average_q16 as f64 * power(old, idle)) as i64;
            }
            self.average_q16 += ((i64::from(queue) << 16) - self.average_q16) >> p.average_shift.min(16);
        }
        self.left -= i64::from(len);
        if self.left < 0 {
            self.sample(p, queue);
        }
        if answerable { self.pending.take() } else { None }
    }

    /// Bytes that may arrive before a frame is sampled: no frame within so many gets a feedback, if none is pending.
    pub fn quiet_bytes(&self) -> u64 {
        if self.pending.is_some() { 0 } else { self.left.max(0) as u64 }
    }

    #[cold]
    fn sample(&mut self, p: &CongestionPointParams, queue: u32) {
        let queue = if p.average_shift > 0 { (self.average_q16 >> 16) as u32 } else { queue };
        let level = p.level(queue, self.old);
        let (offset, delta) = (i64::from(p.set_point) - i64::from(queue), i64::from(queue) - i64::from(self.old));
        self.pending = (level > 0).then_some(Feedback { level, offset, delta });
        self.old = queue;
        self.left = around(p.interval(level), p.jitter, self.stream.next_u64()) as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;
    use proptest::prelude::*;

    fn stream() -> Stream {
        Stream::new(1, Purpose::Qcn, 0)
    }

    fn at_set_point(set_point: u32) -> CongestionPointParams {
        CongestionPointParams { set_point, ..CongestionPointParams::default() }
    }

    /// The worked numbers of the facts, section 2.4: the same queue over a low and a high set point.
    #[test]
    fn quantised_by_hand() {
        let (low, high) = (at_set_point(20_480), at_set_point(67_584));
        assert_eq!((low.level(40_960, 20_480), low.interval(37)), (37, 30_000));
        assert_eq!((high.level(40_960, 20_480), high.interval(2)), (2, 150_000));
        // A full port buffer over the high set point is far from the largest feedback: at most a third off the rate.
        assert_eq!(high.level(102_400, 0), 44);
        // The top six bits of 102,400 (17 bits): 61,440 / 2^11.
        assert_eq!(CongestionPointParams { quantiser: Quantiser::TopBits, ..low }.level(40_960, 20_480), 30);
        let intervals: Vec<u64> = (0..8).map(|i| low.interval(8 * i)).collect();
        assert_eq!(intervals, [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500]);
    }

    /// Frames that nobody can be told about pass their feedback on; it is that of the sample.
    #[test]
    fn feedback_waits_for_an_answerable_frame() {
        let p = CongestionPointParams { sample_base: 3000, jitter: 0, ..at_set_point(20_480) };
        let mut point = CongestionPoint::new(&p, stream());
        assert_eq!(point.on_arrival(&p, 30_000, 1500, true, 0), None);
        assert_eq!((point.on_arrival(&p, 31_500, 1500, true, 0), point.quiet_bytes()), (None, 0));
        assert_eq!(point.on_arrival(&p, 33_000, 1500, false, 0), None);
        let told = point.on_arrival(&p, 60_000, 400, true, 0).unwrap();
        assert_eq!(told, Feedback { level: p.level(33_000, 0), offset: -12_520, delta: 33_000 });
        assert_eq!(point.on_arrival(&p, 60_000, 30, true, 0), None);
    }

    /// An average falls while the link is idle, by a 512th for each frame it could have sent: after 355 of them it is half, and the burst that
    /// comes then is no congestion yet. Kept as it was, it would be told of.
    #[test]
    fn an_average_falls_over_idle_time() {
        let p = CongestionPointParams { average_shift: 9, sample_base: 1500, jitter: 0, ..at_set_point(20_480) };
        let told = |idle| {
            let mut point = CongestionPoint::new(&p, stream());
            for _ in 0..2000 {
                point.on_arrival(&p, 30_000, 1500, true, 0);
            }
            point.on_arrival(&p, 1500, 1500, true, idle);
            point.on_arrival(&p, 3000, 3000, true, 0).map(|f| 20_480 - f.offset)
        };
        let kept = told(0).unwrap();
        assert!((29_000..29_500).contains(&kept), "{kept} B");
        assert_eq!(told(355), None, "half of it is below the set point");
    }

    fn any_point() -> impl Strategy<Value = CongestionPointParams> {
        (1u32..1 << 30, 0u32..=1 << 20, 1u32..1 << 30, 0u32..=1_000_000, any::<bool>(), 0u8..=16).prop_map(
            |(set_point, weight_q10, sample_base, jitter, top, average_shift)| CongestionPointParams {
                set_point,
                weight_q10,
                sample_base,
                jitter,
                quantiser: if top { Quantiser::TopBits } else { Quantiser::Proportional },
                average_shift,
            },
        )
    }

    proptest! {
        /// A longer queue, or one that grew more, never gets less feedback; six bits hold it.
        #[test]
        fn the_quantiser_is_monotone(p in any_point(), queue: u32, old: u32, more: u32) {
            let level = p.level(queue, old);
            prop_assert!(level <= MAX_LEVEL);
            prop_assert!(p.level(queue.saturating_add(more), old) >= level);
            prop_assert!(p.level(queue, old.saturating_sub(more)) >= level);
            prop_assert!(p.level(p.set_point.min(queue), p.set_point.max(old)) == 0, "no feedback at or below the set point");
        }

        /// Any arrivals: feedback says what it must, and no two come closer than the jitter lets them.
        #[test]
        fn any_arrivals(p in any_point(), frames in prop::collection::vec((any::<u32>(), 64u32..9_000, any::<bool>()), 1..200)) {
            let mut point = CongestionPoint::new(&p, stream());
            for (queue, len, answerable) in frames {
                let quiet = point.quiet_bytes();
                let told = point.on_arrival(&p, queue, len, answerable, 0);
                prop_assert!(told.is_none() || answerable && quiet < u64::from(len));
                prop_assert!(told.is_none_or(|f| (1..=MAX_LEVEL).contains(&f.level)));
            }
        }
    }
}
