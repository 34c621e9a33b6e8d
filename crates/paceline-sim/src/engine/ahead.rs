//! Where there is something to do next, by side of the network.

/// Sides a network has at most.
pub(crate) const SIDES: usize = 2;

/// The first window of each side in which there is something to do, and an instant before which there is nothing, ps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead([Option<(u64, u64)>; SIDES]);

impl Ahead {
    /// There is something to do in a window of a side, at the earliest at `at`.
    pub(super) fn add(&mut self, side: usize, window: u64, at: u64) {
        let first = &mut self.0[side];
        if first.is_none_or(|first| (window, at) < first) {
            *first = Some((window, at));
        }
    }

    /// A side has nothing to do.
    pub(super) fn is_idle(&self, side: usize) -> bool {
        self.0[side].is_none()
    }

    /// What there is to do according to either.
    pub(super) fn and(mut self, other: Self) -> Self {
        other.sides().for_each(|(side, window, at)| self.add(side, window, at));
        self
    }

    /// Sides that have something to do, the window and the instant.
    pub(super) fn sides(self) -> impl Iterator<Item = (usize, u64, u64)> {
        self.0.into_iter().enumerate().filter_map(|(side, first)| first.map(|(window, at)| (side, window, at)))
    }
}
