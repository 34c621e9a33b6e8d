//! Slots of flows that have ended: when another flow may have them.
//!
//! A packet names its flow by slot and generation. One that comes late, when its flow has ended, is answered while the receiver has the
//! flow on record and dropped without a word when the slot is another flow's. Which slot a flow gets depends on what is run at once, so
//! that must not be told from results: a slot rests until nothing of its flow can be under way any more.

use std::collections::VecDeque;

use paceline_proto::units::{BitsPerSec, MS};

use crate::engine::windows::longest_link;
use crate::net::host::message;
use crate::scenario::Scenario;

/// Slots that have rested and are kept back, so that generations, of which there are 256, come round as late as possible.
const KEPT_BACK: usize = 1024;
/// Switches on a way for which [`longest_stay`] allows.
const SWITCHES: u64 = 8;
/// How long PFC may hold a packet up, ps; there is no bound, but nothing is sent twice while it does so, but for timeouts.
const PAUSES: u64 = 100 * MS;

/// Free slots, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeSlots {
    /// Of flows that sent each packet once, all of which have arrived; of others. And when they have rested, ps.
    slots: [VecDeque<(u64, u32)>; 2],
    /// How long each of these rests, ps.
    rest: [u64; 2],
}

impl FreeSlots {
    /// Those of a run, of which there are none yet. `is_message`: flows are a message transport's.
    pub(crate) fn new(scenario: &Scenario, is_message: bool) -> Self {
        let usual = if is_message { message::rest(scenario) } else { 0 };
        // Under QCN only one engine runs, on one thread: no need to rest for long, and a notification's way is drawn by its frame's slot.
        let repeated = if scenario.switch.qcn.is_some() { usual } else { usual.max(longest_stay(scenario)) };
        Self { slots: Default::default(), rest: [usual, repeated] }
    }

    /// A flow that ended at `at`, ps, needs its slot no more. `repeated`: it sent packets twice.
    pub(crate) fn give_back(&mut self, slot: u32, at: u64, repeated: bool) {
        let kind = usize::from(repeated && self.rest[1] > self.rest[0]);
        self.slots[kind].push_back((at + self.rest[kind], slot));
    }

    /// The slot for a flow that starts at `start`, ps, if there is one to spare.
    pub(crate) fn take(&mut self, start: u64) -> Option<u32> {
        let [usual, repeated] = &mut self.slots;
        if repeated.front().is_some_and(|(rested, _)| *rested <= start) {
            usual.extend(repeated.pop_front());
        }
        if usual.len() > KEPT_BACK && usual.front()?.0 <= start { Some(usual.pop_front()?.1) } else { None }
    }
}

/// Longest time that a packet may be on its way, ps: past full buffers all along.
fn longest_stay(scenario: &Scenario) -> u64 {
    let slowest = scenario.graph.ports.iter().map(|p| p.rate.0).min().unwrap_or(1).max(1);
    let emptied = |bytes: u64| BitsPerSec(slowest).serialisation(bytes).0;
    let at_switches =
        (emptied(scenario.switch.buffer.0).saturating_add(longest_link(scenario))).saturating_mul(SWITCHES);
    let at_hosts = scenario.adapter.as_ref().map_or(0, |a| emptied(a.buffer.0) + a.down.0 + a.up.0);
    let paused = if scenario.switch.pfc.is_some() { PAUSES } else { 0 };
    at_switches.saturating_add(at_hosts).saturating_add(paused)
}
