//! `kind = "permutation"` and `kind = "all_to_all"`: all hosts at once, in rounds.

use paceline_proto::units::Duration;

use super::sizes::Sizes;
use crate::spec::declare::section;
use crate::spec::value::{HostSet, either};

either! {
    /// Who sends to whom in a permutation.
    pub enum Shift {
        /// Drawn for each round; nobody sends to itself.
        Random = "random",
        ;
        /// The host at place `i` sends to place `i + shift`.
        By(u32),
    }
}

section! {
    /// Every host sends one flow and receives one, all at once.
    pub struct Permutation {
        /// Flow sizes: one size, the name of a distribution, or a file.
        sizes: Sizes = "1MiB", in "[1B, 1TiB]", from "Paceline";
        /// Hosts that take part.
        hosts: HostSet = "all", from "Paceline";
        /// Who sends to whom: drawn for each round, or the host at place i to that at place i + shift.
        shift: Shift = "random", in "[1, 4294967295]", from "Paceline";
        /// Number of rounds.
        rounds: u64 = 1, in "[1, 1000000000]", from "Paceline";
        /// From one round to the next; no effect with one.
        period: Duration = "1ms", in "[1ns, 1000s]", from "Paceline";
    }
}

section! {
    /// Every host sends one flow to every other.
    pub struct AllToAll {
        /// Flow sizes: one size, the name of a distribution, or a file.
        sizes: Sizes = "64KiB", in "[1B, 1TiB]", from "Paceline";
        /// Hosts that take part.
        hosts: HostSet = "all", from "Paceline";
        /// From a host's start of one flow to that of its next; 0 starts all together.
        step: Duration = "0s", in "[0s, 1000s]", from "Paceline";
        /// Number of rounds.
        rounds: u64 = 1, in "[1, 1000000000]", from "Paceline";
        /// From one round to the next; no effect with one.
        period: Duration = "1ms", in "[1ns, 1000s]", from "Paceline";
    }
}
