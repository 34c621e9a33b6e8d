//! Flow sizes: one for all, a distribution that comes with Paceline, a file.

use paceline_proto::units::Bytes;

use crate::spec::declare::section;
use crate::spec::field::{Interval, Record, Type};
use crate::spec::node::{Item, Node};
use crate::spec::section::{Section, read_record};
use crate::spec::value::{File, Name, Value, Wrong, choice, quote};

choice! {
    /// What lies between two points of a size distribution.
    pub enum Sampling {
        /// Sizes between two points are equally likely.
        Interpolated = "interpolated",
        /// Only the sizes listed occur.
        Step = "step",
    }
}

section! {
    /// A file of points of a cumulative distribution: `bytes probability` per line, the last with 1, or with 100 in per cent.
    pub struct SizeFile {
        /// The file.
        file: File, from "Paceline";
        /// What lies between two points.
        sampling: Sampling = "interpolated", from "HPCC reference simulator, traffic generator";
    }
}

/// Flow sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// A distribution that comes with Paceline; `paceline list` names them.
    Builtin(Name),
    /// Every flow has this size.
    Fixed(Bytes),
    /// A distribution from a file.
    File(SizeFile),
}

static SIZE_FILE: Record = Record {
    name: "SizeFile",
    doc: " A file of points of a cumulative distribution: `bytes probability` per line, the last with 1, or with 100 in per cent.",
    rows: SizeFile::ROWS,
};

impl Value for Sizes {
    const TYPE: Type = Type::Either(&[Type::Name, Type::Size, Type::Table(&SIZE_FILE)]);
    fn read(node: &Node) -> Result<Self, Wrong> {
        match &node.item {
            Item::Table(_) => read_record(node, SizeFile::read).map(Sizes::File),
            // A size starts with a digit or a point, a name must not be mistaken for one.
            Item::Text(text) if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                Bytes::read(node).map(Sizes::Fixed)
            }
            // No distribution has such a name.
            Item::Text(text) if text.contains(['/', '.']) => {
                let file = crate::spelling::clip(text);
                Err(Wrong::Problem(format!("not a name, did you mean {{ file = {file:?} }}?")))
            }
            Item::Text(_) => Name::read(node).map(Sizes::Builtin),
            _ => Err(Wrong::Type),
        }
    }
    fn text(&self) -> Option<String> {
        match self {
            Sizes::Builtin(name) => name.text(),
            Sizes::Fixed(bytes) => bytes.text(),
            Sizes::File(file) => {
                let sampling = file.sampling.text().unwrap_or_default();
                Some(format!("{{ file = {}, sampling = {sampling} }}", quote(&file.file.0)))
            }
        }
    }
    fn within(&self, range: Interval<'_>) -> bool {
        if let Sizes::Fixed(bytes) = self { bytes.within(range) } else { true }
    }
}
