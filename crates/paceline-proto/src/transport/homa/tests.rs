//! Homa in a small network.

use proptest::prelude::*;

use super::cutoffs::Cutoffs;
use super::params::UnscheduledPriority;
use super::*;
use crate::port::selective_drop::SelectiveDrop;
use crate::rng::mix;
use crate::transport::message::{AGAIN, GRANTED, Sizes, UNSCHEDULED};
use crate::transport::star::{Fate, Queues, Seen, Star};
use crate::transport::unscheduled::{BurstParams, BurstStop, RepairOrder, Unscheduled};
use crate::units::{BitsPerSec, Duration};

const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
const DELAY: Duration = Duration::from_us(1);
const END: Time = Time(1_000_000_000_000);
/// Serialisation of a full frame at 100 Gb/s, and of a control frame, ps.
const FULL: u64 = 1538 * 80;
const CONTROL: u64 = 84 * 80;
/// Enough for anything here.
const INFINITE: Queues = Queues::Priorities(1 << 30);

const CUTOFFS: Cutoffs = Cutoffs { unscheduled: 2, bounds: [10_000, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX] };

fn star(params: Params, hosts: usize, queues: Queues) -> Star<Host> {
    Star::new(vec![Host::new(params); hosts], RATE, DELAY, 20, queues)
}

/// Two links of 1 us: base RTT about 4.3 us, 54 kB, 36 packets. Timers of 40 us, as in Aeolus' incasts, so that they do fire.
fn homa() -> Params {
    let wait = Duration::from_us(40);
    Params { resend_timeout: wait, sender_timeout: wait, ..Params::homa(RATE, 54_000, Sizes::ETHERNET, 20, CUTOFFS) }
}

/// Timers that do not fire for packets that merely wait in a long queue (facts 9.3 on infinite buffers).
fn patient() -> Params {
    let wait = Duration::from_us(10_000);
    Params { resend_timeout: wait, sender_timeout: wait, ..homa() }
}

fn aeolus() -> Params {
    Params::aeolus(RATE, 54_000, Sizes::ETHERNET, 20, CUTOFFS)
}

fn selective() -> Queues {
    Queues::Selective(SelectiveDrop::default())
}

fn counted(net: &Star<Host>, f: fn(&Counters) -> u64) -> u64 {
    net.hosts.iter().map(|h| f(h.counters())).sum()
}

/// Grants come in time: a long message arrives at line rate as if there were none.
#[test]
fn alone_a_message_moves_at_line_rate() {
    for (params, queues) in [(homa(), INFINITE), (aeolus(), selective())] {
        let queues_are_selective = matches!(queues, Queues::Selective(_));
        let mut net = star(params, 2, queues);
        net.send(Time(0), 0, 1, 1460 * 500);
        net.run(END, |_| Fate::Pass);
        net.assert_complete();
        let over = net.fcts()[0] - (501 * FULL + 2 * DELAY.0);
        // With Aeolus the probe adds a control frame.
        assert!(over <= CONTROL, "{over} ps over the ideal");
        assert_eq!((counted(&net, |c| c.again), counted(&net, |c| c.timeouts)), (0, 0));
        // The first grant comes after 4.26 us, which are 35 packets: with Aeolus it ends the burst.
        let sent_unasked = if queues_are_selective { 35 } else { 36 };
        assert_eq!(counted(&net, |c| c.permits), 500 - sent_unasked);
    }
}

/// What fits into the first round trip needs nobody's permission.
#[test]
fn a_short_message_takes_its_wire_time() {
    for (params, queues) in [(homa(), INFINITE), (aeolus(), selective())] {
        let mut net = star(params, 2, queues);
        net.send(Time(0), 0, 1, 1460 * 20);
        net.run(END, |_| Fate::Pass);
        net.assert_complete();
        assert_eq!(net.fcts()[0], 21 * FULL + 2 * DELAY.0);
        assert_eq!(counted(&net, |c| c.permits), 0);
    }
}

/// A sender finishes its messages shortest first whatever the order of their start.
#[test]
fn the_sender_sends_the_shortest_first() {
    let mut net = star(homa(), 4, INFINITE);
    let sizes = [40_000, 20_000, 30_000];
    for (i, bytes) in sizes.into_iter().enumerate() {
        net.send(Time(0), 0, i + 1, bytes);
    }
    // A still shorter one comes later and overtakes.
    net.send(Time(1_000_000), 0, 1, 1000);
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    let mut order: Vec<usize> = (0..4).collect();
    order.sort_by_key(|i| net.messages[*i].delivered);
    assert_eq!(order, [3, 1, 2, 0]);
}

/// A receiver grants the shortest messages first, and no more senders at a time than the degree of overcommitment.
#[test]
fn the_receiver_grants_the_shortest_few() {
    for degree in [1, 2, 4] {
        let mut net = star(Params { overcommitment: degree, ..patient() }, 9, INFINITE);
        for src in 0..8 {
            net.send(Time(0), src, 8, 300_000 + 100_000 * ((src as u64 * 3) % 8));
        }
        net.run(END, |_| Fate::Pass);
        net.assert_complete();
        let mut order: Vec<usize> = (0..8).collect();
        order.sort_by_key(|i| net.messages[*i].delivered);
        // With more senders granted, packets granted first and at the lowest priority may wait for longer messages.
        let swapped = order.windows(2).filter(|w| net.messages[w[0]].bytes > net.messages[w[1]].bytes).count();
        assert!(swapped <= usize::from(degree > 2), "{degree}: {order:?}");
        // Messages granted within any round trip (4.3 us), once grants have settled.
        let grants: Vec<_> = net.log.iter().filter(|(_, _, h)| h.kind == Kind::Grant).collect();
        let middle = grants[grants.len() / 4].0;
        let end = Time(middle.0 + 10_000_000);
        let mut flows: Vec<u32> =
            grants.iter().filter(|g| g.0 >= middle && g.0 < end).map(|(_, _, h)| h.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        assert!(flows.len() <= degree as usize + 1, "{degree}: {flows:?}");
    }
}

/// Facts 2.3: k active messages use the k lowest levels, the shortest the highest of these; unscheduled packets use
/// theirs by message size; control packets go first.
#[test]
fn priorities_are_as_assigned() {
    let p = patient();
    assert_eq!((p.first_scheduled(), p.scheduled_levels()), (2, 6));
    assert_eq!((p.unscheduled_level(9_000, 9_000), p.unscheduled_level(90_000, 9_000)), (0, 1));
    let remaining = Params { unscheduled_priority: UnscheduledPriority::Remaining, ..p };
    assert_eq!(remaining.unscheduled_level(90_000, 9_000), 0);
    let lowest = Params { unscheduled_priority: UnscheduledPriority::Lowest, ..p };
    assert_eq!(lowest.unscheduled_level(1, 1), 7);
    let mut net = star(p, 4, INFINITE);
    for src in 0..3 {
        net.send(Time(0), src, 3, 400_000 + 100_000 * src as u64);
    }
    net.send(Time(0), 0, 3, 5_000);
    net.run(END, |_| Fate::Pass);
    for (_, _, h) in &net.log {
        match h.kind {
            Kind::Data if h.is(UNSCHEDULED) => assert_eq!(h.priority, u8::from(h.ext > 10_000)),
            Kind::Data => assert!((5..=7).contains(&h.priority), "{h:?}"),
            _ => assert_eq!(h.priority, 0),
        }
    }
}

/// Facts 7.6: with infinite buffers a downlink's queue stays below the senders' first round trips and the granted ones.
#[test]
fn the_queue_is_bounded_by_what_is_allowed() {
    let mut net = star(patient(), 17, INFINITE);
    for src in 0..16 {
        net.send(Time(0), src, 16, 200_000);
    }
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    let round = 36 * 1518;
    assert!(net.seen.largest_queue <= (16 + 6) * round, "{:?}", net.seen);
    let drain = 16 * 137 * FULL;
    let last = net.fcts().into_iter().max().unwrap_or(0);
    assert!(last as f64 <= 1.03 * drain as f64, "{} us of {}", last / 1_000_000, drain / 1_000_000);
    // Run to completion, not fair shares: the mean is well below the last.
    let mean = net.fcts().iter().sum::<u64>() / 16;
    assert!(mean as f64 <= 0.75 * last as f64);
}

/// With finite buffers plain Homa loses packets of both kinds and waits for its timers; with Aeolus and the cap on grants no
/// scheduled packet is lost, and nobody waits.
#[test]
fn aeolus_protects_scheduled_packets() {
    let run = |params, queues| {
        let mut net = star(params, 33, queues);
        for src in 0..32 {
            net.send(Time(0), src, 32, 146_000);
        }
        let mut n = 0;
        net.run(END, |_| {
            n += 1;
            Fate::Delay(Duration(mix(n) % FULL))
        });
        net.assert_complete();
        net
    };
    let plain = run(homa(), Queues::Priorities(200 << 10));
    assert!(plain.seen.unscheduled_drops > 0 && counted(&plain, |c| c.timeouts) > 0, "{:?}", plain.seen);
    let guarded = run(Params { overcommitment: 3, ..aeolus() }, selective());
    assert!(guarded.seen.unscheduled_drops > 500, "{:?}", guarded.seen);
    assert_eq!((guarded.seen.scheduled_drops, guarded.seen.control_drops), (0, 0));
    assert_eq!(counted(&guarded, |c| c.timeouts), 0);
    let drain = 3200 * FULL;
    let last = guarded.fcts().into_iter().max().unwrap_or(0);
    assert!(last as f64 <= 1.06 * drain as f64, "{} us of {}", last / 1_000_000, drain / 1_000_000);
}

/// A sender that says it is busy keeps its grants: receivers that took them for lost would grant anew each time they ask, and
/// what then comes at once is more than the cap lets wait in a port's buffer.
#[test]
fn a_busy_senders_grants_stay_granted() {
    let wait = Duration::from_us(40);
    let params = Params { resend_timeout: wait, ..aeolus() };
    let rtt = params.rtt_packets;
    let mut net = star(params, 3, selective());
    net.send(Time(0), 0, 1, 3_000_000);
    // Shorter, so that it goes first, for many times as long as a receiver waits.
    net.send(Time(20_000_000), 0, 2, 2_500_000);
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    let (mut granted, mut spent, mut held, mut busy) = (0, 0, 0, 0);
    for (_, host, h) in net.log.iter().filter(|(_, host, h)| h.flow == 0 && *host < 2) {
        assert_eq!(*host == 1, h.is(TO_SENDER));
        match h.kind {
            Kind::Grant => granted = granted.max(h.seq),
            Kind::Data => spent += u32::from(h.is(GRANTED)),
            Kind::Busy => busy += 1,
            _ => {}
        }
        held = held.max(granted - spent);
    }
    assert!(busy >= 3, "{busy}");
    assert!(held <= rtt + 1, "{held} of {rtt}");
}

/// What waits behind a better message in the switch is asked for again, in vain, and then comes twice: the cap must hold again
/// once the better message is over, or a standing queue stays for as long as the other lasts.
#[test]
fn packets_asked_for_in_vain_leave_no_standing_queue() {
    let wait = Duration::from_us(40);
    let mut net = star(Params { resend_timeout: wait, overcommitment: 2, ..aeolus() }, 3, Queues::Priorities(1 << 20));
    let better = 1_500_000;
    net.send(Time(0), 0, 2, 4_000_000);
    net.send(Time(20_000_000), 1, 2, better);
    net.run(Time(400_000_000), |_| Fate::Pass);
    assert!(net.log.iter().filter(|(_, _, h)| h.kind == Kind::Resend).count() >= 2);
    assert!(counted(&net, |c| c.duplicates) > 36);
    net.seen = Seen::default();
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    assert!(net.seen.largest_queue <= 2 * 1518, "{:?}", net.seen);
}

/// A receiver asks for the whole first gap, once.
#[test]
fn a_gap_is_asked_for() {
    let mut net = star(Params { sender_timeout: Duration::from_us(1000), ..homa() }, 2, INFINITE);
    net.send(Time(0), 0, 1, 50_000);
    let mut lost = 0;
    net.run(END, |h| {
        let hit = h.kind == Kind::Data && (h.seq == 3 || h.seq == 4) && lost < 2;
        lost += i32::from(hit);
        if hit { Fate::Lose } else { Fate::Pass }
    });
    net.assert_complete();
    let again: Vec<u32> = net.log.iter().filter(|(_, _, h)| h.is(AGAIN)).map(|(_, _, h)| h.seq).collect();
    let resends = net.log.iter().filter(|(_, _, h)| h.kind == Kind::Resend).count();
    assert_eq!((again, resends), (vec![3, 4], 1));
    // 35 packets, the silence, the RESEND, two packets.
    let expected = 36 * FULL + 2 * DELAY.0 + homa().resend_timeout.0 + 2 * CONTROL + 3 * FULL + 4 * DELAY.0;
    assert!(net.fcts()[0] <= expected && net.fcts()[0] > expected - FULL, "{} {expected}", net.fcts()[0]);
}

/// A sender whose shorter messages keep a granted one waiting says so, and nothing is sent twice.
#[test]
fn a_busy_sender_says_so() {
    let mut net = star(homa(), 3, INFINITE);
    net.send(Time(0), 0, 1, 600_000);
    for i in 0..12 {
        net.send(Time(5_000_000 + i), 0, 2, 50_000);
    }
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    let sent = |kind| net.log.iter().filter(|(_, _, h)| h.kind == kind && h.flow == 0).count();
    assert!(sent(Kind::Resend) >= 1 && sent(Kind::Busy) == sent(Kind::Resend), "{}", sent(Kind::Busy));
    assert_eq!((counted(&net, |c| c.again), counted(&net, |c| c.duplicates)), (0, 0));
}

/// A grant that an overtaking one has made old does not bring its priority back.
#[test]
fn an_old_grant_says_nothing_about_the_priority() {
    let mut host = Host::new(homa());
    host.start(Time(0), 0, Message { peer: 1, bytes: 200_000, id: 0, scheme: 0 });
    while host.poll_transmit(Time(0)).is_some() {}
    for (seq, level) in [(2, 3), (1, 6)] {
        let (kind, flags) = (Kind::Grant, TO_SENDER);
        host.on_packet(Time(1), &Header { kind, priority: 0, flags, size: 64, flow: 0, peer: 1, seq, ext: level });
    }
    let sent: Vec<u8> = std::iter::from_fn(|| host.poll_transmit(Time(2))).map(|h| h.priority).collect();
    assert_eq!(sent, [3, 3]);
}

/// Where levels follow from what remains, the first packets of a burst have a lower one than the last: the probe comes behind
/// them all, and nothing is sent twice because it merely waits.
#[test]
fn a_probe_overtakes_no_packet_of_its_burst() {
    let params = Params { unscheduled_priority: UnscheduledPriority::Remaining, ..aeolus() };
    let queues = Queues::Selective(SelectiveDrop { threshold: 1 << 20, limit: 1 << 20, ..SelectiveDrop::default() });
    let mut net = star(params, 5, queues);
    for src in 0..4 {
        net.send(Time(0), src, 4, 20_000);
    }
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    assert_eq!((counted(&net, |c| c.again), counted(&net, |c| c.duplicates)), (0, 0));
}

/// Over Aeolus no more is asked for than is owed, though grants were spent on repairs: of 40 packets 5 have come, 5 of the burst are
/// lost, and 3 grants have had no answer.
#[test]
fn no_more_is_asked_for_than_is_owed() {
    let plain = aeolus();
    let params = Params { rtt_packets: 3, burst: BurstParams { packets: 10, ..plain.burst }, ..plain };
    let mut host = Host::new(params);
    let bytes = 40 * 1460;
    let packet = |kind, flags, seq| Header { kind, priority: 0, flags, size: 1518, flow: 0, peer: 1, seq, ext: bytes };
    for seq in 0..5 {
        host.on_packet(Time(0), &packet(Kind::Data, UNSCHEDULED, seq));
    }
    host.on_packet(Time(0), &packet(Kind::Probe, 0, 10));
    let mut grants = 0;
    for _ in 0..100 {
        let now = host.next_timeout();
        host.on_timeout(now);
        while let Some(h) = host.poll_transmit(now) {
            grants += u32::from(h.kind == Kind::Grant);
            if h.kind == Kind::Resend {
                assert_eq!((grants, h.seq, h.ext as u32), (3, 5, 3));
                return;
            }
        }
    }
    panic!("no RESEND after {grants} grants");
}

/// The n-th packet of each kind lost: a timer or the next counter makes up for it.
#[test]
fn the_loss_of_any_packet_is_made_up_for() {
    let kinds = [Kind::Data, Kind::Grant, Kind::Resend, Kind::Busy, Kind::Done, Kind::Probe, Kind::ProbeAck, Kind::Ack];
    for (params, queues) in [(homa(), Queues::Priorities(100 << 10)), (aeolus(), selective())] {
        for kind in kinds {
            for n in [0, 1, 30] {
                let mut net = star(params, 4, queues);
                for src in 0..3 {
                    net.send(Time(0), src, 3, 146_000);
                }
                let mut left = n;
                net.run(END, |h| {
                    let hit = h.kind == kind && left == 0;
                    left -= i32::from(h.kind == kind);
                    if hit { Fate::Lose } else { Fate::Pass }
                });
                net.assert_complete();
                let last = net.fcts().into_iter().max().unwrap_or(0);
                assert!(last < 300 * FULL + 2 * params.resend_timeout.0 + 1_000_000_000, "{kind:?} {n}: {last}");
            }
        }
    }
}

/// A loss costs one timeout, also where the sender loses patience at the same time: its question for the outcome puts no RESEND off. With
/// equal timeouts every repair would take two of them.
#[test]
fn a_question_for_the_outcome_puts_no_repair_off() {
    for (params, queues) in [(homa(), INFINITE), (aeolus(), selective())] {
        let params = Params { resend_timeout: params.done_timeout, ..params };
        let mut net = star(params, 2, queues);
        net.send(Time(0), 0, 1, 146_000);
        let mut data = 0;
        net.run(END, |h| {
            data += u32::from(h.kind == Kind::Data);
            if h.kind == Kind::Data && data == 80 { Fate::Lose } else { Fate::Pass }
        });
        net.assert_complete();
        assert!(net.log.iter().any(|(_, _, h)| h.kind == Kind::NeedAck));
        let (fct, wait) = (net.fcts()[0], params.resend_timeout.0);
        assert!((wait..wait * 3 / 2).contains(&fct), "{fct}");
    }
}

/// The same where the sender has heard nothing at all, and repeats its first packet meanwhile.
#[test]
fn a_repeated_first_packet_puts_no_repair_off() {
    let wait = Duration::from_us(10_000);
    let params = Params { resend_timeout: wait, sender_timeout: Duration(wait.0 / 2), ..homa() };
    let mut net = star(params, 2, INFINITE);
    net.send(Time(0), 0, 1, 14_600);
    let mut data = 0;
    net.run(END, |h| {
        data += u32::from(h.kind == Kind::Data);
        if h.kind == Kind::Data && data == 5 { Fate::Lose } else { Fate::Pass }
    });
    net.assert_complete();
    assert_eq!((counted(&net, |c| c.again), counted(&net, |c| c.duplicates)), (2, 1));
    assert!((wait.0..wait.0 * 11 / 10).contains(&net.fcts()[0]), "{}", net.fcts()[0]);
}

/// All first packets lost: the receiver knows nothing, and only the sender's timer helps.
#[test]
fn an_unheard_message_is_repeated_by_its_sender() {
    for (params, queues) in [(homa(), INFINITE), (aeolus(), selective())] {
        let mut net = star(params, 2, queues);
        net.send(Time(0), 0, 1, 20_000);
        let mut n = 0;
        net.run(END, |_| {
            n += 1;
            if n <= 15 { Fate::Lose } else { Fate::Pass }
        });
        net.assert_complete();
        assert!(net.fcts()[0] <= 4 * params.sender_timeout.0, "{}", net.fcts()[0]);
    }
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::Pass),
        3 => Just(Fate::Lose),
        1 => Just(Fate::Duplicate),
        1 => (0u64..3000).prop_map(|us| Fate::Delay(Duration::from_us(us))),
    ];
    prop::collection::vec(fate, 0..600)
}

fn variants() -> impl Strategy<Value = (Params, Queues)> {
    (0u8..3, any::<[bool; 6]>(), 1u32..5, 0u8..3).prop_map(|(policy, flags, degree, level)| {
        let (mut params, queues) =
            if policy == 0 { (aeolus(), selective()) } else { (homa(), Queues::Priorities(40_000)) };
        if policy == 1 {
            params.burst.policy = Unscheduled::Wait;
        }
        params.overcommitment = degree;
        params.burst.resend_open = flags[0];
        params.cap_outstanding = flags[1];
        params.tail_boost = flags[2];
        params.one_resend_per_peer = flags[3];
        if flags[4] {
            params.burst.stop = BurstStop::FirstCredit;
            params.burst.order = RepairOrder::NewFirst;
        }
        if flags[5] {
            params.resend_packets = 1;
        }
        params.unscheduled_priority = match level {
            0 => UnscheduledPriority::MessageSize,
            1 => UnscheduledPriority::Remaining,
            _ => UnscheduledPriority::Lowest,
        };
        (params, queues)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is lost, doubled or late: every message is delivered once, and everything comes to rest.
    #[test]
    fn every_message_arrives_exactly_once(
        (params, queues) in variants(),
        fates in fates(),
        messages in prop::collection::vec((0u64..3000, 0usize..3, 1usize..3, 0u64..120_000), 1..12),
    ) {
        let mut net = star(params, 3, queues);
        for (at, src, step, bytes) in messages {
            net.send(Time(at * 1_000_000), src, (src + step) % 3, bytes);
        }
        let mut fates = fates.into_iter();
        net.run(END, |_| fates.next().unwrap_or(Fate::Pass));
        net.assert_complete();
    }

    /// No header, however absurd, makes a host panic or claim much memory.
    #[test]
    fn absurd_headers_do_no_harm(
        headers in prop::collection::vec(any::<(u8, u8, u8, u16, u32, u32, u64, u8)>(), 0..200),
        small: bool,
        policy in 0u8..2,
    ) {
        let mut host = Host::new(if policy == 0 { homa() } else { aeolus() });
        host.start(Time(0), 0, Message { peer: 1, bytes: 100_000, id: 0, scheme: 0 });
        let kinds = [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Grant, Kind::Resend, Kind::Busy, Kind::Probe,
            Kind::ProbeAck, Kind::Done, Kind::NeedAck];
        for (i, (kind, priority, flags, size, flow, seq, ext, which)) in headers.into_iter().enumerate() {
            let now = Time(i as u64 * 1_000_000);
            let kind = kinds[usize::from(kind) % kinds.len()];
            let flow = if which & 1 == 0 { flow % 4 } else { flow | 1 << 24 };
            let (seq, ext) = if small { (seq % 100, ext % 200_000) } else { (seq, ext) };
            let peer = u32::from(priority);
            host.on_packet(now, &Header { kind, priority, flags, size, flow, peer, seq, ext });
            let _ = host.poll_transmit(now);
            host.on_timeout(now);
            if which == 7 {
                host.forget(flow % 4);
            }
        }
    }
}
