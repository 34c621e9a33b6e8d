//! Nodes too close together for windows: those of a part are run together, event by event, within each window.
//!
//! Their links to all other nodes take at least a window, so nothing they do in a window reaches one of those in it, nor the
//! other way round. Packets between them never see an inbox; what comes from elsewhere is taken out of theirs and brought
//! here between windows.

use std::collections::VecDeque;

use super::events::{self, Events, Listing, What};
use super::inbox::Key;
use super::lanes::{Lanes, Start};
use super::order::Rank;
use crate::error::InputError;
use crate::net::packet::{Arena, Handle, NONE};
use crate::net::{Net, Schedule};

/// The close nodes of a part.
pub(super) struct Close {
    events: Events,
    /// By port: it is a close node's.
    members: Vec<bool>,
    /// Flows that will start at them in the present window.
    starts: VecDeque<Start>,
}

impl Close {
    /// `close`: by node, of this part.
    pub(super) fn new(net: &Net, close: &[bool]) -> Self {
        Self {
            events: Events::new(net, |node| close[node as usize]),
            members: net.ports.iter().map(|p| close[p.node as usize]).collect(),
            starts: VecDeque::new(),
        }
    }

    /// Whether a port is one of theirs.
    pub(super) fn has(&self, port: u32) -> bool {
        self.members[port as usize]
    }

    /// When anything happens next, ps.
    pub(super) fn next_at(&mut self) -> Option<u64> {
        self.events.next_at()
    }

    /// Packets come from elsewhere to a port, in a window that starts at `start`, ps.
    pub(super) fn deliver(&mut self, arena: &Arena, port: u32, start: u64, keys: &[Key]) {
        for key in keys {
            let h = *key as Handle;
            self.events.turned(h, arena[h].in_port, port, start + (key >> 32));
        }
    }

    /// A flow will start; told in order of time.
    pub(super) fn expect(&mut self, start: Start) {
        if self.starts.back().is_none_or(|last| last.spec.start != start.spec.start) {
            self.events.push(start.spec.start.0, Rank::Start, What::Flows, 0, 0);
        }
        self.starts.push_back(start);
    }

    /// Runs them up to `end`.
    pub(super) fn run(&mut self, net: &mut Net, lanes: &mut Lanes, end: u64) -> Result<(), InputError> {
        while self.events.next_at().is_some_and(|at| at < end)
            && let Some((now, what, place, detail)) = self.events.pop()
        {
            let list = &mut Near { close: self, lanes };
            match what {
                What::Arrival | What::HostArrival => {
                    net.counters.events += 1;
                    net.counters.ties += u64::from(list.events().is_tied(place, now));
                    if what == What::HostArrival {
                        events::arrive_at_host(net, list, place, detail, now);
                    } else {
                        net.switch_arrival(place, detail, now, list);
                    }
                }
                What::Departure => events::depart(net, list, place, now),
                What::Wake => events::wake(net, list, place, now),
                What::Timeout => events::time_out(net, list, place, now),
                What::Flows => {
                    while let Some(start) = list.close.starts.front().copied().filter(|s| s.spec.start.0 == now) {
                        list.close.starts.pop_front();
                        events::start(net, list, (start.id, start.spec, start.sport), now)?;
                    }
                }
                // The reference's NICs and samples, and programs, are not run in windows; links change between them.
                What::Pacing
                | What::Tick
                | What::FlowInit
                | What::FlowStart
                | What::Sample
                | What::Links
                | What::Program
                | What::LookedAt => {}
            }
        }
        Ok(())
    }

    /// Its link has failed at `now`: looks again at what a NIC sends.
    pub(super) fn look_again(&mut self, net: &mut Net, lanes: &mut Lanes, port: u32, now: u64) {
        let nic = net.ports[port as usize].nic;
        if nic != NONE {
            events::settle(net, &mut Near { close: self, lanes }, nic, now);
        }
    }
}

/// The schedule of a network some of whose nodes are close.
pub(super) struct Near<'a> {
    pub(super) close: &'a mut Close,
    pub(super) lanes: &'a mut Lanes,
}

impl Schedule for Near<'_> {
    fn idle(&self, _port: u32, free: u64, now: u64) -> bool {
        free <= now
    }

    fn started(&mut self, port: u32, free: u64, handle: Handle, inbox: u32, arrival: u64) {
        let near = handle != NONE && self.close.has(inbox);
        self.close.events.started(port, free, if near { handle } else { NONE }, inbox, arrival);
        if !near {
            self.lanes.started(port, free, handle, inbox, arrival);
        }
    }

    fn waiting(&mut self, port: u32, free: u64) {
        if self.close.has(port) {
            self.close.events.waiting(port, free);
        } else {
            self.lanes.waiting(port, free);
        }
    }

    fn turned(&mut self, handle: Handle, in_port: u16, inbox: u32, arrival: u64) {
        if self.close.has(inbox) {
            self.close.events.turned(handle, in_port, inbox, arrival);
        } else {
            self.lanes.turned(handle, in_port, inbox, arrival);
        }
    }
}

impl Listing for Near<'_> {
    fn events(&mut self) -> &mut Events {
        &mut self.close.events
    }
}
