//! A scenario written as files of the HPCC reference simulator says the same again when these are read: a reviewer can run it there.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;

use crate::common::run_source;
use paceline_sim::InputError;
use paceline_sim::assemble::{Assembled, assemble};
use paceline_sim::engine::Ending;
use paceline_sim::hpcc::{Export, Options, Prepared, export};
use paceline_sim::hpcc_format::config::HpccConfig;
use paceline_sim::record::FlowRecord;
use paceline_sim::scenario::{EngineChoice, Quirks};
use paceline_sim::spec::{Resolved, parse};

/// Two racks of three; all the rest may be changed.
fn spec(more: &[&str]) -> Resolved {
    let text = "schema = 1\nname = 'x'\n[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\n\
        fabric_rate = '400Gbps'\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'all_to_all'\nscheme = 's'\nsizes = '60KB'\n";
    let more: Vec<String> = more.iter().map(|m| (*m).to_string()).collect();
    parse(text, "x.toml", &more).unwrap_or_else(|e| panic!("{e}"))
}

fn exported(more: &[&str]) -> Result<Export, InputError> {
    export(&spec(more))
}

/// The files read again, without quirks.
fn read_again(name: &str, export: &Export) -> (Prepared, HpccConfig) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("export-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    export.write(Export::NAMES.map(|name| folder.join(name))).unwrap();
    let config = std::fs::read_to_string(folder.join("config.txt")).unwrap();
    let (config, warnings) = HpccConfig::parse(&config, "config.txt", false).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let options = Options { quirks: Quirks::default(), ..Options::default() };
    let prepared =
        Prepared::read_in(&folder, Path::new("config.txt"), options).unwrap_or_else(|e| panic!("{name}: {e}"));
    // No key is written that does nothing, but for those that the reference cannot do without.
    let idle = prepared.warnings.iter().filter_map(|w| w.strip_prefix("no effect: "));
    let keys = idle.flat_map(|w| w.split(':').next().unwrap().split(", "));
    let needed = ["RATE_AI", "RATE_HAI", "KMAX_MAP", "KMIN_MAP", "PMAX_MAP"];
    assert!(keys.into_iter().all(|key| needed.contains(&key)), "{:?}", prepared.warnings);
    (prepared, config)
}

/// What is nobody's but the flow's: ends, size and times, counted from its own start.
fn told(flows: &[FlowRecord]) -> Vec<(u32, u32, u64, u64)> {
    flows.iter().map(|f| (f.src, f.dst, f.bytes, f.fct_sender)).collect()
}

const SCHEMES: [(&str, &[&str]); 6] = [
    ("hpcc", &["schemes.s.eta=0.9", "schemes.s.fast_reaction=false"]),
    ("pint", &["schemes.s.cc=hpcc_pint", "schemes.s.log_base=1.02"]),
    ("dcqcn", &["schemes.s.cc=dcqcn", "schemes.s.cnp_interval=0us"]),
    (
        "no-window",
        &["schemes.s.cc=dcqcn", "schemes.s.preset=paper", "schemes.s.cnp_interval=0us", "schemes.s.window=off"],
    ),
    ("timely", &["schemes.s.cc=timely"]),
    ("dctcp", &["schemes.s.cc=dctcp", "switch.ecn.p_max=1.0"]),
];

/// Whatever the scheme: every flow takes as long by the files as in the scenario, to the picosecond, and all is told that is not in them.
#[test]
fn flows_take_as_long_by_the_files() {
    for (name, scheme) in SCHEMES {
        for pauses in [false, true] {
            let buffer = ["switch.buffer=1MiB", "switch.ecn.k_min=20KB", "switch.ecn.k_max=80KB"];
            // Starts at odd instants: which of two packets of one instant goes first depends on the instant.
            let flows = "workloads.0={ kind = 'poisson', scheme = 's', load = { value = 2.0 }, sizes = '200KB', max_flows = 30 }";
            let mut more = vec!["host.rto=off", "routing.order=descending_id", flows];
            more.extend(if pauses { &buffer[..] } else { &[] });
            more.extend(scheme);
            let export = exported(&more).unwrap_or_else(|e| panic!("{name}: {e}"));
            let [starts, stop] = &export.notices[..] else { panic!("{name}: {:?}", export.notices) };
            assert!(starts.starts_with("30 of 30 flows start") && stop.starts_with("run.stop"), "{starts} {stop}");
            let (prepared, _) = read_again(name, &export);
            let Assembled { scenario, source, .. } = assemble(&spec(&more)).unwrap();
            let mine = run_source(&scenario, source, EngineChoice::Sequential);
            let theirs = run_source(&Arc::new(prepared.scenario), Box::new(prepared.flows), EngineChoice::Sequential);
            assert_eq!((&mine.ending, &theirs.ending), (&Ending::Completed, &Ending::Completed), "{name}");
            assert_eq!(mine.counters.pause_frames > 0, theirs.counters.pause_frames > 0, "{name}");
            if pauses {
                assert!(mine.counters.pause_frames > 0, "{name}: nothing pauses");
            }
            assert_eq!(told(&mine.flows), told(&theirs.flows), "{name}");
            assert_eq!(mine.flows.len(), 30);
        }
    }
}

/// What has no counterpart is refused by its field; what has none that is the same is told.
#[test]
fn what_the_files_cannot_say_is_told() {
    for (more, field, problem) in [
        (&["schemes.s.cc=new_reno"][..], "schemes.s", "no such"),
        (&["schemes.s.cc=none"], "schemes.s", "no such congestion control"),
        (&["workloads.0.sizes=5GB"], "workloads", "flow 0 is too large"),
        (
            &[
                "workloads.0={ kind = 'rpc', scheme = 's', sizes = '1KB', mode = 'open', load = { value = 0.1 }, end = '1ms', response = '1KB' }",
            ],
            "workloads.0.kind",
            "waits for an answer",
        ),
    ] {
        let error = exported(more).err().unwrap_or_else(|| panic!("{more:?}"));
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
        assert!(error.problem.contains(problem), "{error}");
    }
    for (more, told) in [
        (&["switch.pfc.enabled=false"][..], "switch.pfc.enabled: off in the scenario"),
        (&["switch.buffer=1500KB"], "switch.buffer: 1500KB in the scenario, 1MiB by the files"),
        (&["switch.ecn.k_min=400500B"], "switch.ecn.k_min at 100Gbps: 400500B in the scenario, 400KB by the files"),
        (&["routing.choice=spray"], "routing.choice: spray in the scenario, flow_hash by the files"),
        (&["framing.preset=ethernet"], "framing.wire_overhead: 20 in the scenario, 0 by the files"),
        (&["schemes.s.window=50KB"], "schemes.s.window: 50KB in the scenario"),
        (
            &["schemes.s.cc=dcqcn", "schemes.s.alpha_interval=1500ns"],
            "schemes.s.alpha_interval: 1.5us in the scenario, 1us by the files",
        ),
        (&["host.rto=2ms"], "host.rto: on in the scenario"),
        (&["host.ack_priority=true"], "host.ack_priority: in switches, too"),
        (&["switch.ecn.per=port"], "switch.ecn.per = \"port\": the reference has no such thing"),
        (&["workloads.0.start=1500ps"], "30 of 30 flows start between whole nanoseconds"),
    ] {
        let export = exported(more).unwrap_or_else(|e| panic!("{more:?}: {e}"));
        assert!(export.notices.iter().any(|n| n.starts_with(told)), "{more:?}: {:?}", export.notices);
        read_again("told", &export);
    }
}

/// A link that fails for good goes down by the files, too.
#[test]
fn a_link_that_fails_goes_down() {
    let failure = "failures=[{ kind = 'link', link = ['tor0', 'agg1'], down = '8us' }]";
    let export = exported(&[failure, "run.stop=1ms"]).unwrap();
    let (prepared, config) = read_again("down", &export);
    assert_eq!(config.link_down.after_us, 8);
    let outage = prepared.scenario.failures.outages[0];
    let port = prepared.scenario.graph.ports.iter().find(|p| p.link == outage.link).unwrap();
    assert_eq!([port.node, port.peer], [config.link_down.a, config.link_down.b]);
    assert!(
        !export.notices.iter().any(|n| n.starts_with("failures:") || n.starts_with("run.stop")),
        "{:?}",
        export.notices
    );
    let twice = "failures=[{ kind = 'link', link = ['tor0', 'agg1'], down = '8us', up = '20us' }]";
    assert!(exported(&[twice]).unwrap().notices.iter().any(|n| n.starts_with("failures:")));
}
