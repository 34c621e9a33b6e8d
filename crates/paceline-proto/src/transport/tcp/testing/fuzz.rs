//! Segments that no peer would send.

use proptest::prelude::*;

use crate::telemetry::IntHop;
use crate::transport::tcp::segment::ISS;
use crate::transport::tcp::{Connection, Context, Flags, Params, Segment, Timestamps};
use crate::units::{Duration, Time};

use super::new_reno;

/// Numbers near what is expected, at the edges, and anywhere.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..60_000, Just(0), Just(u32::MAX), (1u32 << 31) - 3..(1 << 31) + 3, any::<u32>()]
}

fn segments() -> impl Strategy<Value = Segment> {
    let stamps = prop::option::of((number(), number()));
    let blocks = prop::collection::vec((number(), number()), 0..4);
    (number(), number(), number(), number(), 0u16..2048, stamps, blocks).prop_map(
        |(seq, ack, len, window, bits, t, b)| {
            let mut segment = Segment {
                seq,
                ack,
                len: len % 100_000,
                window,
                flags: Flags(bits),
                timestamps: t.map(|(value, echo)| Timestamps { value, echo }),
                ..Segment::default()
            };
            // Most look like plain data or ACKs, or nothing would ever get past the handshake.
            if bits % 3 > 0 {
                segment.flags = Flags(bits & (4 | 8 | 16 | 32 | 128)) | Flags::ACK;
            }
            for (start, end) in b {
                segment.sack.push(ISS + u64::from(start), ISS + u64::from(end));
            }
            segment
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No segment, in any state and order, with any timing, breaks an end or makes it send for ever.
    #[test]
    fn arbitrary_segments_do_no_harm(
        server in any::<bool>(),
        open in any::<bool>(),
        freebsd in any::<bool>(),
        sack in any::<bool>(),
        steps in prop::collection::vec((segments(), 0u64..60_000, 0u8..8), 1..120),
    ) {
        let mut tcp = if freebsd { Params::freebsd() } else { Params::rfc() };
        (tcp.sack, tcp.ecn, tcp.auto_read, tcp.probe) = (sack, true, !server, Some(Duration::from_us(50)));
        let cc = new_reno(1000);
        let cx = Context { tcp: &tcp, cc: &cc };
        let mut end = if server { Connection::listen(cx) } else { Connection::connect(cx) };
        let mut now = Time(0);
        while end.poll_transmit(cx, now).is_some() {}
        if open {
            let (window, one) = (50_000, Segment { window: 50_000, ack: 1, ..Segment::default() });
            let ecn = Flags::ECE | if server { Flags::CWR } else { Flags::ACK };
            let syn = Segment { window, ack: 1, flags: Flags::SYN | Flags::SACK_PERMITTED | ecn, ..Segment::default() };
            end.on_segment(cx, now, &syn, &[]);
            while end.poll_transmit(cx, now).is_some() {}
            end.on_segment(cx, now, &Segment { seq: 1, flags: Flags::ACK, ..one }, &[]);
        }
        for (segment, wait, act) in steps {
            now = now + Duration::from_us(wait);
            end.on_timeout(cx, now);
            match act {
                0 => end.write(u64::from(segment.len)),
                1 => end.read(cx, u64::from(segment.window)),
                2 if wait < 1_000 => end.close(),
                _ => {}
            }
            let outcome = end.on_segment(cx, now, &segment, &[IntHop(u64::from(segment.seq) << 32)]);
            prop_assert!(outcome.acked <= 1 << 32);
            let mut polls = 0;
            while end.poll_transmit(cx, now).is_some() {
                polls += 1;
                prop_assert!(polls < 100_000, "sends without end");
            }
            prop_assert!(end.next_timeout().is_none_or(|at| at > now), "a timer that is due stays due");
        }
    }
}
