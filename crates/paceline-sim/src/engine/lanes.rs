//! Where things go that start in a window: packets into the inboxes of the ports they reach, flows to their part.

use super::inbox::Inboxes;
use crate::net::{Lane, Schedule};
use crate::packet::{Handle, NONE};
use crate::workload::FlowSpec;

/// The engine's own schedule: where started packets go.
pub(super) struct Lanes {
    pub(super) inboxes: Inboxes,
}

impl Lanes {
    /// Start of the present window.
    pub(super) fn start(&self) -> u64 {
        self.inboxes.start()
    }
}

impl Schedule for Lanes {
    #[inline(always)]
    fn idle(&self, _port: u32, free: u64, now: u64) -> bool {
        free <= now
    }

    #[inline(always)]
    fn started(&mut self, _port: u32, _free: u64, handle: Handle, inbox: u32, arrival: u64) {
        if handle != NONE {
            self.inboxes.push(inbox, arrival, handle);
        }
    }

    #[inline(always)]
    fn waiting(&mut self, port: u32, free: u64) {
        // A transmitter busy for longer than the ring is looked at again at the ring's end.
        if !self.inboxes.wake(port, free) {
            self.inboxes.wake(port, self.inboxes.last());
        }
    }

    fn turned(&mut self, handle: Handle, _in_port: u16, inbox: u32, arrival: u64) {
        self.inboxes.push(inbox, arrival, handle);
    }
}

impl Lane for Lanes {
    #[inline(always)]
    fn put(&mut self, inbox: u32, arrival: u64, handle: Handle) {
        self.inboxes.push(inbox, arrival, handle);
    }
}

/// A flow that will start here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) id: u64,
    pub(super) spec: FlowSpec,
    pub(super) sport: u16,
    /// Global index of the NIC's port.
    pub(super) port: u32,
}
