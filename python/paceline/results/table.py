"""Tables as NumPy columns, and their ways to pandas, polars and Arrow."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns(Mapping[str, NDArray[Any]]):
    """A table as named, equally long NumPy columns; units are part of the names.

    Values are made on first use. Index by name for a column; :meth:`where` gives a smaller table.
    """

    def __init__(
        self,
        title: str,
        columns: Mapping[str, NDArray[Any]],
        names: Mapping[str, tuple[str, ...]],
        absent: Mapping[str, int] | None = None,
    ) -> None:
        """``names`` gives, for columns stored as codes, what each code stands for.

        In the columns of ``absent`` the number there stands for a value that does not exist; :meth:`masked` and the
        conversions say so.
        """
        self.title = title
        self._absent = dict(absent or {})
        self._columns = dict(columns)
        self._names = dict(names)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"{self.title} has no column {name!r}; it has {', '.join(self._columns)}")
        column = self._columns[name]
        return np.asarray(self._names[name])[column] if name in self._names else column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns, as of any mapping."""
        return len(self._columns)

    def codes(self, name: str) -> NDArray[Any]:
        """A column as stored: for ``status``, ``scheme`` and ``group`` small integers instead of names."""
        if name not in self._columns:
            raise KeyError(f"{self.title} has no column {name!r}; it has {', '.join(self._columns)}")
        return self._columns[name]

    def names(self, name: str) -> tuple[str, ...]:
        """What the codes of a column stand for; empty for a column of numbers."""
        return self._names.get(name, ())

    def masked(self, name: str) -> np.ma.MaskedArray[Any, Any]:
        """A column with what does not exist masked: an FCT of a flow that did not finish is 0 in the plain column."""
        column = self[name]
        return np.ma.MaskedArray(column, mask=self._missing(name, column))

    def _missing(self, name: str, column: NDArray[Any]) -> NDArray[np.bool_]:
        return column == self._absent[name] if name in self._absent else np.zeros(len(column), dtype=bool)

    def where(self, mask: NDArray[np.bool_]) -> Columns:
        """The rows for which ``mask`` (shape ``(rows,)``) is true."""
        return Columns(self.title, {k: v[mask] for k, v in self._columns.items()}, self._names, self._absent)

    def head(self, rows: int = 5) -> list[list[str]]:
        """The first rows as text."""
        cells = []
        for name in self._columns:
            column = self._columns[name][:rows]
            names = self._names.get(name)
            cells.append([names[int(v)] if names else str(v) for v in column])
        return [list(row) for row in zip(*cells, strict=True)]

    def __repr__(self) -> str:
        return f"<{self.title}: {self.rows:,} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.head())
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        title = f"<p>{html.escape(self.title)}: {self.rows:,} rows</p>"
        return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_pandas(self) -> Any:
        """The table as ``pandas.DataFrame``; what does not exist is ``<NA>``, in columns of a nullable type.

        Raises ``ImportError`` when pandas is not installed.
        """
        pandas = _optional("pandas")
        columns: dict[str, Any] = dict(self)
        for name in self._absent.keys() & columns.keys():
            columns[name] = pandas.arrays.IntegerArray(np.array(columns[name]), self._missing(name, columns[name]))
        return pandas.DataFrame(columns)

    def to_polars(self) -> Any:
        """The table as ``polars.DataFrame``; what does not exist is null.

        Raises ``ImportError`` when polars is not installed.
        """
        polars = _optional("polars")
        frame = polars.DataFrame({k: np.ascontiguousarray(v) for k, v in self.items()})
        # Without an otherwise it is null.
        return frame.with_columns(
            polars.when(polars.col(k) != none).then(polars.col(k)) for k, none in sorted(self._absent.items())
        )

    def to_arrow(self) -> Any:
        """The table as ``pyarrow.Table``; what does not exist is null.

        Raises ``ImportError`` when pyarrow is not installed.
        """
        arrow = _optional("pyarrow")
        return arrow.table({k: arrow.array(np.ascontiguousarray(v), mask=self._missing(k, v)) for k, v in self.items()})


def _optional(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        how = f'`.venv/bin/pip install {module}` in a checkout, `pip install "paceline[{module}]"` elsewhere'
        problem = f"this conversion needs {module}, which is not installed: {how}; or use the NumPy columns"
        raise ImportError(problem) from error
