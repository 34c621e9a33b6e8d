//! `kind = "poisson"`: independent arrivals at every host.

use paceline_proto::units::{Duration, Time};

use super::load::Load;
use super::sizes::Sizes;
use crate::spec::declare::section;
use crate::spec::value::HostSet;

section! {
    /// Independent Poisson arrivals at every host, destination uniform over the others. One of `end`, `duration` and
    /// `max_flows` is needed unless `run.stop` is an instant.
    pub struct Poisson {
        /// Flow sizes: the name of a distribution, one size for all, or a file.
        sizes: Sizes = "websearch@hpcc", in "[1B, 1TiB]", from "HPCC, sec. 5.1";
        /// Hosts that send and receive.
        hosts: HostSet = "all", from "HPCC, sec. 5.1";
        /// No flow starts at or after this instant.
        end: Option<Time>, in "(0s, 1000s]", from "Paceline";
        /// Length of the arrivals, in place of `end`.
        duration: Option<Duration>, in "(0s, 1000s]", from "Paceline";
        /// At most this many flows, the first in start order.
        max_flows: Option<u64>, in "[1, 1000000000000]", from "Paceline";
        sections {
            /// Offered load.
            load: Load;
        }
    }
}
