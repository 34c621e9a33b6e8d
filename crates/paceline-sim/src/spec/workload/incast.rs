//! `kind = "incast"`: many hosts to one.

use paceline_proto::units::{Duration, Time};

use super::load::IncastLoad;
use super::sizes::Sizes;
use crate::spec::declare::{section, variants};
use crate::spec::value::{HostSet, NodeRef, either};

either! {
    /// A host, or one drawn anew each time.
    pub enum Receiver {
        /// Drawn anew for each incast.
        Random = "random",
        ;
        /// This node.
        Host(NodeRef),
    }
}

section! {
    /// Many hosts send to one, once or again and again.
    pub struct Incast {
        /// Hosts that send in one incast.
        senders: u32 = 16, in "[1, 1000000]", from "Paceline; HPCC, sec. 5.1: 60";
        /// Draw the senders anew for each incast; otherwise they are the first of `hosts`.
        random_senders: bool = true, from "HPCC, sec. 5.1";
        /// The receiving host: drawn anew for each incast, or this one.
        receiver: Receiver = "random", from "HPCC, sec. 5.1";
        /// Size of each flow: one size, the name of a distribution, or a file.
        sizes: Sizes = "500KB", in "[1B, 1TiB]", from "HPCC, sec. 5.1";
        /// Hosts that senders and receivers are drawn from.
        hosts: HostSet = "all", from "HPCC, sec. 5.1";
        select {
            /// When the flows of the incasts start.
            mode: IncastMode;
        }
    }
}

variants! {
    /// When the flows of the incasts start.
    pub enum IncastMode by mode = "synchronous", from "Paceline" {
        /// All at the same instant.
        Synchronous(SynchronousIncast) = "synchronous",
        /// One after the other.
        Staggered(StaggeredIncast) = "staggered",
        /// All at the same instant, at random instants.
        Poisson(PoissonIncast) = "poisson",
    }
}

section! {
    /// All senders start at the same instant, `count` times.
    pub struct SynchronousIncast {
        /// Number of incasts.
        count: u64 = 1, in "[1, 1000000000]", from "Paceline";
        /// From one incast to the next; no effect with one.
        period: Duration = "1ms", in "[1ns, 1000s]", from "Paceline";
    }
}

section! {
    /// One sender starts after the other, `count` times.
    pub struct StaggeredIncast {
        /// From one sender's start to the next one's.
        step: Duration = "10us", in "[1ps, 1000s]", from "Paceline";
        /// Number of incasts.
        count: u64 = 1, in "[1, 1000000000]", from "Paceline";
        /// From one incast to the next; no effect with one.
        period: Duration = "1ms", in "[1ns, 1000s]", from "Paceline";
    }
}

section! {
    /// Incasts arrive as a Poisson process; all senders of one start at the same instant. One of `end` and `duration` is
    /// needed unless `run.stop` is an instant.
    pub struct PoissonIncast {
        /// No incast starts at or after this instant.
        end: Option<Time>, in "(0s, 1000s]", from "Paceline";
        /// Length of the arrivals, in place of `end`.
        duration: Option<Duration>, in "(0s, 1000s]", from "Paceline";
        sections {
            /// Offered load of all incasts together.
            load: IncastLoad;
        }
    }
}
