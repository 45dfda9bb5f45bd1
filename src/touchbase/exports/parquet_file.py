"""Parquet: pages of records as typed columns, in row groups, at constant memory.

A page is encoded where it is read, without state, because a read may be repeated. The file takes the pages in order and returns its
next bytes; its footer comes last and is all that needs the file to be written from its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touchbase.common.parquet import load_arrow
from touchbase.errors import Fault, Invalid
from touchbase.exports.encoders import CUSTOM, SUPPRESSED
from touchbase.exports.sql import COLUMNS, unpacked
from touchbase.records.fields import EMAILS, NUMBER, TEXT, TIME
from touchbase.records.further_emails import all_emails
from touchbase.records.record_type import RecordType

Rows = Sequence[tuple[Any, ...]]
Reasons = Sequence[str | None]
GROUP_ROWS = 20_000
"""Records of a row group: each has its own dictionaries and an entry in the footer, so small ones make large files."""
GROUP_BYTES = 16 * 1024 * 1024
"""Bytes after which a row group ends earlier, which bound the memory."""


def not_installed(detail: str) -> Exception:
    """Return the error of an export as Parquet without pyarrow."""
    return Invalid([Fault("?format", "not_installed", detail)])


class Columns:
    """The columns of a file: members of the records, then custom fields as texts."""

    def __init__(self, kind: RecordType[Any], members: Sequence[str], custom_fields: Sequence[str]) -> None:
        arrow, _ = load_arrow(not_installed)
        sources = {field.name: (field.column, field.kind) for field in kind.members}
        types = {TEXT: arrow.string(), EMAILS: arrow.string(), NUMBER: arrow.int64(), TIME: arrow.timestamp("us", tz="UTC")}
        self._members = [(name, *sources.get(name, ("", TEXT))) for name in members]
        self._at = {name: index for index, name in enumerate(COLUMNS[kind.kind])}
        self._custom = custom_fields
        self._arrow = arrow
        fields = [arrow.field(name, types[of], nullable=name != "id") for name, _, of in self._members]
        self.schema: Any = arrow.schema([*fields, *(arrow.field(f"{CUSTOM}{name}", arrow.string()) for name in custom_fields)])

    def encode(self, rows: Rows, reasons: Reasons) -> bytes:
        """Return a page as an Arrow record batch; blank texts are null, as the list leaves them out."""
        if not rows:
            return b""
        columns = list(zip(*rows, strict=True))
        values_by_column: list[Sequence[Any]] = []
        for name, source, of in self._members:
            values = reasons if name == SUPPRESSED else columns[self._at[source]]
            if of == EMAILS:
                first = columns[self._at["email"]]
                values = ["; ".join(all_emails(email, more)) if more else None for email, more in zip(first, values, strict=True)]
            values_by_column.append([value or None for value in values] if of == TEXT else values)
        if self._custom:
            custom = [unpacked(packed) for packed in columns[-1]]
            values_by_column += [[fields.get(name) for fields in custom] for name in self._custom]
        arrays = [self._arrow.array(values, field.type) for values, field in zip(values_by_column, self.schema, strict=True)]
        body: bytes = self._arrow.record_batch(arrays, schema=self.schema).serialize().to_pybytes()
        return body


class ParquetWriter:
    """A file that is written page by page; used by one thread at a time."""

    def __init__(self, schema: Any) -> None:
        self._arrow, parquet = load_arrow(not_installed)
        self._schema = schema
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._sink, schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, page: bytes, *, is_last: bool) -> bytes:
        """Take a page as an Arrow record batch; return the bytes of the file that follow, often none, with its end after the last page."""
        if page:
            batch = self._arrow.ipc.read_record_batch(self._arrow.py_buffer(page), self._schema)
            self._waiting.append(batch)
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
        if self._waiting and (is_last or self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES):
            self._writer.write_table(self._arrow.Table.from_batches(self._waiting, self._schema), row_group_size=self._rows)
            self._waiting, self._rows, self._bytes = [], 0, 0
        if is_last:
            self._writer.close()
        return self._sink.taken()


class _Sink:
    """File object for the library: buffers bytes until they are taken."""

    closed = False

    def __init__(self) -> None:
        self._bytes, self._taken = bytearray(), 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._bytes += view
        return view.nbytes

    def tell(self) -> int:
        return self._taken + len(self._bytes)

    def flush(self) -> None:
        """Do nothing: there is no other place."""

    def taken(self) -> bytes:
        """Return the bytes since the last call."""
        data = bytes(self._bytes)
        self._taken += len(data)
        self._bytes.clear()
        return data
