//! Time series in bounded memory: the interval doubles and every other sample goes whenever there are as many as may be kept.

use super::Net;
use super::saturation::{Spread, Wait, paused_links, spread};
use crate::graph::NodeId;
use crate::packet::NONE;

/// What is sampled, how often, and how much of it is kept.
#[derive(Clone, Debug)]
pub struct Plan {
    /// From one sample to the next at first, ps.
    pub interval: u64,
    /// Samples kept at most.
    pub samples: usize,
    /// Ports whose queues are sampled (global index), ascending.
    pub ports: Vec<u32>,
    /// Flows followed, by id.
    pub flows: Vec<u64>,
}

impl Plan {
    /// Bytes of a sample, about.
    pub fn bytes(&self) -> usize {
        size_of::<Vec<Wait>>() + 24 + 4 * self.ports.len() + size_of::<Option<FlowState>>() * self.flows.len()
    }
}

/// Samples that are kept at most where nothing else is said, with so many queues in each: what fits into 1 MiB, 512 to 4096.
pub fn samples_of(queues: usize) -> usize {
    ((1 << 20) / (4 * queues.max(1))).clamp(512, 4096)
}

/// A flow at an instant; what its transport does not have is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowState {
    /// Rate that its control permits, bit/s.
    pub rate: Option<u64>,
    /// Window, bytes; all ones without a limit.
    pub window: Option<u64>,
    /// Payload bytes acknowledged so far.
    pub acknowledged: Option<u64>,
}

/// Sampled state of the network, at multiples of an interval.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Between samples, ps; 0 where none are taken.
    pub interval: u64,
    /// Samples kept at most.
    pub(crate) limit: usize,
    /// When the next sample is due, ps.
    pub next: u64,
    /// Instants of the samples, ps.
    pub times: Vec<u64>,
    /// Ports watched (global index).
    pub ports: Vec<u32>,
    /// Bytes waiting at each watched port, by sample.
    pub queues: Vec<Vec<u32>>,
    /// Flows that have started and not ended, by sample.
    pub active: Vec<u64>,
    /// Flows that have finished, by sample.
    pub finished: Vec<u64>,
    /// Flows followed, by id.
    pub followed: Vec<u64>,
    /// Each followed flow, by sample; `None` while it does not run.
    pub flows: Vec<Vec<Option<FlowState>>>,
    /// Payload bytes of each followed flow that have arrived, by sample; of those that do not acknowledge what arrives.
    pub received: Vec<Vec<u64>>,
    /// The same until now.
    pub(crate) arrived: Vec<u64>,
    /// The paused links and what they wait for, by sample.
    pub waits: Vec<Vec<Wait>>,
}

impl Series {
    fn new(plan: Plan) -> Self {
        let Plan { interval, samples, ports, flows } = plan;
        let arrived = vec![0; flows.len()];
        Self { interval: interval.max(1), limit: samples.max(2), ports, followed: flows, arrived, ..Self::default() }
    }

    /// Payload of a flow has arrived for the first time.
    pub(crate) fn note_arrived(&mut self, id: u64, bytes: u32) {
        for (_, sum) in self.followed.iter().zip(&mut self.arrived).filter(|(followed, _)| **followed == id) {
            *sum += u64::from(bytes);
        }
    }
}

impl Net {
    /// Has samples taken as planned.
    pub fn sample(&mut self, plan: Plan) {
        self.series = Series::new(plan);
    }

    /// The samples taken so far.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Bytes a port (global index) has sent so far, frames of all kinds; of two instants they give the rate in between.
    pub fn sent_bytes(&self, port: u32) -> u64 {
        self.ports[port as usize].tx_bytes
    }

    /// How far pauses had spread at each sample.
    pub fn spreads(&self) -> impl Iterator<Item = (u64, Spread)> {
        let host = |link: u32| -> Option<NodeId> {
            (self.ports[link as usize].nic != NONE).then(|| self.ports[link as usize].node)
        };
        self.series.times.iter().zip(&self.series.waits).map(move |(time, waits)| (*time, spread(waits, host)))
    }

    /// Takes the samples due up to and including `now`; called before anything at `now` happens.
    #[inline]
    pub(crate) fn sample_until(&mut self, now: u64) {
        if self.series.next <= now {
            self.take_samples(now);
        }
    }

    /// The run is over at `end`, the last instant that counts, and nothing more happens until then: the samples up to there are taken, and
    /// those after it, which an engine may have taken, forgotten.
    pub(crate) fn end_samples(&mut self, end: u64) {
        if self.series.interval > 0 {
            self.sample_until(end);
            self.series.cut(end);
        }
    }

    fn flow_state(&self, slot: usize) -> FlowState {
        let flow = &self.flows[slot];
        let Some(messages) = &self.messages else {
            let acknowledged = (u64::from(flow.tx.snd_una) * self.payload).min(self.infos[slot].spec.bytes);
            return FlowState { rate: Some(flow.rate), window: Some(flow.cwnd), acknowledged: Some(acknowledged) };
        };
        let nic = self.ports[flow.nic as usize].nic;
        messages.progress(nic, flow.place).map_or(FlowState::default(), |(acknowledged, window)| FlowState {
            rate: None,
            window: Some(window),
            acknowledged: Some(acknowledged),
        })
    }

    #[cold]
    fn take_samples(&mut self, now: u64) {
        let mut series = std::mem::take(&mut self.series);
        while series.next <= now {
            series.times.push(series.next);
            series.queues.push(series.ports.iter().map(|p| self.ports[*p as usize].total).collect());
            let c = &self.counters;
            series.active.push(c.started - c.finished - c.failed);
            series.finished.push(c.finished);
            if !series.followed.is_empty() {
                let states = series.followed.iter().map(|id| {
                    let slot = self.infos.iter().position(|i| i.id == *id)?;
                    self.flows[slot].alive.then(|| self.flow_state(slot))
                });
                series.flows.push(states.collect());
                series.received.push(series.arrived.clone());
            }
            series.waits.push(paused_links(self));
            for node in 0..self.graph.nodes() as u32 {
                self.buffers.note_level(node);
            }
            series.next += series.interval;
            if series.times.len() >= series.limit {
                series.thin();
            }
        }
        self.series = series;
    }
}

impl Series {
    /// Adds what another part of the network has sampled at the same instants: what a part does not look after reads
    /// zero there.
    pub(crate) fn absorb(&mut self, other: &Series) {
        for (mine, theirs) in self.queues.iter_mut().zip(&other.queues) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.active.iter_mut().zip(&other.active).for_each(|(a, b)| *a += b);
        self.finished.iter_mut().zip(&other.finished).for_each(|(a, b)| *a += b);
        for (mine, theirs) in self.flows.iter_mut().zip(&other.flows) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.or(*b));
        }
        for (mine, theirs) in self.received.iter_mut().zip(&other.received) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        for (mine, theirs) in self.waits.iter_mut().zip(&other.waits) {
            mine.extend_from_slice(theirs);
        }
    }

    /// Forgets the samples after an instant, ps.
    fn cut(&mut self, end: u64) {
        let kept = self.times.partition_point(|at| *at <= end);
        self.times.truncate(kept);
        self.queues.truncate(kept);
        self.active.truncate(kept);
        self.finished.truncate(kept);
        self.flows.truncate(kept);
        self.received.truncate(kept);
        self.waits.truncate(kept);
    }

    /// Keeps every other sample.
    fn thin(&mut self) {
        fn halve<T>(samples: &mut Vec<T>) {
            let mut i = 0;
            samples.retain(|_| {
                i += 1;
                i % 2 == 1
            });
        }
        halve(&mut self.times);
        halve(&mut self.queues);
        halve(&mut self.active);
        halve(&mut self.finished);
        halve(&mut self.flows);
        halve(&mut self.received);
        halve(&mut self.waits);
        self.interval *= 2;
        self.next = self.times.last().map_or(0, |t| t + self.interval);
    }
}
