"""How commands end: what they print and their exit codes."""

import json
import shlex
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from paceline.errors import Failure, Interrupted, plain


def command(name: str, path: Path) -> str:
    """A command of ours for a file or folder, as a shell takes it, in printable characters."""
    text = str(path)
    if text.isprintable():
        return f"paceline {name} {shlex.quote(text)}"
    # Bash's way to write all others, byte by byte.
    kept = ""
    for c in text:
        if c in "\\'":
            kept += f"\\{c}"
        else:
            kept += c if c.isprintable() else "".join(f"\\x{byte:02x}" for byte in c.encode())
    return f"paceline {name} $'{kept}'"


def print_json(value: dict[str, Any]) -> None:
    """Prints a value for programs."""
    print(json.dumps(value, indent=2))


def tell_summary(
    summary: dict[str, Any],
    *,
    given: Collection[str] | None = None,
    received: Mapping[str, int] | None = None,
    to_stderr: bool = False,
) -> None:
    """Prints the lines that end a run, as :func:`paceline.results.summary.lines` has them."""
    from paceline.results.summary import lines

    told = plain("\n".join(lines(summary, given, received)), lines=True)
    print(told, file=sys.stderr if to_stderr else sys.stdout)


def raise_unless_ended(summary: dict[str, Any], partial: str) -> None:
    """Turns the status of a run into the exit code: stopped by the user, or stuck."""
    if summary.get("status") == "interrupted":
        raise Interrupted(partial)
    if summary.get("status") == "stalled":
        raise Failure(f"no flow made progress any more; {partial}")
