//! When links are down, known before the run: what is asked of it are instants to come as well as past ones.

use paceline_proto::units::Time;

use crate::scenario::FailureConfig;

/// Never.
const NEVER: u64 = u64::MAX;

/// Outages by link, and the instants at which switches go over to new routes.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Outages of link `i` are `outages[first[i]..first[i + 1]]`: `[down, up)` in ps, ascending and apart.
    first: Vec<u32>,
    outages: Vec<(u64, u64)>,
    /// Instants at which links fail, with the link, ascending.
    failures: Vec<(u64, u32)>,
    /// Starts of the epochs after the first: from each on switches forward by other tables.
    epochs: Vec<u64>,
    /// From a failure or repair to its epoch, ps.
    delay: u64,
}

impl Schedule {
    /// The schedule of `links` links. Outages of one link that overlap or touch are one.
    pub(super) fn new(links: usize, config: &FailureConfig) -> Self {
        let mut all: Vec<(u32, u64, u64)> =
            config.outages.iter().map(|o| (o.link, o.down.0, o.up.map_or(NEVER, |t| t.0))).collect();
        all.sort_unstable();
        let mut merged: Vec<(u32, u64, u64)> = Vec::with_capacity(all.len());
        for (link, down, up) in all.into_iter().filter(|(_, down, up)| down < up) {
            match merged.last_mut() {
                Some(last) if last.0 == link && down <= last.2 => last.2 = last.2.max(up),
                _ => merged.push((link, down, up)),
            }
        }
        let mut first = vec![0; links + 1];
        for &(link, ..) in &merged {
            first[link as usize + 1] += 1;
        }
        for i in 0..links {
            first[i + 1] += first[i];
        }
        let delay = config.reroute_after.0;
        let mut failures: Vec<(u64, u32)> = merged.iter().map(|&(link, down, _)| (down, link)).collect();
        failures.sort_unstable();
        let changes = merged.iter().flat_map(|&(_, down, up)| [down, up]).filter(|t| *t != NEVER);
        let mut epochs: Vec<u64> = changes.map(|t| t.saturating_add(delay)).collect();
        epochs.sort_unstable();
        epochs.dedup();
        Self { first, outages: merged.iter().map(|&(_, down, up)| (down, up)).collect(), failures, epochs, delay }
    }

    /// The first outage of a link that ends after `at`.
    #[inline]
    fn outage(&self, link: u32, at: u64) -> Option<(u64, u64)> {
        let of_link = self.first[link as usize] as usize..self.first[link as usize + 1] as usize;
        let outages = &self.outages[of_link];
        outages.get(outages.partition_point(|&(_, up)| up <= at)).copied()
    }

    /// Whether a link is down at an instant: from that of the failure on, up again at that of the repair.
    #[inline]
    pub(super) fn is_down(&self, link: u32, at: u64) -> bool {
        self.outage(link, at).is_some_and(|(down, _)| down <= at)
    }

    /// Whether a packet whose first bit is sent at `sent` and whose last one arrives at `arrival` is lost: the link fails
    /// in between, or is down already.
    #[inline]
    pub(super) fn loses(&self, link: u32, sent: u64, arrival: u64) -> bool {
        self.outage(link, sent).is_some_and(|(down, _)| down <= arrival)
    }

    /// Number of the epoch an instant falls into.
    #[inline]
    pub(super) fn epoch(&self, at: u64) -> usize {
        self.epochs.partition_point(|start| *start <= at)
    }

    /// Links the tables of an epoch leave out.
    pub(super) fn down_in(&self, epoch: usize) -> Vec<bool> {
        let links = self.first.len() - 1;
        match epoch.checked_sub(1) {
            None => vec![false; links],
            Some(i) => {
                let seen = self.epochs[i] - self.delay;
                (0..links as u32).map(|link| self.is_down(link, seen)).collect()
            }
        }
    }

    /// The links that fail at an instant.
    pub(super) fn failing(&self, at: u64) -> impl Iterator<Item = u32> {
        let from = self.failures.partition_point(|(t, _)| *t < at);
        self.failures[from..].iter().take_while(move |(t, _)| *t == at).map(|(_, link)| *link)
    }

    /// The first instant from `at` on at which a link fails or an epoch starts.
    pub(super) fn next(&self, at: u64) -> u64 {
        let failure = self.failures.get(self.failures.partition_point(|(t, _)| *t < at)).map(|f| f.0);
        let epoch = self.epochs.get(self.epochs.partition_point(|t| *t < at)).copied();
        failure.unwrap_or(NEVER).min(epoch.unwrap_or(NEVER))
    }

    /// Failures that come after an instant.
    pub(super) fn failures_after(&self, at: Time) -> usize {
        self.failures.len() - self.failures.partition_point(|(t, _)| *t <= at.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Outage;
    use paceline_proto::units::Duration;
    use proptest::prelude::*;

    fn schedule(outages: &[(u32, u64, Option<u64>)], delay: u64) -> Schedule {
        let outage = |&(link, down, up): &(u32, u64, Option<u64>)| Outage { link, down: Time(down), up: up.map(Time) };
        let outages = outages.iter().map(outage).collect();
        Schedule::new(3, &FailureConfig { outages, reroute_after: Duration(delay) })
    }

    #[test]
    fn an_outage_takes_what_is_on_the_wire() {
        let s = schedule(&[(1, 100, Some(200)), (2, 150, None), (1, 180, Some(250))], 7);
        assert!(s.loses(1, 90, 100) && s.loses(1, 249, 300) && !s.loses(1, 90, 99) && !s.loses(1, 250, 300));
        assert!(!s.loses(0, 0, u64::MAX) && s.loses(2, 100, 1000) && s.is_down(2, u64::MAX - 1));
        assert_eq!((s.next(0), s.next(101), s.next(108), s.next(151), s.next(258)), (100, 107, 150, 157, u64::MAX));
        assert_eq!(s.down_in(s.epoch(106)), [false; 3]);
        assert_eq!(s.down_in(s.epoch(107)), [false, true, false]);
        assert_eq!(s.down_in(s.epoch(256)), [false, true, true]);
        assert_eq!(s.down_in(s.epoch(257)), [false, false, true]);
        assert_eq!((s.failing(100).collect::<Vec<_>>(), s.failures_after(Time(100))), (vec![1], 1));
    }

    proptest! {
        /// However outages of a link overlap, it is down exactly while one of them lasts.
        #[test]
        fn down_while_any_outage_lasts(outages in prop::collection::vec((0u32..2, 0u64..60, 0u64..30), 0..8)) {
            let list: Vec<_> = outages.iter().map(|&(l, d, n)| (l, d, Some(d + n))).collect();
            let s = schedule(&list, 0);
            for at in 0..100 {
                for link in 0..3 {
                    let down = outages.iter().any(|&(l, d, n)| l == link && (d..d + n).contains(&at));
                    prop_assert_eq!(s.is_down(link, at), down);
                    prop_assert_eq!(s.down_in(s.epoch(at))[link as usize], down);
                }
            }
        }
    }
}
