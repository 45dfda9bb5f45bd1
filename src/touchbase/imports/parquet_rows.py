"""Parquet: rows in batches, each value as the text that a CSV file would have; one batch in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, BinaryIO

from touchbase.common.parquet import load_arrow
from touchbase.imports.table import Row, Table, TableLimits, UnreadableFile, check_columns, check_names, unique_names

BATCH = 50
"""Rows that are read at once. A page may repeat a long value as a number of some bits, and each row then has its own copy."""
BUFFER = 65_536
"""Bytes that are read at once of each column; without it the whole column of a row group is in memory."""
NAMES = 16 * 1_048_576
"""Bytes of one text of the footer, such as a name or another program's notes, and elements of its lists."""
_DAMAGED = "the Parquet file is damaged or encrypted; write it again, or save it as CSV"


def read_parquet(file: BinaryIO, limits: TableLimits) -> Table:
    """Read a Parquet file; raise `UnreadableFile` if pyarrow is not installed, or a column is no text, number or time."""
    arrow, parquet = load_arrow(UnreadableFile)
    file.seek(0)
    try:
        opened = parquet.ParquetFile(
            file, pre_buffer=False, buffer_size=BUFFER, thrift_string_size_limit=NAMES, thrift_container_size_limit=NAMES
        )
        schema, count = opened.schema_arrow, opened.metadata.num_rows
        if count > limits.rows:
            raise UnreadableFile(f"the file has {count} rows; a file may have at most {limits.rows}, so import it in parts")
        check_columns(len(schema), None, limits)
        check_names(schema.names, None, limits)
        texts = [_text_of(field, arrow.types) for field in schema]
    except arrow.ArrowMemoryError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UnreadableFile(f"{_DAMAGED} ({_first_line(error)})") from None
    return Table("parquet", unique_names(schema.names), _rows(opened, texts, limits, arrow), row_count=count)


def _rows(opened: Any, texts: list[Callable[[Any], str]], limits: TableLimits, arrow: Any) -> Iterator[Row]:
    number = 0
    try:
        for batch in opened.iter_batches(BATCH, use_threads=False):
            if batch.nbytes > batch.num_rows * limits.row_characters + limits.dictionary_bytes:  # texts of all rows may be one text
                raise UnreadableFile(_too_long(limits), number + 1)
            columns = [_texts(column, text, number, limits, arrow) for text, column in zip(texts, batch.columns, strict=True)]
            may_be_long = batch.nbytes > limits.row_characters
            for cells in zip(*columns, strict=True):
                number += 1
                if may_be_long and sum(map(len, cells)) > limits.row_characters:
                    raise UnreadableFile(_too_long(limits), number)
                yield Row(number, list(cells))
    except arrow.ArrowMemoryError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise UnreadableFile(f"this row, or one soon after it, cannot be read ({_first_line(error)})", number + 1) from None


def _texts(column: Any, text: Callable[[Any], str], row: int, limits: TableLimits, arrow: Any) -> list[str]:
    """Return the values of a column as texts; rows that name the same value of a dictionary have one object."""
    if not arrow.types.is_dictionary(column.type):
        return list(map(text, _values(column, arrow)))
    if column.dictionary.nbytes > limits.dictionary_bytes:
        raise UnreadableFile(f"a column has more than {limits.dictionary_bytes} bytes of different texts; save the file as CSV", row + 1)
    indices: list[int | None] = column.indices.to_pylist()
    used = sorted({index for index in indices if index is not None})
    values = map(text, _values(column.dictionary.take(arrow.array(used, arrow.int64())), arrow))
    by_index: dict[int | None, str] = {None: "", **dict(zip(used, values, strict=True))}
    return [by_index[index] for index in indices]


def _values(column: Any, arrow: Any) -> list[Any]:
    kind = column.type
    if arrow.types.is_timestamp(kind):  # Python's times have microseconds
        column = column.cast(arrow.timestamp("us", tz="UTC" if kind.tz else None), safe=False)
    elif arrow.types.is_time64(kind):
        column = column.cast(arrow.time64("us"), safe=False)
    values: list[Any] = column.to_pylist()
    return values


def _text_of(field: Any, types: Any) -> Callable[[Any], str]:
    """Return the function that writes values of a column as texts; raise `UnreadableFile` for a column that CSV cannot have."""
    kind = field.type.storage_type if hasattr(field.type, "storage_type") else field.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_nested(kind):
        detail = f"holds lists or structures ({str(kind)[:100]}); write it as text or as several columns, or leave it out of the file"
        raise UnreadableFile(f"the column {field.name[:100]!r} {detail}")
    if types.is_duration(kind) or types.is_interval(kind):
        raise UnreadableFile(f"the column {field.name[:100]!r} holds durations ({kind}); write it as text, or leave it out of the file")
    for fits, text in (
        (types.is_floating, _float_text),
        (types.is_timestamp, _time_text),
        (types.is_decimal, _decimal_text),
    ):
        if fits(kind):
            return text
    return _text


def _text(value: Any) -> str:
    """Return a text, a whole number, a truth value as in JSON, a date or a time of day in ISO 8601; None is blank.

    Bytes are UTF-8: older programs write texts without saying so. The row of any others is refused.
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _float_text(value: float | None) -> str:
    """Return a number, a whole one without a point; NaN, which other programs write for no value, is blank."""
    if value is None or math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _time_text(value: datetime | None) -> str:
    return "" if value is None else value.isoformat().replace("+00:00", "Z")


def _decimal_text(value: Decimal | None) -> str:
    return "" if value is None else format(value, "f")


def _too_long(limits: TableLimits) -> str:
    return f"is too long: a row may have {limits.row_characters} characters"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
