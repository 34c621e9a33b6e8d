//! Operations that wait for several messages, on an ideal network: no link carries more than its rate.
//!
//! Each message alone comes as early as it can. One that waits for all of a set cannot go on before the links of its rank have carried
//! the set, in whatever order: for every instant `r`, not before `r` plus the time of those members that the link can only have from
//! `r` on. This is the bound on the makespan of one machine whose jobs have release dates (Jackson's rule, e.g. Carlier, EJOR 11,
//! 1982), and it needs no order among the messages, so it holds for queues, for fair sharing and for any priority alike.
//!
//! What the links had to carry before a step is handed on to those that wait for it, as one instant and one sum: that instant from
//! which on they are through last. It is all that matters of what went before, since no later start gives a later end.

use std::collections::BTreeMap;

use super::{Act, Machine, Message, Role};
use crate::mpi::crossbar::{Crossbar, Load};

/// The end of a rank's block, in place of the operation that waits.
pub(super) const BLOCK: u32 = u32::MAX;
/// Tokens of [`Act::Wake`] from here on are operations that begin later than what they wait for was over; below are processors, of
/// which GOAL numbers 256.
pub(super) const FIRST_HELD: u32 = 1 << 8;

/// That a link must have carried so much before something: from an instant on (ps), so many bytes on the wire.
#[derive(Clone, Copy, Debug)]
struct Busy {
    from_ps: u64,
    wire: u64,
}

impl Busy {
    const NEVER: Self = Self { from_ps: 0, wire: 0 };
}

/// Directions of a rank's links: to it, and from it.
const WAYS: [Way; 2] = [Way::In, Way::Out];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    In,
    Out,
}

/// An operation that has begun, or is over and waited for.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// What the links must have carried before it began, by [`Way`].
    before: [Busy; 2],
    /// Places of its beginning and its end among those of all operations.
    began: u64,
    ended: u64,
    /// The message that ended it.
    by: Option<Load>,
}

/// Of one rank.
#[derive(Clone, Debug, Default)]
struct Steps {
    begun: BTreeMap<u32, Step>,
    /// What an operation, or the end of the block, waits for and is over.
    waited: BTreeMap<u32, Vec<Step>>,
    /// Before the block that it is in, by [`Way`].
    block: Option<[Busy; 2]>,
    /// Messages received and sent that were received: the earliest instant, and their bytes.
    total: [Option<(u64, u64)>; 2],
}

/// What operations wait for.
#[derive(Clone, Debug)]
pub(in crate::mpi) struct Joins {
    network: Crossbar,
    /// What takes every packet from the end of its sender's link on, at least, ps.
    beyond_ps: u64,
    under_way: BTreeMap<Message, Load>,
    ranks: Vec<Steps>,
    /// Beginnings and ends so far.
    count: u64,
}

impl Joins {
    pub(super) fn new(network: Crossbar, ranks: u32) -> Self {
        let ranks = vec![Steps::default(); ranks as usize];
        let beyond_ps = network.least_beyond();
        Self { network, beyond_ps, under_way: BTreeMap::new(), ranks, count: 0 }
    }

    /// A message is sent.
    pub(in crate::mpi) fn send(&mut self, message: Message, load: Load) {
        if matches!(message.role(), Role::Eager | Role::Data) {
            let sent_ps = load.sent_ps.saturating_add(self.beyond_ps);
            self.under_way.insert(message, Load { sent_ps, ..load });
        }
    }

    /// A receive is over because of a message.
    pub(super) fn received(&mut self, rank: u32, op: u32, message: Message) {
        let Some(load) = self.under_way.get(&message).copied() else { return };
        self.ended_by(rank, op, load);
        for (rank, way) in [(load.to, Way::In), (load.from, Way::Out)] {
            let total = &mut self.ranks[rank as usize].total[way as usize];
            let (first, bytes) = total.unwrap_or((u64::MAX, 0));
            *total = Some((first.min(from_ps(&load, way)), bytes.saturating_add(load.bytes)));
        }
    }

    /// A send is over because its message has arrived.
    pub(super) fn sent(&mut self, rank: u32, op: u32, message: Message) {
        if let Some(load) = self.under_way.get(&message).copied() {
            self.ended_by(rank, op, load);
        }
    }

    fn ended_by(&mut self, rank: u32, op: u32, load: Load) {
        if let Some(step) = self.ranks[rank as usize].begun.get_mut(&op) {
            step.by = Some(load);
        }
    }

    /// A message is of no more interest.
    pub(super) fn forget(&mut self, message: Message) {
        self.under_way.remove(&message);
    }

    /// An operation is over; these wait for its end.
    fn over(&mut self, rank: u32, op: u32, after: impl Iterator<Item = u32>) {
        self.count += 1;
        let steps = &mut self.ranks[rank as usize];
        if let Some(step) = steps.begun.remove(&op) {
            let step = Step { ended: self.count, ..step };
            after.for_each(|after| steps.waited.entry(after).or_default().push(step));
        }
    }

    /// An operation begins, or a block is over, as soon as the links allow it, all it waits for being over: the earliest instant, ps.
    pub(super) fn begin(&mut self, rank: u32, op: u32) -> u64 {
        let waited = self.ranks[rank as usize].waited.remove(&op).unwrap_or_default();
        let block = self.ranks[rank as usize].block.unwrap_or([Busy::NEVER; 2]);
        // What begins with its block waits for what came before that.
        let inherited = if waited.is_empty() { block } else { [Busy::NEVER; 2] };
        let found = WAYS.map(|way| self.carried(rank, way, &waited, inherited[way as usize]));
        let before = found.map(|(_, busy)| busy);
        self.count += 1;
        let steps = &mut self.ranks[rank as usize];
        if op == BLOCK {
            steps.block = Some(before);
        } else {
            steps.begun.insert(op, Step { before, began: self.count, ended: 0, by: None });
        }
        found.map(|(at, _)| at).into_iter().fold(0, u64::max)
    }

    /// When a link can have carried what all of these waited for and what ended them, ps, and what that is.
    fn carried(&self, rank: u32, way: Way, waited: &[Step], inherited: Busy) -> (u64, Busy) {
        let end = |busy: Busy| if busy.wire == 0 { 0 } else { self.end(rank, way, busy) };
        // The messages alone, in the fewest packets.
        let own = waited.iter().filter_map(|step| load_of(step, rank, way));
        let mut best = self.latest(rank, way, own.collect(), inherited);
        // After what one of them waited for. What ended before that one began may be counted there already.
        let last = waited.iter().max_by_key(|step| (end(step.before[way as usize]), std::cmp::Reverse(step.began)));
        if let Some(last) = last.filter(|step| step.before[way as usize].wire > 0) {
            let later =
                waited.iter().filter(|step| step.ended > last.began).filter_map(|step| load_of(step, rank, way));
            let with = self.latest(rank, way, later.collect(), last.before[way as usize]);
            if end(with) > end(best) {
                best = with;
            }
        }
        (end(best), best)
    }

    /// The instant from which on a link has so much of all this to carry that it is through last, and how much.
    fn latest(&self, rank: u32, way: Way, mut loads: Vec<Load>, mut before: Busy) -> Busy {
        loads.sort_unstable_by_key(|load| std::cmp::Reverse(from_ps(load, way)));
        // Messages between the same two may share packets, with what went before too.
        let shared = if before.wire > 0 { self.network.header() } else { 0 };
        let mut of_peer: BTreeMap<u32, u64> = BTreeMap::new();
        let mut on_wire = |load: &Load| {
            let bytes = of_peer.entry(if way == Way::In { load.from } else { load.to }).or_default();
            let known = if *bytes > 0 { self.network.wire_bytes(*bytes) - shared } else { 0 };
            *bytes = bytes.saturating_add(load.bytes);
            self.network.wire_bytes(*bytes) - shared - known
        };
        let (mut wire, mut best) = (0u64, Busy::NEVER);
        let mut see = |busy: Busy| {
            if busy.wire > 0 && (best.wire == 0 || self.end(rank, way, busy) > self.end(rank, way, best)) {
                best = busy;
            }
        };
        for load in &loads {
            let from_ps = from_ps(load, way);
            if before.wire > 0 && before.from_ps >= from_ps {
                wire = wire.saturating_add(before.wire);
                see(Busy { from_ps: before.from_ps, wire });
                before.wire = 0;
            }
            wire = wire.saturating_add(on_wire(load));
            see(Busy { from_ps, wire });
        }
        if before.wire > 0 {
            see(Busy { from_ps: before.from_ps, wire: wire.saturating_add(before.wire) });
        }
        best
    }

    /// When a link is through with this and it has arrived, ps.
    fn end(&self, rank: u32, way: Way, busy: Busy) -> u64 {
        let time = match way {
            Way::In => self.network.in_time(rank, busy.wire),
            Way::Out => self.network.out_time(rank, busy.wire),
        };
        busy.from_ps.saturating_add(time)
    }

    /// When the links can have carried all messages that were received, ps.
    pub(in crate::mpi) fn all_carried(&self) -> u64 {
        let end = |rank: u32, way: Way| {
            let (from_ps, bytes) = self.ranks[rank as usize].total[way as usize]?;
            Some(self.end(rank, way, Busy { from_ps, wire: self.network.wire_bytes(bytes) }))
        };
        (0..self.ranks.len() as u32).flat_map(|rank| WAYS.map(|way| end(rank, way))).flatten().max().unwrap_or(0)
    }
}

fn from_ps(load: &Load, way: Way) -> u64 {
    match way {
        Way::In => load.reached_ps,
        Way::Out => load.sent_ps,
    }
}

/// The message that ended a step, if it went that way.
fn load_of(step: &Step, rank: u32, way: Way) -> Option<Load> {
    step.by.filter(|load| (if way == Way::In { load.to } else { load.from }) == rank)
}

impl Machine {
    /// What operations wait for, on an ideal network.
    pub(in crate::mpi) fn joins(&mut self) -> Option<&mut Joins> {
        self.joins.as_deref_mut()
    }

    /// An operation is over, which others, or else the end of the block, wait for.
    pub(super) fn join(&mut self, rank: u32, op: u32, block: &crate::mpi::Block) {
        if let Some(joins) = &mut self.joins {
            let mut after =
                block.successors(op as usize).filter(|(_, start)| !start).map(|(after, _)| after as u32).peekable();
            let end = after.peek().is_none().then_some(BLOCK);
            joins.over(rank, op, after.chain(end));
        }
    }

    /// Whether an operation whose predecessors are over can begin now, or a block end; if not, asks to be called when it can.
    pub(super) fn opens(&mut self, rank: u32, op: u32, now: u64, acts: &mut Vec<Act>) -> bool {
        let at_ps = self.joins.as_mut().map_or(0, |joins| joins.begin(rank, op));
        if at_ps > now {
            let token = if op == BLOCK { BLOCK } else { FIRST_HELD + op };
            acts.push(Act::Wake { rank, at_ps, token });
        }
        at_ps <= now
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::framing::Framing;
    use crate::graph::Side;
    use crate::mpi::Access;

    /// 10 Gb/s: 800 ps for a byte. Packets of 1000 B and 50 more.
    fn network() -> Crossbar {
        let side = Side { rate: "10Gbps".parse().unwrap(), delay: "1us".parse().unwrap() };
        let framing = Framing { header: 50, min_frame: 0, ..Framing::HPCC };
        Crossbar { access: Arc::new([Access::symmetric(side); 9]), framing, hosts_ps: 0, direct: false }
    }

    /// When the operation that waits for messages of these peers, instants and sizes can begin.
    fn opens(messages: &[(u32, u64, u64)]) -> u64 {
        let mut joins = Joins::new(network(), 9);
        for (op, (peer, at, bytes)) in (0..).zip(messages) {
            joins.begin(0, op);
            joins.ended_by(0, op, Load { from: *peer, to: 0, bytes: *bytes, sent_ps: 0, reached_ps: *at });
        }
        (0..messages.len() as u32).for_each(|op| joins.over(0, op, std::iter::once(99)));
        joins.begin(0, 99)
    }

    #[test]
    fn messages_of_one_peer_may_share_packets() {
        assert_eq!(opens(&[(1, 0, 600), (2, 0, 600)]), 2 * 650 * 800);
        assert_eq!(opens(&[(1, 0, 600), (1, 0, 600)]), (1200 + 2 * 50) * 800);
        assert_eq!(opens(&[(1, 0, 400), (1, 0, 600)]), 1050 * 800);
    }

    proptest! {
        /// Served one after the other as they come, without pauses but for want of any, messages of several peers are through at
        /// exactly that instant, and in no other order earlier.
        #[test]
        fn it_is_when_the_last_of_all_can_be_through(
            jobs in prop::collection::vec((0..3_000_000u64, 1..4_000u64), 2..8),
            order in prop::collection::vec(any::<u64>(), 8),
        ) {
            let serve = |jobs: &[(u64, u64)]| jobs.iter().fold(0, |free: u64, (at, bytes)| {
                free.max(*at) + (bytes + bytes.div_ceil(1000) * 50) * 800
            });
            let messages: Vec<_> = (1..).zip(&jobs).map(|(peer, (at, bytes))| (peer, *at, *bytes)).collect();
            let mut sorted = jobs.clone();
            sorted.sort_unstable();
            prop_assert_eq!(opens(&messages), serve(&sorted));
            let mut places: Vec<usize> = (0..jobs.len()).collect();
            places.sort_unstable_by_key(|i| order[*i]);
            let mixed: Vec<_> = places.iter().map(|i| jobs[*i]).collect();
            prop_assert!(opens(&messages) <= serve(&mixed));
        }
    }
}
