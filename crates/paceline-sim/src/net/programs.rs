//! Programs at the hosts: what sends a message because another one has arrived, or because some time has passed.
//!
//! A program is a pure machine ([`scatter_gather::Machine`], [`mpi::Machine`]): it is told what has arrived ([`Machine::received`]) and that a time
//! it asked for has come, and says what it wants ([`Act`]). This file carries its messages, each as a flow of its own
//! or over a connection that stays open between each pair of places (its streams: `rpc.rs`).
//!
//! A message may start a flow anywhere at the very instant another one arrives, so programs run in the sequential engine.

pub mod mpi;
pub mod scatter_gather;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use paceline_proto::units::Time;

use crate::error::InputError;
use crate::ideal::Way;
use crate::net::Net;
use crate::net::streams::{MOST_PACKETS, too_many_packets};
use crate::record::QueryRecord;
use crate::scenario::{Framing, Scenario};
use crate::workload::FlowSpec;
use crate::workload::program::{Connections, INSTEAD_OF_OPEN, Kind, Mpi, Program};

/// What a program wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// A message of `bytes` (above 0) from one place to another; `message` names it until it has arrived.
    Send {
        /// Its name.
        message: u32,
        /// Place that sends.
        from: u32,
        /// Another place.
        to: u32,
        /// Length.
        bytes: u64,
    },
    /// To be called at `at` (ps, not before now) with `token`.
    Wake {
        /// When.
        at: u64,
        /// What about.
        token: u32,
    },
}

/// A query that is done, or as it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// Its number, 0 up.
    pub number: u32,
    /// The place it came to.
    pub place: u32,
    /// When it came, ps.
    pub start: u64,
    /// How long it took, ps; 0 while it is not done.
    pub qct: u64,
    /// How long it took at least, ps.
    pub ideal: u64,
    /// Bytes of its requests and of its replies, all hosts together.
    pub request: u64,
    /// See `request`.
    pub response: u64,
}

/// The machines, as one.
#[derive(Clone, Debug)]
enum Machine {
    ScatterGather(scatter_gather::Machine),
    Mpi(mpi::Machine),
}

impl Machine {
    fn new(program: &Program, seed: u64) -> Self {
        match &program.kind {
            Kind::ScatterGather(w) => {
                Machine::ScatterGather(scatter_gather::Machine::new(w.clone(), seed, program.workload))
            }
            Kind::Mpi(w) => Machine::Mpi(mpi::Machine::new(w)),
        }
    }

    fn begin(&mut self, now: u64, acts: &mut Vec<Act>) {
        match self {
            Machine::ScatterGather(m) => m.begin(now, acts),
            Machine::Mpi(m) => m.begin(now, acts),
        }
    }

    fn woken(&mut self, token: u32, now: u64, acts: &mut Vec<Act>) {
        match self {
            Machine::ScatterGather(m) => m.woken(now, acts),
            Machine::Mpi(m) => m.woken(token, now, acts),
        }
    }

    /// Returns the query that the message completes.
    fn received(&mut self, message: u32, ideal: u64, now: u64, acts: &mut Vec<Act>) -> Option<Answered> {
        match self {
            Machine::ScatterGather(m) => m.received(message, ideal, now, acts),
            Machine::Mpi(m) => m.received(message, now, acts),
        }
    }

    fn is_idle(&self) -> bool {
        match self {
            Machine::ScatterGather(m) => m.is_idle(),
            Machine::Mpi(m) => m.is_idle(),
        }
    }

    fn issued(&self) -> u64 {
        match self {
            Machine::ScatterGather(m) => u64::from(m.issued()),
            Machine::Mpi(_) => 0,
        }
    }

    fn unanswered(&self) -> Vec<Answered> {
        match self {
            Machine::ScatterGather(m) => m.unanswered(),
            Machine::Mpi(_) => Vec::new(),
        }
    }

    /// What it waits for at the end of a run that does not go on.
    fn stuck(&self) -> String {
        match self {
            Machine::ScatterGather(m) => format!("{} queries are not done", m.unanswered().len()),
            Machine::Mpi(m) => m.stuck(),
        }
    }
}

struct Running {
    program: Arc<Program>,
    machine: Machine,
    /// Streams by pair of places.
    open: BTreeMap<(u32, u32), u32>,
}

/// A stream of a program.
struct ProgramStream {
    program: u16,
    /// Messages that have not arrived, and their least times, ps.
    under_way: VecDeque<(u32, u64)>,
    /// Its way.
    way: Way,
}

/// All programs of a run.
pub(crate) struct Programs {
    all: Vec<Running>,
    acts: Vec<Act>,
    /// What the engine has to do, and for which program.
    wanted: VecDeque<(u16, Act)>,
    /// Messages under way as flows of their own.
    by_flow: BTreeMap<u64, (u16, u32)>,
    /// Streams in the order of their opening, from `first_stream` on.
    streams: Vec<ProgramStream>,
    first_stream: u32,
    /// Calls asked for that are still to come.
    wakes: u64,
}

/// How a message goes out.
pub(crate) enum Carrier {
    /// By a flow that is to be started; over a connection of its own.
    Flow(FlowSpec),
    /// By a stream that is to be opened first.
    NewStream(u32, FlowSpec),
    /// By a stream that is open.
    Stream(u32),
}

impl Programs {
    /// The programs of a scenario, where it has any.
    pub(crate) fn new(scenario: &Scenario) -> Option<Box<Self>> {
        if scenario.programs.is_empty() {
            return None;
        }
        let running = |program: &Arc<Program>| Running {
            program: Arc::clone(program),
            machine: Machine::new(program, scenario.seed),
            open: BTreeMap::new(),
        };
        Some(Box::new(Self {
            all: scenario.programs.iter().map(running).collect(),
            acts: Vec::new(),
            wanted: VecDeque::new(),
            by_flow: BTreeMap::new(),
            streams: Vec::new(),
            first_stream: scenario.rpcs.iter().map(|r| r.count() * 2).sum(),
            wakes: 0,
        }))
    }

    /// When each begins, ps.
    pub(crate) fn begins(&self) -> impl Iterator<Item = u64> {
        self.all.iter().map(|r| r.program.begin.0)
    }

    /// Whether nothing will happen any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.wakes == 0 && self.all.iter().all(|r| r.machine.is_idle())
    }

    /// Whether some program waits for an instant.
    pub(crate) fn has_wakes(&self) -> bool {
        self.wakes > 0
    }

    /// What programs wait for when nothing more happens.
    pub(crate) fn stuck(&self) -> String {
        let waiting = self.all.iter().filter(|r| !r.machine.is_idle());
        waiting.map(|r| r.machine.stuck()).collect::<Vec<_>>().join("; ")
    }

    /// What the engine is to do next.
    pub(crate) fn next_act(&mut self) -> Option<(u16, Act)> {
        self.wanted.pop_front()
    }

    /// Lists what a program has just asked for.
    fn collect(&mut self, program: u16) {
        let wakes = self.acts.iter().filter(|a| matches!(a, Act::Wake { .. })).count();
        self.wakes += wakes as u64;
        self.wanted.extend(self.acts.drain(..).map(|act| (program, act)));
    }

    /// What carries a message; `at` is now.
    pub(crate) fn carrier(&mut self, program: u16, [from, to]: [u32; 2], bytes: u64, at: u64) -> Carrier {
        let running = &mut self.all[usize::from(program)];
        let p = &running.program;
        let spec = p.flow.flow(Time(at), p.hosts[from as usize], p.hosts[to as usize], bytes);
        if p.connections == Connections::New {
            return Carrier::Flow(spec);
        }
        let next = self.first_stream + self.streams.len() as u32;
        match running.open.entry((from, to)) {
            std::collections::btree_map::Entry::Occupied(stream) => Carrier::Stream(*stream.get()),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(next);
                self.streams.push(ProgramStream { program, under_way: VecDeque::new(), way: Way::default() });
                Carrier::NewStream(next, FlowSpec { stream: next + 1, bytes: 0, ..spec })
            }
        }
    }

    /// A message is under way as a flow.
    pub(crate) fn goes_by_flow(&mut self, id: u64, program: u16, message: u32) {
        self.by_flow.insert(id, (program, message));
    }

    /// A stream is opened on these links.
    pub(crate) fn opened(&mut self, stream: u32, way: Way) {
        self.streams[(stream - self.first_stream) as usize].way = way;
    }

    /// The program whose message a flow of its own is.
    pub(crate) fn program_of_flow(&self, id: u64) -> Option<&Program> {
        let (program, _) = self.by_flow.get(&id)?;
        Some(&self.all[usize::from(*program)].program)
    }

    /// The program that has opened a stream.
    pub(crate) fn program_of(&self, stream: u32) -> &Program {
        let program = self.streams[(stream - self.first_stream) as usize].program;
        &self.all[usize::from(program)].program
    }

    /// A message is under way on a stream.
    pub(crate) fn goes_by_stream(&mut self, stream: u32, message: u32, bytes: u64, framing: &Framing) {
        let s = &mut self.streams[(stream - self.first_stream) as usize];
        let least = s.way.least_time(bytes, framing);
        s.under_way.push_back((message, least));
    }

    /// The message-passing programs: what they are and how far they are.
    pub(crate) fn mpi(&self) -> impl Iterator<Item = (&Program, &Mpi, &mpi::Machine)> {
        self.all.iter().filter_map(|r| match (&r.program.kind, &r.machine) {
            (Kind::Mpi(workload), Machine::Mpi(machine)) => Some((&*r.program, workload, machine)),
            _ => None,
        })
    }

    /// Steps of programs that are over; of scatter/gather, that have come in.
    pub(crate) fn steps_done(&self) -> u64 {
        let of_program = |r: &Running| match &r.machine {
            Machine::ScatterGather(m) => u64::from(m.issued()),
            Machine::Mpi(m) => m.operations_done(),
        };
        self.all.iter().map(of_program).sum()
    }

    /// Queries that have come in.
    pub(crate) fn issued(&self) -> u64 {
        self.all.iter().map(|r| r.machine.issued()).sum()
    }
}

impl Net {
    /// A program begins.
    pub(crate) fn begin_program(&mut self, program: u16, now: u64) {
        let Some(p) = &mut self.programs else { return };
        p.all[usize::from(program)].machine.begin(now, &mut p.acts);
        p.collect(program);
    }

    /// The instant that a program asked for has come.
    pub(crate) fn wake_program(&mut self, program: u16, token: u32, now: u64) {
        let Some(p) = &mut self.programs else { return };
        p.wakes -= 1;
        // What ranks compute may end after all messages.
        self.last_end = self.last_end.max(now);
        p.all[usize::from(program)].machine.woken(token, now, &mut p.acts);
        p.collect(program);
    }

    /// The last byte of a flow has arrived; it may be a program's message.
    #[cold]
    pub(crate) fn program_flow_arrived(&mut self, slot: u32, now: u64) {
        let info = &self.infos[slot as usize];
        let (id, ideal) = (info.id, info.ideal_receiver);
        let Some(p) = &mut self.programs else { return };
        if let Some((program, message)) = p.by_flow.remove(&id) {
            self.program_received(program, message, ideal, now);
        }
    }

    /// The next message on a program's stream has arrived.
    pub(crate) fn program_stream_arrived(&mut self, stream: u32, now: u64) {
        let Some(p) = &mut self.programs else { return };
        let s = &mut p.streams[(stream - p.first_stream) as usize];
        let program = s.program;
        if let Some((message, ideal)) = s.under_way.pop_front() {
            self.program_received(program, message, ideal, now);
        }
    }

    fn program_received(&mut self, program: u16, message: u32, ideal: u64, now: u64) {
        let Some(p) = &mut self.programs else { return };
        self.last_end = self.last_end.max(now);
        let running = &mut p.all[usize::from(program)];
        let done = running.machine.received(message, ideal, now, &mut p.acts);
        let record = done.map(|query| record(&running.program, query));
        p.collect(program);
        if let Some(record) = record {
            self.note_answer(record, now);
        }
    }

    /// A program's message is to follow on a stream. Returns the NIC that it leaves by, unless the connection was given up.
    ///
    /// # Errors
    /// More packets than a connection over RDMA can number.
    pub(crate) fn append_program(&mut self, stream: u32, message: u32, bytes: u64) -> Result<Option<u32>, InputError> {
        let framing = self.scenario.framing;
        let Some((slot, packets)) = self.streams.as_ref().and_then(|s| s.sender_of(stream)) else { return Ok(None) };
        let flow = &self.flows[slot as usize];
        if !flow.alive {
            return Ok(None);
        }
        if packets + framing.split(bytes).0 > MOST_PACKETS {
            return Err(too_many_packets().field("workloads").value(bytes).allowed(INSTEAD_OF_OPEN));
        }
        if let Some(p) = &mut self.programs {
            p.goes_by_stream(stream, message, bytes, &framing);
        }
        Ok(Some(self.ports[flow.nic as usize].nic))
    }

    /// Queries of programs that are not done, as they stand.
    pub(crate) fn unanswered_of_programs(&self) -> Vec<QueryRecord> {
        let all = self.programs.iter().flat_map(|p| &p.all);
        all.flat_map(|r| r.machine.unanswered().into_iter().map(|query| record(&r.program, query))).collect()
    }
}

/// Puts something where something else was, or at the end; returns where.
fn place<T>(all: &mut Vec<T>, free: &mut Vec<u32>, new: T) -> u32 {
    if let Some(slot) = free.pop() {
        all[slot as usize] = new;
        return slot;
    }
    all.push(new);
    all.len() as u32 - 1
}

/// A query in the form of results: the host it came to is client and server.
fn record(program: &Program, query: Answered) -> QueryRecord {
    let host = program.hosts[query.place as usize];
    QueryRecord {
        connection: query.place,
        number: query.number,
        group: program.flow.group,
        scheme: program.flow.scheme,
        client: host,
        server: host,
        bytes: query.request,
        response_bytes: query.response,
        start: query.start,
        qct: query.qct,
        ideal: query.ideal,
    }
}
