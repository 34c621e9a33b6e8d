//! `kind = "rpc"`: queries and responses over connections that stay open.

use paceline_proto::units::{Bytes, Duration, Time};

use super::load::Load;
use super::sizes::Sizes;
use crate::spec::declare::{section, variants};
use crate::spec::value::{HostSet, choice};

section! {
    /// Queries from clients to servers, each answered at once, over connections that stay open. `queries.csv` has a row for
    /// each. One of `end` and `duration` is needed unless `run.stop` is an instant.
    pub struct Rpc {
        /// Hosts that ask.
        clients: HostSet = "all", from "Paceline";
        /// Hosts that answer; a host never asks itself.
        servers: HostSet = "all", from "Paceline";
        /// Connections from each client to each server. Each has one NIC at either end.
        connections: u32 = 1, in "[1, 100000]", from "Paceline; buffer-sizing study: 8";
        /// Query sizes: one size, the name of a distribution, or a file.
        sizes: Sizes = "4KB", in "[1B, 1TiB]", from "buffer-sizing study: 4 KB";
        /// Size of a response.
        response: Bytes = "64B", in "[1B, 1TiB]", from "Paceline; buffer-sizing study: small";
        /// No query is issued at or after this instant.
        end: Option<Time>, in "(0s, 1000s]", from "Paceline";
        /// Time in which queries are issued, in place of `end`.
        duration: Option<Duration>, in "(0s, 1000s]", from "Paceline";
        select {
            /// When a query is issued.
            mode: RpcMode;
        }
    }
}

variants! {
    /// When a query is issued.
    pub enum RpcMode by mode = "closed", from "Paceline" {
        /// As soon as another one is answered.
        Closed(ClosedRpc) = "closed",
        /// At random instants, whatever is outstanding.
        Open(OpenRpc) = "open",
    }
}

section! {
    /// Each connection has a fixed number of queries outstanding.
    pub struct ClosedRpc {
        /// Queries outstanding on each connection.
        outstanding: u32 = 1, in "[1, 1000000]", from "Paceline; buffer-sizing study: 2 and 64";
    }
}

choice! {
    /// Which of a client's connections to a server gets a query.
    pub enum Pick {
        /// Any.
        Random = "random",
        /// One with the fewest outstanding, of those at the same NIC.
        Idle = "idle",
    }
}

section! {
    /// Queries of every client arrive as a Poisson process, spread evenly over its connections.
    pub struct OpenRpc {
        /// Which connection to the server gets a query: any, or one with the fewest outstanding, so that short queries seldom
        /// wait behind long ones.
        pick: Pick = "random", from "Paceline";
        sections {
            /// Offered load of the queries.
            load: Load;
        }
    }
}
