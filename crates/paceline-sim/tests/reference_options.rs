//! Options of the HPCC reference simulator that none of our runs of it has (`tests/parity.rs`). Completion times that are no
//! whole rule's consequence were computed by an independent model of that simulator (bytes and whole nanoseconds, event by event),
//! which reproduces the small runs that we have of it line by line.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_sim::InputError;
use paceline_sim::hpcc::{Options, Prepared};
use paceline_sim::scenario::{EngineChoice, Quirks};

/// `n` hosts around a switch.
fn star(n: u32, rate: &str) -> String {
    let mut text = format!("{} 1 {n}\n{n}\n", n + 1);
    for host in 0..n {
        writeln!(text, "{host} {n} {rate} 1000ns 0").unwrap();
    }
    text
}

/// Hosts 0 to 2 and 3 at the ends of a row of switches.
fn row(switches: u32) -> String {
    let last = 3 + switches;
    let mut links = "0 4 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n2 4 100Gbps 1000ns 0\n".to_string();
    for switch in 4..last {
        writeln!(links, "{switch} {} 100Gbps 1000ns 0", switch + 1).unwrap();
    }
    let ids: Vec<_> = (4..=last).map(|id| id.to_string()).collect();
    format!("{} {switches} {}\n{}\n{links}3 {last} 100Gbps 1000ns 0\n", 4 + switches, 3 + switches, ids.join(" "))
}

/// Lays out the carried configuration with some keys changed, a topology, and flows `src dst class bytes start`.
fn laid_out(name: &str, changes: &str, topology: &str, flows: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-options-{name}"));
    fs::create_dir_all(&folder).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hpcc-ns3");
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
    let files = "TOPOLOGY_FILE topology.txt;FLOW_FILE flow.txt;SIMULATOR_STOP_TIME 2.003;QLEN_MON_END 2000000100";
    let all = format!("{changes};{files}");
    let mut config = String::new();
    for line in fs::read_to_string(data.join("config.txt")).unwrap().lines() {
        let change = all.split(';').find(|c| !c.is_empty() && key(c) == key(line));
        writeln!(config, "{}", change.unwrap_or(line)).unwrap();
    }
    assert!(changes.split(';').all(|c| config.contains(c)), "{changes}");
    let mut rows = format!("{}\n", flows.len());
    for flow in flows {
        let [src, dst, class, bytes, start] = flow.split(' ').collect::<Vec<_>>()[..] else { panic!("{flow}") };
        writeln!(rows, "{src} {dst} {class} 100 {bytes} {start}").unwrap();
    }
    fs::write(folder.join("config.txt"), config).unwrap();
    fs::write(folder.join("topology.txt"), topology).unwrap();
    fs::write(folder.join("flow.txt"), rows).unwrap();
    folder
}

/// The completion times of the fct file, in the order of its lines, and the notices.
fn completions(name: &str, changes: &str, topology: &str, flows: &[&str]) -> Result<(Vec<u64>, String), InputError> {
    let folder = laid_out(name, changes, topology, flows);
    let prepared = Prepared::read_in(&folder, Path::new("config.txt"), Options::default())?;
    let notices = prepared.warnings.join("\n");
    prepared.run(&mut |_| true).unwrap();
    let lines = fs::read_to_string(folder.join("fct.txt")).unwrap();
    Ok((lines.lines().map(|line| line.split(' ').nth(6).unwrap().parse().unwrap()).collect(), notices))
}

fn fct(name: &str, changes: &str, topology: &str, flows: &[&str]) -> Vec<u64> {
    completions(name, changes, topology, flows).unwrap().0
}

/// `RATE_BOUND 0` paces at line rate, but a new rate moves the next packet all the same.
#[test]
fn a_rate_moves_the_next_packet_although_it_does_not_bound() {
    let got = fct("rate-bound", "RATE_BOUND 0", &star(4, "100Gbps"), &["3 0 3 59039 2.000000862"]);
    assert_eq!(got, [9248]);
}

/// Hops that an ACK within a round trip leaves out keep their last record, and with a rate per hop their reference rate counts.
#[test]
fn sampled_feedback_keeps_the_record_of_hops_left_out() {
    let flows = ["1 0 3 70454 2.000000224", "1 0 3 72108 2.000000789"];
    assert_eq!(fct("sampled", "SAMPLE_FEEDBACK 1", &star(4, "100Gbps"), &flows), [15_802, 15_982]);
    let flows =
        ["0 3 3 58687 2.000000495", "0 3 3 59425 2.000001274", "0 3 3 80955 2.000001530", "1 3 3 79579 2.000001854"];
    let got = fct("sampled-multi", "SAMPLE_FEEDBACK 1;MULTI_RATE 1", &row(2), &flows);
    assert_eq!(got, [20_288, 26_842, 27_670, 35_363]);
}

/// INT has codes for five port rates; HPCC reads 40 Gb/s as 25 Gb/s and slows a lone flow down. The user is told.
#[test]
fn rates_without_a_code_are_read_as_the_lowest() {
    let maps = "KMAX_MAP 1 40000000000 1600;KMIN_MAP 1 40000000000 400;PMAX_MAP 1 40000000000 0.2";
    let got = completions("codes", maps, &star(4, "40Gbps"), &["2 0 3 26497 2.000000806"]).unwrap();
    assert_eq!(got.0, [10_355]);
    assert!(got.1.contains("no code for ports of 40Gbps"), "{}", got.1);
}

/// INT has room for five switches. Of more the sender believes nothing: a flow stays at line rate where it had to slow down.
#[test]
fn hpcc_does_nothing_behind_more_than_five_switches() {
    let flow = ["0 3 3 203827 2.000001766"];
    assert_eq!(fct("six", "U_TARGET 0.95", &row(6), &flow), [32_305]);
    assert_eq!(fct("six-low", "U_TARGET 0.3", &row(6), &flow), [32_305]);
    assert!(fct("five-low", "U_TARGET 0.3", &row(5), &flow)[0] > 32_305);
}

/// A host's ACKs wait for a pause of class 3, and for no other, whatever their own class: those of host 0 for class 1 go on.
#[test]
fn only_a_pause_of_class_3_holds_up_acks() {
    let dctcp = "CC_MODE 8;EWMA_GAIN 0.0625;DCTCP_RATE_AI 615Mb/s;BUFFER_SIZE 1;KMAX_MAP 2 100000000000 300 400000000000 1200;\
        KMIN_MAP 2 100000000000 300 400000000000 1200;PMAX_MAP 2 100000000000 1.00 400000000000 1.00";
    let mut flows: Vec<_> = (0..14).map(|i| format!("{} 0 1 60000 2.00000{:04}", i + 1, 100 * i)).collect();
    flows.extend(["0 1 1 57226 2.000005000".into(), "17 1 3 88795 2.000006000".into()]);
    let flows: Vec<_> = flows.iter().map(String::as_str).collect();
    assert_eq!(
        fct("ack-class", dctcp, &star(18, "100Gbps"), &flows),
        [
            15_521, 60_812, 63_118, 65_974, 69_375, 69_742, 69_691, 69_974, 71_084, 70_950, 67_042, 71_482, 71_632,
            71_930, 72_743, 72_725
        ]
    );
}

/// The same packets are lost as there: none of the first flow's; of the second, over a link with a rate of its own, two
/// frames, which cost it 159 ns.
#[test]
fn the_same_packets_are_lost() {
    let got = fct("losses", "ERROR_RATE_PER_LINK 0.004", &star(3, "100Gbps"), &["2 0 3 26497 2.000000806"]);
    assert_eq!(got, [6409]);
    let topology = star(3, "100Gbps").replace("1 3 100Gbps 1000ns 0\n", "1 3 100Gbps 1000ns 0.01\n");
    let got = fct("own-losses", "ERROR_RATE_PER_LINK 0.0", &topology, &["1 0 3 58918 2.000000356"]);
    assert_eq!(got, [9259]);
}

/// The ACK that ends a flow still sets a rate and moves the NIC's pacing timer, so that another flow of the host need not
/// wait for a timer set too late: without, the last but one of these ends 9 ns earlier.
#[test]
fn the_last_ack_moves_the_pacing_timer() {
    let flows = [
        "4 0 3 110217 2.000000144",
        "2 0 3 131071 2.000000830",
        "3 0 3 129628 2.000001035",
        "4 0 3 110313 2.000001182",
        "2 0 3 107988 2.000001279",
        "3 0 3 120077 2.000001395",
        "1 0 3 51780 2.000008045",
        "1 2 3 1349 2.000012449",
        "1 2 3 2547 2.000014109",
        "1 0 3 56600 2.000014783",
        "1 0 3 1994 2.000032917",
    ];
    let got = fct("last-ack", "RATE_AI 5Mb/s;MIN_RATE 100Mb/s", &star(5, "100Gbps"), &flows);
    assert_eq!(got, [4272, 4332, 23_848, 5587, 24_036, 69_075, 73_136, 80_928, 81_805, 83_291, 84_452]);
}

/// `L2_ACK_INTERVAL` counts from the start of a message: what ends before is acknowledged at multiples of `L2_CHUNK_SIZE` only, so
/// that a short message never ends. The reference divides by a chunk size of 0.
#[test]
fn acks_begin_at_the_interval() {
    let flows = ["0 1 3 1999 2.0", "0 1 3 2000 2.0001", "0 1 3 1000 2.0002", "0 1 3 4500 2.0003"];
    let (got, notices) =
        completions("interval", "L2_ACK_INTERVAL 2000;L2_CHUNK_SIZE 1000", &star(3, "100Gbps"), &flows).unwrap();
    assert_eq!(got.len(), 3, "all but the first");
    assert!(notices.contains("1 flows have fewer bytes than L2_ACK_INTERVAL and never end"), "{notices}");
    let e = completions("no-chunk", "L2_ACK_INTERVAL 2000;L2_CHUNK_SIZE 0", &star(3, "100Gbps"), &flows).unwrap_err();
    assert!(e.to_string().contains("L2_CHUNK_SIZE = 0") && e.to_string().contains("at most 1000"), "{e}");
    assert_eq!(fct("short", "L2_ACK_INTERVAL 1000;L2_CHUNK_SIZE 0", &star(3, "100Gbps"), &flows).len(), 4);
}

/// With `L2_BACK_TO_ZERO 1` only whole chunks are acknowledged: a message that ends within one never ends.
#[test]
fn an_unfinished_chunk_is_never_acknowledged() {
    let flows = ["0 1 3 4000 2.0", "0 1 3 4500 2.0001", "0 1 3 3999 2.0002", "0 1 3 40000 2.0003"];
    let (got, notices) = completions("chunks", "L2_BACK_TO_ZERO 1", &star(3, "100Gbps"), &flows).unwrap();
    assert_eq!(got.len(), 2);
    assert!(notices.contains("2 flows end within a chunk") && notices.contains("the first is flow 1"), "{notices}");
}

/// Thresholds are counted in 32 bits: headrooms of 30 ports (37,500 B each) exceed 1 MiB, and nothing ever pauses, where
/// with 20 ports it does.
#[test]
fn headrooms_beyond_the_buffer_wrap_around() {
    let flows: Vec<_> = (1..20).map(|i| format!("{i} 0 3 60000 2.0")).collect();
    let flows: Vec<_> = flows.iter().map(String::as_str).collect();
    for (hosts, pauses) in [(20, true), (30, false)] {
        let name = format!("wrap-{hosts}");
        assert_eq!(fct(&name, "BUFFER_SIZE 1", &star(hosts, "100Gbps"), &flows).len(), 19);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-options-{name}"));
        assert_eq!(fs::metadata(folder.join("pfc.txt")).unwrap().len() > 0, pauses, "{hosts}");
    }
}

/// Source and destination, completion and standalone time of the fct file's lines.
fn lines_of(name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-options-{name}"));
    let text = fs::read_to_string(folder.join("fct.txt")).unwrap();
    let words = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.map(|w| format!("{}>{} {} {}", &w[0][5..6], &w[1][5..6], w[6], w[7])).collect()
}

/// When a link fails, a host takes its flows in the order of a hash table, not of their start: of flows that share a NIC others
/// would end first. Flows that end later are measured against the rate of the path that is left (100 Gb/s, before 25 Gb/s).
#[test]
fn a_failed_link_shuffles_flows_and_renews_their_standalone_times() {
    let topology = "8 4 8\n4 5 6 7\n0 4 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n2 5 100Gbps 1000ns 0\n3 5 100Gbps 1000ns 0\n\
        4 6 100Gbps 1000ns 0\n4 7 25Gbps 1000ns 0\n5 6 100Gbps 1000ns 0\n5 7 25Gbps 1000ns 0\n";
    let flows = [
        "0 2 3 90000 2.0",
        "0 3 3 80000 2.0",
        "0 1 3 70000 2.0",
        "0 2 3 60000 2.000001",
        "0 3 3 50000 2.000001",
        "0 1 3 40000 2.000002",
        "1 2 3 1000 2.000030",
    ];
    fct("shuffled", "LINK_DOWN 4 4 7", topology, &flows);
    assert_eq!(
        lines_of("shuffled"),
        [
            "0>1 22895 7513",
            "0>1 33594 10028",
            "1>2 8391 8883",
            "0>3 38261 12992",
            "0>2 40958 13830",
            "0>3 45177 15507",
            "0>2 53466 16345"
        ]
    );
}

/// Host 0 and 1 have two NICs, host 2 and switch 4 as well as the two switches two links.
const TWO_NICS: &str = "6 2 9\n4 5\n0 4 100Gbps 1000ns 0\n0 5 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n1 5 100Gbps 1000ns 0\n\
    2 4 100Gbps 1000ns 0\n3 5 100Gbps 1000ns 0\n2 4 25Gbps 500ns 0\n4 5 100Gbps 1000ns 0\n4 5 25Gbps 2000ns 0\n";

/// A host with several NICs sends data and ACKs by the NICs that ns-3's hash gives their tuples, all with one address; of several links
/// between two nodes the last (here the slow one) carries all. A failed link moves flows to the NIC that is left.
#[test]
fn nics_are_chosen_by_hash_and_the_last_of_parallel_links() {
    let flows = [
        "0 1 3 50000 2.0",
        "0 1 3 50000 2.0",
        "1 0 3 50000 2.0",
        "2 0 3 30000 2.000001",
        "3 2 3 30000 2.000002",
        "0 3 3 20000 2.000003",
        "0 1 3 1000 2.000004",
    ];
    let (_, notices) = completions("nics", "CC_MODE 3", TWO_NICS, &flows).unwrap();
    assert!(notices.contains("2 links between 2 and 4: the last carries all"), "{notices}");
    assert_eq!(
        lines_of("nics"),
        [
            "0>1 4257 4243",
            "0>1 8543 8352",
            "1>0 8633 8352",
            "0>1 10231 8352",
            "0>3 7608 5836",
            "2>0 14682 13460",
            "3>2 18638 17780"
        ]
    );
    fct("nics-down", "LINK_DOWN 3 0 5", TWO_NICS, &flows);
    assert_eq!(
        lines_of("nics-down"),
        [
            "0>1 4218 4243",
            "0>1 11869 8352",
            "1>0 16295 8352",
            "2>0 15361 13460",
            "0>1 17331 8352",
            "0>3 18465 10867",
            "3>2 22449 17780"
        ]
    );
}

/// Where the failed link was the only one, the reference crashes at the first flow without a path; here the others go on, and the user
/// is told.
#[test]
fn flows_without_a_path_are_told() {
    let flows = ["0 1 3 100000 2.0", "2 3 3 100000 2.0"];
    let (got, notices) = completions("parted", "LINK_DOWN 2 0 4", &star(4, "100Gbps"), &flows).unwrap();
    assert_eq!(got, [13_022]);
    assert!(notices.contains("LINK_DOWN leaves 1 flows without a path, the first is flow 0 from 0 to 1"), "{notices}");
    let (_, notices) = completions("whole", "LINK_DOWN 2 0 4", &star(4, "100Gbps"), &flows[1..]).unwrap();
    assert!(!notices.contains("LINK_DOWN"), "{notices}");
}

/// Keys that changed nothing by what happened are told after the run, and those that may have are not: else who turns one compares
/// files that are the same for a reason that nobody names.
#[test]
fn keys_without_effect_in_a_run_are_told() {
    let one = ["0 3 3 4000 2.0"];
    let many = ["0 3 3 2000100 2.0", "1 3 3 2000000 2.0", "2 3 3 2000000 2.0"];
    let run = |name: &str, changes: &str, flows: &[&str]| {
        let folder = laid_out(&format!("told-{name}"), changes, &star(4, "100Gbps"), flows);
        let prepared = Prepared::read_in(&folder, Path::new("config.txt"), Options::default()).unwrap();
        let told = prepared.run(&mut |_| true).unwrap().without_effect.join("\n");
        (told, fs::read_to_string(folder.join("fct.txt")).unwrap())
    };
    let said = |name: &str, changes: &str, flows: &[&str]| run(name, changes, flows).0;
    let marks = "KMIN_MAP 1 100000000000 10;KMAX_MAP 1 100000000000 20";
    for (key, value, other, changes, quiet, busy) in [
        ("L2_ACK_INTERVAL", "900", "1", "CC_MODE 3", &one[..], &many[..]),
        ("ERROR_RATE_PER_LINK", "0.001", "0", "CC_MODE 3", &one, &many),
        ("LINK_DOWN", "400 0 4", "0 0 0", "CC_MODE 3", &one, &["0 3 3 9000000 2.0"]),
        ("ACK_HIGH_PRIO", "1", "0", "CC_MODE 1;HAS_WIN 0;BUFFER_SIZE 1", &one, &many),
        ("EWMA_GAIN", "0.00390625", "0.5", &format!("CC_MODE 8;{marks}"), &one, &many),
        (
            "RATE_HAI",
            "50Mb/s",
            "9000Mb/s",
            &format!("CC_MODE 1;{marks};RP_TIMER 20;FAST_RECOVERY_TIMES 1"),
            &one,
            &many,
        ),
    ] {
        let with =
            |name: &str, value: &str, flows| run(&format!("{key}-{name}"), &format!("{changes};{key} {value}"), flows);
        let ((idle, fct), (used, _)) = (with("quiet", value, quiet), with("busy", value, busy));
        assert!(idle.contains(key), "{key}: {idle}");
        assert_eq!(with("other", other, quiet).1, fct, "{key} is named and matters");
        assert!(!used.contains(key), "{key}: {used}");
    }
    // In a star every pair is as far apart as any other; with a host further away they are not.
    assert!(said("uniform", "CC_MODE 3;GLOBAL_T 0", &one).contains("GLOBAL_T"));
    let folder = laid_out("told-far", "CC_MODE 3;GLOBAL_T 0", &row(3), &["0 1 3 4000 2.0"]);
    let prepared = Prepared::read_in(&folder, Path::new("config.txt"), Options::default()).unwrap();
    let told = prepared.run(&mut |_| true).unwrap().without_effect;
    assert!(told.iter().all(|clause| !clause.contains("GLOBAL_T")), "{told:?}");
}

/// The first sample of the queues is in the list of events before the end of the run: at the same instant it is still taken.
#[test]
fn the_first_sample_may_be_the_last_event() {
    let folder = laid_out("stop", "SIMULATOR_STOP_TIME 2.0", &star(3, "100Gbps"), &["0 1 3 1000 1.9"]);
    Prepared::read_in(&folder, Path::new("config.txt"), Options::default()).unwrap().run(&mut |_| true).unwrap();
    let qlen = fs::read_to_string(folder.join("qlen.txt")).unwrap();
    assert_eq!(qlen, "time: 2000000000\n3 1 1\n3 2 1\n3 3 1\n");
}

/// Without the reference's NIC all NICs and links are used, by rules of our own: that is told.
#[test]
fn several_nics_and_links_are_told() {
    let folder = laid_out("several", "CC_MODE 3", TWO_NICS, &["0 1 3 1000 2.0"]);
    let options = Options { quirks: Quirks::default(), ..Options::default() };
    let notices = Prepared::read_in(&folder, Path::new("config.txt"), options).unwrap().warnings.join("\n");
    assert!(notices.contains("3 hosts have several NICs, the first is 0"), "{notices}");
    assert!(notices.contains("2 links between 2 and 4: all are used"), "{notices}");
    assert!(!notices.contains("QLEN_MON_FILE"), "{notices}");
    let options = Options { quirks: Quirks::default(), engine: EngineChoice::Windowed, ..Options::default() };
    let notices = Prepared::read_in(&folder, Path::new("config.txt"), options).unwrap().warnings.join("\n");
    assert!(notices.contains("QLEN_MON_FILE stays empty"), "{notices}");
}

/// What the reference does without a word, and what makes a run worthless if it was not meant: thresholds of 0 for rates that the
/// maps leave out, a buffer that never pauses, flows after the end, HPCC over so many switches that it never reacts.
#[test]
fn settings_that_do_not_fit_the_network_are_told() {
    let notices = |name: &str, changes: &str, topology: &str, start: &str| {
        let folder = laid_out(name, changes, topology, &[&format!("0 3 3 1000 {start}")]);
        Prepared::read_in(&folder, Path::new("config.txt"), Options::default()).unwrap().warnings.join("\n")
    };
    let told = [
        ("unnamed rate", "CC_MODE 8", star(4, "40Gbps"), "2.0", "do not name ports of 40Gbps"),
        (
            "small buffer",
            "BUFFER_SIZE 1",
            star(40, "100Gbps"),
            "2.0",
            "1663840 bytes that the ports of switch 40 set aside",
        ),
        ("late flow", "CC_MODE 3", star(4, "100Gbps"), "2.003", "1 flows start at SIMULATOR_STOP_TIME 2.003 or after"),
        ("long way", "CC_MODE 3", row(6), "2.0", "1 flows cross more than 5 switches"),
    ];
    for (name, changes, topology, start, words) in told {
        let said = notices(name, changes, &topology, start);
        assert!(said.contains(words), "{name}: {said}");
    }
    let fitting =
        notices("fitting", "CC_MODE 8", &star(4, "100Gbps"), "2.002") + &notices("five", "CC_MODE 3", &row(5), "2.0");
    for words in ["do not name", "set aside", "or after it", "more than 5"] {
        assert!(!fitting.contains(words), "{fitting}");
    }
}
