"""Imports over HTTP, on both engines: upload, preview, start, counts, bad rows, and the same file twice."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.house import House, read
from tests.imports.jobs import bad_rows, contacts, counts, finished, imported, report, upload

from touchbase.http.dependencies import RequestLimits
from touchbase.sql.store import Store

PEOPLE = b"""E-mail,First name,Surname,Segment
jane@example.com,Jane,Doe,Fintech
joe@example.com,Joe,Roe,Retail
not an address,Jim,Poe,Retail
JANE@example.com,Janet,Doe,Fintech
"""


async def test_upload__shows_the_columns_rows_and_guessed_mapping(call: ApiClient) -> None:
    job = await upload(call, PEOPLE)

    assert job["state"] == "preview"
    assert job["preview"]["header"] == ["E-mail", "First name", "Surname", "Segment"]
    assert job["preview"]["rows"][1] == ["joe@example.com", "Joe", "Roe", "Retail"]
    assert job["preview"]["mapping"]["columns"] == {
        "E-mail": "email", "First name": "first_name", "Surname": "last_name", "Segment": "cf.Segment",
    }  # fmt: skip
    assert await contacts(call) == []


async def test_upload__of_a_form_is_refused(sqlite_call: ApiClient) -> None:
    """Its lines between the parts would be read as rows."""
    form = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n%b\r\n--B--\r\n' % PEOPLE

    kind = {"content-type": "multipart/form-data; boundary=B"}
    reply = await sqlite_call.in_pieces("POST", "/public/v2/contacts/imports", [form], **kind)

    assert (reply.status, reply.problem["code"]) == (415, "unsupported_media_type")
    assert "--data-binary" in reply.problem["detail"]


async def test_start__imports_with_the_mapping_and_counts_each_row_once(call: ApiClient) -> None:
    job = await upload(call, PEOPLE)

    reply = await call.post(f"/public/v2/jobs/{job['id']}/start", {"mapping": {"columns": {"E-mail": "email", "Segment": ""}}})
    done = await finished(call, job)

    assert (reply.status, reply.json()["state"], done["state"]) == (200, "queued", "succeeded")
    assert counts(done) == {"created": 2, "duplicate_in_file": 1, "invalid": 1}
    jane, joe = await contacts(call)
    assert (jane["email"], jane["first_name"], jane["contact_custom_fields"]) == (
        "jane@example.com", "", {"First name": "Jane", "Surname": "Doe"},
    )  # fmt: skip
    assert joe["email"] == "joe@example.com"


async def test_name_of_the_file__is_stored_without_its_folders_and_lasts_through_another_reading(call: ApiClient) -> None:
    job = await upload(call, PEOPLE, file_name=r"C:\Users\Ann\Häuser 5.csv")
    again = await call.post(f"/public/v2/jobs/{job['id']}/preview", {"delimiter": ","})
    await call.post(f"/public/v2/jobs/{job['id']}/start", {})
    too_long = await call.in_pieces("POST", f"/public/v2/contacts/imports?file_name={256 * 'x'}", [PEOPLE])

    (listed,) = (await call.get("/public/v2/jobs")).json()["data"]
    assert [of["settings"]["file_name"] for of in (job, again.json(), listed)] == 3 * ["Häuser 5.csv"]
    assert (too_long.status, too_long.json()["errors"][0]["pointer"]) == (422, "?file_name")


async def test_bad_rows__have_the_columns_the_row_number_and_the_reason(call: ApiClient) -> None:
    job = await finished(call, await upload(call, PEOPLE, start="true"))

    (row,) = await bad_rows(call, job)

    assert (row["E-mail"], row["First name"], row["row"]) == ("not an address", "Jim", "4")
    assert row["reason"].startswith("E-mail: ")
    assert job["files"] == {name: f"/public/v2/jobs/{job['id']}/{end}" for name, end in (("bad_rows", "bad-rows"), ("report", "report"))}


async def test_the_same_file_twice__changes_nothing(call: ApiClient) -> None:
    first = await imported(call, PEOPLE)
    before = (await call.get("/public/v2/contacts")).body
    call.clock.move(60)

    second = await imported(call, PEOPLE)

    assert first == {"created": 2, "duplicate_in_file": 1, "invalid": 1}
    assert second == {"unchanged": 2, "duplicate_in_file": 1, "invalid": 1}
    assert (await call.get("/public/v2/contacts")).body == before


async def test_a_changed_row__updates_its_contact_and_leaves_the_others(call: ApiClient) -> None:
    await imported(call, PEOPLE)
    call.clock.move(60)

    again = await imported(call, PEOPLE.replace(b"Joe,Roe,Retail", b"Joseph,,Banking"))

    joe = (await contacts(call))[1]
    assert again == {"updated": 1, "unchanged": 1, "duplicate_in_file": 1, "invalid": 1}
    assert (joe["first_name"], joe["last_name"], joe["contact_custom_fields"]) == ("Joseph", "Roe", {"Segment": "Banking"})


async def test_mode__create_leaves_existing_contacts_and_update_creates_none(call: ApiClient) -> None:
    await imported(call, PEOPLE)
    changed = b"email,first_name\njane@example.com,Jenny\nnew@example.com,Nora\n"

    created = await imported(call, changed, mode="create")
    after_creation = [contact["first_name"] for contact in await contacts(call)]
    job = await finished(call, await upload(call, changed.replace(b"new@", b"unknown@"), start="true", mode="update"))

    assert (created, after_creation) == ({"created": 1, "unchanged": 1}, ["Jane", "Joe", "Nora"])
    assert counts(job) == {"updated": 1, "invalid": 1}
    assert [row["reason"] for row in await bad_rows(call, job)] == [
        "no contact has this email or linkedin_url or external_id, and mode=update creates none"
    ]
    assert [contact["first_name"] for contact in await contacts(call)] == ["Jenny", "Joe", "Nora"]


async def test_match__finds_by_this_field_only(call: ApiClient) -> None:
    await imported(call, b"email,external_id,last_name\njane@example.com,7,Doe\n")
    file = b"email,external_id,first_name\njane@new.example,7,Jane\nnone@example.com,,Nora\n"

    by_email = await finished(call, await upload(call, file, start="true", match="email"))
    refused = await bad_rows(call, by_email)
    by_id = await finished(call, await upload(call, file, start="true", match="external_id"))

    assert counts(by_email) == {"created": 1, "invalid": 1}
    assert "has this external_id, and another email" in refused[0]["reason"]
    assert counts(by_id) == {"updated": 1, "invalid": 1}
    assert (await contacts(call))[0]["email"] == "jane@new.example"


@pytest.mark.parametrize(
    ("match", "row"), [("linkedin_url", b"jane@example.com,"), ("external_id", b"joe@example.com,linkedin.com/in/jane")]
)
async def test_match__names_what_a_row_lacks(call: ApiClient, match: str, row: bytes) -> None:
    await imported(call, b"email,linkedin_url\njane@example.com,linkedin.com/in/jane\n")

    job = await finished(call, await upload(call, b"email,linkedin_url\n" + row + b"\n", start="true", match=match))

    assert [bad["reason"] for bad in await bad_rows(call, job)] == [f"has no {match}, by which records are matched"]


@pytest.mark.parametrize("match", ["", "email", "linkedin_url"])
async def test_row__with_the_profile_of_a_contact_with_another_address_is_another_person(call: ApiClient, match: str) -> None:
    await imported(call, b"email,linkedin_url\njane@example.com,linkedin.com/in/jane\n")
    second = b"email,linkedin_url\njane@new.example,linkedin.com/in/jane\n"
    options = {"match": match} if match else {}

    tested = await finished(call, await upload(call, second, start="true", dry_run="true", **options))
    job = await finished(call, await upload(call, second, start="true", **options))
    again = await finished(call, await upload(call, second, start="true", **options))

    assert counts(tested) == counts(job) == {"created": 1, "cells_left_out": 1}
    assert counts(again) == {"unchanged": 1, "cells_left_out": 1}
    assert [line[1:] for line in await report(call, job)][-1] == (
        "cells_left_out", "linkedin_url", "linkedin.com/in/jane", "contact 1 has it, and another address"
    )  # fmt: skip
    assert [(contact["email"], contact.get("linkedin_url")) for contact in await contacts(call)] == [
        ("jane@example.com", "linkedin.com/in/jane"), ("jane@new.example", None),
    ]  # fmt: skip


async def test_dry_run__counts_and_writes_nothing(call: ApiClient) -> None:
    await imported(call, b"email,first_name\njane@example.com,Jane\n")
    before = (await call.get("/public/v2/contacts")).body

    reported = await imported(call, b"email,first_name\njane@example.com,Janet\nnew@example.com,N\nbad,B\n", dry_run="true")

    assert reported == {"created": 1, "updated": 1, "invalid": 1}
    assert (await call.get("/public/v2/contacts")).body == before


async def test_start_after_a_test_run__imports_the_stored_file_as_it_was_tested(call: ApiClient) -> None:
    file = b"Mail,Role\njane@example.com,CTO\nbad,B\n"
    job = await upload(call, file)
    path = f"/public/v2/jobs/{job['id']}/start"
    await call.post(path, {"mapping": {"columns": {"Mail": "email", "Role": "origin"}}, "dry_run": True})
    tested = await finished(call, job)

    mapped = await call.post(path, {"mapping": {"columns": {"Mail": "email"}}})
    call.clock.move(5)
    started = await call.post(path, {})
    done = await finished(call, started.json())
    again = await call.post(path, {})
    kept = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    listed = [item["id"] for item in (await call.get("/public/v2/jobs")).json()["data"]]

    assert (mapped.status, "leave mapping out" in mapped.problem["detail"]) == (409, True)
    assert (started.status, started.json()["state"], started.json()["files"]) == (200, "queued", {})
    assert counts(tested) == counts(done) == {"created": 1, "invalid": 1}
    assert (done["settings"]["dry_run"], done["started_at"] > tested["finished_at"]) == (False, True)
    assert [row["row"] for row in await bad_rows(call, done)] == ["3"]
    assert [(contact["email"], contact["origin"]) for contact in await contacts(call)] == [("jane@example.com", "CTO")]
    assert again.status == 409
    assert again.problem["detail"] == f"the file of job {job['id']} went to the import {done['id']}; send it again for another import"
    assert (kept["settings"].pop("import_id"), done["settings"]["test_id"]) == (done["id"], job["id"])
    assert (listed, kept["progress"], kept["files"]) == ([done["id"], job["id"]], tested["progress"], tested["files"])
    assert [row["row"] for row in await bad_rows(call, kept)] == ["3"]


async def test_start_after_a_test_run__needs_the_file(call: ApiClient) -> None:
    job = await finished(call, await upload(call, b"email\njane@example.com\n", start="true", dry_run="true"))
    call.clock.move(8 * 86_400)

    started = await call.post(f"/public/v2/jobs/{job['id']}/start", {})

    assert (started.status, started.problem["detail"]) == (409, f"the file of job {job['id']} has been removed; send it again")


async def test_companies_of_contacts__are_created_once_and_linked(call: ApiClient) -> None:
    file = b"email,company.domain,company.name\na@x.example,x.example,X\nb@x.example,https://www.X.example/about,X\nc@y.example,,\n"
    await call.post("/public/v2/companies", {"domain": "y.example", "name": "Y"})

    first = await imported(call, file)
    second = await imported(call, file)

    companies = (await call.get("/public/v2/companies")).json()["data"]
    linked = [contact.get("company_id") for contact in await contacts(call)]
    assert (first, second) == ({"created": 3}, {"unchanged": 3})
    assert [(company["domain"], company.get("name")) for company in companies] == [("y.example", "Y"), ("x.example", "X")]
    assert linked == [companies[1]["id"], companies[1]["id"], None]


async def test_companies__are_imported_by_their_domain(call: ApiClient) -> None:
    file = b"domain,name,Size\nx.example,X,10\nhttps://www.x.example,X2,\nno domain,,\n"

    first = await imported(call, file, path="companies/imports")
    second = await imported(call, file.replace(b"x.example,X,10", b"x.example,X,20"), path="companies/imports")

    (company,) = (await call.get("/public/v2/companies?structure=FLAT")).json()["data"]
    assert (first, second) == (
        {"created": 1, "duplicate_in_file": 1, "invalid": 1},
        {"updated": 1, "duplicate_in_file": 1, "invalid": 1},
    )
    assert (company["name"], company["company_custom_fields"]) == ("X", {"Size": "20"})


async def test_previews__are_limited_for_each_client_until_they_are_started_or_cancelled(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(import_previews=2))
    first, _ = [await upload(call, b"email\nann@example.com\n") for _ in range(2)]

    refused = await call.in_pieces("POST", "/public/v2/contacts/imports", [b"email\nann@example.com\n"])
    theirs = await call.in_pieces("POST", "/public/v2/contacts/imports", [b"email\nann@example.com\n"], x_client_id="theirs")
    started = await call.in_pieces("POST", "/public/v2/contacts/imports?start=true", [b"email\nann@example.com\n"])
    cancelled = await call.post(f"/public/v2/jobs/{first['id']}/cancel")
    room = await call.in_pieces("POST", "/public/v2/contacts/imports", [b"email\nann@example.com\n"])

    assert (refused.status, refused.problem["code"]) == (409, "conflict")
    assert "at most 2" in refused.problem["detail"]
    assert [item.status for item in (theirs, started, cancelled, room)] == [201, 201, 200, 201]


async def test_a_list_of_a_report__is_that_of_a_count(call: ApiClient) -> None:
    job = await finished(call, await upload(call, PEOPLE, start="true"))

    refused = await call.get(f"/public/v2/jobs/{job['id']}/report?outcome=invalid")
    wrong = await call.get(f"/public/v2/jobs/{job['id']}/report?outcome=bad")

    assert refused.body.decode("utf-8-sig").splitlines()[0] == "row,outcome,id,column,value,reason"
    assert [line.split(",")[:2] for line in refused.body.decode().splitlines()[1:]] == [["4", "invalid"]]
    assert (wrong.status, wrong.problem["errors"][0]["pointer"]) == (422, "?outcome")
    assert "must be one of created, updated, unchanged" in wrong.problem["detail"]


async def test_an_equal_value__is_not_replaced_by_an_older_webhook(store: Store, make_client: MakeClient) -> None:
    house = House(make_client(store, read=read))
    jane = await house.contact(email="jane@example.com", first_name="Jane")
    house.call.clock.move(60)

    job = await finished(house.call, await upload(house.call, b"email,first_name\njane@example.com,Jane\n", start="true"))
    await house.hook("hubspot", {"event": "contact.updated", "email": "jane@example.com", "at": 30, "fields": {"first_name": "Joan"}})

    assert (job["progress"]["unchanged"], job["progress"]["updated"]) == (1, 0)
    assert (await house.get(jane))["first_name"] == "Jane"
    assert await house.differences() == []


async def test_a_list_that_is_imported_again_and_again__adds_one_entry_to_a_timeline(store: Store, make_client: MakeClient) -> None:
    house = House(make_client(store, read=read))
    data = b"email,first_name,contact_status,Segment\njane@example.com,Jane,contacted,Fintech\n"
    for _ in range(4):
        await finished(house.call, await upload(house.call, data, start="true"))
        house.call.clock.move(600)

    late = {"event": "contact.updated", "email": "jane@example.com", "at": 1_500, "fields": {"first_name": "Joan"}}
    await house.hook("hubspot", late)  # older than the last import, newer than the one before it

    jane = (await contacts(house.call))[0]
    assert (jane["first_name"], jane["contact_status"]) == ("Jane", "contacted")
    assert await house.timeline(jane["id"]) == ["contact.created", "contact.updated", "contact.updated"]
    assert await house.differences() == []


async def test_an_equal_statement__stays_where_an_earlier_event_made_it_a_change(store: Store, make_client: MakeClient) -> None:
    house = House(make_client(store, read=read))
    jane = await house.contact(email="jane@example.com", first_name="Jane", contact_status="contacted")
    bodies = [{"first_name": "Jane"}, {"first_name": "Jane"}, {"contact_status": "contacted"}]
    for body in bodies:
        house.call.clock.move(600)
        await house.request("PATCH", f"/public/v2/contacts/{jane}", body)
    late = {"event": "contact.status_changed", "email": "jane@example.com", "at": 1_500, "effect": "status", "status": "won"}
    await house.hook("hubspot", late)

    house.call.clock.move(600)
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_status": "contacted"})

    # Of the two names the second one stays; of the statuses both do, as the first changes "won".
    assert len(await house.timeline(jane)) == 1 + 1 + 1 + 2
    assert (await house.get(jane))["previous_status"] == "won"
    assert await house.differences() == []
