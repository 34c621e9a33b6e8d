//! The parameter reference.

use std::fmt::Write as _;

use super::super::Spec;
use super::super::field::{Arity, Row, Shape, join};
use super::super::section::Section as _;
use super::{default_words, record_leaf};

const HEAD: &str = "\
# Parameters of a scenario

<!-- Generated from the table of fields in crates/paceline-sim/src/spec: UPDATE=1 cargo test -p paceline-sim generated_files -->

A scenario is a TOML file. Quantities are strings with a unit: times `ps ns us ms s`, sizes `B KB MB GB` (powers of 1000)
and `KiB MiB GiB`, rates `bps Kbps Mbps Gbps Tbps`. Times must be whole picoseconds, sizes whole bytes. Unknown keys are
errors. Any field can be set from the command line: `--set switch.ecn.k_max=800KB`, `--set workloads.0.load.value=0.5`.

Nodes have ids, hosts before switches as a rule, and names: in a graph those given there, else `host0`, `tor1`, `agg0`, `core3` and
so on, counted from 0 in each tier. A *node* is an id or a name (`3`, `\"host3\"`). *Hosts* are `\"all\"`, or a list of hosts, ranges of
ids, and switches for the hosts linked to them: `[0, \"8-15\", \"host20\", \"tor3\"]`. A *port* is `\"tor0:4\"`, by number, or
`\"tor0->agg1\"`, all that send to that node. Where a name of a graph looks like an id or a range, it is the name that counts;
in a flow table numbers are ids.

Ranges: `[` and `]` include the end, `(` and `)` do not.
";

/// The parameter reference, one table per section, as Markdown.
pub fn parameters_markdown() -> String {
    let mut out = HEAD.to_string();
    section(&Spec::shape(), "", "", "", &mut out);
    out
}

fn section(shape: &Shape, path: &str, condition: &str, doc: &str, out: &mut String) {
    let title = match (path, condition) {
        ("", _) => "Top level".to_string(),
        (path, "") => format!("`{path}`"),
        (path, condition) => format!("`{path}` with {condition}"),
    };
    let select = shape.select.as_ref();
    let _ = write!(out, "\n## {title}\n\n{}\n", if doc.is_empty() { shape.doc.trim() } else { doc });
    let rows: Vec<&Row> = select.map(|s| &s.row).into_iter().chain(shape.rows).collect();
    table(&rows, out);
    for row in &rows {
        if let Some(leaf) = record_leaf(row) {
            let _ = write!(out, "\n## `{}` as a table\n\n{}\n", join(path, row.key), leaf.doc.trim());
            table(&leaf.rows, out);
        }
    }
    for part in &shape.parts {
        let inner = join(path, part.key);
        let inner = match part.arity {
            Arity::One => inner,
            Arity::Map => format!("{inner}.NAME"),
            Arity::List | Arity::Rows => format!("{inner}[]"),
        };
        let doc = part.meaning.trim();
        let shape_doc = part.shape.doc.trim();
        let doc = if shape_doc.starts_with(doc) { shape_doc.to_string() } else { format!("{doc} {shape_doc}") };
        section(&part.shape, &inner, condition, &doc, out);
    }
    for (word, variant) in select.into_iter().flat_map(|s| &s.variants) {
        let choice = format!("`{} = \"{word}\"`", select.map_or("", |s| s.row.key));
        let condition = if condition.is_empty() { choice } else { format!("{condition}, {choice}") };
        section(variant, path, &condition, "", out);
    }
}

fn table(rows: &[&Row], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    out.push_str("\n| field | type | default | range | meaning | source |\n|---|---|---|---|---|---|\n");
    for row in rows {
        let range = row.range.map(|r| format!("`{r}`")).unwrap_or_default();
        let cells = [
            format!("`{}`", row.key),
            row.ty.name(),
            default_words(row),
            range,
            row.meaning.trim().to_string(),
            row.source.to_string(),
        ];
        let _ = writeln!(out, "| {} |", cells.map(|c| c.replace('|', "\\|")).join(" | "));
    }
}
