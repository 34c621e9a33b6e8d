//! The streams that carry messages of programs, and the messages on them.

use std::collections::VecDeque;

use crate::ideal::Way;
use crate::scenario::Framing;

/// A message as its receiver must know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    pub(super) message: u64,
    /// Least time on its way, ps.
    pub(super) least: u64,
    /// Least time of an acknowledgement on the way back, ps.
    pub(super) back: u64,
}

/// A stream of a program.
#[derive(Clone, Debug, Default)]
struct Carrier {
    program: u16,
    is_open: bool,
    /// At the sender: its way, where somebody asks for the least times of messages.
    way: Option<Box<Way>>,
    /// At the sender: least time of an acknowledgement, ps.
    back: u64,
    /// At the receiver: messages that have not arrived.
    under_way: VecDeque<Letter>,
}

/// Those of all programs: first the ones whose numbers follow from their programs, then others in the order of their opening.
pub(super) struct Carriers {
    all: Vec<Carrier>,
    /// Number of the first among all streams of a run.
    first: u32,
}

impl Carriers {
    pub(super) fn new(first: u32) -> Self {
        Self { all: Vec::new(), first }
    }

    /// The number of the next stream.
    pub(super) fn next(&self) -> u32 {
        self.first + self.all.len() as u32
    }

    /// So many more streams of a program.
    pub(super) fn add(&mut self, program: u16, count: usize) {
        self.all.resize(self.all.len() + count, Carrier { program, ..Carrier::default() });
    }

    fn at(&mut self, stream: u32) -> &mut Carrier {
        &mut self.all[(stream - self.first) as usize]
    }

    /// The program that a stream is of.
    pub(super) fn program_of(&self, stream: u32) -> u16 {
        self.all[(stream - self.first) as usize].program
    }

    /// A stream is used by its sender. Whether that is for the first time.
    pub(super) fn is_first_use(&mut self, stream: u32) -> bool {
        !std::mem::replace(&mut self.at(stream).is_open, true)
    }

    /// A stream is open. An acknowledgement takes `back` ps; the way is kept where somebody asks for least times.
    pub(super) fn opened(&mut self, stream: u32, way: Option<Way>, back: u64) {
        let carrier = self.at(stream);
        (carrier.way, carrier.back) = (way.map(Box::new), back);
    }

    /// A message that goes by a stream.
    pub(super) fn letter(&self, stream: u32, message: u64, bytes: u64, framing: &Framing) -> Letter {
        let carrier = &self.all[(stream - self.first) as usize];
        let least = carrier.way.as_ref().map_or(0, |way| way.least_time(bytes, framing));
        Letter { message, least, back: carrier.back }
    }

    /// The receiver of a stream may expect a message.
    pub(super) fn expect(&mut self, stream: u32, letter: Letter) {
        self.at(stream).under_way.push_back(letter);
    }

    /// The message on a stream that arrives next has arrived.
    pub(super) fn arrived(&mut self, stream: u32) -> Option<Letter> {
        self.at(stream).under_way.pop_front()
    }
}
