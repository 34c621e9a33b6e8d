"""What README and Makefile promise about the tools that a build needs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_no_dependency_needs_a_newer_rust_than_promised():
    """A build with the oldest Rust that is named would end with an error of Cargo's."""
    promised = {
        name: re.search(pattern, (ROOT / name).read_text())
        for name, pattern in {
            "Makefile": r"RUST_MINIMUM := ([\d.]+)",
            "Cargo.toml": r'rust-version = "([\d.]+)"',
            "README.md": r"a Rust toolchain \(>= ([\d.]+)\)",
            "CONTRIBUTING.md": r"Rust ([\d.]+) or newer",
        }.items()
    }
    assert len({found and found[1] for found in promised.values()}) == 1, promised
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = promised["Makefile"]
    assert found
    newer = {
        p["name"]: p["rust_version"]
        for p in json.loads(told)["packages"]
        if _version(p["rust_version"] or "0") > _version(found[1])
    }
    assert not newer
