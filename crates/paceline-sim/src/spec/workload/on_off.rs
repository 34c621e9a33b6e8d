//! `kind = "on_off"`: hosts that are on and off in turn.

use paceline_proto::units::{BitsPerSec, Duration, Time};

use super::load::Load;
use super::sizes::Sizes;
use crate::spec::declare::{section, variants};
use crate::spec::value::{HostSet, either};

section! {
    /// Every host is on and off in turn, for random times, and starts flows only while it is on, as measured at the edge of data
    /// centres. Off periods are as long as the load makes them. One of `end` and `duration` is needed unless `run.stop` is an instant.
    pub struct OnOff {
        /// Hosts that send and receive.
        hosts: HostSet = "all", from "Paceline";
        /// Probability that a flow goes to a host of the same rack; else to one of any other rack.
        local: f64 = 0.7, in "[0, 1]", from "HotI 2011: inter-rack to intra-rack 3:7";
        /// Median length of an on period, lognormal.
        on_median: Duration = "1ms", in "[1ns, 100s]", from "Paceline; Benson et al., WREN 2009: lognormal";
        /// Standard deviation of its logarithm.
        on_sigma: f64 = 1.0, in "[0, 4]", from "Paceline";
        /// The same of an off period, whose mean follows from the load.
        off_sigma: f64 = 1.0, in "[0, 4]", from "Paceline";
        /// No flow starts at or after this instant.
        end: Option<Time>, in "(0s, 1000s]", from "Paceline";
        /// Length of the arrivals, in place of `end`.
        duration: Option<Duration>, in "(0s, 1000s]", from "Paceline";
        sections {
            /// Offered load; not of one link.
            load: Load;
        }
        select {
            /// What a host does while it is on.
            mode: OnOffMode;
        }
    }
}

variants! {
    /// What a host does while it is on.
    pub enum OnOffMode by mode = "flows", from "Paceline" {
        /// It starts flows, with random gaps.
        Flows(OnOffFlows) = "flows",
        /// It sends one flow, as long as it is on at a constant rate.
        Cbr(OnOffCbr) = "cbr",
    }
}

either! {
    /// A gap between two flows.
    pub enum Gap {
        /// By the load.
        Auto = "auto",
        ;
        /// This median.
        Median(Duration),
    }
}

section! {
    /// Flows start with lognormal gaps while a host is on.
    pub struct OnOffFlows {
        /// Flow sizes: the name of a distribution, one size for all, or a file.
        sizes: Sizes = "university@trafpy", in "[1B, 1TiB]", from "TrafPy, benchmark set v001";
        /// Median gap. `"auto"`: as long as it takes for hosts to be on a third of the time.
        gap_median: Gap = "auto", in "[1ns, 100s]", from "Paceline; Benson et al., WREN 2009: lognormal";
        /// Standard deviation of its logarithm.
        gap_sigma: f64 = 1.0, in "[0, 4]", from "Paceline";
    }
}

section! {
    /// One flow for each on period, as many bytes as it sends in that time; meant for a scheme over UDP of the same `rate`.
    pub struct OnOffCbr {
        /// Rate while on, on the wire.
        rate: BitsPerSec = "1Gbps", in "[1Kbps, 10Tbps]", from "Paceline";
    }
}
