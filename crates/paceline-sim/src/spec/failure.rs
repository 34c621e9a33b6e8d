//! `[[failures]]`: links that fail and come back.

use paceline_proto::units::{Duration, Time};

use super::declare::{section, variants};
use super::value::{Name, choice, either};

section! {
    /// Links that fail.
    pub struct Failure {
        select {
            /// Which links fail.
            kind: FailureKind;
        }
    }
}

variants! {
    /// Which links fail.
    pub enum FailureKind by kind = "link", from "Paceline" {
        /// One link, or all links between two nodes.
        Link(LinkFailure) = "link",
        /// Links drawn at random.
        Random(RandomFailures) = "random",
    }
}

section! {
    /// A link that fails, both ways: what is on the wire and what waits at its two ports is lost.
    pub struct LinkFailure {
        /// The nodes at its ends: by their names in a graph, else `host0`, `tor1`, `agg0`, `core3` and so on, counted from 0 in each
        /// tier, or by node id (`"320"`).
        link: Vec<Name>, from "Paceline";
        /// Which of several links between the two, from 0 in the order of their ports; all of them when left out.
        number: Option<u32>, in "[0, 65534]", from "Paceline";
        /// When it fails.
        down: Time, in "[0s, 1000s]", from "Paceline";
        /// When it is back; never when left out.
        up: Option<Time>, in "(0s, 1000s]", from "Paceline";
    }
}

choice! {
    /// Among which links failures are drawn.
    pub enum Among {
        /// Those between switches.
        Fabric = "fabric",
        /// Those of the hosts.
        Hosts = "hosts",
        /// All.
        All = "all",
    }
}

either! {
    /// How long a link is down.
    pub enum Repair {
        /// For good.
        Never = "never",
        ;
        /// This long.
        After(Duration),
    }
}

section! {
    /// Failures at random: each of a link and at an instant drawn uniformly and independently of the others.
    pub struct RandomFailures {
        /// How many; none, beside which others of a sweep are seen.
        count: u32 = 1, in "[0, 10000]", from "Paceline";
        /// Among which links: those between switches, those of hosts, or all.
        among: Among = "fabric", from "Paceline";
        /// Not before this instant.
        start: Time = "0s", in "[0s, 1000s]", from "Paceline";
        /// Before this instant.
        end: Time, in "(0s, 1000s]", from "Paceline";
        /// How long a failed link is down.
        repair: Repair = "never", in "[1ps, 1000s]", from "Paceline";
    }
}
