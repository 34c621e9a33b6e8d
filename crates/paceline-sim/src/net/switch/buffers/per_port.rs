//! A buffer of its own for every port. With PFC, or where asked for, it belongs to the ports packets came by, and each of their
//! classes pauses and resumes at fixed thresholds; the queue of an egress port then holds what several ingress ports have room for.
//!
//! A class is paused as soon as a largest frame more might take it above `xoff`: what it holds when the pause is decided is at most
//! `xoff`, as in a switch that counts a frame from its first byte. Pauses last until the resume: what keeps them up, a pause
//! frame every few milliseconds, is not sent.

use paceline_proto::units::Bytes;

use super::{Admit, Buffers, Place, Pool};
use crate::packet::CONTROL;
use crate::scenario::{Accounting, PausedLink, Pfc};

/// Bytes of a class at a port at which it pauses and resumes.
pub(super) fn thresholds(buffer: Bytes, pfc: &Pfc, link: &PausedLink) -> (u32, u32) {
    let share = buffer.0 / u64::from(pfc.classes.max(1));
    let xoff = pfc.xoff.map_or(share.saturating_sub(pfc.headroom.bytes(link)), |b| b.0);
    let xon = pfc.xon.map_or(xoff.saturating_sub(pfc.resume_offset.0), |b| b.0);
    let clamp = |bytes: u64| bytes.min(u64::from(u32::MAX)) as u32;
    (clamp(xoff), clamp(xon))
}

impl Buffers {
    /// A packet arrived, in exact order. `egress`: what waits at the port by which it will leave.
    pub(super) fn admit_per_port(&mut self, at: Place, egress: u32) -> Admit {
        let (class, size) = (usize::from(at.class), at.size);
        if !self.fits_per_port(at, egress) {
            return Admit::Drop;
        }
        let pauses = self.pfc && self.is_to_pause(at);
        let pool = &mut self.pools[at.node as usize];
        let held = &mut self.ingress[at.ingress as usize];
        held.bytes[class] += size;
        pool.buffered += u64::from(size);
        let bit = 1 << class;
        if !pauses || held.paused & bit != 0 {
            return Admit::Keep;
        }
        held.paused |= bit;
        pool.pressed += 1;
        Admit::KeepAndPause
    }

    /// [`Buffers::lets_through`] where each port has its own buffer.
    #[inline]
    pub(super) fn lets_through_per_port(&self, at: Place) -> bool {
        let is_paused = self.ingress[at.ingress as usize].paused & (1 << at.class) != 0;
        self.fits_per_port(at, 0) && !(self.pfc && (is_paused || self.is_to_pause(at)))
    }

    /// Whether there is room for a packet; `egress`: what waits at the port by which it will leave.
    #[inline]
    fn fits_per_port(&self, at: Place, egress: u32) -> bool {
        let held = &self.ingress[at.ingress as usize];
        let fits = |bytes: u64| bytes + u64::from(at.size) <= self.pools[at.node as usize].buffer;
        // Where data are lossless, the control class takes what they leave of the buffer, and nothing away from them.
        let counted = if self.pfc && at.class != CONTROL { 1.. } else { 0.. };
        let at_ingress = || held.bytes[counted].iter().map(|b| u64::from(*b)).sum();
        (self.accounting == Accounting::Input || fits(u64::from(egress)))
            && (self.accounting == Accounting::Output || fits(at_ingress()))
    }

    /// Whether a packet takes its class so far that the peer must be told to pause it.
    #[inline]
    fn is_to_pause(&self, at: Place) -> bool {
        let held = self.ingress[at.ingress as usize].bytes[usize::from(at.class)] + at.size;
        at.class != CONTROL && held.saturating_add(self.max_frame) > self.share[at.ingress as usize].xoff
    }

    /// A packet has left, with PFC. Returns whether its ingress port may send a resume.
    pub(super) fn release_per_port(&mut self, at: Place) -> bool {
        let (class, bit) = (usize::from(at.class), 1 << at.class);
        let held = &mut self.ingress[at.ingress as usize];
        held.bytes[class] -= at.size;
        let resume = held.paused & bit != 0 && held.bytes[class] <= self.share[at.ingress as usize].xon;
        if resume {
            held.paused &= !bit;
            self.pools[at.node as usize].pressed -= 1;
        }
        resume
    }

    /// The arithmetic at a port, for a message about a drop.
    pub(super) fn explain_per_port(&self, pool: &Pool, port: u32, class: u8) -> String {
        let (held, share) = (&self.ingress[port as usize], &self.share[port as usize]);
        format!(
            "buffer {} B a port; the ingress port holds {} B, {} B of the class, which pauses near {} B and resumes at {} B",
            pool.buffer,
            held.bytes.iter().map(|b| u64::from(*b)).sum::<u64>(),
            held.bytes[usize::from(class)],
            share.xoff,
            share.xon,
        )
    }
}
