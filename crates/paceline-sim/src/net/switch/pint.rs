//! Probabilistic telemetry (PINT) in the network: the state of the switch ports, and whose random numbers are drawn.

use paceline_proto::cc::Params;
use paceline_proto::pint::{PortUse, Scale, Tables};
use paceline_proto::rng::hash3;
use paceline_proto::telemetry::IntHop;
use paceline_proto::units::NS;

use crate::error::InputError;
use crate::net::Net;
use crate::net::port::Port;
use crate::packet::{Kind, PINT, Packet};
use crate::scenario::Scenario;

/// What the switch ports know.
#[derive(Debug)]
pub(crate) struct Pint {
    tables: Tables,
    /// Key of the draws.
    key: u64,
    /// Only data packets are measured (quirk `pint_data_only`).
    data_only: bool,
    ports: Vec<(Scale, PortUse)>,
}

impl Pint {
    /// For a scenario whose largest base RTT is `base_rtt_ns`; `None` when no scheme uses it.
    pub(crate) fn new(scenario: &Scenario, base_rtt_ns: u64, key: u64) -> Result<Option<Box<Self>>, InputError> {
        let bases = scenario.schemes.iter().filter_map(|s| match &s.params {
            Params::HpccPint(p) => Some((p.log_base, &s.name)),
            _ => None,
        });
        let mut found: Option<(f64, &String)> = None;
        for (base, name) in bases {
            if let Some((other, of)) = found.filter(|f| f.0.to_bits() != base.to_bits()) {
                return Err(InputError::new("switches encode utilisation in one base")
                    .field(format!("schemes.{name}.log_base"))
                    .value(base)
                    .allowed(format!("{other}, as in scheme {of}")));
            }
            found = Some((base, name));
        }
        let Some((log_base, _)) = found else { return Ok(None) };
        let port = |p: &crate::graph::PortInfo| (Scale::new(p.rate.0, base_rtt_ns), PortUse::default());
        let ports = scenario.graph.ports.iter().map(port).collect();
        Ok(Some(Box::new(Self {
            tables: Tables::new(log_base),
            key,
            data_only: scenario.quirks.pint_data_only,
            ports,
        })))
    }

    /// A packet leaves a switch port: it is measured, and the largest utilisation of the path so far goes with it.
    #[inline(never)]
    pub(crate) fn measure(&mut self, port: u32, p: &Port, packet: &Packet, telemetry: &mut [IntHop; 8], now: u64) {
        let (key, mut draws) = (self.key, u64::from(port) << 3);
        let mut random = || {
            draws += 1;
            (hash3(key, draws, p.tx_packets) >> 33) as u32
        };
        self.measure_with(port, p, packet, telemetry, now, &mut random);
    }

    /// The same with other random numbers, of 31 bits.
    #[inline(always)]
    pub(crate) fn measure_with(
        &mut self,
        port: u32,
        p: &Port,
        packet: &Packet,
        telemetry: &mut [IntHop; 8],
        now: u64,
        random: &mut impl FnMut() -> u32,
    ) {
        let (scale, state) = &mut self.ports[port as usize];
        let (now_ns, size) = (now / NS, u32::from(packet.size));
        let data = packet.kind == Kind::Data;
        if self.data_only && !data {
            state.pass(now_ns, size);
            return;
        }
        let utilisation = state.update(&self.tables, scale, now_ns, p.total, size, random);
        if data && packet.flags & PINT != 0 {
            let power = u64::from(self.tables.encode(utilisation, random));
            telemetry[0].0 = telemetry[0].0.max(power);
        }
    }
}

impl Net {
    /// Whether an ACK of a flow counts.
    #[cold]
    #[inline(never)]
    pub(crate) fn pint_counts(&mut self, slot: u32, now: u64) -> bool {
        let context = usize::from(self.flows[slot as usize].context);
        let Params::HpccPint(params) = &self.contexts[context].params else { return true };
        let draw = match &mut self.reference_random {
            Some(reference) => reference.rand.next() as u16,
            None => hash3(self.draws.controller, self.infos[slot as usize].id, now) as u16,
        };
        params.counts(draw)
    }
}
