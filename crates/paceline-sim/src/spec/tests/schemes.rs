//! Schemes: what the controllers are told, and that each of them runs.

use std::path::PathBuf;

use paceline_proto::cc::{Params, dcqcn, dctcp, fixed, hpcc, hpcc_pint, timely};
use paceline_proto::transport::homa::cutoffs::Lengths;
use paceline_proto::transport::tcp;
use paceline_proto::units::{BitsPerSec, Bytes, Duration};

use super::*;
use crate::results::{Priorities, Summary};
use crate::run::{Request, run};
use crate::scenario::{Framing, Quirks, Scheme, Transport, Window};
use crate::spec::scheme::proactive::Facts;

/// The engine's form of the least scenario's scheme, written as an inline table.
fn scheme(table: &str) -> Scheme {
    least(&[&format!("schemes.hpcc={{ {table} }}")]).schemes[0].1.config("x")
}

#[test]
fn defaults_are_those_of_the_controllers() {
    for (cc, params, window) in [
        ("none", Params::Fixed(fixed::Params::default()), Window::Bdp),
        ("hpcc", Params::Hpcc(hpcc::Params::default()), Window::Bdp),
        ("hpcc_pint", Params::HpccPint(hpcc_pint::Params::default()), Window::Bdp),
        ("dcqcn", Params::Dcqcn(dcqcn::Params::vendor()), Window::Off),
        ("dcqcn', preset = 'paper", Params::Dcqcn(dcqcn::Params::paper()), Window::Off),
        ("timely", Params::Timely(timely::Params::default()), Window::Off),
        ("dctcp", Params::Dctcp(dctcp::Params::default()), Window::Bdp),
    ] {
        assert_eq!(
            scheme(&format!("cc = '{cc}'")),
            Scheme { name: "x".to_string(), params, window, transport: Transport::Rdma }
        );
    }
}

/// Every field arrives where it belongs, with its unit.
#[test]
fn fields_reach_the_controllers() {
    const RATES: &str = "min_rate = '3Gbps', variable_window = false, window = '70KB'";
    const STEPS: &str = "ai_rate = '1Gbps', hai_rate = '2Gbps'";
    let (ai_rate, hai_rate, min_rate, variable_window) = (1_000_000_000, 2_000_000_000, 3_000_000_000, false);
    for (table, params) in [
        (
            "cc = 'hpcc', eta = 0.5, max_stage = 4, w_ai_rate = '1Gbps', fast_reaction = false, multi_rate = true, \
             sample_feedback = true, start = 0.5"
                .to_string(),
            Params::Hpcc(hpcc::Params {
                eta: 0.5,
                max_stage: 4,
                w_ai_rate: ai_rate,
                min_rate,
                fast_reaction: false,
                variable_window,
                multi_rate: true,
                start: 0.5,
                sample_feedback: true,
            }),
        ),
        (
            "cc = 'hpcc_pint', eta = 0.5, max_stage = 4, w_ai_rate = '1Gbps', log_base = 1.1, probability = 0.25"
                .into(),
            Params::HpccPint(hpcc_pint::Params {
                eta: 0.5,
                max_stage: 4,
                w_ai_rate: ai_rate,
                min_rate,
                log_base: 1.1,
                probability: 0.25,
                variable_window,
            }),
        ),
        (
            format!(
                "cc = 'dcqcn', preset = 'paper', g = 0.5, alpha_interval = '2us', decrease_interval = '3us', \
                 increase_interval = '4us', fast_recovery = 5, {STEPS}, clamp_target_rate = true, cnp_interval = '6us'"
            ),
            Params::Dcqcn(dcqcn::Params {
                g: 0.5,
                alpha_interval: Duration::from_us(2),
                decrease_interval: Duration::from_us(3),
                increase_interval: Duration::from_us(4),
                fast_recovery: 5,
                ai_rate,
                hai_rate,
                min_rate,
                clamp_target_rate: true,
                cnp_interval: Duration::from_us(6),
                variable_window,
            }),
        ),
        (
            format!(
                "cc = 'timely', t_low = '2us', t_high = '3us', min_rtt = '1500ns', ewma = 0.5, beta = 0.25, hai_after = 6, {STEPS}"
            ),
            Params::Timely(timely::Params {
                t_low_ns: 2000.0,
                t_high_ns: 3000.0,
                min_rtt_ns: 1500.0,
                ewma: 0.5,
                beta: 0.25,
                hai_after: 6,
                ai_rate,
                hai_rate,
                min_rate,
                variable_window,
            }),
        ),
        (
            "cc = 'dctcp', g = 0.5, ai_rate = '1Gbps'".into(),
            Params::Dctcp(dctcp::Params { g: 0.5, ai_rate, min_rate, variable_window }),
        ),
    ] {
        let made = scheme(&format!("{table}, {RATES}"));
        assert_eq!((made.params, made.window), (params, Window::Fixed(Bytes(70_000))), "{table}");
    }
}

#[test]
fn quirks_are_told_apart() {
    let keys = [
        "clock_1ns",
        "insertion_order",
        "nic_round_robin",
        "reference_random",
        "ack_priority_at_hosts",
        "pint_data_only",
        "unpadded_data",
        "line_rate_pacing",
        "link_down",
    ];
    for key in keys {
        let made = serde_json::to_value(least(&[&format!("quirks.{key}=true")]).quirks.config()).unwrap();
        let on: Vec<_> = made.as_object().unwrap().iter().filter(|(_, v)| v.as_bool() == Some(true)).collect();
        assert_eq!(on.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>(), [key]);
    }
    let all = serde_json::to_value(Quirks::default()).unwrap();
    assert_eq!(all.as_object().unwrap().len(), keys.len(), "a quirk that scenarios cannot name");
}

/// A folder that goes away with the value.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Four hosts send to a fifth for 200 us: the summary, and what is in `flows.csv` and `series.csv`.
fn run_star(cc: &str, more: &[&str]) -> (Summary, String) {
    let text = format!(
        "[topology]\nkind = 'star'\nhosts = 5\n[switch.ecn]\nk_min = '30KB'\nk_max = '30KB'\n[run]\nstop = '200us'\n\
         [records.series]\ninterval = '5us'\nflows = [0, 1, 2, 3]\n[schemes.s]\n{cc}\n\
         [[workloads]]\nkind = 'incast'\nsenders = 4\nrandom_senders = false\nreceiver = 4\nsizes = '1MB'\n"
    );
    run_text(&text, more)
}

fn run_text(text: &str, more: &[&str]) -> (Summary, String) {
    let name = format!("paceline-schemes-{}-{:?}", std::process::id(), std::thread::current().id());
    let out = Scratch(std::env::temp_dir().join(name));
    let spec = with(text, more).unwrap_or_else(|e| panic!("{e}"));
    let request = Request { spec, out: out.0.clone(), threads: 1, version: "test".to_string(), git: None };
    let summary = run(request, &mut |_| true).unwrap_or_else(|e| panic!("{text}: {e}"));
    let read = |file: &str| std::fs::read_to_string(out.0.join(file)).unwrap();
    (summary, read("flows.csv") + &read("series.csv"))
}

/// Each scheme runs without a warning and does something no other does.
#[test]
fn each_scheme_runs_and_differs_from_the_others() {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for cc in [
        "cc = 'none'",
        "cc = 'hpcc'",
        "cc = 'hpcc'\nsample_feedback = true",
        "cc = 'hpcc_pint'",
        "cc = 'hpcc_pint'\nprobability = 0.1",
        "cc = 'dcqcn'",
        "cc = 'dcqcn'\nwindow = 'bdp'",
        "cc = 'dcqcn'\npreset = 'paper'",
        "cc = 'dcqcn'\ncnp_interval = '50us'",
        "cc = 'timely'",
        "cc = 'timely'\nwindow = 'bdp'",
        "cc = 'dctcp'",
    ] {
        let (summary, results) = run_star(cc, &[]);
        assert_eq!((summary.status.as_str(), summary.flows.total), ("stopped", 4), "{cc}");
        assert_eq!(summary.warnings, Vec::<String>::new(), "{cc}");
        let used = !summary.without_effect.iter().any(|s| s.starts_with("schemes.s:"));
        assert!(used && summary.counters.marks > 0, "{cc}");
        if let Some((other, _)) = seen.iter().find(|(_, r)| *r == results) {
            panic!("{cc} and {other} give the same results");
        }
        seen.push((cc, results));
    }
}

#[test]
fn marks_that_no_scheme_heeds_are_told() {
    let told = |cc: &str| {
        let (summary, _) = run_star(cc, &[]);
        summary.without_effect.iter().any(|s| s.contains("no scheme of this run reacts to marks"))
    };
    assert!(told("cc = 'timely'") && told("cc = 'hpcc_pint'"));
    assert!(!told("cc = 'dcqcn'") && !told("cc = 'dctcp'"));
}

/// Quirks of order choose the engine that can follow them.
#[test]
fn the_reference_s_random_numbers_run_sequentially() {
    let (summary, random) = run_star("cc = 'hpcc_pint'", &["quirks.reference_random=true"]);
    assert_eq!(summary.engine.kind, "sequential");
    let (plain, ours) = run_star("cc = 'hpcc_pint'", &[]);
    assert_eq!(plain.engine.kind, "windowed");
    assert_ne!(random, ours);
}

#[test]
fn the_dcqcn_template_runs_under_each_of_its_schemes() {
    let text = crate::spec::template("dcqcn-incast").unwrap();
    for name in ["dcqcn", "dcqcn-win", "dcqcn-paper", "timely"] {
        let (summary, _) = run_text(text, &[&format!("workloads.0.scheme={name}")]);
        assert_eq!((summary.status.as_str(), summary.flows.finished), ("completed", 16), "{name}");
        assert_eq!(summary.warnings, Vec::<String>::new(), "{name}");
    }
}

/// A run that would go on beyond its clock, where no instant is the next, stops and says so; it went on for ever, and heeded no Ctrl-C.
#[test]
fn a_run_stops_at_the_end_of_its_clock() {
    let text = "[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = 'none'\n[run]\nstall = 'off'\n[[workloads]]\n";
    let slow = "kind = 'flows'\nrate_cap = '1Kbps'\nrows = [{ src = 0, dst = 1, bytes = '3GB' }]\n[framing]\npayload = '9000B'\n";
    for engine in ["sequential", "windowed"] {
        let (summary, _) = run_text(&format!("{text}{slow}"), &[&format!("run.engine={engine}")]);
        assert_eq!((summary.status.as_str(), summary.simulated_ps), ("stopped", 1 << 63), "{engine}");
        assert!(summary.warnings.iter().any(|w| w.contains("the end of its clock")), "{:?}", summary.warnings);
    }
}

/// A series has the samples asked for, or says that it has not, and which flows it did not meet: who trusts the interval asked for
/// would take four samples for 40 us.
#[test]
fn series_are_as_fine_as_asked_for_or_say_so() {
    let sampled = |more: &[&str]| {
        let (summary, files) = run_star("cc = 'hpcc'", more);
        let notes = summary.warnings.into_iter().chain(summary.without_effect);
        let notes = notes.filter(|s| s.starts_with("records.series"));
        let samples = files.lines().filter(|l| l.contains(",active_flows,")).count();
        (summary.series_interval_ps, samples, notes.collect::<Vec<_>>())
    };
    let (fine, samples, notes) = sampled(&["records.series.interval=100ns"]);
    assert_eq!((fine, samples, notes), (Some(100_000), 2000, vec![]));
    let (coarse, samples, notes) = sampled(&["records.series.interval=100ns", "records.series.samples=600"]);
    assert!(coarse == Some(400_000) && samples == 500, "{coarse:?} {samples}");
    assert_eq!(
        notes,
        [
            "records.series.interval: there is a sample every 400ns: at 100ns they would be more than 600 (records.series.samples)"
        ]
    );
    let (_, _, notes) = sampled(&["records.series.flows=[0, 99]"]);
    assert_eq!(notes, ["records.series.flows: there was no flow 99"]);
    assert_eq!(sampled(&["records.series.interval=off", "records.series.flows=[]"]).0, None);
    // A port named is sampled also where no others are.
    let (_, files) = run_star("cc = 'hpcc'", &["records.series.busiest=0", "records.series.ports=[\"5:4\"]"]);
    assert!(files.contains(",queue_bytes,5:4,") && !files.contains(",queue_bytes,5:3,"));
}

/// A base RTT of 1539 bytes on the wire lets two packets go unasked, 2920 bytes of payload: messages of 2920 bytes are unscheduled altogether, and
/// seven of eight levels are theirs. With the bytes of the wire taken for payload it would be four, and scheduled packets that never come would
/// have half of the priorities.
#[test]
fn homas_cutoffs_count_what_is_really_sent_unasked() {
    let spec = least(&["schemes.hpcc={ cc = 'homa', rtt_bytes = '1539B' }", "switch.pfc.enabled=false"]);
    let facts = Facts {
        host_rate: BitsPerSec(100_000_000_000),
        base_rtt: Duration(0),
        framing: Framing::ETHERNET,
        lengths: vec![Lengths { messages: 1.0, points: vec![(2920.0, 1.0)], linear: false }],
        tcp: std::sync::Arc::new(tcp::Params::rfc()),
    };
    let Transport::Homa(params) = spec.schemes[0].1.cc.transport(&facts) else { panic!("Homa") };
    assert_eq!((params.rtt_packets, params.cutoffs.unscheduled), (2, 7));
}

/// Two hosts send to a third over Homa; `workloads` follow.
fn homa_star(workloads: &str) -> String {
    format!(
        "[topology]\nkind = 'star'\nhosts = 3\n[switch]\npfc.enabled = false\necn.enabled = false\n\
         [framing]\npreset = 'ethernet'\n[schemes.s]\ncc = 'homa'\nrtt_bytes = '153800B'\n{workloads}"
    )
}

/// How Homa divides its priorities: those for unscheduled packets, and the sizes that separate them.
fn divided(workloads: &str) -> (u8, Vec<u64>) {
    let found = crate::run::check(&with(&homa_star(workloads), &[]).unwrap()).unwrap().priorities.unwrap();
    (found.unscheduled, found.cutoffs_bytes)
}

/// Short messages wait behind the bursts of long ones if they all have one priority, as those of a flow table had.
#[test]
fn short_messages_of_a_flow_table_overtake_long_ones_over_homa() {
    let row = |src: u32, bytes: &str, start: &str| {
        format!("{{ src = {src}, dst = 2, bytes = '{bytes}', start = '{start}' }},\n")
    };
    let long = (row(0, "100KB", "1us") + &row(1, "100KB", "1us")).repeat(3);
    let rows = long + &row(1, "300B", "6us") + &row(1, "300B", "200us").repeat(300);
    let text = homa_star(&format!("[[workloads]]\nkind = 'flows'\nrows = [\n{rows}]\n"));
    let run = |levels: &str| {
        let (summary, files) = run_text(&text, &["records.series.interval=10us", levels]);
        let seventh = files.lines().nth(7).and_then(|row| row.split(',').nth(9)).unwrap();
        (summary.priorities.unwrap(), seventh.parse::<u64>().unwrap())
    };
    let (found, apart) = run("schemes.s.unscheduled_levels=auto");
    let cutoffs_bytes = vec![300, 100_000, 100_000, 100_000, 100_000, 100_000];
    assert_eq!(found, Priorities { levels: 8, unscheduled: 7, cutoffs_bytes });
    // Some 60 kB wait, five microseconds at 100 Gb/s.
    let (_, together) = run("schemes.s.unscheduled_levels=1");
    assert!(apart * 3 < together, "{apart} ps, {together} ps");
}

/// Where senders wait for their grants nothing but probes is unscheduled, which left data one level of eight and one message granted.
#[test]
fn levels_of_homa_without_bursts_are_for_what_is_granted() {
    let rows = "[[workloads]]\nkind = 'permutation'\nsizes = '30KB'\n";
    let text = homa_star(rows);
    let of = |sets: &[&str]| crate::run::check(&with(&text, sets).unwrap()).unwrap().priorities.unwrap().unscheduled;
    assert_eq!(of(&[]), 7);
    assert_eq!(of(&["schemes.s.first_rtt=wait"]), 1);
    assert_eq!(of(&["schemes.s.first_rtt=wait", "schemes.s.unscheduled_levels=3"]), 3);
}

/// A lowest window is a lowest window where packets are paced, too: at HPCC's rate for it, far below, it would never be used.
#[test]
fn the_lowest_window_holds_with_pacing() {
    let text = "[topology]\nkind = 'star'\nhosts = 17\nhost_rate = '25Gbps'\n[switch]\nbuffer = '32MB'\npfc = { enabled = false }\n\
                [framing]\npreset = 'ethernet'\n[schemes.s]\ncc = 'hpcc_tcp'\n[host.tcp]\nstack = 'user_space'\nrto_min = '2ms'\n\
                ack_segments = 1\n[[workloads]]\nkind = 'incast'\nsenders = 16\nsizes = '2MB'\nreceiver = 16\n";
    let waiting = |pacing: &str, least: u32| {
        let sets = [format!("host.tcp.pacing={pacing}"), format!("host.tcp.min_window={least}")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).chain(["records.series.interval=100us"]).collect();
        let (_, files) = run_text(text, &sets);
        // Half of the way through, at 5 ms: one host receives 32 MB in 10 ms.
        let rows = files.lines().filter_map(|row| row.strip_prefix("5000000000,queue_bytes,"));
        rows.map(|row| row.split(',').nth(1).unwrap().parse::<u64>().unwrap()).max().unwrap()
    };
    for pacing in ["off", "rate"] {
        let [three, twelve] = [3, 12].map(|least| waiting(pacing, least));
        assert!(three > 50_000 && three < 80_000 && twelve > 250_000, "{pacing}: {three} and {twelve} B");
    }
}

/// What a run will really have decides: of a table its flows, of programs their messages, of several kinds of traffic all of them.
#[test]
fn homas_priorities_are_divided_by_the_messages_of_the_run() {
    // 300 bytes are 378 on the wire and 1460 are 1538: 50 of each are 18,900 and 76,900 bytes.
    let row = |bytes: u32| format!("{{ src = 0, dst = 2, bytes = '{bytes}B' }}, ").repeat(50);
    let table = |rows: &str| format!("[[workloads]]\nkind = 'flows'\nrows = [{rows}]\n");
    let two = (7, vec![300, 1460, 1460, 1460, 1460, 1460]);
    assert_eq!(divided(&table(&(row(300) + &row(1460)))), two);
    // The same as two workloads, whatever their order; and drawn by two generators.
    assert_eq!(divided(&(table(&row(1460)) + &table(&row(300)))), two);
    let rounds =
        |bytes: u32| format!("[[workloads]]\nkind = 'permutation'\nsizes = '{bytes}B'\nrounds = 7\nperiod = '1us'\n");
    assert_eq!(divided(&(rounds(300) + &rounds(1460))), two);
    let poisson = |bytes: u32, load: &str| {
        format!(
            "[[workloads]]\nkind = 'poisson'\nsizes = '{bytes}B'\nload = {{ value = {load}, bytes = 'wire' }}\nduration = '1ms'\n"
        )
    };
    assert_eq!(divided(&(poisson(1460, "0.4") + &poisson(300, "0.1"))), (7, vec![300, 1460, 1460, 1460, 1460, 1460]));
    assert_eq!(divided(&(poisson(1460, "0.1") + &poisson(300, "0.4"))), (7, vec![300, 300, 300, 300, 300, 1460]));
    // Programs: requests and responses in equal numbers.
    let asks = "[[workloads]]\nkind = 'scatter_gather'\ninterval = '100us'\nmax_queries = 5\nrequest = '300B'\nresponse = '1460B'\n";
    assert_eq!(divided(asks), two);
    // Of ten megabytes little is sent unasked.
    assert_eq!(divided(&(table(&row(300)) + &table("{ src = 0, dst = 2, bytes = '10MB' }"))), (1, vec![]));
}

/// DCQCN's packets need the NIC's ticks, which the packet says by the bit that says "unscheduled" elsewhere: a switch that drops
/// selectively lost them all.
#[test]
fn nothing_over_rdma_is_dropped_selectively() {
    let (summary, _) = run_star("cc = 'dcqcn'", &["switch.selective_drop.enabled=true"]);
    assert_eq!((summary.counters.drops_buffer, summary.counters.lossless_drops), (0, 0));
}

/// The pause waits for a frame that goes out at a tenth of the rate at which packets come in.
#[test]
fn automatic_headroom_is_enough_for_a_link_that_is_slower_back() {
    let text = "[topology]\nkind = 'graph'\nhosts = ['a', 'c', 'd']\nswitches = ['s']\nlinks = [\n\
        { a = 'a', b = 's', rate = '100Gbps', rate_back = '10Gbps', delay = '100ns' },\n\
        { a = 's', b = 'c', rate = '10Gbps', delay = '100ns' },\n{ a = 's', b = 'd', rate = '10Gbps', delay = '100ns' }]\n\
        [switch]\nbuffer = '200KB'\npfc.headroom = 'auto'\necn.enabled = false\n[schemes.s]\ncc = 'none'\nwindow = 'off'\n\
        [[workloads]]\nkind = 'flows'\nrows = [{ src = 0, dst = 1, bytes = '3MB' }, { src = 2, dst = 0, bytes = '3MB' }]\n";
    for model in ["per_port", "shared"] {
        let (summary, _) = run_text(text, &[&format!("switch.model={model}")]);
        assert!(summary.counters.pause_frames > 0);
        assert_eq!(summary.counters.lossless_drops, 0, "{model}");
    }
}

/// A probe of HPCC over TCP carries switches' records where segments say that they understand marks: what had been in its place
/// before decided whether it was marked, or dropped by RED.
#[test]
fn probes_are_no_segments_that_understand_marks() {
    let text = "[topology]\nkind = 'dumbbell'\nleft = 3\nright = 3\nbottleneck_rate = '10Gbps'\n[schemes.s]\ncc = 'hpcc_tcp'\n\
        [host.tcp]\necn = true\nrto_min = '1ms'\n[switch]\npfc.enabled = false\necn.enabled = false\n\
        [switch.red]\nenabled = true\nnon_ect = 'drop'\n[run]\nstop = '3ms'\n\
        [[workloads]]\nkind = 'all_to_all'\nsizes = '30KB'\nrounds = 20\nperiod = '20us'\n";
    let told = |engine: &str| {
        let (summary, files) = run_text(text, &[&format!("run.engine={engine}")]);
        let c = &summary.counters;
        (c.marks, c.drops_buffer, c.retransmitted_packets, files)
    };
    let windowed = told("windowed");
    assert!(windowed.0 > 0 && windowed.1 > 0, "{windowed:?}");
    assert_eq!(windowed, told("sequential"));
}

/// What is set but not enabled does nothing, nor does a measuring window after all flows: neither was told.
#[test]
fn what_is_set_in_vain_is_told() {
    let told = |set: &str| run_star("cc = 'hpcc'", &[set]).0;
    for (section, set) in [
        ("switch.red", "switch.red.min=30KB"),
        ("switch.qcn", "switch.qcn.weight=1.0"),
        ("switch.selective_drop", "switch.selective_drop.threshold=6KB"),
        ("switch.trimming", "switch.trimming.data_packets=4"),
        ("host.adapter", "host.adapter.tx_delay=1us"),
    ] {
        let note = format!("{section}: {section}.enabled is false");
        assert!(told(set).without_effect.contains(&note), "{section}");
        assert!(!told("run.stop=150us").without_effect.contains(&note), "{section}: nothing is set");
    }
    let late = |warmup: &str| told(warmup).warnings.iter().any(|w| w.ends_with("nothing is measured"));
    assert!(late("run.warmup=1us") && !late("run.warmup=0s"));
}

/// A run that ended before anything had begun said that 0 of 0 flows had finished, as if all were well.
#[test]
fn a_run_in_which_nothing_starts_says_so() {
    let told = |set: &[&str]| run_star("cc = 'hpcc'", set).0.warnings;
    assert_eq!(told(&["workloads.0.start=100us", "run.stop=101us"]), Vec::<String>::new());
    let rows = "workloads=[{ kind = 'flows', rows = [{ src = 0, dst = 1, bytes = '1B', start = '300us' }] }]";
    assert_eq!(told(&[rows]), ["no flow started: the run ended at 200us"]);
    let open =
        "workloads=[{ kind = 'rpc', mode = 'open', clients = [0], servers = [1], load.value = 0.001, end = '1us' }]";
    assert_eq!(told(&[open]), ["no query was asked: the run ended at 0ps"]);
}

/// The reference's NIC took the place of these transports without a word.
#[test]
fn the_references_nic_serves_rdma_only() {
    let text = crate::spec::template("incast").unwrap();
    for cc in ["homa", "udp", "new_reno"] {
        let sets = [
            format!("schemes.hpcc={{cc='{cc}'}}"),
            "switch.pfc.enabled=false".into(),
            "quirks.nic_round_robin=true".into(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let error = with(text, &sets).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("quirks.nic_round_robin") && error.contains("RDMA"), "{error}");
    }
}

/// Engines notice the end of traffic at other instants; what they have sampled must not show it.
#[test]
fn series_end_with_the_run() {
    let text = |stop: &str, start: &str| {
        format!(
            "[topology]\nkind = 'star'\nhosts = 2\nhost_rate = '10Gbps'\nlink_delay = '10us'\n[schemes.s]\ncc = 'udp'\n[run]\n{stop}\n\
             [records.series]\ninterval = '1us'\n[[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '14601B', start = '{start}' }}]\n"
        )
    };
    for (stop, start, last) in [("", "0s", "33"), ("stop = '1234567ns'", "0s", "33"), ("stop = '40500ns'", "1ms", "40")]
    {
        let files = ["sequential", "windowed"].map(|e| run_text(&text(stop, start), &[&format!("run.engine={e}")]).1);
        assert_eq!(files[0], files[1], "{stop} {start}");
        let end = files[0].lines().last().unwrap().split(',').next().unwrap().to_string();
        assert_eq!(end, format!("{last}000000"), "{stop} {start}");
    }
}

/// Homa acknowledges nothing before the end, so what arrives is counted where it does. By hand: after 2 us on the wires and a packet on
/// the first link one arrives every 83.84 ns. Followed flows of such transports had no samples at all, and nothing said so.
#[test]
fn what_has_arrived_of_a_followed_flow_is_sampled() {
    let text = |cc: &str| {
        format!(
            "[topology]\nkind = 'star'\nhosts = 2\n[switch]\npfc.enabled = false\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'flows'
             rows = [{{ src = 0, dst = 1, bytes = '1MB' }}]\n[records.series]\ninterval = '1us'\nflows = [0]"
        )
    };
    let (_, files) = run_text(&text("homa"), &[]);
    let values = files.lines().filter_map(|l| {
        let (time, value) = l.split_once(",received_bytes,0,")?;
        Some((time.parse::<u64>().unwrap(), value.parse::<u64>().unwrap()))
    });
    let values: Vec<(u64, u64)> = values.collect();
    assert!(values.len() > 80);
    for (time, value) in values {
        let whole = time.saturating_sub(2_083_840) / 83_840;
        assert_eq!(value, 1000 * whole.min(1000), "at {time} ps");
    }
    let (summary, files) = run_text(&text("udp"), &[]);
    assert!(!files.contains("received_bytes"));
    let told = "records.series.flows: flow 0 is over UDP, which has no rate, window or ACKs to sample";
    assert!(summary.without_effect.iter().any(|s| s == told), "{:?}", summary.without_effect);
    let (summary, files) = run_text(&text("cubic"), &[]);
    assert!(files.contains(",acked_bytes,0,") && !files.contains("received_bytes"));
    assert!(!summary.without_effect.iter().any(|s| s.contains("over UDP")));
}

/// A TCP flow was said to be given up after RDMA's number of timeouts, while it waited for packet 0 of those it had long delivered.
#[test]
fn how_a_flow_was_given_up_is_told_as_it_was() {
    let text = |cc: &str| {
        format!(
            "[topology]\nkind = 'star'\nhosts = 2\n[switch]\npfc.enabled = false\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'flows'
             rows = [{{ src = 0, dst = 1, bytes = '1MB' }}]\n[[failures]]\nlink = ['host1', 'tor0']\ndown = '20us'\n[host]\nrto = '1ms'
             rto_tries = 3\n[host.tcp]\nrto_min = '1ms'\ntries = 2\nack_delay = '100us'"
        )
    };
    let told = |cc: &str| run_text(&text(cc), &[]).0.warnings.into_iter().find(|w| w.contains("given up"));
    let tcp = told("new_reno").unwrap();
    assert!(
        tcp.starts_with("1 flow was given up after 2 timeouts: at ") && tcp.ends_with("waited for an answer"),
        "{tcp}"
    );
    let rdma = told("dcqcn").unwrap();
    assert!(rdma.starts_with("1 flow was given up after 3 timeouts: at "), "{rdma}");
    assert!(rdma.contains(" still waited for an answer to packet 201 of 1000"), "{rdma}");
    let (summary, _) = run_text(&text("ndp"), &["switch.trimming.enabled=true"]);
    let why = summary.diagnosis.unwrap();
    assert!(why.ends_with("; flow 0 (0 -> 1) of 1000000 bytes waits"), "{why}");
}

/// Rows may stand for themselves: each with a scheme of its own, where none is given for all; and without the limit that the others have,
/// which was ignored.
#[test]
fn rows_replace_what_the_workload_says() {
    let text = "[topology]\nkind = 'star'\nhosts = 4\n[schemes.a]\ncc = 'none'\n[schemes.b]\ncc = 'dcqcn'\n[[workloads]]\nkind = 'flows'
                rate_cap = '1Gbps'\nrows = [{ src = 0, dst = 1, bytes = '10KB', scheme = 'b' },
                { src = 2, dst = 3, bytes = '10KB', scheme = 'a', rate_cap = 'off' }]";
    let (_, files) = run_text(text, &[]);
    let rows: Vec<Vec<&str>> = files.lines().skip(1).take(2).map(|l| l.split(',').collect()).collect();
    assert_eq!([rows[0][2], rows[1][2]], ["b", "a"]);
    let fct: Vec<u64> = rows.iter().map(|row| row[8].parse().unwrap()).collect();
    assert!(fct[0] > 75_000_000 && fct[1] < 10_000_000, "{fct:?}");
    let error = with(&text.replace(", scheme = 'a'", ""), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("workloads.0.scheme: missing"), "{error}");
}
