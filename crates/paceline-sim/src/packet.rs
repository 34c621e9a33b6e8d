//! Packets in flight: an arena of 32-byte records with their telemetry beside them.
//!
//! A packet never moves: queues link packets through `next`, engines pass handles. A data packet becomes its own ACK at
//! the receiver, telemetry in place.

use paceline_proto::telemetry::IntHop;

/// Index of a packet in the [`Arena`].
pub type Handle = u32;

/// No packet.
pub const NONE: Handle = u32::MAX;

/// The control class: served first, never paused, dropped where there is no room.
pub const CONTROL: u8 = 0;

/// Switch hops a packet carries the ports for; longer paths are looked up per hop.
pub const INLINE_HOPS: usize = 6;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// Carries payload.
    #[default]
    Data,
    /// Positive acknowledgement.
    Ack,
    /// Asks for a missing packet.
    Nack,
    /// Of a message transport, without payload, on its way to the message's receiver.
    Control,
    /// The same, on its way to the message's sender.
    Answer,
    /// QCN: a switch tells the sender of a frame of congestion.
    Notification,
    /// PFC: stop one class. PFC frames come last ([`Kind::is_pfc`] compares).
    Pause,
    /// PFC: go on with one class.
    Resume,
}

impl Kind {
    /// Whether this is a PFC frame, which ends at the next port.
    #[inline(always)]
    pub fn is_pfc(self) -> bool {
        self as u8 >= Kind::Pause as u8
    }

    /// Whether it goes from a flow's receiver to its sender.
    #[inline(always)]
    pub fn is_back(self) -> bool {
        matches!(self, Kind::Ack | Kind::Nack | Kind::Answer)
    }
}

/// Flag: the packet met congestion (IP ECN field CE); on an ACK: the acknowledged packet did.
pub const CE: u8 = 1;
/// Flag: the last packet of its message.
pub const LAST: u8 = 2;
/// Flag: switches write INT records.
pub const INT: u8 = 4;
/// Flag: the path is longer than [`INLINE_HOPS`]; the next port is looked up in the flow's path.
pub const LONG: u8 = 8;
/// Flag: switches keep the largest utilisation of the path in the first telemetry word (PINT).
pub const PINT: u8 = 16;
/// Flag: the first telemetry word is the time of sending.
pub const STAMP: u8 = 32;
/// Flag (RDMA): the flow's controller has periodic timers.
pub const TICKS: u8 = 64;
/// Flag (message transports, whose flows have no ticks): unscheduled; ports may drop it selectively.
pub const UNSCHEDULED: u8 = 64;

/// Flag (RDMA): packets of a flow may come by several paths, as links fail or flowlets begin; its ACKs tell by which.
pub const ROUTED: u8 = 128;

/// Has the processor bring nearer what will soon be looked at. Changes nothing.
#[inline(always)]
pub(crate) fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(what);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

/// A packet. Aligned, so that none lies across two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Packet {
    /// Next packet of the same queue.
    pub next: Handle,
    /// Flow slot; for PFC frames the class concerned.
    pub flow: u32,
    /// Sequence number (data), next expected one (ACK, NACK).
    pub seq: u32,
    /// Bytes of the frame.
    pub size: u16,
    /// Port at which it entered the node it is at.
    pub in_port: u16,
    /// What it is.
    pub kind: Kind,
    /// Switches entered so far, the one it is travelling to included.
    pub hop: u8,
    /// Traffic class.
    pub class: u8,
    /// [`CE`], [`LAST`], [`INT`], [`LONG`], [`PINT`], [`STAMP`], [`TICKS`] or [`UNSCHEDULED`],
    /// [`ROUTED`].
    pub flags: u8,
    /// Egress port at each switch of the path.
    pub out: [u16; INLINE_HOPS],
}

const _: () = assert!(size_of::<Packet>() == 32);

/// Telemetry of a packet: the record of the k-th switch at place k, other words at place 0. One cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Words(pub [IntHop; 8]);

const _: () = assert!(paceline_proto::telemetry::MAX_HOPS < 8);

/// All packets of a run. Freed handles are reused last in, first out, so that the live set stays in cache.
#[derive(Debug, Default)]
pub struct Arena {
    packets: Vec<Packet>,
    int: Vec<Words>,
    /// Handles of no packet; the last is used next. Of their own, so that the next one is known before its packet is at hand.
    free: Vec<Handle>,
    /// Packets in existence in arenas that this one has taken over.
    adopted: u32,
    with_int: bool,
    /// Where telemetry is written that nobody will read.
    scrap: Words,
}

impl Arena {
    /// An empty arena; `with_int` when some scheme uses telemetry.
    pub fn new(with_int: bool) -> Self {
        Self { with_int, ..Self::default() }
    }

    /// A handle for a new packet.
    #[inline(always)]
    pub fn alloc(&mut self, packet: Packet) -> Handle {
        let (h, place) = self.take();
        *place = packet;
        h
    }

    /// The same, with the place to write the packet to.
    #[inline(always)]
    pub fn take(&mut self) -> (Handle, &mut Packet) {
        let h = match self.free.pop() {
            Some(h) => h,
            None => self.grow(),
        };
        (h, &mut self.packets[h as usize])
    }

    /// One more packet, where none is free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Handle {
        self.packets.push(Packet::default());
        if self.with_int {
            self.int.push(Words::default());
        }
        (self.packets.len() - 1) as Handle
    }

    /// Takes in copies of packets, and of their telemetry where there is any. Their handles become the lower halves of `keys`.
    pub fn take_in(&mut self, keys: &mut [u64], packets: &[Packet], words: &[Words]) {
        while self.free.len() < keys.len() {
            let h = self.grow();
            self.free.push(h);
        }
        let free = self.free.len() - keys.len();
        for ((h, key), packet) in self.free[free..].iter().zip(keys).zip(packets) {
            *key = *key >> 32 << 32 | u64::from(*h);
            self.packets[*h as usize] = *packet;
        }
        for (h, words) in self.free[free..].iter().zip(words) {
            self.int[*h as usize] = *words;
        }
        self.free.truncate(free);
    }

    /// Returns a packet that left the network.
    #[inline(always)]
    pub fn release(&mut self, h: Handle) {
        self.free.push(h);
    }

    /// Returns packets that left this part of the network.
    pub fn release_all(&mut self, handles: impl ExactSizeIterator<Item = Handle>) {
        self.free.extend(handles);
    }

    /// A packet's telemetry, where there is any.
    pub fn words(&self, h: Handle) -> Option<Words> {
        self.int.get(h as usize).copied()
    }

    /// Asks for a packet that is about to be looked at, by a key that ends in its handle: the waits for the cache lines of several
    /// overlap, which they do not when one packet is dealt with after the other.
    #[inline(always)]
    pub fn fetch(&self, key: u64) {
        prefetch(&self.packets[key as Handle as usize]);
    }

    /// Asks for a packet, if there is one.
    #[inline(always)]
    pub fn fetch_one(&self, h: Handle) {
        if let Some(packet) = self.packets.get(h as usize) {
            prefetch(packet);
        }
        if let Some(words) = self.int.get(h as usize) {
            prefetch(words);
        }
    }

    /// The same for packets and their telemetry. Nothing has touched that of an ACK since it turned back, so that it is farthest.
    #[inline(always)]
    pub fn fetch_telemetry(&self, keys: &[u64]) {
        for key in keys {
            let h = *key as Handle as usize;
            prefetch(&self.packets[h]);
            if let Some(words) = self.int.get(h) {
                prefetch(words);
            }
        }
    }

    /// Counts the packets of another arena as its own, for records.
    pub fn adopt(&mut self, live: u32) {
        self.adopted += live;
    }

    /// By handle: whether it is that of a packet in existence.
    pub fn in_use(&self) -> Vec<bool> {
        let mut used = vec![true; self.packets.len()];
        self.free.iter().for_each(|h| used[*h as usize] = false);
        used
    }

    /// Packets in existence.
    pub fn live(&self) -> u32 {
        self.adopted + (self.packets.len() - self.free.len()) as u32
    }

    /// Packets and telemetry apart, both by handle.
    #[inline(always)]
    pub fn split(&mut self) -> (&mut [Packet], &mut [Words]) {
        (&mut self.packets, &mut self.int)
    }

    /// The packets, to look at.
    #[inline(always)]
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Both, and where telemetry can be written that nobody will read.
    #[inline(always)]
    pub fn split_with_scrap(&mut self) -> (&mut [Packet], (&mut [Words], &mut Words)) {
        (&mut self.packets, (&mut self.int, &mut self.scrap))
    }

    /// The telemetry of a packet.
    #[inline(always)]
    pub fn int(&mut self, h: Handle) -> &mut [IntHop; 8] {
        &mut self.int[h as usize].0
    }
}

impl std::ops::Index<Handle> for Arena {
    type Output = Packet;
    #[inline(always)]
    fn index(&self, h: Handle) -> &Packet {
        &self.packets[h as usize]
    }
}

impl std::ops::IndexMut<Handle> for Arena {
    #[inline(always)]
    fn index_mut(&mut self, h: Handle) -> &mut Packet {
        &mut self.packets[h as usize]
    }
}
