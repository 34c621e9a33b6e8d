//! Exact times of flows alone, and what never happens.

use super::super::*;
use super::network::{G100, Net, US1};
use crate::transport::unscheduled::{BurstParams, BurstStop, RepairOrder};
use crate::units::US;

/// With credits of one size, so that times are exact.
fn alone(p: Params, bytes: u64) -> (u64, Net) {
    let framing = Framing { credit: (84, 84), ..p.framing };
    let mut net = Net::star(Params { framing, ..p }, 1, G100, US1);
    net.add_flow(1, 0, bytes, 0);
    net.run();
    net.assert_complete();
    (net.flows[0].rx.done_at().unwrap().0, net)
}

/// One packet takes one control round trip (request there, credit back) and its own way.
#[test]
fn plain_costs_one_control_round_trip() {
    for bytes in [1, 1000, 1460] {
        let (time, net) = alone(Params::default(), bytes);
        let data = net.one_way((78 + bytes).max(84), 2);
        assert_eq!(time, data + 2 * net.one_way(84, 2));
    }
}

/// Aeolus saves exactly that round trip: packets follow the request at line rate. A burst within the bandwidth-delay
/// product is done before the first credit comes.
#[test]
fn aeolus_saves_the_control_round_trip() {
    for packets in [1, 2, 3, 30] {
        let (time, net) = alone(Params::aeolus(35), packets * 1460);
        let request = net.one_way(84, 2) - 2 * US1 - (net.one_way(84, 1) - US1);
        let behind = (packets - 1) * (net.one_way(1538, 1) - US1);
        assert_eq!(time, request + net.one_way(1538, 2) + behind, "{packets} packets");
        assert_eq!((net.unscheduled_drops, net.flows[0].tx.counters().retransmitted), (0, 0));
    }
}

/// Credits are lost instead of data: none of it for any number of senders, with a few packets of buffer.
#[test]
fn incast_loses_no_data() {
    for n in [2, 8, 32, 100] {
        let mut net = Net::star(Params::default(), n, G100, US1).with_buffer(10 * 1538);
        for src in 1..=n {
            net.add_flow(src, 0, 64_000, 0);
        }
        net.run();
        net.assert_complete();
        assert_eq!(net.scheduled_drops, 0, "{n} senders");
        assert!(net.largest_credit_queue <= 672);
    }
}

fn incast(p: Params, n: usize, buffer: u32) -> Net {
    let mut net = Net::star(p, n, G100, US1).with_buffer(buffer);
    for src in 1..=n {
        net.add_flow(src, 0, 400_000, 0);
    }
    net.run();
    net.assert_complete();
    net
}

/// Aeolus, table 5: 20 senders of 400 kB. Unscheduled packets die at the threshold and are known lost without a timeout,
/// scheduled ones never die; with priority queueing losses wait 10 ms (facts, section 9.2).
#[test]
fn aeolus_repairs_without_timeouts_where_priority_queueing_waits() {
    let net = incast(Params::aeolus(35), 20, 200_000);
    assert!(net.unscheduled_drops > 500);
    assert_eq!(net.scheduled_drops, 0);
    assert!(net.flows.iter().all(|f| f.tx.counters().timeouts == 0));
    let (mean, max) = net.fct_us();
    assert!((mean / 678.8 - 1.0).abs() < 0.05 && max < 800.0, "plain: 678.8 and 757 us; {mean} {max}");

    let slow = incast(Params::priority_queueing(35), 20, 200_000);
    assert!(slow.fct_us().0 > 5.0 * mean && slow.fct_us().1 > 5.0 * max);
    let quick = Params { rto_unscheduled: Duration(20 * US), ..Params::priority_queueing(35) };
    let quick = incast(quick, 20, 200_000);
    let copies: u64 = quick.flows.iter().map(|f| f.tx.counters().retransmitted).sum();
    assert!(copies > u64::from(quick.unscheduled_drops), "a short timeout also repeats what only waits");
    assert!(quick.fct_us().0 < slow.fct_us().0);
}

/// What the sources leave open, as far as it changes results: the numbers of an independent model (facts, section 9.2), mean and
/// largest completion time in us, drops of unscheduled and of scheduled packets.
#[test]
fn variants_of_priority_queueing_agree_with_another_model() {
    let pq = Params::priority_queueing(35);
    let short = Params { rto_unscheduled: Duration(20 * US), ..pq };
    let whole = BurstParams { packets: 274, stop: BurstStop::Never, ..pq.burst };
    for (p, fct_us, unscheduled, scheduled) in [
        (pq, (9604.0, 10_102.0), 532, 1),
        (short, (1139.0, 10_010.0), 532, 1),
        (Params { unscheduled_repair: UnscheduledRepair::AtOnce, ..short }, (10_569.0, 10_642.0), 8042, 655),
        (Params { burst: whole, ..pq }, (10_099.0, 10_705.0), 4846, 230),
        (Params { burst: whole, ..short }, (9557.0, 10_077.0), 4936, 238),
    ] {
        let net = incast(p, 20, 200_000);
        let (mean, max) = net.fct_us();
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.05;
        assert!(near(mean, fct_us.0) && near(max, fct_us.1), "{mean} {max} against {fct_us:?}");
        assert!(near(f64::from(net.unscheduled_drops), f64::from(unscheduled)), "{}", net.unscheduled_drops);
        assert!(net.scheduled_drops.abs_diff(scheduled) <= 1 + scheduled / 10, "{}", net.scheduled_drops);
    }
}

/// Choices that the same model found to matter little.
#[test]
fn other_variants_matter_little() {
    let aeolus = Params::aeolus(35);
    let of = |burst| Params { burst, ..aeolus };
    for p in [
        Params { request_in_probe: true, ..aeolus },
        of(BurstParams { resend_open: true, ..aeolus.burst }),
        of(BurstParams { stop: BurstStop::Never, ..aeolus.burst }),
        of(BurstParams { order: RepairOrder::NewFirst, ..aeolus.burst }),
        Params { framing: Framing::frames(), ..Params::default() },
        Params { early_stop: false, ..Params::default() },
    ] {
        let net = incast(p, 20, 200_000);
        let (mean, max) = net.fct_us();
        assert!((mean / 678.8 - 1.0).abs() < 0.05 && (max / 757.0 - 1.0).abs() < 0.05, "{mean} {max}: {p:?}");
        assert_eq!(net.scheduled_drops, 0);
    }
}

/// The paper's feedback rule as remembered sends more credits in vain, and is slower here.
#[test]
fn the_papers_feedback_rule_is_another_rule() {
    let plain = incast(Params::default(), 20, 200_000);
    let paper = incast(Params { feedback: Feedback::Paper, target_loss: 0.1, ..Params::default() }, 20, 200_000);
    assert!(paper.credit_drops > 2 * plain.credit_drops && paper.fct_us().0 > plain.fct_us().0);
}

/// Aeolus, section 6: about 3100 flows may start at once at 200 KB of buffer and K = 6 KB, as far as their probes go. The probes
/// carry the requests, for which there is no room beside them (facts, section 9.4).
#[test]
fn three_thousand_flows_at_once_are_told_of_their_losses() {
    let aeolus = Params::aeolus(10);
    let p = Params { framing: Framing::frames(), request_in_probe: true, ..aeolus };
    let mut net = Net::star(p, 250, G100, US1).with_buffer(200 << 10);
    for flow in 0..3000 {
        net.add_flow(1 + flow % 250, 0, 14_600, 0);
    }
    net.run();
    net.assert_complete();
    let timeouts: u32 = net.flows.iter().map(|f| f.tx.counters().timeouts).sum();
    assert_eq!((net.scheduled_drops, timeouts), (0, 0), "largest queue {}", net.largest_data_queue);
    assert!(net.unscheduled_drops > 25_000);
}
