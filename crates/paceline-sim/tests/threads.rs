//! The meeting of threads on runs so small that Miri and `ThreadSanitizer` can follow each step (`make sanitize`). That results
//! do not depend on threads is tested at length in `engines.rs`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{Shared, run_text};
use paceline_sim::assemble::assemble;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::engine::{Ending, Observer, Progress};
use paceline_sim::spec::parse;

/// Two racks of two hosts, and all traffic between the racks.
const RACKS: &str = "[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n";
const FLOWS: &str = "[[workloads]]\nkind = 'flows'\nrows = [\n  { src = 0, dst = 2, bytes = '3KB' },\n  \
                     { src = 1, dst = 2, bytes = '3KB' },\n  { start = '3us', src = 3, dst = 0, bytes = '1KB' },\n]\n";

fn on(threads: usize, scheme: &str) -> Shared {
    let shared = run_text(&format!("{RACKS}[switch]\n{scheme}\n{FLOWS}"), 0.0, Some(threads));
    assert_eq!(shared.outcome.ending, Ending::Completed);
    shared
}

/// Packets, telemetry and notes cross the cut as they would stay in one part: a letter read too early, too late or half
/// written would change what flows and queues have seen.
#[test]
fn two_threads_are_one() {
    let buffers = "model = 'per_port'\npfc.enabled = false\n";
    let schemes = ["[schemes.x]\ncc = 'hpcc'", &format!("{buffers}[schemes.x]\ncc = 'new_reno'")];
    // Miri is some thousand times slower.
    for scheme in schemes.into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
        let (one, two) = (on(1, scheme), on(2, scheme));
        assert!(two.threads == 2 && two.crossed > 0);
        assert_eq!(one.outcome, two.outcome, "{scheme}");
    }
}

/// Wants no more at once, or panics.
struct Leaves {
    panics: bool,
}

impl Observer for Leaves {
    fn progress(&mut self, _: &Progress) -> bool {
        assert!(!self.panics, "as the test wants it");
        false
    }
}

fn end(observer: &mut dyn Observer) -> Ending {
    let text = format!("{RACKS}[schemes.x]\ncc = 'hpcc'\n{FLOWS}");
    let assembled = assemble(&parse(&text, "test", &[]).unwrap()).unwrap();
    let mut engine = Windowed::on_threads(&assembled.scenario, assembled.source, 2).unwrap();
    engine.nets_mut().for_each(|net| net.record_classes(&assembled.classes));
    assert_eq!(engine.threads(), 2);
    engine.run(observer).unwrap().0
}

/// Ctrl-C: all threads end, nobody waits at the barrier for ever.
#[test]
fn an_observer_that_wants_no_more_stops_all_threads() {
    assert_eq!(end(&mut Leaves { panics: false }), Ending::Interrupted);
}

/// A panic in one thread ends the others and comes out of the run, instead of hanging it.
#[test]
fn a_panic_sets_the_other_threads_free() {
    assert!(catch_unwind(AssertUnwindSafe(|| end(&mut Leaves { panics: true }))).is_err());
}
