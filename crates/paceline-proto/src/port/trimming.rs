//! NDP's switch port: two short queues, trimming, return to sender.
//!
//! Source: the NDP paper (Handley et al., SIGCOMM 2017) and its simulator (proactive facts, section 3.1). Full data packets are in
//! the low queue, headers and control packets in the high one, each until its last bit has left: the packet being sent counts against
//! its queue's limit, as in the authors' simulator and in htsim, on which the paper's figures were made. A queue of eight packets is one being
//! sent and seven that wait. What does not fit is trimmed, and by the toss of a coin it is
//! the newcomer or the packet at the tail, which breaks up phase effects. A header that does not fit goes back to its sender.
//!
//! *Deviation:* when the packet at the tail is smaller than the newcomer, so that trimming it makes no room, the newcomer
//! is trimmed whatever the coin says.

use crate::transport::message::{Header, Kind, TO_SENDER, TRIMMED};

/// Settings of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrimmingPort {
    /// Limit of the data queue, bytes of frames, with the packet being sent. Eight full packets (paper).
    pub data_limit: u32,
    /// Limit of the header queue, bytes of frames, with the one being sent. The same (paper); twice that in htsim.
    pub header_limit: u32,
    /// Headers served for each data packet while both wait, at least 1. 10 (paper); 100,000 in htsim.
    pub headers_per_data: u32,
    /// Headers that do not fit go back to their sender. On in the paper, off by default in htsim.
    pub return_to_sender: bool,
}

/// What to do with an arriving data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnData {
    /// Into the data queue.
    Enqueue,
    /// Cut its payload off; its header is offered to the header queue.
    TrimArriving,
    /// Take the packet at the tail of the data queue out, cut its payload off and offer its header to the header queue;
    /// then append the newcomer.
    TrimTail,
}

/// What to do with a header or control packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnHeader {
    /// Into the header queue.
    Enqueue,
    /// Send it back, to the header queue of a port towards its sender: see [`returned`].
    ReturnToSender,
    /// Away.
    Drop,
}

/// One of the two queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// Headers and control packets.
    Header,
    /// Full data packets.
    Data,
}

impl TrimmingPort {
    /// The paper's port for full frames of a size: queues of eight, service 10 to 1, return to sender.
    pub const fn paper(full_frame: u32) -> Self {
        let limit = 8 * full_frame;
        Self { data_limit: limit, header_limit: limit, headers_per_data: 10, return_to_sender: true }
    }

    /// htsim's port with `-q packets`: so many payloads of `mtu` bytes, of which full frames of 64 bytes more fill one less or so.
    pub const fn htsim(mtu: u32, packets: u32) -> Self {
        let limit = packets * mtu;
        Self { data_limit: limit, header_limit: 2 * limit, headers_per_data: 100_000, return_to_sender: false }
    }

    /// Whether a packet of `size` bytes goes into the queue, which holds `held` bytes, the packet being sent among them, as it is.
    #[inline]
    pub fn fits(&self, queue: Queue, held: u32, size: u32) -> bool {
        let limit = match queue {
            Queue::Header => self.header_limit,
            Queue::Data => self.data_limit,
        };
        held.saturating_add(size) <= limit
    }

    /// A data packet of `size` bytes arrives. `held`: bytes in the data queue, the packet being sent among them; `tail`: size of the last
    /// packet that waits, 0 when none does; `coin`: 64 random bits of which the highest is looked at.
    #[inline]
    pub fn on_data(&self, held: u32, tail: u32, size: u32, coin: u64) -> OnData {
        if self.fits(Queue::Data, held, size) {
            OnData::Enqueue
        } else if coin >> 63 != 0 && tail > 0 && self.fits(Queue::Data, held.saturating_sub(tail), size) {
            OnData::TrimTail
        } else {
            OnData::TrimArriving
        }
    }

    /// A header or control packet arrives, or a packet was trimmed to it. `held`: bytes in the header queue, with the one being
    /// sent.
    #[inline]
    pub fn on_header(&self, held: u32, header: &Header) -> OnHeader {
        if self.fits(Queue::Header, held, u32::from(header.size)) {
            OnHeader::Enqueue
        } else if self.return_to_sender && header.kind == Kind::Data && !header.is(TO_SENDER) {
            OnHeader::ReturnToSender
        } else {
            OnHeader::Drop
        }
    }
}

/// A data packet without its payload, a frame of `control` bytes in the class of control packets.
#[inline]
pub fn trimmed(header: Header, control: u16, control_priority: u8) -> Header {
    Header { flags: header.flags | TRIMMED, size: control, priority: control_priority, ..header }
}

/// A trimmed packet on its way back. The engine swaps its addresses.
#[inline]
pub fn returned(header: Header) -> Header {
    Header { flags: header.flags | TO_SENDER, ..header }
}

/// Which queue is served next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Service {
    /// Headers served in a row while data waited.
    headers: u32,
}

impl Service {
    /// The queue to take the next packet from, given which of them hold packets. To be called once per departure.
    #[inline]
    pub fn next(&mut self, port: &TrimmingPort, headers_wait: bool, data_waits: bool) -> Option<Queue> {
        match (headers_wait, data_waits) {
            (false, false) => None,
            (true, false) => Some(Queue::Header),
            (true, true) if self.headers < port.headers_per_data.max(1) => {
                self.headers += 1;
                Some(Queue::Header)
            }
            (_, true) => {
                self.headers = 0;
                Some(Queue::Data)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: TrimmingPort = TrimmingPort::paper(9000);

    fn header(kind: Kind, flags: u8) -> Header {
        Header { kind, priority: 1, flags, size: 64, flow: 0, peer: 0, seq: 0, ext: 0 }
    }

    /// The paper: queues of eight jumbo packets; the header queue holds 1125 headers.
    #[test]
    fn queues_of_eight_packets() {
        let ack = header(Kind::Ack, 0);
        let fits = (0..20).filter(|n| PORT.on_data(n * 9000, 9000, 9000, 0) == OnData::Enqueue).count();
        let headers = (0..2000).filter(|n| PORT.on_header(n * 64, &ack) == OnHeader::Enqueue).count();
        assert_eq!((fits, headers), (8, 1125));
        let htsim = TrimmingPort::htsim(9000, 8);
        let fits = (0..20).filter(|n| htsim.on_data(n * 9064, 9064, 9064, 0) == OnData::Enqueue).count();
        assert_eq!(fits, 7, "htsim counts payloads and fills them with frames");
    }

    #[test]
    fn a_fair_coin_decides_who_is_trimmed() {
        assert_eq!(PORT.on_data(72_000, 9000, 9000, 1 << 63), OnData::TrimTail);
        assert_eq!(PORT.on_data(72_000, 9000, 9000, u64::MAX >> 1), OnData::TrimArriving);
        assert_eq!(PORT.on_data(72_000, 100, 9000, u64::MAX), OnData::TrimArriving, "no room made");
        assert_eq!(PORT.on_data(0, 0, 80_000, u64::MAX), OnData::TrimArriving, "larger than the queue");
    }

    /// Headers return to their sender once; a control packet or one on its way back is lost.
    #[test]
    fn headers_that_do_not_fit_go_back_once() {
        let full = 72_000;
        let data = trimmed(header(Kind::Data, 0), 64, 0);
        assert_eq!((data.priority, data.flags), (0, TRIMMED));
        assert_eq!(PORT.on_header(full, &data), OnHeader::ReturnToSender);
        assert_eq!(PORT.on_header(full, &returned(data)), OnHeader::Drop);
        assert_eq!(PORT.on_header(full, &header(Kind::Nack, TO_SENDER)), OnHeader::Drop);
        assert_eq!(TrimmingPort::htsim(9000, 8).on_header(2 * 8 * 9000, &data), OnHeader::Drop);
    }

    #[test]
    fn ten_headers_for_one_data_packet() {
        let mut s = Service::default();
        let served: Vec<_> = (0..23).map(|_| s.next(&PORT, true, true)).collect();
        let data: Vec<_> = (0..23).filter(|i| served[*i] == Some(Queue::Data)).collect();
        assert_eq!(data, [10, 21]);
        assert_eq!(s.next(&PORT, false, true), Some(Queue::Data));
        assert_eq!(s.next(&PORT, true, false), Some(Queue::Header));
        assert_eq!(s.next(&PORT, false, false), None);
    }
}
