//! Hands the compiler the git revision the extension is built from, so that results can name it, and a digest of its
//! sources, so that stored results of other sources are never taken for its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What changes the revision or its "-dirty" mark: commits, checkouts, and the sources the extension is built from.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

/// What decides the results of a run: the sources of the engine and the versions of what it uses. A commit that touches
/// nothing of this leaves stored results valid, an uncommitted change of it does not.
const DECISIVE: [&str; 4] =
    ["crates/paceline-proto/src", "crates/paceline-sim/src", "crates/paceline-py/src", "Cargo.lock"];

/// Standard output of a git command, or `None` when git is missing or refuses.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The commit checked out at `root`, marked when a source differs from it. A source archive unpacked inside some other
/// repository has no revision: that repository's would be a lie.
fn revision(root: &Path) -> Option<String> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(SOURCES);
    let dirty = git(root, &status).is_none_or(|changed| !changed.is_empty());
    Some(if dirty { commit + "-dirty" } else { commit })
}

/// The files below a path, or the path itself.
fn files(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            files(&entry?.path(), found)?;
        }
    } else {
        found.push(path.to_path_buf());
    }
    Ok(())
}

/// 128-bit FNV-1a over names and contents of all decisive files: it guards against forgetting, not against an attacker.
fn digest(root: &Path) -> std::io::Result<u128> {
    let mut found = Vec::new();
    for path in DECISIVE {
        files(&root.join(path), &mut found)?;
    }
    found.sort();
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for path in found {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let content = fs::read(&path)?;
        let length = (content.len() as u64).to_le_bytes();
        for byte in name.as_bytes().iter().chain(&[0]).chain(&length).chain(&content) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    Ok(hash)
}

/// Watches a path, unless it is missing: cargo would take that for a change at every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn main() {
    let root = Path::new("../..");
    for source in SOURCES {
        watch(&root.join(source));
    }
    // The log of HEAD grows with every commit and checkout; HEAD itself stands in where logs are switched off.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(root, &["rev-parse", "--git-path", name]) {
            watch(&root.join(path));
        }
    }
    if let Some(revision) = revision(root) {
        println!("cargo::rustc-env=PACELINE_GIT_REVISION={revision}");
    }
    match digest(root) {
        Ok(digest) => println!("cargo::rustc-env=PACELINE_SOURCE_DIGEST={digest:032x}"),
        Err(error) => println!("cargo::error=the sources cannot be read: {error}"),
    }
}
