//! The engines: in which order the places of the network are looked at.

mod ahead;
mod calendar;
mod chains;
mod close;
mod cut;
mod driver;
mod events;
mod exact;
mod inbox;
mod lanes;
pub mod order;
mod part;
pub mod partition;
mod ports;
pub(crate) mod reference_nic;
pub mod sequential;
mod sort;
mod steps;
mod team;
pub mod windowed;
mod work;

use crate::record::{FlowName, FlowRecord, News, PacketRecord, PfcEvent, QueryRecord, StageRecord};

/// An instant after all others.
const NEVER: u64 = u64::MAX;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every flow ended.
    Completed,
    /// The stop time came first.
    Stopped,
    /// The observer said so.
    Interrupted,
    /// No flow made progress; why.
    Stalled(String),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Simulated time, ps.
    pub now: u64,
    /// Flows started.
    pub started: u64,
    /// Flows finished or failed.
    pub ended: u64,
    /// Packets that crossed a link.
    pub hops: u64,
    /// Steps of programs that are over ([`crate::workload::program::Program::steps`]).
    pub steps: u64,
}

/// Who watches a run. Called between events, never inside one.
pub trait Observer {
    /// Flows started (status running, as far as known then) or ended, in the engine's order; of one flow the start comes first.
    fn flow_records(&mut self, _records: &[FlowRecord]) {}
    /// Queries were answered, in the engine's order.
    fn queries_answered(&mut self, _records: &[QueryRecord]) {}
    /// PFC frames took effect, in the engine's order.
    fn pfc(&mut self, _events: &[PfcEvent]) {}
    /// What ports did with packets, in any order, but all that they did before `before`; to be taken. Names come no later than what they
    /// name. In the end `before` is never. False: no more of it is wanted.
    fn packets(&mut self, packets: &mut Vec<PacketRecord>, _names: &[FlowName], _before: u64) -> bool {
        packets.clear();
        true
    }
    /// Stages of packets at chosen nodes, in order of time.
    fn stages(&mut self, _records: Vec<StageRecord>) {}
    /// The reference's queue sampler is due for writing.
    fn queue_dump(&mut self, _now: u64, _net: &crate::net::Net) {}
    /// Called now and then; false stops the run.
    fn progress(&mut self, _progress: &Progress) -> bool {
        true
    }
}

/// Watches nothing.
impl Observer for () {}

impl News {
    /// Tells the observer, packets excepted, and forgets.
    fn tell(&mut self, observer: &mut dyn Observer) {
        if !self.queries.is_empty() {
            observer.queries_answered(&self.queries);
            self.queries.clear();
        }
        if !self.flows.is_empty() {
            observer.flow_records(&self.flows);
            self.flows.clear();
        }
        if !self.pfc.is_empty() {
            observer.pfc(&self.pfc);
            self.pfc.clear();
        }
    }

    /// Tells the observer what became of packets; before `before` that was all. False where no more is wanted.
    fn tell_packets(&mut self, observer: &mut dyn Observer, before: u64) -> bool {
        // In the end also where nothing came since, as the observer may hold back what came before.
        if self.packets.is_empty() && self.names.is_empty() && before != NEVER {
            return true;
        }
        let wanted = observer.packets(&mut self.packets, &self.names, before);
        self.names.clear();
        wanted
    }
}

/// Hands the observer what has piled up; `now`: all before has been done.
fn report(net: &mut crate::net::Net, observer: &mut dyn Observer, now: u64) {
    net.news.tell(observer);
    if !net.news.tell_packets(observer, now) {
        net.trace = None;
    }
    if let Some(records) = net.stages.as_mut().map(|stages| stages.take(now)) {
        observer.stages(records);
    }
}

/// How far a run is at `now`.
fn progress(net: &crate::net::Net, now: u64) -> Progress {
    let (c, (data, control)) = (net.counters(), net.hops());
    let steps = net.programs.as_ref().map_or(0, |p| p.steps_done());
    Progress { now, started: c.started, ended: c.finished + c.failed, hops: data + control, steps }
}
