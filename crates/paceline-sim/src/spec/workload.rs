//! `[[workloads]]`: what the hosts send.

use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time};

use super::declare::{section, variants};
use super::field::{Record, Type};
use super::mpi::Mpi;
use super::node::{Item, Node};
use super::section::{Section, read_record};
use super::value::{File, HostSet, LinkRef, Name, Value, Wrong, choice, either, quote};

section! {
    /// Traffic of one kind and one scheme.
    pub struct Workload {
        /// Name under which results report its flows; workloads may share one.
        group: Name => kind {
            "poisson" => "poisson", "incast" => "incast", "permutation" => "permutation",
            "all_to_all" => "all_to_all", "flows" => "flows", "rpc" => "rpc",
            "scatter_gather" => "scatter_gather", "on_off" => "on_off", "mpi" => "mpi",
        }, from "Paceline";
        /// Name of the scheme its flows use; may be left out when there is only one.
        scheme: Option<Name>, from "Paceline";
        /// Traffic class; 0 is kept for control frames.
        class: u8 = 3, in "[1, 7]", from "HPCC reference simulator: priority group 3";
        /// When it begins; added to every start of a flow table.
        start: Time = "0s", in "[0s, 1000s]", from "Paceline";
        /// Upper limit on the sending rate of each flow.
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

choice! {
    /// What lies between two points of a size distribution.
    pub enum Sampling {
        /// Sizes between two points are equally likely.
        Interpolated = "interpolated",
        /// Only the sizes listed occur.
        Step = "step",
    }
}

section! {
    /// A file of points of a cumulative distribution: `bytes probability` per line.
    pub struct SizeFile {
        /// The file.
        file: File, from "Paceline";
        /// What lies between two points.
        sampling: Sampling = "interpolated", from "HPCC reference simulator, traffic generator";
    }
}

/// Flow sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// A distribution that comes with Paceline; `paceline list` names them.
    Builtin(Name),
    /// Every flow has this size.
    Fixed(Bytes),
    /// A distribution from a file.
    File(SizeFile),
}

static SIZE_FILE: Record = Record {
    name: "SizeFile",
    doc: " A file of points of a cumulative distribution: `bytes probability` per line.",
    rows: SizeFile::ROWS,
};

impl Value for Sizes {
    const TYPE: Type = Type::Either(&[Type::Name, Type::Size, Type::Table(&SIZE_FILE)]);
    fn read(node: &Node) -> Result<Self, Wrong> {
        match &node.item {
            Item::Table(_) => read_record(node, SizeFile::read).map(Sizes::File),
            // A size starts with a digit or a point, a name must not be mistaken for one.
            Item::Text(text) if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                Bytes::read(node).map(Sizes::Fixed)
            }
            Item::Text(_) => Name::read(node).map(Sizes::Builtin),
            _ => Err(Wrong::Type),
        }
    }
    fn text(&self) -> Option<String> {
        match self {
            Sizes::Builtin(name) => name.text(),
            Sizes::Fixed(bytes) => bytes.text(),
            Sizes::File(file) => {
                let sampling = file.sampling.text().unwrap_or_default();
                Some(format!("{{ file = {}, sampling = {sampling} }}", quote(&file.file.0)))
            }
        }
    }
    fn within(&self, range: super::field::Interval<'_>) -> bool {
        if let Sizes::Fixed(bytes) = self { bytes.within(range) } else { true }
    }
}

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
        /// Share of the capacity.
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

either! {
    /// A host, or one drawn anew each time.
    pub enum Receiver {
        /// Drawn anew for each incast.
        Random = "random",
        ;
        /// This node.
        Host(u32),
    }
}

section! {
    /// Many hosts send to one, once or again and again.
    pub struct Incast {
        /// Hosts that send in one incast.
        senders: u32 = 16, in "[1, 1000000]", from "Paceline; HPCC, sec. 5.1: 60";
        /// Draw the senders anew for each incast; otherwise they are the first of `hosts`.
        random_senders: bool = true, from "HPCC, sec. 5.1";
        /// The receiving host: drawn anew for each incast, or a node id.
        receiver: Receiver = "random", in "[0, 4294967295]", from "HPCC, sec. 5.1";
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

either! {
    /// Who sends to whom in a permutation.
    pub enum Shift {
        /// Drawn for each round; nobody sends to itself.
        Random = "random",
        ;
        /// The host at place `i` sends to place `i + shift`.
        By(u32),
    }
}

section! {
    /// Every host sends one flow and receives one, all at once.
    pub struct Permutation {
        /// Flow sizes: one size, the name of a distribution, or a file.
        sizes: Sizes = "1MiB", in "[1B, 1TiB]", from "Paceline";
        /// Hosts that take part.
        hosts: HostSet = "all", from "Paceline";
        /// Who sends to whom: drawn for each round, or the host at place i to that at place i + shift.
        shift: Shift = "random", in "[1, 4294967295]", from "Paceline";
        /// Number of rounds.
        rounds: u64 = 1, in "[1, 1000000000]", from "Paceline";
        /// From one round to the next; no effect with one.
        period: Duration = "1ms", in "[1ns, 1000s]", from "Paceline";
    }
}

section! {
    /// Every host sends one flow to every other.
    pub struct AllToAll {
        /// Flow sizes: one size, the name of a distribution, or a file.
        sizes: Sizes = "64KiB", in "[1B, 1TiB]", from "Paceline";
        /// Hosts that take part.
        hosts: HostSet = "all", from "Paceline";
        /// From a host's start of one flow to that of its next; 0 starts all together.
        step: Duration = "0s", in "[0s, 1000s]", from "Paceline";
        /// Number of rounds.
        rounds: u64 = 1, in "[1, 1000000000]", from "Paceline";
        /// From one round to the next; no effect with one.
        period: Duration = "1ms", in "[1ns, 1000s]", from "Paceline";
    }
}

section! {
    /// A list of flows, in a file or here; one of the two.
    pub struct Flows {
        /// A flow table (CSV with the columns `start`, `src`, `dst`, `bytes` and, optional, `scheme`, `group`, `class`, `dport`, `rate_cap`).
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
        /// Node id of the sending host.
        src: u32, in "[0, 4294967295]", from "Paceline";
        /// Node id of the receiving host.
        dst: u32, in "[0, 4294967295]", from "Paceline";
        /// Payload.
        bytes: Bytes, in "[1B, 1TiB]", from "Paceline";
        /// Name of its scheme, in place of the workload's.
        scheme: Option<Name>, from "Paceline";
        /// Its class, in place of the workload's.
        class: Option<u8>, in "[1, 7]", from "Paceline";
        /// Its rate limit, in place of the workload's.
        rate_cap: Option<RateCap>, in "[1Kbps, 10Tbps]", from "Paceline";
    }
}

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
