"""Connection matrices (``.cm``): who sends how much to whom, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline.htsim.text import Line, lines

MOST_NODES: Final = 65_536
MOST_CONNECTIONS: Final = 1_000_000
MOST_BYTES: Final = 2**40
MOST_PS: Final = 10**15
"""1000 s."""

KIND: Final = "a connection matrix of htsim"
_HEADER: Final = {
    "Nodes": (2, MOST_NODES),
    "Connections": (1, MOST_CONNECTIONS),
    "Triggers": (0, 2**31 - 1),
    "Failures": (0, 2**31 - 1),
}
_ATTRIBUTES: Final = ("id", "start", "size")
_NOT_RUN: Final = {
    "trigger": "connections that a trigger starts cannot be run",
    "send_done_trigger": "triggers cannot be run",
    "recv_done_trigger": "triggers cannot be run",
    "addon": "triggers cannot be run",
    "prio": "connections with priorities cannot be run",
}
_INSTEAD: Final = "only connections with id, start (ps) and size (bytes)"


@dataclass(frozen=True)
class Connection:
    """One flow."""

    src: int
    dst: int
    start_ps: int
    size_bytes: int


class Matrix:
    """A matrix that is read as it is gone through, from its header on; nothing but the ids in use is kept.

    Raises InputError for the first line that is wrong, and for what htsim does and Paceline does not: triggers,
    failures, priorities.
    """

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = min(most_bytes, MOST_BYTES)
        self.nodes = 0
        """Hosts, as the header says; known from the beginning."""
        self._lines = lines(path, KIND)
        self._header: dict[str, tuple[Line, int]] = {}
        self._first = self._read_header(path)

    @property
    def nodes_line(self) -> Line:
        """Where the header says how many hosts there are."""
        return self._header["Nodes"][0]

    def __iter__(self) -> Iterator[Connection]:
        """The connections in the order of the file; to be gone through once."""
        ids: set[int] = set()
        count, (line_of_count, wanted) = 0, self._header["Connections"]
        line: Line | None = self._first
        while line is not None:
            count += 1
            if count > wanted:
                line.refuse("one more than the header says", "Connections", str(count), str(wanted))
            yield self._connection(line, ids)
            line = next(self._lines, None)
        if count < wanted:
            line_of_count.refuse("not as many as there are", "Connections", str(wanted), str(count))

    def _read_header(self, path: Path) -> Line:
        line = None
        for line in self._lines:
            key = line.words[0]
            if key not in _HEADER:
                break
            if key in self._header:
                line.refuse("there twice", key, " ".join(line.words[1:]), "once")
            if len(line.words) > 2:
                line.refuse("more than one value", key, " ".join(line.words[1:]), "one whole number")
            number = line.whole(key, line.words[1] if len(line.words) > 1 else None, *_HEADER[key])
            if key in ("Triggers", "Failures") and number:
                line.refuse(f"{key.lower()} cannot be run", key, str(number), "0, or no such line")
            self._header[key] = (line, number)
        else:
            line = None if line is None else Line(line.file, line.number, ())
        here = line or Line(str(path), 1, ())
        for key in ("Nodes", "Connections"):
            if key not in self._header:
                allowed = f"{key} and a whole number, before the first connection"
                here.refuse("is missing", key, None, allowed)
        self.nodes = self._header["Nodes"][1]
        if line is None or not line.words:
            here.refuse("no connections", "Connections", None, f"{self._header['Connections'][1]}, as the header says")
        return line

    def _connection(self, line: Line, ids: set[int]) -> Connection:
        ends, rest = line.words[0], line.words[1:]
        if ends in ("trigger", "failure"):
            line.refuse(f"{ends}s cannot be run", ends, " ".join(rest), _INSTEAD)
        left, arrow, right = ends.partition("->")
        if not arrow:
            allowed = "a connection as 0->1; before them the header: " + ", ".join(_HEADER)
            line.refuse("no such line", ends, None, allowed)
        src, dst = (line.whole(field, word, 0, self.nodes - 1) for field, word in (("src", left), ("dst", right)))
        if src == dst:
            line.refuse("sends to itself", "dst", right, "another host than src")
        found: dict[str, int] = {}
        ranges = {"id": (1, 2**32 - 1), "start": (0, MOST_PS), "size": (1, self._most_bytes)}
        words = iter(rest)
        for name in words:
            if name in _NOT_RUN:
                line.refuse(_NOT_RUN[name], name, next(words, None), _INSTEAD)
            if name not in _ATTRIBUTES:
                line.refuse("no such attribute", name, next(words, None), ", ".join(_ATTRIBUTES))
            value = next(words, None)
            if name in found:
                line.refuse("there twice", name, value, "once")
            found[name] = line.whole(name, value, *ranges[name])
        for name, unit in (("start", "ps"), ("size", "bytes")):
            if name not in found:
                line.refuse("is missing", name, None, f"{name} and a whole number of {unit}")
        number = found.get("id")
        if number is not None:
            if number in ids:
                line.refuse("there twice", "id", str(number), "an id of its own for each connection")
            ids.add(number)
        return Connection(src, dst, found["start"], found["size"])
