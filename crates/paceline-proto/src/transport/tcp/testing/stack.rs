//! Parts of the stack that only show between two ends.

use crate::cc::{Params as Control, cubic, hpcc, new_reno as reno, vegas};
use crate::telemetry::IntUnits;
use crate::transport::tcp::{
    Buffer, CacheEntry, Context, DelayedAck, Flags, InheritCwnd, InitialWindow, Pacing, Params, State,
};
use crate::units::{BitsPerSec, Duration, MS, S, Time, US};

use super::pair::{Fate, Pair};
use super::{flow_context, new_reno};

fn clean<'a>(tcp: Params, mss: u32) -> Pair<'a> {
    Pair::new(tcp, new_reno(mss), Duration::from_us(50), Box::new(|_, _, _| Fate::Arrives))
}

/// HPCC over TCP: one small probe per round trip, reflected at once although ACKs are delayed, nothing else carries
/// telemetry; an overloaded link takes the window down to the floor of three segments.
#[test]
fn hpcc_runs_on_one_probe_per_round_trip() {
    let params = hpcc::Params { min_rate: 1_000_000, w_ai_rate: 10_000_000, ..hpcc::Params::default() };
    let cc = flow_context(1500, Control::Hpcc(params));
    let tcp = Params { probe: Some(Duration::from_us(200)), min_window: 3, ..Params::user_space() };
    let mut pair = Pair::new(tcp, cc, Duration::from_us(50), Box::new(|_, _, _| Fate::Arrives));
    // A 10 Gb/s port that is busy all the time with a megabyte behind it.
    let units = IntUnits::new(1);
    pair.telemetry = Box::new(move |now| vec![units.pack(now, now.0 / 800, 1_000_000, 0)]);
    pair.ends[0].write(1 << 30);
    pair.run(Time(20 * MS));
    let probes = pair.log.iter().filter(|(_, end, s)| *end == 0 && s.flags.has(Flags::PROBE)).count();
    assert!((195..=201).contains(&probes), "{probes} probes in 200 round trips");
    assert!(
        pair.log.iter().filter(|(_, _, s)| s.flags.has(Flags::PROBE_REPLY)).all(|(at, _, _)| at.0 % (50 * US) == 0)
    );
    assert_eq!(pair.ends[0].cwnd(), 3 * 1500);
}

/// A lost probe is replaced after its timeout, and its late answer is not taken for the new one's.
#[test]
fn a_lost_probe_is_replaced() {
    let cc = flow_context(1500, Control::Hpcc(hpcc::Params::default()));
    let tcp = Params { probe: Some(Duration::from_us(300)), ..Params::user_space() };
    let fate = |_: usize, n: u64, s: &super::super::Segment| {
        if s.flags.has(Flags::PROBE) && n < 200 { Fate::Lost } else { Fate::Arrives }
    };
    let mut pair = Pair::new(tcp, cc, Duration::from_us(50), Box::new(fate));
    pair.ends[0].write(1 << 30);
    pair.run(Time(2 * MS));
    let times: Vec<u64> =
        pair.log.iter().filter(|(_, e, s)| *e == 0 && s.flags.has(Flags::PROBE)).map(|(t, _, _)| t.0 / US).collect();
    assert_eq!(times[1] - times[0], 300);
    assert!(times.windows(2).skip(4).all(|w| w[1] - w[0] == 100), "{times:?}");
}

/// Vegas fills a link although ACKs are for two segments each, and one that stays over waits at the receiver.
#[test]
fn vegas_fills_a_link_over_delayed_acks() {
    for (initial, coarse) in (1..=4).flat_map(|n| [(n, false), (n, true)]) {
        let cc = flow_context(1000, Control::Vegas(vegas::Params { coarse, ..vegas::Params::default() }));
        let tcp = Params { initial_window: InitialWindow::Segments(initial), ..Params::freebsd() };
        let mut pair = Pair::new(tcp, cc, Duration::from_us(50), Box::new(|_, _, _| Fate::Arrives));
        pair.rate = Some((BitsPerSec(1_000_000_000), u64::MAX));
        pair.ends[0].write(1 << 30);
        pair.keep_log = false;
        pair.run(Time(50 * MS));
        let before = pair.delivered[1];
        pair.run(Time(100 * MS));
        let used = (pair.delivered[1] - before) as f64 * 8.0 / 1e9 / 0.05;
        assert!(used > 0.94, "{initial} segments at first, coarse {coarse}: {used} of the link used");
    }
}

/// One flow over 100 Mb/s and 30 ms: between alpha = 1 and beta = 3 segments stand in the queue, as the parameters say. In FreeBSD's
/// whole bytes per tick of 1 us more stay, here four: one byte per tick is a rate of 8 Mb/s, and diff is 0 or thirty
/// segments.
#[test]
fn vegas_queues_what_its_parameters_say() {
    for (coarse, gamma, allowed) in [(false, None, 1.0..3.6), (false, Some(1), 1.0..3.6), (true, None, 3.0..40.0)] {
        let cc = flow_context(1000, Control::Vegas(vegas::Params { gamma, coarse, ..vegas::Params::default() }));
        let mut tcp = Params::rfc();
        tcp.delayed_ack.segments = 1;
        let mut pair = Pair::new(tcp, cc, Duration::from_us(15_000), Box::new(|_, _, _| Fate::Arrives));
        pair.rate = Some((BitsPerSec(100_000_000), u64::MAX));
        pair.ends[0].write(1 << 30);
        pair.keep_log = false;
        pair.run(Time(100 * S));
        // What one round trip of the empty path holds; the rest waits.
        let path = 0.03 * 100e6 / 8.0 / 1052.0;
        let queued = pair.ends[0].cwnd() as f64 / 1000.0 - path;
        assert!(allowed.contains(&queued), "coarse {coarse}, gamma {gamma:?}: {queued:.1} segments");
    }
}

/// Several flows of Vegas come down to what the link holds although FreeBSD's start slowly at ssthresh too: the window that ended slow
/// start is not its floor. With gamma it was: four flows that began together kept 128 segments queued, with beta = 4.
#[test]
fn vegas_leaves_slow_start_for_good() {
    for (coarse, gamma) in [(false, None), (true, None), (false, Some(1))] {
        let cc = flow_context(1000, Control::Vegas(vegas::Params { gamma, coarse, ..vegas::Params::default() }));
        let mut pair = Pair::new(Params::rfc(), cc, Duration::from_us(50), Box::new(|_, _, _| Fate::Arrives));
        pair.rate = Some((BitsPerSec(10_000_000_000), u64::MAX));
        pair.ends[0].write(1 << 34);
        pair.keep_log = false;
        pair.run(Time(50 * MS));
        let wide = pair.ends[0].cwnd();
        // Others take nine tenths of it.
        pair.rate = Some((BitsPerSec(1_000_000_000), u64::MAX));
        pair.run(Time(400 * MS));
        assert!(wide > 100_000 && pair.ends[0].cwnd() < 30_000, "{wide} became {}", pair.ends[0].cwnd());
    }
}

/// FreeBSD's Vegas times segments that are sent again too, so that a window of losses is repaired in slow start, which grows every other
/// round trip. When only new segments ended round trips, its window stayed at one segment until all 30 had been sent again, each of
/// which waited 10 ms at the receiver for the next: all was over after 445 ms.
#[test]
fn vegas_grows_after_a_timeout_while_it_repeats() {
    for coarse in [false, true] {
        let cc = flow_context(1000, Control::Vegas(vegas::Params { coarse, ..vegas::Params::default() }));
        let mut top = 0;
        let lost = move |end: usize, _: u64, s: &super::super::Segment| {
            let first = end == 0 && s.seq > top;
            top = if first { s.seq } else { top };
            if first && (1_000_000..1_030_000).contains(&s.seq) { Fate::Lost } else { Fate::Arrives }
        };
        let mut pair = Pair::new(Params::freebsd(), cc, Duration::from_us(100), Box::new(lost));
        pair.rate = Some((BitsPerSec(1_000_000_000), u64::MAX));
        pair.ends[0].write(1_060_000);
        pair.run(Time(S));
        assert!(pair.ends[0].counters.timeouts > 0 && pair.delivered[1] == 1_060_000);
        let last = pair.log.iter().rfind(|(_, end, s)| *end == 0 && s.len > 0).map(|(at, _, _)| at.0 / MS);
        assert!(last < Some(130), "coarse {coarse}: {last:?} ms");
    }
}

/// Streams are not limited by the 32 bits of a sequence number.
#[test]
fn a_stream_passes_four_gibibytes() {
    let large = Buffer { initial: 1 << 26, max: 1 << 26, step: 0 };
    let tcp = Params { send_buffer: large.clone(), receive_buffer: large, ..Params::rfc() };
    let mut pair = clean(tcp, 1 << 16);
    pair.keep_log = false;
    // One loss in every 5000 segments, so that recovery too meets the wrap.
    pair.script = Box::new(|_, n, s| if s.len > 0 && n % 5_000 == 77 { Fate::Lost } else { Fate::Arrives });
    pair.ends[0].write(5 << 30);
    pair.ends[0].close();
    pair.ends[1].close();
    pair.run(Time(1000 * S));
    assert!(pair.over());
    assert_eq!(pair.delivered, [0, 5 << 30]);
}

/// Segmentation offload: what leaves between two arrivals is a multiple of the burst, not a segment per ACK.
#[test]
fn bursts_wait_for_their_window() {
    let mut tcp = Params { burst: 8, initial_window: InitialWindow::Segments(64), ..Params::rfc() };
    tcp.delayed_ack.segments = 1;
    let mut pair = clean(tcp, 1000);
    pair.rate = Some((BitsPerSec(1_000_000_000), u64::MAX));
    pair.ends[0].write(1_000_000);
    pair.run(Time(10 * MS));
    let mut bursts = Vec::<(Time, u32)>::new();
    for (at, _, _) in pair.log.iter().filter(|(_, end, s)| *end == 0 && s.len > 0) {
        match bursts.last_mut() {
            Some((last, n)) if last == at => *n += 1,
            _ => bursts.push((*at, 1)),
        }
    }
    let small = bursts.iter().rev().skip(1).filter(|(_, n)| *n < 8).count();
    assert_eq!(small, 0, "{bursts:?}");
    assert_eq!(pair.delivered[1], 1_000_000);
}

/// Paced at twice the window per round trip, a window of 64 segments leaves in half a round trip and not at once; at 1.2 times the window
/// from half of the slow-start threshold on, as in Linux.
#[test]
fn pacing_spreads_a_window() {
    let pacing = Pacing::Window { slow_start: 200, avoidance: 120 };
    for (threshold, percent) in [(None, 200), (Some(130), 200), (Some(128), 120), (Some(64), 120)] {
        let mut pair = clean(Params { pacing, initial_window: InitialWindow::Segments(64), ..Params::rfc() }, 1000);
        let left = |segments: u64| CacheEntry {
            srtt: Duration(0),
            rttvar: Duration(0),
            ssthresh: Some(segments * 1000),
            cwnd: 0,
        };
        pair.ends[0].recall(threshold.map(left));
        pair.ends[0].write(64_000);
        pair.run(Time(S));
        let sent: Vec<u64> = pair.log.iter().filter(|(_, e, s)| *e == 0 && s.len > 0).map(|(t, _, _)| t.0).collect();
        assert_eq!(sent.len(), 64);
        let gap = 100 * US * 100 / 64 / percent;
        assert!(sent.windows(2).all(|w| (gap - gap / 10..=gap).contains(&(w[1] - w[0]))), "{threshold:?}: {sent:?}");
    }
}

/// FreeBSD's socket buffers start at 128 KiB and end at 256 KiB under a bulk transfer, and stay for short messages.
#[test]
fn socket_buffers_grow_under_bulk_data() {
    for (bytes, grown) in [(20_000_000, true), (20_000, false)] {
        let tcp = Params { timestamps: true, ..Params::freebsd() };
        let mut pair = clean(tcp, 1448);
        pair.delay = Duration::from_us(500);
        pair.ends[0].write(bytes);
        pair.run(Time(10 * S));
        let (sending, receiving) = (pair.ends[0].buffers().0, pair.ends[1].buffers().1);
        let expected = if grown { 256 << 10 } else { 128 << 10 };
        assert_eq!((sending, receiving), (expected, expected), "{bytes} bytes");
    }
}

/// So they do where the queue makes round trips longer than that of the handshake, within which the link carries less than 7/8 of the buffer
/// (10 Gb/s, 76 us).
#[test]
fn the_receive_buffer_grows_by_round_trips_as_they_are() {
    for (gbps, delay_us, expected) in [(10, 37, 256 << 10), (10, 60, 256 << 10), (1, 37, 256 << 10)] {
        let mut pair = clean(Params::freebsd(), 1448);
        pair.delay = Duration::from_us(delay_us);
        pair.rate = Some((BitsPerSec(gbps * 1_000_000_000), u64::MAX));
        pair.keep_log = false;
        pair.ends[0].write(1 << 30);
        pair.run(Time(50 * MS));
        assert_eq!(pair.ends[1].buffers().1, expected, "{gbps} Gb/s, {delay_us} us");
    }
    // What the application holds down stays as it is: 20 KB in a round trip.
    let mut pair = clean(Params::freebsd(), 1448);
    for ms in 0..40 {
        pair.ends[0].write(20_000);
        pair.run(Time(ms * MS));
    }
    assert_eq!(pair.ends[1].buffers().1, 128 << 10);
}

/// A connection to a known host begins with half of the last window and in congestion avoidance.
#[test]
fn the_cache_carries_window_threshold_and_round_trip_time() {
    let tcp = Params { inherit_cwnd: InheritCwnd::Half, ..Params::freebsd() };
    let mut pair = clean(tcp, 1000);
    pair.script = Box::new(|_, n, s| if s.len > 0 && n == 60 { Fate::Lost } else { Fate::Arrives });
    pair.ends[0].write(200_000);
    pair.run(Time(S));
    let cx = Context { tcp: &pair.tcp[0], cc: &pair.cc };
    let entry = pair.ends[0].cache_entry(cx).expect("many samples");
    assert!((100..110).contains(&(entry.srtt.as_ns() / 1000)), "{:?}", entry.srtt);
    // In packets of 1000 bytes and 40 of headers.
    let ssthresh = entry.ssthresh.expect("a loss set it");
    assert_eq!(ssthresh, (pair.ends[0].ssthresh() + 500) / 1000 * 1040);
    let mut next = clean(pair.tcp[0].clone(), 1000);
    next.ends[0].recall(Some(entry));
    next.run(Time(200 * US));
    assert_eq!(next.ends[0].state(), State::Open);
    assert_eq!((next.ends[0].cwnd(), next.ends[0].ssthresh()), (entry.cwnd / 2, ssthresh));
    let both = entry.merged(CacheEntry { srtt: Duration(entry.srtt.0 + 8), ..entry });
    assert_eq!(both.srtt, Duration(entry.srtt.0 + 4), "the mean of both");
}

/// RFC 5681, section 3.1: after a lost SYN one segment, whatever earlier connections have left.
#[test]
fn a_lost_syn_leaves_one_segment_of_an_inherited_window() {
    let tcp = Params { inherit_cwnd: InheritCwnd::Full, ..Params::freebsd() };
    let entry =
        CacheEntry { srtt: Duration::from_us(100), rttvar: Duration::from_us(10), ssthresh: None, cwnd: 50_000 };
    for (lost, cwnd) in [(false, 50_000), (true, 1_000)] {
        let mut pair = clean(tcp.clone(), 1000);
        pair.script = Box::new(move |_, n, _| if lost && n == 0 { Fate::Lost } else { Fate::Arrives });
        pair.ends[0].recall(Some(entry));
        pair.run(Time(S));
        assert_eq!((pair.ends[0].state(), pair.ends[0].cwnd()), (State::Open, cwnd));
    }
}

/// A path that becomes slow for a moment makes the timer run out too early; the ACK of the original tells, and FreeBSD takes the
/// reduction back.
#[test]
fn a_spurious_timeout_is_undone() {
    for undo in [true, false] {
        let mut tcp = Params { undo_early_ack: undo, initial_window: InitialWindow::Segments(4), ..Params::freebsd() };
        // Round trip 20 ms, first data RTO 60 ms.
        (tcp.rto.slop, tcp.rto.initial) = (Duration(0), Duration::from_us(1_000_000));
        let late = Duration::from_us(41_000);
        let mut pair = Pair::new(
            tcp,
            new_reno(1000),
            Duration::from_us(10_000),
            Box::new(move |_, _, s| {
                if s.len > 0 && s.timestamps.is_some_and(|t| t.value < 40_000) {
                    Fate::Late(late)
                } else {
                    Fate::Arrives
                }
            }),
        );
        pair.ends[0].write(4_000);
        pair.run(Time(S));
        let (c, cwnd) = (pair.ends[0].counters(), pair.ends[0].cwnd());
        assert_eq!((c.timeouts, c.spurious_timeouts), (1, u64::from(undo)));
        assert_eq!(cwnd >= 4_000, undo, "{cwnd}");
        assert_eq!(pair.delivered[1], 4_000);
    }
}

/// Persistent connections: requests and answers both ways, PSH at the end of every message, none of them lost.
#[test]
fn requests_and_answers_share_a_connection() {
    let mut pair = clean(Params::user_space(), 1448);
    pair.run(Time(MS));
    for query in 1..=50 {
        let now = pair.now;
        pair.ends[0].write(4_096);
        pair.drain(0);
        while pair.delivered[1] < query * 4_096 {
            assert!(pair.step(now + Duration::from_us(10_000)));
        }
        pair.ends[1].write(64);
        pair.drain(1);
        while pair.delivered[0] < query * 64 {
            assert!(pair.step(now + Duration::from_us(10_000)));
        }
        assert_eq!(pair.now - now, Duration::from_us(100), "a round trip: no timer is waited for");
    }
    let ends = pair.log.iter().filter(|(_, end, s)| *end == 0 && s.flags.has(Flags::PSH)).count();
    assert_eq!(ends, 50);
}

/// RFC 9438, section 5.8: an application that has one message of 1 KB under way never fills its window, which says nothing about the
/// path and must not grow: the first large message would leave as one burst of megabytes. FreeBSD of 2011 let it grow.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for (tcp, grows) in [(Params::rfc(), false), (Params::user_space(), false), (Params::freebsd(), true)] {
        let mut pair = clean(Params { delayed_ack: DelayedAck { segments: 1, ..tcp.delayed_ack }, ..tcp }, 1448);
        for cubic in [false, true] {
            if cubic {
                let params = Control::Cubic(cubic::Params::rfc9438());
                pair = Pair::new(pair.tcp[0].clone(), flow_context(1448, params), pair.delay, pair.script);
            }
            pair.run(Time(MS));
            let first = pair.ends[0].cwnd();
            for query in 1..=50 {
                let now = pair.now;
                pair.ends[0].write(1_000);
                pair.drain(0);
                while pair.delivered[1] < query * 1_000 {
                    assert!(pair.step(now + Duration::from_us(10_000)));
                }
                pair.run(now + Duration::from_us(200));
            }
            let cwnd = pair.ends[0].cwnd();
            assert_eq!(cwnd > first, grows, "{first} became {cwnd}");
            // Used, it grows: ten times as much in slow start.
            pair.ends[0].write(1_000_000);
            pair.drain(0);
            pair.run(pair.now + Duration::from_us(1_000));
            assert!(pair.ends[0].cwnd() >= 4 * first, "{first} is {}", pair.ends[0].cwnd());
        }
    }
}

/// A bottleneck with a queue of one bandwidth-delay product: the link stays busy, with and without SACK. (Without, a minimum
/// timeout of a few round trips would end each recovery of many losses, with most of what counts as in flight delivered long since:
/// half of that is more than the path holds, and the next slow start overshoots again.)
#[test]
fn a_drop_tail_bottleneck_is_filled() {
    for sack in [true, false] {
        let mut tcp = Params { sack, ..Params::rfc() };
        tcp.rto.min = Duration::from_us(20_000);
        let mut pair = clean(tcp, 1448);
        pair.delay = Duration::from_us(500);
        pair.rate = Some((BitsPerSec(1_000_000_000), 125_000));
        pair.ends[0].write(1 << 30);
        pair.keep_log = false;
        pair.run(Time(2 * S));
        let rate = pair.delivered[1] as f64 * 8.0 / 2.0 / 1e9 * 1500.0 / 1448.0;
        assert!(rate > 0.93, "sack {sack}: {rate:.3} of the link");
        assert!(pair.lost > 0, "sack {sack}: no loss");
    }
}

/// The rules of a controller that takes no notice of TCP are refused by name, not run silently.
#[test]
fn rdma_controllers_do_not_run_over_tcp() {
    use crate::cc::{Runs, dcqcn};
    assert_eq!(Control::Dcqcn(dcqcn::Params::default()).profile().runs, Runs::Rdma);
    assert_eq!(Control::NewReno(reno::Params::default()).profile().runs, Runs::Tcp);
    assert_eq!(Control::Hpcc(hpcc::Params::default()).profile().runs, Runs::Both);
}
