//! The input as a tree whose every node knows where it came from: a line of the file or an override.

use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::InputError;
use crate::spelling::{MAX_SHOWN, clip};

/// Largest scenario text, in bytes, as given and as resolved: some 80,000 hosts drawn node by node.
pub(crate) const MAX_TEXT: usize = 8 << 20;
/// Longest text whose syntax errors are all collected to tell the first, in bytes.
const MAX_RECOVERED: usize = 64 << 10;
/// Most segments in the key of an override; the deepest field has five.
const MAX_SEGMENTS: usize = 16;

/// Where a node came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At {
    /// A line of the file, from 1.
    Line(u32),
    /// The override with this index.
    Override(u32),
}

/// An error and where it happened; file and override texts are added at the outermost level.
#[derive(Debug)]
pub(crate) struct Bad(pub(crate) Box<(At, InputError)>);

/// Result of reading a part of the input.
pub(crate) type Read<T> = Result<T, Bad>;

impl Bad {
    /// An error at a place.
    pub(crate) fn new(at: At, error: InputError) -> Self {
        Self(Box::new((at, error)))
    }
}

/// A value of the input.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Where it stands.
    pub(crate) at: At,
    /// What it is.
    pub(crate) item: Item,
}

/// The kinds of value TOML has. Tables keep the order of the file, because the order of schemes is that of the figures.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Date(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// A table without entries.
    pub(crate) fn empty(at: At) -> Self {
        Self { at, item: Item::Table(Vec::new()) }
    }

    /// What TOML calls this kind of value.
    pub(crate) fn kind(&self) -> &'static str {
        match self.item {
            Item::Bool(_) => "a boolean",
            Item::Int(_) => "an integer",
            Item::Float(_) => "a float",
            Item::Text(_) => "a string",
            Item::Date(_) => "a date",
            Item::List(_) => "an array",
            Item::Table(_) => "a table",
        }
    }

    /// The entry or element with this key, if there is one.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.item {
            Item::Table(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, node)| node),
            Item::List(items) => list_index(key).and_then(|i| items.get(i)),
            _ => None,
        }
    }

    /// The value as it would be written, cut to a length that fits a message.
    pub(crate) fn show(&self) -> String {
        let mut out = Clip(String::new(), MAX_SHOWN);
        // Writing stops with an error as soon as enough has been written; what there is has been kept.
        let cut = fmt::write(&mut out, format_args!("{self}")).is_err();
        if cut {
            out.0.push('…');
        }
        out.0
    }
}

/// Collects at most `.1` characters.
struct Clip(String, usize);

impl fmt::Write for Clip {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.1 = self.1.checked_sub(1).ok_or(fmt::Error)?;
            self.0.push(c);
        }
        Ok(())
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Item::Bool(v) => write!(f, "{v}"),
            Item::Int(v) => write!(f, "{v}"),
            Item::Float(v) if v.is_nan() => f.write_str("nan"),
            Item::Float(v) => write!(f, "{v:?}"),
            Item::Text(v) => write!(f, "{v:?}"),
            Item::Date(v) => f.write_str(v),
            Item::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Item::Table(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key} = {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Where lines start, to turn byte offsets into line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1).collect())
    }
    fn at(&self, offset: usize) -> At {
        At::Line(1 + self.0.partition_point(|start| *start <= offset) as u32)
    }
}

/// Reads a whole file. Nesting is limited by the TOML parser (80 levels), length by [`MAX_TEXT`].
pub(crate) fn read(text: &str) -> Read<Node> {
    let lines = Lines::new(text);
    if text.len() > MAX_TEXT {
        let error = InputError::new("the scenario is too long");
        let error = error.value(format!("{} bytes", text.len())).allowed(format!("at most {MAX_TEXT} bytes"));
        return Err(Bad::new(At::Line(1), error));
    }
    let document = DeTable::parse(text).map_err(|error| {
        let start = |e: &toml::de::Error| e.span().map_or(0, |span| span.start);
        // The parser tells the last error it met, which is often a consequence of the first.
        let all = if text.len() <= MAX_RECOVERED { DeTable::parse_recoverable(text).1 } else { Vec::new() };
        let first = all.into_iter().min_by_key(start).unwrap_or(error);
        let error = InputError::new(format!("not TOML: {}", clip(first.message())));
        Bad::new(lines.at(start(&first)), error.allowed("TOML 1.0"))
    })?;
    table(document.get_ref(), At::Line(1), &|offset| lines.at(offset))
}

/// Applies `key=value`, the override with index `index`.
pub(crate) fn set(root: &mut Node, text: &str, index: u32) -> Read<()> {
    let at = At::Override(index);
    let form = "key=value with a dotted key, such as workloads.0.load.value=0.5";
    let fail = |problem: &str, field: &str, allowed: &str| {
        Bad::new(at, InputError::new(problem).field(clip(field)).value(clip(text)).allowed(allowed))
    };
    if text.len() > MAX_TEXT {
        return Err(fail("the override is too long", "", &format!("at most {MAX_TEXT} bytes")));
    }
    let (key, value) = text.split_once('=').ok_or_else(|| fail("not an override", text, form))?;
    let (key, value) = (key.trim(), value.trim());
    let segments: Vec<&str> = key.split('.').map(str::trim).collect();
    if segments.iter().any(|s| !is_bare_key(s)) || segments.len() > MAX_SEGMENTS {
        return Err(fail("not a field", key, form));
    }
    // The parser drops what it does not like in a number (`1_a` becomes `1a`): not a literal after all, but a text.
    let literal = DeValue::parse(value).ok().filter(|literal| !is_broken(literal.get_ref()));
    let item = match literal {
        Some(literal) => convert(literal.get_ref(), at, &|_| at).map_err(|Bad(mut inner)| {
            inner.1.field.get_or_insert_with(|| clip(key));
            inner.1.value = Some(clip(value));
            Bad(inner)
        })?,
        None => Node { at, item: Item::Text(value.to_string()) },
    };
    let mut node = root;
    for (depth, segment) in segments[..segments.len() - 1].iter().enumerate() {
        let path = segments[..=depth].join(".");
        let next = match &mut node.item {
            Item::Table(entries) => {
                let found = entries.iter().position(|(k, _)| k == segment).unwrap_or(entries.len());
                if found == entries.len() {
                    entries.push(((*segment).to_string(), Node::empty(at)));
                }
                &mut entries[found].1
            }
            Item::List(items) => {
                let allowed = format!("an index below {}", items.len());
                list_index(segment)
                    .and_then(|i| items.get_mut(i))
                    .ok_or_else(|| fail("no such element", &path, &allowed))?
            }
            _ => {
                let problem = format!("`{}` is not a table", segments[..depth].join("."));
                return Err(fail(&problem, key, "a field inside a table"));
            }
        };
        node = next;
    }
    let last = segments[segments.len() - 1];
    match &mut node.item {
        Item::Table(entries) => match entries.iter_mut().find(|(k, _)| k == last) {
            Some(entry) => entry.1 = item,
            None => entries.push((last.to_string(), item)),
        },
        Item::List(items) => {
            let allowed = format!("an index below {}", items.len());
            let slot = list_index(last).and_then(|i| items.get_mut(i));
            *slot.ok_or_else(|| fail("no such element", key, &allowed))? = item;
        }
        _ => {
            let problem = format!("`{}` is not a table", segments[..segments.len() - 1].join("."));
            return Err(fail(&problem, key, "a field inside a table"));
        }
    }
    Ok(())
}

/// The place in a list that a key names. One spelling only: of `0` and `00` in two overrides the last would win without a word.
fn list_index(key: &str) -> Option<usize> {
    key.parse().ok().filter(|_| key == "0" || !key.starts_with('0'))
}

/// Whether the parser takes for a number what has other than digits in it.
fn is_broken(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Integer(int) => {
            let digits = int.as_str().trim_start_matches(['+', '-']);
            digits.is_empty() || !digits.chars().all(|c| c.is_digit(int.radix()))
        }
        DeValue::Float(float) => float.as_str().parse::<f64>().is_err(),
        _ => false,
    }
}

/// Whether a key needs no quotes in TOML; names of schemes are limited to these.
pub(crate) fn is_bare_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn table(table: &DeTable<'_>, at: At, place: &dyn Fn(usize) -> At) -> Read<Node> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter().map(|(key, value)| {
        let start = match value.get_ref() {
            DeValue::Table(_) => key.span().start,
            _ => value.span().start,
        };
        Ok((key.get_ref().to_string(), convert(value.get_ref(), place(start), place)?))
    });
    Ok(Node { at, item: Item::Table(entries.collect::<Read<_>>()?) })
}

fn convert(value: &DeValue<'_>, at: At, place: &dyn Fn(usize) -> At) -> Read<Node> {
    let item = match value {
        DeValue::String(text) => Item::Text(text.to_string()),
        DeValue::Boolean(v) => Item::Bool(*v),
        DeValue::Datetime(date) => Item::Date(date.to_string()),
        DeValue::Integer(int) => Item::Int(i128::from_str_radix(int.as_str(), int.radix()).map_err(|_| {
            let error = InputError::new("integer out of range").value(clip(int.as_str()));
            Bad::new(at, error.allowed("at most 9223372036854775807"))
        })?),
        DeValue::Float(float) => Item::Float(float.as_str().parse().map_err(|_| {
            Bad::new(at, InputError::new("not a number").value(clip(float.as_str())).allowed("a finite number"))
        })?),
        DeValue::Array(items) => {
            Item::List(items.iter().map(|v| convert(v.get_ref(), place(v.span().start), place)).collect::<Read<_>>()?)
        }
        DeValue::Table(entries) => return table(entries, at, place),
    };
    Ok(Node { at, item })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(root: &Node, path: &str) -> At {
        path.split('.').fold(root, |node, key| node.get(key).unwrap()).at
    }

    #[test]
    fn every_node_knows_its_line() {
        let text = "seed = 1\n\n[switch.pfc]\nalpha = 1\n[[workloads]]\nkind = 'a'\n[workloads.load]\nvalue = 1\n\
                    [[workloads]]\nkind = 'b'\nrows = [\n { src = 1 },\n { src = 2 },\n]\na.b = 3\n";
        let root = read(text).unwrap();
        for (path, expected) in [
            ("seed", 1),
            ("switch.pfc", 3),
            ("switch.pfc.alpha", 4),
            ("workloads.0", 5),
            ("workloads.0.kind", 6),
            ("workloads.0.load", 7),
            ("workloads.0.load.value", 8),
            ("workloads.1", 9),
            ("workloads.1.rows.1.src", 13),
            ("workloads.1.a.b", 15),
        ] {
            assert_eq!(line(&root, path), At::Line(expected), "{path}");
        }
    }

    #[test]
    fn tables_keep_the_order_of_the_file() {
        let root = read("[schemes.z]\n[schemes.a]\n").unwrap();
        let Item::Table(schemes) = &root.get("schemes").unwrap().item else { panic!("a table") };
        assert_eq!(schemes.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    }

    #[test]
    fn overrides_are_literals_or_else_text() {
        let mut root = read("[[workloads]]\nkind = 'a'\n").unwrap();
        for text in
            ["workloads.0.load.value=0.5", "name = fresh", "seed=0x10", "switch.buffer=16MiB", "a=1\nb=2", "c=0x"]
        {
            set(&mut root, text, 0).unwrap();
        }
        assert_eq!(root.get("workloads").unwrap().get("0").unwrap().get("load").unwrap().show(), "{value = 0.5}");
        assert_eq!(root.get("name").unwrap().show(), "\"fresh\"");
        assert_eq!(root.get("seed").unwrap().show(), "16");
        assert_eq!(root.get("switch").unwrap().show(), "{buffer = \"16MiB\"}");
        assert_eq!(root.get("a").unwrap().show(), "\"1\\nb=2\"");
        assert!(root.get("b").is_none());
        assert_eq!(root.get("c").unwrap().show(), "\"0x\"", "a multiple that is out of range, not an integer that is");
    }
}
