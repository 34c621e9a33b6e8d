//! Message-passing programs ([`crate::mpi`]) at the hosts: rank by place, messages by what they say of themselves.

use std::sync::Arc;

use paceline_proto::units::Time;

use super::Act;
use crate::mpi::{self, Message};
use crate::workload::program::Mpi;

/// A message-passing program on its way.
#[derive(Clone, Debug)]
pub struct Machine {
    ranks: mpi::Machine,
    begin: u64,
    /// Senders are told of arrivals at once.
    at_once: bool,
    acts: Vec<mpi::Act>,
}

impl Machine {
    /// A machine that has not begun.
    pub fn new(workload: &Mpi, begin: Time) -> Self {
        let ranks = mpi::Machine::new(Arc::clone(&workload.program), workload.config);
        Self { ranks, begin: begin.0, at_once: workload.at_once, acts: Vec::new() }
    }

    /// A rank begins.
    pub fn begin(&mut self, rank: u32, now: u64, acts: &mut Vec<Act>) {
        self.ranks.begin_rank(rank, now, &mut self.acts);
        self.translate(acts);
    }

    /// An instant that a rank asked for has come.
    pub fn woken(&mut self, rank: u32, token: u32, now: u64, acts: &mut Vec<Act>) {
        self.ranks.woken(rank, token, now, &mut self.acts);
        self.translate(acts);
    }

    /// A message has arrived.
    pub fn received(&mut self, message: u64, now: u64, acts: &mut Vec<Act>) {
        self.ranks.received(Message::from_bits(message), now, &mut self.acts);
        self.translate(acts);
    }

    /// The rank that is to be told that this message has arrived, and whether at once.
    pub fn tells(&self, message: u64) -> Option<(u32, bool)> {
        Some((self.ranks.waits_for_arrival(Message::from_bits(message))?, self.at_once))
    }

    /// The sender of a message that has arrived is told.
    pub fn told(&mut self, message: u64, now: u64, acts: &mut Vec<Act>) {
        self.ranks.sent(Message::from_bits(message), now, &mut self.acts);
        self.translate(acts);
    }

    fn translate(&mut self, acts: &mut Vec<Act>) {
        acts.extend(self.acts.drain(..).map(|act| match act {
            mpi::Act::Send { message, from, to, bytes, nic } => {
                Act::Send { message: message.bits(), from, to, bytes, nic }
            }
            mpi::Act::Wake { rank, at_ps, token } => Act::Wake { place: rank, at: at_ps, token },
        }));
    }

    /// Ranks that have begun and are not through.
    pub fn working(&self) -> u64 {
        self.ranks.working().into()
    }

    /// Takes over these ranks of another machine of the same program, which has run them.
    pub fn absorb(&mut self, other: &mut Self, ranks: impl Iterator<Item = u32>) {
        self.ranks.absorb(&mut other.ranks, ranks);
    }

    /// What it waits for when nothing more happens.
    pub fn stuck(&self) -> String {
        self.ranks.stuck().unwrap_or_default()
    }

    /// How long all ranks together took, ps, once they are through.
    pub fn runtime(&self) -> Option<u64> {
        self.ranks.finished().map(|at| at - self.begin)
    }

    /// When a rank was through, ps.
    pub fn finish_of(&self, rank: u32) -> Option<u64> {
        self.ranks.finish_of(rank)
    }

    /// Whether a rank has begun.
    pub fn has_begun(&self, rank: u32) -> bool {
        self.ranks.has_begun(rank)
    }

    /// Of messages that were longer than the receives that took them.
    pub fn truncated(&self) -> Option<String> {
        self.ranks.truncated()
    }

    /// Operations that are over.
    pub fn operations_done(&self) -> u64 {
        self.ranks.operations_done()
    }

    /// Messages that arrived and were never received.
    pub fn unreceived(&self) -> u64 {
        self.ranks.unreceived()
    }
}
