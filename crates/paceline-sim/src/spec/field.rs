//! The table of fields: type, unit, default, range, source and meaning of everything a scenario may say.
//!
//! The declarations beside this file (`section!`, `variants!`) make the Rust types, the parser, the writer and the
//! [`Shape`]s in one go; [`FIELDS`] is the flat list of them, and the documentation, the JSON Schema and the Python
//! classes are printed from the same shapes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::section::Section;

/// Type of a field, as the user writes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer,
    /// A finite number.
    Number,
    /// A short name: letters, digits and `- _ . + @`.
    Name,
    /// The name of a file; relative names start at the scenario's folder.
    File,
    /// A size such as `"32MiB"`.
    Size,
    /// A span of time such as `"1us"`.
    Duration,
    /// An instant, written as the time since the start of the simulation.
    Instant,
    /// A rate such as `"100Gbps"`.
    Rate,
    /// A whole multiple such as `"3x"`.
    Multiple,
    /// A node: its id, or a name such as `"tor0"`.
    Node,
    /// A port such as `"tor0:4"`, node and port number, or all that a link such as `"tor0->agg1"` starts from.
    Port,
    /// A link in one direction such as `"tor0->agg1"`: the nodes at its ends.
    Link,
    /// Hosts: node ids, names, and ranges such as `"0-15"`.
    Hosts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these types.
    Either(&'static [Type]),
    /// A list of these.
    List(&'static Type),
    /// A table with these fields, where a plain value is allowed as well.
    Table(&'static Record),
}

/// A small table that stands in the place of a value.
#[derive(PartialEq, Debug)]
pub struct Record {
    /// Name of the type.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields.
    pub rows: &'static [Row],
}

/// Default of a field, as TOML text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DefaultText {
    /// Has to be given.
    Required,
    /// May be left out, with the meaning the field says.
    Absent,
    /// This value.
    Is(&'static str),
    /// By the value of another field of the section: its key, then pairs of its value and the default. The first pair
    /// is that of the other field's own default.
    By(&'static str, &'static [(&'static str, &'static str)]),
}

/// A field within its section.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// Key in the section.
    pub key: &'static str,
    /// Type.
    pub ty: Type,
    /// Default.
    pub default: DefaultText,
    /// Allowed interval, `[` and `]` included, `(` and `)` excluded, an empty end unbounded.
    pub range: Option<&'static str>,
    /// Where the default or the parameter comes from.
    pub source: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// How often a part occurs in its section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Once; all its fields have defaults, or it is part of a required choice.
    One,
    /// A table per name (`[schemes.NAME]`).
    Map,
    /// An array of tables (`[[workloads]]`).
    List,
    /// An array of small tables, written inline.
    Rows,
}

/// A section inside another.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// Key in the enclosing section.
    pub key: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// How often.
    pub arity: Arity,
    /// Its content.
    pub shape: Shape,
}

/// The choice that decides which further fields a section has.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// The deciding field.
    pub row: Row,
    /// Its values and what each brings with it.
    pub variants: Vec<(&'static str, Shape)>,
}

/// The structure of a section.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// Name of the type.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields.
    pub rows: &'static [Row],
    /// Sections inside it.
    pub parts: Vec<Part>,
    /// The choice it depends on, if any.
    pub select: Option<Select>,
}

/// A field of the scenario with its full path.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Dotted path; `*` stands for a name or an index (`workloads.*.load.value`).
    pub path: String,
    /// The choices under which the field exists: (key, value) from the outside in; empty when always.
    pub when: Vec<(&'static str, &'static str)>,
    /// The row of the table.
    pub row: Row,
}

/// Every field of a scenario, in the order of the documentation. A path occurs more than once where several variants
/// share the name; their `when` tells them apart.
pub static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let mut fields = Vec::new();
    flatten(&super::Spec::shape(), "", &mut Vec::new(), &mut fields);
    fields
});

/// The keys known under every path (`*` included), for the check against unknown ones.
pub(crate) static KEYS: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for field in FIELDS.iter() {
        let mut parent = String::new();
        for segment in field.path.split('.') {
            keys.entry(parent.clone()).or_default().insert(segment.to_string());
            parent = join(&parent, segment);
        }
    }
    keys
});

/// `path.key`, or `key` at the top.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

fn flatten(shape: &Shape, path: &str, when: &mut Vec<(&'static str, &'static str)>, out: &mut Vec<Field>) {
    let select = shape.select.as_ref();
    for row in select.map(|s| &s.row).into_iter().chain(shape.rows) {
        let path = join(path, row.key);
        out.push(Field { path: path.clone(), when: when.clone(), row: *row });
        for inner in record(row.ty).into_iter().flat_map(|r| r.rows) {
            out.push(Field { path: join(&path, inner.key), when: when.clone(), row: *inner });
        }
    }
    for part in &shape.parts {
        let path = join(path, part.key);
        let path = if part.arity == Arity::One { path } else { join(&path, "*") };
        flatten(&part.shape, &path, when, out);
    }
    for (name, variant) in select.into_iter().flat_map(|s| &s.variants) {
        when.push((select.map_or("", |s| s.row.key), name));
        flatten(variant, path, when, out);
        when.pop();
    }
}

/// The table a value of this type may be written as, if any.
pub(crate) fn record(ty: Type) -> Option<&'static Record> {
    match ty {
        Type::Table(record) => Some(record),
        Type::Either(types) => types.iter().find_map(|t| record(*t)),
        _ => None,
    }
}

impl Type {
    /// The base unit values are kept in, empty for plain numbers and words.
    pub fn unit(self) -> &'static str {
        match self {
            Type::Size => "bytes",
            Type::Duration | Type::Instant => "time",
            Type::Rate => "bit/s",
            Type::Multiple => "times",
            Type::Either(types) => types.iter().map(|t| t.unit()).find(|u| !u.is_empty()).unwrap_or(""),
            Type::List(ty) => ty.unit(),
            _ => "",
        }
    }

    /// What may be written, in words.
    pub fn allowed(self, range: Option<&str>) -> String {
        let bounds = range.map(|r| Interval::new(r).words()).filter(|w| !w.is_empty());
        let with = |what: &str| bounds.as_ref().map_or(what.to_string(), |b| format!("{what}, {b}"));
        match self {
            Type::Bool => "true or false".to_string(),
            Type::Integer => with("a whole number"),
            Type::Number => with("a number"),
            Type::Name => crate::spelling::NAME.to_string(),
            Type::File => "the name of a file".to_string(),
            Type::Size => with("a size such as \"32MiB\" (B, KB, MB, GB, KiB, MiB, GiB)"),
            Type::Duration => with("a time such as \"1us\" (ps, ns, us, ms, s)"),
            Type::Instant => with("an instant such as \"10ms\" (ps, ns, us, ms, s)"),
            Type::Rate => with("a rate such as \"100Gbps\" (bps, Kbps, Mbps, Gbps, Tbps)"),
            Type::Multiple => "a multiple such as \"3x\", 1x to 1000x".to_string(),
            Type::Node => "a node id, or the name of a node such as \"host0\"".to_string(),
            Type::Port => {
                "a port such as \"tor0:4\" (node:port), or where links such as \"tor0->agg1\" start".to_string()
            }
            Type::Link => "a link such as \"tor0->agg1\" or \"320->340\" (nodes by name or id)".to_string(),
            Type::Hosts => {
                "\"all\" or a list of node ids, names and ranges such as [\"0-15\", 20, \"host21\", \"tor3\"]"
                    .to_string()
            }
            Type::Choice(words) => words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "),
            Type::Either(types) => types.iter().map(|t| t.allowed(range)).collect::<Vec<_>>().join("; or "),
            Type::List(ty) => format!("a list, each {}", ty.allowed(range)),
            Type::Table(record) => {
                let keys: Vec<_> = record.rows.iter().map(|r| r.key).collect();
                format!("a table with {}", keys.join(", "))
            }
        }
    }

    /// Short name for a table of fields.
    pub fn name(self) -> String {
        match self {
            Type::Bool => "boolean".to_string(),
            Type::Integer => "integer".to_string(),
            Type::Number => "number".to_string(),
            Type::Name => "name".to_string(),
            Type::File => "file".to_string(),
            Type::Size => "size".to_string(),
            Type::Duration => "duration".to_string(),
            Type::Instant => "instant".to_string(),
            Type::Rate => "rate".to_string(),
            Type::Multiple => "multiple".to_string(),
            Type::Node => "node".to_string(),
            Type::Port => "port".to_string(),
            Type::Link => "link".to_string(),
            Type::Hosts => "hosts".to_string(),
            Type::Choice(words) => words.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", "),
            Type::Either(types) => types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" or "),
            Type::List(ty) => format!("list of {}", ty.name()),
            Type::Table(record) => {
                format!("{{{}}}", record.rows.iter().map(|r| r.key).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// An interval in the notation of [`Row::range`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Interval<'a> {
    low: &'a str,
    low_open: bool,
    high: &'a str,
    high_open: bool,
}

impl<'a> Interval<'a> {
    /// Takes `[low, high]` apart. The texts are ours; a test reads every one of them.
    pub(crate) fn new(text: &'a str) -> Self {
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
        let (low, high) = inner.split_once(',').unwrap_or((inner, ""));
        let (low, high) = (low.trim(), high.trim());
        Self { low, low_open: text.starts_with('('), high, high_open: text.ends_with(')') }
    }

    /// The lower and the upper end, where there is one.
    pub(crate) fn ends(self) -> [Option<&'a str>; 2] {
        [self.low, self.high].map(|end| Some(end).filter(|e| !e.is_empty()))
    }

    /// Whether a value lies in the interval.
    pub(crate) fn holds<T: PartialOrd + std::str::FromStr>(self, value: &T) -> bool {
        let [low, high] = self.ends().map(|end| end.and_then(|text| text.parse::<T>().ok()));
        low.is_none_or(|low| if self.low_open { *value > low } else { *value >= low })
            && high.is_none_or(|high| if self.high_open { *value < high } else { *value <= high })
    }

    /// The interval in words.
    fn words(self) -> String {
        match (self.ends(), self.low_open, self.high_open) {
            ([Some(low), Some(high)], false, false) => format!("{low} to {high}"),
            ([low, high], low_open, high_open) => {
                let low = low.map(|l| format!("{} {l}", if low_open { "above" } else { "at least" }));
                let high = high.map(|h| format!("{} {h}", if high_open { "below" } else { "at most" }));
                low.into_iter().chain(high).collect::<Vec<_>>().join(", ")
            }
        }
    }
}
