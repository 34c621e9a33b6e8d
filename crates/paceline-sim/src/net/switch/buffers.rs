//! The switch's memory: who may stay, who must pause.
//!
//! Source of the shared-buffer rules: behaviour of the HPCC authors' simulator (hpcc-ns3 facts, section 4.7): per
//! (ingress port, class) a reserve, then a shared pool under a dynamic threshold, then per-port headroom. Buffers divided by port:
//! `buffers/per_port.rs`.

mod lack;
mod per_port;

use paceline_proto::units::Duration;

use crate::graph::{Graph, PortInfo};
use crate::packet::CONTROL;
use crate::scenario::{Accounting, BufferModel, PausedLink, Pfc, SwitchConfig, doublings_above};
pub use lack::lack_of_headroom;

/// Bytes held for one ingress port, by class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ingress {
    /// Bytes on reserve and shared pool.
    bytes: [u32; 8],
    /// Bytes on headroom.
    headroom: [u32; 8],
    /// Classes paused upstream.
    paused: u8,
}

/// The link into a switch port: its rate is that of the other direction, its delay that of both and of the peer's reaction.
/// `frames`: the largest frame and a pause frame, bytes.
fn paused_link(graph: &Graph, port: &PortInfo, config: &SwitchConfig, pfc: &Pfc, frames: [u32; 2]) -> PausedLink {
    let back = graph.opposite(port);
    let round_trip = Duration(port.delay.0 + back.delay.0 + pfc.reaction.0);
    let count = match config.model {
        BufferModel::Shared => PausedLink::SHARED,
        BufferModel::PerPort => [2, u32::from(pfc.classes)],
    };
    PausedLink { rate: back.rate, out: port.rate, round_trip, frames, count }
}

/// Fixed numbers of one port.
#[derive(Clone, Copy, Debug, Default)]
struct PortShare {
    headroom: u32,
    alpha_q16: u32,
    /// Bytes of a class at which it pauses and resumes, where ports have buffers of their own.
    xoff: u32,
    xon: u32,
}

/// One switch. What every packet looks at is on its first cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct Pool {
    /// Bytes buffered, all ports and classes.
    buffered: u64,
    /// With fewer bytes buffered no threshold is in reach of the next window; where the last one was local, and where it was exact.
    local_below: [u64; 2],
    /// (port, class) pairs that are paused or use headroom.
    pressed: u32,
    first: u32,
    ports: u32,
    exact: bool,
    /// Bytes of the pool in use. Kept in exact mode only.
    shared: u64,
    /// Buffer less reserves and headrooms; the smallest `xoff` where ports have buffers of their own.
    shareable: u64,
    /// Whole buffer, or that of a port.
    buffer: u64,
    /// Smallest alpha of its ports.
    min_alpha_q16: u64,
    /// With fewer bytes in a switch no threshold is in reach; as for `local_below`.
    in_reach: [u64; 2],
}

impl Pool {
    /// [`Buffers::window_is_local`].
    #[inline(always)]
    fn window_is_local(&self) -> bool {
        self.pressed == 0 && self.buffered < self.local_below[usize::from(self.exact)]
    }

    /// Bytes that a class of a port may hold of the pool, with so many more taken from it.
    #[inline(always)]
    fn threshold(&self, port: &PortShare, more: u32) -> u64 {
        (self.shareable.saturating_sub(self.shared + u64::from(more)) * u64::from(port.alpha_q16)) >> 16
    }
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// No room.
    Drop,
    /// It stays.
    Keep,
    /// It stays, and its ingress port must send a pause for its class.
    KeepAndPause,
}

/// The buffers of all switches.
#[derive(Debug)]
pub struct Buffers {
    ingress: Vec<Ingress>,
    share: Vec<PortShare>,
    pools: Vec<Pool>,
    reserve: u32,
    resume_offset: u32,
    egress_alpha_q16: u64,
    pfc: bool,
    model: BufferModel,
    accounting: Accounting,
    port_buffer: u64,
    max_frame: u32,
    /// A frame can be dropped selectively though nothing waits: no port may let one pass without asking.
    refuses_lone: bool,
    /// Largest number of bytes one switch held at a sampling instant.
    pub max_buffered: u64,
}

/// A switch's account for one local window.
#[derive(Debug)]
pub struct LocalAccount<'a> {
    ingress: &'a mut [Ingress],
    buffered: &'a mut u64,
}

impl LocalAccount<'_> {
    /// A packet is queued that came in at `port` of the switch.
    #[inline(always)]
    pub fn add(&mut self, port: u16, class: u8, size: u16) {
        *self.buffered += u64::from(size);
        self.ingress[usize::from(port)].bytes[usize::from(class & 7)] += u32::from(size);
    }

    /// It leaves.
    #[inline(always)]
    pub fn remove(&mut self, port: u16, class: u8, size: u16) {
        *self.buffered -= u64::from(size);
        self.ingress[usize::from(port)].bytes[usize::from(class & 7)] -= u32::from(size);
    }
}

/// Where a packet is, for the accounts.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Node of the switch.
    pub node: u32,
    /// Ingress port (global index).
    pub ingress: u32,
    /// Class.
    pub class: u8,
    /// Bytes.
    pub size: u32,
}

impl Buffers {
    /// Buffers for the switches of `graph`. `host_rate`: that of the first host in bit/s, for thresholds that grow with port
    /// speed; `max_frame`: largest frame; `pfc_frame`: a pause frame, both in bytes.
    pub fn new(graph: &Graph, config: &SwitchConfig, host_rate: u64, max_frame: u32, pfc_frame: u32) -> Self {
        let pfc = config.pfc;
        let mut share = vec![PortShare::default(); graph.ports.len()];
        let mut pools = vec![Pool::default(); graph.nodes()];
        for (node, pool) in pools.iter_mut().enumerate() {
            let ports = graph.ports_of(node as u32);
            *pool = Pool {
                buffer: config.buffer.0,
                first: graph.first[node],
                ports: ports.len() as u32,
                ..Pool::default()
            };
            pool.min_alpha_q16 = u64::from(u16::MAX) + 1;
            if graph.is_host(node as u32) {
                continue;
            }
            let mut set_aside = 0u64;
            let mut least_xoff = u64::MAX;
            for (i, port) in ports.iter().enumerate() {
                let Some(pfc) = &pfc else { continue };
                let link = paused_link(graph, port, config, pfc, [max_frame, pfc_frame]);
                let (rate, headroom) = (link.rate.0, pfc.headroom.bytes(&link));
                let (xoff, xon) = per_port::thresholds(config.buffer, pfc, &link);
                least_xoff = least_xoff.min(u64::from(xoff));
                let doublings = if pfc.alpha_scales { doublings_above(rate, host_rate) } else { 0 };
                let alpha = (u64::from(pfc.alpha_q16) << doublings.min(16)).min(1 << 16);
                share[pool.first as usize + i] = PortShare {
                    headroom: headroom.min(u64::from(u32::MAX)) as u32,
                    alpha_q16: alpha as u32,
                    xoff,
                    xon,
                };
                pool.min_alpha_q16 = pool.min_alpha_q16.min(alpha);
                set_aside += headroom.saturating_add(pfc.reserve.0).saturating_mul(u64::from(pfc.classes));
            }
            pool.shareable = match config.model {
                BufferModel::Shared if pfc.is_some_and(|p| p.wraps) => {
                    u64::from(config.buffer.0.wrapping_sub(set_aside) as u32)
                }
                BufferModel::Shared => config.buffer.0.saturating_sub(set_aside),
                BufferModel::PerPort => least_xoff,
            };
        }
        Self {
            ingress: vec![Ingress::default(); graph.ports.len()],
            share,
            pools,
            reserve: pfc.map_or(0, |p| p.reserve.0 as u32),
            resume_offset: pfc.map_or(0, |p| p.resume_offset.0 as u32),
            egress_alpha_q16: u64::from(config.egress_alpha_q16),
            pfc: pfc.is_some(),
            model: config.model,
            accounting: config.accounting,
            port_buffer: config.buffer.0,
            max_frame,
            refuses_lone: config.selective.is_some_and(|s| !s.admits(0, 0, max_frame, true)),
            max_buffered: 0,
        }
    }

    /// Whether classes pause instead of dropping.
    pub fn lossless(&self) -> bool {
        self.pfc
    }

    /// Bytes of a switch's buffer that its ports' reserves and headrooms leave to be used, of a port's where each has its own: 0
    /// means PFC cannot work.
    pub fn pool_of(&self, node: u32) -> u64 {
        self.pools[node as usize].shareable
    }

    /// Bytes that may wait at one egress port by a limit of its own; out of reach where it has none.
    pub fn egress_limit(&self) -> u64 {
        let own = !self.pfc && self.model == BufferModel::PerPort && self.accounting != Accounting::Input;
        if own { self.port_buffer } else { u64::MAX }
    }

    /// Headroom of a port (global index), bytes.
    pub fn headroom_of(&self, port: u32) -> u32 {
        self.share[port as usize].headroom
    }

    /// Whether a switch pauses anything upstream, or uses headroom.
    pub fn pauses_any(&self, node: u32) -> bool {
        self.pools[node as usize].pressed != 0
    }

    /// Whether the peer of an ingress port (global index) is told to pause a class.
    pub fn pauses(&self, port: u32, class: u8) -> bool {
        self.ingress[port as usize].paused & (1 << class) != 0
    }

    /// Tells how many bytes can arrive at a switch during one window. Until then all its windows are exact.
    pub fn set_burst(&mut self, node: u32, bytes: u64) {
        let most = self.first_out_of_reach(&self.pools[node as usize]);
        // Coming back from exact order takes more room than staying: the change costs a sum over all ports.
        let below = [most, most.div_ceil(2)];
        self.pools[node as usize].in_reach = below;
        self.pools[node as usize].local_below = below.map(|most| most.saturating_sub(bytes));
    }

    /// The least number of bytes in a switch with which a threshold may be in reach.
    fn first_out_of_reach(&self, p: &Pool) -> u64 {
        if self.refuses_lone {
            return 0;
        }
        let safe = |most: u64| match (self.pfc, self.model) {
            (true, BufferModel::Shared) => most < (p.shareable.saturating_sub(most) * p.min_alpha_q16) >> 16,
            (true, BufferModel::PerPort) => {
                most.saturating_add(u64::from(self.max_frame)) <= p.shareable && most <= p.buffer
            }
            // A port alone may drop what finds its own queue full, but lets pass what finds none without asking for room.
            (false, BufferModel::PerPort) => {
                let any_frame_fits = u64::from(self.max_frame) <= p.buffer;
                self.accounting == Accounting::Output && any_frame_fits || most <= p.buffer
            }
            (false, BufferModel::Shared) => {
                most < ((p.buffer.saturating_sub(most)).saturating_mul(self.egress_alpha_q16) >> 16) && most < p.buffer
            }
        };
        // What is safe with some bytes is safe with fewer.
        let (mut low, mut high) = (0, u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if safe(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Bytes buffered at a switch.
    pub fn buffered(&self, node: u32) -> u64 {
        self.pools[node as usize].buffered
    }

    /// Whether nothing that can happen in the coming window lets one port of this switch affect another: no threshold is
    /// within reach. The accounts may then be kept in any order.
    #[inline]
    pub fn window_is_local(&self, node: u32) -> bool {
        self.pools[node as usize].window_is_local()
    }

    /// The same for a window in which frames of so many bytes arrive.
    #[inline]
    pub fn is_local_with(&self, node: u32, bytes: u64) -> bool {
        let p = &self.pools[node as usize];
        p.pressed == 0 && p.buffered + bytes < p.in_reach[usize::from(p.exact)]
    }

    /// Chooses how the next packet of a switch is accounted: locally where no threshold is in reach (true), else exactly.
    #[inline(always)]
    pub fn choose(&mut self, node: u32) -> bool {
        let p = &mut self.pools[node as usize];
        if self.model == BufferModel::PerPort || !p.window_is_local() {
            self.enter_exact(node);
            return false;
        }
        // Asked first, since it nearly always is: what has not been written need not be read again.
        if p.exact {
            p.exact = false;
        }
        true
    }

    /// Whether a switch is accounted exactly.
    #[inline]
    pub fn is_exact(&self, node: u32) -> bool {
        self.pools[node as usize].exact
    }

    /// Prepares a switch for exact order after windows in which the pool was not kept.
    pub fn enter_exact(&mut self, node: u32) {
        let p = &mut self.pools[node as usize];
        if p.exact {
            return;
        }
        p.exact = true;
        let held = &self.ingress[p.first as usize..(p.first + p.ports) as usize];
        p.shared = held.iter().flat_map(|i| i.bytes).map(|b| u64::from(b.saturating_sub(self.reserve))).sum();
    }

    /// The account of a switch whose window is local: kept without looking at thresholds.
    #[inline(always)]
    pub fn local(&mut self, node: u32) -> LocalAccount<'_> {
        let p = &mut self.pools[node as usize];
        p.exact = false;
        let ports = p.first as usize..(p.first + p.ports) as usize;
        LocalAccount { ingress: &mut self.ingress[ports], buffered: &mut p.buffered }
    }

    /// Notes how full a switch is; called at the sampling instants, which all engines share.
    #[inline]
    pub fn note_level(&mut self, node: u32) {
        self.max_buffered = self.max_buffered.max(self.pools[node as usize].buffered);
    }

    /// Whether a packet of `size` bytes may stay at a switch without PFC; `egress_class` and `egress_port` as for
    /// [`Buffers::admit`]. In exact order, or where no threshold is in reach.
    #[inline]
    pub fn has_room(&self, node: u32, size: u32, egress_class: u32, egress_port: u32) -> bool {
        let pool = &self.pools[node as usize];
        match self.model {
            BufferModel::PerPort => u64::from(egress_port) + u64::from(size) <= pool.buffer,
            BufferModel::Shared => {
                let free = pool.buffer.saturating_sub(pool.buffered);
                u64::from(size) <= free
                    && u64::from(egress_class) + u64::from(size) <= free.saturating_mul(self.egress_alpha_q16) >> 16
            }
        }
    }

    /// A packet arrived, in exact order. `egress_bytes`: what waits at its egress queue (class) and port.
    pub fn admit(&mut self, at: Place, egress_class: u32, egress_port: u32) -> Admit {
        let (class, size) = (usize::from(at.class), at.size);
        if self.model == BufferModel::PerPort {
            return self.admit_per_port(at, egress_port);
        }
        let pool = &self.pools[at.node as usize];
        if !self.pfc {
            if !self.has_room(at.node, size, egress_class, egress_port) {
                return Admit::Drop;
            }
            self.pools[at.node as usize].buffered += u64::from(size);
            self.ingress[at.ingress as usize].bytes[class] += size;
            return Admit::Keep;
        }
        if at.class == CONTROL {
            return self.admit_control(at);
        }
        let threshold = pool.threshold(&self.share[at.ingress as usize], 0);
        let held = &mut self.ingress[at.ingress as usize];
        let shared = held.bytes[class].saturating_sub(self.reserve);
        if size + held.headroom[class] > self.share[at.ingress as usize].headroom
            && u64::from(size + shared) > threshold
        {
            return Admit::Drop;
        }
        let pool = &mut self.pools[at.node as usize];
        let pressed_before = held.headroom[class] > 0 || held.paused & (1 << class) != 0;
        let new = held.bytes[class] + size;
        if new <= self.reserve {
            held.bytes[class] = new;
        } else if u64::from(new - self.reserve) > threshold {
            held.headroom[class] += size;
        } else {
            held.bytes[class] = new;
            pool.shared += u64::from(size.min(new - self.reserve));
        }
        pool.buffered += u64::from(size);
        // The threshold moves with what was just taken from the pool.
        let threshold = pool.threshold(&self.share[at.ingress as usize], 0);
        let shared = held.bytes[class].saturating_sub(self.reserve);
        let pause = held.paused & (1 << class) == 0 && (held.headroom[class] > 0 || u64::from(shared) >= threshold);
        if pause {
            held.paused |= 1 << class;
        }
        let pressed_now = held.headroom[class] > 0 || held.paused & (1 << class) != 0;
        pool.pressed += u32::from(pressed_now) - u32::from(pressed_before);
        if pause { Admit::KeepAndPause } else { Admit::Keep }
    }

    /// [`Buffers::admit`] for the control class of a shared buffer with PFC. It is never paused, so that no headroom is for it: it takes
    /// what it can get of the pool, and what finds none left is dropped.
    fn admit_control(&mut self, at: Place) -> Admit {
        let pool = &mut self.pools[at.node as usize];
        let held = &mut self.ingress[at.ingress as usize].bytes[usize::from(CONTROL)];
        let more = u64::from(at.size.min((*held + at.size).saturating_sub(self.reserve)));
        if pool.shared + more > pool.shareable {
            return Admit::Drop;
        }
        *held += at.size;
        pool.shared += more;
        pool.buffered += u64::from(at.size);
        Admit::Keep
    }

    /// Whether a packet that finds its egress port empty and idle would be admitted, pause nothing, and with its departure in the
    /// same instant resume nothing: the accounts are then as before. In exact order.
    #[inline]
    pub fn lets_through(&self, at: Place) -> bool {
        let (class, size) = (usize::from(at.class), at.size);
        if !self.pfc && self.model == BufferModel::Shared {
            return self.has_room(at.node, size, 0, 0);
        }
        if self.model == BufferModel::PerPort {
            return self.lets_through_per_port(at);
        }
        let held = &self.ingress[at.ingress as usize];
        if held.paused & (1 << class) != 0 || held.headroom[class] > 0 {
            return false;
        }
        let (pool, before) = (&self.pools[at.node as usize], held.bytes[class].saturating_sub(self.reserve));
        let after = (held.bytes[class] + size).saturating_sub(self.reserve);
        let share = &self.share[at.ingress as usize];
        u64::from(before + size) <= pool.threshold(share, 0)
            && u64::from(after) < pool.threshold(share, after.min(size))
    }

    /// A packet leaves (start of transmission), in exact order. Returns whether its ingress port may send a resume.
    pub fn release(&mut self, at: Place) -> bool {
        let (class, size) = (usize::from(at.class), at.size);
        let pool = &mut self.pools[at.node as usize];
        let held = &mut self.ingress[at.ingress as usize];
        pool.buffered -= u64::from(size);
        if !self.pfc {
            held.bytes[class] -= size;
            return false;
        }
        if self.model == BufferModel::PerPort {
            return self.release_per_port(at);
        }
        let pressed_before = held.headroom[class] > 0 || held.paused & (1 << class) != 0;
        let from_headroom = held.headroom[class].min(size);
        let shared = held.bytes[class].saturating_sub(self.reserve);
        let from_shared = (size - from_headroom).min(shared);
        held.headroom[class] -= from_headroom;
        held.bytes[class] -= size - from_headroom;
        pool.shared -= u64::from(from_shared);
        let mut resume = false;
        if held.paused & (1 << class) != 0 && held.headroom[class] == 0 {
            let shared = held.bytes[class].saturating_sub(self.reserve);
            let threshold = pool.threshold(&self.share[at.ingress as usize], 0);
            if shared == 0 || u64::from(shared + self.resume_offset) <= threshold {
                held.paused &= !(1 << class);
                resume = true;
            }
        }
        let pressed_now = held.headroom[class] > 0 || held.paused & (1 << class) != 0;
        pool.pressed -= u32::from(pressed_before) - u32::from(pressed_now);
        resume
    }

    /// The link of an ingress port (global index) failed: whatever its peer was told to pause is no longer.
    pub fn forget_pauses(&mut self, node: u32, port: u32) {
        let held = &mut self.ingress[port as usize];
        let paused = std::mem::take(&mut held.paused);
        let relieved = (0..8).filter(|&c| paused & (1 << c) != 0 && held.headroom[c] == 0).count();
        self.pools[node as usize].pressed -= relieved as u32;
    }

    /// The threshold arithmetic at a port, for a message about a drop.
    pub fn explain(&self, node: u32, port: u32, class: u8) -> String {
        let pool = &self.pools[node as usize];
        let held = &self.ingress[port as usize];
        if self.model == BufferModel::PerPort {
            return self.explain_per_port(pool, port, class);
        }
        format!(
            "buffer {} B, pool {} B, of it in use {} B; ingress holds {} B and {} of {} B headroom",
            pool.buffer,
            pool.shareable,
            pool.shared,
            held.bytes[usize::from(class)],
            held.headroom[usize::from(class)],
            self.share[port as usize].headroom
        )
    }
}

#[cfg(test)]
mod tests;
