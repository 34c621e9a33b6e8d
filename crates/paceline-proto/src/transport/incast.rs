//! Incast over one switch: what the schemes and their open questions come to, as a table.
//!
//! The set-up is the Aeolus paper's figure 17 without its network: N hosts send 64,000 bytes each to one at the same time,
//! 100 Gb/s, a base RTT of 3.4 us, 500 KB of buffer. `UPDATE=1` renews the table.

use std::fmt::Write;

use super::homa::{self, cutoffs::Cutoffs};
use super::message::{Counters, Endpoint, Sizes};
use super::ndp;
use super::star::{Fate, Queues, Star};
use super::unscheduled::RepairOrder;
use crate::port::selective_drop::{Accounting, Scope, SelectiveDrop};
use crate::port::trimming::TrimmingPort;
use crate::rng::hash3;
use crate::units::{BitsPerSec, Duration, Time};

const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
const RTT_BYTES: u64 = 42_800;
const BUFFER: u32 = 500 * 1024;
/// Time of one message alone: 44 packets, the last of them short, one of them stored and forwarded, two links of 0.8 us.
const ALONE: f64 = 7.13e6;

/// What came of an incast.
#[derive(Clone, Copy, Debug)]
struct Row {
    mean: f64,
    p99: f64,
    unscheduled_drops: u32,
    scheduled_drops: u32,
    control_drops: u32,
    timeouts: u64,
    duplicates: u64,
}

/// Three runs with different ties, pooled.
fn incast<E: Endpoint>(n: usize, host: impl Fn(u64) -> E, queues: Queues) -> Row {
    let mut fcts = Vec::new();
    let mut row = Row {
        mean: 0.0,
        p99: 0.0,
        unscheduled_drops: 0,
        scheduled_drops: 0,
        control_drops: 0,
        timeouts: 0,
        duplicates: 0,
    };
    for seed in 0..3 {
        let hosts = (0..=n as u64).map(&host).collect();
        let mut net = Star::new(hosts, RATE, Duration::from_ns(800), 20, queues);
        for src in 0..n {
            net.send(Time(0), src, n, 64_000);
        }
        let mut count = 0;
        net.run(Time(1_000_000_000_000), |_| {
            count += 1;
            Fate::Delay(Duration(hash3(seed, count, 0) % 60_000))
        });
        net.assert_complete();
        fcts.extend(net.fcts());
        let total = |f: fn(&Counters) -> u64| net.hosts.iter().map(|h| f(h.counters())).sum::<u64>();
        row.unscheduled_drops += net.seen.unscheduled_drops;
        row.scheduled_drops += net.seen.scheduled_drops;
        row.control_drops += net.seen.control_drops;
        row.timeouts += total(|c| c.timeouts);
        row.duplicates += total(|c| c.duplicates);
    }
    fcts.sort_unstable();
    row.mean = fcts.iter().sum::<u64>() as f64 / fcts.len() as f64 / ALONE;
    row.p99 = fcts[fcts.len() * 99 / 100] as f64 / ALONE;
    row
}

fn ndp(n: usize, change: impl Fn(&mut ndp::Params), port: TrimmingPort) -> Row {
    let mut params = ndp::Params::ndp(RATE, RTT_BYTES, Sizes::ETHERNET, 20);
    change(&mut params);
    incast(n, |key| ndp::Host::new(params, key), Queues::Trimming(port, 64))
}

fn ndp_aeolus(n: usize, change: impl Fn(&mut ndp::Params), rule: SelectiveDrop) -> Row {
    let mut params = ndp::Params::aeolus(RATE, RTT_BYTES, Sizes::ETHERNET, 20);
    change(&mut params);
    incast(n, |key| ndp::Host::new(params, key), Queues::Selective(rule))
}

fn homa(n: usize, change: impl Fn(&mut homa::Params), buffer: u32) -> Row {
    let mut params = homa::Params::homa(RATE, RTT_BYTES, Sizes::ETHERNET, 20, Cutoffs::ONE);
    (params.resend_timeout, params.sender_timeout) = (micros(40), micros(40));
    change(&mut params);
    incast(n, |_| homa::Host::new(params), Queues::Priorities(buffer))
}

fn homa_aeolus(n: usize, change: impl Fn(&mut homa::Params), rule: SelectiveDrop) -> Row {
    let mut params = homa::Params::aeolus(RATE, RTT_BYTES, Sizes::ETHERNET, 20, Cutoffs::ONE);
    change(&mut params);
    incast(n, |_| homa::Host::new(params), Queues::Selective(rule))
}

fn micros(us: u64) -> Duration {
    Duration::from_us(us)
}

#[test]
fn variants_of_an_incast() {
    let port = TrimmingPort::paper(1518);
    let rule = SelectiveDrop { limit: BUFFER, ..SelectiveDrop::default() };
    let mut table = String::from(
        "Incast of 64,000 bytes each over one 100 Gb/s switch, base RTT 3.4 us, 500 KB: slowdown against 7.13 us,\n\
         three runs pooled; dropped unscheduled (U), scheduled (S) and control (C) packets, timeouts (T), duplicates (D).\n\n",
    );
    let mut add = |name: &str, n: usize, row: Row| {
        let Row { mean, p99, unscheduled_drops: u, scheduled_drops: s, control_drops: c, timeouts: t, duplicates: d } =
            row;
        let _ = writeln!(table, "{name:<58} {n:>4} {mean:>7.1} {p99:>7.1} {u:>6} {s:>6} {c:>5} {t:>6} {d:>6}");
        row
    };
    for n in [32, 128] {
        let a = add("NDP", n, ndp(n, |_| (), port));
        let b = add("NDP + Aeolus", n, ndp_aeolus(n, |_| (), rule));
        let c = add("Homa, RESEND 40 us", n, homa(n, |_| (), BUFFER));
        let d = add("Homa + Aeolus, RESEND 10 ms", n, homa_aeolus(n, |p| p.cap_outstanding = false, rule));
        let e = add("Homa + Aeolus, RESEND 10 ms, grants capped", n, homa_aeolus(n, |_| (), rule));
        assert!((a.mean / b.mean - 1.0).abs() < 0.15 && (a.p99 / b.p99 - 1.0).abs() < 0.15, "{n}: {a:?} {b:?}");
        assert!(c.mean / d.mean >= 1.5 && c.p99 / d.p99 >= 1.2, "{n}: {c:?} {d:?}");
        assert!(c.p99 / e.p99 >= 1.2, "{n}: {c:?} {e:?}");
        assert_eq!((b.scheduled_drops, d.scheduled_drops, e.scheduled_drops), (0, 0, 0), "{n}");
        assert!(n < 128 || c.scheduled_drops > 0, "{c:?}");
    }
    let n = 32;
    let silent = TrimmingPort { return_to_sender: false, ..port };
    let strict = TrimmingPort { headers_per_data: 100_000, ..port };
    let roomy = TrimmingPort { header_limit: 485_000, return_to_sender: false, ..port };
    add("NDP, no return to sender", n, ndp(n, |_| (), silent));
    add("NDP, no return to sender, 485 KB of headers", n, ndp(n, |_| (), roomy));
    add("NDP, headers in strict priority", n, ndp(n, |_| (), strict));
    add("NDP, first window of 28", n, ndp(n, |p| p.burst.packets = 28, port));
    add("NDP, returned packets wait for pulls", n, ndp(n, |p| p.returned_ack_share = 101, port));
    add("NDP + Aeolus, no pulls for missing", n, ndp_aeolus(n, |p| p.pull_missing = false, rule));
    add("NDP + Aeolus, idle pulls thrown away", n, ndp_aeolus(n, |p| p.keep_idle_pulls = false, rule));
    add("NDP + Aeolus, open packets sent again", n, ndp_aeolus(n, |p| p.burst.resend_open = true, rule));
    add("NDP + Aeolus, verdict after 5 us", n, ndp_aeolus(n, |p| p.verdict_delay = micros(5), rule));
    add("NDP + Aeolus, new data first", n, ndp_aeolus(n, |p| p.burst.order = RepairOrder::NewFirst, rule));
    for k in [1536, 30_720] {
        let rule = SelectiveDrop { threshold: k, ..rule };
        add(&format!("NDP + Aeolus, K = {k} bytes"), n, ndp_aeolus(n, |_| (), rule));
    }
    let after = SelectiveDrop { accounting: Accounting::After, ..rule };
    let queue = SelectiveDrop { scope: Scope::Queue, ..rule };
    add("NDP + Aeolus, q + size > K", n, ndp_aeolus(n, |_| (), after));
    for (name, wait) in [("100 us", 100), ("1 ms", 1000), ("10 ms", 10_000)] {
        let change = |p: &mut homa::Params| (p.resend_timeout, p.sender_timeout) = (micros(wait), micros(wait));
        add(&format!("Homa, RESEND {name}"), n, homa(n, change, BUFFER));
    }
    add("Homa, one packet per RESEND", n, homa(n, |p| p.resend_packets = 1, BUFFER));
    add("Homa, a RESEND per message at a time", n, homa(n, |p| p.one_resend_per_peer = false, BUFFER));
    add("Homa, overcommitment 2", n, homa(n, |p| p.overcommitment = 2, BUFFER));
    add("Homa, tail boost", n, homa(n, |p| p.tail_boost = true, BUFFER));
    add("Homa, infinite buffer", n, homa(n, |_| (), 1 << 30));
    let lowest = |p: &mut homa::Params| p.unscheduled_priority = homa::params::UnscheduledPriority::Lowest;
    add("Homa + Aeolus, U in the lowest priority", n, homa_aeolus(n, lowest, rule));
    add("Homa + Aeolus, K per queue", n, homa_aeolus(n, |_| (), queue));
    add("Homa + Aeolus, RESEND 40 us", n, homa_aeolus(n, |p| p.resend_timeout = micros(40), rule));
    add("Homa + Aeolus, ACKs condemn earlier packets", n, homa_aeolus(n, |p| p.burst.ordered_path = true, rule));

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/transport/incast.txt");
    if std::env::var_os("UPDATE").is_some() {
        assert!(std::fs::write(path, &table).is_ok());
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(stored, table, "the table has changed; UPDATE=1 renews it");
}
