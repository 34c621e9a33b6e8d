//! How single values are read, checked and written.

use paceline_proto::units::{BitsPerSec, Bytes, Duration, ParseUnitError, Time};

use super::field::{Interval, Type};
use super::node::{Item, Node};
use crate::spelling::{is_name, nearest};

/// Why a value was refused.
pub(crate) enum Wrong {
    /// Another kind of value than the field has.
    Type,
    /// The right kind, but this is wrong with it.
    Problem(String),
}

/// A type fields can have.
pub(crate) trait Value: Sized {
    /// How it is described.
    const TYPE: Type;
    /// Whether a field of this type may be left out without a default.
    const OPTIONAL: bool = false;
    /// Reads it from the input.
    fn read(node: &Node) -> Result<Self, Wrong>;
    /// Writes it as TOML; `None` leaves the field out.
    fn text(&self) -> Option<String>;
    /// Whether it lies in the allowed interval.
    fn within(&self, _range: Interval<'_>) -> bool {
        true
    }
    /// The value of an absent field without a default, for types that have one.
    fn absent() -> Option<Self> {
        None
    }
}

/// Writes a string as TOML.
pub(crate) fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

impl Value for bool {
    const TYPE: Type = Type::Bool;
    fn read(node: &Node) -> Result<Self, Wrong> {
        if let Item::Bool(v) = node.item { Ok(v) } else { Err(Wrong::Type) }
    }
    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for f64 {
    const TYPE: Type = Type::Number;
    fn read(node: &Node) -> Result<Self, Wrong> {
        match node.item {
            Item::Float(v) if v.is_finite() => Ok(v),
            Item::Float(_) => Err(Wrong::Problem("not a finite number".to_string())),
            Item::Int(v) => Ok(v as f64),
            _ => Err(Wrong::Type),
        }
    }
    fn text(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
    fn within(&self, range: Interval<'_>) -> bool {
        range.holds(self)
    }
}

macro_rules! integer {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            const TYPE: Type = Type::Integer;
            fn read(node: &Node) -> Result<Self, Wrong> {
                let Item::Int(v) = node.item else { return Err(Wrong::Type) };
                // TOML promises 64-bit signed integers only; more would not survive other readers of the file.
                i64::try_from(v).ok().and_then(|v| v.try_into().ok()).ok_or_else(|| Wrong::Problem("out of range".to_string()))
            }
            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
            fn within(&self, range: Interval<'_>) -> bool {
                range.holds(self)
            }
        }
    )*};
}
integer!(u8 u16 u32 u64);

macro_rules! quantity {
    ($($ty:ty, $name:ident, $what:literal;)*) => {$(
        impl Value for $ty {
            const TYPE: Type = Type::$name;
            fn read(node: &Node) -> Result<Self, Wrong> {
                match &node.item {
                    Item::Text(text) => {
                        text.parse().map_err(|e: ParseUnitError| Wrong::Problem(e.problem(concat!("not ", $what))))
                    }
                    Item::Int(_) | Item::Float(_) => Err(Wrong::Problem("a number without a unit".to_string())),
                    _ => Err(Wrong::Type),
                }
            }
            fn text(&self) -> Option<String> {
                Some(quote(&self.to_string()))
            }
            fn within(&self, range: Interval<'_>) -> bool {
                range.holds(self)
            }
        }
    )*};
}
quantity! {
    Bytes, Size, "a size";
    Duration, Duration, "a time";
    Time, Instant, "an instant";
    BitsPerSec, Rate, "a rate";
}

/// A short name that is safe in file names, reports and command lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name(pub String);

impl Value for Name {
    const TYPE: Type = Type::Name;
    fn read(node: &Node) -> Result<Self, Wrong> {
        let Item::Text(text) = &node.item else { return Err(Wrong::Type) };
        if is_name(text) { Ok(Self(text.clone())) } else { Err(Wrong::Problem("not a name".to_string())) }
    }
    fn text(&self) -> Option<String> {
        Some(quote(&self.0))
    }
}

impl std::ops::Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// The name of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File(pub String);

impl Value for File {
    const TYPE: Type = Type::File;
    fn read(node: &Node) -> Result<Self, Wrong> {
        match &node.item {
            Item::Text(t) if !t.is_empty() && t.len() <= 4096 && !t.chars().any(char::is_control) => {
                Ok(Self(t.clone()))
            }
            Item::Text(_) => Err(Wrong::Problem("not the name of a file".to_string())),
            _ => Err(Wrong::Type),
        }
    }
    fn text(&self) -> Option<String> {
        Some(quote(&self.0))
    }
}

impl<T: Value> Value for Option<T> {
    const TYPE: Type = T::TYPE;
    const OPTIONAL: bool = true;
    fn read(node: &Node) -> Result<Self, Wrong> {
        T::read(node).map(Some)
    }
    fn text(&self) -> Option<String> {
        self.as_ref().and_then(T::text)
    }
    fn within(&self, range: Interval<'_>) -> bool {
        self.as_ref().is_none_or(|v| v.within(range))
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Value> Value for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);
    fn read(node: &Node) -> Result<Self, Wrong> {
        let Item::List(items) = &node.item else { return Err(Wrong::Type) };
        items.iter().map(T::read).collect()
    }
    fn text(&self) -> Option<String> {
        let items: Vec<_> = self.iter().filter_map(T::text).collect();
        Some(format!("[{}]", items.join(", ")))
    }
    fn within(&self, range: Interval<'_>) -> bool {
        self.iter().all(|v| v.within(range))
    }
}

/// A whole multiple, written `"3x"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub struct Multiple(pub u32);

impl std::str::FromStr for Multiple {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.strip_suffix('x').filter(|d| d.bytes().all(|b| b.is_ascii_digit())).ok_or(())?;
        digits.parse().map(Self).map_err(|_| ())
    }
}

impl Value for Multiple {
    const TYPE: Type = Type::Multiple;
    fn read(node: &Node) -> Result<Self, Wrong> {
        let Item::Text(text) = &node.item else { return Err(Wrong::Type) };
        text.parse().map_err(|()| Wrong::Problem("not a multiple".to_string()))
    }
    fn text(&self) -> Option<String> {
        Some(format!("\"{}x\"", self.0))
    }
    fn within(&self, range: Interval<'_>) -> bool {
        // The interval is that of the quantity beside it; a multiple of nothing would be a trap in any of them.
        let _ = range;
        (1..=1000).contains(&self.0)
    }
}

/// A node: its id, or a name as in [`super::failure::LinkFailure::link`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeRef {
    /// Its id.
    Id(u32),
    /// One of its names.
    Name(Name),
}

impl std::fmt::Display for NodeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NodeRef::Id(id) => id.fmt(f),
            NodeRef::Name(name) => name.0.fmt(f),
        }
    }
}

impl Value for NodeRef {
    const TYPE: Type = Type::Node;
    fn read(node: &Node) -> Result<Self, Wrong> {
        match &node.item {
            Item::Text(_) => Name::read(node).map(NodeRef::Name),
            _ => u32::read(node).map(NodeRef::Id),
        }
    }
    fn text(&self) -> Option<String> {
        match self {
            NodeRef::Id(id) => id.text(),
            NodeRef::Name(name) => name.text(),
        }
    }
}

/// A port, or all of parallel links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortRef {
    /// Node and port number from 0, written `"tor0:4"` or `"320:4"`.
    Number(Name, u16),
    /// Those of the first node that lead to the second, written as a link.
    Towards(LinkRef),
}

impl Value for PortRef {
    const TYPE: Type = Type::Port;
    fn read(node: &Node) -> Result<Self, Wrong> {
        let Item::Text(text) = &node.item else { return Err(Wrong::Type) };
        let by_number = |(name, port): (&str, &str)| {
            let digits = port.bytes().all(|b| b.is_ascii_digit());
            let name = Name::read(&Node { item: Item::Text(name.to_string()), at: node.at }).ok()?;
            Some(Self::Number(name, port.parse().ok().filter(|_| digits)?))
        };
        let port = match text.split_once(':') {
            Some(parts) => by_number(parts),
            None => LinkRef::read(node).ok().map(Self::Towards),
        };
        port.ok_or_else(|| Wrong::Problem("not a port".to_string()))
    }
    fn text(&self) -> Option<String> {
        match self {
            PortRef::Number(node, port) => Some(quote(&format!("{}:{port}", node.0))),
            PortRef::Towards(link) => link.text(),
        }
    }
}

/// A link in one direction, written `"tor0->agg1"`: the nodes at its ends, named as in [`super::failure::LinkFailure::link`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkRef {
    /// Where it comes from.
    pub from: String,
    /// Where it goes.
    pub to: String,
}

impl std::fmt::Display for LinkRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}->{}", self.from, self.to)
    }
}

impl Value for LinkRef {
    const TYPE: Type = Type::Link;
    fn read(node: &Node) -> Result<Self, Wrong> {
        let Item::Text(text) = &node.item else { return Err(Wrong::Type) };
        let name = |text: &str| Name::read(&Node { item: Item::Text(text.trim().to_string()), at: node.at }).ok();
        let ends = text.split_once("->").and_then(|(from, to)| Some((name(from)?.0, name(to)?.0)));
        let ends = ends.filter(|(from, to)| from != to);
        ends.map(|(from, to)| Self { from, to }).ok_or_else(|| Wrong::Problem("not a link".to_string()))
    }
    fn text(&self) -> Option<String> {
        Some(quote(&self.to_string()))
    }
}

/// A set of hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostSet {
    /// Every host.
    All,
    /// Those listed.
    Listed(Vec<Hosts>),
}

/// An entry in a list of hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hosts {
    /// A host, or a switch for the hosts that are linked to it.
    Node(NodeRef),
    /// A range of node ids, both ends included, as it is written; or the name of a node that looks like one, as `2-1` in rack 2.
    Range(u32, u32, Name),
}

impl Value for HostSet {
    const TYPE: Type = Type::Hosts;
    fn read(node: &Node) -> Result<Self, Wrong> {
        let wrong = || Wrong::Problem("not a set of hosts".to_string());
        let items = match &node.item {
            Item::Text(text) if text == "all" => return Ok(HostSet::All),
            Item::List(items) if !items.is_empty() => items,
            Item::List(_) | Item::Text(_) => return Err(wrong()),
            _ => return Err(Wrong::Type),
        };
        let number = |text: &str| text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        let entry = |item: &Node| {
            let node = NodeRef::read(item).map_err(|_| wrong())?;
            let ends = |text: &str| text.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
            Ok(match node {
                NodeRef::Name(name) => match ends(&name) {
                    Some((low, high)) => Hosts::Range(low, high, name),
                    None => Hosts::Node(NodeRef::Name(name)),
                },
                NodeRef::Id(_) => Hosts::Node(node),
            })
        };
        items.iter().map(entry).collect::<Result<_, _>>().map(HostSet::Listed)
    }
    fn text(&self) -> Option<String> {
        let HostSet::Listed(entries) = self else { return Some("\"all\"".to_string()) };
        let one = |entry: &Hosts| match entry {
            Hosts::Node(node) => node.text(),
            Hosts::Range(_, _, text) => text.text(),
        };
        Some(format!("[{}]", entries.iter().filter_map(one).collect::<Vec<_>>().join(", ")))
    }
}

/// Declares an enumeration of words, with its reading and writing.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }
        choice!($name { $($variant = $word,)+ });
    };
    ($name:ident { $($variant:ident = $word:literal,)+ }) => {
        impl $crate::spec::value::Value for $name {
            const TYPE: $crate::spec::field::Type = $crate::spec::field::Type::Choice(&[$($word),+]);
            fn read(node: &$crate::spec::node::Node) -> Result<Self, $crate::spec::value::Wrong> {
                match &node.item {
                    $crate::spec::node::Item::Text(text) => match text.as_str() {
                        $($word => Ok($name::$variant),)+
                        other => Err($crate::spec::value::not_a_word(other, &[$($word),+])),
                    },
                    _ => Err($crate::spec::value::Wrong::Type),
                }
            }
            fn text(&self) -> Option<String> {
                Some($crate::spec::value::quote(match self { $($name::$variant => $word,)+ }))
            }
        }
    };
}
pub(crate) use choice;

/// Declares a type that is a word or one of some quantities.
macro_rules! either {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$wmeta:meta])* $word:ident = $text:literal,)* ;
        $($(#[$vmeta:meta])* $variant:ident($ty:ty),)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub enum $name { $($(#[$wmeta])* $word,)* $($(#[$vmeta])* $variant($ty),)+ }
        impl $crate::spec::value::Value for $name {
            const TYPE: $crate::spec::field::Type = $crate::spec::field::Type::Either(&[
                $crate::spec::field::Type::Choice(&[$($text),*]), $(<$ty>::TYPE),+
            ]);
            fn read(node: &$crate::spec::node::Node) -> Result<Self, $crate::spec::value::Wrong> {
                if let $crate::spec::node::Item::Text(text) = &node.item {
                    match text.as_str() {
                        $($text => return Ok($name::$word),)*
                        _ => {}
                    }
                }
                let mut wrong = $crate::spec::value::Wrong::Type;
                $(match <$ty>::read(node) {
                    Ok(value) => return Ok($name::$variant(value)),
                    Err($crate::spec::value::Wrong::Type) => {}
                    Err(problem) => wrong = problem,
                })+
                Err($crate::spec::value::neither(node, wrong, &[$($text),*]))
            }
            fn text(&self) -> Option<String> {
                match self {
                    $($name::$word => Some($crate::spec::value::quote($text)),)*
                    $($name::$variant(value) => value.text(),)+
                }
            }
            fn within(&self, range: $crate::spec::field::Interval<'_>) -> bool {
                match self {
                    $($name::$variant(value) => value.within(range),)+
                    #[allow(unreachable_patterns, reason = "there may be no words")]
                    _ => true,
                }
            }
        }
    };
}
pub(crate) use either;

/// A word that is none of those allowed.
pub(crate) fn not_a_word(word: &str, words: &[&'static str]) -> Wrong {
    match nearest(word, words.iter().copied()) {
        Some(near) => Wrong::Problem(format!("unknown word, did you mean \"{near}\"?")),
        None => Wrong::Problem("unknown word".to_string()),
    }
}

/// A value that is neither one of the words nor a quantity.
pub(crate) fn neither(node: &Node, wrong: Wrong, words: &[&'static str]) -> Wrong {
    match &node.item {
        // Text without any digit was meant as a word.
        Item::Text(text) if !words.is_empty() && !text.bytes().any(|b| b.is_ascii_digit()) => not_a_word(text, words),
        _ => wrong,
    }
}
