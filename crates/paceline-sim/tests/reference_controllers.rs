//! Compatibility mode gives the reference simulator's files byte for byte: sixteen senders, 137 ns apart, into one host
//! through a switch of 1 MiB, so that PFC pauses, marks are drawn and every controller acts.
//!
//! The numbers are our own measurement of the HPCC authors' ns-3 simulator: sender and completion time of each flow in
//! order of completion, and FNV-1a sums of the pause log and of the queue histograms.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;
use std::path::PathBuf;

use paceline_proto::units::{Duration, MS};
use paceline_sim::hpcc::{Options, Prepared};

/// Keys all cases share.
const COMMON: &str = "\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
SIMULATOR_STOP_TIME 2.10
CLAMP_TARGET_RATE 0
FAST_RECOVERY_TIMES 1
MIN_RATE 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
GLOBAL_T 1
MI_THRESH 0
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
LINK_DOWN 0 0 0
ENABLE_TRACE 0
BUFFER_SIZE 1
QLEN_MON_START 2000000000
QLEN_MON_END 2010000000
";

/// One run of the reference.
struct Case {
    name: &'static str,
    /// `CC_MODE` and the keys of that mode.
    keys: &'static str,
    /// `KMIN`, `KMAX` (kB) and `PMAX` at 100 Gb/s.
    marks: (u32, u32, f64),
    /// (sender, completion time in ns), in order of completion.
    flows: [(u32, u64); 16],
    pfc: u64,
    qlen: u64,
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// Runs a case in a folder of its own and returns its fct, pfc and qlen files.
fn run(case: &Case) -> [Vec<u8>; 3] {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-{}", case.name));
    std::fs::create_dir_all(&folder).unwrap();
    let mut topology = String::from("18 1 17\n17\n");
    let mut flows = String::from("16\n");
    for host in 0..17 {
        writeln!(topology, "{host} 17 100Gbps 1000ns 0.000000").unwrap();
    }
    for host in 0..16 {
        writeln!(flows, "{host} 16 3 100 500000 2.{:09}", host * 137).unwrap();
    }
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    std::fs::write(path("topology"), topology).unwrap();
    std::fs::write(path("flows"), flows).unwrap();
    std::fs::write(path("trace"), "0\n").unwrap();
    let (kmin, kmax, pmax) = case.marks;
    let mut config = format!("{COMMON}{}", case.keys.replace(';', "\n"));
    writeln!(
        config,
        "\nKMIN_MAP 1 100000000000 {kmin}\nKMAX_MAP 1 100000000000 {kmax}\nPMAX_MAP 1 100000000000 {pmax}"
    )
    .unwrap();
    let files = [
        ("TOPOLOGY_FILE", "topology"),
        ("FLOW_FILE", "flows"),
        ("TRACE_FILE", "trace"),
        ("TRACE_OUTPUT_FILE", "mix.tr"),
        ("FCT_OUTPUT_FILE", "fct"),
        ("PFC_OUTPUT_FILE", "pfc"),
        ("QLEN_MON_FILE", "qlen"),
    ];
    for (key, name) in files {
        writeln!(config, "{key} {}", path(name)).unwrap();
    }
    std::fs::write(path("config"), config).unwrap();
    let options = Options { qlen_dump: Duration(10 * MS), ..Options::default() };
    Prepared::read(&folder.join("config"), options).unwrap().run(&mut |_| true).unwrap();
    ["fct", "pfc", "qlen"].map(|name| std::fs::read(path(name)).unwrap())
}

#[test]
fn files_are_the_references() {
    for case in &CASES {
        let [fct, pfc, qlen] = run(case);
        let mut expected = String::new();
        for (host, ns) in case.flows {
            // A start is a double of seconds, truncated: many are 1 ns early.
            let start = paceline_sim::hpcc_format::seconds_to_ns(format!("2.{:09}", host * 137).parse().unwrap());
            let ip = 0x0b00_0001 + (host << 8);
            writeln!(expected, "{ip:08x} 0b001001 10000 100 500000 {start} {ns} 46080").unwrap();
        }
        assert_eq!(String::from_utf8(fct).unwrap(), expected, "{}", case.name);
        assert_eq!(fnv(&pfc), case.pfc, "{}: pauses", case.name);
        assert_eq!(fnv(&qlen), case.qlen, "{}: queues", case.name);
    }
}

/// The runs: HPCC with both targets, its PINT form, DCQCN with both sets of timers, with and without window and with marks
/// that are drawn or come at a fixed queue, TIMELY, DCTCP.
const CASES: [Case; 11] = [
    Case {
        name: "dcqcn_paper_nowin",
        keys: "CC_MODE 1;ALPHA_RESUME_INTERVAL 50;RATE_DECREASE_INTERVAL 50;RP_TIMER 55;EWMA_GAIN 0.00390625;\
               RATE_AI 20Mb/s;RATE_HAI 200Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 0;VAR_WIN 0;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 1",
        marks: (400, 1_600, 0.2),
        flows: [
            (1, 575_576),
            (4, 579_314),
            (8, 598_935),
            (3, 619_624),
            (15, 638_066),
            (11, 639_112),
            (6, 644_859),
            (0, 646_511),
            (2, 646_984),
            (5, 647_902),
            (7, 647_794),
            (9, 655_239),
            (14, 658_786),
            (10, 660_994),
            (13, 662_908),
            (12, 675_530),
        ],
        pfc: 0x1f88_13d6_6a0e_4c21,
        qlen: 0x1950_5dc9_fc14_adb6,
    },
    Case {
        name: "dcqcn_paper_nowin_step100",
        keys: "CC_MODE 1;ALPHA_RESUME_INTERVAL 50;RATE_DECREASE_INTERVAL 50;RP_TIMER 55;EWMA_GAIN 0.00390625;\
               RATE_AI 20Mb/s;RATE_HAI 200Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 0;VAR_WIN 0;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 1",
        marks: (100, 100, 1.0),
        flows: [
            (0, 707_869),
            (4, 719_771),
            (5, 726_026),
            (6, 732_113),
            (2, 742_123),
            (1, 744_502),
            (8, 744_289),
            (3, 745_141),
            (7, 745_340),
            (9, 746_560),
            (11, 748_112),
            (10, 750_738),
            (12, 751_543),
            (13, 751_905),
            (14, 753_842),
            (15, 754_038),
        ],
        pfc: 0x8d37_4214_b9f0_791a,
        qlen: 0x4f3b_5470_e9de_b2bb,
    },
    Case {
        name: "dcqcn_paper_vwin",
        keys: "CC_MODE 1;ALPHA_RESUME_INTERVAL 50;RATE_DECREASE_INTERVAL 50;RP_TIMER 55;EWMA_GAIN 0.00390625;\
               RATE_AI 20Mb/s;RATE_HAI 200Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 0",
        marks: (400, 1_600, 0.2),
        flows: [
            (4, 510_258),
            (13, 582_813),
            (14, 585_414),
            (1, 591_927),
            (6, 593_150),
            (5, 600_509),
            (10, 610_198),
            (11, 610_394),
            (3, 619_126),
            (0, 637_381),
            (15, 646_449),
            (7, 655_430),
            (8, 655_541),
            (9, 664_784),
            (2, 667_734),
            (12, 666_447),
        ],
        pfc: 0xdc0b_bfd1_755c_5416,
        qlen: 0x2442_d08c_d1f1_0a58,
    },
    Case {
        name: "dcqcn_paper_vwin_step200",
        keys: "CC_MODE 1;ALPHA_RESUME_INTERVAL 50;RATE_DECREASE_INTERVAL 50;RP_TIMER 55;EWMA_GAIN 0.00390625;\
               RATE_AI 20Mb/s;RATE_HAI 200Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 0",
        marks: (200, 200, 1.0),
        flows: [
            (15, 478_457),
            (13, 595_097),
            (14, 597_283),
            (2, 645_988),
            (0, 653_068),
            (3, 657_555),
            (1, 659_987),
            (4, 659_824),
            (6, 659_633),
            (5, 659_854),
            (7, 662_568),
            (10, 663_401),
            (8, 665_916),
            (9, 666_112),
            (12, 665_949),
            (11, 666_585),
        ],
        pfc: 0xd17e_fbe8_6713_538c,
        qlen: 0x1fff_a960_b543_3e1b,
    },
    Case {
        name: "dcqcn_vwin",
        keys: "CC_MODE 1;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.00390625;\
               RATE_AI 20Mb/s;RATE_HAI 200Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 0",
        marks: (400, 1_600, 0.2),
        flows: [
            (1, 435_306),
            (15, 451_233),
            (2, 565_893),
            (3, 583_602),
            (0, 585_257),
            (5, 586_482),
            (11, 591_470),
            (12, 592_494),
            (13, 593_852),
            (9, 595_645),
            (14, 602_014),
            (6, 639_713),
            (10, 641_738),
            (8, 662_845),
            (4, 664_057),
            (7, 669_483),
        ],
        pfc: 0x9ab6_3f2a_58c2_36d0,
        qlen: 0x3c93_026d_53ea_e2bb,
    },
    Case {
        name: "dcqcn_vwin_step200",
        keys: "CC_MODE 1;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.00390625;\
               RATE_AI 20Mb/s;RATE_HAI 200Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 0",
        marks: (200, 200, 1.0),
        flows: [
            (12, 737_104),
            (14, 738_075),
            (11, 771_438),
            (10, 797_636),
            (9, 838_693),
            (3, 875_454),
            (8, 885_475),
            (15, 888_999),
            (13, 896_577),
            (0, 901_262),
            (5, 901_408),
            (7, 904_537),
            (6, 905_835),
            (2, 908_316),
            (4, 909_591),
            (1, 919_220),
        ],
        pfc: 0xb3aa_dae9_281e_1435,
        qlen: 0xec59_8cb3_e5b9_588b,
    },
    Case {
        name: "dctcp",
        keys: "CC_MODE 8;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.0625;\
               RATE_AI 10Mb/s;RATE_HAI 10Mb/s;DCTCP_RATE_AI 615Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 0",
        marks: (300, 300, 1.0),
        flows: [
            (9, 473_801),
            (12, 476_211),
            (8, 479_166),
            (10, 481_880),
            (11, 482_740),
            (13, 483_545),
            (14, 483_490),
            (15, 552_493),
            (1, 662_062),
            (0, 662_945),
            (3, 663_614),
            (2, 665_991),
            (5, 666_162),
            (4, 666_464),
            (7, 666_967),
            (6, 667_269),
        ],
        pfc: 0x429a_4179_6baf_fcf7,
        qlen: 0xcb2c_5a2b_0b74_43cd,
    },
    Case {
        name: "hpcc_u95",
        keys: "CC_MODE 3;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.00390625;\
               RATE_AI 50Mb/s;RATE_HAI 50Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 1;\
               U_TARGET 0.95;INT_MULTI 4;ACK_HIGH_PRIO 0",
        marks: (400, 1_600, 0.2),
        flows: [
            (13, 607_779),
            (10, 615_484),
            (5, 667_801),
            (12, 669_785),
            (7, 677_626),
            (9, 682_263),
            (3, 686_112),
            (8, 686_254),
            (11, 687_561),
            (15, 690_077),
            (2, 692_017),
            (14, 707_751),
            (6, 718_567),
            (4, 725_051),
            (1, 737_403),
            (0, 749_756),
        ],
        pfc: 0x884f_a077_dd33_8d2c,
        qlen: 0xc83d_e986_6f4b_45cc,
    },
    Case {
        name: "hpcc_u99",
        keys: "CC_MODE 3;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.00390625;\
               RATE_AI 50Mb/s;RATE_HAI 50Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 1;\
               U_TARGET 0.99;INT_MULTI 4;ACK_HIGH_PRIO 0",
        marks: (400, 1_600, 0.2),
        flows: [
            (15, 469_747),
            (13, 600_359),
            (9, 641_356),
            (7, 643_979),
            (10, 647_559),
            (4, 688_014),
            (6, 689_741),
            (2, 695_353),
            (3, 698_912),
            (8, 703_007),
            (14, 709_312),
            (12, 711_050),
            (5, 716_727),
            (11, 719_391),
            (1, 726_765),
            (0, 734_210),
        ],
        pfc: 0x31e1_1f3c_12ce_230f,
        qlen: 0xf8a7_9945_730f_5b0f,
    },
    Case {
        name: "hpccpint_u95_log1.05_p1",
        keys: "CC_MODE 10;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.00390625;\
               RATE_AI 50Mb/s;RATE_HAI 50Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 1;\
               U_TARGET 0.95;INT_MULTI 4;ACK_HIGH_PRIO 0",
        marks: (400, 1_600, 0.2),
        flows: [
            (15, 549_716),
            (3, 626_464),
            (12, 628_700),
            (4, 640_753),
            (10, 646_922),
            (9, 656_654),
            (14, 661_037),
            (2, 668_682),
            (6, 677_303),
            (11, 677_367),
            (13, 688_119),
            (8, 690_479),
            (7, 695_115),
            (5, 699_946),
            (1, 717_770),
            (0, 725_914),
        ],
        pfc: 0x7486_772d_d15e_e992,
        qlen: 0x054c_b7e6_01c6_c251,
    },
    Case {
        name: "timely_vwin",
        keys: "CC_MODE 7;ALPHA_RESUME_INTERVAL 1;RATE_DECREASE_INTERVAL 4;RP_TIMER 300;EWMA_GAIN 0.00390625;\
               RATE_AI 100Mb/s;RATE_HAI 500Mb/s;DCTCP_RATE_AI 1000Mb/s;HAS_WIN 1;VAR_WIN 1;FAST_REACT 0;\
               U_TARGET 0.95;INT_MULTI 1;ACK_HIGH_PRIO 1",
        marks: (400, 1_600, 0.2),
        flows: [
            (2, 533_018),
            (10, 559_390),
            (12, 565_080),
            (4, 576_844),
            (6, 579_090),
            (3, 581_938),
            (5, 582_000),
            (7, 582_146),
            (9, 583_972),
            (13, 587_288),
            (14, 591_518),
            (15, 593_902),
            (11, 604_782),
            (8, 609_704),
            (0, 818_760),
            (1, 823_741),
        ],
        pfc: 0x933c_cd26_f863_d417,
        qlen: 0x8623_72e6_9d2e_6db0,
    },
];
