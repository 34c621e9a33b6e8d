//! From a workload to the source of its flows, or the program that makes them.

use std::sync::Arc;

use paceline_proto::units::Time;

use super::lengths::{Expected, seconds};
use super::{Build, Extent, Made};
use crate::error::InputError;
use crate::spec::workload::{Poisson, Shift, Sizes, Workload, WorkloadKind};
use crate::workload::{self as w, FlowDefaults};

impl Build<'_> {
    /// What all flows of a workload have in common.
    fn flow(&self, workload: &Workload) -> FlowDefaults {
        let scheme = workload.scheme.as_ref().and_then(|name| self.spec.scheme_index(&name.0)).unwrap_or(0);
        let group = self.scenario.groups.iter().position(|g| *g == workload.group.0).unwrap_or(0);
        FlowDefaults {
            scheme: scheme as u16,
            group: group as u16,
            class: workload.class,
            rate_cap: workload.rate_cap.limit(),
            ..FlowDefaults::default()
        }
    }

    /// The instant at which the run stops, where it is given.
    pub(super) fn stop(&self) -> Option<Time> {
        if let crate::scenario::Stop::At(t) = self.scenario.stop { Some(t) } else { None }
    }

    pub(super) fn workload(
        &self,
        number: usize,
        workload: &Workload,
        first_connection: u32,
        groups: &mut Vec<String>,
    ) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let flow = self.flow(workload);
        let place = |e: InputError| if e.file.is_some() { e } else { self.inside(&field(""), e) };
        let sizes = |s: &Sizes| self.sizes(&field("sizes"), s);
        let (seed, id) = (self.scenario.seed, number as u16);
        let mut made = match &workload.kind {
            WorkloadKind::Poisson(p) => self.poisson(number, workload, p, flow)?,
            WorkloadKind::OnOff(p) => self.on_off(number, workload, p, flow)?,
            WorkloadKind::Incast(p) => self.incast(number, workload, p, flow)?,
            WorkloadKind::Permutation(p) => {
                let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
                let (count, law) = (hosts.len() as u64 * p.rounds, sizes(&p.sizes)?);
                let expected = Expected::Drawn(law.clone(), count as f64);
                let shuffle = match p.shift {
                    Shift::Random => w::Shuffle::Random,
                    Shift::By(n) => w::Shuffle::Shift(n),
                };
                let config = w::PermutationConfig {
                    hosts,
                    shuffle,
                    sizes: law,
                    begin: workload.start,
                    period: p.period,
                    rounds: p.rounds,
                    seed,
                    workload: id,
                    flow,
                };
                let end = Some(Time(workload.start.0 + p.period.0 * (p.rounds - 1)));
                Made { expected, ..Made::flows(w::Permutation::new(&config).map_err(place)?, Some(count), end) }
            }
            WorkloadKind::AllToAll(p) => {
                let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
                let n = hosts.len() as u64;
                let (count, law) = (n * (n - 1) * p.rounds, sizes(&p.sizes)?);
                let expected = Expected::Drawn(law.clone(), count as f64);
                let config = w::AllToAllConfig {
                    hosts,
                    sizes: law,
                    begin: workload.start,
                    step: p.step,
                    period: p.period,
                    rounds: p.rounds,
                    seed,
                    workload: id,
                    flow,
                };
                let end = Some(Time(workload.start.0 + p.period.0 * (p.rounds - 1) + p.step.0 * (n - 2)));
                Made { expected, ..Made::flows(w::AllToAll::new(&config).map_err(place)?, Some(count), end) }
            }
            WorkloadKind::Flows(p) => self.table(number, workload, p, flow, groups)?,
            WorkloadKind::Rpc(p) => {
                let rpc = Arc::new(self.rpc(number, p, first_connection, workload.start, flow)?);
                let made = Made::flows(w::Connections::new(Arc::clone(&rpc)), Some(0), Some(rpc.end));
                Made { rpc: Some(rpc), ..made }
            }
            WorkloadKind::ScatterGather(p) => {
                let length = |queries: u64| p.interval.0.saturating_mul(queries);
                let last = p.max_queries.map(|n| Time(workload.start.0.saturating_add(length(n))));
                let end = p.end.or(self.stop()).into_iter().chain(last).min();
                let program = self.scatter_gather(number, p, workload.start, flow)?;
                Made { program: Some(program), ..Made::flows(w::FlowTable::new(vec![]), None, end) }
            }
            WorkloadKind::Mpi(p) => {
                let program = self.mpi(number, p, workload.start, flow)?;
                Made { program: Some(program), ..Made::flows(w::FlowTable::new(vec![]), None, None) }
            }
        };
        if made.classes.is_empty() {
            made.classes = vec![workload.class];
        }
        Ok(made)
    }

    fn poisson(&self, number: usize, workload: &Workload, p: &Poisson, flow: FlowDefaults) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let place = |e: InputError| if e.file.is_some() { e } else { self.inside(&field(""), e) };
        let law = self.sizes(&field("sizes"), &p.sizes)?;
        let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
        let pairs = [(1.0, w::Pairs::uniform(&hosts, &hosts))];
        let rate = self.rate(number, &p.load, &law, &hosts, &pairs, usize::from(flow.scheme))?;
        let doubt = self.overload(number, &p.load, &law, &hosts, rate, usize::from(flow.scheme))?;
        let end = p.end.or(p.duration.map(|d| workload.start + d)).or(self.stop());
        let flows = rate * hosts.len() as f64 * seconds(self.scenario, workload.start, end);
        // They will be that many where far more would come by the end: six standard deviations of their number.
        let count = p.max_flows.filter(|most| flows > *most as f64 + 6.0 * (*most as f64).sqrt());
        let flows = p.max_flows.map_or(flows, |most| flows.min(most as f64));
        let expected = Expected::Drawn(law.clone(), flows);
        let config = w::PoissonConfig {
            sources: hosts.clone(),
            destinations: hosts,
            sizes: law,
            flows_per_second: rate,
            begin: workload.start,
            end: end.unwrap_or(Time::NEVER),
            count: p.max_flows,
            seed: self.scenario.seed,
            workload: number as u16,
            flow,
        };
        let made = Made::flows(w::Poisson::new(&config).map_err(place)?, count, end);
        Ok(Made {
            extent: Extent { most: p.max_flows, ..made.extent },
            doubts: doubt.into_iter().collect(),
            expected,
            ..made
        })
    }

    /// An error of a workload's constructor, under the workload's place in the scenario.
    pub(super) fn inside(&self, prefix: &str, e: InputError) -> InputError {
        let field = format!("{prefix}{}", e.field.as_deref().unwrap_or_default());
        let mut placed = self.spec.error(field.trim_end_matches('.'), &e.problem);
        placed.value = e.value.or(placed.value);
        placed.allowed = e.allowed;
        placed
    }
}
