//! `kind = "scatter_gather"`: queries that spread over racks; and what carries the messages of programs.

use paceline_proto::units::{Bytes, Duration, Time};

use crate::spec::declare::section;
use crate::spec::value::{HostSet, choice};

choice! {
    /// Which connections carry the messages of a program.
    pub enum Connections {
        /// A new one for each message.
        New = "new",
        /// One from each host to each other, opened when it is first used and kept.
        Open = "open",
    }
}

section! {
    /// Queries come to random hosts; each asks a random host in every rack, which asks all other hosts of its rack, gathers their
    /// replies and answers. `queries.csv` has a row for each. Runs in the sequential engine. One of `end`, `duration` and
    /// `max_queries` is needed unless `run.stop` is an instant.
    pub struct ScatterGather {
        /// Hosts that take part; hosts at the same switch are a rack.
        hosts: HostSet = "all", from "HotI 2011";
        /// Mean time between two queries to all hosts together; at random instants.
        interval: Duration = "1ms", in "[1ns, 1000s]", from "HotI 2011: swept; random instants inferred";
        /// Size of every request.
        request: Bytes = "20KiB", in "[1B, 1TiB]", from "HotI 2011: queries of 20 KB; that requests are so long is inferred";
        /// Size of every reply.
        response: Bytes = "20KiB", in "[1B, 1TiB]", from "HotI 2011: 20 KB";
        /// Which connections carry requests and replies.
        connections: Connections = "new", from "HotI 2011 (inferred: queries suffer from lost SYNs)";
        /// No query comes at or after this instant.
        end: Option<Time>, in "(0s, 1000s]", from "Paceline";
        /// Time in which queries come, in place of `end`.
        duration: Option<Duration>, in "(0s, 1000s]", from "Paceline";
        /// At most this many queries.
        max_queries: Option<u64>, in "[1, 1000000000]", from "Paceline";
    }
}
