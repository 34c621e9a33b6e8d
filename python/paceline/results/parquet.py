"""The tables of a result folder as Parquet files, with types, units and nulls, for those who have pyarrow."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import ResultsError, cut
from paceline.files import replacing
from paceline.results.columns import FLOWS, TABLES, CsvFile

if TYPE_CHECKING:
    from paceline.results.folder import Results

ROWS_AT_ONCE = 1 << 20
"""Flows converted at a time, so that memory stays bounded."""

LONGEST_ROW = 1 << 16
"""Bytes: far more than a row of any table has."""


def available() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def write_tables(results: Results) -> list[Path]:
    """Writes every table of a result folder beside its CSV, as :func:`write_flows` does the flows."""
    return [_write(results, table) for table in TABLES if _rows_end(_csv(results, table))]


def renew_tables(results: Results) -> list[Path]:
    """:func:`write_tables` of those tables whose Parquet file is not there, or older than the CSV."""
    return [_write(results, table) for table in TABLES if _is_behind(_csv(results, table))]


def _csv(results: Results, table: CsvFile) -> Path:
    return results.path / f"{table.name}.csv"


def _is_behind(source: Path) -> bool:
    """Whether no Parquet file has all rows of a table, as of a run that was reported on while it went, then killed."""
    path = source.with_suffix(".parquet")
    return _rows_end(source) > 0 and not (path.exists() and path.stat().st_mtime_ns >= source.stat().st_mtime_ns)


def _write(results: Results, table: CsvFile) -> Path:
    return write_flows(results) if table is FLOWS else _from_csv(results, table)


def _rows_end(path: Path) -> int:
    """Where the last row of a table ends, in bytes: a run that is killed may leave half a row behind it."""
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        start = max(0, path.stat().st_size - LONGEST_ROW)
        file.seek(start)
        at = file.read(LONGEST_ROW).rfind(b"\n")
    return 0 if at < 0 else start + at + 1


def write_flows(results: Results) -> Path:
    """Writes the flows of a result folder beside its CSV; units and meanings are in the metadata of the columns.

    An FCT that does not exist is null. Raises ``ImportError`` without pyarrow and ``OSError`` when the disk says no.
    """
    import pyarrow as pa
    from pyarrow import parquet

    flows = results.flows
    kinds = {}
    for column in FLOWS.columns:
        stored = flows.codes(column.name).dtype
        named = pa.dictionary(pa.int16(), pa.string())
        kinds[column.name] = named if column.kind is str else pa.from_numpy_dtype(stored)
    schema = _schema(pa, results, FLOWS, kinds)
    path = results.path / "flows.parquet"
    with replacing(path) as part, parquet.ParquetWriter(part, schema) as writer:
        for start in range(0, flows.rows, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            columns = [_column(pa, flows, field, rows) for field in schema]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return path


def _schema(pa: Any, results: Results, table: CsvFile, kinds: dict[str, Any]) -> Any:
    """Columns with unit and meaning; what run they are of, so that a file that has left its folder still tells."""
    fields = [
        pa.field(column.name, kinds[column.name], metadata={"unit": column.unit, "meaning": column.meaning})
        for column in table.columns
    ]
    about = {key: str(results.summary[key]) for key in ("schema_version", "name", "version", "seed", "status")}
    about["git"] = results.summary.get("git") or ""
    about["scenario_sha256"] = hashlib.sha256((results.scenario_toml or "").encode()).hexdigest()
    return pa.schema(fields, metadata=about)


def _column(pa: Any, flows: Any, field: Any, rows: slice) -> Any:
    codes = flows.codes(field.name)[rows]
    if pa.types.is_dictionary(field.type):
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int16()), pa.array(flows.names(field.name)))
    missing = FLOWS.absent.get(field.name)
    return pa.array(codes, field.type, mask=None if missing is None else codes == missing)


def _from_csv(results: Results, table: CsvFile) -> Path:
    """Converts a table block by block: series may have millions of rows.

    Raises :class:`ResultsError` for a file that is no such table.
    """
    import pyarrow as pa
    from pyarrow import csv, parquet

    types = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    kinds = {column.name: types[column.kind] for column in table.columns}
    schema = _schema(pa, results, table, kinds)
    source = _csv(results, table)
    path = source.with_suffix(".parquet")
    names = [column.name for column in table.columns]
    options = csv.ConvertOptions(column_types=kinds, include_columns=names, null_values=[""], strings_can_be_null=True)
    try:
        with (
            replacing(path) as part,
            parquet.ParquetWriter(part, schema) as writer,
            pa.memory_map(str(source)) as text,
            csv.open_csv(pa.BufferReader(text.read_buffer(_rows_end(source))), convert_options=options) as reader,
        ):
            for batch in reader:
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise ResultsError(source, f"is no table of {table.name}: {cut(str(error))}") from error
    return path
