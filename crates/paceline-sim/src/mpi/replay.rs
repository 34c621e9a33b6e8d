//! A program by itself: over an ideal network, or over none at all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::crossbar::Crossbar;
use super::machine::{Act, Machine, MachineConfig, Message};
use super::program::Program;

/// How a program went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replay {
    /// When all ranks were through, ps; `None` if they never were.
    pub runtime_ps: Option<u64>,
    /// When each rank was through, ps.
    pub finished_ps: Vec<Option<u64>>,
    /// Messages carried between ranks, requests and grants among them.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why it does not finish.
    pub stuck: Option<String>,
    /// Messages that arrived and were never received.
    pub unreceived: u64,
    /// Of messages that were longer than the receives that took them.
    pub truncated: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Wake { rank: u32, token: u32 },
    Received(Message),
}

/// Runs a program over an ideal network, or without one: messages take no time, and what is left is the program's own.
pub fn replay(program: &Arc<Program>, config: MachineConfig, network: Option<&Crossbar>) -> Replay {
    let mut machine = match network {
        Some(network) => Machine::on_ideal(Arc::clone(program), config, network),
        None => Machine::new(Arc::clone(program), config),
    };
    let mut events = BinaryHeap::new();
    let mut number = 0u64;
    let mut result = Replay::default();
    let mut acts = Vec::new();
    let mut now = 0;
    machine.begin(now, &mut acts);
    loop {
        for act in acts.drain(..) {
            let (at, event) = match act {
                Act::Wake { rank, at_ps, token } => (at_ps, Event::Wake { rank, token }),
                Act::Send { message, from, to, bytes, nic: _ } => {
                    result.messages += 1;
                    result.bytes = result.bytes.saturating_add(bytes);
                    let mut at = now;
                    if let (Some(network), Some(joins)) = (network, machine.joins()) {
                        let (load, arrived) = network.carry(from, to, bytes, now);
                        joins.send(message, load);
                        at = arrived;
                    }
                    (at, Event::Received(message))
                }
            };
            number += 1;
            events.push(Reverse((at, number, event)));
        }
        let Some(Reverse((at, _, event))) = events.pop() else { break };
        now = at;
        match event {
            Event::Wake { rank, token } => machine.woken(rank, token, now, &mut acts),
            Event::Received(message) => {
                machine.received(message, now, &mut acts);
                machine.sent(message, now, &mut acts);
            }
        }
    }
    let carried = machine.joins().map_or(0, |joins| joins.all_carried());
    Replay {
        runtime_ps: machine.finished().map(|at| at.max(carried)),
        finished_ps: (0..program.len()).map(|rank| machine.finish_of(rank)).collect(),
        stuck: machine.stuck(),
        unreceived: machine.unreceived(),
        truncated: machine.truncated(),
        ..result
    }
}
