//! `[[workloads]]`: what the hosts send. Here what all of them have; a module for each kind, and one each for what several kinds
//! share: sizes and load. Message-passing programs are in [`super::mpi`].

mod flows;
mod incast;
mod load;
mod on_off;
mod poisson;
mod rounds;
mod rpc;
mod scatter_gather;
mod sizes;

use paceline_proto::units::{BitsPerSec, Time};

pub use self::flows::{FlowRow, Flows};
pub use self::incast::{Incast, IncastMode, PoissonIncast, Receiver, StaggeredIncast, SynchronousIncast};
pub use self::load::{IncastLoad, Load, LoadBytes, LoadMean, LoadOf};
pub use self::on_off::{Gap, OnOff, OnOffCbr, OnOffFlows, OnOffMode};
pub use self::poisson::Poisson;
pub use self::rounds::{AllToAll, Permutation, Shift};
pub use self::rpc::{ClosedRpc, OpenRpc, Pick, Rpc, RpcMode};
pub use self::scatter_gather::{Connections, ScatterGather};
pub use self::sizes::{Sampling, SizeFile, Sizes};
use super::declare::{section, variants};
use super::mpi::Mpi;
use super::value::{Name, either};

section! {
    /// Traffic of one kind and one scheme.
    pub struct Workload {
        /// Name under which results report its flows; workloads may share one.
        group: Name => kind {
            "poisson" => "poisson", "incast" => "incast", "permutation" => "permutation",
            "all_to_all" => "all_to_all", "flows" => "flows", "rpc" => "rpc",
            "scatter_gather" => "scatter_gather", "on_off" => "on_off", "mpi" => "mpi",
        }, from "Paceline";
        /// Name of the scheme its flows use; may be left out when there is only one, or when each of `rows` names its own.
        scheme: Option<Name>, from "Paceline";
        /// Traffic class; 0 is kept for control frames.
        class: u8 = 3, in "[1, 7]", from "HPCC reference simulator: priority group 3";
        /// When it begins; added to every start of a flow table.
        start: Time = "0s", in "[0s, 1000s]", from "Paceline";
        /// Upper limit on the sending rate of each flow, in bytes of frames.
        rate_cap: RateCap = "off", in "[1Kbps, 10Tbps]", from "Paceline";
        select {
            /// The process that makes the flows.
            kind: WorkloadKind;
        }
    }
}

variants! {
    /// The process that makes the flows.
    pub enum WorkloadKind by kind, from "Paceline" {
        /// Open-loop Poisson arrivals at every host.
        Poisson(Poisson) = "poisson",
        /// Many hosts to one.
        Incast(Incast) = "incast",
        /// Every host to one other.
        Permutation(Permutation) = "permutation",
        /// Every host to every other.
        AllToAll(AllToAll) = "all_to_all",
        /// A given list.
        Flows(Flows) = "flows",
        /// Queries from clients to servers and their responses, over connections that stay open.
        Rpc(Rpc) = "rpc",
        /// Queries that spread from a host over all racks and come together again.
        ScatterGather(ScatterGather) = "scatter_gather",
        /// Hosts that start flows in bursts, most of them to hosts of their rack.
        OnOff(OnOff) = "on_off",
        /// Ranks of a message-passing program.
        Mpi(Mpi) = "mpi",
    }
}

either! {
    /// An optional limit on a rate.
    pub enum RateCap {
        /// No limit.
        Off = "off",
        ;
        /// This rate.
        Rate(BitsPerSec),
    }
}

impl RateCap {
    /// As flows have it, bit/s: 0 for none.
    pub fn limit(&self) -> u64 {
        match self {
            RateCap::Off => 0,
            RateCap::Rate(rate) => rate.0,
        }
    }
}
