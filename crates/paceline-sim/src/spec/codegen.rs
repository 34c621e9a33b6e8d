//! Files printed from the table of fields: Python classes, JSON Schema, parameter reference.

mod json_schema;
mod markdown;
mod python;

pub use json_schema::json_schema;
pub use markdown::parameters_markdown;
pub use python::python_dataclasses;

use super::field::{DefaultText, Part, Row, Shape};

/// A section with all choices made: what one Python class or one object of the JSON Schema stands for.
pub(super) struct Leaf<'a> {
    name: &'static str,
    pub(super) doc: &'static str,
    /// The deciding fields and their values, and whether the value has to be written because it is not the default.
    pub(super) chosen: Vec<(&'static str, &'static str, bool)>,
    pub(super) rows: Vec<&'a Row>,
    pub(super) parts: Vec<&'a Part>,
}

/// All ways to make the choices of a section.
pub(super) fn leaves(shape: &Shape) -> Vec<Leaf<'_>> {
    let own = |name, doc| Leaf {
        name,
        doc,
        chosen: Vec::new(),
        rows: shape.rows.iter().collect(),
        parts: shape.parts.iter().collect(),
    };
    let Some(select) = &shape.select else { return vec![own(shape.name, shape.doc)] };
    let mut out = Vec::new();
    for (word, variant) in &select.variants {
        for inner in leaves(variant) {
            let mut leaf = own(inner.name, inner.doc);
            let default = matches!(select.row.default, DefaultText::Is(text) if text.trim_matches('"') == *word);
            leaf.chosen = std::iter::once((select.row.key, *word, !default)).chain(inner.chosen).collect();
            leaf.rows.extend(inner.rows);
            leaf.parts.extend(inner.parts);
            out.push(leaf);
        }
    }
    out
}

/// The table inside a type, if any, as a leaf of its own.
pub(super) fn record_leaf(row: &Row) -> Option<Leaf<'static>> {
    super::field::record(row.ty).map(|record| Leaf {
        name: record.name,
        doc: record.doc,
        chosen: Vec::new(),
        rows: record.rows.iter().collect(),
        parts: Vec::new(),
    })
}

/// Default of a row in words, as code of the form `{code}`.
pub(super) fn default_words(row: &Row) -> String {
    match row.default {
        DefaultText::Required => "required".to_string(),
        DefaultText::Absent => "none".to_string(),
        DefaultText::Is(text) => format!("`{text}`"),
        DefaultText::By(key, texts) if texts.iter().all(|(word, text)| text.trim_matches('"') == *word) => {
            format!("that of `{key}`")
        }
        DefaultText::By(key, texts) => {
            let each: Vec<_> = texts.iter().map(|(word, text)| format!("`{text}` ({key} `{word}`)")).collect();
            each.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The committed files are those the table of fields prints. `UPDATE=1` rewrites them.
    #[test]
    fn generated_files_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (name, text) in [
            ("python/paceline/scenario.py", python_dataclasses()),
            ("docs/schema.json", json_schema()),
            ("docs/parameters.md", parameters_markdown()),
        ] {
            let path = root.join(name);
            if std::env::var_os("UPDATE").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == text, "{name} is out of date: UPDATE=1 cargo test -p paceline-sim generated_files");
        }
    }
}
