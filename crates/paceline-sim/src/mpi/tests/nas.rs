use std::sync::Arc;

use super::{finishes, sent_by};
use crate::mpi::halo::{Halo, halo};
use crate::mpi::nas::{Class, Setting, bt, is};
use crate::mpi::program::{Program, RankProgram};
use crate::mpi::{Generator, MachineConfig, goal, info, replay};

/// One iteration on so many ranks.
fn once(ranks: u32) -> Setting {
    Setting { iterations: Some(1), ..Setting::new(ranks) }
}

fn make(name: &str, class: Class, s: &Setting) -> Result<Program, crate::InputError> {
    let letter = format!("{class:?}");
    Generator::named(name, (name != "wrf").then_some(&letter)).unwrap().build(s)
}

/// Sizes of messages computed by hand from the benchmarks' sources, for the runs that are studied most.
#[test]
fn messages_have_the_sizes_of_the_benchmarks() {
    let runs = [(16, Class::B), (64, Class::A), (64, Class::B), (64, Class::C), (256, Class::C)];
    let per_pair = [2_097_152, 32_768, 131_072, 524_288, 32_768];
    for ((ranks, class), bytes) in runs.into_iter().zip(per_pair) {
        assert_eq!(sent_by(&make("ft", class, &once(ranks)).unwrap(), 0)[0], bytes, "FT {class:?} {ranks}");
    }
    let per_pair = [524_288, 8_192, 32_768, 131_072, 8_192];
    for ((ranks, class), bytes) in runs.into_iter().zip(per_pair) {
        let (size, iterations) = is::class(class).unwrap();
        let exact = is::is(is::Size { noise: 0.0, ..size }, iterations, &once(ranks)).unwrap();
        let sent = sent_by(&exact, 0);
        // Class A on 64 ranks: the counts come to half a part each in the all-reduce's first step.
        assert_eq!(sent.iter().filter(|b| **b == bytes).count(), ranks as usize - 1, "IS {class:?} {ranks}");
        let noisy = sent_by(&make("is", class, &once(ranks)).unwrap(), 0)[0];
        assert!(noisy > bytes && noisy <= bytes + bytes * 3 / 100 + 4, "IS {class:?} {ranks}: {noisy}");
    }
    let vector = [150_000, 14_000, 75_000, 150_000, 75_000];
    for ((ranks, class), bytes) in runs.into_iter().zip(vector) {
        assert_eq!(sent_by(&make("cg", class, &once(ranks)).unwrap(), 1)[0], bytes, "CG {class:?} {ranks}");
    }
    let stages: [[u64; 3]; 5] = [
        [156_060, 162_240, 27_040],
        [35_840, 19_440, 3_240],
        [91_035, 40_560, 6_760],
        [229_635, 105_840, 17_640],
        [123_018, 29_040, 4_840],
    ];
    for ((ranks, class), bytes) in runs.into_iter().zip(stages) {
        let p = 1 << (ranks.ilog2() / 2);
        assert_eq!(bt::sizes(bt::class(class).0, p), bytes, "BT {class:?} {ranks}");
        let mut all =
            [vec![bytes[0]; 6], vec![bytes[1]; 3 * (p as usize - 1)], vec![bytes[2]; 3 * (p as usize - 1)]].concat();
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(sent_by(&make("bt", class, &once(ranks)).unwrap(), 5), all, "BT {class:?} {ranks}");
    }
    let faces: [[u64; 3]; 5] = [
        [65_536, 66_560, 135_200],
        [32_768, 33_792, 34_848],
        [32_768, 33_792, 34_848],
        [131_072, 133_120, 135_200],
        [32_768, 66_560, 68_640],
    ];
    for ((ranks, class), bytes) in runs.into_iter().zip(faces) {
        let sent = sent_by(&make("mg", class, &once(ranks)).unwrap(), 3);
        for face in bytes {
            // Both ways, three times in an iteration and once before the first.
            assert_eq!(sent.iter().filter(|b| **b == face).count(), 8, "MG {class:?} {ranks} {face}");
        }
    }
}

/// Who runs classes E and F on 64 ranks gets messages of up to half a gigabyte, not ones whose size has wrapped.
#[test]
fn the_largest_classes_have_the_sizes_of_the_benchmarks() {
    for (name, class, bytes) in [
        ("bt", Class::E, 240 * 128 * 128),
        ("bt", Class::F, 240 * 321 * 321),
        ("cg", Class::E, 9_000_000),
        ("cg", Class::F, 54_000_000),
        ("ft", Class::E, 1 << 26),
        ("ft", Class::F, 1 << 29),
        ("mg", Class::E, 8 * 512 * 512),
        ("mg", Class::F, 8 * 1024 * 1024),
    ] {
        let sent = sent_by(&make(name, class, &once(64)).unwrap(), 1);
        assert!(sent.contains(&bytes), "{name} {class:?}: {sent:?}");
    }
    let largest = sent_by(&make("is", Class::E, &once(64)).unwrap(), 1).into_iter().max().unwrap();
    assert!((1 << 25..(1 << 25) * 103 / 100).contains(&largest), "IS E: {largest}");
    assert_eq!(
        Generator::Is(Class::F, 0.0).build(&once(64)).unwrap_err().to_string(),
        "problem_class = F: IS has no such class; allowed: S, W, A, B, C, D, E"
    );
}

/// The pattern that studies know as CG.D on 128 ranks: four exchanges in a row and one across, 750 000 B each.
#[test]
fn cg_d_on_128_ranks() {
    let program = make("cg", Class::D, &once(128)).unwrap();
    assert_eq!(sent_by(&program, 2).iter().filter(|b| **b == 750_000).count(), 26 * 5);
    assert_eq!(
        sent_by(&program, 0).iter().filter(|b| **b == 750_000).count(),
        26 * 4,
        "ranks 0 and 1 are on the diagonal"
    );
}

/// Every program comes to its end, with every message received, on all numbers of ranks up to 64 that it allows and some beyond.
#[test]
fn all_programs_finish() {
    let powers = [1, 2, 4, 8, 16, 32, 64];
    let runs: [(&str, Class, &[u32]); 8] = [
        ("bt", Class::S, &[1, 4, 9, 16]),
        ("bt", Class::W, &[25, 49, 64]),
        ("cg", Class::S, &powers),
        ("ft", Class::S, &powers),
        ("ft", Class::W, &[64, 128]),
        ("is", Class::S, &powers),
        ("mg", Class::S, &[1, 2, 4, 8, 16, 32, 64, 128, 1024]),
        ("wrf", Class::S, &[1, 2, 7, 12, 16, 256]),
    ];
    for (name, class, ranks) in runs {
        for ranks in ranks {
            let setting = Setting { iterations: Some(2), ..Setting::new(*ranks) };
            let program = Arc::new(make(name, class, &setting).unwrap());
            let result = finishes(&program);
            let calc = program.totals().longest_calc * 1000;
            assert!(result.runtime_ps.unwrap() >= calc, "{name} {ranks} is faster than it computes");
        }
    }
}

#[test]
fn totals_are_as_computed() {
    let ranks = 16;
    let program = make("ft", Class::A, &Setting::new(ranks)).unwrap();
    let pairs = u64::from(ranks) * u64::from(ranks - 1);
    let points = 256 * 256 * 128;
    let totals = program.totals();
    assert_eq!(totals.bytes, 7 * pairs * (16 * points / 256) + 6 * u64::from(ranks - 1) * 16);
    assert_eq!(totals.messages, 7 * pairs + 6 * u64::from(ranks - 1));
    // As the benchmark counts its operations: for 7 transforms, over 16 ranks at 1 Gop/s.
    let n = points as f64;
    let seconds = 7.0 * (5.235 + 7.211 * n.ln()) * n / 16.0 / 1e9;
    assert!((totals.longest_calc as f64 / 1e9 - seconds).abs() < 1e-6, "{totals:?}");
    // BT: 6 faces, and forward and backward messages of 3 axes, from each of 16 ranks in each of 60 steps.
    let bytes = bt::sizes(12, 4);
    let program = make("bt", Class::S, &Setting::new(16)).unwrap();
    assert_eq!(program.totals().bytes, 60 * 16 * (6 * bytes[0] + 9 * (bytes[1] + bytes[2])));
}

#[test]
fn ranks_that_a_benchmark_does_not_run_on_are_refused() {
    let refuse = |name: &str, class, ranks| make(name, class, &once(ranks)).unwrap_err().to_string();
    assert_eq!(
        refuse("bt", Class::B, 8),
        "ranks = 8: BT does not run on so many ranks; allowed: a square up to 1156, as a cell has 3 points along its edge"
    );
    assert_eq!(
        refuse("ft", Class::A, 12),
        "ranks = 12: FT does not run on so many ranks; allowed: a power of 2 up to 32768 with this problem size"
    );
    assert!(refuse("is", Class::S, 1024).contains("up to 512 with"));
    assert!(refuse("cg", Class::S, 3).contains("a power of 2 up to 1048576"));
    assert!(refuse("mg", Class::S, 0).contains("a power of 2 up to 32768"));
    assert!(refuse("ft", Class::D, 16384).contains("one iteration of this program would hold about"));
    let named = |name, class| Generator::named(name, class).unwrap_err().to_string();
    assert_eq!(
        named("lu", Some("A")),
        "program = lu: no such program; allowed: bt, cg, ft, is, mg, wrf; others of a scenario (.toml) that has them"
    );
    assert_eq!(named("ft", Some("G")), "class = G: no such class; allowed: S, W, A, B, C, D, E, F");
    assert_eq!(named("is", Some("F")), "class = F: IS has no such class; allowed: S, W, A, B, C, D, E");
    assert_eq!(named("ft", None), "class: missing, and ft has none of its own; allowed: S, W, A, B, C, D, E, F");
    assert_eq!(named("wrf", Some("A")), "class = A: wrf has no classes; allowed: no class");
    let many = Setting { iterations: Some(u32::MAX), ..Setting::new(4) };
    assert!(make("ft", Class::A, &many).unwrap_err().to_string().contains("fewer iterations"));
    let rows = halo(&Halo { columns: Some(5), ..Halo::default() }, 1, &once(16)).unwrap_err();
    assert_eq!(rows.to_string(), "columns = 5: the ranks do not fill whole rows; allowed: a divisor of 16 ranks");
}

/// What is written as GOAL text and read again takes exactly as long and sends the same.
#[test]
fn programs_survive_goal_text() {
    for (name, class, ranks) in [
        ("bt", Class::S, 9),
        ("cg", Class::S, 8),
        ("ft", Class::S, 8),
        ("is", Class::S, 8),
        ("mg", Class::S, 16),
        ("wrf", Class::S, 6),
    ] {
        let setting = Setting { iterations: Some(3), ..Setting::new(ranks) };
        let program = Arc::new(make(name, class, &setting).unwrap());
        let mut text = Vec::new();
        goal::write(&program, &mut text).unwrap();
        let again = Arc::new(goal::read(std::str::from_utf8(&text).unwrap(), "f").unwrap());
        let run = |program| finishes(program);
        assert_eq!(run(&program), run(&again), "{name}");
        let found = info(&program, 0);
        assert_eq!(found, info(&again, 0), "{name}");
        assert_eq!(found.operations, again.totals().operations);
    }
}

/// On a network that takes no time what is left is the longest way through the computations.
#[test]
fn without_a_network_only_computing_is_left() {
    let program = Arc::new(make("ft", Class::S, &Setting::new(8)).unwrap());
    let result = replay(&program, MachineConfig::default(), None);
    assert_eq!(result.runtime_ps, Some(program.totals().longest_calc * 1000));
}

/// 256 ranks and 20 iterations are one iteration in memory.
#[test]
fn iterations_cost_no_memory() {
    let stored = |s: &Setting| {
        let program = make("ft", Class::C, s).unwrap();
        program.ranks().iter().flat_map(RankProgram::blocks).map(|b| b.ops().len()).sum::<usize>()
    };
    let (one, all) = (stored(&once(256)), stored(&Setting::new(256)));
    assert_eq!(one, all);
    assert!(all < 256 * 4 * 260, "{all}");
}
