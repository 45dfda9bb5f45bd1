"""Opt-outs in files, on both engines: taken from their columns, and never lifted by a status."""

from __future__ import annotations

from typing import Any

from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, counts, finished, imported, report, upload

FILE = b"email,linkedin_url,Email Opt Out\nann@x.co,linkedin.com/in/ann,true\nbob@x.co,,0\n,linkedin.com/in/cy,1\nANN@x.co,,yes\n"


async def listed(call: ApiClient) -> list[tuple[str, str, str]]:
    suppressions: list[dict[str, Any]] = (await call.get("/public/v2/suppressions")).json()["data"]
    return sorted((suppression["value"], suppression["reason"], suppression["source"]) for suppression in suppressions)


async def test_a_column_of_opt_outs__puts_people_on_the_list_by_all_their_addresses(call: ApiClient) -> None:
    job = await finished(call, await upload(call, FILE, start="true"))

    assert counts(job) == {"created": 3, "duplicate_in_file": 1, "opt_outs_taken": 2, "suppressed": 2}
    assert await listed(call) == [
        ("ann@x.co", "unsubscribed", "import"), ("linkedin.com/in/ann", "unsubscribed", "import"),
        ("linkedin.com/in/cy", "unsubscribed", "import"),
    ]  # fmt: skip
    assert [line[:2] for line in await report(call, job) if line[1] == "opt_outs_taken"] == [
        ("2", "opt_outs_taken"), ("4", "opt_outs_taken"),
    ]  # fmt: skip


async def test_the_same_file_again__changes_no_entry(call: ApiClient) -> None:
    await imported(call, FILE)
    before = (await call.get("/public/v2/suppressions")).body
    call.clock.move(60)

    assert await imported(call, FILE) == {"unchanged": 3, "duplicate_in_file": 1, "suppressed": 2}
    assert (await call.get("/public/v2/suppressions")).body == before


async def test_an_entry_with_another_reason__stays_as_it_is(call: ApiClient) -> None:
    await call.post("/public/v2/suppressions", {"value": "ann@x.co", "reason": "legal", "note": "court"})

    assert (await imported(call, b"email,DNC\nann@x.co,x\n")).get("opt_outs_taken") is None
    assert await listed(call) == [("ann@x.co", "legal", "api")]


async def test_opt_outs__are_shown_in_the_preview_and_can_be_left_out(call: ApiClient) -> None:
    job = await upload(call, b"email,Email Opt Out,Status\nann@x.co,true,\nbob@x.co,false,Do Not Contact\n")

    shown = job["preview"]["opt_outs"]
    await call.post(f"/public/v2/jobs/{job['id']}/start", {"mapping": {"columns": {"email": "email"}, "opt_outs": []}})
    done = await finished(call, job)

    assert shown == [
        {"column": "Email Opt Out", "rows": 1, "values": {"true": "unsubscribed"}},
        {"column": "Status", "rows": 1, "values": {"Do Not Contact": "requested"}},
    ]
    assert counts(done) == {"created": 2}
    assert await listed(call) == []


async def test_a_dry_run__counts_opt_outs_and_lists_nobody(call: ApiClient) -> None:
    assert await imported(call, FILE, dry_run="true") == {"created": 3, "duplicate_in_file": 1, "opt_outs_taken": 2}
    assert await listed(call) == []


async def test_a_status_of_a_file__does_not_lift_an_opt_out(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "ann@x.co", "contact_status": "do_not_contact"})
    await call.post("/public/v2/contacts", {"email": "bob@x.co", "contact_status": "new"})
    await call.post("/public/v2/suppressions", {"value": "bob@x.co", "reason": "unsubscribed"})
    call.clock.move(60)

    job = await finished(call, await upload(call, b"email,Status,first_name\nann@x.co,active,Ann\nbob@x.co,active,Bob\n", start="true"))

    assert counts(job) == {"updated": 2, "kept_opt_outs": 2, "suppressed": 2}
    assert [(contact["first_name"], contact["contact_status"]) for contact in await contacts(call)] == [
        ("Ann", "do_not_contact"),
        ("Bob", "active"),
    ]
    assert await listed(call) == [("ann@x.co", "status", "api"), ("bob@x.co", "unsubscribed", "api")]


async def test_the_hash_of_an_erased_persons_entry__is_not_added_in_clear(call: ApiClient) -> None:
    await imported(call, b"email,DNC\nann@x.co,x\n")
    (ann,) = await contacts(call)
    await call("DELETE", f"/public/v2/contacts/{ann['id']}?erase=true")

    counted = await imported(call, b"email,DNC\nann@x.co,x\n")

    assert counted == {"erased": 1}
    assert "ann@x.co" not in [value for value, _, _ in await listed(call)]
