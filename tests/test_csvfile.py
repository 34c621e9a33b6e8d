"""Tables of result folders: those of millions of rows are read by another way than odd ones, with the same outcome."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import ResultsError
from paceline.results import csvfile

KINDS = {"time_ps": int, "id": str, "value": float}

#: What str.splitlines takes for the end of a line, and a table does not.
NO_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"

cells = st.one_of(
    st.sampled_from(["0", "12", "-3", "1.5", "", "a", "256:1", "é", '"x"', '"a,b"', '"', "1e400", "nan", "9" * 19]),
    st.sampled_from(NO_ENDS).map(lambda end: f"a{end}b"),
)
lines = st.lists(st.lists(cells, min_size=3, max_size=5).map(",".join), max_size=6)


def outcome(path, complete):
    try:
        found = csvfile.read_csv(path, KINDS, complete=complete, absent={"value": -1})
    except ResultsError as error:
        return str(error)
    return {name: (str(column.dtype), column.tolist()) for name, column in found.items()}


@given(lines=lines, end=st.sampled_from(["\n", "", "\r\n"]), complete=st.booleans(), at_once=st.integers(1, 40))
def test_a_table_read_at_once_is_the_one_read_row_by_row(tmp_path_factory, lines, end, complete, at_once):
    """A wrong cell, a short row or a quoted comma would shift the columns of all rows after it."""
    path = tmp_path_factory.mktemp("table") / "t.csv"
    path.write_bytes(("\n".join(["time_ps,id,value,more", *lines]) + end).encode())
    plain, size = csvfile._plain, csvfile._AT_ONCE
    try:
        csvfile._AT_ONCE = at_once
        found = outcome(path, complete)
        csvfile._plain = lambda *args, **more: None
        assert found == outcome(path, complete)
    finally:
        csvfile._plain, csvfile._AT_ONCE = plain, size


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_end_at_ends_of_lines_only(tmp_path, end):
    """A name with a form feed or U+2028 in it made two rows of one."""
    path = tmp_path / "t.csv"
    rows = [f"{i},a{c}b,1" for i, c in enumerate(NO_ENDS)]
    path.write_bytes("".join(row + end for row in ["time_ps,id,value", *rows]).encode())
    found = csvfile.read_csv(path, KINDS, complete=True)
    assert found["id"].tolist() == [f"a{c}b" for c in NO_ENDS]
    path.write_bytes(b"time_ps,id,value\n1,a\rb,1\n")
    with pytest.raises(ResultsError, match="line 2"):
        csvfile.read_csv(path, KINDS, complete=True)


def test_an_ordinary_table_is_read_at_once(tmp_path, monkeypatch):
    """Row by row a series of ten million rows takes half a minute and four gigabytes."""
    path = tmp_path / "t.csv"
    path.write_text("time_ps,id,value\n" + "".join(f"{i},{i % 7}:1,{i / 8}\n" for i in range(1000)))
    monkeypatch.setattr(csvfile.csv, "reader", None)
    monkeypatch.setattr(csvfile, "_AT_ONCE", 100)
    found = csvfile.read_csv(path, KINDS, complete=True)
    assert np.array_equal(found["time_ps"], np.arange(1000))
    assert found["value"][-1] == 999 / 8


@pytest.mark.parametrize("head", ["time_ps,id,value\n", ""])
@pytest.mark.parametrize("complete", [True, False])
def test_a_line_without_end_is_given_up(tmp_path, monkeypatch, head, complete):
    """What had been read of a line of a gigabyte was copied with each further piece of it, some sixty times."""
    path = tmp_path / "t.csv"
    path.write_text(head + "1," * (1 << 19))
    expected = outcome(path, complete)
    taken = []

    class Counted(io.BufferedReader):
        def read(self, *size):
            taken.append(super().read(*size))
            return taken[-1]

        def readline(self, *size):
            taken.append(super().readline(*size))
            return taken[-1]

    monkeypatch.setattr(Path, "open", lambda self, _mode: Counted(io.FileIO(self)))
    monkeypatch.setattr(csvfile, "_AT_ONCE", 1000)
    assert csvfile._plain(path, KINDS, {}, complete=complete) is None
    assert sum(map(len, taken)) < 200_000
    monkeypatch.undo()
    assert outcome(path, complete) == expected
