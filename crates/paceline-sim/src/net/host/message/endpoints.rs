//! The endpoints (`paceline_proto::transport`) of all hosts: one per NIC, and all of one transport.

use std::sync::Arc;

use paceline_proto::cc::{FlowContext, Params};
use paceline_proto::rng::hash3;
use paceline_proto::transport::message::{self as proto, Counters, Endpoint};
use paceline_proto::transport::{express_pass, homa, ndp, tcp, udp};
use paceline_proto::units::BitsPerSec;

use crate::error::InputError;
use crate::scenario::{Scenario, Scheme, Transport};

/// The endpoints of all hosts.
pub(super) enum Endpoints {
    Homa(Vec<homa::Host>),
    Ndp(Vec<ndp::Host>),
    ExpressPass(Vec<express_pass::Host>),
    /// And UDP.
    Tcp(Vec<udp::Host>),
}

/// Calls the endpoint of a NIC, whatever transport it speaks.
macro_rules! endpoint {
    ($endpoints:expr, $nic:expr, $host:ident => $call:expr) => {
        match $endpoints {
            $crate::net::host::message::Endpoints::Homa(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
            $crate::net::host::message::Endpoints::Ndp(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
            $crate::net::host::message::Endpoints::ExpressPass(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
            $crate::net::host::message::Endpoints::Tcp(hosts) => {
                let $host = &mut hosts[$nic as usize];
                $call
            }
        }
    };
}
pub(super) use endpoint;

impl Endpoints {
    /// The endpoints of a scenario whose scheme is a message transport, and the longest timeout of that transport, ps. `rates`:
    /// of the NICs' links; `contexts`: of each scheme's flows; `key`: of their random draws.
    pub(super) fn new(
        scenario: &Scenario,
        rates: &[BitsPerSec],
        contexts: Arc<[FlowContext]>,
        key: u64,
    ) -> Result<Option<(Self, u64)>, InputError> {
        let graph = &scenario.graph;
        let nics = graph.ports.iter().filter(|p| graph.is_host(p.node));
        // What a receiver asks for comes at the rate of the other direction, and of its own link.
        let incoming: Vec<BitsPerSec> = nics.map(|p| graph.opposite(p).rate).collect();
        let scheme = scenario.schemes.iter().find(|s| s.transport != Transport::Rdma);
        let made = match scheme.map(|s| &s.transport) {
            None | Some(Transport::Rdma) => return Ok(None),
            Some(Transport::Homa(p)) => (
                Endpoints::Homa(incoming.iter().map(|rate| homa::Host::new(p.at(*rate))).collect()),
                p.resend_timeout.0.max(p.sender_timeout.0).max(p.done_timeout.0),
            ),
            Some(Transport::Ndp(p)) => {
                let host = |(nic, rate): (u64, &BitsPerSec)| ndp::Host::new(p.at(*rate), hash3(key, nic, 0));
                (Endpoints::Ndp((0..).zip(&incoming).map(host).collect()), p.longest_wait().0)
            }
            Some(Transport::Tcp(params) | Transport::Udp(params)) => {
                let f = &scenario.framing;
                let control = f.ack_header.max(f.min_frame);
                let sizes = proto::Sizes { payload: f.payload, header: f.header, control, full_last: false };
                let tcp = tcp::Host::new(Arc::clone(params), contexts, sizes);
                let host = |line: &BitsPerSec| {
                    udp::Host::new(tcp.clone(), datagram_rates(scenario, *line), sizes, f.wire_overhead)
                };
                let slowest = rates.iter().flat_map(|line| datagram_rates(scenario, *line).to_vec()).flatten().min();
                let frame = u64::from(sizes.full() + f.wire_overhead);
                let gap = slowest.map_or(0, |rate| rate.serialisation(frame).0);
                (Endpoints::Tcp(rates.iter().map(host).collect()), params.rto.max.0.max(gap))
            }
            Some(Transport::ExpressPass { params, shaper }) => {
                let host = |(nic, rate): (u64, BitsPerSec)| {
                    express_pass::Host::new(*params, *shaper, rate, hash3(key, nic, 0)).map_err(|e| {
                        let error = InputError::new("ExpressPass cannot work so").value(e.value);
                        match e.field {
                            // Sizes, bytes.
                            own @ ("payload" | "wire_overhead") => {
                                error.field(format!("framing.{own}")).allowed(format!("{} B", e.allowed))
                            }
                            "data_overhead" => error.field("framing.header").allowed(format!("{} B", e.allowed)),
                            "min_data" => error.field("framing.min_frame").allowed(format!("{} B", e.allowed)),
                            own => {
                                let field = format!("schemes.{}.{own}", scheme.map_or("", |s| &s.name));
                                error.field(field).allowed(e.allowed)
                            }
                        }
                    })
                };
                let slower = rates.iter().zip(&incoming).map(|(out, back)| *out.min(back));
                let hosts = (0..).zip(slower).map(host).collect::<Result<_, _>>()?;
                let p = params;
                let patience = p.retransmit_timeout.max(p.credit_stop_timeout).max(p.credit_timeout);
                (Endpoints::ExpressPass(hosts), patience.max(p.rto_scheduled).max(p.rto_unscheduled).0)
            }
        };
        Ok(Some(made))
    }

    /// Packets that shapers hold back.
    pub(super) fn held_back(&self) -> usize {
        match self {
            Endpoints::Homa(hosts) => hosts.iter().map(Endpoint::held_back).sum(),
            Endpoints::Ndp(hosts) => hosts.iter().map(Endpoint::held_back).sum(),
            Endpoints::ExpressPass(hosts) => hosts.iter().map(Endpoint::held_back).sum(),
            Endpoints::Tcp(hosts) => hosts.iter().map(Endpoint::held_back).sum(),
        }
    }

    /// What all of them have counted.
    pub(super) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        match self {
            Endpoints::Homa(hosts) => hosts.iter().for_each(|h| sum.add(h.counters())),
            Endpoints::Ndp(hosts) => hosts.iter().for_each(|h| sum.add(h.counters())),
            Endpoints::ExpressPass(hosts) => hosts.iter().for_each(|h| sum.add(h.counters())),
            Endpoints::Tcp(hosts) => hosts.iter().for_each(|h| {
                sum.add(h.counters());
                sum.add(&h.tcp().under_way());
            }),
        }
        sum
    }
}

/// By scheme, the rate of a flow's datagrams at a NIC of this rate; `None` for schemes over TCP.
fn datagram_rates(scenario: &Scenario, line: BitsPerSec) -> Arc<[Option<BitsPerSec>]> {
    let rate = |scheme: &Scheme| match (&scheme.transport, &scheme.params) {
        (Transport::Udp(_), Params::Fixed(p)) if p.rate > 0 => Some(BitsPerSec(p.rate.min(line.0))),
        (Transport::Udp(_), _) => Some(line),
        _ => None,
    };
    scenario.schemes.iter().map(rate).collect()
}
