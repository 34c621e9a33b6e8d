//! Nodes too close together for windows: those of a part are run together, event by event, within each window. So are hosts whose
//! programs send by one NIC what has come by another.
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
use crate::net::{Net, Schedule};
use crate::packet::{Arena, Handle, NONE};

/// The close nodes of a part.
pub(super) struct Close {
    events: Events,
    /// By port: it is a close node's.
    members: Vec<bool>,
    /// Flows that will start at them in the present window.
    starts: VecDeque<Start>,
    /// Calls to programs that these nodes have made for others: when, and which port.
    calls_elsewhere: Vec<(u64, u32)>,
}

impl Close {
    /// `close`: by node, of this part.
    pub(super) fn new(net: &Net, close: &[bool]) -> Self {
        Self {
            events: Events::new(net, |node| close[node as usize]),
            members: net.ports.iter().map(|p| close[p.node as usize]).collect(),
            starts: VecDeque::new(),
            calls_elsewhere: Vec::new(),
        }
    }

    /// Whether a port is one of theirs.
    pub(super) fn has(&self, port: u32) -> bool {
        self.members[port as usize]
    }

    /// When anything happens next, ps.
    pub(super) fn next_at(&self) -> Option<u64> {
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

    /// A program's place at a NIC is to be told something at `at`, ps.
    pub(super) fn call(&mut self, at: u64, nic: u32) {
        self.events.push(at, Rank::Start, What::Program, nic, 0);
    }

    /// Takes the calls to programs that were made for other nodes: when, and which port.
    pub(super) fn take_calls(&mut self) -> impl Iterator<Item = (u64, u32)> {
        self.calls_elsewhere.drain(..)
    }

    /// Starts the flows whose time has come.
    fn start_due(&mut self, net: &mut Net, lanes: &mut Lanes, now: u64) -> Result<(), InputError> {
        while let Some(start) = self.starts.front().copied().filter(|s| s.spec.start.0 == now) {
            self.starts.pop_front();
            events::start(net, &mut Near { close: self, lanes }, (start.id, start.spec, start.sport), now)?;
        }
        Ok(())
    }

    /// Does what programs want.
    #[cold]
    fn serve_programs(&mut self, net: &mut Net, lanes: &mut Lanes, now: u64) -> Result<(), InputError> {
        while let Some(programs) = &mut net.programs
            && let Some(message) = programs.next_outgoing()
        {
            let list = &mut Near { close: self, lanes };
            if let Some(nic) = net.send_on_stream(message, now, list)? {
                events::serve_nic(net, list, nic, now);
            }
        }
        while let Some(programs) = &mut net.programs
            && let Some((at, nic)) = programs.next_fresh()
        {
            match net.nics[nic as usize].port {
                port if self.has(port) => self.call(at, nic),
                port => self.calls_elsewhere.push((at, port)),
            }
        }
        Ok(())
    }

    /// Runs them up to `end`.
    pub(super) fn run(&mut self, net: &mut Net, lanes: &mut Lanes, end: u64) -> Result<(), InputError> {
        while let Some((now, what, place, detail)) = self.events.pop_before(end) {
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
                What::Flows => self.start_due(net, lanes, now)?,
                What::Program => {
                    // Flows that start at this instant come first.
                    self.start_due(net, lanes, now)?;
                    net.call_program(place, now);
                }
                // The reference's NICs and samples are not run in windows; links change between them.
                What::Pacing
                | What::Tick
                | What::FlowInit
                | What::FlowStart
                | What::Sample
                | What::Links
                | What::LookedAt => {}
            }
            if net.programs.is_some() {
                self.serve_programs(net, lanes, now)?;
            }
        }
        Ok(())
    }

    /// Its link has failed at `now`: looks again at what a NIC sends.
    pub(super) fn look_again(&mut self, net: &mut Net, lanes: &mut Lanes, port: u32, now: u64) {
        let nic = net.ports[port as usize].nic;
        if nic != NONE {
            events::serve_nic(net, &mut Near { close: self, lanes }, nic, now);
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
