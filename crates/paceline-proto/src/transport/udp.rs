//! UDP beside TCP: datagrams at a rate, delivered or lost, with nobody to tell.
//!
//! A flow is as many datagrams as its bytes fill, sent one after the other at its scheme's rate and never again. No
//! window, no answer, no ECN. It is over for its sender, and its slot free, when the last one ([`LAST`]) has gone. While something holds a datagram up (its class is
//! paused, or others send) the next one waits as well: what is missed is not made up for.
//! Both transports of a host send in turn.

use std::collections::VecDeque;
use std::sync::Arc;

use super::message::{Counters, Endpoint, Extra, Header, Kind, LAST, Message, Outcome, Sizes};
use super::tcp;
use super::timers::Timers;
use crate::units::{BitsPerSec, Time};

/// The flow of a slot.
#[derive(Clone, Copy, Debug)]
struct Flow {
    peer: u32,
    bytes: u64,
    rate: BitsPerSec,
    /// Number of the next datagram, and how many there are.
    next: u32,
    datagrams: u32,
    /// The next one may go.
    due: bool,
}

/// A host with TCP and UDP.
#[derive(Clone, Debug)]
pub struct Host {
    tcp: tcp::Host,
    /// By scheme: rate of its datagrams; `None` for a scheme over TCP.
    rates: Arc<[Option<BitsPerSec>]>,
    sizes: Sizes,
    /// Bytes on the wire beside each frame.
    overhead: u32,
    flows: Vec<Option<Flow>>,
    /// Datagrams that may go, by slot, the first first.
    ready: VecDeque<u32>,
    timers: Timers,
    /// The last packet was a datagram.
    sent_datagram: bool,
}

impl Host {
    /// A host. `rates`: by scheme, of the wire, `None` for those over TCP; `overhead`: what the wire adds to a frame, bytes.
    pub fn new(tcp: tcp::Host, rates: Arc<[Option<BitsPerSec>]>, sizes: Sizes, overhead: u32) -> Self {
        Self {
            tcp,
            rates,
            sizes,
            overhead,
            flows: Vec::new(),
            ready: VecDeque::new(),
            timers: Timers::default(),
            sent_datagram: false,
        }
    }

    /// The host's TCP.
    pub fn tcp(&self) -> &tcp::Host {
        &self.tcp
    }

    /// Whether a slot's flow is one of datagrams.
    pub fn is_udp(&self, slot: u32) -> bool {
        self.flows.get(slot as usize).is_some_and(Option::is_some)
    }

    fn datagram(&mut self, now: Time) -> Option<Header> {
        let slot = self.ready.pop_front()?;
        let place = self.flows.get_mut(slot as usize)?;
        let flow = place.as_mut()?;
        let (seq, size) = (flow.next, self.sizes.frame(flow.bytes, flow.next));
        let last = seq + 1 == flow.datagrams;
        let header = Header {
            kind: Kind::Datagram,
            priority: 0,
            flags: if last { LAST } else { 0 },
            size,
            flow: slot,
            peer: flow.peer,
            seq,
            ext: flow.bytes,
        };
        flow.next += 1;
        flow.due = false;
        if last {
            *place = None;
        } else {
            let gap = flow.rate.serialisation(u64::from(size) + u64::from(self.overhead));
            self.timers.arm(slot, now + gap);
        }
        self.sent_datagram = true;
        self.tcp.count_datagram();
        Some(header)
    }
}

impl Endpoint for Host {
    const EXTRA: bool = true;

    fn start(&mut self, now: Time, slot: u32, message: Message) {
        let Some(rate) = self.rates.get(usize::from(message.scheme)).copied().flatten() else {
            self.tcp.start(now, slot, message);
            return;
        };
        let i = slot as usize;
        if self.flows.len() <= i {
            self.flows.resize(i + 1, None);
        }
        let datagrams = self.sizes.packets(message.bytes);
        self.flows[i] = Some(Flow { peer: message.peer, bytes: message.bytes, rate, next: 0, datagrams, due: true });
        self.ready.push_back(slot);
    }

    fn append(&mut self, now: Time, slot: u32, bytes: u64) {
        self.tcp.append(now, slot, bytes);
    }

    fn on_packet(&mut self, now: Time, header: &Header) -> Outcome {
        self.on_packet_with(now, header, &Extra::default())
    }

    fn on_packet_with(&mut self, now: Time, header: &Header, extra: &Extra) -> Outcome {
        if header.kind == Kind::Datagram {
            return Outcome { fresh: self.sizes.payload_of(header.ext, header.seq), ..Outcome::default() };
        }
        self.tcp.on_packet_with(now, header, extra)
    }

    fn congested(&mut self, now: Time, slot: u32) {
        self.tcp.congested(now, slot);
    }

    fn extra(&self) -> Extra {
        if self.sent_datagram { Extra::default() } else { self.tcp.extra() }
    }

    fn take_failed(&mut self) -> Option<u32> {
        self.tcp.take_failed()
    }

    fn forget(&mut self, slot: u32) {
        self.tcp.forget(slot);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Header> {
        let first = if self.sent_datagram { None } else { self.datagram(now) };
        if first.is_some() {
            return first;
        }
        if let Some(header) = self.tcp.poll_transmit(now) {
            self.sent_datagram = false;
            return Some(header);
        }
        self.datagram(now)
    }

    #[inline]
    fn has_more(&self) -> bool {
        self.tcp.has_more() || !self.ready.is_empty()
    }

    fn next_timeout(&self) -> Time {
        self.timers.next().min(self.tcp.next_timeout())
    }

    fn on_timeout(&mut self, now: Time) {
        while let Some(slot) = self.timers.pop_due(now) {
            if let Some(Some(flow)) = self.flows.get_mut(slot as usize)
                && !flow.due
            {
                flow.due = true;
                self.ready.push_back(slot);
            }
        }
        if self.tcp.next_timeout() <= now {
            self.tcp.on_timeout(now);
        }
    }

    fn counters(&self) -> &Counters {
        self.tcp.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::context;
    use crate::cc::{Params, fixed, new_reno};

    const GBPS: u64 = 1_000_000_000;

    fn host(rate: u64) -> Host {
        let schemes = [Params::NewReno(new_reno::Params::default()), Params::Fixed(fixed::Params::default())];
        let contexts: Arc<[_]> = schemes.into_iter().map(context).collect();
        let tcp = tcp::Host::new(Arc::new(tcp::Params::rfc()), contexts, Sizes::ETHERNET);
        Host::new(tcp, Arc::new([None, Some(BitsPerSec(rate))]), Sizes::ETHERNET, 20)
    }

    /// Sends all that goes until `end`, each packet for as long as it takes on a line of 10 Gb/s. Times in ns and kinds.
    fn run(host: &mut Host, end: u64) -> Vec<(u64, Kind, u32)> {
        let (mut now, mut sent) = (Time(0), Vec::new());
        while now.0 < end {
            if host.next_timeout() <= now {
                host.on_timeout(now);
            }
            if let Some(header) = host.poll_transmit(now) {
                sent.push((now.0 / 1000, header.kind, header.seq));
                now = now + BitsPerSec(10 * GBPS).serialisation(u64::from(header.size) + 20);
            } else {
                now = host.next_timeout().min(Time(end));
            }
        }
        sent
    }

    /// 5000 bytes at 1 Gb/s: three full datagrams of 1538 bytes on the wire, 12.304 us each, and a short one; then nothing is left.
    #[test]
    fn datagrams_keep_their_rate() {
        let mut h = host(GBPS);
        h.start(Time(0), 4, Message { peer: 1, bytes: 5000, id: 0, scheme: 1 });
        let sent = run(&mut h, 100_000_000);
        let times: Vec<_> = sent.iter().map(|(ns, _, seq)| (*ns, *seq)).collect();
        assert_eq!(times, [(0, 0), (12_304, 1), (24_608, 2), (36_912, 3)]);
        assert!(!h.is_udp(4), "its slot is free");
        assert_eq!((h.counters().data, h.next_timeout()), (4, Time::NEVER));
    }

    /// A connection that has much to send and a flow of datagrams at line rate share the link packet by packet.
    #[test]
    fn both_transports_send_in_turn() {
        let mut h = host(10 * GBPS);
        h.start(Time(0), 0, Message { peer: 1, bytes: 14_600, id: 0, scheme: 1 });
        for slot in 1..6 {
            h.start(Time(0), slot, Message { peer: 1, bytes: 1000, id: 0, scheme: 0 });
        }
        let kinds: Vec<_> = run(&mut h, 20_000_000).into_iter().map(|(_, kind, _)| kind).take(8).collect();
        // A SYN is an ACK without data to the frame.
        assert_eq!(kinds, [Kind::Datagram, Kind::Ack].repeat(4));
    }

    /// What arrives is its payload, and no more than that.
    #[test]
    fn a_datagram_is_its_payload() {
        let mut h = host(GBPS);
        let header =
            Header { kind: Kind::Datagram, priority: 0, flags: 0, size: 0, flow: 0, peer: 0, seq: 3, ext: 5000 };
        assert_eq!(h.on_packet(Time(0), &header), Outcome { fresh: 620, ..Outcome::default() });
        assert_eq!(h.poll_transmit(Time(0)), None);
    }
}
