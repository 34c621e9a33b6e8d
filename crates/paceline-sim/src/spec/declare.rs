//! The macros that declare sections: one declaration makes the struct, its row in the table of fields, its reading and
//! its writing.

/// The default of a declaration.
macro_rules! default_text {
    ($ty:ty;) => {
        if <$ty as $crate::spec::value::Value>::OPTIONAL {
            $crate::spec::field::DefaultText::Absent
        } else {
            $crate::spec::field::DefaultText::Required
        }
    };
    ($ty:ty; = $text:tt) => {
        $crate::spec::field::DefaultText::Is(stringify!($text))
    };
    ($ty:ty; => $key:ident { $($word:literal => $text:tt),+ }) => {
        $crate::spec::field::DefaultText::By(stringify!($key), &[$(($word, stringify!($text))),+])
    };
}
pub(crate) use default_text;

/// `Some` of an optional range.
macro_rules! range_text {
    () => {
        None
    };
    ($range:literal) => {
        Some($range)
    };
}
pub(crate) use range_text;

/// The default of a deciding field.
macro_rules! select_default {
    () => {
        $crate::spec::field::DefaultText::Required
    };
    ($default:literal) => {
        $crate::spec::field::DefaultText::Is(stringify!($default))
    };
}
pub(crate) use select_default;

/// Declares a section: the struct, its shape, its reading and its writing.
///
/// A field is `/// Meaning. name: Type = default in "[low, high]" from "source";` with the default in TOML, or left out
/// (required; optional for `Option`), or `=> other { "word" => default }` where it depends on another field.
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $fdoc:literal])+
                $field:ident : $ty:ty $(= $default:tt)? $(=> $by:ident { $($word:literal => $text:tt),+ $(,)? })?
                    , $(in $range:literal,)? from $source:literal;
            )*
            $(rows { $($(#[doc = $rdoc:literal])+ $rows:ident : $rty:ty;)+ })?
            $(sections { $($(#[doc = $sdoc:literal])+ $section:ident : $sty:ty;)+ })?
            $(lists { $($(#[doc = $ldoc:literal])+ $list:ident : $lty:ty;)+ })?
            $(maps { $($(#[doc = $mdoc:literal])+ $map:ident : $mty:ty;)+ })?
            $(select { $(#[doc = $vdoc:literal])+ $select:ident : $vty:ty; })?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $(
                $(#[doc = $fdoc])+
                #[doc = concat!("\n\n", $("Default `", stringify!($default), "`. ",)? $("Range ", $range, ". ",)? "Source: ", $source, ".")]
                pub $field: $ty,
            )*
            $($($(#[doc = $rdoc])+ pub $rows: Vec<$rty>,)+)?
            $($($(#[doc = $sdoc])+ pub $section: $sty,)+)?
            $($($(#[doc = $ldoc])+ pub $list: Vec<$lty>,)+)?
            $($($(#[doc = $mdoc])+ pub $map: Vec<(String, $mty)>,)+)?
            $($(#[doc = $vdoc])+ pub $select: $vty,)?
        }

        impl $name {
            /// The fields of this section.
            pub const ROWS: &'static [$crate::spec::field::Row] = &[$(
                $crate::spec::field::Row {
                    key: stringify!($field),
                    ty: <$ty as $crate::spec::value::Value>::TYPE,
                    default: $crate::spec::declare::default_text!($ty; $(= $default)? $(=> $by { $($word => $text),+ })?),
                    range: $crate::spec::declare::range_text!($($range)?),
                    source: $source,
                    meaning: concat!($($fdoc),+),
                },
            )*];
        }

        impl $crate::spec::section::Section for $name {
            #[allow(clippy::vec_init_then_push, unused_mut, reason = "which parts there are depends on the declaration")]
            fn shape() -> $crate::spec::field::Shape {

                let mut parts: Vec<$crate::spec::field::Part> = Vec::new();
                $($(parts.push($crate::spec::field::Part { key: stringify!($rows), meaning: concat!($($rdoc),+), arity: $crate::spec::field::Arity::Rows, shape: <$rty as $crate::spec::section::Section>::shape() });)+)?
                $($(parts.push($crate::spec::field::Part { key: stringify!($section), meaning: concat!($($sdoc),+), arity: $crate::spec::field::Arity::One, shape: <$sty as $crate::spec::section::Section>::shape() });)+)?
                $($(parts.push($crate::spec::field::Part { key: stringify!($list), meaning: concat!($($ldoc),+), arity: $crate::spec::field::Arity::List, shape: <$lty as $crate::spec::section::Section>::shape() });)+)?
                $($(parts.push($crate::spec::field::Part { key: stringify!($map), meaning: concat!($($mdoc),+), arity: $crate::spec::field::Arity::Map, shape: <$mty as $crate::spec::section::Section>::shape() });)+)?
                let select = [$(<$vty as $crate::spec::section::Variants>::select())?].into_iter().next();
                $crate::spec::field::Shape { name: stringify!($name), doc: concat!($($doc),+), rows: Self::ROWS, parts, select }
            }

            #[allow(unused_variables, unused_mut, reason = "a section may have no fields")]
            fn read(table: &mut $crate::spec::section::Table<'_>) -> $crate::spec::node::Read<Self> {
                let mut rows = Self::ROWS.iter();
                $(let $field = $crate::spec::section::next_value(table, &mut rows)?;)*
                $($(let $rows = table.list(stringify!($rows), None)?;)+)?
                $($(let $section = table.section(stringify!($section))?;)+)?
                $($(let $list = table.list(stringify!($list), Some(1000))?;)+)?
                $($(let $map = table.map(stringify!($map))?;)+)?
                $(let $select = <$vty as $crate::spec::section::Variants>::read(table)?;)?
                Ok(Self { $($field,)* $($($rows,)+)? $($($section,)+)? $($($list,)+)? $($($map,)+)? $($select,)? })
            }

            #[allow(unused_variables, reason = "a section may have no fields")]
            fn values(&self, out: &mut Vec<(&'static str, String)>) {
                // The deciding field is named after its key and comes first.
                $(out.push((stringify!($select), $crate::spec::value::quote($crate::spec::section::Variants::word(&self.$select))));)?
                $(out.extend($crate::spec::value::Value::text(&self.$field).map(|text| (stringify!($field), text)));)*
                $($(out.extend($crate::spec::section::inline(&self.$rows).map(|text| (stringify!($rows), text)));)+)?
                $($crate::spec::section::Variants::values(&self.$select, out);)?
            }

            #[allow(unused_variables, reason = "a section may have no parts")]
            fn parts(&self, path: &str, out: &mut String) {
                $($({
                    let path = $crate::spec::field::join(path, stringify!($section));
                    $crate::spec::section::write_section(&self.$section, &path, &format!("[{path}]"), out);
                })+)?
                $($crate::spec::section::Variants::parts(&self.$select, path, out);)?
                $($(for (name, section) in &self.$map {
                    let path = $crate::spec::field::join(&$crate::spec::field::join(path, stringify!($map)), name);
                    $crate::spec::section::write_section(section, &path, &format!("[{path}]"), out);
                })+)?
                $($(for section in &self.$list {
                    let path = $crate::spec::field::join(path, stringify!($list));
                    $crate::spec::section::write_section(section, &path, &format!("[[{path}]]"), out);
                })+)?
            }
        }
    };
}
pub(crate) use section;

/// Declares the variants of a section: an enum over sections, chosen by a field.
macro_rules! variants {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident by $key:ident $(= $default:literal)?, from $source:literal {
            $($(#[doc = $vdoc:literal])+ $variant:ident($ty:ty) = $word:literal,)+
        }
        $(every $behaviour:ident)?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Debug)]
        pub enum $name { $($(#[doc = $vdoc])+ $variant($ty),)+ }

        $crate::spec::declare::every! { $($behaviour)?, $name, $($variant),+ }

        impl $name {
            /// The words that choose a variant.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::spec::section::Variants for $name {
            fn select() -> $crate::spec::field::Select {
                $crate::spec::field::Select {
                    row: $crate::spec::section::select_row(
                        stringify!($key), Self::WORDS, $crate::spec::declare::select_default!($($default)?), $source, concat!($($doc),+),
                    ),
                    variants: vec![$(($word, <$ty as $crate::spec::section::Section>::shape())),+],
                }
            }
            fn read(table: &mut $crate::spec::section::Table<'_>) -> $crate::spec::node::Read<Self> {
                let row = $crate::spec::section::select_row(
                    stringify!($key), Self::WORDS, $crate::spec::declare::select_default!($($default)?), $source, "",
                );
                let word = table.word(&row)?;
                $(if word == $word {
                    return <$ty as $crate::spec::section::Section>::read(table).map($name::$variant);
                })+
                Err(table.missing(&row))
            }
            fn values(&self, out: &mut Vec<(&'static str, String)>) {
                match self { $($name::$variant(section) => $crate::spec::section::Section::values(section, out),)+ }
            }
            fn parts(&self, path: &str, out: &mut String) {
                match self { $($name::$variant(section) => $crate::spec::section::Section::parts(section, path, out),)+ }
            }
            fn word(&self) -> &'static str {
                match self { $($name::$variant(_) => $word,)+ }
            }
        }
    };
}
pub(crate) use variants;

/// What all variants have in common, as one reference.
macro_rules! every {
    (, $name:ident, $($variant:ident),+) => {};
    ($behaviour:ident, $name:ident, $($variant:ident),+) => {
        impl $name {
            /// The chosen one, by what all have in common.
            fn chosen(&self) -> &dyn $behaviour {
                match self { $($name::$variant(section) => section,)+ }
            }
        }
    };
}
pub(crate) use every;
