//! The same results from both engines on the inputs of the HPCC reference simulator, once its quirks are off. Whether they
//! are its own results with the quirks is `tests/parity.rs`.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::reference::{laid_out, options};
use crate::common::{Outcome, run_source};
use paceline_sim::engine::Ending;
use paceline_sim::hpcc::{Options, Prepared};
use paceline_sim::record::Status;
use paceline_sim::scenario::{EngineChoice, QueueRecords, Quirks};

const SCHEMES: [&str; 2] = ["hpcc_u95", "hpcc_u99"];

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
