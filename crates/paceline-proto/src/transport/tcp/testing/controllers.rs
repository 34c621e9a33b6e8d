//! The window controllers' rules on worked numbers.

use crate::cc::{
    CongestionControl, Controller, FlowContext, Loss, Params as Control, StreamAck, StreamStart, Timing, cubic,
    new_reno, vegas,
};
use crate::units::{Duration, S, Time};

use super::flow_context;

const MSS: u64 = 1000;

fn begin(params: Control, segments: u64) -> (FlowContext, Controller) {
    let ctx = flow_context(MSS as u32, params);
    let mut c = Controller::new(&ctx);
    c.start_stream(&ctx, StreamStart { now: Time(0), cwnd: segments * MSS, ssthresh: Some(2 * MSS) });
    (ctx, c)
}

fn cwnd(ctx: &FlowContext, c: &Controller) -> u64 {
    c.limits(ctx).cwnd
}

/// Acknowledges a window per `rtt`, segment by segment, for `rounds`.
fn rounds(ctx: &FlowContext, c: &mut Controller, from: Time, rtt: Duration, rounds: u64, una: &mut u64) -> Time {
    let mut now = from;
    for _ in 0..rounds {
        now = now + rtt;
        let (segments, nxt) = (cwnd(ctx, c) / MSS, *una + cwnd(ctx, c));
        for i in 0..segments {
            *una += MSS;
            let nxt = nxt + i * MSS;
            let ack = StreamAck {
                now,
                bytes: MSS,
                una: *una,
                // The round's first segment is the one that is timed.
                timed: (i == 0).then_some(Timing {
                    sent: nxt - *una + MSS,
                    rtt,
                    lowest: rtt,
                    tick: Duration::from_us(1),
                }),
                rtt: Some(rtt),
                srtt: rtt,
                marked: false,
                may_grow: true,
                resending: false,
            };
            c.on_stream_ack(ctx, &ack);
        }
    }
    now
}

/// RFC 9438: a loss at 100 segments leaves 70, K = cbrt(30 / 0.4) = 4.217 s later the window is back at 100.
#[test]
fn cubic_returns_to_its_maximum_after_k_seconds() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::rfc9438()), 100);
    c.on_loss(&ctx, Time(0), Loss::DupAcks, 100 * MSS);
    assert_eq!(cwnd(&ctx, &c), 70 * MSS);
    let rtt = Duration(S / 10);
    let mut una = 1;
    let now = rounds(&ctx, &mut c, Time(0), rtt, 20, &mut una);
    // The curve starts with the first ACK at 0.1 s: 1.9 s later it is at 100 - 0.4 * (4.217 - 1.9 - 0.1)^3 = 95.6.
    assert!((94_600..96_600).contains(&cwnd(&ctx, &c)), "{}", cwnd(&ctx, &c));
    let now = rounds(&ctx, &mut c, now, rtt, 23, &mut una);
    assert!((99_000..101_000).contains(&cwnd(&ctx, &c)), "{}", cwnd(&ctx, &c));
    // A loss below the last maximum: fast convergence remembers 85 % of it; the window is 70 % of the flight.
    rounds(&ctx, &mut c, now, rtt, 0, &mut una);
    c.on_loss(&ctx, now, Loss::DupAcks, 90 * MSS);
    assert_eq!(cwnd(&ctx, &c), 63 * MSS);
}

/// RFC 9438, section 4.3: at 1 ms round trips the friendly region rules: 3 * 0.3 / 1.7 = 0.529 segments per round trip.
#[test]
fn cubic_in_a_short_path_grows_by_half_a_segment() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::rfc9438()), 100);
    c.on_loss(&ctx, Time(0), Loss::DupAcks, 100 * MSS);
    let mut una = 1;
    rounds(&ctx, &mut c, Time(0), Duration(S / 1000), 20, &mut una);
    let grown = cwnd(&ctx, &c) - 70 * MSS;
    assert!((10_000..11_000).contains(&grown), "20 * 0.529 segments, not {grown}");
}

/// RFC 9438, section 4.3: alpha is 1 once `W_est` has reached the window before the last reduction, not what fast convergence has made of it:
/// 100, then 90 segments, of which 63 are left and 76.5 remembered. From there a round trip brings 0.529 up to 90 and 1 after that.
#[test]
fn cubic_grows_as_reno_only_above_the_last_window() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::rfc9438()), 100);
    c.on_loss(&ctx, Time(0), Loss::DupAcks, 100 * MSS);
    c.start_stream(&ctx, StreamStart { now: Time(0), cwnd: 90 * MSS, ssthresh: Some(2 * MSS) });
    c.on_loss(&ctx, Time(0), Loss::DupAcks, 90 * MSS);
    assert_eq!(cwnd(&ctx, &c), 63 * MSS);
    let (mut una, rtt) = (1, Duration(S / 10_000));
    let now = rounds(&ctx, &mut c, Time(0), rtt, 30, &mut una);
    let from = cwnd(&ctx, &c);
    assert!((78 * MSS..80 * MSS).contains(&from), "{from}");
    let now = rounds(&ctx, &mut c, now, rtt, 10, &mut una);
    let grown = cwnd(&ctx, &c) - from;
    assert!((5_000..5_500).contains(&grown), "10 * 0.529 segments between 76.5 and 90, not {grown}");
    let now = rounds(&ctx, &mut c, now, rtt, 20, &mut una);
    let from = cwnd(&ctx, &c);
    rounds(&ctx, &mut c, now, rtt, 10, &mut una);
    let grown = cwnd(&ctx, &c) - from;
    assert!(from > 90 * MSS && (9_500..10_500).contains(&grown), "10 segments above 90, not {grown}");
}

/// The 2011 form: the first loss halves ssthresh, recovery ends at 80 % of the maximum, then a third of a segment per
/// round trip (3 * 0.2 / 1.8). Later losses keep 80 %.
#[test]
fn cubic_of_2011_keeps_four_fifths() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::freebsd2011()), 100);
    let mut una = 1;
    let rtt = Duration(S / 1000);
    let now = rounds(&ctx, &mut c, Time(0), rtt, 1, &mut una);
    let before = cwnd(&ctx, &c);
    c.on_loss(&ctx, now, Loss::DupAcks, before);
    assert_eq!(c.ssthresh(), before / 2);
    c.on_recovered(&ctx, now, u64::MAX);
    assert_eq!(cwnd(&ctx, &c), before * 8 / 10);
    let now = rounds(&ctx, &mut c, now, rtt, 30, &mut una);
    let grown = cwnd(&ctx, &c) - before * 8 / 10;
    assert!((9_900..=10_100).contains(&grown), "30 / 3 segments, not {grown}");
    let before = cwnd(&ctx, &c);
    c.on_loss(&ctx, now, Loss::DupAcks, before);
    assert_eq!(cwnd(&ctx, &c), before * 8 / 10);
}

/// The reduction of a mark ends without a fast recovery: the kernel does not reckon then how long the curve takes to the maximum, so
/// that before the first loss the window is back at it at once. After a loss it takes the curve that was known before the mark.
#[test]
fn cubic_of_2011_takes_no_new_curve_from_a_mark() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::freebsd2011()), 100);
    let (mut una, rtt) = (1, Duration(S / 1000));
    let now = rounds(&ctx, &mut c, Time(0), rtt, 1, &mut una);
    let max = cwnd(&ctx, &c);
    c.on_ecn(&ctx, now, max);
    assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (max / 2, max / 2));
    // In slow start, as cwnd is ssthresh; then the curve, which is at its maximum.
    let now = rounds(&ctx, &mut c, now, rtt, 3, &mut una);
    assert!((max..max + MSS).contains(&cwnd(&ctx, &c)), "{} and not {max}", cwnd(&ctx, &c));
    c.on_loss(&ctx, now, Loss::DupAcks, max);
    c.on_recovered(&ctx, now, u64::MAX);
    let now = rounds(&ctx, &mut c, now, rtt, 30, &mut una);
    let before = cwnd(&ctx, &c);
    c.on_ecn(&ctx, now, before);
    assert_eq!(cwnd(&ctx, &c), before * 8 / 10);
    rounds(&ctx, &mut c, now, rtt, 30, &mut una);
    let grown = cwnd(&ctx, &c) - before * 8 / 10;
    assert!((9_000..=11_000).contains(&grown), "30 / 3 segments, not {grown}");
}

/// A timeout of the 2011 form halves ssthresh and keeps the maximum: slow start to half of the window, and from there at once to what
/// the line from 80 % of the maximum says by then. Where it begins anew the maximum is the window that timed out, less by fast convergence: a
/// connection of the kernel's kind jumps back to the window of before.
#[test]
fn cubic_of_2011_keeps_its_maximum_over_a_timeout() {
    for (form, share) in [(cubic::Form::Freebsd2011, 0.8), (cubic::Form::Freebsd2011Anew, 0.8 * 0.9 * 0.8)] {
        let (ctx, mut c) = begin(Control::Cubic(cubic::Params { form, ..cubic::Params::freebsd2011() }), 100);
        let (mut una, rtt) = (1, Duration(S / 1000));
        let now = rounds(&ctx, &mut c, Time(0), rtt, 1, &mut una);
        let max = cwnd(&ctx, &c);
        c.on_loss(&ctx, now, Loss::DupAcks, max);
        c.on_recovered(&ctx, now, u64::MAX);
        c.on_loss(&ctx, now, Loss::Timeout, max);
        let half = max * 8 / 10 / MSS / 2 * MSS;
        assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (MSS, half));
        // 1, 2, 4 and so on up to half of the 80 segments, the last step by one ACK at ssthresh.
        let now = rounds(&ctx, &mut c, now, rtt, 6, &mut una);
        assert!((half..=half + 3 * MSS).contains(&cwnd(&ctx, &c)), "{} after slow start to {half}", cwnd(&ctx, &c));
        rounds(&ctx, &mut c, now, rtt, 2, &mut una);
        let line = max as f64 * share + 8.0 / 3.0 * MSS as f64;
        assert!((cwnd(&ctx, &c) as f64 - line).abs() < MSS as f64, "{} and not {line}", cwnd(&ctx, &c));
    }
}

/// RFC 9438, section 4.3: a segment per round trip only above the window at which ssthresh was last set, as it was by the timeout. What a
/// user would miss: the share of a CUBIC flow after a timeout.
#[test]
fn cubic_grows_slowly_up_to_the_window_before_a_timeout() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::rfc9438()), 20);
    let (mut una, rtt) = (1, Duration(S / 1000));
    c.on_loss(&ctx, Time(0), Loss::Timeout, 20 * MSS);
    assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (MSS, 14 * MSS));
    // 1, 2, 4, 8, 14; then 9/17 of a segment per round trip.
    let now = rounds(&ctx, &mut c, Time(0), rtt, 5, &mut una);
    let before = cwnd(&ctx, &c);
    rounds(&ctx, &mut c, now, rtt, 4, &mut una);
    let grown = cwnd(&ctx, &c) - before;
    assert!((MSS..3 * MSS).contains(&grown), "from {before} by {grown}");
}

/// RFC 9438, section 4.9: a timeout that proves needless leaves the window on its curve, as if there had been none. What a user would miss: the
/// share of a flow after a delay that was taken for a loss.
#[test]
fn cubic_takes_up_its_curve_after_a_needless_timeout() {
    let rtt = Duration(S / 10);
    let after = |timeout: bool| {
        let (ctx, mut c) = begin(Control::Cubic(cubic::Params::rfc9438()), 100);
        c.on_loss(&ctx, Time(0), Loss::DupAcks, 100 * MSS);
        let mut una = 1;
        let now = rounds(&ctx, &mut c, Time(0), rtt, 8, &mut una);
        if timeout {
            c.on_loss(&ctx, now, Loss::Timeout, 80 * MSS);
            assert_eq!(cwnd(&ctx, &c), MSS);
            c.undo_timeout();
        }
        rounds(&ctx, &mut c, now, rtt, 12, &mut una);
        cwnd(&ctx, &c)
    };
    assert_eq!(after(true), after(false));
}

/// The 2011 form before its first loss, with an inherited ssthresh: the window comes down to the line that began with the
/// connection at 80 % of the initial window, and follows it.
#[test]
fn cubic_of_2011_begins_on_its_line() {
    let (ctx, mut c) = begin(Control::Cubic(cubic::Params::freebsd2011()), 3);
    c.start_stream(&ctx, StreamStart { now: Time(0), cwnd: 3 * MSS, ssthresh: Some(40 * MSS) });
    let (mut una, rtt) = (1, Duration(S / 1000));
    let now = rounds(&ctx, &mut c, Time(0), rtt, 4, &mut una);
    assert!(cwnd(&ctx, &c) > 40 * MSS, "{}", cwnd(&ctx, &c));
    rounds(&ctx, &mut c, now, rtt, 1, &mut una);
    assert!(cwnd(&ctx, &c) < 12 * MSS, "{}", cwnd(&ctx, &c));
}

/// Nine segments at a base RTT of 100 us: none is queued, one more. Ten at 200 us: five of them are queued: above beta = 3, one
/// less. At 125 us two: held. At 105 us half a one: below alpha = 1, one more.
#[test]
fn vegas_keeps_a_few_segments_queued() {
    let us = Duration::from_us;
    for (gamma, coarse) in [(None, false), (None, true), (Some(1), false)] {
        let p = vegas::Params { alpha: 1, beta: 3, gamma, coarse, ..vegas::Params::default() };
        let (ctx, mut c) = begin(Control::Vegas(p), 9);
        let mut una = 1;
        let mut round = |c: &mut Controller, at: u64, rtt| {
            rounds(&ctx, c, Time(at * 1_000_000_000), rtt, 1, &mut una);
            cwnd(&ctx, c) / MSS
        };
        assert_eq!(round(&mut c, 1, us(100)), 10);
        assert_eq!(round(&mut c, 2, us(200)), 9);
        assert_eq!(round(&mut c, 3, us(125)), 9, "9 * 0.2 = 1.8 queued");
        assert_eq!(round(&mut c, 4, us(105)), 10);
    }
}

/// RFC 5681, section 3.1: a timeout halves once; the same segment's second timeout leaves ssthresh alone. FreeBSD halves what is left.
#[test]
fn a_second_timeout_keeps_ssthresh() {
    let (ctx, mut c) = begin(Control::NewReno(new_reno::Params::default()), 20);
    c.on_loss(&ctx, Time(0), Loss::Timeout, 20 * MSS);
    assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (MSS, 10 * MSS));
    c.on_loss(&ctx, Time(1), Loss::Timeout, 20 * MSS);
    assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (MSS, 10 * MSS));
    c.undo_timeout();
    assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (20 * MSS, 2 * MSS));
    let whole = new_reno::Params { halving: new_reno::Halving::WindowInSegments, ..new_reno::Params::default() };
    for params in [Control::NewReno(whole), Control::Cubic(cubic::Params::freebsd2011())] {
        let (ctx, mut c) = begin(params, 20);
        c.on_loss(&ctx, Time(0), Loss::Timeout, 20 * MSS);
        assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (MSS, 10 * MSS));
        c.on_loss(&ctx, Time(1), Loss::Timeout, 20 * MSS);
        assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (MSS, 2 * MSS));
    }
}

/// At ssthresh FreeBSD's controllers still are in slow start, by the RFC's text free to choose; here the others are not. What a user
/// would see: a segment or two more after every reduction.
#[test]
fn freebsd_starts_slowly_up_to_ssthresh_and_with_it() {
    use new_reno::Halving::{Flight, WindowInSegments};
    let reno = |halving| Control::NewReno(new_reno::Params { halving, ..new_reno::Params::default() });
    let vegas = |halving| Control::Vegas(vegas::Params { halving, ..vegas::Params::default() });
    for (params, inclusive) in [
        (reno(Flight), false),
        (reno(WindowInSegments), true),
        (Control::Cubic(cubic::Params::rfc9438()), false),
        (Control::Cubic(cubic::Params::freebsd2011()), true),
        (vegas(Flight), false),
        (vegas(WindowInSegments), true),
        (Control::Vegas(vegas::Params { gamma: Some(1), ..vegas::Params::default() }), false),
    ] {
        let (ctx, mut c) = begin(params.clone(), 20);
        c.start_stream(&ctx, StreamStart { now: Time(0), cwnd: 20 * MSS, ssthresh: Some(20 * MSS) });
        let ack = StreamAck {
            now: Time(S),
            bytes: MSS,
            una: 2 * MSS,
            timed: None,
            rtt: None,
            srtt: Duration(S / 1000),
            marked: false,
            may_grow: true,
            resending: false,
        };
        c.on_stream_ack(&ctx, &ack);
        assert_eq!(cwnd(&ctx, &c) == 21 * MSS, inclusive, "{params:?}");
        // Above it neither is.
        let above = cwnd(&ctx, &c).max(21 * MSS);
        c.start_stream(&ctx, StreamStart { now: Time(0), cwnd: above, ssthresh: Some(20 * MSS) });
        c.on_stream_ack(&ctx, &ack);
        assert!(cwnd(&ctx, &c) < above + MSS, "{params:?}");
    }
}

/// What a mark leaves. RFC 9438, section 4.6: of 15 segments with 10 in flight 7 (FreeBSD: of the window, the first time half). RFC
/// 3168, section 6.1.2: half the window, down to one segment, with ssthresh no lower than two; FreeBSD's window is never less than
/// two.
#[test]
fn what_a_mark_leaves() {
    let whole = new_reno::Params { halving: new_reno::Halving::WindowInSegments, ..new_reno::Params::default() };
    for (params, of_15, of_1) in [
        (Control::Cubic(cubic::Params::rfc9438()), 7_000, 1_000),
        (Control::Cubic(cubic::Params::freebsd2011()), 7_500, 2_000),
        (Control::NewReno(new_reno::Params::default()), 7_500, 1_000),
        (Control::NewReno(whole), 7_000, 2_000),
    ] {
        let (ctx, mut c) = begin(params.clone(), 15);
        c.on_ecn(&ctx, Time(0), 10 * MSS);
        assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (of_15, of_15), "{params:?}");
        let (ctx, mut c) = begin(params.clone(), 1);
        c.on_ecn(&ctx, Time(0), MSS);
        assert_eq!((cwnd(&ctx, &c), c.ssthresh()), (of_1, 2_000), "{params:?}");
    }
}

/// FreeBSD halves the window in whole segments, RFC 5681 the bytes in flight.
#[test]
fn what_is_halved() {
    let whole = new_reno::Params { halving: new_reno::Halving::WindowInSegments, ..new_reno::Params::default() };
    for (params, left) in [(new_reno::Params::default(), 6_500), (whole, 7_000)] {
        let (ctx, mut c) = begin(Control::NewReno(params), 15);
        c.on_loss(&ctx, Time(0), Loss::DupAcks, 13 * MSS);
        assert_eq!(cwnd(&ctx, &c), left);
    }
}

/// The state of RDMA flows, looked at with every packet, did not grow for TCP's controllers.
#[test]
fn controllers_stay_small() {
    assert!(size_of::<Controller>() <= 80, "{}", size_of::<Controller>());
}
