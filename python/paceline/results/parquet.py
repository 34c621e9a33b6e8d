"""``flows.parquet``: the flows with types, units and nulls, for those who have pyarrow."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.files import replacing
from paceline.results.columns import FLOWS

if TYPE_CHECKING:
    from paceline.results.folder import Results

FILE = "flows.parquet"
ROWS_AT_ONCE = 1 << 20
"""Flows converted at a time, so that memory stays bounded."""


def available() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def write_flows(results: Results) -> Path:
    """Writes the flows of a result folder beside its CSV; units and meanings are in the metadata of the columns.

    An FCT that does not exist is null. Raises ``ImportError`` without pyarrow and ``OSError`` when the disk says no.
    """
    import pyarrow as pa
    from pyarrow import parquet

    flows = results.flows
    fields = []
    for column in FLOWS.columns:
        stored = flows.codes(column.name).dtype
        kind = pa.dictionary(pa.int16(), pa.string()) if column.kind is str else pa.from_numpy_dtype(stored)
        fields.append(pa.field(column.name, kind, metadata={"unit": column.unit, "meaning": column.meaning}))
    about = {key: str(results.summary[key]) for key in ("schema_version", "name", "version", "seed", "status")}
    schema = pa.schema(fields, metadata=about)
    path = results.path / FILE
    with replacing(path) as part, parquet.ParquetWriter(part, schema) as writer:
        for start in range(0, flows.rows, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            columns = [_column(pa, flows, field, rows) for field in schema]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return path


def _column(pa: Any, flows: Any, field: Any, rows: slice) -> Any:
    codes = flows.codes(field.name)[rows]
    if pa.types.is_dictionary(field.type):
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int16()), pa.array(flows.names(field.name)))
    missing = FLOWS.absent.get(field.name)
    return pa.array(codes, field.type, mask=None if missing is None else codes == missing)
