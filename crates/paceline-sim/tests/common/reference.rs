//! Our runs of the HPCC reference simulator (`tests/data/hpcc-ns3`): inputs laid out as it would find them, and what it
//! wrote.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_proto::units::{Duration, MS};
use paceline_sim::engine::Ending;
use paceline_sim::hpcc::{Options, Prepared};
use paceline_sim::hpcc_format::topology::write_topology;
use paceline_sim::topology::hpcc_fat320;

/// Files of a run, in the order of `checksums.txt`.
pub const OUTPUTS: [&str; 3] = ["fct.txt", "pfc.txt", "qlen.txt"];

pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hpcc-ns3")
}

/// A run that was made: case, scheme, length and checksum of each file.
pub struct Run {
    pub case: String,
    pub scheme: String,
    files: [(usize, u64); 3],
}

/// All runs there are.
pub fn runs() -> Vec<Run> {
    let text = fs::read_to_string(data().join("checksums.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let file = |i: usize| (words[i].parse().unwrap(), u64::from_str_radix(words[i + 1], 16).unwrap());
            Run { case: words[0].into(), scheme: words[1].into(), files: [file(2), file(4), file(6)] }
        })
        .collect()
}

/// What a scheme changes in `config.txt`, which is HPCC's with a target of 0.95. `_stepK` marks at K kB of queue and up
/// (4 K on ports of 400 Gb/s).
fn scheme_keys(scheme: &str) -> String {
    let (name, step) = match scheme.split_once("_step") {
        Some((name, kb)) => (name, Some(kb.parse::<u32>().unwrap())),
        None => (scheme, (scheme == "dctcp").then_some(300)),
    };
    let dcqcn = "CC_MODE 1;RATE_AI 20Mb/s;RATE_HAI 200Mb/s;FAST_REACT 0;INT_MULTI 1";
    let paper = "ALPHA_RESUME_INTERVAL 50;RATE_DECREASE_INTERVAL 50;RP_TIMER 55";
    let mut keys = match name {
        "hpcc_u95" => String::new(),
        "hpcc_u99" => "U_TARGET 0.99".into(),
        "hpccpint_u95_log1.05_p1" => "CC_MODE 10".into(),
        "dcqcn_vwin" => dcqcn.into(),
        "dcqcn_paper_vwin" => format!("{dcqcn};{paper}"),
        "dcqcn_paper_nowin" => format!("{dcqcn};{paper};HAS_WIN 0;VAR_WIN 0;ACK_HIGH_PRIO 1"),
        "timely_vwin" => "CC_MODE 7;RATE_AI 100Mb/s;RATE_HAI 500Mb/s;FAST_REACT 0;INT_MULTI 1;ACK_HIGH_PRIO 1".into(),
        "dctcp" => {
            "CC_MODE 8;EWMA_GAIN 0.0625;RATE_AI 10Mb/s;RATE_HAI 10Mb/s;DCTCP_RATE_AI 615Mb/s;FAST_REACT 0;INT_MULTI 1"
                .into()
        }
        _ => panic!("unknown scheme {scheme}"),
    };
    if let Some(kb) = step {
        for (key, low, high) in [
            ("KMIN_MAP", kb.to_string(), (4 * kb).to_string()),
            ("KMAX_MAP", kb.to_string(), (4 * kb).to_string()),
            ("PMAX_MAP", "1.00".into(), "1.00".into()),
        ] {
            write!(keys, ";{key} 2 100000000000 {low} 400000000000 {high}").unwrap();
        }
    }
    keys
}

/// What a case changes in `config.txt`.
fn case_keys(case: &str) -> &'static str {
    match case {
        "t5" => "QLEN_MON_END 2000100000",
        "t6" => "BUFFER_SIZE 1",
        _ => "",
    }
}

/// A scratch copy of a case's input; the folder of the configuration.
pub fn laid_out(test: &str, case: &str, scheme: &str) -> PathBuf {
    let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-{test}-{case}-{scheme}"));
    let here = top.join(scheme);
    fs::create_dir_all(&here).unwrap();
    fs::copy(data().join(case).join("flow.txt"), top.join("flow.txt")).unwrap();
    let topology = data().join(case).join("topology.txt");
    if topology.exists() {
        fs::copy(topology, top.join("topology.txt")).unwrap();
    } else {
        fs::write(top.join("topology.txt"), write_topology(&hpcc_fat320().unwrap()).unwrap()).unwrap();
    }
    let changes = format!("{};{}", scheme_keys(scheme), case_keys(case));
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
    let mut config = String::new();
    for line in fs::read_to_string(data().join("config.txt")).unwrap().lines() {
        let change = changes.split(';').find(|c| !c.is_empty() && key(c) == key(line));
        writeln!(config, "{}", change.unwrap_or(line)).unwrap();
    }
    assert!(changes.split(';').all(|c| config.contains(c)), "{changes}");
    fs::write(here.join("config.txt"), config).unwrap();
    here
}

/// The queue histograms were written every 10 ms.
pub fn options() -> Options {
    Options { qlen_dump: Duration(10 * MS), ..Options::default() }
}

/// FNV-1a, 64 bits.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

impl Run {
    /// Runs it as `paceline hpcc` does. Flows, and what differs from the simulator's files: the first differing line where
    /// the file itself is carried, else that its checksum does.
    pub fn compare(&self) -> (u64, Vec<String>) {
        let folder = laid_out("equal", &self.case, &self.scheme);
        let prepared = Prepared::read_in(&folder, Path::new("config.txt"), options()).unwrap();
        let summary = prepared.run(&mut |_| true).unwrap();
        let mut differences = Vec::new();
        if (&summary.ending, summary.unfinished, summary.drops) != (&Ending::Completed, 0, 0) {
            differences.push(format!("{summary:?}"));
        }
        for (name, (length, sum)) in OUTPUTS.into_iter().zip(self.files) {
            let mine = fs::read(folder.join(name)).unwrap();
            if (mine.len(), checksum(&mine)) == (length, sum) {
                continue;
            }
            let theirs = fs::read_to_string(data().join(&self.case).join(&self.scheme).join(name)).ok();
            let mine = String::from_utf8_lossy(&mine).into_owned();
            differences.push(match theirs {
                None => format!(
                    "{name}: {} bytes for {length}, another checksum; the file itself is not carried",
                    mine.len()
                ),
                Some(theirs) => {
                    let other = mine.lines().zip(theirs.lines()).enumerate().find(|(_, (m, t))| m != t);
                    other.map_or_else(
                        || format!("{name}: {} lines for {}", mine.lines().count(), theirs.lines().count()),
                        |(i, (m, t))| format!("{name} line {}: {m:?} for {t:?}", i + 1),
                    )
                }
            });
        }
        (summary.finished, differences)
    }
}
