"""Exports as Parquet over HTTP, on both engines: typed columns, in row groups, streamed and as a job that may be interrupted."""

from __future__ import annotations

import io
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.asgi_client import ApiClient
from tests.exports.test_export_api import exported, filled
from tests.imports.jobs import contacts, imported

from touchbase.clients.sql.clients import find_client
from touchbase.config import Settings
from touchbase.exports import job as export_job
from touchbase.exports import parquet_file
from touchbase.exports.api import _parquet_place
from touchbase.exports.job import export_kinds
from touchbase.exports.writer import ExportFormat
from touchbase.jobs.runner import JobRun
from touchbase.jobs.worker import JobWorker

KINDS = export_kinds(Settings().page_bytes)
MEDIA = "application/vnd.apache.parquet"


async def table(call: ApiClient, query: str = "", path: str = "contacts/export") -> pa.Table:
    reply = await call.get(f"/public/v2/{path}?format=parquet&{query}")
    assert (reply.status, reply.headers["content-type"]) == (200, MEDIA), reply
    return parquet.read_table(io.BytesIO(reply.body))


async def test_parquet__has_the_columns_of_csv_with_types(call: ApiClient) -> None:
    await filled(call)

    result = await table(call)

    header = (await exported(call, "format=csv")).splitlines()[0]
    text, number, time = pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")
    types = {"id": number, "company_id": number} | dict.fromkeys(
        ["updated_time", "first_campaign_email_sent", "last_campaign_email_sent", "last_reply_received", "status_changed_at"], time
    )
    assert result.column_names == header.split(",")
    assert {item.name: item.type for item in result.schema} == {name: types.get(name, text) for name in header.split(",")}
    first, second, third = result.to_pylist()
    assert (first["id"], first["email"], first["company_id"], first["cf.Größe"]) == (1, "jane@example.com", 1, "12")
    assert first["last_reply_received"] == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert (second["last_name"], second["cf.Segment"]) == ('Roe, "J"', "=1+1")
    assert (third["first_name"], third["last_name"], third["cf.Segment"], third["company_id"]) == ("@Ann", None, None, None)


async def test_parquet__has_the_chosen_fields_and_records(call: ApiClient) -> None:
    await filled(call)
    await call.post("/public/v2/suppressions", {"value": "joe@example.com", "reason": "legal"})

    chosen = await table(call, "fields=email,suppressed&suppressed=true")
    none = await table(call, "contact_status=nothing")
    companies = await table(call, path="companies/export")

    assert chosen.to_pylist() == [{"id": 2, "email": "joe@example.com", "suppressed": "legal"}]
    assert (none.num_rows, none.column_names[-2:]) == (0, ["cf.Größe", "cf.Segment"])
    assert companies.select(["id", "domain", "name"]).to_pylist() == [{"id": 1, "domain": "x.example", "name": None}]


async def test_parquet__is_written_in_row_groups(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(call)
    monkeypatch.setattr(export_job, "PAGE", 1)
    monkeypatch.setattr(parquet_file, "GROUP_ROWS", 2)

    pieces = (await call.get("/public/v2/contacts/export?format=parquet")).body

    file = parquet.ParquetFile(io.BytesIO(pieces))
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [2, 1]
    assert file.read().column("id").to_pylist() == [1, 2, 3]


async def test_an_export__imports_as_it_is_and_changes_nothing(call: ApiClient) -> None:
    listed = await filled(call)
    call.clock.move(60)

    file = (await call.get("/public/v2/contacts/export?format=parquet")).body
    firms = (await call.get("/public/v2/companies/export?format=parquet")).body

    assert await imported(call, file) == {"unchanged": 3}
    assert await imported(call, firms, path="companies/imports") == {"unchanged": 1}
    assert await contacts(call) == listed


class Interrupted:
    """An export that ends after as many steps as stated for each run."""

    name = KINDS[0].name

    def __init__(self, *steps: int) -> None:
        self.steps = list(steps)

    async def run(self, run: JobRun) -> None:
        left, step = self.steps.pop(0) if self.steps else 1_000, run.step

        async def stepped(*value: Any) -> list[Any]:
            nonlocal left
            result = await step(*value)
            left -= 1
            if not left:
                raise RuntimeError
            return result

        run.step = stepped  # type: ignore[method-assign]
        await KINDS[0].run(run)


async def finished(call: ApiClient, job: dict[str, Any], kind: Interrupted) -> dict[str, Any]:
    while (body := (await call.get(f"/public/v2/jobs/{job['id']}")).json())["state"] in ("queued", "running"):
        await JobWorker(call.parts.store, call.clock, [kind]).drain()
        call.clock.move(10)
    shown: dict[str, Any] = body
    return shown


async def test_a_job__that_is_interrupted_begins_again_and_makes_the_same_file(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(call)
    monkeypatch.setattr(export_job, "PAGE", 1)
    monkeypatch.setattr(export_job, "PIECE", 100)
    monkeypatch.setattr(parquet_file, "GROUP_ROWS", 1)
    wanted = (await call.get("/public/v2/contacts/export?format=parquet")).body
    job = (await call.post("/public/v2/contacts/exports?format=parquet", None)).json()

    result = await finished(call, job, Interrupted(1, 3, 2, 4))  # the last one after its last page: nothing is left to do

    reply = await call.get(f"/public/v2/jobs/{job['id']}/result")
    assert (result["state"], result["progress"]["rows"], result["progress"]["percent"]) == ("succeeded", 3, 100)
    assert reply.body == wanted
    assert reply.headers["content-type"] == MEDIA
    assert reply.headers["content-disposition"] == f'attachment; filename="contacts-export-{job["id"]}-result.parquet"'


async def test_a_job__that_is_always_interrupted_fails(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(call)
    monkeypatch.setattr(export_job, "BEGINNINGS", 3)
    job = (await call.post("/public/v2/contacts/exports?format=parquet", None)).json()

    result = await finished(call, job, Interrupted(1, 1, 1, 1))

    assert result["state"] == "failed"
    assert result["error"].startswith("the export was interrupted 3 times, and a Parquet file cannot be continued")


async def test_without_pyarrow__an_export_says_what_to_install(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    job = (await call.post("/public/v2/contacts/exports?format=parquet", None)).json()
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    streamed = await call.get("/public/v2/contacts/export?format=parquet")
    started = await call.post("/public/v2/companies/exports?format=parquet", None)
    failed = await finished(call, job, Interrupted())

    for reply in (streamed, started):
        assert reply.status == 422
        (fault,) = reply.problem["errors"]
        assert (fault["pointer"], fault["code"]) == ("?format", "not_installed")
        assert "pip install touchbase[parquet]" in fault["detail"]
    assert failed["state"] == "failed"
    assert "pip install touchbase[parquet]" in failed["error"]
    assert (await call.get("/public/v2/contacts/export?format=csv")).status == 200


async def test_parquet__has_few_readers_at_once(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "ann@example.com"})
    client = await call.parts.store.read(find_client("default", 0))
    assert client is not None

    with ExitStack() as places:
        for _ in range(3):
            places.enter_context(_parquet_place(client, ExportFormat("parquet")))
        refused = await call.get("/public/v2/contacts/export?format=parquet")
        csv = await call.get("/public/v2/contacts/export?format=csv")
    free = await call.get("/public/v2/contacts/export?format=parquet")

    assert (refused.status, refused.problem["code"], csv.status, free.status) == (429, "rate_limited", 200, 200)
