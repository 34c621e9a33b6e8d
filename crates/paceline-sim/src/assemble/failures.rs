//! From the failures of a specification to a schedule: nodes found by name, random failures drawn.

use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::Time;

use crate::error::InputError;
use crate::graph::{NodeId, NodeKind, Topology};
use crate::scenario::{FailureConfig, Outage};
use crate::spec::Resolved;
use crate::spec::failure::{Among, FailureKind, LinkFailure, RandomFailures, Repair};
use crate::topology::NodeNames;

/// The failing links of a specification in its network.
///
/// # Errors
/// A node or link the network does not have.
pub(super) fn failures(
    spec: &Resolved,
    network: &Topology,
    names: &NodeNames<'_>,
) -> Result<FailureConfig, InputError> {
    let mut outages = Vec::new();
    for (i, failure) in spec.failures.iter().enumerate() {
        match &failure.kind {
            FailureKind::Link(f) => {
                for link in links_between(spec, network, names, i, f)? {
                    outages.push(Outage { link, down: f.down, up: f.up });
                }
            }
            FailureKind::Random(f) => draw(spec, network, i, f, &mut outages)?,
        }
    }
    Ok(FailureConfig { outages, reroute_after: spec.routing.reroute_after })
}

fn links_between(
    spec: &Resolved,
    network: &Topology,
    names: &NodeNames<'_>,
    i: usize,
    failure: &LinkFailure,
) -> Result<Vec<u32>, InputError> {
    let field = format!("failures.{i}.link");
    let mut ends = [0; 2];
    for (k, (end, name)) in ends.iter_mut().zip(&failure.link).enumerate() {
        let Some(node) = names.find(name) else {
            return Err(spec
                .error(&format!("{field}.{k}"), &names.unknown(name))
                .value(&name.0)
                .allowed(names.allowed()));
        };
        *end = node;
    }
    let joins = |l: &crate::graph::Link| [l.a, l.b] == ends || [l.b, l.a] == ends;
    let links: Vec<u32> = (0..).zip(&network.links).filter(|(_, l)| joins(l)).map(|(n, _)| n).collect();
    if links.is_empty() {
        let neighbours = network.links.iter().filter_map(|l| match (l.a == ends[0], l.b == ends[0]) {
            (true, _) => Some(l.b),
            (_, true) => Some(l.a),
            _ => None,
        });
        let mut near: Vec<&str> = neighbours.filter_map(|n| names.name(n)).take(8).collect();
        near.dedup();
        let text = format!("a neighbour of {} beside it: {}", failure.link[0].0, near.join(", "));
        return Err(spec.error(&field, "no link between these nodes").allowed(text));
    }
    match failure.number {
        None => Ok(links),
        Some(number) => links.get(number as usize).map(|link| vec![*link]).ok_or_else(|| {
            let error = spec.error(&format!("failures.{i}.number"), "no such link between these nodes");
            error.value(number).allowed(format!("0 to {}", links.len() - 1))
        }),
    }
}

/// Draws failures from the stream of their entry.
fn draw(
    spec: &Resolved,
    network: &Topology,
    i: usize,
    failures: &RandomFailures,
    outages: &mut Vec<Outage>,
) -> Result<(), InputError> {
    let host = |n: NodeId| network.kinds[n as usize] == NodeKind::Host;
    let wanted = |l: &crate::graph::Link| match failures.among {
        Among::All => true,
        Among::Fabric => !host(l.a) && !host(l.b),
        Among::Hosts => host(l.a) || host(l.b),
    };
    let links: Vec<u32> = (0..).zip(&network.links).filter(|(_, l)| wanted(l)).map(|(n, _)| n).collect();
    if links.is_empty() {
        let error = spec.error(&format!("failures.{i}.among"), "the network has no such link");
        return Err(error.allowed("\"all\" or \"hosts\""));
    }
    let mut stream = Stream::new(spec.seed, Purpose::Failures, i as u64);
    for _ in 0..failures.count {
        let link = links[stream.below(links.len() as u32) as usize];
        let span = failures.end.0 - failures.start.0;
        let down = Time(failures.start.0 + ((u128::from(stream.next_u64()) * u128::from(span)) >> 64) as u64);
        let up = if let Repair::After(time) = failures.repair { Some(down + time) } else { None };
        outages.push(Outage { link, down, up });
    }
    Ok(())
}
