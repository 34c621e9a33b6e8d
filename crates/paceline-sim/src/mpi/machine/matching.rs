//! Which message goes to which receive.

use std::collections::{BTreeMap, VecDeque};

use super::Message;
use crate::mpi::program::ANY;

/// Receives without message, and messages without receive, of one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// Receives posted so far.
    posted: u64,
    /// By source and tag: receives in order of posting.
    receives: BTreeMap<(u32, u32), VecDeque<(u64, u32)>>,
    /// Receives from any source or of any tag, in order of posting.
    wild: Vec<(u64, u32, u32, u32)>,
    /// Messages that came without receive so far.
    came: u64,
    /// By source and tag: messages in order of arrival.
    messages: BTreeMap<(u32, u32), VecDeque<(u64, Message)>>,
}

impl Queues {
    /// Posts a receive.
    pub(super) fn post(&mut self, from: u32, tag: u32, receive: u32) {
        let order = self.posted;
        self.posted += 1;
        if from == ANY || tag == ANY {
            self.wild.push((order, from, tag, receive));
        } else {
            self.receives.entry((from, tag)).or_default().push_back((order, receive));
        }
    }

    /// The receive that a message takes: of those that fit, the one posted first.
    pub(super) fn take_receive(&mut self, from: u32, tag: u32) -> Option<u32> {
        let exact = self.receives.get(&(from, tag)).and_then(|q| q.front()).map(|(order, _)| *order);
        let fits = |(_, f, t, _): &&(u64, u32, u32, u32)| (*f == ANY || *f == from) && (*t == ANY || *t == tag);
        let wild = self.wild.iter().find(fits).map(|(order, ..)| *order);
        if let Some(order) = wild
            && exact.is_none_or(|exact| order < exact)
        {
            // In ascending order, so this is where it stands.
            let at = self.wild.partition_point(|(o, ..)| *o < order);
            return Some(self.wild.remove(at).3);
        }
        take_front(&mut self.receives, (from, tag))
    }

    /// Keeps a message that no receive fits.
    pub(super) fn keep(&mut self, from: u32, tag: u32, message: Message) {
        self.messages.entry((from, tag)).or_default().push_back((self.came, message));
        self.came += 1;
    }

    /// The message that a receive takes, and its source: of those that fit, the one that came first.
    pub(super) fn take_message(&mut self, from: u32, tag: u32) -> Option<(u32, Message)> {
        let key = if from == ANY || tag == ANY {
            let fits = |(f, t): (u32, u32)| (from == ANY || f == from) && (tag == ANY || t == tag);
            let first = |q: &VecDeque<(u64, Message)>| q.front().map(|(order, _)| *order);
            *self.messages.iter().filter(|(k, _)| fits(**k)).min_by_key(|(_, q)| first(q))?.0
        } else {
            (from, tag)
        };
        take_front(&mut self.messages, key).map(|message| (key.0, message))
    }

    /// Source and tag of the first message that no receive has taken.
    pub(super) fn first_kept(&self) -> Option<(u32, u32)> {
        self.messages.iter().min_by_key(|(_, q)| q.front().map(|(order, _)| *order)).map(|(key, _)| *key)
    }

    /// Messages that no receive has taken.
    pub(super) fn unreceived(&self) -> usize {
        self.messages.values().map(VecDeque::len).sum()
    }
}

/// Takes the first of a queue, and the queue with its last one.
fn take_front<T>(queues: &mut BTreeMap<(u32, u32), VecDeque<(u64, T)>>, key: (u32, u32)) -> Option<T> {
    let queue = queues.get_mut(&key)?;
    let first = queue.pop_front();
    if queue.is_empty() {
        queues.remove(&key);
    }
    first.map(|(_, value)| value)
}

/// Messages from one rank to another, which networks may deliver in another order than that of their sends.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// Place of the message that is looked at next.
    next: u32,
    held: BTreeMap<u32, Message>,
}

impl Sequence {
    /// A message has arrived: it, if its turn has come.
    pub(super) fn arrive(&mut self, message: Message) -> Option<Message> {
        if message.order() == self.next {
            self.next += 1;
            return Some(message);
        }
        self.held.insert(message.order(), message);
        None
    }

    /// The next message, if it is there.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.held.remove(&self.next)?;
        self.next += 1;
        Some(message)
    }
}
