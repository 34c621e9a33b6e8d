//! The line-rate baseline: all packets of a flow sent back to back into an empty network, exact to the picosecond.

use paceline_proto::units::Duration;

use crate::framing::Framing;
use crate::graph::{Graph, NodeId, PortNo, Side};

/// Ideal flow completion times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdealFct {
    /// From the first bit sent to the last bit of the last packet at the receiver.
    pub receiver: Duration,
    /// The same plus the way of one basic ACK back to the sender.
    pub sender: Duration,
}

/// Bytes a data packet with `payload` bytes occupies on the wire: basic header, padding and wire overhead, telemetry not counted.
pub fn data_frame(framing: &Framing, payload: u32) -> u64 {
    frame(framing, u64::from(payload) + u64::from(framing.header))
}

/// Bytes a basic ACK occupies on the wire.
pub fn ack_frame(framing: &Framing) -> u64 {
    frame(framing, framing.ack_header.into())
}

fn frame(framing: &Framing, bytes: u64) -> u64 {
    bytes.max(framing.min_frame.into()) + u64::from(framing.wire_overhead)
}

/// Ideal FCTs of a flow of `bytes` (at least 1; 0 counts as one empty packet) over store-and-forward links.
///
/// `forward` are the links to the receiver in order, `reverse` those of the ACK back. Packets leave the source back to back; each link
/// forwards a packet when it has it whole and the one before is gone. Times beyond 64 bits are cut to the largest `Duration`.
///
/// Equal packets queue only once, at the slowest link so far: number j (from 0) of the full packets has left link i at
/// `sum of tx up to i + sum of delays before i + j * max tx up to i`. The last, possibly shorter packet then follows the recursion
/// `left(i) = max(arrived(i), previous left(i)) + tx(i)` link by link. So the cost is one step per link, whatever the size.
pub fn line_rate(bytes: u64, framing: &Framing, forward: &[Side], reverse: &[Side]) -> IdealFct {
    let payload = u64::from(framing.payload.max(1));
    let full_packets = bytes.max(1).div_ceil(payload) - 1;
    let full = data_frame(framing, framing.payload);
    let rest = data_frame(framing, (bytes - full_packets * payload) as u32);

    let mut slowest = 0; // largest serialisation time of a full packet so far
    let mut full_arrived = 0; // the first full packet, at the link in turn
    let mut rest_arrived = 0; // the last packet
    for side in forward {
        let delay = u128::from(side.delay.0);
        let tx_full = u128::from(side.rate.serialisation(full).0);
        let tx_rest = u128::from(side.rate.serialisation(rest).0);
        slowest = tx_full.max(slowest);
        let first_left = full_arrived + tx_full;
        let link_free = match full_packets {
            0 => 0,
            n => first_left + u128::from(n - 1) * slowest,
        };
        rest_arrived = link_free.max(rest_arrived) + tx_rest + delay;
        full_arrived = first_left + delay;
    }
    let ack = ack_frame(framing);
    let back: u128 = reverse.iter().map(|s| u128::from(s.rate.serialisation(ack).0) + u128::from(s.delay.0)).sum();
    let cut = |t: u128| Duration(u64::try_from(t).unwrap_or(u64::MAX));
    IdealFct { receiver: cut(rest_arrived), sender: cut(rest_arrived + back) }
}

/// The links of a path in both directions: to the receiver, and back over the same links from the receiver.
///
/// `ports` are egress ports as [`crate::routing::Routes::flow_path`] gives them, starting at host `from`.
pub fn path_sides(graph: &Graph, from: NodeId, ports: &[PortNo]) -> (Vec<Side>, Vec<Side>) {
    let mut at = from;
    let mut forward = Vec::with_capacity(ports.len());
    let mut reverse = Vec::with_capacity(ports.len());
    for &port in ports {
        let out = &graph.ports_of(at)[port as usize];
        let back = graph.opposite(out);
        forward.push(Side { rate: out.rate, delay: out.delay });
        reverse.push(Side { rate: back.rate, delay: back.delay });
        at = out.peer;
    }
    reverse.reverse();
    (forward, reverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_proto::units::BitsPerSec;
    use proptest::prelude::*;

    fn side(rate: u64, delay: u64) -> Side {
        Side { rate: BitsPerSec(rate), delay: Duration(delay) }
    }

    /// The definition, packet by packet and link by link.
    fn brute_force(bytes: u64, framing: &Framing, forward: &[Side]) -> u64 {
        let mut free = vec![0u64; forward.len()];
        let mut left = bytes;
        let mut arrived = 0;
        while left > 0 {
            let payload = left.min(framing.payload.into());
            left -= payload;
            arrived = 0;
            for (side, free) in forward.iter().zip(&mut free) {
                *free = arrived.max(*free) + side.rate.serialisation(data_frame(framing, payload as u32)).0;
                arrived = *free + side.delay.0;
            }
        }
        arrived
    }

    #[test]
    fn worked_numbers() {
        let links = [side(100_000_000_000, 1_000_000); 2];
        // 1048 B at 100 Gb/s last 83,840 ps, 60 B 4,800 ps: n packets over two links take (n + 1) times the first.
        let ideal = line_rate(3000, &Framing::HPCC, &links, &links);
        assert_eq!(ideal.receiver, Duration(4 * 83_840 + 2_000_000));
        assert_eq!(ideal.sender, Duration(ideal.receiver.0 + 2 * 4_800 + 2_000_000));
        // One byte is padded to 60 B.
        assert_eq!(line_rate(1, &Framing::HPCC, &links, &[]).receiver, Duration(2 * 4_800 + 2_000_000));
        // A short last packet waits behind the full one at the second link: its own time counts once.
        assert_eq!(line_rate(1001, &Framing::HPCC, &links, &[]).receiver, Duration(2 * 83_840 + 4_800 + 2_000_000));
        // 84 B of wire for the smallest Ethernet packet at 10 Gb/s.
        let ten = [side(10_000_000_000, 0)];
        assert_eq!(line_rate(1, &Framing::ETHERNET, &ten, &[]).receiver, Duration(67_200));
    }

    #[test]
    fn huge_flows_on_slow_links_do_not_wrap() {
        let ideal = line_rate(u64::MAX, &Framing::HPCC, &[side(1, 0)], &[side(1, 0)]);
        assert_eq!((ideal.receiver, ideal.sender), (Duration(u64::MAX), Duration(u64::MAX)));
        assert!(line_rate(0, &Framing::HPCC, &[side(1_000_000_000, 0)], &[]).receiver > Duration(0));
    }

    proptest! {
        /// The closed form is the recursion, also where rates rise and fall and serialisation is rounded.
        #[test]
        fn equals_the_recursion(
            bytes in 1u64..60_000,
            payload in 1u32..2000,
            header in 0u32..100,
            min_frame in 0u32..200,
            wire_overhead in 0u32..30,
            links in prop::collection::vec((1u64..2_000, 0u64..3_000_000), 1..9),
        ) {
            let framing = Framing { payload: payload.max(bytes as u32 / 300), header, min_frame, wire_overhead, ..Framing::HPCC };
            let links: Vec<Side> = links.iter().map(|&(r, d)| side(r * 333_333_333, d)).collect();
            prop_assert_eq!(line_rate(bytes, &framing, &links, &[]).receiver.0, brute_force(bytes, &framing, &links));
        }
    }
}
