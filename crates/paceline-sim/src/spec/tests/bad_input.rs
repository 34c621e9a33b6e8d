//! What users get to read when something is wrong.

use super::*;

/// A mistake: lines put before the least scenario, and what the error must say.
struct Mistake {
    text: &'static str,
    line: usize,
    field: &'static str,
    value: Option<&'static str>,
    problem: &'static str,
    allowed: &'static str,
}

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    // Keys.
    Mistake { text: "\n[switch.ecn]\nk_maxx = \"1MB\"\n", line: 3, field: "switch.ecn.k_maxx", value: Some("\"1MB\""),
        problem: "unknown key, did you mean `k_max`?", allowed: "at, by_rate, enabled, k_max" },
    Mistake { text: "[switch]\nk_max = \"1MB\"\n", line: 2, field: "switch.k_max", value: Some("\"1MB\""),
        problem: "unknown key, did you mean `switch.ecn.k_max`?", allowed: "buffer, delay, ecn, egress_alpha" },
    Mistake { text: "[switch.trimming]\nenabled = true\n", line: 2, field: "switch.trimming.enabled", value: Some("true"),
        problem: "no scheme can do with trimmed packets", allowed: "a scheme with cc = \"ndp\"" },
    Mistake { text: "[switch.red]\nenabled = true\n", line: 2, field: "switch.red.enabled", value: Some("true"),
        problem: "two rules for marks", allowed: "one of switch.red.enabled and switch.ecn.enabled" },
    Mistake { text: "[switch]\necn.enabled = false\nred = { enabled = true, min = \"80KB\" }\n", line: 3, field: "switch.red.min",
        value: Some("\"80KB\""), problem: "min (80KB) is not below max (75KiB)", allowed: "min below max" },
    Mistake { text: "[switch]\necn.enabled = false\nred = { enabled = true, non_ect = \"drop\" }\n", line: 3, field: "switch.red.non_ect",
        value: Some("\"drop\""), problem: "with PFC nothing is dropped", allowed: "\"pass\", or switch.pfc.enabled = false" },
    Mistake { text: "[schemes.z]\ncc = \"homa\"\nlevels = 1\n", line: 3, field: "schemes.z.levels", value: Some("1"),
        problem: "out of range", allowed: "a whole number, 2 to 8" },
    Mistake { text: "[schemes.z]\nkind = \"hpcc\"\n", line: 2, field: "schemes.z.kind", value: Some("\"hpcc\""),
        problem: "unknown key, did you mean `cc`?", allowed: "cc; others depend on `cc`" },
    Mistake { text: "[schemes.z]\ncc = \"dctcp\"\nzzz = 1\n", line: 3, field: "schemes.z.zzz", value: Some("1"),
        problem: "unknown key", allowed: "ai_rate, cc, g, min_rate, variable_window, window; others depend on `cc`" },
    Mistake { text: "[schemes.z]\ncc = \"dctcp\"\nkmin = \"1MB\"\n", line: 3, field: "schemes.z.kmin", value: Some("\"1MB\""),
        problem: "unknown key, did you mean `switch.ecn.k_min`?", allowed: "ai_rate" },
    Mistake { text: "[schemes.z]\ntype = \"timely\"\n", line: 2, field: "schemes.z.type", value: Some("\"timely\""),
        problem: "unknown key, did you mean `cc`?", allowed: "cc; others depend on `cc`" },
    Mistake { text: "[swich]\nbuffer = \"1MB\"\n", line: 1, field: "swich", value: Some("{buffer = \"1MB\"}"),
        problem: "unknown key, did you mean `switch`?", allowed: "topology" },
    Mistake { text: "zzz = 1\n", line: 1, field: "zzz", value: Some("1"), problem: "unknown key", allowed: "framing, host" },
    Mistake { text: "seed = 1\nseed = 2\n", line: 2, field: "", value: None, problem: "not TOML: duplicate key", allowed: "TOML" },
    Mistake { text: "name = \"a\nb\"\n", line: 1, field: "", value: None, problem: "not TOML", allowed: "TOML" },
    // Types.
    Mistake { text: "[switch.pfc]\nenabled = \"yes\"\n", line: 2, field: "switch.pfc.enabled", value: Some("\"yes\""),
        problem: "wrong type, a string", allowed: "true or false" },
    Mistake { text: "seed = 1.5\n", line: 1, field: "seed", value: Some("1.5"), problem: "wrong type, a float", allowed: "a whole number, 0 to 9223372036854775807" },
    Mistake { text: "host = 3\n", line: 1, field: "host", value: Some("3"), problem: "wrong type, an integer", allowed: "a table" },
    Mistake { text: "name = 1979-05-27\n", line: 1, field: "name", value: Some("1979-05-27"), problem: "wrong type, a date", allowed: "a name" },
    Mistake { text: "[records.series]\nports = \"3:1\"\n", line: 2, field: "records.series.ports", value: Some("\"3:1\""),
        problem: "wrong type, a string", allowed: "a list, each a port such as \"tor0:4\"" },
    Mistake { text: "[records.packets]\nstart = \"2ms\"\nend = \"1ms\"\n", line: 3, field: "records.packets.end",
        value: Some("\"1ms\""), problem: "not after start (2ms)", allowed: "an instant after start" },
    // Quantities.
    Mistake { text: "[switch]\nbuffer = \"32MibiB\"\n", line: 2, field: "switch.buffer", value: Some("\"32MibiB\""),
        problem: "not a size, did you mean \"32MiB\"?", allowed: "a size such as \"32MiB\"" },
    Mistake { text: "[switch]\nbuffer = 33554432\n", line: 2, field: "switch.buffer", value: Some("33554432"),
        problem: "a number without a unit", allowed: "1KB to 4GB" },
    Mistake { text: "[host]\nnack_interval = \"0.5ps\"\n", line: 2, field: "host.nack_interval", value: Some("\"0.5ps\""),
        problem: "not a time", allowed: "a time such as \"1us\"" },
    Mistake { text: "[host]\nrto = \"atuo\"\n", line: 2, field: "host.rto", value: Some("\"atuo\""),
        problem: "unknown word, did you mean \"auto\"?", allowed: "\"auto\", \"off\"; or a time" },
    Mistake { text: "[switch.pfc]\nheadroom = \"2.5x\"\n", line: 2, field: "switch.pfc.headroom", value: Some("\"2.5x\""),
        problem: "not a multiple", allowed: "\"auto\"; or a size such as" },
    Mistake { text: "[routing]\nchoice = \"flow-hash\"\n", line: 2, field: "routing.choice", value: Some("\"flow-hash\""),
        problem: "unknown word, did you mean \"flow_hash\"?", allowed: "\"flow_hash\", \"spray\"" },
    Mistake { text: "[[workloads]]\nkind = \"mpi\"\nprogram = \"cg\"\nproblem_class = \"b\"\n", line: 4,
        field: "workloads.0.problem_class", value: Some("\"b\""),
        problem: "unknown word, did you mean \"B\"?", allowed: "\"S\", \"W\", \"A\", \"B\"" },
    // Ranges.
    Mistake { text: "[switch.ecn]\np_max = 1.5\n", line: 2, field: "switch.ecn.p_max", value: Some("1.5"),
        problem: "out of range", allowed: "a number, 0 to 1" },
    Mistake { text: "[switch.ecn]\np_max = nan\n", line: 2, field: "switch.ecn.p_max", value: Some("nan"),
        problem: "not a finite number", allowed: "a number, 0 to 1" },
    Mistake { text: "[switch.ecn]\np_max = -inf\n", line: 2, field: "switch.ecn.p_max", value: Some("-inf"),
        problem: "not a finite number", allowed: "0 to 1" },
    Mistake { text: "[switch.pfc]\nalpha = 0\n", line: 2, field: "switch.pfc.alpha", value: Some("0"),
        problem: "out of range", allowed: "a number, above 0, at most 1" },
    Mistake { text: "seed = -1\n", line: 1, field: "seed", value: Some("-1"), problem: "out of range", allowed: "0 to" },
    Mistake { text: "seed = 9223372036854775808\n", line: 1, field: "seed", value: Some("9223372036854775808"),
        problem: "out of range", allowed: "9223372036854775807" },
    Mistake { text: "[switch.pfc]\nheadroom = \"0x\"\n", line: 2, field: "switch.pfc.headroom", value: Some("\"0x\""),
        problem: "out of range", allowed: "1x to 1000x" },
    Mistake { text: "schema = 2\n", line: 1, field: "schema", value: Some("2"), problem: "out of range", allowed: "1 to 1" },
    Mistake { text: "name = \"../up\"\n", line: 1, field: "name", value: Some("\"../up\""), problem: "not a name", allowed: "1 to 64 letters" },
    Mistake { text: "[framing]\npayload = \"10KB\"\n", line: 2, field: "framing.payload", value: Some("\"10KB\""),
        problem: "out of range", allowed: "1B to 9216B" },
    // Rules between fields.
    Mistake { text: "[switch.ecn]\n\nk_min = \"2MB\"\n", line: 3, field: "switch.ecn.k_min", value: Some("\"2MB\""),
        problem: "k_min (2MB) is above k_max (1600KB)", allowed: "k_min at most k_max" },
    Mistake { text: "[switch.ecn]\nk_max = \"100KB\"\n", line: 2, field: "switch.ecn.k_max", value: Some("\"100KB\""),
        problem: "k_min (400KB) is above k_max (100KB)", allowed: "k_min at most k_max" },
    Mistake { text: "[[switch.ecn.by_rate]]\nrate = \"1Gbps\"\nk_min = \"2KB\"\nk_max = \"1KB\"\n", line: 3,
        field: "switch.ecn.by_rate.0.k_min", value: Some("\"2KB\""), problem: "k_min (2KB) is above", allowed: "k_min at most" },
    Mistake { text: "[[switch.ecn.by_rate]]\nrate = \"1Gbps\"\nk_min = \"2KB\"\n", line: 1,
        field: "switch.ecn.by_rate.0.k_max", value: None, problem: "missing", allowed: "a size" },
    Mistake { text: "[schemes.\"a b\"]\ncc = \"none\"\n", line: 1, field: "schemes", value: Some("a b"),
        problem: "not a name", allowed: "1 to 64 letters, digits, - and _" },
    Mistake { text: "[schemes.none]\ncc = \"none\"\neta = 0.9\n", line: 3, field: "schemes.none.eta", value: Some("0.9"),
        problem: "has no effect here", allowed: "only with cc = \"hpcc\"" },
    Mistake { text: "[schemes.x]\ncc = \"hpc\"\n", line: 2, field: "schemes.x.cc", value: Some("\"hpc\""),
        problem: "unknown word, did you mean \"hpcc\"?", allowed: "\"none\", \"hpcc\"" },
    Mistake { text: "[schemes.x]\neta = 0.9\n", line: 1, field: "schemes.x.cc", value: None, problem: "missing", allowed: "\"none\", \"hpcc\"" },
    Mistake { text: "[schemes.x]\ncc = \"hpcc\"\nwindow = \"off\"\n", line: 3, field: "schemes.x.window", value: Some("\"off\""),
        problem: "unknown word", allowed: "\"bdp\"; or a size" },
    Mistake { text: "[schemes.x]\ncc = \"hpcc\"\nmin_rate = \"200Gbps\"\n", line: 3, field: "schemes.x.min_rate", value: Some("\"200Gbps\""),
        problem: "above the rate of the host links", allowed: "at most 100Gbps" },
    Mistake { text: "[schemes.x]\ncc = \"dcqcn\"\nmin_rate = \"200Gbps\"\n", line: 3, field: "schemes.x.min_rate", value: Some("\"200Gbps\""),
        problem: "above the rate of the host links", allowed: "at most 100Gbps" },
    Mistake { text: "[schemes.x]\ncc = \"timely\"\nt_high = \"40us\"\n", line: 3, field: "schemes.x.t_high", value: Some("\"40us\""),
        problem: "t_low (50us) is above t_high (40us)", allowed: "t_low at most t_high" },
    Mistake { text: "[schemes.x]\ncc = \"vegas\"\nalpha = 4\n", line: 3, field: "schemes.x.alpha", value: Some("4"),
        problem: "alpha (4) is above beta (3)", allowed: "alpha at most beta" },
    Mistake { text: "[schemes.x]\ncc = \"vegas\"\nbeta = 0\n", line: 3, field: "schemes.x.beta", value: Some("0"),
        problem: "alpha (1) is above beta (0)", allowed: "alpha at most beta" },
    Mistake { text: "[schemes.x]\ncc = \"hpcc_pint\"\n[schemes.y]\ncc = \"hpcc_pint\"\nlog_base = 1.01\n", line: 5, field: "schemes.y.log_base",
        value: Some("1.01"), problem: "1.01 differs from schemes.x", allowed: "1.05: switches write utilisation in one base" },
    Mistake { text: "[schemes.x]\ncc = \"dcqcn\"\nalpha_interval = \"1ns\"\n", line: 3, field: "schemes.x.alpha_interval", value: Some("\"1ns\""),
        problem: "out of range", allowed: "100ns to 1s" },
    Mistake { text: "[schemes.x]\ncc = \"hpcc\"\nlog_base = 1.05\n", line: 3, field: "schemes.x.log_base", value: Some("1.05"),
        problem: "has no effect here", allowed: "only with cc = \"hpcc_pint\"" },
];

fn check(error: &InputError, mistake: &Mistake) {
    let text = mistake.text;
    assert_eq!(error.file.as_deref(), Some("run.toml"), "{text}: {error}");
    assert_eq!(error.line, Some(mistake.line), "{text}: {error}");
    assert_eq!(error.field.as_deref().unwrap_or(""), mistake.field, "{text}: {error}");
    assert_eq!(error.value.as_deref(), mistake.value, "{text}: {error}");
    assert!(error.problem.starts_with(mistake.problem), "{text}: {error}");
    assert!(error.allowed.as_deref().unwrap_or("").contains(mistake.allowed), "{text}: {error}");
}

#[test]
fn mistakes_name_line_field_value_and_what_is_allowed() {
    for mistake in MISTAKES {
        let error = with(&format!("{}{LEAST}", mistake.text), &[]).expect_err(mistake.text);
        check(&error, mistake);
    }
}

/// A largest buffer below the first one was raised without a word; who asks for it would believe it.
#[test]
fn limits_below_what_they_limit_are_refused_where_they_are_set() {
    let star = "[topology]\nkind = 'star'\n[schemes.s]\ncc = 'new_reno'\n[switch.pfc]\nenabled = false\n[[workloads]]\n\
                kind = 'permutation'\nsizes = '1KB'\n[host.tcp]\nstack = 'freebsd'\n";
    let told = |more: &str| parse(&format!("{star}{more}"), "s.toml", &[]).unwrap_err().to_string();
    for (more, error) in [
        (
            "send_buffer_max = '10KB'",
            "host.tcp.send_buffer_max = \"10KB\": below host.tcp.send_buffer; allowed: at least 128KiB",
        ),
        ("receive_buffer_max = '10KB'", "below host.tcp.receive_buffer; allowed: at least 128KiB"),
        ("rto_min = '20ms'\nrto_max = '19ms'", "below host.tcp.rto_min; allowed: at least 20ms"),
    ] {
        assert!(told(more).contains(error), "{}", told(more));
    }
    // Where only the first is set, the other goes with it, and the resolved scenario says so.
    let resolved = parse(&format!("{star}send_buffer = '1MiB'"), "s.toml", &[]).unwrap().to_toml();
    assert!(resolved.contains("send_buffer_max = \"1MiB\""), "{resolved}");
    assert_eq!(parse(&resolved, "r.toml", &[]).unwrap().to_toml(), resolved);
}

/// Notifications were sent astray where a link fails at some time, without a word.
#[test]
fn links_that_fail_are_refused_beside_notifications() {
    let failure = "failures=[{ link = ['host0', 'tor0'], down = '1us' }]";
    let qcn = ["schemes.hpcc={ cc = 'cubic' }", "host.adapter.enabled=true", "switch.qcn.enabled=true"];
    with(LEAST, &qcn).unwrap();
    let error = with(LEAST, &[&qcn[..], &[failure]].concat()).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("switch.qcn.enabled"), "{error}");
    assert!(error.problem.contains("links that fail"), "{error}");
}

/// As [`MISTAKES`], but in place of the least scenario's topology or workload.
#[rustfmt::skip]
const PARTS: &[Mistake] = &[
    Mistake { text: "", line: 1, field: "topology.kind", value: None, problem: "missing", allowed: "\"star\", \"dumbbell\"" },
    Mistake { text: "[topology]\nkind = \"star\"\n", line: 1, field: "schemes", value: None, problem: "missing", allowed: "[schemes.hpcc]" },
    Mistake { text: "[topology]\nkind = \"star\"\n[schemes.a]\ncc = \"none\"\n", line: 1, field: "workloads", value: None,
        problem: "missing", allowed: "[[workloads]]" },
    Mistake { text: "[topology]\nkind = \"leaf_spine\"\nk = 8\n", line: 3, field: "topology.k", value: Some("8"),
        problem: "has no effect here", allowed: "only with kind = \"fat_tree\"" },
    Mistake { text: "[topology]\nkind = \"star\"\nrate = \"100Gbps\"\n", line: 3, field: "topology.rate", value: Some("\"100Gbps\""),
        problem: "unknown key, did you mean `host_rate`?", allowed: "host_rate, hosts, kind, link_delay" },
    Mistake { text: "[topology]\nkind = \"fat_tree\"\nlink_rate = \"1Gbps\"\n", line: 3, field: "topology.link_rate", value: Some("\"1Gbps\""),
        problem: "unknown key, did you mean `fabric_rate` or `host_rate`?", allowed: "fabric_rate, host_rate" },
    Mistake { text: "[topology]\nkind = \"leafspine\"\n", line: 2, field: "topology.kind", value: Some("\"leafspine\""),
        problem: "unknown word, did you mean \"leaf_spine\"?", allowed: "\"fat_tree\"" },
    Mistake { text: "[topology]\nkind = \"xgft\"\nchildren = [4, 4, 2]\nparents = [1, 4]\n[schemes.a]\ncc = \"none\"\n[[workloads]]\n\
        kind = \"permutation\"\n", line: 4, field: "topology.parents", value: Some("[1, 4]"),
        problem: "not as many as topology.children", allowed: "3 of them" },
    Mistake { text: "[topology]\nkind = \"file\"\n", line: 1, field: "topology.file", value: None, problem: "missing", allowed: "the name of a file" },
    Mistake { text: "schemes = [1]\n[topology]\nkind = \"star\"\n", line: 1, field: "schemes", value: Some("[1]"),
        problem: "wrong type, an array", allowed: "a table of tables" },
    Mistake { text: "[workloads]\nkind = \"poisson\"\n[topology]\nkind = \"star\"\n", line: 1, field: "workloads",
        value: Some("{kind = \"poisson\"}"), problem: "wrong type, a table", allowed: "an array of tables" },
];

#[test]
fn missing_and_misplaced_parts_are_named() {
    for mistake in PARTS {
        let error = with(mistake.text, &[]).expect_err(mistake.text);
        check(&error, mistake);
    }
}

/// A mistake in a workload, after a star and two schemes; lines count from the workload's header.
#[rustfmt::skip]
const WORKLOADS: &[Mistake] = &[
    Mistake { text: "kind = \"poisson\"\n", line: 0, field: "scheme", value: None, problem: "missing", allowed: "one, two" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"ones\"\n", line: 2, field: "scheme", value: Some("\"ones\""),
        problem: "no such scheme, did you mean \"one\"?", allowed: "one, two" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"one\"\n", line: 0, field: "end", value: None,
        problem: "missing: the arrivals would never end", allowed: "one of end, duration, max_flows" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"one\"\nend = \"1ms\"\nduration = \"1ms\"\n", line: 4, field: "duration",
        value: Some("\"1ms\""), problem: "given beside end", allowed: "one of end and duration" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"one\"\nstart = \"2ms\"\nend = \"1ms\"\n", line: 4, field: "end",
        value: Some("\"1ms\""), problem: "not after start (2ms)", allowed: "an instant after start" },
    Mistake { text: "kind = \"poisson\"\nload = { value = -0.1 }\n", line: 2, field: "load.value", value: Some("-0.1"),
        problem: "out of range", allowed: "above 0, at most 10" },
    Mistake { text: "kind = \"poisson\"\nload = { valeu = 0.1 }\n", line: 2, field: "load.valeu", value: Some("0.1"),
        problem: "unknown key, did you mean `value`?", allowed: "bytes, mean, of, value" },
    Mistake { text: "kind = \"poisson\"\nclass = 0\n", line: 2, field: "class", value: Some("0"), problem: "out of range", allowed: "1 to 7" },
    Mistake { text: "kind = \"poisson\"\nsizes = { file = \"x\", sampling = \"steps\" }\n", line: 2, field: "sizes",
        value: Some("{file = \"x\", sampling = \"steps\"}"), problem: "sampling: unknown word, did you mean \"step\"?", allowed: "a table with file, sampling" },
    Mistake { text: "kind = \"poisson\"\nsizes = \"data/x.cdf\"\n", line: 2, field: "sizes", value: Some("\"data/x.cdf\""),
        problem: "not a name, did you mean { file = \"data/x.cdf\" }?", allowed: "a table with file" },
    Mistake { text: "kind = \"poisson\"\nsizes = \"0B\"\n", line: 2, field: "sizes", value: Some("\"0B\""), problem: "out of range", allowed: "1B to 1TiB" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"one\"\nduration = \"1ms\"\nhosts = [\"0-16\"]\n", line: 4, field: "hosts", value: Some("[\"0-16\"]"),
        problem: "no such host", allowed: "0 to 15" },
    Mistake { text: "kind = \"incast\"\nscheme = \"one\"\nreceiver = 16\n", line: 3, field: "receiver", value: Some("16"), problem: "no such host", allowed: "0 to 15" },
    Mistake { text: "kind = \"flows\"\nscheme = \"one\"\nrows = [{ src = 99, dst = 1, bytes = \"1B\" }]\n", line: 3, field: "rows.0.src",
        value: Some("99"), problem: "no such host", allowed: "0 to 15" },
    Mistake { text: "kind = \"poisson\"\nhosts = [\"5 3\"]\n", line: 2, field: "hosts", value: Some("[\"5 3\"]"), problem: "not a set of hosts", allowed: "\"all\" or a list" },
    Mistake { text: "kind = \"incast\"\nstep = \"1us\"\n", line: 2, field: "step", value: Some("\"1us\""), problem: "has no effect here",
        allowed: "only with kind = \"incast\" and mode = \"staggered\" or with kind = \"all_to_all\"" },
    Mistake { text: "kind = \"incast\"\nmode = \"sync\"\n", line: 2, field: "mode", value: Some("\"sync\""), problem: "unknown word", allowed: "\"synchronous\"" },
    Mistake { text: "kind = \"incast\"\nreceiver = true\n", line: 2, field: "receiver", value: Some("true"), problem: "wrong type, a boolean", allowed: "\"random\"; or a node id, or the name" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"one\"\nduration = \"1ms\"\nload.of = \"a->b\"\n[routing]\nchoice = \"d_mod_k\"\n",
        line: 4, field: "load.of", value: Some("\"a->b\""), problem: "the share of a link is worked out for paths by chance", allowed: "\"host\"" },
    Mistake { text: "kind = \"poisson\"\nscheme = \"one\"\nsizes = \"websearch\"\nload = 0.6\n", line: 4, field: "load", value: Some("0.6"),
        problem: "wrong type, a float", allowed: "a table with " },
    Mistake { text: "kind = \"flows\"\nscheme = \"one\"\n", line: 0, field: "rows", value: None, problem: "missing", allowed: "one of file and rows" },
    Mistake { text: "kind = \"flows\"\nscheme = \"one\"\nrows = []\n", line: 3, field: "rows", value: Some("[]"), problem: "no flows", allowed: "at least one" },
    Mistake { text: "kind = \"flows\"\nscheme = \"one\"\nrows = [\n{ src = 1, dst = 1, bytes = \"1B\" }]\n", line: 4, field: "rows.0.dst",
        value: Some("1"), problem: "same as src", allowed: "another host" },
    Mistake { text: "kind = \"flows\"\nscheme = \"one\"\nrows = [\n{ src = 1, dst = 2 }]\n", line: 4, field: "rows.0.bytes",
        value: None, problem: "missing", allowed: "a size" },
];

#[test]
fn mistakes_in_workloads_name_the_workload() {
    const BEFORE: &str =
        "[topology]\nkind = \"star\"\n[schemes.one]\ncc = \"none\"\n[schemes.two]\ncc = \"none\"\n[[workloads]]\n";
    let header = BEFORE.lines().count();
    for mistake in WORKLOADS {
        let error = with(&format!("{BEFORE}{}", mistake.text), &[]).expect_err(mistake.text);
        let line = error.line.map(|line| line - header);
        let field = error.field.clone().unwrap_or_default();
        assert_eq!(field.strip_prefix("workloads.0."), Some(mistake.field), "{error}");
        check(&InputError { line, field: Some(mistake.field.to_string()), ..error }, mistake);
    }
}

#[test]
fn graphs_name_unknown_and_repeated_nodes() {
    let rest = &LEAST[LEAST.find("[schemes").unwrap()..];
    let graph = "[topology]\nkind = \"graph\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"s\"]\nlinks = [\n  { a = \"h0\", b = \"s\" },\n";
    let error = with(&format!("{graph}  {{ a = \"h1\", b = \"h2\" }},\n]\n{rest}"), &[]).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(7), Some("topology.links.1.b")), "{error}");
    assert_eq!(error.value.as_deref(), Some("\"h2\""));
    assert!(error.problem.contains("no such node, did you mean"), "{error}");
    let twice = graph.replace("\"s\"]", "\"h0\"]");
    let error = with(&format!("{twice}]\n{rest}"), &[]).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(4), Some("topology.switches.0")), "{error}");
}

#[test]
fn overrides_are_named_in_place_of_the_line() {
    for (text, field, value, problem) in [
        ("schemes.hpcc.eta=20", "schemes.hpcc.eta", "20", "out of range"),
        ("schemes.hpcc.etaa=0.9", "schemes.hpcc.etaa", "0.9", "unknown key, did you mean `eta`?"),
        ("workloads.0.class=high", "workloads.0.class", "\"high\"", "wrong type, a string"),
        ("workloads.1.class=3", "workloads.1", "workloads.1.class=3", "no such element"),
        // Beside `workloads.0.class=4` the last of the two would have won.
        ("workloads.00.class=3", "workloads.00", "workloads.00.class=3", "no such element"),
        ("topology.kind.k=3", "topology.kind.k", "topology.kind.k=3", "`topology.kind` is not a table"),
        ("seed", "seed", "seed", "not an override"),
        ("a..b=1", "a..b", "a..b=1", "not a field"),
        ("workloads.0.scheme=hpccc", "workloads.0.scheme", "\"hpccc\"", "no such scheme, did you mean \"hpcc\"?"),
        ("topology.kind=fat_tree", "", "", ""),
    ] {
        let result = with(LEAST, &[text]);
        if field.is_empty() {
            result.unwrap();
            continue;
        }
        let error = result.expect_err(text);
        assert_eq!(error.file, Some(format!("--set {text}")), "{error}");
        assert_eq!((error.line, error.field.as_deref()), (None, Some(field)), "{error}");
        assert_eq!(error.value.as_deref(), Some(value), "{error}");
        assert_eq!(error.problem, problem, "{error}");
        assert!(error.allowed.is_some_and(|a| !a.is_empty()), "{text}");
    }
}

#[test]
fn huge_and_deep_input_is_refused_quickly() {
    let error = with(&"# \n".repeat(3 << 20), &[]).unwrap_err();
    assert!(error.problem.contains("too long"), "{error}");
    // What its defaults make too long is refused before a run, which could not be repeated from what it leaves behind.
    let links = "{a='h',b='s'},".repeat(300_000);
    let graph = format!("topology={{kind='graph',hosts=['h','i'],switches=['s'],links=[{links}]}}\n");
    let error = with(&LEAST.replace("[topology]\nkind = \"star\"\n", &graph), &[]).unwrap_err();
    assert!(error.problem.contains("too long with all defaults"), "{error}");
    for deep in
        [format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)), format!("{}a = 1", "a.".repeat(100_000))]
    {
        assert!(with(&deep, &[]).is_err());
        assert!(with(LEAST, &[&deep]).is_err());
    }
    let many = "[[workloads]]\nkind = \"permutation\"\n".repeat(1001);
    let error = with(&format!("{}{many}", &LEAST[..LEAST.find("[[").unwrap()]), &[]).unwrap_err();
    assert_eq!((error.problem.as_str(), error.value.as_deref()), ("too many entries", Some("1001")), "{error}");
    let long = "x".repeat(1 << 20);
    let error = with(&format!("{long} = \"{long}\""), &[]).unwrap_err();
    assert!(error.to_string().len() < 1000, "{}", error.to_string().len());
}

/// Input made to be slow, within the limit of length.
#[test]
fn large_graphs_are_read_in_linear_time() {
    let hosts: Vec<_> = (0..20_000).map(|i| format!("'h{i}'")).collect();
    let links: Vec<_> = (0..20_000).map(|i| format!("{{ a = 'h{i}', b = 's', rate = '{}Mbps' }}", i + 1)).collect();
    let topology = format!(
        "[topology]\nkind = 'graph'\nhosts = [{}]\nswitches = ['s']\nlinks = [{}]\n",
        hosts.join(","),
        links.join(",")
    );
    let text = format!("{topology}[schemes.a]\ncc = 'none'\n[[workloads]]\nkind = 'permutation'\n");
    let scenario = with(&text, &[]).unwrap();
    let _ = crate::spec::lint(&scenario);
    let rows = "{ rate = '1Gbps', k_min = '1KB', k_max = '1KB' },".repeat(65);
    let error = with(&format!("{LEAST}[switch.ecn]\nby_rate = [{rows}]\n"), &[]).unwrap_err();
    assert_eq!((error.problem.as_str(), error.allowed.as_deref()), ("too many entries", Some("at most 64")));
}
