"""Parquet files of events: typed columns, and JSON as texts; written and read by row groups, at constant memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from touchbase.common.parquet import load_arrow
from touchbase.erasure.text_search import without_in_json
from touchbase.event_log.models import event_id
from touchbase.exports.parquet_file import ParquetWriter, not_installed
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.identity_links import Ref
from touchbase.identity.pii_scan import Unsearchable, find_identities
from touchbase.sql.statement import Row

RECORDS = {CONTACT: "contact", COMPANY: "company"}
_KINDS = {name: kind for kind, name in RECORDS.items()}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def schema() -> Any:
    """Return the columns of a file."""
    arrow, _ = load_arrow(not_installed)
    text, number = arrow.string(), arrow.int64()
    columns = {
        "client_id": text, "id": text, "sequence": number, "type": text, "timestamp": arrow.timestamp("us", tz="UTC"), "record": text,
        "record_id": number, "changed": text, "cause": text, "data": text,
    }  # fmt: skip
    return arrow.schema([arrow.field(name, of, nullable=name.startswith("record")) for name, of in columns.items()])


def encode_events(rows: Sequence[Row], client_id: str) -> bytes:
    """Return events of the log (`plans.EVENT`) as an Arrow record batch."""
    arrow, _ = load_arrow(not_installed)
    sequences, types, times, kinds, numbers, changed, causes, data = zip(*rows, strict=True)
    values = (
        [client_id] * len(rows), [event_id(sequence) for sequence in sequences], sequences, types, times,
        [None if kind is None else RECORDS[kind] for kind in kinds], numbers, changed, causes, data,
    )  # fmt: skip
    return _serialized(arrow, values)


def _serialized(arrow: Any, columns: Sequence[Sequence[Any]]) -> bytes:
    arrays = [arrow.array(column, field.type) for column, field in zip(columns, schema(), strict=True)]
    body: bytes = arrow.record_batch(arrays, schema=schema()).serialize().to_pybytes()
    return body


def new_writer() -> ParquetWriter:
    """Return the writer of a file."""
    return ParquetWriter(schema())


def merges_of(rows: Sequence[Row]) -> list[tuple[int, int, list[int]]]:
    """Return the merges among events of the log: kind, survivor, and the others."""
    return [(row[3], row[4], _decode(row[7])["merged"]) for row in rows if row[1] in ("contact.merged", "company.merged")]


def _groups(content: bytes) -> Iterator[Mapping[str, list[Any]]]:
    arrow, parquet = load_arrow(not_installed)
    file = parquet.ParquetFile(arrow.BufferReader(content))
    for number in range(file.num_row_groups):
        group = file.read_row_group(number)
        # As numbers, because Python's times are slower and the same in the end.
        times = group.column_names.index("timestamp")
        group = group.set_column(times, "timestamp", group.column("timestamp").cast(arrow.int64()))
        yield group.to_pydict()


def identities_in(content: bytes) -> set[Ref]:
    """Return the identities in the texts of a file's events, as the search of the log finds them."""
    refs = set[Ref]()
    for group in _groups(content):
        for cause, data in zip(group["cause"], group["data"], strict=True):
            if data != "{}":
                try:
                    refs |= find_identities({}, f"{cause}\n{data}", b"")
                except Unsearchable:
                    continue  # `without_in_json` leaves nothing of it
    return refs


def without_records(content: bytes, records: Collection[tuple[int, int]], erased: set[Ref], *, texts: bool) -> tuple[bytes, int] | None:
    """Return a file without the events of these records, and its number of events; None: nothing has to leave it.

    `texts`: Whether these identities are struck from the texts of the others.
    """
    arrow, _ = load_arrow(not_installed)
    writer, parts, count, is_changed = new_writer(), bytearray(), 0, False
    names = schema().names
    for group in _groups(content):
        about = [(_KINDS.get(record, 0), number) for record, number in zip(group["record"], group["record_id"], strict=True)]
        staying = [index for index, record in enumerate(about) if record not in records]
        is_changed |= len(staying) < len(about)
        columns = {name: [group[name][index] for index in staying] for name in names}
        if texts:
            for name in ("cause", "data"):
                with_data = zip(columns[name], columns["data"], strict=True)
                struck = [without_in_json(text, erased) if data != "{}" else text for text, data in with_data]
                is_changed |= struck != columns[name]
                columns[name] = struck
        count += len(staying)
        if staying:
            parts += writer.add(_serialized(arrow, [columns[name] for name in names]), is_last=False)
    parts += writer.add(b"", is_last=True)
    return (bytes(parts), count) if is_changed else None
