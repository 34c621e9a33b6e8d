//! What crosses a cut between parts, and how: a packet for a node of another part is put into its inbox as any other. Between windows such
//! inboxes are emptied here, and filled there.

use super::ahead::Ahead;
use super::inbox::Key;
use super::lanes::Start;
use super::part::Part;
use crate::net::failures::Carried;
use crate::net::parts::Note;
use crate::packet::{Handle, Packet, Words};

/// What one part sends to another in a window.
#[derive(Debug, Default)]
pub(super) struct Post {
    /// Where packets go: they come one list after the other in what follows.
    lists: Vec<List>,
    /// Their times, in the upper halves.
    pub(super) keys: Vec<Key>,
    /// Copies of them.
    packets: Vec<Packet>,
    /// With each, in runs with telemetry.
    words: Vec<Words>,
    /// With each, in runs in which links fail; PFC frames carry nothing.
    carried: Vec<Option<Carried>>,
    notes: Vec<Note>,
    pub(super) starts: Vec<Start>,
}

/// Packets for one port and window.
#[derive(Clone, Copy, Debug)]
struct List {
    window: u64,
    port: u32,
    packets: u32,
}

impl Part {
    /// Takes what another part has sent. Between two windows.
    pub(super) fn accept(&mut self, post: &mut Post) {
        self.net.arena.take_in(&mut post.keys, &post.packets, &post.words);
        if let Some(failures) = &mut self.net.failures {
            for (key, carried) in post.keys.iter().zip(&post.carried) {
                if let Some(carried) = carried {
                    failures.carry(*key as Handle, *carried);
                }
            }
        }
        let mut keys = &post.keys[..];
        for List { window, port, packets } in post.lists.drain(..) {
            let (list, rest) = keys.split_at(packets as usize);
            keys = rest;
            match self.close.as_mut().filter(|close| close.has(port)) {
                Some(close) => close.deliver(&self.net.arena, port, self.lanes.inboxes.start_of(window), list),
                None => self.lanes.inboxes.add(window, port, list),
            }
        }
        post.keys.clear();
        post.packets.clear();
        post.words.clear();
        post.carried.clear();
        for note in post.notes.drain(..) {
            self.net.accept(note);
        }
        self.pending.extend(post.starts.drain(..));
    }

    /// Hands over what the last window has for another part. Adds the window in which the first packet arrives there.
    pub(super) fn hand_over(&mut self, part: usize, post: &mut Post, ahead: &mut Ahead) {
        let inboxes = &mut self.lanes.inboxes;
        let side = inboxes.next_side();
        inboxes.take_from(&self.across[part], &mut self.keys, |window, start, port, keys| {
            ahead.add(side, window, start);
            post.lists.push(List { window, port, packets: keys.len() as u32 });
            post.keys.extend_from_slice(keys);
        });
        self.crossed += post.keys.len() as u64;
        let (packets, int) = self.net.arena.split();
        post.packets.extend(post.keys.iter().map(|key| packets[*key as Handle as usize]));
        if !int.is_empty() {
            post.words.extend(post.keys.iter().map(|key| int[*key as Handle as usize]));
        }
        if let Some(failures) = &self.net.failures {
            post.carried.extend(post.keys.iter().map(|key| failures.carried(*key as Handle)));
        }
        self.net.arena.release_all(post.keys.iter().map(|key| *key as Handle));
        for note in &self.net.notes[part] {
            if let Note::Told(told) = note {
                // Hosts are on the first side.
                ahead.add(0, self.lanes.inboxes.window_of(0, told.at), told.at);
            }
        }
        post.notes.append(&mut self.net.notes[part]);
    }
}
