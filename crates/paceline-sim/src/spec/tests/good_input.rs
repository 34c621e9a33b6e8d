//! Defaults, templates, conversions and the table of fields.

use std::collections::BTreeSet;

use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time};
use serde_json::Value;

use super::*;
use crate::scenario::{self, Framing};
use crate::spec::field::{DefaultText, FIELDS, Interval, Type, record};
use crate::spec::scheme::Control;
use crate::spec::section::pattern;
use crate::spec::workload::{Sizes, WorkloadKind};
use crate::spec::{TEMPLATES, catalogue, explain, lint, settings, template};

const G: u64 = 1_000_000_000;

#[test]
fn templates_parse_without_warnings() {
    assert_eq!(
        TEMPLATES.iter().map(|t| t.0).collect::<Vec<_>>(),
        ["quickstart", "hpcc-websearch", "incast", "dcqcn-incast", "all-reduce", "fat-tree", "tcp-udp-pfc"]
    );
    for (name, text) in TEMPLATES {
        let scenario = parse(text, name, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(lint(&scenario), Vec::<String>::new(), "{name}");
    }
    let unknown = |name: &str| template(name).unwrap_err().problem;
    assert_eq!(unknown("nothing"), "no such template");
    assert_eq!(unknown("incats"), "no such template, did you mean \"incast\"?");
    assert_eq!(unknown("websearch"), "no such template, did you mean \"hpcc-websearch\"?");
    assert_eq!(unknown("incast-"), "no such template, did you mean \"incast\"?");
    parse(template("hpcc-websearch").unwrap(), "t", &["workloads.0.scheme=none".to_string()]).unwrap();
    // The commented part of the template is a scenario too.
    let text = template("hpcc-websearch").unwrap();
    let (before, after) = text.split_once("# [[workloads]]").unwrap();
    let both = format!("{before}[[workloads]]{}", after.replace("\n# ", "\n"));
    assert_eq!(parse(&both, "t", &[]).unwrap().workloads.len(), 2);
}

#[test]
fn defaults_are_those_of_the_reference_simulator() {
    let s = least(&[]);
    assert_eq!(s.framing.config(), Framing::HPCC);
    assert_eq!(least(&["framing.preset=ethernet"]).framing.config(), Framing::ETHERNET);
    assert_eq!(least(&["framing.preset=ethernet", "framing.payload=1000B"]).framing.config().header, 58);
    let config =
        s.switch.config(&[BitsPerSec(400 * G), BitsPerSec(100 * G), BitsPerSec(100 * G)], &Framing::HPCC, false);
    let ecn = config.ecn.unwrap();
    let kb = |k: u64| Bytes(k * 1000);
    let rows: Vec<_> = ecn.by_rate.iter().map(|t| (t.rate.0 / G, t.k_min, t.k_max, t.p_max)).collect();
    assert_eq!(rows, [(100, kb(400), kb(1600), 0.2), (400, kb(1600), kb(6400), 0.2)]);
    let pfc = config.pfc.unwrap();
    assert_eq!((config.buffer, pfc.reserve, pfc.resume_offset), (Bytes(32 << 20), Bytes(4096), Bytes(3072)));
    assert_eq!((pfc.alpha_q16, pfc.alpha_scales, pfc.headroom), (8192, true, scenario::Headroom::RateDelay(3)));
    assert_eq!(s.host.nack_interval, Duration::from_us(500));
    assert_eq!(s.run.stop(), scenario::Stop::Completed);
    assert_eq!(s.quirks.config(), scenario::Quirks::default());
}

#[test]
fn thresholds_of_a_given_rate_replace_the_scaled_ones() {
    let text =
        format!("{LEAST}[[switch.ecn.by_rate]]\nrate = \"25Gbps\"\nk_min = \"1KB\"\nk_max = \"2KB\"\np_max = 1\n");
    let ecn = with(&text, &[]).unwrap().switch.ecn.clone();
    assert_eq!(
        (ecn.thresholds(BitsPerSec(25 * G)).k_min, ecn.thresholds(BitsPerSec(50 * G)).k_min),
        (Bytes(1000), Bytes(200_000))
    );
}

#[test]
fn what_follows_from_other_fields_is_filled_in() {
    let poisson = ["workloads.0.kind=poisson", "workloads.0.start=1ms", "workloads.0.duration=2ms"];
    let s = least(&poisson);
    let workload = &s.workloads[0];
    assert_eq!((&*workload.group.0, workload.scheme.as_ref().map(|n| &*n.0)), ("poisson", Some("hpcc")));
    let WorkloadKind::Poisson(p) = &workload.kind else { panic!("poisson") };
    assert_eq!((p.end, p.duration), (Some(Time(3_000_000_000)), None));
    assert_eq!(p.sizes, Sizes::Builtin(crate::spec::value::Name("websearch@hpcc".to_string())));
    // A run that stops by itself needs no end of the arrivals.
    let s = least(&["workloads.0.kind=poisson", "run.stop=10ms", "workloads.0.sizes=64KB"]);
    let WorkloadKind::Poisson(p) = &s.workloads[0].kind else { panic!("poisson") };
    assert_eq!((p.end, &p.sizes), (None, &Sizes::Fixed(Bytes(64_000))));
}

#[test]
fn errors_found_later_name_line_and_value() {
    let text = format!("{LEAST}sizes = \"webserch\"\n");
    let scenario = with(&text, &[]).unwrap();
    let error = scenario.error("workloads.0.sizes", "no such distribution");
    assert_eq!((error.line, error.value.as_deref()), (Some(7), Some("\"webserch\"")));
    let error = scenario.error("workloads.0.hosts", "too few");
    assert_eq!((error.line, error.value), (Some(5), None));
    let error = least(&["workloads.0.hosts=[1]"]).error("workloads.0.hosts", "too few");
    assert_eq!(error.to_string(), "--set workloads.0.hosts=[1]: workloads.0.hosts = [1]: too few");
}

/// Reads every default and both ends of every range with the field's own type, through a scenario that has the field.
#[test]
fn the_table_of_fields_is_sound() {
    for field in FIELDS.iter() {
        let row = &field.row;
        let path = &field.path;
        assert!(row.meaning.trim().ends_with('.') && !row.source.is_empty(), "{path}");
        assert!(path.rsplit('.').next() == Some(row.key), "{path}");
        if let Some(range) = row.range {
            assert!(
                range.starts_with(['[', '(']) && range.ends_with([']', ')']) && range.contains(','),
                "{path}: {range}"
            );
            for end in Interval::new(range).ends().into_iter().flatten() {
                assert!(reads(row.ty, end), "{path}: {end}");
            }
        }
        assert!(row.range.is_some() || !has_numbers(row.ty), "{path} has numbers but no range");
    }
    let same = |a: &crate::spec::field::Field, b: &crate::spec::field::Field| a.path == b.path && a.when == b.when;
    for (i, field) in FIELDS.iter().enumerate() {
        assert!(!FIELDS[..i].iter().any(|other| same(field, other)), "{} twice", field.path);
    }
}

fn has_numbers(ty: Type) -> bool {
    match ty {
        Type::Integer | Type::Number | Type::Size | Type::Duration | Type::Instant | Type::Rate => true,
        Type::Either(types) => types.iter().any(|t| has_numbers(*t)),
        Type::List(ty) => has_numbers(*ty),
        _ => false,
    }
}

fn reads(ty: Type, text: &str) -> bool {
    match ty {
        Type::Integer => text.parse::<u64>().is_ok(),
        Type::Number => text.parse::<f64>().is_ok(),
        Type::Size => text.parse::<Bytes>().is_ok(),
        Type::Duration | Type::Instant => text.parse::<Duration>().is_ok(),
        Type::Rate => text.parse::<BitsPerSec>().is_ok(),
        Type::Either(types) => types.iter().any(|t| reads(*t, text)),
        Type::List(ty) => reads(*ty, text),
        _ => false,
    }
}

/// A scenario for every choice of variants, with all that has to be given.
pub(super) fn all_variants() -> Vec<String> {
    let topologies = [
        "kind = 'star'",
        "kind = 'dumbbell'",
        "kind = 'parking_lot'",
        "kind = 'leaf_spine'",
        "kind = 'fat_tree'\nhosts_per_edge = 3",
        "kind = 'xgft'",
        "kind = 'hpcc_fat320'",
        "kind = 'file'\nfile = 'a b.txt'",
        "kind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s']\nlinks = [{ a = 'a', b = 's' }, { a = 'b', b = 's', rate = '1Gbps', rate_back = '2Gbps', delay_back = '3us' }]",
    ];
    let workloads = [
        "kind = 'poisson'\nend = '1ms'\nmax_flows = 3",
        "kind = 'poisson'\nduration = '1ms'\nsizes = { file = 'c.txt' }\nhosts = [0, '2-5']",
        "kind = 'incast'\nperiod = '3ms'",
        "kind = 'incast'\nmode = 'staggered'\nreceiver = 3",
        "kind = 'incast'\nmode = 'poisson'\nduration = '1ms'",
        "kind = 'permutation'\nshift = 4\nrate_cap = '10Gbps'",
        "kind = 'all_to_all'\nsizes = '3KB'",
        "kind = 'rpc'\nduration = '1ms'\nclients = [1]\nservers = [0]\nresponse = '1KB'",
        "kind = 'rpc'\nmode = 'open'\nend = '1ms'\nload = { value = 0.5 }",
        "kind = 'scatter_gather'\nduration = '1ms'\nconnections = 'open'\nresponse = '1600B'\nmax_queries = 5",
        "kind = 'on_off'\nduration = '1ms'\nsizes = '3KB'\nlocal = 0.5",
        "kind = 'on_off'\nend = '1ms'\nmode = 'cbr'\nrate = '2Gbps'",
        "kind = 'mpi'\nprogram = 'bt'\nranks = 4\nplacement = 'random'\nconnections = 'new'",
        "kind = 'mpi'\nprogram = 'cg'\nconnections = 'new'\neager = '8KiB'\nsends_end = 'arrival'",
        "kind = 'flows'\nfile = 'f.csv'",
        "kind = 'flows'\nrows = [{ src = 0, dst = 1, bytes = '1B', scheme = 's', group = 'g', class = 2, rate_cap = '1Gbps' }]",
        "kind = 'mpi'\nprogram = 'ft'\nproblem_class = 'S'\nalltoall = 'posted'\nconnections = 'new'",
        "kind = 'mpi'\nprogram = 'is'\nconnections = 'new'\nallreduce = 'reduce_scatter'\niterations = 3",
        "kind = 'mpi'\nprogram = 'mg'\nconnections = 'new'\nhosts = [3, '0-2']",
        "kind = 'mpi'\nprogram = 'collective'\noperation = 'all_to_all'\nalgorithm = 'bruck'\nbytes = '1KB'\nchannels = 2",
        "kind = 'mpi'\nprogram = 'wrf'\nconnections = 'new'\ncompute = '1ms'\ncolumns = 2",
        "kind = 'mpi'\nprogram = 'goal'\nconnections = 'new'\nfile = 'f.goal'",
    ];
    let schemes = [
        "cc = 'hpcc'",
        "cc = 'none'\nwindow = 'off'",
        "cc = 'dcqcn'\npreset = 'paper'",
        "cc = 'timely'\nwindow = 'bdp'",
        "cc = 'dctcp'\nwindow = '100KB'",
        "cc = 'hpcc_pint'",
        "cc = 'hpcc'\nmulti_rate = true",
        "cc = 'new_reno'",
        "cc = 'cubic'\n[host.tcp]\nstack = 'freebsd'",
        "cc = 'vegas'\ngamma = 3",
        "cc = 'homa'\novercommitment = 3\n[switch]\npfc.enabled = false",
        "cc = 'ndp'\nfirst_window = 30",
        "cc = 'express_pass'\n[switch]\nmodel = 'per_port'\npfc.enabled = false",
        "cc = 'hpcc_tcp'\nmax_stage = 3",
        "cc = 'udp'\nrate = '1Gbps'",
    ];
    let failures = [
        "link = ['tor0', 'agg1']\nnumber = 1\ndown = '1us'\nup = '2us'",
        "kind = 'random'\nend = '1ms'\nrepair = '3us'",
    ];
    let most = topologies.len().max(workloads.len()).max(schemes.len());
    let of = |i: usize| {
        let by_rate =
            "[[switch.ecn.by_rate]]\nrate = '1Gbps'\nk_min = '1KB'\nk_max = '1KB'\n[records.packets]\nend = '1ms'";
        format!(
            "[topology]\n{}\n[schemes.s]\n{}\n{by_rate}\n[[workloads]]\n{}\n{}\n",
            topologies[i % topologies.len()],
            schemes[i % schemes.len()],
            workloads[i % workloads.len()],
            if i < 7 { format!("[[failures]]\n{}", failures[i % failures.len()]) } else { String::new() }
        )
    };
    (0..most).map(of).collect()
}

/// What is written back covers the table of fields, and nothing else: every parsed field is in the table and the other
/// way round.
#[test]
fn every_field_is_parsed_and_every_parsed_field_is_in_the_table() {
    let mut written = BTreeSet::new();
    for text in all_variants() {
        let resolved = with(&text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}")).to_toml();
        let value: Value = toml::from_str(&resolved).unwrap();
        collect(&value, "", &mut written);
    }
    let table: BTreeSet<String> = FIELDS.iter().map(|f| f.path.clone()).collect();
    // Taken up into `end`.
    written.insert("workloads.*.duration".to_string());
    let missing: Vec<_> = table.symmetric_difference(&written).collect();
    assert!(missing.is_empty(), "in no scenario of `all_variants`, or not in the table of fields: {missing:?}");
}

/// Paths of all values, as patterns.
fn collect(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    let inner = |key: &str| crate::spec::field::join(path, key);
    let known = FIELDS.iter().find(|f| f.path == pattern(path)).map(|f| f.row.ty);
    match (value, known) {
        (Value::Object(map), None) => map.iter().for_each(|(k, v)| collect(v, &inner(k), out)),
        (Value::Object(map), Some(ty)) if record(ty).is_some() => {
            out.insert(pattern(path));
            map.iter().for_each(|(k, v)| collect(v, &inner(k), out));
        }
        (Value::Array(items), None) => {
            items.iter().enumerate().for_each(|(i, v)| collect(v, &inner(&i.to_string()), out));
        }
        _ => {
            out.insert(pattern(path));
        }
    }
}

#[test]
fn the_catalogue_lists_parameters_with_their_conditions() {
    let list = catalogue(&["websearch@hpcc"]);
    let names = |key: &str| -> Vec<String> {
        let items = list[key].as_array().unwrap();
        items.iter().map(|v| v["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names("schemes"), Control::WORDS);
    assert_eq!(
        names("workloads"),
        ["poisson", "incast", "permutation", "all_to_all", "flows", "rpc", "scatter_gather", "on_off", "mpi"]
    );
    assert_eq!(names("topologies").len(), 9);
    assert_eq!(list["distributions"][0], "websearch@hpcc");
    let hpcc = &list["schemes"][1]["parameters"][0];
    assert_eq!((hpcc["name"].as_str(), hpcc["default"].as_str()), (Some("eta"), Some("0.95")));
    let incast = list["workloads"][1]["parameters"].as_array().unwrap();
    let step = incast.iter().find(|p| p["name"] == "step").unwrap();
    assert_eq!(step["only_with"]["mode"], "staggered");
    assert_eq!(list["templates"].as_array().unwrap().len(), TEMPLATES.len());
}

/// `paceline explain` knows every setting, under the path and the choices that the table of fields has for it.
#[test]
fn settings_are_those_of_the_table() {
    let list = settings();
    let mut listed = BTreeSet::new();
    for section in list.as_array().unwrap() {
        let texts = |key: &str| section[key].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_string());
        let path: Vec<String> = texts("path").collect();
        let chosen = section["chosen"].as_array().unwrap().iter().map(|pair| &pair[0]);
        let given = section["parameters"].as_array().unwrap().iter().map(|p| &p["name"]);
        listed.extend(
            chosen.chain(given).map(|key| [&path[..], &[key.as_str().unwrap().to_string()]].concat().join(".")),
        );
    }
    assert_eq!(listed, FIELDS.iter().map(|field| field.path.clone()).collect());
}

/// Required and absent defaults agree with what the parser demands.
#[test]
fn only_what_has_no_sensible_default_is_required() {
    let required: Vec<_> =
        FIELDS.iter().filter(|f| f.row.default == DefaultText::Required).map(|f| f.path.as_str()).collect();
    assert_eq!(
        required,
        [
            "failures.*.link",
            "failures.*.down",
            "failures.*.end",
            "topology.kind",
            "topology.file",
            "topology.hosts",
            "topology.switches",
            "topology.links.*.a",
            "topology.links.*.b",
            "switch.ecn.by_rate.*.rate",
            "switch.ecn.by_rate.*.k_min",
            "switch.ecn.by_rate.*.k_max",
            "workloads.*.kind",
            "workloads.*.sizes.file",
            "workloads.*.sizes.file",
            "workloads.*.sizes.file",
            "workloads.*.sizes.file",
            "workloads.*.rows.*.src",
            "workloads.*.rows.*.dst",
            "workloads.*.rows.*.bytes",
            "workloads.*.sizes.file",
            "workloads.*.sizes.file",
            "workloads.*.program",
            "workloads.*.file",
            "schemes.*.cc",
        ]
    );
}

#[test]
fn fields_are_explained_by_path_or_name() {
    let text = explain("schemes.mine.eta").unwrap();
    assert!(
        text.starts_with("schemes.*.eta (with cc = \"hpcc\")\n  Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top. Above 1 a queue is kept.\n  default: 0.95\n"),
        "{text}"
    );
    assert!(explain("workloads.3.load.value").unwrap().contains("kind = \"incast\" and mode = \"poisson\""));
    assert!(explain("k_max").unwrap().contains("switch.ecn.k_max\n"));
    assert!(explain("framing.payload").unwrap().contains("\"1460B\" (preset ethernet)"));
    assert_eq!(explain("switch.ecn.kmax").unwrap_err().allowed.as_deref(), Some("`switch.ecn.k_max`?"));
    assert!(explain("").is_err());
}
