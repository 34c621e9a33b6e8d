use proptest::prelude::*;

use super::*;

const KINDS: [NodeKind; 4] = [NodeKind::Host, NodeKind::Host, NodeKind::Host, NodeKind::Switch];

fn read(text: &str) -> (Vec<FlowRow>, Vec<String>) {
    read_flows(text, "f.txt", &KINDS).unwrap()
}

#[test]
fn reads_rows_with_both_clocks() {
    let (flows, warnings) = read("2\n0 1 3 100 10000000 2.000000000\n2 0 1 7 4294967295 2.0004\n");
    assert_eq!(warnings, Vec::<String>::new());
    let last = FlowRow {
        src: 2,
        dst: 0,
        class: 1,
        dport: 7,
        bytes: 4_294_967_295,
        start_s: 2.0004,
        start: Time(2_000_400_000_000),
        start_ns: 2_000_399_999,
    };
    assert_eq!((flows.len(), flows[0].start_ns, flows[1]), (2, 2_000_000_000, last));
    assert_eq!(last.spec(Clock::Exact, 0, 0).start, Time(2_000_400_000_000));
    let spec = last.spec(Clock::TruncatedNs, 1, 2);
    assert_eq!((spec.start, spec.class, spec.dport, spec.scheme, spec.group), (Time(2_000_399_999_000), 1, 7, 1, 2));
    // Other spellings of a start.
    for (text, ps) in
        [("2", 2 * S), ("2.", 2 * S), (".5", S / 2), ("1.5e-3", 1_500_000_000), ("2.0000000000019", 2 * S + 1)]
    {
        assert_eq!(read(&format!("1\n0 1 3 100 1 {text}")).0[0].start, Time(ps), "{text}");
    }
}

/// The reference's own sample file promises 2 flows, lists 256 and ends with notes: it runs the first 2.
#[test]
fn the_header_s_count_rules_and_is_reported() {
    let row = "0 1 3 100 1000 2\n";
    let (flows, warnings) = read(&format!("2\n{}\nFirst line: # of flows\nsrc dst\n", row.repeat(5)));
    assert_eq!(flows.len(), 2);
    let warning = "f.txt:4: the header says 2 flows, 3 more follow; only the first 2 are used, as in the reference";
    assert_eq!(warnings, [warning]);
    let (flows, warnings) = read(&format!("2\n{}\nFirst line: # of flows\n", row.repeat(2)));
    assert_eq!((flows.len(), warnings), (2, vec!["f.txt:5: text after the last flow is not read".to_string()]));
    let flow = flows[0];
    let (flows, warnings) = read(&format!("9\n{row}"));
    let warning =
        "f.txt:1: the header says 9 flows, the file has 1; as in the reference the last one starts 8 times more";
    assert_eq!((flows, warnings), (vec![flow; 9], vec![warning.to_string()]));
    assert!(read_flows(&format!("200000\n{row}"), "f.txt", &KINDS).unwrap_err().to_string().contains("200000"));
    assert_eq!(read("0\n"), (vec![], vec![]));
}

#[test]
fn bad_files_name_line_value_and_what_is_allowed() {
    let row = |row: &str| format!("2\n0 1 3 100 1000 2.5\n{row}\n");
    for (text, line, field, value, allowed) in [
        (String::new(), 1, None, None, "header line"),
        ("1 2\n".into(), 1, Some("header"), Some("1 2"), "number of flows"),
        ("many\n".into(), 1, Some("flows"), Some("many"), "whole number"),
        ("-1\n".into(), 1, Some("flows"), Some("-1"), "whole number"),
        ("99999999999\n".into(), 1, Some("flows"), Some("99999999999"), "4294967295"),
        (row("3 1 3 100 1000 2.5"), 3, Some("flow 1 src"), Some("3"), "id of a host"),
        (row("4 1 3 100 1000 2.5"), 3, Some("flow 1 src"), Some("4"), "from 0 to 3"),
        (row("1 -1 3 100 1000 2.5"), 3, Some("flow 1 dst"), Some("-1"), "from 0 to 3"),
        (row("1 3 3 100 1000 2.5"), 3, Some("flow 1 dst"), Some("3"), "id of a host"),
        (row("1 1 3 100 1000 2.5"), 3, Some("flow 1 dst"), Some("1"), "another host"),
        (row("1 2 0 100 1000 2.5"), 3, Some("flow 1 pg"), Some("0"), "from 1 to 7"),
        (row("1 2 8 100 1000 2.5"), 3, Some("flow 1 pg"), Some("8"), "from 1 to 7"),
        (row("1 2 3 65536 1000 2.5"), 3, Some("flow 1 dport"), Some("65536"), "to 65535"),
        (row("1 2 3 100 0 2.5"), 3, Some("flow 1 size"), Some("0"), "32 bits"),
        (row("1 2 3 100 4294967296 2.5"), 3, Some("flow 1 size"), Some("4294967296"), "32 bits"),
        (row("1 2 3 100 1e6 2.5"), 3, Some("flow 1 size"), Some("1e6"), "whole number"),
        (row("1 2 3 100 1000 nan"), 3, Some("flow 1 start"), Some("nan"), "seconds"),
        (row("1 2 3 100 1000 inf"), 3, Some("flow 1 start"), Some("inf"), "seconds"),
        (row("1 2 3 100 1000 -2.5"), 3, Some("flow 1 start"), Some("-2.5"), "seconds"),
        (row("1 2 3 100 1000 1e30"), 3, Some("flow 1 start"), Some("1e30"), "seconds"),
        (row("1 2 3 100 1000 2.5s"), 3, Some("flow 1 start"), Some("2.5s"), "seconds"),
        (row("1 2 3 100 1000 2.499999999"), 3, Some("flow 1 start"), Some("2.499999999"), "ascending"),
        (row("1 2 3 100 1000"), 3, Some("flow 1"), Some("1 2 3 100 1000"), "6 words"),
        (row("1 2 3 100 1000 2.5 9"), 3, Some("flow 1"), Some("1 2 3 100 1000 2.5 9"), "6 words"),
    ] {
        let error = read_flows(&text, "f.txt", &KINDS).unwrap_err();
        let place = (error.file.as_deref(), error.line, error.field.as_deref(), error.value.as_deref());
        assert_eq!(place, (Some("f.txt"), Some(line), field, value), "{error}");
        assert!(error.allowed.as_ref().unwrap().contains(allowed), "{error}");
    }
    assert!(read_flows("1\n0 1 3 100 1000 2\n", "f.txt", &[]).is_err());
}

#[test]
fn a_flow_past_32_bits_is_not_written_cut() {
    let mut flow = read("1\n0 1 3 100 1000 2.0004\n").0[0].spec(Clock::Exact, 0, 0);
    let mut out = Vec::new();
    write_flows(&mut out, &[flow]).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "1\n0 1 3 100 1000 2.000400000\n");
    flow.bytes = 1 << 32;
    let error = write_flows(&mut Vec::new(), &[flow]).unwrap_err();
    assert!(error.to_string().contains("flow 0 size = 4294967296"), "{error}");
}

prop_compose! {
    fn any_flow()(src in 0u32..3, step in 1u32..3, class in 1u8..8, dport: u16, bytes in 1..=MAX_FLOW,
                  start in prop_oneof![0..18_000_000 * S, (0..4_000_000_000u64).prop_map(|ns| ns * NS)]) -> FlowSpec {
        let dst = (src + step) % 3;
        FlowSpec { start: Time(start), src, dst, bytes, scheme: 0, group: 0, class, dport, rate_cap: 0, stream: 0, nic: None }
    }
}

proptest! {
    #[test]
    fn written_flows_read_back(mut flows in prop::collection::vec(any_flow(), 0..20)) {
        flows.sort_by_key(|f| f.start);
        let mut out = Vec::new();
        write_flows(&mut out, &flows).unwrap();
        let (rows, warnings) = read(std::str::from_utf8(&out).unwrap());
        prop_assert_eq!(warnings, Vec::<String>::new());
        let exact: Vec<FlowSpec> = rows.iter().map(|r| r.spec(Clock::Exact, 0, 0)).collect();
        prop_assert_eq!(exact, flows);
        prop_assert!(rows.is_sorted_by_key(|r| r.start_ns));
    }
}
