//! The same files as the HPCC reference simulator, byte for byte, on all our runs of it (`tests/data/hpcc-ns3`): every
//! congestion control, on small networks and on the paper's tree of 320 hosts.
//!
//! `make parity` runs all of them and prints a table; `make test` leaves out the long ones.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::print_stdout, reason = "the table of make parity")]

use crate::common::reference::{Run, data, runs};

/// Compares the runs chosen, printing a row for each, and fails if one differs.
fn compare(chosen: impl Fn(&Run) -> bool) {
    let (mut equal, mut failures) = (0, Vec::new());
    println!("{:<10} {:<28} {:>6}  fct, pfc and qlen", "case", "scheme", "flows");
    for run in runs().into_iter().filter(chosen) {
        let (flows, differences) = run.compare();
        let verdict = if differences.is_empty() { "equal".to_string() } else { differences.join("; ") };
        println!("{:<10} {:<28} {flows:>6}  {verdict}", run.case, run.scheme);
        if differences.is_empty() {
            equal += 1;
        } else {
            failures.push(format!("{} {}: {verdict}", run.case, run.scheme));
        }
    }
    println!("{equal} of {} runs equal, byte for byte", equal + failures.len());
    assert!(equal > 0);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn long(run: &Run) -> bool {
    run.case == "fat_ws30" || (run.case == "fat_fb50" && run.scheme != "hpcc_u95")
}

#[test]
fn short_runs() {
    compare(|run| !long(run));
}

#[test]
#[ignore = "long; make parity runs it"]
fn all_runs() {
    compare(|_| true);
}

/// The data covers what the tests claim: pauses, every `CC_MODE`, runs on the tree for each.
#[test]
fn the_data_is_there() {
    let runs = runs();
    for mode in ["hpcc_u95", "hpccpint", "dcqcn_paper", "dcqcn_vwin", "timely", "dctcp"] {
        for case in ["t1_single", "t1s", "t2", "t3a", "t5", "t6", "fat_fb50", "fat_ws30"] {
            assert!(runs.iter().any(|r| r.case == case && r.scheme.starts_with(mode)), "{case} {mode}");
        }
    }
    for run in runs.iter().filter(|r| ["t3a", "t6"].contains(&r.case.as_str())) {
        assert!(data().join(&run.case).join(&run.scheme).join("fct.txt").exists(), "{} {}", run.case, run.scheme);
    }
    assert!(data().join("t6/hpcc_u95/pfc.txt").exists());
}
