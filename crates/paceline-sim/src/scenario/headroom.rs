//! Buffer for what arrives after a pause was sent: how much is needed, how much there is.

use paceline_proto::units::{BitsPerSec, Bytes, Duration};

/// How much buffer is set aside per port for what arrives after a pause was sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Headroom {
    /// What can arrive at most: [`PausedLink::in_flight`].
    Auto,
    /// `factor` times rate times delay (the reference simulator uses 3).
    RateDelay(u32),
    /// A fixed number of bytes.
    Fixed(Bytes),
}

/// A link into a switch, for what may still come by it when it is paused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PausedLink {
    /// Rate of what comes in.
    pub rate: BitsPerSec,
    /// Rate at which the pause goes out.
    pub out: BitsPerSec,
    /// Delay both ways: the pause goes out, takes effect, and what left before comes in.
    pub round_trip: Duration,
    /// Largest frame and a pause frame, bytes.
    pub frames: [u32; 2],
    /// How many of each count: [`Self::SHARED`], or two and the pauses of the classes in use under fixed thresholds.
    pub count: [u32; 2],
}

impl PausedLink {
    /// Under thresholds that move: the frame that found its threshold lowered by other ports, and one that had just started at
    /// either end; pause frames of all eight classes, ours the last.
    pub const SHARED: [u32; 2] = [3, 8];

    /// Bytes that may arrive after a pause became due (802.1Qbb, annex O): what is sent in a round trip, and the frames that
    /// [`count`](Self::count). What goes out before the pause has, a frame that had just started and pauses, takes the longer the
    /// slower the link is that way.
    pub fn in_flight(&self) -> u64 {
        let [frame, pause] = self.frames.map(u128::from);
        let [whole, pauses] = self.count.map(u128::from);
        let (out, rate) = (u128::from(self.out.0.max(1)), u128::from(self.rate.0));
        let meanwhile = ((frame + pauses * pause) * rate.max(out)).div_ceil(out);
        let flight = (rate * u128::from(self.round_trip.0)).div_ceil(8_000_000_000_000);
        u64::try_from(flight.saturating_add(meanwhile).saturating_add(whole.saturating_sub(1) * frame))
            .unwrap_or(u64::MAX)
    }
}

impl Headroom {
    /// Bytes set aside for a link.
    pub fn bytes(self, link: &PausedLink) -> u64 {
        match self {
            Headroom::Auto => link.in_flight(),
            Headroom::RateDelay(factor) => {
                // The reference simulator counts in whole nanoseconds.
                let delay = Duration(link.round_trip.0 / 2).as_ns();
                let bytes = u128::from(link.rate.0) * u128::from(delay) / 8 / 1_000_000_000;
                (bytes as u64).saturating_mul(u64::from(factor))
            }
            Headroom::Fixed(bytes) => bytes.0,
        }
    }
}
