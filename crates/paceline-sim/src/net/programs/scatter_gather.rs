//! Scatter and gather, as search and web services do it: a query comes to a host, the high-level aggregator (HLA); it asks one
//! host in every rack, a mid-level aggregator (MLA); each MLA asks all other hosts of its rack, gathers their replies and
//! answers the HLA. The query is done when all MLAs have answered.
//!
//! Source: the traffic of Crisan, Anghel, Birke, Minkenberg, Gusat, "Short and fat: TCP performance in CEE datacenter networks"
//! (`HotI` 2011). What the text at hand leaves open is a parameter or follows here: aggregators and the MLA of each rack are
//! drawn evenly, an HLA is not the MLA of its own rack, and is asked by that rack's MLA like any other host.

use paceline_proto::rng::{Purpose, Stream, below};

use super::{Act, Answered, place};
use crate::workload::poisson::next_start;
use crate::workload::program::ScatterGather;
use crate::workload::stream_id;

/// Where a message is in its query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// From the HLA to an MLA.
    Ask,
    /// From the MLA to a worker.
    Forward,
    /// From the worker back.
    Reply,
    /// From the MLA to the HLA.
    Answer,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    query: u32,
    mla: u32,
    worker: u32,
    stage: Stage,
    /// Least time since the query came in, ps, by which it could begin.
    since: u64,
}

/// A mid-level aggregator at work.
#[derive(Clone, Copy, Debug)]
struct Mla {
    place: u32,
    waiting: u32,
    /// Least time since the query came in by which its replies could all be there, ps.
    least: u64,
}

#[derive(Clone, Debug)]
struct Query {
    number: u32,
    start: u64,
    hla: u32,
    waiting: u32,
    /// Least time of the whole query so far, ps.
    least: u64,
    bytes: [u64; 2],
    mlas: Vec<Mla>,
}

/// The machine that runs it.
#[derive(Clone, Debug)]
pub struct Machine {
    workload: ScatterGather,
    hosts: u32,
    /// Rack and number in the rack, by place.
    rack_of: Vec<(u32, u32)>,
    gaps: Stream,
    carry: f64,
    issued: u32,
    queries: Vec<Query>,
    free_queries: Vec<u32>,
    messages: Vec<Message>,
    free_messages: Vec<u32>,
    choices: u64,
}

impl Machine {
    /// At rest, before [`Machine::begin`]. `number`: of the workload.
    pub fn new(workload: ScatterGather, seed: u64, number: u16) -> Self {
        let hosts = workload.racks.iter().map(|r| r.len() as u32).sum();
        let mut rack_of = vec![(0, 0); hosts as usize];
        for (rack, members) in workload.racks.iter().enumerate() {
            for (i, place) in members.iter().enumerate() {
                rack_of[*place as usize] = (rack as u32, i as u32);
            }
        }
        let stream = |purpose| Stream::new(seed, purpose, stream_id(number, 0));
        Self {
            workload,
            hosts,
            rack_of,
            gaps: stream(Purpose::Arrivals),
            carry: 0.0,
            issued: 0,
            queries: Vec::new(),
            free_queries: Vec::new(),
            messages: Vec::new(),
            free_messages: Vec::new(),
            choices: stream(Purpose::Destinations).at(0),
        }
    }

    /// Queries that have come in.
    pub fn issued(&self) -> u32 {
        self.issued
    }

    /// Queries that are not done; the next one is a call that is due.
    pub fn working(&self) -> u64 {
        (self.queries.len() - self.free_queries.len()) as u64
    }

    /// Its time has come.
    pub fn begin(&mut self, now: u64, acts: &mut Vec<Act>) {
        self.plan(now, acts);
    }

    /// Plans the next query after `now`.
    fn plan(&mut self, now: u64, acts: &mut Vec<Act>) {
        let over = self.workload.count.is_some_and(|n| u64::from(self.issued) >= n) || self.issued == u32::MAX;
        let (end, gap) = (self.workload.end.0, self.workload.mean_gap);
        if let Some(at) = next_start(now, end, &mut self.gaps, gap, &mut self.carry).filter(|_| !over) {
            let place = self.draw(self.issued, 1, self.hosts);
            acts.push(Act::Wake { place, at, token: 0 });
        }
    }

    /// The `i`-th draw of a query, below `n`.
    fn draw(&self, query: u32, i: u64, n: u32) -> u32 {
        below(paceline_proto::rng::hash3(self.choices, u64::from(query), i), n)
    }

    /// The time asked for has come: a query comes in.
    pub fn woken(&mut self, now: u64, acts: &mut Vec<Act>) {
        let number = self.issued;
        self.issued += 1;
        let (hla, mut drawn) = (self.draw(number, 1, self.hosts), 1);
        let mut mlas = Vec::with_capacity(self.workload.racks.len());
        for (rack, members) in self.workload.racks.iter().enumerate() {
            let (own, place) = self.rack_of[hla as usize];
            let is_own = own as usize == rack;
            let candidates = members.len() as u32 - u32::from(is_own);
            if candidates == 0 {
                continue;
            }
            drawn += 1;
            let i = self.draw(number, drawn, candidates);
            // The HLA's own place is passed over.
            let i = i + u32::from(is_own && i >= place);
            mlas.push(Mla { place: members[i as usize], waiting: 0, least: 0 });
        }
        let query = Query { number, start: now, hla, waiting: mlas.len() as u32, least: 0, bytes: [0; 2], mlas };
        let slot = place(&mut self.queries, &mut self.free_queries, query);
        for mla in 0..self.queries[slot as usize].mlas.len() as u32 {
            self.send(Message { query: slot, mla, worker: 0, stage: Stage::Ask, since: 0 }, acts);
        }
        self.plan(now, acts);
    }

    fn send(&mut self, m: Message, acts: &mut Vec<Act>) {
        let number = place(&mut self.messages, &mut self.free_messages, m);
        let query = &mut self.queries[m.query as usize];
        let (hla, mla) = (query.hla, query.mlas[m.mla as usize].place);
        let (from, to, way) = match m.stage {
            Stage::Ask => (hla, mla, 0),
            Stage::Forward => (mla, m.worker, 0),
            Stage::Reply => (m.worker, mla, 1),
            Stage::Answer => (mla, hla, 1),
        };
        let bytes = if way == 0 { self.workload.request } else { self.workload.response };
        query.bytes[way] += bytes;
        acts.push(Act::Send { message: number.into(), from, to, bytes, nic: None });
    }

    /// A message has arrived, `ideal` ps after its start at the earliest. Returns the query that it completes.
    pub fn received(&mut self, message: u32, ideal: u64, now: u64, acts: &mut Vec<Act>) -> Option<Answered> {
        let m = self.messages[message as usize];
        self.free_messages.push(message);
        let least = m.since + ideal;
        let query = &mut self.queries[m.query as usize];
        let mla = &mut query.mlas[m.mla as usize];
        match m.stage {
            Stage::Ask => {
                let (rack, own) = self.rack_of[mla.place as usize];
                let members = &self.workload.racks[rack as usize];
                mla.waiting = members.len() as u32 - 1;
                if mla.waiting == 0 {
                    self.send(Message { stage: Stage::Answer, since: least, ..m }, acts);
                    return None;
                }
                let workers: Vec<u32> = (0..members.len()).filter(|i| *i != own as usize).map(|i| members[i]).collect();
                for worker in workers {
                    self.send(Message { worker, stage: Stage::Forward, since: least, ..m }, acts);
                }
            }
            Stage::Forward => self.send(Message { stage: Stage::Reply, since: least, ..m }, acts),
            Stage::Reply => {
                mla.waiting -= 1;
                mla.least = mla.least.max(least);
                let since = mla.least;
                if mla.waiting == 0 {
                    self.send(Message { stage: Stage::Answer, since, ..m }, acts);
                }
            }
            Stage::Answer => {
                query.waiting -= 1;
                query.least = query.least.max(least);
                if query.waiting == 0 {
                    let done = answered(query, now - query.start);
                    self.free_queries.push(m.query);
                    return Some(done);
                }
            }
        }
        None
    }

    /// The queries that are not done, as they stand.
    pub fn unanswered(&self) -> Vec<Answered> {
        let free: std::collections::BTreeSet<u32> = self.free_queries.iter().copied().collect();
        let open = self.queries.iter().enumerate().filter(|(i, _)| !free.contains(&(*i as u32)));
        open.map(|(_, query)| answered(query, 0)).collect()
    }
}

fn answered(query: &Query, qct: u64) -> Answered {
    let &Query { number, start, hla, least, bytes: [request, response], .. } = query;
    Answered { number, place: hla, start, qct, ideal: least, request, response }
}

#[cfg(test)]
mod tests {
    use paceline_proto::units::Time;

    use super::*;

    /// Runs a machine over a network in which every message takes `took` ps, and returns its queries and messages.
    fn run(workload: &ScatterGather, took: u64) -> (Vec<Answered>, Vec<(u32, u32, u64)>) {
        let mut machine = Machine::new(workload.clone(), 7, 0);
        let (mut done, mut sent, mut acts) = (Vec::new(), Vec::new(), Vec::new());
        let mut list = std::collections::BTreeSet::new();
        machine.begin(workload.begin.0, &mut acts);
        let (mut now, mut order) = (0, 0u32);
        loop {
            for act in acts.drain(..) {
                order += 1;
                match act {
                    Act::Wake { at, .. } => list.insert((at, order, None)),
                    Act::Send { message, from, to, bytes, .. } => {
                        let message = message as u32;
                        assert_ne!(from, to, "a host asks itself");
                        sent.push((from, to, bytes));
                        list.insert((now + took, order, Some(message)))
                    }
                };
            }
            let Some((at, _, message)) = list.pop_first() else { break };
            now = at;
            match message {
                Some(m) => done.extend(machine.received(m, took, now, &mut acts)),
                None => machine.woken(now, &mut acts),
            }
        }
        assert!(machine.working() == 0 && machine.unanswered().is_empty());
        (done, sent)
    }

    fn workload(racks: &[u32]) -> ScatterGather {
        let mut next = 0;
        let racks = racks.iter().map(|n| {
            next += n;
            (next - n..next).collect()
        });
        let (begin, end) = (Time(5), Time(10_000_000_000));
        let racks = racks.collect();
        ScatterGather { racks, request: 100, response: 300, mean_gap: 1e9, begin, end, count: Some(5) }
    }

    /// Each query asks one MLA in every rack and through it everybody else there, and takes four messages one after the other.
    #[test]
    fn a_query_reaches_every_host() {
        let (done, sent) = run(&workload(&[4, 4, 4]), 10);
        assert_eq!(done.len(), 5);
        for q in &done {
            // Three MLAs with three workers each, there and back.
            assert_eq!((q.qct, q.ideal, q.request, q.response), (40, 40, 100 * (3 + 9), 300 * (3 + 9)));
        }
        assert_eq!(sent.len(), 5 * 2 * (3 + 9));
        let hlas: std::collections::BTreeSet<u32> = done.iter().map(|q| q.place).collect();
        assert!(hlas.len() > 1, "queries come to random hosts");
    }

    /// A rack with the HLA alone has nobody to ask, and one with a single host answers at once.
    #[test]
    fn small_racks_answer_too() {
        let (done, _) = run(&workload(&[1, 2]), 10);
        assert!(done.iter().all(|q| q.qct == 20 || q.qct == 40), "{done:?}");
    }

    /// No query comes at or after the end.
    #[test]
    fn the_end_ends_it() {
        let w = ScatterGather { count: None, ..workload(&[2, 2]) };
        let (done, _) = run(&w, 10);
        assert!(!done.is_empty() && done.iter().all(|q| q.start < w.end.0));
    }
}
