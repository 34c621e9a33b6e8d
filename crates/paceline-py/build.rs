//! Hands the git revision the extension is built from to the compiler, so that results can name it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What changes the revision or its "-dirty" mark: commits, checkouts, and the sources the extension is built from.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

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
}
