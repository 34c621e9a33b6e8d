use super::*;

/// The configuration of our reference case t1 with HPCC.
pub(in crate::hpcc_format) const SAMPLE: &str = "\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1

PACKET_PAYLOAD_SIZE 1000

TOPOLOGY_FILE ../topology.txt
FLOW_FILE ../flow.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix.tr
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE pfc.txt

SIMULATOR_STOP_TIME 2.10

CC_MODE 3
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 50Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 1000Mb/s

ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0

HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 4
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0

RATE_BOUND 1

ACK_HIGH_PRIO 0

LINK_DOWN 0 0 0

ENABLE_TRACE 0

KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.20 400000000000 0.20
BUFFER_SIZE 32
QLEN_MON_FILE qlen.txt
QLEN_MON_START 2000000000
QLEN_MON_END 2010000000
";

/// Only what is needed, so that everything else shows its default.
const SMALL: &str = "\
TOPOLOGY_FILE t
FLOW_FILE f
TRACE_FILE n
TRACE_OUTPUT_FILE m
QLEN_MON_FILE q
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
RATE_AI 50Mb/s
RATE_HAI 500Mb/s
L2_ACK_INTERVAL 1
RP_TIMER 300
";

fn read(text: &str) -> (HpccConfig, Vec<String>) {
    HpccConfig::parse(text, "c.txt", false).unwrap()
}

/// The sample with the line of `key` replaced.
fn with(key: &str, line: &str) -> String {
    SAMPLE.lines().map(|l| if l.split(' ').next() == Some(key) { line } else { l }.to_string() + "\n").collect()
}

#[test]
fn reads_the_reference_s_sample() {
    let (c, warnings) = read(SAMPLE);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!((c.topology_file.as_str(), c.qlen_mon_file.as_str()), ("../topology.txt", "qlen.txt"));
    assert_eq!((c.cc_mode, c.stop_ns(), c.qlen_mon_end), (CcMode::Hpcc, seconds_to_ns(2.1), 2_010_000_000));
    assert_eq!([c.rate_ai, c.rate_hai, c.min_rate].map(|r| r.0), [50_000_000, 50_000_000, 1_000_000_000]);
    assert_eq!((c.int_multi, c.mi_thresh, c.multi_rate, c.var_win, c.enable_trace), (4, 0, false, true, false));
    assert_eq!((c.buffer(), c.link_down.at_ns()), (Bytes(33_554_432), None));
    let gbps = |g: u64| BitsPerSec(g * 1_000_000_000);
    assert_eq!(
        c.ecn(),
        [(100, 400_000, 1_600_000), (400, 1_600_000, 6_400_000)].map(|(rate, k_min, k_max)| EcnThresholds {
            rate: gbps(rate),
            k_min: Bytes(k_min),
            k_max: Bytes(k_max),
            p_max: 0.2
        })
    );
    assert_eq!((c.given_at("CC_MODE"), c.is_given("PAUSE_TIME")), (Some(15), false));
}

#[test]
fn what_is_left_out_has_the_reference_s_default() {
    let (c, warnings) = read(SMALL);
    assert_eq!(warnings, ["c.txt: EWMA_GAIN is missing; the reference's default is 0, so that alpha never changes"]);
    let fields = HpccConfig {
        topology_file: "t".into(),
        flow_file: "f".into(),
        trace_file: "n".into(),
        trace_output_file: "m".into(),
        qlen_mon_file: "q".into(),
        kmax_map: c.kmax_map.clone(),
        kmin_map: c.kmin_map.clone(),
        pmax_map: c.pmax_map.clone(),
        rate_ai: BitsPerSec(50_000_000),
        rate_hai: BitsPerSec(500_000_000),
        l2_ack_interval: 1,
        rp_timer_us: 300,
        given: c.given.clone(),
        ..HpccConfig::default()
    };
    assert_eq!(c, fields);
    assert_eq!((c.cc_mode, c.alpha_resume_interval_us, c.rate_decrease_interval_us), (CcMode::Dcqcn, 55, 4));
    assert_eq!(
        (c.mi_thresh, c.buffer_size_mib, c.min_rate.0, c.u_target.to_string()),
        (5, 16, 100_000_000, "0.95".into())
    );
}

/// Every key is known to the reader, and none is taken without its value.
#[test]
fn every_key_wants_its_value() {
    for key in KEYS {
        let error = HpccConfig::parse(key, "c.txt", false).unwrap_err();
        assert_eq!((error.line, error.field.as_deref()), (Some(1), Some(key)));
        assert!(error.problem.starts_with("wrong number of words"), "{error}");
    }
}

#[test]
fn bad_values_name_line_value_and_what_is_allowed() {
    let map = "2 100000000000 1600 400000000000";
    for (key, value, shown, allowed) in [
        ("ENABLE_QCN", "2", "2", "0 or 1"),
        ("HAS_WIN", "1 1", "1 1", "one word"),
        ("TOPOLOGY_FILE", "my topology.txt", "my topology.txt", "file name"),
        ("PACKET_PAYLOAD_SIZE", "0", "0", "from 1 to 65000"),
        ("PACKET_PAYLOAD_SIZE", "1e3", "1e3", "whole number"),
        ("L2_ACK_INTERVAL", "0", "0", "from 1"),
        ("SIMULATOR_STOP_TIME", "nan", "nan", "seconds above 0"),
        ("SIMULATOR_STOP_TIME", "-1", "-1", "seconds above 0"),
        ("SIMULATOR_STOP_TIME", "1e400", "1e400", "seconds above 0"),
        ("CC_MODE", "2", "2", "3 (HPCC)"),
        ("RP_TIMER", "-300", "-300", "microseconds"),
        ("RP_TIMER", "inf", "inf", "microseconds"),
        ("EWMA_GAIN", "1/16", "1/16", "0 to 1"),
        ("EWMA_GAIN", "1.5", "1.5", "0 to 1"),
        ("RATE_AI", "50MB", "50MB", "Mb/s"),
        ("RATE_AI", "-50Mb/s", "-50Mb/s", "Mb/s"),
        ("MIN_RATE", "0Mb/s", "0Mb/s", "at least 1bps"),
        ("ERROR_RATE_PER_LINK", "2", "2", "0 to 1"),
        ("U_TARGET", "0", "0", "above 0"),
        ("U_TARGET", "NaN", "NaN", "above 0"),
        ("INT_MULTI", "0", "0", "from 1"),
        ("PINT_LOG_BASE", "1", "1", "above 1"),
        ("PINT_PROB", "-0.5", "-0.5", "0 to 1"),
        ("MI_THRESH", "4294967296", "4294967296", "to 4294967295"),
        ("MI_THRESH", "99999999999999999999999", "99999999999999999999999", "to 4294967295"),
        ("LINK_DOWN", "0 0", "0 0", "3 numbers"),
        ("LINK_DOWN", "5 3 3", "3", "two ends"),
        ("LINK_DOWN", "-5 3 4", "-5", "us after 2 s"),
        ("KMAX_MAP", map, map, "n pairs"),
        ("KMAX_MAP", "1 0 1600", "0", "bit/s"),
        ("KMAX_MAP", "1 100000000000 1600.5", "1600.5", "x1000 bytes"),
        ("KMAX_MAP", "18446744073709551615 1 1", "18446744073709551615", "number of pairs"),
        ("KMIN_MAP", "1 100000000000 1601", "1601", "at most KMAX_MAP's 1600"),
        ("PMAX_MAP", "1 100000000000 1.01", "1.01", "probability"),
        ("BUFFER_SIZE", "4096", "4096", "4095 MiB"),
        ("QLEN_MON_END", "2.1", "2.1", "whole number"),
    ] {
        let line = SAMPLE.lines().position(|l| l.split(' ').next() == Some(key)).unwrap() + 1;
        let error = HpccConfig::parse(&with(key, &format!("{key} {value}")), "c.txt", true).unwrap_err();
        let place = (error.file.as_deref(), error.line, error.field.as_deref(), error.value.as_deref());
        assert_eq!(place, (Some("c.txt"), Some(line), Some(key), Some(shown)), "{error}");
        assert!(error.allowed.as_ref().unwrap().contains(allowed), "{error}");
    }
}

#[test]
fn a_missing_key_is_named() {
    for key in SMALL.lines().map(|l| l.split(' ').next().unwrap()) {
        let kept: Vec<&str> = SMALL.lines().filter(|l| l.split(' ').next() != Some(key)).collect();
        let text = kept.join("\n");
        let error = HpccConfig::parse(&text, "c.txt", true).unwrap_err();
        assert_eq!(
            (error.file.as_deref(), error.line, error.field.as_deref()),
            (Some("c.txt"), None, Some(key)),
            "{error}"
        );
        assert!(error.allowed.unwrap().contains(key));
    }
    // Nothing but DCQCN waits on this timer.
    assert!(HpccConfig::parse(&with("RP_TIMER", ""), "c.txt", false).is_ok());
}

#[test]
fn an_unknown_key_names_the_nearest_or_is_a_warning() {
    for (word, nearest) in
        [("FAST_REACTION", "FAST_REACT"), ("kmax_map", "KMAX_MAP"), ("UTARGET", "U_TARGET"), ("CCMODE", "CC_MODE")]
    {
        let text = with("BUFFER_SIZE", &format!("{word} 1"));
        let error = HpccConfig::parse(&text, "c.txt", false).unwrap_err();
        assert_eq!((error.line, error.value.as_deref()), (Some(55), Some(word)), "{error}");
        assert!(error.allowed.as_ref().unwrap().ends_with(&format!(" {nearest}")), "{error}");
        let (c, warnings) = HpccConfig::parse(&text, "c.txt", true).unwrap();
        assert_eq!((c.buffer_size_mib, warnings.len()), (16, 1));
        assert!(warnings[0].starts_with("c.txt:55: ") && warnings[0].contains(nearest), "{warnings:?}");
    }
}

#[test]
fn likely_mistakes_are_warnings() {
    let warnings = |text: &str| read(text).1.join("\n");
    let (c, twice) = read(&format!("{SAMPLE}CC_MODE 8\n"));
    assert_eq!((c.cc_mode, c.given_at("CC_MODE")), (CcMode::Dctcp, Some(59)));
    assert_eq!(twice, ["c.txt:59: CC_MODE is given again; this replaces line 15"]);
    assert!(warnings(&with("RP_TIMER", "RP_TIMER 1.5")).contains("counts as 1 us"));
    assert!(warnings(&with("QLEN_MON_END", "QLEN_MON_END 5")).contains("queues are sampled once"));
    assert!(warnings(&with("PMAX_MAP", "PMAX_MAP 1 100000000000 0.2")).contains("different rates"));
    let map = "KMAX_MAP 3 100000000000 1600 100000000000 1700 400000000000 6400";
    assert!(warnings(&with("KMAX_MAP", map)).contains("twice"));
    assert_eq!(read(&with("KMAX_MAP", map)).0.kmax_map[0].1, 1700);
    // Lines of a map come together in the reference; one that replaced the other would leave ports without thresholds.
    let (c, twice) = read(&with("KMAX_MAP", "KMAX_MAP 1 400000000000 6400\nKMAX_MAP 1 100000000000 1600"));
    assert_eq!(c.kmax_map, read(SAMPLE).0.kmax_map);
    assert!(twice[0].contains("KMAX_MAP is given again; this adds to line"), "{twice:?}");
}

#[test]
fn comments_are_dropped_but_not_silently_when_they_hold_a_key() {
    let (c, warnings) = read(&with("CC_MODE", "CC_MODE 10 # PINT\n# CC_MODE 3\n  #CC_MODE 3"));
    assert_eq!((c.cc_mode, warnings.len()), (CcMode::HpccPint, 1));
    assert!(warnings[0].starts_with("c.txt:16: CC_MODE is in a comment"), "{warnings:?}");
    assert_eq!(read(&with("FLOW_FILE", "FLOW_FILE flow#2.txt")).0.flow_file, "flow#2.txt");
    // Line ends of another system, tabs and a byte order mark.
    let text = format!("\u{feff}{}", SAMPLE.replace('\n', "\r\n").replace(' ', "\t"));
    assert_eq!(read(&text).0, read(SAMPLE).0);
}

/// The reference takes a pause without time for a resume: such a run would have no PFC.
#[test]
fn a_pause_without_time_is_refused() {
    let error = HpccConfig::parse(&format!("{SAMPLE}PAUSE_TIME 0\n"), "c.txt", false).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("PAUSE_TIME"));
    assert!(error.to_string().contains("takes a pause for a resume"), "{error}");
}

#[test]
fn dcqcn_timers_of_zero_are_refused_where_they_are_used() {
    for key in ["ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER"] {
        let text = with(key, &format!("{key} 0.9"));
        assert!(HpccConfig::parse(&text, "c.txt", false).is_ok());
        let error = HpccConfig::parse(&text.replace("CC_MODE 3", "CC_MODE 1"), "c.txt", false).unwrap_err();
        assert_eq!((error.field.as_deref(), error.line.is_some()), (Some(key), true), "{error}");
    }
}

#[test]
fn keys_without_effect_are_told_by_mode() {
    let idle = |text: &str| -> Vec<String> {
        let told = without_effect(&read(text).0);
        told.iter().flat_map(|s| s.split_once(": ").unwrap().0.split(", ").map(String::from)).collect()
    };
    let mode = |n: u8| with("CC_MODE", &format!("CC_MODE {n}"));
    assert_eq!(
        idle(SAMPLE).join(" "),
        "ENABLE_QCN KMAX_MAP KMIN_MAP PMAX_MAP USE_DYNAMIC_PFC_THRESHOLD L2_CHUNK_SIZE TRACE_FILE \
         RATE_HAI DCTCP_RATE_AI ALPHA_RESUME_INTERVAL RATE_DECREASE_INTERVAL RP_TIMER CLAMP_TARGET_RATE \
         FAST_RECOVERY_TIMES EWMA_GAIN PINT_LOG_BASE PINT_PROB"
    );
    assert_eq!(
        idle(&mode(1)).join(" "),
        "USE_DYNAMIC_PFC_THRESHOLD L2_CHUNK_SIZE TRACE_FILE DCTCP_RATE_AI FAST_REACT INT_MULTI \
         MULTI_RATE SAMPLE_FEEDBACK U_TARGET MI_THRESH PINT_LOG_BASE PINT_PROB"
    );
    assert!(!idle(&with("ENABLE_TRACE", "ENABLE_TRACE 1")).contains(&"TRACE_FILE".to_string()));
    let pint = idle(&mode(10));
    assert!(pint.contains(&"INT_MULTI".to_string()) && !pint.contains(&"PINT_PROB".to_string()));
    let dctcp = idle(&mode(8));
    assert!(dctcp.contains(&"RATE_AI".to_string()) && !dctcp.contains(&"EWMA_GAIN".to_string()));
    assert!(!idle(&mode(7)).contains(&"RATE_HAI".to_string()));
    let extra = "DATA_RATE 1\nLINK_DELAY 2\nPAUSE_TIME 3\nLINK_DOWN 0 4 5\nHAS_WIN 0\nENABLE_QCN 0\n";
    let more = idle(&format!("{}{extra}", mode(8)));
    for key in ["DATA_RATE", "LINK_DELAY", "PAUSE_TIME", "LINK_DOWN", "VAR_WIN", "GLOBAL_T", "KMAX_MAP"] {
        assert!(more.contains(&key.to_string()), "{key}");
    }
    assert!(without_effect(&read(SAMPLE).0).iter().any(|s| s.ends_with("and CC_MODE is 3")));
}
