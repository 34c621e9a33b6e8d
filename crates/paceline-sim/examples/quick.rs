//! Throw-away bench.
#![allow(clippy::print_stdout, missing_docs, reason = "temporary")]
use paceline_proto::cc::{Params, hpcc};
use paceline_proto::units::*;
use paceline_sim::engine::sequential::Sequential;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::graph::Graph;
use paceline_sim::scenario::*;
use paceline_sim::workload::*;
use std::sync::Arc;
fn main() {
    let load: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let k: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    let ms: u64 = std::env::args().nth(3).unwrap().parse().unwrap();
    let seq = std::env::args().nth(4).is_some_and(|a| a == "seq");
    let t = if k == 0 {
        paceline_sim::topology::hpcc_fat320().unwrap()
    } else {
        paceline_sim::topology::fat_tree(
            k,
            BitsPerSec(100_000_000_000),
            BitsPerSec(100_000_000_000),
            Duration::from_us(1),
            None,
        )
        .unwrap()
    };
    let graph = Arc::new(Graph::new(&t));
    let hosts: Vec<u32> = graph.hosts().collect();
    let ecn = |r: u64, f: u64| EcnThresholds {
        rate: BitsPerSec(r),
        k_min: Bytes(400_000 * f),
        k_max: Bytes(1_600_000 * f),
        p_max: 0.2,
    };
    let scenario = Scenario {
        seed: 1,
        graph: graph.clone(),
        framing: Framing::HPCC,
        switch: SwitchConfig {
            buffer: Bytes(32 << 20),
            model: BufferModel::Shared,
            pfc: Some(Pfc {
                reserve: Bytes(4096),
                headroom: Headroom::RateDelay(3),
                alpha_q16: 8192,
                alpha_scales: true,
                resume_offset: Bytes(3072),
            }),
            egress_alpha_q16: 65536,
            ecn: Some(Ecn { by_rate: vec![ecn(100_000_000_000, 1), ecn(400_000_000_000, 4)], per_port: false }),
        },
        host: HostConfig {
            ack_priority: false,
            nack_interval: Duration::from_us(500),
            rto: Some(Rto { initial: Duration::from_us(1000), tries: 7 }),
            own_base_rtt: false,
            base_rtt: None,
        },
        routing: RoutingConfig { choice: PathChoice::FlowHash, order: NextHopOrder::Port, salt: 0 },
        schemes: vec![Scheme {
            name: "hpcc".into(),
            params: Params::Hpcc(hpcc::Params { eta: 0.99, ..Default::default() }),
            window: Window::Bdp,
        }],
        groups: vec!["a".into()],
        int_multiple: 0,
        stop: Stop::Completed,
        stall: Duration::from_us(50_000),
        engine: EngineChoice::Auto,
        records: RecordConfig {
            queues: if std::env::args().nth(5).is_none() { QueueRecords::Port } else { QueueRecords::Off },
            pfc_log: false,
        },
        quirks: Quirks::default(),
    };
    let cdf = paceline_sim::workload::builtin::builtin("websearch@hpcc").unwrap().cdf;
    let rate = load * 1e11 / 8.0 / cdf.mean();
    let source = Box::new(
        paceline_sim::workload::poisson::Poisson::new(&paceline_sim::workload::poisson::PoissonConfig {
            seed: 1,
            workload: 0,
            sources: hosts.clone(),
            destinations: hosts,
            flows_per_second: rate,
            sizes: SizeLaw::Drawn(Arc::new(cdf)),
            begin: Time(0),
            end: Time(ms * MS),
            count: None,
            flow: FlowDefaults::default(),
        })
        .unwrap(),
    );
    #[allow(clippy::disallowed_methods)]
    let t0 = std::time::Instant::now();
    let s = Arc::new(scenario);
    let (hops, c, el, w);
    if seq {
        let mut e = Sequential::new(s, source, None).unwrap();
        e.net_mut().record_classes(&[3]);
        let t1 = std::time::Instant::now();
        let _ = e.run(&mut ()).unwrap();
        el = t1.elapsed();
        hops = e.net().hops();
        c = *e.net().counters();
        w = (0, 0);
    } else {
        let mut e = Windowed::new(s, source).unwrap();
        e.net_mut().record_classes(&[3]);
        let t1 = std::time::Instant::now();
        let _ = e.run(&mut ()).unwrap();
        el = t1.elapsed();
        hops = e.net().hops();
        c = *e.net().counters();
        w = e.windows();
    }
    let s = el.as_secs_f64();
    let rss = std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap()
        .to_string();
    println!(
        "{s:.3}s setup {:.3} hops {hops:?} s/Mdh {:.4} ns/hop {:.1} flows {} ties {} pauses {} windows {w:?} {rss}",
        (t0.elapsed() - el).as_secs_f64(),
        s / hops.0 as f64 * 1e6,
        s * 1e9 / (hops.0 + hops.1) as f64,
        c.finished,
        c.ties,
        c.pause_frames
    );
}
