//! The same files as the HPCC reference simulator, byte for byte, on our own runs of it (`tests/data/hpcc-ns3`), and the
//! same results from both engines on its inputs once its quirks are off.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Outcome, run_source};
use paceline_proto::units::{Duration, MS};
use paceline_sim::engine::Ending;
use paceline_sim::hpcc::{Options, Prepared};
use paceline_sim::hpcc_format::topology::write_topology;
use paceline_sim::record::Status;
use paceline_sim::scenario::{EngineChoice, QueueRecords, Quirks};
use paceline_sim::topology::hpcc_fat320;

const SCHEMES: [&str; 2] = ["hpcc_u95", "hpcc_u99"];
const OUTPUTS: [&str; 3] = ["fct.txt", "pfc.txt", "qlen.txt"];

fn data(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hpcc-ns3").join(case)
}

/// A scratch copy of a case's input, as the simulator would find it; the folder of the configuration.
fn laid_out(test: &str, case: &str, scheme: &str) -> PathBuf {
    let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-{test}-{case}-{scheme}"));
    let here = top.join(scheme);
    fs::create_dir_all(&here).unwrap();
    for file in ["topology.txt", "flow.txt"] {
        if data(case).join(file).exists() {
            fs::copy(data(case).join(file), top.join(file)).unwrap();
        } else {
            fs::write(top.join(file), write_topology(&hpcc_fat320().unwrap()).unwrap()).unwrap();
        }
    }
    fs::copy(data(case).join(scheme).join("config.txt"), here.join("config.txt")).unwrap();
    here
}

fn options() -> Options {
    Options { qlen_dump: Duration(10 * MS), ..Options::default() }
}

/// Runs a case as `paceline hpcc` does; the bytes it wrote: fct, pfc, qlen.
fn run_case(case: &str, scheme: &str) -> [Vec<u8>; 3] {
    let folder = laid_out("equal", case, scheme);
    let prepared = Prepared::read_in(&folder, Path::new("config.txt"), options()).unwrap();
    let summary = prepared.run(&mut |_| true).unwrap();
    assert_eq!((summary.ending, summary.unfinished, summary.drops), (Ending::Completed, 0, 0), "{case} {scheme}");
    OUTPUTS.map(|name| fs::read(folder.join(name)).unwrap())
}

fn assert_equal_files(case: &str) {
    for scheme in SCHEMES {
        for (name, mine) in OUTPUTS.into_iter().zip(run_case(case, scheme)) {
            // The simulator's empty files are not carried.
            let file = data(case).join(scheme).join(name);
            let theirs = if file.exists() { fs::read(file).unwrap() } else { Vec::new() };
            assert!(name == "pfc.txt" || !theirs.is_empty(), "{case} {scheme} {name}: reference data missing");
            let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(String::from).collect::<Vec<_>>();
            let (mine_lines, their_lines) = (lines(&mine), lines(&theirs));
            for (i, (m, t)) in mine_lines.iter().zip(&their_lines).enumerate() {
                assert_eq!(m, t, "{case} {scheme} {name} line {}", i + 1);
            }
            assert!(mine == theirs, "{case} {scheme} {name}: {} for {} lines", mine_lines.len(), their_lines.len());
        }
    }
}

#[test]
fn one_flow() {
    assert_equal_files("t1_single");
    assert_equal_files("t1s");
}

#[test]
fn two_flows() {
    assert_equal_files("t2");
}

#[test]
fn synchronous_incast() {
    assert_equal_files("t3a");
}

#[test]
fn sizes_on_the_tree() {
    assert_equal_files("t5");
}

#[test]
fn incast_under_pfc() {
    assert!(data("t6").join("hpcc_u95/pfc.txt").exists());
    assert_equal_files("t6");
}

/// FNV-1a, 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn load_on_the_tree() {
    // Length and checksum of the simulator's fct.txt and qlen.txt.
    let fct = [(95_206, 0xc356_a92f_40b9_657d), (95_205, 0xd819_e2c1_d707_b6f2)];
    let qlen = [(27_300, 0x63a6_bea6_ed55_160f), (28_191, 0x62a1_c167_f122_952d)];
    for ((scheme, fct), qlen) in SCHEMES.into_iter().zip(fct).zip(qlen) {
        let [my_fct, my_pfc, my_qlen] = run_case("fat_fb50", scheme);
        assert_eq!((my_fct.len(), checksum(&my_fct)), fct, "{scheme} fct.txt");
        assert_eq!(my_pfc, b"", "{scheme} pfc.txt");
        assert_eq!((my_qlen.len(), checksum(&my_qlen)), qlen, "{scheme} qlen.txt");
    }
}

/// Without quirks, with every flow, PFC frame, queue histogram and counter kept.
fn exact(case: &str, scheme: &str, engine: EngineChoice) -> Outcome {
    let folder = laid_out("engines", case, scheme);
    let options = Options { quirks: Quirks::default(), engine, ..options() };
    let mut prepared = Prepared::read_in(&folder, Path::new("config.txt"), options).unwrap();
    prepared.scenario.records.queues = QueueRecords::Port;
    run_source(&Arc::new(prepared.scenario), Box::new(prepared.flows), engine)
}

#[test]
fn engines_agree_without_quirks() {
    for case in ["t1_single", "t1s", "t2", "t3a", "t5", "t6", "fat_fb50"] {
        for scheme in SCHEMES {
            let sequential = exact(case, scheme, EngineChoice::Sequential);
            let windowed = exact(case, scheme, EngineChoice::Windowed);
            for (s, w) in sequential.flows.iter().zip(&windowed.flows) {
                assert_eq!(s, w, "{case} {scheme}");
            }
            assert!(sequential == windowed, "{case} {scheme}: queues, pauses or counters differ");
            assert_eq!(sequential.ending, Ending::Completed);
            assert!(sequential.flows.iter().all(|f| f.status == Status::Finished), "{case} {scheme}");
            assert_eq!(case == "t6", sequential.counters.pause_frames > 0, "{case} {scheme}");
        }
    }
}

/// `paceline hpcc` with either engine writes the same lines once the quirks are off.
#[test]
fn engines_write_the_same_lines() {
    for case in ["t2", "t6"] {
        let write = |engine| {
            let folder = laid_out(&format!("lines-{engine:?}"), case, "hpcc_u95");
            let options = Options { quirks: Quirks::default(), engine, ..options() };
            Prepared::read_in(&folder, Path::new("config.txt"), options).unwrap().run(&mut |_| true).unwrap();
            ["fct.txt", "pfc.txt"].map(|name| fs::read_to_string(folder.join(name)).unwrap())
        };
        let (sequential, windowed) = (write(EngineChoice::Sequential), write(EngineChoice::Windowed));
        assert_eq!(sequential, windowed, "{case}");
    }
}
