//! Sorted, disjoint ranges of the byte stream: what a receiver holds above a gap, what a sender knows to be there.
//!
//! Empty, and without memory, until the first loss or reordering.

/// A stretch of the stream, `[start, end)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Segments it was made of.
    pub segments: u32,
    /// When data in it came last, new or not: the higher, the more recently.
    pub stamp: u32,
}

impl Range {
    /// Bytes.
    pub fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// The ranges, in order.
#[derive(Clone, Default, Debug)]
pub struct Ranges {
    list: Vec<Range>,
    segments: u32,
    stamp: u32,
}

impl Ranges {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The ranges in order of the stream.
    pub fn as_slice(&self) -> &[Range] {
        &self.list
    }

    /// Segments in all ranges.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// End of the last range.
    pub fn highest(&self) -> Option<u64> {
        self.list.last().map(|r| r.end)
    }

    /// Adds `[start, end)`, joining what it touches. Returns how many bytes are new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let first = self.list.partition_point(|r| r.end < start);
        let after = self.list.partition_point(|r| r.start <= end);
        let joined = &self.list[first..after];
        let covered: u64 = joined.iter().map(Range::len).sum();
        let merged = Range {
            start: joined.first().map_or(start, |r| r.start.min(start)),
            end: joined.last().map_or(end, |r| r.end.max(end)),
            segments: 0,
            stamp: 0,
        };
        let new = merged.len() - covered;
        self.stamp += 1;
        if new == 0 {
            // Ranges do not touch, so this is in one.
            self.list[first].stamp = self.stamp;
            return 0;
        }
        self.segments += 1;
        let merged =
            Range { segments: joined.iter().map(|r| r.segments).sum::<u32>() + 1, stamp: self.stamp, ..merged };
        self.list.splice(first..after, [merged]);
        new
    }

    /// Drops everything below `position`.
    #[inline]
    pub fn remove_below(&mut self, position: u64) {
        if self.list.first().is_some_and(|r| r.start < position) {
            self.cut(position);
        }
    }

    #[cold]
    fn cut(&mut self, position: u64) {
        let whole = self.list.partition_point(|r| r.end <= position);
        for r in self.list.drain(..whole) {
            self.segments -= r.segments;
        }
        if let Some(first) = self.list.first_mut().filter(|r| r.start < position) {
            first.start = position;
        }
    }

    /// If `position` lies in a range or at the start of one, where that range ends.
    pub fn end_of_range_at(&self, position: u64) -> Option<u64> {
        let i = self.list.partition_point(|r| r.end <= position);
        self.list.get(i).filter(|r| r.start <= position).map(|r| r.end)
    }

    /// Start of the first range above `position`.
    pub fn next_start(&self, position: u64) -> Option<u64> {
        self.list.get(self.list.partition_point(|r| r.start <= position)).map(|r| r.start)
    }

    /// Bytes of ranges below `position`.
    pub fn bytes_below(&self, position: u64) -> u64 {
        self.list.iter().take_while(|r| r.start < position).map(|r| r.end.min(position) - r.start).sum()
    }

    /// The up to `N` ranges for which data came last, new or held already, most recent first.
    pub fn most_recent<const N: usize>(&self) -> impl Iterator<Item = Range> {
        let mut best: [Option<Range>; N] = [None; N];
        for r in &self.list {
            let mut candidate = Some(*r);
            for slot in &mut best {
                if slot.map_or(0, |r| r.stamp) < candidate.map_or(0, |r| r.stamp) {
                    std::mem::swap(slot, &mut candidate);
                }
            }
        }
        best.into_iter().flatten()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.list.clear();
        self.segments = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a set of single bytes: what is held, in order and joined, and every question asked of it.
        #[test]
        fn agrees_with_a_set_of_bytes(
            steps in prop::collection::vec((0u64..60, 0u64..12, any::<bool>()), 1..60),
            probe in 0u64..70,
        ) {
            let (mut ranges, mut set) = (Ranges::default(), std::collections::BTreeSet::new());
            let mut floor = 0;
            for (start, len, cut) in steps {
                if cut && start > floor {
                    floor = start;
                    ranges.remove_below(start);
                    set = set.split_off(&start);
                } else if start >= floor {
                    let before = set.len();
                    set.extend(start..start + len);
                    prop_assert_eq!(ranges.insert(start, start + len), (set.len() - before) as u64);
                }
                prop_assert_eq!(ranges.bytes_below(u64::MAX), set.len() as u64);
                prop_assert!(ranges.as_slice().windows(2).all(|w| w[0].end < w[1].start), "sorted, apart");
                prop_assert_eq!(ranges.segments(), ranges.as_slice().iter().map(|r| r.segments).sum::<u32>());
            }
            prop_assert_eq!(ranges.highest(), set.last().map(|x| x + 1));
            prop_assert_eq!(ranges.bytes_below(probe), set.range(..probe).count() as u64);
            let end = (probe..100).find(|x| !set.contains(x)).filter(|end| *end > probe);
            prop_assert_eq!(ranges.end_of_range_at(probe), end);
        }
    }
}
