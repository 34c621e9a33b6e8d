//! What counts as offered load.
//!
//! Open-loop traffic comes whatever the network does with it: what it asks for is its offered load, and may be more than links
//! can take. In a *closed loop* a message waits for earlier ones: those of ranks, and queries of which a fixed number is
//! outstanding. Such traffic slows down with the network; it is carried, and offers no load of its own.

use crate::net::Net;
use crate::net::streams::Carries;
use crate::scenario::Scenario;
use crate::workload::program::{Kind, Program};
use crate::workload::rpc::{Queries, Rpc};

impl Program {
    /// Whether its messages wait for one another alone. Queries that spread come from outside, at random instants.
    pub fn is_closed_loop(&self) -> bool {
        match self.kind {
            Kind::Mpi(_) => true,
            Kind::ScatterGather(_) => false,
        }
    }
}

impl Rpc {
    /// Whether a query is issued only when another one is answered.
    pub fn is_closed_loop(&self) -> bool {
        matches!(self.queries, Queries::Outstanding(_))
    }
}

/// Names of the groups with closed-loop traffic, in the order of the scenario's groups.
pub(crate) fn closed_loop_groups(scenario: &Scenario) -> Vec<String> {
    let programs = scenario.programs.iter().filter(|p| p.is_closed_loop()).map(|p| p.flow.group);
    let rpcs = scenario.rpcs.iter().filter(|r| r.is_closed_loop()).map(|r| r.flow.group);
    let closed: Vec<usize> = programs.chain(rpcs).map(usize::from).collect();
    let groups = scenario.groups.iter().enumerate();
    groups.filter(|(i, _)| closed.contains(i)).map(|(_, name)| name.clone()).collect()
}

impl Net {
    /// Whether a flow of its own is offered load.
    #[inline]
    pub(crate) fn offers_flow(&self, id: u64) -> bool {
        self.programs.as_ref().is_none_or(|p| !p.program_of_flow(id).is_some_and(Program::is_closed_loop))
    }

    /// A message of `frames` bytes on the wire, headers included, is given to a stream.
    pub(crate) fn offer_message(&mut self, stream: u32, frames: u64, now: u64) {
        let Some(streams) = &self.streams else { return };
        let carries = streams.carries(stream);
        let closed = match carries {
            Carries::Queries(c) | Carries::Responses(c) => self.rpcs.as_ref().is_some_and(|r| r.of(c).is_closed_loop()),
            Carries::Messages => self.programs.as_ref().is_some_and(|p| p.program_of(stream).is_closed_loop()),
        };
        if closed {
            return;
        }
        for direction in streams.directions(stream) {
            self.offered[usize::from(*direction)] += frames;
        }
        // Responses to the last queries follow when nothing more is asked for.
        if !matches!(carries, Carries::Responses(_)) {
            self.first_start = self.first_start.min(now);
            self.last_start = self.last_start.max(now);
        }
    }
}
