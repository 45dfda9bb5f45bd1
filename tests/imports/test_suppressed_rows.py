"""Rows of people and domains on a do-not-contact list, on both engines: imported, and counted."""

from __future__ import annotations

from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, imported

JANE, LINKEDIN = "jane@example.com", "linkedin.com/in/joe"


async def put(call: ApiClient, value: str, **more: str) -> None:
    """Put an address on the client's list."""
    reply = await call.post("/public/v2/suppressions", {"entries": [{"value": value, **more}]})
    assert reply.status == 201, reply


async def test_rows__are_imported_and_counted_by_each_address(call: ApiClient) -> None:
    for value in (JANE, LINKEDIN, "blocked.example"):
        await put(call, value)
    file = (
        b"email,linkedin_url,company.domain\njane@example.com,,\njoe@example.com,https://www.linkedin.com/in/joe/,\n"
        b"ann@blocked.example,,\nbob@x.example,,www.blocked.example\neve@example.com,,y.example\nbad,,\nJANE@example.com,,\n"
    )

    first = await imported(call, file)
    again = await imported(call, file)

    stored = await contacts(call)
    assert first == {"created": 5, "duplicate_in_file": 1, "invalid": 1, "suppressed": 4}
    assert again == {"unchanged": 5, "duplicate_in_file": 1, "invalid": 1, "suppressed": 4}
    looked_up = [(await call.get(f"/public/v2/contacts/{item['id']}/suppression")).json()["suppressed"] for item in stored]
    assert looked_up == [True, True, True, True, False]


async def test_a_row_without_the_listed_address_of_its_contact__is_counted(call: ApiClient) -> None:
    await imported(call, b"email,linkedin_url,company.domain\njoe@example.com,linkedin.com/in/joe,\nbob@example.com,,blocked.example\n")
    await put(call, LINKEDIN)
    await put(call, "blocked.example")

    assert await imported(call, b"email,first_name\njoe@example.com,Joe\nbob@example.com,Bob\n") == {"updated": 2, "suppressed": 2}


async def test_a_dry_run__counts_what_the_import_counts(call: ApiClient) -> None:
    await put(call, JANE)
    await put(call, "blocked.example")
    file = b"email,company.domain\njane@example.com,\nbob@x.example,blocked.example\neve@example.com,\n"

    dry = await imported(call, file, dry_run="true")

    assert dry == await imported(call, file) == {"created": 3, "suppressed": 2}


async def test_an_entry_that_is_over__counts_no_row(call: ApiClient) -> None:
    await put(call, JANE, until="2026-11-26T00:00:00Z")
    call.clock.move(400 * 86_400)

    assert await imported(call, b"email\njane@example.com\n") == {"created": 1}


async def test_companies__are_counted_by_their_domain_and_parent_domains(call: ApiClient) -> None:
    await put(call, "blocked.example")

    counts = await imported(call, b"domain,name\nblocked.example,B\nshop.blocked.example,S\nx.example,X\n", path="companies/imports")

    assert counts == {"created": 3, "suppressed": 2}


async def test_row_with_another_status__leaves_one_that_opts_out(call: ApiClient) -> None:
    first = await imported(call, b"email,contact_status\njane@example.com,unsubscribed\njoe@example.com,new\n")
    again = await imported(call, b"email,first_name,contact_status\njane@example.com,Jane,customer\njoe@example.com,Joe,customer\n")

    assert first == {"created": 2, "suppressed": 1, "opt_outs_taken": 1}
    assert again == {"updated": 2, "suppressed": 1, "kept_opt_outs": 1}
    assert {contact["email"]: (contact["first_name"], contact["contact_status"]) for contact in await contacts(call)} == {
        JANE: ("Jane", "unsubscribed"), "joe@example.com": ("Joe", "customer"),
    }  # fmt: skip
    [entry] = (await call.get("/public/v2/suppressions")).json()["data"]
    assert (entry["value"], entry["reason"], entry["source"]) == (JANE, "status", "import")
