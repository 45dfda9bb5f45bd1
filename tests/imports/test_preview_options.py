"""What a preview asks, and how an uploaded file is read again: sheet, header row, encoding, delimiter."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, counts, finished, upload
from tests.imports.workbooks import sheet, workbook


async def test_preview__asks_for_the_order_of_dates_with_two_examples(sqlite_call: ApiClient) -> None:
    file = b"email,Last mailed,Replied at\na@x.co,11/12/2026,2026-11-01\nb@x.co,3/4/2026,\nc@x.co,11/25/2026,\n"

    preview = (await upload(sqlite_call, file))["preview"]

    assert preview["dates"] == [
        {"column": "Last mailed", "examples": ["11/12/2026", "3/4/2026"], "day_first": 0, "month_first": 1, "ambiguous": 2}
    ]
    assert preview["mapping"]["day_order"] == "month_first"


async def test_preview__offers_to_join_statuses_and_a_start_may_refuse(sqlite_call: ApiClient) -> None:
    await sqlite_call.post("/public/v2/contacts", {"email": "old@x.co", "contact_status": "Follow up"})
    file = b"email,Status\na@x.co,Contacted\nb@x.co,contacted\nc@x.co,FOLLOW UP\nd@x.co,Cold\n"

    first, second = await upload(sqlite_call, file), await upload(sqlite_call, file)
    columns = {"columns": {"email": "email", "Status": "contact_status"}}
    await sqlite_call.post(f"/public/v2/jobs/{first['id']}/start", {"mapping": columns | {"join_statuses": False}, "dry_run": True})
    await finished(sqlite_call, first)
    await sqlite_call.post(f"/public/v2/jobs/{second['id']}/start", {"mapping": columns})
    await finished(sqlite_call, second)

    assert first["preview"]["statuses"] == [
        {"status": "contacted", "spellings": {"Contacted": 1, "contacted": 1}},
        {"status": "Follow up", "spellings": {"FOLLOW UP": 1}},
    ]
    assert [contact["contact_status"] for contact in await contacts(sqlite_call)][1:] == ["contacted", "contacted", "Follow up", "Cold"]


async def test_preview__asks_which_column_is_the_status(sqlite_call: ApiClient) -> None:
    file = b"Email,Lead Status,Lifecycle Stage\na@x.co,New,lead\nb@x.co,NEW,customer\nc@x.co,Open,lead\n"
    own = b"email,contact_status\na@x.co,new\n"

    shown = (await upload(sqlite_call, file))["preview"]

    assert shown["mapping"]["columns"]["Lead Status"] == "contact_status"
    assert shown["status_columns"] == [
        {"column": "Lead Status", "values": {"New": 1, "NEW": 1, "Open": 1}},
        {"column": "Lifecycle Stage", "values": {"lead": 2, "customer": 1}},
    ]
    assert (await upload(sqlite_call, own))["preview"]["status_columns"] == []


async def test_preview__checks_rows(sqlite_call: ApiClient) -> None:
    file = b"email,first_name,last_reply_received\na@x.co,Ann,soon\nA@x.co,Anna,2026-11-01\nnobody,Bob,\nTotal: 3,,\n"

    checked = (await upload(sqlite_call, file))["preview"]["checked"]

    lines = checked.pop("lines")
    assert checked == {"rows": 4, "invalid": 1, "not_a_row": 1, "duplicate_in_file": 1, "cells_left_out": 1}
    assert [(line["row"], line["outcome"], line["column"], line["value"]) for line in lines] == [
        (2, "cells_left_out", "last_reply_received", "soon"),
        (3, "duplicate_in_file", "", ""),
        (4, "invalid", "", ""),
        (5, "not_a_row", "", ""),
    ]
    assert lines[1]["reason"] == "is the same contact as row 2"
    assert lines[2]["reason"].startswith("email: is not an e-mail address")


async def test_read_again__asks_and_checks_by_the_stated_mapping(sqlite_call: ApiClient) -> None:
    job = await upload(sqlite_call, b"Person,Phase,Seen\na@x.co,Cold,25/10/2026\nb@x.co,cold,1/2/2026\nc@x.co,cold,\n")
    columns = {"Person": "email", "Phase": "contact_status", "Seen": "last_reply_received"}

    again = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {"mapping": {"columns": columns}})
    wrong = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {"mapping": {"columns": columns | {"Seen": "emial"}}})
    started = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/start", {"mapping": {"columns": columns}, "dry_run": True})

    assert (job["preview"]["statuses"], job["preview"]["dates"]) == ([], [])
    shown = again.json()["preview"]
    assert (shown["mapping"]["columns"], shown["mapping"]["day_order"]) == (columns, "day_first")
    assert shown["statuses"] == [{"status": "Cold", "spellings": {"Cold": 1, "cold": 2}}]
    assert (shown["dates"][0]["column"], shown["checked"]["cells_left_out"]) == ("Seen", 0)
    assert [error["pointer"] for error in wrong.problem["errors"]] == ["/mapping/columns/Seen"]
    assert "the column 'Seen' cannot become 'emial'" in wrong.problem["detail"]
    assert started.json()["settings"]["mapping"]["day_order"] == "day_first"


async def test_options_of_another_format__are_refused(sqlite_call: ApiClient) -> None:
    job = await upload(sqlite_call, b"email\na@x.co\n")
    book = await upload(sqlite_call, workbook({"Leads": sheet([["email"], ["a@x.co"]])}).read())

    no_sheet = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {"sheet": "Leads"})
    no_delimiter = await sqlite_call.post(f"/public/v2/jobs/{book['id']}/preview", {"delimiter": ";", "encoding": "cp850"})

    assert (no_sheet.status, no_delimiter.status) == (400, 400)
    assert "is a CSV file, which has no sheet to choose" in no_sheet.problem["detail"]
    assert "is a workbook, which has no delimiter and no encoding to choose" in no_delimiter.problem["detail"]


async def test_read_again__reads_another_sheet_from_another_row(call: ApiClient) -> None:
    leads = sheet([["Leads of Q4"], ["as of", "today", "x"], ["E-mail", "First name", "Town"], ["ann@x.co", "Ann", "Bath"]])
    job = await upload(call, workbook({"Notes": sheet([["Note"], ["a"]]), "Leads": leads}).read())

    again = await call.post(f"/public/v2/jobs/{job['id']}/preview", {"sheet": "Leads", "header_row": 3})
    await call.post(f"/public/v2/jobs/{job['id']}/start", {})
    done = await finished(call, job)

    assert job["preview"]["header"] == ["Note"]
    assert (again.status, again.json()["preview"]["header"], again.json()["preview"]["header_row"]) == (
        200,
        ["E-mail", "First name", "Town"],
        3,
    )
    assert (again.json()["preview"]["sheet"], again.json()["preview"]["sheets"]) == ("Leads", ["Notes", "Leads"])
    assert counts(done) == {"created": 1}


async def test_read_again__reads_with_another_encoding_and_delimiter(sqlite_call: ApiClient) -> None:
    job = await upload(sqlite_call, "email#First name\nann@x.co#Zoë\n".encode("cp850"))

    again = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {"encoding": "cp850", "delimiter": "#"})
    faulty = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {"delimiter": "##"})
    wrong_row = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {"header_row": 9})
    await sqlite_call.post(f"/public/v2/jobs/{job['id']}/cancel")
    ended = await sqlite_call.post(f"/public/v2/jobs/{job['id']}/preview", {})

    assert again.json()["preview"]["rows"] == [["ann@x.co", "Zoë"]]
    assert again.json()["settings"]["delimiter"] == "#"
    assert (faulty.status, wrong_row.status, ended.status) == (422, 400, 409)
    assert "no row 9" in wrong_row.problem["detail"]


@pytest.mark.parametrize(
    "title", [b"Leads of Q4\n\n", b"Notes:\n\"A long, quoted line\"\n\n", b"Leads of Q4\n", b"\n\nExported by Ann\n\n"]
)  # fmt: skip
async def test_header_row__is_found_below_a_title(sqlite_call: ApiClient, title: bytes) -> None:
    preview = (await upload(sqlite_call, title + b"First Name,Last Name,E-mail\nAnn,Lee,ann@x.co\nBob,Ray,bob@x.co\n"))["preview"]

    assert preview["header"] == ["First Name", "Last Name", "E-mail"]
    assert preview["rows"][0] == ["Ann", "Lee", "ann@x.co"]


async def test_header_row__is_the_stated_one(sqlite_call: ApiClient) -> None:
    job = await upload(sqlite_call, b"a,b\nx,y\nE-mail,Town\nann@x.co,Bath\n", header_row="3")

    assert (job["preview"]["header"], job["preview"]["rows"]) == (["E-mail", "Town"], [["ann@x.co", "Bath"]])


async def test_faults_of_rows__name_columns_and_no_pointers(sqlite_call: ApiClient) -> None:
    settings = {"contact_statuses": {"statuses": ["new", "won"], "transitions": {"won": []}}}
    await sqlite_call("PUT", "/admin/v1/clients/default", {"settings": settings})
    await sqlite_call.post("/public/v2/contacts", {"email": "ann@x.co", "contact_status": "won"})

    job = await finished(sqlite_call, await upload(sqlite_call, b"Mail,Stage,First\nann@x.co,new,Ann\n", start="true",
        mapping={"columns": {"Mail": "email", "Stage": "contact_status", "First": "first_name"}}))  # fmt: skip
    report = (await sqlite_call.get(f"/public/v2/jobs/{job['id']}/report")).body.decode("utf-8-sig")

    assert counts(job) == {"updated": 1, "cells_left_out": 1}
    assert "2,cells_left_out,1,Stage,new,from 'won' a record may go to: nothing" in report
