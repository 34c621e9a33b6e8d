//! The modules of the crate lie in layers, in the order in which `lib.rs` has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Modules by layer: those of `lib.rs` between two empty lines are one.
fn layers() -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (layer, group) in include_str!("../src/lib.rs").split("\n\n").enumerate() {
        let module =
            |line: &str| Some(line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')?.to_owned());
        found.extend(group.lines().filter_map(module).map(|module| (module, layer)));
    }
    found
}

/// The files in a folder and those below it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// What of a file is no test: unit tests come last, or in files of their own.
fn without_tests(path: &Path) -> String {
    let tests = |part: &str| part == "tests" || part == "fuzz" || part.ends_with("_tests");
    if path.with_extension("").iter().any(|part| tests(&part.to_string_lossy())) {
        return String::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// The modules of the crate that a text uses, each with its line: all that stands after `crate::`, or after as many
/// `super::` as lead from a module so deep to the crate.
fn used(text: &str, depth: usize) -> Vec<(usize, String)> {
    let code = |line: &str| if line.trim_start().starts_with("//") { String::new() } else { line.to_owned() };
    let text = text.lines().map(code).collect::<Vec<_>>().join("\n");
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", &up] {
        for (at, _) in text.match_indices(root) {
            let line = text[..at].matches('\n').count() + 1;
            found.extend(first_names(&text[at + root.len()..]).into_iter().map(|name| (line, name)));
        }
    }
    found
}

/// The name that a path begins with, or the names where it begins with a list in braces; `*` stands for all.
fn first_names(path: &str) -> Vec<String> {
    let name = |path: &str| match path.trim_start() {
        all if all.starts_with('*') => "*".to_owned(),
        one => one.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect(),
    };
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut start, mut found) = (1, 0, Vec::new());
    for (at, c) in list.char_indices() {
        depth = depth + usize::from(c == '{') - usize::from(c == '}');
        if depth == 0 || (depth == 1 && c == ',') {
            found.push(name(&list[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[test]
fn paths_are_read_however_they_are_written() {
    let names = |text: &str, depth| used(text, depth).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(
        names("use crate::net::Net;\n// crate::run\nlet x = crate::mpi::f(crate::spec::G);", 2),
        ["net", "mpi", "spec"]
    );
    assert_eq!(names("use crate::{engine::{a, b}, net, run::*};", 1), ["engine", "net", "run"]);
    assert_eq!(names("use super::super::engine::A; use super::B;", 2), ["engine"]);
    assert_eq!(names("use super::super::super::{engine, run};", 3), ["engine", "run"]);
    assert_eq!(names("use super::super::super::engine;", 4), Vec::<String>::new());
    assert_eq!(names("use super::*;", 1), ["*"]);
    assert_eq!(used("\n\nuse crate::run;", 1), [(3, "run".to_owned())]);
}

/// Who changes a module need not know what is built on it: none uses one beside or below it.
#[test]
fn modules_use_only_what_lies_above_them() {
    let (layers, root) = (layers(), concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let (mut checked, mut paths) = (0, Vec::new());
    files(Path::new(root), &mut paths);
    for path in paths {
        let inside = path.strip_prefix(root).unwrap();
        let module = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        let Some(own) = layers.get(&module) else { continue };
        for (line, used) in used(&without_tests(&path), inside.components().count()) {
            assert!(used != "*", "{}:{line}: all of the crate is used", inside.display());
            if let Some(layer) = layers.get(&used).filter(|_| used != module) {
                checked += 1;
                assert!(layer < own, "{}:{line}: `{used}` is not above `{module}`", inside.display());
            }
        }
    }
    assert!(layers.len() > 20 && checked > 300, "{} modules, {checked} uses", layers.len());
}
