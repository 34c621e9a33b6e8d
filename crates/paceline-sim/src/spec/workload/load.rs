//! Offered load: how much, of what, counted how.

use crate::spec::declare::section;
use crate::spec::value::{LinkRef, choice, either};

choice! {
    /// Which bytes a load counts.
    pub enum LoadBytes {
        /// Payload.
        Payload = "payload",
        /// Everything data packets put on the wire.
        Wire = "wire",
    }
}

either! {
    /// What a load is a share of.
    pub enum LoadOf {
        /// The links of the hosts.
        Host = "host",
        /// The uplinks of the top-of-rack switches.
        TorUplink = "tor_uplink",
        ;
        /// One link in one direction.
        Link(LinkRef),
    }
}

choice! {
    /// Which mean flow size turns a load into arrivals.
    pub enum LoadMean {
        /// That of the sizes drawn.
        Sampled = "sampled",
        /// The one the distribution's source names.
        Nominal = "nominal",
    }
}

section! {
    /// Offered load.
    pub struct Load {
        /// Share of the capacity. All sending hosts offer the same, whatever their links.
        value: f64 = 0.3, in "(0, 10]", from "HPCC, sec. 5.1: 30 %, the normal load";
        /// Count payload alone, or everything data packets put on the wire.
        bytes: LoadBytes = "payload", from "HPCC project page: payload over bandwidth";
        /// Capacity: all links of the hosts, all uplinks of the top-of-rack switches, or one link such as `"tor0->agg1"`
        /// (parallel ones together) by its expected share of the flows; nodes are named as in `failures.link`.
        of: LoadOf = "host", from "HPCC project page";
        /// Mean flow size: that of the sizes drawn, or the one the distribution's source names.
        mean: LoadMean = "sampled", from "HPCC reference simulator, traffic generator";
    }
}

section! {
    /// Offered load of incasts.
    pub struct IncastLoad {
        /// Share of the capacity.
        value: f64 = 0.02, in "(0, 10]", from "HPCC, sec. 5.1: 2 %";
        /// Count payload alone, or everything data packets put on the wire.
        bytes: LoadBytes = "payload", from "HPCC project page: payload over bandwidth";
        /// Capacity: all links of the hosts, all uplinks of the top-of-rack switches, or one link such as `"tor0->agg1"`
        /// (parallel ones together) by its expected share of the flows; nodes are named as in `failures.link`.
        of: LoadOf = "host", from "HPCC project page";
        /// Mean flow size: that of the sizes drawn, or the one the distribution's source names.
        mean: LoadMean = "sampled", from "HPCC reference simulator, traffic generator";
    }
}
