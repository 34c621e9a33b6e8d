//! Networks at the borders of what windows assume, which random scenarios do not draw: rates that differ widely by direction, frames
//! smaller and larger than those of data, packets that come when their flow is long over.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::{run_sampled, run_text};
use paceline_proto::units::S;
use paceline_sim::assemble::assemble;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::spec::parse;

/// The engines, and any number of threads, give the same bytes, also where no sample cuts windows short.
fn agree(toml: &str) {
    let run = |threads, interval| {
        let assembled = assemble(&parse(toml, "test", &[]).unwrap_or_else(|e| panic!("{e}\n{toml}"))).unwrap();
        run_sampled(&assembled.scenario, assembled.source, &assembled.classes, threads, interval)
    };
    for interval in [1_234_567, S] {
        let sequential = run(None, interval);
        for threads in [1, 2, 3] {
            let windowed = run(Some(threads), interval);
            assert!(windowed.outcome == sequential.outcome, "{threads} threads differ:\n{toml}");
        }
    }
}

/// Ten hosts send at 100 Gb/s into a switch whose own ports have 1 Gb/s: what its buffer takes in within a window follows from the
/// rates of the links towards it. Taken from its own, a full buffer went unnoticed for a window.
#[test]
fn a_switch_fills_at_the_rate_of_what_comes() {
    let link = |i: u32| format!("{{ a = 'h{i}', b = 's', rate = '100Gbps', rate_back = '1Gbps', delay = '50us' }},");
    let flow = |i: u32| format!("{{ src = 'h{i}', dst = 'r', bytes = '400KB', start = '5us' }},");
    let hosts: Vec<String> = (0..10).map(|i| format!("h{i}")).chain(["r".into()]).collect();
    let (links, flows): (String, String) = ((0..10).map(link).collect(), (0..10).map(flow).collect());
    for pfc in [false, true] {
        agree(&format!(
            "[topology]\nkind = 'graph'\nhosts = {hosts:?}\nswitches = ['s']\n\
             links = [{links}{{ a = 'r', b = 's', rate = '1Gbps', rate_back = '10Gbps', delay = '50us' }}]\n\
             [switch]\nbuffer = '{}'\npfc.enabled = {pfc}\n[host]\nrto = '2ms'\n[run]\nstop = '6ms'\n\
             [schemes.x]\ncc = 'none'\nwindow = 'off'\n[[workloads]]\nkind = 'flows'\nrows = [{flows}]\n",
            if pfc { "40MB" } else { "2MB" }
        ));
    }
}

/// Without padding, data of one byte are the smallest frames: what they need on a link is part of how far windows see.
#[test]
fn unpadded_frames_shorten_windows() {
    agree(
        "[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = '10Gbps'\n\
         fabric_rate = '10Gbps'\nlink_delay = '100ns'\n[framing]\nheader = '8B'\nmin_frame = '64B'\npfc_frame = '64B'\n\
         ack_header = '64B'\n[quirks]\nunpadded_data = true\n[schemes.x]\ncc = 'none'\n[run]\nstop = '1ms'\n\
         [[workloads]]\nkind = 'poisson'\nsizes = '1B'\nload = { value = 0.6 }\nend = '60us'\nmax_flows = 20000\n",
    );
}

/// By a clock of whole nanoseconds a frame of 60 B takes no time at 1.6 Tb/s; several then leave at one instant, which windows cannot
/// put in order. Ports of the reference simulator count for ever what a failed link took from them, which a port's window does not see.
#[test]
fn what_windows_cannot_do_they_refuse() {
    let refused = |text: &str| {
        let assembled = assemble(&parse(text, "test", &[]).unwrap()).unwrap();
        Windowed::new(&assembled.scenario, assembled.source).err().unwrap().to_string()
    };
    let fast = "[topology]\nkind = 'star'\nhosts = 6\nhost_rate = '1600Gbps'\nlink_delay = '1us'\n[quirks]\nclock_1ns = true\n\
                [schemes.x]\ncc = 'none'\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n";
    assert!(refused(fast).contains("lookahead"), "{}", refused(fast));
    let failing = "[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nlinks_per_pair = 2\n[quirks]\nlink_down = true\n\
                   [host]\nrto = '100us'\n[[failures]]\nlink = ['tor0', 'agg0']\ndown = '20us'\nup = '60us'\n[schemes.x]\ncc = 'hpcc'\n\
                   [[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n";
    assert!(refused(failing).contains("link_down"), "{}", refused(failing));
}

/// A frame may be larger than data, ACKs and pauses are: the credits of ExpressPass, QCN's notifications. Its time on a link was
/// looked up in a table that ended before.
#[test]
fn control_frames_may_be_the_largest() {
    let star = "[topology]\nkind = 'star'\nhosts = 4\nhost_rate = '7Gbps'\nlink_delay = '1us'\n[switch]\npfc.enabled = false\n\
                [run]\nstop = '20ms'\n[[workloads]]\nkind = 'incast'\nsenders = 3\nsizes = '3KB'\n";
    agree(&format!("{star}[framing]\npreset = 'ethernet'\npayload = '6B'\n[schemes.x]\ncc = 'express_pass'\n"));
    let qcn = "[framing]\npayload = '1B'\n[switch.qcn]\nenabled = true\nset_point = '1KB'\nsample_base = '10KB'\n\
               [host.adapter]\nenabled = true\n[schemes.x]\ncc = 'cubic'\n";
    assert!(run_text(&format!("{star}{qcn}"), 0.0, None).outcome.counters.notifications > 0);
}

/// Bytes of queues have 32 bits. Where ingress ports have the buffer all of it may wait at one port, whose length would begin at 0 again.
#[test]
fn no_queue_is_longer_than_can_be_counted() {
    let star = |buffer: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 16\n[switch]\nmodel = 'per_port'\nbuffer = '{buffer}'\n[schemes.x]\ncc = 'none'\n\
             [[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n"
        );
        let assembled = assemble(&parse(&text, "test", &[]).unwrap()).unwrap();
        Windowed::new(&assembled.scenario, assembled.source).err().map(|e| e.to_string())
    };
    assert_eq!(star("250MB"), None);
    let refused = star("300MB").unwrap();
    assert!(refused.contains("switch.buffer") && refused.contains("at most 250MB"), "{refused}");
}

/// A packet that was sent twice may come when its flow is over and thousands of others have been. Whether it is answered must not
/// depend on which of them has got the flow's place, which differs by threads: within the time in which receivers know ended flows, and
/// after it.
#[test]
fn late_packets_of_ended_flows_do_not_depend_on_threads() {
    let network = |near: &str, links: &str| {
        let link = |a: &str, b: &str| format!("{{ a = '{a}', b = '{b}', rate = '100Gbps', delay = '{near}' }},");
        let hosts = [("a", "s"), ("c", "s"), ("d", "s"), ("b", "t"), ("e", "t"), ("f", "t")].map(|(a, b)| link(a, b));
        format!(
            "[topology]\nkind = 'graph'\nhosts = ['a', 'b', 'c', 'd', 'e', 'f']\nswitches = ['s', 't']\n\
             links = [{}{links}]\n[switch]\npfc.enabled = false\n",
            hosts.concat()
        )
    };
    let between = |delay: &str| format!("{{ a = 's', b = 't', rate = '100Gbps', delay = '{delay}' }},");
    let load = |bytes: &str, flows: u32, load: &str| {
        let far = |i| ["a", "b"].map(|h| if (i % 2 == 0) == (h == "a") { "src" } else { "dst" });
        let flow = |i| {
            let [a, b] = far(i);
            format!("{{ {a} = 'a', {b} = 'b', bytes = '{bytes}', start = '{i}us' }},")
        };
        let rows: String = (0..flows).map(flow).collect();
        format!(
            "[[workloads]]\nkind = 'flows'\ngroup = 'far'\nrows = [{rows}]\n\
             [[workloads]]\nkind = 'poisson'\nsizes = '1B'\ngroup = 'tiny'\nhosts = ['c', 'd']\n{load}\n"
        )
    };
    let rdma =
        |rto: &str, stop: &str| format!("[host]\nrto = '{rto}'\n[schemes.x]\ncc = 'none'\n[run]\nstop = '{stop}'\n");
    let tcp = |rto: &str, stop: &str| {
        format!(
            "[host]\ntcp = {{ rto_initial = '{rto}', rto_min = '{rto}', ack_delay = '0s' }}\n[schemes.x]\ncc = 'new_reno'\n\
             [run]\nstop = '{stop}'\n"
        )
    };
    // Copies come 35 ms after the end of their flow, of which the receiver knows nothing any more, and 0.2 ms after it.
    let after = load("20KB", 2, "load = { value = 0.00003 }\nstart = '84ms'\nend = '125ms'");
    agree(&format!("{}{}{after}", network("40us", &between("40ms")), rdma("75ms", "140ms")));
    let soon = load("20KB", 2, "load = { value = 0.001 }\nend = '900us'");
    agree(&format!("{}{}{soon}", network("1us", &between("200us")), rdma("300us", "1500us")));
    // Data sent twice; and SYNs, of which the first takes the longer of two ways.
    let data = load("20KB", 2, "load = { value = 0.0001 }\nstart = '13ms'\nend = '19ms'");
    agree(&format!("{}{}{data}", network("1us", &between("3900us")), tcp("6ms", "30ms")));
    let opened = load("1KB", 40, "load = { value = 0.0004 }\nend = '10ms'");
    let ways = network("1us", &(between("1us") + &between("3900us")));
    agree(&format!("{ways}[routing]\nchoice = 'spray'\n{}{opened}", tcp("500us", "12ms")));
}

/// On ways of more than six switches a switch looks the next port up by its flow's place. ACKs by a longer way, and SYNs that were sent
/// again, come when the flow is long over: given to another flow meanwhile, its way led them to ports that switches do not have, and what
/// they met depended on threads.
#[test]
fn late_packets_on_long_ways_go_no_other_flows_way() {
    let link = |a: &str, b: &str, delay: &str| format!("{{ a = '{a}', b = '{b}', delay = '{delay}' }},");
    let network = |near: &str| {
        let chain: String = (0..7).map(|i| link(&format!("s{i}"), &format!("s{}", i + 1), near)).collect();
        let hosts: String =
            [("a", "s0"), ("c", "s7"), ("e", "s1"), ("d", "s1")].map(|(h, s)| link(h, s, near)).concat();
        format!(
            "[topology]\nkind = 'graph'\nhosts = ['a', 'c', 'd', 'e']\nswitches = ['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7']\n\
             links = [{hosts}{chain}{}]\n[routing]\nchoice = 'spray'\n[switch]\npfc.enabled = false\n[schemes.t]\ncc = 'new_reno'\n",
            link("s0", "s1", "100ms")
        )
    };
    let incast = |from: &str, to: &str, sizes: &str, count: u32, rest: &str| {
        format!(
            "[[workloads]]\nkind = 'incast'\nhosts = ['{from}', '{to}']\nsenders = 1\nrandom_senders = false\nreceiver = '{to}'\n\
             sizes = '{sizes}'\ncount = {count}\n{rest}\n"
        )
    };
    let tcp = |rto: &str| {
        format!("[host]\ntcp = {{ rto_initial = '{rto}', rto_min = '{rto}', ack_delay = '0s', ack_segments = 1 }}\n")
    };
    let others = incast("c", "d", "1B", 4750, "start = '1us'\nperiod = '20us'");
    let acks = incast("c", "a", "3KB", 300, "period = '1ns'");
    agree(&format!("{}{}{acks}{others}", network("100us"), tcp("500ms")));
    let opened = incast("a", "c", "1B", 20, "period = '1ns'");
    agree(&format!("{}{}{opened}{others}", network("30us"), tcp("1ms")));
}
