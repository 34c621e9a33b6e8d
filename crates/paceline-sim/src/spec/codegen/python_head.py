"""Scenarios as Python values.

Generated from the table of fields in crates/paceline-sim/src/spec; do not edit. To refresh:
UPDATE=1 cargo test -p paceline-sim generated_files

Quantities are strings with a unit, as in TOML: "100Gbps", "1us", "32MiB". No value is checked here:
the engine checks the TOML that `Scenario.to_toml` writes and names the field that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from paceline.sections import Section, as_toml
from paceline.typed import check_types

__all__: list[str] = []
