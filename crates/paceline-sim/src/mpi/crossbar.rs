//! An ideal network: the time a program takes when only the links of the hosts cost anything.
//!
//! Every rank has a link to a switch without limits that stores and forwards packets. A message occupies its sender's link; once the
//! latency and its first packet are over it occupies its receiver's, in order of arrival and without gaps. Nothing is lost
//! and nothing else is sent. A send of a large message is over when the message has arrived. This is the denominator of slowdowns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use paceline_proto::units::BitsPerSec;

use super::machine::{Act, Machine, MachineConfig, Message};
use super::program::Program;

/// The network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossbar {
    /// Rate of the links; `None`: messages take no time.
    pub rate: Option<BitsPerSec>,
    /// Propagation from sender to receiver, ps.
    pub latency_ps: u64,
    /// Payload of a packet, bytes.
    pub payload: u32,
    /// What a packet adds to its payload on the wire, bytes.
    pub overhead: u32,
}

impl Crossbar {
    /// A network in which messages take no time: what is left is the programs' own.
    pub const INSTANT: Self = Self { rate: None, latency_ps: 0, payload: 1, overhead: 0 };

    /// Time of a message on a link, ps.
    fn time(&self, bytes: u64) -> u64 {
        let Some(rate) = self.rate else { return 0 };
        let packets = bytes.div_ceil(u64::from(self.payload.max(1)));
        rate.serialisation(bytes + packets * u64::from(self.overhead)).0
    }
}

/// How a program went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replay {
    /// When all ranks were through, ps; `None` if they never were.
    pub runtime_ps: Option<u64>,
    /// Messages carried between ranks, requests and grants among them.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why it does not finish.
    pub stuck: Option<String>,
    /// Messages that arrived and were never received.
    pub unreceived: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Wake {
        rank: u32,
        token: u32,
    },
    /// The first packet is at the receiver's link.
    Reached {
        message: Message,
        to: u32,
        bytes: u64,
    },
    Received(Message),
}

/// Runs a program over an ideal network.
pub fn replay(program: &Arc<Program>, config: MachineConfig, network: &Crossbar) -> Replay {
    let ranks = program.len() as usize;
    let mut machine = Machine::new(Arc::clone(program), config);
    let (mut sender_free, mut receiver_free) = (vec![0u64; ranks], vec![0u64; ranks]);
    let mut events = BinaryHeap::new();
    let mut number = 0u64;
    let mut result = Replay::default();
    let mut acts = Vec::new();
    let mut now = 0;
    machine.begin(now, &mut acts);
    loop {
        let mut push = |at: u64, event: Event| {
            number += 1;
            events.push(Reverse((at, number, event)));
        };
        for act in acts.drain(..) {
            match act {
                Act::Wake { rank, at_ps, token } => push(at_ps, Event::Wake { rank, token }),
                Act::Send { message, from, to, bytes } => {
                    result.messages += 1;
                    result.bytes = result.bytes.saturating_add(bytes);
                    let free = &mut sender_free[from as usize];
                    let start = now.max(*free);
                    *free = start.saturating_add(network.time(bytes));
                    let first = network.time(bytes.min(u64::from(network.payload)));
                    let reached = start.saturating_add(network.latency_ps).saturating_add(first);
                    push(reached, Event::Reached { message, to, bytes });
                }
            }
        }
        let Some(Reverse((at, _, event))) = events.pop() else { break };
        now = at;
        match event {
            Event::Wake { rank, token } => machine.woken(rank, token, now, &mut acts),
            Event::Received(message) => {
                machine.received(message, now, &mut acts);
                machine.sent(message, now, &mut acts);
            }
            Event::Reached { message, to, bytes } => {
                let free = &mut receiver_free[to as usize];
                *free = now.max(*free).saturating_add(network.time(bytes));
                number += 1;
                events.push(Reverse((*free, number, Event::Received(message))));
            }
        }
    }
    Replay { runtime_ps: machine.finished(), stuck: machine.stuck(), unreceived: machine.unreceived(), ..result }
}
