//! Programs at the hosts: what sends a message because another one has arrived, or because some time has passed.
//!
//! A program is a pure machine ([`scatter_gather::Machine`], [`mpi::Machine`]): it is told what has arrived and that a time
//! it asked for has come, and says what it wants ([`Act`]). This file carries its messages, each as a flow of its own
//! or over a connection that stays open between each pair of places (its streams: `streams.rs`), and keeps what hosts are to be told at
//! an instant (`calls.rs`).
//!
//! What a place does follows from what it is told, and it sends from its own host. So a program whose hosts are told of others by
//! messages alone (`Program::why_at_once`) runs in windows and in parts, each with a machine of its own that knows the whole program and runs
//! its places. Flows of their own have numbers in the order of their starts, and a sender that is told at once of an arrival acts at the
//! instant at which something happens elsewhere: such programs run in the sequential engine.

mod calls;
mod carriers;
pub mod mpi;
pub mod scatter_gather;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use paceline_proto::units::Time;

use calls::{Call, Calls, Due};
use carriers::Carriers;
pub(crate) use carriers::Letter;

use crate::error::InputError;
use crate::graph::NodeId;
use crate::ideal::Way;
use crate::net::flow::FIRST_PORT;
use crate::net::parts::Note;
use crate::net::port::Port;
use crate::net::streams::{MOST_PACKETS, STREAMS, too_many_packets};
use crate::net::{Net, Schedule};
use crate::record::QueryRecord;
use crate::scenario::Scenario;
use crate::workload::FlowSpec;
use crate::workload::program::{Connections, INSTEAD_OF_OPEN, Kind, Mpi, Pairs, Program};

const NEVER: u64 = u64::MAX;

/// What a program wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// A message of `bytes` (above 0) from the place that was told to another one; `message` names it until it has arrived.
    Send {
        /// Its name.
        message: u64,
        /// Place that sends.
        from: u32,
        /// Another place.
        to: u32,
        /// Length.
        bytes: u64,
        /// The NIC it asks for at either end ([`FlowSpec::nic`]), over a connection that stays open.
        nic: Option<u8>,
    },
    /// `place` is to be called at `at` (ps, not before now) with `token`, which no other call to it has.
    Wake {
        /// Where.
        place: u32,
        /// When.
        at: u64,
        /// What about.
        token: u32,
    },
}

/// A message that a program wants to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) program: u16,
    message: u64,
    ends: [u32; 2],
    bytes: u64,
    nic: Option<u8>,
}

/// What another part is to tell a place: its message has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    program: u16,
    place: u32,
    message: u64,
    /// When it is to be told, ps.
    pub(crate) at: u64,
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
            Kind::Mpi(w) => Machine::Mpi(mpi::Machine::new(w, program.begin)),
        }
    }

    fn begin(&mut self, place: u32, now: u64, acts: &mut Vec<Act>) {
        match self {
            Machine::ScatterGather(m) => m.begin(now, acts),
            Machine::Mpi(m) => m.begin(place, now, acts),
        }
    }

    fn woken(&mut self, place: u32, token: u32, now: u64, acts: &mut Vec<Act>) {
        match self {
            Machine::ScatterGather(m) => m.woken(now, acts),
            Machine::Mpi(m) => m.woken(place, token, now, acts),
        }
    }

    /// Returns the query that the message completes.
    fn received(&mut self, letter: Letter, now: u64, acts: &mut Vec<Act>) -> Option<Answered> {
        match self {
            Machine::ScatterGather(m) => m.received(letter.message as u32, letter.least, now, acts),
            Machine::Mpi(m) => {
                m.received(letter.message, now, acts);
                None
            }
        }
    }

    /// The place that is to be told that this message has arrived, and whether at once.
    fn tells(&self, message: u64) -> Option<(u32, bool)> {
        match self {
            Machine::ScatterGather(_) => None,
            Machine::Mpi(m) => m.tells(message),
        }
    }

    fn told(&mut self, message: u64, now: u64, acts: &mut Vec<Act>) {
        if let Machine::Mpi(m) = self {
            m.told(message, now, acts);
        }
    }

    /// Places that are not through, of those that have begun; queries that are not done.
    fn working(&self) -> u64 {
        match self {
            Machine::ScatterGather(m) => m.working(),
            Machine::Mpi(m) => m.working(),
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
    /// Its first stream, where their numbers follow from the program.
    first_stream: u32,
    /// Streams by connection, where they have numbers in the order of their opening.
    open: BTreeMap<u64, u32>,
}

/// All programs of a run.
pub(crate) struct Programs {
    all: Vec<Running>,
    acts: Vec<Act>,
    /// Messages that the engine has to send.
    wanted: VecDeque<Outgoing>,
    /// Messages under way as flows of their own.
    by_flow: BTreeMap<u64, (u16, u64)>,
    carriers: Carriers,
    calls: Calls,
}

impl Programs {
    /// The programs of a scenario, where it has any.
    pub(crate) fn new(scenario: &Scenario, nics: usize) -> Option<Box<Self>> {
        if scenario.programs.is_empty() {
            return None;
        }
        let first_stream: u32 = scenario.rpcs.iter().map(|r| r.count() * 2).sum();
        let mut carriers = Carriers::new(first_stream);
        let running = |(number, program): (usize, &Arc<Program>)| {
            let first_stream = carriers.next();
            carriers.add(number as u16, program.pairs().map_or(0, Pairs::len));
            Running {
                program: Arc::clone(program),
                machine: Machine::new(program, scenario.seed),
                first_stream,
                open: BTreeMap::new(),
            }
        };
        let all = scenario.programs.iter().enumerate().map(running).collect();
        Some(Box::new(Self {
            all,
            acts: Vec::new(),
            wanted: VecDeque::new(),
            by_flow: BTreeMap::new(),
            carriers,
            calls: Calls::new(nics),
        }))
    }

    /// Places that are not through and queries that are not done, and what is still to be told: nothing will happen any more when
    /// there is none.
    pub(crate) fn working(&self) -> u64 {
        self.calls.waiting + self.all.iter().map(|r| r.machine.working()).sum::<u64>()
    }

    /// Whether some place waits for an instant.
    pub(crate) fn has_calls(&self) -> bool {
        self.calls.waiting > 0
    }

    /// What programs wait for when nothing more happens.
    pub(crate) fn stuck(&self) -> String {
        let waiting = self.all.iter().filter(|r| r.machine.working() > 0);
        waiting.map(|r| r.machine.stuck()).collect::<Vec<_>>().join("; ")
    }

    /// What the engine is to send next.
    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.wanted.pop_front()
    }

    /// A call of which the engine does not know yet: when, and the NIC.
    pub(crate) fn next_fresh(&mut self) -> Option<(u64, u32)> {
        self.calls.next_fresh()
    }

    /// Whether a program's messages go over connections that stay open.
    pub(crate) fn keeps_connections(&self, program: u16) -> bool {
        self.all[usize::from(program)].program.connections == Connections::Open
    }

    /// A message begins now as a flow of its own with this id.
    pub(crate) fn begin_flow(&mut self, id: u64, outgoing: Outgoing, now: u64) -> FlowSpec {
        let Outgoing { program, message, ends, bytes, nic: _ } = outgoing;
        self.by_flow.insert(id, (program, message));
        self.flow(program, ends, bytes, now)
    }

    fn flow(&self, program: u16, [from, to]: [u32; 2], bytes: u64, now: u64) -> FlowSpec {
        let p = &self.all[usize::from(program)].program;
        p.flow.flow(Time(now), p.hosts[from as usize], p.hosts[to as usize], bytes)
    }

    /// The stream of a message from one place to another, and what opens it if that is its first.
    fn stream(&mut self, outgoing: Outgoing, now: u64) -> (u32, Option<FlowSpec>) {
        let Outgoing { program, ends, nic, .. } = outgoing;
        let next = self.carriers.next();
        let running = &mut self.all[usize::from(program)];
        let connection = match &running.program.kind {
            Kind::Mpi(w) => w.pairs.number(ends, nic),
            Kind::ScatterGather(_) => None,
        };
        let stream = match (running.program.pairs(), connection) {
            (Some(_), Some(number)) => running.first_stream + number,
            (_, number) => {
                let connection = number.map_or(u64::from(ends[0]) << 32 | u64::from(ends[1]), u64::from);
                *running.open.entry(connection).or_insert(next)
            }
        };
        if stream == next {
            self.carriers.add(program, 1);
        }
        let is_first = self.carriers.is_first_use(stream);
        let opens = || FlowSpec { stream: stream + 1, nic, ..self.flow(program, ends, 0, now) };
        (stream, is_first.then(opens))
    }

    /// A stream is opened on these links, on which an acknowledgement takes `back` ps.
    pub(crate) fn opened(&mut self, stream: u32, way: Way, back: u64) {
        let asks = self.program_of(stream).asks();
        self.carriers.opened(stream, asks.then_some(way), back);
    }

    /// The program whose message a flow of its own is.
    pub(crate) fn program_of_flow(&self, id: u64) -> Option<&Program> {
        let (program, _) = self.by_flow.get(&id)?;
        Some(&self.all[usize::from(*program)].program)
    }

    /// The program that has opened a stream.
    pub(crate) fn program_of(&self, stream: u32) -> &Program {
        &self.all[usize::from(self.carriers.program_of(stream))].program
    }

    /// The receiver of a stream may expect a message.
    pub(crate) fn expect(&mut self, stream: u32, letter: Letter) {
        self.carriers.expect(stream, letter);
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

    /// Takes over the places at hosts that another part has looked after, for records.
    pub(crate) fn absorb(&mut self, other: &mut Self, is_theirs: impl Fn(NodeId) -> bool) {
        self.calls.waiting += other.calls.waiting;
        for (mine, theirs) in self.all.iter_mut().zip(&mut other.all) {
            if let (Machine::Mpi(to), Machine::Mpi(from)) = (&mut mine.machine, &mut theirs.machine) {
                let hosts = (0..).zip(&mine.program.hosts);
                to.absorb(from, hosts.filter(|(_, host)| is_theirs(**host)).map(|(place, _)| place));
            }
        }
    }
}

impl Net {
    /// All places of programs at hosts of this network, or of its part, are to be told of the beginning.
    pub(crate) fn list_programs(&mut self) {
        let Some(p) = &mut self.programs else { return };
        for number in 0..p.all.len() {
            let program = Arc::clone(&p.all[number].program);
            let places = if program.asks() { &program.hosts[..1] } else { &program.hosts[..] };
            for (place, host) in (0..).zip(places) {
                if self.share.elsewhere(*host).is_none() {
                    let nic = nic_of(&self.ports, &self.first, *host);
                    p.calls.add(nic, Due { at: program.begin.0, program: number as u16, place, call: Call::Begin });
                }
            }
        }
    }

    /// When a program's place at a NIC is told something next, ps.
    #[cold]
    pub(crate) fn next_call(&self, nic: u32) -> u64 {
        self.programs.as_ref().map_or(NEVER, |p| p.calls.next_at(nic))
    }

    /// A place at a NIC is told what is due by `now`, if anything is. The engine is then to do what it wants.
    pub(crate) fn call_program(&mut self, nic: u32, now: u64) {
        let Some(p) = &mut self.programs else { return };
        let Some(Due { program, place, call, .. }) = p.calls.take(nic, now) else { return };
        // What ranks compute may end after all messages.
        self.last_end = self.last_end.max(now);
        let machine = &mut p.all[usize::from(program)].machine;
        match call {
            Call::Begin => machine.begin(place, now, &mut p.acts),
            Call::Told { message } => machine.told(message, now, &mut p.acts),
            Call::Wake { token } => machine.woken(place, token, now, &mut p.acts),
        }
        self.collect(program);
    }

    /// Lists what a program has just asked for.
    fn collect(&mut self, program: u16) {
        let Some(p) = &mut self.programs else { return };
        let mut acts = std::mem::take(&mut p.acts);
        for act in acts.drain(..) {
            match act {
                Act::Wake { place, at, token } => {
                    let host = p.all[usize::from(program)].program.hosts[place as usize];
                    let nic = nic_of(&self.ports, &self.first, host);
                    p.calls.add(nic, Due { at, program, place, call: Call::Wake { token } });
                }
                Act::Send { message, from, to, bytes, nic } => {
                    p.wanted.push_back(Outgoing { program, message, ends: [from, to], bytes, nic });
                }
            }
        }
        p.acts = acts;
    }

    /// The last byte of a flow has arrived; it may be a program's message. In a network that is not in parts: messages that are flows are
    /// the sequential engine's.
    #[cold]
    pub(crate) fn program_flow_arrived(&mut self, slot: u32, now: u64) {
        let Some(p) = &mut self.programs else { return };
        let info = &self.infos[slot as usize];
        if let Some((program, message)) = p.by_flow.remove(&info.id) {
            let (least, back) = (info.ideal_receiver, info.ideal_sender - info.ideal_receiver);
            self.program_received(program, Letter { message, least, back }, now);
        }
    }

    /// The next message on a program's stream has arrived.
    pub(crate) fn program_stream_arrived(&mut self, stream: u32, now: u64) {
        let Some(p) = &mut self.programs else { return };
        let program = p.carriers.program_of(stream);
        if let Some(letter) = p.carriers.arrived(stream) {
            self.program_received(program, letter, now);
        }
    }

    fn program_received(&mut self, program: u16, letter: Letter, now: u64) {
        let Some(p) = &mut self.programs else { return };
        self.last_end = self.last_end.max(now);
        let running = &mut p.all[usize::from(program)];
        let done = running.machine.received(letter, now, &mut p.acts);
        let record = done.map(|query| record(&running.program, query));
        let message = letter.message;
        match running.machine.tells(message) {
            Some((_, true)) => running.machine.told(message, now, &mut p.acts),
            Some((place, false)) => {
                let host = running.program.hosts[place as usize];
                let told = Told { program, place, message, at: now + letter.back };
                match self.share.elsewhere(host) {
                    Some(part) => self.tell(part, Note::Told(told)),
                    None => self.tell_place(told),
                }
            }
            None => {}
        }
        self.collect(program);
        if let Some(record) = record {
            self.note_answer(record, now);
        }
    }

    /// A place here is to be told that its message has arrived.
    pub(crate) fn tell_place(&mut self, told: Told) {
        let Some(p) = &mut self.programs else { return };
        let Told { program, place, message, at } = told;
        let host = p.all[usize::from(program)].program.hosts[place as usize];
        let nic = nic_of(&self.ports, &self.first, host);
        p.calls.add(nic, Due { at, program, place, call: Call::Told { message } });
    }

    /// A program's message goes over the connection of its two places, which is opened if it is its first. Returns the NIC at which
    /// something has changed; the engine then looks at what it may send.
    ///
    /// # Errors
    /// More packets than a connection over RDMA can number; no way to the other place.
    pub(crate) fn send_on_stream<S: Schedule>(
        &mut self,
        outgoing: Outgoing,
        now: u64,
        schedule: &mut S,
    ) -> Result<Option<u32>, InputError> {
        let Outgoing { program, message, bytes, .. } = outgoing;
        let Some(p) = &mut self.programs else { return Ok(None) };
        let (stream, opens) = p.stream(outgoing, now);
        if let Some(spec) = opens {
            let slot = self.start_flow(STREAMS | u64::from(stream), spec, FIRST_PORT.wrapping_add(program))?;
            let nic = self.ports[self.flows[slot as usize].nic as usize].nic;
            self.nic_advance(nic, now, true, schedule);
            self.begin_at(nic, now);
            self.add_to_nic(slot);
        }
        let framing = self.scenario.framing;
        let Some((slot, packets)) = self.streams.as_ref().and_then(|s| s.sender_of(stream)) else { return Ok(None) };
        let flow = &self.flows[slot as usize];
        // A connection that was given up takes nothing any more.
        if !flow.alive {
            return Ok(None);
        }
        if packets + framing.split(bytes).0 > MOST_PACKETS {
            return Err(too_many_packets().field("workloads").value(bytes).allowed(INSTEAD_OF_OPEN));
        }
        let nic = self.ports[flow.nic as usize].nic;
        let letter = self.programs.as_ref().map(|p| p.carriers.letter(stream, message, bytes, &framing));
        self.nic_advance(nic, now, true, schedule);
        self.begin_at(nic, now);
        self.append(stream, bytes, letter, now);
        Ok(Some(nic))
    }

    /// Queries of programs that are not done, as they stand.
    pub(crate) fn unanswered_of_programs(&self) -> Vec<QueryRecord> {
        let all = self.programs.iter().flat_map(|p| &p.all);
        all.flat_map(|r| r.machine.unanswered().into_iter().map(|query| record(&r.program, query))).collect()
    }
}

/// The first NIC of a host, at which its places are called.
fn nic_of(ports: &[Port], first: &[u32], host: NodeId) -> u32 {
    ports[first[host as usize] as usize].nic
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
