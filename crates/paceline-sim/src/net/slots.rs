//! Slots of flows that have ended: until when their receivers know them, and when another flow may have them.
//!
//! A packet names its flow by slot and generation. One that was sent twice may come when its flow is over. It is answered until the
//! receiver forgets the flow, a stated time after its sender was done with it, and dropped without a word from then on, as it is when the
//! slot is another flow's, which it may be only later. So nothing tells which slot a flow got, which depends on what is run at once.
//!
//! On ways that packets cannot carry a switch looks the next port up by slot. What comes late there would go the way of another flow, to a
//! port that its switch need not have. So such slots are used once, but for those of flows over RDMA that sent data once, of which nothing
//! comes late: over other transports ACKs of one way may come later than those of another, and SYNs and probes are sent again.

use std::collections::VecDeque;

use paceline_proto::units::MS;

use crate::net::host::message::Messages;

/// Slots that have rested and are kept back, so that generations, of which there are 256, come round as late as possible.
const KEPT_BACK: usize = 1024;
/// How long a flow that sent data twice is known to its receiver after its end, ps; two windows at least, in which another part hears of it.
const KNOWN: u64 = 20 * MS;
/// Longest that nodes are run at a time, ps: within it some may have a new flow's slot before others have dealt with what came earlier.
const LONGEST_WINDOW: u64 = u32::MAX as u64;

/// Free slots, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeSlots {
    /// On long ways the slots of flows that sent data once are used again, too.
    reuses_long: bool,
    /// Of flows that sent data once, and of others; when they have rested, ps, and the slot.
    slots: [VecDeque<(u64, u32)>; 2],
    /// How long their receivers know each kind after its end, and how long the slots rest, ps.
    known: [u64; 2],
    rest: [u64; 2],
}

impl FreeSlots {
    /// Those of a run, of which there are none yet. Over RDMA nothing comes late of a flow that sent data once.
    pub(crate) fn new(messages: Option<&Messages>) -> Self {
        let (known, rest) = messages.map_or((0, 0), |m| (m.known(), m.slots_rest()));
        let rest = [rest, KNOWN + 2 * LONGEST_WINDOW];
        Self { reuses_long: messages.is_none(), slots: Default::default(), known: [known, KNOWN], rest }
    }

    /// Until when its receiver knows a flow that its sender was done with at `at`, ps. `repeated`: it sent data twice.
    pub(crate) fn known_until(&self, at: u64, repeated: bool) -> u64 {
        at + self.known[usize::from(repeated)]
    }

    /// A flow that ended at `at`, ps, needs its slot no more. `is_long`: its packets cannot carry their way.
    pub(crate) fn give_back(&mut self, slot: u32, at: u64, repeated: bool, is_long: bool) {
        if is_long && (repeated || !self.reuses_long) {
            return;
        }
        let kind = usize::from((repeated || is_long) && self.rest[1] > self.rest[0]);
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
