//! The tests of whole runs, a file for each subject, linked into one program: thirty programs of 40 MB each took as long to
//! link as to run, and filled small disks.
#![allow(clippy::unwrap_used, reason = "a test")]

mod adapters;
mod alone;
mod borders;
mod closed_forms;
mod common;
mod controllers;
mod determinism;
mod effects;
mod engines;
mod export;
mod failures;
mod flowlets;
mod layers;
mod loads;
mod messages;
mod mpi;
mod names;
mod packets;
mod parity;
mod per_port;
mod programs;
mod random_scenarios;
mod red;
mod reference;
mod reference_options;
mod reference_trace;
mod rpc;
mod scale;
mod several_nics;
mod standstill;
mod threads;
mod trees;
mod udp;

/// A file that nobody lists would never run, and nobody would see it.
#[test]
fn every_file_is_part_of_the_suite() {
    let (listed, folder) = (include_str!("suite.rs"), concat!(env!("CARGO_MANIFEST_DIR"), "/tests"));
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|&module| module != "suite") {
            assert!(listed.contains(&format!("\nmod {module};\n")), "tests/{name} is not in tests/suite.rs");
        }
    }
}
