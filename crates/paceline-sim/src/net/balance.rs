//! The books of a run, kept in release builds, too: what came into the network = what was received, dropped, cut off and is still in it,
//! in bytes, of data packets and of all others apart.
//!
//! What hosts have sent stands at their ports; only what becomes of it is counted here. Packets that have not left their host yet are on
//! neither side, nor is what has come to a host's adapter, which is received.

use crate::net::Net;
use crate::packet::{Handle, Kind, NONE, Packet};

/// Bytes of data packets, and of all others.
pub(crate) type ByKind = [u64; 2];

/// Which of [`ByKind`] a packet belongs to.
#[inline(always)]
fn place(kind: Kind) -> usize {
    usize::from(kind != Kind::Data)
}

/// What became of packets, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Books {
    /// Come to where they went: a host, or of PFC frames the next port.
    received: ByKind,
    /// Lost anywhere.
    dropped: ByKind,
    /// Data packets that became headers.
    trimmed: u64,
    /// Frames, and headers, that switches have made.
    made: ByKind,
    /// Lost at their host before they left it: no port has counted them.
    unsent: ByKind,
    /// Still in the networks of other parts, which have been absorbed.
    elsewhere: ByKind,
}

impl Books {
    /// A packet has come to where it went.
    #[inline(always)]
    pub(crate) fn receive(&mut self, kind: Kind, size: u16) {
        self.received[place(kind)] += u64::from(size);
    }

    /// A packet is lost.
    pub(crate) fn drop(&mut self, packet: &Packet) {
        self.dropped[place(packet.kind)] += u64::from(packet.size);
    }

    /// A packet that is lost, too, is on no port's account.
    pub(crate) fn not_sent(&mut self, packet: &Packet) {
        self.unsent[place(packet.kind)] += u64::from(packet.size);
    }

    /// A switch has made a frame.
    pub(crate) fn make(&mut self, packet: &Packet) {
        self.made[place(packet.kind)] += u64::from(packet.size);
    }

    /// A switch has made a header of a data packet of so many bytes.
    pub(crate) fn trim(&mut self, before: u16, header: &Packet) {
        self.trimmed += u64::from(before);
        self.make(header);
    }

    /// Takes over those of another part, in whose network so much is left.
    pub(crate) fn absorb(&mut self, other: &Self, left: ByKind) {
        let Self { received, dropped, trimmed, made, unsent, elsewhere } = other;
        self.trimmed += trimmed;
        for (mine, theirs) in [
            (&mut self.received, received),
            (&mut self.dropped, dropped),
            (&mut self.made, made),
            (&mut self.unsent, unsent),
            (&mut self.elsewhere, elsewhere),
        ] {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.elsewhere.iter_mut().zip(left).for_each(|(a, b)| *a += b);
    }
}

impl Net {
    /// Bytes queued at this part's switches and on its wires.
    pub(crate) fn in_network(&self) -> ByKind {
        let packets = self.arena.packets();
        let mut counts = self.arena.in_use();
        let mut leave_out = |h: Handle| counts[h as usize] = false;
        // Ports that come from other parts have handles of theirs.
        let own = self.nics.iter().map(|nic| &self.ports[nic.port as usize]);
        for p in own.filter(|p| self.share.elsewhere(p.node).is_none()) {
            for class in 0..8 {
                let mut h = p.head(class);
                while h != NONE {
                    leave_out(h);
                    h = packets[h as usize].next;
                }
            }
        }
        if let Some(adapters) = &self.adapters {
            adapters.handles().for_each(leave_out);
        }
        let mut bytes = ByKind::default();
        for (packet, _) in packets.iter().zip(counts).filter(|(_, counts)| *counts) {
            bytes[place(packet.kind)] += u64::from(packet.size);
        }
        bytes
    }

    /// What to tell where the books do not balance: an error of ours. Takes a look at every packet, so that it is for the end of a run.
    pub(super) fn imbalance(&self) -> Option<String> {
        let (b, held) = (&self.books, self.in_network());
        let mut sent = ByKind::default();
        for p in self.nics.iter().map(|nic| &self.ports[nic.port as usize]) {
            sent[0] += p.tx_bytes - p.tx_control_bytes;
            sent[1] += p.tx_control_bytes;
        }
        let check = |kind: usize, what: &str| {
            let trimmed = if kind == 0 { b.trimmed } else { 0 };
            let came = sent[kind] + b.unsent[kind] + b.made[kind];
            let is_there = held[kind] + b.elsewhere[kind];
            let went = b.received[kind] + b.dropped[kind] + trimmed + is_there;
            (came != went).then(|| {
                format!(
                    "of {what} packets {came} B came into the network, and {went} B are accounted for: {} received, {} dropped, \
                     {trimmed} cut off, {is_there} still there",
                    b.received[kind], b.dropped[kind],
                )
            })
        };
        check(0, "data").or_else(|| check(1, "other"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble;
    use crate::engine::sequential::Sequential;
    use crate::spec::parse;

    /// A run that ends midway, with packets queued, dropped and on wires, balances; and a byte too much is told.
    #[test]
    fn bytes_are_accounted_for_in_the_midst_of_a_run() {
        let text = "run.stop = '30us'\nswitch = { model = 'per_port', buffer = '60KB', pfc.enabled = false }
            [topology]\nkind = 'star'\nhosts = 9\n[schemes.x]\ncc = 'none'\nwindow = 'off'
            [[workloads]]\nkind = 'incast'\nsenders = 8\nreceiver = 8\nsizes = '1MB'\n";
        let a = assemble(&parse(text, "test", &[]).unwrap()).unwrap();
        let mut engine = Sequential::new(a.scenario, a.source, None).unwrap();
        engine.run(&mut ()).unwrap();
        let net = engine.net_mut();
        assert_eq!(net.imbalance(), None);
        assert!(net.in_network()[0] > 60_000 && net.books.dropped[0] > 0, "{:?}", net.books);
        net.books.receive(Kind::Data, 1);
        let why = net.imbalance().unwrap();
        assert!(why.starts_with("of data packets ") && why.contains(" B are accounted for: "), "{why}");
    }
}
