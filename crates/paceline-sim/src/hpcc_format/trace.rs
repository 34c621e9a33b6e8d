//! Files that name the nodes to trace: a count, then node ids.

use super::text::{empty, lines};
use crate::InputError;
use crate::graph::NodeId;

/// Reads the nodes to trace of a network of `nodes` nodes; ids may be spread over lines.
///
/// As in the reference, only as many ids are read as the count says; more are left alone with a warning, fewer are a
/// warning too, and so is a node named twice, which the ids then hold twice.
///
/// # Errors
/// An empty file, a count or id that is no whole number, an id outside the network.
pub fn read_trace_nodes(text: &str, file: &str, nodes: usize) -> Result<(Vec<NodeId>, Vec<String>), InputError> {
    let mut warnings = Vec::new();
    let mut rows = lines(text, file).peekable();
    let first = *rows.peek().ok_or_else(|| empty(file))?;
    let mut words = rows.flat_map(|line| line.text.split_whitespace().map(move |word| (line, word)));
    let count = words.next().map_or("", |(_, word)| word);
    let count = first.integer("count", count, 0, u64::from(u32::MAX), "")? as usize;
    let mut ids = Vec::new();
    for (line, word) in words.by_ref().take(count) {
        let last = (nodes as u64).saturating_sub(1);
        ids.push(line.integer("trace node", word, 0, last, " (the topology's nodes)")? as NodeId);
    }
    if ids.len() < count {
        warnings.push(first.warning(format!("the header says {count} nodes, the file has {}", ids.len())));
    }
    if let Some((line, _)) = words.next() {
        warnings.push(line.warning(format!("text after the last of {count} nodes is not read")));
    }
    ids.sort_unstable();
    if ids.windows(2).any(|two| two[0] == two[1]) {
        warnings.push(first.warning("a node is named more than once: its rows come as often, as in the reference"));
    }
    Ok((ids, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ids_over_lines_in_node_order() {
        assert_eq!(read_trace_nodes("0\n\n", "t", 3).unwrap(), (vec![], vec![]));
        assert_eq!(read_trace_nodes("3\n2 0\n1\n", "t", 3).unwrap(), (vec![0, 1, 2], vec![]));
    }

    #[test]
    fn wrong_counts_are_warnings() {
        let (ids, warnings) = read_trace_nodes("3\n0 1\n", "t.txt", 3).unwrap();
        assert_eq!(
            (ids, &warnings[..]),
            (vec![0, 1], &["t.txt:1: the header says 3 nodes, the file has 2".to_string()][..])
        );
        let (ids, warnings) = read_trace_nodes("1\n0 1\nnotes\n", "t.txt", 3).unwrap();
        assert_eq!((ids, warnings.len()), (vec![0], 1));
        assert!(warnings[0].starts_with("t.txt:2: text after"), "{warnings:?}");
        let (ids, warnings) = read_trace_nodes("2 1 1", "t", 3).unwrap();
        assert_eq!(ids, vec![1, 1]);
        assert!(warnings[0].contains("more than once"), "{warnings:?}");
    }

    #[test]
    fn bad_input_names_line_and_value() {
        for (text, line, value) in [
            ("", 1, None),
            ("x", 1, Some("x")),
            ("-1", 1, Some("-1")),
            ("1\n3", 2, Some("3")),
            ("1\n0.5", 2, Some("0.5")),
        ] {
            let error = read_trace_nodes(text, "t.txt", 3).unwrap_err();
            assert_eq!((error.file.as_deref(), error.line), (Some("t.txt"), Some(line)), "{text}: {error}");
            assert_eq!(error.value.as_deref(), value, "{text}: {error}");
            assert!(error.allowed.is_some(), "{error}");
        }
    }
}
