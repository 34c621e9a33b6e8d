//! Packets on their way, by the window and the egress port they will be looked at.
//!
//! One list per (window, port), unordered: it is sorted when its window comes. Lists are chains of small blocks from one
//! pool, so that only what is on the way takes memory and a run allocates only while it grows.

use crate::packet::Handle;

/// Keys a block holds: two cache lines.
const BLOCK: usize = 16;
/// End of a chain.
const END: u32 = u32::MAX;

/// Time within the window in the upper half, packet handle in the lower.
pub(super) type Key = u64;

#[derive(Clone, Copy, Debug)]
struct List {
    len: u32,
    block: u32,
}

const EMPTY: List = List { len: 0, block: END };

#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Block([Key; BLOCK]);

/// A ring of windows.
#[derive(Debug)]
pub(super) struct Inboxes {
    width: u64,
    ports: usize,
    slots: usize,
    lists: Vec<List>,
    blocks: Vec<Block>,
    /// The block that follows each block in its list, or in the list of free ones.
    next: Vec<u32>,
    free: u32,
    /// One bit per port and slot: something is to be done there in that window.
    active: Vec<u64>,
    words: usize,
    /// Words of `active` that are not zero, at least; by slot.
    touched: Vec<u32>,
    /// Window being run and its start.
    window: u64,
    start: u64,
    /// The two windows that follow.
    near: [Near; 2],
}

/// Where a window's lists are.
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    start: u64,
    slot: usize,
    /// Index of its first list.
    first: usize,
}

impl Inboxes {
    /// `width` in ps; `span`: longest time from the start of a window to an arrival caused in it, ps.
    pub(super) fn new(width: u64, span: u64, ports: usize) -> Self {
        let slots = (span / width + 2).next_power_of_two() as usize;
        let words = ports.div_ceil(64);
        Self {
            width,
            ports,
            slots,
            lists: vec![EMPTY; slots * ports],
            blocks: Vec::new(),
            next: Vec::new(),
            free: END,
            active: vec![0; slots * words],
            words,
            touched: vec![0; slots],
            window: 0,
            start: 0,
            near: [Near::default(); 2],
        }
    }

    /// Windows the ring covers, the present one included.
    pub(super) fn slots(&self) -> u64 {
        self.slots as u64
    }

    /// Length of a window, ps.
    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// Gives back part of a word taken from the present window.
    pub(super) fn put_back(&mut self, word: usize, bits: u64) {
        let slot = self.slot(self.window);
        self.active[slot * self.words + word] = bits;
    }

    /// Goes on to a window.
    pub(super) fn enter(&mut self, window: u64) {
        self.window = window;
        self.start = window * self.width;
        self.near = [1, 2].map(|ahead| {
            let slot = self.slot(window + ahead);
            Near { start: self.start + ahead * self.width, slot, first: slot * self.ports }
        });
    }

    /// Start of the present window.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The first of the following windows in the ring in which anything is to be done.
    pub(super) fn next_active(&self) -> Option<u64> {
        (self.window + 1..self.window + self.slots as u64).find(|w| self.touched[self.slot(*w)] != 0)
    }

    #[inline(always)]
    fn slot(&self, window: u64) -> usize {
        window as usize & (self.slots - 1)
    }

    /// The window a time from now on falls into.
    #[inline(always)]
    fn window_of(&self, at: u64) -> u64 {
        let offset = at - self.start;
        // A division costs as much as the rest; nearly all packets arrive one or two windows on.
        if offset < self.width {
            self.window
        } else if offset < 2 * self.width {
            self.window + 1
        } else if offset < 3 * self.width {
            self.window + 2
        } else {
            self.window + offset / self.width
        }
    }

    /// A packet will arrive.
    #[inline(always)]
    pub(super) fn push(&mut self, port: u32, at: u64, h: Handle) {
        // Nearly all arrive one or two windows on; a division would cost as much as the rest.
        let near = &self.near[usize::from(at >= self.near[1].start)];
        let (slot, first, start) = if at < self.near[1].start + self.width {
            (near.slot, near.first, near.start)
        } else {
            let ahead = (at - self.start) / self.width;
            let slot = self.slot(self.window + ahead);
            (slot, slot * self.ports, self.start + ahead * self.width)
        };
        debug_assert!(at >= start && slot != self.slot(self.window), "lookahead violated");
        self.append(slot, first, port, (at - start) << 32 | u64::from(h));
    }

    /// Gives back a key drained from the present window.
    #[cold]
    pub(super) fn put_back_key(&mut self, port: u32, key: Key) {
        let slot = self.slot(self.window);
        self.append(slot, slot * self.ports, port, key);
    }

    #[inline(always)]
    fn append(&mut self, slot: usize, first: usize, port: u32, key: Key) {
        let list = &mut self.lists[first + port as usize];
        let at = list.len as usize % BLOCK;
        if at == 0 {
            if list.len == 0 {
                let word = &mut self.active[slot * self.words + (port >> 6) as usize];
                self.touched[slot] += u32::from(*word == 0);
                *word |= 1 << (port & 63);
            }
            list.block = new_block(&mut self.free, &mut self.blocks, &mut self.next, list.block);
        }
        list.len += 1;
        self.blocks[list.block as usize].0[at] = key;
    }

    #[inline(always)]
    fn mark(&mut self, slot: usize, port: u32) {
        let word = &mut self.active[slot * self.words + (port >> 6) as usize];
        self.touched[slot] += u32::from(*word == 0);
        *word |= 1 << (port & 63);
    }

    /// Asks for a port to be looked at when `at` comes; false when that is beyond the ring.
    #[inline]
    pub(super) fn wake(&mut self, port: u32, at: u64) -> bool {
        let window = self.window_of(at);
        if window >= self.window + self.slots as u64 {
            return false;
        }
        self.mark(self.slot(window), port);
        true
    }

    /// The active ports of the present window, 64 per word; clears them.
    pub(super) fn take_word(&mut self, word: usize) -> u64 {
        let slot = self.slot(self.window);
        std::mem::take(&mut self.active[slot * self.words + word])
    }

    /// Words per window.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// All words of the present window have been taken.
    pub(super) fn leave(&mut self) {
        let slot = self.slot(self.window);
        self.touched[slot] = 0;
    }

    /// Moves what arrives at a port in the present window to the end of `out`, unsorted.
    #[inline]
    pub(super) fn drain(&mut self, port: u32, out: &mut Vec<Key>) {
        let index = self.slot(self.window) * self.ports + port as usize;
        let list = self.lists[index];
        if list.len == 0 {
            return;
        }
        self.lists[index] = EMPTY;
        let mut count = (list.len as usize - 1) % BLOCK + 1;
        let mut at = list.block;
        loop {
            out.extend_from_slice(&self.blocks[at as usize].0[..count]);
            let next = std::mem::replace(&mut self.next[at as usize], self.free);
            self.free = at;
            if next == END {
                break;
            }
            at = next;
            count = BLOCK;
        }
    }
}

/// A block in front of `next`.
#[inline]
fn new_block(free: &mut u32, blocks: &mut Vec<Block>, links: &mut Vec<u32>, next: u32) -> u32 {
    let block = *free;
    if block == END {
        blocks.push(Block([0; BLOCK]));
        links.push(next);
        return blocks.len() as u32 - 1;
    }
    *free = std::mem::replace(&mut links[block as usize], next);
    block
}
