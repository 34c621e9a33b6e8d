//! Several workloads as one stream of flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::workload::{FlowSource, FlowSpec};

/// Flows of several sources by start time; equal starts in order of the source, then in the source's own order.
pub struct Merge {
    sources: Vec<Box<dyn FlowSource>>,
    /// The next flow of each source.
    heads: Vec<Option<FlowSpec>>,
    /// Start and index of every source that has a next flow.
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Merge {
    /// A stream of the flows of `sources`, each of which must be in start order.
    pub fn new(mut sources: Vec<Box<dyn FlowSource>>) -> Self {
        let heads: Vec<_> = sources.iter_mut().map(|s| s.next_flow()).collect();
        let order =
            heads.iter().enumerate().filter_map(|(i, head)| Some(Reverse((head.as_ref()?.start.0, i)))).collect();
        Self { sources, heads, order }
    }
}

impl FlowSource for Merge {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let mut top = self.order.peek_mut()?;
        let Reverse((start, i)) = *top;
        let next = self.sources[i].next_flow();
        if let Some(next) = &next {
            debug_assert!(next.start.0 >= start, "source {i} is not in start order");
            *top = Reverse((next.start.0, i));
        } else {
            PeekMut::pop(top);
        }
        std::mem::replace(&mut self.heads[i], next)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use paceline_proto::units::{Duration, MS, Time};

    use super::*;
    use crate::workload::{
        Episodes, FlowDefaults, FlowTable, Incast, IncastConfig, Poisson, PoissonConfig, SizeLaw, builtin,
    };

    fn table(flows: &[(u64, u32)], group: u16) -> Box<dyn FlowSource> {
        let defaults = FlowDefaults { group, ..FlowDefaults::default() };
        Box::new(FlowTable::new(flows.iter().map(|&(start, src)| defaults.flow(Time(start), src, 9, 1)).collect()))
    }

    fn drain(mut source: impl FlowSource) -> Vec<FlowSpec> {
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    #[test]
    fn equal_starts_go_by_workload_then_by_order_inside() {
        let merged = Merge::new(vec![table(&[(5, 1), (5, 0), (8, 2)], 0), table(&[], 1), table(&[(1, 3), (5, 4)], 2)]);
        let seen: Vec<_> = drain(merged).iter().map(|f| (f.start.0, f.group, f.src)).collect();
        assert_eq!(seen, [(1, 2, 3), (5, 0, 1), (5, 0, 0), (5, 2, 4), (8, 0, 2)]);
        assert!(drain(Merge::new(Vec::new())).is_empty());
    }

    /// Adding an incast, or a second Poisson workload, changes no flow of the first.
    #[test]
    fn a_second_workload_does_not_shift_the_first() {
        let hosts: Vec<u32> = (0..16).collect();
        let poisson = |workload: u16| PoissonConfig {
            sources: hosts.clone(),
            destinations: hosts.clone(),
            sizes: SizeLaw::Drawn(Arc::new(builtin("hadoop").unwrap().cdf)),
            flows_per_second: 1e6,
            begin: Time(0),
            end: Time(MS),
            count: None,
            seed: 3,
            workload,
            flow: FlowDefaults { group: workload, ..FlowDefaults::default() },
        };
        let incast = IncastConfig {
            senders: hosts.clone(),
            receivers: hosts.clone(),
            fan_in: 6,
            random_senders: true,
            sizes: SizeLaw::Fixed(1000),
            step: Duration(1000),
            episodes: Episodes::Poisson { per_second: 1e5, begin: Time(0), end: Time(MS) },
            seed: 3,
            workload: 2,
            flow: FlowDefaults { group: 2, ..FlowDefaults::default() },
        };
        let alone = drain(Poisson::new(&poisson(0)).unwrap());
        let sources: Vec<Box<dyn FlowSource>> = vec![
            Box::new(Poisson::new(&poisson(0)).unwrap()),
            Box::new(Poisson::new(&poisson(1)).unwrap()),
            Box::new(Incast::new(&incast).unwrap()),
        ];
        let merged = drain(Merge::new(sources));
        assert!(merged.is_sorted_by_key(|f| f.start));
        let group = |g: u16| merged.iter().filter(|f| f.group == g).copied().collect::<Vec<_>>();
        assert_eq!(group(0), alone);
        assert_eq!(group(2), drain(Incast::new(&incast).unwrap()));
        assert!(!group(1).is_empty() && group(1)[0].start != alone[0].start);
    }
}
