//! Message-passing programs ([`crate::mpi`]) at the hosts: rank by place, with names for messages and instants as the engine wants them.

use std::sync::Arc;

use super::{Act, Answered};
use crate::mpi::{self, Message};
use crate::workload::program::Mpi;

/// A message-passing program on its way.
#[derive(Clone, Debug)]
pub struct Machine {
    ranks: mpi::Machine,
    begin: u64,
    acts: Vec<mpi::Act>,
    /// Messages under way by name, and names that are free.
    messages: Vec<Message>,
    free_messages: Vec<u32>,
    /// Rank and token of instants asked for, by name.
    wakes: Vec<(u32, u32)>,
    free_wakes: Vec<u32>,
}

impl Machine {
    /// A machine that has not begun.
    pub fn new(workload: &Mpi) -> Self {
        let ranks = mpi::Machine::new(Arc::clone(&workload.program), workload.config);
        Self {
            ranks,
            begin: 0,
            acts: Vec::new(),
            messages: Vec::new(),
            free_messages: Vec::new(),
            wakes: Vec::new(),
            free_wakes: Vec::new(),
        }
    }

    /// All ranks begin.
    pub fn begin(&mut self, now: u64, acts: &mut Vec<Act>) {
        self.begin = now;
        self.ranks.begin(now, &mut self.acts);
        self.translate(acts);
    }

    /// An instant asked for has come.
    pub fn woken(&mut self, name: u32, now: u64, acts: &mut Vec<Act>) {
        let (rank, token) = self.wakes[name as usize];
        self.free_wakes.push(name);
        self.ranks.woken(rank, token, now, &mut self.acts);
        self.translate(acts);
    }

    /// A message has arrived. Its sender is told at once: a socket takes the last byte before it arrives, an acknowledgement comes
    /// after it, so that the instant is between those at which transports let go of a message.
    pub fn received(&mut self, name: u32, now: u64, acts: &mut Vec<Act>) -> Option<Answered> {
        let message = self.messages[name as usize];
        self.free_messages.push(name);
        self.ranks.received(message, now, &mut self.acts);
        self.ranks.sent(message, now, &mut self.acts);
        self.translate(acts);
        None
    }

    fn translate(&mut self, acts: &mut Vec<Act>) {
        for act in self.acts.drain(..) {
            acts.push(match act {
                mpi::Act::Send { message, from, to, bytes } => {
                    let name = super::place(&mut self.messages, &mut self.free_messages, message);
                    Act::Send { message: name, from, to, bytes }
                }
                mpi::Act::Wake { rank, at_ps, token } => {
                    let name = super::place(&mut self.wakes, &mut self.free_wakes, (rank, token));
                    Act::Wake { at: at_ps, token: name }
                }
            });
        }
    }

    /// Whether all ranks are through.
    pub fn is_idle(&self) -> bool {
        self.ranks.finished().is_some()
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

    /// Operations that are over.
    pub fn operations_done(&self) -> u64 {
        self.ranks.operations_done()
    }

    /// Messages that arrived and were never received.
    pub fn unreceived(&self) -> u64 {
        self.ranks.unreceived()
    }
}
