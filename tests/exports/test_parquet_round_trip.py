"""Any records, exported as Parquet and imported into another client, are the same."""

from __future__ import annotations

import io
import itertools
import json
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.examples import examples
from tests.files import FILES
from tests.house import NOON, House

from touchbase.clients.models import ClientSettings
from touchbase.exports import parquet_file
from touchbase.exports.parquet_file import ParquetWriter
from touchbase.exports.sql import COLUMNS
from touchbase.exports.writer import ExportFormat, encoder, parquet_columns
from touchbase.imports.file_tasks import read_table
from touchbase.imports.job import KINDS
from touchbase.jobs.worker import JobWorker
from touchbase.records import fields
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.sql.store import Store

_NUMBERS = itertools.count(1)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
VALUE = TEXT.map(lambda text: text if text.strip() else f"{text}x")
NAME = VALUE.map(str.strip)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2026, 11, 1), timezones=st.just(UTC)).map(datetime.isoformat)
DATES = ("first_campaign_email_sent", "last_campaign_email_sent", "last_reply_received")
SAME = ("email", "linkedin_url", "first_name", "last_name", "origin", "external_id", "contact_status", *DATES, "contact_custom_fields")
COMPANY_SAME = ("domain", "name", "external_id", "company_status", "company_custom_fields")


def people(names: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Contacts with some of these custom fields."""
    texts = dict.fromkeys(["first_name", "last_name", "origin", "contact_status"], VALUE)
    times = dict.fromkeys(DATES[1:], TIMES)
    custom = st.dictionaries(st.sampled_from(names), VALUE) if names else st.just({})
    fixed_dictionaries = st.fixed_dictionaries({"contact_custom_fields": custom}, optional={**texts, **times})
    return st.lists(fixed_dictionaries, min_size=1, max_size=4)


PEOPLE = st.lists(NAME, max_size=3, unique=True).flatmap(people)


async def imported(house: House, data: bytes, kind: str) -> dict[str, int]:
    reply = await house.call("POST", f"/public/v2/{kind}/imports?start=true", raw=data, x_client_id=house.client_id)
    assert reply.status == 201, reply
    await JobWorker(house.call.parts.store, house.call.clock, KINDS, sandbox=FILES).drain()
    job = (await house.request("GET", f"/public/v2/jobs/{reply.json()['id']}")).json()
    assert (job["state"], job["progress"].get("invalid", 0)) == ("succeeded", 0), job
    progress: dict[str, int] = job["progress"]
    return progress


async def records(house: House, kind: str, members: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{name: item.get(name) for name in members} for item in await house.listed(kind, "structure=FLAT")]


@given(PEOPLE)
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_records__exported_as_parquet_and_imported_into_another_client_are_the_same(
    store: Store, make_client: MakeClient, contacts: list[dict[str, Any]]
) -> None:
    call = make_client(store)
    first, second = [await House.of(call, f"p{next(_NUMBERS)}") for _ in range(2)]
    call.clock.now = NOON
    firms = []
    for number, contact in enumerate(contacts):
        contact |= {"email": f"p{number}@x.example", "external_id": f"crm {number}"}
        custom = contact["contact_custom_fields"]
        firms.append({"domain": f"f{number}.example", "name": contact.get("first_name", ""), "company_custom_fields": custom})
    for kind, created, members in (("contacts", contacts, SAME), ("companies", firms, COMPANY_SAME)):
        await imported(first, "\n".join(map(json.dumps, created)).encode(), kind)
        wanted = await records(first, kind, members)

        file = (await first.request("GET", f"/public/v2/{kind}/export?format=parquet")).body
        progress = await imported(second, file, kind)

        assert progress["created"] == len(created) == len(wanted)
        assert await records(second, kind, members) == wanted
        again = (await second.request("GET", f"/public/v2/{kind}/export?format=parquet")).body
        assert texts(again, members) == texts(file, members)


def texts(file: bytes, members: tuple[str, ...]) -> list[dict[str, str]]:
    """The cells of a file as the import reads them, by column."""
    table = read_table(io.BytesIO(file))
    stored = [name in members or name.startswith("cf.") for name in table.header]
    return [
        dict(cell for cell, is_kept in zip(zip(table.header, row.cells, strict=True), stored, strict=True) if is_kept) for row in table.rows
    ]


def packed(custom: dict[str, str]) -> str:
    """The custom fields of a row as the statement of exports returns them."""
    return "".join(f"{len(text)}:{text}" for pair in custom.items() for text in pair)


MAYBE = st.none() | TEXT
TIME = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
ID = st.integers(1, 2**53)
OF_KIND = {fields.TEXT: MAYBE, fields.NUMBER: st.none() | ID, fields.TIME: st.none() | TIME}
OF_KIND[fields.EMAILS] = st.none() | st.just('["a@x.example","b@x.example"]')
OF_COLUMN = {"id": ID, "created_us": ID, "updated_us": TIME}
KIND_OF = {field.column: field.kind for field in CONTACT_TYPE.members}
ROWS = st.lists(
    st.tuples(
        *(OF_COLUMN[column] if column in OF_COLUMN else OF_KIND[KIND_OF[column]] for column in COLUMNS[CONTACT_TYPE.kind]),
        st.dictionaries(st.sampled_from(["A", "b.c", "Größe"]), TEXT).map(packed),
    ),
    max_size=8,
)
"""Rows as the statement of exports returns them."""


@given(ROWS, st.integers(1, 4))
@settings(max_examples=examples(40), deadline=None)
def test_any_rows__are_read_from_parquet_as_from_csv(rows: list[tuple[Any, ...]], size: int) -> None:
    names, client = ["A", "Größe", "b.c"], ClientSettings()
    pages = [rows[at : at + size] for at in range(0, len(rows), size)]
    form = ExportFormat("parquet")
    writer = ParquetWriter(parquet_columns("contact", form, names).schema)
    encode = encoder("contact", form, client, names, with_header=True)
    csv = encoder("contact", ExportFormat("csv"), client, names, with_header=True)

    file = b"".join([*(writer.add(encode(page, ()), is_last=False) for page in pages), writer.add(b"", is_last=True)])

    read, wanted = read_table(io.BytesIO(file)), read_table(io.BytesIO(csv(rows, ())))
    assert read.header == wanted.header
    assert [row.cells for row in read.rows] == [row.cells for row in wanted.rows]


def test_parquet_writer__needs_no_more_memory_for_more_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "GROUP_ROWS", 500)
    form = ExportFormat("parquet")
    columns = parquet_columns("contact", form, ["A"])

    def peak(count: int) -> int:
        writer, top = ParquetWriter(columns.schema), 0
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        for start in range(0, count, 500):
            blank = [None] * (len(COLUMNS[CONTACT_TYPE.kind]) - 4)
            people = [(at, at, at, f"p{at}@x.co", *blank, f"1:A{len(str(at))}:{at}") for at in range(start, start + 500)]
            writer.add(columns.encode(people, ()), is_last=False)
            top = max(top, pa.total_allocated_bytes() - before)
        top += tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(8_000) < peak(2_000) + 300_000
