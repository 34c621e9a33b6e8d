//! NDP in a small network.

use proptest::prelude::*;

use super::*;
use crate::port::selective_drop::SelectiveDrop;
use crate::port::trimming::TrimmingPort;
use crate::transport::message::{PULLS, Sizes, TRIMMED};
use crate::transport::star::{Fate, Queues, Star};
use crate::transport::unscheduled::Unscheduled;
use crate::units::{BitsPerSec, Duration};

const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
const DELAY: Duration = Duration::from_us(1);
const END: Time = Time(1_000_000_000_000);

fn star(params: Params, hosts: u64, queues: Queues) -> Star<Host> {
    Star::new((0..hosts).map(|key| Host::new(params, key)).collect(), RATE, DELAY, 20, queues)
}

/// Two links of 1 us: base RTT about 4.3 us, 54 kB.
fn ndp() -> Params {
    Params::ndp(RATE, 54_000, Sizes::ETHERNET, 20)
}

fn aeolus() -> Params {
    Params::aeolus(RATE, 54_000, Sizes::ETHERNET, 20)
}

fn trimming() -> Queues {
    Queues::Trimming(TrimmingPort::paper(1518), 64)
}

fn selective() -> Queues {
    Queues::Selective(SelectiveDrop::default())
}

/// Serialisation of a full frame at 100 Gb/s, ps.
const FULL: u64 = 1538 * 80;

/// A message longer than the first window arrives at line rate: pulls keep the pipe full without a gap.
#[test]
fn alone_a_message_moves_at_line_rate() {
    for (params, queues) in [(ndp(), trimming()), (aeolus(), selective())] {
        let mut net = star(params, 2, queues);
        net.send(Time(0), 0, 1, 1460 * 500);
        net.run(END, |_| Fate::Pass);
        net.assert_complete();
        // The probe costs one frame of 84 bytes in the middle of the burst's successors at most.
        let ideal = 501 * FULL + 2 * DELAY.0;
        let over = net.fcts()[0] - ideal;
        assert!(over <= 84 * 80, "{over} ps over the ideal");
        assert_eq!((net.seen.trims, net.hosts[0].counters().again), (0, 0));
    }
}

/// htsim's reference: 2 MB in 223 packets of 9064 bytes. Its run over six links: 223 x 0.72512 + 5 x 0.72512 + 6 us, and an ACK; over
/// the two links here the same formula gives the time.
#[test]
fn single_flow_of_the_reference_run() {
    let mut net = Star::new(
        vec![Host::new(Params::htsim(RATE), 0), Host::new(Params::htsim(RATE), 1)],
        RATE,
        DELAY,
        0,
        Queues::Trimming(TrimmingPort::htsim(9000, 8), 64),
    );
    net.send(Time(0), 0, 1, 2_000_000);
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    let expected = 224 * 9064 * 80 + 2 * DELAY.0;
    assert_eq!(net.fcts()[0], expected);
    assert_eq!(net.hosts[0].counters().data, 223);
    assert_eq!(net.messages[0].finished.map(|t| t.0), Some(expected + 2 * 64 * 80 + 2 * DELAY.0));
}

/// htsim's reference incast: 16 times 450 kB to one host. There over six links of 1 us, with 609.4 us to the last ACK and a mean of
/// 585.0; here the two links are as long, and the rest differs by 5 % at most. As many packets are sent again within 1 %: 457.
#[test]
fn incast_of_the_reference_run() {
    let hosts = (0..17).map(|key| Host::new(Params::htsim(RATE), key)).collect();
    let queues = Queues::Trimming(TrimmingPort::htsim(9000, 8), 64);
    let mut net = Star::new(hosts, RATE, Duration::from_us(3), 0, queues);
    for src in 0..16 {
        net.send(Time(0), src, 16, 450_000);
    }
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    let finished: Vec<f64> = net.messages.iter().filter_map(|m| m.finished).map(|t| t.0 as f64 / 1e6).collect();
    let (mean, last) = (finished.iter().sum::<f64>() / 16.0, finished.iter().copied().fold(0.0, f64::max));
    let again = net.hosts.iter().map(|h| h.counters().again).sum::<u64>();
    assert!(again.abs_diff(457) <= 4, "{again} packets sent again");
    assert!((last / 609.408 - 1.0).abs() < 0.05 && (mean / 584.985 - 1.0).abs() < 0.05, "{mean} {last}");
}

/// Sixteen senders at once: nothing is lost but headers, the link stays busy, and shares are fair.
#[test]
fn incast_is_close_to_the_drain_time() {
    for (params, queues) in [(ndp(), trimming()), (aeolus(), selective())] {
        let mut net = star(params, 17, queues);
        for src in 0..16 {
            net.send(Time(0), src, 16, 146_000);
        }
        // A little jitter: else the first host would win every tie at the switch.
        let mut n = 0;
        net.run(END, |_| {
            n += 1;
            Fate::Delay(Duration(crate::rng::mix(n) % FULL))
        });
        net.assert_complete();
        let drain = 1600 * FULL;
        let (first, last) = (*net.fcts().iter().min().unwrap_or(&0), *net.fcts().iter().max().unwrap_or(&0));
        assert!(last as f64 <= 1.06 * drain as f64, "{} us of {}", last / 1_000_000, drain / 1_000_000);
        assert!(first as f64 >= 0.8 * drain as f64, "first {} us", first / 1_000_000);
        assert_eq!((net.seen.scheduled_drops, net.seen.control_drops), (0, 0));
        assert_eq!(net.hosts.iter().map(|h| h.counters().timeouts).sum::<u64>(), 0);
    }
}

/// A returned packet waits for a pull while others of the first window have not been heard of, those that have not left yet among
/// them; the last two let one go again at once, as nothing would pull it.
#[test]
fn only_the_last_returned_packets_let_one_go_again_at_once() {
    let params = Params { returned_ack_share: 101, ..ndp() };
    let window = params.burst.packets;
    let mut host = Host::new(params, 0);
    host.start(Time(0), 0, Message { peer: 1, bytes: 1460 * 100, id: 0, scheme: 0 });
    let next = |host: &mut Host| host.poll_transmit(Time(0)).map(|h| h.seq);
    let back = |host: &mut Host, seq| {
        let (kind, flags) = (Kind::Data, TO_SENDER | TRIMMED);
        host.on_packet(Time(1), &Header { kind, priority: 0, flags, size: 64, flow: 0, peer: 1, seq, ext: 1460 * 100 })
    };
    assert_eq!(next(&mut host), Some(0));
    back(&mut host, 0);
    for seq in 1..window {
        assert_eq!(next(&mut host), Some(seq));
    }
    for seq in 1..window {
        assert_eq!(next(&mut host), None, "before packet {seq} of {window} came back");
        back(&mut host, seq);
        // With the last but one back, one is unaccounted for.
        if seq + 2 >= window {
            assert_eq!(next(&mut host), Some(seq + 2 - window));
        }
    }
}

/// A returned packet counts among the recent answers that tell whether its path is to blame.
#[test]
fn a_return_counts_before_its_path_is_judged() {
    for (share, sent) in [(50, Some(1)), (51, None)] {
        let mut host = Host::new(Params { returned_ack_share: share, ..ndp() }, 0);
        host.start(Time(0), 0, Message { peer: 1, bytes: 1460 * 40, id: 0, scheme: 0 });
        while host.poll_transmit(Time(0)).is_some() {}
        for (kind, flags, seq) in [(Kind::Ack, TO_SENDER, 0), (Kind::Data, TO_SENDER | TRIMMED, 1)] {
            host.on_packet(Time(1), &Header { kind, priority: 0, flags, size: 64, flow: 0, peer: 1, seq, ext: 0 });
        }
        assert_eq!(host.poll_transmit(Time(2)).map(|h| h.seq), sent);
    }
}

/// Where paths are sprayed a pull may overtake the NACK that it follows. It was thrown away then, and the packet waited for its timeout. One
/// that comes when all is told of is thrown away still.
#[test]
fn a_pull_that_overtakes_its_answer_is_kept() {
    let mut host = Host::new(ndp(), 0);
    host.start(Time(0), 0, Message { peer: 1, bytes: 1460 * 2, id: 0, scheme: 0 });
    while host.poll_transmit(Time(0)).is_some() {}
    let answer = |kind, seq, ext| Header { kind, priority: 0, flags: TO_SENDER, size: 64, flow: 0, peer: 1, seq, ext };
    host.on_packet(Time(1), &answer(Kind::Ack, 1, 0));
    host.on_packet(Time(2), &answer(Kind::Pull, 0, 1));
    assert_eq!((host.poll_transmit(Time(2)), host.counters().wasted_permits), (None, 1));
    host.on_packet(Time(3), &answer(Kind::Pull, 0, 2));
    assert_eq!((host.poll_transmit(Time(3)), host.counters().wasted_permits), (None, 1));
    host.on_packet(Time(4), &answer(Kind::Nack, 0, 0));
    assert_eq!(host.poll_transmit(Time(4)).map(|h| h.seq), Some(0));
}

/// With tiny header queues packets come back, and the message still needs no timeout.
#[test]
fn returned_packets_are_sent_again() {
    let port = TrimmingPort { header_limit: 640, ..TrimmingPort::paper(1518) };
    let mut net = star(ndp(), 33, Queues::Trimming(port, 64));
    for src in 0..32 {
        net.send(Time(0), src, 32, 146_000);
    }
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    assert!(net.seen.returns > 100, "{:?}", net.seen);
    let last = net.fcts().into_iter().max().unwrap_or(0);
    assert!(last as f64 <= 1.1 * 3200.0 * FULL as f64, "{} us", last / 1_000_000);
}

/// A host pulls at the rate of its own link over all messages together, and serves them in turn.
#[test]
fn pulls_are_paced_and_fair() {
    let mut net = star(ndp(), 5, trimming());
    for src in 0..4 {
        net.send(Time(0), src, 4, 1_460_000);
    }
    net.run(END, |_| Fate::Pass);
    let pulls: Vec<_> =
        net.log.iter().filter(|(_, host, h)| *host == 4 && (h.kind == Kind::Pull || h.is(PULLS))).collect();
    assert!(pulls.len() > 3000);
    let close = pulls.windows(2).filter(|w| w[1].0.0 - w[0].0.0 < FULL - 6720 * 2).count();
    assert_eq!(close, 0, "pulls closer than a packet time, less two small frames");
    let middle = &pulls[1000..2000];
    for slot in 0..4 {
        let share = middle.iter().filter(|(_, _, h)| h.flow == slot).count();
        assert!((240..=260).contains(&share), "message {slot}: {share} of 1000 pulls");
    }
}

/// A receiver with so many senders that a round of pulls takes longer than the timeout: senders leave the clock to it. Unasked packets at every
/// timeout would be trimmed in their thousands and take the header queue from those that were asked for.
#[test]
fn the_timer_leaves_large_incasts_to_the_pulls() {
    let sent_again = |rto: Duration| {
        let mut net = star(Params { rto, ..ndp() }, 129, trimming());
        for src in 0..128 {
            net.send(Time(0), src, 128, 90 * 1460);
        }
        net.run(END, |_| Fate::Pass);
        net.assert_complete();
        let total = |f: fn(&Counters) -> u64| net.hosts.iter().map(|h| f(h.counters())).sum::<u64>();
        (total(|c| c.again), total(|c| c.timeouts))
    };
    let (least, none) = sent_again(Duration(u64::MAX));
    // A round of pulls takes 16 us.
    let (again, timeouts) = sent_again(Duration::from_us(10));
    assert_eq!(none, 0);
    assert!(timeouts < 128 * 10, "{timeouts}: not one in each of the 90 rounds");
    assert!(again < least + 128 * 10, "{again} packets sent again, {least} without a timer");
}

/// Where pulls are lost again and again, none is waited for longer and longer: the next one to arrive tells that the timer was right. A
/// message over a bad link would stand still for thousands of timeouts.
#[test]
fn lost_pulls_do_not_make_the_timer_slower() {
    let mut host = Host::new(ndp(), 1);
    host.start(Time(0), 0, Message { peer: 1, bytes: 1460 * 100, id: 0, scheme: 0 });
    let answer = |kind, flags, seq, ext| {
        let (flags, size) = (flags | TO_SENDER, 64);
        Header { kind, priority: 0, flags, size, flow: 0, peer: 1, seq, ext }
    };
    let (mut now, mut answers) = (Time(0), 0);
    for _ in 0..30 {
        // Headers arrive, and every pull for what they tell of is lost.
        while let Some(sent) = host.poll_transmit(now) {
            answers += 1;
            host.on_packet(now, &answer(Kind::Nack, 0, sent.seq, 0));
        }
        let since = now;
        let unasked = loop {
            now = host.next_timeout();
            host.on_timeout(now);
            if let Some(sent) = host.poll_transmit(now) {
                break sent;
            }
        };
        assert!(now.0 - since.0 <= 2 * ndp().rto.0, "waited from {since} to {now} after {answers} answers");
        answers += 1;
        host.on_packet(now, &answer(Kind::Nack, PULLS, unasked.seq, answers));
    }
}

/// The parts of Aeolus are there: an ACK per packet, one probe, and no scheduled packet lost to the burst's excess.
#[test]
fn a_probe_tells_of_lost_unscheduled_packets() {
    let mut net = star(aeolus(), 33, selective());
    for src in 0..32 {
        net.send(Time(0), src, 32, 30_000);
    }
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    assert!(net.seen.unscheduled_drops > 32 * 10, "{:?}", net.seen);
    assert_eq!((net.seen.scheduled_drops, net.seen.control_drops), (0, 0));
    let total = |f: fn(&Counters) -> u64| net.hosts.iter().map(|h| f(h.counters())).sum::<u64>();
    assert_eq!((total(|c| c.probes), total(|c| c.timeouts), total(|c| c.duplicates)), (32, 0, 0));
    assert_eq!(total(|c| c.again), u64::from(net.seen.unscheduled_drops));
}

/// A timeout repeats a lost probe and sends nothing else; where the message was complete the receiver says so, and the sender
/// waits for no more.
#[test]
fn a_lost_probe_is_repeated_alone() {
    let mut net = star(aeolus(), 2, selective());
    net.send(Time(0), 0, 1, 1460);
    let mut first = true;
    net.run(END, |h| {
        let lost = h.kind == Kind::Probe && std::mem::take(&mut first);
        if lost || h.kind == Kind::Ack { Fate::Lose } else { Fate::Pass }
    });
    net.assert_complete();
    let sent = net.hosts[0].counters();
    assert_eq!((sent.data, sent.probes, sent.timeouts), (1, 2, 1));
    // The burst, the timeout, and the probe's way there and back.
    let probe_sent = FULL;
    let there_and_back = 4 * 84 * 80 + 4 * DELAY.0;
    let rto = aeolus().rto.0;
    assert_eq!(net.messages[0].finished, Some(Time(probe_sent + rto + there_and_back)));
}

/// Waiting for pulls costs the request's round trip and no more.
#[test]
fn without_a_burst_a_request_goes_first() {
    let mut params = ndp();
    params.burst.policy = Unscheduled::Wait;
    let mut net = star(params, 2, trimming());
    net.send(Time(0), 0, 1, 1460);
    net.run(END, |_| Fate::Pass);
    net.assert_complete();
    assert_eq!(net.fcts()[0], 2 * FULL + 2 * DELAY.0 + 4 * 84 * 80 + 4 * DELAY.0);
}

/// The n-th packet of each kind lost: the timeout or the next counter makes up for it.
#[test]
fn the_loss_of_any_packet_is_made_up_for() {
    for (params, queues) in [(ndp(), trimming()), (aeolus(), selective())] {
        for kind in [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Probe, Kind::ProbeAck] {
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
                assert!(last < 300 * FULL + 2_100_000_000, "{kind:?} {n}: {last}");
            }
        }
    }
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::Pass),
        2 => Just(Fate::Lose),
        1 => Just(Fate::Duplicate),
        1 => (0u64..3000).prop_map(|us| Fate::Delay(Duration::from_us(us))),
        1 => Just(Fate::Trim),
    ];
    prop::collection::vec(fate, 0..600)
}

fn variants() -> impl Strategy<Value = (Params, Queues)> {
    (0u8..3, any::<[bool; 4]>(), 0u64..20, 0u32..50).prop_map(|(policy, flags, verdict, jitter)| {
        let (mut params, queues) = if policy == 0 { (aeolus(), selective()) } else { (ndp(), trimming()) };
        if policy == 1 {
            params.burst.policy = Unscheduled::Wait;
        }
        params.burst.resend_open = flags[0];
        params.keep_idle_pulls = flags[1];
        params.pull_missing = flags[2];
        params.pull_limit = if jitter % 3 == 0 { 1 + verdict } else { u64::MAX };
        if flags[3] {
            params.burst.stop = crate::transport::unscheduled::BurstStop::FirstCredit;
            params.burst.order = crate::transport::unscheduled::RepairOrder::NewFirst;
        }
        (params.verdict_delay, params.rto_jitter) = (Duration::from_us(verdict), jitter);
        (params, queues)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is lost, trimmed, doubled or late: every message is delivered once, and everything comes to rest.
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
        let mut host = Host::new(if policy == 0 { ndp() } else { aeolus() }, 0);
        host.start(Time(0), 0, Message { peer: 1, bytes: 100_000, id: 0, scheme: 0 });
        for (i, (kind, priority, flags, size, flow, seq, ext, which)) in headers.into_iter().enumerate() {
            let now = Time(i as u64 * 1_000_000);
            let kinds = [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Grant, Kind::Resend, Kind::Busy, Kind::Probe,
                Kind::ProbeAck, Kind::Done, Kind::NeedAck];
            let flow = if which & 1 == 0 { flow % 4 } else { flow | 1 << 24 };
            let (seq, ext) = if small { (seq % 100, ext % 200_000) } else { (seq, ext) };
            let header = Header { kind: kinds[usize::from(kind) % kinds.len()], priority, flags, size, flow, peer: 1, seq, ext };
            host.on_packet(now, &header);
            let _ = host.poll_transmit(now);
            host.on_timeout(now);
        }
    }
}
