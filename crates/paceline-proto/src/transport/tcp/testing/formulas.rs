//! Throughput against the published formulas.
//!
//! The wire has no rate, so that the round-trip time is constant, and loses data segments only; the formulas' assumptions
//! otherwise. Growth counts bytes (RFC 3465), so delayed ACKs change nothing: the formulas' `b` is 1.

use crate::cc::{Params as Control, cubic, new_reno};
use crate::rng::{Purpose, Stream, unit};
use crate::transport::tcp::{Buffer, Params, Segment};
use crate::units::{Duration, S, Time};

use super::flow_context;
use super::pair::{Fate, Pair};

const MSS: u32 = 1000;
/// Seconds.
const RTT: f64 = 0.01;

/// Whether a loss takes what is sent after it in the same round trip: here, in the same instant.
#[derive(Clone, Copy, PartialEq)]
enum Losses {
    Single,
    RestOfRound,
}

/// Segments per round trip over `seconds`, with the loss of data segments decided by `lost`.
fn window(
    mut tcp: Params,
    control: Control,
    (rtt, seconds): (f64, u64),
    losses: Losses,
    mut lost: impl FnMut(u64) -> bool,
) -> f64 {
    let large = Buffer { initial: 1 << 29, max: 1 << 29, step: 0 };
    (tcp.send_buffer, tcp.receive_buffer) = (large.clone(), large);
    let (mut data, mut lost_at) = (0, 0);
    let fate = |_: usize, _: u64, s: &Segment| {
        if s.len == 0 {
            return Fate::Arrives;
        }
        let at = s.timestamps.map_or(0, |t| t.value);
        if losses == Losses::RestOfRound && at == lost_at {
            return Fate::Lost;
        }
        data += 1;
        if lost(data) {
            lost_at = at;
            return Fate::Lost;
        }
        Fate::Arrives
    };
    let mut pair = Pair::new(tcp, flow_context(MSS, control), Duration((rtt / 2.0 * S as f64) as u64), Box::new(fate));
    pair.keep_log = false;
    pair.ends[0].write(1 << 40);
    // The start is not part of the formulas.
    pair.run(Time(10 * S));
    let before = pair.ends[0].acknowledged();
    pair.run(Time((10 + seconds) * S));
    (pair.ends[0].acknowledged() - before) as f64 / f64::from(MSS) / seconds as f64 * rtt
}

fn reno() -> Control {
    Control::NewReno(new_reno::Params::default())
}

fn stack(sack: bool, timestamps: bool) -> Params {
    let mut tcp = Params { sack, timestamps, ..Params::rfc() };
    tcp.rto.min = Duration::from_us(200_000);
    tcp
}

fn bernoulli(p: f64) -> impl FnMut(u64) -> bool {
    let stream = Stream::new(1, Purpose::WireLoss, 7);
    move |n| unit(stream.at(n)) < p
}

/// Mathis et al. (CCR 1997), equation 3: one loss every 1/p segments gives `sqrt(3/2) / sqrt(p)` segments per round trip.
#[test]
fn periodic_loss_follows_mathis() {
    for sack in [true, false] {
        for every in [500, 2_000, 8_000] {
            let p = 1.0 / every as f64;
            let expected = (1.5 / p).sqrt();
            let measured = window(stack(sack, true), reno(), (RTT, 60), Losses::Single, |n| n % every == 0);
            let ratio = measured / expected;
            assert!((0.9..1.02).contains(&ratio), "sack {sack}, 1/{every}: {measured:.1}, Mathis {expected:.1}");
        }
    }
}

/// With independent losses the constant is 1.31 (Ott, Kemperman and Mathis 1996, stationary mean of the fluid model).
#[test]
fn independent_loss_follows_the_square_root() {
    for p in [0.001, 0.0002] {
        let expected = 1.31 / f64::sqrt(p);
        let measured = window(stack(true, true), reno(), (RTT, 150), Losses::Single, bernoulli(p));
        let ratio = measured / expected;
        assert!((0.9..1.1).contains(&ratio), "p {p}: {measured:.1}, formula {expected:.1}");
    }
}

/// Padhye et al. (SIGCOMM 1998), equation 30, with the timeouts that dominate at high loss. The model takes a loss to be the
/// loss of the rest of its round, and so does the wire.
#[test]
fn high_loss_follows_padhye() {
    for p in [0.005, 0.01, 0.03, 0.06, 0.1] {
        let t0 = 0.2;
        let rounds = RTT * f64::sqrt(2.0 * p / 3.0);
        let timeouts = t0 * (3.0 * f64::sqrt(3.0 * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
        let expected = RTT / (rounds + timeouts);
        // The model repairs all losses of a round at once, as SACK does. NewReno needs a round trip for each, which costs it up
        // to a third where windows are large.
        // Proportional rate reduction is careful after many losses in a round.
        for (sack, bounds) in [(true, 0.85..1.2), (false, 0.65..1.1)] {
            let measured = window(stack(sack, true), reno(), (RTT, 200), Losses::RestOfRound, bernoulli(p));
            let ratio = measured / expected;
            assert!(bounds.contains(&ratio), "sack {sack}, p {p}: {measured:.2}, Padhye {expected:.2}");
        }
    }
}

/// RFC 9438, section 5.2, equation 6: the average window in the cubic region is `(C (3 + beta) / (4 (1 - beta)))^(1/4) *
/// (RTT / p)^(3/4)` for periodic losses; at 100 ms and one loss in 40000 that is twice `Reno`'s.
#[test]
fn cubic_follows_its_response_function() {
    let (rtt, p) = (0.1, 1.0 / 40_000.0);
    let expected = f64::powf(0.4 * 3.7 / (4.0 * 0.3), 0.25) * f64::powf(rtt / p, 0.75);
    let control = Control::Cubic(cubic::Params::rfc9438());
    let measured = window(stack(true, true), control, (rtt, 200), Losses::Single, |n| n % 40_000 == 0);
    let ratio = measured / expected;
    assert!((0.9..1.1).contains(&ratio), "{measured:.1}, RFC 9438 {expected:.1}");
}
