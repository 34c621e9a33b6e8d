//! What is known of flows by their numbers in packets.

use std::ops::{Index, IndexMut};

/// Something of each flow, by its number, whose lowest bits name the part of its sender. A list for each part: in one list a part with
/// many flows would leave a hole behind each of them for every other part.
#[derive(Clone, Debug)]
pub(crate) struct ByNumber<T> {
    lists: Vec<Vec<T>>,
    bits: u32,
    /// What there is of a flow nobody has told of.
    nothing: T,
}

impl<T> ByNumber<T> {
    /// Whose list, and where in it.
    #[inline(always)]
    fn place(&self, number: u32) -> (usize, usize) {
        ((number & ((1 << self.bits) - 1)) as usize, (number >> self.bits) as usize)
    }

    /// What there is of a flow, if anybody has told of it or of a later one.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let (list, i) = self.place(number);
        self.lists[list].get(i)
    }
}

impl<T: Clone> ByNumber<T> {
    /// Nothing yet. `bits`: those of a number that name a part.
    pub(crate) fn new(bits: u32, nothing: T) -> Self {
        Self { lists: vec![Vec::new(); 1 << bits], bits, nothing }
    }

    /// The same, of so many bits.
    pub(crate) fn with_bits(&self, bits: u32) -> Self {
        Self::new(bits, self.nothing.clone())
    }

    /// Notes something of a flow.
    pub(crate) fn set(&mut self, number: u32, value: T) {
        let (list, i) = self.place(number);
        let list = &mut self.lists[list];
        if list.len() <= i {
            list.resize(i + 1, self.nothing.clone());
        }
        list[i] = value;
    }
}

impl<T> Index<u32> for ByNumber<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        let (list, i) = self.place(number);
        &self.lists[list][i]
    }
}

impl<T> IndexMut<u32> for ByNumber<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        let (list, i) = self.place(number);
        &mut self.lists[list][i]
    }
}
