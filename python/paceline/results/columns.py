"""The data dictionary: every file, table and column of a result folder, with unit and meaning.

The reader takes its columns from here, Parquet files carry the units, and ``docs/results.md`` is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column of a table, or one value of ``summary.json``."""

    name: str
    kind: type
    unit: str
    """``ps``, ``bytes``, ``bit/s``, ``packets``, ...; empty for names, ids and shares."""
    meaning: str
    absent: int | None = None
    """What stands in the NumPy columns for a value that does not exist, which is an empty cell and null elsewhere.

    None where all do.
    """


@dataclass(frozen=True)
class CsvFile:
    """One CSV file of a result folder."""

    name: str
    about: str
    columns: tuple[Column, ...]

    @property
    def kinds(self) -> dict[str, type]:
        """Type of each column."""
        return {c.name: c.kind for c in self.columns}

    @property
    def absent(self) -> dict[str, int]:
        """What stands for no value in columns that have such."""
        return {c.name: c.absent for c in self.columns if c.absent is not None}


_PLACE = (
    Column("node", int, "", "Node that transmits. Hosts are numbered from 0, switches after them."),
    Column("port", int, "", "Its port, from 0 in the order of the node's links."),
    Column("peer", int, "", "Node at the other end of the link."),
    Column("tier", str, "", "Kind of link direction: `from->to` of `host`, `tor`, `agg`, `core`."),
)
_CLASS = Column("class", int, "", "Traffic class, 1 to 7; 0 is the control class, which is never paused.")

FLOWS = CsvFile(
    "flows",
    "One row per flow, by flow id. Holds simulated quantities only, so equal runs give equal bytes.",
    (
        Column(
            *("flow_id", int, ""),
            "Number of the flow in the order of starts, from 0; each direction of an `rpc` connection has one, too.",
        ),
        Column("group", str, "", "Group of the workload that made the flow."),
        Column("scheme", str, "", "Congestion-control scheme, by its name in the scenario."),
        _CLASS,
        Column("src", int, "", "Host that sends."),
        Column("dst", int, "", "Host that receives."),
        Column("size_bytes", int, "bytes", "Payload to carry."),
        Column("start_ps", int, "ps", "Simulated instant at which the flow was created."),
        Column(
            "fct_sender_ps", int, "ps", "Creation to the last new byte acknowledged at the sender; empty without.", 0
        ),
        Column("fct_receiver_ps", int, "ps", "Creation to the last payload byte received; empty without.", 0),
        Column("ideal_sender_ps", int, "ps", "Least possible `fct_sender_ps`: alone, store and forward at line rate."),
        Column("ideal_receiver_ps", int, "ps", "Least possible `fct_receiver_ps`."),
        Column("ideal_hpcc_ps", int, "ps", "Standalone FCT by the formula of the HPCC reference simulator."),
        Column("status", str, "", "`finished`, `failed` (given up by its transport), `running`, `not_started`."),
        Column("retransmitted_packets", int, "packets", "Data packets sent again."),
        Column("hops", int, "links", "Links on the data path; 0 where it is not known (sprayed packets, flowlets)."),
        Column(
            "failed_after_ps", int, "ps", "Creation to the instant its transport gave the flow up; empty without.", 0
        ),
        Column("lost_packets", int, "packets", "Datagrams that never arrived, over UDP; 0 over other transports."),
    ),
)

QUERIES = CsvFile(
    "queries",
    "One row per query, in the order in which they were issued. Only where a workload asks queries (`kind` `rpc` or "
    "`scatter_gather`).",
    (
        Column(
            "connection",
            int,
            "",
            "Number of the connection in the run, from 0; with `scatter_gather` of the client among its hosts.",
        ),
        Column(
            "query", int, "", "Number of the query on its connection, from 0; with `scatter_gather` in the workload."
        ),
        Column("group", str, "", "Group of the workload."),
        Column("scheme", str, "", "Congestion-control scheme, by its name in the scenario."),
        Column("client", int, "", "Host that asks."),
        Column(
            "server", int, "", "Host that answers; with `scatter_gather` the host that the query came to, as `client`."
        ),
        Column("size_bytes", int, "bytes", "Payload of the query; with `scatter_gather` of all its requests."),
        Column("response_bytes", int, "bytes", "Payload of the response; with `scatter_gather` of all replies."),
        Column("start_ps", int, "ps", "Simulated instant at which the query was issued."),
        Column("qct_ps", int, "ps", "From then to the last byte of the response at the client; empty without.", 0),
        Column(
            "ideal_qct_ps",
            int,
            "ps",
            "Least possible `qct_ps`: every message of the longest chain alone, at line rate.",
        ),
    ),
)

RANKS = CsvFile(
    "ranks",
    'One row per rank of message-passing programs (`kind = "mpi"`), by workload. Only where there are any.',
    (
        Column("group", str, "", "Group of the workload."),
        Column("rank", int, "", "Number of the rank in its program, from 0."),
        Column("host", int, "", "Host that it is on."),
        Column("start_ps", int, "ps", "Simulated instant at which the program began in this run; empty without.", -1),
        Column("runtime_ps", int, "ps", "From then until the rank was through; empty without.", 0),
        Column("compute_ps", int, "ps", "Time of all its computations."),
        Column("messages", int, "messages", "Messages that it sends, requests and grants not counted."),
        Column("message_bytes", int, "bytes", "Their payload."),
    ),
)

QUEUES = CsvFile(
    "queues",
    "Exact time-weighted histograms of the bytes waiting at egress ports of switches, the packet on the wire not "
    "counted. Of the whole run, warm-up included, and until the last queue is empty if that is later. Bins no queue "
    "was ever in are left out. In large networks a row stands for all ports of a tier. Times are exact; bins are an "
    "eighth of an octave wide (the first 72 bytes), so that a mean from their middles may be 6 % off where queues of "
    "few lengths occur.",
    (
        *_PLACE,
        _CLASS,
        Column("rate_bps", int, "bit/s", "Rate of the port."),
        Column("bin_low_bytes", int, "bytes", "Least queue of the bin."),
        Column("bin_high_bytes", int, "bytes", "First queue above the bin."),
        Column("time_ps", int, "ps", "Simulated time the queue was in the bin, summed over `ports`."),
        Column("ports", int, "ports", "Ports the row stands for; above 1, `node`, `port` and `peer` are of the first."),
    ),
)

LINKS = CsvFile(
    "links",
    "One row per direction of a link: what it carried and what was lost on it.",
    (
        *_PLACE,
        Column("rate_bps", int, "bit/s", "Rate."),
        Column("delay_ps", int, "ps", "Propagation delay, and `switch.delay` on the way out of a switch."),
        Column("data_packets", int, "packets", "Packets with payload sent."),
        Column("control_packets", int, "packets", "Other packets sent: ACKs, NACKs, PFC frames."),
        Column("data_bytes", int, "bytes", "Their frames, headers included, without what the wire adds."),
        Column("control_bytes", int, "bytes", "Frames of the other packets."),
        Column(
            "busy_ps",
            int,
            "ps",
            "Simulated time spent transmitting, with what the wire adds to a frame. Utilisation is this over "
            "`simulated_ps` of `summary.json`; copies of what has arrived may go on after the last flow's end, which "
            "is counted too, and frames that are being sent at the end count whole.",
        ),
        Column("marks", int, "packets", "Packets marked by ECN at this port."),
        Column("drops_buffer", int, "packets", "Packets for this port dropped for want of buffer."),
        Column("drops_wire", int, "packets", "Packets lost on the wire."),
        Column(
            "drops_link_down",
            int,
            "packets",
            "Packets lost to a link that was down or led nowhere; in packets.csv at the port that sent them last.",
        ),
        Column("trims", int, "packets", "Packets for this port whose payload was cut off (NDP)."),
        Column("drops_credit", int, "packets", "Credits that the port's shaper dropped (ExpressPass)."),
        Column("drops_unscheduled", int, "packets", "Of `drops_buffer`, unscheduled packets (Homa, NDP, ExpressPass)."),
        Column("drops_control", int, "packets", "Of `drops_buffer`, packets without payload."),
    ),
)

PAUSES = CsvFile(
    "pauses",
    "One row per transmitting port and class that was paused by PFC at least once.",
    (
        *_PLACE,
        _CLASS,
        Column("pause_frames", int, "frames", "PFC pause frames received."),
        Column("resume_frames", int, "frames", "PFC resume frames received."),
        Column("paused_ps", int, "ps", "Simulated time the class was paused here."),
        Column("paused_share", float, "", "The same as a share of the simulated time of the run."),
    ),
)

SATURATION = CsvFile(
    "saturation",
    "How far pauses had spread, at the instants of `series.csv`; no row where nothing was ever paused at one of "
    "them, and no file without PFC. A paused link is a transmitting port and class that the switch at the far end "
    "pauses. It waits for the egress ports of that switch at which its packets stand. One that is not paused itself is "
    "the root of a tree; links that wait for it have depth 1, links that wait for those depth 2. Links that wait for "
    "each other in a cycle (a deadlock) are one root, as deep as they are many.",
    (
        Column("time_ps", int, "ps", "Simulated instant of the sample."),
        Column("paused_links", int, "", "Paused links, one counted once for each of its classes."),
        Column("paused_hosts", int, "hosts", "Hosts on paused links."),
        Column("trees", int, "", "Roots, cycles included."),
        Column("depth", int, "links", "Longest chain of paused links that leads to a root; 0 without pauses."),
        Column("root", str, "", "Where that chain leads, as `node:port`; empty without pauses."),
        Column("class", int, "", "Its traffic class."),
        Column("hosts", int, "hosts", "Hosts on paused links of its tree."),
        Column("cycle", int, "", "1 where paused links wait for each other, else 0."),
    ),
)

SERIES = CsvFile(
    "series",
    "Samples over time, one value per row. `kind` is `queue_bytes` (bytes waiting at port `id`, written `node:port`), "
    "`rate_bps`, `cwnd_bytes` and `acked_bytes` (the rate in bit/s at which its scheme lets it send, not what it "
    "reaches, which is by how much `acked_bytes` grows; window and payload acknowledged so far in "
    "bytes of flow `id`, where its transport has them: TCP has no rate, UDP none of them), `received_bytes` (with "
    "Homa, NDP and ExpressPass in their place: payload of flow `id` that has arrived so far), `active_flows` or "
    "`finished_flows` (without `id`).",
    (
        Column("time_ps", int, "ps", "Simulated instant of the sample."),
        Column("kind", str, "", "What was sampled."),
        Column("id", str, "", "Of which port or flow."),
        Column("value", float, "by kind", "The sample."),
    ),
)

PACKETS = CsvFile(
    "packets",
    "One row for each packet that a port sent, trimmed or lost, in order of time, those of an instant by port: a "
    "packet has one for each link that it crossed. Only where `records.packets.rows` asks for them, of the ports, "
    "flows and times of `records.packets`.",
    (
        Column("time_ps", int, "ps", "Simulated instant at which its first bit left, or it was lost."),
        *_PLACE[:3],
        Column(
            "event",
            str,
            "",
            "`sent`; `trimmed` (its payload was cut off, NDP); `dropped_buffer` (no room), `dropped_credit` (no room "
            "for a credit, ExpressPass), `dropped_wire` (sent, and lost on the wire), `dropped_link_down`.",
        ),
        Column(
            *("arrival_ps", int, "ps"),
            "When its last bit was at the other end, a PFC frame also when it took effect; empty without.",
            0,
        ),
        Column("flow_id", int, "", "Flow, as in `flows.csv`; empty without.", -1),
        Column(
            "kind",
            str,
            "",
            "`data`, `ack`, `nack`, `pause`, `resume`, `notification` (QCN), `datagram` (UDP), `probe`, `probe_ack`, "
            "and by transport `grant`, `resend`, `busy`, `need_ack`, `done` (Homa), `pull` (NDP), `credit_request`, "
            "`credit`, `credit_stop` (ExpressPass).",
        ),
        Column(
            *("seq", int, ""),
            "Of data the number of the packet in its flow, from 0, of TCP its first byte; of grants, pulls and credits "
            "their counter; empty without.",
            -1,
        ),
        Column(
            *("ack", int, ""),
            "Next packet, of TCP the next byte, that the sender of this one expects; empty without.",
            -1,
        ),
        Column("size_bytes", int, "bytes", "The frame, headers included, without what the wire adds."),
        Column("class", int, "", "Traffic class; of a PFC frame the one that it stops or lets go on."),
        Column("marked", int, "", "1 if it met congestion (ECN); an RDMA ACK has the mark of what it acknowledges."),
        Column("queue_bytes", int, "bytes", "Bytes that wait at the port, all classes, this packet not counted."),
    ),
)

BASELINES = """\
Slowdown is FCT over the ideal FCT of the same kind (`Results.slowdown(baseline, side)`, `paceline report` with
`--baseline` and `--side`):

- `line_rate`: `ideal_sender_ps` or `ideal_receiver_ps`, the closed form of a flow sent back to back at line rate
  through an empty network, with basic headers. No flow beats it on its own path. Of packets that are sprayed
  over several paths it is the least they can need: they follow each other on the hosts' links, and share what all
  parallel links carry where that is less. Where links fail, the path with all links up counts or, where that is
  faster, the one at the flow's start or end. Of a flow that comes to another path under way packets then travel side
  by side: the slowdown of a short one can fall a little below 1. Queries have the path of when their connection opened.
- `hpcc`: `ideal_hpcc_ps`, against the sender's FCT; ratios below 1 count as 1, as in that simulator's scripts.
- `alone`: the FCT of the same flow simulated alone, with its transport, controller, parameters, framing, switches,
  path and way of the ACKs with all links up, base RTT and window. What is left is what other traffic costs. There is
  no approximation in the size: each size is simulated. The flow starts at time 0 in a fresh network; the rounding of
  the telemetry's counters depends on what went before, so that the same flow at another instant can be about 2 %
  faster or slower, and a slowdown can fall that far below 1. Flows of equal size, scheme, class, rate limit and way
  (rates, delays and errors of the links both ways, and the ports of the switches) share one simulation and its random
  draws. It is done once, after the run, from the folder; it crosses about as many links as the run at most, memory
  does not grow with the number of flows, and the result does not depend on the number of threads. Runs that ask
  queries are refused, their other flows, too: a query is several messages, and what it takes without other traffic is
  not simulated. Against `line_rate` it has a slowdown.

Bins of sizes in figures and tables of `paceline report` are the deciles of the sizes of all flows measured, of all its
runs and schemes together; where every curve has 20,000 flows or more, figures have bins of 1 %. Flows of one size are
in one bin, so that there can be fewer. A bin of fewer than 100 flows has a hollow mark in figures and no p99 in tables.

Percentiles are order statistics by nearest rank, never interpolated: p50 of 16 flows is the 8th smallest value, where
`np.median` gives the middle between the 8th and the 9th. `paceline.analysis.nearest_rank(values, 50)` is the same.

Where flows are over UDP, `paceline report` times them at the receiver unless `--side` says otherwise: a sender of
datagrams is done when the last has left, whatever is lost. A flow that lost datagrams never arrives whole; at the
receiver it counts as failed.

Flows that did not finish are censored: they enter percentiles with their age, the least their FCT can be, and a
percentile they could still raise is marked. The age of a flow that was still running is that at the end of the run;
of a failed flow it is `failed_after_ps`, as long as it was observed: how much longer the run went on says nothing
about it."""

TABLES = (FLOWS, QUERIES, RANKS, QUEUES, LINKS, PAUSES, SATURATION, SERIES, PACKETS)
"""The CSV files of a result folder."""

FILES = (
    ("summary.json", "Status, counters, cost and remarks; below."),
    ("scenario.toml", "The scenario, all defaults filled in, input files by absolute path: what a rerun takes."),
    ("flows.bin", "Flows as 80-byte records, written while the run goes; `flows.csv` is made from it."),
    (
        "queries.bin",
        "Queries as 64-byte records in the order of the answers, those of one instant by connection; last, those "
        "without. `queries.csv` is made from it.",
    ),
    (
        "packets.bin",
        "Packets as 64-byte records, written while the run goes; `packets.csv` is made from it. Only where "
        "`records.packets` asks for it.",
    ),
    (
        "flows.csv, queries.csv, ranks.csv, queues.csv, links.csv, pauses.csv, saturation.csv, series.csv, packets.csv",
        "Tables; below. Written when the run ends.",
    ),
    (
        "flows.parquet, queues.parquet, ...",
        "Each table as in CSV, with types, units in the schema and nulls, and of which run it is; where pyarrow is "
        "installed.",
    ),
    ("report.html, figures/", "Written by `paceline report`."),
    (
        "tables.md, tables.tex",
        "The tables of the page in Markdown, and in LaTeX for papers (`\\usepackage{booktabs}`): written with it.",
    ),
    (
        "timeline.json.gz",
        "Flows, queries and ranks over time, with what was sampled, for ui.perfetto.dev or chrome://tracing. Written "
        "by `paceline timeline`.",
    ),
    (
        "alone.bin",
        "FCTs of every flow alone: a header of 64 bytes, then per flow `fct_sender_ps` and `fct_receiver_ps` as "
        "little-endian 64-bit numbers, 0 where there is none. Made when the baseline `alone` is first asked for.",
    ),
)

SUMMARY = (
    Column("schema_version", int, "", "Version of this layout."),
    Column("name", str, "", "Name of the scenario."),
    Column("version", str, "", "Version of Paceline."),
    Column("git", str, "", "Commit it was built from; null outside a checkout."),
    Column("seed", int, "", "Seed of all randomness."),
    Column(
        "status",
        str,
        "",
        "`completed` (every flow ended), `stopped` (at `run.stop`), `interrupted`, `stalled`, or `running`: going on, "
        "killed, or broken off (`diagnosis`).",
    ),
    Column(
        "engine.kind",
        str,
        "",
        "`windowed` or `sequential`; the results are the same.",
    ),
    Column("engine.why", str, "", "Why this engine."),
    Column(
        "engine.lookahead_ps",
        int,
        "ps",
        "How soon a node can affect others: windows end so far apart, or up to 4 % less.",
    ),
    Column("engine.threads", int, "threads", "Threads used."),
    Column("simulated_ps", int, "ps", "Simulated time at the end of the run."),
    Column("flows.total", int, "flows", "Flows that started."),
    Column("flows.finished", int, "flows", "Of them, every byte acknowledged."),
    Column(
        "flows.failed", int, "flows", "Of them, given up after the last retransmission timeout, or NACKs for as long."
    ),
    Column("flows.unfinished", int, "flows", "Of them, neither when the run ended."),
    Column("queries.connections", int, "", "Connections opened; the part is there only if a workload asks queries."),
    Column(
        "queries.connections_failed",
        int,
        "",
        "Of them, those whose queries, or answers still waited for, met their last timeout.",
    ),
    Column("queries.issued", int, "", "Queries issued."),
    Column("queries.answered", int, "", "Of them, answered."),
    Column("mpi[].group", str, "", "Group; the part is there only with message-passing programs, one entry for each."),
    Column("mpi[].scheme", str, "", "Congestion-control scheme of its messages."),
    Column("mpi[].ranks", int, "", "Number of ranks."),
    Column("mpi[].messages", int, "messages", "Messages that it sends, requests and grants not counted."),
    Column("mpi[].message_bytes", int, "bytes", "Their payload."),
    Column("mpi[].runtime_ps", int, "ps", "From its beginning until the last rank was through; null: not yet."),
    Column("mpi[].ideal_ps", int, "ps", "The least on any network with the same links of the hosts (docs/mpi.md)."),
    Column(
        "mpi[].slowdown",
        float,
        "",
        "`runtime_ps` over `ideal_ps`; below 1 only with a warning (docs/mpi.md).",
    ),
    Column("counters.events", int, "events", "Events that the engine processed."),
    Column("counters.data_hops", int, "packets", "Links crossed by packets with payload."),
    Column("counters.control_hops", int, "packets", "Links crossed by other packets."),
    Column("counters.drops_buffer", int, "packets", "Packets dropped for want of buffer."),
    Column("counters.drops_wire", int, "packets", "Packets lost on wires."),
    Column("counters.drops_link_down", int, "packets", "Packets lost because a link was down."),
    Column(
        "counters.lossless_drops",
        int,
        "packets",
        "Of the dropped packets, those of a class under PFC, but for what selective dropping may take: a fault.",
    ),
    Column("counters.marks", int, "packets", "Packets marked by ECN."),
    Column("counters.notifications", int, "frames", "QCN notifications sent by switches."),
    Column("counters.pause_frames", int, "frames", "PFC pause frames sent."),
    Column("counters.resume_frames", int, "frames", "PFC resume frames sent."),
    Column("counters.ties", int, "events", "Events at one place and instant, ordered by a hash."),
    Column("counters.retransmitted_packets", int, "packets", "Data packets sent again."),
    Column(
        "counters.data_packets",
        int,
        "packets",
        "Data packets sent, repetitions included; over TCP and UDP also what waits in an adapter or at a NIC that PFC"
        " pauses, one packet there.",
    ),
    Column(
        "counters.flowlets",
        int,
        "flowlets",
        'With `routing.choice = "flowlet"`: pauses after which an end of a flow took a path anew.',
    ),
    Column("counters.unscheduled_packets", int, "packets", "Of them, sent before the receiver had permitted any."),
    Column(
        "counters.drops_unscheduled", int, "packets", "Of the packets dropped for want of buffer, unscheduled ones."
    ),
    Column("counters.trimmed_packets", int, "packets", "Data packets whose payload switches cut off (NDP)."),
    Column("counters.returned_headers", int, "packets", "Of the trimmed ones, those sent back to their sender (NDP)."),
    Column("counters.permits", int, "packets", "Credits, grants and pulls that receivers sent."),
    Column(
        "counters.wasted_permits",
        int,
        "packets",
        "Of those that came to senders, the ones that found nothing to send; with NDP and ExpressPass also where their "
        "flow was over.",
    ),
    Column(
        "counters.drops_credit",
        int,
        "packets",
        "Credits dropped by the shapers of switch ports and of hosts (ExpressPass).",
    ),
    Column(
        "counters.probes",
        int,
        "packets",
        "Probes sent behind unscheduled packets (Aeolus), and those of HPCC over TCP, which count as data packets too.",
    ),
    Column("counters.timeouts", int, "timeouts", "Timeouts that made a host send."),
    Column("counters.fast_retransmits", int, "", "Losses repaired at the third duplicate ACK (TCP)."),
    Column(
        "counters.duplicate_packets",
        int,
        "packets",
        "Data packets that reached a host which had them (TCP, Homa, NDP, ExpressPass; over RDMA 0, see the next).",
    ),
    Column(
        "counters.discarded_packets",
        int,
        "packets",
        "Data packets that their receiver threw away (RDMA): it had them, they were not the next in order, or their "
        "flow was over. Delivered packets less these carry each byte once.",
    ),
    Column(
        "counters.ignored_duplicates",
        int,
        "",
        "Third duplicate ACKs that repaired nothing, since an earlier reduction covers what they acknowledge (TCP).",
    ),
    Column("counters.ecn_reductions", int, "", "Windows reduced for congestion marks (TCP)."),
    Column(
        "counters.max_buffer_bytes",
        int,
        "bytes",
        "Most bytes in the buffer of one switch at a sampling instant of series.csv; 0 without series.",
    ),
    Column(
        "traffic",
        list,
        "",
        "Over TCP and UDP only, for each scheme: `scheme`, its name; `packets` and `frame_bytes`, data packets sent, "
        "copies included; `delivered_bytes`, payload that arrived for the first time; `dropped_packets` and "
        "`dropped_bytes`, data packets lost anywhere.",
    ),
    Column("machine.setup_s", float, "s", "Wall time before the first event."),
    Column("machine.run_s", float, "s", "Wall time of the event loop."),
    Column("machine.cpu_s", float, "s", "CPU time of the event loop."),
    Column("machine.peak_rss_mib", float, "MiB", "Largest resident memory of the process, Python included."),
    Column("machine.hops_per_s", float, "1/s", "Links crossed by packets per second of CPU time."),
    Column("load[].tier", str, "", "Kind of link direction, `tor->agg`; twice where both ends are of one tier."),
    Column("load[].direction", str, "", "Which of the two: `to higher ids` or `to lower ids`; null for other tiers."),
    Column("load[].capacity_bps", int, "bit/s", "Rates of its links together."),
    Column(
        "load[].offered",
        float,
        "",
        "Share of it that the started flows and queries ask for while they start, closed-loop traffic not counted.",
    ),
    Column("load[].carried", float, "", "Share of it that data frames took over the simulated time."),
    Column(
        "closed_loop",
        list,
        "",
        "Groups with closed-loop traffic: ranks, and queries of which a fixed number is outstanding, wait for one "
        "another, so that their load is carried and not offered. Only where there are any.",
    ),
    Column("packets.rows", int, "packets", "Rows of `packets.csv`. `packets` is only there where they are recorded."),
    Column("packets.full_ps", int, "ps", "From here on there was no room for more; null: there always was."),
    Column("priorities.levels", int, "", "Priorities that Homa uses. `priorities` is only there with Homa."),
    Column("priorities.unscheduled", int, "", "How many of them, from the highest, unscheduled packets have."),
    Column(
        "priorities.cutoffs_bytes",
        list,
        "bytes",
        "The longest messages whose unscheduled packets have the first of these, the second and so on; the last has no "
        "limit. Equal ones leave levels empty.",
    ),
    Column("schemes", list, "", "Schemes with all their parameters."),
    Column("groups", list, "", "Names of the flow groups."),
    Column("measure.warmup_ps", int, "ps", "Flows that start before are not measured."),
    Column("measure.end_ps", int, "ps", "Flows that start at or after this are not measured; null: none."),
    Column("hosts", int, "", "Number of hosts."),
    Column("switches", int, "", "Number of switches."),
    Column("links", int, "", "Number of links, both directions counted as one."),
    Column(
        "failures",
        list,
        "",
        "Links that fail, in the order of time, those drawn at random included: `node`, `port`, `peer` and "
        "`peer_port`, the two ends as in links.csv; `down_ps` and `up_ps`, null for never. Only where there are any.",
    ),
    Column(
        "series_interval_ps",
        int,
        "ps",
        "From one sample of series.csv to the next when the run ended; null without series.",
    ),
    Column("warnings", list, "", "What looks wrong in the scenario or the run, a sentence each."),
    Column("without_effect", list, "", "Settings that changed nothing in this run, and why."),
    Column(
        "diagnosis",
        str,
        "",
        "Why the run stalled, or, where `status` is `running`, why it broke off: no memory, or a full disk, also when "
        "the tables no longer fit (the counters are those of the run then); else null.",
    ),
)
"""The values of ``summary.json``."""


_NO_TIME = "No value without any, and where one without an end could still raise it."
_OF_FLOWS = "measured flows; at the sender, in a sweep with flows over UDP at the receiver"
_RANKS = {"mean": "Mean", "p50": "Median", "p95": "95th percentile", "p99": "99th percentile"}
SWEEP = (
    Column("seed", int, "", "Seed of the run. Before it stands a column for each field that was varied, and `case`."),
    Column("status", str, "", "As in summary.json, or `failed`: the run has no results, and no other values here."),
    Column("simulated_ps", int, "ps", "Simulated time."),
    Column("flows_total", int, "", "Flows that there are, measured or not, of all groups."),
    Column("flows_finished", int, "", "Of these, finished."),
    Column("flows_failed", int, "", "Of these, given up."),
    Column("flows_unfinished", int, "", "Of these, under way at the end."),
    Column("measured", int, "", "Flows that the times below are of; with `--group`, those of that group."),
    Column("measured_unfinished", int, "", "Of these, without an end, given up ones too."),
    *(
        Column(f"fct_{q}_ps", float, "ps", f"{word} of the FCTs of {_OF_FLOWS}. {_NO_TIME}")
        for q, word in _RANKS.items()
    ),
    *(
        Column(f"slowdown_{q}", float, "", f"{word} of the slowdowns of {_OF_FLOWS}, against `line_rate`. {_NO_TIME}")
        for q, word in _RANKS.items()
    ),
    Column("data_hops", int, "packets", "Links crossed by data packets, in the whole run."),
    Column("drops_buffer", int, "packets", "Packets dropped for want of buffer."),
    Column("drops_wire", int, "packets", "Packets lost on wires."),
    Column("marks", int, "packets", "ECN marks."),
    Column("pause_frames", int, "packets", "PFC pause frames."),
    Column("retransmitted_packets", int, "packets", "Data packets sent again."),
    Column("timeouts", int, "timeouts", "Timeouts that made a host send."),
    Column("max_buffer_bytes", int, "bytes", "Most bytes in the buffer of one switch at a sampling instant."),
    Column(
        "queue_mean_bytes",
        float,
        "bytes",
        "Mean of the bytes that wait at the busiest switch port, the one with the largest mean, over the whole run; "
        "where ports are not told apart, at those of the busiest tier. No value without queue histograms.",
    ),
    Column(
        "queue_p99_bytes",
        float,
        "bytes",
        "99th percentile of the same, the upper edge of its bin, up to an eighth high. No value where several classes "
        "waited there: each has a histogram of its own.",
    ),
    Column("queries_measured", int, "", "Queries measured. This and the next ten only where a run has queries."),
    Column("queries_measured_unanswered", int, "", "Of these, without an answer."),
    Column("queries_answered_per_s", float, "1/s", "Queries answered while it was measured, per second of that time."),
    *(
        Column(f"qct_{q}_ps", float, "ps", f"{word} of the completion times of measured queries. {_NO_TIME}")
        for q, word in _RANKS.items()
    ),
    *(
        Column(f"query_slowdown_{q}", float, "", f"{word} of the slowdowns of queries, against `line_rate`. {_NO_TIME}")
        for q, word in _RANKS.items()
    ),
    Column("programs", int, "", "Message-passing programs. This and the next three only where a run has any."),
    Column("programs_unfinished", int, "", "Of these, not through to the end."),
    Column("program_runtime_ps", int, "ps", "Run time of the program that took longest; no value unless all ended."),
    Column("program_slowdown", float, "", "The largest of their slowdowns (docs/mpi.md); no value unless all ended."),
    Column("folder", str, "", "Folder of the run, as above, without `flows.csv`."),
)
"""The columns of ``sweep.csv``, behind those of what was varied."""


def markdown() -> str:
    """The data dictionary as a page."""
    head = "| column | type | unit | meaning |\n|---|---|---|---|"
    parts = [
        "# Result folders",
        "<!-- Made from python/paceline/results/columns.py: "
        "UPDATE=1 .venv/bin/python -m pytest tests/test_dictionary.py -->",
        "What `paceline run` writes, in version 1 of the layout. Times are simulated picoseconds unless a name ends in "
        "`_s` (seconds of this machine). Column names carry their unit. An empty cell is a value that does not exist.",
        "A folder can be read at any moment: `Results.load(folder)` and `paceline report FOLDER` take that of a run "
        "that goes on or was killed, with the flows that had started until then.",
        "`Results` can be pickled, as for another process: they are opened there from the same folder. Those of "
        "`paceline.simulate` without `out` take all their files along, into a temporary folder of that process.",
        "In Python, an FCT, a QCT or another time that does not exist is 0 in the NumPy columns "
        '(`results.flows["fct_sender_ps"]`): leave zeros out, or take `results.flows.masked("fct_sender_ps")`, a '
        "masked array. `to_pandas()`, `to_polars()`, `to_arrow()` and `flows.parquet` have nulls. They need the "
        "library, which `make setup` does not install: `.venv/bin/pip install pandas` (or `polars`, `pyarrow`).",
        "\n".join(["| file | content |", "|---|---|", *(f"| `{name}` | {about} |" for name, about in FILES)]),
    ]
    parts += ["## Slowdown and its baselines", BASELINES]
    for table in TABLES:
        rows = "\n".join(_row(c) for c in table.columns)
        parts += [f"## {table.name}.csv", table.about, f"{head}\n{rows}"]
    parts += ["## summary.json", "\n".join([head.replace("column", "value", 1), *map(_row, SUMMARY)])]
    parts += [
        "## sweep.csv",
        "What `paceline sweep` writes, a row per run, and `paceline.tidy` returns. Without `--group` times are of all "
        "groups and schemes together; counters and queues are of the whole run in any case. `sweep.parquet` has the "
        "same columns.",
        "\n".join([head, *map(_row, SWEEP)]),
    ]
    return "\n\n".join(parts) + "\n"


_KINDS = {int: "integer", float: "number", str: "text", list: "list"}


def _row(c: Column) -> str:
    return f"| `{c.name}` | {_KINDS[c.kind]} | {c.unit} | {c.meaning} |"
