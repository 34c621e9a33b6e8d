//! UDP beside TCP in whole networks: rates, what is lost and who loses it, in both engines and on any number of threads.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;

use crate::common::{Outcome, run_text};
use paceline_sim::engine::Ending;
use paceline_sim::record::{PacketEvent, Status};
use proptest::prelude::*;

/// The results of both engines, the windowed one on one thread and on three, which agree.
fn run(text: &str) -> Outcome {
    let [sequential, one, three] = [None, Some(1), Some(3)].map(|threads| run_text(text, 0.0, threads).outcome);
    assert_eq!(sequential, one, "engines differ\n{text}");
    assert_eq!(one, three, "threads differ\n{text}");
    let (sum, c) =
        (sequential.traffic.iter().fold((0, 0), |s, t| (s.0 + t.packets, s.1 + t.dropped_packets)), &one.counters);
    assert_eq!((sum.0, sum.1), (c.data_made, c.data_dropped), "every data packet belongs to a scheme");
    assert_eq!(c.data_made, c.data_delivered + c.data_dropped, "packets are conserved at the end");
    sequential
}

const STAR: &str = "[topology]\nkind = 'star'\nhosts = 5\nhost_rate = '10Gbps'\nlink_delay = '1us'\n
[framing]\npayload = '1448B'\nheader = '52B'\nack_header = '52B'\nmin_frame = '64B'\npfc_frame = '64B'\nwire_overhead = '20B'\n
[switch]\nmodel = 'per_port'\nbuffer = '102400B'\necn = { enabled = false }\n
[schemes.udp]\ncc = 'udp'\nRATE\n[schemes.tcp]\ncc = 'new_reno'\n";

fn star(rate: &str, pfc: bool, rows: &str) -> Outcome {
    let pfc = format!("[switch.pfc]\nenabled = {pfc}\nheadroom = 'auto'\n");
    let flows = format!("[[workloads]]\nkind = 'flows'\nscheme = 'udp'\nrows = [{rows}]\n");
    run(&format!("{}{pfc}{flows}", STAR.replace("RATE", rate)))
}

/// By hand: 4000 bytes at 1 Gb/s are two full datagrams of 1520 bytes on the wire, 12.16 us each, and one of 1104 + 72, which the
/// host's link of 10 Gb/s takes 940.8 ns to send; it arrives 1 us, 940.8 ns and 1 us later.
#[test]
fn a_flow_alone_takes_its_time() {
    let alone = star("rate = '1Gbps'", true, "{ src = 0, dst = 1, bytes = '4000B' }");
    let f = alone.flows[0];
    assert_eq!((f.status, f.lost, f.retransmitted), (Status::Finished, 0, 0));
    assert_eq!((f.fct_sender, f.fct_receiver), (24_320_000 + 940_800, 24_320_000 + 2 * 940_800 + 2_000_000));
    // The ideals are those of a flow at line rate: full datagrams in 1216 ns, the last one waits for the one before it.
    assert_eq!((f.ideal_sender, f.ideal_receiver), (2 * 1_216_000 + 940_800, 3 * 1_216_000 + 940_800 + 2_000_000));
    let line = star("", true, "{ src = 0, dst = 1, bytes = '4000B' }").flows[0];
    assert_eq!((line.fct_sender, line.fct_receiver), (line.ideal_sender, line.ideal_receiver));
}

/// A run that stops while datagrams are on their way has been stopped, although their sender is done: its time is that of the stop, not
/// that of the last flow whose datagrams have all come, or 0.
#[test]
fn a_stop_with_datagrams_on_their_way_is_one() {
    let text = |stop: &str| {
        format!(
            "{}[run]\nstop = '{stop}'\n[[workloads]]\nkind = 'flows'\nscheme = 'udp'\n\
             rows = [{{ src = 0, dst = 1, bytes = '1000B' }}]\n",
            STAR.replace("RATE", "")
        )
    };
    // One datagram of 1072 bytes on the wire, 857.6 ns on either link, and 1 us of each wire.
    for (stop, ending) in [("3us", Ending::Stopped), ("4us", Ending::Completed)] {
        for threads in [None, Some(1), Some(2)] {
            assert_eq!(run_text(&text(stop), 0.0, threads).outcome.ending, ending, "{stop}, {threads:?} threads");
        }
    }
}

/// Nor does it say that anything happened after the stop: the flow above has gone after 857.6 ns, and a stop at that instant or earlier
/// finds it unfinished, with its datagram on the first link. Also where that loses it, so that nothing at all is to come any more, and
/// where another flow would start later.
#[test]
fn a_flow_that_ends_at_the_stop_is_unfinished() {
    for (stop, finished) in [("1ns", 0), ("857599ps", 0), ("857600ps", 0), ("857601ps", 1)] {
        for rest in ["", ", { start = '5us', src = 1, dst = 2, bytes = '1B' }"] {
            let text = format!(
                "{}[run]\nstop = '{stop}'\n[[workloads]]\nkind = 'flows'\nscheme = 'udp'\n\
                 rows = [{{ src = 0, dst = 1, bytes = '1000B' }}{rest}]\n",
                STAR.replace("RATE", "")
            );
            for (lost, threads) in [false, true].into_iter().flat_map(|l| [None, Some(1), Some(2)].map(|t| (l, t))) {
                let outcome = run_text(&text, if lost { 1.0 } else { 0.0 }, threads).outcome;
                let case = format!("{stop}, lost {lost}, {threads:?} threads{rest}");
                let told = finished == 1 && lost;
                let all_over = told && rest.is_empty();
                let ending = if all_over { Ending::Completed } else { Ending::Stopped };
                assert_eq!((outcome.ending, outcome.counters.finished), (ending, finished), "{case}");
                // A record tells of an end once all datagrams have arrived or are lost.
                let ends: Vec<_> = outcome.flows.iter().map(|f| (f.status, f.fct_sender, f.lost)).collect();
                assert_eq!(ends, if told { vec![(Status::Finished, 857_600, 1)] } else { Vec::new() }, "{case}");
            }
        }
    }
}

/// Three hosts at line rate into one: two thirds are lost at a switch that drops, evenly enough; beside them a TCP flow loses less of
/// what it sends. Under PFC everything arrives, only later.
#[test]
fn overload_is_lost_or_held_up() {
    let row = |src: u32, scheme: &str, bytes: &str| {
        format!("{{ src = {src}, dst = 4, bytes = '{bytes}', scheme = '{scheme}' }}")
    };
    let rows: Vec<_> = (0..3).map(|h| row(h, "udp", "3MB")).chain([row(3, "tcp", "500KB")]).collect();
    let lossy = star("", false, &rows.join(", "));
    let [udp, tcp] = [lossy.traffic[0], lossy.traffic[1]];
    let sent = 3 * 3_000_000u64.div_ceil(1448);
    assert_eq!(udp.packets, sent);
    assert!(udp.dropped_packets * 10 > sent * 5 && udp.dropped_packets * 10 < sent * 7, "{udp:?}");
    assert_eq!(lossy.flows.iter().map(|f| u64::from(f.lost)).sum::<u64>(), udp.dropped_packets);
    assert!(tcp.dropped_packets > 0 && tcp.delivered_bytes == 500_000, "{tcp:?}");
    for f in &lossy.flows[..3] {
        assert_eq!((f.status, f.fct_receiver), (Status::Finished, 0), "not all of it arrived");
        assert!(f.fct_sender < 2_600_000_000, "nothing holds a sender up");
    }
    let lossless = star("", true, &rows.join(", "));
    assert_eq!((lossless.counters.drops_buffer, lossless.traffic[0].delivered_bytes), (0, 9_000_000));
    assert!(lossless.flows[..3].iter().all(|f| f.lost == 0 && f.fct_receiver > 6_000_000_000));
    // A flow ends when its last datagram has gone, not when that begins to wait at a NIC that is paused.
    let last = lossless.packets.iter().rfind(|p| p.port == 1 && p.event == PacketEvent::Sent).unwrap();
    assert_eq!(lossless.flows[1].fct_sender, last.arrival - 1_000_000);
}

/// Thresholds mark only what says that it understands marks: new data of TCP with ECN, not that of TCP without it, not UDP's, not
/// what is sent again (RFC 3168, section 6.1.5). A marked retransmission would halve a window for a queue that its loss has told of.
#[test]
fn only_ect_packets_are_marked() {
    let rows = |scheme| (0..4).map(move |h| format!("{{ src = {h}, dst = 4, bytes = '1MB', scheme = '{scheme}' }}"));
    // Everything that leaves a packet behind is to be marked.
    let marking = "k_min = '0B'\nk_max = '0B'\np_max = 1.0\n";
    let text = |ecn: bool, scheme| {
        let star = STAR.replace("ecn = { enabled = false }", "").replace("102400B", "30000B").replace("RATE", "");
        let rows: Vec<_> = rows(scheme).collect();
        format!(
            "{star}[switch.pfc]\nenabled = false\n[switch.ecn]\n{marking}[host.tcp]\nrto_min = '1ms'\necn = {ecn}\n\
             [[workloads]]\nkind = 'flows'\nscheme = 'udp'\nrows = [{}]\n",
            rows.join(", ")
        )
    };
    let marks = |ecn, scheme| run(&text(ecn, scheme)).counters.marks;
    assert_eq!((marks(false, "tcp"), marks(true, "udp")), (0, 0));
    // Four windows of ten segments meet in a port for twenty: there are losses, and fewer marks than new data.
    let with = run(&text(true, "tcp"));
    assert!(with.counters.drops_buffer > 0 && with.counters.retransmitted > 0, "{:?}", with.counters);
    assert!(with.counters.marks > 50, "{:?}", with.counters);
}

/// Racks with TCP and UDP flows between them, of any size.
fn mixed() -> impl Strategy<Value = String> {
    let flows = prop::collection::vec((0u64..40, 0u32..9, 1u32..9, 1u64..200_000, any::<bool>(), 3u8..5), 1..30);
    let rate = prop::sample::select(vec!["", "rate = '300Mbps'", "rate = '4Gbps'"]);
    (flows, rate, any::<[bool; 2]>(), 0u64..100).prop_map(|(mut flows, rate, [pfc, red], seed)| {
        flows.sort_by_key(|f| f.0);
        let mut text = format!(
            "seed = {seed}\n[topology]\nkind = 'leaf_spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\nhost_rate = '10Gbps'\n\
             fabric_rate = '10Gbps'\n[switch]\nmodel = 'per_port'\nbuffer = '40KB'\necn = {{ enabled = false }}\n\
             red = {{ enabled = {red}, min = '4KB', max = '20KB', weight = 0.1 }}\n\
             [switch.pfc]\nenabled = {pfc}\nheadroom = 'auto'\n[host.tcp]\nrto_min = '1ms'\necn = {red}\n\
             [schemes.udp]\ncc = 'udp'\n{rate}\n[schemes.tcp]\ncc = 'new_reno'\n[[workloads]]\nkind = 'flows'\nscheme = 'udp'\nrows = [\n"
        );
        for (us, src, by, bytes, tcp, class) in flows {
            let scheme = if tcp { "tcp" } else { "udp" };
            let dst = (src + by) % 9;
            if dst != src {
                let _ = writeln!(
                    text,
                    "{{ start = '{us}us', src = {src}, dst = {dst}, bytes = '{bytes}B', scheme = '{scheme}', class = {class} }},"
                );
            }
        }
        text + "{ src = 0, dst = 8, bytes = '1B' }]\n"
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn engines_and_threads_agree(text in mixed()) {
        let r = run(&text);
        prop_assert_eq!((&r.ending, r.alive), (&Ending::Completed, 0));
        let lost: u64 = r.flows.iter().map(|f| u64::from(f.lost)).sum();
        prop_assert_eq!(lost, r.traffic[0].dropped_packets);
        let udp = r.flows.iter().filter(|f| f.scheme == 0);
        for f in udp {
            prop_assert_eq!(f.status, Status::Finished);
            prop_assert_eq!(f.fct_receiver > 0, f.lost == 0);
        }
    }
}
