//! What holds whatever the wire does.

use proptest::prelude::*;

use crate::cc::{FlowContext, Params as Control, cubic, fixed, new_reno, vegas};
use crate::transport::tcp::segment::expand;
use crate::transport::tcp::{Buffer, Flags, InitialWindow, Pacing, Params, Segment};
use crate::units::{Duration, Time};

use super::flow_context;
use super::pair::{Fate, Pair};

/// A stack with anything switched on or off.
fn stacks() -> impl Strategy<Value = Params> {
    let switches = (any::<[bool; 13]>(), 1u32..10, 1u32..12, 1u32..5, 0u8..3);
    (switches, 4u64..40, 4u64..40, 1u32..20).prop_map(|((b, delack, iw, burst, pacing), snd, rcv, queue)| {
        let base = if b[0] { Params::freebsd() } else { Params::rfc() };
        let mut rto = base.rto.clone();
        rto.min = rto.min.min(Duration::from_us(50_000));
        (rto.max, rto.tries, rto.persist_min) = (Duration::from_us(500_000), 255, Duration::from_us(1_000));
        Params {
            rto,
            sack: b[1],
            prr: b[12],
            timestamps: b[2],
            ecn: b[3],
            limited_transmit: b[4],
            nagle: b[5],
            rescue: b[6],
            freebsd_ecn: b[7],
            undo_early_ack: b[8],
            impatient: b[9],
            rearm_on_retransmit: b[10],
            idle_restart: b[11],
            idle_by_receipt: b[6],
            delayed_ack: crate::transport::tcp::DelayedAck {
                segments: delack,
                timer: Duration::from_us(300),
                push: b[5],
            },
            initial_window: InitialWindow::Segments(iw),
            burst,
            pacing: match pacing {
                0 => Pacing::Off,
                1 => Pacing::Rate,
                _ => Pacing::Window { slow_start: 200, avoidance: 120 },
            },
            send_buffer: Buffer { initial: snd * 500, max: 60_000, step: 2_000 },
            receive_buffer: Buffer { initial: rcv * 500, max: 60_000, step: 2_000 },
            reassembly_limit: queue,
            // Longer than 300 losses in a row: whoever closed first must still be there to answer.
            time_wait: Duration::from_us(200_000_000),
            ..base
        }
    })
}

fn controls() -> impl Strategy<Value = FlowContext> {
    (0usize..6, 100u32..2000).prop_map(|(which, mss)| {
        let all = [
            Control::NewReno(new_reno::Params::default()),
            Control::Cubic(cubic::Params::rfc9438()),
            Control::Cubic(cubic::Params::freebsd2011()),
            Control::Vegas(vegas::Params::default()),
            Control::Vegas(vegas::Params { alpha: 2, beta: 4, gamma: Some(1), ..vegas::Params::default() }),
            Control::Fixed(fixed::Params::default()),
        ];
        flow_context(mss, all[which].clone())
    })
}

/// New data stay within the window, what recovery and limited transmit add to it, and the peer's window.
fn in_bounds(pair: &Pair, end: usize, segment: &Segment) {
    let (c, mss) = (&pair.ends[end], u64::from(pair.cc.mtu));
    let start = expand(segment.seq, c.tx.una);
    let ends_at = start + u64::from(segment.len) + u64::from(segment.flags.has(Flags::FIN));
    if segment.len == 0 || ends_at < c.tx.max || c.timers.is_set(crate::transport::tcp::timers::Timer::Persist) {
        return;
    }
    assert!(u64::from(segment.len) <= mss);
    let r = &c.recovery;
    if r.fast && c.sack {
        let pipe = r.board.pipe(c.tx.una, c.tx.max, &pair.tcp[end], mss);
        // The first retransmission, and the rescue, are beyond the window's word; proportional rate reduction comes down to it.
        assert!(
            r.prr.is_some() || pipe <= c.cwnd.max(mss) || start == c.tx.una || start < c.tx.max - mss,
            "pipe {pipe} of {}",
            c.cwnd
        );
    } else if start > c.tx.una {
        let window = c.cwnd.saturating_add_signed(r.inflation).max(mss) + 2 * mss;
        // The FIN takes no window.
        assert!(c.in_flight() <= window + 1, "in flight {} of {window}", c.in_flight());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Over a wire that loses, reorders, repeats and marks for a while, every byte arrives once and in order, both ends
    /// agree on it and end, no timer stays due, and the windows are kept.
    #[test]
    fn every_byte_arrives_once_and_both_ends_finish(
        tcp in stacks(),
        cc in controls(),
        messages in prop::collection::vec((0u64..20_000, 0usize..2), 0..12),
        fates in prop::collection::vec(0u8..16, 0..300),
        lossy in 0u8..8,
    ) {
        let mut drawn = fates.into_iter();
        let fate = move |_: usize, _: u64, _: &Segment| match drawn.next() {
            Some(x) if x < lossy => Fate::Lost,
            Some(15) => Fate::Twice,
            Some(x @ 11..=13) => Fate::Late(Duration::from_us(u64::from(x - 10) * 70)),
            Some(14) => Fate::Marked,
            _ => Fate::Arrives,
        };
        let mut pair = Pair::new(tcp, cc, Duration::from_us(50), Box::new(fate));
        pair.check = in_bounds;
        pair.drain(0);
        let mut written = [0; 2];
        for (i, (bytes, end)) in messages.iter().enumerate() {
            let until = Time(pair.now.0.max(i as u64 * 300_000_000));
            while pair.step(until) {}
            pair.now = until;
            pair.ends[*end].write(*bytes);
            written[*end] += bytes;
            pair.drain(*end);
        }
        pair.ends.iter_mut().for_each(super::super::Connection::close);
        pair.run(Time(4_000 * crate::units::S));
        prop_assert!(!pair.failed, "a connection failed");
        prop_assert!(pair.over(), "{:?} {:?}", pair.ends[0].state(), pair.ends[1].state());
        prop_assert_eq!(pair.delivered, [written[1], written[0]]);
        prop_assert_eq!([pair.ends[0].delivered(), pair.ends[1].delivered()], [written[1], written[0]]);
        prop_assert_eq!([pair.ends[0].acknowledged(), pair.ends[1].acknowledged()], written);
        prop_assert_eq!(pair.ends[0].next_timeout().or(pair.ends[1].next_timeout()), None);
    }

    /// Without losses nothing is sent twice, whatever the settings, and nothing times out.
    #[test]
    fn a_clean_wire_sees_no_retransmission(tcp in stacks(), cc in controls(), bytes in 1u64..200_000) {
        let mut pair = Pair::new(tcp, cc, Duration::from_us(50), Box::new(|_, _, _| Fate::Arrives));
        pair.ends[0].write(bytes);
        pair.ends[0].close();
        pair.ends[1].close();
        pair.run(Time(4_000 * crate::units::S));
        prop_assert!(pair.over());
        for end in &pair.ends {
            let c = end.counters();
            prop_assert_eq!((c.retransmits, c.timeouts, c.fast_retransmits), (0, 0, 0));
        }
        prop_assert_eq!(pair.delivered, [0, bytes]);
    }
}
