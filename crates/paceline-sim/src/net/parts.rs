//! A network in parts, one per thread: what they tell each other beside packets, and how they become one again.

use std::sync::Arc;

use super::Net;
use crate::net::flow::{Receiving, SLOT_MASK};
use crate::net::host::message::Incoming;
use crate::net::programs::{Letter, Told};
use crate::packet::{LONG, NONE};

/// What a part tells another about a flow; in time, since packets take at least one window.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// A flow has started: what its receiver keeps, and the paths that its packets cannot carry.
    Opened {
        /// The flow's number in packets.
        slot: u32,
        receiving: Receiving,
        long: Option<[Box<[u16]>; 2]>,
        /// What the receiver's NIC must know of a message.
        incoming: Option<Incoming>,
    },
    /// A datagram has arrived at `at`, or was lost; `flow` as in its packets.
    Datagram { flow: u32, arrived: Option<u64> },
    /// A flow has ended at its sender, and its receiver knows nothing of it from `at` on; `flow` as in its packets.
    Forgotten { flow: u32, at: u64 },
    /// A message has ended at its sender; `flow` as in its packets.
    Finished { flow: u32, at: u64 },
    /// The stream of a connection's responses has started: the least time of one, ps.
    Answers { connection: u32, least: u64 },
    /// A message was appended to a stream, whose end is now there.
    Appended { stream: u32, end: u64, letter: Option<Letter> },
    /// A message of a program's place there has arrived.
    Told(Told),
    /// Its last byte has arrived.
    Done { slot: u32, generation: u8, at: u64 },
}

/// Which part a network is, of how many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    pub(crate) me: u8,
    /// Bits of a flow's number that name the part of its sender.
    pub(crate) bits: u32,
    /// Part of every node; empty when there is only one.
    pub(crate) part_of: Arc<[u8]>,
}

impl Share {
    /// The part that looks after a node, where it is not this one.
    #[inline]
    pub(crate) fn elsewhere(&self, node: u32) -> Option<u8> {
        self.part_of.get(node as usize).copied().filter(|part| *part != self.me)
    }
}

impl Net {
    /// Makes this network one of several parts: it looks after the nodes that `part_of` gives to `me`.
    pub(crate) fn become_part(&mut self, me: u8, parts: usize, part_of: &Arc<[u8]>) {
        let bits = parts.next_power_of_two().trailing_zeros();
        self.share = Share { me, bits, part_of: Arc::clone(part_of) };
        self.notes.resize_with(parts, Vec::new);
        self.receiving = self.receiving.with_bits(bits);
        if let Some(m) = &mut self.messages {
            m.become_part(bits);
        }
    }

    /// A flow's number in packets.
    #[inline(always)]
    pub(crate) fn number(&self, slot: u32) -> u32 {
        slot << self.share.bits | u32::from(self.share.me)
    }

    /// Whether packets of a flow, there or back, cannot carry their way.
    pub(crate) fn is_long(&self, slot: u32) -> bool {
        self.flows[slot as usize].flags & LONG != 0
            || self.long_paths.get(self.number(slot) as usize).is_some_and(|p| !p[0].is_empty())
    }

    /// Tells the receiver's part, and with a long path all parts, of a flow that has started.
    pub(crate) fn announce(&mut self, slot: u32, dst: u32) {
        if self.share.part_of.is_empty() {
            return;
        }
        let number = self.number(slot);
        let long = self.is_long(slot);
        let to = self.share.part_of[dst as usize];
        let paths = long.then(|| self.long_paths[number as usize].clone());
        let last = self.share.part_of.iter().copied().max().unwrap_or(0);
        let me = self.share.me;
        for part in (0..=last).filter(|p| *p != me && (long || *p == to)) {
            let receiving = self.receiving[number];
            let incoming = self.messages.as_ref().map(|m| m.opened(number));
            self.tell(part, Note::Opened { slot: number, receiving, long: paths.clone(), incoming });
        }
    }

    /// Tells the sender's part that the last byte has arrived.
    #[inline]
    pub(crate) fn announce_done(&mut self, number: u32, generation: u8, at: u64) {
        let part = (number & SLOT_MASK & ((1 << self.share.bits) - 1)) as u8;
        if part != self.share.me {
            self.tell(part, Note::Done { slot: number, generation, at });
        }
    }

    /// Leaves a note for another part.
    pub(crate) fn tell(&mut self, part: u8, note: Note) {
        self.notes[usize::from(part)].push(note);
    }

    /// Takes a note from another part.
    pub(crate) fn accept(&mut self, note: Note) {
        match note {
            Note::Finished { flow, at } => {
                if let Some(m) = &mut self.messages {
                    m.finished(flow, at);
                }
            }
            Note::Forgotten { flow, at } => self.forget(flow, at),
            Note::Datagram { flow, arrived } => self.datagram_over(flow, arrived),
            Note::Answers { connection, least } => {
                if let Some(rpcs) = &mut self.rpcs {
                    rpcs.learn_response(connection, least);
                }
            }
            Note::Appended { stream, end, letter } => self.appended(stream, end, letter),
            Note::Told(told) => self.tell_place(told),
            Note::Opened { slot, receiving, long, incoming } => {
                if let (Some(m), Some(incoming)) = (&mut self.messages, incoming) {
                    m.open(slot, incoming);
                }
                self.receiving.set(slot, receiving);
                if let Some(paths) = long {
                    self.set_long_paths(slot, paths);
                }
            }
            Note::Done { slot, generation, at } => {
                let state = &mut self.receiving[slot];
                if state.generation == generation {
                    state.done_at = at;
                }
            }
        }
    }

    /// Keeps the paths of a flow whose packets cannot carry them.
    pub(crate) fn set_long_paths(&mut self, number: u32, paths: [Box<[u16]>; 2]) {
        if self.long_paths.len() <= number as usize {
            self.long_paths.resize(number as usize + 1, [Box::default(), Box::default()]);
        }
        self.long_paths[number as usize] = paths;
    }

    /// Takes over all that another part has come to know; for records, when the run is over.
    pub(crate) fn absorb(&mut self, mut other: Net) {
        let part = other.share.me;
        for i in 0..self.ports.len() {
            if self.share.part_of[self.ports[i].node as usize] == part {
                self.ports[i] = other.ports[i].clone();
                self.pauses[i] = other.pauses[i].take();
            }
            self.port_counts[i].add(&other.port_counts[i]);
        }
        self.levels.absorb(&other.levels);
        self.buffers.max_buffered = self.buffers.max_buffered.max(other.buffers.max_buffered);
        self.series.absorb(&other.series);
        self.counters.add(&other.counters);
        self.traffic.iter_mut().zip(&other.traffic).for_each(|(mine, theirs)| mine.add(theirs));
        self.offered.iter_mut().zip(&other.offered).for_each(|(a, b)| *a += b);
        self.first_start = self.first_start.min(other.first_start);
        self.last_start = self.last_start.max(other.last_start);
        self.last_end = self.last_end.max(other.last_end);
        self.timeouts += other.timeouts;
        self.progress += other.progress;
        self.used.iter_mut().zip(&other.used).for_each(|(mine, theirs)| *mine |= theirs);
        self.datagrams = self.datagrams.wrapping_add(other.datagrams);
        for (mine, theirs) in [
            (&mut self.first_failure, other.first_failure.take()),
            (&mut self.first_drop, other.first_drop.take()),
            (&mut self.first_impossible, other.first_impossible.take()),
        ] {
            if let Some(theirs) = theirs
                && mine.as_ref().is_none_or(|mine| theirs < *mine)
            {
                *mine = Some(theirs);
            }
        }
        for context in std::mem::take(&mut other.contexts) {
            if self.contexts.iter().all(|mine| mine.params != context.params) {
                self.contexts.push(context);
            }
        }
        self.routes.note_choice(other.routes.has_choice());
        if let (Some(mine), Some(theirs)) = (&mut self.messages, &mut other.messages) {
            let (ports, part_of) = (&self.ports, &self.share.part_of);
            let own = ports.iter().filter(|p| p.nic != NONE && part_of[p.node as usize] == part);
            mine.absorb(theirs, own.map(|p| p.nic));
        }
        if let (Some(mine), Some(theirs)) = (&mut self.streams, &other.streams) {
            mine.absorb(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.adapters, &other.adapters) {
            mine.absorb(theirs);
        }
        self.absorb_rpcs(&mut other);
        if let (Some(mine), Some(theirs)) = (&mut self.programs, &mut other.programs) {
            mine.absorb(theirs, |host| self.share.part_of[host as usize] == part);
        }
        self.books.absorb(&other.books, other.in_network());
        self.arena.adopt(other.arena.live());
        for (slot, flow) in other.flows.iter().enumerate() {
            self.receiving.set(self.flows.len() as u32, other.receiving[other.number(slot as u32)]);
            self.flows.push(flow.clone());
            self.infos.push(other.infos[slot]);
        }
    }

    /// Gets ready to absorb the other parts: flows are numbered as if there were none.
    pub(crate) fn settle(&mut self) {
        let mut receiving = self.receiving.with_bits(0);
        (0..self.flows.len() as u32).for_each(|slot| receiving.set(slot, self.receiving[self.number(slot)]));
        self.receiving = receiving;
        self.share.bits = 0;
    }
}
