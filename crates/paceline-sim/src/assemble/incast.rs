//! Incasts.

use paceline_proto::units::{Duration, Time};

use super::lengths::{Expected, seconds};
use super::{Build, Made};
use crate::error::InputError;
use crate::graph::NodeId;
use crate::spec::workload::{Incast, IncastMode, Receiver, Workload};
use crate::workload::{self as w, FlowDefaults};

impl Build<'_> {
    pub(super) fn incast(
        &self,
        number: usize,
        workload: &Workload,
        p: &Incast,
        flow: FlowDefaults,
    ) -> Result<Made, InputError> {
        let field = |key: &str| format!("workloads.{number}.{key}");
        let hosts = self.hosts(&field("hosts"), &p.hosts, 2)?;
        let (senders, receivers): (Vec<NodeId>, Vec<NodeId>) = match &p.receiver {
            Receiver::Random => (hosts.clone(), hosts.clone()),
            Receiver::Host(node) => {
                let or_random = |e: InputError| {
                    let allowed = format!("\"random\", {}", e.allowed.as_deref().unwrap_or_default());
                    e.allowed(allowed)
                };
                let receiver = self.host(&field("receiver"), node).map_err(or_random)?;
                (hosts.iter().copied().filter(|h| *h != receiver).collect(), vec![receiver])
            }
        };
        let most = match p.receiver {
            Receiver::Random => senders.len() - 1,
            Receiver::Host(_) => senders.len(),
        };
        let doubts = if p.senders as usize > most {
            let (of, given) = (field("senders"), p.senders);
            vec![format!("{of} ({given}) is above the number of hosts that may send ({most}): some send several flows")]
        } else {
            vec![]
        };
        let law = self.sizes(&field("sizes"), &p.sizes)?;
        let mut step = Duration(0);
        let periodic = |count: u64, period: Duration| {
            let end = Time(workload.start.0.saturating_add(period.0.saturating_mul(count - 1)));
            (w::Episodes::Every { begin: workload.start, period, count }, Some(count * u64::from(p.senders)), Some(end))
        };
        // Incasts that are expected.
        let mut incasts = 0.0;
        let (episodes, count, end) = match &p.mode {
            IncastMode::Synchronous(m) => periodic(m.count, m.period),
            IncastMode::Staggered(m) => {
                step = m.step;
                periodic(m.count, m.period)
            }
            IncastMode::Poisson(m) => {
                let end = m.end.or(m.duration.map(|d| workload.start + d)).or(self.stop());
                let prefix = field("load.");
                let mean = self
                    .mean(&law, m.load.bytes, m.load.mean, usize::from(flow.scheme))
                    .map_err(|e| self.inside(&prefix, e))?;
                let pairs = incast_pairs(&senders, &receivers, p);
                let of = self.reference(number, &m.load.of, &hosts, &pairs)?;
                let rate = w::rate_for_load(m.load.value, mean * f64::from(p.senders), of, 1)
                    .map_err(|e| self.inside(&prefix, e))?;
                incasts = rate * seconds(self.scenario, workload.start, end);
                let end_at = end.unwrap_or(Time::NEVER);
                (w::Episodes::Poisson { begin: workload.start, end: end_at, per_second: rate }, None, end)
            }
        };
        let flows = count.map_or(incasts * f64::from(p.senders), |count| count as f64);
        let expected = Expected::Drawn(law.clone(), flows);
        let config = w::IncastConfig {
            senders,
            fan_in: p.senders,
            random_senders: p.random_senders,
            receivers,
            sizes: law,
            step,
            episodes,
            seed: self.scenario.seed,
            workload: number as u16,
            flow,
        };
        let source = w::Incast::new(&config).map_err(|e| self.inside(&field(""), e))?;
        Ok(Made { expected, doubts, ..Made::flows(source, count, end) })
    }
}

/// Who sends to whom in the incasts of a workload, in parts with their shares of the flows. More flows than senders are taken
/// as dealt out evenly.
fn incast_pairs(senders: &[NodeId], receivers: &[NodeId], p: &Incast) -> Vec<(f64, w::Pairs)> {
    let fan_in = p.senders as usize;
    if p.random_senders || fan_in >= senders.len() {
        return vec![(1.0, w::Pairs::uniform(senders, receivers))];
    }
    // Always the first senders; where the receiver is one of them, the next one takes its place.
    let (first, rest) = senders.split_at(fan_in);
    let (inside, outside): (Vec<NodeId>, Vec<NodeId>) = receivers.iter().partition(|r| first.contains(r));
    let share = |part: &[NodeId]| part.len() as f64 / receivers.len() as f64;
    let others = (fan_in - 1) as f64 / fan_in as f64;
    let parts = [
        (share(&outside), w::Pairs::uniform(first, &outside)),
        (share(&inside) * others, w::Pairs::uniform(first, &inside)),
        (share(&inside) * (1.0 - others), w::Pairs::uniform(&rest[..1], &inside)),
    ];
    parts.into_iter().filter(|(share, _)| *share > 0.0).collect()
}
