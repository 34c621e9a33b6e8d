//! A rank's program written as its code reads: post, wait, compute.

use super::program::{Block, Edge, Op};

/// Ranks that take part in a collective: every `stride`-th from `first`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comm {
    /// Rank of member 0.
    pub first: u32,
    /// From one member's rank to the next one's.
    pub stride: u32,
    /// Members.
    pub size: u32,
    /// The member whose program is written.
    pub me: u32,
}

impl Comm {
    /// All ranks of a program, seen by one.
    pub fn world(size: u32, me: u32) -> Self {
        Self { first: 0, stride: 1, size, me }
    }

    /// The rank of a member; numbers go round.
    pub fn rank(&self, member: u32) -> u32 {
        self.first + member % self.size * self.stride
    }
}

/// Builds one block of one rank.
///
/// Sends and receives are posted and go on by themselves; [`wait`](Builder::wait) waits for all of them. A computation keeps the
/// program, not the messages, from going on.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    ops: Vec<Op>,
    edges: Vec<Edge>,
    /// What the next operation waits for.
    control: Vec<u32>,
    /// Posted and not waited for.
    open: Vec<u32>,
    /// The program has computed since it last posted something.
    computed: bool,
    /// What messages go by.
    nic: u8,
}

impl Builder {
    /// An empty block.
    pub fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, op: Op) -> u32 {
        let number = self.ops.len() as u32;
        self.ops.push(op);
        self.edges.extend(self.control.iter().map(|c| Edge { before: *c, after: number, start: false }));
        number
    }

    /// Computes for so many ns; nothing for 0.
    pub fn calc(&mut self, ns: u64) {
        if ns > 0 {
            let op = self.push(Op::calc(ns));
            self.control = vec![op];
            self.computed = true;
        }
    }

    /// Posts a send.
    pub fn isend(&mut self, to: u32, bytes: u64, tag: u32) {
        let op = self.push(Op { nic: self.nic, ..Op::send(to, bytes, tag) });
        self.open.push(op);
        self.computed = false;
    }

    /// Posts a receive.
    pub fn irecv(&mut self, from: u32, bytes: u64, tag: u32) {
        let op = self.push(Op { nic: self.nic, ..Op::recv(from, bytes, tag) });
        self.open.push(op);
        self.computed = false;
    }

    /// Waits for everything posted.
    pub fn wait(&mut self) {
        if self.open.is_empty() {
            return;
        }
        if !self.computed {
            // Whatever came before, what is posted came after it.
            self.control.clear();
        }
        self.control.append(&mut self.open);
        self.computed = false;
        self.join();
    }

    /// Several programs that each begin here and do not wait for one another; what follows waits for all of them. Each goes by the NIC of its
    /// number, of which there are 256.
    pub fn side_by_side(&mut self, count: u32, mut write: impl FnMut(&mut Self, u32)) {
        let (before, computed, nic) = (self.control.clone(), self.computed, self.nic);
        let mut ends = Vec::new();
        for number in 0..count {
            (self.control, self.computed, self.nic) = (before.clone(), computed, number as u8);
            write(self, number);
            self.wait();
            ends.append(&mut self.control);
        }
        ends.sort_unstable();
        ends.dedup();
        (self.control, self.computed, self.nic) = (ends, false, nic);
        self.join();
    }

    /// One operation to wait for keeps the edges few when many follow many.
    fn join(&mut self) {
        if self.control.len() > 2 {
            let join = self.push(Op::calc(0));
            self.control = vec![join];
        }
    }

    /// Sends and waits.
    pub fn send(&mut self, to: u32, bytes: u64, tag: u32) {
        self.isend(to, bytes, tag);
        self.wait();
    }

    /// Receives and waits.
    pub fn recv(&mut self, from: u32, bytes: u64, tag: u32) {
        self.irecv(from, bytes, tag);
        self.wait();
    }

    /// Sends to one and receives from another, or the same, and waits.
    pub fn exchange(&mut self, to: u32, sent: u64, from: u32, received: u64, tag: u32) {
        self.irecv(from, received, tag);
        self.isend(to, sent, tag);
        self.wait();
    }

    /// The block.
    ///
    /// # Panics
    /// Never: an operation waits for earlier ones only.
    pub fn finish(self) -> Block {
        Block::new(self.ops, self.edges).expect("edges go forward only")
    }
}
