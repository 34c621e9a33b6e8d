//! Homa's split of the priority levels and the message sizes that separate them, from the sizes that messages have.
//!
//! Source: Montazeri et al., SIGCOMM 2018, as in the Homa RFC and the authors' simulator (proactive facts, section 2.4):
//! unscheduled packets get a share of the levels equal to their share of the bytes, at least one, and each of these
//! levels carries the same number of unscheduled bytes, shorter messages higher.
//!
//! *Deviation:* the size of a message decides, known to its sender; the authors' simulator computes its cutoffs from the
//! bytes that remain and counts grants as traffic of size 0.

use crate::transport::message::Sizes;

/// Levels of priority a packet can have.
pub const MAX_LEVELS: u8 = 8;

/// Points of each linear piece of a distribution at which it is evaluated.
const SAMPLES: u32 = 4096;

/// Which priorities unscheduled packets have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cutoffs {
    /// Levels for unscheduled packets, from 0 down; 1 to 7.
    pub unscheduled: u8,
    /// Largest message, bytes, of each level but the last.
    pub bounds: [u64; 6],
}

impl Cutoffs {
    /// One level for all unscheduled packets.
    pub const ONE: Cutoffs = Cutoffs { unscheduled: 1, bounds: [u64::MAX; 6] };

    /// Level of the unscheduled packets of a message.
    #[inline]
    pub fn level(&self, bytes: u64) -> u8 {
        let last = self.unscheduled.clamp(1, 7) - 1;
        self.bounds[..usize::from(last)].iter().position(|bound| bytes <= *bound).map_or(last, |i| i as u8)
    }
}

/// How bytes are counted to balance the levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Payload.
    Payload,
    /// Frames and what the wire adds to each (the Homa authors'; it matters for messages below one packet).
    Wire(Sizes, u32),
}

impl Count {
    fn bytes(self, payload: f64) -> f64 {
        match self {
            Count::Payload => payload,
            Count::Wire(sizes, overhead) => {
                let full = (payload / f64::from(sizes.payload.max(1))) as u64;
                let rest = payload - (full * u64::from(sizes.payload)) as f64;
                let frame = |p: f64| (p + f64::from(sizes.header)).max(f64::from(sizes.control)) + f64::from(overhead);
                let last = if sizes.full_last { f64::from(sizes.payload) } else { rest };
                full as f64 * frame(f64::from(sizes.payload)) + if rest > 0.0 { frame(last) } else { 0.0 }
            }
        }
    }
}

/// A piece of a distribution: messages from `from` to `to` bytes, evenly, with a probability.
struct Piece {
    from: f64,
    to: f64,
    weight: f64,
}

impl Piece {
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let n = if self.to > self.from { SAMPLES } else { 1 };
        let (from, step) = (self.from, (self.to - self.from) / f64::from(n));
        let weight = self.weight / f64::from(n);
        (0..n).map(move |i| (from + step * (f64::from(i) + 0.5), weight))
    }
}

/// Some of the messages of a run, and how long they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lengths {
    /// How many messages, in any unit that is the same for all of a run. More than 0.
    pub messages: f64,
    /// (bytes, cumulative probability), both not decreasing.
    pub points: Vec<(f64, f64)>,
    /// Sizes between two points are equally likely; otherwise only the points occur.
    pub linear: bool,
}

impl Lengths {
    /// The pieces, as a share `of` all messages.
    fn pieces(&self, of: f64) -> Vec<Piece> {
        let share = self.messages / of;
        let mut before = self.points.first().map_or((0.0, 0.0), |p| (p.0, 0.0));
        let mut pieces = Vec::with_capacity(self.points.len());
        for &(bytes, cumulative) in &self.points {
            if cumulative > before.1 {
                let from = if self.linear { before.0 } else { bytes };
                pieces.push(Piece { from, to: bytes, weight: (cumulative - before.1) * share });
            }
            before = (bytes, cumulative.max(before.1));
        }
        pieces
    }
}

/// All sizes with their probabilities, the smallest first.
fn ascending(parts: &[Vec<Piece>]) -> impl Iterator<Item = (f64, f64)> {
    let mut heads: Vec<_> = parts.iter().map(|part| part.iter().flat_map(Piece::points).peekable()).collect();
    std::iter::from_fn(move || {
        let first = heads.iter_mut().enumerate().filter_map(|(i, head)| Some((head.peek()?.0, i)));
        let (_, i) = first.min_by(|a, b| a.0.total_cmp(&b.0))?;
        heads[i].next()
    })
}

/// The split of `levels` (2 to 8) for messages of these lengths, and the payload a sender may send unasked, bytes: that of whole
/// packets, as senders count in these. So many of the levels are for unscheduled packets, or as many as their share of the bytes says. Where
/// nothing is known of the messages all unscheduled packets have the highest.
pub fn split(messages: &[Lengths], unasked: u64, levels: u8, unscheduled_levels: Option<u8>, count: Count) -> Cutoffs {
    let of: f64 = messages.iter().map(|m| m.messages).sum();
    let parts: Vec<Vec<Piece>> = messages.iter().map(|m| m.pieces(of)).collect();
    let levels = levels.clamp(2, MAX_LEVELS);
    if parts.iter().all(Vec::is_empty) {
        return Cutoffs { unscheduled: unscheduled_levels.unwrap_or(1).clamp(1, levels - 1), ..Cutoffs::ONE };
    }
    let unscheduled = |bytes: f64| count.bytes(bytes.min(unasked as f64));
    let all: f64 = ascending(&parts).map(|(b, w)| count.bytes(b) * w).sum();
    let total: f64 = ascending(&parts).map(|(b, w)| unscheduled(b) * w).sum();
    let share = if all > 0.0 { total / all } else { 1.0 };
    let mine = unscheduled_levels.unwrap_or((f64::from(levels) * share + 0.5) as u8).clamp(1, levels - 1);
    let mut cutoffs = Cutoffs { unscheduled: mine, bounds: [u64::MAX; 6] };
    let (mut sum, mut level) = (0.0, 1);
    for (bytes, weight) in ascending(&parts) {
        sum += unscheduled(bytes) * weight;
        // A share met but for rounding is met.
        while level < mine && sum * (1.0 + 1e-9) >= total * f64::from(level) / f64::from(mine) {
            cutoffs.bounds[usize::from(level) - 1] = bytes as u64;
            level += 1;
        }
    }
    cutoffs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Aeolus papers' web server workload; (bytes, cumulative).
    const WEB_SERVER: &[(f64, f64)] = &[
        (150.0, 0.0),
        (300.0, 0.12),
        (300.0, 0.2),
        (600.0, 0.2),
        (1000.0, 0.3),
        (2000.0, 0.4),
        (3100.0, 0.5),
        (6000.0, 0.6),
        (20_000.0, 0.71),
        (60_000.0, 0.8),
        (150_000.0, 0.82),
        (300_000.0, 0.9),
        (500_000.0, 1.0),
    ];

    /// Proactive facts, section 2.4: 22 % of the bytes are unscheduled at an RTT of 43 kB, which makes two levels of
    /// eight; at 650 kB everything is, and seven levels share it.
    #[test]
    fn levels_of_the_web_server_workload() {
        let web = [Lengths { messages: 1.0, points: WEB_SERVER.to_vec(), linear: true }];
        let c = split(&web, 43_000, 8, None, Count::Payload);
        assert_eq!((c.unscheduled, c.level(100), c.level(170_000), c.level(180_000)), (2, 0, 0, 1));
        let c = split(&web, 650_000, 8, None, Count::Payload);
        let published = [165_000, 250_000, 314_000, 370_000, 417_000, 461_000];
        assert_eq!(c.unscheduled, 7);
        assert!(c.bounds.iter().zip(published).all(|(a, b)| a.abs_diff(b) < 1000), "{c:?}");
        assert_eq!((c.level(1), c.level(460_000), c.level(u64::MAX)), (0, 5, 6));
    }

    /// Worked by hand: three sizes, equally likely. Unscheduled are 100 + 200 + 300 of 900 bytes.
    #[test]
    fn by_hand() {
        let three = [steps(7.0, &[(100.0, 1.0 / 3.0), (200.0, 2.0 / 3.0), (600.0, 1.0)])];
        let c = split(&three, 300, 3, None, Count::Payload);
        assert_eq!((c.unscheduled, c.bounds[0]), (2, 200), "{c:?}");
        // On the wire every packet weighs 84 bytes or more: 178, 278 and 378 of 178 + 278 + 678.
        let c = split(&three, 300, 3, None, Count::Wire(Sizes::ETHERNET, 20));
        assert_eq!((c.unscheduled, c.bounds[0]), (2, 200), "{c:?}");
        // Padded they all weigh the same, and half of the bytes are sent when the second is.
        let padded = Sizes { full_last: true, ..Sizes::ETHERNET };
        assert_eq!(split(&three, 300, 3, None, Count::Wire(padded, 20)).bounds[0], 200);
        let skewed = [steps(1.0, &[(100.0, 0.5), (600.0, 0.9), (1460.0, 1.0)])];
        let first = |sizes| split(&skewed, 1460, 3, Some(2), Count::Wire(sizes, 20)).bounds[0];
        assert_eq!((first(Sizes::ETHERNET), first(padded)), (600, 100));
        assert_eq!(split(&[], 0, 8, None, Count::Payload), Cutoffs::ONE);
        assert_eq!(Cutoffs::ONE.level(u64::MAX), 0);
    }

    /// So many levels share what is sent unasked, whatever the size of the messages it is of: with these taken for no longer than what is
    /// sent unasked, all would have the last level.
    #[test]
    fn levels_as_asked_for() {
        let long = [steps(1.0, &[(1000.0, 0.5), (2000.0, 1.0)])];
        let c = split(&long, 300, 8, Some(2), Count::Payload);
        assert_eq!((c.unscheduled, c.level(1000), c.level(2000)), (2, 0, 1));
        assert_eq!(split(&long, 300, 8, None, Count::Payload).unscheduled, 2, "a fifth of eight");
        assert_eq!(split(&long, 300, 4, Some(7), Count::Payload).unscheduled, 3, "one is left for scheduled packets");
    }

    fn steps(messages: f64, points: &[(f64, f64)]) -> Lengths {
        Lengths { messages, points: points.to_vec(), linear: false }
    }

    /// Two kinds of traffic of which one has thrice the messages are one kind with these sizes.
    #[test]
    fn kinds_of_traffic_are_mixed_by_their_messages() {
        let parts = [steps(3.0, &[(100.0, 0.5), (900.0, 1.0)]), steps(1.0, &[(400.0, 1.0)])];
        let whole = [steps(1.0, &[(100.0, 0.375), (400.0, 0.625), (900.0, 1.0)])];
        for unasked in [100, 300, 600, 2000] {
            let [mixed, known] = [&parts[..], &whole].map(|m| split(m, unasked, 8, None, Count::Payload));
            assert_eq!(mixed, known, "{unasked}");
        }
        // 37.5, 100 and 337.5 bytes on average, all of them unscheduled: a seventh is 67.9, two are 135.7.
        let c = split(&parts, 2000, 8, None, Count::Payload);
        assert_eq!((c.unscheduled, c.bounds), (7, [400, 400, 900, 900, 900, 900]));
    }
}
