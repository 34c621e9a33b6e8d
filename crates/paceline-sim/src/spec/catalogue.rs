//! What there is to choose from, for `paceline list`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::InputError;
use crate::spelling::{clip, nearest};

use super::Spec;
use super::field::{DefaultText, FIELDS, Field, Row, Select, Shape};
use super::section::{Section as _, Variants as _, condition, pattern};
use super::template::TEMPLATES;

/// Topologies, schemes and workloads with their parameters, the size distributions named by the caller, and the templates.
///
/// Each entry of the first three has `name`, `meaning` and `parameters` (`name`, `type`, `unit`, `default` as TOML or null,
/// `required`, `allowed`, `source`, `meaning`).
pub fn catalogue(distributions: &[&str]) -> Value {
    let templates = TEMPLATES.iter().map(|(name, text)| {
        let about = text.lines().next().unwrap_or("").trim_start_matches('#').trim();
        json!({ "name": name, "meaning": about })
    });
    let spec = Spec::shape();
    let common = |key: &str| {
        let part = spec.parts.iter().find(|part| part.key == key);
        part.map_or(Value::Null, |part| {
            Value::Array(part.shape.rows.iter().map(|row| parameter(row, row.key)).collect())
        })
    };
    json!({
        "topologies": variants(&super::topology::TopologyKind::select()),
        "schemes": variants(&super::scheme::Control::select()),
        "workloads": variants(&super::workload::WorkloadKind::select()),
        "workload_parameters": common("workloads"),
        "distributions": distributions,
        "templates": templates.collect::<Vec<_>>(),
    })
}

fn variants(select: &Select) -> Value {
    let one = |(name, shape): &(&'static str, Shape)| {
        let mut parameters = Vec::new();
        collect(shape, "", &mut parameters);
        json!({ "name": name, "meaning": shape.doc.trim(), "parameters": parameters })
    };
    Value::Array(select.variants.iter().map(one).collect())
}

/// All parameters of a shape; those of an inner choice carry the choice they belong to.
fn collect(shape: &Shape, path: &str, out: &mut Vec<Value>) {
    let select = shape.select.as_ref();
    for row in select.map(|s| &s.row).into_iter().chain(shape.rows) {
        out.push(parameter(row, &super::field::join(path, row.key)));
    }
    for part in &shape.parts {
        collect(&part.shape, &super::field::join(path, part.key), out);
    }
    for (name, variant) in select.into_iter().flat_map(|s| &s.variants) {
        let before = out.len();
        collect(variant, path, out);
        for parameter in &mut out[before..] {
            if let (Value::Object(map), Some(select)) = (parameter, select) {
                map.insert("only_with".to_string(), json!({ select.row.key: name }));
            }
        }
    }
}

fn parameter(row: &Row, name: &str) -> Value {
    let mut map = Map::new();
    map.insert("name".to_string(), json!(name));
    map.insert("type".to_string(), json!(row.ty.name().replace('`', "")));
    map.insert("unit".to_string(), json!(row.ty.unit()));
    let default = match row.default {
        DefaultText::Is(text) => json!(text),
        // One that depends on another field cannot be told in a word; `explain` does.
        DefaultText::Required | DefaultText::Absent | DefaultText::By(..) => Value::Null,
    };
    map.insert("default".to_string(), default);
    map.insert("required".to_string(), json!(row.default == DefaultText::Required));
    map.insert("allowed".to_string(), json!(row.ty.allowed(row.range)));
    map.insert("source".to_string(), json!(row.source));
    map.insert("meaning".to_string(), json!(row.meaning.trim()));
    Value::Object(map)
}

/// Everything there is to know about a field, as text for a terminal.
///
/// `path` is a path as in an override (`schemes.hpcc.eta`, `workloads.0.load.value`) or the last part of one (`k_max`).
///
/// # Errors
/// No such field; the nearest one is named.
#[allow(clippy::result_large_err, reason = "one error per run of the program")]
pub fn explain(path: &str) -> Result<String, InputError> {
    let wanted = pattern(path);
    let exact: Vec<&Field> = FIELDS.iter().filter(|f| f.path == wanted).collect();
    let fields = if exact.is_empty() { FIELDS.iter().filter(|f| f.row.key == path).collect() } else { exact };
    let mut out = String::new();
    for field in &fields {
        let row = &field.row;
        let when = condition(field);
        let when = if when.is_empty() { when } else { format!(" (with {when})") };
        let _ = write!(out, "{}{when}\n  {}\n", field.path, row.meaning.trim());
        let _ = writeln!(out, "  default: {}", super::codegen::default_words(row).replace('`', ""));
        let _ = writeln!(out, "  allowed: {}", row.ty.allowed(row.range));
        let _ = writeln!(out, "  source:  {}", row.source);
    }
    if fields.is_empty() {
        let paths = || FIELDS.iter().map(|f| f.path.as_str()).chain(FIELDS.iter().map(|f| f.row.key));
        let near = nearest(&wanted, paths()).map_or("a field of docs/parameters.md".to_string(), |n| format!("`{n}`?"));
        return Err(InputError::new("no such field").value(clip(path)).allowed(near));
    }
    Ok(out)
}
