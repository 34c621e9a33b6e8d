//! Packets on their way, by the window and the egress port they will be looked at.
//!
//! One list per (window, port), unordered: it is sorted when its window comes.
//!
//! Windows are numbered by their ends, which are a width apart. Where the network has two sides (`windows`), even windows are those of
//! the first and odd ones those of the second, and each begins where the last one of its own side ended: two widths before its end.

use super::ahead::Ahead;
use super::chains::{Chains, EMPTY};
use crate::packet::Handle;

/// Keys a block holds: two cache lines.
const BLOCK: usize = 16;

/// Time within the window in the upper half, packet handle in the lower.
pub(super) type Key = u64;

/// A ring of windows.
#[derive(Debug)]
pub(super) struct Inboxes {
    width: u64,
    /// One, or two that are run in turn.
    sides: u64,
    /// Side of every port; empty where there is one.
    side_of: Box<[u8]>,
    /// Longest time from the start of a window to an end of it, ps.
    length: u64,
    ports: usize,
    slots: usize,
    /// By slot and port; the two sides share them, as a port is on one.
    lists: Vec<u32>,
    keys: Chains<Key, BLOCK>,
    /// One bit per port and slot: something is to be done there in that window.
    active: Vec<u64>,
    words: usize,
    /// Words of `active` that are not zero, at least; by slot.
    touched: Vec<u32>,
    /// Window being run and its start.
    window: u64,
    start: u64,
    /// Start of the window into which the last packet went, its slot, and the index of the slot's first list. What follows goes
    /// nearly always there too.
    into: u64,
    into_slot: usize,
    into_lists: usize,
}

impl Inboxes {
    /// `width` in ps; `span`: longest time from the start of a window to an arrival caused in it, ps; `side_of`: by port, empty where
    /// there is one side.
    pub(super) fn new(width: u64, span: u64, ports: usize, side_of: Box<[u8]>) -> Self {
        let sides = if side_of.is_empty() { 1 } else { 2 };
        let slots = (span / width + 2 * sides).next_power_of_two() as usize;
        let words = ports.div_ceil(64);
        Self {
            width,
            sides,
            side_of,
            length: sides * width,
            ports,
            slots,
            lists: vec![EMPTY; slots / sides as usize * ports],
            keys: Chains::new(),
            active: vec![0; slots * words],
            words,
            touched: vec![0; slots],
            window: 0,
            start: 0,
            into: 0,
            into_slot: 0,
            into_lists: 0,
        }
    }

    /// The side that a window is run for.
    pub(super) fn side(&self, window: u64) -> usize {
        (window & (self.sides - 1)) as usize
    }

    /// The side that everything goes to which leaves the present window's.
    pub(super) fn next_side(&self) -> usize {
        self.side(self.window + 1)
    }

    /// The side a port is on.
    #[inline]
    fn side_of(&self, port: u32) -> usize {
        self.side_of.get(port as usize).copied().unwrap_or(0).into()
    }

    /// Start of a window; end of the last one of its side.
    #[inline(always)]
    pub(super) fn start_of(&self, window: u64) -> u64 {
        (window + 1).saturating_sub(self.sides) * self.width
    }

    /// Windows from the present one on that are in the ring. With two sides one of the other side may be left over before it, and it
    /// may itself be left over while that one is run.
    fn reach(&self) -> u64 {
        self.slots as u64 - 2 * (self.sides - 1)
    }

    /// The last instant for which a port can be woken.
    pub(super) fn last(&self) -> u64 {
        self.start + (self.reach() - 1) * self.width
    }

    /// Gives back part of a word taken from the present window.
    pub(super) fn put_back(&mut self, word: usize, bits: u64) {
        let slot = self.slot(self.window);
        // Ports of this word may have become active again meanwhile, where the window is cut short.
        self.active[slot * self.words + word] |= bits;
    }

    /// Goes on to a window.
    pub(super) fn enter(&mut self, window: u64) {
        self.window = window;
        self.start = self.start_of(window);
        self.turn(self.start + self.width);
    }

    /// End of a window, where it is not cut short.
    pub(super) fn end_of(&self, window: u64) -> u64 {
        (window + 1) * self.width
    }

    /// The middle of the present window, where it is two widths long; else its start.
    pub(super) fn middle(&self) -> u64 {
        (self.window * self.width).max(self.start)
    }

    /// Start of the present window.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The first window of each side in the ring in which anything is to be done, and its start. That may be the present one, or that of
    /// the other side before it, where they were cut short.
    pub(super) fn next_active(&self) -> Ahead {
        let mut ahead = Ahead::default();
        let mut sides = self.sides;
        let first = (self.window + 1).saturating_sub(self.sides);
        for window in first..first + self.slots as u64 {
            let side = self.side(window);
            if self.touched[self.slot(window)] != 0 && ahead.is_idle(side) {
                ahead.add(side, window, self.start_of(window));
                sides -= 1;
                if sides == 0 {
                    break;
                }
            }
        }
        ahead
    }

    #[inline(always)]
    fn slot(&self, window: u64) -> usize {
        window as usize & (self.slots - 1)
    }

    /// Index of the first of the lists of a window.
    #[inline(always)]
    fn lists_of(&self, window: u64) -> usize {
        (self.slot(window) >> (self.sides - 1)) * self.ports
    }

    /// The window of a side that an instant falls into.
    #[inline]
    pub(super) fn window_of(&self, side: usize, at: u64) -> u64 {
        let since = at.wrapping_sub(self.window * self.width);
        // A division costs as much as the rest; nearly all packets arrive one or two windows on.
        let window = if since < self.width {
            self.window
        } else if since < 2 * self.width {
            self.window + 1
        } else if since < 3 * self.width {
            self.window + 2
        } else {
            at / self.width
        };
        // It may fall into the other side's window that ends first.
        window + ((window + side as u64) & (self.sides - 1))
    }

    /// A packet will arrive.
    #[inline(always)]
    pub(super) fn push(&mut self, port: u32, at: u64, h: Handle) {
        debug_assert!(at >= self.start + self.width, "lookahead violated");
        let mut offset = at.wrapping_sub(self.into);
        if offset >= self.length {
            offset = self.turn(at);
        }
        self.append(self.into_slot, self.into_lists + port as usize, port, offset << 32 | u64::from(h));
    }

    /// The packets that follow go into the window of `at`, of the side that is not the present one. Returns the time from its start.
    #[inline(never)]
    fn turn(&mut self, at: u64) -> u64 {
        let window = self.window_of(self.next_side(), at);
        self.into = self.start_of(window);
        self.into_slot = self.slot(window);
        self.into_lists = self.lists_of(window);
        at - self.into
    }

    /// Gives back a key drained from the present window.
    #[cold]
    pub(super) fn put_back_key(&mut self, port: u32, key: Key) {
        self.append(self.slot(self.window), self.lists_of(self.window) + port as usize, port, key);
    }

    /// Adds a key to the list of a port in a slot; `list`: its index.
    #[inline(always)]
    fn append(&mut self, slot: usize, list: usize, port: u32, key: Key) {
        if !self.keys.append(&mut self.lists[list], key) {
            self.open_block(slot, list, port, key);
        }
    }

    /// The same where the list is empty or its block full.
    #[inline(never)]
    fn open_block(&mut self, slot: usize, list: usize, port: u32, key: Key) {
        if self.lists[list] == EMPTY {
            self.mark(slot, port);
        }
        self.keys.open_block(&mut self.lists[list], key);
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
        let window = self.window_of(self.side_of(port), at);
        if window >= self.window + self.reach() {
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

    /// Those of them that `mask` has; the others stay.
    pub(super) fn take_some(&mut self, word: usize, mask: u64) -> u64 {
        let slot = self.slot(self.window);
        let active = &mut self.active[slot * self.words + word];
        let bits = *active & mask;
        *active &= !mask;
        self.touched[slot] -= u32::from(bits != 0 && *active == 0);
        bits
    }

    /// The ports need not be looked at in the present window.
    pub(super) fn forget(&mut self, ports: std::ops::Range<u32>) {
        let first = self.slot(self.window) * self.words;
        for port in ports {
            self.active[first + (port >> 6) as usize] &= !(1 << (port & 63));
        }
    }

    /// Takes what has been sent to some ports, told by words of a window and bits in them, and shows each list of it: its window, when
    /// that starts, its port, what is on it. `keys` is room for a list.
    pub(super) fn take_from(
        &mut self,
        ports: &[(usize, u64)],
        keys: &mut Vec<Key>,
        mut show: impl FnMut(u64, u64, u32, &[Key]),
    ) {
        let first = (self.window + 1).saturating_sub(self.sides);
        for window in first..first + self.slots as u64 {
            let (slot, lists, start) = (self.slot(window), self.lists_of(window), self.start_of(window));
            if self.touched[slot] == 0 {
                continue;
            }
            for (word, mask) in ports {
                let active = &mut self.active[slot * self.words + word];
                let mut bits = *active & mask;
                if bits == 0 {
                    continue;
                }
                *active &= !mask;
                self.touched[slot] -= u32::from(*active == 0);
                while bits != 0 {
                    let port = (word << 6) + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let n = self.keys.drain(&mut self.lists[lists + port], keys);
                    show(window, start, port as u32, &keys[..n]);
                }
            }
        }
    }

    /// Adds what another part has sent to a port in a window.
    pub(super) fn add(&mut self, window: u64, port: u32, keys: &[Key]) {
        let (slot, list) = (self.slot(window), self.lists_of(window) + port as usize);
        if self.lists[list] == EMPTY && !keys.is_empty() {
            self.mark(slot, port);
        }
        self.keys.extend(&mut self.lists[list], keys);
    }

    /// Words per window.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// All words of the present window have been taken, up to its end or, where it was cut short, to an earlier instant.
    pub(super) fn leave(&mut self, cut: bool) {
        let slot = self.slot(self.window);
        let words = &self.active[slot * self.words..(slot + 1) * self.words];
        self.touched[slot] = if cut { words.iter().filter(|w| **w != 0).count() as u32 } else { 0 };
    }

    /// Reads what arrives at a port in the present window beforehand.
    #[inline(always)]
    pub(super) fn fetch(&self, port: usize) {
        self.keys.fetch(self.lists[self.lists_of(self.window) + port]);
    }

    /// Moves what arrives at a port in the present window to the beginning of `out`, in the order in which it was sent: whole blocks, of
    /// which only so many are keys.
    #[inline]
    pub(super) fn drain(&mut self, port: u32, out: &mut Vec<Key>) -> usize {
        let index = self.lists_of(self.window) + port as usize;
        self.keys.drain(&mut self.lists[index], out)
    }
}
