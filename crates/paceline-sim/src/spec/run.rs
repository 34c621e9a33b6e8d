//! `[run]`, `[records]` and `[quirks]`.

use paceline_proto::units::{Duration, Time};

use crate::scenario::{self, EngineChoice};

use super::declare::section;
use super::value::{PortRef, choice, either};

either! {
    /// When a run ends.
    pub enum Stop {
        /// When every flow has finished or failed.
        Completed = "completed",
        ;
        /// At this instant at the latest.
        At(Time),
    }
}

either! {
    /// End of the measuring window.
    pub enum MeasureEnd {
        /// That of the run.
        End = "end",
        ;
        /// This instant.
        At(Time),
    }
}

either! {
    /// How long nothing may move.
    pub enum Stall {
        /// For ever.
        Off = "off",
        ;
        /// This long.
        After(Duration),
    }
}

choice! { EngineChoice { Auto = "auto", Sequential = "sequential", Windowed = "windowed", } }

section! {
    /// When the run ends, which flows are measured, how it is computed.
    pub struct Run {
        /// The run ends when every flow has finished or failed; with an instant, then at the latest.
        stop: Stop = "completed", in "(0s, 1000s]", from "Paceline";
        /// Flows that start before are simulated but not measured.
        warmup: Time = "0s", in "[0s, 1000s]", from "Paceline";
        /// Flows that start at or after this instant are simulated but not measured.
        measure_end: MeasureEnd = "end", in "(0s, 1000s]", from "Paceline";
        /// How events are ordered: by the scenario, one after the other, or in windows of the smallest link delay. The results
        /// are the same.
        engine: EngineChoice = "auto", from "Paceline";
        /// When no flow makes progress for this long, and no timeout that still runs may help, the run stops with a diagnosis.
        /// With Homa, NDP and ExpressPass four base RTTs at least. It is looked for eight times in this time, but every 10 us at most.
        stall: Stall = "10ms", in "[1us, 1000s]", from "Paceline";
        /// Warnings about the scenario are errors, and so are packets that a lossless class drops.
        strict: bool = false, from "Paceline";
    }
}

impl Run {
    /// The engine's form of `stop`.
    pub fn stop(&self) -> scenario::Stop {
        match self.stop {
            Stop::Completed => scenario::Stop::Completed,
            Stop::At(time) => scenario::Stop::At(time),
        }
    }
}

choice! {
    /// How finely queue histograms are kept.
    pub enum QueueRecords {
        /// Per port up to 4,096 ports, per tier above.
        Auto = "auto",
        /// Per port and class.
        Port = "port",
        /// Per tier and class.
        Tier = "tier",
        /// None.
        Off = "off",
    }
}

section! {
    /// What is recorded beside the flows.
    pub struct Records {
        /// Exact time-weighted queue histograms: per port, per tier, none, or by the number of ports (per port up to 4,096).
        queues: QueueRecords = "auto", from "Paceline";
        /// Counters of every link.
        links: bool = true, from "Paceline";
        /// Pause counters of every port that was paused, and over time how far pauses spread (at the samples of `series`).
        pauses: bool = true, from "Paceline";
        sections {
            /// Time series.
            series: Series;
            /// Packets one by one.
            packets: Packets;
        }
    }
}

either! {
    /// How often a series is sampled.
    pub enum Interval {
        /// Not at all.
        Off = "off",
        ;
        /// This often.
        Every(Duration),
    }
}

either! {
    /// How many samples a series keeps.
    pub enum Samples {
        /// As many as fit into 1 MiB for the queues sampled, 512 to 4096.
        Auto = "auto",
        ;
        /// This many.
        Count(u32),
    }
}

section! {
    /// Time series of queues, rates and windows.
    pub struct Series {
        /// From one sample to the next; longer where `samples` are not enough for the run.
        interval: Interval = "10us", in "[1ns, 1s]", from "Paceline";
        /// Samples kept at most: when there are so many, every other one goes and the interval doubles. `"auto"`: as many as fit into
        /// 1 MiB for all queues that are sampled (those of all switch ports, or of `ports` alone with `busiest = 0`), 512 to
        /// 4096. `series_interval_ps` of `summary.json` is the interval at the end.
        samples: Samples = "auto", in "[2, 1000000]", from "Paceline";
        /// Number of the busiest ports whose queues are sampled.
        busiest: u32 = 8, in "[0, 1024]", from "Paceline";
        /// Ports of switches whose queues are sampled as well.
        ports: Vec<PortRef> = [], from "Paceline";
        /// Flow ids whose permitted rates, windows and acknowledged bytes are sampled.
        flows: Vec<u64> = [], in "[0, 1000000000000]", from "Paceline";
    }
}

section! {
    /// Packets one by one, in `packets.bin` and `packets.csv`: what ports sent, trimmed and lost.
    pub struct Packets {
        /// Rows kept at most, 64 B each and as much again as CSV: a packet makes one for each link that it crosses. 0: packets are not recorded.
        rows: u64 = 0, in "[0, 1000000000]", from "Paceline";
        /// Ports of switches and hosts whose packets are recorded; those of all where there are none.
        ports: Vec<PortRef> = [], from "Paceline";
        /// Flow ids whose packets are recorded; those of all flows, and PFC frames, where there are none.
        flows: Vec<u64> = [], in "[0, 1000000000000]", from "Paceline";
        /// Packets are recorded from here on.
        start: Time = "0s", in "[0s, 1000s]", from "Paceline";
        /// Packets are recorded until here; to the end of the run where left out.
        end: Option<Time>, in "(0s, 1000s]", from "Paceline";
    }
}

section! {
    /// Behaviours of the HPCC reference simulator that Paceline does not share.
    pub struct Quirks {
        /// Clock of whole nanoseconds; serialisation times truncated as the reference's double arithmetic does.
        clock_1ns: bool = false, from "HPCC reference simulator";
        /// Ties between events go to the one scheduled first.
        insertion_order: bool = false, from "HPCC reference simulator";
        /// The NIC's round robin is not adjusted when finished flows are removed, and its pacing timer has gaps.
        nic_round_robin: bool = false, from "HPCC reference simulator";
        /// Marks and PINT draw the reference's random numbers, in global order of events; `seed` does not matter to them.
        reference_random: bool = false, from "HPCC reference simulator";
        /// `host.ack_priority` ends at the host: there ACKs are never paused, switches queue them with data.
        ack_priority_at_hosts: bool = false, from "HPCC reference simulator";
        /// PINT measures with data packets only; others reset its clock without being counted.
        pint_data_only: bool = false, from "HPCC reference simulator";
        /// Data frames shorter than `framing.min_frame` are not padded; ACKs are.
        unpadded_data: bool = false, from "HPCC reference simulator";
        /// Flows are paced at line rate; their rate only sets the window.
        line_rate_pacing: bool = false, from "HPCC reference simulator, RATE_BOUND 0";
        /// Packets a failed link takes out of a switch's queue keep their place in its accounts, and senders do not notice
        /// a new path.
        link_down: bool = false, from "HPCC reference simulator, LINK_DOWN";
    }
}

impl Quirks {
    /// The engine's form.
    pub fn config(&self) -> scenario::Quirks {
        let Self {
            clock_1ns,
            insertion_order,
            nic_round_robin,
            reference_random,
            ack_priority_at_hosts,
            pint_data_only,
            unpadded_data,
            line_rate_pacing,
            link_down,
        } = *self;
        scenario::Quirks {
            clock_1ns,
            insertion_order,
            nic_round_robin,
            reference_random,
            ack_priority_at_hosts,
            pint_data_only,
            unpadded_data,
            line_rate_pacing,
            link_down,
            routes_by_node: false,
        }
    }
}
