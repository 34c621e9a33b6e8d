//! Every setting of switches, hosts, routing, framing and schemes does something: flipped on a small busy network it
//! changes the flows' results (`flows.bin`), or the summary names it as without effect.
//!
//! Settings, their ranges and the schemes come from the table of fields: a new one is tested without a line here.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::print_stdout, reason = "what each setting did, for a failing test")]

use std::path::{Path, PathBuf};

use paceline_proto::units::{BitsPerSec, Bytes, Duration};
use paceline_sim::run::{Request, RunError, run};
use paceline_sim::spec::field::{FIELDS, Field, Type};
use paceline_sim::spec::{Resolved, parse};

/// Two racks under two spines, faster links in the fabric, two classes, several flows per host, an incast, short flows.
const NETWORK: &str = r#"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "25Gbps"
fabric_rate = "100Gbps"

[[workloads]]
group = "all_to_all"
kind = "all_to_all"
scheme = "SECOND"
sizes = "21500B"
step = "1us"

[[workloads]]
group = "incast"
kind = "incast"
scheme = "FIRST"
senders = 7
receiver = 0
sizes = "120KB"
mode = "staggered"
step = "2us"
count = 2
period = "40us"
class = 4

[[workloads]]
group = "permutation"
kind = "permutation"
scheme = "SECOND"
sizes = "150001B"
start = "10us"
"#;

/// Buffers that fill up, pauses in place of drops.
const LOSSLESS: &str = r#"
[switch]
buffer = "300KB"
pfc = { headroom = "auto" }

[switch.ecn]
k_min = "20KB"
k_max = "200KB"
by_rate = [{ rate = "25Gbps", k_min = "10KB", k_max = "40KB" }]
"#;

/// Buffers that fill up, drops.
const LOSSY: &str = r#"
[switch]
buffer = "120KB"
pfc = { enabled = false }

[switch.ecn]
k_min = "20KB"
k_max = "200KB"

[host]
rto = "200us"
nack_interval = "50us"
"#;

/// Room for everything.
const ROOMY: &str = "";

/// Links that lose packets, and a patience short enough that flows fail.
const LOSING: &str = r#"
[topology]
kind = "graph"
hosts = ["a", "b", "c", "d"]
switches = ["s", "t", "u", "v"]
links = [
  { a = "a", b = "s", rate = "25Gbps", error_rate = 0.1 },
  { a = "b", b = "s", rate = "25Gbps", error_rate = 0.3 },
  { a = "c", b = "v", rate = "25Gbps" },
  { a = "d", b = "v", rate = "25Gbps" },
  { a = "s", b = "t", rate = "40Gbps" },
  { a = "s", b = "u", rate = "40Gbps" },
  { a = "t", b = "v", rate = "40Gbps" },
  { a = "u", b = "v", rate = "40Gbps" },
]

[host]
rto = "100us"
rto_tries = 2
nack_interval = "20us"

[switch]
buffer = "64KB"
pfc = { enabled = false }

[[workloads]]
group = "all_to_all"
kind = "all_to_all"
scheme = "SECOND"
sizes = "21500B"
step = "1us"
rounds = 4
period = "20us"

[[workloads]]
group = "permutation"
kind = "permutation"
scheme = "FIRST"
sizes = "150001B"
rounds = 3
period = "30us"
class = 5
"#;

/// Long flows through two bottlenecks each, so that slow timers run out and hops differ; marks, and ACKs with priority.
const LONG: &str = r#"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 4
host_rate = "25Gbps"
fabric_rate = "40Gbps"

[host]
ack_priority = true

[switch.ecn]
k_min = "30KB"
k_max = "60KB"

[[workloads]]
group = "incast"
kind = "incast"
scheme = "SECOND"
senders = 6
receiver = 0
sizes = "600KB"

[[workloads]]
group = "permutation"
kind = "permutation"
scheme = "SECOND"
shift = 4
sizes = "900001B"

[[workloads]]
group = "background"
kind = "permutation"
scheme = "FIRST"
shift = 3
sizes = "50KB"
rounds = 20
period = "50us"
"#;

/// A network with two schemes, each with all its defaults.
fn scenario(parts: &[&str], first: &str, second: &str) -> String {
    let text =
        format!("{}\n[schemes.FIRST]\ncc = \"{first}\"\n\n[schemes.SECOND]\ncc = \"{second}\"\n", parts.concat());
    let text = text.replace("FIRST", "one").replace("SECOND", "two");
    format!("{text}\n[records.series]\ninterval = \"off\"\n")
}

struct Ran {
    flows: Vec<u8>,
    without_effect: Vec<String>,
}

/// Runs a scenario; nothing if it is refused.
fn ran(spec: Resolved, out: &Path) -> Option<Ran> {
    let request = Request { spec, out: out.to_path_buf(), threads: 1, version: "test".to_string(), git: None };
    let summary = match run(request, &mut |_| true) {
        Err(RunError::Input(_)) => return None,
        other => other.unwrap_or_else(|e| panic!("{e}")),
    };
    Some(Ran { flows: std::fs::read(out.join("flows.bin")).unwrap(), without_effect: summary.without_effect })
}

/// The value a resolved scenario has for a field.
fn current(spec: &Resolved, path: &str) -> Option<toml::Value> {
    value_at(&spec.to_toml(), path)
}

/// The value that a text gives to a field.
fn value_at(text: &str, path: &str) -> Option<toml::Value> {
    let mut value = toml::Value::Table(text.parse().unwrap());
    for key in path.split('.') {
        value = match value {
            toml::Value::Table(mut t) => t.remove(key)?,
            toml::Value::Array(mut a) => a.swap_remove(key.parse().ok().filter(|i| *i < a.len())?),
            _ => return None,
        };
    }
    Some(value)
}

/// Other values a field may take: all words of a choice, quantities some steps up and down.
fn others(ty: Type, now: &toml::Value) -> Vec<String> {
    let text = now.as_str().unwrap_or_default();
    let steps = |n: u64| {
        if n == 0 { [1, 20, 1000, 100_000, 50_000_000, 0] } else { [n * 2, n / 2, n * 10, n / 10, n + n / 4, 0] }
    };
    let quoted = |unit: &str, values: &[u64]| values.iter().map(|v| format!("\"{v}{unit}\"")).collect();
    let mut values: Vec<String> = match ty {
        Type::Bool => vec![(!now.as_bool().unwrap_or_default()).to_string()],
        Type::Choice(words) => words.iter().map(|w| format!("\"{w}\"")).collect(),
        Type::Integer => {
            let n = now.as_integer().unwrap_or(1);
            [n * 2, n - 1, n + 1, n + 7, 1, 0].iter().map(i64::to_string).collect()
        }
        Type::Number => {
            let x = now.as_float().or(now.as_integer().map(|n| n as f64)).unwrap_or(1.0);
            [x * 0.5, x * 2.0, x * 0.1, x * 10.0, x * 0.9, x * 1.2, 0.5, 0.0].iter().map(|x| format!("{x:?}")).collect()
        }
        Type::Size => quoted("B", &text.parse::<Bytes>().map_or([2000, 20_000, 200_000, 1, 100, 5000], |b| steps(b.0))),
        Type::Duration | Type::Instant => {
            let us = 1_000_000;
            let ps = text.parse::<Duration>().map_or([us, 10 * us, 100 * us, 1000 * us, 0, 1], |d| steps(d.0));
            quoted("ps", &ps)
        }
        Type::Rate => {
            let g = 1_000_000_000;
            quoted(
                "bps",
                &text.parse::<BitsPerSec>().map_or([5 * g, 10 * g, g, 100 * g, 2 * g, g / 10], |r| steps(r.0)),
            )
        }
        // A word beside it is enough.
        Type::Link => Vec::new(),
        Type::Multiple => quoted("x", &[1, 2, 5, 20]),
        Type::Either(types) => types.iter().flat_map(|t| others(*t, now)).collect(),
        _ => panic!("no other values for {ty:?}: add them here"),
    };
    values.retain(|v| *v != now.to_string());
    values
}

/// Whether a report names the setting, itself or with all of its section.
fn names(report: &[String], path: &str) -> bool {
    report.iter().filter_map(|clause| clause.split_once(':')).any(|(settings, _)| {
        settings.split(',').any(|s| {
            let s = s.split(" (").next().unwrap_or(s).trim();
            path == s || path.strip_prefix(s).is_some_and(|rest| rest.starts_with('.'))
        })
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Some other value changes the results.
    Changes,
    /// None does, and the report says so.
    Named,
    /// None does, and the report is silent.
    Silent,
    /// No other value is possible here.
    Refused,
    /// The scenario does not have it.
    Absent,
}

struct Bench {
    text: String,
    base: Resolved,
    ran: Ran,
    out: PathBuf,
}

impl Bench {
    fn new(name: &str, text: String) -> Self {
        let base = parse(&text, name, &[]).unwrap_or_else(|e| panic!("{e}"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("effects").join(name);
        let ran = ran(base.clone(), &out).unwrap_or_else(|| panic!("{name} does not run"));
        Self { text, base, ran, out }
    }

    fn try_field(&self, path: &str, ty: Type) -> Verdict {
        let Some(now) = current(&self.base, path) else { return Verdict::Absent };
        let mut refused = true;
        let is_default = value_at(&self.text, path).is_none();
        for value in others(ty, &now) {
            let Ok(spec) = parse(&self.text, "flipped", &[format!("{path}={value}")]) else { continue };
            let Some(flipped) = ran(spec, &self.out.join("flipped")) else { continue };
            if flipped.flows != self.ran.flows {
                let told = is_default && names(&flipped.without_effect, path);
                assert!(
                    !told,
                    "{} {path} = {value} is said to have no effect, and has one: {:?}",
                    self.out.display(),
                    flipped.without_effect
                );
                return Verdict::Changes;
            }
            refused = false;
        }
        match () {
            () if names(&self.ran.without_effect, path) => Verdict::Named,
            () if refused => Verdict::Refused,
            () => Verdict::Silent,
        }
    }
}

/// Networks in which one transport serves all flows: with buffers that fill up, and with links that lose packets.
fn alone(test: &str, variants: &[&str]) -> Vec<(&'static str, Bench)> {
    let mut benches = Vec::new();
    for (name, network) in [("busy", NETWORK), ("losing", LOSING), ("long", LONG)] {
        for (i, variant) in variants.iter().enumerate() {
            // Switches and hosts are the variant's.
            let kept: Vec<&str> = network
                .split("\n\n")
                .filter(|p| !p.trim_start().starts_with("[switch") && !p.trim_start().starts_with("[host"))
                .collect();
            let text = kept.join("\n\n").replace("FIRST", "two").replace("SECOND", "two");
            let text = format!("{text}\n{variant}\n[records.series]\ninterval = \"off\"\n");
            benches.push((name, Bench::new(&format!("{test}-{name}-{i}"), text)));
        }
    }
    benches
}

/// A long link, on which windows become large and slow; the buffer in bytes.
fn far(test: &str, buffer: u64, variant: &str) -> (&'static str, Bench) {
    let text = format!(
        "[topology]\nkind = 'dumbbell'\nleft = 1\nright = 1\nhost_rate = '10Gbps'\nbottleneck_rate = '1Gbps'\nbottleneck_delay = '40ms'
         [switch]\nmodel = 'per_port'\nbuffer = '{buffer}B'\npfc = {{ enabled = false }}
         [[workloads]]\nkind = 'flows'\nscheme = 'two'\nrows = [{{ src = 0, dst = 1, bytes = '20MB' }}]
         {variant}\n[records.series]\ninterval = 'off'\n"
    );
    ("far", Bench::new(&format!("{test}-far"), text))
}

const PORTS: &str = "[switch]\nmodel = 'per_port'\nbuffer = '60KB'\npfc = { enabled = false }\n";

/// The transports that share a run with no other, each in the forms in which its parameters matter.
const ALONE: [(&str, &[&str]); 8] = [
    ("new_reno", &["[schemes.two]\ncc = 'new_reno'\n[host.tcp]\nrto_min = '100us'\nack_delay = '50us'\n"]),
    ("cubic", &["[schemes.two]\ncc = 'cubic'\n[host.tcp]\nrto_min = '100us'\nack_delay = '50us'\n"]),
    ("vegas", &["[schemes.two]\ncc = 'vegas'\n[host.tcp]\nrto_min = '100us'\nack_delay = '50us'\n"]),
    ("hpcc_tcp", &["[schemes.two]\ncc = 'hpcc_tcp'\n[host.tcp]\nrto_min = '100us'\nack_delay = '50us'\n"]),
    ("udp", &["[schemes.two]\ncc = 'udp'\nrate = '5Gbps'\n"]),
    (
        "homa",
        &[
            "[schemes.two]\ncc = 'homa'\ndone_timeout = '300us'\n",
            "[schemes.two]\ncc = 'homa'\nfirst_rtt = 'aeolus'\nresend_timeout = '100us'\nsender_timeout = '100us'\n[switch.selective_drop]\nenabled = true\n",
        ],
    ),
    (
        "ndp",
        &[
            "[schemes.two]\ncc = 'ndp'\nrto = '100us'\nfirst_window = 60\n[switch.trimming]\nenabled = true\ndata_packets = 2\nheader_packets = 1\nheaders_per_data = 1\n",
            "[schemes.two]\ncc = 'ndp'\n[switch.trimming]\nenabled = true\n",
            "[schemes.two]\ncc = 'ndp'\nfirst_rtt = 'aeolus'\nrto = '100us'\n[switch.selective_drop]\nenabled = true\n",
        ],
    ),
    (
        "express_pass",
        &[
            "[schemes.two]\ncc = 'express_pass'\nretransmit_timeout = '3us'\ncredit_stop_timeout = '100us'\ncredit_timeout = '200us'\n",
            "[schemes.two]\ncc = 'express_pass'\nfirst_rtt = 'aeolus'\nretransmit_timeout = '100us'\ncredit_timeout = '200us'\n[switch.selective_drop]\nenabled = true\n",
            "[schemes.two]\ncc = 'express_pass'\nfirst_rtt = 'burst'\nrto_unscheduled = '60us'\nrto_scheduled = '100us'\ncredit_timeout = '200us'\n",
        ],
    ),
];

/// Benches of a transport that shares a run with no other.
fn alone_for(test: &str, cc: &str) -> Option<Vec<(&'static str, Bench)>> {
    let (_, forms) = ALONE.iter().find(|(name, _)| *name == cc)?;
    let forms: Vec<String> = forms.iter().map(|form| format!("{PORTS}{form}")).collect();
    let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
    Some(alone(&format!("{test}-{cc}"), &forms))
}

/// Tries fields on all benches; what no bench shows to matter and no report names.
fn unexplained(benches: &[(&str, Bench)], fields: &[(String, Type)]) -> Vec<String> {
    let mut missing = Vec::new();
    for (path, ty) in fields {
        let verdicts: Vec<_> = benches.iter().map(|(_, b)| b.try_field(path, *ty)).collect();
        let words: Vec<_> = benches.iter().zip(&verdicts).map(|((name, _), v)| format!("{name} {v:?}")).collect();
        println!("{path}: {}", words.join(", ").to_lowercase());
        if !verdicts.iter().any(|v| matches!(v, Verdict::Changes | Verdict::Named)) {
            missing.push(path.clone());
        }
    }
    missing
}

fn benches(test: &str, first: &str, second: &str, which: &[&'static str]) -> Vec<(&'static str, Bench)> {
    let make = |name: &&'static str| {
        let parts = match *name {
            "lossless" => [NETWORK, LOSSLESS],
            "lossy" => [NETWORK, LOSSY],
            "roomy" => [NETWORK, ROOMY],
            "long" => [LONG, ""],
            _ => [LOSING, ""],
        };
        (*name, Bench::new(&format!("{test}-{name}-{first}-{second}"), scenario(&parts, first, second)))
    };
    which.iter().map(make).collect()
}

fn fields_under(section: &str) -> Vec<(String, Type)> {
    let inside = |f: &&Field| f.path.split('.').next() == Some(section);
    FIELDS.iter().filter(inside).map(|f| (f.path.replace('*', "0"), f.row.ty)).collect()
}

/// The congestion controls there are.
fn schemes_known() -> &'static [&'static str] {
    let choice = FIELDS.iter().find(|f| f.path == "schemes.*.cc").expect("schemes have a cc");
    if let Type::Choice(words) = choice.row.ty { words } else { panic!("cc is a choice") }
}

fn check(section: &str, second: &str) {
    let fields = fields_under(section);
    assert!(!fields.is_empty());
    let benches = benches(section, "none", second, &["lossless", "lossy", "losing", "roomy", "long"]);
    assert_eq!(unexplained(&benches, &fields), Vec::<String>::new());
}

#[test]
fn framing() {
    check("framing", "hpcc");
}

#[test]
fn switches() {
    // Marks matter to a scheme that reacts to them.
    let mut all = benches("switch", "none", "dcqcn", &["lossless", "lossy", "losing", "roomy", "long"]);
    for cc in ["homa", "ndp"] {
        all.extend(alone_for("switch", cc).expect("benches"));
    }
    let red = "[schemes.two]\ncc = 'dctcp'\n[switch.ecn]\nenabled = false\n[switch.red]\nenabled = true\nmin = '4KB'\nmax = '30KB'\nweight = 0.1\np_max = 0.2\n";
    all.extend(alone("switch-red", &[&format!("{PORTS}{red}")]));
    let fields: Vec<_> = fields_under("switch").into_iter().filter(|(path, _)| !path.contains(".qcn.")).collect();
    assert_eq!(unexplained(&all, &fields), Vec::<String>::new());
}

/// Every setting of stacks and adapters that take time, and of QCN in switches and adapters.
#[test]
fn adapters() {
    let fields = [fields_under("switch"), fields_under("host")].concat();
    let fields: Vec<_> = fields.into_iter().filter(|(p, _)| p.contains(".qcn.") || p.contains(".adapter.")).collect();
    assert!(fields.len() > 20);
    let tcp = "[schemes.two]\ncc = 'new_reno'\n[host.tcp]\nrto_min = '100us'\nack_delay = '50us'\n[host.adapter]\nenabled = true\n\
               buffer = '32KiB'\ntx_delay = '1us'\nrx_delay = '2us'\n";
    let qcn = "[host.qcn]\ntimer = '20us'\nbyte_limit = '8KB'\nthreshold = 1\nmin_rate = '100Mbps'\nai_rate = '500Mbps'\n\
               hai_rate = '2Gbps'\n[switch.qcn]\nenabled = true\nset_point = '6KB'\nsample_base = '5KB'\n";
    // Few flows for long show what the later stages of recovery do.
    let far = "[topology]\nkind = 'dumbbell'\nleft = 2\nright = 2\n[[workloads]]\nkind = 'flows'\nscheme = 'two'\nrows = [\
               { src = 0, dst = 2, bytes = '4MB' }, { src = 1, dst = 3, bytes = '4MB' }, { src = 1, dst = 2, bytes = '1MB' }]\n";
    let few = format!("{far}{PORTS}{tcp}{qcn}[records.series]\ninterval = 'off'\n");
    let mut all = alone("adapter", &[&format!("{PORTS}{tcp}{qcn}"), &format!("{PORTS}{tcp}")]);
    all.push(("few", Bench::new("adapter-few", few)));
    assert_eq!(unexplained(&all, &fields), Vec::<String>::new());
}

#[test]
fn hosts() {
    check("host", "hpcc");
}

/// Every setting of the TCP stack.
#[test]
fn tcp() {
    let fields: Vec<_> = fields_under("host").into_iter().filter(|(path, _)| path.starts_with("host.tcp.")).collect();
    let benches = alone_for("tcp", "new_reno").expect("benches");
    let slow = "[schemes.two]\ncc = 'new_reno'\n[host.tcp]\nstack = 'freebsd'\necn = true\n[switch.ecn]\nk_min = '10KB'\nk_max = '40KB'\n";
    let slow = alone("tcp-slow", &[&format!("{PORTS}{slow}")]);
    let far = far("tcp", 4_000_000, "[schemes.two]\ncc = 'new_reno'\n[host.tcp]\nstack = 'freebsd'\n");
    // Nothing is lost, and every segment is acknowledged by itself: no timer runs out.
    let quiet = alone("tcp-quiet", &["[schemes.two]\ncc = 'new_reno'\n[host.tcp]\nack_segments = 1\n"]);
    let all: Vec<_> = benches.into_iter().chain(slow).chain(quiet).chain([far]).collect();
    assert_eq!(unexplained(&all, &fields), Vec::<String>::new());
}

#[test]
fn routing() {
    check("routing", "hpcc");
}

#[test]
fn quirks() {
    check("quirks", "hpcc_pint");
}

/// Every parameter of every congestion control, in both places of the scenario.
#[test]
fn schemes() {
    let of_schemes = |f: &&Field| f.path.starts_with("schemes.*.");
    let mut missing = Vec::new();
    for cc in schemes_known() {
        let fields: Vec<_> = FIELDS
            .iter()
            .filter(of_schemes)
            .filter(|f| f.when.iter().all(|(_, value)| value == cc))
            .map(|f| (f.path.replace('*', "two"), f.row.ty))
            .collect();
        let mut benches =
            alone_for("schemes", cc).unwrap_or_else(|| benches("schemes", "none", cc, &["lossless", "lossy", "long"]));
        let alone = ALONE.iter().any(|(name, _)| name == cc);
        if *cc == "cubic" {
            benches.push(far("schemes", 60_000, "[schemes.two]\ncc = 'cubic'\n"));
            // Losses below the last maximum, with time for the curve that leads back to it.
            let lossy = "[topology]\nkind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s']\nlinks = [\
                         { a = 'a', b = 's', rate = '1Gbps', delay = '20ms', error_rate = 0.0005 }, { a = 's', b = 'b', rate = '1Gbps' }]\n\
                         [switch]\npfc = { enabled = false }\n[[workloads]]\nkind = 'flows'\nscheme = 'two'\n\
                         rows = [{ src = 0, dst = 1, bytes = '20MB' }]\n[schemes.two]\ncc = 'cubic'\n[records.series]\ninterval = 'off'\n";
            benches.push(("lossy far", Bench::new("schemes-lossy-far", lossy.to_string())));
        }
        // Another transport would need other ports.
        let fields: Vec<_> =
            fields.into_iter().filter(|(path, _)| !alone || path.rsplit('.').next() != Some("cc")).collect();
        missing.extend(unexplained(&benches, &fields).iter().map(|path| format!("{path} of {cc}")));
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// What means nothing with a `first_rtt` is named in the report, and really changes nothing: a user who turns such a knob is told, and one who
/// turns a knob that works is not told otherwise.
#[test]
fn settings_of_another_first_rtt_are_named() {
    let unused: [(&str, usize, &[&str]); 5] = [
        (
            "express_pass",
            0,
            &[
                "first_bytes",
                "stop",
                "repair",
                "resend_open",
                "request_in_probe",
                "rto_unscheduled",
                "rto_scheduled",
                "late_repair",
            ],
        ),
        ("express_pass", 1, &["rto_unscheduled", "rto_scheduled", "late_repair"]),
        ("express_pass", 2, &["request_in_probe"]),
        ("ndp", 0, &["verdict_delay", "pull_missing"]),
        ("homa", 0, &["resend_open"]),
    ];
    for (cc, form, settings) in unused {
        let (_, forms) = ALONE.iter().find(|(name, _)| *name == cc).unwrap();
        let form = format!("{PORTS}{}", forms[form]);
        for (name, bench) in alone("first-rtt", &[&form]) {
            let mut settings: Vec<String> = settings.iter().map(|s| format!("schemes.two.{s}")).collect();
            if cc == "express_pass" || form.contains("trimming") {
                settings.push("switch.scheduler".to_string());
            }
            for path in settings {
                let field = FIELDS.iter().find(|f| {
                    f.path.replace('*', "two") == path
                        && f.when.iter().all(|(_, value)| *value == cc || !path.starts_with("schemes"))
                });
                let ty = field.unwrap_or_else(|| panic!("{path}")).row.ty;
                assert_eq!(bench.try_field(&path, ty), Verdict::Named, "{cc}, {name}: {path}");
            }
        }
    }
}

/// A knob that can do nothing in a run is named, and so is one that nothing in the run came to: whoever turns it is told.
#[test]
fn settings_that_nothing_comes_of_are_named() {
    let star = |cc: &str, more: &str| {
        let incast = "[[workloads]]\nkind = 'incast'\nsenders = 3\nsizes = '20KB'\nreceiver = 0\n";
        format!("[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = '{cc}'\n{incast}{more}")
    };
    let shuffle =
        "[[workloads]]\nkind = 'permutation'\nsizes = '9KB'\n[[workloads]]\nkind = 'all_to_all'\nsizes = '9KB'\n";
    let poisson = "[[workloads]]\nkind = 'poisson'\nsizes = '9KB'\nmax_flows = 9\n";
    let lossy = "[switch.pfc]\nenabled = false\n";
    let trims = "[switch.pfc]\nenabled = false\n[switch.trimming]\nenabled = true\n";
    let off = "[records.series]\ninterval = 'off'\n";
    let aeolus = "[switch.pfc]\nenabled = false\n[switch.selective_drop]\nenabled = true\nthreshold = '2KB'\n";
    let marks = "[switch.ecn]\nk_min = '5KB'\nk_max = '5KB'\n";
    let timers =
        ["host.tcp.rto_initial", "host.tcp.timestamps", "host.tcp.rto_max", "host.tcp.rto_slop", "host.tcp.tries"];
    let of_marks = ["schemes.s.preset", "schemes.s.g", "schemes.s.ai_rate", "schemes.s.min_rate", "host.base_rtt"];
    let cases: [(&str, String, &[&str]); 19] = [
        ("hpcc", star("hpcc", shuffle), &["workloads.0.period", "workloads.1.period", "workloads.2.period"]),
        ("still", star("hpcc", ""), &["switch.scheduler", "switch.model", "switch.buffer", "routing.choice"]),
        ("sizes", star("hpcc", poisson), &["workloads.1.load.mean"]),
        ("series", star("hpcc", off), &["records.series.samples", "records.series.busiest"]),
        ("dcqcn", star("dcqcn", ""), &of_marks),
        ("dctcp", star("dctcp", ""), &["schemes.s.g", "schemes.s.ai_rate", "schemes.s.min_rate"]),
        ("tcp", star("new_reno", lossy), &timers),
        ("whole", star("new_reno", lossy), &["host.tcp.sack", "host.tcp.dup_thresh", "host.tcp.reassembly_limit"]),
        ("acks", star("new_reno", lossy), &["host.qcn.gain", "host.qcn.limiter", "quirks.line_rate_pacing"]),
        ("probes", star("hpcc_tcp", ""), &["host.tcp.initial_window"]),
        ("udp", star("udp", ""), &["framing.ack_header", "host.qcn.timer"]),
        ("ndp", star("ndp", trims), &["quirks.line_rate_pacing", "host.qcn.timer"]),
        ("step", star("dctcp", marks), &["switch.ecn.p_max"]),
        ("sized", star("dctcp'\nwindow = '30KB", ""), &["host.base_rtt"]),
        ("waits", star("express_pass", lossy), &["host.base_rtt"]),
        ("no fate", star("ndp'\nfirst_rtt = 'wait", trims), &["schemes.s.verdict_delay"]),
        ("short", star("dcqcn", marks), &["schemes.s.ai_rate", "schemes.s.hai_rate"]),
        (
            "let in",
            star("express_pass'\nfirst_rtt = 'aeolus", &aeolus.replace("2KB", "1MB")),
            &["switch.selective_drop.per"],
        ),
        ("dropped", star("express_pass'\nfirst_rtt = 'aeolus", aeolus), &["switch.selective_drop.per"]),
    ];
    for (name, text, paths) in cases {
        let bench = Bench::new(&format!("nothing-{name}"), text);
        for path in paths {
            let general: Vec<String> =
                path.split('.').map(|part| if part.parse::<u8>().is_ok() { "*" } else { part }.to_string()).collect();
            let general = general.join(".").replace("schemes.s.", "schemes.*.");
            let field = FIELDS.iter().find(|f| f.path == general).unwrap_or_else(|| panic!("{general}"));
            let verdict = bench.try_field(path, field.row.ty);
            assert_eq!(verdict, Verdict::Named, "{name}: {path}: {:?}", bench.ran.without_effect);
        }
    }
    let queries = "[[workloads]]\nkind = 'rpc'\nmode = 'open'\nend = '1ms'\nload.value = 0.1\n";
    let steady = "[[workloads]]\nkind = 'on_off'\nmode = 'cbr'\nend = '1ms'\nload.value = 0.003\n";
    let mpi =
        "kind = 'mpi'\nprogram = 'wrf'\niterations = 1\ncompute = '1us'\nnorth_south = '20KB'\neast_west = '9KB'\n";
    let mpi = format!("[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\n{mpi}");
    // Values that would matter: those are for `framing`, `hosts` and so on to find. Here a few that do not.
    for (name, text, changed) in [
        ("padded", star("new_reno", lossy), "framing.ack_header = '23B'"),
        ("pair", star("ndp", trims), "host.base_rtt = 'pair'"),
        ("pair of probes", star("hpcc_tcp", ""), "host.base_rtt = 'pair'"),
        ("pair of a star", star("hpcc", ""), "host.base_rtt = 'pair'"),
        ("capped", star("hpcc", ""), "workloads.0.rate_cap = '400Gbps'"),
        (
            "a port's own buffer",
            star("hpcc", "[switch]\npfc = { enabled = false }\nmodel = 'per_port'\n"),
            "switch.egress_alpha = 9",
        ),
        ("deaf", star("hpcc", ""), "switch.ecn.enabled = false"),
        ("stop", star("hpcc", ""), "run.stop = '50ms'"),
        ("still", star("hpcc", ""), "run.stall = '1ms'"),
        ("early", star("hpcc", "").replace("20KB'", "20KB'\nstart = '1ms'"), "run.warmup = '10us'"),
        ("buffers", star("new_reno", lossy), "host.tcp.send_buffer = '1MB'"),
        ("windows", star("new_reno", lossy), "host.tcp.receive_buffer = '1MB'"),
        ("strangers", star("new_reno", lossy), "host.tcp.host_cache = true"),
        ("asked", star("homa", lossy), "schemes.s.resend_timeout = '1ms'"),
        ("repaired", star("homa", lossy), "schemes.s.repair = 'new_first'"),
        ("pulled", star("ndp", trims), "schemes.s.rto = '500us'"),
        ("credited", star("express_pass", lossy), "schemes.s.credit_timeout = '5ms'"),
        ("sent", star("express_pass'\nfirst_rtt = 'burst", lossy), "schemes.s.rto_unscheduled = '5ms'"),
        ("sent and kept", star("express_pass'\nfirst_rtt = 'burst", lossy), "schemes.s.late_repair = 'at_once'"),
        ("no sizes", star("udp", &format!("{lossy}{steady}")), "workloads.1.load.mean = 'nominal'"),
        ("measured", star("hpcc", ""), "run.measure_end = '1ms'"),
        ("full", star("hpcc", ""), "quirks.unpadded_data = true"),
        ("over TCP", star("new_reno", lossy), "quirks.unpadded_data = true"),
        ("all eager", mpi.clone(), "workloads.0.eager = '1MB'"),
        ("still eager", mpi, "workloads.0.eager = '20KB'"),
        (
            "room",
            star("new_reno", &format!("{lossy}[host.adapter]\nenabled = true\n")),
            "host.adapter.buffer = '100KB'",
        ),
        (
            "below",
            star("new_reno", &format!("{lossy}[switch.red]\nenabled = true\n[switch.ecn]\nenabled = false\n")),
            "switch.red.gentle = false",
        ),
        ("one", star("hpcc", queries), "workloads.1.pick = 'idle'"),
    ] {
        let bench = Bench::new(&format!("nothing-{name}"), text);
        let spec = parse(&bench.text, "flipped", &[changed.replace(" = ", "=").replace('\'', "\"")]).unwrap();
        let flipped = ran(spec, &bench.out.join("flipped")).unwrap();
        assert_eq!(flipped.flows, bench.ran.flows, "{name}");
        assert!(names(&flipped.without_effect, changed.split(" = ").next().unwrap()), "{name}");
    }
}

/// A link that fails after the last flow has ended changes nothing; where flows have not ended when the run stops, it may.
#[test]
fn failures_are_named_only_after_all_flows() {
    let run = |name: &str, bytes: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 4\nhost_rate = '25Gbps'\n[schemes.s]\ncc = 'hpcc'\n[run]\nstop = '400us'\n[[failures]]\n\
             link = ['host2', 'tor0']\ndown = '90us'\n[[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '9KB' }}, \
             {{ src = 2, dst = 3, bytes = '{bytes}' }}]\n"
        );
        Bench::new(&format!("failures-{name}"), text).ran.without_effect
    };
    let [after, amid] = [run("after", "9KB"), run("amid", "9MB")];
    assert!(names(&after, "failures"), "{after:?}");
    assert!(!names(&amid, "failures"), "{amid:?}");
}

/// Settings that another one leaves without meaning: whoever turns them compares runs that are the same, and is told so.
#[test]
fn settings_that_another_one_rules_out_are_named() {
    let incast = |cc: &str, more: &str| {
        format!(
            "[topology]\nkind = 'star'\nhosts = 5\nhost_rate = '25Gbps'\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'incast'\n\
             senders = 4\nrandom_senders = false\nreceiver = 4\nsizes = '90KB'\n{PORTS}{more}"
        )
    };
    let wait = |cc: &str, more: &str| incast(&format!("{cc}'\nfirst_rtt = 'wait"), more);
    let trims = "[switch.trimming]\nenabled = true\n";
    let window = "[host.adapter]\nenabled = true\n[switch.qcn]\nenabled = true\nset_point = '5KB'\nsample_base = '9KB'\n\
                  [host.qcn]\nreaction = 'window'\n";
    let untimed = "[host.tcp]\ntimestamps = false\nreceive_buffer = '16KB'\n";
    let queries = "[[workloads]]\nkind = 'rpc'\nend = '200us'\nsizes = '9KB'\n";
    for (name, text, changed) in [
        ("no limiters", incast("new_reno", window), "host.qcn.limiter = 'flow'"),
        ("no stages", incast("new_reno", window), "host.qcn.timer = '20us'"),
        ("no burst of Homa", wait("homa", ""), "schemes.s.stop = 'first_credit'"),
        ("nothing open of Homa", wait("homa", ""), "schemes.s.resend_open = true"),
        ("no burst of NDP", wait("ndp", trims), "schemes.s.stop = 'first_credit'"),
        ("nothing open of NDP", wait("ndp", trims), "schemes.s.resend_open = true"),
        ("nothing to miss", wait("ndp", trims), "schemes.s.pull_missing = false"),
        ("none back", incast("ndp", trims), "schemes.s.returned_ack_share = 101"),
        ("ports that trim", incast("ndp", trims), "switch.selective_drop = { enabled = true, threshold = '1KB' }"),
        ("no round trips", incast("new_reno", untimed), "host.tcp.receive_buffer_max = '64KB'"),
        ("its own window", incast("hpcc_tcp", queries), "host.tcp.initial_window = 1"),
        ("kept when idle", incast("hpcc_tcp", queries), "host.tcp.idle_restart = false"),
    ] {
        let bench = Bench::new(&format!("ruled-out-{name}"), text);
        let spec = parse(&bench.text, "flipped", &[changed.replacen(" = ", "=", 1).replace('\'', "\"")]).unwrap();
        let flipped = ran(spec, &bench.out.join("flipped")).unwrap();
        assert!(flipped.flows == bench.ran.flows, "{name}");
        let path = changed.split(" = ").next().unwrap();
        assert!(names(&flipped.without_effect, path), "{name}: {:?}", flipped.without_effect);
    }
    // Headers do come back, and growth does have its timestamps.
    let short = "[switch.trimming]\nenabled = true\ndata_packets = 1\nheader_packets = 1\nheaders_per_data = 1\n";
    let back = incast("ndp'\nfirst_window = 300\nfirst_rtt = 'burst", short).replace("hosts = 5", "hosts = 17");
    let back = back.replace("senders = 4", "senders = 16").replace("receiver = 4", "receiver = 16");
    for (name, text, path) in [
        ("back", back, "schemes.s.returned_ack_share"),
        ("timed", incast("new_reno", &untimed.replace("false", "true")), "host.tcp.receive_buffer_max"),
    ] {
        let bench = Bench::new(&format!("ruled-out-{name}"), text);
        assert!(!names(&bench.ran.without_effect, path), "{name}: {:?}", bench.ran.without_effect);
    }
}

/// Who gives a port more room, and has fewer drops for it, is not told that it had no effect because nothing was dropped.
#[test]
fn settings_that_kept_something_from_happening_are_not_named() {
    let incast = |cc: &str, more: &str| {
        format!(
            "[topology]\nkind = 'star'\nhosts = 5\nhost_rate = '25Gbps'\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'incast'\n\
             senders = 4\nrandom_senders = false\nreceiver = 4\nsizes = '60KB'\n{more}"
        )
    };
    let lossy = "[switch.pfc]\nenabled = false\n[switch]\nbuffer = '100KB'\n";
    let marks = "[switch.ecn]\nk_min = '5KB'\nk_max = '5KB'\n";
    let aeolus = "[switch.pfc]\nenabled = false\n[switch.selective_drop]\nenabled = true\n";
    let tree = |routing: &str, network: &str| {
        format!(
            "routing.choice = '{routing}'\n[topology]\n{network}\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'permutation'\n\
             sizes = '300KB'\n"
        )
    };
    let notified = "[switch]\npfc = { enabled = false }\nqcn = { enabled = true }\n[host.adapter]\nenabled = true\n\
                    [[workloads]]\nkind = 'all_to_all'\nsizes = '10KB'\n";
    let unsure = {
        let link = |host| format!("{{ a = '{host}', b = 's', rate = '25Gbps', error_rate = 0.2 }}");
        let graph = format!(
            "kind = 'graph'\nhosts = ['a', 'b', 'c', 'd', 'e']\nswitches = ['s']\nlinks = [{}]",
            ["a", "b", "c", "d", "e"].map(link).join(", ")
        );
        incast("hpcc", "").replace("kind = 'star'\nhosts = 5\nhost_rate = '25Gbps'", &graph)
    };
    let slow_first = {
        let names: Vec<_> = (0..64).map(|i| format!("'h{i}'")).collect();
        let rate = |i: usize| if i == 1 { "10Gbps" } else { "100Gbps" };
        let links: Vec<_> =
            names.iter().enumerate().map(|(i, h)| format!("{{ a = {h}, b = 's', rate = '{}' }}", rate(i))).collect();
        format!(
            "[topology]\nkind = 'graph'\nhosts = [{}]\nswitches = ['s']\nlinks = [{}]\n[switch]\nbuffer = '5400000B'\n[schemes.s]\n\
             cc = 'none'\nwindow = 'off'\n[[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '380KB' }}, \
             {{ src = 0, dst = 2, bytes = '900KB' }}]\n",
            names.join(", "),
            links.join(", ")
        )
    };
    let in_vain = "[topology]\nkind = 'star'\nhosts = 2\nlink_delay = '200us'\n[switch]\nbuffer = '1000B'\npfc = { enabled = false }\n[host]\n\
                   rto = '1ms'\nrto_tries = 2\nnack_interval = '50us'\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'flows'\n\
                   rows = [{ src = 0, dst = 1, bytes = '1100B' }]\n";
    for (name, text, changed) in [
        ("reserve", slow_first, "switch.pfc.reserve = '0B'"),
        ("patience", in_vain.to_string(), "host.rto_tries = 7"),
        ("answers by hash", tree("spray", "kind = 'fat_tree'\nk = 4"), "routing.salt = 7"),
        (
            "planes",
            tree("flow_hash", "kind = 'xgft'\nchildren = [4, 4]\nparents = [2, 1]"),
            "routing.choice = 'd_mod_k'",
        ),
        ("reaction", incast("new_reno", notified), "host.qcn.reaction = 'window'"),
        ("timeout", unsure, "switch.buffer = '1MB'"),
        ("answers to SYNs", incast("new_reno", ""), "host.tcp.rto_initial = '4us'"),
        ("alpha", incast("none'\nwindow = 'off", lossy), "switch.egress_alpha = 1000"),
        ("model", incast("none'\nwindow = 'off", lossy), "switch.model = 'per_port'"),
        ("pauses", incast("none'\nwindow = 'off", "[switch]\nbuffer = '300KB'\n"), "switch.pfc.alpha = 1"),
        ("marks", incast("dctcp", marks), "switch.ecn.at = '1Gbps'"),
        (
            "threshold",
            incast("homa", aeolus).replace("'homa'", "'homa'\nfirst_rtt = 'aeolus'"),
            "switch.selective_drop.threshold = '1GB'",
        ),
        ("padding", incast("hpcc", ""), "framing.ack_header = '4B'"),
        ("buffer", incast("new_reno", "[host.tcp]\nsend_buffer = '4KB'\n"), "host.tcp.send_buffer_max = '4KB'"),
        ("window", incast("new_reno", "[host.tcp]\nreceive_buffer = '4KB'\n"), "host.tcp.receive_buffer_max = '4KB'"),
        ("repair", incast("homa", lossy).replace("100KB", "40KB"), "schemes.s.resend_timeout = '100us'"),
        (
            "pacing",
            incast("new_reno", "[[workloads]]\nkind = 'all_to_all'\nsizes = '50KB'\n"),
            "host.tcp.pacing = 'rate'",
        ),
    ] {
        let bench = Bench::new(&format!("kept-{name}"), text);
        let spec = parse(&bench.text, "flipped", &[changed.replace(" = ", "=").replace('\'', "\"")]).unwrap();
        let flipped = ran(spec, &bench.out.join("flipped")).unwrap();
        assert!(flipped.flows != bench.ran.flows, "{name}: it changes nothing here");
        let path = changed.split(" = ").next().unwrap();
        assert!(!names(&flipped.without_effect, path), "{name}: {:?}", flipped.without_effect);
    }
}

/// Whether a setting was used follows from what happened in the run, which a single example hardly shows. Over runs of many lengths and
/// values: where one is named, every other value (of a floor: the usual one) gives the same flows byte for byte; and both, named and not,
/// occur. Else a user would give up a knob that works.
#[test]
fn settings_are_named_where_other_values_give_the_same_tables() {
    let incast = |cc: &str, size: u32, more: &str| {
        format!(
            "[topology]\nkind = 'star'\nhosts = 4\nhost_rate = '25Gbps'\n[schemes.s]\ncc = '{cc}'\n[[workloads]]\nkind = 'incast'\nsenders = 3\n\
             random_senders = false\nreceiver = 3\nsizes = '{size}KB'\n[records.series]\ninterval = 'off'\n{more}"
        )
    };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("effects/grid");
    let mut seen = std::collections::BTreeMap::<&str, [u32; 2]>::new();
    let mut compare = |text: &str, path: &'static str, others: &[&str]| {
        let given = ran(parse(text, "grid", &[]).unwrap_or_else(|e| panic!("{e}")), &out).unwrap();
        let is_named = names(&given.without_effect, path);
        let other = |value: &&str| {
            let spec = parse(text, "grid", &[format!("{path}={value}")]).unwrap_or_else(|e| panic!("{e}"));
            ran(spec, &out).unwrap().flows != given.flows
        };
        assert!(!(is_named && others.iter().any(other)), "{path} is named and matters: {text}");
        seen.entry(path).or_default()[usize::from(is_named)] += 1;
    };
    let marks = "[switch.ecn]\nk_min = '20KB'\nk_max = '20KB'\n";
    for fast_recovery in [0, 1, 3] {
        for size in [60, 200, 600, 1500, 4000] {
            let cc = format!(
                "dcqcn'\nclamp_target_rate = true\nincrease_interval = '60us'\nfast_recovery = {fast_recovery}\nai_rate = '50Mbps"
            );
            let text = incast(&cc, size, marks);
            for (path, most) in [("schemes.s.ai_rate", "\"20Gbps\""), ("schemes.s.hai_rate", "\"20Gbps\"")] {
                compare(&text, path, &["\"0bps\"", most]);
            }
        }
    }
    let lossy = "[switch]\npfc = { enabled = false }\n";
    for (size, rto_min) in
        [(20, "20us"), (20, "60us"), (20, "1ms"), (200, "40us"), (200, "100us"), (200, "250us"), (200, "5ms")]
    {
        for clock in ["1ns", "1us", "50us"] {
            let more = format!("{lossy}[host.tcp]\nrto_min = '{rto_min}'\nclock = '{clock}'\nrto_initial = '10ms'\n");
            compare(&incast("new_reno", size, &more), "host.tcp.timestamps", &["false"]);
            // A later flow to the same host, with what an earlier one has left.
            let again = "host_cache = true\ninherit_cwnd = 'full'\n[[workloads]]\nkind = 'incast'\nsenders = 3\nrandom_senders = false\n\
                         receiver = 3\nsizes = '90KB'\nstart = '20ms'\n";
            compare(&incast("new_reno", size, &format!("{more}{again}")), "host.tcp.timestamps", &["false"]);
        }
    }
    for least in [1, 2, 4, 12] {
        for size in [20, 200, 2000] {
            for buffer in ["40KB", "32MB"] {
                let more = format!(
                    "{lossy}model = 'per_port'\nbuffer = '{buffer}'\n[host.tcp]\nmin_window = {least}\nrto_min = '100us'\n"
                );
                compare(&incast("new_reno", size, &more), "host.tcp.min_window", &["1"]);
                compare(&incast("hpcc_tcp", size, &more), "host.tcp.min_window", &["1"]);
            }
        }
    }
    for (limiter, threshold, set_point) in
        [("destination", 1, "5KB"), ("flow", 2, "5KB"), ("nic", 1, "20KB"), ("flow", 1, "60KB")]
    {
        for size in [30, 60, 200, 1000] {
            let more = format!(
                "[host.adapter]\nenabled = true\n[switch.qcn]\nenabled = true\nset_point = '{set_point}'\nsample_base = '9KB'\n\
                 [host.qcn]\nlimiter = '{limiter}'\ntimer = '20us'\nbyte_limit = '8KB'\nthreshold = {threshold}\n\
                 ai_rate = '500Mbps'\nhai_rate = '2Gbps'\n"
            );
            let text = incast("new_reno", size, &more);
            for (path, other) in [
                ("host.qcn.ai_rate", "\"1Kbps\""),
                ("host.qcn.hai_rate", "\"1Kbps\""),
                ("host.qcn.stages", "\"standard\""),
                ("host.qcn.keep_target", "false"),
                ("host.qcn.clamp_target", "false"),
                ("host.qcn.start_above_set_point", "true"),
            ] {
                compare(&text, path, &[other]);
            }
        }
    }
    println!("{seen:?}");
    assert!(seen.len() == 10 && seen.values().all(|counts| counts.iter().all(|count| *count > 0)), "{seen:?}");
}
