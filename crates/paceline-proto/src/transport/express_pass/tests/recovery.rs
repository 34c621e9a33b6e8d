//! Whatever is lost, everything arrives once and both ends learn of it; whatever arrives, nothing panics.

use proptest::prelude::*;

use super::super::*;
use super::network::{G100, Net, US1};
use crate::rng::{Purpose, Stream};
use crate::transport::unscheduled::{BurstParams, BurstStop};
use crate::units::BitsPerSec;

fn policies() -> Vec<Params> {
    let short = Duration::from_us(20);
    let pq = Params::priority_queueing(20);
    let aeolus = Params::aeolus(20);
    vec![
        Params::default(),
        Params { early_stop: false, ..Params::default() },
        aeolus,
        Params { request_in_probe: true, retransmit_timeout: Duration::from_us(100), ..aeolus },
        Params { burst: BurstParams { resend_open: true, stop: BurstStop::Never, ..aeolus.burst }, ..aeolus },
        pq,
        Params { rto_unscheduled: short, rto_scheduled: short, ..pq },
        Params { unscheduled_repair: UnscheduledRepair::AtOnce, rto_unscheduled: short, ..pq },
    ]
}

fn with_losses(params: &Params, bytes: &[u64], lose: Vec<bool>) -> Net {
    with_losses_and_delays(params, bytes, lose, Vec::new())
}

fn with_losses_and_delays(params: &Params, bytes: &[u64], lose: Vec<bool>, late: Vec<u64>) -> Net {
    let mut net = Net::star(*params, bytes.len(), G100, US1);
    (net.lose, net.late) = (lose, late);
    for (i, bytes) in bytes.iter().enumerate() {
        net.add_flow(i + 1, 0, *bytes, 0);
    }
    net.run();
    net.assert_complete();
    net
}

/// Each packet of a short exchange lost once, one at a time: requests, credits, data, stops, probes, all answers.
#[test]
fn any_one_packet_may_be_lost() {
    for params in policies() {
        for bytes in [1460, 12 * 1460, 60 * 1460] {
            let crossings = with_losses(&params, &[bytes], Vec::new()).crossings;
            for n in 0..crossings {
                let mut lose = vec![false; n];
                lose.push(true);
                with_losses(&params, &[bytes], lose);
            }
        }
    }
}

/// The first packets lost for a long time: every control packet is repeated as long as it takes.
#[test]
fn long_outages_end() {
    for params in policies() {
        for lost in [5, 50, 300] {
            with_losses(&params, &[40 * 1460, 1], vec![true; lost]);
        }
    }
}

fn header() -> impl Strategy<Value = Header> {
    let number = || prop_oneof![0u32..80, any::<u32>()];
    let ext = prop_oneof![
        any::<u64>(),
        (number(), number()).prop_map(|(packets, remaining)| Length { packets, remaining }.pack())
    ];
    (ext, number(), 0usize..8, 0usize..3, any::<u8>(), any::<u16>()).prop_map(|(ext, seq, kind, class, flags, size)| {
        let kinds = [
            Kind::CreditRequest,
            Kind::Credit,
            Kind::Data,
            Kind::CreditStop,
            Kind::Nack,
            Kind::Ack,
            Kind::Probe,
            Kind::ProbeAck,
        ];
        let class = [Class::Credit, Class::Scheduled, Class::Unscheduled][class];
        Header { ext, slot: 0, seq, size, kind: kinds[kind], class, flags }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Any finite pattern of losses.
    #[test]
    fn everything_arrives_once(
        policy in 0usize..8,
        bytes in prop::collection::vec(1u64..150_000, 1..4),
        share in 1u8..10,
        draws in prop::collection::vec(0u8..10, 0..1500),
    ) {
        let lose = draws.iter().map(|d| *d < share).collect();
        with_losses(&policies()[policy], &bytes, lose);
    }

    /// The same where packets overtake each other, as they do when a path changes.
    #[test]
    fn everything_arrives_once_out_of_order(
        policy in 0usize..8,
        bytes in prop::collection::vec(1u64..150_000, 1..4),
        draws in prop::collection::vec(0u8..30, 0..1500),
        late in prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0u64..30_000_000], 0..1500),
    ) {
        let lose = draws.iter().map(|d| *d == 0).collect();
        with_losses_and_delays(&policies()[policy], &bytes, lose, late);
    }

    /// Any headers at any times.
    #[test]
    fn nothing_panics(
        policy in 0usize..8,
        bytes in prop_oneof![0u64..100_000, any::<u64>()],
        steps in prop::collection::vec((header(), any::<u32>(), 0u8..4, 0u32..36), 0..120),
    ) {
        let c = Config::new(policies()[policy], BitsPerSec(G100)).unwrap();
        let mut tx = Sender::new(0, bytes, &c);
        let mut rx = Receiver::new(0, Stream::new(1, Purpose::Transport, 0));
        let mut now = Time(0);
        for (h, dt, what, shift) in steps {
            now = Time(now.0.saturating_add(u64::from(dt) << shift));
            match what {
                0 => tx.start(now, &c),
                1 => {
                    tx.on_packet(now, &h, &c);
                    let before = rx.delivered();
                    let new = rx.on_packet(now, &h, &c);
                    prop_assert_eq!(rx.delivered() - before, u32::from(new));
                }
                2 => {
                    tx.on_timeout(now, &c);
                    rx.on_timeout(now, &c);
                }
                _ => {
                    tx.has_unscheduled();
                    tx.poll_unscheduled(now, &c);
                }
            }
            for _ in 0..20 {
                tx.poll_transmit(now, &c);
                rx.poll_transmit(now, &c);
            }
            prop_assert!(tx.poll_transmit(now, &c).is_none() && rx.poll_transmit(now, &c).is_none());
            tx.next_timeout(&c);
            rx.next_timeout();
        }
    }
}
