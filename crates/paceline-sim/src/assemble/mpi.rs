//! Message-passing programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_proto::rng::{Purpose, Stream, hash3};
use paceline_proto::units::{BitsPerSec, Duration, NS, Time};

use super::programs::connections;
use super::{Build, MOST_BYTES, read_text};
use crate::error::InputError;
use crate::graph::{NodeId, PortInfo, Side};
use crate::mpi::collective::Collective;
use crate::mpi::halo::Halo;
use crate::mpi::nas::Setting;
use crate::mpi::program::{Send, Totals};
use crate::mpi::{Access, Algorithms, Crossbar, Generator, MachineConfig, Program as Ranks, goal};
use crate::net::streams::{MOST_PACKETS, too_many_packets};
use crate::routing::Routes;
use crate::scenario::{Framing, Stop};
use crate::spec::mpi::{self as spec, MpiProgram, Placement, SendsEnd};
use crate::workload::program::{Connections, INSTEAD_OF_OPEN, Kind, Mpi, Pairs, Program};
use crate::workload::{CLOCK, FlowDefaults, stream_id};

/// Entity of the random stream that places ranks on hosts.
const PLACEMENT: u64 = 1;

impl Build<'_> {
    pub(super) fn mpi(
        &self,
        number: usize,
        p: &spec::Mpi,
        begin: Time,
        flow: FlowDefaults,
    ) -> Result<Program, InputError> {
        let field = format!("workloads.{number}.");
        let mut hosts = self.ordered_hosts(&format!("{field}hosts"), &p.hosts)?;
        let seed = hash3(self.scenario.seed, number as u64, 0);
        let connections = connections(p.connections);
        let fits = |bytes: u64| self.message_fits(connections, flow, bytes);
        let program = self.ranks(number, p, hosts.len() as u32, seed, &fits)?;
        if program.len() as usize > hosts.len() {
            return Err(self
                .spec
                .error(&format!("{field}hosts"), "fewer hosts than ranks")
                .value(hosts.len())
                .allowed(format!("a host for each of the {} ranks", program.len())));
        }
        hosts.truncate(program.len() as usize);
        if p.placement == Placement::Random {
            let mut draws = Stream::new(self.scenario.seed, Purpose::Programs, stream_id(number as u16, PLACEMENT));
            for last in (1..hosts.len()).rev() {
                hosts.swap(last, draws.below(last as u32 + 1) as usize);
            }
        }
        let unit_ps = if let MpiProgram::Goal(g) = &p.program { g.calc_unit.0 } else { NS };
        let config = MachineConfig { eager: p.eager.0, control: p.control.0, unit_ps };
        let pairs = match connections {
            Connections::Open => self.open_connections(&program, &config, &hosts),
            Connections::New => Some(Pairs::default()),
        };
        let Some(pairs) = pairs else {
            let error = InputError::new("too many pairs of ranks that send to one another for open connections");
            return Err(
                self.inside(&format!("{field}connections"), error.value("open").allowed("\"new\"; or fewer ranks"))
            );
        };
        let Totals { largest, longest_calc, .. } = program.totals();
        let last = u128::from(longest_calc) * u128::from(unit_ps) + u128::from(begin.0);
        if self.scenario.stop == Stop::Completed && last >= 1 << 63 {
            let key = if matches!(p.program, MpiProgram::Goal(_)) { "calc_unit" } else { "program" };
            let problem = format!(
                "a rank computes for {longest_calc} units of {}, beyond the end of the clock",
                Duration(unit_ps)
            );
            return Err(self.spec.error(&format!("{field}{key}"), &problem).allowed(CLOCK));
        }
        let mpi = Mpi {
            program: Arc::new(program),
            config,
            at_once: p.sends_end == SendsEnd::Arrival && largest > config.eager,
            pairs,
            ideal: self.crossbar(&hosts),
        };
        if connections == Connections::Open && self.numbers_packets(flow) {
            self.connections_hold(&field, &mpi)?;
        }
        Ok(Program { kind: Kind::Mpi(mpi), hosts, flow, connections, begin, workload: number as u16 })
    }

    /// The program, whose messages pass `fits`.
    fn ranks(
        &self,
        number: usize,
        p: &spec::Mpi,
        hosts: u32,
        seed: u64,
        fits: &dyn Fn(u64) -> Result<(), InputError>,
    ) -> Result<Ranks, InputError> {
        let field = format!("workloads.{number}.");
        let setting = |ranks: Option<u32>, iterations, rate| Setting {
            ranks: ranks.unwrap_or(hosts),
            iterations,
            rate,
            algorithms: Algorithms::default(),
            seed,
        };
        let (generator, setting) = match &p.program {
            MpiProgram::Goal(g) => {
                let text = read_text(self.spec, &format!("{field}file"), &g.file.0, MOST_BYTES)?;
                return goal::read_for(&text, &g.file.0, fits);
            }
            MpiProgram::Bt(w) => (Generator::Bt(w.problem_class), setting(w.ranks, w.iterations, w.compute_rate)),
            MpiProgram::Cg(w) => (Generator::Cg(w.problem_class), setting(w.ranks, w.iterations, w.compute_rate)),
            MpiProgram::Ft(w) => {
                let algorithms = Algorithms { alltoall: w.alltoall, ..Algorithms::default() };
                (
                    Generator::Ft(w.problem_class),
                    Setting { algorithms, ..setting(w.ranks, w.iterations, w.compute_rate) },
                )
            }
            MpiProgram::Is(w) => {
                let algorithms = Algorithms { alltoall: w.alltoall, allreduce: w.allreduce, ..Algorithms::default() };
                let setting = Setting { algorithms, ..setting(w.ranks, w.iterations, w.compute_rate) };
                (Generator::Is(w.problem_class, w.noise), setting)
            }
            MpiProgram::Mg(w) => {
                let algorithms = Algorithms { allreduce: w.allreduce, ..Algorithms::default() };
                (
                    Generator::Mg(w.problem_class),
                    Setting { algorithms, ..setting(w.ranks, w.iterations, w.compute_rate) },
                )
            }
            MpiProgram::Wrf(w) => {
                let model = Halo {
                    columns: w.columns,
                    north_south: w.north_south.0,
                    east_west: w.east_west.0,
                    rounds: w.rounds,
                    calc_ns: w.compute.as_ns(),
                };
                (Generator::Wrf(model), setting(w.ranks, Some(w.iterations), 1e9))
            }
            MpiProgram::Collective(w) => {
                let model = Collective {
                    operation: w.operation,
                    algorithm: w.algorithm,
                    bytes: w.bytes.0,
                    channels: w.channels,
                    calc_ns: w.compute.as_ns(),
                };
                (Generator::Collective(model), setting(w.ranks, Some(w.iterations), 1e9))
            }
        };
        let program = generator.build(&setting).map_err(|e| self.inside(&field, e))?;
        let largest = program.sends().map(|send| send.bytes).max().unwrap_or(0);
        fits(largest).map_err(|e| {
            let key = match &p.program {
                MpiProgram::Wrf(w) if largest == w.north_south.0 => "north_south",
                MpiProgram::Wrf(_) => "east_west",
                MpiProgram::Collective(_) => "bytes",
                _ => "problem_class",
            };
            self.inside(&format!("{field}{key}"), e)
        })?;
        Ok(program)
    }

    /// The connections of a program that stay open; see [`Pairs::of`].
    fn open_connections(&self, program: &Ranks, config: &MachineConfig, hosts: &[NodeId]) -> Option<Pairs> {
        let graph = &self.scenario.graph;
        if hosts.iter().all(|host| graph.ports_of(*host).len() == 1) {
            return Pairs::of(program, config, |_, _| ());
        }
        let routes = Routes::new(Arc::clone(graph), self.scenario.routing);
        let by = |ends: [u32; 2], nic: Option<u8>| {
            let [src, dst] = ends.map(|rank| hosts[rank as usize]);
            nic.map(|number| routes.nics_numbered(src, dst, number.into()))
        };
        Pairs::of(program, config, by)
    }

    /// Refuses a program that would end with more packets on a connection over RDMA than have numbers, where nothing stops it before.
    fn connections_hold(&self, field: &str, mpi: &Mpi) -> Result<(), InputError> {
        if self.stop().is_some() {
            return Ok(());
        }
        let packets = |bytes: u64| self.scenario.framing.split(bytes).0;
        let control = packets(mpi.config.control);
        // On the way of a send, and on the way back.
        let of = |send: &Send| {
            let (forth, back) = if send.bytes > mpi.config.eager {
                (packets(send.bytes) + control, control)
            } else {
                (packets(send.bytes), 0)
            };
            (forth.saturating_mul(send.times), back.saturating_mul(send.times))
        };
        let all = mpi
            .program
            .sends()
            .map(|send| of(&send))
            .fold(0u64, |all, (forth, back)| all.saturating_add(forth).saturating_add(back));
        if all <= MOST_PACKETS {
            return Ok(());
        }
        let mut connections: BTreeMap<Option<u32>, u64> = BTreeMap::new();
        for send in mpi.program.sends() {
            let (forth, back) = of(&send);
            for (ends, packets) in [((send.from, send.to), forth), ((send.to, send.from), back)] {
                let carried = connections.entry(mpi.pairs.number(ends.into(), send.nic)).or_default();
                *carried = carried.saturating_add(packets);
                if *carried > MOST_PACKETS {
                    let place = format!("{field}connections");
                    let mut error = too_many_packets().value("\"open\"").allowed(INSTEAD_OF_OPEN);
                    error.problem = format!("from rank {} to rank {}: {}", ends.0, ends.1, error.problem);
                    return Err(self.inside(&place, error));
                }
            }
        }
        Ok(())
    }

    /// The ideal network of the hosts: their links to one switch, and the time in the stacks and adapters of both ends.
    fn crossbar(&self, hosts: &[NodeId]) -> Crossbar {
        let graph = &self.scenario.graph;
        let min_frame = if self.scenario.quirks.unpadded_data { 0 } else { self.scenario.framing.min_frame };
        Crossbar {
            access: hosts.iter().map(|host| self.access(*host)).collect(),
            framing: Framing { min_frame, ..self.scenario.framing },
            hosts_ps: self.scenario.adapter.as_ref().map_or(0, |a| a.down.0.saturating_add(a.up.0)),
            direct: hosts.iter().any(|host| graph.ports_of(*host).iter().any(|port| graph.is_host(port.peer))),
        }
    }

    /// The links of a host, both ways.
    fn access(&self, host: NodeId) -> Access {
        let graph = &self.scenario.graph;
        let out = graph.ports_of(host);
        let back = |port: &PortInfo| graph.ports_of(port.peer)[port.peer_port as usize];
        let into: Vec<PortInfo> = out.iter().map(back).collect();
        let best = |ports: &[PortInfo]| Side {
            rate: ports.iter().map(|p| p.rate).max().unwrap_or_default(),
            delay: ports.iter().map(|p| p.delay).min().unwrap_or_default(),
        };
        let all = |ports: &[PortInfo]| BitsPerSec(ports.iter().map(|p| p.rate.0).fold(0, u64::saturating_add));
        Access { out: best(out), into: best(&into), out_all: all(out), in_all: all(&into) }
    }
}
