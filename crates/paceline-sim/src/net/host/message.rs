//! Host-wide message transports (TCP, Homa, NDP, ExpressPass) at the NICs.
//!
//! A message is a flow whose sending and receiving state lives in its hosts' endpoints (`paceline_proto::transport::message`)
//! instead of [`crate::net::flow::Flow`] and [`crate::net::flow::Receiving`]. An endpoint knows messages by dense numbers of its own,
//! *places*; packets name the flow; `places.rs` translates. A NIC asks its endpoint for the next packet whenever its
//! transmitter is idle; what waits at a host waits in its endpoint, but for packets whose class is paused.
//!
//! What a header says beyond the packet's own fields travels in the packet's telemetry words: two, and six more for TCP.
//!
//! | file | what |
//! |---|---|
//! | here | the message transport of a run; the life of a message: begun, made longer, over |
//! | `endpoints.rs` | the endpoints of all hosts, whatever transport they speak |
//! | `places.rs` | flows and the endpoints' own numbers for messages |
//! | `turns.rs` | when a NIC's endpoint is asked for packets, and called at a timeout |
//! | `sending.rs` | headers become packets |
//! | `arrival.rs` | packets become headers |

mod arrival;
mod endpoints;
mod places;
mod sending;
mod turns;

use std::sync::Arc;

use paceline_proto::cc::FlowContext;
use paceline_proto::transport::message::{self as proto, Counters, Endpoint};
use paceline_proto::units::{BitsPerSec, MS, Time};

use endpoints::{Endpoints, endpoint};
pub(crate) use places::Incoming;
use places::{Outbound, Places};

use crate::error::InputError;
use crate::lookahead::Windows;
use crate::net::Net;
use crate::net::by_number::ByNumber;
use crate::net::flow::SLOT_MASK;
use crate::net::parts::Note;
use crate::record::Status;
use crate::scenario::{Scenario, Transport};
use places::Turns;

/// How long a flow's slot stays unused after its end, beside the lookahead, ps: packets of it may still come.
const REST: u64 = MS;
/// Never.
const NEVER: u64 = u64::MAX;
/// Timeouts in a row that may pass before a run counts as standing still.
const PATIENCE: u64 = 16;

/// How long slots and places of a scenario's flows stay unused after their end, ps, and how long receivers know those flows. It must not
/// depend on what is run at once where that is short: which place a message gets decides ties. A receiver's part hears of a message's end
/// when the window is over.
pub(crate) fn rest(windows: &Windows) -> u64 {
    (REST + windows.lookahead).max(windows.length())
}

/// The message transport of a run.
pub(crate) struct Messages {
    endpoints: Endpoints,
    /// By NIC.
    places: Vec<Places>,
    /// By flow number.
    incoming: ByNumber<Incoming>,
    /// How long a receiver's place rests before another message gets it ([`rest`]), ps.
    rest: u64,
    /// How long nodes are run at a time, ps.
    window: u64,
    /// Longest timeout of the transport.
    patience: u64,
    spray: bool,
    /// Bursts are followed by probes.
    probed: bool,
    /// Headers do not say all, and classes are the flows'.
    is_tcp: bool,
    /// Some flows are over UDP.
    has_udp: bool,
    /// What the hosts of other parts have counted.
    others: Counters,
}

impl Messages {
    /// Whether the transport is TCP, or UDP beside it.
    pub(crate) fn is_tcp(&self) -> bool {
        self.is_tcp
    }

    /// Whether there may be flows over UDP.
    pub(crate) fn has_udp(&self) -> bool {
        self.has_udp
    }

    /// The endpoints of a scenario whose scheme is a message transport. `rates`: of the NICs' links; `contexts`: of each
    /// scheme's flows; `key`: of their random draws.
    pub(crate) fn new(
        scenario: &Scenario,
        rates: &[BitsPerSec],
        contexts: Arc<[FlowContext]>,
        key: u64,
    ) -> Result<Option<Box<Self>>, InputError> {
        let Some((endpoints, patience)) = Endpoints::new(scenario, rates, contexts, key)? else { return Ok(None) };
        let windows = Windows::of(scenario);
        Ok(Some(Box::new(Self {
            places: vec![Places::default(); rates.len()],
            incoming: ByNumber::new(0, Incoming::NOBODY),
            rest: rest(&windows),
            window: windows.length(),
            patience: patience.saturating_mul(PATIENCE),
            is_tcp: matches!(endpoints, Endpoints::Tcp(_)),
            has_udp: scenario.schemes.iter().any(|s| matches!(s.transport, Transport::Udp(_))),
            endpoints,
            spray: scenario.routing.choice.splits_flows(),
            probed: scenario.schemes.iter().any(|s| s.transport.is_aeolus()),
            others: Counters::default(),
        })))
    }

    /// Longest time in which a run without progress may still help itself, ps.
    pub(crate) fn patience(&self) -> u64 {
        self.patience
    }

    /// How long receivers know a message that sent data once after its end, ps.
    pub(crate) fn known(&self) -> u64 {
        self.rest
    }

    /// How long slots rest, ps: while their messages are known, and until all nodes have come to where these are not.
    pub(crate) fn slots_rest(&self) -> u64 {
        self.rest + 2 * self.window
    }

    /// A sender's place is another flow's from here on.
    pub(crate) fn free_place(&mut self, nic: u32, place: u32) {
        self.places[nic as usize].free.push(place);
    }

    /// Packets that hosts' shapers hold back.
    pub(crate) fn held_back(&self) -> usize {
        self.endpoints.held_back()
    }

    /// What all hosts have counted.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = self.others;
        sum.add(&self.endpoints.counters());
        sum
    }

    /// Bytes acknowledged and window of the flow at a sender's place, over TCP.
    pub(crate) fn progress(&self, nic: u32, place: u32) -> Option<(u64, u64)> {
        let Endpoints::Tcp(hosts) = &self.endpoints else { return None };
        hosts[nic as usize].tcp().progress(place)
    }

    /// Takes over what another part has counted, and of its NICs how far TCP's flows have come.
    pub(crate) fn absorb(&mut self, other: &mut Messages, nics: impl Iterator<Item = u32>) {
        if let (Endpoints::Tcp(mine), Endpoints::Tcp(theirs)) = (&mut self.endpoints, &mut other.endpoints) {
            for nic in nics {
                std::mem::swap(&mut mine[nic as usize], &mut theirs[nic as usize]);
            }
        }
        self.others.add(&other.counters());
    }
}

impl Net {
    /// Hands a started flow to the endpoint of its NIC.
    pub(crate) fn add_message(&mut self, slot: u32) -> u32 {
        let nic = self.ports[self.flows[slot as usize].nic as usize].nic;
        let number = self.number(slot);
        let Some(m) = &mut self.messages else { return nic };
        let info = &self.infos[slot as usize];
        let peer = m.opened(number).to;
        let places = &mut m.places[nic as usize];
        let outbound = Outbound { slot, peer, turns: Turns::default() };
        let free = places.free.pop();
        let place = free.unwrap_or(places.sending.len() as u32);
        if free.is_some() {
            places.sending[place as usize] = outbound;
        } else {
            places.sending.push(outbound);
        }
        self.flows[slot as usize].place = place;
        let bytes = if info.spec.stream == 0 { info.spec.bytes } else { proto::STREAM };
        let message = proto::Message { peer, bytes, id: info.id, scheme: info.spec.scheme };
        endpoint!(&mut m.endpoints, nic, host => host.start(info.spec.start, place, message));
        self.message_changed(nic, self.infos[slot as usize].spec.start.0);
        self.begin_stream(nic, slot);
        nic
    }

    /// A message of `bytes` follows on a stream.
    pub(crate) fn append_message(&mut self, nic: u32, place: u32, bytes: u64, now: u64) {
        if let Some(m) = &mut self.messages {
            endpoint!(&mut m.endpoints, nic, host => host.append(Time(now), place, bytes));
        }
        self.message_changed(nic, now);
    }

    /// A message is over for its sender.
    fn end_message(&mut self, nic: u32, slot: u32, flow: u32, place: u32, status: Status, now: u64) {
        self.end_flow(slot, now, status);
        let Some(m) = &mut self.messages else { return };
        m.places[nic as usize].free.push(place);
        let to = m.opened(flow & SLOT_MASK).to;
        let node = self.ports[self.nics[to as usize].port as usize].node;
        match self.share.elsewhere(node) {
            Some(part) => self.tell(part, Note::Finished { flow, at: now }),
            None => m.finished(flow, now),
        }
    }
}
