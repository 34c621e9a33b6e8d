//! The workloads, as scenarios: what a bench runs is what `paceline run` runs.

/// A workload: its name, the scenario, and settings on top.
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// Whether it runs when no names are given.
    pub listed: bool,
    /// Scenario text.
    pub toml: &'static str,
    /// `key=value` settings.
    pub set: &'static [&'static str],
    /// What is aimed at.
    pub goals: &'static [Goal],
}

/// What a goal is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measured {
    /// CPU seconds per million data hops, on one thread.
    Time,
    /// Instructions per data hop, on one thread.
    Instructions,
    /// Peak memory, MiB, on one thread.
    Memory,
    /// Wall time on one thread over that on two.
    SpeedUp,
}

/// The three steps of a goal; that of a speed-up is reached from below, the others from above.
pub type Goal = (Measured, [f64; 3]);

const fn listed(name: &'static str, toml: &'static str, set: &'static [&'static str]) -> Workload {
    Workload { name, listed: true, toml, set, goals: &[] }
}

const fn by_name(name: &'static str, toml: &'static str, set: &'static [&'static str]) -> Workload {
    Workload { name, listed: false, toml, set, goals: &[] }
}

impl Workload {
    const fn aims_at(self, goals: &'static [Goal]) -> Self {
        Self { goals, ..self }
    }
}

/// The HPCC page's set-up (H1): ACKs in the data class, PFC and ECN on, 32 MiB buffers, eta 0.99.
const FAT320: &str = include_str!("../workloads/fat320-websearch.toml");
const FAT_TREE: &str = include_str!("../workloads/fat-tree-websearch.toml");
const INCAST: &str = include_str!("../workloads/incast-pfc.toml");
const LEAF_SPINE: &str = include_str!("../workloads/leaf-spine-websearch.toml");
const HTSIM: &str = include_str!("../workloads/htsim-permutation.toml");
const HTSIM_NDP: &str = include_str!("../workloads/htsim-ndp.toml");
const DAYS: &str = include_str!("../workloads/days-e5.toml");
const K64: &str = include_str!("../workloads/k64-permutation.toml");
const ALL_REDUCE: &str = include_str!("../workloads/fat320-all-reduce.toml");
const CEE: &str = include_str!("../workloads/cee-queries.toml");
const NEAR: &str = include_str!("../workloads/near-rack.toml");
const TINY: &str = include_str!("../workloads/tiny-flows.toml");

// What makes a run so short that it can be followed instruction by instruction.
const HALF: &str = "workloads.0.load.value=0.5";
const ARRIVALS: &str = "workloads.0.duration=150us";
const STOP: &str = "run.stop=250us";
const LOSSY: &str = "switch.pfc.enabled=false";

/// All of them, in the order they run.
pub const WORKLOADS: [Workload; 30] = [
    listed("fat320-short", FAT320, &[HALF, ARRIVALS, STOP]),
    listed("fat320-websearch-30", FAT320, &["workloads.0.load.value=0.3"]),
    listed("fat320-websearch-50", FAT320, &["workloads.0.load.value=0.5"]).aims_at(&[
        (Measured::Time, [0.065, 0.045, 0.030]),
        (Measured::Instructions, [600.0, 420.0, 300.0]),
        (Measured::Memory, [40.0, 20.0, 10.0]),
        (Measured::SpeedUp, [1.6, 1.8, 1.9]),
    ]),
    listed("fat320-websearch-70", FAT320, &["workloads.0.load.value=0.7"]),
    listed("k16-websearch-50", FAT_TREE, &["topology.k=16", "workloads.0.duration=1ms"])
        .aims_at(&[(Measured::Time, [0.085, 0.060, 0.040]), (Measured::SpeedUp, [1.6, 1.8, 1.9])]),
    listed("k32-websearch-50", FAT_TREE, &["topology.k=32", "workloads.0.duration=300us"])
        .aims_at(&[(Measured::Time, [0.16, 0.10, 0.06])]),
    listed("incast-pfc", INCAST, &[]),
    listed("leaf-spine-50", LEAF_SPINE, &[]),
    listed("htsim-permutation", HTSIM, &[]),
    by_name("htsim-ndp", HTSIM_NDP, &[]),
    by_name("fat320-short-pint", FAT320, &[HALF, ARRIVALS, STOP, "schemes.hpcc={ cc = 'hpcc_pint', eta = 0.99 }"]),
    by_name("fat320-short-dcqcn", FAT320, &[HALF, ARRIVALS, STOP, "schemes.hpcc={ cc = 'dcqcn', window = 'bdp' }"]),
    by_name("fat320-short-timely", FAT320, &[HALF, ARRIVALS, STOP, "schemes.hpcc={ cc = 'timely', window = 'bdp' }"]),
    by_name("fat320-short-dctcp", FAT320, &[HALF, ARRIVALS, STOP, "schemes.hpcc={ cc = 'dctcp' }"]),
    by_name(
        "fat320-short-lossy",
        FAT320,
        &[HALF, ARRIVALS, STOP, LOSSY, "switch.model=per_port", "switch.buffer=12KB"],
    ),
    by_name("fat320-short-lossy-shared", FAT320, &[HALF, ARRIVALS, STOP, LOSSY, "switch.buffer=300KB"]),
    by_name("incast-roomy", INCAST, &["switch.buffer=32MB"]),
    by_name("incast-lossy", INCAST, &[LOSSY, "switch.model=per_port", "switch.buffer=200KB"]),
    by_name("incast-lossy-shared", INCAST, &[LOSSY]),
    by_name("leaf-spine-tcp", LEAF_SPINE, &[LOSSY, "schemes.hpcc={ cc = 'new_reno' }", "host.tcp.rto_min=5ms"]),
    by_name("leaf-spine-homa", LEAF_SPINE, &[LOSSY, "schemes.hpcc={ cc = 'homa' }"]),
    by_name("leaf-spine-ndp", LEAF_SPINE, &[LOSSY, "schemes.hpcc={ cc = 'ndp' }", "switch.trimming.enabled=true"]),
    by_name("leaf-spine-express-pass", LEAF_SPINE, &[LOSSY, "schemes.hpcc={ cc = 'express_pass' }"]),
    by_name("fat320-all-reduce", ALL_REDUCE, &[]),
    by_name("near-rack", NEAR, &[]),
    by_name("cee-queries", CEE, &[]),
    by_name("days-e5", DAYS, &[]).aims_at(&[(Measured::Memory, [400.0, 200.0, 140.0])]),
    by_name("k64-websearch", FAT_TREE, &["topology.k=64", "workloads.0.duration=20us", "run.stop=100us"]),
    by_name("k64-permutation", K64, &[]),
    by_name("tiny-flows", TINY, &[]),
];
