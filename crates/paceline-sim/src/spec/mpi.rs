//! `kind = "mpi"`: message-passing programs.

use paceline_proto::units::{Bytes, Duration};

use super::declare::{section, variants};
use super::value::{File, HostSet, choice};
use super::workload::Connections;
use crate::mpi::collective::{Algorithm, Operation};
use crate::mpi::collectives::{AllReduce, AllToAll};
use crate::mpi::nas::Class;

choice!(Class { S = "S", W = "W", A = "A", B = "B", C = "C", D = "D", E = "E", F = "F", });
choice!(AllToAll { Auto = "auto", Bruck = "bruck", Posted = "posted", Pairwise = "pairwise", });
choice!(AllReduce { Auto = "auto", RecursiveDoubling = "recursive_doubling", ReduceScatter = "reduce_scatter", });
choice!(Operation {
    AllReduce = "all_reduce",
    ReduceScatter = "reduce_scatter",
    AllGather = "all_gather",
    AllToAll = "all_to_all",
    Broadcast = "broadcast",
});
choice!(Algorithm {
    Auto = "auto",
    Ring = "ring",
    RecursiveDoubling = "recursive_doubling",
    HalvingDoubling = "halving_doubling",
    Posted = "posted",
    Pairwise = "pairwise",
    Bruck = "bruck",
    Binomial = "binomial",
});

choice! {
    /// Which host a rank is on.
    pub enum Placement {
        /// Rank i on the i-th host.
        InOrder = "in_order",
        /// Ranks on random hosts of those that would be used.
        Random = "random",
    }
}

choice! {
    /// When a send that its receiver had to grant is over.
    pub enum SendsEnd {
        /// When an acknowledgement of its last packet could be there, alone on its way back.
        Acknowledged = "acknowledged",
        /// At the instant at which it has arrived.
        Arrival = "arrival",
    }
}

section! {
    /// Ranks that compute, send and receive as a message-passing program says. `ranks.csv` has a row for each, `summary.json` the time
    /// of the whole and that on an ideal network. docs/mpi.md explains the programs.
    pub struct Mpi {
        /// Hosts of the ranks in the order in which they are given; a host has one rank.
        hosts: HostSet = "all", from "Paceline";
        /// Which host a rank is on: the i-th has rank i, or they are shuffled.
        placement: Placement = "in_order", from "Paceline";
        /// Largest message that is sent without being asked for. Larger ones are preceded by a request and its grant, which are
        /// messages too.
        eager: Bytes = "32KiB", in "[0B, 1TiB]", from "Paceline; customary in MPI over sockets and RDMA: 8 to 64 KiB";
        /// Size of a request and of a grant.
        control: Bytes = "64B", in "[1B, 1MiB]", from "Paceline";
        /// When the sender of a message larger than `eager` may go on: as soon as an acknowledgement of its last packet could be there,
        /// or at the instant of its arrival, as if it knew (in the sequential engine only).
        sends_end: SendsEnd = "acknowledged", from "Paceline; RDMA completes a send when it is acknowledged";
        /// Which connections carry messages. With `new` the program runs in the sequential engine.
        connections: Connections = "open", from "MPI implementations";
        select {
            /// What the ranks do.
            program: MpiProgram;
        }
    }
}

variants! {
    /// What the ranks do.
    pub enum MpiProgram by program, from "Paceline" {
        /// Block-tridiagonal solver: faces and sweeps.
        Bt(Bt) = "bt",
        /// Conjugate gradients: exchanges in rows and across the diagonal.
        Cg(Cg) = "cg",
        /// Fourier transforms: all-to-all.
        Ft(Ft) = "ft",
        /// Integer sort: all-to-all of unequal parts.
        Is(Is) = "is",
        /// Multigrid: faces of shrinking cubes.
        Mg(Mg) = "mg",
        /// A weather model's halo exchange.
        Wrf(Wrf) = "wrf",
        /// A collective operation again and again, as in training.
        Collective(Collective) = "collective",
        /// A schedule in GOAL text.
        Goal(Goal) = "goal",
    }
}

section! {
    /// NAS BT on a square number of ranks.
    pub struct Bt {
        /// Problem class.
        problem_class: Class = "A", from "NPB 3.4";
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// Time steps; as many as the class has where left out.
        iterations: Option<u32>, in "[1, 1000000]", from "NPB 3.4";
        /// Operations per second that a rank computes.
        compute_rate: f64 = 1e9, in "[1, 1e18]", from "Paceline: 1 Gop/s";
    }
}

section! {
    /// NAS CG on a power of 2 of ranks.
    pub struct Cg {
        /// Problem class.
        problem_class: Class = "A", from "NPB 3.4";
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// Outer iterations of 25 steps; as many as the class has where left out.
        iterations: Option<u32>, in "[1, 1000000]", from "NPB 3.4";
        /// Operations per second that a rank computes.
        compute_rate: f64 = 1e9, in "[1, 1e18]", from "Paceline: 1 Gop/s";
    }
}

section! {
    /// NAS FT on a power of 2 of ranks.
    pub struct Ft {
        /// Problem class.
        problem_class: Class = "A", from "NPB 3.4";
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// Iterations after the first transform; as many as the class has where left out.
        iterations: Option<u32>, in "[1, 1000000]", from "NPB 3.4";
        /// Operations per second that a rank computes.
        compute_rate: f64 = 1e9, in "[1, 1e18]", from "Paceline: 1 Gop/s";
        /// Algorithm of the transpose; by size with `auto`.
        alltoall: AllToAll = "auto", from "MPICH";
    }
}

section! {
    /// NAS IS on a power of 2 of ranks.
    pub struct Is {
        /// Problem class.
        problem_class: Class = "A", from "NPB 3.4";
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// Iterations, the warm-up among them; as many as the class has where left out.
        iterations: Option<u32>, in "[1, 1000000]", from "NPB 3.4";
        /// Operations per second that a rank computes.
        compute_rate: f64 = 1e9, in "[1, 1e18]", from "Paceline: 1 Gop/s";
        /// Algorithm by which ranks tell each other how many keys come; by size with `auto`.
        alltoall: AllToAll = "auto", from "MPICH";
        /// Algorithm by which the sizes of buckets are added up; by size with `auto`.
        allreduce: AllReduce = "auto", from "MPICH";
        /// Largest deviation of a pair's keys from the mean, as a share.
        noise: f64 = 0.03, in "[0, 1]", from "Paceline";
    }
}

section! {
    /// NAS MG on a power of 2 of ranks.
    pub struct Mg {
        /// Problem class.
        problem_class: Class = "A", from "NPB 3.4";
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// V-cycles; as many as the class has where left out.
        iterations: Option<u32>, in "[1, 1000000]", from "NPB 3.4";
        /// Operations per second that a rank computes.
        compute_rate: f64 = 1e9, in "[1, 1e18]", from "Paceline: 1 Gop/s";
        /// Algorithm of the norms' sums; by size with `auto`.
        allreduce: AllReduce = "auto", from "MPICH";
    }
}

section! {
    /// Ranks in a mesh that does not go round compute, then exchange boundaries with their neighbours, several times per step.
    pub struct Wrf {
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// Steps.
        iterations: u32 = 10, in "[1, 1000000]", from "Paceline";
        /// Ranks in a row, east to west; nearest to a square where left out.
        columns: Option<u32>, in "[1, 1048576]", from "studies of WRF's traces: 16 of 256 ranks";
        /// Size of a message to a neighbour north or south.
        north_south: Bytes = "512KiB", in "[0B, 1TiB]", from "Paceline, after studies of WRF's traces: some 100 KB";
        /// Size of a message to a neighbour east or west.
        east_west: Bytes = "64KiB", in "[0B, 1TiB]", from "Paceline";
        /// Exchanges per step.
        rounds: u32 = 4, in "[1, 1000]", from "Paceline";
        /// Computing per step, shared out over its exchanges.
        compute: Duration = "20ms", in "[0s, 1000s]", from "Paceline: 10 to 50 ms";
    }
}

section! {
    /// Ranks compute, then carry out a collective operation together, again and again.
    pub struct Collective {
        /// What they do together.
        operation: Operation = "all_reduce", from "Paceline";
        /// How: `ring` (not all-to-all), for all-reduce `recursive_doubling` and `halving_doubling`, for all-to-all `posted`, `pairwise`
        /// and `bruck`, for broadcast `binomial`. With `auto` round a ring, but all-to-all and broadcast by size.
        algorithm: Algorithm = "auto", from "Patarasuk and Yuan, JPDC 2009; MPICH";
        /// The whole vector: what a rank has before an all-to-all or reduce-scatter, and after each of the others. Among P ranks a
        /// block is a P-th of it.
        bytes: Bytes = "16MiB", in "[0B, 1TiB]", from "Paceline";
        /// Slices of the vector with which the operation is carried out side by side, none waiting for another: while one waits for its
        /// next block the links carry the others'. On hosts with several NICs they go by these in turn.
        channels: u32 = 1, in "[1, 256]", from "NCCL: several channels per operation";
        /// Ranks; as many as hosts where left out.
        ranks: Option<u32>, in "[1, 1048576]", from "Paceline";
        /// How often.
        iterations: u32 = 10, in "[1, 1000000]", from "Paceline";
        /// Computing before each operation.
        compute: Duration = "0s", in "[0s, 1000s]", from "Paceline";
    }
}

section! {
    /// A schedule in GOAL text, as LogGOPSim and ATLAHS have it.
    pub struct Goal {
        /// The file.
        file: File, from "Paceline";
        /// Length of one unit of `calc`.
        calc_unit: Duration = "1ns", in "[1ps, 1s]", from "LogGOPSim: ns by custom";
    }
}
