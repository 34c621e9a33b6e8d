//! The JSON Schema, for editors that check TOML as it is typed.

use serde_json::{Map, Value, json};

use super::super::Spec;
use super::super::field::{Arity, DefaultText, Interval, Row, Shape, Type};
use super::super::section::Section as _;
use super::{Leaf, default_words, leaves, record_leaf};

/// What a name looks like.
const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_.+@-]{0,63}$";

/// JSON Schema (2020-12) of a scenario, ending in a line break.
pub fn json_schema() -> String {
    let mut definitions = Map::new();
    let root = object(&leaves(&Spec::shape()), &mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Paceline scenario",
        "$defs": definitions,
    });
    if let (Value::Object(schema), Value::Object(root)) = (&mut schema, root) {
        schema.extend(root);
    }
    format!("{schema:#}\n")
}

/// A section: an object, or a choice of objects, defined under their names.
fn section(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    let leaves = leaves(shape);
    let mut references = Vec::new();
    for leaf in leaves {
        references.push(json!({ "$ref": format!("#/$defs/{}", leaf.name) }));
        if !definitions.contains_key(leaf.name) {
            let name = leaf.name.to_string();
            let value = object(&[leaf], definitions);
            definitions.insert(name, value);
        }
    }
    if references.len() == 1 { references.remove(0) } else { json!({ "oneOf": references }) }
}

fn object(leaves: &[Leaf<'_>], definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for leaf in leaves {
        for (key, word, needed) in &leaf.chosen {
            properties.insert((*key).to_string(), json!({ "const": word }));
            if *needed {
                required.push(*key);
            }
        }
        for row in &leaf.rows {
            if let Some(record) = record_leaf(row) {
                let value = object(&[record], definitions);
                definitions.entry(record_name(row)).or_insert(value);
            }
            properties.insert(row.key.to_string(), property(row));
            if row.default == DefaultText::Required {
                required.push(row.key);
            }
        }
        for part in &leaf.parts {
            let inner = section(&part.shape, definitions);
            let value = match part.arity {
                Arity::One => inner,
                Arity::Map => json!({ "type": "object", "additionalProperties": inner, "minProperties": 1 }),
                Arity::List => json!({ "type": "array", "items": inner, "minItems": 1 }),
                Arity::Rows => json!({ "type": "array", "items": inner }),
            };
            let needed = part.shape.select.as_ref().is_some_and(|s| s.row.default == DefaultText::Required);
            if needed {
                required.push(part.key);
            }
            properties.insert(part.key.to_string(), value);
        }
    }
    let doc = leaves.first().map_or("", |leaf| leaf.doc.trim());
    json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn record_name(row: &Row) -> String {
    super::super::field::record(row.ty).map_or("", |record| record.name).to_string()
}

fn property(row: &Row) -> Value {
    let mut schema = of_type(row.ty, row.range);
    let Value::Object(map) = &mut schema else { return schema };
    let range = row.range.map(|r| format!(" Range {r}.")).unwrap_or_default();
    let description = format!("{} Default: {}.{range} Source: {}.", row.meaning.trim(), default_words(row), row.source);
    map.insert("description".to_string(), json!(description));
    if let DefaultText::Is(text) = row.default {
        let table = toml::from_str::<Map<String, Value>>(&format!("d = {text}")).unwrap_or_default();
        map.extend(table.into_iter().map(|(_, value)| ("default".to_string(), value)));
    }
    schema
}

fn quantity(units: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^\\s*([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*({units})\\s*$") })
}

fn of_type(ty: Type, range: Option<&str>) -> Value {
    match ty {
        Type::Bool => json!({ "type": "boolean" }),
        Type::Integer => bounded("integer", range),
        Type::Number => bounded("number", range),
        Type::Name => json!({ "type": "string", "pattern": NAME }),
        Type::File => json!({ "type": "string", "minLength": 1 }),
        Type::Size => quantity("B|KB|MB|GB|TB|KiB|MiB|GiB|TiB"),
        Type::Duration | Type::Instant => quantity("ps|ns|us|ms|s"),
        Type::Rate => quantity("bps|Kbps|Mbps|Gbps|Tbps"),
        Type::Multiple => json!({ "type": "string", "pattern": "^[0-9]+x$" }),
        Type::Node => node(),
        Type::Port => json!({ "type": "string", "pattern": ":[0-9]+$|->" }),
        Type::Link => json!({ "type": "string", "pattern": "->" }),
        Type::Hosts => json!({ "anyOf": [
            { "const": "all" },
            { "type": "array", "minItems": 1, "items": node() },
        ] }),
        Type::Choice(words) => json!({ "enum": words }),
        Type::Either(types) => json!({ "anyOf": types.iter().map(|t| of_type(*t, range)).collect::<Vec<_>>() }),
        Type::List(ty) => json!({ "type": "array", "items": of_type(*ty, range) }),
        Type::Table(record) => json!({ "$ref": format!("#/$defs/{}", record.name) }),
    }
}

/// A node id or a name.
fn node() -> Value {
    json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": NAME }] })
}

/// A number type with the bounds of its range.
fn bounded(ty: &str, range: Option<&str>) -> Value {
    let mut map = Map::new();
    map.insert("type".to_string(), json!(ty));
    if let Some(text) = range {
        let keys = [
            if text.starts_with('(') { "exclusiveMinimum" } else { "minimum" },
            if text.ends_with(')') { "exclusiveMaximum" } else { "maximum" },
        ];
        for (key, end) in keys.into_iter().zip(Interval::new(text).ends()) {
            let number = end.and_then(|e| serde_json::from_str::<serde_json::Number>(e).ok());
            map.extend(number.map(|n| (key.to_string(), Value::Number(n))));
        }
    }
    Value::Object(map)
}
