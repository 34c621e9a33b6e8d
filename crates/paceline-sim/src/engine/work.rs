//! How much work each node will be, by which a network is cut into parts for threads: as the first flows of a run say, or, where these do
//! not, as much as its links carry.

use std::collections::VecDeque;

use super::partition::pods;
use crate::graph::{Graph, NodeId};
use crate::workload::{FlowSource, FlowSpec};

/// Flows that are looked at before a run, and kept until they start: 1 MiB.
const FLOWS: usize = 1 << 14;
/// What a packet and its ACK cost at their sender, their receiver and each switch, in proportion: an estimate from where the instructions go
/// with HPCC (docs/performance.md), not measured apart.
const SENDER: u64 = 4;
const RECEIVER: u64 = 2;
const SWITCH: u64 = 2;
/// Kilobytes of a flow that count, and work of a node: sums over all flows and nodes then stay far below 2^64.
const MOST_OF_FLOW: u128 = 1 << 24;
const MOST_OF_NODE: u128 = 1 << 44;

/// Flows of which the first have been looked at.
pub(super) struct Foreseen {
    first: VecDeque<FlowSpec>,
    rest: Box<dyn FlowSource>,
}

impl FlowSource for Foreseen {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        self.first.pop_front().or_else(|| self.rest.next_flow())
    }
}

impl Foreseen {
    /// Looks at the first flows of a source.
    pub(super) fn new(mut source: Box<dyn FlowSource>) -> Self {
        let first = std::iter::from_fn(|| source.next_flow()).take(FLOWS).collect();
        Self { first, rest: source }
    }

    /// The work of every node if all flows are like the first, and the run stops at `stop`, ps. None where nothing is known of what they
    /// will send.
    pub(super) fn work(&self, graph: &Graph, stop: u64) -> Option<Vec<u64>> {
        let flows = || self.first.iter().filter(|f| f.start.0 < stop);
        // Connections that stay open carry what they are given.
        if flows().next().is_none() || flows().any(|f| f.stream != 0) {
            return None;
        }
        let mut work = vec![0u64; graph.nodes()];
        let mut add = |node: NodeId, cost: u64, kilobytes: u64| work[node as usize] += cost * kilobytes;
        for flow in flows() {
            let [Some(out), Some(back)] = [flow.src, flow.dst].map(|host| graph.ports_of(host).first()) else {
                continue;
            };
            let can_send = u128::from(out.rate.0) * u128::from(stop - flow.start.0) / 8_000_000_000_000;
            let kilobytes = u128::from(flow.bytes).min(can_send).div_ceil(1000).min(MOST_OF_FLOW) as u64;
            add(flow.src, SENDER, kilobytes);
            add(flow.dst, RECEIVER, kilobytes);
            add(out.peer, SWITCH, kilobytes);
            if back.peer != out.peer {
                add(back.peer, SWITCH, kilobytes);
            }
        }
        // Switches above carry what their racks do: those of a pod its racks', the highest ones all. Paths are not looked at.
        let rates = by_rates(graph);
        let pods = pods(graph);
        let highest = graph.tiers.iter().copied().max().unwrap_or(0);
        let all = graph.nodes();
        let pod = |n: usize| if graph.tiers[n] < highest { pods[n] as usize } else { all };
        let mut racks = vec![(0u128, 0u128); all + 1];
        for node in (0..all).filter(|n| graph.tiers[*n] == 1) {
            for of in [pod(node), all] {
                racks[of].0 += u128::from(work[node]);
                racks[of].1 += u128::from(rates[node]);
            }
        }
        for node in (0..all).filter(|n| graph.tiers[*n] > 1) {
            let (work_of, rates_of) = racks[pod(node)];
            work[node] = (work_of * u128::from(rates[node]) / rates_of.max(1)).min(MOST_OF_NODE) as u64;
        }
        Some(work)
    }
}

/// The work of every node if all links are busy alike.
pub(super) fn by_rates(graph: &Graph) -> Vec<u64> {
    (0..graph.nodes() as u32).map(|n| graph.ports_of(n).iter().map(|p| p.rate.0 / 1_000_000).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble;
    use crate::engine::partition::partition;
    use crate::lookahead::Windows;
    use crate::spec::parse;

    /// Share of the work that the busiest of two parts has, by all flows; what `topology` and `workload` say in TOML.
    fn busiest(topology: &str, workload: &str) -> f64 {
        let text = format!("{workload}\n[topology]\n{topology}\n[schemes.x]\ncc = 'hpcc'");
        let a = assemble(&parse(&text, "test", &[]).unwrap()).unwrap();
        let (scenario, flows) = (a.scenario, Foreseen::new(a.source));
        let windows = Windows::of(&scenario);
        let graph = &scenario.graph;
        let work = flows.work(graph, scenario.stop.instant()).unwrap();
        let (part_of, parts) = partition(graph, 2, &windows.clusters(&scenario), &windows.sides, &work);
        assert_eq!(parts, 2);
        let hosts_and_racks = |n: &usize| graph.tiers[*n] <= 1;
        let of = |part| {
            (0..graph.nodes()).filter(hosts_and_racks).filter(|n| part_of[*n] == part).map(|n| work[n]).sum::<u64>()
        };
        of(0).max(of(1)) as f64 / (of(0) + of(1)) as f64
    }

    /// Only a third of the hosts send, all in the racks that come first: by its links alone the network would be cut so that one of two
    /// threads has nothing to do.
    #[test]
    fn parts_are_even_where_only_some_hosts_send() {
        let sizes = "workloads = [{ kind = 'poisson', sizes = 'websearch@hpcc', load.value = 0.5, duration = '1ms', hosts = ['0-99'] }]";
        let share = busiest("kind = 'hpcc_fat320'", sizes);
        assert!(share < 0.53, "{share}");
    }

    /// Few large flows are spread as chance will have it; racks are exchanged until the parts are even.
    #[test]
    fn parts_are_even_by_the_flows_that_come() {
        for seed in 1..6 {
            let sizes = format!(
                "seed = {seed}\nworkloads = [{{ kind = 'poisson', sizes = 'websearch@hpcc', load.value = 0.5, duration = '1ms' }}]"
            );
            for topology in [
                "kind = 'hpcc_fat320'",
                "kind = 'leaf_spine'\nleaves = 8\nhosts_per_leaf = 16",
                "kind = 'fat_tree'\nk = 8",
            ] {
                let share = busiest(topology, &sizes);
                assert!(share < 0.51, "seed {seed}, {topology}: {share}");
            }
        }
    }

    /// The flows of a run are those that its source gives, looked at or not.
    #[test]
    fn flows_come_as_they_would() {
        let text = "workloads = [{ kind = 'poisson', sizes = 'websearch@hpcc', load.value = 0.5, duration = '1ms' }]
            [topology]\nkind = 'star'\n[schemes.x]\ncc = 'hpcc'";
        let all = |mut source: Box<dyn FlowSource>| std::iter::from_fn(move || source.next_flow()).collect::<Vec<_>>();
        let [plain, looked_at] = [0, 1].map(|_| assemble(&parse(text, "test", &[]).unwrap()).unwrap().source);
        assert_eq!(all(plain), all(Box::new(Foreseen::new(looked_at))));
    }
}
