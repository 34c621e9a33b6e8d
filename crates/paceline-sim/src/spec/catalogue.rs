//! What there is to choose from and to set, for `paceline list` and `paceline explain`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::InputError;
use crate::spelling::{clip, nearest};

use super::Spec;
use super::codegen::{Leaf, leaves, record_leaf};
use super::field::{Arity, DefaultText, FIELDS, Field, Row, Select, Shape, Type};
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

/// The sections of a scenario, in the order of the documentation; one that depends on a choice once with each.
///
/// Each entry has `path` (a list; `*` stands for a name or an index), `chosen` (pairs of the deciding fields and their values),
/// `meaning`, `parameters` (those of [`catalogue`], and `words`, the values they choose from, and `default_by`, the field that
/// decides the default with its values and the default of each, or null) and `sections` (the paths of those inside).
pub fn settings() -> Value {
    let mut out = Vec::new();
    sections(&Spec::shape(), &[], &mut out);
    Value::Array(out)
}

fn sections(shape: &Shape, path: &[&'static str], out: &mut Vec<Value>) {
    for leaf in leaves(shape) {
        section(&leaf, path, out);
    }
}

fn section(leaf: &Leaf<'_>, path: &[&'static str], out: &mut Vec<Value>) {
    let records: Vec<_> =
        leaf.rows.iter().filter_map(|row| Some((below(path, row.key, Arity::One), record_leaf(row)?))).collect();
    let parts: Vec<_> = leaf.parts.iter().map(|part| (below(path, part.key, part.arity), &part.shape)).collect();
    let inside = records.iter().map(|(path, _)| path).chain(parts.iter().map(|(path, _)| path));
    out.push(json!({
        "path": path,
        "chosen": leaf.chosen.iter().map(|(key, word, _)| [key, word]).collect::<Vec<_>>(),
        "meaning": leaf.doc.trim(),
        "parameters": leaf.rows.iter().map(|row| setting(row)).collect::<Vec<_>>(),
        "sections": inside.collect::<Vec<_>>(),
    }));
    for (path, record) in &records {
        section(record, path, out);
    }
    for (path, shape) in parts {
        sections(shape, &path, out);
    }
}

/// The path of a section in one that has a path.
fn below(path: &[&'static str], key: &'static str, arity: Arity) -> Vec<&'static str> {
    let entry = (arity != Arity::One).then_some("*");
    path.iter().copied().chain([key]).chain(entry).collect()
}

fn setting(row: &Row) -> Value {
    let mut value = parameter(row, row.key);
    if let Value::Object(map) = &mut value {
        map.insert("words".to_string(), json!(words(row.ty)));
        let by = if let DefaultText::By(key, texts) = row.default { Some((key, texts)) } else { None };
        map.insert("default_by".to_string(), json!(by));
    }
    value
}

/// The words that a value of a type may be.
fn words(ty: Type) -> Vec<&'static str> {
    match ty {
        Type::Choice(words) => words.to_vec(),
        Type::Hosts => vec!["all"],
        Type::Either(types) => types.iter().flat_map(|ty| words(*ty)).collect(),
        Type::List(ty) => words(*ty),
        _ => Vec::new(),
    }
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
