"""Airtable: the records of a table, page by page through its API, as a file for an import.

Sources: https://airtable.com/developers/web/api/list-records and https://airtable.com/developers/web/api/get-base-schema; the
environment variables are those of Airtable's own client, https://github.com/Airtable/airtable.js.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, BinaryIO, Literal, NotRequired, TypedDict, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import click
import msgspec

from touchbase.imports.guessing import guess

ENDPOINT = "https://api.airtable.com"
TOKEN_VARIABLE, ENDPOINT_VARIABLE = "AIRTABLE_API_KEY", "AIRTABLE_ENDPOINT_URL"
PAGE = 100
"""Records of a page, the most that Airtable returns."""
INTERVAL = 0.2
"""Seconds between two requests: a base answers five a second."""
LIMITED_SECONDS = 30.0
"""How long Airtable refuses a base's requests after a 429."""
ATTEMPTS = 6
TIMEOUT = 60.0
RESPONSE_BYTES, RESPONSE_SECONDS = 64 * 1024 * 1024, 300.0
MOST_BYTES = 1024 * 1024 * 1024
"""Bytes of the pages of a list: four times the file that can be imported."""
MOST_PAGES = 100_000
"""Pages of a list: an import has at most ten million rows."""
LONGEST_OFFSET = 200
"""Characters of the place where the next page begins."""
SHOWN = 300
"""Length of a quotation from Airtable in an error."""
OK = 200
RECORD_ID, CREATED = "Airtable id", "Airtable created"
"""Columns that every record has, next to the fields of its table."""
COMPUTED = frozenset(
    {
        "createdTime", "lastModifiedTime", "createdBy", "lastModifiedBy", "autoNumber", "formula", "rollup", "count", "button", "aiText",
        "multipleLookupValues",
    }
)  # fmt: skip
"""Types of fields that have a value in an empty record too."""
LOCAL = ("localhost", "127.0.0.1", "::1")


T = TypeVar("T")


class AirtableRecord(TypedDict):
    """A record of a table; `fields` has its non-empty cells by name."""

    id: str
    fields: dict[str, Any]
    createdTime: NotRequired[str]


class _RecordPage(msgspec.Struct):
    records: list[AirtableRecord]
    offset: str | None = None


class _FieldOut(msgspec.Struct):
    id: str
    name: str
    type: str
    options: dict[str, Any] | None = None


class _TableOut(msgspec.Struct, rename="camel"):
    id: str
    name: str
    primary_field_id: str
    fields: list[_FieldOut]


class _TablePage(msgspec.Struct):
    tables: list[_TableOut]


class AirtableFailed(click.ClickException):
    """Airtable refuses, or cannot be reached; the message has the cure."""


class ListingExpired(Exception):
    """The offset of a list is not valid any more: read the list from its beginning."""


@dataclass(frozen=True, slots=True)
class AirtableField:
    """A field of a table."""

    id: str
    name: str
    kind: str
    linked_table: str = ""


@dataclass(frozen=True, slots=True)
class AirtableTable:
    """A table of a base."""

    id: str
    name: str
    primary: str
    """The name of the field by which other tables show its records."""
    fields: tuple[AirtableField, ...]


class AirtableBase:
    """One base, through the API; at most five requests a second."""

    def __init__(
        self,
        base: str,
        token: str,
        endpoint: str = "",
        *,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(endpoint or ENDPOINT)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL):
            raise click.UsageError(f"{ENDPOINT_VARIABLE} must begin with https://: http would show the token to others on the way")
        self._base, self._token = base, token
        self._path, self._host = parts.path.rstrip("/"), parts.netloc
        self._connection = (HTTPSConnection if parts.scheme == "https" else HTTPConnection)(parts.netloc, timeout=TIMEOUT)
        self._seconds, self._sleep = seconds, sleep
        self._next = 0.0
        self._size = 0
        """Bytes of the newest response."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def tables(self) -> list[AirtableTable]:
        """Return the tables of the base with their fields."""
        return [_table_of(table) for table in self._get(f"/v0/meta/bases/{quote(self._base)}/tables", _TablePage).tables]

    def records(self, table: AirtableTable, view: str = "", fields: Sequence[str] = ()) -> Iterator[AirtableRecord]:
        """Yield the records of a table or view; raises `ListingExpired` if it took too long."""
        query: dict[str, Any] = {"pageSize": PAGE}
        if view:
            query["view"] = view
        if fields:
            query["fields[]"] = list(fields)
        offsets: set[str] = set()
        read = 0
        while True:
            page = self._get(f"/v0/{quote(self._base)}/{quote(table.id)}?{urlencode(query, doseq=True)}", _RecordPage)
            yield from page.records
            if page.offset is None:
                return
            read += self._size
            if page.offset in offsets or len(offsets) >= MOST_PAGES or len(page.offset) > LONGEST_OFFSET:
                raise AirtableFailed(f"the list of {table.name!r} has no end; is {ENDPOINT_VARIABLE} the address of Airtable's API?")
            if read > MOST_BYTES:
                raise AirtableFailed(f"{table.name!r} has more than {MOST_BYTES:,} bytes; choose a smaller view with --view")
            offsets.add(page.offset)
            query["offset"] = page.offset

    def _get(self, path: str, kind: type[T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            self._wait()
            try:
                self._connection.request("GET", self._path + path, headers={"Authorization": f"Bearer {self._token}"})
                response = self._connection.getresponse()
                body = self._body_of(response)
            except (OSError, HTTPException) as error:
                self._connection.close()
                why, pause = f"{self._host} cannot be reached: {error or type(error).__name__}", 1.0
            else:
                if response.status == 429 or response.status >= 500:
                    why, pause = f"Airtable answers {response.status}", LIMITED_SECONDS if response.status == 429 else 1.0
                else:
                    return _answer(response.status, body, kind)
            if attempt < ATTEMPTS:
                self._sleep(pause * (1 if pause == LIMITED_SECONDS else 2 ** (attempt - 1)))
        raise AirtableFailed(f"{why}; run the command again later: what is imported already counts as unchanged")

    def _body_of(self, response: HTTPResponse) -> bytes:
        """Return the body of a response; raise `OSError` for a longer one, or one that comes a byte now and then."""
        pieces, until = [], self._seconds() + RESPONSE_SECONDS
        self._size = 0
        while piece := response.read1(65_536):
            pieces.append(piece)
            self._size += len(piece)
            if self._size > RESPONSE_BYTES or self._seconds() > until:
                raise OSError(f"a response has more than {RESPONSE_BYTES:,} bytes or takes more than {RESPONSE_SECONDS:g} seconds")
        response.close()  # with its body read, so that the connection can be used again
        return b"".join(pieces)

    def _wait(self) -> None:
        now = self._seconds()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + INTERVAL


def _answer(status: int, body: bytes, kind: type[T]) -> T:
    """Return a response's JSON; raise an error with a next step for an error response, and for anything else."""
    try:
        value = msgspec.json.decode(body)
        if status == OK:
            return msgspec.convert(value, kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as bad:
        if status == OK:
            why = f"{type(bad).__name__} {bad}"[:SHOWN]
            raise AirtableFailed(f"the response is none of Airtable's API: {why}; is {ENDPOINT_VARIABLE} its address?") from None
        value = None
    error = value.get("error") if isinstance(value, dict) else None
    named, detail = (error.get("type"), str(error.get("message") or "")[:SHOWN]) if isinstance(error, dict) else (error, "")
    if named == "LIST_RECORDS_ITERATOR_NOT_AVAILABLE":
        raise ListingExpired
    if status == 401:
        raise AirtableFailed(f"Airtable does not know the token; put one from airtable.com/create/tokens into {TOKEN_VARIABLE}")
    if status in (403, 404):
        raise AirtableFailed(
            "Airtable does not show this base or view to the token; the token needs access to the base, and the scopes "
            f"data.records:read and schema.bases:read. {detail}".rstrip()
        )
    raise AirtableFailed(f"Airtable answers {status} {named or ''} {detail}".rstrip()[:SHOWN])


def _table_of(table: _TableOut) -> AirtableTable:
    fields = tuple(AirtableField(field.id, field.name, field.type, _linked_table(field.options or {})) for field in table.fields)
    names = {field.id: field.name for field in fields}
    return AirtableTable(table.id, table.name, names.get(table.primary_field_id, fields[0].name if fields else ""), fields)


def _linked_table(options: Mapping[str, Any]) -> str:
    linked = options.get("linkedTableId")
    return linked if isinstance(linked, str) else ""


def find_table(tables: Sequence[AirtableTable], wanted: str) -> AirtableTable:
    """Return the table with this name or id."""
    for table in tables:
        if wanted == table.id or wanted.strip().casefold() == table.name.strip().casefold():
            return table
    names = ", ".join(table.name[:SHOWN] for table in tables[:SHOWN])
    raise click.UsageError(f"--table {wanted!r} is no table of the base; it has: {names}")


def write_records(
    base: AirtableBase, wanted: str, view: str, record: Literal["contact", "company"], file: BinaryIO
) -> tuple[int, dict[str, str]]:
    """Write the records of a table to a file, one JSON object a line with all columns.

    Returns how many there are, and the fields of columns whose names do not say them.
    """
    tables = base.tables()
    table = find_table(tables, wanted)
    names = {field.linked_table: _names(base, tables, field.linked_table) for field in table.fields if field.linked_table}
    columns = _Columns(table, record, names)
    for attempt in range(1, ATTEMPTS + 1):
        file.seek(0)
        file.truncate()
        count = 0
        try:
            for count, entry in enumerate(base.records(table, view), 1):
                file.write(json.dumps(columns.row(entry), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                _show(table.name, count)
        except ListingExpired:
            if attempt == ATTEMPTS:
                raise AirtableFailed(f"Airtable ended the list of {table.name!r} {ATTEMPTS} times; choose a smaller view") from None
            continue
        break
    return count, columns.targets


def _show(table: str, count: int) -> None:
    if sys.stderr.isatty() and count % PAGE == 0:
        click.echo(f"\r{table}: {count:,} records read ", nl=False, err=True)


def _names(base: AirtableBase, tables: Sequence[AirtableTable], linked: str) -> dict[str, str]:
    """Return the records of a linked table by id, as other tables show them; none of a table that the token may not read."""
    table = next((table for table in tables if table.id == linked), None)
    if table is None:
        return {}
    for _ in range(ATTEMPTS):
        try:
            return {entry["id"]: _text(entry["fields"].get(table.primary)) for entry in base.records(table, fields=[table.primary])}
        except ListingExpired:
            continue
    raise AirtableFailed(f"Airtable ended the list of {table.name!r} {ATTEMPTS} times; run the command again later")


class _Columns:
    """The columns of a table's records, and the text of each cell."""

    def __init__(self, table: AirtableTable, record: Literal["contact", "company"], names: Mapping[str, Mapping[str, str]]) -> None:
        self._fields, self._names = table.fields, names
        guessed = guess([field.name for field in table.fields], record).mapping.columns
        self._single = {field.name for field in table.fields if field.linked_table and guessed.get(field.name) == "company.name"}
        self._written = [field.name for field in table.fields if field.kind not in COMPUTED]
        self._has_created = any(field.kind == "createdTime" for field in table.fields)
        self.targets = {} if "external_id" in guessed.values() else {RECORD_ID: "external_id"}

    def row(self, entry: AirtableRecord) -> dict[str, str]:
        """Return a record by column; a contact has one company, and further linked companies have a separate column.

        An empty record is blank, without its id and what Airtable computes.
        """
        values = entry["fields"] if any(entry["fields"].get(name) for name in self._written) else {}
        row = {RECORD_ID: str(entry["id"]) if values else ""}
        for field in self._fields:
            value = values.get(field.name)
            if field.linked_table and isinstance(value, list):
                names = self._names[field.linked_table]
                value = [names.get(number, number) if isinstance(number, str) else number for number in value]
            if field.name in self._single:
                linked = value if isinstance(value, list) else []
                row[field.name] = _text(linked[:1])
                row[f"{field.name} (further)"] = _text(linked[1:])
            else:
                row[field.name] = _text(value)
        if not self._has_created:
            row[CREATED] = str(entry.get("createdTime") or "") if values else ""
        return row


def _text(value: Any) -> str:
    """Return a value of a cell as text: the names of people and options, the addresses of files, and nothing for a formula's error."""
    if isinstance(value, list):
        return ", ".join(text for item in value if (text := _text(item)))
    if isinstance(value, dict) and not (value.get("error") or value.get("specialValue")):
        shown = next((value[name] for name in ("url", "name", "email", "value", "text", "label") if value.get(name)), None)
        return json.dumps(value, ensure_ascii=False) if shown is None else _text(shown)
    if value is None or value is False or isinstance(value, dict):
        return ""
    return value if isinstance(value, str) else json.dumps(value)
