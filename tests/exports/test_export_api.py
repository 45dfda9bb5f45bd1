"""Exports over HTTP, on both engines: what the list shows, in both formats, streamed and as a job, and back through an import."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, imported

from touchbase.config import Settings
from touchbase.exports import job as export_job
from touchbase.exports.job import export_kinds
from touchbase.jobs.worker import JobWorker

KINDS = export_kinds(Settings().page_bytes)
FILE = '''email,first_name,last_name,contact_status,Segment,Größe,company.domain,last_reply_received,External ID
jane@example.com,Jane,Doe,new,Fintech: 1:2,12,x.example,2026-05-01T10:00:00Z,crm-4711
joe@example.com,Joe,"Roe, ""J""",customer,=1+1,,x.example,,
ann@example.com,@Ann,,,,,,,
'''.encode()


async def filled(call: ApiClient) -> list[dict[str, Any]]:
    """Three contacts; return them as the list shows them."""
    assert await imported(call, FILE) == {"created": 3}
    return await contacts(call)


async def exported(call: ApiClient, query: str = "") -> str:
    reply = await call.get(f"/public/v2/contacts/export?{query}")
    assert reply.status == 200, reply
    return reply.body.decode("utf-8-sig")


async def test_ndjson__has_the_contacts_as_the_list_shows_them(call: ApiClient) -> None:
    listed = await filled(call)

    lines = [json.loads(line) for line in (await exported(call)).splitlines()]

    assert lines == listed
    assert [list(line) for line in lines] == [list(item) for item in listed]


async def test_csv__has_custom_fields_as_columns_and_no_formulas(call: ApiClient) -> None:
    await filled(call)

    rows = list(csv.DictReader(io.StringIO(await exported(call, "format=csv"))))
    plain = list(csv.DictReader(io.StringIO(await exported(call, "format=csv&formulas=true"))))

    assert [row["cf.Segment"] for row in rows] == ["Fintech: 1:2", "'=1+1", ""]
    assert [row["first_name"] for row in rows] == ["Jane", "Joe", "'@Ann"]
    assert [row["cf.Segment"] for row in plain] == ["Fintech: 1:2", "=1+1", ""]
    assert rows[0]["cf.Größe"] == "12"


async def test_csv__begins_with_the_mark_that_spreadsheets_need(call: ApiClient) -> None:
    await filled(call)

    with_mark = (await call.get("/public/v2/contacts/export?format=csv")).body
    without = (await call.get("/public/v2/contacts/export?format=csv&bom=false")).body
    lines = (await call.get("/public/v2/contacts/export")).body
    empty = (await call.get("/public/v2/companies/export?format=csv&company_status=none")).body

    assert with_mark == b"\xef\xbb\xbf" + without
    assert without.startswith(b"id,")
    assert empty.startswith(b"\xef\xbb\xbfid,")
    assert lines.startswith(b"{")


async def test_filters__are_those_of_the_list(call: ApiClient) -> None:
    await filled(call)

    lines = (await exported(call, "contact_status=customer")).splitlines()

    assert [json.loads(line)["email"] for line in lines] == ["joe@example.com"]
    assert (await call.get("/public/v2/contacts/export?status=customer")).status == 422


async def test_declared_fields__have_their_json_type(call: ApiClient) -> None:
    await filled(call)
    await call.settings(contact_fields={"Größe": {"type": "number"}})

    first = json.loads((await exported(call)).splitlines()[0])

    assert first["contact_custom_fields"] == (await contacts(call))[0]["contact_custom_fields"]
    assert first["contact_custom_fields"]["Größe"] == 12


async def test_an_export__imports_as_it_is_and_changes_nothing(call: ApiClient) -> None:
    listed = await filled(call)
    call.clock.move(60)

    for form in ("csv", "ndjson"):
        assert await imported(call, (await exported(call, f"format={form}")).encode()) == {"unchanged": 3}
    assert await contacts(call) == listed


async def test_dry_run__shows_removed_custom_fields_and_no_change(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"contact_custom_fields_input": [{"field_name": "A", "field_value": "1"}]})
    (contact,) = await contacts(call)
    await call.patch(f"/public/v2/contacts/{contact['id']}", {"contact_custom_fields": None})

    assert [json.loads(line)["contact_custom_fields"] for line in (await exported(call)).splitlines()] == [{}]
    assert await exported(call, "email=nobody@example.com") == ""


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_a_job__makes_the_same_file_also_when_it_is_interrupted(call: ApiClient, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(call)
    monkeypatch.setattr(export_job, "PAGE", 1)
    wanted = await exported(call, f"format={form}")
    job = (await call.post(f"/public/v2/contacts/exports?format={form}", None)).json()

    class Once:
        """An export that ends after each page."""

        name = KINDS[0].name

        async def run(self, run: Any) -> None:
            step = run.step

            async def stepped(*value: Any) -> None:
                await step(*value)
                raise RuntimeError

            run.step = stepped
            await KINDS[0].run(run)

    while (body := (await call.get(f"/public/v2/jobs/{job['id']}")).json())["state"] in ("queued", "running"):
        await JobWorker(call.parts.store, call.clock, [Once()]).drain()
        call.clock.move(10)

    reply = await call.get(f"/public/v2/jobs/{job['id']}/result")
    assert (body["state"], body["progress"]["rows"], body["progress"]["percent"]) == ("succeeded", 3, 100)
    assert reply.body.decode("utf-8-sig") == wanted
    assert reply.headers["content-type"] == ("text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson")
    assert reply.headers["content-disposition"] == f'attachment; filename="contacts-export-{job["id"]}-result.{form}"'


async def test_fields__choose_members_and_say_who_must_not_be_contacted(call: ApiClient) -> None:
    await filled(call)
    await call.post("/public/v2/suppressions", {"entries": [{"value": "joe@example.com", "reason": "legal"}]})
    await call.post("/admin/v1/suppressions", {"value": "x.example", "reason": "competitor"})

    lines = [json.loads(line) for line in (await exported(call, "fields=email,suppressed")).splitlines()]
    rows = list(csv.reader(io.StringIO(await exported(call, "format=csv&fields=suppressed,first_name"))))
    allowed = [json.loads(line) for line in (await exported(call, "suppressed=false")).splitlines()]
    listed = [json.loads(line)["id"] for line in (await exported(call, "suppressed=true&fields=id")).splitlines()]
    (firm,) = (await call.get("/public/v2/companies/export?fields=domain,suppressed")).body.decode().splitlines()
    wrong = await call.get("/public/v2/contacts/export?fields=emial,nonsense")

    assert lines == [
        {"id": 1, "email": "jane@example.com", "suppressed": "competitor"}, {"id": 2, "email": "joe@example.com", "suppressed": "legal"},
        {"id": 3, "email": "ann@example.com", "suppressed": None},
    ]  # fmt: skip
    assert rows == [["id", "first_name", "suppressed"], ["1", "Jane", "competitor"], ["2", "Joe", "legal"], ["3", "'@Ann", ""]]
    assert [(item["email"], "suppressed" in item) for item in allowed] == [("ann@example.com", False)]
    assert listed == [1, 2]
    assert json.loads(firm) == {"id": 1, "domain": "x.example", "suppressed": "competitor"}
    assert [error["pointer"] for error in wrong.problem["errors"]] == ["?fields"] * 2
    assert wrong.problem["errors"][0]["detail"].endswith("did you mean 'email'?")


@pytest.mark.parametrize("form", ["csv", "parquet"])
async def test_too_many_custom_fields__are_no_columns(call: ApiClient, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(call)
    await call.post("/public/v2/contacts", {"email": "x@example.com", "contact_custom_fields_input": [
        {"field_name": f"F{number}", "field_value": "1"} for number in range(9)
    ]})  # fmt: skip
    monkeypatch.setattr(export_job, "MOST_COLUMNS", 8)

    refused = [
        await call.get(f"/public/v2/contacts/export?format={form}"),
        await call.post(f"/public/v2/contacts/exports?format={form}", None),
    ]
    without = await call.get(f"/public/v2/contacts/export?format={form}&fields=email")

    for reply in refused:
        assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "?format")
        assert "more than 8 custom fields, which are too many columns: export ndjson" in reply.problem["detail"]
    assert without.status == 200
    assert "F8" in await exported(call, "format=ndjson")
    assert {job["kind"] for job in (await call.get("/public/v2/jobs")).json()["data"]} == {"contacts.import"}


async def test_suppressed__of_a_job_is_that_of_the_request(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(call)
    monkeypatch.setattr(export_job, "PAGE", 1)
    await call.post("/public/v2/suppressions", {"value": "joe@example.com", "until": "2026-12-01T00:00:00Z"})

    job = (await call.post("/public/v2/contacts/exports?format=csv&suppressed=false&fields=email", None)).json()
    call.clock.move(60 * 86_400)
    await JobWorker(call.parts.store, call.clock, KINDS).drain()

    body = (await call.get(f"/public/v2/jobs/{job['id']}/result")).body.decode("utf-8-sig")
    assert body.split() == ["id,email", "1,jane@example.com", "3,ann@example.com"]
    assert (await call.get(f"/public/v2/jobs/{job['id']}")).json()["progress"]["rows"] == 2


async def test_companies__are_exported_too(call: ApiClient) -> None:
    await filled(call)

    (line,) = (await call.get("/public/v2/companies/export")).body.decode().splitlines()

    assert json.loads(line) == (await call.get("/public/v2/companies?structure=FLAT")).json()["data"][0]


async def test_search_filters__choose_what_is_exported_by_stream_and_by_job(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_job, "PAGE", 1)
    await filled(call)
    await call.post("/public/v2/contacts", {"email": "jane@other.example", "first_name": "Jane"}, x_client_id="other")
    queries = {
        "contact_status[in]=new,customer&format=ndjson": ["jane@example.com", "joe@example.com"],
        "cf.Segment[starts_with]=fin": ["jane@example.com"],
        "last_reply_received[is_set]=false&email[ne]=ann@example.com": ["joe@example.com"],
        "q=jan": ["jane@example.com"],
        "q=roe&contact_status=customer": ["joe@example.com"],
        "updated_since=2026-01-01T00:00:00Z&first_name[eq]=joe": ["joe@example.com"],
        "q=nobody": [],
    }
    for query, emails in queries.items():
        streamed = [json.loads(line)["email"] for line in (await exported(call, query)).splitlines()]
        job = (await call.post(f"/public/v2/contacts/exports?{query}", {})).json()
        call.clock.move(100 * 86_400)  # relative times and words are those of the request
        await JobWorker(call.parts.store, call.clock, KINDS).drain()
        filed = (await call.get(f"/public/v2/jobs/{job['id']}/result")).body.decode("utf-8-sig")

        assert streamed == emails, query
        assert [json.loads(line)["email"] for line in filed.splitlines()] == emails, query


@pytest.mark.parametrize(
    ("query", "pointer"), [("contact_statu[in]=new", "?contact_statu[in]"), ("email[like]=x", "?email[like]"), ("q=%2B", "?q")]
)
async def test_unknown_filter__is_refused_and_named(call: ApiClient, query: str, pointer: str) -> None:
    for method, path in (("GET", "export"), ("POST", "exports")):
        reply = await call(method, f"/public/v2/contacts/{path}?{query}")

        assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)
