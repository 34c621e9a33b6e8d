//! The Python classes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::super::Spec;
use super::super::field::{Arity, DefaultText, Part, Row, Shape, Type};
use super::super::section::Section as _;
use super::{Leaf, default_words, leaves, record_leaf};

const HEAD: &str = include_str!("python_head.py");
/// Width to which texts are broken into lines.
const WIDTH: usize = 100;
/// Longest line that the linter takes.
const LONGEST: usize = 120;

/// The module `paceline.scenario`: a frozen dataclass per section and variant, and `Scenario.to_toml()`.
pub fn python_dataclasses() -> String {
    let mut printer = Printer { out: HEAD.to_string(), done: BTreeSet::new(), names: vec!["Scenario".to_string()] };
    let mut root = Spec::shape();
    root.name = "Scenario";
    printer.shape(&root);
    let mut names = printer.names;
    names.sort();
    let all: Vec<_> = names.iter().map(|name| format!("    \"{name}\",")).collect();
    printer.out.replace("__all__: list[str] = []\n", &format!("__all__ = [\n{}\n]\n", all.join("\n")))
}

struct Printer {
    out: String,
    done: BTreeSet<&'static str>,
    names: Vec<String>,
}

impl Printer {
    /// Prints the classes a section needs, those it refers to first; returns the type that stands for it.
    fn shape(&mut self, shape: &Shape) -> String {
        let all = leaves(shape);
        let classes: Vec<&str> = all.iter().map(|leaf| leaf.name).collect();
        for leaf in &all {
            self.class(leaf);
        }
        if shape.select.is_none() {
            return shape.name.to_string();
        }
        if self.done.insert(shape.name) {
            self.names.push(shape.name.to_string());
            let line = format!("{} = {}", shape.name, classes.join(" | "));
            let broken = |with: &str| format!("{} = (\n    {}\n)", shape.name, classes.join(with));
            let union = match broken(" | ") {
                _ if line.len() <= WIDTH => line,
                short if short.lines().all(|l| l.len() <= WIDTH) => short,
                _ => broken("\n    | "),
            };
            let _ = writeln!(self.out, "\n\n{union}");
            self.docstring(shape.doc, "");
        }
        shape.name.to_string()
    }

    fn class(&mut self, leaf: &Leaf<'_>) {
        for row in &leaf.rows {
            if let Some(record) = record_leaf(row) {
                self.class(&record);
            }
        }
        let parts: Vec<(&Part, String)> = leaf.parts.iter().map(|part| (*part, self.shape(&part.shape))).collect();
        if !self.done.insert(leaf.name) {
            return;
        }
        if leaf.name != "Scenario" {
            self.names.push(leaf.name.to_string());
        }
        let decorator = "@dataclass(frozen=True, kw_only=True, slots=True)";
        let _ = write!(self.out, "\n\n{decorator}\nclass {}(Section):\n", leaf.name);
        self.docstring(leaf.doc, "    ");
        if !leaf.chosen.is_empty() {
            self.out.push('\n');
            for (key, word, _) in &leaf.chosen {
                let _ = writeln!(self.out, "    {key}: ClassVar[Literal[\"{word}\"]] = \"{word}\"");
            }
            let keys: Vec<_> = leaf.chosen.iter().map(|(key, ..)| format!("\"{key}\"")).collect();
            let keys = if let [one] = &keys[..] { format!("{one},") } else { keys.join(", ") };
            let _ = writeln!(self.out, "    chosen: ClassVar[tuple[str, ...]] = ({keys})");
        }
        for row in &leaf.rows {
            self.field(row);
        }
        for (part, name) in parts {
            let required = part.shape.select.as_ref().is_some_and(|s| s.row.default == DefaultText::Required);
            let (ty, default) = match part.arity {
                Arity::One if required => (name, String::new()),
                Arity::One => (name.clone(), format!(" = {name}()")),
                Arity::Map => (format!("Mapping[str, {name}]"), String::new()),
                Arity::List => (format!("Sequence[{name}]"), String::new()),
                Arity::Rows => (format!("Sequence[{name}]"), " = ()".to_string()),
            };
            let _ = writeln!(self.out, "\n    {}: {ty}{default}", part.key);
            self.docstring(part.meaning, "    ");
        }
        if leaf.name == "Scenario" {
            self.out.push_str(TO_TOML);
        }
    }

    fn field(&mut self, row: &Row) {
        let ty = python_type(row.ty);
        let (ty, default) = match row.default {
            DefaultText::Required => (ty, String::new()),
            DefaultText::Absent | DefaultText::By(..) => (format!("{ty} | None"), " = None".to_string()),
            DefaultText::Is(text) => (ty, format!(" = {}", literal(text))),
        };
        // `class` is a word of the language; `to_toml` takes the underscore away again.
        let key = if row.key == "class" { "class_" } else { row.key };
        let mut line = format!("    {key}: {ty}{default}");
        if line.len() > LONGEST {
            // A choice of many words goes into a line of its own.
            line = line.replacen('[', "[\n        ", 1).replacen("] = ", "\n    ] = ", 1);
        }
        let _ = writeln!(self.out, "\n{line}");
        let range = row.range.map(|r| format!(" Range {r}.")).unwrap_or_default();
        let unit = row.ty.unit();
        let unit = if unit.is_empty() { String::new() } else { format!(" Unit: {unit}.") };
        // Required and plain defaults are in the line above; the others need words.
        let by = if let DefaultText::By(..) = row.default {
            format!(" Default: {}.", default_words(row))
        } else {
            String::new()
        };
        self.docstring(&format!("{}{unit}{range}{by} Source: {}.", row.meaning.trim(), row.source), "    ");
    }

    /// A docstring, broken into lines.
    fn docstring(&mut self, text: &str, indent: &str) {
        let text = text.trim().replace('\\', "\\\\");
        let mut lines = vec![String::new()];
        for word in text.split_whitespace() {
            let room = WIDTH - indent.len() - if lines.len() == 1 { 6 } else { 0 };
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if line.len() + 1 + word.len() <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_string()),
            }
        }
        // A quote before the closing quotes would end the string early.
        let ending = if text.ends_with('"') { " " } else { "" };
        let one = lines.len() == 1;
        let body = lines.join(&format!("\n{indent}"));
        let close = if one { format!("{ending}\"\"\"") } else { format!("\n{indent}\"\"\"") };
        let _ = writeln!(self.out, "{indent}\"\"\"{body}{close}");
    }
}

const TO_TOML: &str = r#"
    def to_toml(self) -> str:
        """Write the scenario as TOML, as the engine and `paceline run` read it, without what is as by default.

        InputError for a part that is of no class that belongs there.
        """
        check_types(self)
        return as_toml(self)
"#;

/// A TOML default as Python.
fn literal(text: &str) -> String {
    match text {
        "true" => "True".to_string(),
        "false" => "False".to_string(),
        "[]" => "()".to_string(),
        // A tuple: dataclasses refuse lists, which all instances would share.
        list if list.starts_with('[') => {
            let items = list.trim_matches(['[', ']']);
            if items.contains(',') { format!("({items})") } else { format!("({items},)") }
        }
        other => other.to_string(),
    }
}

fn python_type(ty: Type) -> String {
    let mut names = Vec::new();
    python_types(ty, &mut names);
    // A string beside literal strings makes these superfluous.
    let plain = names.iter().any(|n| n == "str");
    names.retain(|n| !(plain && n.starts_with("Literal[")));
    names.dedup();
    names.join(" | ")
}

fn python_types(ty: Type, out: &mut Vec<String>) {
    let mut push = |text: String| {
        if !out.contains(&text) {
            out.push(text);
        }
    };
    match ty {
        Type::Bool => push("bool".to_string()),
        Type::Integer => push("int".to_string()),
        Type::Number => push("float".to_string()),
        Type::Name
        | Type::File
        | Type::Size
        | Type::Duration
        | Type::Instant
        | Type::Rate
        | Type::Multiple
        | Type::Port
        | Type::Link => {
            push("str".to_string());
        }
        Type::Node => {
            push("int".to_string());
            push("str".to_string());
        }
        Type::Hosts => {
            push("Literal[\"all\"]".to_string());
            push("Sequence[int | str]".to_string());
        }
        Type::Choice(words) => {
            let words: Vec<_> = words.iter().map(|w| format!("\"{w}\"")).collect();
            push(format!("Literal[{}]", words.join(", ")));
        }
        Type::Either(types) => types.iter().for_each(|t| python_types(*t, out)),
        Type::List(ty) => push(format!("Sequence[{}]", python_type(*ty))),
        Type::Table(record) => push(record.name.to_string()),
    }
}
