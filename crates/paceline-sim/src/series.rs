//! Time series in bounded memory: the interval doubles and every other sample goes whenever the space is full.

use crate::diagnosis::saturation::{Spread, Wait, paused_links, spread};
use crate::graph::NodeId;
use crate::net::Net;
use crate::packet::NONE;

/// Samples kept at most.
const LIMIT: usize = 512;

/// A flow at an instant; what its transport does not have is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowState {
    /// Sending rate, bit/s.
    pub rate: Option<u64>,
    /// Window, bytes; all ones without a limit.
    pub window: Option<u64>,
    /// Payload bytes acknowledged so far.
    pub acknowledged: Option<u64>,
}

/// Sampled state of the network, at multiples of an interval.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Between samples, ps.
    pub interval: u64,
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
    /// The paused links and what they wait for, by sample.
    pub waits: Vec<Vec<Wait>>,
}

impl Series {
    fn new(net: &Net, interval: u64, most_ports: usize, followed: Vec<u64>) -> Self {
        let switch_ports = (0..net.ports.len() as u32).filter(|p| net.ports[*p as usize].nic == NONE);
        let ports: Vec<u32> = switch_ports.collect();
        let ports = if ports.len() > most_ports { Vec::new() } else { ports };
        Self { interval: interval.max(1), next: 0, ports, followed, ..Self::default() }
    }
}

impl Net {
    /// Has samples taken at multiples of `interval` (ps) of all switch ports, or of none when there are more than `most_ports`,
    /// and of the flows `followed` (ids).
    pub fn sample(&mut self, interval: u64, most_ports: usize, followed: Vec<u64>) {
        self.series = Series::new(self, interval, most_ports, followed);
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
            }
            series.waits.push(paused_links(self));
            for node in 0..self.graph.nodes() as u32 {
                self.buffers.note_level(node);
            }
            series.next += series.interval;
            if series.times.len() >= LIMIT {
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
        for (mine, theirs) in self.waits.iter_mut().zip(&other.waits) {
            mine.extend_from_slice(theirs);
        }
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
        halve(&mut self.waits);
        self.interval *= 2;
        self.next = self.times.last().map_or(0, |t| t + self.interval);
    }
}
