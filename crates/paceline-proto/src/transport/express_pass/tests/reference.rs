//! Against runs of the authors' ns-2 simulator (kaist-ina/ns2-xpass, commit f4e38bc): true completion times from packet
//! traces, one random seed each. Facts, sections 1.9 and 9.1; settings: the script's, timers 100 us.

use super::super::{Config, Params};
use super::network::{G100, Net, US1};
use crate::units::US;

const G10: u64 = 10_000_000_000;

/// What a run measured.
struct Run {
    /// Mean and largest completion time, us.
    fct_us: (f64, f64),
    /// Credits sent and dropped, where noted.
    credits: Option<(f64, f64)>,
}

/// 1 MB alone, 100 Gb/s, links of 1 us.
const STAR_1_MB: Run = Run { fct_us: (106.166, 106.166), credits: Some((707.0, 0.0)) };
/// 20 MB each over a dumbbell of 10 Gb/s, links of 10 us.
const DUMBBELL: Run = Run { fct_us: (35_601.185, 35_660.651), credits: Some((29_473.0, 2045.0)) };
/// The same, the second flow 5 ms later.
const STAGGERED: Run = Run { fct_us: (30_181.0, 30_935.0), credits: None };
/// Senders, bytes each, delay of links in ps, at 100 Gb/s.
const INCASTS: [(usize, u64, u64, Run); 5] = [
    (16, 64_000, US1, Run { fct_us: (103.745, 129.094), credits: Some((1615.0, 859.0)) }),
    (20, 400_000, US1, Run { fct_us: (678.750, 757.008), credits: Some((10_060.0, 4548.0)) }),
    (32, 64_000, US1 / 5, Run { fct_us: (174.9, 201.8), credits: None }),
    (64, 64_000, US1 / 5, Run { fct_us: (341.5, 388.6), credits: None }),
    (16, 1_000_000, US1, Run { fct_us: (1366.0, 1520.0), credits: None }),
];

/// Means of several runs against the reference's one.
fn check(name: &str, nets: &[Net], run: &Run, within: f64) {
    let mean = |of: &dyn Fn(&Net) -> f64| nets.iter().map(of).sum::<f64>() / nets.len() as f64;
    let near = |what: &str, value: f64, reference: f64, within: f64| {
        assert!((value - reference).abs() <= within * reference, "{name}: {what} {value:.1}, in ns-2 {reference}");
    };
    near("mean FCT (us)", mean(&|n| n.fct_us().0), run.fct_us.0, within);
    near("largest FCT (us)", mean(&|n| n.fct_us().1), run.fct_us.1, within);
    if let Some((sent, dropped)) = run.credits {
        near("credits", mean(&|n| n.flows.iter().map(|f| f64::from(f.rx.credits())).sum()), sent, within);
        near("credits dropped", mean(&|n| f64::from(n.credit_drops)), dropped, within);
    }
    for net in nets {
        net.assert_complete();
        assert_eq!(net.scheduled_drops, 0, "{name}: ExpressPass loses no data");
    }
}

#[test]
fn one_flow_takes_as_long() {
    let mut net = Net::star(Params::default(), 1, G100, US1);
    net.add_flow(1, 0, 1_000_000, 0);
    net.run();
    check("1 MB alone", &[net], &STAR_1_MB, 0.01);
}

/// Single runs scatter by several percent (facts, section 9.1), so the mean of four is compared.
#[test]
fn incasts_take_as_long() {
    for (n, bytes, delay, run) in INCASTS {
        let nets: Vec<_> = (1..=4)
            .map(|seed| {
                let mut net = Net::star(Params::default(), n, G100, delay).with_buffer(200_000);
                net.seed = seed;
                (1..=n).for_each(|src| net.add_flow(src, 0, bytes, 0));
                net.run();
                net
            })
            .collect();
        check(&format!("{n} x {bytes} B"), &nets, &run, 0.1);
    }
}

/// Two flows of 20 MB over 10 Gb/s, 60 us round trip: both at about half from the second round trip on, and together at
/// 0.900 of line rate (facts, sections 0 and 7.2).
#[test]
fn two_flows_share_a_dumbbell() {
    let mut net = Net::dumbbell(Params::default(), G10, 10 * US).with_buffer(384_500);
    net.add_flow(0, 2, 20_000_000, 0);
    net.add_flow(1, 3, 20_000_000, 0);
    net.run();
    let nets = [net];
    check("dumbbell", &nets, &DUMBBELL, 0.04);
    let [net] = nets;
    let gbps = |f: usize, bins: std::ops::Range<usize>| {
        let n = bins.len() as f64;
        net.flows[f].bins[bins].iter().map(|b| f64::from(*b)).sum::<f64>() * 1460.0 * 8.0 / (n * 100_000.0)
    };
    for f in 0..2 {
        // The reference's first bins: 4.44 / 4.56, 4.32 / 4.67, 5.26 / 3.74, 4.56 / 4.56.
        assert!((gbps(f, 1..5) - 4.5).abs() < 0.5, "{}", gbps(f, 1..5));
        assert!((gbps(f, 10..340) - 4.49).abs() < 0.45, "{}", gbps(f, 10..340));
    }
    let both = gbps(0, 10..340) + gbps(1, 10..340);
    let ideal = 10.0 * 1538.0 / 1622.0 * 1460.0 / 1538.0;
    assert!((both / ideal - 1.0).abs() < 0.01, "{both} of {ideal} Gb/s");
}

/// A flow that joins 5 ms later takes its share from one that has everything: within a millisecond it has about 4 Gb/s
/// (facts, section 7.2; 2.8 to 3.0 within two bins there).
#[test]
fn a_second_flow_gets_its_share() {
    let mut net = Net::dumbbell(Params::default(), G10, 10 * US).with_buffer(384_500);
    net.add_flow(0, 2, 20_000_000, 0);
    net.add_flow(1, 3, 20_000_000, 5_000 * US);
    net.run();
    let gbps = |f: usize, bin: usize| f64::from(net.flows[f].bins[bin]) * 1460.0 * 8.0 / 100_000.0;
    assert!((gbps(0, 49) - 9.0).abs() < 0.15, "{}", gbps(0, 49));
    assert!((2.0..5.0).contains(&gbps(1, 51)), "{}", gbps(1, 51));
    let later = (60..70).map(|b| gbps(1, b)).sum::<f64>() / 10.0;
    assert!((3.5..5.0).contains(&later), "{later}");
    check("dumbbell, 5 ms apart", &[net], &STAGGERED, 0.04);
}

/// Facts, section 7.1: a flow alone reaches the credits' rate, no credit is lost, nothing queues.
#[test]
fn a_flow_alone_gets_the_credits_rate() {
    let mut net = Net::star(Params::default(), 1, G10, 10 * US);
    net.add_flow(1, 0, 20_000_000, 0);
    net.run();
    let full: u32 = net.flows[0].bins[20..150].iter().sum();
    let goodput = f64::from(full) * 1460.0 * 8.0 / 13e6 / 10.0;
    assert!((goodput / 0.9001 - 1.0).abs() < 0.005, "{goodput}");
    assert!(net.largest_data_queue <= 2 * 1538);
    assert_eq!(net.scheduled_drops, 0);
    let r =
        net.flows[0].rx.rate().rate() / Config::new(Params::default(), crate::units::BitsPerSec(G10)).unwrap().max_rate;
    assert!(r > 0.95, "{r}");
}
