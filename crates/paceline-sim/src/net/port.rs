//! An egress port: its queues, its transmitter, what it marks.

use std::collections::VecDeque;

use crate::packet::{Handle, NONE, Packet};

/// First-in first-out list of packets of one class.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    head: Handle,
    tail: Handle,
    /// Bytes waiting.
    bytes: u32,
    /// Since when, ps.
    since: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, bytes: 0, since: 0 }
    }
}

/// An egress port. The transmitter is not simulated as events: `free` says when it is next idle, and who goes next is
/// decided when something looks.
///
/// All that a packet needs which passes lies on one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// When the transmitter is (or was last) idle, ps.
    pub free: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Propagation delay, ps.
    pub delay: u64,
    /// Picoseconds per byte, or 0 where the wire's table decides.
    pub ps_per_byte: u32,
    /// First global port index of the peer.
    pub peer_base: u32,
    /// Bytes waiting, all classes.
    pub total: u32,
    /// Its node.
    pub node: u32,
    /// The NIC it belongs to, or [`NONE`] at a switch.
    pub nic: u32,
    /// The wire's number at the peer.
    pub peer_port: u16,
    /// Index into the run's wire speeds.
    pub wire: u8,
    /// Index into the ECN thresholds, or [`NO_ECN`].
    pub ecn: u8,
    /// INT code of the rate. With what never changes in the same four bytes: read together with a byte just written it would have
    /// to wait until that is in the cache.
    pub rate_code: u8,
    /// The peer is a host.
    pub peer_is_host: bool,
    /// Why each departure is looked at, in bits: [`MEASURED`], [`WATCHED`].
    pub watched: u8,
    /// Classes are served in order of their numbers, not in turn.
    pub strict: bool,
    /// Classes with packets waiting.
    pub waiting: u8,
    /// Class served last by round robin.
    last_served: u8,
    /// Classes the peer has paused.
    pub paused: u8,
    /// Of the packets sent, those without payload. (Not beside their bytes: to count both as one vector takes longer.)
    pub tx_control: u64,
    /// Node at the other end.
    pub peer: u32,
    /// Bytes of the packets sent without payload.
    pub tx_control_bytes: u64,
    queues: [Queue; 8],
}

const _: () = assert!(std::mem::offset_of!(Port, tx_control) == 64);
const _: () = assert!(std::mem::offset_of!(Port, rate_code) % 4 == 0);

/// [`Port::watched`]: the port measures its load for PINT.
pub const MEASURED: u8 = 1;
/// [`Port::watched`]: some packets are lost on this wire, its link may fail, or pauses take effect late.
pub const WATCHED: u8 = 2;

/// [`Port::ecn`]: this port does not mark.
pub const NO_ECN: u8 = u8::MAX;

impl Port {
    /// An idle port of `node`, at a switch.
    pub fn new(node: u32, delay: u64, peer: u32, peer_base: u32, peer_port: u16, wire: u8) -> Self {
        Self {
            free: 0,
            tx_bytes: 0,
            tx_packets: 0,
            delay,
            ps_per_byte: 0,
            peer_base,
            total: 0,
            node,
            nic: NONE,
            peer_port,
            wire,
            ecn: NO_ECN,
            rate_code: 0,
            peer_is_host: false,
            watched: 0,
            strict: false,
            waiting: 0,
            last_served: 0,
            paused: 0,
            tx_control: 0,
            peer,
            tx_control_bytes: 0,
            queues: [Queue::default(); 8],
        }
    }

    /// Time to send a frame, ps.
    #[inline(always)]
    pub fn wire_ps(&self, size: u16, wires: &[crate::clock::Wire]) -> u64 {
        if self.ps_per_byte != 0 {
            u64::from(self.ps_per_byte) * u64::from(size)
        } else {
            wires[usize::from(self.wire)].ps(size)
        }
    }

    /// Bytes waiting in a class.
    #[inline(always)]
    pub fn class_bytes(&self, class: u8) -> u32 {
        self.queues[usize::from(class & 7)].bytes
    }

    /// Bytes waiting in a class and since when; the time is set to `now`.
    #[inline(always)]
    pub fn level_since(&mut self, class: u8, now: u64) -> (u32, u64) {
        let q = &mut self.queues[usize::from(class & 7)];
        (q.bytes, std::mem::replace(&mut q.since, now))
    }

    /// First packet waiting in a class, or [`NONE`].
    #[inline(always)]
    pub fn head(&self, class: u8) -> Handle {
        self.queues[usize::from(class & 7)].head
    }

    /// Last packet waiting in a class.
    pub fn tail(&self, class: u8) -> Option<Handle> {
        Some(self.queues[usize::from(class & 7)].tail).filter(|h| *h != NONE)
    }

    /// Takes the last packet of a class, which has one; it walks the queue.
    pub fn pop_tail(&mut self, packets: &mut [Packet], class: u8) -> Handle {
        let q = &mut self.queues[usize::from(class & 7)];
        let last = q.tail;
        if q.head == last {
            (q.head, q.tail) = (NONE, NONE);
            self.waiting &= !(1 << class);
        } else {
            let mut before = q.head;
            while packets[before as usize].next != last {
                before = packets[before as usize].next;
            }
            packets[before as usize].next = NONE;
            q.tail = before;
        }
        let size = u32::from(packets[last as usize].size);
        q.bytes -= size;
        self.total -= size;
        last
    }

    /// Appends a packet to its class's queue.
    #[inline(always)]
    pub fn push(&mut self, packets: &mut [Packet], h: Handle, class: u8, size: u16) {
        packets[h as usize].next = NONE;
        let q = &mut self.queues[usize::from(class & 7)];
        if q.tail == NONE {
            q.head = h;
        } else {
            packets[q.tail as usize].next = h;
        }
        q.tail = h;
        q.bytes += u32::from(size);
        self.total += u32::from(size);
        self.waiting |= 1 << class;
    }

    /// The class to serve next among those with packets that are not paused: class 0 (control) first and never paused, then
    /// round robin; with `strict` the lowest.
    #[inline(always)]
    pub fn pick(&self) -> Option<u8> {
        let eligible = self.waiting & !(self.paused & !1);
        if eligible.is_power_of_two() {
            return Some(eligible.trailing_zeros() as u8);
        }
        if eligible == 0 {
            return None;
        }
        if eligible & 1 != 0 || self.strict {
            return Some(eligible.trailing_zeros() as u8);
        }
        let start = u32::from(self.last_served) + 1;
        Some(((eligible.rotate_right(start).trailing_zeros() + start) & 7) as u8)
    }

    /// Nothing waits and nothing is paused.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.waiting | self.paused == 0
    }

    /// A packet of a class goes straight through without queueing; it counts as served.
    #[inline(always)]
    pub fn pass(&mut self, class: u8) {
        if class != 0 {
            self.last_served = class;
        }
    }

    /// Forgets what waits, but not its bytes. Returns the first packet of every class that had any, in the order of their turns.
    pub fn abandon(&mut self) -> VecDeque<Handle> {
        self.waiting = 0;
        let last = usize::from(self.last_served);
        let turns = (1..=8).map(|step| (last + step) & 7).filter(|class| *class != 0);
        let heads = std::iter::once(0).chain(turns).map(|class| {
            let q = &mut self.queues[class];
            q.tail = NONE;
            std::mem::replace(&mut q.head, NONE)
        });
        heads.filter(|h| *h != NONE).collect()
    }

    /// A packet that was counted as sent did not go out.
    pub fn unsend(&mut self, size: u16, control: bool) {
        self.tx_bytes -= u64::from(size);
        self.tx_packets -= 1;
        if control {
            self.tx_control -= 1;
            self.tx_control_bytes -= u64::from(size);
        }
    }

    /// Takes the first packet of a class.
    #[inline(always)]
    pub fn pop(&mut self, packets: &[Packet], class: u8) -> Handle {
        let q = &mut self.queues[usize::from(class & 7)];
        let h = q.head;
        let packet = &packets[h as usize];
        q.head = packet.next;
        if q.head == NONE {
            q.tail = NONE;
            self.waiting &= !(1 << class);
        }
        q.bytes -= u32::from(packet.size);
        self.total -= u32::from(packet.size);
        self.pass(class);
        h
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Arena;

    fn packet(class: u8) -> Packet {
        Packet { size: 100, class, ..Packet::default() }
    }

    /// Equal classes share a port in turn; a paused class waits; class 0 always goes first.
    #[test]
    fn service_order() {
        let (mut arena, mut port) = (Arena::new(false), Port::new(0, 0, 0, 0, 0, 0));
        for class in [3, 3, 5, 5, 0] {
            let h = arena.alloc(packet(class));
            port.push(arena.split().0, h, class, 100);
        }
        let mut order = Vec::new();
        while let Some(class) = port.pick() {
            port.pop(arena.split().0, class);
            order.push(class);
            port.paused = if order.len() == 3 { 1 << 3 | 1 } else { 0 };
        }
        assert_eq!(order, [0, 3, 5, 5, 3]);
        assert_eq!((port.total, port.waiting), (0, 0));
    }
}
