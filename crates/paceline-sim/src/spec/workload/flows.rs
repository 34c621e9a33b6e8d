//! `kind = "flows"`: flows one by one.

use paceline_proto::units::{Bytes, Time};

use super::RateCap;
use crate::spec::declare::section;
use crate::spec::value::{File, Name, NodeRef};

section! {
    /// A list of flows, in a file or here; one of the two.
    pub struct Flows {
        /// A flow table (CSV with the columns `start` or `start_ps`, `src`, `dst`, `bytes` and, optional, `scheme`, `group`, `class`, `dport`, `rate_cap`; `src` and `dst` are node ids or names, a group may be one that no workload has; `paceline export --table` writes one), or a flow file of the HPCC reference simulator, whose first flow starts at once and the others as long after it as there.
        file: Option<File>, from "Paceline";
        rows {
            /// The flows, in any order; equal starts keep theirs.
            rows: FlowRow;
        }
    }
}

section! {
    /// One flow.
    pub struct FlowRow {
        /// When it starts, from the workload's `start`.
        start: Time = "0s", in "[0s, 1000s]", from "Paceline";
        /// The sending host.
        src: NodeRef, from "Paceline";
        /// The receiving host.
        dst: NodeRef, from "Paceline";
        /// Payload.
        bytes: Bytes, in "[1B, 1TiB]", from "Paceline";
        /// Name of its scheme, in place of the workload's.
        scheme: Option<Name>, from "Paceline";
        /// Its group, in place of the workload's; may be one that no workload has.
        group: Option<Name>, from "Paceline";
        /// Its class, in place of the workload's.
        class: Option<u8>, in "[1, 7]", from "Paceline";
        /// Its rate limit, in place of the workload's.
        rate_cap: Option<RateCap>, in "[1Kbps, 10Tbps]", from "Paceline";
    }
}
