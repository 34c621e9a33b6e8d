//! The workloads, as scenarios: what a bench runs is what `paceline run` runs.

/// A workload: its name, the scenario, and settings on top.
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// Scenario text.
    pub toml: &'static str,
    /// `key=value` settings.
    pub set: &'static [&'static str],
}

/// The HPCC page's set-up (H1): ACKs in the data class, PFC and ECN on, 32 MiB buffers, eta 0.99.
const FAT320: &str = include_str!("../workloads/fat320-websearch.toml");
const FAT_TREE: &str = include_str!("../workloads/fat-tree-websearch.toml");
const INCAST: &str = include_str!("../workloads/incast-pfc.toml");

/// All of them, in the order they run.
pub const WORKLOADS: [Workload; 7] = [
    Workload {
        name: "fat320-short",
        toml: FAT320,
        set: &["workloads.0.load.value=0.5", "workloads.0.duration=150us", "run.stop=250us"],
    },
    Workload { name: "fat320-websearch-30", toml: FAT320, set: &["workloads.0.load.value=0.3"] },
    Workload { name: "fat320-websearch-50", toml: FAT320, set: &["workloads.0.load.value=0.5"] },
    Workload { name: "fat320-websearch-70", toml: FAT320, set: &["workloads.0.load.value=0.7"] },
    Workload { name: "k16-websearch-50", toml: FAT_TREE, set: &["topology.k=16", "workloads.0.duration=1ms"] },
    Workload { name: "k32-websearch-50", toml: FAT_TREE, set: &["topology.k=32", "workloads.0.duration=300us"] },
    Workload { name: "incast-pfc", toml: INCAST, set: &[] },
];
