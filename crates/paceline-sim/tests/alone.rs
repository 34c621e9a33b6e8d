//! The baseline `alone`: what a flow of a run takes by itself, from the result folder.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use paceline_sim::alone;
use paceline_sim::record::{FlowRecord, Status};
use paceline_sim::results::ALONE_FILE;
use paceline_sim::results::flow_file::Records;
use paceline_sim::run::{Request, run};
use paceline_sim::spec::parse;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("alone").join(name)
}

fn ran(name: &str, text: &str) -> (PathBuf, Vec<FlowRecord>) {
    let out = folder(name);
    let spec = parse(text, name, &[]).unwrap_or_else(|e| panic!("{e}"));
    let request = Request { spec, out: out.clone(), threads: 1, version: "test".into(), git: None };
    run(request, &mut |_| true).unwrap();
    let records = Records::open(&out.join("flows.bin")).unwrap().map(Result::unwrap).collect();
    (out, records)
}

/// FCTs (sender, receiver) of every flow alone.
fn computed(out: &Path, threads: usize) -> Vec<(u64, u64)> {
    let mut seen = 0;
    let complete = alone::compute(out, "test", threads, &mut |done, all| {
        seen = done;
        done <= all
    });
    assert!(complete.unwrap(), "{seen}");
    let bytes = std::fs::read(out.join(ALONE_FILE)).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(word(16) as usize, (bytes.len() - 64) / 16);
    (64..bytes.len()).step_by(16).map(|at| (word(at), word(at + 8))).collect()
}

const NETWORKS: [&str; 5] = [
    "kind = 'leaf_spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nhost_rate = '25Gbps'\nfabric_rate = '100Gbps'",
    "kind = 'fat_tree'\nk = 4",
    // Slim, and two NICs per host in two planes.
    "kind = 'xgft'\nchildren = [2, 3, 2]\nparents = [2, 1, 2]\nrates = ['25Gbps', '40Gbps', '50Gbps']\ndelays = ['1us', '2us', '500ns']",
    // Slow links in the middle, where queues build up even for one flow.
    "kind = 'dumbbell'\nleft = 3\nright = 3\nbottleneck_rate = '10Gbps'\nbottleneck_delay = '3us'",
    // Two NICs per host in two planes, of different rates; directions differ.
    "kind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['s', 't', 'u']\nlinks = [
        { a = 'a', b = 's', rate = '40Gbps' }, { a = 'a', b = 't', rate = '25Gbps', delay = '3us' },
        { a = 'b', b = 's', rate_back = '10Gbps' }, { a = 'b', b = 'u' },
        { a = 'c', b = 's', delay_back = '2us' }, { a = 'c', b = 't' }, { a = 't', b = 'u', rate = '400Gbps' }]",
];
const SCHEMES: [&str; 6] =
    ["cc = 'none'", "cc = 'hpcc'", "cc = 'dctcp'", "cc = 'timely'", "cc = 'dcqcn'", "cc = 'hpcc_pint'"];

/// A flow that had the network to itself in the run has that time alone: same path, base RTT, window, thresholds. The first
/// ones exactly, later ones but for the counters that earlier packets left in the ports' telemetry. Where a draw may decide
/// (marks, PINT) the links have room, or it is left out.
#[test]
fn a_flow_that_was_alone_took_as_long() {
    for (n, network) in NETWORKS.iter().enumerate() {
        for (s, scheme) in SCHEMES.iter().enumerate().filter(|(s, _)| n < 2 || *s < 2) {
            for (r, routing) in ["flow_hash", "spray"].iter().enumerate().filter(|(r, _)| *r == 0 || n < 2) {
                let routing = if network.contains("xgft") { "d_mod_k" } else { *routing };
                let text = format!(
                    "host.base_rtt = '{}'\nrouting.choice = '{routing}'\n[topology]\n{network}\n[schemes.x]\n{scheme}\n[[workloads]]\nkind = 'flows'\nrows = [\
                     {{ src = 0, dst = 2, bytes = '200KB' }},\
                     {{ src = 2, dst = 1, bytes = '1001B', start = '8ms' }},\
                     {{ src = 0, dst = 2, bytes = '200KB', start = '16ms', rate_cap = '7Gbps' }},\
                     {{ src = 1, dst = 0, bytes = '77777B', start = '24ms' }},\
                     {{ src = 0, dst = 2, bytes = '200KB', start = '32ms' }}]\n",
                    if s % 2 == 0 { "network" } else { "pair" },
                );
                let (out, flows) = ran(&format!("same-{n}-{s}-{r}"), &text);
                let alone = computed(&out, 2);
                assert!(flows.iter().all(|f| f.status == Status::Finished));
                let measured: Vec<_> = flows.iter().map(|f| (f.fct_sender, f.fct_receiver)).collect();
                // What PINT draws depends on the numbers of ports, what spraying draws on the flow's id.
                let (sprayed, draws) = (r == 1, scheme.contains("pint"));
                let alike = if sprayed { 1 } else { flows.len() };
                let exact = if s == 0 { alike } else { alike.min(2 * usize::from(!draws)) };
                let off = 3e-2;
                assert_eq!(alone[..exact], measured[..exact], "{network}\n{scheme} {routing}");
                for (a, m) in alone.iter().zip(&measured).take(alike) {
                    assert!((a.0 as f64 / m.0 as f64 - 1.0).abs() < off, "{alone:?} {measured:?} {network} {scheme}");
                }
            }
        }
    }
}

const BUSY: &str = "
    [topology]
    kind = 'leaf_spine'
    leaves = 3
    spines = 2
    hosts_per_leaf = 4
    host_rate = '25Gbps'
    fabric_rate = '100Gbps'
    [[workloads]]
    kind = 'poisson'
    duration = '5ms'
    sizes = 'websearch'
    load.value = 0.8
";

/// Without congestion control a flow alone runs at line rate: the closed form, whatever the others did to it in the run.
#[test]
fn alone_at_line_rate_is_the_closed_form() {
    let (out, flows) = ran("closed-form", &format!("{BUSY}[schemes.none]\ncc = 'none'\nwindow = 'off'\n"));
    let alone = computed(&out, 1);
    assert!(flows.len() > 50 && flows.iter().any(|f| f.fct_receiver > 2 * f.ideal_receiver));
    for (f, (sender, receiver)) in flows.iter().zip(alone) {
        assert_eq!((receiver, sender), (f.ideal_receiver, f.ideal_sender), "{f:?}");
    }
}

/// A link that fails costs the run, not the baseline: alone, all links are up.
#[test]
fn failures_are_no_part_of_the_baseline() {
    let failure = "[[failures]]\nlink = ['tor0', 'agg1']\ndown = '1ms'\nup = '4ms'\n";
    let (out, flows) = ran("failures", &format!("{BUSY}{failure}[schemes.none]\ncc = 'none'\nwindow = 'off'\n"));
    let alone = computed(&out, 2);
    assert!(flows.iter().any(|f| f.fct_receiver > 2 * f.ideal_receiver));
    for (f, (sender, receiver)) in flows.iter().zip(alone) {
        assert_eq!((receiver, sender), (f.ideal_receiver, f.ideal_sender), "{f:?}");
    }
}

/// HPCC aims below line rate and carries telemetry: alone it takes longer than the line-rate ideal, and the same for any
/// number of threads.
#[test]
fn alone_has_the_stacks_own_cost_and_does_not_depend_on_threads() {
    let (out, flows) = ran("hpcc", &format!("{BUSY}[schemes.hpcc]\ncc = 'hpcc'\n"));
    let alone = computed(&out, 1);
    for (f, (sender, _)) in flows.iter().zip(&alone) {
        let ratio = *sender as f64 / f.ideal_sender as f64;
        assert!((1.0..1.2).contains(&ratio), "{ratio} {f:?}");
    }
    let long = flows.iter().zip(&alone).filter(|(f, _)| f.bytes > 1_000_000);
    assert!(
        long.clone().count() > 3 && long.clone().all(|(f, (sender, _))| *sender as f64 > 1.03 * f.ideal_sender as f64)
    );
    let bytes = std::fs::read(out.join(ALONE_FILE)).unwrap();
    for threads in [2, 5] {
        computed(&out, threads);
        assert!(bytes == std::fs::read(out.join(ALONE_FILE)).unwrap(), "{threads} threads");
    }
}

/// What cannot be computed is refused, leaves nothing behind, and says why.
#[test]
fn refusals_leave_nothing_behind() {
    let table = folder("table.csv");
    std::fs::create_dir_all(table.parent().unwrap()).unwrap();
    std::fs::write(&table, "start,src,dst,bytes\n0s,0,1,1000\n1us,1,2,3000\n").unwrap();
    let text = format!(
        "[topology]\nkind = 'star'\nhosts = 3\n[schemes.h]\ncc = 'hpcc'\n[[workloads]]\nkind = 'flows'\nfile = '{}'\n",
        table.display()
    );
    let (out, _) = ran("refusals", &text);
    assert!(!alone::compute(&out, "test", 1, &mut |_, _| false).unwrap());
    let told = |version: &str| alone::compute(&out, version, 1, &mut |_, _| true).unwrap_err().to_string();
    assert!(told("other").contains("another version"));
    std::fs::write(&table, "start,src,dst,bytes\n0s,0,1,1000\n1us,1,2,4000\n").unwrap();
    assert!(told("test").contains("flow 1") && told("test").contains("has an input file changed?"));
    let left: Vec<_> = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("alone")), "{left:?}");
}

/// Flows beside programs have a baseline, and so have programs' messages that are flows of their own: at line rate
/// the closed form, whatever the run was like.
#[test]
fn flows_beside_programs_and_their_own_messages_have_a_baseline() {
    let programs = [
        "kind = 'mpi'\nprogram = 'collective'\noperation = 'all_to_all'\nbytes = '200KB'\niterations = 2\nconnections = 'new'",
        "kind = 'mpi'\nprogram = 'collective'\noperation = 'all_to_all'\nbytes = '200KB'\niterations = 2",
        "kind = 'scatter_gather'\ninterval = '50us'\nmax_queries = 8\nconnections = 'new'",
    ];
    for (n, program) in programs.iter().enumerate() {
        let text = format!("{BUSY}\n[[workloads]]\n{program}\n[schemes.none]\ncc = 'none'\nwindow = 'off'\n");
        let (out, flows) = ran(&format!("programs-{n}"), &text);
        let groups = flows.iter().map(|f| f.group).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(groups.len(), if program.contains("'new'") { 2 } else { 1 }, "{program}");
        for (f, (sender, receiver)) in flows.iter().zip(computed(&out, 2)) {
            assert_eq!((receiver, sender), (f.ideal_receiver, f.ideal_sender), "{program} {f:?}");
        }
    }
}

/// Paths chosen by the number of an end are kept, though what a flow crosses of the network is no whole tree.
#[test]
fn paths_by_the_number_of_an_end_have_a_baseline() {
    for choice in ["d_mod_k", "s_mod_k"] {
        for topology in ["kind = 'fat_tree'\nk = 4", "kind = 'xgft'\nchildren = [4, 3, 2]\nparents = [1, 2, 3]"] {
            let text = format!(
                "routing.choice = '{choice}'\n[topology]\n{topology}\n[schemes.none]\ncc = 'none'\nwindow = 'off'\n\
                 [[workloads]]\nkind = 'permutation'\nsizes = '50KB'\n"
            );
            let (out, flows) = ran(&format!("{choice}-{}", topology.len()), &text);
            for (f, (sender, receiver)) in flows.iter().zip(computed(&out, 1)) {
                assert_eq!((receiver, sender), (f.ideal_receiver, f.ideal_sender), "{choice} {topology} {f:?}");
            }
        }
    }
}
