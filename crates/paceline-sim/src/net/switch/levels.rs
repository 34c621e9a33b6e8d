//! How long queues at switches were how long: histograms by port or by tier, or the samples that the reference simulator takes.

use crate::net::port::Port;
use crate::record::{QueueTime, Sampler};

/// What is known of queue lengths so far.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Histograms of each row, one by class recorded; 0 where there are none.
    slots: usize,
    /// First histogram of each port: its own, or that of its tier.
    first: Vec<u32>,
    time: Vec<QueueTime>,
    /// Up to when some queue was not empty, as far as it was noted, ps.
    last: u64,
    /// Queue lengths sampled at fixed instants, in place of histograms.
    pub(crate) sampler: Option<Sampler>,
}

/// The histograms of one port.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    time: &'a mut [QueueTime],
    last: &'a mut u64,
}

impl Rows<'_> {
    /// The queue of a class, whose histogram is in this `slot`, grows from its present length at `now`.
    #[inline(always)]
    pub(in crate::net) fn grows(&mut self, p: &mut Port, class: u8, slot: u8, now: u64) {
        let (bytes, since) = p.level_since(class, now);
        if bytes > 0 {
            self.add(bytes, since, now, slot);
        }
    }

    /// The same of a queue that holds something and shrinks: only then can it become empty.
    #[inline(always)]
    pub(in crate::net) fn shrinks(&mut self, p: &mut Port, class: u8, slot: u8, now: u64) {
        let (bytes, since) = p.level_since(class, now);
        self.add(bytes, since, now, slot);
    }

    /// So many bytes waited from one instant to another. Which of a change up and one down at the same instant says so depends on the
    /// engine; in no time nothing waits.
    #[inline(always)]
    fn add(&mut self, bytes: u32, since: u64, now: u64, slot: u8) {
        if now > since
            && let Some(row) = self.time.get_mut(usize::from(slot))
        {
            *self.last = (*self.last).max(now);
            row.add(bytes, now - since);
        }
    }
}

impl Levels {
    /// Histograms for so many classes; `rows` by port.
    pub(in crate::net) fn prepare(&mut self, slots: usize, rows: impl Iterator<Item = usize>) {
        self.slots = slots;
        self.first = rows.map(|row| (row * slots) as u32).collect();
        let all = self.first.iter().max().map_or(0, |last| *last as usize + slots);
        self.time = vec![QueueTime::default(); all];
    }

    /// The time that histograms cover in a run of `end` ps: queues may hold copies of what has arrived when the last flow ends.
    pub(crate) fn span(&self, end: u64) -> u64 {
        self.last.max(end)
    }

    /// Whether there are histograms.
    pub(crate) fn has_histograms(&self) -> bool {
        self.slots != 0
    }

    /// Whether the rows are so few that ports may share them.
    pub(crate) fn has_few_rows(&self) -> bool {
        self.time.len() < 64 * self.slots
    }

    /// Names a port's row; equal where ports share it.
    pub(crate) fn row(&self, port: u32) -> u32 {
        self.first[port as usize]
    }

    /// A port's histograms.
    #[inline(always)]
    pub(crate) fn of(&mut self, port: u32) -> Rows<'_> {
        let last = &mut self.last;
        if self.slots == 0 {
            return Rows { time: &mut [], last };
        }
        let first = self.first[port as usize] as usize;
        Rows { time: &mut self.time[first..first + self.slots], last }
    }

    /// The bins of one of a port's histograms that have any time.
    pub(in crate::net) fn bins(&self, port: u32, slot: usize) -> impl Iterator<Item = (usize, u64)> + Clone {
        let row = (slot < self.slots).then(|| &self.time[self.first[port as usize] as usize + slot]);
        row.into_iter().flat_map(QueueTime::bins)
    }

    /// The queue of a class, whose histogram is in this `slot`, changes from its present length at `now`.
    #[inline(always)]
    pub(in crate::net) fn note(&mut self, port: u32, p: &mut Port, class: u8, slot: u8, now: u64) {
        if self.slots == 0 {
            if let Some(sampler) = &mut self.sampler {
                sampler.change(port, p.total - p.class_bytes(0));
            }
            return;
        }
        if usize::from(slot) >= self.slots {
            return;
        }
        if p.class_bytes(class) == 0 {
            p.level_since(class, now);
        } else {
            self.of(port).shrinks(p, class, slot, now);
        }
    }

    /// Adds what was noted in another part.
    pub(in crate::net) fn absorb(&mut self, other: &Self) {
        self.time.iter_mut().zip(&other.time).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.last = self.last.max(other.last);
    }
}
