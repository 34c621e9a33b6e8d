//! The paths of sprayed messages: each path once before any is used again.

use paceline_proto::rng::mix;
use paceline_proto::transport::ndp::paths::path;

/// The place of a packet in the spraying of its message: what decides at each switch between several next hops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    chosen: u64,
    number: u64,
}

impl Turn {
    /// The packet with a number, from 0, of a message and direction that `key` names.
    pub(crate) fn new(key: u64, number: u64) -> Self {
        Self { chosen: key, number }
    }

    /// The next hop at a switch that has `n`, below `n`.
    pub(crate) fn next(&mut self, n: u32) -> u32 {
        let choice = path(self.chosen, self.number, n);
        self.number /= u64::from(n);
        self.chosen = mix(self.chosen ^ u64::from(choice));
        choice
    }
}
