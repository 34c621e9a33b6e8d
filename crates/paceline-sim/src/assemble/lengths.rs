//! How long the messages of a run will be: what Homa divides its priorities by.
//!
//! Of flow tables and message-passing programs all messages are known. Of other traffic it is the distribution of sizes and how many
//! flows are expected until it ends or the run stops.

use std::collections::BTreeMap;

use paceline_proto::transport::homa::cutoffs::Lengths;
use paceline_proto::units::Time;

use super::Made;
use crate::clock::LATEST;
use crate::mpi::program::Send;
use crate::scenario::{Scenario, Stop};
use crate::workload::program::{Kind, Mpi, Program};
use crate::workload::{FlowTable, Sampling, SizeLaw};

/// What is known of the flows of a source before it is asked for them.
pub(super) enum Expected {
    /// Nothing.
    Unknown,
    /// They are of this law, so many of them on average.
    Drawn(SizeLaw, f64),
    /// All of them.
    Listed(FlowTable),
}

/// Seconds for which a workload goes on.
pub(super) fn seconds(scenario: &Scenario, begin: Time, end: Option<Time>) -> f64 {
    let stop = if let Stop::At(at) = scenario.stop { at } else { LATEST };
    let end = end.map_or(stop, |end| end.min(stop));
    end.0.saturating_sub(begin.0) as f64 * 1e-12
}

impl Made {
    /// The lengths of its messages, where it has any.
    pub(super) fn lengths(&self, scenario: &Scenario) -> Option<Lengths> {
        let found = match (&self.program, &self.expected) {
            (Some(program), _) => of_program(program, scenario),
            (None, Expected::Unknown) => return None,
            (None, Expected::Drawn(law, messages)) => of_law(law, *messages),
            (None, Expected::Listed(table)) => listed(table),
        };
        (found.messages > 0.0).then_some(found)
    }
}

fn of_law(law: &SizeLaw, messages: f64) -> Lengths {
    match law {
        SizeLaw::Fixed(bytes) => Lengths { messages, points: vec![(*bytes as f64, 1.0)], linear: false },
        SizeLaw::Drawn(cdf) => {
            let points = cdf.points().iter().map(|(b, p)| (*b as f64, *p)).collect();
            Lengths { messages, points, linear: cdf.sampling() == Sampling::Interpolated }
        }
    }
}

fn listed(table: &FlowTable) -> Lengths {
    let mut sizes: Vec<u64> = table.flows().iter().map(|f| f.bytes).collect();
    sizes.sort_unstable();
    counted(sizes.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)))
}

/// Of messages by size, the smallest first, and how many there are of each.
fn counted(sizes: impl Iterator<Item = (u64, u64)> + Clone) -> Lengths {
    let all: u64 = sizes.clone().fold(0, |all, (_, n)| all.saturating_add(n));
    let mut below = 0u64;
    let points = sizes.map(|(bytes, n)| {
        below = below.saturating_add(n);
        (bytes as f64, below as f64 / all as f64)
    });
    Lengths { points: points.collect(), messages: all as f64, linear: false }
}

fn of_program(program: &Program, scenario: &Scenario) -> Lengths {
    match &program.kind {
        Kind::ScatterGather(w) => {
            let ends = seconds(scenario, w.begin, Some(w.end)) * 1e12 / w.mean_gap;
            let queries = w.count.map_or(ends, |n| ends.min(n as f64));
            // Every host is asked once, in its rack or for it, and answers.
            let messages = 2.0 * queries * program.hosts.len() as f64;
            let (short, long) = (w.request.min(w.response), w.request.max(w.response));
            Lengths { messages, points: vec![(short as f64, 0.5), (long as f64, 1.0)], linear: false }
        }
        Kind::Mpi(w) => of_ranks(w),
    }
}

/// Those of ranks, with the request and the grant of each that is longer than may go unasked.
fn of_ranks(w: &Mpi) -> Lengths {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    let mut add = |bytes: u64, times: u64| {
        let n = sizes.entry(bytes.max(1)).or_default();
        *n = n.saturating_add(times);
    };
    for Send { bytes, times, .. } in w.program.sends() {
        add(bytes, times);
        if bytes > w.config.eager {
            add(w.config.control, times.saturating_mul(2));
        }
    }
    counted(sizes.iter().map(|(bytes, n)| (*bytes, *n)))
}
