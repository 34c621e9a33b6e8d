//! Warnings.

use super::*;
use crate::spec::lint;

/// Overrides of the least scenario and the beginning of the one warning they must cause.
#[rustfmt::skip]
const WARNINGS: &[(&[&str], &str)] = &[
    (&["schemes.hpcc.cc=dcqcn", "switch.ecn.by_rate=[{ rate = '400Gbps', k_min = '1KB', k_max = '2KB' }]"], "switch.ecn: ports of 100Gbps mark at 400KB to 1600KB, faster ones of 400Gbps already at 1KB to 2KB"),
    (&["schemes.hpcc.cc=dcqcn", "topology.host_rate=10Gbps", "switch.ecn.k_min=100KB", "switch.ecn.k_max=200KB"], "switch.ecn.k_min and k_max (100KB, 200KB) are meant at switch.ecn.at (100Gbps), which no port has: ports of 10Gbps mark at 10KB to 20KB"),
    (&["schemes.hpcc.cc=dcqcn", "switch.ecn.k_max=5MB"], "switch.ecn.k_max (5MB on ports of 100Gbps) is above the PFC threshold"),
    (&["schemes.hpcc.cc=dcqcn", "switch.ecn.k_max=40MB", "switch.pfc.enabled=false"], "switch.ecn.k_max (40MB on ports of 100Gbps) is above switch.buffer"),
    (&["schemes.hpcc.cc=dcqcn", "switch.buffer=100KB"], "switch.ecn.k_max"),
    (&["switch.buffer=100KB"], "switch.buffer (100KB) is used up by reserve and headroom"),
    (&["switch.pfc.enabled=false", "host.rto=off"], "host.rto is off and switch.pfc.enabled is false"),
    (&["schemes.hpcc.window=500B"], "schemes.hpcc.window (500B) is below one packet (1KB)"),
    (&["schemes.hpcc.w_ai_rate=0bps"], "schemes.hpcc.w_ai_rate is 0"),
    (&["schemes.slow={ cc = 'none', rate = '200Gbps' }", "workloads.0.scheme=hpcc"], "schemes.slow.rate (200Gbps) is above the host links (100Gbps)"),
    (&["workloads.0={ kind = 'poisson', end = '1ms', load.value = 1.5 }"], "workloads.0.load.value (1.5) is above 1"),
    (&["workloads=[{ kind = 'poisson', end = '1ms', load.value = 0.7 }, { kind = 'incast', mode = 'poisson', senders = 3, end = '1ms', load.value = 0.5 }]"], "the loads of the workloads with load.of = \"host\" add up to 1.20, above 1"),
    (&[NO_PFC, "schemes.hpcc={ cc = 'udp', rate = '2Gbps' }", "workloads.0={ kind = 'on_off', mode = 'cbr', end = '1ms', rate = '1Gbps', load.value = 0.1 }"], "workloads.0.rate (1Gbps) sets how much is sent; its flows go at that of schemes.hpcc.rate (\"2Gbps\")"),
    (&["workloads.0={ kind = 'on_off', mode = 'cbr', end = '1ms', rate = '1Gbps', load.value = 0.1 }"], "workloads.0.rate (1Gbps) sets how much is sent; its flows go at the rate that schemes.hpcc allows"),
    (&["run.warmup=2ms", "run.measure_end=2ms"], "the measuring window is empty: run.measure_end (2ms) is not after run.warmup (2ms)"),
    (&["run.warmup=2ms", "run.stop=1ms"], "nothing is measured: the run stops (1ms) before run.warmup (2ms) is over"),
    (&["run.warmup=2ms", "workloads.0={ kind = 'poisson', end = '1ms' }"], "nothing is measured: the last arrivals (1ms)"),
    (&["run.stop=1ms", "workloads.0.start=1ms"], "workloads.0 has no effect: it starts (1ms) when the run has stopped (1ms)"),
    (&["host.rto=10us", "host.base_rtt=12us"], "host.rto (10us) is not longer than host.base_rtt (12us)"),
    (&["records.series.interval=off", "records.series.flows=[1]"], "records.series.flows has no effect"),
    (&["records.series.interval=off", "records.series.ports=['17:1']"], "records.series.ports has no effect"),
    (&["records.packets.flows=[1]", "records.packets.end='1ms'"], "records.packets.flows has no effect: records.packets.rows is 0"),
    (&["switch.ecn.enabled=false", "switch.ecn.by_rate=[{ rate = '400Gbps', k_min = '1KB', k_max = '2KB' }]"], "switch.ecn.by_rate has no effect"),
    (&["switch.ecn.enabled=false", "schemes.hpcc.cc=dcqcn"], "schemes.hpcc never slows down: it reacts to congestion marks only"),
    (&["switch.ecn.enabled=false", "schemes.hpcc.cc=dctcp"], "schemes.hpcc never slows down: it reacts to congestion marks only"),
    (&["schemes.hpcc.cc=dctcp"], "schemes.hpcc: DCTCP wants marking in one step, but switch.ecn (shared by all schemes) rises from 400KB to 1600KB on ports of 100Gbps"),
    (&["schemes.hpcc.cc=dctcp", "topology={ kind = 'file', file = 'x' }"], "schemes.hpcc: DCTCP wants marking in one step"),
    (&["schemes.hpcc={ cc = 'dcqcn', variable_window = false }"], "schemes.hpcc.variable_window has no effect: schemes.hpcc.window is \"off\""),
    (&["schemes.hpcc={ cc = 'dcqcn', ai_rate = '0bps' }"], "schemes.hpcc.ai_rate is 0"),
    (&["schemes.hpcc={ cc = 'timely', window = '10B' }"], "schemes.hpcc.window (10B) is below one packet (1KB)"),
    (&["schemes.hpcc.cc=timely", "quirks.line_rate_pacing=true"], "schemes.hpcc never slows down: with quirks.line_rate_pacing"),
    (&["quirks.ack_priority_at_hosts=true"], "quirks.ack_priority_at_hosts has no effect"),
    (&["quirks.pint_data_only=true"], "quirks.pint_data_only has no effect"),
    (&["quirks.reference_random=true", "switch.ecn.enabled=false"], "quirks.reference_random has no effect: switch.ecn.enabled is false"),
    (&["quirks.reference_random=true", NO_PFC, "schemes.hpcc.cc=cubic"], "quirks.reference_random has no effect: ECN marks no packet"),
    (&["quirks.line_rate_pacing=true", "schemes.hpcc.cc=none"], "quirks.line_rate_pacing has no effect: all schemes have cc = \"none\""),
    (&["switch.ecn.per=port", "schemes.hpcc.cc=dcqcn"], "switch.ecn.per has no effect: all packets are of one class"),
    (&["switch.scheduler=strict", "host.ack_priority=true"], "switch.scheduler has no effect: there is one class beside that of control"),
    (&["switch.pfc.alpha_scales=false"], "switch.pfc.alpha_scales has no effect: no switch has a port faster than the hosts'"),
    (&["schemes.hpcc.multi_rate=true"], "schemes.hpcc.multi_rate has no effect: all paths have one switch"),
    (&["workloads.0={ kind = 'on_off', end = '1ms', local = 0.5 }"], "workloads.0.local has no effect: all hosts are of one rack"),
    (&[NO_PFC, "schemes.hpcc.cc=ndp"], "schemes.hpcc: NDP wants switch.trimming.enabled = true"),
    (&[NO_PFC, "schemes.hpcc={ cc = 'homa', first_rtt = 'aeolus' }"], "schemes.hpcc.first_rtt is \"aeolus\", but switch.selective_drop.enabled is false"),
    (&[NO_PFC, "schemes.hpcc={ cc = 'ndp', first_rtt = 'aeolus' }", "switch.trimming.enabled=true"], "schemes.hpcc.first_rtt is \"aeolus\", whose probes"),
    (&[NO_PFC, "schemes.hpcc.cc=homa", DROPS], "switch.selective_drop drops the unscheduled packets of schemes.hpcc"),
    (&[NO_PFC, "schemes.hpcc={ cc = 'homa', stop = 'first_credit' }"], "schemes.hpcc.stop is \"first_credit\" and first_rtt \"burst\""),
    (&[NO_PFC, "schemes.hpcc.cc=ndp", DROPS], "switch.selective_drop drops the unscheduled packets of schemes.hpcc"),
    (&[NO_PFC, "schemes.hpcc={ cc = 'udp', rate = '200Gbps' }"], "schemes.hpcc.rate (200Gbps) is above the host links (100Gbps)"),
    (&[NO_PFC, "schemes.hpcc={ cc = 'homa', levels = 4, unscheduled_levels = 7 }"], "schemes.hpcc.unscheduled_levels (7) leaves none of 4 levels for scheduled packets, which have one: it is 3"),
];

const NO_PFC: &str = "switch.pfc.enabled=false";
const DROPS: &str = "switch.selective_drop.enabled=true";

/// Each transport with the ports that it is made for.
#[test]
fn no_warning_where_a_transport_has_its_ports() {
    for overrides in [
        [NO_PFC, "schemes.hpcc.cc=homa", "switch.delay=0s"],
        [NO_PFC, "schemes.hpcc.cc=express_pass", "switch.delay=0s"],
        [NO_PFC, "schemes.hpcc.cc=ndp", "switch.trimming.enabled=true"],
        // Ports that trim drop nothing selectively; the run says that the setting had no effect.
        ["switch={ pfc.enabled = false, trimming.enabled = true }", "schemes.hpcc.cc=ndp", DROPS],
        [NO_PFC, "schemes.hpcc={ cc = 'homa', levels = 4, unscheduled_levels = 3 }", "switch.delay=0s"],
        [NO_PFC, "schemes.hpcc={ cc = 'homa', first_rtt = 'aeolus' }", DROPS],
        [NO_PFC, "schemes.hpcc={ cc = 'ndp', first_rtt = 'aeolus' }", DROPS],
    ] {
        assert_eq!(lint(&least(&overrides)), Vec::<String>::new(), "{overrides:?}");
    }
}

#[test]
fn no_warning_where_a_scheme_has_what_it_needs() {
    let step = ["schemes.hpcc.cc=dctcp", "switch.ecn.k_min=300KB", "switch.ecn.k_max=300KB", "switch.ecn.p_max=1"];
    assert_eq!(lint(&least(&step)), Vec::<String>::new());
    assert_eq!(lint(&least(&["schemes.hpcc.cc=dcqcn"])), Vec::<String>::new());
    assert_eq!(lint(&least(&["schemes.hpcc.cc=hpcc_pint", "quirks.pint_data_only=true"])), Vec::<String>::new());
    assert_eq!(lint(&least(&["schemes.hpcc.cc=timely", "switch.ecn.enabled=false"])), Vec::<String>::new());
    // With an ACK for each segment none is held back.
    let short = ["schemes.hpcc.cc=new_reno", NO_PFC, "host.tcp.rto_min=1ms"];
    assert_eq!(lint(&least(&[&short[..], &["host.tcp.ack_segments=1"]].concat())), Vec::<String>::new());
    assert!(lint(&least(&short))[0].starts_with("host.tcp.rto_min (1ms) is not longer than host.tcp.ack_delay (40ms)"));
    // HPCC does not hear marks, however late they come.
    assert_eq!(lint(&least(&["switch.ecn.k_max=5MB"])), Vec::<String>::new());
}

/// What tells apart several of a kind, where there are several; random numbers and rates that count.
#[test]
fn no_warning_where_a_setting_has_an_effect() {
    let fabric = "topology={ kind = 'leaf_spine' }";
    let second = "workloads=[{ kind = 'permutation' }, { kind = 'permutation', class = 4 }]";
    for overrides in [
        &["quirks.reference_random=true"][..],
        &["quirks.reference_random=true", "switch.ecn.enabled=false", "schemes.hpcc.cc=hpcc_pint"],
        &["quirks.reference_random=true", NO_PFC, "schemes.hpcc.cc=cubic", "host.tcp.ecn=true"],
        &["quirks.line_rate_pacing=true", "schemes.hpcc={ cc = 'none', rate = '10Gbps' }"],
        &["quirks.line_rate_pacing=true", "schemes.hpcc.cc=none", "workloads.0.rate_cap=1Gbps"],
        &["switch.ecn.per=port", "host.ack_priority=true"],
        &["switch.ecn.per=port", second],
        &["switch.scheduler=strict", "host.ack_priority=true", second],
        &[fabric, "switch.pfc.alpha_scales=false"],
        &["topology={ kind = 'file', file = 'x' }", "switch.pfc.alpha_scales=false"],
        &[fabric, "schemes.hpcc.multi_rate=true"],
        &[fabric, "workloads.0={ kind = 'on_off', end = '1ms', local = 0.5 }"],
        &["workloads.0={ kind = 'on_off', end = '1ms' }"],
    ] {
        let told: Vec<_> = lint(&least(overrides)).into_iter().filter(|w| w.contains("has no effect")).collect();
        assert_eq!(told, Vec::<String>::new(), "{overrides:?}");
    }
}

#[test]
fn each_likely_mistake_has_its_warning() {
    assert_eq!(lint(&least(&[])), Vec::<String>::new());
    for (overrides, start) in WARNINGS {
        let warnings = lint(&least(overrides));
        assert!(warnings.iter().any(|w| w.starts_with(start)), "{overrides:?}: {warnings:?}");
    }
}

/// The timeout is that of RDMA: TCP and message transports repair losses by their own, and the warning, under `run.strict` an error, was false.
#[test]
fn no_timeout_of_rdma_is_missed_by_other_transports() {
    for cc in ["homa", "new_reno"] {
        let warnings = lint(&least(&[&format!("schemes.hpcc.cc={cc}"), NO_PFC, "host.rto=off"]));
        assert!(!warnings.iter().any(|w| w.contains("host.rto is off")), "{cc}: {warnings:?}");
    }
}

/// Told when the network is there: a base RTT is of its paths.
#[test]
fn a_stall_within_a_round_trip_is_told() {
    let told = |changes: &[&str]| {
        let warnings = crate::assemble::assemble(&least(changes)).unwrap().warnings;
        warnings.iter().any(|w| w.starts_with("run.stall (1us) is not longer than the network's base RTT"))
    };
    assert!(told(&["host.rto=off", "run.stall=1us"]));
    assert!(told(&["host.rto=off", "run.stall=1us", "host.base_rtt=1ns"]), "what flows assume is not what they see");
    assert!(!told(&["run.stall=1us"]), "a timeout is waited for");
    assert!(!told(&["host.rto=off", "run.stall=1ms"]));
}

/// A request, a credit and a packet are far apart where links are long: a run over 10 ms was taken to stand still.
#[test]
fn messages_have_four_round_trips_before_a_stall() {
    let stall = |cc: &str, delay: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nlink_delay = '{delay}'\n[schemes.s]\ncc = '{cc}'\n[switch.pfc]\nenabled = false\n\
             [[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n"
        );
        let spec = crate::spec::parse(&text, "test", &[]).unwrap();
        crate::assemble::assemble(&spec).unwrap().scenario.stall.unwrap().0 / paceline_proto::units::MS
    };
    assert_eq!([stall("express_pass", "10ms"), stall("express_pass", "1us"), stall("hpcc", "10ms")], [160, 10, 10]);
}

/// Where the fabric, or only one direction of a link, is slower than hosts send, or ports hold what came by all others, timeouts ran out
/// although nothing was lost.
#[test]
fn first_timeouts_outlast_the_queue_of_a_switch() {
    let rto_us = |topology: &str, switch: &str| {
        let text = format!(
            "[topology]\n{topology}\n[switch]\n{switch}\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n"
        );
        let spec = crate::spec::parse(&text, "test", &[]).unwrap();
        crate::assemble::assemble(&spec).unwrap().scenario.host.rto.unwrap().initial.0 / paceline_proto::units::US
    };
    // 10 MB take 0.8 ms at 100 Gb/s, 8 ms at 10; the rest is four base RTTs.
    let one_way = "kind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s']\nlinks = [{ a = 'a', b = 's' }, { a = 'b', b = 's', rate_back = '10Gbps' }]";
    for (topology, switch, drain_us) in [
        ("kind = 'star'", "buffer = '20MB'", 1_600),
        ("kind = 'dumbbell'\nbottleneck_rate = '10Gbps'", "buffer = '10MB'", 8_000),
        (one_way, "buffer = '10MB'", 8_000),
        ("kind = 'star'\nhosts = 10\nhost_rate = '10Gbps'", "buffer = '1MB'\nmodel = 'per_port'", 8_000),
        ("kind = 'star'\nhosts = 10", "buffer = '1MB'\nmodel = 'per_port'\npfc = { enabled = false }", 1_000),
    ] {
        let rto = rto_us(topology, switch);
        assert!((drain_us..drain_us + 100).contains(&rto), "{topology}, {switch}: {rto} us");
    }
}

/// What only the network shows: telemetry has room for five switches, go-back-N and packets on several paths do not go together, and
/// hosts share a load evenly whatever their links.
#[test]
fn schemes_and_loads_the_network_is_not_made_for_are_told() {
    let told = |text: &str, start: &str| {
        let warnings = crate::assemble::assemble(&crate::spec::parse(text, "test", &[]).unwrap()).unwrap().warnings;
        warnings.into_iter().find(|w| w.starts_with(start))
    };
    let run = "[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n";
    let lot = |hops: u32, cc: &str| {
        told(
            &format!("[topology]\nkind = 'parking_lot'\nhops = {hops}\n[schemes.s]\ncc = '{cc}'\n{run}"),
            "schemes.s: telemetry",
        )
    };
    assert!(lot(5, "hpcc").is_some_and(|w| w.contains("room for 5 switches, and paths cross up to 6")));
    assert_eq!(lot(4, "hpcc"), None, "five switches");
    assert_eq!(lot(5, "hpcc_pint"), None, "it carries the largest of any number");
    let far = |delay: &str, cc: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nlink_delay = '{delay}'\n[schemes.s]\ncc = '{cc}'\n[switch.pfc]\nenabled = false\n{run}"
        );
        told(
            &text,
            if cc == "express_pass" {
                "schemes.s: a round trip ("
            } else {
                "schemes.s never slows down: a round trip ("
            },
        )
    };
    assert_eq!([far("4ms", "hpcc_tcp").is_some(), far("3ms", "hpcc_tcp").is_some()], [true, false]);
    assert_eq!(far("4ms", "hpcc"), None, "every packet carries telemetry");
    assert_eq!([far("280ms", "express_pass").is_some(), far("270ms", "express_pass").is_some()], [true, false]);
    let long = |delay: &str, cc: &str| {
        let text = format!("[topology]\nkind = 'star'\nlink_delay = '{delay}'\n[schemes.s]\ncc = '{cc}'\n{run}");
        told(&text, "schemes.s: a round trip (").is_some_and(|w| w.contains("packets on the fastest links"))
    };
    assert_eq!([long("20us", "hpcc_pint"), long("10us", "hpcc_pint"), long("20us", "hpcc")], [true, false, false]);
    let spray = |cc: &str, spines: u32| {
        let text = format!(
            "[topology]\nkind = 'leaf_spine'\nspines = {spines}\n[routing]\nchoice = 'spray'\n[schemes.s]\ncc = '{cc}'\n{run}"
        );
        told(&text, "schemes.s with routing.choice")
    };
    assert!(spray("hpcc", 2).is_some_and(|w| w.ends_with("telemetry of several paths is taken for one")));
    assert!(spray("dcqcn", 2).is_some_and(|w| w.ends_with("for losses")));
    assert_eq!(spray("dcqcn", 1), None, "one path");
    assert_eq!(spray("new_reno", 2), None, "TCP puts segments in order");
    assert!(spray("hpcc_tcp", 2).is_some_and(|w| w.ends_with("telemetry of several paths is taken for one")));
    assert_eq!(spray("hpcc_tcp", 1), None, "one path");
    let one_path = |choice: &str, spines: u32, cc: &str| {
        let text = format!(
            "[topology]\nkind = 'leaf_spine'\nspines = {spines}\n[routing]\nchoice = '{choice}'\n[switch.pfc]\nenabled = false\n\
             [switch.trimming]\nenabled = {}\n[schemes.s]\ncc = '{cc}'\n{run}",
            cc == "ndp"
        );
        told(&text, "schemes.s without routing.choice").is_some()
    };
    assert!(one_path("flow_hash", 2, "ndp"));
    assert!(!one_path("spray", 2, "ndp") && !one_path("flow_hash", 1, "ndp") && !one_path("flow_hash", 2, "homa"));
    let uneven = |value: f64, slow: u32| {
        let links = [slow, slow, 100, 100].into_iter().enumerate();
        let links: Vec<_> =
            links.map(|(i, r)| format!("{{ a = 'h{i}', b = 's', rate = '{r}Gbps', delay = '1us' }}")).collect();
        let links = links.join(",\n");
        let text = format!(
            "[topology]\nkind = 'graph'\nhosts = ['h0', 'h1', 'h2', 'h3']\nswitches = ['s']\nlinks = [\n{links}]\n[schemes.s]\ncc = 'hpcc'\n\
             [[workloads]]\nkind = 'poisson'\nsizes = '10KB'\nend = '1ms'\nload = {{ value = {value} }}\n"
        );
        told(&text, "workloads.0.load: every host")
    };
    // 250 Gb/s at half load is 31.25 Gb/s for each of the four.
    assert!(uneven(0.5, 25).is_some_and(|w| w.ends_with("125 % of what hosts of 25Gbps carry, 31 % at 100Gbps")));
    assert_eq!(uneven(0.3, 25), None);
    assert_eq!(uneven(0.9, 100), None, "all alike");
}

/// Who opens a connection per message reads of NICs that the program chose, which do not count there.
#[test]
fn nics_that_a_program_names_in_vain_are_told() {
    let told = |rails: &str, changes: &[&str]| {
        let text = format!(
            "[topology]\nkind = 'graph'\nhosts = ['h0', 'h1']\nswitches = ['s0', 's1']\nlinks = [{{a = 'h0', b = 's0'}}, {{a = 'h1', b = \
             's0'}}, {rails}]\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'mpi'\nprogram = 'collective'\nconnections = \
             'new'\nchannels = 2\n"
        );
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let spec = crate::spec::parse(&text, "test", &changes).unwrap();
        let warnings = crate::assemble::assemble(&spec).unwrap().warnings;
        warnings.iter().any(|w| w.starts_with("workloads.0.connections = \"new\": every message draws its NIC"))
    };
    let two = "{a = 'h0', b = 's1'}, {a = 'h1', b = 's1'}";
    assert!(told(two, &[]));
    assert!(!told(two, &["workloads.0.connections=open"]));
    assert!(!told(two, &["workloads.0.channels=1"]), "names none");
    assert!(!told("{a = 's0', b = 's1'}", &[]), "one NIC each");
}

/// By hand for 100 Gb/s and 1 us each way: 25,000 bytes in the round trip, three frames of 1000 + 48 + 42 bytes and eight pause
/// frames of 43.
#[test]
fn missing_headroom_is_reckoned_up() {
    let told = |changes: &[&str]| {
        let warnings = crate::assemble::assemble(&least(changes)).unwrap().warnings;
        warnings.into_iter().find(|w| w.starts_with("switch.pfc.headroom"))
    };
    let text = told(&["switch.pfc.headroom=1x"]).unwrap();
    assert_eq!(
        text,
        "switch.pfc.headroom sets 12500 bytes aside for the link host0->tor0, over which 28614 may arrive after a pause \
         (100Gbps and back in 2us, three frames of 1090 bytes, eight pause frames of 43): packets may be lost; enough is \
         headroom = \"auto\" or \"3x\""
    );
    assert!(told(&["topology.link_delay=10ns"]).is_some_and(|w| w.contains("sets 375 bytes") && w.contains("\"31x\"")));
    let fine: [&[&str]; 4] = [
        &[],
        &["switch.pfc.headroom=28614B"],
        &["switch.pfc.headroom=auto"],
        &["switch.pfc.enabled=false", "switch.pfc.headroom=1x"],
    ];
    for changes in fine {
        assert_eq!(told(changes), None, "{changes:?}");
    }
    assert!(told(&["switch.pfc.headroom=28613B"]).is_some());
    // A port's own buffer: two frames over the threshold, as none is under way when it is passed.
    let xoff = |buffer: &str, xoff: &str| {
        let changes = ["switch.model=per_port", &format!("switch.buffer={buffer}"), &format!("switch.pfc.xoff={xoff}")];
        let warnings = crate::assemble::assemble(&least(&changes)).unwrap().warnings;
        warnings.into_iter().find(|w| w.starts_with("switch.pfc.xoff sets 1000 bytes aside"))
    };
    assert!(xoff("200KB", "199KB").is_some_and(|w| w.ends_with("B\"") && w.contains("enough is xoff = \"17")));
    // It advised 0 B, which is refused.
    assert!(
        xoff("20KB", "19KB")
            .is_some_and(|w| w.ends_with("no xoff is enough where a class has 20000 bytes of a port's buffer"))
    );
    // The time through the switch counts as delay of what leaves it, the pause too.
    assert!(told(&["switch.delay=1us", "switch.pfc.headroom=1x"]).is_some_and(|w| w.contains("41114 may arrive")));
}

#[test]
fn a_small_buffer_is_used_up_by_headroom() {
    let warnings = lint(&least(&["switch.buffer=100KB"]));
    assert!(warnings.iter().any(|w| w.starts_with("switch.buffer (100KB) is used up")), "{warnings:?}");
}

/// Limiters whose lowest rate is that of the link never limit: queues and losses of such a run are those without QCN.
#[test]
fn limiters_that_cannot_limit_are_told() {
    let told = |changes: &[&str]| {
        let qcn = ["schemes.hpcc.cc=new_reno", "switch.qcn.enabled=true", "host.adapter.enabled=true"];
        let warnings = crate::assemble::assemble(&least(&[&qcn[..], changes].concat())).unwrap().warnings;
        warnings.into_iter().find(|w| w.starts_with("host.qcn.min_rate"))
    };
    let text = "host.qcn.min_rate (100Gbps) is not below the slowest host links (100Gbps): notifications slow nobody down there";
    assert_eq!(told(&["host.qcn.min_rate=100Gbps"]).as_deref(), Some(text));
    assert_eq!(told(&["host.qcn.min_rate=99Gbps"]), None);
    assert_eq!(told(&["host.qcn.min_rate=100Gbps", "host.qcn.reaction=window"]), None, "there are no limiters");
}

/// Timers and windows that a path is too long for, or too short. A timeout within a round trip runs out for every packet: NDP sent each
/// of 40,000 some twenty times, and nothing said why.
#[test]
fn timers_and_windows_that_do_not_suit_the_path_are_told() {
    let told = |changes: &[&str]| crate::assemble::assemble(&least(changes)).unwrap().warnings;
    let wide = "switch.buffer=1GB";
    for (scheme, field) in [
        ("{ cc = 'ndp' }", "schemes.hpcc.rto (1ms)"),
        ("{ cc = 'homa' }", "schemes.hpcc.resend_timeout (5ms)"),
        ("{ cc = 'homa' }", "schemes.hpcc.sender_timeout (5ms)"),
        ("{ cc = 'express_pass' }", "schemes.hpcc.retransmit_timeout (100us)"),
        ("{ cc = 'dcqcn' }", "host.rto (1ms)"),
        ("{ cc = 'cubic' }", "host.tcp.rto_initial (1ms)"),
    ] {
        let scheme = format!("schemes.hpcc={scheme}");
        let with = |delay: &str| {
            let changes = ["host.rto=1ms", "host.tcp.rto_initial=1ms", NO_PFC, wide, &scheme, delay];
            let start = format!("{field} is not longer than the network's base RTT");
            told(&changes).into_iter().find(|w| w.starts_with(&start))
        };
        assert!(with("topology.link_delay=2ms").is_some(), "{field}");
        assert_eq!(with("topology.link_delay=1us"), None, "{field}");
    }
    let buffer = |changes: &[&str]| {
        let all = [&["schemes.hpcc.cc=cubic", NO_PFC, wide, "topology.link_delay=200us"], changes].concat();
        told(&all).into_iter().find(|w| w.contains("is less than a bandwidth-delay product"))
    };
    // 100 Gb/s and twice 400 us, and 80 ns for a payload on each link, are 10 MB and 2 KB.
    assert!(
        buffer(&[]).is_some_and(|w| w.starts_with("host.tcp.send_buffer_max (4MiB) is less") && w.contains("(10002KB"))
    );
    assert!(buffer(&["host.tcp.send_buffer_max=16MiB"]).is_some_and(|w| w.starts_with("host.tcp.receive_buffer_max")));
    assert_eq!(buffer(&["host.tcp.send_buffer_max=16MiB", "host.tcp.receive_buffer_max=16MiB"]), None);
    assert_eq!(buffer(&["schemes.hpcc.cc=hpcc"]), None, "not TCP");
    let held = |changes: &[&str]| {
        let all = [&["schemes.hpcc.cc=hpcc_tcp", NO_PFC], changes].concat();
        told(&all).into_iter().find(|w| w.contains("ACKs wait for host.tcp.ack_delay (40ms)"))
    };
    assert!(
        held(&[
            "topology.host_rate=1Gbps",
            "topology.link_delay=0s",
            "framing.payload=9000B",
            "schemes.hpcc.window=9KB"
        ])
        .is_some()
    );
    assert!(
        held(&["schemes.hpcc.window=1999B"])
            .is_some_and(|w| w.starts_with("schemes.hpcc.eta (0.95) of the window at line rate (1999B)"))
    );
    assert!(held(&["schemes.hpcc.window=2KB"]).is_some(), "0.95 of it are less than two segments");
    assert_eq!(held(&["schemes.hpcc.window=2106B"]), None);
    assert_eq!(held(&["schemes.hpcc.window=1999B", "host.tcp.ack_segments=1"]), None);
}

/// Seven flows of 520 KB over HPCC/TCP to one host took 80 ms instead of 0.4, twice the delay of an ACK, without a word.
#[test]
fn windows_that_fall_below_what_an_ack_waits_for_are_told() {
    let told = |changes: &[&str]| {
        let all = [&["schemes.hpcc.cc=hpcc_tcp", NO_PFC], changes].concat();
        let warnings = crate::assemble::assemble(&least(&all)).unwrap().warnings;
        warnings.into_iter().find(|w| w.starts_with("schemes.hpcc: where flows meet"))
    };
    assert!(told(&[]).is_some_and(|w| w.contains("min_window (1)") && w.contains("(2)") && w.contains("(40ms)")));
    for remedy in
        ["host.tcp.min_window=2", "host.tcp.ack_segments=1", "host.tcp.ack_delay=50us", "host.tcp.stack=user_space"]
    {
        assert_eq!(told(&[remedy]), None, "{remedy}");
    }
    assert_eq!(told(&["schemes.hpcc={ cc = 'new_reno' }"]), None, "no such windows");
}

/// The lowest rates are made for hosts of 100 Gb/s: on hosts of 1 Gb/s HPCC, DCQCN and others never slowed down, without a word.
#[test]
fn lowest_rates_that_fill_slow_links_are_told() {
    let told = |rate: &str, cc: &str| {
        let changes = [format!("topology.host_rate={rate}"), format!("schemes.hpcc.cc={cc}")];
        let warnings = crate::assemble::assemble(&least(&[&changes[0], &changes[1]])).unwrap().warnings;
        warnings.into_iter().find(|w| w.starts_with("schemes.hpcc.min_rate (1Gbps) is"))
    };
    for cc in ["hpcc", "hpcc_pint", "dcqcn", "timely", "dctcp"] {
        assert!(told("1Gbps", cc).is_some_and(|w| w.ends_with("(1Gbps): flows never slow down there")), "{cc}");
        assert!(told("10Gbps", cc).is_some_and(|w| w.contains("more than 10 flows to one")), "{cc}");
        assert_eq!(told("25Gbps", cc), None);
    }
    assert_eq!(told("1Gbps", "none"), None);
}
