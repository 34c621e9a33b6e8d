//! Runs a program: decides what every rank does at an instant, given what has arrived.
//!
//! A rank knows only what happened at itself, so ranks may be driven apart in time, or by several machines over the same program,
//! as long as each rank sees time go forward. Messages are numbers that say by themselves which operation sent them; whoever
//! carries them needs to know nothing else.
//!
//! Small messages are *eager*: sent at once, and the send is over. Larger ones meet first (*rendezvous*): a request (RTS) to the
//! receiver, a grant (CTS) back once a receive matches, then the data; the send is over when its transport is done with it.
//! Receives match in MPI's order: a message takes the receive posted first of those that fit, a receive the message that
//! arrived first, and messages from one rank to another are looked at in the order of their sends.

mod joins;
mod matching;
mod stuck;
mod truncated;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use joins::{BLOCK, FIRST_HELD, Joins};
use matching::{Queues, Sequence};
use truncated::Truncated;

use super::crossbar::Crossbar;
use super::program::{Op, OpKind, Program};

/// How messages travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineConfig {
    /// Largest message that is sent without being asked for, bytes.
    pub eager: u64,
    /// Size of a request and of a grant, bytes.
    pub control: u64,
    /// Length of one unit of computing, ps.
    pub unit_ps: u64,
}

impl Default for MachineConfig {
    /// 32 KiB, 64 B, 1 ns.
    fn default() -> Self {
        Self { eager: 32 << 10, control: 64, unit_ps: 1000 }
    }
}

/// What a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Eager,
    Request,
    Grant,
    Data,
}

/// A message on its way: the operation that sends it, its place among the messages of its two ranks, and what it is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Message(u64);

impl Message {
    fn new(send: u32, order: u32, role: Role) -> Self {
        Self(u64::from(send) | u64::from(order) << 32 | (role as u64) << 62)
    }

    fn send(self) -> u32 {
        self.0 as u32
    }

    fn order(self) -> u32 {
        (self.0 >> 32) as u32 & (u32::MAX >> 2)
    }

    fn role(self) -> Role {
        [Role::Eager, Role::Request, Role::Grant, Role::Data][(self.0 >> 62) as usize]
    }

    /// As a number, for who carries it.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// From [`bits`](Self::bits).
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// What a machine asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Carry a message.
    Send {
        /// The message.
        message: Message,
        /// Rank that sends it.
        from: u32,
        /// Rank that gets it, another one.
        to: u32,
        /// Payload, at least 1.
        bytes: u64,
        /// The NIC it names.
        nic: Option<u8>,
    },
    /// Call [`Machine::woken`].
    Wake {
        /// For this rank.
        rank: u32,
        /// At this instant, ps.
        at_ps: u64,
        /// With this.
        token: u32,
    },
}

/// The operation has begun and is not over, in place of the number it waits for.
const STARTED: u32 = u32::MAX - 1;
/// The operation is over.
const DONE: u32 = u32::MAX;

/// A processor of a rank.
#[derive(Clone, Debug, Default)]
struct Cpu {
    number: u8,
    running: Option<u32>,
    queue: VecDeque<u32>,
}

/// One rank.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// Place of the part that it is in, and how often it has gone through its block.
    part: usize,
    round: u32,
    /// By operation of the block: how many others it waits for.
    waiting: Vec<u32>,
    /// Operations of the block that are not over.
    left: u32,
    cpus: Vec<Cpu>,
    queues: Queues,
    /// Messages sent to each rank.
    sent: BTreeMap<u32, u32>,
    /// Messages from each rank.
    heard: BTreeMap<u32, Sequence>,
    /// Receives that wait for the data of a granted send.
    granted: BTreeMap<u32, u32>,
    /// Messages longer than the receives that took them.
    truncated: Option<Truncated>,
    begun: bool,
    finished: Option<u64>,
}

/// Something that happened to an operation of a rank's block and that others may wait for.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// It waits for nothing more.
    Ready(u32),
    Start(u32),
    End(u32),
}

/// A program on its way.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Arc<Program>,
    config: MachineConfig,
    ranks: Vec<Rank>,
    /// Ranks that have begun and are not through.
    working: u32,
    /// Of the rank at work.
    events: VecDeque<Event>,
    /// On an ideal network: what keeps operations that wait for several messages from beginning too early.
    joins: Option<Box<Joins>>,
}

impl Machine {
    /// A machine that has not begun.
    pub fn new(program: Arc<Program>, config: MachineConfig) -> Self {
        let ranks = vec![Rank::default(); program.len() as usize];
        Self { program, config, ranks, working: 0, events: VecDeque::new(), joins: None }
    }

    /// The same on an ideal network: the messages of each operation are to be told to its [`Joins`].
    pub(super) fn on_ideal(program: Arc<Program>, config: MachineConfig, network: &Crossbar) -> Self {
        let joins = Joins::new(network.clone(), program.len());
        Self { joins: Some(Box::new(joins)), ..Self::new(program, config) }
    }

    /// All ranks begin.
    pub fn begin(&mut self, now: u64, acts: &mut Vec<Act>) {
        for rank in 0..self.program.len() {
            self.begin_rank(rank, now, acts);
        }
    }

    /// One rank begins.
    pub fn begin_rank(&mut self, rank: u32, now: u64, acts: &mut Vec<Act>) {
        self.ranks[rank as usize].begun = true;
        self.working += 1;
        self.enter(rank, now);
        self.settle(rank, now, acts);
    }

    /// A message has wholly arrived at its receiver.
    pub fn received(&mut self, message: Message, now: u64, acts: &mut Vec<Act>) {
        let program = Arc::clone(&self.program);
        let (from, op) = program.op(message.send());
        match message.role() {
            Role::Eager | Role::Request => {
                let to = op.peer;
                let rank = &mut self.ranks[to as usize];
                let mut next = rank.heard.entry(from).or_default().arrive(message);
                while let Some(message) = next {
                    self.announced(to, from, message, acts);
                    next = self.ranks[to as usize].heard.entry(from).or_default().pop();
                }
                self.settle(to, now, acts);
            }
            Role::Grant => {
                let message = Message::new(message.send(), message.order(), Role::Data);
                acts.push(Act::Send { message, from, to: op.peer, bytes: op.size.max(1), nic: program.nic(op) });
            }
            Role::Data => {
                if let Some(receive) = self.ranks[op.peer as usize].granted.remove(&message.send()) {
                    if let Some(joins) = &mut self.joins {
                        joins.received(op.peer, receive, message);
                    }
                    self.events.push_back(Event::End(receive));
                    self.settle(op.peer, now, acts);
                }
            }
        }
    }

    /// A message has been acknowledged to its sender, or taken over by its transport: its buffer is free.
    pub fn sent(&mut self, message: Message, now: u64, acts: &mut Vec<Act>) {
        if message.role() == Role::Data {
            let (from, _) = self.program.op(message.send());
            let op = self.place(from, message.send());
            if let Some(joins) = &mut self.joins {
                joins.sent(from, op, message);
                joins.forget(message);
            }
            self.events.push_back(Event::End(op));
            self.settle(from, now, acts);
        }
    }

    /// The rank whose send is over only when this message has arrived, and that is to be told of it ([`sent`](Self::sent)).
    pub fn waits_for_arrival(&self, message: Message) -> Option<u32> {
        (message.role() == Role::Data).then(|| self.program.op(message.send()).0)
    }

    /// An instant asked for by [`Act::Wake`] has come.
    pub fn woken(&mut self, rank: u32, token: u32, now: u64, acts: &mut Vec<Act>) {
        if token >= FIRST_HELD {
            if token == BLOCK {
                self.leave(rank, now);
            } else {
                self.events.push_back(Event::Ready(token - FIRST_HELD));
            }
            self.settle(rank, now, acts);
            return;
        }
        let cpu = &mut self.ranks[rank as usize].cpus[token as usize];
        if let Some(op) = cpu.running.take() {
            self.events.push_back(Event::End(op));
            self.run_cpu(rank, token as usize, now, acts);
            self.settle(rank, now, acts);
        }
    }

    /// When all ranks were through, ps; `None` before.
    pub fn finished(&self) -> Option<u64> {
        self.ranks.iter().map(|r| r.finished).try_fold(0, |last, at| at.map(|at| last.max(at)))
    }

    /// Ranks that have begun and are not through.
    pub fn working(&self) -> u32 {
        self.working
    }

    /// Takes over these ranks of another machine of the same program, which has run them.
    pub fn absorb(&mut self, other: &mut Self, ranks: impl Iterator<Item = u32>) {
        for rank in ranks {
            std::mem::swap(&mut self.ranks[rank as usize], &mut other.ranks[rank as usize]);
        }
        self.working += std::mem::take(&mut other.working);
    }

    /// When a rank was through, ps.
    pub fn finish_of(&self, rank: u32) -> Option<u64> {
        self.ranks[rank as usize].finished
    }

    /// Whether a rank has begun.
    pub fn has_begun(&self, rank: u32) -> bool {
        self.ranks[rank as usize].begun
    }

    /// Operations of all ranks that are over; of a block that is under way those of it.
    pub fn operations_done(&self) -> u64 {
        let of_rank = |rank: u32| {
            let state = &self.ranks[rank as usize];
            if !state.begun {
                return 0;
            }
            if state.finished.is_some() {
                return self.program.ranks()[rank as usize].operations();
            }
            let block = Self::block_of(&self.program, rank, state.part).ops().len() as u32;
            u64::from(self.base(rank) - self.program.first(rank) + block - state.left)
        };
        (0..self.program.len()).map(of_rank).sum()
    }

    /// The program that runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Number among all operations of the first one in a rank's block as it stands.
    fn base(&self, rank: u32) -> u32 {
        let (state, program) = (&self.ranks[rank as usize], &self.program.ranks()[rank as usize]);
        let part = program.parts()[state.part];
        self.program.first(rank) + part.first + state.round * program.blocks()[part.block as usize].ops().len() as u32
    }

    /// Place in a rank's block of an operation of that block, by its number among all.
    fn place(&self, rank: u32, number: u32) -> u32 {
        number - self.base(rank)
    }

    /// The block that a rank is in.
    fn block_of(program: &Program, rank: u32, part: usize) -> &super::Block {
        let rank = &program.ranks()[rank as usize];
        &rank.blocks()[rank.parts()[part].block as usize]
    }

    /// A rank begins the block where it stands, or is through.
    fn enter(&mut self, rank: u32, now: u64) {
        let program = Arc::clone(&self.program);
        let state = &mut self.ranks[rank as usize];
        if state.part == program.ranks()[rank as usize].parts().len() {
            state.finished = Some(now);
            self.working -= 1;
            return;
        }
        let block = Self::block_of(&program, rank, state.part);
        block.count_waiting(&mut state.waiting);
        state.left = block.ops().len() as u32;
        for op in 0..block.ops().len() {
            if self.ranks[rank as usize].waiting[op] == 0 {
                if let Some(joins) = &mut self.joins {
                    joins.begin(rank, op as u32);
                }
                self.events.push_back(Event::Ready(op as u32));
            }
        }
    }

    /// Carries out what events lead to, until nothing more happens at this instant.
    fn settle(&mut self, rank: u32, now: u64, acts: &mut Vec<Act>) {
        let program = Arc::clone(&self.program);
        while let Some(event) = self.events.pop_front() {
            let block = Self::block_of(&program, rank, self.ranks[rank as usize].part);
            let (op, ended) = match event {
                Event::Ready(op) => {
                    self.begin_op(rank, op, &block.ops()[op as usize], now, acts);
                    continue;
                }
                Event::Start(op) => (op, false),
                Event::End(op) => (op, true),
            };
            if ended {
                self.join(rank, op, block);
            }
            for (after, start) in block.successors(op as usize) {
                if start != ended {
                    let waiting = &mut self.ranks[rank as usize].waiting[after];
                    *waiting -= 1;
                    if *waiting == 0 && self.opens(rank, after as u32, now, acts) {
                        self.events.push_back(Event::Ready(after as u32));
                    }
                }
            }
            if ended {
                let state = &mut self.ranks[rank as usize];
                state.waiting[op as usize] = DONE;
                state.left -= 1;
                if state.left == 0 && self.opens(rank, BLOCK, now, acts) {
                    self.leave(rank, now);
                }
            }
        }
    }

    /// A block is over: the same one again, or the next.
    fn leave(&mut self, rank: u32, now: u64) {
        let state = &mut self.ranks[rank as usize];
        let part = self.program.ranks()[rank as usize].parts()[state.part];
        state.round += 1;
        if state.round == part.times {
            (state.part, state.round) = (state.part + 1, 0);
        }
        self.enter(rank, now);
    }

    /// An operation that waits for nothing more.
    fn begin_op(&mut self, rank: u32, number: u32, op: &Op, now: u64, acts: &mut Vec<Act>) {
        let send = self.base(rank) + number;
        let config = self.config;
        let state = &mut self.ranks[rank as usize];
        state.waiting[number as usize] = STARTED;
        match op.kind {
            OpKind::Calc => {
                let at = state.cpus.iter().position(|c| c.number == op.cpu).unwrap_or_else(|| {
                    state.cpus.push(Cpu { number: op.cpu, ..Cpu::default() });
                    state.cpus.len() - 1
                });
                state.cpus[at].queue.push_back(number);
                self.run_cpu(rank, at, now, acts);
            }
            OpKind::Send => {
                self.events.push_back(Event::Start(number));
                let order = state.sent.entry(op.peer).or_default();
                let here = op.peer == rank;
                let eager = here || op.size <= config.eager;
                let message = Message::new(send, *order, if eager { Role::Eager } else { Role::Request });
                *order += 1;
                if eager {
                    self.events.push_back(Event::End(number));
                }
                if here {
                    self.announced(rank, rank, message, acts);
                } else {
                    let bytes = if eager { op.size.max(1) } else { config.control };
                    acts.push(Act::Send { message, from: rank, to: op.peer, bytes, nic: self.program.nic(op) });
                }
            }
            OpKind::Recv => {
                self.events.push_back(Event::Start(number));
                if let Some((from, message)) = state.queues.take_message(op.peer, op.tag) {
                    self.matched(rank, from, number, message, acts);
                } else {
                    state.queues.post(op.peer, op.tag, number);
                }
            }
        }
    }

    /// A processor that may be free goes on.
    fn run_cpu(&mut self, rank: u32, at: usize, now: u64, acts: &mut Vec<Act>) {
        let part = self.ranks[rank as usize].part;
        let cpu = &mut self.ranks[rank as usize].cpus[at];
        while cpu.running.is_none() {
            let Some(op) = cpu.queue.pop_front() else { return };
            self.events.push_back(Event::Start(op));
            let units = Self::block_of(&self.program, rank, part).ops()[op as usize].size;
            if units == 0 {
                self.events.push_back(Event::End(op));
                continue;
            }
            cpu.running = Some(op);
            // A run that is stopped may compute beyond the end of the clock.
            let at_ps = now.saturating_add(units.saturating_mul(self.config.unit_ps)).min(1 << 63);
            acts.push(Act::Wake { rank, at_ps, token: at as u32 });
        }
    }

    /// A message, or the request for one, is looked at by its receiver.
    fn announced(&mut self, to: u32, from: u32, message: Message, acts: &mut Vec<Act>) {
        let tag = self.program.op(message.send()).1.tag;
        let queues = &mut self.ranks[to as usize].queues;
        if let Some(receive) = queues.take_receive(from, tag) {
            self.matched(to, from, receive, message, acts);
        } else {
            queues.keep(from, tag, message);
        }
    }

    /// A message has found its receive.
    fn matched(&mut self, to: u32, from: u32, receive: u32, message: Message, acts: &mut Vec<Act>) {
        self.compare_lengths(to, receive, message);
        if message.role() == Role::Eager {
            if let Some(joins) = &mut self.joins {
                joins.received(to, receive, message);
                joins.forget(message);
            }
            self.events.push_back(Event::End(receive));
        } else {
            self.ranks[to as usize].granted.insert(message.send(), receive);
            let message = Message::new(message.send(), message.order(), Role::Grant);
            let nic = self.program.nic(self.program.op(message.send()).1);
            acts.push(Act::Send { message, from: to, to: from, bytes: self.config.control, nic });
        }
    }
}
