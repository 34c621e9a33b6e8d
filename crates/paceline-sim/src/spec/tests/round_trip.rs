//! What is written reads back equal, and no input makes the reader panic.

use proptest::prelude::*;

use super::good_input::all_variants;
use super::*;
use crate::spec::TEMPLATES;
use crate::spec::field::{DefaultText, FIELDS, Field, Interval, Type};

fn round_trips(scenario: &Resolved) {
    let text = scenario.to_toml();
    let again = parse(&text, "again.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(*scenario, again, "{text}");
    assert_eq!(again.to_toml(), text);
}

#[test]
fn templates_and_all_variants_round_trip() {
    for text in TEMPLATES.iter().map(|t| t.1.to_string()).chain(all_variants()) {
        round_trips(&with(&text, &[]).unwrap());
    }
}

/// A TOML value for a field: mostly one that is allowed.
fn value_of(field: &Field) -> BoxedStrategy<String> {
    let row = &field.row;
    let ends: Vec<String> =
        row.range.iter().flat_map(|r| Interval::new(r).ends()).flatten().map(str::to_string).collect();
    let default = if let DefaultText::Is(text) = row.default { text.to_string() } else { "\"1us\"".to_string() };
    prop_oneof![
        1 => Just(default),
        8 => of_type(row.ty, ends),
    ]
    .boxed()
}

fn of_type(ty: Type, ends: Vec<String>) -> BoxedStrategy<String> {
    let quoted = |units: &'static [&'static str]| {
        (1u64..2000, proptest::sample::select(units)).prop_map(|(n, u)| format!("\"{n}{u}\""))
    };
    let at_ends = |quote: bool| {
        let texts: Vec<String> = ends.iter().map(|e| if quote { format!("\"{e}\"") } else { e.clone() }).collect();
        proptest::sample::select(if texts.is_empty() { vec!["1".to_string()] } else { texts })
    };
    match ty {
        Type::Bool => any::<bool>().prop_map(|b| b.to_string()).boxed(),
        Type::Integer => prop_oneof![(0u64..200).prop_map(|n| n.to_string()), at_ends(false)].boxed(),
        Type::Number => prop_oneof![(0.0f64..1.0).prop_map(|x| format!("{x:?}")), at_ends(false)].boxed(),
        Type::Name => "[a-zA-Z0-9][a-zA-Z0-9_.+@-]{0,9}".prop_map(|s| format!("\"{s}\"")).boxed(),
        Type::File => "[ -~]{1,12}".prop_map(|s| toml::Value::from(s).to_string()).boxed(),
        Type::Size => prop_oneof![quoted(&["B", "KB", "KiB", "MB", "MiB"]), at_ends(true)].boxed(),
        Type::Duration | Type::Instant => prop_oneof![quoted(&["ps", "ns", "us", "ms"]), at_ends(true)].boxed(),
        Type::Rate => prop_oneof![quoted(&["Mbps", "Gbps"]), at_ends(true)].boxed(),
        Type::Multiple => (1u32..100).prop_map(|n| format!("\"{n}x\"")).boxed(),
        Type::Node => prop_oneof![(0u32..20).prop_map(|n| n.to_string()), Just("\"host1\"".to_string())].boxed(),
        Type::Port => prop_oneof![
            (0u32..500, 0u16..50).prop_map(|(n, p)| format!("\"{n}:{p}\"")),
            Just("\"tor0->agg0\"".to_string())
        ]
        .boxed(),
        Type::Link => (0u32..20, 20u32..30).prop_map(|(a, b)| format!("\"{a}->{b}\"")).boxed(),
        Type::Hosts => prop_oneof![Just("\"all\""), Just("[0, 1]"), Just("[\"0-1\", 1]"), Just("[\"host0\", \"1-1\"]")]
            .prop_map(str::to_string)
            .boxed(),
        Type::Choice(words) => proptest::sample::select(words).prop_map(|w| format!("\"{w}\"")).boxed(),
        Type::Either(types) => {
            let all: Vec<_> = types.iter().map(|t| of_type(*t, ends.clone())).collect();
            proptest::strategy::Union::new(all).boxed()
        }
        Type::List(ty) => {
            proptest::collection::vec(of_type(*ty, ends), 0..4).prop_map(|v| format!("[{}]", v.join(", "))).boxed()
        }
        Type::Table(_) => Just("{ file = \"x\", sampling = \"step\" }".to_string()).boxed(),
    }
}

/// Some fields set to some values, as overrides.
fn overrides() -> impl Strategy<Value = Vec<String>> {
    let one = proptest::sample::select((0..FIELDS.len()).collect::<Vec<_>>()).prop_flat_map(|i| {
        let path = FIELDS[i].path.replace("schemes.*", "schemes.s").replace('*', "0");
        value_of(&FIELDS[i]).prop_map(move |value| format!("{path}={value}"))
    });
    proptest::collection::vec(one, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is accepted is written so that it reads back equal.
    #[test]
    fn accepted_scenarios_round_trip(base in proptest::sample::select(all_variants()), sets in overrides()) {
        let mut kept: Vec<String> = Vec::new();
        for set in sets {
            kept.push(set);
            // Overrides that do not go together with the others are left out, so that most cases reach the comparison.
            if parse(&base, "base.toml", &kept).is_err() {
                kept.pop();
            }
        }
        let scenario = parse(&base, "base.toml", &kept).unwrap();
        round_trips(&scenario);
        let _ = crate::spec::lint(&scenario);
        let _ = scenario.switch.config(&[paceline_proto::units::BitsPerSec(1)], &crate::scenario::Framing::HPCC, false);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), set in ".{0,40}") {
        let _ = parse(&String::from_utf8_lossy(&bytes), "x", &[set]);
    }

    /// A scenario with a few bytes changed: close enough to valid to get past the TOML parser.
    #[test]
    fn damaged_scenarios_never_panic(
        base in proptest::sample::select(all_variants()),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), "[ -~\n]{0,3}"), 1..4),
    ) {
        let mut text = base;
        for (at, new) in changes {
            let at = at.index(text.len());
            text.replace_range(at..=at, &new);
            if text.is_empty() {
                break;
            }
        }
        if let Err(error) = parse(&text, "x", &[]) {
            prop_assert!(error.line.is_some_and(|line| line <= text.lines().count().max(1) + 1), "{}", error);
        }
    }
}
