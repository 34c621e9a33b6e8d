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
        for (number, line) in
            (1..).zip(without_tests(&path).lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            for used in line.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if let Some(layer) = layers.get(&used).filter(|_| used != module) {
                    checked += 1;
                    assert!(layer < own, "{}:{number}: `{used}` is not above `{module}`", inside.display());
                }
            }
        }
    }
    assert!(layers.len() > 20 && checked > 300, "{} modules, {checked} uses", layers.len());
}
