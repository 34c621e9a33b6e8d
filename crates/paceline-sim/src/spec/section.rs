//! Sections: tables of the scenario that become structs, declared once by `section!` and `variants!` (see `declare`).

use std::fmt::Write as _;

use crate::InputError;
use crate::spelling::{clip, closest, nearest};

use super::field::{DefaultText, FIELDS, Field, Interval, KEYS, Row, Shape, Type, join};
use super::node::{self, At, Bad, Item, Node, Read};
use super::value::{Value, Wrong, not_a_word};

/// Most entries of a map or list of sections (schemes, workloads).
const MAX_SECTIONS: usize = 1000;

/// A table of the scenario.
pub(crate) trait Section: Sized {
    /// Its structure.
    fn shape() -> Shape;
    /// Reads its own keys; those it leaves are reported by [`Table::finish`].
    fn read(table: &mut Table<'_>) -> Read<Self>;
    /// Its values as (key, TOML text), defaults included.
    fn values(&self, out: &mut Vec<(&'static str, String)>);
    /// Writes the sections inside it.
    fn parts(&self, path: &str, out: &mut String);
}

/// A choice that decides which further fields a section has.
pub(crate) trait Variants: Sized {
    /// The deciding field and what its values bring.
    fn select() -> super::field::Select;
    /// Reads the deciding field and the fields of the chosen variant.
    fn read(table: &mut Table<'_>) -> Read<Self>;
    /// The values of the chosen variant.
    fn values(&self, out: &mut Vec<(&'static str, String)>);
    /// Writes the sections inside the chosen variant.
    fn parts(&self, path: &str, out: &mut String);
    /// The chosen word.
    fn word(&self) -> &'static str;
}

/// A table being read.
pub(crate) struct Table<'a> {
    node: &'a Node,
    path: String,
    taken: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// Starts on a node, which has to be a table.
    pub(crate) fn new(node: &'a Node, path: String) -> Read<Self> {
        if matches!(node.item, Item::Table(_)) {
            return Ok(Self { node, path, taken: Vec::new() });
        }
        // `*` stands for names that are the user's own.
        let keys = KEYS.get(&pattern(&path)).into_iter().flatten().filter(|key| **key != "*");
        let keys = keys.map(|key| &**key).collect::<Vec<_>>().join(", ");
        let allowed = if keys.is_empty() { "a table".to_string() } else { format!("a table with {keys}") };
        Err(wrong_kind(node, &path, &allowed))
    }

    /// Where the table starts.
    pub(crate) fn at(&self) -> At {
        self.node.at
    }

    /// Reads a field: the value given, or else its default.
    pub(crate) fn value<T: Value>(&mut self, row: &Row) -> Read<T> {
        self.taken.push(row.key);
        let Some(given) = self.node.get(row.key) else { return self.default(row) };
        let value = T::read(given).map_err(|wrong| match wrong {
            Wrong::Type => self.refuse(row, given, format!("wrong type, {}", given.kind())),
            Wrong::Problem(problem) => self.refuse(row, given, problem),
        })?;
        if row.range.is_some_and(|range| !value.within(Interval::new(range))) {
            return Err(self.refuse(row, given, "out of range".to_string()));
        }
        Ok(value)
    }

    fn refuse(&self, row: &Row, given: &Node, problem: String) -> Bad {
        let error = InputError::new(problem).field(join(&self.path, row.key)).value(given.show());
        Bad::new(given.at, error.allowed(row.ty.allowed(row.range)))
    }

    fn default<T: Value>(&self, row: &Row) -> Read<T> {
        let text = match row.default {
            DefaultText::Is(text) => Some(text),
            DefaultText::By(key, texts) => {
                let given = self.node.get(key).and_then(|n| if let Item::Text(t) = &n.item { Some(t) } else { None });
                texts.iter().find(|(word, _)| Some(*word) == given.map(String::as_str)).or(texts.first()).map(|t| t.1)
            }
            DefaultText::Required | DefaultText::Absent => None,
        };
        // Default texts are ours and a test reads every one of them, so a failure here is the missing value's.
        let value = match text {
            Some(text) => from_text(text),
            None => T::absent().filter(|_| row.default == DefaultText::Absent),
        };
        value.ok_or_else(|| self.missing(row))
    }

    /// Reads a deciding field: one of its words.
    pub(crate) fn word(&mut self, row: &Row) -> Read<&'static str> {
        self.taken.push(row.key);
        let Type::Choice(words) = row.ty else { return Err(self.missing(row)) };
        let Some(given) = self.node.get(row.key) else {
            let default = if let DefaultText::Is(text) = row.default { text.trim_matches('"') } else { "" };
            return words.iter().copied().find(|w| *w == default).ok_or_else(|| self.missing(row));
        };
        let Item::Text(text) = &given.item else {
            return Err(self.refuse(row, given, format!("wrong type, {}", given.kind())));
        };
        words.iter().copied().find(|w| w == text).ok_or_else(|| match not_a_word(text, words) {
            Wrong::Problem(problem) => self.refuse(row, given, problem),
            Wrong::Type => self.missing(row),
        })
    }

    /// A required field is not there.
    pub(crate) fn missing(&self, row: &Row) -> Bad {
        let error = InputError::new("missing").field(join(&self.path, row.key));
        Bad::new(self.node.at, error.allowed(row.ty.allowed(row.range)))
    }

    /// Reads the section under a key; when it is absent, all its defaults.
    pub(crate) fn section<T: Section>(&mut self, key: &'static str) -> Read<T> {
        self.taken.push(key);
        let empty = Node::empty(self.node.at);
        read_section(self.node.get(key).unwrap_or(&empty), join(&self.path, key))
    }

    /// Reads the array of sections under a key; when it is absent, none.
    pub(crate) fn list<T: Section>(&mut self, key: &'static str, most: Option<usize>) -> Read<Vec<T>> {
        self.taken.push(key);
        let Some(given) = self.node.get(key) else { return Ok(Vec::new()) };
        let path = join(&self.path, key);
        let Item::List(items) = &given.item else { return Err(wrong_kind(given, &path, "an array of tables")) };
        check_count(items.len(), most, given.at, &path)?;
        items.iter().enumerate().map(|(i, node)| read_section(node, join(&path, &i.to_string()))).collect()
    }

    /// Reads the named sections under a key, in the order of the file.
    pub(crate) fn map<T: Section>(&mut self, key: &'static str) -> Read<Vec<(String, T)>> {
        self.taken.push(key);
        let Some(given) = self.node.get(key) else { return Ok(Vec::new()) };
        let path = join(&self.path, key);
        let Item::Table(entries) = &given.item else { return Err(wrong_kind(given, &path, "a table of tables")) };
        check_count(entries.len(), Some(MAX_SECTIONS), given.at, &path)?;
        let read = |(name, node): &(String, Node)| {
            if !node::is_bare_key(name) || name.len() > 64 {
                let error = InputError::new("not a name").field(&path).value(clip(name));
                return Err(Bad::new(node.at, error.allowed("1 to 64 letters, digits, - and _")));
            }
            Ok((name.clone(), read_section(node, join(&path, name))?))
        };
        entries.iter().map(read).collect()
    }

    /// Refuses keys that nothing has read: they belong to another variant of the section.
    fn finish(self) -> Read<()> {
        let Item::Table(entries) = &self.node.item else { return Ok(()) };
        let Some((key, node)) = entries.iter().find(|(key, _)| !self.taken.contains(&key.as_str())) else {
            return Ok(());
        };
        let path = join(&self.path, key);
        let pattern = pattern(&path);
        let inside = format!("{pattern}.");
        let homes = FIELDS.iter().filter(|f| f.path == pattern || f.path.starts_with(&inside));
        let mut homes: Vec<_> = homes.map(condition).collect();
        homes.dedup();
        let error = InputError::new("has no effect here").field(path).value(node.show());
        Err(Bad::new(node.at, error.allowed(format!("only with {}", homes.join(" or with ")))))
    }
}

/// The condition of a field in words.
pub(crate) fn condition(field: &Field) -> String {
    field.when.iter().map(|(key, word)| format!("{key} = \"{word}\"")).collect::<Vec<_>>().join(" and ")
}

/// Reads a node as a section and refuses what the section does not know.
pub(crate) fn read_section<T: Section>(node: &Node, path: String) -> Read<T> {
    let mut table = Table::new(node, path)?;
    let section = T::read(&mut table)?;
    table.finish()?;
    Ok(section)
}

/// Reads a table in the place of a value ([`super::field::Type::Table`]); only the record's keys are in it.
pub(crate) fn read_record<T>(node: &Node, read: impl FnOnce(&mut Table<'_>) -> Read<T>) -> Result<T, Wrong> {
    let table = Table::new(node, String::new());
    table.and_then(|mut t| read(&mut t)).map_err(|bad| {
        let InputError { field, problem, allowed, .. } = bad.0.1;
        let (field, allowed) = (field.unwrap_or_default(), allowed.unwrap_or_default());
        Wrong::Problem(format!("{field}: {problem} ({allowed})"))
    })
}

fn check_count(count: usize, most: Option<usize>, at: At, path: &str) -> Read<()> {
    match most.filter(|most| count > *most) {
        None => Ok(()),
        Some(most) => {
            let error = InputError::new("too many entries").field(path).value(count);
            Err(Bad::new(at, error.allowed(format!("at most {most}"))))
        }
    }
}

fn wrong_kind(node: &Node, path: &str, expected: &str) -> Bad {
    let error = InputError::new(format!("wrong type, {}", node.kind())).field(path).value(node.show());
    Bad::new(node.at, error.allowed(expected))
}

/// A path with `*` for names and indices.
pub(crate) fn pattern(path: &str) -> String {
    let mut pattern = String::new();
    for segment in path.split('.') {
        let known = KEYS.get(&pattern);
        let any = known.is_some_and(|keys| keys.contains("*"));
        pattern = join(&pattern, if any { "*" } else { segment });
    }
    pattern
}

/// Refuses keys that no section knows, with the nearest known one.
pub(crate) fn check_keys(node: &Node, pattern: &str, path: &str) -> Read<()> {
    let Some(known) = KEYS.get(pattern) else { return Ok(()) };
    let any = known.contains("*");
    match &node.item {
        Item::List(items) if any => {
            let inner = join(pattern, "*");
            items.iter().enumerate().try_for_each(|(i, n)| check_keys(n, &inner, &join(path, &i.to_string())))
        }
        Item::Table(entries) => entries.iter().try_for_each(|(key, value)| {
            let inner = if any { "*" } else { key.as_str() };
            if !known.contains(inner) {
                return Err(unknown_key(node, key, value, pattern, path));
            }
            check_keys(value, &join(pattern, inner), &join(path, key))
        }),
        _ => Ok(()),
    }
}

fn unknown_key(table: &Node, key: &str, value: &Node, parent: &str, path: &str) -> Bad {
    let known = || KEYS.get(parent).into_iter().flatten().map(String::as_str);
    let (here, depends): (Vec<_>, Vec<_>) = known().partition(|known| exists(table, parent, known));
    let of_word = |word: &str| -> Vec<&str> {
        here.iter().copied().filter(|known| known.split('_').any(|each| each == word)).collect()
    };
    let meant = nearest(key, here.iter().copied())
        // A word of one of them only, as `rate` of `host_rate`.
        .or_else(|| <[&str; 1]>::try_from(of_word(key)).ok().map(|[only]| only))
        .or_else(|| nearest(key, depends.iter().copied()))
        // A choice under another name, as `kind = "hpcc"` for `cc = "hpcc"`.
        .or_else(|| known().find(|choice| selects(&join(parent, choice), value)))
        // The right name, but for a letter, in the wrong section.
        .or_else(|| {
            let (_, near) = closest(key, FIELDS.iter().map(|f| f.row.key)).filter(|(edits, _)| *edits <= 1)?;
            FIELDS.iter().find(|f| f.row.key == near).map(|f| f.path.as_str())
        })
        .map(|meant| format!("`{meant}`"))
        // The last word of few of them, as `link_rate`.
        .or_else(|| match of_word(key.rsplit('_').next().unwrap_or(key))[..] {
            [one] => Some(format!("`{one}`")),
            [one, other] => Some(format!("`{one}` or `{other}`")),
            _ => None,
        });
    let problem = meant.map_or("unknown key".to_string(), |meant| format!("unknown key, did you mean {meant}?"));
    let mut allowed = here.join(", ");
    if !depends.is_empty() {
        let choices = here
            .iter()
            .filter(|k| FIELDS.iter().any(|f| f.when.iter().any(|(by, _)| by == *k) && starts(&f.path, parent)));
        let choices: Vec<_> = choices.map(|k| format!("`{k}`")).collect();
        allowed = format!("{allowed}; others depend on {}", choices.join(" and "));
    }
    let error = InputError::new(problem).field(join(path, &clip(key))).value(value.show());
    Bad::new(value.at, error.allowed(allowed))
}

/// Whether a path lies in the section `parent`.
fn starts(path: &str, parent: &str) -> bool {
    parent.is_empty() || path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether the field at `path` decides on others and `value` is one of its choices.
fn selects(path: &str, value: &Node) -> bool {
    let Item::Text(text) = &value.item else { return false };
    let Some((parent, key)) = path.rsplit_once('.') else { return false };
    FIELDS.iter().any(|f| starts(&f.path, parent) && f.when.iter().any(|(by, word)| *by == key && word == text))
}

/// Whether the section `parent` has the key with the choices made in `table`; one that is not made there is its default.
fn exists(table: &Node, parent: &str, key: &str) -> bool {
    let path = join(parent, key);
    let made = |by: &str, word: &str| match table.get(by).map(|node| &node.item) {
        Some(Item::Text(text)) => text == word,
        _ => match FIELDS.iter().find(|f| f.path == join(parent, by)).map(|f| f.row.default) {
            Some(DefaultText::Is(text)) => text.trim_matches('"') == word,
            Some(_) => false,
            // A choice of a section outside.
            None => true,
        },
    };
    let mut fields = FIELDS.iter().filter(|f| f.path == path || starts(&f.path, &path));
    fields.any(|f| f.when.iter().all(|(by, word)| made(by, word)))
}

/// Writes a section with its header and everything inside it.
pub(crate) fn write_section<T: Section>(section: &T, path: &str, header: &str, out: &mut String) {
    let mut values = Vec::new();
    section.values(&mut values);
    if !header.is_empty() && !values.is_empty() {
        let _ = writeln!(out, "\n{header}");
    }
    for (key, text) in values {
        let _ = writeln!(out, "{key} = {text}");
    }
    section.parts(path, out);
}

/// Writes small sections as an array of inline tables; `None` when there are none.
pub(crate) fn inline<T: Section>(sections: &[T]) -> Option<String> {
    let one = |section: &T| {
        let mut values = Vec::new();
        section.values(&mut values);
        let values: Vec<_> = values.into_iter().map(|(key, text)| format!("{key} = {text}")).collect();
        format!("    {{ {} }},\n", values.join(", "))
    };
    (!sections.is_empty()).then(|| format!("[\n{}]", sections.iter().map(one).collect::<String>()))
}

/// A value as the text of a default gives it.
fn from_text<T: Value>(text: &str) -> Option<T> {
    node::read(&format!("d = {text}")).ok().and_then(|n| T::read(n.get("d")?).ok())
}

/// The default of a field, where it has one that goes by no other field.
pub(crate) fn default_of<T: Value>(row: &Row) -> Option<T> {
    if let DefaultText::Is(text) = row.default { from_text(text) } else { None }
}

/// The value of the next row; rows and struct fields are declared in the same order.
pub(crate) fn next_value<T: Value>(table: &mut Table<'_>, rows: &mut std::slice::Iter<'_, Row>) -> Read<T> {
    match rows.next() {
        Some(row) => table.value(row),
        None => Err(Bad::new(table.at(), InputError::new("no such field"))),
    }
}

/// The row of a deciding field.
pub(crate) const fn select_row(
    key: &'static str,
    words: &'static [&'static str],
    default: DefaultText,
    source: &'static str,
    meaning: &'static str,
) -> Row {
    Row { key, ty: Type::Choice(words), default, range: None, source, meaning }
}
