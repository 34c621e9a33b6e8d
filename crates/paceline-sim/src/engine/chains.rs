//! Many short lists in one pool: chains of small blocks, so that only what is on the lists takes memory and a run allocates
//! only while it grows.

use std::marker::PhantomData;

use wide::bytemuck::{self, Pod};
use wide::u64x8;

use crate::packet::prefetch;

/// End of a chain: block 0 is never used.
const END: u32 = 0;

/// A list without items. A list is one number: where in the pool it ends.
pub(super) const EMPTY: u32 = 0;

/// The pool of all lists; a list fills one block of `BLOCK` items after the other.
#[derive(Debug)]
pub(super) struct Chains<T, const BLOCK: usize> {
    /// The blocks, as cache lines: in a vector of items, aligned to items only, most short lists would lie across two.
    lines: Vec<u64x8>,
    of: PhantomData<T>,
    /// The block before each block in its list, or the next in the list of free ones.
    next: Vec<u32>,
    free: u32,
}

impl<T: Pod, const BLOCK: usize> Chains<T, BLOCK> {
    /// Cache lines of a block.
    const LINES: usize = {
        assert!((BLOCK * size_of::<T>()).is_multiple_of(size_of::<u64x8>()));
        BLOCK * size_of::<T>() / size_of::<u64x8>()
    };

    pub(super) fn new() -> Self {
        Self { lines: vec![u64x8::ZERO; Self::LINES], of: PhantomData, next: vec![END], free: END }
    }

    /// Adds an item to a list whose last block has room. False, and nothing done, where it has none: then
    /// [`Chains::open_block`] does it.
    #[inline(always)]
    pub(super) fn append(&mut self, list: &mut u32, item: T) -> bool {
        let end = *list as usize;
        if end.is_multiple_of(BLOCK) {
            return false;
        }
        *list += 1;
        self.items_mut()[end] = item;
        true
    }

    /// Adds an item to a list that is empty or whose last block is full.
    pub(super) fn open_block(&mut self, list: &mut u32, item: T) {
        let before = (*list / BLOCK as u32).saturating_sub(1);
        let block = self.free;
        let block = if block == END {
            self.grow(before)
        } else {
            self.free = std::mem::replace(&mut self.next[block as usize], before);
            block as usize
        };
        self.items_mut()[block * BLOCK] = item;
        *list = (block * BLOCK) as u32 + 1;
    }

    /// A new block, `before` being the one before it in its list.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, before: u32) -> usize {
        self.lines.resize(self.lines.len() + Self::LINES, u64x8::ZERO);
        self.next.push(before);
        self.next.len() - 1
    }

    /// Reads the end of a list that will soon be moved, so that it comes nearer meanwhile.
    #[inline(always)]
    pub(super) fn fetch(&self, list: u32) {
        let end = list as usize;
        if let (Some(item), Some(next)) = (self.items().get(end), self.next.get(end / BLOCK)) {
            prefetch(item);
            prefetch(next);
        }
    }

    /// Adds an item to a list.
    pub(super) fn add(&mut self, list: &mut u32, item: T) {
        if !self.append(list, item) {
            self.open_block(list, item);
        }
    }

    /// Adds items to a list, block by block.
    pub(super) fn extend(&mut self, list: &mut u32, items: &[T]) {
        let end = *list as usize;
        let (in_last, rest) = items.split_at(items.len().min(end.next_multiple_of(BLOCK) - end));
        self.items_mut()[end..end + in_last.len()].copy_from_slice(in_last);
        *list += in_last.len() as u32;
        for block in rest.chunks(BLOCK) {
            self.open_block(list, block[0]);
            let first = *list as usize - 1;
            self.items_mut()[first..first + block.len()].copy_from_slice(block);
            *list += block.len() as u32 - 1;
        }
    }

    /// The pool: what is at each place.
    #[inline(always)]
    fn items(&self) -> &[T] {
        bytemuck::cast_slice(&self.lines)
    }

    #[inline(always)]
    fn items_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// The blocks of a list, the last one first: what each of them holds.
    #[inline(always)]
    pub(super) fn blocks(&self, list: u32) -> impl Iterator<Item = &[T]> {
        let mut end = list as usize;
        std::iter::from_fn(move || {
            let block = end.checked_sub(1)? / BLOCK;
            let held = &self.items()[block * BLOCK..end];
            let before = self.next[block] as usize;
            end = if before == END as usize { 0 } else { (before + 1) * BLOCK };
            Some(held)
        })
    }

    /// Empties a list.
    #[inline]
    pub(super) fn clear(&mut self, list: &mut u32) {
        let end = std::mem::replace(list, EMPTY) as usize;
        let Some(last) = end.checked_sub(1) else { return };
        let mut block = (last / BLOCK) as u32;
        while block != END {
            let before = std::mem::replace(&mut self.next[block as usize], self.free);
            self.free = block;
            block = before;
        }
    }

    /// Moves a list to the beginning of `out`, in the order in which it was filled: whole blocks, of which only the first items are the
    /// list's. Returns how many they are; what comes after them has no meaning. `out` grows where it must.
    #[inline]
    pub(super) fn drain(&mut self, list: &mut u32, out: &mut Vec<T>) -> usize {
        let end = std::mem::replace(list, EMPTY) as usize;
        if end == EMPTY as usize {
            return 0;
        }
        let last = (end - 1) / BLOCK;
        let before = self.next[last] as usize;
        self.next[last] = self.free;
        self.free = last as u32;
        let full = if before == END as usize { 0 } else { self.drain_full(before, out) };
        if out.len() < full + BLOCK {
            out.resize(full + BLOCK, T::zeroed());
        }
        // Lengths that are known to the compiler. The second half, on a cache line of its own, is mostly cold where few items come at once.
        let (first, half) = (last * BLOCK, BLOCK / 2);
        let (from, to) = (&self.items()[first..first + BLOCK], &mut out[full..full + BLOCK]);
        to[..half].copy_from_slice(&from[..half]);
        if end - first > half {
            to[half..].copy_from_slice(&from[half..]);
        }
        full + (end - first)
    }

    /// Moves the full blocks of a list, the last of which is `last`, to the beginning of `out`. Returns how many items they are.
    #[inline(never)]
    fn drain_full(&mut self, last: usize, out: &mut Vec<T>) -> usize {
        let mut block = last;
        let mut blocks = 1;
        while self.next[block] != END {
            block = self.next[block] as usize;
            blocks += 1;
        }
        let items = blocks * BLOCK;
        if out.len() < items {
            out.resize(items, T::zeroed());
        }
        let mut block = last;
        for place in out[..items].chunks_exact_mut(BLOCK).rev() {
            place.copy_from_slice(&self.items()[block * BLOCK..(block + 1) * BLOCK]);
            let before = std::mem::replace(&mut self.next[block], self.free);
            self.free = block as u32;
            block = before as usize;
        }
        items
    }
}
